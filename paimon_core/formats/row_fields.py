"""Single fields of BinaryRows that stand in a binary column, such as bounds in manifests; layout: `spec.binary_row`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.formats.columns import byte_lengths, int64_array, validity
from paimon_core.spec.binary_row import header_size, is_stored_inline
from paimon_core.spec.types import DataType, Kind, TimeType

Valid = NDArray[np.bool_]
_COUNT_BYTES = 4
_INLINE_BYTES = 7
_LOW_WORD = np.uint64(0xFFFFFFFF)
_NARROW = {Kind.TINYINT: np.int8, Kind.SMALLINT: np.int16, Kind.INT: np.int32, Kind.DATE: np.int32, Kind.TIME: np.int32}


@dataclass(frozen=True, slots=True)
class RowField:
    """Field number `place` of rows of `arity` fields, each with its leading field count; `rows` have no NULLs."""

    rows: pa.Array
    arity: int
    place: int

    def fits(self) -> Valid:
        """Which rows have as many fields as are expected, and room for them; shape (rows,)."""
        valid = validity(self.rows) & (self._sizes() >= header_size(self.arity) + 8 * self.arity)
        count = np.uint64(int.from_bytes(self.arity.to_bytes(_COUNT_BYTES, "big"), "little"))
        fitting: Valid = valid & (self._words(-_COUNT_BYTES) & _LOW_WORD == count)
        return fitting

    def numbers(self, data_type: DataType) -> tuple[NDArray[np.int64], Valid]:
        """Integers, days or epoch milliseconds, and which rows have one; shapes (rows,). A row that is NULL there, or
        none of `arity` fields, has none."""
        slots, valid = self._slots()
        if isinstance(data_type, TimeType) and not is_stored_inline(data_type):
            offsets = (slots >> np.uint64(32)).astype(np.int64)
            valid &= offsets + 8 <= self._sizes()
            return self._words(np.where(valid, offsets, 0)).view(np.int64), valid
        numbers = slots.view(np.int64)
        return numbers.astype(_NARROW.get(data_type.kind, np.int64)).astype(np.int64), valid

    def texts(self) -> pa.Array:
        """As `numbers`, strings or bytes: a binary column."""
        slots, valid = self._slots()
        inline = slots >> np.uint64(63) == 1
        at = header_size(self.arity) + 8 * self.place
        offsets = np.where(inline, at, (slots >> np.uint64(32)).astype(np.int64))
        lengths = np.where(inline, slots >> np.uint64(56) & np.uint64(0x7F), slots & _LOW_WORD).astype(np.int64)
        valid &= (offsets + lengths <= self._sizes()) & (~inline | (lengths <= _INLINE_BYTES))
        places, lengths = self._starts() + np.where(valid, offsets, 0), np.where(valid, lengths, 0)
        ends = np.empty(2 * len(places) + 1, dtype=np.int32)
        ends[:-1:2], ends[1::2], ends[-1] = places, places + lengths, (places + lengths)[-1] if len(places) else 0
        spaced = pa.Array.from_buffers(pa.binary(), 2 * len(places), [None, pa.py_buffer(ends), self.rows.buffers()[2]])
        return spaced.take(int64_array(np.arange(0, 2 * len(places), 2), valid))

    def _slots(self) -> tuple[NDArray[np.uint64], Valid]:
        header, valid = header_size(self.arity), self.fits()
        word, bit = divmod(self.place + 8, 64)
        valid &= self._words(8 * word) >> np.uint64(bit) & np.uint64(1) == 0
        return self._words(header + 8 * self.place), valid

    def _words(self, offsets: NDArray[np.int64] | int) -> NDArray[np.uint64]:
        """The eight bytes behind offsets into the rows, shape (rows,); others where a row does not reach so far."""
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
