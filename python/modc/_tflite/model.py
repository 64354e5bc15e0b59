"""A .tflite file as tensors and operators: what is wrong with it is said here, before anything is made of it.

The numbers of fields, types and operators are those of TensorFlow's schema.fbs, version 3.
"""
import math
import struct
from collections import namedtuple

from modc._errors import Error
from modc._tflite.flatbuffer import Table

OPERATORS = """
    ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
    FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM
    MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
    SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND
    TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT
    LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL
    LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW
    ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
    REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS
    SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG
    ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
    BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE
    HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE
    BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1
    UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
    RIGHT_SHIFT
""".split()
CUSTOM = OPERATORS.index("CUSTOM")
TYPES = {0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 5: "string", 6: "bool", 7: "int16", 8: "complex64",
         9: "int8", 10: "float64", 11: "complex128", 12: "uint64", 13: "resource", 14: "variant", 15: "uint32", 16: "uint16",
         17: "int4", 18: "bfloat16", 19: "int2", 20: "uint4", 21: "float8_e4m3fn", 22: "float8_e5m2"}
BYTES = {"float32": ("f", 4), "int32": ("i", 4), "uint8": ("B", 1), "int64": ("q", 8), "bool": ("?", 1), "int16": ("h", 2),
         "int8": ("b", 1)}
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
MOST = 1 << 31  # elements of a tensor


class TfliteError(Error):
    """What a .tflite file has and modc has not: the operator by its kind and place, the tensor by its name, and what to do."""

    def __init__(self, text, hint=None):
        super().__init__(f"{text}\nhint: {hint}" if hint else text)


class Tensor:
    """index: in the file; data: the bytes of a constant, else None; scales, zeros: of the quantisation, axis: along which."""

    def __init__(self, index, name, shape, dtype, data, scales, zeros, axis):
        self.index, self.name, self.shape, self.dtype, self.data = index, name, shape, dtype, data
        self.scales, self.zeros, self.axis = scales, zeros, axis

    def __str__(self):
        return f"tensor {self.index} '{self.name}'"

    @property
    def count(self):
        return math.prod(self.shape)

    def values(self):
        """The numbers of a constant."""
        code, size = BYTES[self.dtype]
        if self.data is None or len(self.data) != size * self.count:
            raise TfliteError(f"{self} is {self.dtype} {list(self.shape)}, and has "
                              f"{'no' if self.data is None else len(self.data)} bytes of data")
        return list(struct.unpack(f"<{self.count}{code}", self.data))


class Operator:
    """inputs, outputs: Tensors, None for an input that is left out; options: a Table, or None."""

    def __init__(self, index, kind, inputs, outputs, options):
        self.index, self.kind, self.inputs, self.outputs, self.options = index, kind, inputs, outputs, options

    def __str__(self):
        return f"operator {self.index} ({self.kind})"

    def option(self, field, code="b", default=0):
        try:
            return default if self.options is None else self.options.number(field, code, default)
        except ValueError as error:
            raise TfliteError(f"{self}: {error}") from None


Model = namedtuple("Model", "inputs outputs operators")


def read_model(data):
    """The Model of the bytes of a file. TfliteError where they are none."""
    if bytes(data[4:8]) != b"TFL3":
        raise TfliteError("it is no TensorFlow Lite model: bytes 4 to 7 are not TFL3")
    try:
        return read_root(data)
    except (ValueError, struct.error, OverflowError) as error:
        raise TfliteError(f"{error}", "it may have been copied or downloaded in part") from None


def read_root(data):
    root = Table.root(data)
    if root.number(0, "I") != 3:
        raise TfliteError(f"it is of version {root.number(0, 'I')} of the schema; modc reads version 3")
    graphs = root.tables(2)
    if not graphs:
        raise TfliteError("it has no subgraph: no model")
    graph, buffers = graphs[0], root.tables(4)
    tensors = [read_tensor(data, index, table, buffers) for index, table in enumerate(graph.tables(0))]
    kinds = [kind_of(code) for code in root.tables(1)]
    operators = []
    for index, table in enumerate(graph.tables(3)):
        place = table.number(0, "I")
        if place >= len(kinds):
            raise TfliteError(f"operator {index} is of code {place}, of which there are {len(kinds)}")
        title = f"operator {index} ({kinds[place]})"
        operators.append(Operator(index, kinds[place], at_all(tensors, table.numbers(1, "i"), title, absent=True),
                                  at_all(tensors, table.numbers(2, "i"), title), table.table(4)))
    return Model(at_all(tensors, graph.numbers(1, "i"), "the model"), at_all(tensors, graph.numbers(2, "i"), "the model"),
                 operators)


def kind_of(code):
    """The name of an operator; older files have its number in a byte."""
    number = max(code.number(0, "b"), code.number(3, "i"))
    if number == CUSTOM:
        return f"CUSTOM '{code.text(1)}'"
    return OPERATORS[number] if 0 <= number < len(OPERATORS) else f"number {number}"


def at_all(tensors, places, title, absent=False):
    for place in places:
        if not (0 <= place < len(tensors) or absent and place == -1):
            raise TfliteError(f"{title} has tensor {place}, of which there are {len(tensors)}")
    return [None if place < 0 else tensors[place] for place in places]


def read_tensor(data, index, table, buffers):
    name = table.text(3)
    code = table.number(1, "b")
    dtype = TYPES.get(code, f"of type {code}")
    shape = tuple(table.numbers(0, "i"))
    place = table.number(2, "I")
    if place >= len(buffers):
        raise TfliteError(f"tensor {index} '{name}' is in buffer {place}, of which there are {len(buffers)}")
    if any(extent < 0 for extent in shape) or math.prod(shape) >= MOST:
        raise TfliteError(f"tensor {index} '{name}' has the shape {list(shape)}",
                          "shapes are known in a file: the converter fixes them by the shape of the input")
    held = buffers[place].bytes(0) or None
    first, size = buffers[place].number(1, "Q"), buffers[place].number(2, "Q")
    if held is None and first > 1:  # of files above 2 GiB: behind the flatbuffer
        if first + size > len(data):
            raise TfliteError(f"tensor {index} '{name}' lies at {first} to {first + size} of {len(data)} bytes")
        held = bytes(data[first:first + size])
    if table.table(6) is not None:
        raise TfliteError(f"tensor {index} '{name}' is sparse, which modc does not read")
    quantised = table.table(4)
    scales = quantised.numbers(2, "f") if quantised else []
    zeros = quantised.numbers(3, "q") if quantised else []
    axis = quantised.number(6, "i") if quantised else 0
    return Tensor(index, name, shape, dtype, held, scales, zeros, axis)
