"""Expressions of the language, as pieces of text with the values they read; and sizes that are computed from shapes.

An expression is printed last, when it is known which values have names and which stand where they are read.
"""
import math

import numpy

# How tightly Python binds: an operand that binds less stands in parentheses.
OR, XOR, AND, COMPARE, SHIFT = 1, 2, 3, 0, 4
SUM, PRODUCT, UNARY, POWER, ATOM = 5, 6, 7, 8, 9
ARGUMENT = -1
BINDS = {"|": OR, "^": XOR, "&": AND, "==": COMPARE, "!=": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE,
         "<<": SHIFT, ">>": SHIFT, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "@": PRODUCT,
         "**": POWER}


class Expr:
    """pieces: strings and pairs (what is read, how tightly it has to bind)."""
    __slots__ = ("pieces", "binds")

    def __init__(self, pieces, binds=ATOM):
        self.pieces, self.binds = pieces, binds


def number(item):
    """A number, a dtype's name or a list of these, as the language writes it."""
    if isinstance(item, (list, tuple)):
        return "[" + ", ".join(map(number, item)) + "]"
    if isinstance(item, (bool, numpy.bool_)):
        return repr(bool(item))
    if isinstance(item, (int, numpy.integer)):
        return repr(int(item))
    if isinstance(item, (float, numpy.floating)):
        if numpy.isnan(item):
            return "float('nan')"
        if numpy.isinf(item):
            return "inf" if item > 0 else "-inf"
        return shortest(item)
    return repr(item)


def shortest(item):
    """The shortest decimal that is this number in its own type."""
    text = str(item) if isinstance(item, numpy.floating) else repr(item)
    value = float(text)
    return repr(value)


def pieces_of(item, binds=ARGUMENT):
    """What stands for an operand: a value, an expression, a number, a list of these; a string is text as it is."""
    if isinstance(item, str):
        return [item]
    if isinstance(item, (list, tuple)):
        made = ["["]
        for index, part in enumerate(item):
            made += ([", "] if index else []) + pieces_of(part)
        return made + ["]"]
    if isinstance(item, (Expr, Size)) or hasattr(item, "statement"):
        return [(item, binds)]
    text = number(item)
    return [f"({text})" if text.startswith("-") and binds > UNARY else text]


def call(name, *arguments, **named):
    """name(arguments, named=...). A named None is left out."""
    pieces, first = [name + "("], True
    for argument in arguments:
        pieces += ([] if first else [", "]) + pieces_of(argument)
        first = False
    for key, argument in named.items():
        if argument is not None:
            pieces += ([] if first else [", "]) + [key + "="] + pieces_of(argument)
            first = False
    return Expr(pieces + [")"])


def method(value, name, *arguments, **named):
    """value.name(arguments)."""
    made = call("." + name, *arguments, **named)
    return Expr(pieces_of(value, ATOM) + made.pieces)


def binary(left, symbol, right):
    binds = BINDS[symbol]
    tighter = binds + 1
    if symbol == "**":
        return Expr(pieces_of(left, ATOM) + [" ** "] + pieces_of(right, UNARY), binds)
    return Expr(pieces_of(left, tighter if binds == COMPARE else binds) + [f" {symbol} "] + pieces_of(right, tighter), binds)


def unary(symbol, value):
    return Expr([symbol] + pieces_of(value, UNARY), UNARY)


def subscript(value, *indices):
    """value[indices]; an index is text, a number or a value."""
    pieces = pieces_of(value, ATOM) + ["["]
    for position, index in enumerate(indices):
        pieces += ([", "] if position else []) + pieces_of(index)
    return Expr(pieces + ["]"])


# ---- sizes

class Size:
    """An integer that shapes decide: ("size", name), ("dim", value, axis), or an operator over two of them or ints."""
    __slots__ = ("op", "left", "right")

    def __init__(self, op, left, right=None):
        self.op, self.left, self.right = op, left, right

    def __eq__(self, other):
        return isinstance(other, Size) and (self.op, self.right) == (other.op, other.right) and (
            self.left is other.left or self.left == other.left)

    def __hash__(self):
        return hash((self.op, self.left if not isinstance(self.left, Size) else hash(self.left), self.right))

    def __add__(self, other):
        return combined("+", self, other)

    def __radd__(self, other):
        return combined("+", other, self)

    def __sub__(self, other):
        return combined("-", self, other)

    def __rsub__(self, other):
        return combined("-", other, self)

    def __mul__(self, other):
        return combined("*", self, other)

    def __rmul__(self, other):
        return combined("*", other, self)

    def __floordiv__(self, other):
        return combined("//", self, other)

    def __rfloordiv__(self, other):
        return combined("//", other, self)

    def __mod__(self, other):
        return combined("%", self, other)

    def __rmod__(self, other):
        return combined("%", other, self)

    def __neg__(self):
        return combined("-", 0, self)

    def expression(self):
        if self.op == "size":
            return Expr([self.left])
        if self.op == "dim":
            return Expr(pieces_of(self.left, ATOM) + [f".shape[{self.right}]"])
        return binary(self.left, self.op, self.right)


def combined(op, left, right):
    if isinstance(left, numpy.integer):
        left = int(left)
    if isinstance(right, numpy.integer):
        right = int(right)
    if op == "*" and (left == 1 or right == 1):
        return right if isinstance(left, int) and left == 1 else left
    if op == "*" and (isinstance(left, int) and left == 0 or isinstance(right, int) and right == 0):
        return 0
    if op in "+-" and isinstance(right, int) and right == 0 or op == "//" and isinstance(right, int) and right == 1:
        return left
    if op == "+" and isinstance(left, int) and left == 0:
        return right
    if op == "+" and isinstance(right, int) and right < 0:
        return combined("-", left, -right)
    if left == right and op == "-":
        return 0
    if left == right and op == "//":
        return 1
    if op == "//" and isinstance(left, Size) and left.op == "*" and right in (left.left, left.right):
        return left.left if right == left.right else left.right
    return Size(op, left, right)


def is_symbolic(array):
    return array.dtype == object


def as_ints(array):
    """The list of ints and Sizes of a known array, in its order."""
    return [item if isinstance(item, Size) else int(item) for item in array.reshape(-1).tolist()]


def whole(item):
    return isinstance(item, int) and not isinstance(item, bool)


def product(items):
    return math.prod(items) if all(isinstance(item, int) for item in items) else None
