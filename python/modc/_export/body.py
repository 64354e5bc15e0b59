"""From what one scope called to statements in Python's words.

A value is written where it is used, unless the source has a name for it, it is used more than once, or something changes in
between; names are those of the source, as far as no other value has them at the time.
"""
import inspect
import keyword
import re

import torch

from modc._errors import ExportError
from modc._export.constructors import literal
from modc._export.extent import Expression, Extent, Ratio
from modc._export.trace import RANDOM, Dependence, SizeNames, SizeValue, Value

ATOM, POWER, UNARY, TIMES, PLUS, AND, XOR, OR, COMPARE = 18, 15, 14, 13, 12, 10, 9, 8, 7
BINARY = {"add": ("+", PLUS), "sub": ("-", PLUS), "mul": ("*", TIMES), "div": ("/", TIMES), "true_divide": ("/", TIMES),
          "floor_divide": ("//", TIMES), "remainder": ("%", TIMES), "matmul": ("@", TIMES), "pow": ("**", POWER),
          "eq": ("==", COMPARE), "ne": ("!=", COMPARE), "lt": ("<", COMPARE), "le": ("<=", COMPARE), "gt": (">", COMPARE),
          "ge": (">=", COMPARE), "bitwise_and": ("&", AND), "bitwise_or": ("|", OR), "bitwise_xor": ("^", XOR)}
for _name, _plain in (("__add__", "add"), ("__sub__", "sub"), ("__mul__", "mul"), ("__truediv__", "div"), ("__div__", "div"),
                      ("__floordiv__", "floor_divide"), ("__mod__", "remainder"), ("__matmul__", "matmul"), ("__pow__", "pow"),
                      ("__eq__", "eq"), ("__ne__", "ne"), ("__lt__", "lt"), ("__le__", "le"), ("__gt__", "gt"), ("__ge__", "ge"),
                      ("__and__", "bitwise_and"), ("__or__", "bitwise_or"), ("__xor__", "bitwise_xor")):
    BINARY[_name] = BINARY[_plain]
REFLECTED = {"__rsub__": "sub", "__rpow__": "pow", "__rtruediv__": "div", "__rdiv__": "div", "__rmul__": "mul", "__radd__": "add",
             "__rmatmul__": "matmul", "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rand__": "bitwise_and",
             "__ror__": "bitwise_or", "__rxor__": "bitwise_xor"}
UNARIES = {"neg": "-", "negative": "-", "__neg__": "-", "bitwise_not": "~", "__invert__": "~"}
ASSIGNING = {"add_": "+=", "sub_": "-=", "mul_": "*=", "div_": "/=", "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=",
             "__itruediv__": "/=", "bitwise_and_": "&=", "bitwise_or_": "|=", "__iand__": "&=", "__ior__": "|="}
DROPPED = {"device", "layout", "memory_format", "pin_memory", "non_blocking", "requires_grad", "generator", "out", "copy",
           "_stacklevel"}
RESERVED = set(keyword.kwlist) | {"self", "torch", "F", "nn", "ops", "math", "torchvision", "inf", "pi", "nan", "x_"}
NAME = re.compile(r"[A-Za-z_]\w*$")
INLINE = 16  # elements of a constant that stands in the text


def reference(path):
    """`self.` and a dotted path below it."""
    text = "self"
    for piece in path.split(".") if path else ():
        text += f"[{piece}]" if piece.isdigit() else f".{piece}" if NAME.match(piece) else f"[{piece!r}]"
    return text


class Body:
    """The statements of one scope. whole: what the scopes of a model share (constants, tables)."""

    def __init__(self, scope, whole):
        self.scope, self.whole, self.lines = scope, whole, []
        self.texts = {}  # Value: text of the name that it has now
        self.parts = {}  # by name: values that lie in what has it, and have no name yet
        self.bound = {}  # name: the Value that has it now
        self.pending, self.waits = {}, {}  # Value: (text, precedence), the values that its text reads
        self.left = {}  # Value: uses to come
        self.size_names = {}  # (Value, axis): name
        self.arguments = []  # (name, Value)
        self.children = {}  # id of a call: what its scope needs
        self.lists = []  # names of arguments that are lists
        self.given = self.bind()
        self.count()

    # ---- arguments

    def bind(self):
        """Value: the name of the argument by which it came in, in order."""
        args, kwargs = self.scope.given
        named = {}

        def add(name, item):
            if isinstance(item, Extent) and item.expression.op == "dim":
                value = self.moving(item.expression)
                if value is not None:
                    named.setdefault(value, name)
            elif isinstance(item, torch.Tensor):
                value = self.whole.value_in(self.scope, item)
                if value is not None and value not in named:
                    named[value] = name
            elif isinstance(item, dict):
                for key, part in item.items():
                    add(f"{name}_{key}", part)
            elif isinstance(item, (list, tuple)):
                self.lists.append(name)
                for i, part in enumerate(item):
                    add(f"{name}_{i}", part)

        try:
            bound = inspect.signature(type(self.scope.module).forward).bind(self.scope.module, *args, **kwargs)
        except (TypeError, ValueError, AttributeError):
            bound = None
        if bound is None:
            for i, item in enumerate(args):
                add(f"x{i}" if i else "x", item)
            for key, item in kwargs.items():
                add(key, item)
            return named
        kinds = bound.signature.parameters
        for name, item in list(bound.arguments.items())[1:]:
            if kinds[name].kind == inspect.Parameter.VAR_KEYWORD:
                for key, part in item.items():
                    add(key, part)
            else:
                add(name, item)
        return named

    # ---- uses

    def operands(self, item, found):
        """The Values that an argument reads, those whose dimensions it has included."""
        if isinstance(item, torch.Tensor):
            value = self.whole.value_of(item, self.current)
            if value is not None:
                found.append(value)
        elif isinstance(item, (Extent, Ratio)):
            for leaf in item.expression.leaves():
                if leaf.op in ("dim", "numel") and isinstance(leaf.operands[0], Value):
                    if self.is_here(leaf.operands[0]):
                        found.append(leaf.operands[0])
                    elif self.moving(leaf) is not None:
                        found.append(self.moving(leaf))
        elif isinstance(item, slice):
            for part in (item.start, item.stop, item.step):
                self.operands(part, found)
        elif isinstance(item, dict):
            for part in item.values():
                self.operands(part, found)
        elif isinstance(item, (list, tuple)):
            for part in item:
                self.operands(part, found)
        return found

    @staticmethod
    def moving(leaf):
        """The SizeValue of a dimension that calls choose; None: it is always the same."""
        return leaf.operands[0].moving.get(leaf.operands[1]) if leaf.op == "dim" and isinstance(leaf.operands[0], Value) else None

    def is_here(self, value):
        """Whether a scope has a value without being given it for its size alone, which is then a number."""
        return value in self.given or value.call is not None and value.call.scope is self.scope \
            or self.whole.is_own(value, self.scope)

    def reads(self, call):
        """What a call of this scope reads."""
        self.current = call
        if isinstance(call, SizeNames):
            return []
        if call.child is not None:
            return [self.source(value) for _, value in self.needs(call)]
        return self.operands((call.args, call.kwargs), [])

    def needs(self, call):
        """(name, Value) of what the scope of a called module takes."""
        if id(call) not in self.children:
            self.children[id(call)] = self.whole.body(call.child).arguments
        return self.children[id(call)]

    def count(self):
        """How often each value is used, what comes in from outside, and which calls are for nothing."""
        made = set()
        self.results = self.whole.returned(self.scope)
        reads = {id(call): self.reads(call) for call in self.scope.calls}
        wanted = {}
        for value in map(self.source, self.results):
            wanted[value] = wanted.get(value, 0) + 1
        for value in [*wanted, *(value for found in reads.values() for value in found)]:
            if isinstance(value, SizeValue):
                self.fetch(value)
        self.dead = set()
        for call in reversed(self.scope.calls):
            if isinstance(call, SizeNames):
                continue
            useless = call.results and not call.effect and not any(result in wanted for result in call.results)
            if useless and call.module is None:
                self.dead.add(id(call))
                continue
            for value in reads[id(call)]:
                wanted[value] = wanted.get(value, 0) + 1
        for call in self.scope.calls:
            if id(call) not in self.dead and not isinstance(call, SizeNames):
                made.update(call.results)
        self.left = wanted
        sizes = {}
        for call in self.scope.calls:
            if not isinstance(call, SizeNames) and id(call) not in self.dead:
                for value in reads[id(call)]:
                    sizes[value] = True
        self.sized = sizes
        taken = []
        for value, name in self.given.items():
            if value in wanted and not self.whole.is_own(value, self.scope):
                taken.append((name, value))
        for value in wanted:
            if value not in made and value not in self.given and not self.whole.is_own(value, self.scope):
                name = next((name for name in value.named(self.scope) if NAME.match(name)), None) or (
                    value.path.replace(".", "_") if value.path else "x")
                taken.append((name, value))
        names = set()
        for name, value in taken:
            name = self.free(name, names)
            names.add(name)
            self.arguments.append((name, value))

    def source(self, value):
        """What a scope has of a value: of a size, the tensor, if that is here."""
        return value.value if isinstance(value, SizeValue) and self.is_here(value.value) else value

    def fetch(self, size):
        """Lets the module that knows a size, if it is one below, give it back."""
        scope = size.value.call.scope if size.value.call is not None else None
        while scope is not None and scope.parent is not self.scope:
            scope = scope.parent
        if scope is not None and size not in scope.call.results:
            scope.call.results.append(size)
            self.whole.body(scope).give_back(size)

    def give_back(self, size):
        """Returns a size, too."""
        known = self.source(size)
        if known is size:
            self.fetch(size)
        self.results.append(size)
        self.left[known] = self.left.get(known, 0) + 1
        self.dead.discard(id(next((call for call in self.scope.calls if size in call.results), None)))

    @staticmethod
    def free(name, taken):
        name = re.sub(r"\W", "_", name)
        if name in RESERVED or keyword.iskeyword(name):
            name += "_"
        made, i = name, 1
        while made in taken:
            made, i = f"{name}_{i}", i + 1
        return made

    # ---- statements

    def write(self):
        """(argument names, lines)."""
        for name, value in self.arguments:
            self.texts[value] = name
            self.bound[name] = value
        if [call.name for call in self.scope.calls if not isinstance(call, SizeNames)] == ["extern"]:
            call, = self.scope.calls
            self.current = call
            return [name for name, _ in self.arguments], ["return " + self.call_text(call)[0]]
        for call in self.scope.calls:
            self.current = call
            if isinstance(call, SizeNames):
                self.name_sizes(call)
            elif id(call) not in self.dead:
                self.statement(call)
        self.current = None
        self.lines.append("return " + ", ".join(self.read(value)[0] for value in self.results))
        return self.with_lists([name for name, _ in self.arguments])

    def with_lists(self, names):
        """(arguments, lines), in which a list of tensors that is read as a whole alone is one argument, `*xs`."""
        lines = numbered_at_once(self.lines)
        for name in self.lists if self.scope.parent is not None else ():
            parts = [part for part in names if re.fullmatch(rf"{name}_\d+", part)]
            wanted = [f"{name}_{i}" for i in range(len(parts))]
            text, whole = "\n".join(lines), "[" + ", ".join(wanted) + "]"
            rest = text.replace(whole, name)
            if parts and parts == wanted == names[-len(parts):] and whole in text and not re.search(rf"\b{name}_\d", rest) \
                    and not re.search(rf"\b{name}\b", text):
                names, lines = names[:-len(parts)] + [f"*{name}"], rest.split("\n")
        return names, lines

    def name_sizes(self, call):
        """`b, c = x.shape`, if something reads a name of it and x has one."""
        used = set()
        for other in self.scope.calls:
            if isinstance(other, SizeNames) or id(other) in self.dead or other.child is not None:
                continue
            for leaf in self.leaves_in((other.args, other.kwargs)):
                if leaf.op == "dim" and leaf.operands[0] is call.value:
                    used.add(leaf.operands[1])
        if not used or not (call.value in self.texts or self.whole.is_own(call.value, self.scope) or call.value in self.pending):
            return
        if call.value in self.pending:
            self.settle(call.value)
        names = {axis: self.take(name, None) if axis in used and name != "_" else "_" for axis, name in call.names.items()}
        if all(name == "_" for name in names.values()):
            return
        for axis, name in names.items():
            if name != "_":
                if (call.value, axis) not in self.size_names:
                    self.left[call.value] = self.left.get(call.value, 0) - self.size_reads(call.value, axis)
                self.size_names[call.value, axis] = name
        self.left[call.value] = self.left.get(call.value, 0) + 1
        text = self.read(call.value)[0]
        if len(names) == 1:
            (axis, name), = names.items()
            self.lines.append(f"{name} = {text}.shape[{axis}]")
        else:
            self.lines.append(f"{', '.join(names.values())} = {text}.shape")

    def size_reads(self, value, axis):
        """How often calls behind the current one read a dimension."""
        position = next((i for i, call in enumerate(self.scope.calls) if call is self.current), -1) + 1
        return sum(leaf.op == "dim" and leaf.operands[0] is value and leaf.operands[1] == axis
                   for call in self.scope.calls[position:]
                   if not isinstance(call, SizeNames) and id(call) not in self.dead and call.child is None
                   for leaf in self.leaves_in((call.args, call.kwargs)))

    def leaves_in(self, item):
        if isinstance(item, (Extent, Ratio)):
            yield from item.expression.leaves()
        elif isinstance(item, slice):
            yield from self.leaves_in((item.start, item.stop, item.step))
        elif isinstance(item, dict):
            yield from self.leaves_in(list(item.values()))
        elif isinstance(item, (list, tuple)):
            for part in item:
                yield from self.leaves_in(part)

    def statement(self, call):
        if call.effect:
            self.change(call)
            return
        text = self.call_text(call)
        used = [value for value in call.results if self.left.get(value, 0) > 0]
        names = call.place.names if call.place else None
        if not call.results:
            self.settle_all()
            self.lines.append(text[0])
        elif len(call.results) == 1 and (not isinstance(call.structure, (list, tuple, dict)) or call.flat):
            value = call.results[0]
            if not used:
                self.lines.append(text[0])
            else:
                name = names[0] if names and len(names) == 1 else None
                self.give(value, text, name)
        else:
            self.several(call, text, used, names)

    def give(self, value, text, name):
        """A value to its name, or for later."""
        if name is None and self.left[value] == 1 or self.sets_next(value):
            self.pending[value] = text
            self.waits[value] = self.reading
        else:
            self.assign([value], [name or self.name_for(value)], text[0])

    def sets_next(self, value):
        """Whether an attribute is set to a value by the next statement."""
        calls = self.scope.calls
        position = next(i for i, call in enumerate(calls) if call is self.current) + 1
        return position < len(calls) and getattr(calls[position], "name", "") == "setattr" \
            and self.whole.value_of(calls[position].args[0], calls[position]) is value

    def several(self, call, text, used, names):
        """The results of a call that gives more than one."""
        paths = self.paths(call)
        if names and len(names) == len(call.results) > 1:
            targets = [name if value in used else "_" for name, value in zip(names, call.results)]
            self.assign(call.results, targets, text[0])
        elif len(used) == 1:
            self.give(used[0], (f"{self.closed(text, ATOM)}{paths[used[0]]}", ATOM), names[0] if names and len(names) == 1 and
                      False else None)
        elif not used:
            self.lines.append(text[0])
        elif all(paths[value] == f"[{i}]" for i, value in enumerate(call.results)):
            targets = [self.name_for(value) if value in used else "_" for value in call.results]
            if len(set(targets) - {"_"}) < len(used):
                base = names[0] if names else targets[0] if targets[0] != "_" else "part"
                targets = [f"{base}_{i}" if value in used else "_" for i, value in enumerate(call.results)]
            self.assign(call.results, targets, text[0])
        elif names and isinstance(call.structure, (tuple, list)) and len(names) == len(call.structure) > 1:
            self.nested(text[0], names, [[value for value in used if paths[value].startswith(f"[{i}]")] for i in range(len(names))],
                        {value: path.partition("]")[2] for value, path in paths.items()})
        else:
            self.nested(text[0], [names[0] if names and len(names) == 1 else "results"], [used], paths)

    def nested(self, text, names, groups, paths):
        """Several values under a name: where they lie in it is `paths`."""
        taken = [self.take(name, group[0] if group and not paths[group[0]] else None) if group else "_"
                 for name, group in zip(names, groups)]
        self.lines.append(f"{', '.join(taken)} = {text}")
        for name, group in zip(taken, groups):
            for value in group:
                if paths[value]:
                    self.pending[value], self.waits[value] = (name + paths[value], ATOM), set()
                    self.parts.setdefault(name, []).append(value)
                else:
                    self.texts[value] = name

    @staticmethod
    def paths(call):
        """Where each result lies in the structure that the call gave: "[1][0]"."""
        found = {}
        if call.flat:
            return {value: f"[{i}]" for i, value in enumerate(call.results)}
        by_id = {id(value.tensor): value for value in call.results}

        def walk(item, path):
            if isinstance(item, torch.Tensor):
                found.setdefault(by_id.get(id(item)), path)
            elif isinstance(item, dict):
                for key, part in item.items():
                    walk(part, f"{path}[{key!r}]")
            elif isinstance(item, (list, tuple)):
                for i, part in enumerate(item):
                    walk(part, f"{path}[{i}]")
        walk(call.structure, "")
        for i, value in enumerate(call.results):
            found.setdefault(value, f"[{i}]")
        return found

    def change(self, call):
        """A statement that changes a tensor in place, or an attribute."""
        read = self.reads(call)
        last = call.name.rsplit(".", 1)[-1]
        memory = None if call.module is not None or last == "setattr" or last in RANDOM else Dependence.key(call.args[0])
        for value in list(self.pending):
            if value in self.pending and value not in read and (memory is None or self.lies_in(value, memory)):
                self.settle(value)
        if last == "setattr":
            self.set_attribute(call)
            return
        if last == "__setitem__":
            target, index, item = call.args
            text = self.item(target, ATOM) + self.subscript(index) + " = " + self.item(item)
        elif last in ASSIGNING and len(call.args) == 2 and not call.kwargs:
            text = f"{self.item(call.args[0], ATOM)} {ASSIGNING[last]} {self.item(call.args[1])}"
        else:
            text = self.call_text(call)[0]
            names = call.place.names if call.place else None
            value = call.results[0] if len(call.results) == 1 else None
            if names and len(names) == 1 and value is not None and self.texts.get(value) == names[0]:
                text = f"{names[0]} = {text}"
        self.lines.append(text)
        for value in call.results:  # it goes on under the name that it has
            names = call.place.names if call.place else None
            if names and len(names) == 1 and value in self.texts and self.texts[value] != names[0] and self.left.get(value, 0) > 0:
                self.left[value] += 1
                self.assign([value], [names[0]], self.read(value)[0])

    def lies_in(self, value, memory):
        """Whether what waits to be written reads a tensor of this memory."""
        return any(other.tensor is not None and Dependence.key(other.tensor) == memory for other in (value, *self.waits[value]))

    def set_attribute(self, call):
        """`self.NAME = ...`; afterwards the value may be read there."""
        value = self.whole.value_of(call.args[0], call)
        target = reference(self.whole.path_from(call.path, self.scope, call))
        holder = self.bound.get(target)
        if holder is not None and self.left.get(holder, 0) > 0:
            alias = self.take(self.name_for(holder), holder)
            self.lines.append(f"{alias} = {target}")
            self.texts[holder] = alias
        named = value in self.texts
        if value in self.pending:
            self.left[value], uses = 1, self.left[value]
            text = self.read(value)[0]
            self.left[value] = uses - 1
        else:
            text = self.read(value)[0]
        self.lines.append(f"{target} = {text}")
        if not named and self.left.get(value, 0) > 0:
            self.texts[value], self.bound[target] = target, value

    # ---- names

    def name_for(self, value):
        return next((name for name in value.named(self.scope) if NAME.match(name)), None) or self.whole.plain_name(value)

    def take(self, name, value):
        """`name` for a value, after who has it and is still needed got another."""
        name = self.free(name, ())
        if name in self.whole.sizes:
            name += "_"
        for part in self.parts.pop(name, ()):
            if part in self.pending:
                self.settle(part)
        holder = self.bound.get(name)
        if holder is not None and holder is not value:
            for waiting in [other for other, reads in self.waits.items() if holder in reads and other in self.pending]:
                self.settle(waiting)
            if self.left.get(holder, 0) > 0:
                others = [other for other in holder.named(self.scope) if NAME.match(other) and other != name
                          and other not in self.bound and other not in RESERVED]
                alias = others[0] if others else self.free(name, set(self.bound) | {name})
                self.lines.append(f"{alias} = {name}")
                self.texts[holder], self.bound[alias] = alias, holder
        for key in [key for key, text in self.size_names.items() if text == name]:
            if self.size_reads(*key):
                self.size_names[key] = self.free(name, set(self.bound) | set(self.size_names.values()) | {name})
                self.lines.append(f"{self.size_names[key]} = {name}")
            else:
                del self.size_names[key]
        self.bound[name] = value
        return name

    def assign(self, values, names, text):
        names = [self.take(name, value) if name != "_" else name for name, value in zip(names, values)]
        self.lines.append(f"{', '.join(names)} = {text}")
        for value, name in zip(values, names):
            if name != "_":
                self.texts[value] = name
                self.pending.pop(value, None)

    def settle(self, value, reading=()):
        """What waits to be written gets a name now, and none of those that the statement which is being written reads already."""
        text, _ = self.pending.pop(value)
        name = self.name_for(value)
        if any(self.texts.get(other) == name for other in reading if other is not value):
            name = self.free(name, self.bound)
        self.assign([value], [name], text)

    def settle_all(self):
        for value in list(self.pending):
            if value in self.pending:
                self.settle(value)

    # ---- expressions

    def read(self, value):
        """The text of a value and its precedence; counts a use."""
        if isinstance(value, SizeValue) and value not in self.texts and value not in self.pending:
            return self.size_text(value.expression)
        self.reading.add(value)
        self.left[value] = self.left.get(value, 0) - 1
        if value in self.pending:
            text = self.pending.pop(value)
            self.reading |= self.waits.pop(value, set())
            if self.left[value] > 0:
                self.pending[value] = text
                self.settle(value, self.reading)
                return self.texts[value], ATOM
            return text
        if value in self.texts:
            return self.texts[value], ATOM
        return self.whole.own_text(value, self.scope, self.current), ATOM

    reading = set()

    @staticmethod
    def closed(text, precedence):
        return text[0] if text[1] >= precedence else f"({text[0]})"

    def item(self, item, precedence=0):
        """An argument."""
        if isinstance(item, torch.Tensor):
            return self.closed(self.read(self.whole.value_of(item, self.current)), precedence)
        if isinstance(item, (Extent, Ratio)):
            return self.closed(self.size(item.expression, item), precedence)
        if isinstance(item, torch.Size):
            return "(" + ", ".join(map(self.item, item)) + ("," if len(item) == 1 else "") + ")"
        if isinstance(item, list):
            return "[" + ", ".join(map(self.item, item)) + "]"
        if isinstance(item, tuple):
            return "(" + ", ".join(map(self.item, item)) + ("," if len(item) == 1 else "") + ")"
        if isinstance(item, (torch.device, torch.memory_format, torch.layout)):
            return "None"
        if isinstance(item, slice):
            return f"slice({self.item(item.start)}, {self.item(item.stop)}, {self.item(item.step)})"
        if item is Ellipsis:
            return "..."
        text = literal(item)
        return f"({text})" if text.startswith("-") and precedence > UNARY else text

    def size(self, expression, number):
        """A size as the source computed it: (text, precedence)."""
        known = True
        for leaf in expression.leaves():
            value = leaf.operands[0] if leaf.op in ("dim", "numel") else None
            size = self.moving(leaf)
            if isinstance(value, Value) and not (value in self.texts or value in self.pending or size in self.texts
                                                 or self.whole.is_own(value, self.scope)):
                known = False
        if not known:
            return literal(int(number) if isinstance(number, int) else float(number)), ATOM if number >= 0 else UNARY
        return self.size_text(expression)

    def size_text(self, item):
        if not isinstance(item, Expression):
            return literal(item), ATOM if not isinstance(item, (int, float)) or item >= 0 else UNARY
        if item.op == "dim":
            value, axis = item.operands
            if (value, axis) in self.size_names:
                return self.size_names[value, axis], ATOM
            if value.moving.get(axis) in self.texts:
                return self.read(value.moving[axis])
            return f"{self.closed(self.read(value), ATOM)}.shape[{axis}]", ATOM
        if item.op == "numel":
            return f"{self.closed(self.read(item.operands[0]), ATOM)}.numel()", ATOM
        level = {"+": PLUS, "-": PLUS, "*": TIMES, "/": TIMES, "//": TIMES, "%": TIMES, "**": POWER}[item.op]
        left, right = map(self.size_text, item.operands)
        if item.op == "-" and item.operands[0] == 0 and not isinstance(item.operands[0], Expression):
            return "-" + self.closed(right, UNARY), UNARY
        if item.op == "**":
            return f"{self.closed(left, level + 1)} ** {self.closed(right, level)}", level
        return f"{self.closed(left, level)} {item.op} {self.closed(right, level + 1)}", level

    def subscript(self, index):
        def one(item):
            if isinstance(item, slice):
                text = ("" if item.start is None else self.item(item.start)) + ":" + (
                    "" if item.stop is None else self.item(item.stop))
                return text if item.step is None else f"{text}:{self.item(item.step)}"
            return self.item(item)
        if isinstance(index, tuple):
            return "[" + ", ".join(map(one, index)) + ("," if len(index) == 1 else "") + "]"
        return f"[{one(index)}]"

    def call_text(self, call):
        """A call as text with its precedence; `reading` is then what it reads."""
        self.reading = set()
        if call.module is not None:
            return self.module_text(call), ATOM
        name, args, kwargs = call.name, call.args, {key: item for key, item in call.kwargs.items() if key not in DROPPED}
        place, _, last = name.rpartition(".")
        if name == "extern":
            return f"self.{self.whole.left_at(self.scope.module).way(call).slot}({self.list_of(args, {})})", ATOM
        if last == "__get__":
            attribute = place.rpartition(".")[2]
            if attribute in ("data", "grad"):
                return self.closed(self.read(self.whole.value_of(args[0], call)), ATOM) + ".detach()", ATOM
            return f"{self.item(args[0], ATOM)}.{attribute}", ATOM
        if last == "__getitem__":
            return self.item(args[0], ATOM) + self.subscript(args[1]), ATOM
        if len(args) == 2 and not kwargs and (last in BINARY or last in REFLECTED) and (
                place == "torch.Tensor" or last not in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge")):
            sign, level = BINARY[REFLECTED.get(last, last)]
            left, right = args if last in BINARY else (args[1], args[0])
            if sign == "**":
                return f"{self.item(left, level + 1)} ** {self.item(right, level)}", level
            return f"{self.item(left, level + (level == COMPARE))} {sign} {self.item(right, level + 1)}", level
        if len(args) == 1 and not kwargs and last in UNARIES:
            return UNARIES[last] + self.item(args[0], UNARY), UNARY
        kwargs = self.whole.renamed(call, kwargs)
        if "training" in kwargs or name.startswith("torch.nn.functional."):
            args, kwargs = self.with_mode(call, args, kwargs)
        args, kwargs = self.without_defaults(name, args, kwargs)
        if place == "torch.Tensor":
            args = [item for item in args if not isinstance(item, (torch.device, torch.memory_format))]
            if last in ("to", "type", "cpu", "cuda", "contiguous") and len(args) == 1 and not kwargs or last in ("contiguous", "cpu"):
                return self.read(self.whole.value_of(args[0], call))
            own = ".clone()" if last == "as_strided" and args[0].is_contiguous() else ""  # modc has to know its strides
            return f"{self.item(args[0], ATOM)}{own}.{last}({self.list_of(args[1:], kwargs)})", ATOM
        prefix = {"torch.nn.functional": "F", "torch.functional": "torch", "torch._C._nn": "F"}.get(place, place)
        return f"{prefix}.{last}({self.list_of(args, kwargs)})", ATOM

    def list_of(self, args, kwargs):
        return ", ".join([self.item(item) for item in args] + [f"{key}={item if isinstance(item, Mode) else self.item(item)}"
                                                               for key, item in kwargs.items()])

    def with_mode(self, call, args, kwargs):
        """The arguments, with self.training where a function was told the mode of its module."""
        try:
            function = getattr(torch.nn.functional, call.name.rpartition(".")[2])
            bound = inspect.signature(function).bind(*args, **call.kwargs)
        except (TypeError, ValueError, AttributeError):
            return args, kwargs
        if self.whole.paired or bound.arguments.get("training", None) is not self.scope.module.training:
            return args, kwargs  # the other mode tells whether it is self.training
        position = list(bound.signature.parameters).index("training")
        kwargs = dict(kwargs)
        if position < len(args):
            names = list(bound.signature.parameters)[position:len(args)]
            kwargs.update(zip(names, args[position:]))
            args = args[:position]
        kwargs["training"] = Mode("self.training")
        return args, kwargs

    @staticmethod
    def without_defaults(name, args, kwargs):
        """The arguments that are not a function's defaults; its mode is always said."""
        place, _, last = name.rpartition(".")
        defaults = DEFAULTS.get(last)
        if defaults is None and place == "torch.nn.functional":
            try:
                parameters = inspect.signature(getattr(torch.nn.functional, last)).parameters
            except (TypeError, ValueError, AttributeError):
                parameters = {}
            defaults = DEFAULTS[last] = {key: MODE if key == "training" else parameter.default
                                         for key, parameter in parameters.items()}
        if not defaults:
            return args, kwargs

        def same(item, default):
            return item is default or type(item) is type(default) and isinstance(item, (int, float, str)) and item == default

        names = list(defaults)
        while len(args) <= len(names) and args and same(args[-1], defaults[names[len(args) - 1]]):
            args = args[:-1]
        return args, {key: item for key, item in kwargs.items() if key not in defaults or not same(item, defaults[key])}

    def module_text(self, call):
        callee = reference(self.whole.path_below(call.path, self.scope, call))
        if call.child is not None:
            needed = [(name, self.read(value)[0]) for name, value in self.needs(call)]
            left = self.whole.left_at(call.module)
            return f"{callee}({', '.join([text for _, text in needed] if left is None else left.words(call.child.calls[0], needed))})"
        kwargs = {key: item for key, item in call.kwargs.items() if item is not None}
        args = list(call.args)
        while args and args[-1] is None:
            args.pop()
        return f"{callee}({self.list_of(args, kwargs)})"


def numbered_at_once(lines):
    """`x_1 = f(y)` and `x = g(x_1)` for `x = f(y)`, `x_1 = x` and `x = g(x)`."""
    made, renamed = [], None
    for i, line in enumerate(lines):
        alias = re.match(r"((\w+)_\d+) = (\w+)$", line)
        name = alias.group(2) if alias and alias.group(2) == alias.group(3) else None
        if name and made and made[-1].startswith(f"{name} = ") and lines[i + 1].startswith(f"{name} = "):
            made[-1] = alias.group(1) + made[-1][len(name):]
            renamed = name, alias.group(1)
            continue
        if renamed:
            name, number = renamed
            line, renamed = f"{name} = " + re.sub(rf"(?<![.'\w]){name}\b(?!=)", number, line[len(name) + 3:]), None
        made.append(line)
    return made


MODE = object()  # the default of an argument that is always said

# By function: arguments with their defaults.
DEFAULTS = {"scaled_dot_product_attention": {"query": inspect.Parameter.empty, "key": inspect.Parameter.empty,
                                             "value": inspect.Parameter.empty, "attn_mask": None, "dropout_p": 0.0,
                                             "is_causal": False, "scale": None, "enable_gqa": False}}
for _axes in "123":  # which choose by an argument between two functions, and so have no signature
    DEFAULTS[f"max_pool{_axes}d"] = {"input": inspect.Parameter.empty, "kernel_size": inspect.Parameter.empty, "stride": None,
                                     "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False}
    DEFAULTS[f"adaptive_max_pool{_axes}d"] = {"input": inspect.Parameter.empty, "output_size": inspect.Parameter.empty,
                                              "return_indices": False}


class Mode(str):
    """Text that stands for itself."""


def error(cause, call, hint=None):
    return ExportError(cause, call.place if call is not None else None, call.scope.path if call is not None else "", hint)


__all__ = ["Body", "INLINE", "NAME", "error", "reference"]
