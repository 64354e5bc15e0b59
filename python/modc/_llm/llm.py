"""modc.LLM: a compiled model that writes, with the arguments, containers and keys of torchrl's wrappers."""
import ctypes
import random
import sys

from modc._arrays import OWN, kind_by_name
from modc._context import with_lock
from modc._errors import Error
from modc._llm import policy
from modc._llm.generator import FINISHES, Generator, Options, Stream
from modc._llm.prompts import texts_of, tokens_of, turns_of
from modc._llm.results import Batch, ChatHistory, Lengths, LogProbs, Masks, Result, Text, Tokens
from modc._net import Net, compile as compile_net

INPUT_MODES = ("history", "text", "tokens")
TOKENIZER_FIXED = {"return_attention_mask": True, "padding_side": "left", "return_tensors": "pt"}  # as torchrl has them
TOKENIZER_KWARGS = {**TOKENIZER_FIXED, "padding": True, "add_special_tokens": True}
SAMPLES = ("num_return_sequences", "n")
FIELDS = ("input_mode", "generate", "generate_kwargs", "tokenizer_kwargs", "pad_output", "pad_model_input", "inplace",
          "num_samples", "return_log_probs", "zero_first", "arrays", "input_key", "attention_mask_key", "history_key", "text_key",
          "tokens_key", "masks_key", "log_probs_key")


class Read:
    """What a call is given: rows of ids, and what they were made of. said: of each id, whether the assistant said it."""
    rows = texts = turns = said = None


class Shared:
    """What all versions of a model have together."""

    def __init__(self):
        self.generator = None
        with_lock(self)


def _load_pickled(net, arguments, draws, out_keys):
    made = LLM(net, **arguments)
    made._draws.setstate(draws)
    made.out_keys = out_keys
    return made


class LLM(policy.Policy):
    """A model with `generation:` that writes: llm = modc.LLM("gpt2.yaml", weights="gpt2", input_mode="text");
    llm.generate("Once").text.response.

    spec, weights, dtype, options, cc, cflags, externs: as modc.compile takes them; or spec is a modc.Net. All others are named,
    and start, as those of torchrl's TransformersWrapper:

    input_mode: what prompts are: "history" (turns: lists of {"role", "content"}, by the spec's `template:`), "text", "tokens"
    (ids). generate: what a call, and forward, does: True writes responses, False computes log-probabilities of whole texts.
    generate_kwargs: options of generation by transformers' names, and vLLM's max_tokens, n, stop; they stand over the spec's
    `defaults:`. num_samples: so many responses to each prompt. return_log_probs: None is True. pad_output: results are padded
    arrays, else lists of one array a row. zero_first: the first log-probability of a response is 0, as torchrl has it. inplace,
    input_key, *_key: where forward(tensordict) reads and writes. arrays: 'torch', 'numpy' or 'modc'; None is what the prompts
    are, else PyTorch where it is imported, else NumPy where it is there.

    Threads may share it: their calls come one behind the other.
    """

    def __init__(self, spec, *, weights=None, dtype=None, options=(), cc=None, cflags=None, externs=None, input_mode="history",
                 generate=True, generate_kwargs=None, tokenizer_kwargs=None, pad_output=False, pad_model_input=None, inplace=None,
                 num_samples=None, return_log_probs=None, zero_first=False, arrays=None, input_key=None,
                 attention_mask_key="attention_mask", history_key="history", text_key="text", tokens_key="tokens",
                 masks_key="masks", log_probs_key="log_probs"):
        given = locals()
        self._fields = {name: given[name] for name in FIELDS}
        if input_mode not in INPUT_MODES:
            raise ValueError(f"input_mode is one of 'history', 'text', 'tokens', not {input_mode!r}")
        if not isinstance(pad_output, bool):
            raise ValueError(f"pad_output is True or False, not {pad_output!r}")
        if pad_model_input is not None and generate:
            raise ValueError("pad_model_input is for generate=False")
        if return_log_probs is False and not generate:
            raise ValueError("return_log_probs=False leaves nothing with generate=False")
        if inplace not in (None, True, False, "empty"):
            raise ValueError(f"inplace is True, False, 'empty' or None, not {inplace!r}")
        self._check_tokenizer(tokenizer_kwargs or {})
        self.net = spec if isinstance(spec, Net) else compile_net(spec, weights=weights, dtype=dtype, options=options, cc=cc,
                                                                  cflags=cflags, externs=externs)
        self.about = self.net.about.get("generation")
        if self.about is None:
            raise Error(f"{self.net.name} has no 'generation:' by which it could write")
        if input_mode != "tokens" and not self.about["tokenizer"]:
            raise Error(f"{self.net.name} has no 'tokenizer:' that makes tokens of texts\nhint: input_mode='tokens' takes ids")
        if input_mode == "history" and not self.about["template"]:
            raise Error(f"{self.net.name} has no 'template:' that makes texts of turns\nhint: input_mode='text' takes texts")
        self.input_mode, self.writes, self.pad_output = input_mode, bool(generate), pad_output
        self.pad_model_input = True if pad_model_input is None else bool(pad_model_input)
        self.tokenizer_kwargs = dict(tokenizer_kwargs or {})
        self.return_log_probs = return_log_probs is not False
        self.zero_first, self.arrays = bool(zero_first), arrays
        self.attention_mask_key, self.history_key, self.text_key = attention_mask_key, history_key, text_key
        self.tokens_key, self.masks_key, self.log_probs_key = tokens_key, masks_key, log_probs_key
        self.generate_kwargs = dict(generate_kwargs or {})
        self.num_samples, several = num_samples, self._samples_of(self.generate_kwargs, num_samples)
        self.pad_token_id = self._options_of(self.generate_kwargs, "generate_kwargs").pad  # else the first eos, else 0
        if several and inplace in (True, "empty"):
            raise ValueError(f"inplace={inplace!r} has no room for several samples of a prompt; False has")
        self.inplace = inplace if inplace is not None else not several
        if self.num_samples is None and several:
            self.num_samples = several
        self._draws, self._shared = random.Random(0), Shared()
        self._begin_policy(input_key)
        self._begun = self._now()

    def _now(self):
        """The arguments as attributes have them."""
        said = {name: self.writes if name == "generate" else getattr(self, name) for name in FIELDS}
        return {name: dict(value) if isinstance(value, dict) else value for name, value in said.items()}

    def _arguments(self):
        """Those of the constructor, and what was set since."""
        now = self._now()
        return {name: self._fields[name] if now[name] == self._begun[name] else now[name] for name in FIELDS}

    def __reduce__(self):
        """A net with its weights, and the arguments; generators are made anew."""
        return _load_pickled, (self.net, self._arguments(), self._draws.getstate(), list(self.out_keys))

    def __copy__(self):
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    # -- arguments

    @staticmethod
    def _check_tokenizer(given):
        for name, value in given.items():
            if name not in TOKENIZER_KWARGS:
                raise TypeError(f"tokenizer_kwargs has {name!r}; there are {', '.join(TOKENIZER_KWARGS)}")
            if name in TOKENIZER_FIXED and value != TOKENIZER_FIXED[name]:
                raise RuntimeError(f"tokenizer_kwargs: {name} is always {TOKENIZER_FIXED[name]!r}")

    def _samples_of(self, given, num_samples):
        """How many responses to a prompt, where that is said; None: one, without a dimension for it."""
        said = [given[name] for name in SAMPLES if given.get(name) is not None]
        if num_samples is not None and said and said[0] not in (1, num_samples):
            raise ValueError(f"num_samples is {num_samples}, and generate_kwargs asks for {said[0]}")
        return num_samples if num_samples is not None else said[0] if said and said[0] != 1 else None

    def _options_of(self, given, of, num_samples=None):
        """Options in C, and whether log-probabilities of prompts are wanted."""
        given = {name: value for name, value in given.items() if value is not None}
        wanted, prompts = given.pop("logprobs", None), bool(given.pop("prompt_logprobs", False))
        if isinstance(wanted, str):
            prompts = prompts or "prompt" in wanted or "full" in wanted
        if (wanted or prompts) and not self.return_log_probs:
            raise ValueError(f"{of} asks for logprobs, and return_log_probs is False")
        if num_samples is not None and not any(given.get(name) for name in SAMPLES):
            given["num_return_sequences"] = num_samples
        given.setdefault("skip_special_tokens", False)  # as torchrl decodes
        if self.return_log_probs:
            given["logprobs"] = "response"
        if self.zero_first:
            given["zero_first"] = True
        self._check_torchrl(given, of)
        options = Options(self.net.library, given, of)
        options.scores_prompts = prompts
        stops = [given[name] for name in ("stop", "stop_sequences", "stop_strings") if given.get(name)]
        options.stops = [text for one in stops for text in ([one] if isinstance(one, str) else one)]
        options.seeded = "seed" in given
        return options

    @staticmethod
    def _check_torchrl(given, of):
        if given.get("do_sample") is False and given.get("temperature", 0) != 0:
            raise ValueError(f"{of}: temperature is {given['temperature']}, and do_sample is False: greedy is temperature 0")

    def _options(self, kwargs, name):
        """Those of a call: its own take the place of generate_kwargs, as torchrl has it."""
        if kwargs and self.num_samples is not None:
            self._samples_of(kwargs, self.num_samples)
        options = self._options_of(kwargs or self.generate_kwargs, f"{name}()" if kwargs else "generate_kwargs",
                                   self.num_samples)
        if not options.seeded:
            options.set("seed", self._draws.getrandbits(64))
        return options

    def seed(self, seed):
        """Where calls that have no option `seed` begin to draw random numbers; at first that is 0."""
        self._draws.seed(seed)

    @property
    def generator(self):
        """What C writes with, made when it is needed: versions share it."""
        with self._shared.lock:
            if self._shared.generator is None:
                self._shared.generator = Generator(self.net._core)
            return self._shared.generator

    def _kind(self, kind):
        if self.arrays is not None:
            return kind_by_name(self.arrays)
        if kind is not None and kind is not OWN:
            return kind
        if sys.modules.get("torch") is not None:
            return kind_by_name("torch")
        try:
            return kind_by_name("numpy")
        except ImportError:
            return OWN

    # -- texts

    def _needs_tokenizer(self, name):
        if not self.about["tokenizer"]:
            raise Error(f"{name}(): {self.net.name} has no 'tokenizer:'")

    def encode(self, text, add_special_tokens=True):
        """The ids of a text, or lists of them, as it is nested."""
        self._needs_tokenizer("encode")
        if isinstance(text, str):
            return self.generator.encode(text, add_special_tokens)
        return [self.encode(one, add_special_tokens) for one in text]

    def decode(self, ids, skip_special_tokens=False):
        """The text of ids, or lists of texts of rows of ids."""
        self._needs_tokenizer("decode")
        rows = tokens_of(ids, None, -1, "decode()")
        texts = [self.generator.decode(row, skip_special_tokens) for row in rows.rows]
        return Batch(rows.shape, OWN, False).values(texts)

    # -- rows

    def _read(self, given, mask, pad, name, most):
        """Prompts, as rows of ids."""
        what = f"{name}(): a prompt" if name != "score" else "score(): a text"
        if self.input_mode != "tokens" and mask is not None:
            raise TypeError(f"{name}() takes attention_mask for ids")
        read = Read()
        if self.input_mode == "tokens":
            read.rows = tokens_of(given, mask, pad, what)
        elif self.input_mode == "text":
            texts = texts_of(given, what)
            special = self.tokenizer_kwargs.get("add_special_tokens", True)
            read.texts, read.rows = texts.rows, texts._replace(rows=[self.generator.encode(text, special) for text in texts.rows])
        else:
            self._read_turns(read, turns_of(given, what), name)
        for i, row in enumerate(read.rows.rows):
            self._check_row(row, i, what, most)
        return read

    def _read_turns(self, read, turns, name):
        """By the template, which has its own tokens at the ends."""
        made = [self.generator.chat(row, name in ("generate", "stream"), name) for row in turns.rows]
        ids = [self.generator.encode_spans(text, False) for text, _ in made]
        read.turns, read.texts = [[dict(turn) for turn in row] for row in turns.rows], [text for text, _ in made]
        read.rows = turns._replace(rows=[row for row, _ in ids])
        if any(said for _, said in made):
            read.said = [[int(any(start < last and end > first for first, last in said)) for start, end in zip(at[::2], at[1::2])]
                         for (_, said), (_, at) in zip(made, ids)]

    def _check_row(self, row, i, what, most):
        if not row:
            raise ValueError(f"{what}: row {i} has no token")
        if len(row) > most:
            raise ValueError(f"{what}: row {i} has {len(row)} tokens, and the model takes {most} at most")
        vocabulary = self.about["vocabulary"]
        if min(row) < 0 or max(row) >= vocabulary:
            at = next(k for k, token in enumerate(row) if not 0 <= token < vocabulary)
            raise IndexError(f"{what}: row {i} has {row[at]} at position {at}: ids are from 0 to {vocabulary - 1}")

    # -- writing

    def generate(self, prompts, *, attention_mask=None, **kwargs):
        """Responses to prompts, however nested: a Result. kwargs: options of generation for this call, in the place of
        generate_kwargs. attention_mask: of prompts that are padded ids."""
        options = self._options(kwargs, "generate")
        most = self.about["source"] if self.about["encoder"] else self.about["context"] - 1
        read = self._read(prompts, attention_mask, options.pad, "generate", most)
        rows = read.rows
        return self._result_of(read, options, *self._write(rows.rows, options, "generate"))

    def _result_of(self, read, options, written, heard):
        """What C wrote behind what was read; heard: the texts, where they are not those of the ids."""
        texts, rows, samples = read.texts, read.rows, options.samples
        shape = rows.shape + ((self._dimension(samples),) if self._dimension(samples) else ())
        batch = Batch(shape, self._kind(rows.kind), self.pad_output)
        before = [row for row in rows.rows for _ in range(samples)]
        after = [written.row(written.ids, i) for i in range(len(before))]
        log_probs = [written.row(written.log_probs, i) for i in range(len(before))]
        result = self._result(batch, before, after, max(rows.width, *map(len, before)), options.pad)
        if texts is not None:
            asked = [text for text in texts for _ in range(samples)]
            said = heard if heard is not None else [self.generator.decode(row, bool(options.skips_special)) for row in after]
            result.text = Text(*map(batch.values, (asked, said, [ask + answer for ask, answer in zip(asked, said)])))
        if read.turns is not None:
            result.history = self._history(batch, [turns for turns in read.turns for _ in range(samples)], after, written)
        if self.return_log_probs:
            self._set_log_probs(result, batch, rows, before, log_probs, options)
        result.finish = batch.values([FINISHES[finish] for finish in written.finishes])
        result.scores = batch.numbers(written.scores, "float32") if options.beams > 1 else None
        return result

    def _history(self, batch, asked, after, written):
        """Turns, with what was written as one of the assistant's, without the token that ends it."""
        said = [row[:-1] if FINISHES[finish] == "eos" else row for row, finish in zip(after, written.finishes)]
        answers = [[{"role": "assistant", "content": self.generator.decode(row, True)}] for row in said]
        return ChatHistory(*map(batch.values, (asked, answers, [ask + answer for ask, answer in zip(asked, answers)])))

    def _dimension(self, samples):
        return self.num_samples if self.num_samples is not None else samples if samples > 1 else None

    def _write(self, rows, options, name):
        """What C wrote, and, where a stop text is to be left out of them, the texts."""
        if not options.stops or options.keeps_stop:
            return self.generator.write(rows, options, name), None
        pieces = [[] for _ in range(len(rows) * options.samples)]

        def listen(_, row, event):
            event = event.contents
            if event.text:
                pieces[row].append(ctypes.string_at(event.text, event.bytes))
            return 0

        written = self.generator.write(rows, options, name, listen)
        return written, [b"".join(row).decode("utf-8", "replace") for row in pieces]

    def _result(self, batch, before, after, width, pad):
        """Tokens, masks and lengths of prompts and responses."""
        widths = width, max(map(len, after))
        tokens = Tokens(batch.rows(before, "int64", width, pad, left=True), batch.rows(after, "int64", widths[1], pad),
                        batch.joined(before, after, "int64", widths, pad), self.pad_output)
        ones, zeros = [[1] * len(row) for row in before], [[0] * len(row) for row in before]
        written = [[1] * len(row) for row in after]
        masks = Masks(batch.joined(ones, written, "bool", widths), batch.joined(zeros, written, "bool", widths), self.pad_output)
        counts = [len(row) for row in before], [len(row) for row in after]
        lengths = Lengths(*map(batch.numbers, (*counts, [sum(pair) for pair in zip(*counts)])))
        return Result(tokens=tokens, masks=masks, lengths=lengths)

    def _set_log_probs(self, result, batch, rows, before, log_probs, options):
        widths = max(rows.width, *map(len, before)), max(map(len, log_probs))
        result.log_probs = LogProbs(response=batch.rows(log_probs, "float32", widths[1]), padded=self.pad_output)
        if not options.scores_prompts:
            return
        if self.about["encoder"]:
            raise Error("prompt_logprobs: what an encoder reads has none")
        scored = [scores for scores in (self.generator.score(row, None, "generate") for row in rows.rows)
                  for _ in range(options.samples)]
        result.log_probs.prompt = batch.rows(scored, "float32", widths[0], left=True)
        result.log_probs.full = batch.joined(scored, log_probs, "float32", widths)

    # -- scoring

    def _score_rows(self, full, attention_mask, prompts, name):
        """What was read, and what each row is written from."""
        pad, encodes = self.pad_token_id, self.about["encoder"]
        read = self._read(full, attention_mask, pad, name, self.about["context"] - (1 if encodes else 0))
        if encodes and prompts is None:
            raise TypeError(f"{name}() of a model with an encoder takes prompts=, what the texts are written from")
        if not encodes and prompts is not None:
            raise TypeError(f"{name}() takes prompts= for models with an encoder; a text has its prompt in front")
        if not encodes:
            return read, [None] * len(read.rows.rows)
        sources = self._read(prompts, None, pad, name, self.about["source"]).rows
        if sources.shape != read.rows.shape:
            raise ValueError(f"{name}(): prompts are nested as {sources.shape}, the texts as {read.rows.shape}")
        return read, sources.rows

    def score(self, full, *, attention_mask=None, prompts=None):
        """Log-probabilities of whole texts, or ids, without writing: a Result with full alone, each token's behind all before it;
        0 of the first. prompts: of a model with an encoder, whose texts are the responses."""
        read, sources = self._score_rows(full, attention_mask, prompts, "score")
        rows = read.rows
        scored = [self.generator.score(row, source, "score") for row, source in zip(rows.rows, sources)]
        batch = Batch(rows.shape, self._kind(rows.kind), self.pad_output)
        width, pad = max(rows.width, *map(len, rows.rows)), self.pad_token_id
        result = Result(text=Text(full=batch.values(read.texts)) if read.texts is not None else None)
        result.tokens = Tokens(full=batch.rows(rows.rows, "int64", width, pad, left=True), padded=self.pad_output)
        result.masks = Masks(batch.rows([[1] * len(row) for row in rows.rows], "bool", width, left=True), padded=self.pad_output)
        if read.said is not None:
            result.masks.all_assistant_mask = batch.rows(read.said, "bool", width, left=True)
        result.history = ChatHistory(full=batch.values(read.turns)) if read.turns is not None else None
        result.log_probs = LogProbs(full=batch.rows(scored, "float32", width, left=True), padded=self.pad_output)
        result.lengths = Lengths(full=batch.numbers([len(row) for row in rows.rows]))
        return result

    def logits(self, full, *, attention_mask=None, prompts=None, name="logits"):
        """The logits that score() is of, row by row: a flat list of arrays (tokens, vocabulary), of which row i is what the ids
        before i make of it; row 0 is 0. prompts: of a model with an encoder, whose row 0 is what its start makes of them."""
        read, sources = self._score_rows(full, attention_mask, prompts, name)
        kind = self._kind(read.rows.kind)
        return [self.generator.logits(row, source, kind, name) for row, source in zip(read.rows.rows, sources)]

    # -- streams

    def stream(self, prompt, **kwargs):
        """The response to one prompt token by token: an iterator of modc Events, which goes on by extend() and can fork().
        kwargs: as of generate. Several streams are written side by side, as many as the spec has `sequences`."""
        options = self._options(kwargs, "stream")
        if options.beams > 1 or options.samples > 1:
            raise ValueError("stream() has one response, without beams")
        most = self.about["source"] if self.about["encoder"] else self.about["context"] - 1
        rows = self._read(prompt, None, options.pad, "stream", most).rows
        if rows.shape:
            raise ValueError("stream() takes one prompt; generate() takes several")
        return Stream(self.generator, *self.generator.begin(rows.rows[0], options, 0, "stream"))

    # -- versions

    def get_new_version(self, **kwargs):
        """The same model with other arguments; all that are not given stay as they are. With another input_mode or generate an
        input_key that was not given is theirs."""
        unknown = [name for name in kwargs if name not in FIELDS]
        if unknown:
            raise TypeError(f"get_new_version() has no argument {unknown[0]!r}; there are {', '.join(FIELDS)}")
        given = {**self._arguments(), **kwargs}
        if "pad_model_input" not in kwargs and given["generate"]:
            given["pad_model_input"] = None
        made = LLM(self.net, **given)
        made._shared = self._shared
        made._draws.setstate(self._draws.getstate())
        made._copy_policy(self)
        return made

    def __call__(self, prompts, **kwargs):
        """forward of a TensorDict; else generate or score, as `generate` says."""
        if policy.is_tensordict(prompts):
            return self.forward(prompts, **kwargs)
        return self.generate(prompts, **kwargs) if self.writes else self.score(prompts, **kwargs)

    def __repr__(self):
        return (f"modc.LLM({self.net.name}, input_mode={self.input_mode!r}, generate={self.writes}, "
                f"pad_output={self.pad_output}, num_samples={self.num_samples})")
