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
