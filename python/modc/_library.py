"""A compiled model as ctypes sees it: modc.h and modc_binding.h, by their names."""
import ctypes
import json

from modc._errors import CallError, Error

BINDING = 6
MAX_DIMS = 8
(OK, STALE, ALIGNMENT, WORKSPACE, SIZE, POINTER, HOOK_SHAPE, HOOK_ERROR, INDEX, DIVISION, FILE, FORMAT, KEYS, NAME, READ_ONLY,
 MEMORY, ARGUMENT, CONSUMED, NONFINITE, UNSUPPORTED, BUSY, GPU, FULL, CLOSED) = range(24)
DTYPE_NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
               "complex128")
PARAMETER, PERSISTENT, OPTIONAL, FROZEN = 1, 2, 4, 8  # flags of keys
FORWARD_PRE, FORWARD, BACKWARD_PRE, BACKWARD = range(4)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("ndim", ctypes.c_int), ("dims", ctypes.c_int * MAX_DIMS)]

    def shape(self):
        return tuple(self.dims[:self.ndim])


class HookCall(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), ("model", ctypes.c_void_p), ("module", ctypes.c_int), ("path", ctypes.c_char_p),
                ("user", ctypes.c_void_p),
                ("inputs", ctypes.POINTER(Tensor)), ("input_count", ctypes.c_int),
                ("outputs", ctypes.POINTER(Tensor)), ("output_count", ctypes.c_int),
                ("grad_inputs", ctypes.POINTER(Tensor)), ("grad_input_count", ctypes.c_int),
                ("grad_outputs", ctypes.POINTER(Tensor)), ("grad_output_count", ctypes.c_int)]


class ExternCall(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), ("model", ctypes.c_void_p), ("name", ctypes.c_char_p), ("module", ctypes.c_int),
                ("path", ctypes.c_char_p), ("training", ctypes.c_bool), ("user", ctypes.c_void_p),
                ("inputs", ctypes.POINTER(Tensor)), ("input_count", ctypes.c_int),
                ("outputs", ctypes.POINTER(Tensor)), ("output_count", ctypes.c_int),
                ("results", ctypes.POINTER(Tensor)), ("grad_outputs", ctypes.POINTER(Tensor)),
                ("grad_inputs", ctypes.POINTER(Tensor))]


ExternFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ExternCall))


class Extern(ctypes.Structure):
    _fields_ = [("call", ExternFunction), ("backward", ExternFunction), ("user", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("next", ctypes.c_void_p), ("list", ctypes.c_void_p)]


class Frame(ctypes.Structure):
    """What a call and its backward take; the arrays are others' to keep."""
    _fields_ = [("net", ctypes.c_void_p), ("sizes", ctypes.c_void_p), ("inputs", ctypes.c_void_p), ("outputs", ctypes.c_void_p),
                ("output_gradients", ctypes.c_void_p), ("input_gradients", ctypes.c_void_p), ("gradients", ctypes.c_void_p),
                ("entry", ctypes.c_int), ("absent", ctypes.c_int)]


class Event(ctypes.Structure):
    """What a step tells of a sequence."""
    _fields_ = [("sequence", ctypes.c_int), ("token", ctypes.c_int64), ("log_prob", ctypes.c_float), ("text", ctypes.c_void_p),
                ("bytes", ctypes.c_int), ("finish", ctypes.c_int), ("status", ctypes.c_int), ("top", ctypes.c_void_p),
                ("top_count", ctypes.c_int)]


class Prompts(ctypes.Structure):
    _fields_ = [("ids", ctypes.c_void_p), ("offsets", ctypes.c_void_p), ("count", ctypes.c_int),
                ("sources", ctypes.c_void_p), ("source_offsets", ctypes.c_void_p), ("source_count", ctypes.c_int)]


class Responses(ctypes.Structure):
    _fields_ = [("ids", ctypes.c_void_p), ("log_probs", ctypes.c_void_p), ("lengths", ctypes.c_void_p),
                ("finishes", ctypes.c_void_p), ("scores", ctypes.c_void_p), ("room", ctypes.c_int), ("pad", ctypes.c_int64)]


class Words(ctypes.Structure):
    """struct modc_text."""
    _fields_ = [("data", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class Turn(ctypes.Structure):
    _fields_ = [("role", Words), ("content", Words), ("name", Words), ("reasoning_content", Words)]


class Date(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("year", "month", "day", "hour", "minute", "second")]


class Chat(ctypes.Structure):
    _fields_ = [("add_generation_prompt", ctypes.c_bool), ("continue_final_message", ctypes.c_bool), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_size_t), ("spans", ctypes.c_void_p), ("span_room", ctypes.c_int),
                ("now", ctypes.POINTER(Date)), ("span_count", ctypes.c_int), ("workspace_needed", ctypes.c_size_t),
                ("refusal", Words)]


class QueueSettings(ctypes.Structure):
    _fields_ = [("min_batch_size", ctypes.c_int), ("max_batch_size", ctypes.c_int), ("batching_timeout", ctypes.c_double),
                ("max_queue", ctypes.c_int), ("max_tokens", ctypes.c_int), ("max_return_sequences", ctypes.c_int),
                ("max_beams", ctypes.c_int)]


class QueueItem(ctypes.Structure):
    _fields_ = [("ids", ctypes.c_void_p), ("count", ctypes.c_int), ("source", ctypes.c_void_p), ("source_count", ctypes.c_int),
                ("options", ctypes.c_void_p), ("number", ctypes.c_uint64), ("listener", ctypes.c_void_p), ("user", ctypes.c_void_p)]


class QueueResult(ctypes.Structure):
    _fields_ = [("responses", Responses), ("status", ctypes.c_int), ("queued", ctypes.c_double), ("took", ctypes.c_double)]


class QueueState(ctypes.Structure):
    _fields_ = [("batching_enabled", ctypes.c_bool), ("min_batch_size", ctypes.c_int), ("max_batch_size", ctypes.c_int),
                ("queue_size", ctypes.c_int), ("processing", ctypes.c_bool), ("pending_futures", ctypes.c_int),
                ("timeout", ctypes.c_double), ("running", ctypes.c_int), ("finished", ctypes.c_int), ("calls", ctypes.c_uint64),
                ("tokens", ctypes.c_uint64)]


class News(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("ticket", ctypes.c_uint64), ("row", ctypes.c_int), ("finish", ctypes.c_int),
                ("status", ctypes.c_int), ("token", ctypes.c_int64), ("log_prob", ctypes.c_float), ("bytes", ctypes.c_int),
                ("text", ctypes.c_void_p), ("ended", ctypes.c_bool)]


ListenerFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Event))
LambdaFunction = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_int, ctypes.c_void_p)
HookFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(HookCall))

_P, _I, _U, _S, _T, _D = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_double
_FUNCTIONS = {  # result, arguments
    "modc_binding_version": (_I,),
    "modc_binding_model": (_P,),
    "modc_binding_describe": (_S, _P, _S),
    "modc_binding_print": (_S, _P, _S),
    "modc_binding_key": (_P, _P, _I),
    "modc_binding_refresh": (_I, _P),
    "modc_binding_backward": (_I, _P, _I, _P, _P, _P),
    "modc_binding_unmet": (_T, _P),
    "modc_binding_shape": (None, _I, _P, _I, _P),
    "modc_binding_fault": (None, _P, _P),
    "modc_binding_train_step": (_I, _P, _P, _P, _P),
    "modc_binding_hook_create": (_I, _P, _I, _I, ctypes.c_uint, HookFunction, _P, _P),
    "modc_binding_hook_destroy": (None, _P),
    "modc_binding_load": (_I, _P, _T, _P, _S, ctypes.c_uint, _P),
    "modc_binding_report": (_S, _P, _P, _S),
    "modc_binding_report_print": (_S, _P, _P, _S),
    "modc_binding_report_destroy": (None, _P),
    "modc_binding_params_create": (_I, _P, _S, _P),
    "modc_binding_read_only": (ctypes.c_bool, _P),
    "modc_binding_params_over": (_I, _P, _P),
    "modc_binding_point": (None, _P, _P),
    "modc_binding_lend_create": (_I, _P, _P),
    "modc_binding_run": (_I, ...),  # a byref(Frame), which is not looked at: that takes as long as the rest of the call
    "modc_binding_run_backward": (_I, ...),
    "modc_binding_optimizer": (_P, _P),
    "modc_binding_optimizer_reset": (_I, _P),
    "modc_binding_optimizer_state": (None, _P, _P),
    "modc_binding_initial_lr": (_D, _P, _I),
    "modc_binding_schedule_step": (_I, _P, _D),
    "modc_binding_schedule_lambda": (None, _P, _P),
    "modc_binding_generator_create": (_I, _P, _P),
    "modc_binding_generator_destroy": (None, _P),
    "modc_binding_generator_message": (_T, _P),
    "modc_binding_options_create": (_I, _P),
    "modc_binding_options_set": (_I, _P, _T, _T, _P, _S),
    "modc_binding_options_destroy": (None, _P),
    "modc_binding_options_about": (None, _P, _P),
    "modc_binding_write": (_I, _P, _P, _P, _P, ListenerFunction, _P),
    "modc_binding_queue_create": (_I, _P, _P, _P, _S, _P),
    "modc_binding_queue_of": (_P, _P),
    "modc_binding_queue_submit": (_I, _P, _P, _U, ctypes.c_bool, _D, _P, _P, _S),
    "modc_binding_queue_next": (None, _P, _P),
    "modc_binding_queue_close": (None, _P, ctypes.c_bool),
    "modc_binding_queue_destroy": (None, _P),
    "modc_queue_wait": (_I, _P, _U, _D, _P),
    "modc_queue_cancel": (_I, _P, _U),
    "modc_queue_cancel_all": (None, _P),
    "modc_queue_flush": (None, _P),
    "modc_queue_get_state": (None, _P, _P),
    "modc_binding_encode": (_I, _T, _S, ctypes.c_uint, _P, _P, _I, _P),
    "modc_binding_chat": (_I, _P, _I, _P, _P, _S, _P, _P, _S),
    "modc_binding_decode": (_I, _P, _I, ctypes.c_uint, _P, _S, _P),
    "modc_generation_check": (_I, _P, _I, _P, _S),
    "modc_generation_length": (_I, _P, _I),
    "modc_generator_score": (_I, _P, _P, _I, _P),
    "modc_generator_score_source": (_I, _P, _P, _I, _P, _I, _P, _P),
    "modc_generator_logits": (_I, _P, _P, _I, _P),
    "modc_generator_begin": (_I, _P, _P, _I, _P, _U, _P),
    "modc_generator_encode": (_I, _P, _I, _P, _I),
    "modc_generator_step": (_I, _P, _P, _I, _P),
    "modc_generator_active": (_I, _P),
    "modc_generator_extend": (_I, _P, _I, _P, _I),
    "modc_generator_fork": (_I, _P, _I, _U, _P),
    "modc_generator_ids": (_P, _P, _I, _P, _P),
    "modc_generator_end": (_I, _P, _I),
    "modc_optimizer_update": (_I, _P),
    "modc_optimizer_get": (_I, _P, _I, _T, _P),
    "modc_optimizer_set": (_I, _P, _I, _T, _D),
    "modc_optimizer_save": (_I, _P, _T),
    "modc_optimizer_load": (_I, _P, _T, _P),
    "modc_average_swap": (_I, _P),
    "modc_clip_grad_norm": (_I, _P, _D, _D, ctypes.c_bool, _P),
    "modc_clip_grad_value": (_I, _P, _D),
    "modc_status_text": (_T, _I),
    "modc_params_destroy": (None, _P),
    "modc_changed": (None, _P),
    "modc_reset": (_I, _P, _U),
    "modc_get": (_I, _P, _I, _P),
    "modc_save": (_I, _P, _T),
    "modc_save_bytes": (_I, _P, _P, _S, _P),
    "modc_create": (_I, _P, _P, _S, _P),
    "modc_destroy": (None, _P),
    "modc_train": (None, _P, ctypes.c_bool),
    "modc_seed": (_I, _P, _U),
    "modc_state": (_P, _P, _I),
    "modc_reset_state": (_I, _P),
    "modc_set_grad_enabled": (None, _P, ctypes.c_bool),
    "modc_training_create": (_I, _P, _P),
    "modc_training_destroy": (None, _P),
    "modc_requires_grad": (_I, _P, _T, ctypes.c_bool),
    "modc_zero_grad": (None, _P, ctypes.c_bool),
    "modc_gradient_at": (_P, _P, _I),
    "modc_pool_create": (_I, _I, _P),
    "modc_pool_destroy": (None, _P),
    "modc_set_executor": (_I, _P, _P),
    "modc_set_extern": (_I, _P, _T, ctypes.POINTER(Extern)),
}


class Library:
    """The functions of one shared library, and `about`: what it says of its model."""

    def __init__(self, path):
        self.path = path
        self.c = ctypes.CDLL(str(path))
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self.c, name)
            function.restype = result
            if ... not in arguments:
                function.argtypes = arguments
            setattr(self, name.replace("modc_binding_", "").replace("modc_", ""), function)
        if self.version() != BINDING:
            raise Error(f"{path} has version {self.version()} of the binding, this package knows {BINDING}: "
                        "remove it from the cache")
        self.about = self.json(self.describe)
        if [self.about[f"{name}_bytes"] for name in ("hook", "tensor", "extern")] != [
                ctypes.sizeof(kind) for kind in (HookCall, Tensor, ExternCall)]:
            raise Error(f"{path} was compiled with other limits than modc.h has")
        said = self.about.get("generation")
        if said and [said[f"{name}_bytes"] for name in ("event", "prompts", "responses", "turn", "chat", "settings", "item", "result",
                                                        "state", "news")] != [
                ctypes.sizeof(kind) for kind in (Event, Prompts, Responses, Turn, Chat, QueueSettings, QueueItem, QueueResult,
                                                 QueueState, News)]:
            raise Error(f"{path} was compiled with another modc_generation.h")

    def holding_lock(self, name, result):
        """A function that is called without giving the interpreter's lock away."""
        function = getattr(ctypes.PyDLL(str(self.path)), name)
        function.restype = result
        return function

    @staticmethod
    def text(function, *arguments):
        """What a function writes that returns the length of its text."""
        length = function(*arguments, None, 0)
        buffer = ctypes.create_string_buffer(length + 1)
        function(*arguments, buffer, length + 1)
        return buffer.value.decode("utf-8", "replace")

    def json(self, function, *arguments):
        return json.loads(self.text(function, *arguments))

    def status(self, status):
        return self.status_text(status).decode()

    def fail(self, context, status, before="", place="{}"):
        """Raises what a call of a context ended with: `before`, the status, and where it was, as `place` has the module's path."""
        fault = (ctypes.c_int64 * 3)()
        self.fault(context, fault)
        where = self.about["modules"][fault[0]]["path"] if fault[0] >= 0 else ""
        text = before + self.status(status) + (f", in {place.format(where)}" if where else "")
        if status == INDEX:
            raise IndexError(f"{text}: {fault[2]} at position {fault[1]}")
        if status == DIVISION:
            raise ZeroDivisionError(f"{text}, at position {fault[1]}")
        raise CallError(text, status)

    def check(self, status, what):
        if status != OK:
            raise CallError(f"{what}: {self.status(status)}", status)
