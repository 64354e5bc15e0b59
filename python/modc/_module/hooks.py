"""Python's hooks on inner modules, for modc.Module(model, hooks=True)."""
import ctypes

from modc import _library as lib
from modc._arrays import kind_by_name
from modc._context import Context as NetContext

KINDS = (("_forward_pre_hooks", lib.FORWARD_PRE), ("_forward_hooks", lib.FORWARD), ("_backward_pre_hooks", lib.BACKWARD_PRE),
         ("_backward_hooks", lib.BACKWARD))


def registered(model):
    """What tells whether the hooks of a model are others than before."""
    return tuple((name, key, id(hook)) for module in model.modules() for name, _ in KINDS
                 for key, hook in (getattr(module, name, None) or {}).items())


class Hooked:
    """A hook with the module that it is on, in the words of Net's hooks."""

    def __init__(self, module, kind, hook, with_kwargs):
        self.kind, self.flags = kind, 0
        if kind == lib.FORWARD_PRE:
            self.function = (lambda _, args: hook(module, args, {})) if with_kwargs else lambda _, args: hook(module, args)
        elif kind == lib.FORWARD:
            self.function = (lambda _, args, output: hook(module, args, {}, output)) if with_kwargs \
                else lambda _, args, output: hook(module, args, output)
        elif kind == lib.BACKWARD_PRE:
            self.function = lambda _, gradients: hook(module, gradients)
        else:
            self.function = lambda _, of_inputs, of_outputs: hook(module, of_inputs, of_outputs)


class Hooks:
    """Those of one model."""

    def __init__(self, model):
        self.model = model
        self.kind = kind_by_name("torch")

    def attach(self, compiled, context):
        """Registers with a context what is registered with the model now."""
        token = registered(self.model)
        if context.token == token:
            return
        for pointer, _ in context.hooks:
            compiled.library.hook_destroy(pointer)
        context.hooks, context.token = [], token
        numbers = {module["path"]: i for i, module in enumerate(compiled.about["modules"])}
        for path, module in self.model.named_modules():
            for name, kind in KINDS:
                for key, hook in (getattr(module, name, None) or {}).items():
                    if path in numbers:
                        with_kwargs = key in getattr(module, f"{name}_with_kwargs", {})
                        self.add(compiled, context, numbers[path], Hooked(module, kind, hook, with_kwargs))

    def add(self, compiled, context, number, hooked):
        runner = Runner(compiled, self.kind, context)

        def run(call):
            try:
                return runner.run_hook(hooked, call.contents)
            except BaseException as error:  # it goes on in Python when C has ended the call
                context.error = error
                return lib.HOOK_ERROR
        function, pointer = lib.HookFunction(run), ctypes.c_void_p()
        compiled.library.check(compiled.library.hook_create(context.pointer, number, hooked.kind, 0, function, None,
                                                            ctypes.byref(pointer)), "register a hook")
        context.hooks.append((pointer, function))


class Runner:
    """What Net's contexts have that their hooks need."""
    run_hook, replace = NetContext.run_hook, NetContext.replace

    def __init__(self, compiled, kind, context):
        self.kind, self.memory = kind, context
        self.paths = [module["path"] for module in compiled.about["modules"]]

    @property
    def replaced(self):
        return self.memory.replaced
