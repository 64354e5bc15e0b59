#!/usr/bin/env python3
"""Random patterns and schemas against what they mean: an automaton takes a text, or a beginning of one, or neither.

    grammar.py PROGRAM PATTERNS SCHEMAS [SEED]    PROGRAM is grammar.c's

A pattern is made as a tree, of which derivatives say whether a text is a beginning; whether it matches, `re` says too. Texts of schemas
are walked by the automaton itself: each has to be JSON that the schema takes, by the package jsonschema where it is there, and by a
checker of this file; values that the schema takes, and others, are written in several ways."""
import json
import random
import re
import string
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, kind, text):
        data = text.encode() if isinstance(text, str) else text
        self.process.stdin.write(b"%s %d\n" % (kind.encode(), len(data)) + data)
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def verdict(self, text):
        return int(self.ask("t", text))


# ---- patterns: (kind, ...) ----------------------------------------------------------------------------------------

NOTHING, EMPTY = ("nothing",), ("all", ())
ALPHABET = "abcxyz01 _-\n\t.é€𝄞"
NAMED = {"d": set(string.digits), "w": set(string.ascii_letters + string.digits + "_"), "s": set(" \t\n\r\f\v")}


def holds(node, char):
    """Whether a set has a character; nodes of sets are ("set", text, negative, members)."""
    _, _, negative, members = node
    return negative != any(char in member if isinstance(member, (set, frozenset)) else member[0] <= char <= member[1] for member in members)


def random_set(rng):
    kind = rng.randrange(6)
    if kind < 2:
        char = rng.choice(ALPHABET)
        written = {"\n": r"\n", "\t": r"\t", ".": r"\.", "-": rng.choice(["-", r"\-"]), "é": rng.choice(["é", r"\xe9", r"\u00e9"]), "€": rng.choice(["€", r"\u20ac"])}
        return "set", written.get(char, char), False, ((char, char),)
    if kind == 2:
        return "set", ".", True, (("\n", "\n"),)
    if kind == 3:
        letter = rng.choice("dws")
        negative = rng.random() < 0.3
        return "set", "\\" + (letter.upper() if negative else letter), negative, (frozenset(NAMED[letter]),)
    members, text = [], ""
    for _ in range(rng.randint(1, 3)):
        first, last = sorted((rng.choice("abcxyz01é€𝄞퟿"), rng.choice("abcxyz01é€𝄞퟿")))
        if rng.random() < 0.3:
            letter = rng.choice("dws")
            text += "\\" + letter
            members.append(frozenset(NAMED[letter]))
        elif rng.random() < 0.5:
            text += first + "-" + last
            members.append((first, last))
        else:
            text += first
            members.append((first, first))
    negative = rng.random() < 0.4
    return "set", f"[{'^' if negative else ''}{text}]", negative, tuple(members)


def random_pattern(rng, depth):
    kind = rng.randrange(8) if depth > 0 else 0
    if kind < 2:
        return random_set(rng)
    if kind < 4:
        return "all", tuple(random_pattern(rng, depth - 1) for _ in range(rng.randint(0, 4)))
    if kind < 6:
        return "either", tuple(random_pattern(rng, depth - 1) for _ in range(rng.randint(2, 4)))
    least = rng.choice([0, 0, 1, 2])
    most = rng.choice([None, None, least, least + 1, least + 3])
    return "times", random_pattern(rng, depth - 1), least, 1 if most == 0 else most


def written(node):
    kind = node[0]
    if kind == "set":
        return node[1]
    if kind == "all":
        return "".join(f"(?:{written(part)})" if part[0] in ("either", "all") else written(part) for part in node[1])
    if kind == "either":
        return "|".join(written(part) for part in node[1])
    _, part, least, most = node
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    count = short or (f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}")
    return (written(part) if part[0] == "set" else f"({written(part)})") + count


def both(first, second):
    if NOTHING in (first, second):
        return NOTHING
    return second if first == EMPTY else first if second == EMPTY else ("all", (first, second))


def either(parts):
    found = []
    for part in parts:
        for own in part[1] if part[0] == "either" else (part,):
            if own != NOTHING and own not in found:
                found.append(own)
    return found[0] if len(found) == 1 else ("either", tuple(found)) if found else NOTHING


def can_be_empty(node):
    kind = node[0]
    if kind == "all":
        return all(can_be_empty(part) for part in node[1])
    if kind == "either":
        return any(can_be_empty(part) for part in node[1])
    return kind == "times" and (node[2] == 0 or can_be_empty(node[1]))


def derivative(node, char):
    kind = node[0]
    if kind == "nothing":
        return NOTHING
    if kind == "set":
        return EMPTY if holds(node, char) else NOTHING
    if kind == "either":
        return either([derivative(part, char) for part in node[1]])
    if kind == "times":
        _, part, least, most = node
        if most == 0:
            return NOTHING
        return both(derivative(part, char), ("times", part, max(least - 1, 0), None if most is None else most - 1))
    parts = node[1]
    if not parts:
        return NOTHING
    rest = ("all", parts[1:]) if len(parts) > 1 else EMPTY
    first = both(derivative(parts[0], char), rest)
    return either([first, derivative(rest, char)]) if can_be_empty(parts[0]) else first


def verdict_of(node, text):
    for char in text:
        node = derivative(node, char)
    return 0 if node == NOTHING else 2 if can_be_empty(node) else 1


def random_text(rng, node):
    """Goes on mostly where the pattern does."""
    text = ""
    for _ in range(rng.randint(0, 8)):
        chars = [char for char in ALPHABET if derivative(node, char) != NOTHING] if rng.random() < 0.9 else ALPHABET
        if not chars:
            break
        char = rng.choice(chars)
        text += char
        node = derivative(node, char)
    return text


def check_pattern(program, rng):
    node = random_pattern(rng, 4)
    pattern = written(node)
    answer = program.ask("r", pattern)
    if "has more than" in answer:  # that many states are refused
        return None
    if ":" in answer:
        return f"{pattern!r}: {answer}"
    for _ in range(12):
        text = random_text(rng, node)
        found, expected = program.verdict(text), verdict_of(node, text)
        if (expected == 2) != bool(re.fullmatch(pattern, text, re.ASCII)):
            return f"{pattern!r}: re and the derivatives differ over {text!r}"
        if found != expected:
            return f"{pattern!r} ({answer}): {text!r} is {found}, expected {expected}"
        data = text.encode()
        for cut in range(len(data) if expected else 0):
            if program.verdict(data[:cut]) == 0:
                return f"{pattern!r}: {data[:cut]!r} begins {text!r}, and is none"
    return None


# ---- schemas ------------------------------------------------------------------------------------------------------------

def random_value(rng, depth=2):
    kind = rng.randrange(8 if depth > 0 else 6)
    if kind == 6:
        return [random_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    if kind == 7:
        return {rng.choice("abcd"): random_value(rng, depth - 1) for _ in range(rng.randint(0, 3))}
    return [None, True, False, rng.randint(-20, 20), rng.choice(["", "a", "x\"y", "tab\t", "é€", "\x01\\"]), rng.choice([0.5, -1.25, 1e20])][kind]


def random_schema(rng, depth, names):
    kind = rng.randrange(12 if depth > 0 else 6)
    if names and rng.random() < 0.15:
        return {"$ref": "#/$defs/" + rng.choice(names)}
    if kind < 3:
        return {"type": rng.choice(["integer", "number", "boolean", "null"]), "description": "x"}
    if kind == 3:
        schema = {"type": "string"}
        if rng.random() < 0.4:
            schema["pattern"] = rng.choice(["^a+$", "b", "^[a-c\"]{1,3}", "é|x$", "\\\\$"])
            if schema["pattern"] == "é|x$":
                schema["pattern"] = "(é|x)$"
        elif rng.random() < 0.7:
            schema["minLength"] = rng.randint(0, 2)
            schema["maxLength"] = schema["minLength"] + rng.randint(0, 2)
        return schema
    if kind == 4:
        return {"enum": [random_value(rng) for _ in range(rng.randint(1, 3))]}
    if kind == 5:
        return {"const": random_value(rng)}
    if kind < 8:
        schema = {"type": "array", "items": random_schema(rng, depth - 1, names)}
        if rng.random() < 0.6:
            schema["minItems"] = rng.randint(0, 2)
        if rng.random() < 0.6:
            schema["maxItems"] = schema.get("minItems", 0) + rng.randint(0, 2)
        return schema
    if kind < 11:
        keys = rng.sample(["a", "b", "c", "d", "q\"e"], rng.randint(0, 4))
        return {"type": "object", "properties": {key: random_schema(rng, depth - 1, names) for key in keys},
                "required": [key for key in keys if rng.random() < 0.5], "additionalProperties": False}
    if rng.random() < 0.3:
        return {"type": "object", "additionalProperties": random_schema(rng, depth - 1, names)}
    return {rng.choice(["anyOf", "oneOf"]): [random_schema(rng, depth - 1, names) for _ in range(rng.randint(1, 3))]}


def same(a, b):
    """Equal as JSON: 1 is not true."""
    return json.dumps(a) == json.dumps(b)


def takes(schema, value, root):
    """The value of a text that an automaton of the schema takes: keys in the schema's order."""
    if "$ref" in schema:
        return takes(root["$defs"][schema["$ref"].split("/")[-1]], value, root)
    if "anyOf" in schema or "oneOf" in schema:
        return any(takes(one, value, root) for one in schema.get("anyOf") or schema["oneOf"])
    if "enum" in schema:
        return any(same(value, one) for one in schema["enum"])
    if "const" in schema:
        return same(value, schema["const"])
    kind = schema["type"]
    if kind == "array":
        return isinstance(value, list) and schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 999) and \
            all(takes(schema["items"], item, root) for item in value)
    if kind == "object":
        if not isinstance(value, dict):
            return False
        if "properties" not in schema:
            return all(takes(schema["additionalProperties"], item, root) for item in value.values())
        order = list(schema["properties"])
        return all(key in value for key in schema["required"]) and all(key in order for key in value) and \
            [order.index(key) for key in value] == sorted(order.index(key) for key in value) and \
            all(takes(schema["properties"][key], item, root) for key, item in value.items())
    if kind == "string":
        return isinstance(value, str) and not re.search("[\x00-\x07\x0b\x0e-\x1f]", value) and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 999) and \
            bool(re.search(schema.get("pattern", "").replace("$", r"\Z"), value))
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {"integer": number and isinstance(value, int), "number": number, "boolean": isinstance(value, bool), "null": value is None}[kind]


def value_of(rng, schema, root):
    """One that it may take."""
    if "$ref" in schema:
        return value_of(rng, root["$defs"][schema["$ref"].split("/")[-1]], root)
    if "anyOf" in schema or "oneOf" in schema:
        return value_of(rng, rng.choice(schema.get("anyOf") or schema["oneOf"]), root)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    kind = schema["type"]
    if kind == "array":
        return [value_of(rng, schema["items"], root) for _ in range(rng.randint(0, 3))]
    if kind == "object":
        if "properties" not in schema:
            return {rng.choice("abcxyz\"\n"): value_of(rng, schema["additionalProperties"], root) for _ in range(rng.randint(0, 3))}
        return {key: value_of(rng, one, root) for key, one in schema["properties"].items() if key in schema["required"] or rng.random() < 0.6}
    if kind == "string":
        return "".join(rng.choice("aabcé\"\\x\n\x02") for _ in range(rng.randint(0, 4)))
    return {"integer": rng.randint(-99, 99), "number": rng.choice([1, -2.5, 1e-7, 0]), "boolean": rng.random() < 0.5, "null": None}[kind]


def walk(program, rng):
    """A text by the automaton."""
    text = ""
    for _ in range(120):
        verdict = program.verdict(text)
        if verdict == 2 and rng.random() < 0.3:
            return text
        chars = list("\"{}[],:\"aabcdeflnrstu0123456789.-+E xyq\\é\n")
        rng.shuffle(chars)
        following = next((char for char in chars if program.verdict(text + char) > 0), None)
        if following is None:
            return text if verdict == 2 else None
        text += following
    return None


def check_schema(program, rng):
    names = rng.sample(["one", "two"], rng.randint(0, 2))
    root = random_schema(rng, 3, names)
    root["$defs"] = {name: random_schema(rng, 1, []) for name in names}
    answer = program.ask("s", json.dumps(root, ensure_ascii=rng.random() < 0.5))
    if ":" in answer:
        return f"{json.dumps(root)}: {answer}"
    for _ in range(6):
        value = value_of(rng, root, root) if rng.random() < 0.8 else random_value(rng)
        expected = takes(root, value, root)
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(value, ensure_ascii=False, separators=separators)
            found = program.verdict(text)
            if (found == 2) != expected:
                return f"{json.dumps(root)}: {text} is {found}, expected {expected}"
        if jsonschema and expected and "oneOf" not in json.dumps(root):
            jsonschema.validate(value, root)
    for _ in range(3):
        text = walk(program, rng)
        if text is None:
            continue
        value = json.loads(text)
        if not takes(root, value, root):
            return f"{json.dumps(root)}: {text} is no value of it"
        if jsonschema and "oneOf" not in json.dumps(root):
            jsonschema.validate(value, root)
    return None


def main():
    program = Program(sys.argv[1])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    faults = 0
    for check, count in ((check_pattern, int(sys.argv[2])), (check_schema, int(sys.argv[3]))):
        for i in range(count):
            fault = check(program, random.Random(f"{check.__name__} {seed} {i}"))
            if fault:
                print(f"{check.__name__} {seed} {i}: {fault}")
                faults += 1
                if faults > 10:
                    sys.exit(1)
    sys.exit(faults > 0)


main()
