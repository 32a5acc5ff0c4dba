"""A storage in memory over another storage, so that an operation can be tried without changing anything."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Lock

import pyarrow as pa
from pyarrow import NativeFile

from paimon_core.clock import now_millis
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import MOST_TEXT, FileIO, FileStatus, storage_error, too_large, whole_part
from paimon_core.io.side_by_side import side_by_side


class ScratchFileIO(DelegatingFileIO):
    """Another storage, which it reads and never changes. Written files are kept in memory, deleted files are hidden.

    It is a storage of one writer: no other process sees the changes. Its files cannot be moved or copied.
    """

    atomic_create = True

    def __init__(self, inner: FileIO) -> None:
        self._inner, self._lock = inner, Lock()
        self._written: dict[str, bytes] = {}
        self._deleted: set[str] = set()

    def _io(self) -> FileIO:
        return self._inner

    def deleted(self) -> tuple[int, int]:
        """Return the number of the storage's files that were deleted here, and their bytes."""
        with self._lock:
            paths = sorted(self._deleted - self._written.keys())
        sizes = [s for s in side_by_side(self._inner, partial(_size, self._inner), paths) if s is not None]
        return len(sizes), sum(sizes)

    # -- reads --------------------------------------------------------------------------------------------------------
    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        own = self._own(path)
        if own is None:
            return self._inner.read_bytes(path, most)
        if len(own) > most:
            raise too_large(path, most)
        return own

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        own = self._own(path)
        return self._inner.read_tagged(path) if own is None else (own, None)

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        own = self._own(path)
        return self._inner.open_input(path, size) if own is None else pa.BufferReader(own)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        own = self._own(path)
        if own is None:
            return self._inner.read_ranges(path, ranges)
        return [whole_part(path, own[start : start + length], start, length) for start, length in ranges]

    def exists(self, path: str) -> bool:
        try:
            return self._own(path) is not None or self._inner.exists(path)
        except FileNotFoundError:
            return False

    def status(self, path: str) -> FileStatus:
        own = self._own(path)
        return self._inner.status(path) if own is None else FileStatus(path, len(own), False, now_millis())

    def list(self, path: str) -> Iterator[FileStatus]:
        with self._lock:
            written, deleted = dict(self._written), set(self._deleted)
        known, prefix = set[str](), f"{path}/"
        for file in self._inner.list(path):
            if file.path not in written and file.path not in deleted:
                known.add(file.path)
                yield file
        for name, data in written.items():
            child, deeper, _ = name.removeprefix(prefix).partition("/")
            if name.startswith(prefix) and prefix + child not in known:
                known.add(prefix + child)
                yield FileStatus(prefix + child, 0 if deeper else len(data), bool(deeper), now_millis())

    def files_below(self, path: str) -> builtins.list[str] | None:
        return None  # callers list folders, which shows the changes

    # -- changes ------------------------------------------------------------------------------------------------------
    def write_bytes(self, path: str, data: bytes) -> None:
        with self._lock:
            self._written[path] = data

    def replace_file(self, path: str, data: bytes) -> None:
        self.write_bytes(path, data)

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        self.write_bytes(path, data)
        return True

    def create_exclusive(self, path: str, data: bytes) -> bool:
        if self.exists(path):
            return False
        self.write_bytes(path, data)
        return True

    def open_output(self, path: str) -> NativeFile:
        return pa.PythonFile(_KeptBytes(partial(self.write_bytes, path)), "w")

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def make_dirs(self, path: str) -> None:
        """Do nothing: a folder exists if it has files."""

    def delete(self, path: str) -> None:
        with self._lock:
            self._written.pop(path, None)
            self._deleted.add(path)

    def delete_below(self, root: str, path: str) -> None:
        self.delete(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        for path in paths:
            self.delete(path)
        return {}

    def delete_dir_below(self, root: str, path: str) -> None:
        self.delete_dir(path)

    def delete_dir(self, path: str) -> None:
        for file in list(self.list(path)):
            if file.is_dir and not file.is_link:
                self.delete_dir(file.path)
            self.delete(file.path)
        self.delete(path)

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        return False

    def rename_dir(self, source: str, target: str) -> None:
        raise _unsupported("rename", source)

    def move_file(self, source: str, target: str) -> None:
        raise _unsupported("move", source)

    def copy_file(self, source: str, target: str) -> None:
        raise _unsupported("copy", source)

    def sync(self, path: str) -> None:
        """Do nothing: the file is in memory."""

    def _own(self, path: str) -> bytes | None:
        """Return the content of a file that was written here, None for a file of the storage.

        Raises `FileNotFoundError` for a deleted file.
        """
        with self._lock:
            if path in self._written:
                return self._written[path]
            if path in self._deleted:
                raise FileNotFoundError(path)
            return None


class _KeptBytes(io.BytesIO):
    """A file in memory. When it is closed, its content goes to a function."""

    def __init__(self, keep: Callable[[bytes], None]) -> None:
        super().__init__()
        self._keep = keep

    def close(self) -> None:
        if not self.closed:
            self._keep(self.getvalue())
        super().close()


def _size(storage: FileIO, path: str) -> int | None:
    """Return the size of a file, None if it does not exist or is a folder."""
    try:
        status = storage.status(path)
    except FileNotFoundError:
        return None
    return None if status.is_dir else status.size


def _unsupported(action: str, path: str) -> Exception:
    return storage_error(action, path, "this storage is only a trial")
