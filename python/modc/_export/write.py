"""From a traced model to the text of a spec, and the tensors that go beside it.

Bottom up: the bodies of equal classes are compared, and where they differ in numbers alone, these are the arguments of one
class (classes.py); where some have what others lack, it has a condition (merge.py).
"""
import re

import torch
from torch import nn

from modc._errors import ExportError
from modc._export.body import INLINE, NAME, Body, error, reference
from modc._export.classes import Definition, merged, size_of
from modc._export.constructors import class_name, constructor, literal, said
from modc._export.merge import HOLE
from modc._export.modes import both, signature
from modc._export.trace import named_tensors, tensors_of
from modc._spec import SLOT, listed, mapped, quote

OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other", "axes": "dims",
               "indices": "indices_or_sections", "sections": "indices_or_sections"}


def dtype_name(dtype):
    return str(dtype).replace("torch.", "")


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
        self.counted, self.looped = set(), set()  # paths of lists: written as `N x`, and gone through, even where N is 1
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

    def typed(self, module, text):
        """The call that makes a module of torch.nn, with the type of its parameters where that is not the spec's."""
        kinds = {parameter.dtype for parameter in module.parameters()} - {self.dtype}
        if text is None or len(kinds) != 1 or any(parameter.dtype == self.dtype for parameter in module.parameters()):
            return text
        return f"{text[:-1]}{'' if text.endswith('()') else ', '}dtype={kinds.pop()})"

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
            left = self.left_at(scope.module)
            if left is not None:
                left.way(scope.calls[0]).names = [name for name, _ in found.arguments]
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
            return self.typed(module, constructor(module, self.also.get(path, ())))
        if type(module) in (nn.Sequential, nn.ModuleList, nn.ModuleDict) or self.is_plain_list(module):
            return self.container(path, module)
        if path in self.instances:
            return self.instances[path][bool(self.also)]
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
                lines = listed([text for _, text in items], path in self.counted)
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
            children += [(way.slot, way.text(self.dtype)) for way in left.ways]
        if children:
            lines.append("modules:")
            lines += ["  " + line for line in mapped(children)]
        lines += self.tensors(path, module)
        found = self.forward_of(path, module)
        if found is not None:
            arguments, body = found
            lines.append(f"forward({', '.join(arguments)}): |")
            prefix = path + "."
            lists = {reference(other[len(prefix):]) for other in self.looped if other.startswith(prefix)}
            lines += ["  " + line for line in rolled(body, module, lists)]
        return lines

    def left_at(self, module):
        return self.tracer.left.get(self.tracer.paths[id(module)])

    def forward_of(self, path, module):
        """(arguments, statements) of a module's forward, of both modes; None: it is not called."""
        if self.left_at(module) is not None:
            return self.forward_of_left(path, module)
        texts = [self.text_of(scope) for scope in self.scopes_of(module)]
        self.check_same(path, texts)
        other = self.training.forward_of(path, module) if self.training is not None else None
        if not texts or other is None:
            return texts[0] if texts else other
        arguments = signature(texts[0][0], other[0])
        if arguments is None:
            raise ExportError(f"'{path}' takes {', '.join(texts[0][0])} in evaluation and {', '.join(other[0])} in training",
                              None, path, "export one mode: training=False")
        return arguments, both(texts[0][1], other[1])

    @staticmethod
    def check_same(path, texts):
        for text in texts[1:]:
            if text != texts[0]:
                raise ExportError(f"'{path}' is called in two ways that differ:\n    " + "\n    ".join(
                    a if a == b else f"{a}\n    {b}" for a, b in zip(texts[0][1], text[1])), None, path)

    def forward_of_left(self, path, module):
        """The same of a module that is left as an Extern for each way in which it is called, in either mode."""
        left, texts = self.left_at(module), {}
        for whole in filter(None, (self, self.training)):
            for scope in whole.scopes_of(module):
                texts.setdefault(left.number(scope.calls[0]), []).append(whole.text_of(scope))
        for same in texts.values():
            self.check_same(path, same)
        return left.forward({number: same[0][1][0] for number, same in texts.items()}) if texts else None

    def scopes_of(self, module):
        """The calls of a module, by whichever of its paths."""
        return self.scopes.get(self.tracer.paths[id(module)], [])

    def is_called(self, path, module):
        return path in self.called or self.tracer.paths[id(module)] in self.called \
            or self.training is not None and self.training.is_called(path, module)

    def heights(self):
        """Paths of modules that are classes of the spec: how many of them are in each other below."""
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

    def levels(self):
        """Lists of (path, module): instances of one class of Python together, where these do not hold each other, and behind all
        that they hold."""
        height = self.heights()
        modules = {path: self.model.get_submodule(path) for path in height}
        inside = {path: [other for other in height if other.startswith(path + ".")] for path in height}
        reach = {}  # by class: those that its instances hold, also by others
        for path, others in inside.items():
            reach.setdefault(type(modules[path]), set()).update(type(modules[other]) for other in others)
        for _ in reach:
            reach = {kind: held.union(*(reach[other] for other in held)) for kind, held in reach.items()}
        keys = {path: (type(module), height[path] if type(module) in reach[type(module)] else 0)
                for path, module in modules.items()}
        level, changed = dict.fromkeys(keys.values(), 0), True
        while changed:
            changed = False
            for path, others in inside.items():
                least = max((level[keys[other]] + 1 for other in others), default=0)
                if level[keys[path]] < least:
                    level[keys[path]], changed = least, True
        found = {}
        for path, key in sorted(keys.items(), key=lambda item: level[item[1]]):  # of one level: in the order of the model
            if self.is_called(path, modules[path]) or self.holds(modules[path]):
                found.setdefault(key, []).append((path, modules[path]))
        return list(found.values())

    def classes(self):
        """The definitions, in the order in which they build on each other; self.instances is filled."""
        for whole in filter(None, (self, self.training)):
            whole.body(whole.tracer.root)  # what modules need of each other is known before their texts are written
        made, names = [], {}  # names: by class of the spec, those of its arguments, and their defaults
        for members in self.levels():
            for group in self.grouped(members):
                self.define(group, names)
                made.append(group)
        return made

    def grouped(self, members):
        """The Definitions of instances of one class of Python: those whose texts differ by numbers alone are one. Where there are
        fewer classes then, arguments that only some instances give are said in all, lists of different lengths are counted, and
        classes that differ by more have a condition."""
        plain = self.by_text(members)
        if len(plain) == 1:
            return plain
        below, lengths = {}, {}  # path below an instance: arguments of the module there; lengths of the list
        for _, module in members:
            for inner, child in module.named_modules():
                if inner and self.is_leaf(child):
                    below.setdefault(inner, set()).update(said(child))
                elif inner and isinstance(child, (nn.Sequential, nn.ModuleList)):
                    lengths.setdefault(inner, set()).add(len(child))
        self.also = {f"{path}.{inner}": arguments for path, _ in members for inner, arguments in below.items()}
        full = self.by_text(members)
        lengths = {inner: found for inner, found in lengths.items() if len(found) > 1}
        self.looped = {f"{path}.{inner}" for path, _ in members for inner in lengths}
        self.counted = {f"{path}.{inner}" for path, _ in members for inner, found in lengths.items() if 0 not in found}
        counted = self.by_text(members) if lengths else full
        self.also, self.counted, self.looped = {}, set(), set()
        choices = [plain, full, counted, merged(full), merged(counted)]
        return min(choices, key=size_of)

    def by_text(self, members):
        groups = {}
        for path, module in members:
            text = "\n".join(self.class_text(path, module))
            key = SLOT.sub(HOLE, text)
            groups.setdefault(key, Definition(type(module), key)).add(path, module, SLOT.findall(text))
        return list(groups.values())

    def define(self, group, names):
        """Gives a class its name, arguments and text, and its instances their constructors."""
        base = re.sub(r"\W", "", class_name(group.modules[0][1])) or "Module"
        if base in self.catalogue.layers or base in ("ModuleList",):
            base += "_"
        name, i = base, 2
        while name in names:
            name, i = f"{base}{i}", i + 1
        self.instances.update(group.settle(name, names))

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


INDEXED = re.compile(r"(self(?:\.\w+)*)\[(\d+)\]")


def child_at(module, path):
    """What `self.PATH` of a module is; None: no module."""
    for name in path.split(".")[1:]:
        module = module._modules.get(name) if isinstance(module, nn.Module) else None
    return module


def is_list(module, path):
    """Whether `self.PATH` of a module is a list of modules, which can be sliced and gone through."""
    return path != "self" and isinstance(child_at(module, path), (nn.ModuleList, nn.Sequential))


def rolled(lines, module, looped=()):
    """The same statements with a `for` over what stands there once for each child of a list; of those in `looped`, also once for
    one child."""
    out, i = [], 0
    while i < len(lines):
        best = None
        for length in range(1, 9):
            found = repeated(lines, i, length, module, looped)
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


def repeated(lines, i, length, module, looped):
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
        alone = count == length == 1 and index == "0" and container in looped and len(child_at(module, container)) == 1
        others = re.compile(re.escape(container) + r"\[(?!" + index + r"\])")
        if (count > 1 or alone) and is_list(module, container) and not any(map(others.search, first)):
            last = container.rpartition(".")[2]
            variable = last[:-1] if last.endswith("s") and len(last) > 2 else "item"
            if not any(re.search(rf"\b{variable}\b", line) for line in first):
                return length, count, container, start, variable
    return None
