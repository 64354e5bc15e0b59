"""One class of two whose instances are of one class of Python, but differ by more than numbers.

Where some instances have a module that others lack, or an attribute says which way they go, the class has a condition. Texts are
lines in which each number that instances may differ by is a hole.
"""
import difflib
import re

from torch import nn

HOLE = "\0"
CALL = re.compile(r"[A-Za-z_][\w.]*\(.*\)$")
LONGEST = 140  # of a line that not both have
MOST = 5  # differences of two bodies
OPTIONAL = re.compile(rf" if (not )?{HOLE} else (None|\w+\(\))$")
ASSIGNED = re.compile(r"( *)(\w+) = (.+)$")
ALIAS = re.compile(r"(\w+) if self\.(\w+) is None else ")
WORD = re.compile(r"(?<![.\w])(?!self\b)[A-Za-z_]\w*(?![\w(])")


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


def compared(item):
    """The conditions that an attribute is this, and that it is not."""
    equal, other = ("is", "is not") if item == "None" else ("==", "!=")
    return f"{HOLE} {equal} {item}", f"{HOLE} {other} {item}"


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
                others.append((more, Condition(name, [here, there], compared(here[0]))))
    yield from others
    for name in names:  # one that some instances have in vain: for them it is as if they had it not
        values = [[literal_of(getattr(module, name, NotImplemented)) for _, module in group] for group in groups]
        for more in (0, 1):
            lacking = set(values[1 - more]) & PLAIN - set(values[more])
            if len(lacking) == 1 and None not in values[more]:
                none = lacking.pop()
                values[1 - more] = [none] * len(values[1 - more])
                yield more, Condition(name, [values[1 - more], values[more]], compared(none))
                break


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


class Statement:
    """A line of a body with its number; key: what it is compared by."""

    def __init__(self, text, key, number):
        self.text, self.key, self.number = text, key, number


def word(name):
    """The pattern of a local variable, which is no attribute and no argument's name."""
    return rf"(?<![.\w']){name}\b(?!=)"


def is_block(statements, level):
    """Whether all but the first stand below it."""
    return all(depth(statement.text) > level for statement in statements[1:])


def opcodes(parts):
    """How two lists of Statements differ, as difflib says it."""
    keys = [[statement.key for statement in part] for part in parts]
    return difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes()


def different(codes):
    return [code for code in codes if code[0] != "equal"]


class Naming:
    """A statement `name = ...` of one of two bodies, where the other one has `other` for `name`, as one of all instances:
    `name = other if ... else ...`.

    parts: the bodies without it, compared as if `name` were `other`; which: the one that had it; line: it; head, tail: its
    text, with all numbers in the tail; is_new: whether it has a condition now; count: in how many places the bodies differ
    then."""

    def __init__(self, parts, which, position, name, other, head, tail):
        self.which, self.line, self.head, self.tail = which, parts[which][position], head, tail
        self.name, self.other, self.position, self.is_new = name, other, position, bool(head)
        rest = parts[which][:position] + parts[which][position + 1:]
        self.uses = [i for i, statement in enumerate(rest) if re.search(word(name), statement.text)]
        rest = [Statement(statement.text, re.sub(word(name), other, statement.text), statement.number) for statement in rest]
        self.parts = [rest if i == which else part for i, part in enumerate(parts)]
        self.codes = opcodes(self.parts)
        self.count = len(different(self.codes)) + self.is_new
        self.places = self.found_places()

    def found_places(self):
        """Where it is, in both bodies; None: where it is they differ."""
        for _, *spans in self.codes:
            spans = spans[:2], spans[2:]
            (start, end), (there, there_end) = spans[self.which], spans[1 - self.which]
            if self.position in (start, end) or start < self.position < end and end - start == there_end - there:
                place = there_end if self.position == end else there + self.position - start
                return [self.position if i == self.which else place for i in (0, 1)]
        return None

    def holds(self):
        """Whether `other` is the same wherever `name` is read, which is where both bodies agree."""
        rest = self.parts[self.which]
        if self.places is None or self.name == self.other or not self.uses or self.uses[0] < self.position:
            return False
        equal = {i for kind, *spans in self.codes if kind == "equal" for i in range(*(spans[:2], spans[2:])[self.which])}
        if self.is_new and not equal.issuperset(self.uses):
            return False
        until = self.uses[-1]
        if any(statement.text.lstrip().startswith("for ") for statement in rest[self.position:until + 1]):
            until = len(rest)
        return not any(re.match(rf"\s*(?:for )?(?:\w+, )*(?:{self.name}|{self.other})\b", statement.text)
                       for statement in rest[self.position:until])


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
        same = set(self.texts[0]) & set(self.texts[1])
        return all(len(line.text) <= LONGEST or line.text in same for line in self.lines)

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

    def forward(self, bodies, begin):
        parts = [[Statement(line, line, first + number) for number, line in enumerate(body)]
                 for body, first in zip(bodies, begin)]
        naming = self.naming(parts)
        if naming is None:
            return self.statements(parts, 0)
        which, places = naming.which, naming.places
        if not self.statements([part[:place] for part, place in zip(naming.parts, places)], which, naming.line.text):
            return False
        self.line((naming.head, None), (naming.tail, ((which, naming.line.number),)))
        self.regions += naming.is_new
        return self.statements([part[place:] for part, place in zip(naming.parts, places)], which)

    def naming(self, parts):
        """The Naming with which two bodies differ least, and not more than without; None: there is none."""
        texts = ["\n".join(statement.text for statement in part) for part in parts]
        found, least = None, len(different(opcodes(parts)))
        for which, part in enumerate(parts):
            for position, statement in enumerate(part):
                assigned = ASSIGNED.match(statement.text)
                if assigned is None or re.search(word(assigned.group(2)), texts[1 - which]):
                    continue
                for other, head, tail in self.choices(which, *assigned.groups()):
                    naming = Naming(parts, which, position, assigned.group(2), other, head, tail)
                    if naming.holds() and (naming.count < least or found is None and naming.count == least):
                        found, least = naming, naming.count
        return found

    def choices(self, which, indent, name, value):
        """(what the other group has for `name`, head, tail) of `name = value` as a statement of all instances."""
        alias = ALIAS.match(value)
        if alias is not None:  # it is one already, if the module that it asks for is None in the other group
            other, child = alias.groups()
            if all(module._modules.get(child) is None for _, module in self.groups[1 - which].modules):
                yield other, "", f"{indent}{name} = {value}"
        elif not self.condition.in_modules:
            for other in dict.fromkeys(WORD.findall(value)):
                yield other, f"{indent}{name} = {other} if {self.condition.in_forward(1 - which)} else ", value

    def statements(self, parts, which, behind=""):
        """Lines that both have, in the words of one of them, and between them what differs. behind: the line that follows."""
        for kind, *spans in opcodes(parts):
            spans = spans[:2], spans[2:]
            blocks = [part[start:end] for part, (start, end) in zip(parts, spans)]
            if kind == "equal":
                for pair in zip(*blocks):
                    self.both(pair[which].text, *(statement.number for statement in pair))
                continue
            self.regions += 1
            following = [part[end].text if end < len(part) else behind for part, (_, end) in zip(parts, spans)]
            if self.condition.in_modules or not self.region(blocks, following):
                return False
        return True

    def region(self, parts, following):
        """What differs at one place, as two blocks."""
        levels = {depth(part[0].text) for part in parts if part}
        if len(levels) != 1:
            return False
        level = levels.pop()
        begins = [line.lstrip() for line in [part[0].text for part in parts if part] + following]
        if any(line.startswith(("else:", "elif ")) for line in begins) or any(
                part[-1].text.endswith(":") for part in parts if part) or any(
                depth(statement.text) < level for part in parts for statement in part) or any(
                depth(line) > level for line in following):
            return False  # blocks that go on outside of it
        loop = f" in self.{self.condition.child}:" if self.condition.is_list and not parts[0] else None
        if loop and parts[1][0].text.endswith(loop) and is_block(parts[1], level):  # over nothing
            self.block(parts[1], 1)
            return True
        for position, which in enumerate((1, 0) if parts[1] else (0, 1)):
            part = parts[which]
            if position and part and part[0].text.lstrip().startswith("if ") and is_block(part, level):
                self.line((" " * level + "el" + part[0].text.lstrip(), ((which, part[0].number),)))
                self.block(part[1:], which)
            elif part:
                head = f"if {self.condition.in_forward(which)}:" if position == 0 else "else:"
                self.line((" " * level + head, None))
                self.block(part, which, "    ")
        return True

    def block(self, part, which, indent=""):
        for statement in part:
            self.line((indent + statement.text, ((which, statement.number),)))
