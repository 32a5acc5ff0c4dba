"""A storage in memory over another storage, so that an operation can be tried without changing anything."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import groupby
from threading import Lock

import pyarrow as pa
from pyarrow import NativeFile

from paimon_core.clock import now_millis
from paimon_core.io.below import check_below, freed_bytes
from paimon_core.io.delegating import DelegatingFileIO, innermost
from paimon_core.io.file_io import (
    MOST_TEXT,
    FileIO,
    FileStatus,
    delete_each_below,
    storage_error,
    storage_errors,
    too_large,
    whole_part,
)
from paimon_core.io.local import LocalFileIO
from paimon_core.io.side_by_side import side_by_side

_MANY = 8  # files of a folder: one listing costs less than a request for each of them


class ScratchFileIO(DelegatingFileIO):
    """Another storage, which it reads and never changes. Written files are kept in memory, deleted files are hidden.

    It is a storage of one writer: no other process sees the changes. Its files cannot be moved or copied. Like the
    storage itself, it deletes nothing behind a symbolic link.
    """

    atomic_create = True

    def __init__(self, inner: FileIO) -> None:
        self._inner, self._lock = inner, Lock()
        self._has_links = isinstance(innermost(inner), LocalFileIO)
        self._written: dict[str, bytes] = {}
        self._deleted: set[str] = set()
        self._sizes: dict[str, int] = {}  # of the storage's files, as far as they were listed

    def _io(self) -> FileIO:
        return self._inner

    def deleted(self) -> tuple[int, int]:
        """Return the number of the storage's files that were deleted here, and their bytes."""
        with self._lock:
            paths = sorted(self._deleted - self._written.keys())
            known = {path: self._sizes[path] for path in paths if path in self._sizes}
        if self._has_links:
            found = map(freed_bytes, paths)
            sizes = [size for size in found if size is not None]
        else:
            sizes = [*known.values(), *self._looked_up([path for path in paths if path not in known])]
        return len(sizes), sum(sizes)

    def _looked_up(self, paths: Sequence[str]) -> Iterator[int]:
        """Yield the sizes of the files among some sorted paths. Folders with many of these paths are listed."""
        single: list[str] = []
        for folder, group in groupby(paths, key=lambda path: path.rpartition("/")[0]):
            names = list(group)
            if len(names) < _MANY:
                single += names
                continue
            wanted = frozenset(names)
            yield from (f.size for f in self._inner.list(folder) if not f.is_dir and f.path in wanted)
        found = side_by_side(self._inner, partial(_size, self._inner), single)
        yield from (size for size in found if size is not None)

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
            if not (self._has_links or file.is_dir):
                with self._lock:
                    self._sizes[file.path] = file.size
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
        self._check_below(root, path)
        self.delete(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_each_below(self, root, paths)

    def delete_dir_below(self, root: str, path: str) -> None:
        self._check_below(root, path)
        self.delete_dir(path)

    def _check_below(self, root: str, path: str) -> None:
        """Raise the storage's error if a symbolic link leads from `root` to a path."""
        if self._has_links:
            with storage_errors("delete", path), suppress(FileNotFoundError):  # a folder that exists in memory only
                check_below(root, path)

    def delete_dir(self, path: str) -> None:
        is_link = self._has_links and os.path.islink(path)
        for file in () if is_link else list(self.list(path)):
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
