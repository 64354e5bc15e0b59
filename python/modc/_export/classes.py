"""The classes of a spec: one for all instances of a class of Python whose texts differ by numbers, which are its arguments.

What a class's constructor calls such a number, its instances are asked: the argument has that name.
"""
import inspect
import itertools
import re

from torch import nn

from modc._export.body import NAME
from modc._export.constructors import literal, parameters_of
from modc._export.merge import HOLE, Merger, conditions

FACTORS = (2, 3, 4, 6, 8)


def literal_or_none(item):
    """The text of a number, string or None, or of what a tuple of equal ones is said by; None: it is something else."""
    if isinstance(item, (bool, int, float, str)) or item is None:
        return literal(item)
    if isinstance(item, (tuple, list)) and item and all(part == item[0] for part in item) and isinstance(item[0], int):
        return literal(item[0])
    return None


def attribute(module, name):
    return literal_or_none(getattr(module, name, NotImplemented))


def default_of(kind, argument, classes):
    """The text of an argument's default, of a class of the spec or of torch.nn; None: it has none."""
    if kind in classes:
        return classes[kind][1].get(argument)
    parameter = parameters_of(getattr(nn, kind)).get(argument) if isinstance(getattr(nn, kind, None), type) else None
    return literal_or_none(parameter.default) if parameter is not None else None


def fits(column, other):
    """Whether two columns can be one argument: nowhere different, and somewhere equal."""
    return any(a is not None and a == b for a, b in zip(column, other)) and all(
        None in (a, b) or a == b for a, b in zip(column, other))


def filled(column, other):
    return tuple(b if a is None else a for a, b in zip(column, other))


class Definition:
    """A class of the spec: of Python's class `kind`, with the text of its instances, in which each number is a hole, and by
    instance (path, module) these numbers, None where it lacks the place. hints: by hole the name of a condition."""

    def __init__(self, kind, skeleton, hints=None):
        self.kind, self.skeleton, self.hints = kind, skeleton, hints or {}
        self.slots, self.modules = [], []
        self.arguments, self.header, self.text = [], None, None

    def add(self, path, module, numbers):
        self.modules.append((path, module))
        self.slots.append(numbers)

    def names(self):
        """Attributes that may name an argument: those of the constructor's arguments first."""
        own = {name for _, module in self.modules for name in vars(module) if not name.startswith("_") and name != "training"}
        return list(dict.fromkeys([*self.parameters(), *sorted(own)]))

    def parameters(self):
        return {name: parameter for name, parameter in list(inspect.signature(self.kind.__init__).parameters.items())[1:]
                if NAME.match(name)}

    # ---- arguments

    def settle(self, name, classes):
        """Makes arguments, header and text; {path: the constructor of the instance there, and that with all arguments}. classes:
        {name: (its arguments, their defaults)}."""
        texts, arguments = [], []  # arguments: [column of numbers, name]
        for position, column in enumerate(zip(*self.slots)):
            known = {item for item in column if item is not None}
            only = known.pop() if len(known) == 1 else None
            texts.append(self.same_word(position, column, arguments) or only if only is not None
                         else self.closed(position, self.argument(position, column, arguments, classes)))
        text = "".join(itertools.chain(*self.without_defaults(texts, classes)))
        text = re.sub(r"(?m)^( *\S+:) 1 x (?=[A-Z])", r"\1\n    - ", text)
        self.text = re.sub(r"(?m)^( *- )1 x ", r"\1", text).split("\n")
        parameters = self.parameters()
        order = list(parameters)
        self.arguments = sorted(((self.whole_column(column, name), name) for column, name in arguments),
                                key=lambda item: order.index(item[1]) if item[1] in order else 99)
        defaults = {argument: value for column, argument in self.arguments
                    for value in [self.default(column, argument, parameters.get(argument))] if value is not None}
        self.arguments.sort(key=lambda item: item[1] in defaults)
        header = [f"{argument}={defaults[argument]}" if argument in defaults else argument for _, argument in self.arguments]
        self.header = f"{name}({', '.join(header)})"
        classes[name] = [argument for _, argument in self.arguments], defaults
        made = {}
        for index, (path, _) in enumerate(self.modules):
            full = [(argument, column[index]) for column, argument in self.arguments]
            short = [item for item in full if item[0] not in defaults or item[1] != defaults[item[0]]]
            made[path] = [f"{name}({', '.join(f'{key}={item}' if key in defaults else item for key, item in given)})"
                          for given in (short, full)]
        return made

    def closed(self, position, text):
        """An expression as it can stand in the place of a number."""
        before, behind = self.skeleton.split(HOLE)[position:position + 2]
        alone = re.search(r"(?:[(\[{,:=]|\breturn) *$", before) and re.match(r" *(?:[)\]},:\n]|$)", behind)
        return text if alone or " " not in text else f"({text})"

    def whole_column(self, column, name):
        """The column of an argument, with its attribute or the usual number where an instance has none."""
        known = [item for item in column if item is not None]
        usual = max(dict.fromkeys(known), key=known.count)
        return tuple(item or attribute(module, name) or usual for item, (_, module) in zip(column, self.modules))

    def default(self, column, name, parameter):
        """The default of an argument; None: it has none."""
        if parameter is not None and parameter.default is not parameter.empty and literal_or_none(parameter.default) in column:
            return literal_or_none(parameter.default)
        if name in self.hints.values() and set(column) == {"True", "False"}:
            return "False"
        if (parameter is None or parameter.default is not parameter.empty) and f"{name}={HOLE}" in self.skeleton:
            # an argument of a module below, which most leave out
            usual = max(column, key=column.count)
            return usual if 2 * column.count(usual) >= len(column) else None
        return None

    def argument(self, position, column, arguments, classes):
        """The text of a number that instances differ by: an argument, an old one if it can be, or an expression over one."""
        hint = self.hints.get(position)
        for same in (lambda other: other == column, lambda other: hint is None and fits(column, other)):
            for entry in arguments:
                if same(entry[0]):
                    entry[0] = filled(entry[0], column)
                    return entry[1]
        counts = self.skeleton.split(HOLE)[position + 1].startswith(" x ")
        text = self.derived(column, arguments) if hint is None and not counts else None
        if text is not None:
            return text
        taken = {name for _, name in arguments}
        rest = self.rest(column, arguments, taken)
        if rest is not None:
            return rest
        name = hint if hint and hint not in taken else self.argument_name(column, position, taken, classes)
        arguments.append([column, name])
        return name

    def without_defaults(self, texts, classes):
        """Pairs of what stands between numbers and the number, without the arguments of layers and classes that are said and are
        the default in all instances."""
        pieces = self.skeleton.split(HOLE)
        before = ""
        for piece, text in zip(pieces, [*texts, ""]):
            before += piece
            said = re.search(r"(\w+)\((?:[^()]*, )?(\w+)=$", before[-400:])
            if said and default_of(said.group(1), said.group(2), classes) == text:
                end = len(f", {said.group(2)}=") if before[-len(said.group(2)) - 2] == " " else len(said.group(2)) + 1
                before, piece, text = before[:-end], piece[:-end], ""
            before += text
            yield piece, text

    def same_word(self, position, column, arguments):
        """The argument that a keyword names, for a number that few instances have and that is always the argument's; or None."""
        word = re.search(r"([A-Za-z_]\w*)=$", self.skeleton.split(HOLE)[position]) if None in column else None
        return next((name for other, name in arguments if word and name == word.group(1) and fits(column, other)), None)

    @staticmethod
    def derived(column, arguments):
        """An expression over arguments that there are already: twice as much, half, ..."""
        for other, name in arguments:
            pairs = [(a, b) for a, b in zip(column, other) if a is not None]
            if not all(b is not None and a.isdigit() and b.isdigit() for a, b in pairs):
                continue
            pairs = [(int(a), int(b)) for a, b in pairs]
            for factor in FACTORS:
                if all(a == factor * b for a, b in pairs):
                    return f"{factor} * {name}"
                if all(a * factor == b for a, b in pairs):
                    return f"{name} // {factor}"
        return None

    def rest(self, column, arguments, taken):
        """`1.0 - p` of an attribute p."""
        for name in self.names():
            values = [getattr(module, name, None) for _, module in self.modules]
            if all(item is None or isinstance(value, float) and literal(1.0 - value) == item
                   for item, value in zip(column, values)) and NAME.match(name):
                whole = tuple(map(literal_or_none, values))
                if None in whole or not any(known == name and other == whole for other, known in arguments) and name in taken:
                    continue
                if name not in taken:
                    arguments.append([whole, name])
                return f"1.0 - {name}"
        return None

    def argument_name(self, column, position, taken, classes):
        """What the source calls these numbers: an argument of the constructor or an attribute that has them in each instance;
        else what the module below calls them that takes them."""
        for name in self.names():
            if name not in taken and NAME.match(name) and all(
                    item is None or attribute(module, name) == item for (_, module), item in zip(self.modules, column)):
                return name
        pieces = self.skeleton.split(HOLE)
        word = re.search(r"([A-Za-z_]\w*)\s*=\s*$", pieces[position])
        layer = re.search(r"([A-Z]\w*)\(([^()]*)$", HOLE.join(pieces[:position + 1]))
        names = []
        if layer and layer.group(1) in classes:
            names = classes[layer.group(1)][0]
        elif layer and hasattr(nn, layer.group(1)):
            names = list(inspect.signature(getattr(nn, layer.group(1)).__init__).parameters)[1:]
        if word:
            name = word.group(1)
        elif pieces[position + 1].startswith(" x "):
            name = "depth"
        else:
            name = names[layer.group(2).count(",")] if layer and layer.group(2).count(",") < len(names) else "size"
        made, i = name, 2
        while made in taken:
            made, i = f"{name}_{i}", i + 1
        return made


# ---- one of two

MANY = 16  # texts of one class's instances, above which none are merged
TRIED = 3  # conditions for two texts, and pairs that may be the first


def size_of(groups):
    """What it takes to read classes: their lines, and their conditions as more than a line."""
    return sum(group.skeleton.count("\n") + 3 + 2 * len(re.findall(r"\bif\b", group.skeleton)) for group in groups)


def merged(groups, tried=TRIED):
    """The Definitions with those made one that can be: the most alike first, unless another pair leads to what reads better."""
    if not 1 < len(groups) <= MANY:
        return groups
    found = [(merger.growth(), i, j, merger) for (i, here), (j, there) in itertools.combinations(enumerate(groups), 2)
             for merger in mergers(here, there)]
    found.sort(key=lambda item: item[:3])
    return min([groups] + [merged(groups[:i] + [one_of(merger)] + groups[i + 1:j] + groups[j + 1:], 1)
                           for _, i, j, merger in found[:tried]], key=size_of)


def mergers(here, there):
    """The ways to make one of two, the best one first."""
    names = list(dict.fromkeys(here.names() + there.names()))
    for positive, condition in itertools.islice(conditions([here.modules, there.modules], names, literal_or_none), TRIED):
        merger = Merger((here, there) if positive == 1 else (there, here), condition)
        if merger.merged():
            yield merger


def one_of(merger):
    """The Definition of two."""
    places = [place for line in merger.lines for place in line.places]
    hints = {}
    for position, place in enumerate(places):
        found = merger.condition.name if place is None else next(
            (merger.groups[which].hints[number] for which, number in place.items() if number in merger.groups[which].hints), None)
        if found is not None:
            hints[position] = found
    one = Definition(merger.groups[0].kind, "\n".join(line.text for line in merger.lines), hints)
    for which, group in enumerate(merger.groups):
        for index, (path, module) in enumerate(group.modules):
            numbers = dict(enumerate(group.slots[index]))
            one.add(path, module, [merger.condition.values[which][index] if place is None else
                                   numbers.get(place.get(which), place.get(which)) for place in places])
    return one
