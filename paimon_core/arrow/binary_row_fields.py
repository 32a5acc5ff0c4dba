"""Single fields of BinaryRows in a binary column, such as bounds in manifests; layout: `spec.binary_row`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import byte_lengths, fixed_array, int64_array, validity
from paimon_core.dataclass import dataclass
from paimon_core.spec.binary_row import header_size, is_stored_inline
from paimon_core.spec.kinds import KindColumn
from paimon_core.spec.types import DataType, DecimalType, Kind, TimeType

Valid = NDArray[np.bool_]
_COUNT_BYTES = 4
_INLINE_BYTES = 7
_LOW_WORD = np.uint64(0xFFFFFFFF)
_NANOS_PER_MILLI = np.uint64(1_000_000)
_DECIMAL_BYTES = 16
_NARROW: KindColumn[Any] = KindColumn(
    {
        **dict.fromkeys((Kind.BOOLEAN, Kind.TINYINT), np.int8),
        **dict.fromkeys((Kind.INT, Kind.DATE, Kind.TIME), np.int32),
        Kind.SMALLINT: np.int16,
    },
    others="BIGINT FLOAT DOUBLE DECIMAL CHAR VARCHAR BINARY VARBINARY TIMESTAMP TIMESTAMP_LTZ "
    "BLOB ARRAY MAP MULTISET ROW VARIANT",
)


@dataclass(frozen=True, slots=True)
class RowField:
    """The field number `index` of rows with `arity` fields.

    Each row has its leading field count; `rows` have no NULLs.
    """

    rows: pa.Array
    arity: int
    index: int

    def fits(self) -> Valid:
        """Return which rows have the expected number of fields, and enough bytes for them; shape (rows,)."""
        valid = validity(self.rows) & (self._sizes() >= header_size(self.arity) + 8 * self.arity)
        count = np.uint64(int.from_bytes(self.arity.to_bytes(_COUNT_BYTES, "big"), "little"))
        fitting: Valid = valid & (self._words(-_COUNT_BYTES) & _LOW_WORD == count)
        return fitting

    def numbers(self, data_type: DataType) -> tuple[NDArray[np.int64], Valid]:
        """Return integers, booleans as 0 and 1, days or epoch milliseconds, and a mask of valid rows; shapes (rows,).

        A row is not valid if the field is NULL, or if the row has another number of fields."""
        slots, valid = self._slots()
        if isinstance(data_type, TimeType) and not is_stored_inline(data_type):
            offsets = (slots >> np.uint64(32)).astype(np.int64)
            valid &= self._is_behind_slots(offsets) & (offsets + 8 <= self._sizes())
            valid &= slots & _LOW_WORD < _NANOS_PER_MILLI
            return self._words(np.where(valid, offsets, 0)).view(np.int64), valid
        numbers = slots.view(np.int64)
        return numbers.astype(_NARROW.get(data_type.kind, np.int64)).astype(np.int64), valid

    def nanos(self, data_type: TimeType) -> NDArray[np.int64]:
        """Return the nanoseconds of the millisecond of timestamps; `numbers` returns their epoch milliseconds."""
        slots, _ = self._slots()
        return (slots & _LOW_WORD).astype(np.int64) * (not is_stored_inline(data_type))

    def floats(self, data_type: DataType) -> tuple[NDArray[Any], Valid]:
        """Return FLOAT or DOUBLE values, as an array of 32-bit or 64-bit floats, and a mask of valid rows, like
        `numbers`.
        """
        slots, valid = self._slots()
        if data_type.kind is Kind.FLOAT:
            return slots.astype(np.uint32).view(np.float32), valid
        return slots.view(np.float64), valid

    def decimals(self, data_type: DecimalType) -> pa.Array:
        """Return DECIMAL values, as a column of the largest precision, like `numbers`."""
        slots, valid = self._slots()
        low, high = slots, slots.view(np.int64) >> 63
        if not is_stored_inline(data_type):
            offsets, lengths = (slots >> np.uint64(32)).astype(np.int64), (slots & _LOW_WORD).astype(np.int64)
            valid &= self._is_behind_slots(offsets) & (offsets + _DECIMAL_BYTES <= self._sizes())
            valid &= (lengths > 0) & (lengths <= _DECIMAL_BYTES)
            first, second = (self._words(np.where(valid, offsets + i, 0)).byteswap() for i in (0, 8))
            low, high = _shifted(first, second, np.where(valid, 8 * (_DECIMAL_BYTES - lengths), 0))
        values = np.stack((low, high.view(np.uint64)), axis=1)
        return fixed_array(values, pa.decimal128(DecimalType.MAX_PRECISION, data_type.scale), valid)

    def texts(self) -> pa.Array:
        """Return strings or bytes, as a binary column, like `numbers`."""
        slots, valid = self._slots()
        inline = slots >> np.uint64(63) == 1
        at = header_size(self.arity) + 8 * self.index
        offsets = np.where(inline, at, (slots >> np.uint64(32)).astype(np.int64))
        lengths = np.where(inline, slots >> np.uint64(56) & np.uint64(0x7F), slots & _LOW_WORD).astype(np.int64)
        valid &= (offsets + lengths <= self._sizes()) & np.where(
            inline, lengths <= _INLINE_BYTES, self._is_behind_slots(offsets)
        )
        starts, lengths = self._starts() + np.where(valid, offsets, 0), np.where(valid, lengths, 0)
        ends = np.empty(2 * len(starts) + 1, dtype=np.int32)
        ends[:-1:2], ends[1::2], ends[-1] = starts, starts + lengths, (starts + lengths)[-1] if len(starts) else 0
        spaced = pa.Array.from_buffers(pa.binary(), 2 * len(starts), [None, pa.py_buffer(ends), self.rows.buffers()[2]])
        return pc.take(spaced, int64_array(np.arange(0, 2 * len(starts), 2), valid))

    def _slots(self) -> tuple[NDArray[np.uint64], Valid]:
        header, valid = header_size(self.arity), self.fits()
        word, bit = divmod(self.index + 8, 64)
        valid &= self._words(8 * word) >> np.uint64(bit) & np.uint64(1) == 0
        return self._words(header + 8 * self.index), valid

    def _is_behind_slots(self, offsets: NDArray[np.int64]) -> Valid:
        """Return which offsets point behind the slots. Other offsets are from a writer with another layout."""
        behind: Valid = offsets >= header_size(self.arity) + 8 * self.arity
        return behind

    def _words(self, offsets: NDArray[np.int64] | int) -> NDArray[np.uint64]:
        """Return the eight bytes at offsets in the rows, shape (rows,). They are arbitrary if a row ends earlier."""
        data = self.rows.buffers()[2]
        if data is None or data.size < 8:
            return np.zeros(len(self.rows), dtype=np.uint64)
        words = np.ndarray((data.size - 7,), dtype="<u8", buffer=data, strides=(1,))
        found: NDArray[np.uint64] = words[np.clip(self._starts() + offsets, 0, data.size - 8)]
        return found

    def _starts(self) -> NDArray[np.int64]:
        offsets = np.frombuffer(self.rows.buffers()[1], dtype=np.int32)
        return offsets[self.rows.offset : self.rows.offset + len(self.rows)].astype(np.int64) + _COUNT_BYTES

    def _sizes(self) -> NDArray[np.int64]:
        return byte_lengths(self.rows) - _COUNT_BYTES


def _shifted(
    high: NDArray[np.uint64], low: NDArray[np.uint64], bits: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Shift 128-bit numbers right by up to 120 bits, and keep their sign. Return the low words and the high words."""
    top, few = high.view(np.int64), bits < 64
    rest = (bits % 64).astype(np.uint64)
    carried = (high << np.uint64(1)) << (np.uint64(63) - rest)
    shifted = top >> rest.view(np.int64)
    return np.where(few, (low >> rest) | carried, shifted.view(np.uint64)), np.where(few, shifted, top >> 63)
