"""Tables of a flatbuffer, read out of its bytes. What does not lie in the file is a ValueError.

A table begins with how far behind its vtable it lies; the vtable has, from its fifth byte on, where in the table each field
lies, 0 for one that has its default. Strings, vectors and tables are offsets from where they stand.
"""
import struct


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - self.unpack("<i", at)
        self.entries = (self.unpack("<H", self.vtable) - 4) // 2

    @classmethod
    def root(cls, data):
        return cls(data, cls.offset_in(data, 0))

    @staticmethod
    def offset_in(data, at):
        if at < 0 or at + 4 > len(data):
            raise ValueError(f"it is cut off, or no flatbuffer: byte {at} of {len(data)} is wanted")
        return at + struct.unpack_from("<I", data, at)[0]

    def unpack(self, code, at):
        if at < 0 or at + struct.calcsize(code) > len(self.data):
            raise ValueError(f"it is cut off, or no flatbuffer: byte {at} of {len(self.data)} is wanted")
        return struct.unpack_from(code, self.data, at)[0]

    def place(self, field):
        """Where a field lies; None: it has its default."""
        if field >= self.entries:
            return None
        at = self.unpack("<H", self.vtable + 4 + 2 * field)
        return self.at + at if at else None

    def number(self, field, code, default=0):
        """A number: code 'b', 'B', 'i', 'I', 'q', 'Q', 'f' as of struct."""
        at = self.place(field)
        return default if at is None else self.unpack("<" + code, at)

    def table(self, field):
        """A Table, or None."""
        at = self.place(field)
        return None if at is None else Table(self.data, self.offset_in(self.data, at))

    def vector(self, field, size):
        """(where its elements begin, how many there are) of a vector whose elements have `size` bytes; None: there is none."""
        at = self.place(field)
        if at is None:
            return None
        at = self.offset_in(self.data, at)
        count = self.unpack("<I", at)
        if at + 4 + count * size > len(self.data):
            raise ValueError(f"it is cut off, or no flatbuffer: {count} elements at byte {at} of {len(self.data)}")
        return at + 4, count

    def numbers(self, field, code):
        """A list of numbers; [] where there is no vector."""
        found = self.vector(field, struct.calcsize("<" + code))
        if found is None:
            return []
        return list(struct.unpack_from(f"<{found[1]}{code}", self.data, found[0]))

    def bytes(self, field):
        """A vector of bytes, or a string, as bytes; None: there is none."""
        found = self.vector(field, 1)
        return None if found is None else bytes(self.data[found[0]:found[0] + found[1]])

    def text(self, field):
        return (self.bytes(field) or b"").decode("utf-8", "replace")

    def tables(self, field):
        found = self.vector(field, 4)
        if found is None:
            return []
        return [Table(self.data, self.offset_in(self.data, found[0] + 4 * index)) for index in range(found[1])]
