"""A storage that passes every call on to another storage.

A class that wraps a storage overrides only the calls that it changes.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from pyarrow import NativeFile

from paimon_core.io.file_io import MOST_TEXT, FileIO, FileStatus


class DelegatingFileIO(ABC):
    """A `FileIO` that passes calls on.

    A read-only subclass must refuse every call that is not known to be safe.
    """

    @abstractmethod
    def _io(self) -> FileIO:
        """Return the storage for the next call."""

    @property
    def atomic_create(self) -> bool:
        return self._io().atomic_create

    @property
    def requests_at_once(self) -> int:
        return self._io().requests_at_once

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        return self._io().read_bytes(path, most)

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        return self._io().read_tagged(path)

    @property
    def is_near(self) -> bool:
        return self._io().is_near

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        return self._io().open_input(path, size)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        return self._io().read_ranges(path, ranges)

    def open_output(self, path: str) -> NativeFile:
        return self._io().open_output(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._io().write_bytes(path, data)

    def replace_file(self, path: str, data: bytes) -> None:
        self._io().replace_file(path, data)

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        return self._io().replace_tagged(path, data, tag)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        return self._io().create_exclusive(path, data)

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return self._io().writer_slot(path)

    def exists(self, path: str) -> bool:
        return self._io().exists(path)

    def status(self, path: str) -> FileStatus:
        return self._io().status(path)

    def list(self, path: str) -> Iterator[FileStatus]:
        return self._io().list(path)

    def files_below(self, path: str) -> builtins.list[str] | None:
        return self._io().files_below(path)

    def make_dirs(self, path: str) -> None:
        self._io().make_dirs(path)

    def delete(self, path: str) -> None:
        self._io().delete(path)

    def delete_below(self, root: str, path: str) -> None:
        self._io().delete_below(root, path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return self._io().delete_many_below(root, paths)

    def delete_dir_below(self, root: str, path: str) -> None:
        self._io().delete_dir_below(root, path)

    def delete_dir(self, path: str) -> None:
        self._io().delete_dir(path)

    def delete_empty_dir_below(self, root: str, path: str) -> bool | None:
        return self._io().delete_empty_dir_below(root, path)

    def rename_dir(self, source: str, target: str) -> None:
        self._io().rename_dir(source, target)

    def move_file(self, source: str, target: str) -> None:
        self._io().move_file(source, target)

    def copy_file(self, source: str, target: str) -> None:
        self._io().copy_file(source, target)

    def sync(self, path: str) -> None:
        self._io().sync(path)


def innermost(io: FileIO) -> FileIO:
    """Return the storage to which a chain of wrappers passes calls on."""
    while isinstance(io, DelegatingFileIO):
        io = io._io()
    return io
