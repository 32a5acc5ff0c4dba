"""A storage in memory, and a storage that runs a whole second operation before one of the calls of the first.

As on object stores, there is no queue for writers: only `create_exclusive` decides races.
"""

from __future__ import annotations

import builtins
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeVar

from pyarrow import NativeFile

from paimon_core.io.file_io import FileStatus, delete_each_below
from paimon_core.store.cache import MetadataCache, S

T = TypeVar("T")


@dataclass
class MemoryIO:
    """Files and the time of each write, as the number of writes so far. A folder exists if something is in it.

    If the storage `has_tags`, equal contents have equal tags.
    """

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    writes: int = 0
    atomic_create: bool = True
    requests_at_once: int = 1
    has_tags: bool = False

    def copy(self) -> MemoryIO:
        return replace(self, files=dict(self.files))

    def read_bytes(self, path: str, most: int = 0) -> bytes:
        return self._file(path)[0]

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        data = self.read_bytes(path)
        return data, self._tag(data)

    def _tag(self, data: bytes) -> str | None:
        return hashlib.md5(data).hexdigest() if self.has_tags else None

    def write_bytes(self, path: str, data: bytes) -> None:
        self.writes += 1
        self.files[path] = data, self.writes

    def replace_file(self, path: str, data: bytes) -> None:
        self.write_bytes(path, data)

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        if tag is not None and (path not in self.files or self.read_tagged(path)[1] != tag):
            return False
        self.write_bytes(path, data)
        return True

    def create_exclusive(self, path: str, data: bytes) -> bool:
        if path in self.files:
            return False
        self.write_bytes(path, data)
        return True

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def exists(self, path: str) -> bool:
        return path in self.files or any(p.startswith(f"{path}/") for p in self.files)

    def status(self, path: str) -> FileStatus:
        data, modified = self._file(path)
        return FileStatus(path, len(data), False, modified, tag=self._tag(data))

    def list(self, path: str) -> Iterator[FileStatus]:
        found: dict[str, FileStatus] = {}
        for file in [p for p in self.files if p.startswith(f"{path}/")]:
            name, _, below = file[len(path) + 1 :].partition("/")
            child = f"{path}/{name}"
            found[name] = FileStatus(child, 0, True, 0) if below else self.status(child)
        return iter(found.values())

    def files_below(self, path: str) -> builtins.list[str] | None:
        return None

    def make_dirs(self, path: str) -> None:
        pass

    def delete(self, path: str) -> None:
        self.files.pop(path, None)

    def delete_dir(self, path: str) -> None:
        for file in [p for p in self.files if p.startswith(f"{path}/")]:
            del self.files[file]

    def delete_below(self, root: str, path: str) -> None:
        assert path.startswith(f"{root}/")
        self.delete(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_each_below(self, root, paths)

    def delete_dir_below(self, root: str, path: str) -> None:
        assert path.startswith(f"{root}/")
        self.delete_dir(path)

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        return False

    @property
    def is_near(self) -> bool:
        return False

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        raise NotImplementedError("no data file is read")

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        return [self._file(path)[0][offset : offset + length] for offset, length in ranges]

    def open_output(self, path: str) -> NativeFile:
        raise NotImplementedError("no data file is written")

    def rename_dir(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        for file in [p for p in self.files if p.startswith(f"{source}/")]:
            self.files[target + file[len(source) :]] = self.files.pop(file)

    def move_file(self, source: str, target: str) -> None:
        self.files[target] = self.files.pop(source)

    def copy_file(self, source: str, target: str) -> None:
        self.write_bytes(target, self._file(source)[0])

    def sync(self, path: str) -> None:
        pass

    def _file(self, path: str) -> tuple[bytes, int]:
        if path not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.files[path]


_READS = frozenset({"read_bytes", "read_tagged", "read_ranges", "exists", "status"})


@dataclass
class Footprint:
    """The paths that calls have read and changed; `PATH/` stands for the names in a folder."""

    read: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    @staticmethod
    def of(io: MemoryIO, name: str, path: str, *more: Any) -> Footprint:
        if name.endswith("_below"):
            name, path, more = name.removesuffix("_below"), more[0], ()
        if name == "list":
            return Footprint({f"{path}/"})
        if name in _READS:
            return Footprint({path, f"{path}/"} if name == "exists" else {path})
        changed = {path}
        if name in ("delete_dir", "rename_dir"):
            below = [p for p in io.files if p.startswith(f"{path}/")]
            changed.update(below, *([more[0], *(more[0] + p[len(path) :] for p in below)] for _ in more))
        folders = {f"{p[:i]}/" for p in changed for i, c in enumerate(p) if c == "/"}
        return Footprint({path} if name == "create_exclusive" else set(), changed | folders)

    def commutes(self, other: Footprint) -> bool:
        """Return whether the order of two operations makes no difference."""
        both = {p for p in self.changed & other.changed if not p.endswith("/")}
        return not (both or self.changed & other.read or self.read & other.changed)


class KilledError(BaseException):
    """The end of a process. No code catches it, and every later call raises it, too."""


class InterleavedIO:
    """`inner`, in which `meanwhile` runs before call number `at` (from 1; 0: never), or the process is `killed` there.
    `calls` are all calls so far.
    """

    def __init__(
        self,
        inner: MemoryIO,
        at: int = 0,
        meanwhile: Callable[[], object] | None = None,
        *,
        killed: bool = False,
    ) -> None:
        self.inner, self.at, self.meanwhile, self.killed = inner, at, meanwhile, killed
        self.calls: list[Footprint] = []
        self.counting = Lock()
        self.paused = False

    @property
    def atomic_create(self) -> bool:
        return True

    @property
    def requests_at_once(self) -> int:
        return 1

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    @property
    def is_near(self) -> bool:
        return False

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        return self.inner.open_input(path, size)

    def open_output(self, path: str) -> NativeFile:
        return self.inner.open_output(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_each_below(self, root, paths)

    def __getattr__(self, name: str) -> Any:
        act = getattr(self.inner, name)

        def counted(*arguments: Any) -> Any:
            if self.paused:
                return act(*arguments)
            footprint = Footprint.of(self.inner, name, *arguments)
            with self.counting:  # calls side by side have a number each, so none of them misses `at`
                self.calls.append(footprint)
                number = len(self.calls)
            self.before(number)
            return act(*arguments)

        return counted

    def before(self, number: int) -> None:
        """Run the other operation before the call with the number `at`, or kill the process."""
        if number == self.at and self.meanwhile is not None:
            self.meanwhile()
        if self.killed and number >= self.at:
            raise KilledError

    def footprint(self) -> Footprint:
        """Return the footprint of all calls together."""
        return Footprint(
            {p for call in self.calls for p in call.read}, {p for call in self.calls for p in call.changed}
        )


class CountedCache(MetadataCache):
    """The cache of one process. All calls are made, but each content is decoded only once for all processes."""

    def __init__(self, io: InterleavedIO, decoded: dict[tuple[str, int], Any]) -> None:
        super().__init__()
        self._io, self._decoded, self._mine = io, decoded, dict[str, Any]()

    def another(self, capacity: int) -> CountedCache:
        return CountedCache(self._io, self._decoded)

    def get(self, path: str, load: Callable[[], S]) -> S:
        if path not in self._mine:
            try:
                data = self._io.read_bytes(path)
            except FileNotFoundError:
                return load()
            key = path, id(data)
            if key not in self._decoded:
                self._io.paused = True
                try:
                    self._decoded[key] = load(), data  # keep it, so that no other object gets its id
                finally:
                    self._io.paused = False
            self._mine[path] = self._decoded[key][0]
        return self._mine[path]  # type: ignore[no-any-return]
