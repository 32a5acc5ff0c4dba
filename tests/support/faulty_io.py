"""A `FileIO` in which one call goes wrong: the storage refuses, answers too late, tears a file, is full, or we die.

Every call is counted; of data files, which go through `arrow()`, opening one, and each piece written to one and its
end. Call number `fail_at` (from 1) fails as `mode` says; `fail_at=0` never fails, and `moments` then gives the
numbers to try.
"""

from __future__ import annotations

import enum
import errno
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow.fs import FileSystem, FileSystemHandler, PyFileSystem

from paimon_core.errors import StorageError
from paimon_core.io.file_io import MOST_TEXT, FileIO, FileStatus, delete_each_below

T = TypeVar("T")


class Fault(enum.Enum):
    BEFORE = "the call fails and did nothing"
    AFTER = "the call fails, and did it"
    TORN = "half of the bytes are written, then the call fails; other calls than writing bytes fail as BEFORE"
    NO_SPACE = "the disk is full from this call on: writing fails, reading and deleting go on"
    CRASH = "the process dies before the call: this and every later one raises SimulatedCrash"


class SimulatedCrash(BaseException):
    """The end of the process: nothing may catch it, and nothing can be cleaned up."""


class FaultyIO:
    """`inner`, with a fault at call number `fail_at`. For one thread."""

    def __init__(self, inner: FileIO, fail_at: int = 0, mode: Fault = Fault.BEFORE):
        self.inner, self.fail_at, self.mode = inner, fail_at, mode
        self._moments: list[tuple[Fault, ...]] = []

    @property
    def calls(self) -> int:
        return len(self._moments)

    def moments(self, mode: Fault) -> list[int]:
        """The numbers of the calls that can fail in a mode: a reading one has the same effect whether it fails
        before or after, and who dies before it dies before the next call that changes something."""
        return [number for number, modes in enumerate(self._moments, 1) if mode in modes]

    @property
    def atomic_create(self) -> bool:
        return self.inner.atomic_create

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        return self.call(path, lambda: self.inner.read_bytes(path, most))

    def open_input(self, path: str) -> Any:
        return self.call(path, lambda: self.inner.open_input(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        def tear() -> None:
            self.inner.write_bytes(path, data[: len(data) // 2])

        self.call(path, lambda: self.inner.write_bytes(path, data), tear, writes=True)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        return self.call(path, lambda: self.inner.create_exclusive(path, data), writes=True)

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return self.inner.writer_slot(path)

    def exists(self, path: str) -> bool:
        return self.call(path, lambda: self.inner.exists(path))

    def status(self, path: str) -> FileStatus:
        return self.call(path, lambda: self.inner.status(path))

    def list(self, path: str) -> Iterator[FileStatus]:
        return self.call(path, lambda: self.inner.list(path))

    def make_dirs(self, path: str) -> None:
        self.call(path, lambda: self.inner.make_dirs(path), writes=True)

    def delete(self, path: str) -> None:
        self.call(path, lambda: self.inner.delete(path), deletes=True)

    def delete_below(self, root: str, path: str) -> None:
        self.call(path, lambda: self.inner.delete_below(root, path), deletes=True)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_each_below(self, root, paths)

    def delete_dir_below(self, root: str, path: str) -> None:
        self.call(path, lambda: self.inner.delete_dir_below(root, path), deletes=True)

    def delete_dir(self, path: str) -> None:
        self.call(path, lambda: self.inner.delete_dir(path), deletes=True)

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        return self.call(path, lambda: self.inner.delete_empty_dir_below(root, path), deletes=True)

    def rename_dir(self, source: str, target: str) -> None:
        self.call(source, lambda: self.inner.rename_dir(source, target), writes=True)

    def sync(self, path: str) -> None:
        self.call(path, lambda: self.inner.sync(path), writes=True)

    def arrow(self) -> FileSystem:
        return PyFileSystem(_FaultyHandler(self, self.inner.arrow()))

    def arrow_path(self, path: str) -> str:
        return self.inner.arrow_path(path)

    def call(
        self,
        path: str,
        act: Callable[[], T],
        tear: Callable[[], None] | None = None,
        writes: bool = False,
        deletes: bool = False,
    ) -> T:
        """Count one call and let it happen, or not, or half."""
        changing = (Fault.AFTER, Fault.CRASH) if writes or deletes else ()
        self._moments.append((Fault.BEFORE, *changing, *[Fault.NO_SPACE] * writes, *[Fault.TORN] * bool(tear)))
        failing = self.calls == self.fail_at
        reached = 0 < self.fail_at <= self.calls
        if reached and self.mode is Fault.CRASH:
            raise SimulatedCrash(path)
        if reached and writes and self.mode is Fault.NO_SPACE:
            raise StorageError(f"Cannot write {path}: {os.strerror(errno.ENOSPC)}; free space on it.")
        if not failing or self.mode is Fault.NO_SPACE:
            return act()
        if self.mode is Fault.AFTER:
            act()
        elif self.mode is Fault.TORN and tear:
            tear()
        raise StorageError(f"Cannot reach {path}: {self.mode.value}.")


class _FaultyStream(io.RawIOBase):
    """A data file being written, each piece and the end one call of `faulty`."""

    def __init__(self, faulty: FaultyIO, path: str, inner: Any):
        self.faulty, self.path, self.inner = faulty, path, inner

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        def tear() -> None:
            self.inner.write(data[: len(data) // 2])

        self.faulty.call(self.path, lambda: self.inner.write(data), tear, writes=True)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.faulty.call(self.path, self.inner.close, writes=True)


class _FaultyHandler(FileSystemHandler):  # type: ignore[misc]
    """`inner`, where every call that opens or changes a file is one of `io`; looking up is not counted."""

    def __init__(self, io: FaultyIO, inner: FileSystem):
        self.io, self.inner = io, inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FaultyHandler) and self.inner == other.inner and self.io is other.io

    def __ne__(self, other: object) -> bool:
        return not self == other

    def open_input_stream(self, path: str) -> Any:
        return self.io.call(path, lambda: self.inner.open_input_stream(path, compression=None))

    def open_input_file(self, path: str) -> Any:
        return self.io.call(path, lambda: self.inner.open_input_file(path))

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        def act() -> Any:
            return self.inner.open_output_stream(path, compression=None, metadata=metadata)

        return pa.PythonFile(_FaultyStream(self.io, path, self.io.call(path, act, writes=True)), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        def act() -> Any:
            return self.inner.open_append_stream(path, compression=None, metadata=metadata)

        return self.io.call(path, act, writes=True)

    def get_type_name(self) -> str:
        return f"faulty+{self.inner.type_name}"

    def normalize_path(self, path: str) -> str:
        return str(self.inner.normalize_path(path))

    def get_file_info(self, paths: list[str]) -> Any:
        return self.inner.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return self.inner.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self.io.call(path, lambda: self.inner.create_dir(path, recursive=recursive), writes=True)

    def delete_dir(self, path: str) -> None:
        self.io.call(path, lambda: self.inner.delete_dir(path), deletes=True)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> None:
        self.io.call(path, lambda: self.inner.delete_dir_contents(path, missing_dir_ok=missing_dir_ok), deletes=True)

    def delete_root_dir_contents(self) -> None:
        self.io.call("/", lambda: self.inner.delete_dir_contents("", accept_root_dir=True), deletes=True)

    def delete_file(self, path: str) -> None:
        self.io.call(path, lambda: self.inner.delete_file(path), deletes=True)

    def move(self, src: str, dest: str) -> None:
        self.io.call(src, lambda: self.inner.move(src, dest), writes=True)

    def copy_file(self, src: str, dest: str) -> None:
        self.io.call(src, lambda: self.inner.copy_file(src, dest), writes=True)
