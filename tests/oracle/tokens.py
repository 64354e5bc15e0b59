#!/usr/bin/env python3
"""Trains the small tokenizers of tests/tokens on the pages of docs/, and writes what the package `tokenizers` makes of hard texts.

    python3 tests/oracle/tokens.py [NAME...]    from the root of the repository; needs the package

A tokenizer is tests/tokens/NAME.json, one kind of those that models have; NAME.jsonl has a line for each text: its ids with and
without what stands around a text, offsets in bytes, what is decoded with and without special tokens. tests/support/tokens.py holds
`modc tokenize` against it. What is there is trained again only where the file is missing, so that pages may change."""
import glob
import io
import json
import pathlib
import sys
import tempfile
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from tokens_random import HARD, in_bytes  # noqa: E402

FOLDER = pathlib.Path("tests/tokens")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEXTS = HARD + [
    "", " ", "Hello, world!", " Hello  world", "The quick brown fox can't jump over 13 lazy dogs; it'll SHE'LL I'M", "a" * 80, "ab " * 40, " " * 70,
    "x\n\n\n  y\t\tz \r\n", "<s>Hello</s> <|endoftext|>again<|im_start|>user\nhi<|im_end|>", "the <mask> of<mask>it [MASK] [SEP]x[CLS]", "unaffable's naïve café RÉSUMÉ İstanbul",
    "中文和English混排，標點。", "日本語テキスト「です」", "안녕하세요 세계", "नमस्ते दुनिया", "👩‍👩‍👧‍👦 family 🙂🇩🇪", "e\u0301\u0323 \u1e69 \u0073\u0323\u0307", "ﬁnance ② ½ ㎏ ﷺ",
    "nul\0in\0text", "1234567890 3.14159 1,000,000", "int main(void) { return 0; } /* C */", "tabs\tand\vothers\x85\u2028\u3000end", "word<<word>> <<word>>s x both y rstr   z",
    "▁under▁score ▁", "<0x41><0x0A>", "\ufeffbom \u200bzero", "ĠĊ āĂ", "don't DON'T Don’t", "'S'ſ'K 'ſt", "aaa bbb\u0301ccc",
]


def byte_level(size, pre, special, **with_):
    tokenizer = Tokenizer(models.BPE(ignore_merges=with_.get("ignore_merges", False)))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre, decoders.ByteLevel()
    if "normalizer" in with_:
        tokenizer.normalizer = with_["normalizer"]
    alphabet = [] if with_.get("narrow") else pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2():
    tokenizer, trainer = byte_level(560, pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, trainer, None


def roberta():
    tokenizer, trainer = byte_level(560, pre_tokenizers.ByteLevel(add_prefix_space=True),
                                    ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return tokenizer, trainer, None


def llama3():
    tokenizer, trainer = byte_level(560, split(LLAMA3), ["<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"], ignore_merges=True)

    def finish(done):
        done.add_tokens([AddedToken("<<word>>", single_word=True), AddedToken(" both ", normalized=False),
                         AddedToken("rstr", rstrip=True, normalized=False)])
        done.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", done.token_to_id("<|begin_of_text|>"))])])
    return tokenizer, trainer, finish


def qwen2():
    tokenizer, trainer = byte_level(560, split(LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                                    normalizer=normalizers.NFC())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, trainer, None


def o200k():
    tokenizer, trainer = byte_level(560, split(O200K), ["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer, trainer, None


def narrow():
    """Not all bytes are in the vocabulary: the package leaves out what is not."""
    tokenizer, trainer = byte_level(400, pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"], narrow=True)
    return tokenizer, trainer, None


def of_sentencepiece(size, all_merges, fuse):
    """BPE as SentencePiece's, converted: merges are all that make a token, in the order of ids."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False)
    trained.train(pages(), trainer)
    words = [token for token, _ in sorted(trained.get_vocab().items(), key=lambda row: row[1])]
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + words
    vocabulary = {token: i for i, token in enumerate(tokens)}
    merges = sorted((vocabulary[word], vocabulary[word[:at]], vocabulary[word[at:]]) for word in words for at in range(1, len(word))
                    if word[:at] in vocabulary and word[at:] in vocabulary)
    if not all_merges:
        merges = merges[::-1][::2][::-1]  # some of them: no order of ids says these
    return models.BPE(vocabulary, [(tokens[left], tokens[right]) for _, left, right in merges], unk_token="<unk>", byte_fallback=True, fuse_unk=fuse)


def llama2():
    tokenizer = Tokenizer(of_sentencepiece(500, True, True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer, None, None


def gemma():
    tokenizer = Tokenizer(of_sentencepiece(400, False, False))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer, None, None


def mistral():
    tokenizer = Tokenizer(of_sentencepiece(400, True, True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first", split=False)
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer, None, None


def bert():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False)

    def finish(done):
        done.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                            special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer, trainer, finish


def cased():
    """BERT with its case; NFKC, strips, punctuation and digits on the way."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip(), normalizers.BertNormalizer(lowercase=False)])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"),
                                                       pre_tokenizers.Digits(individual_digits=False)])
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False)

    def finish(done):
        done.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer, trainer, finish


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.NFD(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)

    def finish(done):
        done.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer, trainer, finish


def sentencepiece_map():
    """A map of characters as SentencePiece's trainer writes it: of its rules nmt_nfkc those of some characters, so that it is small."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    folded = {c: unicodedata.normalize("NFKC", chr(c)) for c in [*range(0xa8, 0xbf), 0x2026, 0x2460, 0x2461, 0x338f, 0xfb01, 0xfb02, 0xfdfa, *range(0xff01, 0xff20)]}
    rules = {(c,): made for c, made in folded.items() if made != chr(c)}
    rules |= {tuple(map(ord, letter + mark)): unicodedata.normalize("NFC", letter + mark) for letter in "aeiou" for mark in "\u0300\u0301\u0308"}
    rules |= {(c,): "" for c in (*range(1, 9), 0x7f, 0xad)}
    rules |= {(c,): " " for c in (9, 10, 13, 0xa0, 0x200b, 0x2028, 0x3000, 0xfeff, 0xfffd)}
    rules[0xff76, 0xff9e] = "\u30ac"
    lines, model = (" ".join(f"{c:X}" for c in key) + "\t" + " ".join(f"{ord(c):X}" for c in made) + "\n" for key, made in rules.items()), io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.writelines(lines)
        file.flush()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["abc"]), model_writer=model, vocab_size=99, hard_vocab_limit=False, minloglevel=2,
                                                 normalization_rule_tsv=file.name)
    return sentencepiece_model_pb2.ModelProto.FromString(model.getvalue()).normalizer_spec.precompiled_charsmap


def t5():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(sentencepiece_map()), normalizers.Strip(left=False),
                                                 normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)

    def finish(done):
        done.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer, trainer, finish


def words():
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"[\p{P}\p{S}]++"), "merged_with_next"),
                                                       pre_tokenizers.Split(Regex(r"\w+"), "removed", invert=True)])
    return tokenizer, trainers.WordLevelTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False), None


def spaces():
    """BPE of characters without unknown ones, which are left out; words as \\w has them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(right=False), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit("|"), pre_tokenizers.Whitespace()])
    return tokenizer, trainers.BpeTrainer(vocab_size=300, special_tokens=[AddedToken("[X]", normalized=True)], show_progress=False), None


def clip():
    """CLIP: words end with a suffix, behind which bytes are decoded as they are."""
    tokenizer = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=["<|startoftext|>", "<|endoftext|>"], end_of_word_suffix="</w>", show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())

    def finish(done):
        done.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    return tokenizer, trainer, finish


def gpt1():
    """The first GPT: BPE with a suffix behind BERT's normalizer; here with a prefix, too."""
    affixes = {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"}
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, **affixes))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    return tokenizer, trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>"], show_progress=False, **affixes), None


KINDS = {kind.__name__: kind for kind in (gpt2, roberta, llama3, qwen2, o200k, narrow, llama2, gemma, mistral, bert, cased, unigram, t5, words, spaces, clip, gpt1)}


def pages():
    return sorted(glob.glob("docs/*.md"))


def row(tokenizer, text):
    made, plain = tokenizer.encode(text), tokenizer.encode(text, add_special_tokens=False)
    return {"text": text, "ids": made.ids, "offsets": in_bytes(text, made.offsets), "plain": plain.ids, "decoded": tokenizer.decode(made.ids),
            "all": tokenizer.decode(made.ids, skip_special_tokens=False)}


def main():
    for name in sys.argv[1:] or KINDS:
        path = FOLDER / f"{name}.json"
        if not path.exists():
            tokenizer, trainer, finish = KINDS[name]()
            if trainer:
                tokenizer.train(pages(), trainer)
            if finish:
                finish(tokenizer)
            tokenizer.save(str(path), pretty=False)
            path.write_text(path.read_text() + "\n")
        tokenizer = Tokenizer.from_file(str(path))
        with open(FOLDER / f"{name}.jsonl", "w", encoding="utf-8") as file:
            for text in TEXTS:
                file.write(json.dumps(row(tokenizer, text)) + "\n")


main()
