"""Read a file with another footer instead of its own, so that its columns have other types."""

from __future__ import annotations

import io

import pyarrow as pa


class ReplacedFooterFile(io.RawIOBase):
    """The bytes of a file up to an offset, followed by another footer."""

    def __init__(self, source: pa.NativeFile, end: int, footer: bytes) -> None:
        self._source, self._end, self._footer, self._offset = source, end, footer, 0
        self._size = end + len(footer)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._offset = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self._size}[whence]
        return self._offset

    def read(self, size: int = -1) -> bytes:
        stop = self._size if size is None or size < 0 else min(self._size, self._offset + size)
        start, end = self._offset, self._end
        before = self._source.read_at(max(0, min(stop, end) - start), start) if start < end else b""
        after = self._footer[max(0, start - end) : max(0, stop - end)]
        self._offset += len(before) + len(after)
        return bytes(before) + after
