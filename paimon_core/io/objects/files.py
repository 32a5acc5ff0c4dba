"""Data files of an object store as files that pyarrow reads and writes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

WHOLE = 8 * 2**20  # bytes: a smaller file is read by one request; also the size of parts
END = 2**18  # bytes at the end of a large file that are read first: most footers are smaller
_AHEAD = 2**20  # bytes that a small read fetches
Ranges = Sequence[tuple[int, int]]  # offset and length of each


class ObjectReader(io.RawIOBase):
    """A file that is read by ranges: large reads in parallel parts, small reads from a piece in memory.

    `piece` is read already: its offset and its bytes.
    """

    def __init__(self, fetch: Callable[[Ranges], list[bytes]], size: int, piece: tuple[int, bytes] = (0, b"")) -> None:
        self._fetch, self._size, self._at = fetch, size, 0
        self._start, self._piece = piece

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def size(self) -> int:
        return self._size

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._at)
        length = left if size is None or size < 0 else min(size, left)
        if not length:
            return b""
        begin = self._at - self._start
        if not 0 <= begin <= len(self._piece) - length:
            if length >= _AHEAD:
                data = self._parts(length)
                self._at += length
                return data
            (self._piece,), self._start, begin = self._fetch([(self._at, min(_AHEAD, left))]), self._at, 0
        self._at += length
        return self._piece[begin : begin + length]

    def _parts(self, length: int) -> bytes:
        end = self._at + length
        parts = self._fetch([(at, min(WHOLE, end - at)) for at in range(self._at, end, WHOLE)])
        return parts[0] if len(parts) == 1 else b"".join(parts)


class ObjectWriter(io.RawIOBase):
    """A file that is uploaded in parts. It exists, as a whole, once it is closed."""

    def __init__(self, writer: Any, errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._writer, self._errors, self._written = writer, errors, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        with self._errors():
            self._writer.write(view)
        self._written += view.nbytes
        return view.nbytes

    def close(self) -> None:
        if not self.closed:
            super().close()
            with self._errors():
                self._writer.close()
