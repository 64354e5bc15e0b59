"""Sizes that know where they come from.

While a model is read, every dimension of a tensor is an Extent: an int like any other, which remembers the expression that
gave it. What a model computes from shapes can so be written as it computed it, and what it decides by them is noted.
"""
import math
import operator


class Expression:
    """op over operands (ints and Expressions), or a leaf: ("dim", value, axis), ("numel", value), ("argument", name)."""
    __slots__ = ("op", "operands")

    def __init__(self, op, *operands):
        self.op, self.operands = op, operands

    def leaves(self):
        if self.op in LEAVES:
            yield self
            return
        for operand in self.operands:
            if isinstance(operand, Expression):
                yield from operand.leaves()

    def same(self, other):
        if not isinstance(other, Expression) or self.op != other.op or len(self.operands) != len(other.operands):
            return False
        return all(a.same(b) if isinstance(a, Expression) else a is b or a == b
                   for a, b in zip(self.operands, other.operands))


LEAVES = ("dim", "numel", "argument")
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
             "**": operator.pow, "/": operator.truediv}
COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def expression_of(number):
    return number.expression if isinstance(number, (Extent, Ratio)) else number


def _arithmetic(symbol, reflected):
    function = OPERATORS[symbol]

    def method(self, other):
        if isinstance(other, float) and not isinstance(other, Ratio) or isinstance(other, bool) \
                or not isinstance(other, (int, float)):
            plain = int(self)
            return function(other, plain) if reflected else function(plain, other)
        mine, theirs = (int(self) if isinstance(self, int) else float(self)), (int(other) if isinstance(other, int)
                                                                               else float(other))
        value = function(theirs, mine) if reflected else function(mine, theirs)
        pair = (expression_of(other), expression_of(self)) if reflected else (expression_of(self), expression_of(other))
        made = Expression(symbol, *pair)
        if isinstance(value, float):
            return Ratio(value, made)
        return Extent(value, made) if isinstance(value, int) else value
    return method


def _comparison(symbol):
    function = COMPARISONS[symbol]

    def method(self, other):
        outcome = function(int(self), int(other) if isinstance(other, Extent) else other)
        if outcome is not NotImplemented and Extent.decided is not None and isinstance(other, int):
            Extent.decided(symbol, self, other, outcome)
        return outcome
    return method


class Extent(int):
    """An int with its expression."""
    decided = None  # who is told what was compared: (symbol, left, right, outcome)

    def __new__(cls, value, expression):
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def __neg__(self):
        return Extent(-int(self), Expression("-", 0, self.expression))

    def __hash__(self):
        return hash(int(self))

    def __bool__(self):
        return self != 0

    def __reduce__(self):
        return (int, (int(self),))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __round__(self, digits=None):
        return self

    def __ceil__(self):
        return self

    def __floor__(self):
        return self


class Ratio(float):
    """What dividing Extents gives."""

    def __new__(cls, value, expression):
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def __hash__(self):
        return hash(float(self))

    def __floor__(self):
        left, right = self._division()
        return Extent(math.floor(float(self)), Expression("//", left, right)) if right is not None else math.floor(float(self))

    def __ceil__(self):
        left, right = self._division()
        if right is None:
            return math.ceil(float(self))
        negative = Expression("//", Expression("-", 0, left) if isinstance(left, Expression) else -left, right)
        return Extent(math.ceil(float(self)), Expression("-", 0, negative))

    def __int__(self):
        return int(float(self))

    def _division(self):
        if self.expression.op == "/" and all(isinstance(operand, (int, Expression)) and not isinstance(operand, float)
                                             for operand in self.expression.operands):
            return self.expression.operands
        return None, None


for _symbol, _name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("//", "floordiv"), ("%", "mod"), ("/", "truediv"),
                       ("**", "pow")):
    for _class in (Extent, Ratio):
        setattr(_class, f"__{_name}__", _arithmetic(_symbol, False))
        setattr(_class, f"__r{_name}__", _arithmetic(_symbol, True))
for _symbol, _name in (("==", "eq"), ("!=", "ne"), ("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge")):
    setattr(Extent, f"__{_name}__", _comparison(_symbol))


def plain(item):
    """The same with ints and floats in the place of Extents, through lists, tuples and slices."""
    if isinstance(item, Extent):
        return int(item)
    if isinstance(item, Ratio):
        return float(item)
    if type(item) in (list, tuple):
        return type(item)(plain(part) for part in item)
    return item
