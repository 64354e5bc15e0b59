"""Runs a modc spec in PyTorch: builds the torch.nn.Module that the spec describes and calls it.

    spec = spec_torch.Spec("specs/cartpole/policy.yaml")
    root = spec.build()                      # parameters drawn as PyTorch draws them
    root.load_state_dict(safetensors_io.load("specs/cartpole/weights.safetensors"))
    outputs = spec.run(root, {"observation": x}, hooks=[("trunk.0", 2.0)])

The statements of a spec are Python, so Python runs them; what is written here is what names mean (design 2.2) and how
modules are written (2.1). What the oracle does not know it refuses, rather than to run something else.
"""
import __future__
import ast
import builtins
import collections
import contextlib
import copy
import fnmatch
import functools
import inspect
import math
import pathlib
import re
import textwrap
import types
import warnings
from unittest import mock

import torch
import yaml
from torch import nn
from torch.ao import quantization
from torch.ao.nn import qat

import generation
import integers
import returns
import safetensors_io
import vision

DTYPES = {"float64", "float32", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "int16", "int8",
          "uint8", "bool", "cfloat", "cdouble", "float", "double", "half", "long", "int", "short"}
# Keys that change how a model is emitted, never what it computes.
NO_EFFECT = {"modc", "device", "rollout", "hooks", "pack", "state_dict", "winograd", "threads", "backward", "update",
             "checkpoint"}
HALVES = (torch.float16, torch.bfloat16)
# What `storage` rounds of a product: the parameter that stands on its right, here as which argument.
PRODUCTS = [(nn.functional, "linear", 1), (nn.functional, "bilinear", 2), (torch.Tensor, "__matmul__", 1)]
PRODUCTS += [(holder, name, at) for holder in (torch, torch.Tensor)
             for name, at in (("matmul", 1), ("mm", 1), ("mv", 1), ("dot", 1), ("vdot", 1), ("addmm", 2), ("addmv", 2))]
RECURRENT = ("rnn_tanh", "rnn_relu", "lstm", "gru")
PRODUCTS += [(torch._VF, f"{kind}_cell", at) for kind in RECURRENT for at in (2, 3)]
# Mappings of names, which an extending spec joins name by name; any other key it replaces.
JOINED = {"constants", "sizes", "inputs", "functions", "classes", "parameters", "buffers", "state", "entries", "generation"}
KNOWN = NO_EFFECT | {"model", "dtype", "storage", "activations", "ranges", "autocast", "denormals", "constants", "sizes", "inputs", "functions", "classes", "modules", "parameters",
                     "buffers", "state", "forward", "methods", "entries", "tie", "freeze", "eval", "training",
                     "generation", "tokenizer"}

# What the text of a spec runs in: names are looked up in the spec's own scopes. (torch imports what it needs late, and
# asks the running frame how.)
BUILTINS = {"__builtins__": {"__import__": builtins.__import__}}

# What torch's classes of attention compute in inference alone differs in rows that no key is left for (docs/departures.md).
if hasattr(torch.backends, "mha") and hasattr(torch.backends.mha, "set_fastpath_enabled"):
    torch.backends.mha.set_fastpath_enabled(False)

# They ask for quant_min in place of reduce_range, and say which observers have seen nothing.
warnings.filterwarnings("ignore", message="(Please use quant_min|must run observer)")

# A bare `tanh` means torch.nn.functional's, which says that it is deprecated.
warnings.filterwarnings("ignore", message="nn.functional.(tanh|sigmoid) is deprecated")


# Names that stand by themselves, and Python's own.
SPACES = {"functools": functools, "partial": functools.partial, "collections": collections, "copy": copy, "deepcopy": copy.deepcopy,
          "F": nn.functional, "torch": torch, "nn": nn, "math": math, "Tensor": torch.Tensor,
          "OrderedDict": collections.OrderedDict, "_assert": torch._assert,
          "torchvision": vision.torchvision, "ops": vision.ops, "requantize": integers.requantize, "qat": qat}
PYTHON = ("float", "int", "bool", "len", "range", "enumerate", "zip", "reversed", "tuple", "list", "dict", "str", "divmod",
          "RuntimeError", "ValueError", "NotImplementedError", "AssertionError", "TypeError")


class Uncertain(Exception):
    """Another order of additions may round an activation to the next integer."""


def grouped(groups, parameters):
    """Parameter groups of torch.optim, by the patterns of `groups:`; what none names is the last one."""
    rest, found = dict(parameters), []
    for group in groups:
        patterns = [group["params"]] if isinstance(group["params"], str) else group["params"]
        names = [name for name in parameters if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
        found.append({"params": [rest.pop(name) for name in names],
                      **{key: ast.literal_eval(value) if isinstance(value, str) else value for key, value in group.items() if key != "params"}})
    return [*found, {"params": list(rest.values())}]


class SpecError(Exception):
    pass


# ---- text ---------------------------------------------------------------------------------------------------------

class FlowList(list):
    """A flow sequence; `text` is its source, which is also a Python expression."""
    text = ""


class Word(str):
    """A scalar that YAML's quotes stand around: as a constant it is a string where it is one word."""


def top_level(text):
    """(index, character) of what stands outside of brackets and quotes."""
    depth, quote = 0, None
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote and text[i - 1] != "\\" else quote
        elif c in "'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 0:
            yield i, c


def split(text, separator=","):
    pieces, start = [], 0
    for i, c in top_level(text):
        if c == separator:
            pieces.append(text[start:i])
            start = i + 1
    return [piece.strip() for piece in pieces + [text[start:]] if piece.strip()]


def outside(text, word):
    """Where ` word ` stands outside of brackets and quotes."""
    free = {i for i, _ in top_level(text)}
    return [match.start() for match in re.finditer(rf"\s{word}\s", text) if match.start() in free]


def read_flow(text):
    """A flow collection from its source: YAML splits at every comma, and `Linear(4, 64)` has one inside."""
    text = " ".join(re.sub(r"(^|\s)#.*", "", line).strip() for line in text.strip().splitlines()).strip()
    if text.startswith("["):
        found = FlowList(read_flow(piece) for piece in split(text[1:-1]))
        found.text = text
        return found
    if text.startswith("{"):
        pairs = {}
        for piece in split(text[1:-1]):
            colons = [i for i, c in top_level(piece) if c == ":" and piece[i + 1:i + 2] in ("", " ")]
            if not colons:
                raise SpecError(f"no value in {{{piece}}}")
            pairs[read_flow(piece[:colons[0]])] = read_flow(piece[colons[0] + 1:])
        return pairs
    return yaml.safe_load(text) if text[:1] in ("'", '"') and text.endswith(text[0]) else text


def read_yaml(text):
    """Mappings, lists and strings: scalars stay the text that they are, numbers too."""
    def convert(node):
        if getattr(node, "flow_style", False) and not isinstance(node, yaml.ScalarNode):
            return read_flow(text[node.start_mark.index:node.end_mark.index])
        if isinstance(node, yaml.SequenceNode):
            return [convert(item) for item in node.value]
        if isinstance(node, yaml.MappingNode):
            return {key.value: convert(value) for key, value in node.value}
        return Word(node.value) if node.style in ("'", '"') else node.value

    text = text.lstrip("\ufeff")
    return convert(yaml.compose(text, Loader=yaml.SafeLoader))


def merged(base, own):
    """The names of both: `own` overrules at the place of the base's, what is new stands behind."""
    places = {signature(key)[0]: key for key in base}
    over = {places[name]: (key, value) for key, value in own.items() if (name := signature(key)[0]) in places}
    both = dict(over.get(key, (key, value)) for key, value in base.items())
    return {**both, **{key: value for key, value in own.items() if signature(key)[0] not in places}}


def read_extended(path):
    """A spec over what it extends, and its (set or add, path, module) in the order in which they apply."""
    own = read_yaml(pathlib.Path(path).read_text(encoding="utf-8"))
    base, changes = {}, []
    if "extends" in own:
        base, changes = read_extended(pathlib.Path(path).parent / own.pop("extends"))
    for kind in [key for key in own if key in ("set", "add")]:
        changes = changes + [(kind, place, module) for place, module in own.pop(kind).items()]
    for key in JOINED & base.keys() & own.keys():
        own[key] = merged(base[key], own[key])
    return merged(base, own), changes


def expression_text(value):
    if isinstance(value, FlowList):
        return value.text
    return "[" + ", ".join(map(expression_text, value)) + "]" if isinstance(value, list) else value


def statements_of(value):
    """A list of statements, a block text, or one statement."""
    if isinstance(value, list):
        return [expression_text(item) for item in value]
    return [value]


def parsed(text):
    """The statements of a text. Its first line may stand further to the right than a list item of its own does."""
    return ast.parse(textwrap.dedent(text).strip())


def arguments_of(arguments):
    """[(argument, text of the default or None)]; `*args` and `**kwargs` keep their stars."""
    places = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(places) - len(arguments.defaults)) + list(arguments.defaults)
    found = list(zip([place.arg for place in places], defaults))
    found += [("*" + arguments.vararg.arg, None)] if arguments.vararg else []
    found += [(argument.arg, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    found += [("**" + arguments.kwarg.arg, None)] if arguments.kwarg else []
    return [(name, ast.unparse(default) if default is not None else None) for name, default in found if name != "self"]


def signature(key):
    """`rotate(x, cos=None)` as the name and [(argument, text of the default or None)]."""
    name, bracket, rest = key.partition("(")
    if not bracket:
        return key.strip(), None
    return name.strip(), arguments_of(ast.parse(f"def f({rest}: pass").body[0].args)


def functions_of(section):
    """{name: (arguments, statements)} of a mapping of signatures, or of a text of Python's functions."""
    if not isinstance(section, str):
        return {name: (arguments or [], statements_of(value))
                for (name, arguments), value in ((signature(key), value) for key, value in section.items())}
    return {node.name: (arguments_of(node.args), ["\n".join(map(ast.unparse, node.body))])
            for node in parsed(section).body if isinstance(node, ast.FunctionDef)}


def body_of(value):
    """(arguments, statements) of a `forward`; the arguments are None where its text has no `def`."""
    if isinstance(value, str) and re.match(r"\s*(#.*\s*|@.*\s*)*def\s", value):
        return list(functions_of(value).values())[0]
    return None, statements_of(value)


def bind(name, arguments, args, kwargs, default):
    """Python's rules for a call. `default` evaluates the text of a default value."""
    places = []
    for argument, _ in arguments:
        if argument.startswith("*"):
            break
        places.append(argument)
    values, rest = dict(zip(places, args)), args[len(places):]
    known = {argument.lstrip("*"): argument for argument, _ in arguments}
    if rest and not any(stars == "*" + argument for argument, stars in known.items()):
        raise TypeError(f"{name} takes {len(places)} arguments, {len(args)} were given")
    options = {}
    for key, value in kwargs.items():
        if key in values or known.get(key) != key:
            if key in values or not any(stars.startswith("**") for stars in known.values()):
                raise TypeError(f"{name}: argument '{key}' is " + ("given twice" if key in values else "not known"))
            options[key] = value
        else:
            values[key] = value
    for argument, stars in known.items():
        if stars.startswith("*"):
            values[argument] = options if stars.startswith("**") else tuple(rest)
    for argument, text in arguments:
        if argument.lstrip("*") not in values:
            if text is None:
                raise TypeError(f"{name} needs '{argument}'")
            values[argument] = default(text)
    return values


# ---- what names mean ----------------------------------------------------------------------------------------------

def has_tensor(value):
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, torch.Tensor) or (isinstance(value, (tuple, list)) and any(map(has_tensor, value)))


def for_numbers_too(name, function):
    """torch's `max`, `sqrt`, ... want tensors; of plain numbers the names mean what Python means by them."""
    plain = getattr(builtins, name, None) or getattr(math, name, None)
    if not callable(plain):
        return function
    # torch sums no lists, so `sum` of one is Python's, of tensors too.
    lists = name == "sum"
    return lambda *args, **kwargs: (
        function if has_tensor([args, kwargs]) and not (lists and isinstance(args[0], (tuple, list))) else plain
    )(*args, **kwargs)


def torch_name(name):
    """A bare name that nothing in the spec defines; KeyError if PyTorch does not either."""
    if name in ("inf", "nan", "pi"):
        return getattr(math, name)
    if name in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[name]
    if name in SPACES:
        return SPACES[name]
    if name.startswith("dtype "):
        return getattr(torch, name[len("dtype "):])
    if name in ("getattr", "hasattr", "isinstance"):
        return lambda value, *args: getattr(builtins, name)(value, *args)
    if name in PYTHON:
        return getattr(builtins, name)
    for module in (nn.functional, torch, returns):
        found = getattr(module, name, None)
        if isinstance(found, torch.dtype) or (callable(found) and not isinstance(found, type)):
            return for_numbers_too(name, found)
    raise KeyError(name)


class DtypeNames(ast.NodeTransformer):
    """`float` as a value is a dtype, `float('-inf')` is Python's function, and of isinstance it is the type."""

    def visit_Call(self, node):
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        if not (isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
            node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def visit_Name(self, node):
        if node.id in ("float", "int", "bool"):
            node.id = "dtype " + node.id  # cannot collide: no name has a space
        return node


RETURN = "return "  # a name with a space, too


class Returned(Exception):
    """What a `return` gives, from wherever it stands."""


class Statements(DtypeNames):
    """`return` where there is no function: a call that raises. Annotations mean nothing."""

    def __init__(self):
        self.returns = []

    def visit_Return(self, node):
        self.returns.append(node.value)
        value = self.visit(node.value) if node.value is not None else ast.Constant(None)
        call = ast.Call(ast.Name(RETURN, ast.Load()), [value, ast.Constant(len(self.returns) - 1)], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node):
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))


class ClassNames(DtypeNames):
    """What is called may be a class, whatever else has its name."""

    def visit_Call(self, node):
        super().visit_Call(node)
        if isinstance(node.func, ast.Name):
            node.func.id = "new " + node.func.id
        return node


COMPILED = {}


def compiled(text, mode):
    """The code of an expression, in which (`new`) constructors are called; of statements (`exec`) with the expressions that
    they return."""
    if (text, mode) not in COMPILED:
        names = {"new": ClassNames, "eval": DtypeNames, "exec": Statements}[mode]()
        tree = parsed(text) if mode == "exec" else ast.parse(text.strip(), mode="eval")
        tree = ast.fix_missing_locations(names.visit(tree))
        code = compile(tree, text, "exec" if mode == "exec" else "eval")
        COMPILED[text, mode] = (code, names.returns) if mode == "exec" else code
    return COMPILED[text, mode]


class Globals(dict):
    """The names of statements as what a comprehension in them looks into, which is a function to Python."""

    def __init__(self, names):
        super().__init__(BUILTINS)
        self.names = names

    def __getitem__(self, name):
        return super().__getitem__(name) if name == "__builtins__" else self.names[name]


class ConstructorNames:
    """Names where a constructor, a shape or a constant stands: arguments, constants, sizes if allowed, classes. `path`
    is that of the module whose constructor it is."""

    def __init__(self, spec, args, sizes=None, path=""):
        self.spec, self.args, self.sizes, self.path = spec, args, sizes or {}, path

    def __getitem__(self, name):
        if name.startswith("new "):
            name = name[len("new "):]
            found = self.class_of(name)
            if found is not None:
                return found
        for table in (self.args, self.spec.constants, self.sizes):
            if name in table:
                return table[name]
        if name == "nn":
            return Layers()
        if self.class_of(name) is not None:
            return self.class_of(name)
        if name in getattr(self.spec, "functions", ()):  # constants are read before them
            return lambda *args, **kwargs: self.spec.call_function(name, args, kwargs)
        return self.spec.load_file if name == "load_file" else torch_name(name)

    def class_of(self, name):
        if name in getattr(self.spec, "python", ()):
            return self.spec.python[name]
        if name in self.spec.classes:
            return lambda *args, **kwargs: SpecModule(self.spec, self.spec.classes[name], args, kwargs, self.path)
        if name == "MultiStep":
            return MultiStep
        return quantization_name(name) or layer_class(name) or getattr(nn.utils.parametrizations, name, None)

    def evaluate(self, value):
        return eval(compiled(expression_text(value), "new"), Globals(self), self)

    def with_names(self, target, value):
        """These names and those of a comprehension's target (a name, or a tuple of such)."""
        found = {}
        assign_names(target, value, found)
        return ConstructorNames(self.spec, {**self.args, **found}, self.sizes, self.path)

    def at(self, name):
        """The same for a child."""
        return ConstructorNames(self.spec, self.args, self.sizes, f"{self.path}.{name}".strip("."))


class InitNames(ConstructorNames):
    """Names in `init:`: functions of torch.nn.init, bound to their tensor."""

    def __init__(self, outer, tensor):
        super().__init__(outer.spec, outer.args, outer.sizes)
        self.tensor = tensor

    def evaluate(self, value):
        return super().evaluate(re.sub(r"^(torch\.)?nn\.init\.", "", value))

    def __getitem__(self, name):
        name = name.removeprefix("new ")
        function = getattr(nn.init, name if name.endswith("_") else name + "_", None)
        if function is None or name in self.args or name in self.spec.constants:
            return super().__getitem__(name)
        return lambda *args, **kwargs: function(self.tensor, *args, **kwargs)


def names_in(code):
    """All that the code of a text looks up."""
    found = set(code.co_names)
    for part in code.co_consts:
        found |= names_in(part) if isinstance(part, types.CodeType) else set()
    return found


def python_name(spec, name):
    """A global of classes that stand in a spec as Python has them; KeyError: there is none."""
    if name in spec.constants:
        return spec.constants[name]
    if name in spec.functions:
        return lambda *args, **kwargs: spec.call_function(name, args, kwargs)
    if name == "warnings":
        return types.SimpleNamespace(warn=lambda *args, **kwargs: None)
    if name == "print":
        return lambda *args, **kwargs: None
    if hasattr(builtins, name):
        return getattr(builtins, name)
    return getattr(nn.init, name) if name.endswith("_") and hasattr(nn.init, name) else torch_name(name)


class StatementNames:
    """Names in a statement: design 2.2's order. `module` is None inside a function of the spec."""

    def __init__(self, spec, module, local):
        self.spec, self.module, self.local = spec, module, local

    def __getitem__(self, name):
        if name in self.local:
            return self.local[name]
        if name == "self" and self.module is not None:
            return SelfProxy(self.module)
        tables = self.module.tables() if self.module is not None else ()
        for table in (*tables, self.spec.constants, self.spec.size_values, self.spec.rows.names() if self.spec.rows else {}):
            if name in table:
                return table[name]
        if name in self.spec.functions:
            return lambda *args, **kwargs: self.spec.call_function(name, args, kwargs)
        if self.spec.rows and name in ("remember", "cross_attention", "carried", "carry"):
            return functools.partial(getattr(self.spec.rows, name), self.module)
        return self.spec.load_file if name == "load_file" else torch_name(name)

    def __setitem__(self, name, value):
        self.local[name] = value

    def __delitem__(self, name):
        del self.local[name]

    def run(self, statements):
        """The value of the `return` (None without one), of which the spec remembers the expression."""
        def give(value, which):
            raise Returned(value, which)

        self.local[RETURN] = give
        for text in statements:
            code, returns = compiled(text, "exec")
            try:
                exec(code, Globals(self), self)
            except Returned as found:
                value, which = found.args
                self.spec.returned = returns[which]
                return value
        return None

    def evaluate(self, text):
        return eval(compiled(text, "eval"), BUILTINS, self)


def assign_names(target, value, found):
    if isinstance(target, ast.Name):
        found[target.id] = value
    else:
        for part, element in zip(target.elts, value):
            assign_names(part, element, found)


def with_tensor_arguments(cls):
    """Where PyTorch's constructor takes a tensor, a spec writes a list: class weights of losses, samples."""
    def build(*args, **kwargs):
        if cls.__module__ == "torch.nn.modules.loss" or cls.__name__.startswith("Fractional"):
            args = [torch.tensor(a, dtype=torch.get_default_dtype()) if isinstance(a, list) else a for a in args]
            kwargs = {key: torch.tensor(a, dtype=torch.get_default_dtype()) if isinstance(a, list) else a
                      for key, a in kwargs.items()}
        if Constructed.dtype and "dtype" in inspect.signature(cls).parameters:
            kwargs.setdefault("dtype", Constructed.dtype)
        return cls(*args, **kwargs)
    return build


# ---- modules ------------------------------------------------------------------------------------------------------

class MultiStep(nn.Module):
    """torchrl's MultiStep as far as a state_dict shows it: the buffer, which no forward reads."""

    def __init__(self, gamma, n_steps):
        super().__init__()
        if not 0 < gamma <= 1 or n_steps < 0:
            raise SpecError("MultiStep needs 0 < gamma <= 1 and n_steps >= 0")
        gammas = torch.tensor([gamma ** i for i in range(n_steps + 1)], dtype=torch.float32)
        self.register_buffer("gammas", gammas.reshape(1, 1, n_steps + 1))

    def forward(self, *args):
        raise SpecError("MultiStep is not called by statements; see `rollout`")


def with_lengths(cls):
    """A recurrent class whose forward takes the lengths of rows, which PyTorch packs first."""
    def forward(self, input, hx=None, lengths=None):
        if lengths is None:
            return cls.forward(self, input, hx)
        steps = input.shape[1 if self.batch_first else 0]
        if lengths.shape != (input.shape[0 if self.batch_first else 1],):  # of fewer rows PyTorch drops the others
            raise RuntimeError("lengths has one for each row")
        packed = nn.utils.rnn.pack_padded_sequence(input, lengths, self.batch_first, enforce_sorted=False)
        y, states = cls.forward(self, packed, hx)
        return nn.utils.rnn.pad_packed_sequence(y, self.batch_first, total_length=steps)[0], states
    return type(cls.__name__, (cls,), {"forward": forward})


WITH_LENGTHS = {cls.__name__: with_lengths(cls) for cls in (nn.RNN, nn.LSTM, nn.GRU)}


def quantization_name(name):
    """What torch.ao.quantization has under the name: classes, partials of them, records; None: nothing."""
    spaces = (quantization.observer, quantization.fake_quantize)
    known = any(name in getattr(space, "__all__", dir(space)) for space in spaces) or name == "QConfig" or "qat_qconfig" in name
    return getattr(quantization, name, None) if known else None


def layer_class(name):
    """A class of torch.nn with what a spec's constructors and calls may have; None: there is none."""
    found = WITH_LENGTHS.get(name) or getattr(nn, name, None)
    return with_tensor_arguments(found) if isinstance(found, type) and issubclass(found, nn.Module) else None


class Layers:
    """`nn` in a constructor."""

    def __getattr__(self, name):
        return layer_class(name) or getattr(nn, name)


class List(nn.Sequential):
    """A list of modules: threads its first argument through, all further arguments go to every child."""

    def _get_name(self):
        return "Sequential"

    def forward(self, input, *args, **kwargs):
        for child in self:
            input = child(input, *args, **kwargs)
        return input


class Dict(nn.Module):
    """A mapping of modules; unlike nn.ModuleDict it takes any key that add_module takes."""

    def _get_name(self):
        return "ModuleDict"

    def __getitem__(self, name):
        return self._modules[name] if isinstance(name, str) else list(self._modules.values())[name]

    def __iter__(self):
        return iter(self._modules)

    def __len__(self):
        return len(self._modules)

    def __contains__(self, name):
        return name in self._modules

    def items(self):
        return self._modules.items()

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()


class SelfProxy:
    """`self` in a statement."""

    def __init__(self, module):
        object.__setattr__(self, "module", module)

    def __getattr__(self, name):
        for table in self.module.tables():
            if name in table:
                return table[name]
        if name == "training":
            return self.module.training
        if name in self.module.modc_definition.methods:
            return lambda *args, **kwargs: self.module.call_method(name, args, kwargs)
        if name in ("children", "named_children"):
            return getattr(self.module, name)
        if name in ("items", "keys", "values"):
            return getattr(self.module._modules, name)
        raise AttributeError(f"self.{name}: no such module, parameter, buffer, state or argument")

    def __setattr__(self, name, value):
        self.module.write(name, value)

    def __getitem__(self, index):
        return self.module[index]

    def __iter__(self):
        return iter(self.module)

    def __call__(self, *args, **kwargs):  # a child of this name
        return self.module._modules["self"](*args, **kwargs)


class Computed:
    """The parameters of a module that parametrizations compute, by name."""

    def __init__(self, module):
        self.module = module

    def __contains__(self, name):
        return name in self.module._modules.get("parametrizations", ())

    def __getitem__(self, name):
        return getattr(self.module, name)


class SpecModule(nn.Module):
    """A class of the spec, or the spec's own top level."""

    def __init__(self, spec, definition, args=(), kwargs=None, path=""):
        super().__init__()
        self.modc_spec, self.modc_definition, self.modc_state = spec, definition, {}
        names = ConstructorNames(spec, {})
        self.modc_args = bind(definition.name, definition.arguments, args, kwargs or {}, names.evaluate)
        for name, value in definition.constants.items():
            names = ConstructorNames(spec, {**self.modc_args, "self": types.SimpleNamespace(**self.modc_args)}, path=path)
            if isinstance(value, Word) and (not value or re.fullmatch(r"[A-Za-z_]\w*", value)):
                value = repr(str(value))
            self.modc_args[name] = names.evaluate(value)
        names = ConstructorNames(spec, {**self.modc_args, "self": types.SimpleNamespace(**self.modc_args)}, path=path)
        if "modules" not in definition.sections:
            add_children(self, names)
        for section, content in definition.sections.items():  # in the order of the text, in which values are drawn
            if section == "modules":
                for name, child in self.children_of(content, names):
                    self._modules[name] = child
                add_children(self, names)
            else:
                for name, description in content.items():
                    self.add_tensor(section, name, description)

    @staticmethod
    def children_of(content, names):
        if isinstance(content, dict):
            return [(name, None if chosen(value, names) == "None" else build_module(value, names.at(name)))
                    for name, value in children_in(content)[0].items()]
        content = content if isinstance(content, list) else [content]
        return [(str(i), child) for i, child in enumerate(expand(content, names))]

    def add_tensor(self, section, name, description):
        spec, default = self.modc_spec, torch.get_default_dtype()
        names = ConstructorNames(spec, self.modc_args, None if section == "parameters" else spec.sizes)
        if not isinstance(description, dict):
            description = {"shape": description}
        unknown = set(description) - {"shape", "init", "value", "dtype", "persistent", "requires_grad"}
        if unknown:
            raise SpecError(f"{name}: unknown {sorted(unknown)}")
        dtype = spec.dtype_of(description["dtype"]) if "dtype" in description else None
        if "value" in description:
            tensor = names.evaluate(description["value"])
            tensor = tensor.to(dtype or tensor.dtype).clone() if isinstance(tensor, torch.Tensor) \
                else torch.tensor(tensor, dtype=dtype)
        else:
            tensor = torch.zeros(tuple(names.evaluate(description["shape"])), dtype=dtype or Constructed.dtype or default)
            if "init" in description:
                found = InitNames(names, tensor).evaluate(description["init"])
                if callable(found):
                    found()
        if section == "parameters":
            wanted = names.evaluate(description.get("requires_grad", "True"))
            self._parameters[name] = nn.Parameter(tensor, requires_grad=wanted)
        elif section == "buffers":
            self._buffers[name] = tensor  # register_buffer refuses what is an attribute of every module: `half`
            if not names.evaluate(description.get("persistent", "True")):
                self._non_persistent_buffers_set.add(name)
        else:
            self.modc_state[name] = tensor

    def tables(self):
        return self._modules, self._parameters, self._buffers, self.modc_state, Computed(self), self.modc_args

    def _get_name(self):
        definition = self.modc_definition
        return "Sequential" if not definition.name and definition.statements is None \
            else definition.name or self.modc_spec.content["model"]

    def extra_repr(self):
        names = ConstructorNames(self.modc_spec, self.modc_args)
        pieces = re.split(r"(\{\{|\}\}|\{[^}]*\})", self.modc_definition.extra_repr)
        for i in range(1, len(pieces), 2):
            inner, quoted, _ = pieces[i][1:-1].partition("!r")
            pieces[i] = (repr if quoted else str)(names.evaluate(inner)) if inner else pieces[i][0]
        return "".join(pieces)

    def write(self, name, value):
        """`self.NAME = value`: the name then means that tensor, as in PyTorch."""
        table = self._buffers if name in self._buffers else self.modc_state
        if name not in table:
            raise SpecError(f"self.{name} = ...: not a buffer or state")
        old = table[name]
        value = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=old.dtype)
        if value.dtype != old.dtype or value.shape != old.shape:
            raise SpecError(f"self.{name} is {old.dtype} {list(old.shape)}, not {value.dtype} {list(value.shape)}")
        table[name] = value  # gradients flow through it until the call ends

    def forward(self, *args, **kwargs):
        definition = self.modc_definition
        if definition.statements is None and not definition.threads:
            raise SpecError(f"{definition.name or 'the model'} has no forward")
        if definition.statements is None:
            return List.forward(self, *args, **kwargs)
        arguments = definition.forward_arguments
        names = StatementNames(self.modc_spec, self, {})
        names.local = bind(definition.name or "forward", arguments, args, kwargs, names.evaluate)
        return names.run(definition.statements)

    def call_method(self, name, args, kwargs):
        arguments, statements = self.modc_definition.methods[name]
        names = StatementNames(self.modc_spec, self, {})
        names.local = bind(name, arguments, args, kwargs, names.evaluate)
        return names.run(statements)

    def __iter__(self):
        return iter(self._modules.values())

    def __len__(self):
        return len(self._modules)

    def __bool__(self):
        return True

    def __getitem__(self, index):
        return list(self._modules.values())[index]

    def __getattr__(self, name):
        for table in (self.__dict__.get("modc_state", {}), self.__dict__.get("modc_args", {})):
            if name in table:
                return table[name]
        if name in self.__dict__["modc_definition"].methods:
            return lambda *args, **kwargs: self.call_method(name, args, kwargs)
        return super().__getattr__(name)


class Definition:
    """A class of the spec as its text has it; the top level of the spec is one without arguments."""

    def __init__(self, name, arguments, content, inputs=None):
        self.name, self.arguments = name, arguments or []
        self.sections = {key: content[key] for key in content
                         if key in ("modules", "parameters", "buffers", "state")}
        self.constants = content.get("constants", {}) if inputs is None else {}
        self.statements, self.forward_arguments = None, None
        self.extra_repr = content.get("extra_repr", "")
        self.methods = functions_of(content.get("methods", {}))
        for key, value in content.items():
            word, arguments = signature(key)
            if word == "forward":
                own, self.statements = body_of(value)
                self.take(arguments if arguments is not None else own, inputs)
            elif inputs is None and key not in self.sections and key not in ("extra_repr", "methods", "constants"):
                raise SpecError(f"class {name}: unknown key '{key}'")
        if "forward" in self.methods:
            own, self.statements = self.methods.pop("forward")
            self.take(own, inputs)
        modules = self.sections.get("modules")
        self.threads = isinstance(modules, list) or (isinstance(modules, dict) and children_in(modules)[1])
        if self.statements is None and not name and isinstance(modules, dict) and not self.threads:
            raise SpecError("the model has no forward")


    def take(self, arguments, inputs):
        """The arguments of forward, which the model's own may leave out: they are its inputs."""
        self.forward_arguments = arguments if arguments is not None else [(i, None) for i in inputs or ()]


def children_in(mapping):
    """The modules of a mapping, and whether `class: Sequential` says that it is called."""
    kind = re.fullmatch(r"(?:(?:torch\.)?nn\.)?(Sequential|ModuleDict)", str(mapping.get("class", "")))
    return {name: value for name, value in mapping.items() if name != "class" or not kind}, bool(kind) and kind[1] == "Sequential"


def chosen(value, names):
    """`A(4) if wide else B()` as the one of both that is meant."""
    if value == "None" or not isinstance(value, str) or not outside(value, "else") or outside(value, "for") or outside(value, "x"):
        return value
    choice = ast.parse(value.strip(), mode="eval").body
    while isinstance(choice, ast.IfExp):
        choice = choice.body if names.evaluate(ast.unparse(choice.test)) else choice.orelse
    return ast.unparse(choice)


def expand(items, names, make=None):
    """The modules, or what `make` makes, of a list: `N x Call` and `Call for NAMES in SEQUENCE` expand in place."""
    modules = []

    def build(text, own=names):
        modules.append((make or build_module)(text, own.at(len(modules))))

    for item in items:
        if not isinstance(item, str):
            build(item)
            continue
        loops = outside(item, "for")
        repeats = [i for i in outside(item, "x") if re.match(r"\sx\s+[\w.]+\s*\(", item[i:])]
        if loops:
            comprehension = ast.parse(f"[{item}]", mode="eval").body
            if len(comprehension.generators) != 1 or comprehension.generators[0].ifs:
                raise SpecError(f"{item}: one `for NAMES in SEQUENCE`")
            loop = comprehension.generators[0]
            for value in names.evaluate(ast.unparse(loop.iter)):
                build(item[:loops[0]].strip(), names.with_names(loop.target, value))
        elif repeats:
            for _ in range(names.evaluate(item[:repeats[-1]])):
                build(item[repeats[-1]:].split(None, 1)[1])
        else:
            build(item)
    return modules


def build_module(value, names):
    """A module from a call, a list or a mapping of such, or from what is set in its place."""
    if names.path in names.spec.replaced:
        value, names = names.spec.replaced[names.path], ConstructorNames(names.spec, {}, path=names.path)
    module = build_as_written(value, names)
    if module is not None and not isinstance(module, SpecModule):
        add_children(module, names)
    return module


def add_children(module, names):
    """What is added behind the module's own children."""
    for name, value in names.spec.added.get(names.path, ()):
        module.add_module(name, build_module(value, ConstructorNames(names.spec, {}, path=names.path).at(name)))


def named_items(text):
    """([(name, text)], ordered) of `a=A, b=B`, `{'a': A}`, `[('a', A)]` and `OrderedDict(...)` of such. PyTorch keeps the
    order of what is ordered, and sorts other mappings in a ParameterDict."""
    inside = re.fullmatch(r"(?:collections\.)?OrderedDict\((.*)\)", text.strip(), re.DOTALL)
    if inside:
        return named_items(inside.group(1))[0], True
    if not text.strip().startswith(("{", "[", "(")):
        return [tuple(map(str.strip, item.split("=", 1))) for item in split(text)], False
    shown = ast.parse(text.strip(), mode="eval").body
    pairs = zip(shown.keys, shown.values) if isinstance(shown, ast.Dict) else [pair.elts for pair in shown.elts]
    return [(key.value, ast.unparse(value)) for key, value in pairs], not isinstance(shown, ast.Dict)


def parameter(text, names):
    value = names.evaluate(text)
    return torch.tensor(value, dtype=torch.get_default_dtype()) if isinstance(value, list) else value


def build_container(kind, text, names):
    items = split(text)
    if kind.endswith("Dict") or text.strip().startswith(("OrderedDict(", "collections.OrderedDict(")):
        pairs, ordered = named_items(text)
        if kind == "ParameterDict":
            pairs = [(name, parameter(value, names)) for name, value in pairs]
            return nn.ParameterDict(pairs if ordered else dict(pairs))
        found = Dict() if kind == "ModuleDict" else List()
        for name, value in pairs:
            found.add_module(name, build_module(value, names.at(name)))
        return found
    if len(items) == 1 and items[0].startswith("[") and kind != "Sequential":
        items = split(items[0][1:-1])
    if kind == "ParameterList":
        return nn.ParameterList(expand(items, names, parameter))
    children = expand(items, names)
    return List(*children) if kind == "Sequential" else nn.ModuleList(children)


def is_value(item):
    """An item of a container that Python evaluates: a name, *xs, a rule with conditions or in another one."""
    if item.startswith("["):
        return any(map(is_value, split(item[1:-1])))
    return item.startswith("*") or item.isidentifier() or len(outside(item, "for")) > 1 \
        or bool(outside(item, "for") and outside(item, "if"))


def build_as_written(value, names):
    value = chosen(value, names)
    if isinstance(value, dict):
        children, threads = children_in(value)
        found = List() if threads else Dict()
        for name, child in children.items():
            found.add_module(name, build_module(child, names.at(name)))
        return found
    if isinstance(value, list):
        return List(*expand(value, names))
    container = re.fullmatch(r"(?:torch\.)?(?:nn\.)?(Sequential|(?:Module|Parameter)(?:List|Dict))\((.*)\)", value, re.DOTALL)
    values = container and any(map(is_value, split(container.group(2))))
    if container and not values:
        return build_container(*container.groups(), names)
    if outside(value, "for") or [i for i in outside(value, "x") if re.match(r"\sx\s+[\w.]+\s*\(", value[i:])]:
        return List(*expand([value], names))
    module = names.evaluate(value)
    if module is not None and not isinstance(module, nn.Module):
        raise SpecError(f"{value} is no module")
    return module


def replace_module(root, path, module):
    """set_submodule(path, module, strict=True), which older versions of torch have not."""
    try:
        root.get_submodule(path)
    except AttributeError as fault:
        raise SpecError(f"set: {fault}") from None
    if hasattr(root, "set_submodule"):
        root.set_submodule(path, module, strict=True)
        return
    parent, _, name = path.rpartition(".")
    setattr(root.get_submodule(parent), name, module)


def within(path, outer):
    return path == outer or path.startswith(outer + ".")


# ---- the spec -----------------------------------------------------------------------------------------------------

class Constructed:
    """The `dtype` of modules and tensors that say none, of a spec with a complex dtype: PyTorch has no complex default."""
    dtype = None


@contextlib.contextmanager
def default_dtype(dtype):
    old, before = torch.get_default_dtype(), Constructed.dtype
    torch.set_default_dtype(part_of(dtype))
    Constructed.dtype = dtype if dtype.is_complex else None
    try:
        yield
    finally:
        torch.set_default_dtype(old)
        Constructed.dtype = before


def part_of(dtype):
    """The type of the parts of a complex one; else itself."""
    return torch.zeros((), dtype=dtype).real.dtype if dtype.is_complex else dtype


def drawn_range(key, tensor, noise):
    """A buffer of an observer or a fake quantizer, as if it had seen something."""
    name = key.rpartition(".")[2]
    if name not in ("min_val", "max_val", "scale"):
        return tensor
    return ((0.5 + noise.abs()) * (-1 if name == "min_val" else 1)).to(tensor.dtype)


@contextlib.contextmanager
def flushing(flushes):
    """Denormal numbers are 0 for this thread."""
    torch.set_flush_denormal(flushes)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def names_path(pattern, path):
    """Whether a pattern names a parameter, or a module around it."""
    parts = path.split(".")
    return any(fnmatch.fnmatchcase(".".join(parts[:end]), pattern) for end in range(1, len(parts) + 1))


def is_parameter(tensor):
    """Or a view of one."""
    base = tensor._base if tensor._base is not None else tensor
    return isinstance(base, nn.Parameter)


class Integers:
    """`storage` as integers with scales: torchao's rounding, or that of GGUF files."""

    def __init__(self, text):
        name, _, options = text.partition("(")
        options = dict(part.strip().split("=") for part in options.rstrip(")").split(",") if part.strip())
        self.bits = {"int8": 8, "int4": 4}[name]
        self.group = int(options.get("group", 0 if self.bits == 8 else 32))
        self.scale = getattr(torch, options.get("scale", "float16" if self.group else "float32"))
        self.gguf = options.get("rounding") == "gguf"

    def __call__(self, weight):
        """Along the last dimension, whose last group may be shorter."""
        return torch.cat([self.round(part) for part in weight.split(self.group or weight.shape[-1], -1)], -1)

    def round(self, w):
        least, most = -2 ** (self.bits - 1), 2 ** (self.bits - 1) - 1
        largest = w.abs().amax(-1, keepdim=True)
        if not self.gguf:
            scale = (largest / (most + 0.5)).clamp(min=torch.finfo(torch.float32).eps)
            whole = (w * (1 / scale)).round()
        elif self.bits == 4:
            scale = w.gather(-1, w.abs().argmax(-1, keepdim=True)) / -8
            whole = (w * self.inverse(scale) + 8.5).trunc() - 8
        else:
            scale = largest / 127
            scaled = w * self.inverse(scale)
            whole = scaled.trunc() + (scaled.frac().abs() >= 0.5) * scaled.sign()
        return whole.clamp(least, most) * scale.to(self.scale).to(w.dtype)

    @staticmethod
    def inverse(scale):
        return torch.where(scale == 0, 0, 1 / scale)


class Narrowed(torch.autograd.Function):
    """Rounded as `storage` says; the gradient is that of the parameter itself. across: rows of the product are its columns."""

    @staticmethod
    def forward(ctx, weight, storage, across):
        if not isinstance(storage, Integers):
            return weight.to(storage).to(weight.dtype)
        single = weight.float()
        return (storage(single.T).T.contiguous() if across and weight.dim() == 2 else storage(single)).to(weight.dtype)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None, None


def near_half(values):
    """Whether a row's integers hang on less than what other machines may compute differently."""
    largest = values.abs().amax(-1, keepdim=True).clamp(min=127.5 * torch.finfo(torch.float32).eps)
    return bool((((values * (127.5 / largest)).abs() % 1 - 0.5).abs() < 5e-4).any())


@contextlib.contextmanager
def narrow_weights(storages, dynamic, root, careful=False):
    """Products round their weights, as packed ones are; the parameters stay as they are. Of recurrent layers the weights of the
    input are such, those of the state are not; nor are weights that a layer writes, which are not packed. dynamic: where weights
    become integers, rows that are multiplied with them do so too, each by itself."""
    written = {id(module.weight) for module in root.modules() if getattr(module, "max_norm", None) is not None}
    by_tensor, looked_up = {}, set()
    parameters = [(f"{path}.{name}".lstrip("."), parameter) for path, module in root.named_modules(remove_duplicate=False)
                  for name, parameter in module._parameters.items() if parameter is not None]
    for name, parameter in parameters:
        named = [kind for pattern, kind in storages if pattern is not None and names_path(pattern, name)]
        if named or id(parameter) in by_tensor:  # a pattern names it, or it is tied
            looked_up.add(id(parameter))
        if named or id(parameter) not in by_tensor:  # of a tie, what a pattern says of one name
            by_tensor[id(parameter)] = (named or [kind for pattern, kind in storages if pattern is None] or [None])[-1]

    def kind_of(weight):
        base = weight._base if weight._base is not None else weight
        kind = by_tensor.get(id(base))
        return None if base.dim() > 2 and isinstance(kind, Integers) else kind

    def narrowed(weight, across):
        kind = kind_of(weight)
        return weight if kind is None else Narrowed.apply(weight, kind, across)

    def rows(values, weight):
        """As they are multiplied with it."""
        if not dynamic or not isinstance(kind_of(weight), Integers) or values.numel() == 0:
            return values
        if careful and near_half(values):
            raise Uncertain("an activation is near the middle of two integers")
        return Integers("int8")(values.float()).to(values.dtype)

    def rounding(product, name, at):
        names = {"linear": "weight", "bilinear": "weight", "mv": "vec", "addmv": "vec", "dot": "tensor", "matmul": "other",
                 "vdot": "other"}

        def call(*args, **kwargs):
            args = list(args)
            where, key = (args, at) if len(args) > at else (kwargs, names.get(name, "mat2"))
            own = is_parameter(where[key]) and id(where[key]) not in written
            if own and (name == "bilinear" or where[key].dim() <= 2):
                first = at - 2 if name.endswith("_cell") else at - 1
                args[first] = rows(args[first], where[key])
                where[key] = narrowed(where[key], name not in ("linear", "bilinear") and not name.endswith("_cell"))
            return product(*args, **kwargs)

        return call

    def looking_up(lookup):
        def call(index, weight, *args, **kwargs):
            own = id(weight) in looked_up and id(weight) not in written
            return lookup(index, narrowed(weight, False) if own else weight, *args, **kwargs)

        return call

    def rounding_sequence(recurrent):
        def call(*args):  # of all layers and directions: weight_ih, weight_hh, ...
            at = next(i for i, arg in enumerate(args) if isinstance(arg, bool))
            layers, bidirectional = args[at + 1], args[at + 4]
            weights = list(args[at - 1])
            if dynamic and isinstance(kind_of(weights[0]), Integers):
                if layers > 1:
                    raise Uncertain("what is between the layers of a recurrent one is not rounded here")
                args = (rows(args[0], weights[0]), *args[1:])
            for i in range(0, len(weights), len(weights) // (layers * (1 + bidirectional))):
                weights[i] = narrowed(weights[i], False)
            return recurrent(*args[:at - 1], weights, *args[at:])

        return call

    with contextlib.ExitStack() as stack:
        for holder, name, at in PRODUCTS if storages else ():
            stack.enter_context(mock.patch.object(holder, name, rounding(getattr(holder, name), name, at)))
        for name in ("embedding", "embedding_bag") if storages else ():
            stack.enter_context(mock.patch.object(nn.functional, name, looking_up(getattr(nn.functional, name))))
        for name in RECURRENT if storages else ():
            stack.enter_context(mock.patch.object(torch._VF, name, rounding_sequence(getattr(torch._VF, name))))
        yield


def written_tables(root):
    """[(table, name, tensor)] of all that statements and layers may write beside parameters."""
    tables = [table for module in root.modules() for table in (module._buffers, module.__dict__.get("modc_state", {}))]
    return [(table, name, tensor) for table in tables for name, tensor in table.items()
            if tensor is not None and not isinstance(tensor, nn.parameter.UninitializedBuffer)]


class Spec:
    def __init__(self, path, overrides=None, dtype=None):
        """`overrides` are values for constants and maxima of sizes, as `--set` gives them; `dtype` is `--dtype`."""
        content, self.changes = read_extended(path)
        self.path, self.content = path, content
        unknown = set(map(lambda key: signature(key)[0], content)) - KNOWN
        if unknown:
            raise SpecError(f"{path}: the oracle does not know {sorted(unknown)}")
        self.replaced, self.added = {}, {}  # by path, while draw_again builds
        self.constants, self.sizes, self.size_values, self.classes = {}, {}, {}, {}
        self.python = {}  # classes and functions of a text
        overrides = dict(overrides or {})
        required = content.get("sizes", {}).pop("require", [])
        self.required = required if isinstance(required, list) else [required]
        for key, table in (("constants", self.constants), ("sizes", self.sizes)):
            for name, value in content.get(key, {}).items():
                value = overrides.pop(name, value)
                if isinstance(value, Word) and (not value or re.fullmatch(r"[A-Za-z_]\w*", value)):
                    value = repr(str(value))
                table[name] = ConstructorNames(self, {}).evaluate(value)
        if overrides:
            raise SpecError(f"no constant or size is named {sorted(overrides)}")
        dtypes = content.get("dtype", "float32")
        self.dtype = torch.float32
        self.dtype = self.dtype_of(dtype or (dtypes if isinstance(dtypes, str) else dtypes[0]))
        self.storages = self.storages_of(content.get("storage", {}))
        self.dynamic, self.careful = content.get("activations") == "int8", False
        self.flushes = content.get("denormals") == "flush"
        self.ties = content.get("tie", {})
        self.inputs, self.constant_inputs = {}, set()
        for name, description in content.get("inputs", {}).items():
            plain = not isinstance(description, dict)
            if not plain and description.get("requires_grad") == "false":
                self.constant_inputs.add(name)
            self.inputs[name] = (description if plain else description["shape"],
                                 self.dtype_of(None if plain else description.get("dtype")))
        self.rows = None
        if "generation" in content:
            ((rows, *_), _), *_ = self.inputs.values()
            self.sizes["logits"] = self.sizes[expression_text(rows)]
            self.rows = generation.Rows(content["generation"], lambda text: ConstructorNames(self, {}).evaluate(text), rows)
            self.inputs.update({name: (read_flow(shape), torch.int64) for name, shape in self.rows.shapes.items()})
            self.constant_inputs.update(self.rows.shapes)
        self.functions = {}
        self.functions.update(functions_of(content.get("functions", {})))
        if isinstance(content.get("classes"), str):
            self.read_classes(content["classes"])
        for key, value in content.get("classes", {}).items() if isinstance(content.get("classes"), dict) else ():
            name, arguments = signature(key)
            self.classes[name] = Definition(name, arguments, value)
        self.root = Definition("", [], {key: value for key, value in content.items() if key not in NO_EFFECT},
                               list(self.inputs))
        if self.rows and self.root.forward_arguments:
            named = [name for name, _ in self.root.forward_arguments]
            self.root.forward_arguments += [(name, None) for name in self.rows.shapes if name not in named]
        self.entries = {}
        for key, value in content.get("entries", {}).items():
            name, arguments = signature(key)
            value = value if isinstance(value, dict) else {"statements": value}
            self.entries[name] = (arguments or [], statements_of(value["statements"]))

    def read_classes(self, text):
        """Classes and functions as Python has them: these are PyTorch's own modules."""
        code = compile(textwrap.dedent(text), "classes", "exec", flags=__future__.annotations.compiler_flag)
        names = {"__builtins__": builtins.__dict__, "__name__": "spec"}
        for name in names_in(code):
            with contextlib.suppress(KeyError):
                names[name] = python_name(self, name)
        known = set(names)
        exec(code, names)
        self.python = {name: value for name, value in names.items() if name not in known}

    def load_file(self, path):
        """Tensors of a file beside the spec; floats become the model's, as when they are loaded."""
        tensors = safetensors_io.load(pathlib.Path(self.path).parent / path)
        return {name: tensor.to(part_of(self.dtype)) if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}

    def dtype_of(self, text):
        if text is None:
            return self.dtype
        name = text.replace("torch.", "")
        if name not in DTYPES:
            raise SpecError(f"unknown dtype '{text}'")
        return getattr(torch, name)

    def build(self, seed=None):
        """The root module, in eval mode, parameters drawn as after torch.manual_seed(seed)."""
        if seed is not None:
            torch.manual_seed(seed)
        if self.rows:
            self.rows.reset()
        with default_dtype(self.dtype):
            root = SpecModule(self, self.root)
            if self.changes:
                self.change(root)
            self.call_lazy(root)
            if self.changes:
                self.draw_again(root, seed)
        for path in self.ties:
            owner, _, name = path.rpartition(".")
            parent, _, key = self.origin(path).rpartition(".")
            setattr(root.get_submodule(owner), name, root.get_submodule(parent)._parameters[key])  # an RNN keeps its own list
        for prefix, module in root.named_modules():
            if self.named_by("freeze", prefix):
                module.requires_grad_(False)
            for name, parameter in module._parameters.items():  # named_parameters has but one name of each
                if parameter is not None and self.named_by("freeze", f"{prefix}.{name}".lstrip(".")):
                    parameter.requires_grad_(False)
        return root.eval()

    def origin(self, path):
        """The parameter that `tie:` makes of this one; chains lead to one end."""
        while path in self.ties:
            path = self.ties[path]
        return path

    def named_by(self, key, path):
        patterns = self.content.get(key, [])
        return any(fnmatch.fnmatchcase(path, p) for p in ([patterns] if isinstance(patterns, str) else patterns))

    def change(self, root):
        """`set` and `add`, as PyTorch does them."""
        for kind, path, value in self.changes:
            module = build_module(value, ConstructorNames(self, {}))
            if kind == "set":
                replace_module(root, path, module)
                continue
            parent, _, name = path.rpartition(".")
            try:
                found = root.get_submodule(parent)
            except AttributeError as fault:
                raise SpecError(f"add: {fault}") from None
            if name in found._modules:
                raise SpecError(f"add: {path} exists")
            found.add_module(name, module)

    def call_lazy(self, root):
        """Lazy modules become what their first calls say: each entry is called once, in evaluation mode. What statements
        write is set back."""
        if not any(isinstance(module, nn.modules.lazy.LazyModuleMixin) for module in root.modules()):
            return
        held = [(table, name, tensor.clone()) for table, name, tensor in written_tables(root)]
        inputs = {name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in self.input_shapes({}).items()}
        for entry in ([None] if self.root.statements or not self.entries else []) + list(self.entries):
            self.run_once(root, inputs, entry)
        for table, name, tensor in held:
            table[name] = tensor

    def see_ranges(self, root):
        """The keys of observers and fake quantizers, after a call from which those of channels know how many there are."""
        found = [(path, module) for path, module in root.named_modules() if type(module).__module__.startswith(quantization.__name__)]
        if any(hasattr(module, "ch_axis") for _, module in found):
            held = [(table, name, tensor.clone()) for table, name, tensor in written_tables(root)
                    if not any(table is module._buffers for _, module in found)]
            inputs = {name: torch.zeros(shape, dtype=dtype) for name, (shape, dtype) in self.input_shapes({}).items()}
            for entry in ([None] if self.root.statements or not self.entries else []) + list(self.entries):
                self.run_once(root, inputs, entry)
            for table, name, tensor in held:
                table[name] = tensor
        if any(hasattr(module, "ch_axis") and module.min_val.numel() == 0 for _, module in found if hasattr(module, "min_val")):
            raise Uncertain("an observer that saw nothing has no channels in PyTorch")
        return {f"{path}.{name}".lstrip(".") for path, module in found for name in module._buffers}

    def draw_again(self, root, seed):
        """Initial values are drawn as if `set` and `add` had been written where they lead to: what is replaced draws
        nothing. So the model is built once more, in that order, for its numbers."""
        for kind, path, value in self.changes:
            parent, _, name = path.rpartition(".")
            if kind == "set":  # what was below it before is gone
                self.replaced = {p: v for p, v in self.replaced.items() if not within(p, path)}
                self.added = {p: v for p, v in self.added.items() if not within(p, path)}
                self.replaced[path] = value
            else:
                self.added.setdefault(parent, []).append((name, value))
        if seed is not None:
            torch.manual_seed(seed)
        drawn = SpecModule(self, self.root)
        self.call_lazy(drawn)
        drawn = drawn.state_dict()
        self.replaced, self.added = {}, {}
        if list(drawn) != list(root.state_dict()):
            raise SpecError("set and add give other modules where they lead to")
        root.load_state_dict(drawn)

    def load(self, root, tensors):
        """load_state_dict; a file may lack keys of a tie, and is of this version: without one PyTorch's observers forget eps."""
        tied = {path: self.origin(path) for path in (*self.ties, *self.ties.values())}
        held = {tied[path]: tensors[path] for path in tied if path in tensors}
        state = collections.OrderedDict({**{path: held[origin] for path, origin in tied.items() if origin in held}, **tensors})
        state._metadata = root.state_dict()._metadata
        root.load_state_dict(state)
        return root

    def call_function(self, name, args, kwargs):
        arguments, statements = self.functions[name]
        names = StatementNames(self, None, {})
        names.local = bind(name, arguments, args, kwargs, names.evaluate)
        return names.run(statements)

    def input_shapes(self, sizes):
        """(shape, dtype) of the inputs at these sizes, at the maxima of others."""
        names = ConstructorNames(self, {}, {**self.sizes, **sizes})
        return {name: (tuple(names.evaluate(shape)), dtype) for name, (shape, dtype) in self.inputs.items()}

    def find_sizes(self, inputs, given=None):
        """The current values of the sizes, from the inputs' shapes, which are checked, and from what is `given` by name."""
        found, checks = {name: int(value) for name, value in (given or {}).items() if name in self.sizes}, []
        for name, tensor in inputs.items():
            shape, dtype = self.inputs[name]
            shape = [expression_text(dim) for dim in shape] if isinstance(shape, list) else None
            if shape is None:
                shape = [str(dim) for dim in ConstructorNames(self, {}).evaluate(self.inputs[name][0])]
            if len(shape) != tensor.dim() or tensor.dtype != dtype:
                raise SpecError(f"{name}: expected {dtype} [{', '.join(shape)}], "
                                f"found {tensor.dtype} {list(tensor.shape)}")
            for text, value in zip(shape, tensor.shape):
                if text in self.sizes and text not in found:
                    found[text] = value
                checks.append((name, text, value))
        for name, text, value in checks:
            if ConstructorNames(self, {}, found).evaluate(text) != value:
                raise SpecError(f"{name}: {text} is not {value}")
        for name, value in found.items():
            if value > self.sizes[name]:
                raise SpecError(f"{name} = {value} is over its maximum {self.sizes[name]}")
        for requirement in self.required:
            if not ConstructorNames(self, {}, {**self.sizes, **found}).evaluate(requirement):
                raise SpecError(f"{requirement} is not met by {found}")
        return found

    def set_mode(self, root, train):
        root.train(train)
        for name, module in root.named_modules():
            if self.named_by("eval", name):
                module.eval()

    def run(self, root, inputs, *, repeat=1, **options):
        """The last of `repeat` calls, whose gradients add up; see run_once."""
        root.zero_grad()
        for _ in range(repeat):
            outputs = self.run_once(root, inputs, **options)
        return outputs

    def run_once(self, root, inputs, entry=None, train=False, hooks=(), pre_hooks=(), backward_hooks=(), backward_pre_hooks=(),
                 backward=False):
        """One call. Hooks are (path, factor): they scale the first input of a module, or its first output, or in backward the
        gradient of these, and leave the tensors that they were given as they are. Returns the outputs by name; with `backward`
        also grad.INPUT and grad.KEY, for the upstream gradients that inputs has as grad.OUTPUT (else: zero)."""
        self.set_mode(root, train)
        if entry in (None, "forward"):
            arguments, statements, call = list(self.inputs), self.root.statements, root
            if self.rows:
                arguments = [name for name, _ in self.root.forward_arguments]
        else:
            signature_, statements = self.entries[entry]
            arguments = [name for name, _ in signature_]

            def call(*args):
                return StatementNames(self, root, dict(zip(arguments, args))).run(statements)

        missing = [name for name in arguments if name not in inputs]
        if missing:
            raise SpecError(f"inputs lack {missing}")
        given = {name: inputs[name].clone() for name in arguments}  # sizes are read by name, too
        leaves = {name: tensor.requires_grad_() for name, tensor in given.items()
                  if backward and (tensor.is_floating_point() or tensor.is_complex()) and name not in self.constant_inputs}
        self.size_values = self.find_sizes(given, inputs)
        if self.rows:
            self.rows.call(given)
        for module in root.modules() if hooks or pre_hooks else ():
            if hasattr(module, "activation_relu_or_gelu"):  # an encoder's layer: 1.13 has a fast path past its modules' hooks
                module.activation_relu_or_gelu = 0
        handles = [root.get_submodule(path).register_forward_pre_hook(lambda _, args, f=factor: scaled(args, f))
                   for path, factor in pre_hooks]
        handles += [root.get_submodule(path).register_forward_hook(lambda _, args, result, f=factor: scaled(result, f))
                    for path, factor in hooks]
        handles += [root.get_submodule(path).register_full_backward_pre_hook(lambda _, given, f=factor: scaled_gradient(given, f))
                    for path, factor in backward_pre_hooks]
        handles += [root.get_submodule(path).register_full_backward_hook(lambda _, given, __, f=factor: scaled_gradient(given, f))
                    for path, factor in backward_hooks]
        try:
            with torch.set_grad_enabled(backward), default_dtype(self.dtype), narrow_weights(self.storages, self.dynamic, root, self.careful), flushing(self.flushes):
                with self.autocast():
                    results = self.named(statements, call(*(tensor.clone() if name in leaves else tensor
                                                            for name, tensor in given.items())))
                outputs = {name: value.detach().clone() for name, value in results.items()}
                if not backward:
                    return outputs
                return {**outputs, **self.gradients(root, results, inputs, leaves, bool(backward_hooks or backward_pre_hooks))}
        finally:
            for table, name, tensor in written_tables(root):
                table[name] = tensor.detach()
            for handle in handles:
                handle.remove()

    def autocast(self):
        """Around forward and loss; backward has none, as PyTorch recommends. A float64 run has nothing to change."""
        narrow = self.content.get("autocast")
        return torch.autocast("cpu", dtype=getattr(torch, narrow)) if narrow and self.dtype == torch.float32 else contextlib.nullcontext()

    def train(self, root, inputs, steps):
        """So many steps of what `training:` says on one batch; {"loss": that of the last one}."""
        training = self.content["training"]
        named = {name: parameter for name, parameter in root.named_parameters() if parameter.requires_grad}
        parameters = list(named.values())
        copies = [parameter.detach().float().requires_grad_() if "master" in training and parameter.dtype in HALVES else parameter
                  for parameter in parameters]
        name, _, arguments = training["optimizer"].partition("(")
        optimizer = eval(f"torch.optim.{name}(parameters, {arguments}",
                         {"torch": torch, "parameters": grouped(training.get("groups", []), dict(zip(named, copies)))})
        scaler = None  # torch.amp.GradScaler is there from 2.3 on
        if "scaler" in training:
            scaler = eval(training["scaler"].replace("GradScaler(", "torch.amp.GradScaler('cpu', "), {"torch": torch})
        clip, _, arguments = training.get("clip", "").partition("(")
        self.set_mode(root, True)
        self.size_values = self.find_sizes({name: inputs[name] for name in self.inputs})
        for _ in range(steps):
            with default_dtype(self.dtype), narrow_weights(self.storages, self.dynamic, root, self.careful), flushing(self.flushes):
                with self.autocast():
                    results = self.named(self.root.statements, root(*(inputs[name].clone() for name in self.inputs)))
                    loss = StatementNames(self, root, {**inputs, **results}).run(statements_of(training["loss"]))
                for parameter in parameters:
                    parameter.grad = None
                (scaler.scale(loss) if scaler else loss).backward()
            for copy, parameter in zip(copies, parameters):
                if copy is not parameter:
                    copy.grad = None if parameter.grad is None else parameter.grad.float()
            if scaler:
                scaler.unscale_(optimizer)
            if clip:
                eval(f"torch.nn.utils.{clip}(parameters, {arguments}", {"torch": torch, "parameters": copies})
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            with torch.no_grad():
                for copy, parameter in zip(copies, parameters):
                    if copy is not parameter:
                        parameter.copy_(copy)
            for table, name, tensor in written_tables(root):
                table[name] = tensor.detach()
        return {"loss": loss.detach()}

    def storages_of(self, storage):
        """[(pattern or None, dtype, Integers or None)] in the order in which later ones say it anew."""
        storage = {"default": storage} if isinstance(storage, str) else storage
        kinds = {"bfloat16": torch.bfloat16, "float16": torch.float16, "half": torch.float16}
        found = [(None if pattern == "default" else pattern,
                  Integers(text) if text.startswith("int") else kinds.get(text.partition("(")[0])) for pattern, text in storage.items()]
        return sorted(found, key=lambda pair: pair[0] is not None)

    def run_sequence(self, root, inputs, repeat=1, **options):
        """One call for each index of the inputs' first dimension, in order, `repeat` times; outputs are stacked."""
        (steps,) = {tensor.shape[0] for tensor in inputs.values()}
        for _ in range(repeat):
            calls = [self.run(root, {name: tensor[t] for name, tensor in inputs.items()}, **options) for t in range(steps)]
        return {name: torch.stack([call[name] for call in calls]) for name in calls[0]}

    @staticmethod
    def gradients(root, results, upstream, leaves, hooked):
        """Of inputs (0 where nothing flows) and of the parameters that have one. From results without a gradient comes none;
        `hooked`: hooks see zeros in its place."""
        ends = {name: upstream.get(f"grad.{name}", torch.zeros_like(value)) for name, value in results.items()
                if value.requires_grad and (hooked or f"grad.{name}" in upstream)}
        if any(f"grad.{name}" in upstream for name in ends):
            torch.autograd.backward([results[name] for name in ends], list(ends.values()))
        found = {f"grad.{name}": torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for name, leaf in leaves.items()}
        found.update({f"grad.{name}": parameter.grad.to_dense().clone() for name, parameter in root.named_parameters()
                      if parameter.grad is not None})
        return {name: tensor.detach().to_dense() for name, tensor in found.items()}

    def named(self, statements, result):
        """Design 3: a plain name in the `return` that ran names its output, and so does a key; else `output`, or `output_` and
        the position."""
        found = []

        def flatten(node, value):
            if isinstance(value, dict):
                for key, element in value.items():
                    if isinstance(element, torch.Tensor):
                        found.append((key if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) else None, element))
                    else:
                        flatten(None, element)
            elif isinstance(value, (tuple, list)):
                inner = list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else []
                stars = [i for i, part in enumerate(inner) if isinstance(part, ast.Starred)]
                inner = inner[:stars[0]] if stars else inner
                for part, element in zip(inner + [None] * (len(value) - len(inner)), value):
                    flatten(part, element)
            else:
                found.append((node.id if isinstance(node, ast.Name) else None, value))

        flatten(self.returned if statements else None, result)
        outputs = {}
        for i, (name, value) in enumerate(found):
            if name is None or name in outputs:
                name = "output" if len(found) == 1 else f"output_{i}"
            outputs[name] = torch.as_tensor(value)
        return outputs


class Scaled(torch.autograd.Function):
    """Times factor, as a hook of C changes a value where it is: the gradient goes through as it is."""

    @staticmethod
    def forward(ctx, value, factor):
        return value * factor

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def scaled_gradient(gradients, factor):
    """The tuple with the first gradient that there is times factor; those of integers are 0."""
    first = next((i for i, gradient in enumerate(gradients) if gradient is not None), None)
    return tuple(scaled(gradient, factor) if i == first else gradient for i, gradient in enumerate(gradients))


def scaled(value, factor):
    """The value with its first tensor times factor, as the hooks of `modc run` scale it."""
    if isinstance(value, torch.Tensor):
        floating = value.is_floating_point() or value.is_complex()
        return Scaled.apply(value, factor) if floating else (value.double() * factor).to(value.dtype)
    if isinstance(value, (tuple, list)) and value:
        first, *rest = value
        parts = [scaled(first, factor), *rest]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value
