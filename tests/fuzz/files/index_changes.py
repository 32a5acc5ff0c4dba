"""Changes of index files: of bitmaps, and of what has a checksum, which is made right again."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
from pyroaring import BitMap, BitMap64

from paimon_core.indexes.global_index.blocks import TRAILER_SIZE, seal, unseal
from tests.fuzz.files.bytes_changes import ANY, fitting, hostile_number

_VECTOR_AROUND = 8  # bytes of the size and the checksum of a deletion vector
_MAGIC = 4
_COOKIES = ((12346).to_bytes(4, "little"), (12347).to_bytes(2, "little"))


def change_bitmap(chance: Random, data: bytes) -> bytes:
    """A Roaring bitmap changed where its head says what follows: cookie, counts, keys, cardinalities, offsets."""
    if chance.random() < 0.3 or len(data) < 8:
        return chance.choice(ANY)(chance, data)
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        width = chance.choice((2, 2, 4))
        at = chance.randrange(0, min(len(data), chance.choice((16, 64, len(data)))), 2)
        old = int.from_bytes(data[at : at + width], "little")
        found[at : at + width] = fitting(hostile_number(chance, old), width)
    return bytes(found[: len(data)])


def vector(chance: Random, data: bytes) -> bytes:
    """A deletion vector with a changed bitmap of the same size, whose checksum is right."""
    spans = list(_vectors(data))
    if not spans:
        return data
    start, size = chance.choice(spans)
    body = data[start + 4 : start + 4 + size]
    changed = body[:_MAGIC] + _of_size(change_bitmap(chance, body[_MAGIC:]), size - _MAGIC)
    return _with_vector(data, start, size, changed)


def whole_vector(chance: Random, data: bytes) -> bytes:
    """A deletion vector of other rows: many, none, or beyond the file."""
    spans = list(_vectors(data))
    if not spans:
        return data
    start, size = chance.choice(spans)
    wide = data[start + 4 : start + 8] == (1681511377).to_bytes(4, "little")
    rows = chance.choice(((), (2**31,), (2**32 - 1,), range(2**20), range(0, 2**22, 2)))
    bitmap = BitMap64(rows) if wide else BitMap(rows)
    bitmap.run_optimize()
    changed = data[start + 4 : start + 8] + _of_size(bitmap.serialize(), size - _MAGIC)
    return _with_vector(data, start, size, changed)


def containers(chance: Random, data: bytes) -> bytes:
    """Numbers in the head of a bitmap that lies somewhere in a file."""
    at = [i for cookie in _COOKIES for i in _all(data, cookie)]
    if not at:
        return chance.choice(ANY)(chance, data)
    start = chance.choice(at)
    end = min(len(data), start + 64)
    return data[:start] + change_bitmap(chance, data[start:end]) + data[end:]


def block(chance: Random, data: bytes) -> bytes:
    """A block of a global index with changed content, whose checksum is right."""
    found = _blocks(data)
    if not found:
        return chance.choice(ANY)(chance, data)
    start, end = chance.choice(found)
    kind, body = unseal("", data[start:end])
    new = seal(kind, _of_size(chance.choice(ANY)(chance, body), len(body)))
    return data[:start] + new + data[end:]


VECTOR: tuple[Callable[[Random, bytes], bytes], ...] = (vector, vector, vector, whole_vector)
INDEX = (containers, containers)
BLOCKS = (block, containers)


def _of_size(data: bytes, size: int) -> bytes:
    return data[:size].ljust(size, b"\0")


def _vectors(data: bytes) -> list[tuple[int, int]]:
    """Where vectors begin, and the sizes of their bodies."""
    found, at = [], 1
    while at + _VECTOR_AROUND < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        found.append((at, size))
        at += size + _VECTOR_AROUND
    return found


def _with_vector(data: bytes, start: int, size: int, body: bytes) -> bytes:
    sealed = body + struct.pack(">I", zlib.crc32(body))
    return data[: start + 4] + sealed + data[start + 4 + size + 4 :]


def _all(data: bytes, part: bytes) -> list[int]:
    at, found = data.find(part), []
    while at >= 0:
        found.append(at)
        at = data.find(part, at + 1)
    return found


@cache
def _blocks(data: bytes) -> list[tuple[int, int]]:
    """Where blocks begin and end, found by their checksums."""
    return [(s, e) for e in _ends(data) for s in range(e) if _is_block(data[s:e])]


def _ends(data: bytes) -> list[int]:
    """Where blocks may end: the trailer of one is a codec and a checksum."""
    return [i + TRAILER_SIZE for i in np.flatnonzero(np.frombuffer(data, np.uint8) < 3).tolist()]


def _is_block(data: bytes) -> bool:
    if len(data) <= TRAILER_SIZE:
        return False
    codec, checksum = struct.unpack("<BI", data[-TRAILER_SIZE:])
    return bool(checksum == zlib.crc32(bytes((codec,)), zlib.crc32(data[:-TRAILER_SIZE])))
