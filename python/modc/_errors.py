"""What goes wrong, by who can mend it."""


class Error(Exception):
    """The base of all that modc raises of its own."""


class SpecError(Error):
    """The command refuses the spec; the text is its own, with place, cause and hint."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


class CompilerError(Error):
    """The C compiler is missing or failed; the text is what it printed."""


class CallError(Error):
    """A call returned a status of modc.h, such as MODC_INDEX."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


class ExportError(Error):
    """What cannot be told of a model: where, why, and what to write instead."""

    def __init__(self, cause, place=None, module="", hint=None):
        lines = [f"{place}: error: {cause}" if place else f"error: {cause}"]
        if place and place.text:
            lines.append(f"    {place.text}")
        if module:
            lines.append(f"note: in module '{module}'")
        if hint:
            lines.append(f"hint: {hint}")
        super().__init__("\n".join(lines))
        self.cause, self.place, self.module, self.hint = cause, place, module, hint


class ExportWarning(UserWarning):
    """What an export left out."""


class FileError(Error):
    """A file that holds no weights as they are needed: what it is, and what makes it one that does."""

    def __init__(self, text, hint=None):
        super().__init__(f"{text}\nhint: {hint}" if hint else text)
        self.text, self.hint = text, hint
