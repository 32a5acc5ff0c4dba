"""Column chunks of a large remote file, which are requested side by side before they are decoded.

Arrow reads the chunks of a file object one after another. So the row groups are read in windows of a few megabytes: the
chunks of a window are requested together, and the next window is requested while this one is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_core.io.file_io import FileIO
from paimon_core.io.objects.files import END, WHOLE, ObjectReader, Ranges

_WINDOW = 16 * 2**20  # bytes of the chunks of one window; two are in memory. A larger row group is one window
_GAP = 2**16  # bytes: two chunks with a smaller gap are requested as one


def chunks_ahead(io: FileIO, path: str, source: pa.NativeFile) -> ChunksAhead | None:
    """Return the file of an opened source, which is then closed, or None for a file of a single request."""
    size = source.size()
    if size <= WHOLE:
        return None
    with source:
        length = min(END, size)
        return ChunksAhead(io, path, size, source.read_at(length, size - length))


class ChunksAhead:
    """A file of `size` bytes, its end, and the chunks of it that are in memory."""

    def __init__(self, io: FileIO, path: str, size: int, end: bytes = b"") -> None:
        self._fetch, self._size = partial(io.read_ranges, path), size
        self._reader = _HeldReader(self._fetch, size, (size - len(end), end))
        self.source = pa.PythonFile(self._reader, mode="r")

    def windows(self, footer: pq.FileMetaData, groups: Sequence[int], names: Sequence[str]) -> Iterator[list[int]]:
        """Yield row groups in windows. The columns with these names are in memory while the caller reads a window."""
        windows = list(self._windows(footer, groups, names))
        with ThreadPoolExecutor(1, thread_name_prefix="chunks") as pool:
            following = [pool.submit(copy_context().run, self._pieces, ranges) for _, ranges in windows[:1]]
            for number, (window, _) in enumerate(windows):
                self._reader.held = following.pop().result()
                for _, ranges in windows[number + 1 : number + 2]:
                    following.append(pool.submit(copy_context().run, self._pieces, ranges))
                yield window
        self._reader.held = []

    def _windows(
        self, footer: pq.FileMetaData, groups: Sequence[int], names: Sequence[str]
    ) -> Iterator[tuple[list[int], Ranges]]:
        leaves = _leaves(footer, names)
        window, ranges, held = list[int](), list[tuple[int, int]](), 0
        for group in groups:
            found = _chunks(footer.row_group(group), leaves)
            chunks = [(start, length) for start, length in found if start >= 0 and 0 < length <= self._size - start]
            total = sum(length for _, length in chunks)
            if window and held + total > _WINDOW:
                yield window, _joined(ranges)
                window, ranges, held = [], [], 0
            window.append(group)
            ranges += chunks
            held += total
        if window:
            yield window, _joined(ranges)

    def _pieces(self, ranges: Ranges) -> list[tuple[int, bytes]]:
        """Request ranges side by side, long ones in parts. Return each with its offset."""
        parts = [
            (at, min(WHOLE, start + length - at))
            for start, length in ranges
            for at in range(start, start + length, WHOLE)
        ]
        contents = iter(self._fetch(parts) if parts else [])
        return [(start, b"".join(next(contents) for _ in range(0, length, WHOLE))) for start, length in ranges]


class _HeldReader(ObjectReader):
    """A reader that takes bytes from pieces in memory, and requests other bytes."""

    held: Sequence[tuple[int, bytes]] = ()

    def read(self, size: int | None = -1) -> bytes:
        at = self.tell()
        for start, piece in self.held:
            if size is not None and 0 < size <= start + len(piece) - at and start <= at:
                self.seek(at + size)
                return piece[at - start : at - start + size]
        return super().read(size)


def _leaves(footer: pq.FileMetaData, names: Sequence[str]) -> list[int]:
    """Return the indices of the leaves of columns."""
    roots, schema = {*names}, footer.schema
    paths = [schema.column(i).path for i in range(footer.num_columns)]
    return [i for i, path in enumerate(paths) if path in roots or any(path.startswith(f"{name}.") for name in roots)]


def _chunks(group: pq.RowGroupMetaData, leaves: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the offset and the length of each chunk."""
    for leaf in leaves:
        chunk = group.column(leaf)
        start = chunk.data_page_offset
        if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < start:
            start = chunk.dictionary_page_offset
        yield start, chunk.total_compressed_size


def _joined(ranges: Ranges) -> list[tuple[int, int]]:
    """Return ranges in order, with those that overlap or are close together as one."""
    joined = list[tuple[int, int]]()
    for start, length in sorted(ranges):
        if joined and start - sum(joined[-1]) <= _GAP:
            begin, reached = joined[-1]
            joined[-1] = begin, max(reached, start + length - begin)
        else:
            joined.append((start, length))
    return joined
