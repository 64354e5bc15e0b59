"""SentencePiece's map of characters as the normalizer Precompiled takes it: a double array as Darts has it, behind its size, and the
texts that its values point into."""
import struct


def charsmap(mapping):
    """The bytes of a map of texts to texts."""
    root, texts = {}, b""
    for key, text in mapping.items():
        node = root
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(texts)
        texts += text.encode() + b"\0"
    units, used, bases, first, queue = {}, {0}, set(), 1, [(root, 0, 0)]
    for node, at, label in queue:
        labels = [byte for byte in node if byte is not None]
        wanted = labels + [0] * (None in node)
        base = first
        while base in bases or any(base ^ byte in used for byte in wanted): # of two nodes with one base each would have the other's labels
            base += 1
        bases.add(base)
        used.update(base ^ byte for byte in wanted)
        while first in used:
            first += 1
        units[at] = (at ^ base) << 10 | (None in node) << 8 | label
        if None in node:
            units[base] = 1 << 31 | node[None]
        queue += [(node[byte], base ^ byte, byte) for byte in labels]
    size = (max(used) | 255) + 1
    return struct.pack(f"<{size + 1}I", 4 * size, *(units.get(at, 0) for at in range(size))) + texts
