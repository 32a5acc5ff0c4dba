"""A storage in memory that all processes of a history share: files with the time of the storage's own clock."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from paimon_core.io.file_io import FileStatus

EPOCH = 1_750_000_000  # seconds; when every history begins


@dataclass(frozen=True, slots=True)
class File:
    """What is in a file, and when it was written, in seconds of the history."""

    data: bytes
    written: float


@dataclass(frozen=True, slots=True)
class Change:
    """One file is created, replaced or deleted (`data` None)."""

    path: str
    data: bytes | None


@dataclass
class Disk:
    """Files by folder and name. `watch` is told of every change before it is made."""

    now: Callable[[], float]
    watch: Callable[[Change], None] = lambda change: None
    folders: dict[str, dict[str, File | None]] = field(default_factory=dict)  # None: a folder
    gone: dict[str, tuple[float, FileStatus]] = field(default_factory=dict)  # when, and what was there

    def get(self, path: str) -> File:
        file = self._children(path).get(_name(path))
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return file

    def is_file(self, path: str) -> bool:
        return self._children(path).get(_name(path)) is not None

    def exists(self, path: str) -> bool:
        return self.is_file(path) or path in self.folders

    def put(self, path: str, data: bytes) -> None:
        self.watch(Change(path, data))
        self._make(_parent(path))[_name(path)] = File(data, self.now())

    def create(self, path: str, data: bytes) -> bool:
        if self.is_file(path):
            return False
        self.put(path, data)
        return True

    def remove(self, path: str) -> None:
        if self.is_file(path):
            self.watch(Change(path, None))
            self.gone[path] = self.now(), self.status(path)
            del self.folders[_parent(path)][_name(path)]

    def remove_dir(self, path: str) -> None:
        for child, file in list(self.folders.get(path, {}).items()):
            if file is None:
                self.remove_dir(f"{path}/{child}")
            else:
                self.remove(f"{path}/{child}")
        if self.folders.pop(path, None) is not None:
            self._children(path).pop(_name(path), None)

    def remove_empty_dir(self, path: str) -> bool:
        if self.folders.get(path) != {}:
            return False
        self.remove_dir(path)
        return True

    def make_dirs(self, path: str) -> None:
        self._make(path)

    def rename_dir(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        for path in list(self.files(source)):
            self.put(target + path[len(source) :], self.get(path).data)
        self.remove_dir(source)

    def status(self, path: str) -> FileStatus:
        if path in self.folders:
            return FileStatus(path, 0, True, 0)
        file = self.get(path)
        return FileStatus(path, len(file.data), False, int((EPOCH + file.written) * 1000))

    def list(self, path: str, age: float = 0.0) -> list[FileStatus]:
        """The children of a folder, as they were `age` seconds ago."""
        found = [self.status(f"{path}/{name}") for name in self.folders.get(path, {})]
        if not age:
            return found
        then = self.now() - age
        back = [s for p, (when, s) in self.gone.items() if _parent(p) == path and when > then]
        since = int((EPOCH + then) * 1000)
        known = [s for s in found if s.modified <= since]
        return known + [s for s in back if s.modified <= since and s.path not in {k.path for k in known}]

    def files(self, path: str) -> Iterator[str]:
        """All files below a folder."""
        for name, file in list(self.folders.get(path, {}).items()):
            if file is None:
                yield from self.files(f"{path}/{name}")
            else:
                yield f"{path}/{name}"

    def _children(self, path: str) -> dict[str, File | None]:
        return self.folders.get(_parent(path), {})

    def _make(self, path: str) -> dict[str, File | None]:
        if path not in self.folders:
            self.folders[path] = {}
            if path:
                self._make(_parent(path)).setdefault(_name(path), None)
        return self.folders[path]


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]
