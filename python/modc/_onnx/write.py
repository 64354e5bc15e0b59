"""The spec of a graph: modules by their paths, classes by the scopes of the nodes, statements by what reads what."""
import keyword
import re

import numpy

from modc._onnx.graph import Module, Value
from modc._onnx.helpers import HELPERS
from modc._onnx.read import OnnxError
from modc._onnx.text import ATOM, Expr, Size, is_symbolic, number
from modc._spec import NAME, SLOT, listed, mapped, quote

WIDTH = 64  # of an expression that stands where it is read
SMALL = 8  # elements of a constant that is written where it is read
WORDS = set(keyword.kwlist) | {"self", "torch", "F", "nn", "math", "inf", "pi", "ops", "load_file", "int", "float", "bool", "str",
                               "len", "range", "min", "max", "sum"}


class Dissolve(Exception):
    """A scope that cannot be one class: its statements go to what holds it."""

    def __init__(self, path):
        super().__init__(path)
        self.path = path


class Branch:
    """What lies at a path of the module tree."""

    def __init__(self):
        self.children, self.module, self.tensors, self.body, self.instance = {}, None, {}, None, None
        self.chain = False

    def below(self, path):
        branch = self
        for name in path:
            branch = branch.children.setdefault(name, Branch())
        return branch


class Group:
    """Statements of one scope that become one call."""

    def __init__(self, path, statements):
        self.path, self.statements = path, statements
        self.inputs, self.outputs = [], []


class Writer:
    def __init__(self, graph, name, tables_name, layers):
        self.graph, self.name, self.tables_name, self.layers = graph, name, tables_name, layers
        self.tables, self.dissolved, self.signatures = {}, set(), {}  # of classes: names of arguments
        self.reads = {}  # statement: values that its expression reads
        self.needed = self.reached()
        self.called = {name for statement in self.needed for name in self.functions(statement.expression)}
        self.parameters = {}  # value: path
        kinds = [value.dtype for value in graph.inputs if value.is_float] + [
            value.dtype for value in graph.values.values() if value.path]
        kinds = kinds or [value.dtype for value in graph.outputs if value.is_float]
        self.dtype = max(sorted(set(kinds)), key=lambda kind: (kinds.count(kind), kind == "float32")) if kinds else "float32"

    # ---- what is needed

    def values_of(self, item, found):
        if isinstance(item, Expr):
            for piece in item.pieces:
                if not isinstance(piece, str):
                    self.values_of(piece[0], found)
        elif isinstance(item, Size):
            if item.op == "dim":
                self.values_of(item.left, found)
            else:
                for side in (item.left, item.right):
                    if isinstance(side, Size):
                        self.values_of(side, found)
        elif isinstance(item, (Value, Module)):
            found.append(item)
            if isinstance(item, Value) and item.known is not None and is_symbolic(item.known):
                for part in item.known.reshape(-1):
                    if isinstance(part, Size):
                        self.values_of(part, found)
        return found

    def functions(self, expression):
        """Functions that an expression calls by their bare names, which no local may have."""
        for piece in expression.pieces:
            if isinstance(piece, str):
                yield from re.findall(r"^(\w+)\($", piece)
            elif isinstance(piece[0], Expr):
                yield from self.functions(piece[0])

    def reached(self):
        wanted, todo = set(), list(self.graph.outputs)
        while todo:
            value = todo.pop()
            if isinstance(value, Value) and value.known is not None and is_symbolic(value.known):
                todo += [item for item in self.values_of(value, []) if item is not value]
            statement = getattr(value, "statement", None)
            if statement is None or statement in wanted:
                continue
            wanted.add(statement)
            self.reads[statement] = self.values_of(statement.expression, [])
            todo += self.reads[statement]
        return [statement for statement in self.graph.statements if statement in wanted]

    # ---- the spec

    def spec(self):
        while True:
            try:
                return self.attempt()
            except Dissolve as found:
                self.dissolved.add(found.path)

    def attempt(self):
        self.tree, self.parameters, self.tables, self.taken = Branch(), {}, {}, set()
        for statement in self.needed:
            for item in self.reads[statement]:
                if isinstance(item, Module):
                    self.tree.below(item.path).module = item
        self.classes, self.uses = {}, {}
        for statement in self.needed:
            for item in self.reads[statement]:
                if isinstance(item, Value):
                    self.uses[item] = self.uses.get(item, 0) + 1
        for value in self.graph.outputs:
            self.uses[value] = self.uses.get(value, 0) + 1
        root = Group((), self.needed)
        root.inputs, root.outputs = list(self.graph.inputs), list(self.graph.outputs)
        self.input_names = {}
        lines = self.body(root)
        definitions = self.definitions()
        out = ["modc: 1", f"model: {self.name}"]
        if self.dtype != "float32":
            out.append(f"dtype: {self.dtype}")
        if self.graph.sizes:
            out += ["", "sizes:"] + [f"  {name}: {most}" for name, most in self.graph.sizes.items()]
        out += ["", "inputs:"]
        for value in self.graph.inputs:
            shape = "[" + ", ".join(item.left if isinstance(item, Size) else str(item) for item in value.shape) + "]"
            name = quote(self.input_names[value])
            plain = value.dtype == self.dtype
            out.append(f"  {name}: {shape}" if plain else f"  {name}: {{shape: {shape}, dtype: {value.dtype}}}")
        if not self.graph.inputs:
            raise OnnxError("the model has no inputs: all that it returns is constant")
        helpers = [name for name in HELPERS if name in self.graph.helpers and any(
            f"{name}(" in line for line in self.every_line(lines))]
        if helpers:
            out += ["", "functions: |"]
            for position, name in enumerate(helpers):
                out += ([""] if position else []) + ["  " + line if line else "" for line in HELPERS[name].split("\n")]
        if definitions:
            out += ["", "classes:"]
            for header, text in definitions:
                out += [f"  {header}:"] + ["    " + line for line in text] + [""]
            out.pop()
        children = self.children(self.tree)
        if children:
            out += ["", "modules:"] + ["  " + line for line in children]
        if self.tree.tensors:
            out += [""] + self.tensor_lines(self.tree)
        out += ["", "forward: |"] + ["  " + line for line in lines]
        return "\n".join(out) + "\n"

    def every_line(self, lines):
        yield from lines
        for branch in self.classes.values():
            yield from branch.body or ()

    # ---- scopes

    def child_scope(self, statement, path):
        """The path of the next class inside `path` that holds a statement; None: it stands in `path` itself."""
        scope = statement.scope
        for length in range(len(path) + 1, len(scope) + 1):
            if scope[:length] not in self.dissolved:
                return scope[:length]
        return None

    def items(self, group):
        """Statements and Groups, in an order in which each has what it reads."""
        found, owner = {}, {}
        for statement in group.statements:
            path = self.child_scope(statement, group.path)
            key = path if path is not None else statement
            found.setdefault(key, []).append(statement)
            owner[statement] = key
        before = {key: set() for key in found}
        for statement in group.statements:
            for value in self.reads[statement]:
                made = getattr(value, "statement", None)
                if made in owner and owner[made] != owner[statement]:
                    before[owner[statement]].add(owner[made])
        order, done, keys = [], set(), list(found)
        while keys:
            ready = next((key for key in keys if before[key] <= done), None)
            if ready is None:
                raise Dissolve(next(key for key in keys if isinstance(key, tuple)))
            keys.remove(ready)
            done.add(ready)
            order.append(Group(ready, found[ready]) if isinstance(ready, tuple) else ready)
        for item in order:
            if isinstance(item, Group):
                self.boundary(item)
        return order

    def boundary(self, group):
        """What a group is given and gives."""
        own = set(group.statements)
        inner = {}
        for statement in group.statements:
            for value in self.reads[statement]:
                if isinstance(value, Value):
                    inner[value] = inner.get(value, 0) + 1
        for value in inner:
            if value.statement is not None and value.statement not in own or value in self.graph.inputs:
                group.inputs.append(value)
            elif value.path is not None and value.known is not None and not self.is_inline(value) \
                    and self.parameter(value)[:len(group.path)] != group.path and self.parameter(value):
                group.inputs.append(value)
        for statement in group.statements:
            for target in statement.targets:
                if target is not None and self.uses.get(target, 0) > inner.get(target, 0):
                    group.outputs.append(target)
        if not group.outputs or not group.inputs or len(group.inputs) > 8:
            raise Dissolve(group.path)
        below = self.tree.below(group.path)
        if below.module is not None or not below.children and len(group.statements) < 3 and not any(
                self.parameters.get(value) for value in inner):
            raise Dissolve(group.path)

    def body(self, group):
        """The lines of a scope's forward."""
        items = self.items(group)
        scope = Scope(self, group, items)
        for value in group.inputs:
            scope.names[value] = scope.fresh("x" if group.path and len(group.inputs) == 1 else self.wanted_name(value))
            if not group.path:
                self.input_names[value] = scope.names[value]
        self.signatures[group.path] = [scope.names[value] for value in group.inputs]
        for item in items:
            if isinstance(item, Group):
                self.define(item)
                scope.call_group(item)
            else:
                scope.statement(item)
        if group.path:
            branch = self.tree.below(group.path)
            branch.chain = self.is_chain(branch, items, group)
            if not branch.chain and any(name.isdigit() for name in branch.children):
                raise Dissolve(group.path)
        last = "return " + ", ".join(scope.text_of(value, -1) for value in group.outputs)
        made = re.match(r"(\w+) = (.*)", scope.lines[-1]) if scope.lines else None
        if made and last == f"return {made.group(1)}" and len(made.group(2)) < 100:
            return scope.lines[:-1] + [f"return {made.group(2)}"]
        return scope.lines + [last]

    @staticmethod
    def is_chain(branch, items, group):
        """Whether a scope calls its children one behind the other, as Sequential does."""
        names = list(branch.children)
        if not names or not all(name.isdigit() for name in names) or branch.tensors or len(group.inputs) != 1 \
                or len(group.outputs) != 1:
            return False
        at, called = group.inputs[0], []
        for item in items:
            if isinstance(item, Group):
                if item.inputs != [at] or len(item.outputs) != 1:
                    return False
                at = item.outputs[0]
                called.append(item.path)
            else:
                pieces = item.expression.pieces
                if len(pieces) != 4 or isinstance(pieces[0], str) or not isinstance(pieces[0][0], Module) \
                        or isinstance(pieces[2], str) or pieces[2][0] is not at:
                    return False
                at = item.targets[0]
                called.append(pieces[0][0].path)
        numbers = [path[-1] for path in called if path[:-1] == group.path]
        return at is group.outputs[0] and len(numbers) == len(called) == len(names) and numbers == sorted(names, key=int)

    def define(self, group):
        lines = self.body(group)
        branch = self.tree.below(group.path)
        if branch.chain:
            return
        branch.signature = self.signatures[group.path]
        branch.body = lines
        self.classes[group.path] = branch

    # ---- values

    def wanted_name(self, value):
        name = value.name.rpartition("/")[2]
        name = re.sub(r"(_output)?_0$", "", name) if "/" in value.name else name
        name = re.sub(r"\W+", "_", name).strip("_")
        if not NAME.match(name):
            name = f"{'x' if value.statement is None else value.statement.hint or 'h'}"
        elif value.statement is not None and not NAME.match(value.name):
            name = value.statement.hint or name.lower()
        if value.statement is not None:
            name = value.statement.hint or re.sub(r"_\d+$", "", name)
        name = re.sub(r"\W+", "_", name)
        return name if NAME.match(name) else "h"

    @staticmethod
    def is_inline(value):
        return value.known is not None and value.known.size <= SMALL and (value.path is None)

    def parameter(self, value):
        """The path of a value that is a parameter; () for a table."""
        found = self.parameters.get(value)
        if found is not None:
            return found
        path = self.graph.taken.get(value)
        if path is not None:
            branch = self.tree
            for name in path[:-1]:
                branch = branch.children.get(name) or Branch()
            if branch.module is not None:
                self.parameters[value] = path
                return path
        path = value.path
        ok = path is not None and value.is_float and NAME.match(path[-1]) and path[-1] not in WORDS
        if ok:
            branch = self.tree
            for name in path[:-1]:
                branch = branch.children.get(name) or Branch()
                if branch.module is not None:
                    ok = False
            if any(name.isdigit() for name in branch.children) or path[-1] in branch.children:
                ok = False
        if not ok and path is not None and value.is_float:
            path, ok = (re.sub(r"\W", "_", "_".join(path)),), True
            if not NAME.match(path[0]) or path[0] in self.tree.children or path[0] in WORDS:
                path = ("p_" + path[0],)
        if not ok:
            self.parameters[value] = ()
            return ()
        self.tree.below(path[:-1]).tensors[path[-1]] = value
        self.parameters[value] = path
        return path

    def table(self, value):
        name = re.sub(r"[^\w.]", "_", value.name).strip("_") or "table"
        base, n = name, 2
        while name in self.tables and self.tables[name] is not value.known:
            name, n = f"{base}_{n}", n + 1
        self.tables[name] = value.known
        text = f"load_file('{self.tables_name}')['{name}']"  # whose floats are of the model's type
        return text if not value.is_float or value.dtype == self.dtype else f"{text}.to(torch.{value.dtype})"

    # ---- modules

    def children(self, branch):
        """Lines of what lies below a branch."""
        names = list(branch.children)
        plain = all(name.isdigit() for name in names) and names
        items = [(name, self.text(branch.children[name])) for name in (sorted(names, key=int) if plain else names)]
        if plain and sorted(map(int, names)) == list(range(len(names))):
            return listed([text for _, text in items])
        return (["class: Sequential"] if branch.chain else []) + mapped(items)

    def text(self, branch):
        if branch.module is not None:
            return branch.module.text
        if branch.instance is not None:
            return branch.instance
        return self.children(branch)

    def tensor_lines(self, branch):
        lines = ["parameters:"]
        for name, value in branch.tensors.items():
            kind = "" if value.dtype == self.dtype else f", dtype: {value.dtype}"
            lines.append(f"  {quote(name)}: {{shape: {number(value.shape)}{kind}}}")
        return lines

    def class_lines(self, branch):
        lines = []
        children = self.children(branch)
        if children:
            lines += ["modules:"] + ["  " + line for line in children]
        if branch.tensors:
            lines += self.tensor_lines(branch)
        if branch.body is not None:
            lines += [f"forward({', '.join(branch.signature)}): |"] + ["  " + line for line in branch.body]
        return lines

    def definitions(self):
        """(header, lines) of the classes, those first that hold no others; instances are filled in."""
        levels = {}

        def walk(path, branch):
            most = 0
            for name, child in branch.children.items():
                most = max(most, walk(path + (name,), child))
            if path and branch.module is None and (branch.body is not None or branch.tensors):
                levels.setdefault(most, []).append((path, branch))
                most += 1
            return most
        walk((), self.tree)
        made, names = [], set(self.layers)
        for level in sorted(levels):
            groups = {}
            for path, branch in levels[level]:
                text = "\n".join(self.class_lines(branch))
                groups.setdefault(SLOT.sub("\0", text), []).append((path, branch, SLOT.findall(text)))
            for skeleton, members in groups.items():
                made.append(self.definition(skeleton, members, names))
        return made

    def definition(self, skeleton, members, names):
        last = [part for part in members[0][0] if not part.isdigit()][-1]
        word = re.sub(r"[\d_]+$", "", last) or "module"
        if re.search(r"[^s]s$", word) and members[0][0][-1].isdigit():  # one of several
            word = word[:-1]
        base = "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+|_", word) if part) or "Module"
        base = base if NAME.match(base) else "Module"
        name, n = base, 2
        while name in names:
            name, n = f"{base}{n}", n + 1
        names.add(name)
        columns = list(zip(*[slots for _, _, slots in members])) if members[0][2] else []
        pieces, arguments, texts = skeleton.split("\0"), {}, []
        for position, column in enumerate(columns):
            if len(set(column)) == 1:
                texts.append(column[0])
                continue
            if column not in arguments:
                arguments[column] = self.argument(pieces, columns, position, set(arguments.values()))
            texts.append(arguments[column])
        text = pieces[0] + "".join(slot + piece for slot, piece in zip(texts, pieces[1:]))
        for index, (_, branch, _) in enumerate(members):
            branch.instance = f"{name}({', '.join(column[index] for column in arguments)})"
        return f"{name}({', '.join(arguments.values())})", text.split("\n")

    def argument(self, pieces, columns, position, taken):
        """What torch.nn calls the argument at which a number stands."""
        before = "\0".join(pieces[:position + 1])
        word = re.search(r"([A-Za-z_]\w*)\s*=\s*$", before)
        layer = re.search(r"([A-Z]\w*)\(([^()]*)$", before)
        name = "size"
        if word:
            name = word.group(1)
        elif layer and layer.group(1) in self.layers:
            known = self.layers[layer.group(1)]
            place = layer.group(2).count(",")
            name = known[place] if place < len(known) else name
        made, n = name, 2
        while made in taken:
            made, n = f"{name}_{n}", n + 1
        return made

    def weights(self):
        """By state_dict keys, in the order of the tree."""
        found = {}

        def walk(path, branch):
            for name, value in branch.tensors.items():
                found[".".join(path + (name,))] = value.known
            if branch.module is not None:
                for key, array in branch.module.tensors:
                    found[".".join(path + (key,))] = array
                if branch.module.counter:
                    found[".".join(path + ("num_batches_tracked",))] = numpy.zeros((), numpy.int64)
            for name, child in branch.children.items():
                walk(path + (name,), child)
        walk((), self.tree)
        return found


class Scope:
    """The statements of one forward while they are written."""

    def __init__(self, writer, group, items):
        self.writer, self.group = writer, group
        self.names, self.pending, self.lines, self.taken = {}, {}, [], WORDS | set(HELPERS) | set(writer.graph.sizes) | writer.called
        self.inner = {}  # how often a value is read here
        for item in items:
            for value in item.inputs if isinstance(item, Group) else writer.reads[item]:
                self.inner[value] = self.inner.get(value, 0) + 1
        for value in group.outputs:
            self.inner[value] = self.inner.get(value, 0) + 1

    def fresh(self, name):
        base, n = name if name not in WORDS else name + "_", 2
        made = base
        while made in self.taken:
            made, n = f"{base}_{n}", n + 1
        self.taken.add(made)
        return made

    def reference(self, path):
        if path[:len(self.group.path)] != self.group.path:
            raise Dissolve(self.group.path)
        text, before = "self", self.writer.tree.below(self.group.path)
        for name in path[len(self.group.path):]:
            siblings = list(before.children)
            if name.isdigit() and all(item.isdigit() for item in siblings) and (
                    sorted(map(int, siblings)) == list(range(len(siblings)))):
                text += f"[{name}]"
            elif NAME.match(name) and name not in WORDS:
                text += f".{name}"
            else:
                text += f"['{name}']"
            before = before.children.get(name) or Branch()
        return text

    def text_of(self, item, binds):
        text, own = self.plain_text(item)
        return f"({text})" if own < binds else text

    def plain_text(self, item):
        """Text, and how tightly it binds."""
        if isinstance(item, Expr):
            return "".join(piece if isinstance(piece, str) else self.text_of(*piece) for piece in item.pieces), item.binds
        if isinstance(item, Size):
            return self.plain_text(item.expression())
        if isinstance(item, Module):
            return self.reference(item.path), ATOM
        if item in self.names:
            return self.names[item], ATOM
        if item in self.pending:
            return self.pending.pop(item)
        if item.known is None:
            raise AssertionError(item.name)
        return self.constant(item), ATOM

    def constant(self, value):
        writer, known = self.writer, value.known
        kind = "" if value.dtype == writer.dtype and known.size else f", dtype=torch.{value.dtype}"
        if is_symbolic(known):
            def nested(part):
                if isinstance(part, list):
                    return "[" + ", ".join(map(nested, part)) + "]"
                return self.text_of(part, -1) if isinstance(part, Size) else str(int(part))
            return f"torch.tensor({nested(known.tolist())}{kind})"
        if writer.is_inline(value):
            if known.size == 0 and known.ndim != 1:
                return f"torch.zeros({number(list(known.shape))}{kind})"
            item = known.tolist() if known.dtype.kind != "f" else floats(known)
            return f"torch.tensor({number(item)}{kind})"
        path = writer.parameter(value)
        if path:
            return self.reference(path)
        flat = known.reshape(-1)
        if flat.size and (flat == flat[0]).all():
            return f"torch.full({number(list(known.shape))}, {number(flat[0])}, dtype=torch.{value.dtype})"
        return writer.table(value)

    def statement(self, statement):
        text, binds = self.plain_text(statement.expression)
        targets = statement.targets
        if len(targets) == 1 and len(text) <= WIDTH and self.inner.get(targets[0], 0) == 1:
            self.pending[targets[0]] = (text, binds)
            return
        names = []
        for target in targets:
            if target is None or not self.writer.uses.get(target, 0):
                names.append("_")
            else:
                self.names[target] = self.fresh(self.writer.wanted_name(target))
                names.append(self.names[target])
        self.lines.append(f"{', '.join(names)} = {text}")

    def call_group(self, group):
        text = f"{self.reference(group.path)}({', '.join(self.text_of(value, -1) for value in group.inputs)})"
        if len(group.outputs) == 1 and len(text) <= WIDTH and self.inner.get(group.outputs[0], 0) == 1:
            self.pending[group.outputs[0]] = (text, ATOM)
            return
        word = next((part for part in reversed(group.path) if NAME.match(part)), "h")
        for value in group.outputs:
            self.names[value] = self.fresh(word)
        self.lines.append(f"{', '.join(self.names[value] for value in group.outputs)} = {text}")


def floats(array):
    """Nested lists of NumPy's floats, which print as the shortest decimal of their type."""
    return [floats(part) for part in array] if array.ndim else array[()]
