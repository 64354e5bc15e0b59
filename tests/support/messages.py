"""Lists the messages of the generator that no expected output of the tests shows: every error that modc can say has a
case.

    python3 tests/support/messages.py          from the root of the repository; 1 where a message has no case
    python3 tests/support/messages.py --all    lists all messages with the places that say them

Messages are found in the source of generator/: the texts that calls of diag_error and the like give, and those that
functions and tables hand to such a call. Cases are tests/errors/*.err (specs) and tests/errors/command/*.txt (command
lines). A message that nothing outside can bring about becomes an assert. EXCUSED names those that only a failing
operating system brings about, a fault of modc, or a file of many megabytes, with the reason.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Who says something: which argument is the text (from 0), and what a case must show of it; {} is the text.
SAYS = {
    "diag_error": (2, "error: {}$"),
    "diag_warning": (2, "warning: {}$"),
    "diag_note": (2, "note: {}$"),
    "diag_hint": (1, "^hint: {}$"),
    "parser_fail": (2, "error: {}$"),
    "spec_wrong_kind": (3, "expected {}(, found .*)?$"),  # and those that hand it on
    "spec_is_mapping": (3, "expected {}(, found .*)?$"),
    "spec_read_text": (3, "expected {}(, found .*)?$"),
    "spec_read_one_or_many": (3, "expected {}(, found .*)?$"),
    "spec_read_texts": (3, "expected {}(, found .*)?$"),
    "spec_unknown_key": (2, "error: {} has no key "),
    "module_arg_fault": (4, "must be {}, found "),
    "check_kind": (5, "must be {}, found "),    # module_args.c
    "bad_value": (3, "^hint: {}$"),             # options.c
    "fault": (1, "cannot {} "),                 # base/text.c
    "compiler_fault": (2, "^hint: {}$"),        # compiler.c
    "json_fail": (2, "error: this is no JSON: {}$"),
    "tokenizer_refuse": (3, "error: .*: {}$"),
    "chat_fail": (3, "error: {}$"),
    "chat_refuse": (2, "error: {}$"),
    "fail_at": (2, "error: {}$"),               # chat_lower.c
    "chat_wrong_kind": (2, "error: expected {}, found .*$"),
    "schema_refuse": (3, "error: .*: {}$"),
    "pattern_fail": (2, "error: {}: '.*'$"),  # grammar_regex.c
    "regex_fail": (2, "error: .*: {}: '.*'$"),  # tokenizer_regex.c
}

# Functions whose results others say, by file: their strings behind `return` and in calls of arena_format.
GIVES = {
    r"ops/\w+\.c": r"\w+_infer|check\w*|\w+_fault|differ\w*",
    r"ops/elementwise\w*\.c": r"elementwise_refuses",
    r"spec/yaml_faults\.c": r"yaml_fault_meaning|problem_text",
    r"spec/expr_lex\.c": r"instead_of",
    r"base/text\.c": r"source_read|make_folders|prepare",
    r"commands/process\.c": r"process_make_folder",
}

# Tables whose strings others say: file, name, which string of a row, what a case must show of it.
TABLES = [
    (r"spec/expr_lex\.c", "refused", 1, "^hint: {}$"),
    (r"spec/stmt\.c", "refused_words", 1, "^hint: {}$"),
    (r"eval/eval_names\.c", "habits", 1, "^hint: {}$"),
    (r"eval/eval_names\.c", "refused", 1, "error: .* {}$"),
    (r"eval/eval_names\.c", "refused", 2, "^hint: {}$"),
    (r"spec/yaml_faults\.c", "known", 1, "error: {}$"),
    (r"layers/\w+\.c", "checks", 1, "error: .*: {}$"),
    (r"eval/eval_python\.c", "python_rows", 1, "error: \\w+ takes {}$"),
]

# Texts that are a variable: what is handed on there is found by the tables above, or said by another program.
CARRIED = {
    "arena_vformat(&p->cx->arena, format, args)", "arena_vformat(&r->cx->arena, format, args)",
    "arena_vformat(&l->r->cx->arena, format, args)", "message", "fault", "refused", "refused[k].instead", "refused_words[i].hint", "why->reason", "why->hint",
    "habits[i].hint", "error", "refusal",
    "expected", "hint", "instead_of(code)", "problem_text(r, text[content])", "problem_text(r, text[first])",
    "problem_text(r, 0)", "said->text", "line", 'line+strspn(line, "\\t")',
    "eval_fill(&build->eval, module_row_scope(build, module), row->checks[i].message)",
    "eval_fill(eval, args, checks[i].message)",
}

# Texts that no case has, and why. For what only a failing operating system brings about, or a fault of modc itself.
EXCUSED = {
    "its texts have more than %d bytes": "of a map of 16 MiB",
    "its %d tokens have too many bytes": "of a vocabulary of megabytes; test_tokenizer.c asks the trie for its limit",
    "it failed and did not say why": "of a function that gave up in silence; sites.py lets them",
    "this is a fault of modc itself: please report it with the spec": "the hint of that",
    "the file would be larger than files can be": "of a header of 100 MB",
    "replace": "somebody else's file in a sticky folder, which root, who runs the tests in a container, may replace",
}

TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<char>'(?:[^'\\]|\\.)+')
                       |(?P<name>[A-Za-z_]\w*)|(?P<space>\s+)|(?P<sign>.)""", re.S | re.X)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Token:
    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line

    def value(self):
        """Of a string."""
        return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), self.text[1:-1])


def read_tokens(text):
    """Without blanks and comments; neighbouring strings are one."""
    line, tokens = 1, []
    for match in TOKEN.finditer(text):
        if match.lastgroup == "string" and tokens and tokens[-1].kind == "string":
            tokens[-1].text = tokens[-1].text[:-1] + match.group()[1:]
        elif match.lastgroup not in ("comment", "space"):
            tokens.append(Token(match.lastgroup, match.group(), line))
        line += match.group().count("\n")
    return tokens


def read_list(tokens, at):
    """What stands in the bracket at `at`, split at its commas, and where the bracket closes."""
    items, depth = [[]], 0
    while True:
        at += 1
        sign = tokens[at].text if tokens[at].kind == "sign" else ""
        if sign and sign in ")]}" and depth == 0:
            return items, at
        if sign == "," and depth == 0:
            items.append([])
            continue
        items[-1].append(tokens[at])
        depth += (sign != "" and sign in "([{") - (sign != "" and sign in ")]}")


def outer_strings(tokens):
    """The strings that no bracket holds: both of `good ? "a" : "b"`."""
    depth, found = 0, []
    for token in tokens:
        if token.kind == "sign" and token.text in "([{)]}":
            depth += 1 if token.text in "([{" else -1
        elif token.kind == "string" and depth == 0:
            found.append(token)
    return found


def functions(tokens):
    """(name, first token, last token) of each function's body."""
    at, depth = 0, 0
    while at < len(tokens):
        text = tokens[at].text if tokens[at].kind == "sign" else ""
        if text == "{" and depth == 0 and tokens[at - 1].text == ")":
            back, level = at - 1, 0
            while True:
                level += (tokens[back].text == ")") - (tokens[back].text == "(")
                if level == 0:
                    break
                back -= 1
            end = read_list(tokens, at)[1]
            yield tokens[back - 1].text, at, end
            at = end
        elif text == "{":
            at = read_list(tokens, at)[1]
        at += 1


HOLE = r"%[-0-9.*]*(?:ll|z|l)?[a-zA-Z]"


def has_words(text):
    return re.search("[a-z]{2}", re.sub(HOLE, "", text)) is not None


class Message:
    """One text, with the places that say it; `shows` is what a line of a case must match."""

    def __init__(self, text, frame):
        self.text, self.places = text, []
        pattern = re.escape(text)
        pattern = re.sub(r"%(?:\\-|\\\.|\\\*|[0-9])*(?:ll|z|l)?[a-zA-Z]", ".*", pattern)  # re.escape leaves % alone
        pattern = pattern.replace("%%", "%")
        if "checks" in frame:
            pattern = re.sub(r"\\\{.*?\\\}", ".*", pattern)
        self.shows = re.compile(frame.replace("checks", "").replace("{}", f"(?:{pattern})"), re.M)


def joined(tokens):
    return re.sub(r"\s*([(,).>\[\]&-])\s*", r"\1", " ".join(token.text for token in tokens)).replace(",", ", ")


def find_messages(path, name):
    """(text, frame, line) of every message in a file; text None: nobody knows what is said there."""
    tokens = read_tokens(path.read_text())
    for at, token in enumerate(tokens):
        if token.text not in SAYS or tokens[at + 1].text != "(" or tokens[at - 1].text not in (*";{})!(&|=", "return"):
            continue
        index, frame = SAYS[token.text]
        items = read_list(tokens, at + 1)[0]
        strings = outer_strings(items[index]) if index < len(items) else []
        for string in strings:
            yield string.value(), frame, token.line
        if token.text.startswith("diag_"):
            wordless = not any(has_words(string.value()) for string in strings)
            if wordless and not (strings and joined(items[-1]) in CARRIED):
                yield None, frame, token.line
    for files, table, index, frame in TABLES:
        if not re.fullmatch(files, name):
            continue
        for at, token in enumerate(tokens):
            if token.text == table and tokens[at + 1].text in "[=" and "{" in (t.text for t in tokens[at + 1:at + 5]):
                start = next(k for k in range(at + 1, at + 5) if tokens[k].text == "{")
                for row in read_list(tokens, start)[0]:
                    strings = [part for part in row if part.kind == "string"]
                    if len(strings) > index:
                        yield strings[index].value(), frame + ("checks" if table == "checks" else ""), row[0].line
    for files, givers in GIVES.items():
        if not re.fullmatch(files, name):
            continue
        for function, begin, end in functions(tokens):
            if not re.fullmatch(givers, function):
                continue
            for at in range(begin, end):
                if tokens[at].text == "arena_format":
                    for string in outer_strings(read_list(tokens, at + 1)[0][1]):
                        yield string.value(), "{}", tokens[at].line
                elif tokens[at].text == "return":
                    last = next(k for k in range(at, end) if tokens[k].text == ";")
                    for string in outer_strings(tokens[at:last]):
                        yield string.value(), "{}", string.line


def main():
    messages, unknown = {}, []
    for path in sorted((ROOT / "generator").rglob("*.c")):
        name = str(path.relative_to(ROOT / "generator"))
        for text, frame, line in find_messages(path, name) if name != "base/diag.c" else ():
            place = f"generator/{name}:{line}"
            if text is None:
                unknown.append(place)
            elif has_words(text):
                messages.setdefault((text, frame), Message(text, frame)).places.append(place)
    cases = "\n".join(path.read_text(errors="replace") for folder, kind in [("errors", "err"), ("errors/command", "txt")]
                      for path in sorted((ROOT / "tests" / folder).glob(f"*.{kind}")))
    missing = {message.text: message for message in messages.values() if not message.shows.search(cases)}
    if "--all" in sys.argv:
        for message in messages.values():
            print(f"{'missing ' * (message.text in missing)}{message.text}\n    {', '.join(message.places)}")
    faults = [f"{missing[text].places[0]}: no case of tests/errors shows '{text}'"
              for text in missing if text not in EXCUSED]
    faults += [f"{place}: where does the text of this message come from? See CARRIED in {__file__}" for place in unknown]
    faults += [f"'{text}' has a case, and needs no excuse" for text in sorted(EXCUSED.keys() - missing.keys())]
    print("\n".join(faults + [f"{len(messages)} messages, {len(missing)} without a case"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
