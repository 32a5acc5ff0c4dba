"""A stand-in for hdfs-native: one name node in memory, with the errors and texts of the real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

_TRACE = "\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSDirectory.resolvePath(FSDirectory.java:756)"


@dataclass
class Entry:
    """A file, or a folder if `content` is None."""

    content: bytes | None
    modified: int = field(default_factory=lambda: int(time.time() * 1000))


class FakeHdfs:
    """The name node. `lost` is the number of renames that succeed without an answer, so that the client
    repeats them.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {"/": Entry(None)}
        self.lock = threading.RLock()
        self.lost = 0
        self.failure: Exception | None = None

    def library(self) -> Any:
        return SimpleNamespace(Client=lambda *_, **__: self, WriteOptions=SimpleNamespace)

    def get_file_info(self, path: str) -> Any:
        if self.failure is not None:
            raise self.failure
        with self.lock:
            found = self.entries.get(path)
            if found is None:
                raise FileNotFoundError(path)
            return _status(path, found)

    def list_status(self, path: str) -> Iterator[Any]:
        self._check(path)
        found = self.get_file_info(path)
        with self.lock:
            if not found.isdir:
                return iter([found])
            return iter([_status(p, e) for p, e in self.entries.items() if _parent(p) == path and p != "/"])

    def mkdirs(self, path: str, create_parent: bool = False) -> None:
        with self.lock:
            self._check(path)
            if path != "/" and path not in self.entries:
                self.mkdirs(_parent(path), create_parent)
                self.entries[path] = Entry(None)
            elif self.entries[path].content is not None:
                raise FileExistsError(f"Path is not a directory: {path}")

    def create(self, path: str, options: Any) -> Any:
        with self.lock:
            self._check(path)
            self.mkdirs(_parent(path))
            if (found := self.entries.get(path)) and found.content is None:
                raise FileExistsError(f"{path} already exists as a directory")
            self.entries[path] = Entry(b"")
        return Writer(self, path)

    def read(self, path: str) -> Any:
        if self.get_file_info(path).isdir:
            raise FileNotFoundError(f"Path is not a file: {path}\n\tat org.apache.hadoop")
        return Reader(self.entries[path].content or b"")

    def rename(self, source: str, target: str, overwrite: bool = False) -> None:
        with self.lock:
            self._rename(source, target, overwrite)
            if self.lost:
                self.lost -= 1
                self._rename(source, target, overwrite)

    def _rename(self, source: str, target: str, overwrite: bool) -> None:
        self._check(source)
        if source not in self.entries:
            raise FileNotFoundError(f"rename source {source} is not found.")
        if target in self.entries and not overwrite:
            raise FileExistsError(f"rename destination {target} already exists")
        if _parent(target) not in self.entries:
            raise FileNotFoundError(f"rename destination parent {target} not found.")
        for path in [p for p in self.entries if p == source or p.startswith(f"{source}/")]:
            self.entries[target + path[len(source) :]] = self.entries.pop(path)

    def delete(self, path: str, recursive: bool) -> bool:
        with self.lock:
            self._check(path)
            below = [p for p in self.entries if p.startswith(f"{path}/")]
            if below and not recursive:
                name = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"
                raise RuntimeError(f'RPCError("{name}", "`{path} is non empty\': Directory is not empty{_TRACE}")')
            for found in below:
                del self.entries[found]
            return self.entries.pop(path, None) is not None

    def _check(self, path: str) -> None:
        if self.failure is not None:
            raise self.failure
        parent = path
        while (parent := _parent(parent)) != "/":
            if (found := self.entries.get(parent)) and found.content is not None:
                name = "org.apache.hadoop.fs.ParentNotDirectoryException"
                raise RuntimeError(f'RPCError("{name}", "{parent} (is not a directory){_TRACE}")')


class Writer:
    """A file that is being written. Its bytes are there once it is closed."""

    def __init__(self, node: FakeHdfs, path: str) -> None:
        self._node, self._path, self._parts = node, path, list[bytes]()

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def close(self) -> None:
        self._node.entries[self._path] = Entry(b"".join(self._parts))


class Reader:
    """A file that is being read."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def __len__(self) -> int:
        return len(self._content)

    def read(self, size: int = -1) -> bytes:
        end = len(self) if size < 0 else self._at + size
        found = self._content[self._at : end]
        self._at += len(found)
        return found

    def seek(self, offset: int) -> None:
        assert 0 <= offset <= len(self), "the library panics"
        self._at = offset

    def tell(self) -> int:
        return self._at


def _status(path: str, entry: Entry) -> Any:
    return SimpleNamespace(
        path=path, length=len(entry.content or b""), isdir=entry.content is None, modification_time=entry.modified
    )


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
