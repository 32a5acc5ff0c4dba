"""A storage as somebody sees it who may read a table and not change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NoReturn

from pyarrow import NativeFile
from pyarrow.fs import FileSystem

from paimon_core.errors import NoPrivilegeError
from paimon_core.io.file_io import MOST_TEXT, FileIO, FileStatus


@dataclass(frozen=True)
class ReadOnlyFileIO:
    """Raises `NoPrivilegeError` with the text `refusal` for each call that would change what there is. See `FileIO`.

    What writes data files through `arrow()` cannot commit them.
    """

    inner: FileIO
    refusal: str

    def _refuse(self) -> NoReturn:
        raise NoPrivilegeError(self.refusal)

    @property
    def atomic_create(self) -> bool:
        return self.inner.atomic_create

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        return self.inner.read_bytes(path, most)

    def open_input(self, path: str) -> NativeFile:
        return self.inner.open_input(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._refuse()

    def replace_file(self, path: str, data: bytes) -> None:
        self._refuse()

    def create_exclusive(self, path: str, data: bytes) -> bool:
        self._refuse()

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def status(self, path: str) -> FileStatus:
        return self.inner.status(path)

    def list(self, path: str) -> Iterator[FileStatus]:
        return self.inner.list(path)

    def make_dirs(self, path: str) -> None:
        self._refuse()

    def delete(self, path: str) -> None:
        self._refuse()

    def delete_below(self, root: str, path: str) -> None:
        self._refuse()

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        self._refuse()

    def delete_dir_below(self, root: str, path: str) -> None:
        self._refuse()

    def delete_dir(self, path: str) -> None:
        self._refuse()

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        self._refuse()

    def rename_dir(self, source: str, target: str) -> None:
        self._refuse()

    def arrow(self) -> FileSystem:
        return self.inner.arrow()

    def arrow_path(self, path: str) -> str:
        return self.inner.arrow_path(path)

    def sync(self, path: str) -> None:
        self._refuse()
