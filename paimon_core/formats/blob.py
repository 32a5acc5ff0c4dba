"""`.blob` files: the values of one column of large binaries. Layout, little endian:

    per value   magic number (4 bytes), the value, the length of all four parts (8), CRC32 of the other parts (4);
                nothing for no value
    index       the lengths, each as the zigzag varint of its difference to the length before; -1: NULL, -2: not
                written here, an older file has the value
    footer      the length of the index (4), version 1 (1)

Source: specification, "BLOB".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import byte_lengths, validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, UnsupportedVersionError, is_later
from paimon_core.formats.output import OutputFile
from paimon_core.formats.varints import decode_varints, encode_varints
from paimon_core.io.file_io import FileIO, storage_errors

_MAGIC, _VERSION = (1481511375).to_bytes(4, "little"), 1
_FOOTER, _HEAD, _TAIL = 5, 4, 12
_NULL, _NOT_WRITTEN = -1, -2
_MOST_BYTES = 64 * 2**20  # read at once, but for a single value
_MOST_NEAR = 8 * 2**20  # the same on a storage without latency: memory of this size is used again while it is in caches
_LARGE = 2**16  # the mean size of values that are written one by one, without a copy
_GAP = 64 * 2**10  # bytes between two runs of rows that one request reads
_MAGIC_SUM = zlib.crc32(_MAGIC)

Lengths = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BlobFile:
    """A `.blob` file with its index: per row the length and the offset of its stored bytes."""

    io: FileIO
    path: str
    lengths: Lengths
    offsets: Lengths
    ahead: _ReadAhead | None = None

    @staticmethod
    def open(io: FileIO, path: str, known: int | None = None) -> BlobFile:
        """Open a file, of `known` bytes if metadata says so.

        Raises `FileNotFoundError`, `CorruptFileError`, `StorageError`."""
        with storage_errors("read", path), io.open_input(path, known) as file:
            size = file.size()
            footer = file.read_at(min(size, _FOOTER), max(size - _FOOTER, 0))
            length = int.from_bytes(footer[:4], "little", signed=True)
            if len(footer) == _FOOTER and is_later(footer[4], _VERSION):
                raise UnsupportedVersionError(
                    path, f"it is a blob file of version {footer[4]}, only {_VERSION} is supported"
                )
            if len(footer) < _FOOTER or footer[4] != _VERSION or not 0 <= length <= size - _FOOTER:
                raise CorruptFileError(path, "its footer is not the footer of a blob file of version 1")
            end = size - _FOOTER - length
            lengths = _decode_lengths(path, file.read_at(length, end))
        stored = np.maximum(lengths, 0)
        offsets = np.cumsum(stored) - stored
        least = stored[stored > 0].min(initial=_HEAD + _TAIL)
        if (lengths < _NOT_WRITTEN).any() or (lengths == 0).any() or least < _HEAD + _TAIL or stored.sum() != end:
            raise CorruptFileError(path, "its index does not match its values")
        return BlobFile(io, path, lengths, offsets)

    def for_rows(self, starts: Lengths, counts: Lengths, most: int) -> BlobFile:
        """Return a file object for reading these runs of rows, one after the other. One request reads several
        neighbouring runs, up to `most` bytes.
        """
        ends = np.append(self.offsets, self.offsets[-1:] + np.maximum(self.lengths[-1:], 0))
        return replace(self, ahead=_ReadAhead(self.offsets[starts], ends[starts + counts], most))

    @property
    def written(self) -> NDArray[np.bool_]:
        """Return which rows have their value in this file."""
        return np.not_equal(self.lengths, _NOT_WRITTEN)

    @property
    def spans(self) -> tuple[Lengths, Lengths]:
        """Return per row the offset and the length of its value in bytes. The length is -1 if there is no value."""
        return self.offsets + _HEAD, np.where(self.lengths > 0, self.lengths - _HEAD - _TAIL, -1)

    def read(self, start: int, count: int) -> Iterator[pa.Array]:
        """Yield the values of some rows, in pieces, with NULL for values that the file does not have."""
        most = _MOST_NEAR if self.io.is_near else _MOST_BYTES
        while count:
            ends = self.offsets[start : start + count] + np.maximum(self.lengths[start : start + count], 0)
            rows = max(1, int(np.searchsorted(ends - self.offsets[start], most, side="right")))
            yield self._values(slice(start, start + rows))
            start, count = start + rows, count - rows

    def room(self, start: int, count: int, size: int) -> int:
        """Return how many rows from `start` on, up to `count`, have `size` bytes. The last row may exceed the size."""
        ends = np.cumsum(np.maximum(self.lengths[start : start + count], 0))
        return min(count, int(np.searchsorted(ends, size)) + 1)

    def stored_bytes(self, start: int, count: int) -> Iterator[pa.Buffer]:
        """Yield the bytes of some rows as they are stored, in pieces."""
        low = int(self.offsets[start])
        end = low + int(np.maximum(self.lengths[start : start + count], 0).sum())
        most = _MOST_NEAR if self.io.is_near else _MOST_BYTES
        while low < end:
            yield self._bytes(low, min(end - low, most))
            low += most

    def _bytes(self, offset: int, size: int) -> pa.Buffer:
        known = None if self.ahead is None else self.ahead.known(offset, size)
        if known is not None:
            return known
        more = 0 if self.ahead is None else self.ahead.more(offset, size)
        with storage_errors("read", self.path), self.io.open_input(self.path) as file:
            data = pa.py_buffer(file.read_at(size + more, offset))
        if data.size != size + more:
            raise CorruptFileError(self.path, "it ends before the last value that its index lists")
        if self.ahead is not None and more:
            self.ahead.keep(offset, data)
        return data.slice(0, size)

    def _values(self, rows: slice) -> pa.Array:
        lengths, offsets = self.lengths[rows], self.offsets[rows]
        stored = lengths > 0
        low = int(offsets[0])
        size = int(np.maximum(lengths, 0).sum())
        data = self._bytes(low, size)
        # There are three slots per row: the bytes before the value, the value, and the bytes after it.
        starts = offsets - low
        lead, tail = np.where(stored, _HEAD, 0), np.where(stored, _TAIL, 0)
        ends = starts + np.maximum(lengths, 0)
        slots = np.stack([starts, starts + lead, ends - tail], axis=1).reshape(-1)
        bounds = pa.py_buffer(np.append(slots, size).astype(np.int64))
        pieces = pa.Array.from_buffers(pa.large_binary(), 3 * len(lengths), [None, bounds, data])
        first = np.arange(len(lengths)) * 3
        heads = pieces.take(pa.array(first[stored]))
        if not pc.all(pc.equal(heads, _MAGIC), min_count=0).as_py():
            raise CorruptFileError(self.path, "its values are not at the offsets in its index")
        indices = pa.array(first + 1, mask=~stored)
        return pieces.take(indices).cast(pa.binary())


class _ReadAhead:
    """The bytes of a file after a request, for the next runs of rows. `lows` and `highs` are the bounds of all runs, in
    order; `most` is the number of bytes to keep."""

    def __init__(self, lows: Lengths, highs: Lengths, most: int) -> None:
        self._lows, self._highs, self._most = lows, highs, most
        self._begin, self._data = 0, pa.py_buffer(b"")

    def known(self, offset: int, size: int) -> pa.Buffer | None:
        start = offset - self._begin
        return self._data.slice(start, size) if start >= 0 and start + size <= self._data.size else None

    def more(self, offset: int, size: int) -> int:
        """Return how many bytes to read after some bytes, for runs that follow without a large gap."""
        end = reached = offset + size
        for number in range(int(np.searchsorted(self._lows, offset, side="right")), len(self._lows)):
            low, high = int(self._lows[number]), int(self._highs[number])
            if low > reached + _GAP or high > offset + self._most:
                break
            reached = max(reached, high)
        return reached - end

    def keep(self, offset: int, data: pa.Buffer) -> None:
        self._begin, self._data = offset, data


class BlobFileWriter:
    """A `.blob` file that is being written. Raises `StorageError`."""

    def __init__(self, io: FileIO, path: str) -> None:
        self._file = OutputFile(io, path)
        self._lengths: list[Lengths] = []
        self.size = self.row_count = 0

    def room(self, values: pa.Array, target: int) -> int:
        """Return the number of values until the file has `target` bytes.

        The last of these values may exceed the size.
        """
        ends = self.size + np.cumsum(_entry_lengths(values))
        return min(len(values), int(np.searchsorted(ends, target)) + 1)

    def write(self, values: pa.Array, written: NDArray[np.bool_] | None = None) -> Lengths:
        """Append values. Values that are not marked as `written` are in older files. Return the offset of each value
        that is not NULL."""
        lengths, before = _entry_lengths(values), self.size
        stored = values.drop_null().cast(pa.large_binary())
        sizes = lengths[lengths > 0].astype("<i8")
        size = int(sizes.sum())
        with storage_errors("write", self._file.path):
            for data in _entries(stored, _entry_tails(stored, sizes), size):
                self._file.sink.write(data)
        self.size += size
        empty = np.full(len(values), _NULL) if written is None else np.where(written, _NULL, _NOT_WRITTEN)
        self._lengths.append(np.where(lengths > 0, lengths, empty))
        self.row_count += len(values)
        return before + np.cumsum(lengths) - lengths + _HEAD

    def copy(self, file: BlobFile | None, start: int, count: int) -> None:
        """Append the values of rows of another file as they are stored, or NULL without a file.

        The other file must have been checked to have values, or NULL, of all these rows."""
        lengths = np.full(count, _NULL) if file is None else file.lengths[start : start + count]
        for data in () if file is None else file.stored_bytes(start, count):
            with storage_errors("write", self._file.path):
                self._file.sink.write(data)
            self.size += data.size
        self._lengths.append(lengths)
        self.row_count += count

    def close(self) -> int:
        """Finish the file, make it durable, and return its size in bytes."""
        index = _encode_lengths(np.concatenate([np.zeros(0, dtype=np.int64), *self._lengths]))
        with storage_errors("write", self._file.path):
            self._file.sink.write(index + len(index).to_bytes(4, "little") + bytes([_VERSION]))
        return self._file.finish()

    def abort(self) -> None:
        """Close the file and delete it, as far as possible."""
        self._file.abort()


def _entry_lengths(values: pa.Array) -> Lengths:
    """Return the number of bytes stored for each value."""
    return np.where(validity(values), byte_lengths(values) + _HEAD + _TAIL, 0)


def _entries(stored: pa.Array, tails: pa.Array, size: int) -> Iterator[pa.Buffer | bytes]:
    """Yield the stored bytes of values, `size` together. Large values are not copied, which needs a loop over them."""
    if size >= _LARGE * max(len(stored), 1):
        for value, tail in zip(stored, tails, strict=True):
            yield _MAGIC
            yield value.as_buffer()
            yield tail.as_buffer()
    elif size:
        magic, nothing = (pa.scalar(b, pa.large_binary()) for b in (_MAGIC, b""))
        yield pc.binary_join_element_wise(magic, stored, tails, nothing).buffers()[2].slice(0, size)


def _entry_tails(stored: pa.Array, sizes: NDArray[Any]) -> pa.Array:
    """Return the bytes after each value: its length and its checksum.

    The checksums need a loop over values: neither Arrow nor numpy has a CRC32 function for columns."""
    tails = np.zeros(len(sizes), dtype=[("length", "<i8"), ("checksum", "<u4")])
    tails["length"] = sizes
    ends = (int(n).to_bytes(8, "little") for n in sizes)
    heads = (zlib.crc32(value.as_buffer(), _MAGIC_SUM) for value in stored)
    tails["checksum"] = [zlib.crc32(end, head) for head, end in zip(heads, ends, strict=True)]
    bounds = np.arange(len(sizes) + 1, dtype=np.int64) * _TAIL
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), [None, pa.py_buffer(bounds), pa.py_buffer(tails)])


def _encode_lengths(lengths: Lengths) -> bytes:
    """Encode the differences of the lengths as zigzag varints."""
    return encode_varints(lengths, np.array([0, len(lengths)]))[0].tobytes()


def _decode_lengths(path: str, data: bytes) -> Lengths:
    """Decode the lengths from the zigzag varints of their differences."""
    raw = np.frombuffer(data, dtype=np.uint8)
    if len(raw) and raw[-1] >= 0x80:
        raise CorruptFileError(path, "its index ends within a number")
    try:
        return decode_varints(raw, np.array([0, len(raw)]), np.array([0, np.count_nonzero(raw < 0x80)]))
    except ValueError as e:
        raise CorruptFileError(path, f"its index {e}") from e
