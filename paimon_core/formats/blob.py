"""`.blob` files: the values of one column of large binaries. Layout, little endian:

    per value   magic number (4 bytes), the value, the length of all four parts (8), CRC32 (4); nothing for no value
    index       the lengths, each as the zigzag varint of its difference to the one before; -1: NULL, -2: not written
                here, the value is that of an older file
    footer      the length of the index (4), version 1 (1)

Source: specification, "BLOB".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.errors import CorruptFileError
from paimon_core.io.file_io import FileIO, storage_errors

_MAGIC, _VERSION = (1481511375).to_bytes(4, "little"), 1
_FOOTER, _HEAD, _TAIL = 5, 4, 12
_NULL, _NOT_WRITTEN = -1, -2
_MOST_BYTES = 64 * 2**20  # read at once, but for a single value
_MOST_VARINT = 10

Lengths = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BlobFile:
    """A `.blob` file whose index is read: per row the length of what is stored of it, and where that starts."""

    io: FileIO
    path: str
    lengths: Lengths
    offsets: Lengths

    @staticmethod
    def open(io: FileIO, path: str) -> BlobFile:
        """Raises `FileNotFoundError`, `CorruptFileError`, `StorageError`."""
        with storage_errors("read", path), io.arrow().open_input_file(io.arrow_path(path)) as file:
            size = file.size()
            footer = file.read_at(min(size, _FOOTER), max(size - _FOOTER, 0))
            length = int.from_bytes(footer[:4], "little", signed=True)
            if len(footer) < _FOOTER or footer[4] != _VERSION or not 0 <= length <= size - _FOOTER:
                raise CorruptFileError(path, "its footer is not that of a blob file of version 1")
            end = size - _FOOTER - length
            lengths = _decode_lengths(path, file.read_at(length, end))
        stored = np.maximum(lengths, 0)
        offsets = np.cumsum(stored) - stored
        least = stored[stored > 0].min(initial=_HEAD + _TAIL)
        if (lengths < _NOT_WRITTEN).any() or (lengths == 0).any() or least < _HEAD + _TAIL or stored.sum() != end:
            raise CorruptFileError(path, "its index does not fit its values")
        return BlobFile(io, path, lengths, offsets)

    @property
    def written(self) -> NDArray[np.bool_]:
        """The rows whose value this file tells."""
        return np.not_equal(self.lengths, _NOT_WRITTEN)

    def read(self, start: int, count: int) -> Iterator[pa.Array]:
        """The values of some rows, in pieces; NULL for those that the file does not tell."""
        while count:
            ends = self.offsets[start : start + count] + np.maximum(self.lengths[start : start + count], 0)
            rows = max(1, int(np.searchsorted(ends - self.offsets[start], _MOST_BYTES, side="right")))
            yield self._values(slice(start, start + rows))
            start, count = start + rows, count - rows

    def _values(self, rows: slice) -> pa.Array:
        lengths, offsets = self.lengths[rows], self.offsets[rows]
        stored = lengths > 0
        low = int(offsets[0])
        size = int(np.maximum(lengths, 0).sum())
        with storage_errors("read", self.path), self.io.arrow().open_input_file(self.io.arrow_path(self.path)) as file:
            data = pa.py_buffer(file.read_at(size, low))
        if data.size != size:
            raise CorruptFileError(self.path, "it ends before its index says")
        # three slots per row: what is before the value, the value, what is behind it
        starts = offsets - low
        lead, tail = np.where(stored, _HEAD, 0), np.where(stored, _TAIL, 0)
        ends = starts + np.maximum(lengths, 0)
        slots = np.stack([starts, starts + lead, ends - tail], axis=1).reshape(-1)
        bounds = pa.py_buffer(np.append(slots, size).astype(np.int64))
        pieces = pa.Array.from_buffers(pa.large_binary(), 3 * len(lengths), [None, bounds, data])
        first = np.arange(len(lengths)) * 3
        heads = pieces.take(pa.array(first[stored]))
        if not pc.all(pc.equal(heads, _MAGIC), min_count=0).as_py():
            raise CorruptFileError(self.path, "its values are not where its index says")
        places = pa.array(first + 1, mask=~stored)
        return pieces.take(places).cast(pa.binary())


def _decode_lengths(path: str, data: bytes) -> Lengths:
    """Zigzag varints of differences."""
    raw = np.frombuffer(data, dtype=np.uint8)
    if not len(raw):
        return np.zeros(0, dtype=np.int64)
    lasts = np.flatnonzero(raw < 0x80)
    if not len(lasts) or lasts[-1] != len(raw) - 1:
        raise CorruptFileError(path, "its index ends within a number")
    starts = np.append(0, lasts[:-1] + 1)
    if (lasts - starts).max() >= _MOST_VARINT:
        raise CorruptFileError(path, "its index has a number of more than 64 bits")
    shift = 7 * (np.arange(len(raw)) - np.repeat(starts, lasts - starts + 1))
    parts = (raw & 0x7F).astype(np.uint64) << shift.astype(np.uint64)
    zigzag = np.add.reduceat(parts, starts)
    return np.cumsum((zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64))
