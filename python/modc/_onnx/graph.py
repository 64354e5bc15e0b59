"""The nodes of an ONNX graph as statements over values, with sizes and constants followed as far as they are known."""
import re

import numpy

from modc._onnx.known import known_results
from modc._onnx.read import DOMAINS, OnnxError, dtype_name, opset, package
from modc._onnx.text import Size, as_ints, is_symbolic

NAME = re.compile(r"[A-Za-z_]\w*\Z")
NAMELESS = re.compile(r"(val|const|constant|scalar)_?\d*\Z")  # what exporters call constants of their own
SMALL = 8  # elements of a constant that is written where it is read


class Value:
    """A tensor of the graph. statement: what makes it; None for inputs, parameters and constants."""

    def __init__(self, name, dtype=None, shape=None, statement=None, known=None, path=None):
        self.name, self.dtype, self.shape, self.statement = name, dtype, shape, statement
        self.known = known  # its elements: an array, of ints and Sizes where dtype is object
        self.path = path  # where it lies, if it is a parameter: a tuple

    @property
    def rank(self):
        return len(self.shape) if self.shape is not None else None

    @property
    def is_float(self):
        return self.dtype in ("float32", "float64")


class Statement:
    def __init__(self, targets, expression, scope, hint):
        self.targets, self.expression, self.scope, self.hint = targets, expression, scope, hint


class Module:
    """A module of torch.nn that holds parameters of the file: a piece of expressions, too."""

    def __init__(self, path, text, tensors):
        self.path, self.text, self.tensors = path, text, tensors
        self.counter = False  # whether the file of weights counts its batches, too


class Multi:
    """An expression that gives a tuple, with a target for each part."""

    def __init__(self, expression):
        self.expression = expression


class Node:
    """A node as the operators' rows see it."""

    def __init__(self, graph, proto, inputs, version):
        self.graph, self.proto, self.version = graph, proto, version
        self.inputs = inputs
        self.attributes = {}
        for attribute in proto.attribute:
            self.attributes[attribute.name] = attribute
        self.op = proto.op_type

    def __getitem__(self, index):
        return self.inputs[index] if index < len(self.inputs) else None

    def attribute(self, name, default=None):
        found = self.attributes.get(name)
        if found is None:
            return default
        helper = self.graph.onnx.helper
        value = helper.get_attribute_value(found)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, float):
            return float(numpy.float32(value))
        if type(value).__name__.startswith("Repeated"):
            value = list(value)
        if isinstance(value, list) and value and isinstance(value[0], bytes):
            return [item.decode() for item in value]
        return value

    def number(self, name, default=None):
        """A float attribute as the shortest decimal of its float32."""
        value = self.attribute(name, default)
        return None if value is None else numpy.float32(value)

    def fail(self, text, hint=None):
        return OnnxError(text, self.proto, hint)

    def has_output(self, index):
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def ints(self, index, what, optional=False):
        """The ints and Sizes of an input whose elements are known."""
        value = self[index]
        if value is None:
            if optional:
                return None
            raise self.fail(f"it lacks the input '{what}'")
        if value.known is None:
            raise self.fail(f"its {what} '{value.name}' depends on values of tensors, so shapes would too",
                            f"modc follows constants and what is computed from shapes{self.fixing(value)}")
        return as_ints(value.known)

    def fixing(self, value):
        return f"; values={{'{value.name}': ...}} makes this input a constant" if value in self.graph.inputs else ""

    def plain_ints(self, index, what, optional=False):
        found = self.ints(index, what, optional)
        if found is not None and any(isinstance(item, Size) for item in found):
            raise self.fail(f"its {what} '{self[index].name}' depends on sizes that calls choose",
                            "fix them: dims={'batch': 1}")
        return found

    def constant(self, index, what):
        """The array of an input that is a constant. A parameter is one too."""
        value = self[index]
        if value is None or value.known is None or is_symbolic(value.known):
            raise self.fail(f"its {what} '{value.name if value else ''}' is no constant", self.fixing(value)[2:] or None)
        return value.known

    def rank(self, index=0):
        value = self[index]
        if value.rank is None:
            raise self.fail(f"the number of dimensions of '{value.name}' cannot be told",
                            "onnx.shape_inference.infer_shapes, or the exporter, adds it to the file")
        return value.rank

    def axis(self, axis, rank):
        if not -rank <= axis < rank:
            raise self.fail(f"there is no dimension {axis} of {rank}")
        return axis % rank

    def extents(self, index=0):
        """The dimensions of an input: ints and Sizes."""
        return self.graph.extents(self[index], self)

    def fixed(self, axis, what, index=0):
        extent = self.extents(index)[axis]
        if isinstance(extent, Size):
            raise self.fail(f"{what} depends on a size that calls choose", "fix it: dims={'name': extent}")
        return extent

    def operand(self, index, beside=None):
        """An input, as a number where it is a constant of one element which broadcasts no other."""
        value = self[index]
        known = value.known
        if known is not None and known.size == 1 and not (value.path and known.ndim) and (
                known.ndim == 0 or beside is not None and beside.known is None and (beside.rank or 0) >= known.ndim):
            if beside is None or beside.known is None:
                item = known.reshape(-1)[0]
                return item if isinstance(item, Size) else numpy.asarray(item)[()]
        return value

    def helper(self, name):
        self.graph.helpers.setdefault(name)
        return name

    def module(self, kind, arguments, tensors):
        return self.graph.module(self, kind, arguments, tensors)


class Graph:
    """All of a model. sizes: maxima by name; dims: extents by name of what the file leaves open."""

    def __init__(self, model, sizes, dims, values):
        from modc._onnx.operators import OPERATORS
        self.onnx = package()
        self.operators = OPERATORS
        self.version = opset(model)
        self.statements, self.values, self.modules, self.helpers = [], {}, {}, {}
        self.sizes, self.dims, self.given = {}, dims, sizes
        self.types, self.uses, self.made = {}, {}, []
        self.taken, self.shared = {}, {}  # value: the path that a module has it at; (class, arguments, names): the module
        self.model = self.inferred(model)
        self.local = {(item.domain, item.name): item for item in getattr(model, "functions", ())}
        graph = self.model.graph
        self.refuse_kinds(graph)
        for node in graph.node:
            for name in node.input:
                self.uses[name] = self.uses.get(name, 0) + 1
        for output in graph.output:
            self.uses[output.name] = self.uses.get(output.name, 0) + 1
        for info in list(graph.value_info) + list(graph.output):
            self.types[info.name] = self.type_of(info)
        self.initialisers(graph)
        self.inputs = []
        self.fix(graph, values)
        for info in graph.input:
            if info.name not in self.values:
                dtype, shape = self.input_type(info)
                self.values[info.name] = value = Value(info.name, dtype, shape)
                self.inputs.append(value)
        self.producer = {output: node for node in graph.node for output in node.output}
        self.readers = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.skipped = set()
        for node in graph.node:
            if id(node) not in self.skipped:
                self.run(node, self.scope_of(node))
        self.outputs = []
        for info in graph.output:
            value = self.values.get(info.name)
            if value is None:
                raise OnnxError(f"the output '{info.name}' is made by no node")
            self.outputs.append(value)

    # ---- types

    def inferred(self, model):
        try:
            return self.onnx.shape_inference.infer_shapes(model, data_prop=True)
        except Exception:  # what cannot be inferred is asked for where it is needed
            return model

    def refuse_kinds(self, graph):
        for info in list(graph.input) + list(graph.output):
            kind = info.type.WhichOneof("value")
            if kind is not None and kind != "tensor_type":
                title = {"sequence_type": "a sequence", "optional_type": "an optional value", "map_type": "a map",
                         "sparse_tensor_type": "a sparse tensor"}.get(kind, kind)
                raise OnnxError(f"'{info.name}' is {title}; inputs and outputs of modc are tensors")
        if graph.sparse_initializer:
            raise OnnxError(f"'{graph.sparse_initializer[0].values.name}' is a sparse tensor, which modc does not have",
                            hint="write it as a dense one")

    def type_of(self, info):
        tensor = info.type.tensor_type
        if not info.type.HasField("tensor_type"):
            return None, None
        shape = None
        if tensor.HasField("shape"):
            shape = []
            for dim in tensor.shape.dim:
                if dim.HasField("dim_value"):
                    shape.append(dim.dim_value)
                elif dim.HasField("dim_param") and dim.dim_param in self.dims:
                    shape.append(self.dims[dim.dim_param])
                else:
                    shape.append(dim.dim_param or None)
        return tensor.elem_type, shape

    def input_type(self, info):
        code, shape = self.type_of(info)
        dtype = dtype_name(code, None, f"the input '{info.name}'")
        if shape is None:
            raise OnnxError(f"the input '{info.name}' has no shape",
                            hint="give the file one: the number of dimensions is needed")
        dims = []
        for axis, extent in enumerate(shape):
            if not isinstance(extent, int):
                name = extent or f"{info.name}_dim_{axis}"
                if name in self.dims:
                    dims.append(self.dims[name])
                    continue
                extent = self.size(name)
            dims.append(extent)
        return dtype, dims

    def size(self, name):
        """The Size of a symbolic dimension, which is then one of the spec."""
        plain = re.sub(r"\W", "_", name)
        if not NAME.match(plain):
            plain = "size_" + plain
        self.sizes.setdefault(plain, self.given.get(name, self.given.get(plain, 64)))
        return Size("size", plain)

    def initialisers(self, graph):
        for tensor in graph.initializer:
            dtype = dtype_name(tensor.data_type, None, f"'{tensor.name}'")
            array = self.array(tensor)
            path = tuple(tensor.name.split(".")) if array.dtype.kind == "f" and array.ndim and not (
                NAMELESS.match(tensor.name) and array.size <= SMALL) and all(
                part and not re.search(r"[\s:/]", part) for part in tensor.name.split(".")) else None
            self.values[tensor.name] = Value(tensor.name, dtype, list(array.shape), None, array, path)

    def fix(self, graph, values):
        """Inputs that are constants from now on, by name."""
        known = {info.name: info for info in graph.input if info.name not in self.values}
        for name, given in values.items():
            if name not in known:
                raise OnnxError(f"values has '{name}', which is no input of the file", hint="it has " + ", ".join(known))
            code, _ = self.type_of(known[name])
            array = numpy.asarray(given, dtype=dtype_name(code, None, f"the input '{name}'"))
            self.values[name] = Value(name, array.dtype.name, list(array.shape), None, array)

    def array(self, tensor, node=None):
        try:
            return self.onnx.numpy_helper.to_array(tensor)
        except Exception as error:
            raise OnnxError(f"the tensor '{tensor.name}' cannot be read: {error}", node) from None

    def extents(self, value, node):
        if value.shape is None:
            raise node.fail(f"the number of dimensions of '{value.name}' cannot be told",
                            "onnx.shape_inference.infer_shapes, or the exporter, adds it to the file")
        return [self.extent(value, axis) for axis in range(len(value.shape))]

    def extent(self, value, axis):
        extent = value.shape[axis]
        if isinstance(extent, (int, Size)):
            return extent
        plain = re.sub(r"\W", "_", extent) if extent else None
        if plain in self.sizes:
            return Size("size", plain)
        return Size("dim", value, axis)

    # ---- nodes

    def scope_of(self, node):
        """The path of the module that a node stands in, from its name or the exporter's notes; a tuple."""
        for item in node.metadata_props if hasattr(node, "metadata_props") else ():
            if item.key == "pkg.torch.onnx.name_scopes":
                names = re.findall(r"'([^']*)'", item.value)
                return tuple(names[-2].split(".")) if len(names) > 1 and names[-2] else ()
        parts = node.name.split("/")
        if len(parts) < 3 or parts[0]:
            return ()
        path, before = [], ""
        for part in parts[1:-1]:
            if before and part.startswith(before + "."):
                path += part[len(before) + 1:].split(".")
            else:
                path += part.split(".")
            before = part
        return tuple(path)

    def run(self, proto, scope, prefix="", renamed=None):
        """A node. renamed: names within a function's body."""
        node = self.node(proto, renamed)
        outputs = [(renamed or {}).get(name, prefix + name) if name else "" for name in proto.output]
        known = known_results(node) if proto.domain in DOMAINS else None
        if known is not None:
            for name, array in zip(outputs, known):
                dtype = "int64" if array.dtype == object else array.dtype.name
                self.values[name] = Value(name, dtype if array.dtype == object else self.declared(name, dtype),
                                          list(array.shape), None, array)
            return
        row = self.operators.get(proto.op_type) if proto.domain in DOMAINS else None
        if row is None:
            self.function(proto, node, scope, outputs)
            return
        made = row(node)
        if node.proto is not proto:  # it stands for another behind it, too
            outputs = list(node.proto.output)
        self.make(node, made, outputs, scope)

    def declared(self, name, dtype):
        code, _ = self.types.get(name, (None, None))
        return dtype_name(code) if code else dtype

    def node(self, proto, renamed=None):
        inputs = []
        for name in proto.input:
            name = (renamed or {}).get(name, name)
            if name and name not in self.values:
                raise OnnxError(f"its input '{name}' is made by no node before it", proto)
            inputs.append(self.values[name] if name else None)
        while inputs and inputs[-1] is None:
            inputs.pop()
        return Node(self, proto, inputs, self.version)

    def make(self, node, made, outputs, scope):
        """The statements of what an operator's row gave."""
        if isinstance(made, Value):
            self.values[outputs[0]] = made
            return
        if isinstance(made, numpy.ndarray):
            self.values[outputs[0]] = Value(outputs[0], made.dtype.name, list(made.shape), None, made)
            return
        types = self.output_types(node, outputs)
        targets = [self.value(name, *types.get(name, (None, None)), node) if name else None for name in outputs]
        shapes = getattr(node, "shapes", None)
        if shapes is not None:
            told = targets[0].shape or [None] * len(shapes)
            targets[0].shape = [own if isinstance(own, (int, Size)) else extent for own, extent in zip(shapes, told)]
        scope, hint = getattr(node, "scope", scope), getattr(node, "title", None)
        if isinstance(made, Multi):
            statement = Statement(targets, made.expression, scope, hint)
            for target in targets:
                if target is not None:
                    target.statement = statement
                    self.values[target.name] = target
            self.statements.append(statement)
            return
        for target, expression in zip(targets, made if isinstance(made, list) else [made]):
            if target is None or expression is None:
                continue
            if isinstance(expression, (Value, numpy.ndarray)):
                self.values[target.name] = expression if isinstance(expression, Value) else Value(
                    target.name, expression.dtype.name, list(expression.shape), None, expression)
                continue
            statement = Statement([target], expression, scope, hint)
            target.statement = statement
            self.values[target.name] = target
            self.statements.append(statement)

    def value(self, name, code, shape, node):
        dtype = dtype_name(code, node.proto, f"its result '{name}'") if code else None
        return Value(name, dtype, shape)

    def output_types(self, node, outputs):
        """Types of a node's results: what the file says or infers, else what the node alone tells."""
        types = {name: self.types[name] for name in outputs if name and self.is_known(self.types.get(name, (None, None))[1])}
        if len(types) == len([name for name in outputs if name]):
            return types
        infer = getattr(self.onnx.shape_inference, "infer_node_outputs", None)
        if infer is None:
            return {name: self.types.get(name, (None, None)) for name in outputs}
        helper, proto = self.onnx.helper, self.onnx.NodeProto()
        proto.CopyFrom(node.proto)
        del proto.input[:]
        input_types, data = {}, {}
        for position, value in enumerate(node.inputs):
            name = f"i{position}" if value is not None else ""
            proto.input.append(name)
            if value is None or value.dtype is None:
                continue
            code = self.onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(value.dtype))
            shape = None if value.shape is None else [
                item if isinstance(item, int) else item.left if isinstance(item, Size) and item.op == "size" else item
                if isinstance(item, str) else None for item in value.shape]
            input_types[name] = helper.make_tensor_type_proto(code, shape)
            if value.known is not None and not is_symbolic(value.known) and value.known.size < 1000:
                data[name] = self.onnx.numpy_helper.from_array(value.known, name)
        try:
            schema = self.onnx.defs.get_schema(proto.op_type, self.version, proto.domain)
            made = infer(schema, proto, input_types, data,
                         opset_imports=[helper.make_opsetid("", self.version)])
        except Exception:  # then the node's results have no known rank
            made = {}
        for own, name in zip(node.proto.output, outputs):
            if name and name not in types and own in made:
                info = self.onnx.ValueInfoProto()
                info.type.CopyFrom(made[own])
                types[name] = self.type_of(info)
        for name in outputs:
            code, shape = self.types.get(name, (None, None))
            own_code, own = types.get(name, (None, None))
            if own is None or shape is not None and sum(map(self.is_known_extent, shape)) > sum(map(self.is_known_extent, own)):
                own = shape
            types[name] = (own_code or code, own)
        return types

    def is_known_extent(self, extent):
        return isinstance(extent, (int, Size)) or isinstance(extent, str) and re.sub(r"\W", "_", extent) in self.sizes

    def is_known(self, shape):
        return shape is not None and all(map(self.is_known_extent, shape))

    def intermediate(self, node, expression, title):
        """A value of its own for what several results read."""
        value = Value(f"{node.proto.output[0] or title}.{title}", None, None)
        value.statement = Statement([value], expression, getattr(node, "scope", self.scope_of(node.proto)), title)
        self.statements.append(value.statement)
        return value

    # ---- functions

    def function(self, proto, node, scope, outputs):
        """A node of a function of the file, or of an operator that ONNX itself defines by others."""
        body = self.local.get((proto.domain, proto.op_type))
        from modc._onnx.operators import REFUSED
        if body is None and proto.domain in DOMAINS and proto.op_type not in REFUSED:
            body = self.schema_body(node)
        if body is None:
            reason = REFUSED.get(proto.op_type) if proto.domain in DOMAINS else None
            if reason is not None:
                raise OnnxError(reason[0], proto, reason[1])
            where = f" of '{proto.domain}'" if proto.domain not in DOMAINS else f" (opset {self.version})"
            raise OnnxError(f"modc does not have the operator {proto.op_type}{where}", proto,
                            "export the model with operators of ONNX's own" if proto.domain not in DOMAINS else None)
        prefix = f"{proto.name or outputs[0]}."
        renamed = {name: value for name, value in zip(body.input, [
            (value.name if value is not None else "") for value in node.inputs] + [""] * len(body.input))}
        for name, value in zip(body.input, node.inputs):
            if value is not None:
                renamed[name] = prefix + name
                self.values[prefix + name] = value
        inner = {name: prefix + name for item in body.node for name in item.output}
        inner.update(zip(body.output, outputs))
        renamed.update(inner)
        for item in body.node:
            copy = self.onnx.NodeProto()
            copy.CopyFrom(item)
            copy.name = f"{proto.name}.{item.op_type}"
            for attribute in list(copy.attribute):
                if attribute.ref_attr_name:
                    given = node.attributes.get(attribute.ref_attr_name)
                    name = attribute.name
                    copy.attribute.remove(attribute)
                    if given is not None:
                        added = copy.attribute.add()
                        added.CopyFrom(given)
                        added.name = name
            self.run(copy, scope, prefix, renamed)

    def schema_body(self, node):
        proto = node.proto
        try:
            schema = self.onnx.defs.get_schema(proto.op_type, self.version, "")
        except Exception:
            raise OnnxError(f"ONNX has no operator {proto.op_type} in opset {self.version}", proto) from None
        if getattr(schema, "has_function", False):
            return schema.function_body
        if not getattr(schema, "has_context_dependent_function", False):
            return None
        types = []
        for value in node.inputs:
            if value is None:
                types.append(self.onnx.TypeProto())
                continue
            if value.dtype is None:
                return None
            code = self.onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(value.dtype))
            shape = None if value.shape is None else [item if isinstance(item, int) else None for item in value.shape]
            types.append(self.onnx.helper.make_tensor_type_proto(code, shape))
        try:
            data = schema.get_context_dependent_function(
                proto.SerializeToString(), [item.SerializeToString() for item in types])
        except Exception:
            return None
        body = self.onnx.FunctionProto()
        body.ParseFromString(data)
        return body if body.node else None

    # ---- modules

    def module(self, node, kind, arguments, tensors):
        """A call of a module of torch.nn on the node's first input, if all of its parameters are this node's alone.

        tensors: (key, value, array) of each; arguments: its constructor's text. None: it is none.
        """
        names = tuple(value.name for _, value, _ in tensors)
        path = None
        for key, value, array in tensors:
            if value.known is None or not value.is_float or value.statement is not None:
                return None
            taken = self.taken.get(value)
            if taken is not None and names and (kind, arguments, names) in self.shared:
                return self.shared[kind, arguments, names]  # the same module, called once more
            if value.rank > 1 and (taken is not None or array is not value.known and self.real_uses(value.name) != 1):
                return None
            if value is not tensors[0][1] and self.real_uses(value.name) > 1:
                continue  # exporters keep one of equal tensors, under the first one's name
            if value.path and value.path[-1] == key and len(value.path) > 1:
                if path is None:
                    path = value.path[:-1]
                elif path != value.path[:-1]:
                    return None
        scope = self.scope_of(node.proto)
        if path is None:
            path = scope or (self.plain(node.proto.name or node.proto.output[0]),)
        base, n = path, 2
        while path in self.modules:
            path, n = base[:-1] + (f"{base[-1]}_{n}",), n + 1
        module = Module(path, f"{kind}({arguments})", [(key, array) for key, _, array in tensors])
        self.modules[path] = module
        if names:
            self.shared[kind, arguments, names] = module
        for key, value, array in tensors:
            if array is value.known:
                self.taken.setdefault(value, path + (key,))
        if scope and scope[:len(path)] == path:
            node.scope = path[:-1]
        node.title = path[-1]
        return module

    def real_uses(self, name):
        """How many nodes read a value, also under other names."""
        count = 0
        for node in self.readers.get(name, ()):
            count += self.real_uses(node.output[0]) if node.op_type == "Identity" else 1
        return count

    def alone(self, scope):
        """Whether one node alone stands in a scope, constants aside."""
        if not hasattr(self, "_counts"):
            self._counts = {}
            for node in self.model.graph.node:
                if node.op_type not in ("Constant", "Identity"):
                    path = self.scope_of(node)
                    for length in range(1, len(path) + 1):
                        self._counts[path[:length]] = self._counts.get(path[:length], 0) + 1
        return self._counts.get(scope) == 1

    def constant(self, array):
        """A constant that the file does not have."""
        return Value(f"constant_{len(self.made)}", array.dtype.name, list(array.shape), None, self.made.append(array) or array)

    @staticmethod
    def plain(name):
        text = re.sub(r"\W+", "_", name).strip("_").lower() or "module"
        return text if not text[0].isdigit() else "_" + text
