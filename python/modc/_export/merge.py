"""One class of two whose instances are of one class of Python, but differ by more than numbers.

Where some instances have a module that others lack, or an attribute says which way they go, the class has a condition. Texts are
lines in which each number that instances may differ by is a hole.
"""
import difflib
import re

from torch import nn

HOLE = "\0"
CALL = re.compile(r"[A-Za-z_][\w.]*\(.*\)$")
LONGEST = 140  # of a line
MOST = 5  # differences of two bodies
OPTIONAL = re.compile(rf" if (not )?{HOLE} else (None|\w+\(\))$")
ALIAS = re.compile(r"  (\w+) = (\w+) if self\.\w+ is None else ")  # at the top of a body
ASSIGNED = re.compile(r"(\w+) = (.+)$")


class Line:
    """A line with holes. places: by hole {text (0, 1): position of its number among those of each instance, or the number};
    None: it is that of the condition."""

    def __init__(self, text, places):
        self.text, self.places = text, places


class Condition:
    """Which of two groups of instances an instance is of. name: what is asked, as the class's argument; values: what it has, by
    group and instance; text: by group, the condition in terms of HOLE; child: in forward a module of that name is asked for, or,
    where it is a list, whether it is empty; in_modules: forward has to be the same."""

    def __init__(self, name, values, text, child=None, is_list=False, in_modules=False):
        self.name, self.values, self.text, self.child = name, values, text, child
        self.is_list, self.in_modules = is_list, in_modules

    def of_arguments(self, group):
        return self.text[group]

    def in_forward(self, group):
        if self.is_list:
            return f"len(self.{self.child}) {'>' if group else '=='} 0"
        if self.child is not None:
            return f"self.{self.child} is {'not ' if group else ''}None"
        return self.text[group]


FLAG = (f"not {HOLE}", HOLE)
PLAIN = {"0", "1", "0.0", "1.0", "None", "''"}  # what tells that something is left out


def conditions(groups, names, literal_of):
    """(group that has what the other lacks, Condition whose group 1 this is) that may tell two groups of (path, module) apart, the
    best ones first. names: those of attributes; literal_of: the text of one, or None."""
    children = [[{name for name, child in module._modules.items() if child is not None} for _, module in group]
                for group in groups]
    flags = {more: [["False"] * len(groups[1 - more]), ["True"] * len(groups[more])] for more in (0, 1)}
    names_of_modules = list(dict.fromkeys(name for _, module in groups[0] + groups[1] for name in module._modules
                                          if not name[:1].isdigit()))  # self.2 cannot be asked for
    for name in names_of_modules:
        has = [[name in found for found in group] for group in children]
        for more in (0, 1):
            if all(has[more]) and not any(has[1 - more]):
                yield more, Condition(name, flags[more], FLAG, name)
    for name in names_of_modules:
        lists = [[module._modules.get(name) for _, module in group] for group in groups]
        filled = [[len(child) > 0 if isinstance(child, (nn.ModuleList, nn.Sequential)) else None for child in group]
                  for group in lists]
        for more in (0, 1):
            if set(filled[more]) == {True} and set(filled[1 - more]) == {False}:
                yield more, Condition(name, flags[more], FLAG, name, True)
    for name in names_of_modules:
        kinds = [{type(module._modules.get(name)) for _, module in group} for group in groups]
        for more in (0, 1):
            if kinds[1 - more] == {nn.Identity} and not kinds[more] & {nn.Identity, type(None)}:
                yield more, Condition(name, flags[more], FLAG, in_modules=True)
    others = []
    for name in names:
        values = [[literal_of(getattr(module, name, NotImplemented)) for _, module in group] for group in groups]
        if any(item is None for group in values for item in group) or set(values[0]) & set(values[1]):
            continue
        for more in (0, 1):
            here, there = values[1 - more], values[more]
            if set(here) == {"False"} and set(there) == {"True"}:
                yield more, Condition(name, [here, there], FLAG)
            elif len(set(here)) == 1 and (here[0] in PLAIN or here[0].startswith("'")):
                equal, other = ("is", "is not") if here[0] == "None" else ("==", "!=")
                text = f"{HOLE} {equal} {here[0]}", f"{HOLE} {other} {here[0]}"
                others.append((more, Condition(name, [here, there], text)))
    yield from others


def sections(lines):
    """{header: lines below it} of the text of a class."""
    found, header = {}, None
    for line in lines:
        if not line.startswith(" "):
            header = line
            found[header] = []
        else:
            found[header].append(line)
    return found


def items(lines):
    """{name: (number of its first line, lines)} of what stands below a header."""
    found, name = {}, None
    for i, line in enumerate(lines):
        if not line.startswith("   "):
            name = line.strip().partition(":")[0]
            found[name] = i, []
        found[name][1].append(line)
    return found


def one_line(lines, child):
    """The text of a module as a call; None: it takes more than a line."""
    first = lines[0].strip().partition(": ")[2]
    if len(lines) == 1:
        return first if CALL.match(first) and " if " not in first else None
    parts = [line.strip()[2:] for line in lines[1:] if line.startswith("    - ")]
    if len(parts) != len(lines) - 1 or not all(CALL.match(part) for part in parts):
        return None
    inner = ", ".join(parts)
    return f"Sequential({inner})" if isinstance(child, nn.Sequential) else f"ModuleList([{inner}])"


def depth(line):
    return len(line) - len(line.lstrip())


class Merger:
    """The text of two Definitions as one."""

    def __init__(self, groups, condition):
        self.groups, self.condition = groups, condition
        self.texts = [group.skeleton.split("\n") for group in groups]
        self.children = [group.modules[0][1]._modules for group in groups]
        self.lines, self.regions = [], 0
        self.firsts = []  # by text and line: position of its first number
        for text in self.texts:
            count, firsts = 0, []
            for line in text:
                firsts.append(count)
                count += line.count(HOLE)
            self.firsts.append(firsts)

    def growth(self):
        """In how many places they differ, and how much longer than the longer one it is."""
        return self.regions, len(self.lines) - max(map(len, self.texts))

    def merged(self):
        """Whether they can be one, in `lines`, and to advantage."""
        parts = [sections(text) for text in self.texts]
        starts = [{header: text.index(header) + 1 for header in part} for text, part in zip(self.texts, parts)]
        heads = [[header for header in part if header.startswith("forward(")] for part in parts]
        if [header for header in parts[0] if header not in heads[0] + ["modules:"]] != [
                header for header in parts[1] if header not in heads[1] + ["modules:"]] or len(heads[0]) != len(heads[1]):
            return False
        for header in dict.fromkeys([*parts[0], *parts[1]]):
            if header in heads[0] + heads[1]:
                continue
            bodies = [part.get(header, []) for part in parts]
            self.add(header)
            begin = [start.get(header, 0) for start in starts]
            if header == "modules:":
                if not self.modules(bodies, begin):
                    return False
            elif bodies[0] != bodies[1]:
                return False
            else:
                for i, line in enumerate(bodies[0]):
                    self.both(line, begin[0] + i, begin[1] + i)
        if heads[0]:
            header = self.signature(heads[0][0], heads[1][0])
            if header is None:
                return False
            self.add(header)
            if not self.forward([parts[i][heads[i][0]] for i in (0, 1)], [starts[i][heads[i][0]] for i in (0, 1)]):
                return False
        sizes = [len(text) for text in self.texts]
        if self.regions > MOST or len(self.lines) > max(sizes) + 8 or len(self.lines) > 0.8 * (sum(sizes) + 4):
            return False
        return all(len(line.text) <= LONGEST for line in self.lines)

    # ---- lines and where their numbers are

    def add(self, text):
        self.lines.append(Line(text, []))

    def line(self, *pieces):
        """A line of (text, (text's number, line's number) or None for a condition or nothing)."""
        text = "".join(piece for piece, _ in pieces)
        places = []
        for piece, place in pieces:
            for hole in range(piece.count(HOLE)):
                if place is None:
                    places.append(None)
                else:
                    places.append({which: self.firsts[which][number] + hole for which, number in place})
        self.lines.append(Line(text, places))

    def both(self, text, a, b):
        self.line((text, ((0, a), (1, b))))

    # ---- modules

    def modules(self, bodies, begin):
        have = [items(body) for body in bodies]
        names = self.order(list(have[0]), list(have[1]))
        if names is None:
            return False
        for name in names:
            found = [part.get(name) for part in have]
            if None not in found and found[0][1] == found[1][1]:
                for i, line in enumerate(found[0][1]):
                    self.both(line, begin[0] + found[0][0] + i, begin[1] + found[1][0] + i)
                continue
            if self.is_optional(name, found, begin):
                continue
            calls = [one_line(part[1], self.children[i].get(name)) if part is not None else "None"
                     for i, part in enumerate(found)]
            if None in calls:
                return False
            self.regions += None not in found
            here = 1 if found[1] is not None else 0
            places = [((i, begin[i] + found[i][0]),) if found[i] is not None else None for i in (0, 1)]
            self.line((f"  {name}: ", None), (calls[here], places[here]), (f" if {self.condition.of_arguments(here)} else ", None),
                      (calls[1 - here], places[1 - here]))
        return True

    def is_optional(self, name, found, begin):
        """Whether one group has a module under a condition and the other what is there without it, so that it is one condition."""
        for have, part in enumerate(found):
            match = OPTIONAL.search(part[1][0]) if part is not None and len(part[1]) == 1 else None
            other = found[1 - have]
            if match and match.group(2) == ("None" if other is None else one_line(other[1], self.children[1 - have].get(name))):
                self.line((part[1][0], ((have, begin[have] + part[0]),)))
                self.lines[-1].places[-1][1 - have] = "True" if match.group(1) else "False"
                return True
        return False

    @staticmethod
    def order(here, there):
        """All names, so that both orders are kept; None: they contradict each other."""
        found, rest = [], list(there)
        for name in here:
            if name in rest:
                place = rest.index(name)
                if any(other in here for other in rest[:place]):
                    return None
                found += rest[:place]
                rest = rest[place + 1:]
            elif name in found:
                return None
            found.append(name)
        return found + rest

    # ---- forward

    @staticmethod
    def signature(here, there):
        """The header of both; None: their arguments differ otherwise than by more at the end."""
        lists = [re.match(r"forward\((.*)\): \|$", header).group(1).split(", ") for header in (here, there)]
        lists = [[] if names == [""] else names for names in lists]
        short, long = sorted(lists, key=len)
        plain = [[name.partition("=")[0] for name in names] for names in (short, long)]
        if plain[1][:len(short)] != plain[0]:
            return None
        names = [a if "=" in a else b for a, b in zip(short, long)]
        return f"forward({', '.join(names + [name if '=' in name else name + '=None' for name in long[len(short):]])}): |"

    def renamed(self, bodies, begin):
        """Both bodies as one that assigns `name = other if self.CHILD is None else self.CHILD(other)`, where all else is the same
        but for `name`, which stands for `other` in one of them."""
        here, there = bodies
        if self.condition.child is None or self.condition.is_list or len(there) != len(here) + 1:
            return False
        for position, line in enumerate(there):
            match = ASSIGNED.match(line.strip())
            if match is None or f"self.{self.condition.child}(" not in line:
                continue
            name, value = match.groups()
            rest = there[:position] + there[position + 1:]
            for other in dict.fromkeys(re.findall(r"(?<![.\w])[A-Za-z_]\w*(?![\w(])", value)):
                uses = [i for i, text in enumerate(rest) if re.search(rf"\b{name}\b", text)]
                if other in ("self", name) or not uses or re.search(rf"\b{name}\b", "\n".join(here)) or any(
                        re.sub(rf"\b{name}\b", other, text) != mine for text, mine in zip(rest, here)):
                    continue
                if any(re.match(rf"\s*(?:\w+, )*{other}\b", text) for text in rest[position:uses[-1]]):
                    continue  # `other` is another one then
                self.regions += 1
                for i, text in enumerate(there):
                    if i == position:
                        self.line((f"{' ' * depth(line)}{name} = {other} if {self.condition.in_forward(0)} else ", None),
                                  (value, ((1, begin[1] + i),)))
                    else:
                        self.both(text, begin[0] + i - (i > position), begin[1] + i)
                return True
        return False

    def forward(self, bodies, begin):
        if self.renamed(bodies, begin):
            return True
        alias = self.alias(bodies)
        have, texts = [list(enumerate(body)) for body in bodies], bodies
        if alias is not None:  # everybody has it: the module that it asks for is None in the other group
            which, position, name, other = alias
            del have[which][position]
            texts = [[re.sub(rf"\b{name}\b", other, line) if i == which else line for _, line in part]
                     for i, part in enumerate(have)]
        matcher = difflib.SequenceMatcher(None, *texts, autojunk=False)
        for kind, *spans in matcher.get_opcodes():
            spans = [tuple(spans[:2]), tuple(spans[2:])]
            if alias is not None:
                start, end = spans[which]
                if start < position < end and kind != "equal":
                    return False
                if start <= position < end or start == position == len(have[which]):
                    cut = position - start
                    if kind == "equal":
                        self.equal(have, [(first, first + cut) for first, _ in spans], begin, which)
                        spans = [(first + cut, last) for first, last in spans]
                    self.line((bodies[which][position], ((which, begin[which] + position),)))
                    alias = None
            if kind == "equal":
                self.equal(have, spans, begin, which if texts is not bodies else 0)
                continue
            self.regions += 1
            if self.condition.in_modules:
                return False
            parts = [[(line, i, begin[i] + number) for number, line in have[i][start:end]]
                     for i, (start, end) in enumerate(spans)]
            following = [have[i][end][1] if end < len(have[i]) else "" for i, (_, end) in enumerate(spans)]
            if not self.region(parts, following):
                return False
        return alias is None

    def equal(self, have, spans, begin, which):
        """Lines that both have, in the words of one of them."""
        for pair in zip(*(part[start:end] for part, (start, end) in zip(have, spans))):
            self.both(pair[which][1], begin[0] + pair[0][0], begin[1] + pair[1][0])

    @staticmethod
    def alias(bodies):
        """(which body, position, name, other) of `name = other if self.CHILD is None else ...` in one of two, if the other one
        can have it too, where it says `other`; None."""
        for which, body in enumerate(bodies):
            rest = "\n".join(bodies[1 - which])
            for position, line in enumerate(body):
                match = ALIAS.match(line)
                if match is None or re.search(rf"\b{match.group(1)}\b", rest):
                    continue
                name, other = match.groups()
                uses = [i for i, text in enumerate(body) if i > position and re.search(rf"\b{name}\b", text)]
                if uses and not any(re.match(rf"\s*(?:\w+, )*{other}\b", text) for text in body[position + 1:uses[-1]]):
                    return which, position, name, other
        return None

    def region(self, parts, following):
        """What differs at one place, as two blocks, or as one that assigns by the condition."""
        levels = {depth(line) for part in parts for line, _, _ in part[:1]}
        if len(levels) != 1:
            return False
        level = levels.pop()
        ends = [line for part in parts for line, _, _ in part[-1:]]
        stripped = [line.lstrip() for line in [part[0][0] for part in parts if part] + following]
        if any(line.startswith(("else:", "elif ")) for line in stripped) or any(line.endswith(":") for line in ends) or any(
                depth(line) < level for part in parts for line, _, _ in part) or any(depth(line) > level for line in following):
            return False  # blocks that go on outside of it
        if self.assigned(parts):
            return True
        loop = f" in self.{self.condition.child}:" if self.condition.is_list and not parts[0] else None
        if loop and parts[1][0][0].endswith(loop) and all(depth(line) > level for line, _, _ in parts[1][1:]):  # over nothing
            for line, _, number in parts[1]:
                self.line((line, ((1, number),)))
            return True
        indent = " " * level
        order = (1, 0) if parts[1] else (0, 1)
        for position, which in enumerate(order):
            if position and parts[which] and parts[which][0][0].lstrip().startswith("if ") and all(
                    depth(line) > level for line, _, _ in parts[which][1:]):
                for place, (line, _, number) in enumerate(parts[which]):
                    self.line((line if place else indent + "el" + line.lstrip(), ((which, number),)))
            elif parts[which]:
                head = f"if {self.condition.in_forward(which)}:" if position == 0 else "else:"
                self.line((indent + head, None))
                for line, _, number in parts[which]:
                    self.line(("    " + line, ((which, number),)))
        return True

    def assigned(self, parts):
        """`name = other if ... is None else call`, where one part has a statement more, whose name stands for `other` in it."""
        for more in (0, 1):
            long, short = parts[more], parts[1 - more]
            match = ASSIGNED.match(long[0][0].strip()) if len(long) == len(short) + 1 and short else None
            if match is None:
                continue
            name, value = match.groups()
            words = {other for (line, _, _), (there, _, _) in zip(long[1:], short)
                     for mine, other in zip(re.findall(r"\w+|\W", line), re.findall(r"\w+|\W", there))
                     if mine == name and other != name}
            if len(words) != 1 or not re.match(r"[A-Za-z_]\w*$", next(iter(words))):
                continue
            other = words.pop()
            if any(re.sub(rf"\b{name}\b", other, line) != there for (line, _, _), (there, _, _) in zip(long[1:], short)) \
                    or re.search(rf"\b{name}\b", "\n".join(line for line, _, _ in short)):
                continue
            indent = " " * depth(long[0][0])
            self.line((f"{indent}{name} = {other} if {self.condition.in_forward(1 - more)} else ", None),
                      (value, ((more, long[0][2]),)))
            for (line, _, number), (_, _, there) in zip(long[1:], short):
                self.line((line, ((more, number), (1 - more, there))))
            return True
        return False
