"""BinaryRows of Arrow columns: the hash of every row at once, and single rows for metadata.

`spec.binary_row` describes the layout. Here each field is one numpy column of slots and, if its values may not fit,
one matrix of 4-byte words for the variable part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import byte_lengths, fixed_values, int64_array, padded_bytes, validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.spec.binary_row import encode_row, header_size, is_stored_inline
from paimon_core.spec.hashing.murmur import murmur3_words
from paimon_core.spec.kinds import STRINGS
from paimon_core.spec.types import DataField, DataType, DecimalType, Kind, TimeType

Slots = NDArray[np.uint64]
_INLINE_BYTES = 7
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_DECIMAL = np.dtype((np.uint8, (16,)))


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of every row.

    `slots` lacks the offset. `spilled` is the number of bytes of `tail` that are used in the variable part.
    """

    slots: Slots
    spilled: NDArray[np.int64] | None = None
    tail: NDArray[np.uint8] | None = None


def row_values(batch: pa.RecordBatch, row: int, fields: Sequence[DataField]) -> tuple[Any, ...]:
    """Return the values of the fields in one row, in the form that `spec.binary_row` encodes."""
    return tuple(scalar_value(batch.column(f.name)[row], f.type) for f in fields)


def row_bytes(batch: pa.RecordBatch, row: int, fields: Sequence[DataField]) -> bytes:
    """Return the BinaryRow, with its field count, of the fields in one row."""
    return encode_row([f.type for f in fields], row_values(batch, row, fields))


def hash_rows(columns: Sequence[pa.Array], types: Sequence[DataType]) -> NDArray[np.int32]:
    """Return the murmur3 hash of the BinaryRow of each row; shape (rows,).

    Equals `murmur3_row(encode_body(types, row))`.
    """
    rows = len(columns[0])
    spills = [_spilled(c, t) for c, t in zip(columns, types, strict=True)]
    spilled = np.zeros(rows, dtype=np.int64)
    for spill in spills:
        spilled += spill
    # Hash rows by size class, so that one long value does not widen the words of all rows.
    classes = np.ceil(np.log2(np.maximum(spilled, 1))).astype(np.int8)
    if rows and classes.min() == classes.max():
        return _hash(columns, types)
    hashes = np.empty(rows, dtype=np.int32)
    for size in np.unique(classes):
        members = np.flatnonzero(classes == size)
        hashes[members] = _hash([c.take(int64_array(members)) for c in columns], types)
    return hashes


def _hash(columns: Sequence[pa.Array], types: Sequence[DataType]) -> NDArray[np.int32]:
    rows, header = len(columns[0]), header_size(len(types))
    fields = [_field(c, t) for c, t in zip(columns, types, strict=True)]
    fixed = header + 8 * len(types)
    ends = np.full(rows, fixed, dtype=np.int64)
    widest = fixed + sum(f.tail.shape[1] for f in fields if f.tail is not None)
    body = np.zeros((rows, widest), dtype=np.uint8)
    for i, (column, field) in enumerate(zip(columns, fields, strict=True)):
        if column.null_count:
            body[:, (i + 8) // 8] |= (~validity(column)).astype(np.uint8) << np.uint8(i % 8)
        slots = field.slots
        if field.spilled is not None and field.tail is not None:
            away = field.spilled > 0
            slots = np.where(away, slots | (ends.astype(np.uint64) << np.uint64(32)), slots)
            _append(body, ends, field.tail)
            ends = ends + field.spilled
        body[:, header + 8 * i : header + 8 * i + 8] = slots[:, None].view(np.uint8)
    return murmur3_words(body.view("<u4"), ends // 4)


def _append(body: NDArray[np.uint8], ends: NDArray[np.int64], tail: NDArray[np.uint8]) -> None:
    """Write each row's variable part at its end. The next variable part overwrites bytes after the end."""
    if not len(body):
        return
    if ends.min() == ends.max():
        body[:, ends[0] : ends[0] + tail.shape[1]] = tail
        return
    offsets = ends[:, None] + np.arange(tail.shape[1])
    np.put_along_axis(body, offsets, tail, axis=1)


def _spilled(column: pa.Array, data_type: DataType) -> NDArray[np.int64]:
    """Return the number of bytes of each row in the variable part."""
    if _is_bytes(data_type):
        lengths = byte_lengths(column)
        return np.where(lengths > _INLINE_BYTES, (lengths + 7) // 8 * 8, 0)
    width = 0 if is_stored_inline(data_type) else 16 if isinstance(data_type, DecimalType) else 8
    return np.full(len(column), width, dtype=np.int64)


def _is_bytes(data_type: DataType) -> bool:
    return data_type.kind in STRINGS


def _field(column: pa.Array, data_type: DataType) -> _Field:
    if _is_bytes(data_type):
        return _bytes_field(column, data_type)
    if isinstance(data_type, DecimalType):
        return _decimal_field(column, data_type)
    if isinstance(data_type, TimeType) and data_type.kind is not Kind.TIME:
        return _timestamp_field(column, data_type)
    if not is_stored_inline(data_type):
        raise InvalidDataError(
            f"A column of type {data_type} cannot be a bucket key. Choose a column without nested values."
        )
    width = 1 if data_type.kind is Kind.BOOLEAN else column.type.bit_width // 8
    return _Field(fixed_values(column, _UNSIGNED[width]).astype(np.uint64))


def _bytes_field(column: pa.Array, data_type: DataType) -> _Field:
    lengths, spilled = byte_lengths(column), _spilled(column, data_type)
    inline = np.zeros((len(column), 8), dtype=np.uint8)
    inline[:, :_INLINE_BYTES] = padded_bytes(column, _INLINE_BYTES)
    inline[:, _INLINE_BYTES] = np.where(validity(column), 0x80 | np.minimum(lengths, _INLINE_BYTES), 0)
    slots = np.where(spilled > 0, lengths.astype(np.uint64), inline.view("<u8")[:, 0])
    width = int(spilled.max(initial=0))
    if not width:
        return _Field(slots)
    tail = padded_bytes(column, width)
    tail[spilled == 0] = 0
    return _Field(slots, spilled, tail)


def _decimal_field(column: pa.Array, data_type: DecimalType) -> _Field:
    little = fixed_values(column, _DECIMAL)
    if is_stored_inline(data_type):
        return _Field(np.ascontiguousarray(little[:, :8]).view("<u8")[:, 0])
    big = little[:, ::-1]
    sign = np.where(big[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
    # A leading byte is superfluous if it only repeats the sign of the next byte.
    idle = (big[:, :-1] == sign) & ((big[:, 1:] & 0x80) == (sign & 0x80))
    leading = np.cumprod(idle, axis=1).sum(axis=1)
    sources = leading[:, None] + np.arange(16)
    shifted = np.take_along_axis(big, np.minimum(sources, 15), axis=1)
    tail = np.where(sources < 16, shifted, 0).astype(np.uint8)
    valid = validity(column)
    tail[~valid] = 0
    slots = np.where(valid, 16 - leading, 0).astype(np.uint64)
    return _Field(slots, _spilled(column, data_type), tail)


def _timestamp_field(column: pa.Array, data_type: TimeType) -> _Field:
    values = fixed_values(column, np.int64)
    if is_stored_inline(data_type):
        return _Field(values.view(np.uint64))
    per_milli = 1000 if column.type.unit == "us" else 1_000_000
    millis, rest = np.divmod(values, per_milli)
    nanos = rest * (1_000_000 // per_milli)
    tail = np.ascontiguousarray(millis.astype("<i8"))[:, None].view(np.uint8)
    return _Field(nanos.astype(np.uint64), _spilled(column, data_type), tail)


def scalar_value(scalar: pa.Scalar, data_type: DataType) -> Any:
    """Return a value in the form that `spec.binary_row` encodes."""
    if not scalar.is_valid:
        return None
    if isinstance(data_type, TimeType):
        if data_type.kind is Kind.TIME:
            return pc.cast(scalar, pa.int32()).as_py()
        per_milli = {"ms": 1, "us": 1000, "ns": 1_000_000}[scalar.type.unit]
        millis, rest = divmod(pc.cast(scalar, pa.int64()).as_py(), per_milli)
        return millis, rest * (1_000_000 // per_milli)
    if data_type.kind is Kind.DATE:
        return pc.cast(scalar, pa.int32()).as_py()
    return scalar.as_py()
