"""Pieces of specs as text: names, lists and mappings of modules, and classes whose instances differ by numbers."""
import re

NAME = re.compile(r"[A-Za-z_]\w*\Z")
# A number or a string in the text of a class: what instances may differ by. Not the axis of a shape nor part of a name.
SLOT = re.compile(r"""(?<![\w.])(?:\d+\.\d*(?:e[+-]?\d+)?|\d+(?:e[+-]?\d+)?|True\b|False\b|None\b)|'(?:[^'\\]|\\.)*'""")
YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"}


def quote(name):
    return name if NAME.match(name) and name.lower() not in YAML_WORDS else f'"{name}"'


def listed(texts, counted=False):
    """Lines of a list, in which equal neighbours that are calls stand once; counted: with their number even if that is 1."""
    lines, i = [], 0
    while i < len(texts):
        text, n = texts[i], 1
        while i + n < len(texts) and isinstance(text, str) and texts[i + n] == text:
            n += 1
        i += n
        if isinstance(text, str):
            lines.append(f"- {n} x {text}" if n > 1 or counted else f"- {text}")
        else:
            lines.append("- " + text[0])
            lines += ["  " + line for line in text[1:]]
    return lines


def mapped(items):
    """Lines of a mapping of (name, text or lines)."""
    lines = []
    for name, text in items:
        if isinstance(text, str):
            lines.append(f"{quote(name)}: {text}")
        elif len(text) == 1 and re.match(r"- \d+ x ", text[0]):
            lines.append(f"{quote(name)}: {text[0][2:]}")
        else:
            lines.append(f"{quote(name)}:")
            lines += ["  " + line for line in text]
    return lines


def model_name(text):
    """The name of a model, after that of its file."""
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return name if re.match(r"[a-z]", name) else "net_" + name if name else "net"
