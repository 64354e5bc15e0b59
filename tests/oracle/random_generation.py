"""Draws models with `generation:`: blocks of attention over what is kept, of random heads, widths, windows, caps, biases and pages, and
calls of them whose rows are tokens of several sequences, in any order, which go on, begin again, or share pages.
"""
import random
import types

import torch

WIDTHS = [1, 2, 3, 4, 4, 5, 7, 8, 8, 12, 16, 17, 20, 33, 64, 72]
TURN = """\
  turned(x, angle):
    - a, b = x.chunk(2, -1)
    - c, s = angle.cos()[:, None], angle.sin()[:, None]
    - return cat([a * c - b * s, b * c + a * s], -1)
"""


class Drawn:
    """A spec, as text, and how its calls are drawn."""

    kind, winograd, entry, statements = "decoder", False, None, ()

    def __init__(self, seed, attempt):
        self.random = random.Random(f"{seed}.{attempt}.decoder")
        self.numbers = f"{seed}.{attempt}.decoder"
        pick, chance = self.random.choice, self.chance
        self.dtype = "float64" if chance(0.2) else "float32"
        self.context = pick([1, 3, 8, 16, 21, 40, 64, 70])
        self.sequences = pick([1, 2, 3, 5])
        self.page = pick([1, 2, 3, 4, 8, 16, 32, self.context])
        self.page = min(self.page, self.context)
        self.per = -(-self.context // self.page)
        own = random.Random(f"{seed}.{attempt}.cache")
        narrow = self.dtype == "float32" and own.random() < 0.3
        self.cache = own.choice(["bfloat16", "float16", "int8", "int8"]) if narrow else None
        self.most = min(pick([1, 2, 5, 9, 16, 24]), self.context * self.sequences, *([6] if narrow else []))
        self.dim = pick([4, 6, 8, 16, 17, 24])
        self.tokens = chance(0.6)
        self.classes, self.blocks, self.functions = [], [], set()
        for at in range(pick([1, 1, 2])):
            self.classes.append(self.block(f"Block{at}"))
            times = pick([1, 1, 2, 3])
            self.blocks.append(f"  b{at}: {'' if times == 1 else f'{times} x '}Block{at}()")

    def chance(self, p):
        return self.random.random() < p

    # ---- the spec

    def heads(self):
        """heads, groups, width, columns"""
        groups = self.random.choice([1, 1, 2, 2, 3, 4])
        return groups * self.random.choice([1, 1, 2, 3, 4, 5, 6, 8]), groups, self.random.choice(WIDTHS), self.random.choice(WIDTHS)

    def shaped(self, name, count, width):
        """An expression that makes (rows, count, width) of (rows, count * width), as it lies or not."""
        return self.random.choice([f"{name}.view(-1, {count}, {width})", f"{name}.view(-1, {count}, {width})",
                                   f"{name}.view(-1, {width}, {count}).transpose(1, 2)", f"{name}.unflatten(1, ({count}, {width}))"])

    def settings(self, name, heads, parameters):
        found = []
        if self.chance(0.3):
            found.append(f"scale={self.random.choice([0.25, 0.5, 1, 0.1])}")
        if self.chance(0.4):
            found.append(f"window={self.random.choice([1, 2, 3, 7, 8, self.context, self.context + 3])}")
        if self.chance(0.3):
            found.append(f"softcap={self.random.choice([0.5, 2.0, 30])}")
        if self.chance(0.3):
            parameters.append(f"{name}: {{shape: [{heads}, {self.random.choice([1, 2, 5, 9, self.context + 2])}], init: normal_()}}")
            found.append(f"bias={self.random.choice([name, name, f'{name} * 0.5'])}")
        return "".join(f", {text}" for text in found)

    def block(self, name):
        modules, parameters, lines, terms = [], [], [], []
        if self.chance(0.5):
            modules.append(f"norm: LayerNorm({self.dim})")
            lines.append("h = norm(x)")
        else:
            lines.append("h = x * 0.5" if self.chance(0.3) else "h = x")
        if self.chance(0.2):
            lines.append("h = h + sequence[:, None] * 0.25")
        for at in range(self.random.choice([1, 1, 1, 2])):
            heads, groups, d, c = self.heads()
            q, k, v = f"q{at}", f"k{at}", f"v{at}"
            if heads == groups and self.chance(0.5):
                c = d
                modules.append(f"qkv{at}: Linear({self.dim}, {3 * heads * d})")
                lines.append(self.random.choice([f"{q}, {k}, {v} = qkv{at}(h).view(-1, 3, {heads}, {d}).unbind(1)",
                                                 f"{q}, {k}, {v} = qkv{at}(h).view(-1, {heads}, 3, {d}).unbind(2)",
                                                 f"{q}, {k}, {v} = qkv{at}(h).view(-1, {3 * heads}, {d}).chunk(3, 1)"]))
            else:
                modules.append(f"to_q{at}: Linear({self.dim}, {heads * d})")
                modules.append(f"to_k{at}: Linear({self.dim}, {groups * d}, bias={self.chance(0.5)})")
                lines.append(f"{q} = " + self.shaped(f"to_q{at}(h)", heads, d))
                lines.append(f"{k} = " + self.shaped(f"to_k{at}(h)", groups, d))
                if self.chance(0.15):
                    c, v = d, k
                else:
                    modules.append(f"to_v{at}: Linear({self.dim}, {groups * c})")
                    lines.append(f"{v} = " + self.shaped(f"to_v{at}(h)", groups, c))
            if d % 2 == 0 and self.chance(0.5):
                self.functions.add(TURN)
                lines.append(f"angle = position[:, None] * 0.1 ** arange({d // 2})")
                lines.append(f"{q}, {k} = turned({q}, angle), turned({k}, angle)")
            lines.append(f"y{at} = cached_attention({q}, {k}, {v}{self.settings(f'far{at}', heads, parameters)})")
            modules.append(f"out{at}: Linear({heads * c}, {self.dim})")
            terms.append(f"out{at}(" + self.random.choice([f"y{at}.flatten(1)", f"relu(y{at}).flatten(1)", f"y{at}.flatten(1) * 0.5"]) + ")")
        lines.append("return " + self.random.choice(["x + ", "", "h * 0.5 + "]) + " + ".join(terms))
        text = f"  {name}():\n    modules: {{{', '.join(self.quoted(module) for module in modules)}}}\n"
        if parameters:
            text += "    parameters:\n" + "".join(f"      {line}\n" for line in parameters)
        return text + "    forward(x):\n" + "".join(f"      - {line}\n" for line in lines)

    @staticmethod
    def quoted(module):
        name, call = module.split(": ")
        return f'{name}: "{call}"'

    def kept(self):
        """A state of the model's own, of which rows are written: (its line, statements before, an output)."""
        if not self.chance(0.3):
            return "", [], []
        count = self.most + 3
        where = self.random.choice(["arange(x.shape[0])", "arange(x.shape[0]) + 3", "arange(x.shape[0]).flip(0)"])
        lines, more = [f"self.kept = self.kept.index_copy(0, {where}, x)"], ["self.kept * 0.5"]
        if self.chance(0.4):
            lines = ["before = self.kept * 2", *lines]
            more.append("before")
        elif self.chance(0.3):  # a view alone would show what comes
            lines = ["before = self.kept[1:] + x.sum()", *lines]
            more.append("before.sum(1)")
        elif self.chance(0.4):
            lines[0] = f"self.kept = self.kept.index_add(0, {where}, x)"
        return f"state:\n  kept: {{shape: [{count}, {self.dim}], init: zeros_()}}\n", lines, more

    def yaml(self):
        given = "{shape: [rows], dtype: int64}" if self.tokens else f"[rows, {self.dim}]"
        state, lines, more = self.kept()
        wide = self.random.choice([3, 10, 31])
        modules = ([f"  embed: Embedding(20, {self.dim})"] if self.tokens else []) + self.blocks + [f"  head: Linear({self.dim}, {wide})"]
        inner = "embed(given)" if self.tokens else "given"
        for at in range(len(self.blocks)):
            inner = f"b{at}({inner})"
        result = self.random.choice(["head(last(x))", "last(head(x))", "head(last(x)) * 0.5", "softmax(head(last(x)), -1)"])
        results = [result, *(["x"] if self.chance(0.6) else []), *more]
        settings = [f"context: {self.context}", f"page: {self.page}"]
        if self.sequences > 1 or self.chance(0.5):
            settings.append(f"sequences: {self.sequences}")
        if self.cache:
            settings.append(f"cache: {self.cache}")
        functions = f"functions:\n{TURN}" if self.functions else ""
        return (f"modc: 1\nmodel: drawn\ndtype: {self.dtype}\nsizes: {{rows: {self.most}}}\ninputs:\n  given: {given}\n{functions}"
                f"classes:\n{''.join(self.classes)}modules:\n" + "\n".join(modules) + f"\n{state}forward:\n  - x = {inner}\n"
                + "".join(f"  - {line}\n" for line in lines) + f"  - return {', '.join(results)}\n"
                + f"generation: {{{', '.join(settings)}}}\n")

    # ---- calls

    def start(self, count, lengths, table, generator):
        """position and sequence of the rows of a call."""
        order = generator.sample(range(self.sequences), self.sequences)
        rows, left = [], count
        for at, s in enumerate(order):
            least = max(0, left - self.context * (self.sequences - at - 1))
            own = generator.randint(least, min(left, self.context))
            left -= own
            if not own:
                continue
            begin = lengths[s]
            if begin + own > self.context or generator.random() < 0.15:
                begin = generator.choice([0, generator.randint(0, min(begin, self.context - own))])
                begin = self.share(s, own, begin, lengths, table, generator)
            lengths[s] = begin + own
            rows += [(begin + i, s) for i in range(own)]
        if generator.random() < 0.3:
            generator.shuffle(rows)
        return rows

    def share(self, s, own, begin, lengths, table, generator):
        """Sometimes a sequence begins with whole pages of another; where its own rows begin then."""
        others = [o for o in range(self.sequences) if o != s and lengths[o] >= self.page]
        if not others or generator.random() < 0.5:
            return begin
        other = generator.choice(others)
        shared = generator.randint(1, lengths[other] // self.page)
        if shared * self.page + own > self.context:
            return begin
        table[s][:shared] = table[other][:shared]
        return shared * self.page

    def calls(self, generator, steps, count, logits):
        """Inputs, with one dimension of calls more."""
        numbers = list(range(self.sequences * self.per))
        generator.shuffle(numbers)
        table = [numbers[s * self.per:(s + 1) * self.per] for s in range(self.sequences)]
        lengths, found = [0] * self.sequences, {"position": [], "sequence": [], "pages": [], "logit_rows": []}
        for _ in range(steps):
            for _ in range(100):  # until no two rows are kept in one place
                own, pages = list(lengths), [list(line) for line in table]
                rows = self.start(count, own, pages, generator)
                slots = [pages[s][p // self.page] * self.page + p % self.page for p, s in rows]
                if len(set(slots)) == len(slots):
                    break
            else:
                raise AssertionError("no call could be drawn")
            lengths, table = own, pages
            found["position"].append([p for p, _ in rows])
            found["sequence"].append([s for _, s in rows])
            found["pages"].append([list(line) for line in table])
            found["logit_rows"].append([generator.randrange(count) for _ in range(logits)])
        shapes = {"position": (steps, count), "sequence": (steps, count), "pages": (steps, self.sequences, self.per),
                  "logit_rows": (steps, logits)}
        found = {name: torch.tensor(value, dtype=torch.int64).reshape(shapes[name]) for name, value in found.items()}
        if self.tokens:
            given = torch.tensor([generator.randrange(20) for _ in range(steps * count)], dtype=torch.int64).reshape(steps, count)
        else:
            given = torch.tensor([generator.gauss(0, 1) for _ in range(steps * count * self.dim)], dtype=torch.float64)
            given = given.reshape(steps, count, self.dim).to(getattr(torch, self.dtype))
        return {"given": given, **found}

    def runs(self, root, generator):
        """[(name, options, inputs, what write_run asks of the draw)]"""
        paths = [path for path, _ in root.named_modules()]
        hooks = [text for _ in range(generator.choice([1, 2])) for text in
                 (generator.choice(["--hooks", "--pre-hooks"]), f"{generator.choice(paths)}=scale:{generator.choice([0.5, -1.0, 1.5])}")]
        runs = [("at_maxima", [], 2), ("smaller", [], 1), ("hooks", hooks, 1), ("fence", ["--hooks", "fence"], 1)]
        runs += [("empty", [], 0)] if generator.random() < 0.3 else []
        runs += [("split", ["--plan", f"split={generator.choice([2, 3])}"], 1)] if generator.random() < 0.4 else []
        for name, options, way in runs:
            count = [0, generator.randint(1, self.most), self.most][way]
            logits = min(count, generator.choice([0, 1, 1, 2, count]))
            steps = generator.choice([1, 3, 6])
            steps = min(steps, 3) if self.cache else steps  # else something is rounded by chance
            yield name, options, self.calls(generator, steps, count, logits), count, types.SimpleNamespace(
                autocast=None, sequence=True, winograd=False, numbers=self.numbers)
