"""Sets of 64-bit numbers as in `rbm64` columns: a radix tree of the high 48 bits, with leaves that name containers.

    empty: 1 byte, 0; else 1, the tree, the containers                      (little endian, except keys and prefixes)
    tree: leaves: int64 | nodes in pre-order, children by ascending byte
    branch: kind: 1 byte, 0 to 3 | children: int16 | prefix length: 1 byte | prefix | body
        kind 0, up to 4 children: their bytes, reversed | 1, up to 16: reversed by 8
        kind 2, up to 48: 256 slots, 0xff for none, reversed by 8 | 3: a bit for each byte there is, 32 bytes
    leaf: kind: 1 byte, 4 | 3 bytes, 0 | key: 6 bytes, big endian | container: int64
    containers: arrays: int32 | per array: mark: 1 byte, -2 | slots: int32 | per slot: 0, or 1 and the container
    container: kind: 1 byte, 0 runs, 1 bits, 2 numbers | cardinality: int32 | body, as in the portable format
    at the end: containers: int64 | last array: int32 | last slot: int32

Java's class and pyroaring hold the same sets in two formats. Both cut a number into its high bits, which name a
container, and its low 16 bits, which the container holds as a sorted list, as 65,536 bits or as runs, whichever is
smallest. They differ in how containers are found: Java has an adaptive radix tree over the high 48 bits. The portable
format of 64 bits has a list of maps, one for each high 32 bits, and each map lists its containers by the next 16 bits.
The bodies of containers are the same bytes. So this module only exchanges the index: decoding walks the tree for the
keys of its leaves, sorts them and writes the list around the bodies; encoding reads the list that pyroaring wrote and
builds the tree (`_branch`), a node for each byte at which the keys below it differ, of the smallest of four sizes
(`_body`).

Two things need care: Java may keep few numbers as bits, which the portable format does not know (`_container`), and
stores the bodies of branches as words that it fills from the top, so that bytes look reversed (`_reversed_by_8`).
Costs: Python touches containers, never numbers; a set of a million dense numbers has sixteen containers.

Source: RoaringBitmap, `Roaring64Bitmap.serialize` and its package `art`; Roaring bitmaps' format specification.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import numpy as np
from pyroaring import BitMap64

from paimon_core.dataclass import dataclass

_RUNS, _BITS, _NUMBERS, _LEAF = 0, 1, 2, 4
_BODIES = (4, 16, 256, 32)  # bytes of the body of a branch
_SMALL = 4096  # most numbers that a container without runs stores as a list
_BITS_BYTES = 8192
_COOKIE, _RUN_COOKIE, _WITHOUT_OFFSETS = 12346, 12347, 4


@dataclass(frozen=True, slots=True)
class _Container:
    """The numbers of one leaf: their common high 48 bits, and a body with the low 16 bits."""

    key: int
    kind: int
    cardinality: int
    body: bytes

    @property
    def high(self) -> int:
        return self.key >> 16


class _Source:
    """Bytes that are read in order. Raises `ValueError` at their end."""

    def __init__(self, data: bytes):
        self._data, self._offset = data, 0

    def take(self, count: int) -> bytes:
        part = self._data[self._offset : self._offset + count]
        if count < 0 or len(part) < count:
            raise ValueError("it ends too early")
        self._offset += count
        return part

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")


def decode_roaring64(data: bytes) -> BitMap64:
    """Decode a set. Raises `ValueError` for bytes that are not a valid set."""
    source = _Source(data)
    if source.number(1) == 0:
        return BitMap64()
    leaves = _leaves(source)
    slots = _slots(source)
    found = []
    for key, slot in sorted(leaves):
        container = slots.get(slot)
        if container is None:
            raise ValueError(f"it has no container {slot}")
        found.append(_Container(key, *container))
    portable = [(high, list(members)) for high, members in groupby(found, attrgetter("high"))]
    parts = [struct.pack("<Q", len(portable)), *(struct.pack("<I", h) + _portable(members) for h, members in portable)]
    return BitMap64.deserialize(b"".join(parts))


def encode_roaring64(numbers: BitMap64) -> bytes:
    """Encode a set."""
    numbers.run_optimize()
    source = _Source(numbers.serialize())
    found: list[_Container] = []
    for _ in range(source.number(8)):
        found += _from_portable(source.number(4), source)
    if not found:
        return b"\0"
    tree = struct.pack("<q", len(found)) + _branch([c.key.to_bytes(6, "big") for c in found], 0, 0)
    bodies = [struct.pack("<bbi", 1, c.kind, c.cardinality) + c.body for c in found]
    head, tail = struct.pack("<ibi", 1, -2, len(found)), struct.pack("<qii", len(found), 0, len(found) - 1)
    return b"".join([b"\1", tree, head, *bodies, tail])


def _leaves(source: _Source) -> list[tuple[int, int]]:
    """Return the key and the container number of each leaf."""
    source.number(8)
    found, pending = [], 1
    while pending:
        kind, children, prefix = source.number(1), source.number(2), source.number(1)
        pending -= 1
        if kind == _LEAF:
            found.append((int.from_bytes(source.take(6), "big"), source.number(8)))
        elif kind < _LEAF:
            source.take(prefix + _BODIES[kind])
            pending += children
        else:
            raise ValueError(f"it has a node of kind {kind}")
    return found


def _slots(source: _Source) -> dict[int, tuple[int, int, bytes]]:
    """Return the containers by the number with which leaves refer to them: array and slot."""
    found = {}
    for array in range(source.number(4)):
        source.take(1)
        for slot in range(source.number(4)):
            if source.number(1):
                found[array << 32 | slot] = _container(source)
    return found


def _container(source: _Source) -> tuple[int, int, bytes]:
    kind, cardinality = source.number(1), source.number(4)
    if kind == _RUNS:
        runs = source.take(2)
        return kind, cardinality, runs + source.take(4 * int.from_bytes(runs, "little"))
    if kind == _NUMBERS:
        return kind, cardinality, source.take(2 * cardinality)
    if kind != _BITS:
        raise ValueError(f"it has a container of kind {kind}")
    bits = source.take(_BITS_BYTES)
    if cardinality > _SMALL:
        return kind, cardinality, bits
    numbers = np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little"))
    return _NUMBERS, len(numbers), numbers.astype("<u2").tobytes()


def _portable(containers: Sequence[_Container]) -> bytes:
    """Encode the numbers that share their high 32 bits in the portable 32-bit format."""
    runs = [c.kind == _RUNS for c in containers]
    count = len(containers)
    if any(runs):
        flags = np.packbits(np.array(runs), bitorder="little").tobytes()
        head = struct.pack("<HH", _RUN_COOKIE, count - 1) + flags
    else:
        head = struct.pack("<II", _COOKIE, count)
    head += b"".join(struct.pack("<HH", c.key & 0xFFFF, c.cardinality - 1) for c in containers)
    if not any(runs) or count >= _WITHOUT_OFFSETS:
        sizes = [len(c.body) for c in containers]
        starts = np.cumsum([len(head) + 4 * count, *sizes[:-1]])
        head += starts.astype("<u4").tobytes()
    return head + b"".join(c.body for c in containers)


def _from_portable(high: int, source: _Source) -> list[_Container]:
    """Decode the portable 32-bit format, as pyroaring writes it: the reverse of `_portable`."""
    cookie, count = source.number(2), source.number(2) + 1
    has_runs = cookie == _RUN_COOKIE
    if has_runs:
        flags = np.unpackbits(np.frombuffer(source.take((count + 7) // 8), np.uint8), bitorder="little")
    else:
        count = source.number(4)
        flags = np.zeros(count, np.uint8)
    heads = [(source.number(2), source.number(2) + 1) for _ in range(count)]
    if not has_runs or count >= _WITHOUT_OFFSETS:
        source.take(4 * count)
    found = []
    for (low, cardinality), is_run in zip(heads, flags.tolist(), strict=False):
        key = high << 16 | low
        if is_run:
            runs = source.take(2)
            body = runs + source.take(4 * int.from_bytes(runs, "little"))
            found.append(_Container(key, _RUNS, cardinality, body))
        elif cardinality > _SMALL:
            found.append(_Container(key, _BITS, cardinality, source.take(_BITS_BYTES)))
        else:
            found.append(_Container(key, _NUMBERS, cardinality, source.take(2 * cardinality)))
    return found


def _branch(keys: Sequence[bytes], first: int, depth: int) -> bytes:
    """Return the node for ascending keys that are equal up to `depth`, and all nodes below it.

    `first` is the index of the first of these keys among all keys."""
    if len(keys) == 1:
        return struct.pack("<bhb", _LEAF, 0, 0) + keys[0] + struct.pack("<q", first)
    low, high = keys[0], keys[-1]
    split = next(i for i in range(depth, 6) if low[i] != high[i])
    groups = [(byte, list(members)) for byte, members in groupby(keys, lambda key: key[split])]
    kind, body = _body([byte for byte, _ in groups])
    parts = [struct.pack("<bhb", kind, len(groups), split - depth), low[depth:split], body]
    for _, members in groups:
        parts.append(_branch(members, first, split + 1))
        first += len(members)
    return b"".join(parts)


def _body(found: Sequence[int]) -> tuple[int, bytes]:
    """Return the smallest kind of branch that has room for children of these bytes, and the branch's body."""
    count = len(found)
    if count <= 4:
        return 0, bytes(found).ljust(4, b"\0")[::-1]
    if count <= 16:
        return 1, _reversed_by_8(bytes(found).ljust(16, b"\0"))
    if count <= 48:
        slots = bytearray(b"\xff" * 256)
        for slot, byte in enumerate(found):
            slots[byte] = slot
        return 2, _reversed_by_8(bytes(slots))
    bits = np.zeros(256, np.bool_)
    bits[list(found)] = True
    return 3, np.packbits(bits, bitorder="little").tobytes()


def _reversed_by_8(data: bytes) -> bytes:
    return np.frombuffer(data, np.uint8).reshape(-1, 8)[:, ::-1].tobytes()
