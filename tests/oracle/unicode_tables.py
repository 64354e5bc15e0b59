#!/usr/bin/env python3
"""Writes generator/tokenizer/unicode_{sets,canonical,compatible}.c: what the package `tokenizers` takes characters for, asked of it.

    python3 tests/oracle/unicode_tables.py            from the root of the repository; needs the package, takes minutes
    python3 tests/oracle/unicode_tables.py --check    writes nothing; 1 where a file would change

Not this machine's Unicode, but that of the package counts: it has several, one in each of the libraries that it is made of. Another
release of it may know more characters.
"""
import pathlib
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from charsmap import charsmap  # noqa: E402

OUT = pathlib.Path("generator/tokenizer")
CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn").split()
CHARACTERS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)
MOST = 0x110000


def removed(splitter, characters=CHARACTERS):
    """The characters that a pre-tokenizer, which removes what it matches, takes away."""
    out = set()
    for low in range(0, len(characters), 4096):
        chunk = characters[low:low + 4096]
        left = set()
        for _, (begin, end) in splitter.pre_tokenize_str("".join(map(chr, chunk))):
            left.update(range(begin, end))
        out.update(c for i, c in enumerate(chunk) if i not in left)
    return out


def of_pattern(pattern):
    return removed(pre_tokenizers.Split(Regex(pattern), "removed"))


def words_of_added():
    """\\w as single_word has it."""
    tokenizer = Tokenizer(models.BPE({"x": 0}, []))
    tokenizer.add_tokens([AddedToken("<>", single_word=True, normalized=False)])
    found = tokenizer.token_to_id("<>")
    return {c for c in CHARACTERS if c not in (60, 62) and found not in tokenizer.encode(chr(c) + "<>").ids}


def white_of_added():
    tokenizer = Tokenizer(models.BPE({"x": 0}, []))
    tokenizer.add_tokens([AddedToken("<>", lstrip=True, normalized=False)])
    return {c for c in CHARACTERS if tokenizer.encode("x" + chr(c) + "<>").offsets[-1][0] == 1}


def changed(normaliser, characters=CHARACTERS):
    """What a normaliser makes of characters that do not stay as they are."""
    out = {}
    for c in characters:
        made = normaliser.normalize_str(chr(c))
        if made != chr(c):
            out[c] = made
    return out


def classes(nfd, marks):
    """The combining classes, by the order in which NFD puts marks."""
    probes = {}
    for c in marks:
        own, last = chr(c), "\u0345"  # what has the last class
        if unicodedata.combining(own) and (own == last or nfd.normalize_str("a" + last + own) == "a" + own + last):
            probes.setdefault(unicodedata.combining(own), own)
    order = sorted(probes)
    out = {}
    for c in marks:
        own = chr(c)
        above = [p for p in order if nfd.normalize_str("a" + probes[p] + own) != "a" + probes[p] + nfd.normalize_str(own)]
        below = [p for p in order if nfd.normalize_str("a" + own + probes[p]) == "a" + probes[p] + nfd.normalize_str(own)
                 and probes[p] != nfd.normalize_str(own)]
        if not above and not below:
            continue
        same = [p for p in order if p not in above and p not in below]
        assert len(same) == 1, (hex(c), same)
        out[c] = same[0]
    return out


def kept(text, probes, characters=CHARACTERS):
    """The characters c with which what text(c, probe) ends with stays as it is: of Precompiled, whose map has the probe alone. It does
    not where a cluster of at most 5 bytes begins with the probe, all of which becomes something else. The second probe is for where c is
    the first one."""
    normalise = [normalizers.Precompiled(charsmap({probe: "X"})).normalize_str for probe in probes]
    out = set()
    for c in characters:
        text_of_c = text(chr(c), probes[c == ord(probes[0])])
        if normalise[c == ord(probes[0])](text_of_c).endswith(text_of_c[-1]):
            out.add(c)
    return out


def clusters():
    """Where clusters of characters go on."""
    joiner, consonants, pictures = "\u200d", "\u0915\u0916", "\xa9\xae"

    def mark(c):
        return "\u0302" if c == "\u0301" else "\u0301"
    behind = set(CHARACTERS) - kept(lambda c, p: p + c, "ae")
    control = set(CHARACTERS) - kept(lambda c, p: c + p + mark(c), "\u0300\u0303")
    prepend = kept(lambda c, p: c + p + mark(c), "ae")
    extend = behind & kept(lambda c, p: p + c + joiner + p + mark(c), pictures)
    assert behind & kept(lambda c, p: p + c + p + mark(c), pictures) == {ord(joiner)}
    leads_or_vowels = kept(lambda c, p: c + p + mark(c), "\u1161\u1162") - prepend
    before_trails = kept(lambda c, p: c + p + mark(c), "\u11a8\u11a9") - prepend
    behind_syllables = {c for c in leads_or_vowels | before_trails
                        if len(normalizers.Precompiled(charsmap({"\u0600": "X"})).normalize_str("\u0600\uac00" + chr(c))) == 3}
    syllables = {c for c in HANGUL if (c - HANGUL[0]) % 28 == 0}
    assert (leads_or_vowels & before_trails) - behind_syllables == syllables
    assert before_trails - leads_or_vowels - behind_syllables == set(HANGUL) - syllables
    linker = kept(lambda c, p: p + c + p + mark(c), consonants) - prepend
    assert kept(lambda c, p: "\u0917\u094d" + c + p + mark(c), consonants) - prepend == (extend | {ord(joiner)}) - {0x200c}
    return {
        "break_control": ("what clusters end before and behind", control),
        "break_extend": ("what clusters go on with", extend),
        "break_spacing": ("what they go on with, but not between pictures", behind - extend - {ord(joiner)}),
        "break_prepend": ("what goes on with anything", prepend),
        "break_picture": ("pictures, which a joiner joins", kept(lambda c, p: c + joiner + p + mark(c), pictures)),
        "break_lead": ("of Hangul: leading consonants", leads_or_vowels - before_trails),
        "break_vowel": ("vowels", leads_or_vowels & before_trails & behind_syllables),
        "break_trail": ("trailing consonants", (before_trails - leads_or_vowels) & behind_syllables),
        "break_consonant": ("of Indic scripts: consonants", kept(lambda c, p: c + "\u094d" + p + mark(c), consonants) - prepend),
        "break_linker": ("what links these", linker),
    }


def ranges(characters):
    """First and last but one behind it, of each run."""
    out = []
    for c in sorted(characters):
        if out and out[-1] == c:
            out[-1] = c + 1
        else:
            out += [c, c + 1]
    return out


def rows(values, form="{:#x}", width=108):
    lines, line = [], "   "
    for value in values:
        word = " " + form.format(value) + ","
        if len(line) + len(word) > width:
            lines.append(line)
            line = "   "
        line += word
    return "\n".join(lines + [line]) + "\n"


class Writer:
    def __init__(self):
        self.parts = []

    def array(self, type, name, values, what, form="{:#x}"):
        self.parts.append(f"/* {what}: {len(values)} */\nstatic const {type} {name}[] = {{\n{rows(values, form)}}};\n\n")

    def file(self, name, tail):
        return (f"/* {name} - written by tests/oracle/unicode_tables.py, which asked `tokenizers` {tokenizers.__version__}; see unicode.h.\n"
                " * Change the script, not this file. */\n#include \"tokenizer/unicode.h\"\n\n#include \"modc_tokenizer.h\"\n\n/* clang-format off */\n\n") + \
            "".join(self.parts) + tail

    def mapping(self, name, changes, what):
        keys, at, to = sorted(changes), [0], []
        for key in keys:
            to += [ord(c) for c in changes[key]]
            at.append(len(to))
        self.array("uint32_t", f"{name}_from", keys, f"{what}: characters")
        self.array("uint16_t", f"{name}_at", at, "where each one's begin", "{}")
        self.array("uint32_t", f"{name}_to", to, "what they become")


def collect():
    writer = Writer()
    category = {}
    for index, name in enumerate(CATEGORIES):
        for c in of_pattern(r"\p{%s}" % name):
            category[c] = index
    runs, last = [], None
    for c in range(MOST):
        own = category.get(c, CATEGORIES.index("Cs"))
        if own != last:
            runs.append(c << 8 | own)
            last = own
    writer.array("uint32_t", "categories", runs, "where a general category begins, and its number in the low byte")
    numbered = {c for c in CHARACTERS if CATEGORIES[category[c]][0] in "LMN" or CATEGORIES[category[c]] == "Pc"}
    sets = {
        "word": ("\\w of a pattern", of_pattern(r"\w")),
        "white": ("\\s of a pattern", of_pattern(r"\s")),
        "word_of_rust": ("\\w of single_word", words_of_added()),
        "white_of_rust": ("\\s of lstrip", white_of_added()),
        "numeric": ("what Digits takes", removed_digits()),
        "punctuation": ("what Punctuation and BERT take", removed(pre_tokenizers.Punctuation("removed"))),
        "blank": ("what WhitespaceSplit and BERT take", removed(pre_tokenizers.WhitespaceSplit())),
        "han": ("\\p{Han}", of_pattern(r"\p{Han}")),
        "hiragana": ("\\p{Hiragana}", of_pattern(r"\p{Hiragana}")),
        "katakana": ("\\p{Katakana}", of_pattern(r"\p{Katakana}")),
        "hangul": ("\\p{Hangul}", of_pattern(r"\p{Hangul}")),
        "ideograph": ("around which BERT puts spaces", set(changed(
            normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False)))),
        "accent": ("what StripAccents takes away", {c for c, made in changed(normalizers.StripAccents()).items() if not made}),
        "accent_of_bert": ("what BERT takes away of what is decomposed", {c for c, made in changed(normalizers.BertNormalizer(
            clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)).items() if not made}),
    }
    clean = changed(normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False))
    sets["control"] = ("what BERT takes for control", {c for c, made in clean.items() if not made})
    sets["cleaned"] = ("what BERT makes a space", {c for c, made in clean.items() if made == " "} | {32})
    assert all(made in ("", " ") for made in clean.values())
    sets.update(clusters())
    print(len(sets["word"][1] ^ numbered), "characters of \\w are not L, M, N, Pc", file=sys.stderr)
    for name, (what, characters) in sets.items():
        writer.array("uint32_t", f"{name}_ranges", ranges(characters), f"{what}: from, to before")
    lower = changed(normalizers.Lowercase())
    nfd, nfc = normalizers.NFD(), normalizers.NFC()
    canonical = {c: made for c, made in changed(nfd).items() if c not in HANGUL}
    compatible = {c: made for c, made in changed(normalizers.NFKD()).items() if c not in HANGUL and made != canonical.get(c)}
    lower = changed(normalizers.Lowercase())
    names = "".join(f"    [UNICODE_{name.upper()}] = {{{name}_ranges, COUNT({name}_ranges)}},\n" for name in sets)
    files = {"unicode_sets.c": writer.file("unicode_sets.c", f"const char unicode_release[] = \"{tokenizers.__version__}\";\n\n"
                                           "const uint32_t *const unicode_categories = categories;\n"
                                           "const int unicode_category_count = COUNT(categories);\n\n"
                                           f"const struct unicode_ranges unicode_sets[UNICODE_SETS] = {{\n{names}}};\n")}
    mapping = "{{{0}_from, {0}_at, {0}_to, COUNT({0}_from)}}".format
    writer = Writer()
    writer.mapping("compatible", compatible, "compatible decompositions that are no canonical ones")
    files["unicode_compatible.c"] = writer.file("unicode_compatible.c", f"const struct modc_mapping unicode_compatible = {mapping('compatible')};\n")
    writer = Writer()
    writer.mapping("lower", lower, "lower case")
    writer.mapping("canonical", canonical, "canonical decompositions, as far as they go")
    marks = [c for c in CHARACTERS if CATEGORIES[category[c]][0] == "M" or unicodedata.combining(chr(c))]
    combining = classes(nfd, [c for c in marks if c not in canonical])
    writer.array("uint32_t", "class_from", sorted(combining), "characters of a combining class")
    writer.array("uint8_t", "class_of", [combining[c] for c in sorted(combining)], "which", "{}")
    pairs = []
    for c, made in canonical.items():
        if len(made) < 2 or nfc.normalize_str(made) != chr(c):
            continue
        first = nfc.normalize_str(made[:-1])
        assert len(first) == 1 and nfc.normalize_str(first + made[-1]) == chr(c), hex(c)
        pairs.append((ord(first), ord(made[-1]), c))
    writer.array("uint32_t", "pairs", [x for pair in sorted(pairs) for x in pair], "first, second, what they are together")
    files["unicode_canonical.c"] = writer.file(
        "unicode_canonical.c", "const struct modc_unicode unicode_mappings = {\n"
        f"    .canonical = {mapping('canonical')},\n    .lower = {mapping('lower')},\n"
        "    .class_from = class_from,\n    .class_of = class_of,\n    .class_count = COUNT(class_from),\n"
        "    .pairs = pairs,\n    .pair_count = COUNT(pairs) / 3,\n};\n")
    return files


def removed_digits():
    """Digits keeps what it matches, each a piece of its own: asked one by one, between letters."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    return {c for c in CHARACTERS if len(digits.pre_tokenize_str("a" + chr(c) + "a")) == 3}


def main():
    files = collect()
    if "--check" in sys.argv:
        sys.exit(any((OUT / name).read_text() != text for name, text in files.items()))
    for name, text in files.items():
        (OUT / name).write_text(text)


main()
