"""A generator in C with its context, options by name, and a tokenizer; modc_generation.h."""
import array
import collections
import ctypes
import itertools
import time
import weakref

from modc import _library as lib
from modc._context import Context, with_lock
from modc._errors import Error
from modc._llm.prompts import TURN
from modc._llm.results import Event

FINISHES = (None, "eos", "length", "stop", "full", "time", "user", "fault")  # enum modc_finish
NO_TEMPLATE, KEEP_SPECIAL = 1, 4
TEXTS = ("stop", "stop_sequences", "stop_strings")


def number_text(value):
    return ("true" if value else "false") if isinstance(value, bool) else repr(value)


def is_number(value):
    return isinstance(value, (bool, int, float))


def option_texts(name, value):
    """What modc_generation_set is called with for a value: a text, or several. None: it is nothing that an option takes."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if is_number(value):
        return [number_text(value)]
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.items())
    if not isinstance(value, (list, tuple)):
        return None
    value = [one.tolist() if hasattr(one, "tolist") else one for one in value]
    if name in TEXTS:
        return value if all(isinstance(one, str) for one in value) else None
    if all(map(is_number, value)):
        return [", ".join(map(number_text, value))]
    if not all(isinstance(one, (list, tuple)) for one in value):
        return None
    if name == "sequence_bias":
        return [", ".join(f"{' '.join(map(str, [ids] if is_number(ids) else ids))}: {bias!r}" for ids, bias in value)]
    return [", ".join(" ".join(map(str, ids)) for ids in value)]


class Options:
    """Options in C: the model's `defaults:`, and what a dict says of them."""

    def __init__(self, library, given, of):
        self.library, self.pointer = library, ctypes.c_void_p()
        library.check(library.options_create(ctypes.byref(self.pointer)), of)
        weakref.finalize(self, library.options_destroy, self.pointer).atexit = False
        message = ctypes.create_string_buffer(300)

        def check(status):
            if status in (lib.NAME, lib.ARGUMENT, lib.INDEX):
                said = message.value.decode("utf-8", "replace")
                raise ValueError(f"{of}: {said}")
            library.check(status, of)

        for name, value in given.items():
            if value is None:
                continue
            texts = option_texts(name, value)
            if texts is None:
                raise TypeError(f"{of}: {name} takes numbers, texts and lists of them, not {value!r}")
            for text in texts:
                check(library.options_set(self.pointer, name.encode(), text.encode(), message, len(message)))
        check(library.generation_check(self.pointer, library.about["generation"]["vocabulary"], message, len(message)))
        self.about()

    def about(self):
        values = (ctypes.c_int64 * 6)()
        self.library.options_about(self.pointer, values)
        self.samples, self.beams, self.skips_special, self.keeps_stop, pad, eos = values
        self.pad = pad if pad >= 0 else max(eos, 0)  # as torchrl: where there is none, the eos token is

    def set(self, name, value):
        self.library.check(self.library.options_set(self.pointer, name.encode(), str(value).encode(), None, 0), name)


def packed(rows):
    """Ids of rows behind each other, and where each begins."""
    ids, offsets = array.array("q", [0]), array.array("i", [0])
    ids.pop()
    for row in rows:
        ids.extend(row)
        offsets.append(len(ids))
    return ids, offsets


def address(values):
    return values.buffer_info()[0]


class Written:
    """Of modc_generator_write, by rows."""

    def __init__(self, rows, room):
        self.room = room
        self.ids, self.log_probs = array.array("q", bytes(8 * rows * room)), array.array("f", bytes(4 * rows * room))
        self.lengths, self.finishes = array.array("i", bytes(4 * rows)), array.array("i", bytes(4 * rows))
        self.scores = array.array("f", bytes(4 * rows))

    def row(self, values, i):
        return values[i * self.room:i * self.room + self.lengths[i]].tolist()


class Generator:
    """One generator, its context and its lock: calls of several threads come one behind the other, and streams are written
    side by side."""

    def __init__(self, core):
        self.core, self.library, self.about = core, core.library, core.about["generation"]
        self.context, self.pointer = Context(core), ctypes.c_void_p()
        self.library.check(self.library.generator_create(self.context.pointer, ctypes.byref(self.pointer)), "modc.LLM")
        weakref.finalize(self, self.library.generator_destroy, self.pointer).atexit = False
        self.events = (lib.Event * self.about["sequences"])()
        self.streams = {}  # by sequence: what is told of it and was not taken yet
        self.left = []  # sequences whose streams are gone
        self.numbers = itertools.count(1)  # of forks, for their random numbers
        with_lock(self)

    def ready(self, name):
        """With the lock: sequences of streams that are gone end, and the context is as the net is."""
        while self.left:
            sequence = self.left.pop()
            self.streams.pop(sequence, None)
            self.library.generator_end(self.pointer, sequence)
        if self.context.version != self.core.version:
            self.context.update(self.core)
        self.core.refresh(name)

    def check(self, status, name):
        if status == lib.OK:
            return
        said = self.library.generator_message(self.pointer).decode("utf-8", "replace")
        if status in (lib.ARGUMENT, lib.INDEX) and said:
            raise ValueError(f"{name}(): {said}")
        if status == lib.BUSY:
            raise Error(f"{name}(): a stream of this model is not at its end: read it, or close() it")
        if status == lib.FULL:
            raise Error(f"{name}(): all sequences that the spec holds ({self.about['sequences']}) are taken by streams: close() "
                        "some, or let `generation:` have more `sequences`")
        self.core.raise_for(self.context, name, status)

    def length(self, options, count):
        """Tokens that may stand behind so many."""
        return min(self.library.generation_length(options.pointer, count), self.about["context"]) - count

    def write(self, rows, options, name, listener=None):
        ids, offsets = packed(rows)
        encodes = self.about["encoder"]
        room = max(1, *(self.length(options, 1 if encodes else len(row)) for row in rows))
        written = Written(len(rows) * options.samples, room)
        none = None, None
        prompts = lib.Prompts(*(none if encodes else (address(ids), address(offsets))), len(rows),
                              *((address(ids), address(offsets)) if encodes else none), 0)
        responses = lib.Responses(*map(address, (written.ids, written.log_probs, written.lengths, written.finishes,
                                                 written.scores)), room, options.pad)
        heard = lib.ListenerFunction(listener) if listener else lib.ListenerFunction()
        with self.lock:
            self.ready(name)
            self.check(self.library.write(self.pointer, ctypes.byref(prompts), options.pointer, ctypes.byref(responses), heard,
                                          None), name)
        return written

    def score(self, row, source, name):
        """The log-probabilities of a row, of which the first is 0; with a source: of all of it, behind the model's start."""
        ids, scores = array.array("q", row), array.array("f", bytes(4 * len(row)))
        self._score(ids, source, address(scores), None, name)
        return scores.tolist()

    def logits(self, row, source, kind, name):
        """(len(row), vocabulary): what stands behind the ids before each; 0 of the first, but with a source."""
        result, place = kind.empty((len(row), self.about["vocabulary"]), "float32")
        self._score(array.array("q", row), source, None, place, name)
        return result

    def _score(self, ids, source, scores, logits, name):
        """Either."""
        with self.lock:
            self.ready(name)
            if source is not None:
                sources = array.array("q", source)
                status = self.library.generator_score_source(self.pointer, address(sources), len(sources), address(ids), len(ids),
                                                             scores, logits)
            elif scores is not None:
                status = self.library.generator_score(self.pointer, address(ids), len(ids), scores)
            else:
                status = self.library.generator_logits(self.pointer, address(ids), len(ids), logits)
            self.check(status, name)

    # -- texts

    def encode(self, text, special=True):
        return self.encode_spans(text, special)[0]

    def encode_spans(self, text, special=True):
        """The ids of a text, and of each the bytes that it is: pairs, flat."""
        data, count, room = text.encode("utf-8", "surrogatepass"), ctypes.c_int(), len(text) + 16
        while True:
            ids, spans = array.array("q", bytes(8 * room)), array.array("I", bytes(8 * room))
            status = self.library.encode(data, len(data), 0 if special else NO_TEMPLATE, address(ids), address(spans), room,
                                         ctypes.byref(count))
            if status != lib.SIZE or count.value <= room:
                break
            room = count.value
        self.library.check(status, "encode()")
        return ids[:count.value].tolist(), spans[:2 * count.value].tolist()

    def chat(self, turns, asks, name):
        """The text of turns by the model's template, and where in it, in bytes, the assistant speaks. asks: it ends where an
        answer begins."""
        given, message = (lib.Turn * len(turns))(), ctypes.create_string_buffer(300)
        for turn, place in zip(turns, given):
            for part in TURN:
                if turn.get(part) is not None:
                    data = turn[part].encode("utf-8", "surrogatepass")
                    setattr(place, part, lib.Words(data, len(data)))
        now = lib.Date(*time.localtime()[:6])
        chat, count, room = lib.Chat(add_generation_prompt=asks, now=ctypes.pointer(now)), ctypes.c_size_t(), 4096
        chat.span_room = len(turns) + 1
        while True:
            spans, text = array.array("I", bytes(8 * chat.span_room)), ctypes.create_string_buffer(room)
            chat.spans = address(spans)
            status = self.library.chat(given, len(turns), ctypes.byref(chat), text, room, ctypes.byref(count), message,
                                       len(message))
            if status not in (lib.OK, lib.SIZE) or (count.value < room and chat.span_count <= chat.span_room):
                break
            room, chat.span_room = max(room, count.value + 1), max(chat.span_room, chat.span_count)
        if status == lib.ARGUMENT:
            said = message.value.decode("utf-8", "replace")
            raise ValueError(f"{name}(): the template refuses the turns: {said}")
        self.library.check(status, f"{name}()")
        pairs = spans[:2 * chat.span_count].tolist()
        return text.raw[:count.value].decode("utf-8", "replace"), list(zip(pairs[::2], pairs[1::2]))

    def decode(self, ids, skip_special=False):
        given, count = array.array("q", ids), ctypes.c_size_t()
        flags, room = 0 if skip_special else KEEP_SPECIAL, 16 * len(ids) + 16
        while True:
            buffer = ctypes.create_string_buffer(room)
            status = self.library.decode(address(given), len(given), flags, buffer, room, ctypes.byref(count))
            if status != lib.SIZE or count.value < room:
                break
            room = count.value + 1
        self.library.check(status, "decode()")
        return buffer.raw[:count.value].decode("utf-8", "replace")

    # -- streams

    def begin(self, row, options, number, name):
        ids, sequence, encodes = array.array("q", row), ctypes.c_int(), self.about["encoder"]
        first = array.array("q", [self.about["start"]]) if encodes else ids
        with self.lock:
            self.ready(name)
            self.check(self.library.generator_begin(self.pointer, address(first), len(first), options.pointer, number,
                                                    ctypes.byref(sequence)), name)
            if encodes:
                status = self.library.generator_encode(self.pointer, sequence, address(ids), len(ids))
                if status != lib.OK:
                    self.library.generator_end(self.pointer, sequence)
                self.check(status, name)
            self.streams[sequence.value] = collections.deque()
        return sequence.value, (ids, options)  # which C reads on

    def step(self, name):
        """With the lock: one call of the model, whose events go to their streams."""
        count = ctypes.c_int()
        self.check(self.library.generator_step(self.pointer, self.events, len(self.events), ctypes.byref(count)), name)
        for event in self.events[:count.value]:
            if event.sequence in self.streams:
                text = ctypes.string_at(event.text, event.bytes).decode("utf-8", "replace") if event.text else ""
                status = self.library.status(event.status) if event.status else None
                self.streams[event.sequence].append((event.token, text, event.log_prob, FINISHES[event.finish], status))


class Closing:
    """What `with` closes, by _leave."""

    def close(self):
        """What it holds is free for others: of a stream in a queue, its item ends before the next token."""
        self._leave()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Stream(Closing):
    """The tokens of a response as they come: an iterator of modc's Event. It holds a sequence of the model until close(), or
    until nobody has it."""

    def __init__(self, generator, sequence, kept):
        self._generator, self._sequence, self._kept = generator, sequence, kept
        self._ended = False
        self._leave = weakref.finalize(self, generator.left.append, sequence)
        self._leave.atexit = False

    def __iter__(self):
        return self

    def __next__(self):
        if self._ended:
            raise StopIteration
        generator = self._generator
        with generator.lock:
            self._open("stream")
            told = generator.streams[self._sequence]
            while not told:
                generator.ready("stream")
                if generator.library.generator_active(generator.pointer) == 0:
                    raise StopIteration  # a step failed, or it was forked behind its end
                generator.step("stream")
            token, text, log_prob, finish, status = told.popleft()
        self._ended = finish is not None
        if finish == "fault":
            raise Error(f"stream(): no token could be picked: {status}")
        return Event(token if token >= 0 else None, text, log_prob, finish)

    def _open(self, name):
        if not self._leave.alive:
            raise Error(f"{name}(): the stream was closed")

    def ids(self):
        """All tokens so far, the prompt's too."""
        with self._generator.lock:
            self._open("ids")
            count = ctypes.c_int()
            place = self._generator.library.generator_ids(self._generator.pointer, self._sequence, ctypes.byref(count), None)
            return array.array("q", ctypes.string_at(place, 8 * count.value)).tolist()

    def extend(self, more):
        """More text, or ids, behind all that is there: the stream goes on as after a prompt of it all, and nothing is read
        again."""
        generator = self._generator
        more = generator.encode(more, False) if isinstance(more, str) else list(more)
        ids = array.array("q", more)
        with generator.lock:
            self._open("extend")
            generator.ready("extend")
            status = generator.library.generator_extend(generator.pointer, self._sequence, address(ids), len(ids))
            if status == lib.SIZE:
                raise ValueError(f"extend(): {len(ids)} ids have no room in a context of {generator.about['context']}, or are none")
            if status == lib.INDEX:
                raise IndexError(f"extend(): ids are from 0 to {generator.about['vocabulary'] - 1}")
            generator.check(status, "extend")
            generator.streams[self._sequence].clear()
            self._ended = False
        return self

    def fork(self):
        """Another stream with the same tokens, which shares what was computed of them and goes its own way where tokens are
        drawn."""
        generator, other = self._generator, ctypes.c_int()
        with generator.lock:
            self._open("fork")
            generator.ready("fork")
            generator.check(generator.library.generator_fork(generator.pointer, self._sequence, next(generator.numbers),
                                                             ctypes.byref(other)), "fork")
            generator.streams[other.value] = collections.deque(generator.streams[self._sequence])
        made = Stream(generator, other.value, self._kept)
        made._ended = self._ended
        return made
