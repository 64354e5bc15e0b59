"""What modc.Module does when it cannot run a module: exceptions by cause, and for which of them PyTorch takes over."""
import enum
import os
import sys
import warnings

from modc._errors import Error


def warn(text):
    """A warning at the line that called, outside of this package and of PyTorch."""
    packages = os.path.dirname(os.path.abspath(__file__)), os.path.dirname(sys.modules["torch"].__file__)
    own, frame, level = tuple(package + os.sep for package in packages), sys._getframe(), 1
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(own):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)


class ModuleFallbackException(Error):
    """The base of what modc.Module raises of its own."""


class ModuleInitException(ModuleFallbackException):
    """It cannot begin: the command is missing, or PyTorch is too old."""


class ModuleDeviceException(ModuleFallbackException):
    """The model or its inputs lie on a device that modc does not compute on."""


class ModuleIOError(ModuleFallbackException):
    """Arguments or results have a type that modc does not take."""


class ModuleTorchModelException(ModuleFallbackException):
    """The module does something that cannot be told in a spec."""


class ModuleSpecException(ModuleFallbackException):
    """modc or the C compiler refuses the spec of the module, or its numbers are not PyTorch's."""


class FallbackPolicy(enum.IntFlag):
    """For which exceptions the module runs in PyTorch from then on. Those that are not covered are raised."""
    FALLBACK_DISABLE = 1
    FORCE_TORCH_FORWARD = 2
    FORCE_TORCH_BACKWARD = 4
    UNSUPPORTED_DEVICE = 8
    UNSUPPORTED_DATA = 16
    UNSUPPORTED_TORCH_MODEL = 32
    UNSUPPORTED_SPEC = 64
    BAD_INITIALIZATION = 128


_ALL = (ModuleFallbackException, ModuleDeviceException, ModuleIOError, ModuleTorchModelException, ModuleSpecException)
COVERED = {  # exactly these classes, not those that derive from them
    FallbackPolicy.FALLBACK_DISABLE: (),
    FallbackPolicy.FORCE_TORCH_FORWARD: _ALL,
    FallbackPolicy.FORCE_TORCH_BACKWARD: _ALL,
    FallbackPolicy.UNSUPPORTED_DEVICE: (ModuleDeviceException,),
    FallbackPolicy.UNSUPPORTED_DATA: (ModuleIOError,),
    FallbackPolicy.UNSUPPORTED_TORCH_MODEL: (ModuleTorchModelException,),
    FallbackPolicy.UNSUPPORTED_SPEC: (ModuleSpecException,),
    FallbackPolicy.BAD_INITIALIZATION: (ModuleInitException, ModuleTorchModelException),
}
DEFAULT = FallbackPolicy.UNSUPPORTED_DEVICE | FallbackPolicy.UNSUPPORTED_DATA | FallbackPolicy.UNSUPPORTED_TORCH_MODEL \
    | FallbackPolicy.UNSUPPORTED_SPEC


def policy_of(text):
    """A policy as $MODC_FALLBACK_POLICY has it: a number, or names with | between them."""
    try:
        number = int(text, 0)
    except ValueError:
        number = 0
        for name in text.replace("|", " ").replace(",", " ").split():
            if name not in FallbackPolicy.__members__:
                raise ValueError(f"MODC_FALLBACK_POLICY: '{name}' is no policy: {', '.join(FallbackPolicy.__members__)}") from None
            number |= FallbackPolicy[name]
    if not 0 < number < 256:
        raise ValueError(f"MODC_FALLBACK_POLICY is {number}, which is no sum of policies: from 1 to 255")
    return FallbackPolicy(number)


def truth_of(name, text):
    """1 or 0, in words too."""
    known = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if text.lower() not in known:
        raise ValueError(f"{name} is '{text}', not 1 or 0")
    return known[text.lower()]


class Fallback:
    """Of one module: its policy, and the exception because of which it runs in PyTorch."""

    def __init__(self, policy=None, retry=None):
        text, again = os.environ.get("MODC_FALLBACK_POLICY"), os.environ.get("MODC_FALLBACK_RETRY")
        self.policy = policy_of(text) if text else FallbackPolicy(DEFAULT if policy is None else policy)
        self.retry = truth_of("MODC_FALLBACK_RETRY", again) if again else bool(retry)
        self.repeats = self.covers(Exception(), backward=True)  # whether PyTorch may have to run a call again for its backward
        self.reason, self.warned = None, False

    def covers(self, exception, backward=False):
        """Whether PyTorch takes over after this exception."""
        policy = self.policy
        if policy & FallbackPolicy.FALLBACK_DISABLE:
            return False
        force = FallbackPolicy.FORCE_TORCH_BACKWARD if backward else FallbackPolicy.FORCE_TORCH_FORWARD
        if policy & force and isinstance(exception, Exception):
            return True
        other = FallbackPolicy.FORCE_TORCH_FORWARD | FallbackPolicy.FORCE_TORCH_BACKWARD
        return any(policy & bit and type(exception) in classes for bit, classes in COVERED.items() if not bit & other)

    def take(self, exception):
        """Says once why PyTorch runs the module; it goes on to, unless each step tries again."""
        if not self.warned:
            self.warned = True
            then = "tried again at the next call" if self.retry else "from now on"
            warn(f"modc.Module runs this module in PyTorch ({then}): {type(exception).__name__}: {exception}")
        if not self.retry:
            self.reason = exception
