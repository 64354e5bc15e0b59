#!/usr/bin/env python3
"""Holds `modc run --tokens` against what transformers wrote with the same weights: tests/generation, by tests/oracle/generate.py.

    CC=cc CFLAGS=-O1 python3 tests/support/generation.py MODC WORK NAME [--set NAME=VALUE]...     from the root of the repository

Ids are equal, log-probabilities and scores of beams to 1e-4. Then what a response does not depend on: what else is in a batch, how many
responses there are; and T5 keeps keys and values in int8. With --set it is all the same: of few rows, in which prompts are read in parts, or of short pages."""
import json
import math
import pathlib
import struct
import subprocess
import sys

FOLDER = pathlib.Path("tests/generation")
EOS, LENGTH, STOP, TIME = 1, 2, 3, 5 # of enum modc_finish
NEAR = 1e-4
WORDS = json.loads((FOLDER / "words.json").read_text())["model"]["vocab"]


def tensors(path):
    """The rows of each tensor of a file of float32 and int64."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    read = {}
    for name, info in json.loads(content[8:8 + length]).items():
        if name == "__metadata__":
            continue
        first, last = info["data_offsets"]
        kind, size = {"F32": ("f", 4), "I64": ("q", 8)}[info["dtype"]]
        values = struct.unpack(f"<{(last - first) // size}{kind}", content[8 + length + first:8 + length + last])
        width = info["shape"][1] if len(info["shape"]) == 2 else 1
        rows = [list(values[i:i + width]) for i in range(0, len(values), width)] if width else [[]] * info["shape"][0]
        read[name] = rows if len(info["shape"]) == 2 else list(values)
    return read


class Model:
    def __init__(self, modc, work, name, settings, spec=None):
        self.work = work / "_".join([name, *([spec.stem] if spec else []), *settings]).replace("=", "")
        self.command = [modc, "run", str(spec or FOLDER / f"{name}.yaml"), "--weights", str(FOLDER / f"{name}.safetensors"), "--keep",
                        str(self.work)] + [word for text in settings for word in ("--set", text)]

    def write(self, options, prompts):
        """Ids, log-probabilities, scores and ends of the responses."""
        self.work.mkdir(parents=True, exist_ok=True)
        outputs = self.work / "outputs.safetensors"
        self.last = [*self.command, *(word for prompt in prompts for word in ("--tokens", prompt)),
                     *(word for option in options for word in ("--option", option)), "--outputs", str(outputs)]
        done = subprocess.run(self.last, capture_output=True, text=True, check=False)
        if done.returncode:
            self.fail(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
        found = tensors(outputs)
        lengths = found["lengths"]
        return ([ids[:n] for ids, n in zip(found["response"], lengths)], [row[:n] for row, n in zip(found["log_probs"], lengths)],
                found["scores"], found["finish"])

    def fail(self, text):
        sys.exit(f"{text}\nrepeat: " + " ".join(f"'{word}'" if " " in word else word for word in self.last))


def numbers(text, kind=int):
    return [kind(word) for word in text.split()]


def near(a, b):
    return all(math.isclose(x, y, rel_tol=NEAR, abs_tol=NEAR) for x, y in zip(a, b)) and len(a) == len(b)


def text_of(ids):
    """By words.json, of which the first three are special."""
    return "".join(word for id in ids for word, i in WORDS.items() if i == id > 2)


def end_of(ids, options):
    """How a response of transformers ended: options as pairs."""
    named = dict(options)
    if any(stop in text_of(ids) for name, stop in options if name == "stop_strings"):
        return STOP
    if ids and ids[-1] in numbers(named.get("eos_token_id", "").replace(",", " ")):
        return EOS
    return LENGTH if len(ids) >= int(named["max_new_tokens"]) or "max_time" not in named else TIME


def check(model, line):
    options, prompts, expected, scores, log_probs = (line.split("|") + ["", ""])[:5]
    options, prompts = options.strip().split(";"), [text.strip() for text in prompts.split(",")]
    expected = [numbers(text) for text in expected.split(",")]
    ids, probs, found, ends = model.write(options, prompts)
    if ids != expected:
        model.fail("\n".join(f"row {i}: transformers wrote {a}\n         modc wrote {b}" for i, (a, b) in enumerate(zip(expected, ids)) if a != b))
    if scores.strip() and not near(found, numbers(scores, float)):
        model.fail(f"scores of beams are {found}, those of transformers {scores}")
    for i, text in enumerate(log_probs.split(",") if log_probs.strip() else ()):
        if not near(probs[i], numbers(text, float)):
            model.fail(f"row {i}: log-probabilities\n{probs[i]}\nof transformers\n{numbers(text, float)}")
    wanted = [end_of(row, [option.split("=", 1) for option in options]) for row in expected]
    if ends != wanted:
        model.fail(f"rows end as {ends}, and should as {wanted}")


def same(model, what, a, b):
    if a != b:
        model.fail(f"{what}: {a} and {b}")


def properties(model, line):
    """A greedy case."""
    options, prompts, _ = (text.strip() for text in line.split("|")[:3])
    prompts = [text.strip() for text in prompts.split(",")]
    several = prompts + prompts[:2] + [prompts[2] + " 7", prompts[1] + " 9 9"] # more than there are sequences
    whole, sampled = ["max_new_tokens=24", "ignore_eos=true"], ["max_new_tokens=24", "eos_token_id=2", "temperature=1.0", "seed=7"]
    greedy, drawn = model.write(whole, several)[0], model.write(sampled, several)[0]
    same(model, "a prompt twice in a batch", greedy[:2], greedy[3:5])
    for i, prompt in enumerate(prompts):
        same(model, "a prompt alone", model.write(whole, [prompt])[0][0], greedy[i])
    same(model, "the first of a batch, alone", model.write(sampled, prompts[:1])[0], drawn[:1])
    same(model, "a shorter batch", model.write(sampled, several[:4])[0], drawn[:4])
    same(model, "again", model.write(sampled, several)[0], drawn)
    if drawn == model.write([*sampled[:3], "seed=8"], several)[0] or drawn[0] == drawn[3]:
        model.fail("draws do not depend on the seed, or on the row")
    for count in (1, 4):
        guessing = [f"prompt_lookup_num_tokens={count}"]
        same(model, f"{count} guesses", model.write([*whole, *guessing], several)[0], greedy)
        same(model, f"{count} guesses, drawn", model.write([*sampled, *guessing], several)[0], drawn)
    one = [*whole, "do_sample=true", "top_k=1"]
    for count in (2, 6):
        same(model, f"{count} responses of one token each", model.write([*one, f"num_return_sequences={count}"], prompts)[0],
             [row for row in greedy[:3] for _ in range(count)])
    many = [model.write([*sampled, f"num_return_sequences={count}"], prompts)[0] for count in (2, 6)]
    same(model, "more responses", many[0][:2], many[1][:2])
    if len(set(map(str, many[1][:6]))) < 4:
        model.fail(f"responses are the same: {many[1][:6]}")


TALK = """{%- if strftime_now('%C') != '20' %}{{ raise_exception('it is ' + strftime_now('%Y')) }}{% endif %}
{%- for turn in messages %}{{ turn.content }}{% endfor %}
{%- if messages | length > 2 %}{{ raise_exception('enough of ' + messages[0].content + strftime_now('%%')) }}{% endif %}"""


def talk(model):
    """modc chat, by a template that asks what time it is, and refuses the second question in words that it makes."""
    template = model.work / "talk.jinja"
    template.write_text(TALK)
    model.last = [model.command[0], "chat", *model.command[2:6], str(model.work / "talk"), "--template", str(template), "--option",
                  "ignore_eos=true", "--option", "stop=e", "--option", "max_new_tokens=16"]
    done = subprocess.run(model.last, input="ba\nbe\n", capture_output=True, text=True, check=False)
    lines = done.stdout.split("\n")
    if done.returncode != 2 or done.stderr.splitlines()[:1] != ["the template: error: enough of ba%"] or len(lines) < 2 or not lines[0].isalpha():
        model.fail(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")


def narrow(model, modc, work, name, settings):
    """Keys and values in int8, of a source too: other log-probabilities than in float32, but near."""
    spec = work / f"{name}_int8.yaml"
    spec.write_text(f"extends: {(FOLDER / name).resolve()}.yaml\ngeneration: {{cache: int8}}\n")
    options = ["max_new_tokens=6", "ignore_eos=true", "logprobs=response"]
    own = Model(modc, work, name, settings, spec)
    (ids, whole, *_), (found, rounded, *_) = (m.write(options, ["40 20 55 92", "12 6 47"]) for m in (model, own))
    same(own, "of narrow keys and values", found, ids)
    away = max(abs(a - b) for x, y in zip(whole, rounded) for a, b in zip(x, y))
    if not 1e-4 < away < 0.03:
        own.fail(f"log-probabilities of narrow keys and values are {away} away")


def main():
    modc, work, name, *rest = sys.argv[1:]
    model = Model(modc, pathlib.Path(work), name, rest[1::2])
    lines = [line for line in (FOLDER / f"{name}.txt").read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        check(model, line)
    properties(model, lines[0])
    if name == "gpt2" and not rest:
        talk(model)
    if name == "t5" and not rest:
        narrow(model, modc, pathlib.Path(work), name, rest[1::2])
    print(f"{name}: {len(lines)} cases")


if __name__ == "__main__":
    main()
