#!/usr/bin/env python3
"""Random texts and ids through `modc tokenize` and through the package `tokenizers`: every id, offset and decoded text is the same.

    python3 tests/oracle/tokens_random.py --modc build/modc FILE.json... [--count N] [--seed N] [--characters] [--long]

Needs the package. --characters: every character there is, between others. --long: texts of many kilobytes, some of one piece."""
import argparse
import json
import random
import subprocess
import sys

from tokenizers import Tokenizer

HARD = ["'s", "'S", "'ſ", "'ll", "'LL", "'re", "don't", "\u212a", "\u017f", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000",
        "\u2028", "\x85", "\x0b", "\x1c", "\0", "\u200d", "\u0301", "e\u0301", "\u0323\u0307", "\u1e9b\u0323", "\uac00", "\u1100\u1161\u11a8", "한국어", "中文字", "日本語の",
        "🙂", "👩‍👩‍👧‍👦", "🇩🇪", "ﬁ", "ß", "İ", "ǅ", "²", "½", "٣", "१२३", "1234567", "3.14", "a1b2", "<s>", "</s>", "<|endoftext|>", "<mask>", "[MASK]",
        " <mask> ", "<|im_start|>", "<|begin_of_text|>", "<<word>>", " both ", "rstr  ", "<unk>", "<0x0A>", "▁", "▁▁", "Ġ", "ĠĊ", "##ing", "the", " the", "The model",
        " struct modc", "###", "://", "/*", "*/", "==", "_", "-", "...", "é", "über", "naïve", "Ελληνικά", "русский", "עברית", "العربية", "ไทย", "हिन्दी", "\ufffd", "\ufeff",
        "\U000e0001", "\U0010ffff", "\u00ad", "A", "Ab", "aB", "ABC", "!", "!!", ",", "。", "、", "¿"]


def random_text(rng, most):
    words = []
    for _ in range(rng.randrange(1, most)):
        kind = rng.random()
        if kind < 0.45:
            words.append(rng.choice(HARD))
        elif kind < 0.6:
            words.append(chr(rng.choice((rng.randrange(32, 127), rng.randrange(128, 0x800), rng.randrange(0x800, 0xd800),
                                         rng.randrange(0xe000, 0x10000), rng.randrange(0x10000, 0x20000), rng.randrange(0x110000 - 16, 0x110000)))))
        elif kind < 0.9:
            words.append("".join(rng.choice("etaoinshrdlu ETAOIN.,'0123\n") for _ in range(rng.randrange(1, 12))))
        else:
            words.append(rng.choice("a =-x\n") * rng.randrange(1, 90))
    return "".join(words)


def every_character():
    for c in range(0x110000):
        if not 0xd800 <= c < 0xe000:
            yield f"a{chr(c)}1{chr(c)} {chr(c)}b \n{chr(c)}{chr(c)}'S{chr(c)}"


def long_texts(rng):
    for size in (1000, 20000, 200000):
        yield "a" * size
        yield "ab" * (size // 2)
        yield "".join(rng.choice("abetn") for _ in range(size))
        yield " " * size + "x"
        yield "".join(rng.choice("the of and to model struct ") for _ in range(size))
        yield random_text(rng, size // 20)


def in_bytes(text, offsets):
    """Of characters, as the package has them."""
    at, table = 0, [0]
    for character in text:
        at += len(character.encode())
        table.append(at)
    return [[table[begin], table[end]] for begin, end in offsets]


def run(modc, path, lines, *options):
    done = subprocess.run([modc, "tokenize", path, "--format=json", *options], input="".join(json.dumps(line) + "\n" for line in lines),
                          capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"{path}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


class Differ:
    def __init__(self, path):
        self.path, self.counts = path, {}

    def take(self, what, source, found, wanted):
        good, bad = self.counts.get(what, (0, 0))
        if found == wanted:
            self.counts[what] = (good + 1, bad)
            return
        self.counts[what] = (good, bad + 1)
        if bad < 3:
            print(f"{self.path}: {what} of {str(source)[:200]!r}: {str(found)[:300]!r}, not {str(wanted)[:300]!r}")

    def bad(self):
        return sum(bad for _, bad in self.counts.values())


def compare(modc, path, texts, rng):
    hf, differ = Tokenizer.from_file(path), Differ(path)
    for options, keywords in (((), {}), (("--no-template",), {"add_special_tokens": False})):
        for text, row in zip(texts, run(modc, path, texts, *options), strict=True):
            wanted = hf.encode(text, **keywords)
            differ.take("ids", text, row["ids"], wanted.ids)
            if row["ids"] == wanted.ids:
                differ.take("offsets", text, row["offsets"], in_bytes(text, wanted.offsets))
    size = hf.get_vocab_size() + 3
    lists = [hf.encode(text).ids[:400] for text in texts[:len(texts) // 2]]
    lists += [[rng.randrange(size) for _ in range(rng.randrange(12))] for _ in texts]
    for options, skip in (((), True), (("--keep-special",), False)):
        for ids, text in zip(lists, run(modc, path, lists, *options), strict=True):
            differ.take("texts", ids, text, hf.decode(ids, skip_special_tokens=skip))
    hf.encode_special_tokens = True
    for text, row in zip(texts[:500], run(modc, path, texts[:500], "--all-text"), strict=True):
        differ.take("ids as text", text, row["ids"], hf.encode(text).ids)
    print(path + ": " + ", ".join(f"{good} {what}" + (f" ({bad} DIFFER)" if bad else "") for what, (good, bad) in differ.counts.items()))
    return differ.bad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", default="build/modc")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--characters", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    bad = 0
    for path in options.files:
        rng = random.Random(options.seed)
        texts = [""] + HARD + [random_text(rng, 12) for _ in range(options.count)]
        if options.characters:
            texts = list(every_character())
        if options.long:
            texts = list(long_texts(rng))
        bad += compare(options.modc, path, texts, rng)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
