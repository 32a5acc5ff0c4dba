"""A file with another footer than its own, which says that columns are of other types than they are."""

from __future__ import annotations

import io

import pyarrow as pa


class ReplacedFooterFile(io.RawIOBase):
    """The bytes of a file up to a place, and others behind them."""

    def __init__(self, source: pa.NativeFile, end: int, footer: bytes) -> None:
        self._source, self._end, self._footer, self._place = source, end, footer, 0
        self._size = end + len(footer)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def read(self, size: int = -1) -> bytes:
        stop = self._size if size is None or size < 0 else min(self._size, self._place + size)
        start, end = self._place, self._end
        before = self._source.read_at(max(0, min(stop, end) - start), start) if start < end else b""
        after = self._footer[max(0, start - end) : max(0, stop - end)]
        self._place += len(before) + len(after)
        return bytes(before) + after
