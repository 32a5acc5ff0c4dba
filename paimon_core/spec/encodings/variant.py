"""Columns of VARIANT values: the bytes of all values in one array, and the offsets at which each value begins and ends.

    metadata: header: 1 byte, version 1 in bits 0 to 3, width - 1 in bits 6 and 7 | keys: width
        | offsets of keys, one more than keys: width each | the keys, UTF-8                            (little endian)
    value: header: 1 byte, kind in bits 0 and 1, the rest of it above | body
        kind 0, primitive: type | its bytes; 1, short text: bytes | UTF-8
        kind 2, object: offset width - 1: 2 bits, id width - 1: 2 bits, large: 1 bit
            | fields: 1 byte, 4 if large | ids of keys by the order of keys | offsets, one more than fields | values
        kind 3, array: offset width - 1: 2 bits, large: 1 bit | elements: 1 byte, 4 if large | offsets | values

A VARIANT is two byte strings for each row, the keys (metadata) and the value. Both are full of counts, ids and offsets
of one to four bytes, and each value chooses its own width. `Values` is a column of such byte strings: all bytes in one
array, and the end of each string. Reading still works by columns: one call reads a number for all rows, each at its own
offset and of its own width (`_read`). Members of all rows (keys, fields, elements) are in one flat array beside the
`counts` of each row; `_spread` returns the row of each member, and its index in the row.

- Reading never fails half way: zeros are padded after the end, an offset beyond the end reads the last zero, and
  `_check` refuses the whole column if the offsets do not fit.
- Writing returns heads only (`heads`, `text_heads`, …): the bytes before the values of an object, or before the bytes
  of a text. The caller joins heads and bodies as Arrow columns, so that Arrow copies values only once.
- Each value gets the narrowest widths and the smallest kind of number (`integers`, `decimals`, `_width`).

Source: parquet-format, "Variant Binary Encoding".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]

TRUE, FALSE, INT8, INT16, INT32, INT64, DOUBLE, DECIMAL4, DECIMAL8, DECIMAL16 = range(1, 11)
DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT, BINARY, STRING, TIME = range(11, 18)
UUID = 20
VARIANT_NULL = b"\0"
LONGEST_SHORT_TEXT = 63
_OBJECT, _ARRAY = 2, 3
_VERSION = 1
_MOST_OF_ONE_BYTE = 255


@dataclass(frozen=True, slots=True)
class Values:
    """The bytes of all values, and the offsets of the values with the end of the last value."""

    data: Bytes
    ends: Numbers

    @property
    def starts(self) -> Numbers:
        return self.ends[:-1]

    def __len__(self) -> int:
        return len(self.ends) - 1


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys in metadata: `counts` per metadata, then the start and the end of each text."""

    counts: Numbers
    starts: Numbers
    ends: Numbers


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of objects: `counts` per object, then for each field the id of its key and the offset of its value in
    all bodies.
    """

    counts: Numbers
    ids: Numbers
    offsets: Numbers
    bodies: Numbers
    sizes: Numbers


def read_keys(metadata: Values) -> Keys:
    """Read the keys of each metadata.

    Raises `ValueError` for an unknown version, and for metadata that ends too early.
    """
    data, starts, ends = _padded(metadata.data), metadata.starts, metadata.ends[1:]
    headers = data[starts]
    if (headers & 15 != _VERSION).any() or (starts == ends).any():
        raise ValueError("a VARIANT has metadata of an unknown version")
    width = (headers >> 6).astype(np.int64) + 1
    counts = _read(data, starts + 1, width)
    first = starts + 1 + width
    texts = first + (counts + 1) * width
    _check(texts <= ends)
    owner, index = _spread(counts)
    at = first[owner] + index * width[owner]
    begin, end = (texts[owner] + _read(data, at + step * width[owner], width[owner]) for step in (0, 1))
    _check((begin <= end) & (end <= ends[owner]))
    return Keys(counts, begin, end)


def read_objects(values: Values) -> Fields:
    """Read the fields of objects, one object per row.

    Raises `ValueError` for a value of another kind or a truncated value.
    """
    data, starts, ends = _padded(values.data), values.starts, values.ends[1:]
    headers = data[starts].astype(np.int64)
    if (headers & 3 != _OBJECT).any() or (starts == ends).any():
        raise ValueError("the rest of a VARIANT object is not an object")
    offset_width, id_width = (headers >> 2 & 3) + 1, (headers >> 4 & 3) + 1
    count_width = np.where(headers >> 6 & 1, 4, 1)
    counts = _read(data, starts + 1, count_width)
    ids = starts + 1 + count_width
    offsets = ids + counts * id_width
    bodies = offsets + (counts + 1) * offset_width
    _check(bodies <= ends)
    sizes = _read(data, offsets + counts * offset_width, offset_width)
    _check(bodies + sizes <= ends)
    owner, index = _spread(counts)
    return Fields(
        counts,
        _read(data, ids[owner] + index * id_width[owner], id_width[owner]),
        _read(data, offsets[owner] + index * offset_width[owner], offset_width[owner]),
        bodies,
        sizes,
    )


def heads(counts: Numbers, offsets: Numbers, sizes: Numbers, ids: Numbers | None = None) -> Values:
    """Return the bytes before the values of objects, or without `ids` before the values of arrays.

    `counts` and `sizes` are per object; `offsets` and `ids` are of all values, one object after another."""
    owner, index = _spread(counts)
    large, offset_width = counts > _MOST_OF_ONE_BYTE, _width(sizes)
    count_width, id_width = np.where(large, 4, 1), np.zeros(len(counts), dtype=np.int64)
    headers = _ARRAY | (offset_width - 1) << 2 | large << 4
    if ids is not None:
        largest = np.zeros(len(counts), dtype=np.int64)
        np.maximum.at(largest, owner, ids)
        id_width = _width(largest)
        headers = _OBJECT | (offset_width - 1) << 2 | (id_width - 1) << 4 | large << 6
    first = 1 + count_width + counts * id_width  # the position of the first offset
    ends = _ends(first + (counts + 1) * offset_width)
    starts, data = ends[:-1], np.zeros(int(ends[-1]), dtype=np.uint8)
    data[starts] = headers
    _write(data, starts + 1, counts, count_width)
    if ids is not None:
        _write(data, (starts + 1 + count_width)[owner] + index * id_width[owner], ids, id_width[owner])
    _write(data, (starts + first)[owner] + index * offset_width[owner], offsets, offset_width[owner])
    _write(data, starts + first + counts * offset_width, sizes, offset_width)
    return Values(data, ends)


def primitives(types: NDArray[np.uint8], body: Bytes, widths: Numbers) -> Values:
    """Return values of these types, with the first `widths` bytes of each row of `body` (rows, bytes)."""
    rows = np.concatenate([(types << np.uint8(2))[:, None], body], axis=1)
    return Values(rows[np.arange(rows.shape[1]) <= widths[:, None]], _ends(widths + 1))


def integers(values: Numbers) -> Values:
    """Encode whole numbers, each in the fewest bytes."""
    bits = [values == values.astype(dtype) for dtype in (np.int8, np.int16, np.int32)]
    types = np.select(bits, [INT8, INT16, INT32], INT64).astype(np.uint8)
    return primitives(types, little_endian(values), np.select(bits, [1, 2, 4], 8))


def text_heads(lengths: Numbers) -> Values:
    """Return the bytes before the bytes of texts."""
    short = lengths <= LONGEST_SHORT_TEXT
    rows = np.concatenate([np.zeros((len(lengths), 1), np.uint8), little_endian(lengths)[:, :4]], axis=1)
    rows[:, 0] = np.where(short, lengths << 2 | 1, STRING << 2)
    widths = np.where(short, 1, 5)
    return Values(rows[np.arange(5) < widths[:, None]], _ends(widths))


def binary_heads(lengths: Numbers) -> Values:
    """Return the bytes before the content of binary values."""
    return primitives(np.full(len(lengths), BINARY, np.uint8), little_endian(lengths), np.full(len(lengths), 4))


def decimals(low: Numbers, high: Numbers, scale: int) -> Values:
    """Encode DECIMALs from the two halves of their unscaled values."""
    fits = (low >> 63) == high
    most = [10**digits - 1 for digits in (9, 18)]
    fit = [fits & (scale <= d) & (-m <= low) & (low <= m) for d, m in zip((9, 18), most, strict=True)]
    types = np.select(fit, [DECIMAL4, DECIMAL8], DECIMAL16).astype(np.uint8)
    scales = np.full((len(low), 1), scale, dtype=np.uint8)
    body = np.concatenate([scales, little_endian(low), little_endian(high)], axis=1)
    return primitives(types, body, 1 + np.select(fit, [4, 8], 16))


def little_endian(values: NDArray[np.int64]) -> Bytes:
    """Return the bytes of numbers, shape (rows, 8)."""
    return np.ascontiguousarray(values, dtype="<i8").view(np.uint8).reshape(-1, 8)


def _spread(counts: Numbers) -> tuple[Numbers, Numbers]:
    """Return the group of each member, and the member's index in its group."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - _ends(counts)[owner]


def _ends(lengths: Numbers) -> Numbers:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _width(largest: Numbers) -> Numbers:
    """Return the bytes that a number needs, 1 to 4."""
    return 1 + sum((largest >= 1 << bits for bits in (8, 16, 24)), np.zeros(len(largest), dtype=np.int64))


def _padded(data: Bytes) -> Bytes:
    """Add zeros at the end: reading a number after the end then returns 0, and `_check` can find this afterwards."""
    return np.concatenate([data, np.zeros(16, dtype=np.uint8)])


def _read(data: Bytes, offsets: Numbers, widths: Numbers) -> Numbers:
    """Read numbers at offsets of padded bytes, each with its own width, 0 to 4 bytes."""
    offsets, found = np.minimum(offsets, len(data) - 4), np.zeros(len(offsets), dtype=np.int64)
    for i in range(4):
        found |= np.where(widths > i, data[offsets + i], 0).astype(np.int64) << 8 * i
    return found


def _write(data: Bytes, offsets: Numbers, numbers: Numbers, widths: Numbers) -> None:
    for i in range(4):
        used = widths > i
        data[offsets[used] + i] = numbers[used] >> 8 * i & 255


def _check(holds: NDArray[np.bool_]) -> None:
    if not holds.all():
        raise ValueError("a VARIANT ends too early")
