"""Small data files that are opened one after the other, and requested side by side.

A file is requested together with files that the reader opens later, and kept until it is opened. Larger files are read
by parts, which are requested side by side anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from threading import Lock

import pyarrow as pa
from pyarrow import NativeFile

from paimon_core.errors import PaimonError
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.side_by_side import side_by_side

_MOST_EACH = 2**23  # bytes of a small file
_MOST_HELD = 2**25  # bytes of all files that are in memory, but not open


class FilesAhead(DelegatingFileIO):
    """The storage `inner`, for a reader that opens `files` in about this order. Each file is a path and a size in
    bytes.

    If a file cannot be read ahead, or has another size, the reader opens it itself and gets the error.
    """

    def __init__(self, inner: FileIO, files: Iterable[tuple[str, int]]) -> None:
        self._inner = inner
        self._left = {path: size for path, size in files if size <= _MOST_EACH}
        self._held: dict[str, bytes] = {}
        self._lock = Lock()

    def _io(self) -> FileIO:
        return self._inner

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        with self._lock:
            if path in self._left:
                self._request(path)
            content = self._held.pop(path, None)
        return super().open_input(path, size) if content is None else pa.BufferReader(content)

    def _request(self, first: str) -> None:
        """Request a file together with files that follow, as far as memory allows."""
        room = _MOST_HELD - sum(map(len, self._held.values())) - self._left[first]
        chosen = {first: self._left.pop(first)}
        for path, size in list(self._left.items()):
            if len(chosen) == self.requests_at_once or size > room:
                break
            room -= size
            chosen[path] = self._left.pop(path)
        if len(chosen) > 1:
            contents = side_by_side(self._inner, lambda file: _content(self._inner, *file), chosen.items())
            self._held |= {path: c for path, c in zip(chosen, contents, strict=True) if c is not None}


class FileAhead(DelegatingFileIO):
    """The storage `inner`, for a reader that opens one file several times. A small remote file is requested only once,
    when this object is made.

    If it cannot be read, or has another size, the reader opens it itself and gets the error.
    """

    def __init__(self, inner: FileIO, path: str, size: int) -> None:
        is_held = inner.requests_at_once > 1 and size <= _MOST_EACH
        self._inner, self._path = inner, path
        self._held = _content(inner, path, size) if is_held else None

    def _io(self) -> FileIO:
        return self._inner

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        is_held = self._held is not None and path == self._path
        return pa.BufferReader(self._held) if is_held else super().open_input(path, size)


def _content(io: FileIO, path: str, size: int) -> bytes | None:
    with suppress(OSError, PaimonError):
        content = io.read_bytes(path, size)
        return content if len(content) == size else None
    return None
