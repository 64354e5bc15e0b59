"""What `generation:` means, in PyTorch: the inputs that say whose tokens the rows of a call are, and attention over what is kept of
their sequences. Plain definitions, row by row: what modc computes in pages and bands has to equal them.
"""
import torch

INPUTS = ("position", "sequence", "pages", "logit_rows")
LEAST = 127 * 2.0 ** -126  # a line of int8 of which nothing is larger is 0


def rounded(x, narrow, like=None):
    """x as it is when it was kept in `narrow`; int8: by the scales that lines of `like`, or its own, have."""
    if narrow != torch.int8:
        return x.to(narrow).to(x.dtype)
    most = (x if like is None else like).abs().amax(-1, keepdim=True)
    scale = torch.where(most < LEAST, 0.0, most / 127)
    whole = torch.where((scale > 0) & (scale < torch.inf), x / scale, 0.0).round()
    return whole * scale


class Rows:
    """Of a spec with `generation:`. Caches live as long as the model that was built; call() begins each of its calls."""

    def __init__(self, section, evaluate, rows):
        self.context = evaluate(section["context"])
        self.sequences = evaluate(section.get("sequences", "1"))
        usual = min(64, self.context) if "sequences" in section else self.context
        self.page = evaluate(section["page"]) if "page" in section else usual
        self.per = -(-self.context // self.page)
        self.narrow = getattr(torch, section["cache"]) if "cache" in section else None
        self.rounds = torch.float32  # of which type keys and values are that are kept in that
        self.shapes = {"position": f"[{rows}]", "sequence": f"[{rows}]", "pages": f"[{self.sequences}, {self.per}]",
                       "logit_rows": "[logits]"}
        self.reset()

    def reset(self):
        self.caches, self.memories = [], {}
        self.unsure = False  # whether some that were kept lie so between two narrow ones that an error of float32 decides

    def call(self, inputs):
        self.now = {name: inputs[name] for name in INPUTS if name in inputs}
        self.site = 0

    def names(self):
        return {"position": self.now.get("position"), "sequence": self.now.get("sequence"),
                "cached_attention": self.cached_attention, "last": self.last, "recent": self.recent,
                "cached_scan": self.cached_scan}

    def last(self, x):
        return x[self.now["logit_rows"]]

    def slots(self, sequence, count):
        """The rows of a cache that hold the first tokens of a sequence."""
        at = torch.arange(count)
        return self.now["pages"][sequence, at // self.page] * self.page + at % self.page

    def cache(self, rows, *like):
        """The tensors of this place of the model: rows of the shapes of `like`."""
        if self.site == len(self.caches):
            self.caches.append([torch.zeros(rows, *x.shape[1:], dtype=x.dtype) for x in like])
        self.site += 1
        return self.caches[self.site - 1]

    def kept(self, x):
        """As the cache holds it."""
        x = x.detach()
        if not self.narrow or x.dtype != self.rounds:
            return x
        error = 2e-6 * x.abs().amax(-1, keepdim=True)
        above, below = rounded(x + error, self.narrow, x), rounded(x - error, self.narrow, x)
        self.unsure |= bool((above - below > 5 * error).any())
        return rounded(x, self.narrow)

    def cached_attention(self, q, k, v, scale=None, window=None, softcap=None, bias=None):
        keys, values = self.cache(self.sequences * self.per * self.page, k, v)
        position, sequence = self.now["position"].tolist(), self.now["sequence"].tolist()
        share = q.shape[1] // k.shape[1]
        scale = q.shape[2] ** -0.5 if scale is None else scale
        rows = []
        for r, (p, s) in enumerate(zip(position, sequence)):
            at = self.slots(s, p + 1)[p]
            keys[at], values[at] = self.kept(k[r]), self.kept(v[r])
        for r, (p, s) in enumerate(zip(position, sequence)):
            slots = self.slots(s, p + 1)
            seen = torch.arange(p + 1)
            seen = seen[seen > p - window] if window is not None else seen
            of = keys[slots[seen]].repeat_interleave(share, 1)  # (seen, heads, d)
            scores = torch.einsum("hd,thd->ht", q[r], of) * scale
            if softcap is not None:
                scores = softcap * torch.tanh(scores / softcap)
            if bias is not None:
                scores = scores + bias[:, (p - seen).clamp(max=bias.shape[1] - 1)]
            rows.append(torch.einsum("ht,thd->hd", scores.softmax(-1), values[slots[seen]].repeat_interleave(share, 1)))
        return torch.stack(rows) if rows else q.new_zeros(0, q.shape[1], v.shape[2])

    def remember(self, module, k, v, sequence):
        self.memories[module, int(sequence)] = self.kept(k), self.kept(v)

    def cross_attention(self, module, q, scale=None, softcap=None):
        scale = q.shape[2] ** -0.5 if scale is None else scale
        rows = []
        for r, s in enumerate(self.now["sequence"].tolist()):
            k, v = self.memories.get((module, s), (None, None))
            if k is None:
                rows.append(torch.zeros_like(q[r]))
                continue
            share = q.shape[1] // k.shape[1]
            scores = torch.einsum("hd,thd->ht", q[r], k.repeat_interleave(share, 1)) * scale
            scores = softcap * torch.tanh(scores / softcap) if softcap is not None else scores
            rows.append(torch.einsum("ht,thd->hd", scores.softmax(-1), v.repeat_interleave(share, 1)))
        return torch.stack(rows)

    def recent(self, x, n):
        (kept,) = self.cache(self.sequences, x[:, None].expand(-1, self.context, *x.shape[1:]))
        rows = []
        for r, (p, s) in enumerate(zip(self.now["position"].tolist(), self.now["sequence"].tolist())):
            kept[s, p] = x[r].detach()
            rows.append(torch.stack([kept[s, p - i] if p >= i else torch.zeros_like(x[0]) for i in reversed(range(n))]))
        return torch.stack(rows)

    def cached_scan(self, decay, x):
        (state,) = self.cache(self.sequences, x)
        decay, rows = decay.expand_as(x), []
        for r, (p, s) in enumerate(zip(self.now["position"].tolist(), self.now["sequence"].tolist())):
            h = x[r] if p == 0 else decay[r] * state[s] + x[r]
            state[s] = h.detach()
            rows.append(h)
        return torch.stack(rows)

    def carried(self, module, name, shape):
        states = self.memories.setdefault((module, name), {})
        return torch.stack([states.get(s, torch.zeros(shape)) if p > 0 else torch.zeros(shape)
                            for p, s in zip(self.now["position"].tolist(), self.now["sequence"].tolist())])

    def carry(self, module, name, x):
        for r, s in enumerate(self.now["sequence"].tolist()):
            self.memories[module, name][s] = x[r].detach()
