"""The offsets of the fields of coded Avro records, found for all records at once.

Problem: a manifest is a sequence of blocks full of records. A record has neither a length nor a mark: it ends where its
last field does, and a reader must pass each field to find the next. Decoding record by record costs a few microseconds
of Python for each field, although a plan needs only a handful of columns.

Representation: one buffer has the content of all blocks, followed by `PADDING` zeros. A column is an array with the
offset of each record's value, or `NULL` (-1) if the union is null. Values are decoded only on request: `Coded` reads
numbers, lengths and bytes at all offsets in a few numpy calls.

How records are found: the second record begins where the first one ends, so records cannot simply be passed side by
side. Instead, every offset at which a record could begin is a candidate; the caller knows what its first bytes look
like. All candidates are followed field by field in step, whatever lies there, and this gives each an end. The records
are the candidates that are reached from offset 0 by going from end to beginning; `_reached` finds them by doubling the
steps. False candidates are few, and are dropped.

Invariants: offsets stay within the content. `sound` marks the candidates that may still be records; the others end at
-1, so that no record is reached through them. The records must cover the content exactly, and their number must be the
number that the blocks announce. Rare but legal Avro (a column of several types, arrays of several blocks) raises
`UnusualError`, and the caller decodes record by record. This module may give up, but must never return other values.

Types: plain schemas (`manifests.avro_resolution`). A column that is read is a record, a number (int, long:
zigzag-coded varints, seven bits per byte), bytes or a string (length, content), an array, or a union of one of these
with null. A field that is skipped may have any type. Source: Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import int64_array
from paimon_core.dataclass import dataclass

Offsets = NDArray[np.int64] | NDArray[np.int32]
Path = tuple[str, ...]
END = "]"  # after the path of an array: the offset of its end
NULL = -1  # as an offset: the last byte, which is one of the zeros after the content
PADDING = 16
_LONGEST_ARRAY = 2**16
_STEP = 2**21  # bytes of content to follow at once: they stay in a processor's cache
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_MOST_BRANCHES = 64  # one byte holds the index of a branch
_SEVEN, _ONE = np.uint64(7), np.uint64(1)


class UnusualError(Exception):
    """The records may be legal, but cannot be followed in parallel: the caller must decode them one by one."""


class Coded:
    """Encoded records: bytes, followed by `PADDING` zeros. Numbers are read at many offsets at once."""

    def __init__(self, content: NDArray[np.uint8]) -> None:
        self.size, self.bytes = len(content) - PADDING, content
        # The array has a word at every byte, so one gather reads eight bytes.
        self.words = np.ndarray((self.size + PADDING - 8,), dtype="<u8", buffer=content.data, strides=(1,))

    def numbers(self, offsets: Offsets) -> tuple[NDArray[np.int64], Offsets]:
        """Return the numbers at the offsets, and the offset after each number."""
        first = self.bytes[offsets]
        if not (first >= 0x80).any():
            small = first.astype(np.int64)
            return (small >> 1) ^ -(small & 1), offsets + 1
        words = self.words[offsets]
        lengths = _number_lengths(words)
        if not lengths.all():
            return self._long_numbers(offsets)
        return _zigzag(_packed(words & _LOW_BYTES[lengths])), offsets + lengths

    def behind_numbers(self, offsets: Offsets) -> Offsets:
        """Return the offsets after the numbers that begin at the offsets."""
        if not (self.bytes[offsets] >= 0x80).any():
            return offsets + 1
        lengths = _number_lengths(self.words[offsets])
        return offsets + lengths if lengths.all() else self._long_numbers(offsets)[1]

    def _long_numbers(self, offsets: Offsets) -> tuple[NDArray[np.int64], Offsets]:
        """Read numbers of up to ten bytes, like `numbers`. Longer numbers end after the content."""
        value, going, ends = (
            np.zeros(len(offsets), dtype=np.uint64),
            np.ones(len(offsets), dtype=np.bool_),
            offsets.copy(),
        )
        for i in range(10):
            byte = self.bytes[np.minimum(offsets + i, self.size)].astype(np.uint64)
            value |= np.where(going, (byte & np.uint64(0x7F)) << np.uint64(7 * i), np.uint64(0))
            ends += going
            going &= byte >= 0x80
        return _zigzag(value), np.where(going, self.size + 1, ends)

    def slices(self, offsets: Offsets) -> tuple[Offsets, NDArray[np.int64]]:
        """Return the starts and lengths of the bytes or strings at the offsets."""
        lengths, starts = self.numbers(offsets)
        return starts, lengths

    def binary(self, starts: Offsets, lengths: NDArray[np.int64]) -> pa.Array:
        """Return an Arrow column of parts of the content. The parts must ascend and not overlap."""
        offsets = np.empty(2 * len(starts) + 1, dtype=np.int32)
        offsets[:-1:2], offsets[1::2] = starts, starts + lengths
        offsets[-1] = offsets[-2] if len(starts) else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.bytes)]
        spaced = pa.Array.from_buffers(pa.binary(), 2 * len(starts), buffers)
        return pc.take(spaced, int64_array(np.arange(0, 2 * len(starts), 2)))


@dataclass(frozen=True, slots=True)
class RecordOffsets:
    """The starts and ends of records, and of their fields; arrays have shape (records,).

    `fields` has the start of each value by path, after the branch of its union, and `NULL` for NULL. Paths of skipped
    fields, and of fields without any value, are missing."""

    coded: Coded
    starts: Offsets
    ends: Offsets
    fields: Mapping[Path, Offsets]


def find_records(
    avro: Any, coded: Coded, count: int, candidates: Callable[[Coded, int, int], Offsets]
) -> RecordOffsets:
    """Find the `count` records of a plain schema. `candidates` returns the ascending offsets in a range at which a
    record may begin.

    Raises `UnusualError` if the records found do not cover the content exactly.
    """
    if coded.size >= 2**31:
        raise UnusualError
    parts = [_follow(avro, coded, candidates(coded, low, low + _STEP)) for low in range(0, coded.size, _STEP)]
    starts, ends = (_joined([getattr(p, name) for p in parts]) for name in ("starts", "ends"))
    kept = _reached(starts, ends, coded.size)
    if len(kept) != count:
        raise UnusualError
    fields = {}
    for path in dict.fromkeys(path for p in parts for path in p.fields):
        found = _joined([p.fields[path] if path in p.fields else np.full(len(p.starts), NULL) for p in parts])
        fields[path] = found if len(kept) == len(starts) else found[kept]
    return RecordOffsets(coded, starts[kept], ends[kept], fields)


def _follow(avro: Any, coded: Coded, starts: Offsets) -> RecordOffsets:
    """Follow the candidates at the offsets, whatever their bytes are.

    A candidate that cannot be a record ends at -1.
    """
    found: dict[Path, Offsets] = {}
    sound = np.ones(len(starts), dtype=np.bool_)
    ends, sound = _Steps(coded, found).after(avro, starts, (), sound, required=True)
    return RecordOffsets(coded, starts, np.where(sound, ends, -1), found)


def _joined(parts: list[Offsets]) -> NDArray[np.int32]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts], dtype=np.int32, casting="unsafe")


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps over values.

    A step gets the starts of values and the mask of sound candidates, and returns the ends of the values. It records
    the starts by path, unless the path is `None`."""

    coded: Coded
    found: dict[Path, Offsets]

    def after(
        self, avro: Any, at: Offsets, path: Path | None, sound: NDArray[np.bool_], *, required: bool = False
    ) -> tuple[Offsets, NDArray[np.bool_]]:
        if isinstance(avro, list):
            return self._union(avro, at, path, sound, required=required)
        kind = avro["type"] if isinstance(avro, dict) else avro
        if kind == "record":
            if path is not None and "other" in avro and sound.any():
                raise UnusualError
            for field in avro["fields"]:
                inner = None if path is None or "skipped" in field else (*path, field["name"])
                at, sound = self.after(field["type"], at, inner, sound, required=field.get("required", False))
            return at, sound
        if path is not None and kind != "null":
            self.found[path] = at
        ends, sound = self._leaf(avro, kind, at, sound)
        if kind == "array" and path is not None:
            self.found[*path, END] = ends
        return ends, sound

    def _leaf(self, avro: Any, kind: str, at: Offsets, sound: NDArray[np.bool_]) -> tuple[Offsets, NDArray[np.bool_]]:
        match kind:
            case "int" | "long":
                return self._bounded(self.coded.behind_numbers(at), sound)
            case "bytes" | "string":
                lengths, starts = self.coded.numbers(at)
                inside = (lengths >= 0) & (lengths <= self.coded.size)
                return self._bounded(starts + np.where(inside, lengths, 0), sound & inside)
            case "array":
                return self._array(avro, at, sound)
            case "fixed":
                return self._bounded(at + min(avro["size"], self.coded.size + 1), sound)
            case "boolean":
                sound = sound & (self.coded.bytes[at] <= 1)
        return self._bounded(at + _SIZES[kind], sound)

    def _union(
        self, avro: list[Any], at: Offsets, path: Path | None, sound: NDArray[np.bool_], *, required: bool
    ) -> tuple[Offsets, NDArray[np.bool_]]:
        if path is None:
            return self._any_branch(avro, at, sound)
        if len(avro) != 2 or "null" not in avro:
            raise UnusualError
        branch = 1 - avro.index("null")
        mark = self.coded.bytes[at]
        there = mark == 2 * branch
        ends, sound = self._bounded(at + 1, sound & (there if required else (mark == 0) | (mark == 2)))
        if required or there.all():
            return self.after(avro[branch], ends, path, sound)
        inner = dict[Path, Offsets]()
        rows = np.flatnonzero(there)
        if not rows.size:
            return ends, sound
        ends[rows], sound[rows] = _Steps(self.coded, inner).after(avro[branch], ends[rows], path, sound[rows])
        for name, offsets in inner.items():
            self.found[name] = np.full(len(at), NULL)
            self.found[name][rows] = offsets
        return ends, sound

    def _any_branch(self, avro: list[Any], at: Offsets, sound: NDArray[np.bool_]) -> tuple[Offsets, NDArray[np.bool_]]:
        """Step over values of any union."""
        if len(avro) > _MOST_BRANCHES:
            raise UnusualError
        mark = self.coded.bytes[at]
        ends, sound = self._bounded(at + 1, sound & (mark % 2 == 0) & (mark < 2 * len(avro)))
        for branch, kind in enumerate(avro):
            rows = np.flatnonzero(mark == 2 * branch) if kind != "null" else ()
            if len(rows):
                ends[rows], sound[rows] = self.after(kind, ends[rows], None, sound[rows])
        return ends, sound

    def _array(self, avro: Any, at: Offsets, sound: NDArray[np.bool_]) -> tuple[Offsets, NDArray[np.bool_]]:
        items, required = avro["items"], avro.get("required", False)
        counts, ends = self.coded.numbers(at)
        sound = sound & (counts >= 0) & (counts <= _LONGEST_ARRAY)
        remaining = np.where(sound, counts, 0)
        some = remaining > 0
        if items == ["null", "long"]:
            ends, remaining = self._small_numbers(ends, remaining)
        path = () if required else None  # no caller reads the offsets of this path
        inner = _Steps(self.coded, {})
        while (rows := np.flatnonzero(remaining)).size:
            ends[rows], sound[rows] = inner.after(items, ends[rows], path, sound[rows], required=required)
            remaining[rows] = np.where(sound[rows], remaining[rows] - 1, 0)
        # A second block of items is not followed: only long arrays have one.
        sound = sound & (~some | (self.coded.bytes[ends] == 0))
        return self._bounded(ends + some, sound)

    def _small_numbers(self, at: Offsets, remaining: NDArray[np.int64]) -> tuple[Offsets, NDArray[np.int64]]:
        """Step over one-byte numbers, each after its mark for not null. A word has four of them."""
        marks = np.uint64(0x0002000200020002)
        noise = np.uint64(0x80FF80FF80FF80FF)
        while (rows := np.flatnonzero(remaining)).size:
            begin, rest = at[rows], np.minimum(remaining[rows], 4)
            mask = _LOW_BYTES[2 * rest]
            passed = self.coded.words[begin] & noise & mask == marks & mask
            if not passed.all():
                rows, rest = rows[passed], rest[passed]
                if not rows.size:
                    break
            at[rows] += 2 * rest
            remaining[rows] -= rest
            if not passed.all():
                break
        return at, remaining

    def _bounded(self, ends: Offsets, sound: NDArray[np.bool_]) -> tuple[Offsets, NDArray[np.bool_]]:
        if ends.max(initial=0) <= self.coded.size:
            return ends, sound
        return np.minimum(ends, self.coded.size), sound & (ends <= self.coded.size)


def _reached(starts: Offsets, ends: Offsets, size: int) -> NDArray[np.int64]:
    """Return the candidates that lead from offset 0 to the end, by doubling the number of steps."""
    rows = len(starts)
    if not rows or starts[0] != 0:
        return np.zeros(0, dtype=np.int64)
    if ends[-1] == size and (ends[:-1] == starts[1:]).all():
        return np.arange(rows)
    following = np.searchsorted(starts, ends)
    exact = (following < rows) & (starts[np.minimum(following, rows - 1)] == ends)
    last = ends == size
    following = np.where(last, rows, np.where(exact, following, rows + 1))  # rows: the end; rows + 1: nowhere
    jumps = np.append(following, (rows, rows + 1))
    reached = np.zeros(rows + 2, dtype=np.bool_)
    reached[0] = True
    for _ in range(int(rows).bit_length() + 1):
        reached[jumps[np.flatnonzero(reached)]] = True
        jumps = jumps[jumps]
    return np.flatnonzero(reached[:rows]) if reached[rows] else np.zeros(0, dtype=np.int64)


def _number_lengths(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the number of bytes of the number at the start of each word, 0 for more than eight bytes.

    A number ends with the first byte without the high bit."""
    ends = ~words & _HIGH_BITS
    lengths: NDArray[np.uint8] = (np.bitwise_count(ends ^ (ends - _ONE)) >> np.uint8(3)) * (ends != 0)
    return lengths


def _packed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Join groups of seven bits, one per byte, to one number."""
    x = words & np.uint64(0x7F7F7F7F7F7F7F7F)
    x = (x & np.uint64(0x007F007F007F007F)) | ((x & np.uint64(0x7F007F007F007F00)) >> _ONE)
    x = (x & np.uint64(0x00003FFF00003FFF)) | ((x & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
    return (x & np.uint64(0x000000000FFFFFFF)) | ((x & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))


def _zigzag(coded: NDArray[np.uint64]) -> NDArray[np.int64]:
    return ((coded >> _ONE) ^ -(coded & _ONE)).view(np.int64)
