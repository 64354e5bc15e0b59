#!/usr/bin/env python3
"""Random chat templates: each is refused by modc, or what it compiles makes the texts that transformers makes, or refuses the turns
where transformers does.

    python3 tests/oracle/templates_random.py --modc build/modc --count 2000 [--seed N]    from the root of the repository

Needs transformers and jinja2, and a compiler (CC, CFLAGS)."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, "tests/support")
import chats as support  # noqa: E402
import templates as oracle  # noqa: E402

BLANKS = ["", "", " ", "\n", "\n\n", "  \n ", "\t", " a", "b\n", "{ }", "<|x|>\n", "\u00e9", "%}", "\r\n", " \u00a0\n"]
TEXTS = ["''", "'a'", "'\\n'", '"x y"', "'user'", "'system'", "'<|'", "'</think>'", "'\u00e9'", "'\\u4f60'", "'aa'", "' '"]


class Writer:
    """Writes templates in which names mostly mean something."""

    def __init__(self, rng):
        self.rng, self.loops, self.names, self.depth = rng, [], {"text": [], "number": [], "bool": [], "turns": ["messages"]}, 0
        self.space = False

    def pick(self, *items):
        item = self.rng.choice(items)
        return item() if callable(item) else item

    def turn(self):
        if self.loops and self.rng.random() < 0.7:
            return self.rng.choice(self.loops)
        if self.loops and self.rng.random() < 0.3:
            return self.pick("loop.previtem", "loop.nextitem")
        return self.pick(lambda: f"{self.turns()}[{self.pick('0', '-1', '1', self.number)}]", "messages[0]", lambda: f"({self.turns()} | last)")

    def turns(self):
        self.depth += 1
        if self.depth > 6 or self.rng.random() < 0.6:
            made = self.rng.choice(self.names["turns"])
        else:
            made = self.pick(lambda: f"{self.turns()}[1:]", lambda: f"{self.turns()}[:{self.number()}]", lambda: f"{self.turns()}[::-1]",
                             lambda: f"({self.turns()} | reverse | list)", lambda: f"({self.turns()} if {self.truth()} else {self.turns()})")
        self.depth -= 1
        return made

    def text(self):
        self.depth += 1
        if self.depth > 6 or self.rng.random() < 0.35:
            made = self.pick(*TEXTS, lambda: self.rng.choice(self.names["text"] or TEXTS), lambda: f"{self.turn()}.content",
                             lambda: f"{self.turn()}['role']", "bos_token", "eos_token")
        else:
            made = self.pick(
                lambda: f"{self.turn()}.content", lambda: f"{self.turn()}['content']", lambda: f"{self.text()} + {self.text()}",
                lambda: f"({self.text()} ~ {self.pick(self.text, self.number, self.truth)})", lambda: f"{self.text()} | trim",
                lambda: f"({self.text()}).{self.pick('strip', 'lstrip', 'rstrip')}({self.pick('', TEXTS[1], TEXTS[2])})",
                lambda: f"({self.text()} if {self.truth()} else {self.text()})", lambda: f"{self.text()} | replace({self.pick(*TEXTS)}, {self.pick(*TEXTS)})",
                lambda: f"({self.text()}).split({self.pick(*TEXTS)})[{self.pick('0', '-1', '1')}]", lambda: f"({self.text()} or {self.text()})",
                lambda: f"({self.text()} and {self.text()})", lambda: f"{self.turn()}.name", lambda: f"{self.turn()}.get('name', {self.text()})",
                lambda: f"{self.turn()}.reasoning_content | default({self.text()})", lambda: f"{self.turn()}.name | default({self.text()}, true)",
                lambda: f"{self.text()} | tojson", lambda: f"({self.turn()}.role) | {self.pick('upper', 'title', 'capitalize', 'lower')}",
                lambda: f"({self.text()}).{self.pick('upper', 'title', 'capitalize', 'lower')}()",
                lambda: f"{self.text()} | string", lambda: f"({self.number()} | string)", lambda: f"{self.turn()}.get('name')",
                lambda: f"({self.text()} if {self.truth()})")
        self.depth -= 1
        return made

    def number(self):
        self.depth += 1
        loop = ["loop.index", "loop.index0", "loop.length", "loop.revindex", "loop.revindex0"] if self.loops else []
        if self.depth > 6 or self.rng.random() < 0.5:
            made = self.pick("0", "1", "2", "7", "-1", *loop, lambda: self.rng.choice(self.names["number"] or ["3"]))
        else:
            made = self.pick(lambda: f"{self.turns()} | length", lambda: f"{self.text()} | length", lambda: f"{self.number()} + {self.number()}",
                             lambda: f"({self.number()} - {self.number()})", lambda: f"({self.number()}) % {self.pick('2', '3', '1')}",
                             lambda: f"{self.number()} % 2")
        self.depth -= 1
        return made

    def truth(self):
        self.depth += 1
        loop = ["loop.first", "loop.last", "loop.previtem", "loop.nextitem is defined"] if self.loops else []
        if self.depth > 6 or self.rng.random() < 0.3:
            made = self.pick("true", "false", "add_generation_prompt", "tools", "not tools", "tools is none", "enable_thinking is defined", *loop,
                             lambda: self.rng.choice(self.names["bool"] or ["true"]), lambda: f"{self.turn()}.role == 'user'")
        else:
            made = self.pick(
                lambda: f"{self.text()} {self.pick('==', '!=', 'in', 'not in')} {self.text()}", lambda: f"not {self.truth()}",
                lambda: f"{self.truth()} and {self.truth()}", lambda: f"({self.truth()} or {self.truth()})",
                lambda: f"{self.number()} {self.pick('==', '!=', '<', '<=', '>', '>=')} {self.number()}",
                lambda: f"({self.truth()}) {self.pick('==', '!=')} ({self.truth()})", lambda: f"{self.text()}", lambda: f"{self.number()}",
                lambda: f"({self.text()}).{self.pick('startswith', 'endswith')}({self.pick(*TEXTS)})",
                lambda: f"{self.turn()}.{self.pick('name', 'reasoning_content', 'tool_calls', 'content')} is {self.pick('', 'not ')}"
                        f"{self.pick('defined', 'string', 'none', 'undefined', 'iterable', 'mapping', 'true', 'false', 'number')}",
                lambda: f"{self.pick(self.text, self.number, self.truth, self.turns)} is "
                        f"{self.pick('string', 'none', 'iterable', 'sequence', 'mapping', 'boolean', 'number', 'defined')}",
                lambda: f"'{self.pick('name', 'content', 'tool_calls')}' in {self.turn()}", lambda: f"{self.turn()}.role in ['user', {self.text()}]",
                lambda: f"{self.turn()}.get('name') is none", lambda: f"{self.turns()}")
        self.depth -= 1
        return made

    def tag(self, inside):
        return f"{{%{self.pick('', '', '-', '+', '- ')} {inside} {self.pick('', '', '-', '+')}%}}"

    def put(self):
        value = self.pick(self.text, self.text, self.text, self.number, self.truth)
        return f"{{{{{self.pick('', '', '-')} {value} {self.pick('', '', '-')}}}}}"

    def assign(self):
        kind = self.pick("text", "number", "bool", "turns")
        made = {"text": self.text, "number": self.number, "bool": self.truth, "turns": self.turns}[kind]()
        if self.rng.random() < 0.1 and kind == "text":
            made = self.pick("none", "false")
        if self.space and self.rng.random() < 0.4 and kind != "turns":
            name = {"text": "ns.t", "number": "ns.n", "bool": "ns.b"}[kind]
            if kind == "text" and self.rng.random() < 0.3:
                made = f"ns.t + {made}"
        else:
            name = {"text": self.pick("t", "content"), "number": "n", "bool": "b", "turns": self.pick("rest", "messages")}[kind]
        if name not in self.names[kind]:
            self.names[kind].append(name)
        return self.tag(f"set {name} = {made}")

    def block(self, depth):
        self.depth = 0
        kind = self.rng.random()
        if depth > 3 or kind < 0.35:
            return self.put()
        if kind < 0.55:
            return self.assign()
        if kind < 0.75:
            made = self.tag(f"if {self.truth()}") + self.body(depth)
            if self.rng.random() < 0.3:
                made += self.tag(f"elif {self.truth()}") + self.body(depth)
            if self.rng.random() < 0.5:
                made += self.tag("else") + self.body(depth)
            return made + self.tag("endif")
        if kind < 0.9 and len(self.loops) < 2:
            name = self.pick("message", "m")
            head = f"for {name} in {self.turns()}" + (f" if {name}.role {self.pick('==', '!=')} 'user'" if self.rng.random() < 0.15 else "")
            self.loops.append(name)
            made = self.tag(head) + self.body(depth) + self.tag("endfor")
            self.loops.pop()
            return made
        if self.loops and kind < 0.94:
            return self.tag(f"if {self.truth()}") + self.tag(self.pick("break", "continue")) + self.tag("endif")
        if kind < 0.96:
            return self.tag(f"if {self.truth()}") + "{{ raise_exception('no') }}" + self.tag("endif")
        return self.pick("{# a #}", "{#- b -#}", "  {# c #}\n", lambda: self.tag("generation") + self.body(3) + self.tag("endgeneration"))

    def body(self, depth):
        return "".join(self.pick(*BLANKS) + self.block(depth + 1) for _ in range(self.rng.randrange(1, 4))) + self.pick(*BLANKS)

    def template(self):
        start = ""
        if self.rng.random() < 0.4:
            self.space = True
            start = self.tag(f"set ns = namespace(t={self.pick(*TEXTS)}, n={self.pick('0', '1')}, b={self.pick('true', 'false')})")
            self.names["text"].append("ns.t")
            self.names["number"].append("ns.n")
            self.names["bool"].append("ns.b")
        return start + "".join(self.pick(*BLANKS) + self.block(0) for _ in range(self.rng.randrange(1, 6))) + self.pick(*BLANKS)


def is_read(modc, folder, name, template, why):
    """Whether modc takes a template."""
    (folder / f"{name}.jinja").write_bytes(template.encode())
    (folder / f"{name}.yaml").write_text(support.SPEC.format(name=name, path=f"{name}.jinja"))
    done = subprocess.run([modc, "check", folder / f"{name}.yaml"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"exit status {done.returncode} of\n{template}\n{done.stderr}")
    if done.returncode:
        line = next(line for line in done.stderr.split("\n") if ": error: " in line).split(": error: ")[1]
        why[line] = why.get(line, 0) + 1
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc", required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--why", action="store_true", help="also lists why templates are refused")
    args = parser.parse_args()
    _, special = oracle.source_of(next(path for path in support.templates().values() if path.suffix == ".jinja"))
    special = {"bos_token": special["bos_token"], "eos_token": special["eos_token"]}
    faults, read, same, refused, why, shown = 0, 0, 0, 0, {}, []
    for start in range(0, args.count, 40):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "tokenizer_config.json").write_text(json.dumps(special))
            texts = {}
            for i in range(start, min(start + 40, args.count)):
                template = Writer(random.Random(f"{args.seed} {i}")).template()
                try:
                    oracle.render(template, special, {"messages": [{"role": "user", "content": "x"}]}, False)
                except Exception:  # a template that Jinja does not read
                    continue
                if is_read(args.modc, folder, f"t{i}", template, why):
                    texts[f"t{i}"] = template
            read += len(texts)
            if not texts:
                continue
            order = support.build(args.modc, {key: folder / f"{key}.jinja" for key in texts}, folder)
            for number, key in enumerate(order):
                rng, rows = random.Random(f"{args.seed} {key}"), []
                for _ in range(args.cases):
                    row = {"messages": oracle.conversation(rng, "corners"), "add_generation_prompt": rng.random() < 0.5}
                    if rng.random() < 0.2:
                        row = {"messages": row["messages"], "continue_final_message": True}
                    spans = "endgeneration" in texts[key] and not row.get("continue_final_message")
                    rows.append(oracle.render(texts[key], special, row, spans))
                for row, made in zip(rows, support.run(folder, [(number, row) for row in rows])):
                    wrong = support.fault(row, made)
                    if (wrong and made[0] and row["text"] is not None and (made[3].startswith(support.LOOSE))) or (
                            wrong and row["text"] is None and "error" not in row):  # of what nobody reads
                        refused += 1
                        continue
                    same += not wrong
                    if wrong and key not in shown and len(shown) < 10:
                        shown.append(key)
                        print(f"--- {key}:\n{texts[key]}\n--- {row['messages']} {row.get('add_generation_prompt')}: {wrong}", flush=True)
                    faults += bool(wrong)
    print(f"{read} of {args.count} templates are read; {same} texts are equal, {refused} refused by modc alone, {faults} differ")
    if args.why:
        print("\n".join(f"{count:5} {line}" for line, count in sorted(why.items(), key=lambda item: -item[1])))
    sys.exit(faults > 0 or not read)


if __name__ == "__main__":
    main()
