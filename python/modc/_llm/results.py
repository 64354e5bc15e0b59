"""What modc.LLM gives: containers with the names of torchrl's, and rows of unequal lengths as arrays."""
import array
import ctypes
import math
from dataclasses import dataclass
from typing import Any

CODES = {"int64": "q", "float32": "f", "bool": "B"}


@dataclass
class Text:
    """Strings, as the prompts are nested."""
    prompt: Any = None
    response: Any = None
    full: Any = None


@dataclass
class ChatHistory:
    """Lists of turns, which are dicts with role and content; response has one."""
    prompt: Any = None
    response: Any = None
    full: Any = None


@dataclass
class Tokens:
    """int64. padded: one array, prompts filled up on the left, responses on the right; else lists of an array for each row."""
    prompt: Any = None
    response: Any = None
    full: Any = None
    padded: bool = False


@dataclass
class Masks:
    """bool, of the shapes of Tokens.full: which positions are tokens; which of these are of responses."""
    all_attention_mask: Any = None
    all_assistant_mask: Any = None
    padded: bool = False


@dataclass
class LogProbs:
    """float32, of the shapes of Tokens; 0 where nothing is, and of the first token of a prompt."""
    prompt: Any = None
    response: Any = None
    full: Any = None
    padded: bool = False


@dataclass
class Lengths:
    """How many tokens each row has: int64, as the prompts are nested."""
    prompt: Any = None
    response: Any = None
    full: Any = None


@dataclass
class Result:
    """Of a call of modc.LLM. finish: why each response ended; scores: of beams."""
    text: Text = None
    masks: Masks = None
    tokens: Tokens = None
    log_probs: LogProbs = None
    history: ChatHistory = None
    lengths: Lengths = None
    finish: Any = None
    scores: Any = None


@dataclass
class Event:
    """A token of a stream, and the text that it completes. finish: why it is the last one, else None."""
    token: int = None
    text: str = ""
    log_prob: float = None
    finish: str = None


def nest(values, shape):
    """A flat list as lists in lists; of shape (): its only value."""
    if not shape:
        return values[0]
    step = math.prod(shape[1:])
    return [nest(values[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def made(numbers, shape, dtype, kind):
    """Python's numbers as an array of a kind."""
    data = array.array(CODES[dtype], numbers)
    result, address = kind.empty(shape, dtype)
    if len(data):
        ctypes.memmove(address, data.buffer_info()[0], len(data) * data.itemsize)
    return result


class Batch:
    """How rows become arrays: nested by `shape`, of a kind, padded or not."""

    def __init__(self, shape, kind, padded):
        self.shape, self.kind, self.padded = shape, kind, padded

    def values(self, values):
        return nest(list(values), self.shape)

    def numbers(self, values, dtype="int64"):
        return made(values, self.shape, dtype, self.kind)

    def rows(self, rows, dtype, widths=None, fill=0, left=False):
        """widths: of the padded array."""
        if not self.padded:
            return nest([made(row, (len(row),), dtype, self.kind) for row in rows], self.shape)
        flat = []
        for row in rows:
            empty = [fill] * (widths - len(row))
            flat += [*empty, *row] if left else [*row, *empty]
        return made(flat, (*self.shape, widths), dtype, self.kind)

    def joined(self, prompts, responses, dtype, widths, fill=0):
        """Prompts and their responses behind them. widths: of both."""
        if not self.padded:
            return self.rows([[*prompt, *response] for prompt, response in zip(prompts, responses)], dtype)
        before, behind = widths
        rows = [[*[fill] * (before - len(prompt)), *prompt, *response, *[fill] * (behind - len(response))]
                for prompt, response in zip(prompts, responses)]
        return self.rows(rows, dtype, before + behind)
