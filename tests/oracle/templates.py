#!/usr/bin/env python3
"""Writes tests/templates/*.jsonl: what transformers makes of random conversations by the templates there; or compares many more with
what modc compiles.

    python3 tests/oracle/templates.py                                          writes them; from the root of the repository
    python3 tests/oracle/templates.py --modc build/modc --count 20000 [NAME...]    compares, with CC and CFLAGS

Needs transformers and jinja2 (written with 5.24.0 and 3.1.6). A case that transformers refuses must be refused; where the template
says so itself, in its words. One that modc refuses and transformers does not is a fault."""
import argparse
import datetime
import json
import pathlib
import random
import sys
import tempfile

import jinja2
from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template

sys.path.insert(0, "tests/support")
import chats as support  # noqa: E402

PIECES = ["", " ", "\n", "\t", "\r\n", "a", "Hello", "hello world", "<think>", "</think>", "<|im_end|>", "<s>", "[INST]", "{{ bos_token }}",
          "{% if x %}", "{# no #}", "'", '"', "\\", "\\n", "\u00e9", "\u4f60\u597d", "\U0001f642", "\u3000", "\u00a0", "\u2028", "\x1c", "\x85",
          "\x7f", "\x00", "\x01", "%s", "</s>", "x", "aa", "<tool_response>", "</tool_response>", "-%}", "\x0b", "\u200b", "None",
          "CONTINUE_FINAL_MESSAGE_TAG"]
ROLES = ["system", "user", "assistant", "tool", "ipython", "", "User", "\u00fcser"]
ASCII = {"corners", "openchat"}  # templates that put roles or names in upper case


def text(rng):
    return "".join(rng.choice(PIECES[:-1] if rng.random() < 0.99 else PIECES) for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 9])))


def conversation(rng, name):
    """Mostly turns in the order that templates want; else any."""
    count = rng.choice([1, 1, 2, 2, 3, 4, 5, 8])
    turns = []
    if rng.random() < 0.7:
        system = [{"role": "system", "content": text(rng)}] if rng.random() < 0.5 else []
        turns = system + [{"role": ("user", "assistant")[i % 2], "content": text(rng)} for i in range(count)]
    else:
        roles = ROLES[:-1] if name in ASCII else ROLES
        turns = [{"role": rng.choice(roles[:4] if rng.random() < 0.9 else roles), "content": text(rng)} for _ in range(count)]
    for turn in turns:
        if rng.random() < 0.1:
            turn["name"] = rng.choice(["Ann", "", "x y"])
        if rng.random() < 0.2:
            turn["reasoning_content"] = text(rng)
    return turns


def source_of(path):
    """The template's text and its special tokens, as transformers takes them from the files."""
    config = json.loads((support.FOLDER / "tokenizer_config.json").read_text(encoding="utf-8"))
    template = path.read_bytes().decode()
    if path.suffix == ".json":
        own = json.loads(template)
        config |= own
        template = own["chat_template"]
        if isinstance(template, list):
            template = {item["name"]: item["template"] for item in template}["default"]
    special = {key: value["content"] if isinstance(value, dict) else value for key, value in config.items() if key.endswith("_token")}
    return template, {key: value for key, value in special.items() if value is not None}


class Clock:
    """In the place of transformers' datetime."""
    time = None

    @classmethod
    def now(cls):
        return cls.time


def render(template, special, row, spans):
    """The row with what transformers makes of it."""
    words = None
    Clock.time = datetime.datetime(*row["now"]) if "now" in row else None
    try:
        made, indices = render_jinja_template([row["messages"]], chat_template=template, return_assistant_tokens_mask=spans,
                                              add_generation_prompt=row.get("add_generation_prompt", False),
                                              continue_final_message=row.get("continue_final_message", False), **special)
    except (jinja2.exceptions.UndefinedError, jinja2.exceptions.SecurityError):
        made = None
    except jinja2.exceptions.TemplateError as error:
        made, words = None, str(error)
    except (ValueError, TypeError):
        made = None
    if made is None:
        return row | {"text": None} | ({"error": words} if words else {})
    row = row | {"text": made[0]}
    if spans:
        row["spans"] = [[len(made[0][:at].encode()) for at in span] for span in indices[0]]
    return row


def cases(rng, path, count):
    template, special = source_of(path)
    for _ in range(count):
        row = {"messages": conversation(rng, path.stem)}
        kind = rng.random()
        if "strftime_now" in template:
            row["now"] = [rng.randrange(1000, 10000), rng.randrange(1, 13), rng.randrange(1, 29), *map(rng.randrange, (24, 60, 60))]
        if kind < 0.4:
            row["add_generation_prompt"] = True
        elif kind < 0.7:
            row["continue_final_message"] = True
        yield render(template, special, row, "endgeneration" in template and not row.get("continue_final_message"))


def compare(modc, paths, count, seed):
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        order = support.build(modc, paths, folder)
        for number, name in enumerate(order):
            rows = list(cases(random.Random(f"{seed} {name}"), paths[name], count))
            for row, made in zip(rows, support.run(folder, [(number, row) for row in rows])):
                wrong = support.fault(row, made)
                if wrong and faults < 20:
                    print(f"{paths[name]}: {row}: {wrong}")
                faults += wrong is not None
            refused = sum(row["text"] is None for row in rows)
            print(f"{name}: {len(rows)} cases, of which {refused} are refused", flush=True)
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--modc")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    chat_template_utils.datetime = Clock
    paths = {name: path for name, path in support.templates().items() if not args.names or name in args.names}
    if args.modc:
        sys.exit(compare(args.modc, paths, args.count, args.seed) > 0)
    for name, path in paths.items():
        rows = cases(random.Random(f"{args.seed} {name}"), path, args.count)
        path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
