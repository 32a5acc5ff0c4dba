"""Arrays and maps of BLOBs as values of `.blob` files. Layout, little endian:

    array    magic number (4 bytes), version 1 (1), number of elements (4)
             the elements, one after the other
             their lengths, as in the index of a file; -1: NULL
             the length of these lengths (4)
    map      magic number (4), version 1 (1), number of entries (4)
             the keys, and then the values
             the lengths of the keys, and then the lengths of the values
             the length of both (4 + 4)

Keys are numbers of a fixed width, texts, or the bytes of a DECIMAL as in Java's BigInteger. Both directions work on all
rows of a column at once. Source: Java's `ArrayBlobElementSerializer`, `MapBlobElementSerializer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds
from numpy.typing import NDArray

from paimon_core.arrow.blob_parts import entry_bounds, map_keys
from paimon_core.arrow.columns import byte_lengths, fixed_array, fixed_values, int64_array, stored_bytes, validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import is_later
from paimon_core.formats.varints import decode_varints, encode_varints

Numbers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Source = Callable[[Numbers, Numbers], Bytes]  # the bytes of some ranges, by their starts and sizes, one after the other

_ARRAY, _MAP = 1094861634, 0x4D424342
_HEAD = np.dtype([("magic", "<u4"), ("version", "u1"), ("count", "<i4")])
_VERSION = 1
_COMPACT_PRECISION = 18  # of DECIMALs that are numbers of 8 bytes
_LONG = 16  # bytes of other DECIMALs in memory
_DAY = 86_400_000  # milliseconds


class UnknownVersionError(ValueError):
    """A value has a version that this library does not know."""


class ManyElementsError(ValueError):
    """Values have more elements than are read at once."""


class NullKeyError(ValueError):
    """A map has a key that is NULL, which Arrow and SQL do not have."""


@dataclass(frozen=True, eq=False)
class Elements:
    """The places of the elements of arrays, or of the values of maps, in the bytes of a source.

    `bounds` has the first element of each row, and the end; `lengths` has -1 for NULL."""

    bounds: Numbers
    starts: Numbers
    lengths: Numbers
    keys: pa.Array | None = None


def encoded(column: pa.Array, parts: pa.Array) -> pa.Array:
    """Return arrays or maps as values of a file, NULL for NULL. `parts` are their BLOBs as large binaries, in the order
    of `blob_parts`. Raises `ValueError` for a map with a key twice."""
    bounds = entry_bounds(column)
    lengths = np.where(validity(parts), byte_lengths(parts), -1)
    bodies, index = [_joined(parts.fill_null(b""), bounds)], [_index(lengths, bounds)]
    if kinds.is_map(column.type):
        keys = _key_bytes(map_keys(column))
        _check_unique(keys, bounds)
        bodies.insert(0, _joined(keys, bounds))
        index.insert(0, _index(byte_lengths(keys), bounds))
    heads = np.zeros(len(column), _HEAD)
    heads["magic"], heads["version"] = _MAP if kinds.is_map(column.type) else _ARRAY, _VERSION
    heads["count"] = np.diff(bounds)
    sizes = np.stack([byte_lengths(i) for i in index], axis=1).astype("<i4")
    separator = pa.scalar(b"", pa.large_binary())
    values = pc.binary_join_element_wise(_fixed(heads), *bodies, *index, _fixed(sizes), separator)
    return pc.if_else(pa.array(validity(column)), values, None) if column.null_count else values


def located(kind: pa.DataType, source: Source, starts: Numbers, sizes: Numbers, most: int = 2**31) -> Elements:
    """Return the elements of arrays or maps of a type, which are at `starts` of a source. Raises `ValueError`.

    A NULL element takes one byte in the source, but many in memory. So values with more than `most` elements raise
    `ManyElementsError` before their elements are read.
    """
    is_map = kinds.is_map(kind)
    tail = 8 if is_map else 4
    if (sizes < _HEAD.itemsize + tail).any():
        raise ValueError("is too short")
    heads = source(starts, np.full(len(starts), _HEAD.itemsize, np.int64)).view(_HEAD)
    if (heads["magic"] != (_MAP if is_map else _ARRAY)).any():
        raise ValueError("does not begin with the magic number of its type")
    if is_later(version := int(heads["version"].max(initial=_VERSION)), _VERSION):
        raise UnknownVersionError(f"is of version {version}, only {_VERSION} is supported")
    if (heads["version"] != _VERSION).any():
        raise ValueError(f"has another version than {_VERSION}")
    counts = heads["count"].astype(np.int64)
    ends = starts + sizes - tail
    found = (
        source(ends, np.full(len(starts), tail, np.int64)).view("<i4").reshape(len(starts), tail // 4).astype(np.int64)
    )
    room = sizes - _HEAD.itemsize - tail
    if (counts < 0).any() or (found < counts[:, None]).any() or (found.sum(axis=1) > room).any():
        raise ValueError("has more elements than lengths of elements")
    if counts.sum() > most:
        raise ManyElementsError(f"has {counts.sum()} elements")
    bounds = np.append(0, np.cumsum(counts))
    first = ends - found.sum(axis=1)
    lengths = [decode_varints(source(first, found[:, 0]), np.append(0, np.cumsum(found[:, 0])), bounds)]
    if is_map:
        places = first + found[:, 0]
        lengths.append(decode_varints(source(places, found[:, 1]), np.append(0, np.cumsum(found[:, 1])), bounds))
    begin = starts + _HEAD.itemsize
    _check_lengths(lengths, np.repeat(first - begin, counts))
    totals = [_row_sums(of, bounds) for of in lengths]
    if (sum(totals) != first - begin).any():
        raise ValueError("has elements that do not have the lengths that it lists")
    stored = np.maximum(lengths[-1], 0)
    values = begin + (totals[0] if is_map else 0)
    before = np.cumsum(stored) - stored
    inside = before - np.repeat(np.append(before, stored.sum())[bounds[:-1]], counts)
    keys = _keys(kind.key_type, source(begin, totals[0]), lengths[0], bounds) if is_map else None
    return Elements(bounds, np.repeat(values, counts) + inside, lengths[-1], keys)


def assembled(kind: pa.DataType, elements: Elements, parts: pa.Array, valid: NDArray[np.bool_]) -> pa.Array:
    """Return arrays or maps with these BLOBs. `valid` marks the rows with an array or map, which have the elements."""
    counts = np.zeros(len(valid), np.int64)
    counts[valid] = np.diff(elements.bounds)
    bounds = pa.py_buffer(np.append(0, np.cumsum(counts)).astype(np.int32))
    mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    child = parts
    if elements.keys is not None:
        child = pa.StructArray.from_arrays([elements.keys, parts], fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(kind, len(valid), [mask, bounds], -1, 0, [child])


def in_memory(data: Bytes) -> Source:
    """Return bytes in memory as a source."""

    def source(starts: Numbers, sizes: Numbers) -> Bytes:
        ends = np.cumsum(sizes)
        found: Bytes = data[np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)]
        return found

    return source


def slices(data: pa.Buffer, starts: Numbers, lengths: Numbers) -> pa.Array:
    """Return parts of a buffer, in its order, as binaries; NULL for the length -1."""
    bounds = np.append(np.stack([starts, starts + np.maximum(lengths, 0)], axis=1).reshape(-1), data.size)
    pieces = pa.Array.from_buffers(pa.large_binary(), 2 * len(starts), [None, pa.py_buffer(bounds), data])
    return pieces.take(int64_array(np.arange(len(starts)) * 2, lengths >= 0)).cast(pa.binary())


def _joined(values: pa.Array, bounds: Numbers) -> pa.Array:
    """Join the bytes of the values of each row."""
    data, ends = stored_bytes(values)
    return _binaries(data, ends[bounds])


def _index(lengths: Numbers, bounds: Numbers) -> pa.Array:
    """Encode the lengths of each row."""
    return _binaries(*encode_varints(lengths, bounds))


def _binaries(data: Any, ends: Numbers) -> pa.Array:
    bounds = pa.py_buffer(np.ascontiguousarray(ends, np.int64))
    return pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, [None, bounds, pa.py_buffer(data)])


def _fixed(rows: NDArray[Any]) -> pa.Array:
    """Return rows of the same width as binaries."""
    width = rows.dtype.itemsize * int(np.prod(rows.shape[1:]))
    return _binaries(np.ascontiguousarray(rows), np.arange(len(rows) + 1) * width)


def _row_sums(numbers: Numbers, bounds: Numbers) -> Numbers:
    ends = np.append(0, np.cumsum(np.maximum(numbers, 0)))
    sums: Numbers = ends[bounds[1:]] - ends[bounds[:-1]]
    return sums


def _check_lengths(lengths: list[Numbers], room: Numbers) -> None:
    if any((of < -1).any() or (of > room).any() for of in lengths):
        raise ValueError("has an element of an impossible length")


def _check_unique(keys: pa.Array, bounds: Numbers) -> None:
    codes = keys.dictionary_encode()
    rows = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    pairs = rows * max(len(codes.dictionary), 1) + codes.indices.to_numpy()
    if len(np.unique(pairs)) < len(pairs):
        raise ValueError("has a key twice")


def _key_bytes(keys: pa.Array) -> pa.Array:
    """Return the bytes of keys."""
    if keys.null_count:
        raise ValueError("has a key that is NULL")
    if kinds.is_decimal(keys.type) and keys.type.precision > _COMPACT_PRECISION:
        wide = fixed_values(keys, f"({_LONG},)u1")[:, ::-1]
        sign = np.where(wide[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
        # a byte at the front is left out if it repeats the sign bit of the next byte
        same = (wide[:, :-1] == sign) & ((wide[:, 1:] >= 0x80) == (sign > 0))
        left_out = np.logical_and.accumulate(same, axis=1).sum(axis=1)
        kept = np.arange(_LONG) >= left_out[:, None]
        return _binaries(wide[kept], np.append(0, np.cumsum(_LONG - left_out)))
    if width := _width(keys.type):
        wide = fixed_values(keys, "(2,)<i8")[:, 0] if kinds.is_decimal(keys.type) else fixed_values(keys, f"<i{width}")
        return _fixed(wide)
    return keys.cast(pa.binary()).cast(pa.large_binary())


def _keys(kind: pa.DataType, data: Bytes, lengths: Numbers, bounds: Numbers) -> pa.Array:
    """Return keys from their bytes. Raises `ValueError`."""
    if (lengths < 0).any():
        raise NullKeyError("has a key that is NULL, which no engine but Java can read")
    keys = _binaries(data, np.append(0, np.cumsum(lengths)))
    if not kinds.is_decimal(kind):
        _check_unique(keys, bounds)
    elif kind.precision > _COMPACT_PRECISION:
        if (lengths < 1).any() or (lengths > _LONG).any():
            raise ValueError("has a key of an impossible length")
        firsts = np.cumsum(lengths) - lengths
        wide = np.zeros((len(lengths), _LONG), np.uint8)
        wide[data[firsts] >= 0x80] = 0xFF
        wide[np.arange(_LONG) >= (_LONG - lengths)[:, None]] = data
        found = pa.Array.from_buffers(kind, len(wide), [None, pa.py_buffer(np.ascontiguousarray(wide[:, ::-1]))])
        found.validate(full=True)
        _check_unique(found, bounds)  # different bytes may be the same number
        return found
    width = _width(kind)
    if not width:
        texts = keys.cast(pa.binary()).cast(kind)
        texts.validate(full=True)
        return texts
    if (lengths != width).any():
        raise ValueError("has a key of an impossible length")
    numbers = data.view(f"<i{width}")
    if kinds.is_boolean(kind):
        if not np.isin(numbers, (0, 1)).all():
            raise ValueError("has a key that is not a BOOLEAN")
        return fixed_array(numbers, kind)
    if kinds.is_decimal(kind):
        wide = np.stack([numbers, numbers >> 63], axis=1)
        found = pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(wide))])
        found.validate(full=True)
        _check_unique(found, bounds)
        return found
    if kinds.is_time(kind) and ((numbers < 0) | (numbers >= _DAY)).any():
        raise ValueError("has a key that is not a TIME")
    return fixed_array(numbers, kind)


def _width(kind: pa.DataType) -> int:
    """Return the number of bytes of a key of a type, 0 if keys have different numbers."""
    if kinds.is_decimal(kind):
        return 8 if kind.precision <= _COMPACT_PRECISION else 0
    if kinds.is_boolean(kind):
        return 1
    return kind.bit_width // 8 if kinds.is_integer(kind) or kinds.is_temporal(kind) else 0
