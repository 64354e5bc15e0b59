#!/usr/bin/env python3
"""Random patterns and schemas against what they mean: an automaton takes a text, or a beginning of one, or neither.

    grammar.py PROGRAM PATTERNS SCHEMAS [SEED]    PROGRAM is grammar.c's

A pattern is made as a tree, of which derivatives say whether a text is a beginning; whether it matches, `re` says too. Texts of schemas
are walked by the automaton itself: each has to be JSON that the schema takes, by the package jsonschema where it is there, and by a
checker of this file; values that the schema takes, and others, are written in several ways."""
import fractions
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


DEPTH = 3  # of grammar.c: GRAMMAR_DEPTH
FORMATS = {"date": (["2024-02-29", "1999-12-31"], ["2023-02-29", "2024-13-01", "24-01-01", "2100-02-29"]),
           "time": (["00:00:00Z", "23:59:59.25+01:30"], ["24:00:00Z", "00:00:00"]),
           "date-time": (["2000-02-29T01:02:03Z"], ["2000-02-29 01:02:03Z", "1900-02-29T01:02:03Z"]),
           "duration": (["P1W", "P1DT2H", "PT5S", "P1Y2M3DT4H5M6S"], ["P", "PT", "P1D2W", "1D"]),
           "uuid": (["01234567-89ab-cdef-0123-456789abcdef"], ["0123456789abcdef0123456789abcdef"]),
           "ipv4": (["0.0.0.0", "255.10.199.1"], ["256.0.0.1", "1.2.3", "01.2.3.4"]),
           "hostname": (["a", "a-b.c1"], ["-a", "a..b", "a-"]),
           "email": (["a.b+c@d-e.org"], ["a@b", "@b.c", "a b@c.de"])}
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def random_number(rng):
    return rng.choice([0, rng.randint(-9, 9), rng.randint(-1200, 1200), round(rng.uniform(-3, 3), rng.randint(1, 3)), rng.choice([-0.5, 0.05, 99.95, 1e2, 1e-3])])


def random_limits(rng):
    schema = {}
    for key in rng.sample(LIMITS[:4], rng.randint(0, 2)):
        schema[key] = random_number(rng)
    if rng.random() < 0.3:
        schema["multipleOf"] = rng.choice([1, 2, 3, 7, 10, 25, 0.5, 0.25, 0.1, 1.5])
    return schema


def random_string(rng):
    schema = {"type": "string"}
    if rng.random() < 0.4:
        schema["pattern"] = rng.choice(["^a+$", "b", "^[a-c\"]{1,3}", "(é|x)$", "\\\\$"])
    elif rng.random() < 0.2:
        schema["format"] = rng.choice(list(FORMATS))
    if rng.random() < 0.5 and "format" not in schema:
        schema["minLength"] = rng.randint(0, 2)
        schema["maxLength"] = schema["minLength"] + rng.randint(0, 2)
    return schema


def random_object(rng, depth, names):
    keys = rng.sample(["a", "b", "c", "d", "q\"e"], rng.randint(0, 4))
    schema = {"type": "object", "properties": {key: random_schema(rng, depth - 1, names) for key in keys},
              "required": [key for key in keys if rng.random() < 0.5]}
    if rng.random() < 0.7:
        schema["additionalProperties"] = rng.choice([False, False, True])
    return schema


def random_schema(rng, depth, names):
    kind = rng.randrange(14 if depth > 0 else 6)
    if names and rng.random() < 0.15:
        return {"$ref": "#/$defs/" + rng.choice(names)}
    if kind < 2:
        return {"type": rng.choice(["integer", "number"]), "description": "x", **random_limits(rng)}
    if kind == 2:
        return {"type": rng.choice(["boolean", "null", ["null", "integer"]])}
    if kind == 3:
        return random_string(rng)
    if kind == 4:
        return {"enum": [random_value(rng) for _ in range(rng.randint(1, 3))]}
    if kind == 5:
        return {"const": random_value(rng)} if rng.random() < 0.8 else rng.choice([True, {}, {"maxLength": 1, "minimum": -2}])
    if kind < 8:
        schema = {"type": "array"}
        if rng.random() < 0.9:
            schema["items"] = random_schema(rng, depth - 1, names)
        if rng.random() < 0.3:
            schema["prefixItems"] = [random_schema(rng, depth - 1, names) for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.6:
            schema["minItems"] = rng.randint(0, 2)
        if rng.random() < 0.6:
            schema["maxItems"] = schema.get("minItems", 0) + rng.randint(0, 2)
        return schema
    if kind < 10:
        return random_object(rng, depth, names)
    if kind == 10:
        schema = {"type": "object", "additionalProperties": random_schema(rng, depth - 1, names)}
        return {**schema, **rng.choice([{}, {"minProperties": 1, "maxProperties": 2}, {"propertyNames": {"pattern": "^[a-b]*$"}}])}
    if kind == 11:
        first = rng.choice([lambda: random_limits(rng), lambda: {key: item for key, item in random_string(rng).items() if key != "type"},
                            lambda: random_object(rng, depth, names)])
        beside = rng.choice([{}, {}, {"type": rng.choice(["integer", "string", "object"])}, {"enum": [1, 2.5, 1e2, "a", "bb"]}])
        return {"allOf": [first() for _ in range(rng.randint(1, 2))] + [random_schema(rng, 0, names)] * (rng.random() < 0.3), **beside}
    return {rng.choice(["anyOf", "oneOf"]): [random_schema(rng, depth - 1, names) for _ in range(rng.randint(1, 3))],
            **({"type": rng.choice(["integer", "string"])} if rng.random() < 0.2 else {})}


TREES = [{"type": "object", "properties": {"v": {"type": "boolean"}, "next": {"$ref": "#/$defs/tree"}, "of": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
          "required": ["v"]},
         {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}, "minItems": 1}]},
         {"type": "object", "properties": {"more": {"allOf": [{"$ref": "#/$defs/tree"}]}}}]


def same(a, b):
    """Equal as JSON: 1 is not true."""
    return json.dumps(a) == json.dumps(b)


def holds_number(schemas, value, listed):
    """The keys of numbers, exactly. Where there is one, numbers are written without exponents."""
    limits = [(key, fractions.Fraction(repr(schema[key]))) for schema in schemas for key in LIMITS if key in schema]
    if not limits or (not listed and "e" in json.dumps(value)):
        return not limits
    exact = fractions.Fraction(repr(value))
    compare = {"minimum": lambda x: exact >= x, "maximum": lambda x: exact <= x, "exclusiveMinimum": lambda x: exact > x,
               "exclusiveMaximum": lambda x: exact < x, "multipleOf": lambda x: exact % x == 0}
    return all(compare[key](limit) for key, limit in limits)


def holds_string(schemas, value, listed):
    return (listed or not re.search("[\x00-\x07\x0b\x0e-\x1f]", value)) and all(
        schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 999) and
        re.search(schema.get("pattern", "").replace("$", r"\Z"), value) and
        ("format" not in schema or value in FORMATS[schema["format"]][0]) for schema in schemas)


def all_take(demands, value, left, root):
    return all_of([(True, left)] if not demands else demands, value, left - (not demands), root)


def takes_list(schemas, value, left, root):
    tuples = [schema for schema, _ in schemas if "prefixItems" in schema]
    most = 999 if all("items" in schema for schema in tuples) else max(len(schema["prefixItems"]) for schema in tuples)
    if len(value) > most or not all(schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 999) for schema, _ in schemas):
        return False
    for i, item in enumerate(value):
        demands = []
        for schema, own in schemas:
            first = schema.get("prefixItems", [])
            if i < len(first) or "items" in schema:
                demands.append((first[i] if i < len(first) else schema["items"], own))
        if not all_take(demands, item, left, root):
            return False
    return True


def takes_object(schemas, value, left, root):
    order = list(dict.fromkeys(key for schema, _ in schemas for key in schema.get("properties", ())))
    if order and ([key for key in value if key not in order] or [order.index(key) for key in value] != sorted(order.index(key) for key in value)):
        return False
    if value and not order and any("properties" in schema for schema, _ in schemas):
        return False
    for schema, _ in schemas:
        if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", 999) or not set(schema.get("required", ())) <= set(value) or \
                not all(re.search(schema.get("propertyNames", {}).get("pattern", "").replace("$", r"\Z"), key) for key in value):
            return False
    for key, item in value.items():
        if not order and re.search("[\x00-\x07\x0b\x0e-\x1f]", key):
            return False
        demands = [(schema["properties"][key] if key in schema.get("properties", ()) else schema["additionalProperties"], own)
                   for schema, own in schemas if key in schema.get("properties", ()) or "additionalProperties" in schema]
        if not all_take(demands, item, left, root):
            return False
    return True


def all_of(demands, value, left, root):
    """Whether a text of the value is one of an automaton of all schemas, each of which has so many references left."""
    demands, i = list(demands), 0
    if left < 0:
        return False
    while i < len(demands):
        schema, own = demands[i]
        if isinstance(schema, bool):
            if not schema:
                return False
            demands[i] = ({}, own)
            schema = {}
        if "$ref" in schema:
            name = schema["$ref"].split("/")[-1]
            own -= name == "tree"
            if own < 0:
                return False
            if len(demands) == 1 and set(schema) <= {"$ref", "$defs"}:
                left = own
            demands.append((root["$defs"][name], own))
        demands += [(one, demands[i][1]) for one in schema.get("allOf", ())]
        i += 1
    for i, (schema, own) in enumerate(demands):
        for key in ("anyOf", "oneOf"):
            if key in schema:
                plain = [({name: item for name, item in one.items() if name not in (("allOf", "$ref") + ((key,) if k == i else ()))}, mine)
                         for k, (one, mine) in enumerate(demands)]
                return any(all_of(plain + [(one, own)], value, left, root) for one in schema[key])
    schemas = [schema for schema, _ in demands]
    listed = any("enum" in schema or "const" in schema for schema in schemas)
    for schema in schemas:
        if not any(same(value, one) for one in schema.get("enum", [schema.get("const", value)])):
            return False
        kinds = schema.get("type", ["object", "array", "string", "number", "boolean", "null"])
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_kind = {"array": isinstance(value, list), "object": isinstance(value, dict), "string": isinstance(value, str), "number": number,
                   "integer": number and (isinstance(value, int) or (listed and value == int(value))), "boolean": isinstance(value, bool), "null": value is None}
        if not any(is_kind[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            return False
    if isinstance(value, str):
        return holds_string(schemas, value, listed)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return holds_number(schemas, value, listed)
    if listed or value is None or isinstance(value, bool):
        return True
    return (takes_list if isinstance(value, list) else takes_object)(demands, value, left, root)


def takes(root, value):
    return all_of([(root, DEPTH)], value, DEPTH, root)


def near(rng, schema):
    """A number about where it has limits."""
    limits = [schema[key] for key in LIMITS if key in schema] + [rng.randint(-99, 99)]
    value = rng.choice(limits) + rng.choice([0, 0, 1, -1, 10, 0.5, 0.05, -0.001])
    value = round(value * rng.choice([1, 1, 2, 3]), 4)
    return int(value) if value == int(value) and rng.random() < 0.7 else value


def value_of(rng, schema, root, depth=0):
    """One that it may take."""
    if isinstance(schema, bool) or depth > 8:
        return random_value(rng, 3)
    if "$ref" in schema:
        return value_of(rng, root["$defs"][schema["$ref"].split("/")[-1]], root, depth + 1)
    if "anyOf" in schema or "oneOf" in schema:
        return value_of(rng, rng.choice(schema.get("anyOf") or schema["oneOf"]), root, depth + 1)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if "allOf" in schema:
        merged = {"properties": {}}
        for one in schema["allOf"]:
            if isinstance(one, dict):
                merged["properties"].update(one.get("properties", {}))
                merged.update({key: item for key, item in one.items() if key != "properties"})
        kind = "object" if merged["properties"] else "number" if any(key in merged for key in LIMITS) else "string"
        return value_of(rng, {"type": kind, "required": [], **merged}, root, depth + 1)
    kind = schema.get("type", rng.choice(["number", "string", "any"]))
    kind = kind[-1] if isinstance(kind, list) else kind
    if kind == "any":
        return random_value(rng, 4)
    if kind == "array":
        first = schema.get("prefixItems", [])
        return [value_of(rng, first[i] if i < len(first) else schema.get("items", True), root, depth + 1) for i in range(rng.randint(0, 3))]
    if kind == "object":
        if "properties" not in schema:
            return {rng.choice("abcxyz\"\n"): value_of(rng, schema.get("additionalProperties", True), root, depth + 1) for _ in range(rng.randint(0, 3))}
        return {key: value_of(rng, one, root, depth + 1) for key, one in schema["properties"].items()
                if key in schema.get("required", ()) or rng.random() < 0.6 - depth / 20}
    if kind == "string" and "format" in schema:
        return rng.choice(sum(FORMATS[schema["format"]], []))
    if kind == "string":
        return "".join(rng.choice("aabcé\"\\x\n\x02") for _ in range(rng.randint(0, 4)))
    if kind in ("integer", "number") and any(key in schema for key in LIMITS):
        return near(rng, schema)
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


def is_checked(root):
    """Whether jsonschema says what the automaton does of values that this takes: its multiples are inexact, and one value may be of two
    alternatives."""
    return jsonschema and not re.search(r'"oneOf"|"multipleOf": [0-9]*\.', json.dumps(root))


def check_schema(program, rng):
    names = rng.sample(["one", "two"], rng.randint(0, 2))
    tree = ["tree"] * (rng.random() < 0.3)
    root = random_schema(rng, 3, names + tree)
    if not isinstance(root, dict):
        return None
    root["$defs"] = {name: random_schema(rng, 1, []) for name in names} | {name: rng.choice(TREES) for name in tree}
    answer = program.ask("s", json.dumps(root, ensure_ascii=rng.random() < 0.5))
    if any(words in answer for words in ("beside keys that say more", "has more than", "names none of the properties", "not both",
                                         "of an object whose properties are named")):
        return None
    if ":" in answer and "no value is all" not in answer:
        return f"{json.dumps(root)}: {answer}"
    for _ in range(8):
        value = value_of(rng, root, root) if rng.random() < 0.8 else random_value(rng)
        expected = takes(root, value)
        for separators in ((",", ":"), (", ", ": ")):
            text = json.dumps(value, ensure_ascii=False, separators=separators)
            found = program.verdict(text)
            if (found == 2) != expected:
                return f"{json.dumps(root)}: {text} is {found}, expected {expected}"
        if expected and is_checked(root):
            jsonschema.validate(value, root)
    for _ in range(3):
        text = walk(program, rng)
        if text is None:
            continue
        value = json.loads(text)
        if "inf" in repr(value) or re.search("[0-9.]{16}", text):
            continue
        if not takes(root, value) and not re.search("[0-9.]0+\\b|-0|[eE]|format|1e2", text + json.dumps(root)):
            return f"{json.dumps(root)}: {text} is no value of it"
        if is_checked(root):
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
