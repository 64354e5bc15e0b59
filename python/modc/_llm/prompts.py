"""What modc.LLM is given as prompts: nested texts, or nested ids with masks, as rows of ids."""
import math
from collections import namedtuple

from modc._arrays import view_of

# rows: lists; shape: how they are nested; kind: of the arrays among them, or None; width: of a padded array, or 0
Rows = namedtuple("Rows", "rows shape kind width")


def as_list(value):
    """An array as Python's lists, and its kind; what is none as it is."""
    if isinstance(value, (str, bytes, list, tuple, int, float, dict)) or value is None:
        return value, None
    view, kind = view_of(value)
    if view is None:
        return value, None
    if not hasattr(value, "tolist"):
        value = memoryview(value)
    return value.tolist(), kind


def walk(value, leaf, what):
    """Flat leaves and their shape."""
    if leaf(value):
        return [value], ()
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{what} has a {type(value).__name__}")
    if not value:
        raise ValueError(f"{what}: there is no element")
    found = [walk(part, leaf, what) for part in value]
    if any(shape != found[0][1] for _, shape in found):
        raise ValueError(f"{what}: its parts are nested differently")
    return [one for part, _ in found for one in part], (len(value), *found[0][1])


def texts_of(prompts, what):
    """Rows of strings."""
    if hasattr(prompts, "tolist") and not isinstance(prompts, (list, tuple)):
        prompts = prompts.tolist()
    rows, shape = walk(prompts, lambda value: isinstance(value, str), f"{what} of texts")
    return Rows(rows, shape, None, 0)


TURN = ("role", "content", "name", "reasoning_content")


def turns_of(prompts, what):
    """Rows of turns, which are dicts."""
    def is_talk(value):
        return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(turn, dict) for turn in value)

    rows, shape = walk(prompts, is_talk, f"{what} of turns")
    for turn in (turn for row in rows for turn in row):
        if not {"role", "content"} <= {*turn}:
            raise ValueError(f"{what}: a turn has role and content, found {sorted(turn)}")
        for name, value in turn.items():
            if name not in TURN and value is not None:
                raise ValueError(f"{what}: a turn has {name!r}; templates read {', '.join(TURN)}")
            if name in TURN and not isinstance(value, str) and (value is not None or name in ("role", "content")):
                raise TypeError(f"{what}: {name} of a turn is text, not {value!r}")
    return Rows(rows, shape, None, 0)


def plain(value, kinds):
    """Arrays in it as lists."""
    value, kind = as_list(value)
    if kind is not None:
        kinds.append(kind)
    if isinstance(value, (list, tuple)) and not (value and all(type(one) is int for one in value)):
        return [plain(one, kinds) for one in value]
    return value


def is_row(value):
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(type(one) in (int, bool) for one in value)


def attended(row, mask, number, what):
    """The tokens of a row that its mask has."""
    if len(mask) != len(row):
        raise ValueError(f"{what}: row {number} has {len(row)} ids and a mask of {len(mask)}")
    places = [i for i, bit in enumerate(mask) if bit]
    if not places:
        raise ValueError(f"{what}: row {number} has no element that its mask attends to")
    if places[-1] - places[0] + 1 != len(places):
        raise ValueError(f"{what}: the mask of row {number} has holes; it may be 0 in front and behind")
    return list(row[places[0]:places[-1] + 1])


def tokens_of(prompts, mask, pad, what):
    """Rows of ids. A padded array needs a mask where its rows begin or end with the pad id, which may be a token, too."""
    kinds = []
    value, outer = as_list(prompts)
    if outer is not None:
        kinds.append(outer)
    rows, shape = walk(plain(value, kinds), is_row, f"{what} of ids")
    if any(type(one) is bool for row in rows for one in row):
        raise TypeError(f"{what} of ids has a bool")
    widths = {len(row) for row in rows}
    width = widths.pop() if outer is not None and shape and len(widths) == 1 else 0
    if mask is not None:
        masks, nested = walk(plain(as_list(mask)[0], []), is_row, "a mask")
        if nested != shape:
            raise ValueError(f"{what}: the mask is nested as {nested}, the ids as {shape}")
        rows = [attended(row, bits, i, what) for i, (row, bits) in enumerate(zip(rows, masks))]
    elif width and math.prod(shape) > 1:
        for i, row in enumerate(rows):
            if pad in (row[0], row[-1]):
                raise ValueError(f"{what}: row {i} {'begins' if row[0] == pad else 'ends'} with the pad id {pad}, and no "
                                 "attention_mask says whether that is a token")
    return Rows([list(row) for row in rows], shape, kinds[0] if kinds else None, width)
