"""VARIANT values within the bytes of other values: where each starts and ends, what kind it is, and its members.

A field of an object and an element of an array start at an offset that their parent lists; their own heads say where
they end. `ValuePlaces` has many such values of one array of bytes, and every function reads all of them at once.
Source: parquet-format, "Variant Binary Encoding".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.spec.encodings import variant

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

PRIMITIVE, SHORT_TEXT, OBJECT, ARRAY = range(4)
NULL = 0
_PADDING = 32  # zeros at the end, so that reading beyond it returns zeros
_COUNTED = (variant.BINARY, variant.STRING)
_NANOSECONDS = (18, 19)  # times with and without a zone
_SIZES = np.zeros(64, dtype=np.int64)  # of primitive values with their heads; 0 for unknown types
_SIZES[[NULL, variant.TRUE, variant.FALSE]] = 1
_SIZES[[variant.INT8, variant.INT16, variant.INT32, variant.INT64]] = 2, 3, 5, 9
_SIZES[[variant.DECIMAL4, variant.DECIMAL8, variant.DECIMAL16]] = 6, 10, 18
_SIZES[[variant.FLOAT, variant.DOUBLE, variant.DATE]] = 5, 9, 5
_SIZES[[variant.TIMESTAMP, variant.TIMESTAMP_NTZ, variant.TIME, *_NANOSECONDS]] = 9
_SIZES[[*_COUNTED, variant.UUID]] = 5, 5, 17


@dataclass(frozen=True, slots=True)
class ValuePlaces:
    """Values in shared bytes, which end with `_PADDING` zeros: where each value starts, and where it ends."""

    data: Bytes
    starts: Numbers
    ends: Numbers

    @staticmethod
    def of(values: variant.Values) -> ValuePlaces:
        """Return the places of a column of values. Raises `ValueError` for damage."""
        data = np.concatenate([values.data, np.zeros(_PADDING, dtype=np.uint8)])
        return _checked(data, values.starts, values.ends[1:])

    def __len__(self) -> int:
        return len(self.starts)

    def chosen(self, which: NDArray[np.bool_] | Numbers) -> ValuePlaces:
        """Return some of the values."""
        return ValuePlaces(self.data, self.starts[which], self.ends[which])

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """The kind of each value: PRIMITIVE, SHORT_TEXT, OBJECT or ARRAY."""
        return self.data[self.starts] & np.uint8(3)

    @property
    def types(self) -> Numbers:
        """The type of each primitive value; -1 for other values."""
        heads = self.data[self.starts].astype(np.int64)
        return np.where(heads & 3 == PRIMITIVE, heads >> 2, -1)

    @property
    def sizes(self) -> Numbers:
        return self.ends - self.starts

    def bytes_at(self, offset: int, count: int) -> Bytes:
        """Return bytes of each value, shape (values, count); zeros after the end of all bytes."""
        at = np.minimum(self.starts[:, None] + offset + np.arange(count), len(self.data) - 1)
        found: Bytes = self.data[at]
        return found


@dataclass(frozen=True, slots=True)
class Members:
    """The fields or elements of values: `counts` per value, then the place of each member; `ids` are of keys."""

    counts: Numbers
    places: ValuePlaces
    ids: Numbers


def objects(values: ValuePlaces) -> Members:
    """Return the fields of objects. Raises `ValueError` for damage."""
    head = _numbers(values, 0, np.ones(len(values), dtype=np.int64))
    offset_width, id_width = (head >> 2 & 3) + 1, (head >> 4 & 3) + 1
    return _members(values, np.where(head >> 6 & 1, 4, 1), offset_width, id_width)


def arrays(values: ValuePlaces) -> Members:
    """Return the elements of arrays. Raises `ValueError` for damage."""
    head = _numbers(values, 0, np.ones(len(values), dtype=np.int64))
    no_ids = np.zeros(len(values), dtype=np.int64)
    return _members(values, np.where(head >> 4 & 1, 4, 1), (head >> 2 & 3) + 1, no_ids)


def exact_numbers(values: ValuePlaces) -> tuple[Numbers, Numbers, Mask]:
    """Return the unscaled values and the scales of whole numbers and DECIMALs, and a mask of the values that are one of
    these and fit into 64 bits."""
    types, body = values.types, values.bytes_at(1, 17)
    whole = (types >= variant.INT8) & (types <= variant.INT64)
    decimal = (types >= variant.DECIMAL4) & (types <= variant.DECIMAL16)
    bits = np.select([types == variant.INT8, types == variant.INT16, types == variant.INT32], [8, 16, 32], 64)
    bits = np.where(types == variant.DECIMAL4, 32, bits)
    low = np.where(decimal[:, None], body[:, 1:9], body[:, :8])
    number = np.ascontiguousarray(low).view("<i8").reshape(-1) << (64 - bits) >> (64 - bits)
    high = np.ascontiguousarray(body[:, 9:17]).view("<i8").reshape(-1)
    fits = (types != variant.DECIMAL16) | (high == number >> 63)
    scale = np.where(decimal, body[:, 0], 0).astype(np.int64)
    return number.astype(np.int64), scale, (whole | decimal) & fits & (scale <= 38)


def wide_decimals(values: ValuePlaces) -> tuple[NDArray[np.int64], Numbers, Mask]:
    """Return both halves of the unscaled values of DECIMALs of 16 bytes, shape (values, 2), their scales, and a mask of
    these values."""
    body = values.bytes_at(1, 17)
    halves = np.ascontiguousarray(body[:, 1:]).view("<i8").reshape(-1, 2)
    return halves, body[:, 0].astype(np.int64), values.types == variant.DECIMAL16


def texts(values: ValuePlaces) -> tuple[Numbers, Numbers, Mask]:
    """Return the starts and the lengths of texts, and a mask of the values that are texts."""
    short, long = values.kinds == SHORT_TEXT, values.types == variant.STRING
    heads = np.where(short, 1, 5)
    return values.starts + heads, np.where(short | long, values.sizes - heads, 0), short | long


def _members(values: ValuePlaces, count_width: Numbers, offset_width: Numbers, id_width: Numbers) -> Members:
    counts = _numbers(values, 1, count_width)
    ids = values.starts + 1 + count_width
    offsets = ids + counts * id_width
    bodies = offsets + (counts + 1) * offset_width
    _check((bodies <= values.ends).all())
    owner = np.repeat(np.arange(len(values)), counts)
    index = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = bodies[owner] + _read(values.data, offsets[owner] + index * offset_width[owner], offset_width[owner])
    numbers = _read(values.data, ids[owner] + index * id_width[owner], id_width[owner])
    places = _checked(values.data, starts, values.ends[owner])
    # otherwise a few bytes could be read as many large values
    if (np.bincount(owner, places.sizes, len(values)) > values.sizes).any():
        raise ValueError("a VARIANT has members that overlap")
    return Members(counts, places, numbers)


def _checked(data: Bytes, starts: Numbers, limits: Numbers) -> ValuePlaces:
    """Return the places of values that end at `limits` or earlier. Raises `ValueError`."""
    _check((starts < limits).all())
    found = ValuePlaces(data, starts, limits)
    head, kinds, types = data[starts].astype(np.int64), found.kinds, found.types
    one = np.ones(len(starts), dtype=np.int64)
    sizes = np.where(kinds == SHORT_TEXT, 1 + (head >> 2), _SIZES[np.maximum(types, 0)])
    counted = np.isin(types, _COUNTED)
    sizes = np.where(counted, 5 + _read(data, starts + 1, 4 * one), sizes)
    for kind, large_bit, id_width in ((OBJECT, 6, (head >> 4 & 3) + 1), (ARRAY, 4, 0 * one)):
        offset_width, count_width = (head >> 2 & 3) + 1, np.where(head >> large_bit & 1, 4, 1)
        counts = _read(data, starts + 1, count_width)
        last = starts + 1 + count_width + counts * (id_width + offset_width)
        size = last + offset_width + _read(data, last, offset_width) - starts
        sizes = np.where(kinds == kind, size, sizes)
    if (sizes == 0).any():
        raise ValueError("a VARIANT has a value of an unknown type")
    _check((starts + sizes <= limits).all())
    return ValuePlaces(data, starts, starts + sizes)


def _numbers(values: ValuePlaces, offset: int, widths: Numbers) -> Numbers:
    return _read(values.data, values.starts + offset, widths)


def _read(data: Bytes, offsets: Numbers, widths: Numbers) -> Numbers:
    """Read numbers at offsets, each with its own width, 0 to 4 bytes."""
    offsets, found = np.minimum(offsets, len(data) - 4), np.zeros(len(offsets), dtype=np.int64)
    for i in range(4):
        found |= np.where(widths > i, data[offsets + i], 0).astype(np.int64) << 8 * i
    return found


def _check(holds: object) -> None:
    if not holds:
        raise ValueError("a VARIANT ends too early")
