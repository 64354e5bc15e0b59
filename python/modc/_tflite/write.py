"""The spec of a model: its operators in the file's order, as far as the outputs need them."""
import keyword
import re

from modc._files import Record
from modc._spec import NAME
from modc._tflite.classes import CLASSES, functions_of
from modc._tflite.model import TfliteError
from modc._tflite.operators import OPERATORS, quantised, refuse

SHAPED = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")  # the shapes of what they give stand in the file, whatever else they read
DTYPES = ("int8", "uint8", "float32")  # of inputs and outputs
RESERVED = set(keyword.kwlist) | {"self", "torch", "F", "nn", "ops", "math", "inf", "pi", "load_file", "int", "float", "bool",
                                  "str", "len", "range", "min", "max", "sum"}
LONGEST = 60  # of a tensor's name in a comment


def literal(item):
    """A number or a tuple of these, as the language writes it."""
    if isinstance(item, tuple):
        return "(" + ", ".join(map(literal, item)) + ("," if len(item) == 1 else "") + ")"
    return repr(item)


def title(tensor):
    """A tensor's name as a comment may have it."""
    name = re.sub(r"[^ -~]+", "?", tensor.name.split(";")[0])
    return name if len(name) <= LONGEST else name[:LONGEST - 3] + "..."


class Writer:
    """text(): the spec; weights: the Records of its buffers, by key."""

    def __init__(self, model, name):
        self.model, self.name, self.weights = model, name, {}
        self.modules, self.buffers, self.lines, self.classes, self.names = [], [], [], [], {}
        self.inputs, self.kinds = [], {"constant", *map(kind_of, model.operators)}
        for tensor in model.inputs:
            self.check_end(tensor, "input")
            self.names[tensor.index] = self.input_name(tensor)
            self.inputs.append(self.names[tensor.index])
        for op in self.reached():
            self.take(op)
        if not model.outputs:
            raise TfliteError("the model has no outputs")
        for tensor in model.outputs:
            self.check_end(tensor, "output")
        self.lines.append("return " + ", ".join(self.name_of(tensor, "the model") for tensor in model.outputs))

    def check_end(self, tensor, what):
        if tensor.dtype not in DTYPES:
            raise TfliteError(f"{what} {tensor} is {tensor.dtype}; modc reads models of int8, whose inputs and outputs are "
                              f"{', '.join(DTYPES[:-1])} or {DTYPES[-1]}")

    def input_name(self, tensor):
        name = re.sub(r"^serving_default_|:\d+$", "", tensor.name.rpartition("/")[2])
        name = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
        own = re.fullmatch(r"(.*)_\d+", name)
        if not NAME.match(name) or name in RESERVED or own and own.group(1) in self.kinds:
            name = "x"
        stem, count = name, 2
        while name in self.inputs:
            name, count = f"{stem}{count}", count + 1
        return name

    def reached(self):
        """The operators that outputs need, in the file's order."""
        made = {}
        for op in self.model.operators:
            for tensor in op.outputs:
                if made.setdefault(tensor.index, op) is not op:
                    raise TfliteError(f"{op}: {tensor} is already computed by {made[tensor.index]}")
        todo, wanted = list(self.model.outputs), set()
        while todo:
            op = made.get(todo.pop().index)
            if op is not None and op not in wanted:
                wanted.add(op)
                todo += [tensor for tensor in (op.inputs[:1] if op.kind in SHAPED else op.inputs) if tensor is not None]
        return [op for op in self.model.operators if op in wanted]

    def take(self, op):
        if op.kind not in OPERATORS:
            refuse(op, "modc has no such operator of TensorFlow Lite", "it has " + ", ".join(OPERATORS))
        expression = OPERATORS[op.kind](self, op)
        name = f"{kind_of(op)}_{op.index}"
        self.lines.append(f"{name} = {expression}")
        self.names[op.outputs[0].index] = name

    def name_of(self, tensor, reader):
        if tensor.index in self.names:
            return self.names[tensor.index]
        if tensor.data is None:
            raise TfliteError(f"{reader} reads {tensor}, which is not computed before")
        if tensor.dtype != "int8" or len(tensor.data) != tensor.count:
            raise TfliteError(f"{reader} reads the constant {tensor}: {tensor.dtype} {list(tensor.shape)}, of "
                              f"{len(tensor.data)} bytes; modc reads constants of int8 there")
        name = f"constant_{tensor.index}"
        self.buffers.append(f"{name}: {{shape: {list(tensor.shape)}, dtype: int8}}  # {title(tensor)}")
        self.weights[name] = Record("I8", tensor.shape, tensor.data)
        self.names[tensor.index] = f"self.{name}"
        return self.names[tensor.index]

    # ---- what operators call

    def value(self, op, place):
        """The name of an input's value."""
        return self.name_of(op.inputs[place], op)

    def module(self, op, kind, class_name, *arguments, **named):
        """The name of a new module. Of its named arguments those are written which are not the class's defaults."""
        name = f"{kind}_{op.index}"
        if class_name not in self.classes:
            self.classes.append(class_name)
        header = parts_of(class_name)[0]
        words = [literal(item) for item in arguments]
        words += [f"{key}={literal(item)}" for key, item in named.items()
                  if not re.search(rf"\b{key}={re.escape(literal(item))}[,)]", header)]
        self.modules.append(f"{name}: {class_name}({', '.join(words)})  # {title(op.outputs[0])}")
        return name

    def weight(self, name, key, dtype, shape, data):
        self.weights[f"{name}.{key}"] = Record(dtype, tuple(shape), data)

    # ---- the text

    def text(self):
        out = ["modc: 1", f"model: {self.name}", "", "inputs:"]
        for name, tensor in zip(self.inputs, self.model.inputs):
            out.append(f"  {name}: {{shape: {list(tensor.shape)}, dtype: {tensor.dtype}}}{self.meaning(tensor)}")
        functions = functions_of(self.classes)
        if functions:
            out += ["", "functions: |"] + indented("\n\n".join(functions), 2)
        if self.classes:
            out += ["", "classes:"]
            for name in CLASSES:
                if name in self.classes:
                    header, body = parts_of(name)
                    out += [f"  {header}:"] + indented(body, 4) + [""]
            out.pop()
        for key, rows in (("modules", self.modules), ("buffers", self.buffers)):
            if rows:
                out += ["", f"{key}:"] + [f"  {row}" for row in rows]
        out += ["", "# It returns " + "; ".join(
            f"{title(tensor)}: {tensor.dtype} {list(tensor.shape)}" + self.meaning(tensor, ", ") for tensor in self.model.outputs)]
        return "\n".join(out + ["forward: |"] + indented("\n".join(self.lines), 2)) + "\n"

    @staticmethod
    def meaning(tensor, before="  # "):
        """The real number that an integer stands for."""
        if tensor.dtype == "float32" or len(tensor.scales) != 1:
            return ""
        zero = tensor.zeros[0] if tensor.zeros else 0
        integer = f"(x {'-' if zero >= 0 else '+'} {abs(zero)})" if zero else "x"
        return f"{before}x stands for {integer} * {tensor.scales[0]:.9g}"


KINDS = {"CONV_2D": "conv", "DEPTHWISE_CONV_2D": "depthwise", "FULLY_CONNECTED": "linear", "AVERAGE_POOL_2D": "avg_pool",
         "MAX_POOL_2D": "max_pool", "STRIDED_SLICE": "slice", "CONCATENATION": "cat", "PADV2": "pad"}


def kind_of(op):
    """What modules and values of an operator are called, before its number."""
    return KINDS.get(op.kind, op.kind.lower())


def parts_of(class_name):
    """The name of a class with its arguments, in one line, and what is in it."""
    text = CLASSES[class_name]
    end = min(place for place in (text.find("\nbuffers:"), text.find("\nforward(")) if place > 0)
    return " ".join(text[:end].split()), text[end + 1:]


def indented(text, width):
    return [" " * width + line if line else "" for line in text.split("\n")]
