"""A `FileIO` in which one call fails: the storage refuses it, loses the answer, acts late, writes half a file or is
full, or the process dies.

Every call is counted. For data files, opening one, each piece read or written, and the end of writing count. Call
number `fail_at` (from 1) fails according to `mode`. With `fail_at=0` no call fails, and `moments` then returns the
numbers to try.
"""

from __future__ import annotations

import builtins
import enum
import errno
import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from paimon_core.io.file_io import MOST_TEXT, FileIO, FileStatus, delete_each_below, read_each_range, storage_error

T = TypeVar("T")


class Fault(enum.Enum):
    BEFORE = "the call fails and did nothing"
    AFTER = "the call fails, and did it"
    LATE = "the call fails, and is done when the statement is over"
    TORN = "half of the bytes are written, of a folder half of the files deleted, then the call fails"
    SHORT = "reading gives half of the bytes, as if that were all"
    NO_SPACE = "the disk is full from this call on: writing is refused, reading and deleting go on"
    CRASH = "the process dies before the call: this and every later one raises SimulatedCrash"


class SimulatedCrash(BaseException):
    """The end of the process. No code may catch it, and nothing can be cleaned up."""


class FaultyIO:
    """`inner`, with a fault at call number `fail_at`."""

    def __init__(self, inner: FileIO, fail_at: int = 0, mode: Fault = Fault.BEFORE):
        self.inner, self.fail_at, self.mode = inner, fail_at, mode
        self._moments: list[tuple[Fault, ...]] = []
        self._late: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def calls(self) -> int:
        return len(self._moments)

    def moments(self, mode: Fault) -> list[int]:
        """Return the numbers of the calls that can fail in a mode. A call that reads has the same effect whether it
        fails before or after. A process that dies is only interesting before a call that changes something.
        """
        return [number for number, modes in enumerate(self._moments, 1) if mode in modes]

    def settle(self) -> None:
        """Run the call that the storage delays."""
        while self._late:
            with suppress(OSError):
                self._late.pop()()

    @property
    def atomic_create(self) -> bool:
        return self.inner.atomic_create

    @property
    def requests_at_once(self) -> int:
        return self.inner.requests_at_once

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        return self.call(path, lambda: self.inner.read_bytes(path, most), shorten=_half)

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        return self.read_bytes(path), None

    @property
    def is_near(self) -> bool:
        return False

    def open_input(self, path: str, size: int | None = None) -> Any:
        opened = self.call(path, lambda: self.inner.open_input(path, size))
        return pa.PythonFile(_FaultyReader(self, path, opened), mode="r")

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        return read_each_range(self, path, ranges)

    def open_output(self, path: str) -> Any:
        opened = self.call(path, lambda: self.inner.open_output(path), writes=True, may_be_late=False)
        return pa.PythonFile(_FaultyStream(self, path, opened), mode="w")

    def write_bytes(self, path: str, data: bytes) -> None:
        def tear() -> None:
            self.inner.write_bytes(path, data[: len(data) // 2])

        self.call(path, lambda: self.inner.write_bytes(path, data), tear, writes=True)

    def replace_file(self, path: str, data: bytes) -> None:
        self.call(path, lambda: self.inner.replace_file(path, data), writes=True)

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        self.replace_file(path, data)
        return True

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

    def files_below(self, path: str) -> builtins.list[str] | None:
        return self.call(path, lambda: self.inner.files_below(path))

    def make_dirs(self, path: str) -> None:
        self.call(path, lambda: self.inner.make_dirs(path), writes=True)

    def delete(self, path: str) -> None:
        self.call(path, lambda: self.inner.delete(path), deletes=True)

    def delete_below(self, root: str, path: str) -> None:
        self.call(path, lambda: self.inner.delete_below(root, path), deletes=True)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_each_below(self, root, paths)

    def delete_dir_below(self, root: str, path: str) -> None:
        tear = partial(self._delete_half, path)
        self.call(path, lambda: self.inner.delete_dir_below(root, path), tear, deletes=True)

    def delete_dir(self, path: str) -> None:
        tear = partial(self._delete_half, path)
        self.call(path, lambda: self.inner.delete_dir(path), tear, deletes=True)

    def _delete_half(self, folder: str) -> None:
        """Delete the first half of a folder's files in the order of their names, as object stores list and
        delete them.
        """
        found = sorted(self._below(folder))
        for path in found[: (len(found) + 1) // 2]:
            self.inner.delete(path)

    def _below(self, folder: str) -> Iterator[str]:
        for entry in self.inner.list(folder):
            if entry.is_dir:
                yield from self._below(entry.path)
            else:
                yield entry.path

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        return self.call(path, lambda: self.inner.delete_empty_dir_below(root, path), deletes=True)

    def rename_dir(self, source: str, target: str) -> None:
        self.call(source, lambda: self.inner.rename_dir(source, target), writes=True)

    def sync(self, path: str) -> None:
        self.call(path, lambda: self.inner.sync(path), writes=True)

    def move_file(self, source: str, target: str) -> None:
        self.call(source, lambda: self.inner.move_file(source, target), writes=True)

    def copy_file(self, source: str, target: str) -> None:
        self.call(source, lambda: self.inner.copy_file(source, target), writes=True)

    def call(
        self,
        path: str,
        act: Callable[[], T],
        tear: Callable[[], None] | None = None,
        shorten: Callable[[T], T] | None = None,
        writes: bool = False,
        deletes: bool = False,
        may_be_late: bool = True,
    ) -> T:
        """Count one call, and run it, not run it, or run half of it."""
        changing = (Fault.AFTER, Fault.CRASH, *[Fault.LATE] * may_be_late) if writes or deletes else ()
        partly = (*[Fault.TORN] * bool(tear), *[Fault.SHORT] * bool(shorten), *[Fault.NO_SPACE] * writes)
        with self._lock:
            self._moments.append((Fault.BEFORE, *changing, *partly))
            number = self.calls
        if not 0 < self.fail_at <= number:
            return act()
        if self.mode is Fault.CRASH:
            raise SimulatedCrash(path)
        if self.mode is Fault.NO_SPACE and writes:
            raise storage_error("write", path, os.strerror(errno.ENOSPC), errno.ENOSPC)
        if number > self.fail_at or self.mode is Fault.NO_SPACE:
            return act()
        if self.mode is Fault.SHORT and shorten:
            return shorten(act())
        if self.mode is Fault.AFTER:
            act()
        elif (
            self.mode is Fault.LATE and Fault.LATE in changing
        ):  # threads may come in another order than when the calls were counted
            self._late.append(act)
        elif self.mode is Fault.TORN and tear:
            tear()
        raise storage_error("reach", path, self.mode.value)


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


class _FaultyReader(io.RawIOBase):
    """A data file that is being read. Each piece is one call of `faulty`."""

    def __init__(self, faulty: FaultyIO, path: str, inner: Any):
        self.faulty, self.path, self.inner = faulty, path, inner

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        read: Callable[[], bytes] = lambda: self.inner.read(None if size in (None, -1) else size)  # noqa: E731
        return self.faulty.call(self.path, read, shorten=_half)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self.inner.seek(offset, whence))

    def tell(self) -> int:
        return int(self.inner.tell())

    def size(self) -> int:
        return int(self.inner.size())

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.inner.close()


class _FaultyStream(io.RawIOBase):
    """A data file that is being written. Each piece and the end is one call of `faulty`."""

    def __init__(self, faulty: FaultyIO, path: str, inner: Any):
        self.faulty, self.path, self.inner = faulty, path, inner

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        def tear() -> None:
            self.inner.write(data[: len(data) // 2])

        self.faulty.call(self.path, lambda: self.inner.write(data), tear, writes=True, may_be_late=False)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            try:
                self.faulty.call(self.path, self.inner.close, writes=True, may_be_late=False)
            finally:
                self.inner.close()  # the process closes the file whatever the storage has answered
