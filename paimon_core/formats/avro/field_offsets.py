"""Where the fields of coded Avro records begin, found for all records at once.

Problem: a manifest is one block of bytes after another, each full of records, and a record has neither a length nor a
mark: it ends where its last field does, and each field has to be passed to find the next. Decoding record by record
costs a few microseconds of Python for each field, although a plan looks at a handful of columns.

Representation: the content of all blocks stands in one buffer, `PADDING` zeros behind it. A column is the array of the
offsets at which its values begin, one for each record, `NULL` (-1) where the union says null. Nothing is decoded
until a column is asked for; then `Coded` reads numbers, lengths and bytes at all of its offsets in a few numpy calls.

How records are found: nobody knows where the second record begins before the first has been passed, so they cannot be
passed side by side. Instead every offset that could begin a record (the caller knows what its first bytes are like) is
taken as a beginning, and all of these candidates are followed field by field in step, whatever lies there. This gives
each an end. The records are the candidates that are reached from offset 0 by going from end to beginning; `_reached`
finds them by doubling the steps. False candidates are few, and are dropped with what was found for them.

Invariants: offsets stay within the content, `sound` says which candidates still make sense, and a candidate that does
not ends at -1, so that nothing is reached through it. The records must cover the content exactly and be as many as the
blocks say. Whatever is legal Avro but hardly ever seen (a column of several types, arrays of several blocks) raises
`UnusualError`, and the caller decodes record by record: this module may give up, but not give other values.

Types: those of plain schemas (`manifests.avro_resolution`). A column that is read is a record, a number (int, long:
zigzag-coded varints, seven bits per byte), bytes or a string (length, content), an array, or a union of one of these
with null. A field that is skipped may have any type. Source: Avro specification, "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array

Offsets = NDArray[np.int64] | NDArray[np.int32]
Path = tuple[str, ...]
END = "]"  # behind the path of an array: where it ends
NULL = -1  # as an offset: the last byte, which is one of the zeros behind the content
PADDING = 16
_LONGEST_ARRAY = 2**16
_STEP = 2**21  # bytes of content whose records are followed together: what stays in a processor's cache
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_MOST_BRANCHES = 64  # which one byte names
_SEVEN, _ONE = np.uint64(7), np.uint64(1)


class UnusualError(Exception):
    """The records may be legal, but cannot be followed in step: they have to be decoded one by one."""


class Coded:
    """Coded records: bytes, read at many offsets at once. `PADDING` zeros stand behind them."""

    def __init__(self, content: NDArray[np.uint8]) -> None:
        self.size, self.bytes = len(content) - PADDING, content
        # a word at every byte: one gather takes eight bytes
        self.words = np.ndarray((self.size + PADDING - 8,), dtype="<u8", buffer=content.data, strides=(1,))

    def numbers(self, offsets: Offsets) -> tuple[NDArray[np.int64], Offsets]:
        """The numbers that begin at the offsets, and where each ends."""
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
        """Where the numbers end that begin at the offsets."""
        if not (self.bytes[offsets] >= 0x80).any():
            return offsets + 1
        lengths = _number_lengths(self.words[offsets])
        return offsets + lengths if lengths.all() else self._long_numbers(offsets)[1]

    def _long_numbers(self, offsets: Offsets) -> tuple[NDArray[np.int64], Offsets]:
        """As `numbers`, of up to ten bytes each; what is longer ends behind the content."""
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
        """Beginnings and lengths of the bytes or strings at the offsets."""
        lengths, starts = self.numbers(offsets)
        return starts, lengths

    def binary(self, starts: Offsets, lengths: NDArray[np.int64]) -> pa.Array:
        """An Arrow column of parts of the content, which ascend and do not overlap."""
        offsets = np.empty(2 * len(starts) + 1, dtype=np.int32)
        offsets[:-1:2], offsets[1::2] = starts, starts + lengths
        offsets[-1] = offsets[-2] if len(starts) else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.bytes)]
        spaced = pa.Array.from_buffers(pa.binary(), 2 * len(starts), buffers)
        return spaced.take(int64_array(np.arange(0, 2 * len(starts), 2)))


@dataclass(frozen=True, slots=True)
class RecordOffsets:
    """Where records begin and end, and their fields: `fields` has by path the beginning of each value, behind the
    branch of its union, `NULL` where there is none, and no path where all records have none, or of fields that are
    skipped; shapes (records,)."""

    coded: Coded
    starts: Offsets
    ends: Offsets
    fields: Mapping[Path, Offsets]


def find_records(
    avro: Any, coded: Coded, count: int, candidates: Callable[[Coded, int, int], Offsets]
) -> RecordOffsets:
    """Find the `count` records of a plain schema. `candidates` gives the offsets in a range that may begin a record,
    ascending.

    Raises `UnusualError` where these are not exactly the content.
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
    """The candidates that begin at offsets, whatever lies there; the end of one that cannot be a record is -1."""
    found: dict[Path, Offsets] = {}
    sound = np.ones(len(starts), dtype=np.bool_)
    ends, sound = _Steps(coded, found).after(avro, starts, (), sound, required=True)
    return RecordOffsets(coded, starts, np.where(sound, ends, -1), found)


def _joined(parts: list[Offsets]) -> NDArray[np.int32]:
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts], dtype=np.int32, casting="unsafe")


@dataclass(frozen=True, slots=True)
class _Steps:
    """Passes values. A step takes the beginnings of values, and which candidates are sound, and returns the ends of the
    values. It notes the beginnings by path; a value is skipped if its path is None."""

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
        """Pass values of any union."""
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
        path = () if required else None  # of what is noted there, nobody asks
        inner = _Steps(self.coded, {})
        while (rows := np.flatnonzero(remaining)).size:
            ends[rows], sound[rows] = inner.after(items, ends[rows], path, sound[rows], required=required)
            remaining[rows] = np.where(sound[rows], remaining[rows] - 1, 0)
        # a second block of items, which only long arrays have, is not followed
        sound = sound & (~some | (self.coded.bytes[ends] == 0))
        return self._bounded(ends + some, sound)

    def _small_numbers(self, at: Offsets, remaining: NDArray[np.int64]) -> tuple[Offsets, NDArray[np.int64]]:
        """Pass numbers of one byte, each behind the mark that it is not null: four to a word."""
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
    """The candidates that follow each other from offset 0 to the end, by doubling the steps taken."""
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
    """Bytes of the number that each word begins with, up to the first high bit not set; 0 for more than eight."""
    ends = ~words & _HIGH_BITS
    lengths: NDArray[np.uint8] = (np.bitwise_count(ends ^ (ends - _ONE)) >> np.uint8(3)) * (ends != 0)
    return lengths


def _packed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Groups of seven bits, one per byte, as one number."""
    x = words & np.uint64(0x7F7F7F7F7F7F7F7F)
    x = (x & np.uint64(0x007F007F007F007F)) | ((x & np.uint64(0x7F007F007F007F00)) >> _ONE)
    x = (x & np.uint64(0x00003FFF00003FFF)) | ((x & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
    return (x & np.uint64(0x000000000FFFFFFF)) | ((x & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))


def _zigzag(coded: NDArray[np.uint64]) -> NDArray[np.int64]:
    return ((coded >> _ONE) ^ -(coded & _ONE)).view(np.int64)
