"""From a traced model to the text of a spec, and the tensors that go beside it.

Bottom up: the bodies of equal classes are compared, and where they differ in numbers alone, these are the arguments of one
class. What a class's constructor calls such a number, its instances are asked: the argument has that name.
"""
import inspect
import re

import torch
from torch import nn

from modc._errors import ExportError
from modc._export.body import INLINE, NAME, Body, error, reference
from modc._export.constructors import class_name, constructor, literal, said
from modc._export.modes import both, signature
from modc._export.trace import named_tensors, tensors_of
from modc._spec import SLOT, listed, mapped, quote

OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other", "axes": "dims",
               "indices": "indices_or_sections", "sections": "indices_or_sections"}


def dtype_name(dtype):
    return str(dtype).replace("torch.", "")


class Definition:
    """A class of the spec: of Python's class `kind`, with the text of one instance and, by instance, the numbers in it."""

    def __init__(self, kind, skeleton):
        self.kind, self.skeleton = kind, skeleton
        self.slots, self.modules = [], []
        self.name, self.arguments, self.text = None, [], None


class Whole:
    """The spec of one trace, or of two: `training` is that of the other mode. catalogue: what modc knows; file: what the tables'
    file is called; always: paths of modules that are in evaluation mode whatever the model's is."""

    def __init__(self, tracer, name, catalogue, file, sizes=None, training=None, always=()):
        self.tracer, self.model, self.name, self.catalogue, self.file = tracer, tracer.model, name, catalogue, file
        self.sizes = sizes or {}  # name: (maximum, [(input name, axis)])
        self.training, self.always = training, always
        self.paired = False  # whether it is one of two
        if training is not None:
            self.paired = training.paired = True
        self.also = {}  # path of a module of torch.nn: arguments that are written in any case
        self.requires = []  # comparisons of sizes that every call has to meet
        self.tables, self.bodies = training.tables if training else {}, {}
        self.scopes = {}  # path: the scopes of a module
        self.called = set()  # paths of modules that are called, and of what holds them
        self.collect(tracer.root)
        self.dtype = self.main_dtype()
        self.instances = {}  # path: text of the constructor

    def collect(self, scope):
        self.scopes.setdefault(scope.path, []).append(scope)
        for call in scope.calls:
            if call.module is not None:
                path = call.path
                while path and path not in self.called:
                    self.called.add(path)
                    path = path.rpartition(".")[0]
            if call.child is not None:
                self.collect(call.child)

    def keeps(self):
        """Whether a call of the model leaves something for the next one, in either mode."""
        return bool(self.tracer.written or self.tracer.states) or self.training is not None and self.training.keeps()

    def hint(self):
        """What to do where a second call is another."""
        names = [f"'{path}.{name}'" if path else f"'{name}'" for path, name in self.tracer.written
                 if (f"{path}.{name}" if path else name) not in self.tracer.states]
        return f"calls keep {', '.join(names)}, which was no tensor at first: let __init__ make it one, zeros for instance" \
            if names else None

    def main_dtype(self):
        counts = {}
        for parameter in self.model.parameters():
            counts[parameter.dtype] = counts.get(parameter.dtype, 0) + parameter.numel()
        return max(counts, key=counts.get) if counts else torch.float32

    # ---- values

    def value_of(self, tensor, call):
        """The Value of a tensor as `call` saw it."""
        return self.tracer.seen_by(tensor, call)

    def value_in(self, scope, tensor):
        return self.tracer.seen_by(tensor, scope)

    def returned(self, scope):
        """The Values that a scope returns, each once."""
        call = getattr(scope, "call", None)
        if call is not None:
            return [value.inner for value in call.results]
        found = []
        for tensor in tensors_of(scope.returned, []):
            value = self.tracer.values.get(id(tensor))
            if value is None:
                raise ExportError("the model returns a tensor that no function of PyTorch made", None, scope.path)
            found.append(value)
        return found

    def own_paths(self, value):
        """Every path of a parameter or buffer."""
        key = (value.kind, id(value.tensor))
        if not hasattr(self, "_paths"):
            self._paths = {}
        if key not in self._paths:
            self._paths[key] = [value.path] if value.kind == "state" else [
                path for path, tensor in named_tensors(self.model, value.kind) if tensor is value.tensor]
        return self._paths[key]

    def is_own(self, value, scope):
        """Whether a scope reaches a value without being given it: its parameters and buffers, and constants."""
        if value.kind == "constant":
            return True
        if value.kind not in ("parameter", "buffer", "state"):
            return False
        prefix = scope.path + "." if scope.path else ""
        return any(path.startswith(prefix) for path in self.own_paths(value))

    def own_text(self, value, scope, call):
        if value.kind == "constant":
            return self.constant(value, call)
        if value.kind in ("parameter", "buffer", "state"):
            prefix = scope.path + "." if scope.path else ""
            for path in self.own_paths(value):
                if path.startswith(prefix):
                    return reference(path[len(prefix):])
        raise error(f"a {value.kind} is read that no function of PyTorch made in this module", call,
                    "a custom autograd function, or a tensor that was kept from an earlier call")

    def constant(self, value, call):
        return self.constant_text(value.tensor.detach())

    def constant_text(self, tensor):
        if tensor.numel() <= INLINE:
            text = literal(tensor.tolist())
            kind = "" if tensor.dtype == torch.float32 and tensor.numel() else f", dtype={tensor.dtype}"
            return f"torch.tensor({text}{kind})"
        return self.table(tensor, self.attribute_of(tensor) or f"constant_{len(self.tables)}")

    def table(self, tensor, name):
        """The text that reads a tensor of the tables. Equal ones are one."""
        name = next((known for known, other in self.tables.items() if tensor.dtype == other.dtype and torch.equal(tensor, other)), name)
        self.tables.setdefault(name, tensor)
        return f"load_file('{self.file}')['{name}']"

    def attribute_of(self, tensor):
        """The path of the attribute that holds a tensor that is neither a parameter nor a buffer."""
        for path, module in self.model.named_modules():
            for name, item in vars(module).items():
                if item is tensor:
                    return f"{path}.{name}" if path else name
        return None

    def plain_name(self, value):
        call = value.call
        if call is None:
            return "x"
        if call.module is not None:
            last = call.path.rpartition(".")[2]
            return last if NAME.match(last) else f"{type(call.module).__name__.lower()}"
        last = call.name.replace(".__get__", "").rpartition(".")[2].strip("_")
        return {"getitem": "part", "rsub": "difference", "mul": "product", "add": "sum_", "matmul": "product"}.get(last, last) or "x"

    def path_below(self, path, scope, call):
        """The path of a module as a scope reaches it."""
        prefix = scope.path + "." if scope.path else ""
        if not hasattr(self, "_places"):
            self._places = {}
            for other, module in self.model.named_modules(remove_duplicate=False):
                self._places.setdefault(id(module), []).append(other)
        for other in self._places[id(call.module)]:
            if other.startswith(prefix) and other != scope.path:
                return other[len(prefix):]
        raise error(f"'{scope.path}' calls '{path}', which is no submodule of it", call,
                    "make it an attribute of the module that calls it")

    @staticmethod
    def path_from(path, scope, call):
        """The path of an attribute as a scope reaches it."""
        prefix = scope.path + "." if scope.path else ""
        if path.startswith(prefix):
            return path[len(prefix):]
        raise error(f"'{scope.path}' sets '{path}', which is not its own", call, "let the module set it that has it")

    def renamed(self, call, kwargs):
        """NumPy's names of arguments, which PyTorch takes too, as PyTorch's."""
        known = self.catalogue.functions.get(call.name.rpartition(".")[2])
        names = {argument["name"] for argument in known["arguments"]} if known else set()
        return {OTHER_NAMES[key] if key not in names and OTHER_NAMES.get(key) in names else key: item
                for key, item in kwargs.items()}

    # ---- bodies

    def body(self, scope):
        found = self.bodies.get(id(scope))
        if found is None:
            found = self.bodies[id(scope)] = Body(scope, self)
            scope.text = None
        return found

    def text_of(self, scope):
        body = self.body(scope)
        if scope.text is None:
            scope.text = body.write()
        return scope.text

    # ---- modules

    def is_leaf(self, module):
        return self.catalogue.is_leaf(module)

    def children(self, path, module):
        """Lines of `modules:` for what a module holds."""
        prefix = path + "." if path else ""
        items = []
        for name, child in module._modules.items():
            if child is not None:
                text = self.module(prefix + name, child)
                if text is not None:
                    items.append((name, text))
        return items

    def module(self, path, module):
        """The text of a module: a string (a call), or lines of a list or mapping. None: it holds nothing and is never called."""
        if self.is_leaf(module):
            return constructor(module, self.also.get(path, ()))
        if type(module) in (nn.Sequential, nn.ModuleList, nn.ModuleDict) or self.is_plain_list(module):
            return self.container(path, module)
        if path in self.instances:
            return self.instances[path]
        if not self.holds(module) and not self.is_called(path, module):
            return None
        raise AssertionError(path)

    @staticmethod
    def is_plain_list(module):
        """A class that is Sequential with another constructor alone."""
        return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward \
            and not module._parameters and not module._buffers

    def holds(self, module):
        return any(True for _ in module.parameters()) or any(True for _ in module.buffers())

    def container(self, path, module):
        items = self.children(path, module)
        names = list(module._modules)
        if not items and names:
            return None
        plain_list = names == [str(i) for i in range(len(names))] and len(items) == len(names)
        if isinstance(module, nn.Sequential) or isinstance(module, nn.ModuleList):
            if plain_list:
                lines = listed([text for _, text in items])
                return lines if lines else ("Sequential()" if isinstance(module, nn.Sequential) else "ModuleList([])")
            return ["class: Sequential"] + mapped(items)
        return mapped(items)

    def tensors(self, path, module):
        """Lines of `parameters` and `buffers` of a module itself."""
        lines, prefix = [], path + "." if path else ""
        parameters = [(name, parameter) for name, parameter in module._parameters.items() if parameter is not None]
        if parameters:
            lines.append("parameters:")
            for name, parameter in parameters:
                kind = "" if parameter.dtype == self.dtype else f", dtype: {dtype_name(parameter.dtype)}"
                lines.append(f"  {quote(name)}: {{shape: {literal(list(parameter.shape))}{kind}}}")
        buffers = []
        for name, buffer in module._buffers.items():
            if buffer is None:
                continue
            value = self.tracer.values.get(id(buffer))
            kind = "" if buffer.dtype == self.dtype else f", dtype: {dtype_name(buffer.dtype)}"
            if name not in module._non_persistent_buffers_set:
                buffers.append(f"  {quote(name)}: {{shape: {literal(list(buffer.shape))}{kind}, init: zeros}}")
            elif value is not None and self.is_read(value):
                if buffer.numel() <= INLINE:
                    text = f"torch.tensor({literal(buffer.tolist())}, dtype={buffer.dtype})"
                else:
                    text = self.table(buffer.detach(), prefix + name)
                buffers.append(f'  {quote(name)}: {{value: "{text}", persistent: false}}')
        if buffers:
            lines += ["buffers:"] + buffers
        states = []
        for whole in (self, self.training):
            for name, value in whole.tracer.states.items() if whole is not None else ():
                if name.rpartition(".")[0] == path and not any(line.startswith(f"  {name[len(prefix):]}:") for line in states):
                    states.append(f"  {name[len(prefix):]}: {self.state(value.tensor)}")
        if states:
            lines += ["state:"] + states
        return lines

    def state(self, tensor):
        """A tensor that calls change: how it begins."""
        kind = "" if tensor.dtype == self.dtype else f", dtype: {dtype_name(tensor.dtype)}"
        init = ""
        if tensor.numel() and bool((tensor != 0).any()):
            text = self.constant_text(tensor)
            return f'{{value: "{text}"{kind}}}'
        return f"{{shape: {literal(list(tensor.shape))}{kind}{init}}}"

    def is_read(self, value):
        if not hasattr(self, "_read"):
            self._read = set()
            for scopes in self.scopes.values():
                for scope in scopes:
                    for call in scope.calls:
                        if hasattr(call, "args"):
                            for tensor in tensors_of((call.args, call.kwargs), []):
                                self._read.add(id(tensor))
                        if getattr(call, "value", None) is not None:
                            self._read.add(id(call.value.tensor))
        return id(value.tensor) in self._read or self.training is not None and self.training.is_read(value)

    def class_text(self, path, module):
        """The lines below a class's name, for one instance."""
        lines = []
        children = self.children(path, module)
        left = self.left_at(module)
        if left is not None:
            children.append((left.slot, left.text(self.dtype)))
        if children:
            lines.append("modules:")
            lines += ["  " + line for line in mapped(children)]
        lines += self.tensors(path, module)
        found = self.forward_of(path, module)
        if found is not None:
            arguments, body = found
            lines.append(f"forward({', '.join(arguments)}): |")
            lines += ["  " + line for line in rolled(body, module)]
        return lines

    def left_at(self, module):
        return self.tracer.left.get(self.tracer.paths[id(module)])

    def forward_of(self, path, module):
        """(arguments, statements) of a module's forward, of both modes; None: it is not called."""
        texts = [self.text_of(scope) for scope in self.scopes_of(module)]
        for text in texts[1:]:
            if text != texts[0]:
                raise ExportError(f"'{path}' is called in two ways that differ:\n    " + "\n    ".join(
                    a if a == b else f"{a}\n    {b}" for a, b in zip(texts[0][1], text[1])), None, path)
        other = self.training.forward_of(path, module) if self.training is not None else None
        if not texts or other is None:
            return texts[0] if texts else other
        arguments = signature(texts[0][0], other[0])
        if arguments is None:
            raise ExportError(f"'{path}' takes {', '.join(texts[0][0])} in evaluation and {', '.join(other[0])} in training",
                              None, path, "export one mode: training=False")
        return arguments, both(texts[0][1], other[1])

    def scopes_of(self, module):
        """The calls of a module, by whichever of its paths."""
        return self.scopes.get(self.tracer.paths[id(module)], [])

    def is_called(self, path, module):
        return path in self.called or self.tracer.paths[id(module)] in self.called \
            or self.training is not None and self.training.is_called(path, module)

    def heights(self):
        """Paths of modules that are classes of the spec, those first that hold no others."""
        height = {}

        def walk(path, module):
            most = 0
            for name, child in module._modules.items():
                if child is not None and not self.is_leaf(child):
                    most = max(most, walk(f"{path}.{name}" if path else name, child) + 1)
            if path and not self.is_leaf(module) and not (type(module) in (nn.Sequential, nn.ModuleList, nn.ModuleDict)
                                                          or self.is_plain_list(module)):
                height[path] = most
            return most
        walk("", self.model)
        return height

    def classes(self):
        """The definitions, in the order in which they build on each other; self.instances is filled."""
        made, names = [], set()
        height = self.heights()
        for level in sorted(set(height.values())):
            kinds = {}
            for path in [path for path, h in height.items() if h == level]:
                module = self.model.get_submodule(path)
                if self.is_called(path, module) or self.holds(module):
                    kinds.setdefault(type(module), []).append((path, module))
            for members in kinds.values():
                for group in self.grouped(members):
                    self.define(group, names)
                    made.append(group)
        return made

    def grouped(self, members):
        """The Definitions of instances of one class of Python: those whose texts differ by numbers alone are one. Arguments that
        only some instances give are said in all, where there are fewer classes then."""
        plain = self.by_text(members)
        if len(plain) == 1:
            return plain
        below = {}  # path below an instance: arguments of the module there
        for path, module in members:
            for inner, leaf in module.named_modules():
                if inner and self.is_leaf(leaf):
                    below.setdefault(inner, set()).update(said(leaf))
        self.also = {f"{path}.{inner}": arguments for path, _ in members for inner, arguments in below.items()}
        full = self.by_text(members)
        self.also = {}
        return full if len(full) < len(plain) else plain

    def by_text(self, members):
        groups = {}
        for path, module in members:
            text = "\n".join(self.class_text(path, module))
            key = (type(module), SLOT.sub("\0", text))
            group = groups.setdefault(key, Definition(*key))
            group.slots.append(SLOT.findall(text))
            group.modules.append((path, module))
        return list(groups.values())

    def define(self, group, names):
        """Name, arguments and text of a class, and the constructors of its instances."""
        base = re.sub(r"\W", "", class_name(group.modules[0][1])) or "Module"
        if base in self.catalogue.layers or base in ("ModuleList",):
            base += "_"
        group.name, i = base, 2
        while group.name in names:
            group.name, i = f"{base}{i}", i + 1
        names.add(group.name)

        columns = list(zip(*group.slots)) if group.slots[0] else []
        arguments = {}  # column of values: name
        texts = []
        signature = list(inspect.signature(group.kind.__init__).parameters.values())[1:]
        modules = [module for _, module in group.modules]
        for position, column in enumerate(columns):
            if len(set(column)) == 1:
                texts.append(column[0])
                continue
            if column not in arguments:
                derived = self.derived(column, arguments)
                if derived is not None:
                    texts.append(derived)
                    continue
                arguments[column] = self.argument_name(column, modules, signature, position, group, set(arguments.values()))
            texts.append(arguments[column])
        pieces = group.skeleton.split("\0")
        text = pieces[0]
        for piece, slot in zip(pieces[1:], texts):
            text += slot + piece
        group.text = text.split("\n")
        order = [parameter.name for parameter in signature]
        group.arguments = sorted(arguments.items(), key=lambda item: order.index(item[1]) if item[1] in order else 99)
        defaults = {}
        for column, name in group.arguments:
            parameter = next((p for p in signature if p.name == name), None)
            if parameter is not None and parameter.default is not parameter.empty and literal_or_none(parameter.default) in column:
                defaults[name] = literal_or_none(parameter.default)
            elif parameter is None and f"{name}=\0" in group.skeleton:  # an argument of a module below, which most leave out
                usual = max(column, key=column.count)
                if 2 * column.count(usual) >= len(column):
                    defaults[name] = usual
        group.arguments.sort(key=lambda item: item[1] in defaults)
        header = [f"{name}={defaults[name]}" if name in defaults else name for _, name in group.arguments]
        group.header = f"{group.name}({', '.join(header)})"
        for index, (path, _) in enumerate(group.modules):
            given, named = [], False
            for column, name in group.arguments:
                if name in defaults and column[index] == defaults[name]:
                    named = True
                    continue
                given.append(f"{name}={column[index]}" if named or name in defaults else column[index])
            self.instances[path] = f"{group.name}({', '.join(given)})"

    @staticmethod
    def derived(column, arguments):
        """An expression over arguments that there are already: twice as much, half, ..."""
        try:
            values = [int(item) for item in column]
        except ValueError:
            return None
        for other, name in arguments.items():
            try:
                others = [int(item) for item in other]
            except ValueError:
                continue
            for factor in (2, 3, 4, 6, 8):
                if all(a == factor * b for a, b in zip(values, others)):
                    return f"{factor} * {name}"
                if all(a * factor == b for a, b in zip(values, others)):
                    return f"{name} // {factor}"
        return None

    @staticmethod
    def argument_name(column, modules, signature, position, group, taken):
        """What the source calls these numbers: an argument of the constructor or an attribute that has them in each instance."""
        attributes = [parameter.name for parameter in signature] + sorted(
            {name for name in vars(modules[0]) if not name.startswith("_") and name != "training"})
        for name in attributes:
            if name in taken or not NAME.match(name):
                continue
            if all(literal_or_none(getattr(module, name, error)) == item for module, item in zip(modules, column)):
                return name
        before = group.skeleton.split("\0")[position]
        word = re.search(r"([A-Za-z_]\w*)\s*=\s*$", before)
        layer = re.search(r"([A-Z]\w*)\(([^()]*)$", before)
        names = [item for item in inspect.signature(getattr(nn, layer.group(1)).__init__).parameters
                 ] if layer and hasattr(nn, layer.group(1)) else []
        if word:
            name = word.group(1)
        elif layer and layer.group(2).count(",") + 1 < len(names):
            name = names[layer.group(2).count(",") + 1]
        else:
            name = "size"
        made, i = name, 2
        while made in taken:
            made, i = f"{name}_{i}", i + 1
        return made

    # ---- the spec

    def spec(self):
        lines = ["modc: 1", f"model: {self.name}"]
        if self.dtype != torch.float32:
            lines.append(f"dtype: {dtype_name(self.dtype)}")
        definitions = self.classes()
        arguments, body = self.forward_of("", self.model)
        if self.sizes:
            lines += ["", "sizes:"] + [f"  {name}: {most}" for name, (most, _) in self.sizes.items()]
            if self.requires:
                lines.append(f"  require: [{', '.join(map(str, self.requires))}]")
        lines += ["", "inputs:"]
        by_place = {place: name for name, (_, places) in self.sizes.items() for place in places}
        for name, value in self.tracer_root_arguments():
            dims = [by_place.get((name, axis), str(extent)) for axis, extent in enumerate(value.tensor.shape)]
            shape = "[" + ", ".join(dims) + "]"
            kind = dtype_name(value.tensor.dtype)
            lines.append(f"  {name}: {shape}" if value.tensor.dtype == self.dtype else f"  {name}: {{shape: {shape}, dtype: {kind}}}")
        if definitions:
            lines += ["", "classes:"]
            for definition in definitions:
                lines.append(f"  {definition.header}:")
                definition.first = len(lines)
                lines += ["    " + line for line in definition.text] + [""]
                definition.last = len(lines)
            lines.pop()
        self.definitions = definitions
        children = self.children("", self.model)
        threaded = children and self.is_plain_list(self.model)  # which threads its input through by itself
        if children:
            lines += ["", "modules:"] + ["  " + line for line in (self.container("", self.model) if threaded
                                                                  else mapped(children))]
        tensors = self.tensors("", self.model)
        if tensors:
            lines += [""] + tensors
        lines += self.ties() + self.frozen()
        if self.always:
            lines += ["", "eval: [" + ", ".join('"*"' if path == "*" else path for path in self.always) + "]"]
        if not threaded:
            lines += ["", "forward: |"] + ["  " + line for line in rolled(body, self.model)]
        return "\n".join(lines) + "\n"

    def tracer_root_arguments(self):
        arguments = self.body(self.tracer.root).arguments
        for name, value in arguments:
            if value.kind != "input":
                call = value.call
                raise error(f"'{name}' is read outside of '{call.scope.path if call else ''}', which made it and does not return it",
                            call, "return it, or keep it as a buffer")
        return arguments

    def ties(self):
        first, lines = {}, []
        for path, parameter in named_tensors(self.model, "parameter"):
            if id(parameter) in first:
                lines.append(f"  {quote(path) if '.' not in path else path}: {first[id(parameter)]}")
            else:
                first[id(parameter)] = path
        return ["", "tie:"] + lines if lines else []

    def frozen(self):
        """Patterns of the parameters that are not trained."""
        paths = []

        def walk(path, module):
            parameters = list(module.parameters())
            if parameters and all(not parameter.requires_grad for parameter in parameters):
                paths.append(path or '"*"')
                return
            for name, parameter in module._parameters.items():
                if parameter is not None and not parameter.requires_grad:
                    paths.append(f"{path}.{name}" if path else name)
            for name, child in module._modules.items():
                if child is not None:
                    walk(f"{path}.{name}" if path else name, child)
        walk("", self.model)
        return ["", f"freeze: [{', '.join(paths)}]"] if paths else []


def literal_or_none(item):
    if item is error:
        return None
    if isinstance(item, (bool, int, float, str)) or item is None:
        return literal(item)
    if isinstance(item, (tuple, list)) and item and all(part == item[0] for part in item) and isinstance(item[0], int):
        return literal(item[0])
    return None


INDEXED = re.compile(r"(self(?:\.\w+)*)\[(\d+)\]")


def is_list(module, path):
    """Whether `self.PATH` of a module is a list of modules, which can be sliced and gone through."""
    names = path.split(".")[1:]
    for name in names:
        module = module._modules.get(name) if isinstance(module, nn.Module) else None
    return bool(names) and isinstance(module, (nn.ModuleList, nn.Sequential))


def rolled(lines, module):
    """The same statements with a `for` over what stands there once for each child of a list."""
    out, i = [], 0
    while i < len(lines):
        best = None
        for length in range(1, 9):
            found = repeated(lines, i, length, module)
            if found is not None and (best is None or found[1] > best[1]):
                best = found
        if best is None:
            out.append(lines[i])
            i += 1
            continue
        length, count, container, start, variable = best
        whole = start == 0 and not any(f"{container}[" in line for line in lines[:i] + lines[i + length * count:])
        where = container if whole else f"{container}[{start}:{start + count}]"
        out.append(f"for {variable} in {where}:")
        out += ["    " + line.replace(f"{container}[{start}]", variable) for line in lines[i:i + length]]
        i += length * count
    return out


def repeated(lines, i, length, module):
    """(length, count, container, first index, name of the loop's variable) of a loop that begins at line i; None."""
    first = lines[i:i + length]
    if len(first) < length:
        return None
    for container, index in dict.fromkeys(INDEXED.findall("\n".join(first))):
        start, count = int(index), 1
        while True:
            block = lines[i + count * length:i + (count + 1) * length]
            wanted = [line.replace(f"{container}[{start}]", f"{container}[{start + count}]") for line in first]
            if len(block) < length or block != wanted:
                break
            count += 1
        if count > 1 and is_list(module, container) and not any(re.search(re.escape(container) + r"\[(?!" + index + r"\])", line) for line in first):
            last = container.rpartition(".")[2]
            variable = last[:-1] if last.endswith("s") and len(last) > 2 else "item"
            if not any(re.search(rf"\b{variable}\b", line) for line in first):
                return length, count, container, start, variable
    return None
