"""Storages through fsspec: memory, SFTP and every other storage that only fsspec supports.

Only `memory` has an atomic create, by a lock of the process. The other storages first check for the file and then write
it, or have no such request at all: they need a lock of the catalog.
"""

from __future__ import annotations

import builtins
import errno
import glob
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from pyarrow import NativeFile
from pyarrow.fs import FSSpecHandler, PyFileSystem

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    PaimonError,
    StorageError,
    StorageRefusedError,
    UnsafeStorageError,
    UnsupportedFeatureError,
)
from paimon_core.io.counted_calls import counted_call
from paimon_core.io.file_io import (
    AT_ONCE,
    MOST_TEXT,
    FileStatus,
    read_each_range,
    storage_error,
    temporary_name,
    too_large,
)
from paimon_core.io.side_by_side import delete_side_by_side
from paimon_core.metrics import PROCESS, Metrics
from paimon_core.optional_packages import import_optional, install_command, missing_package
from paimon_core.secrets import SECRET_NAMES

_MEMORY = "memory"  # it uses fsspec's own rm and mv: they expand patterns, and a rename copies and deletes
_TIME_KEYS = ("LastModified", "last_modified", "mtime", "modificationTime", "created")
_SECRET_KEY = re.compile(rf"{SECRET_NAMES}|key|sas|auth|session", re.IGNORECASE)
_DELETES_EMPTY = frozenset(("sftp", "ssh", _MEMORY))  # these refuse to delete a folder with content
_MEMORY_LOCK = threading.Lock()  # fsspec's memory store checks for a file and then writes it


@dataclass(frozen=True, slots=True)
class FsspecFileIO:
    """`FileIO` for `scheme://` paths.

    `options` are passed unchanged to fsspec's file system; they may contain secrets. The store `memory` belongs to one
    process; its pyarrow files share one position per file, so read them in one thread.
    """

    scheme: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    metrics: Metrics = field(default=PROCESS, repr=False, compare=False)

    @property
    def atomic_create(self) -> bool:
        return self.scheme == _MEMORY

    @property
    def requests_at_once(self) -> int:
        return 1 if self.scheme == _MEMORY else AT_ONCE

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        with self._errors("read", path):
            data = _first_bytes(self._fs(), path, most + 1)
            if len(data) > most:
                raise too_large(path, most)
            return data

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        return self.read_bytes(path), None

    @property
    def is_near(self) -> bool:
        return False

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        return self._arrow().open_input_file(self._bare(path))

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        return read_each_range(self, path, ranges)

    def open_output(self, path: str) -> NativeFile:
        self.make_dirs(path.rpartition("/")[0])
        return self._arrow().open_output_stream(self._bare(path), compression=None)

    def write_bytes(self, path: str, data: bytes) -> None:
        with self._errors("write", path):
            fs = self._fs()
            self._make_parent(fs, path)
            fs.pipe_file(path, data)

    def replace_file(self, path: str, data: bytes) -> None:
        if self.scheme == _MEMORY:  # it replaces whole files
            self.write_bytes(path, data)
            return
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/{temporary_name(name)}"
        self.write_bytes(temporary, data)
        with self._errors("replace", path):
            fs = self._fs()
            try:
                fs.mv(temporary, path)
            except OSError:  # SFTP cannot rename to an existing name, so the file is missing for a moment
                if not fs.exists(path):
                    raise
                fs.rm_file(path)
                fs.mv(temporary, path)

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        self.replace_file(path, data)
        return True

    def create_exclusive(self, path: str, data: bytes) -> bool:
        if not self.atomic_create:
            raise UnsafeStorageError(
                f"Cannot create {path} safely: {self.scheme}:// storage has no atomic create, so two commits at once "
                "could overwrite each other. Keep the table on a local disk, HDFS or an object store, or accept the "
                "risk for a table that one process writes at a time with 'commit.unsafe-storage' = 'true'."
            )
        with self._errors("create", path):
            fs = self._fs()
            self._make_parent(fs, path)
            try:
                with _MEMORY_LOCK:
                    fs.pipe_file(path, data, mode="create")
            except FileExistsError:
                return False
            return True

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)

    def exists(self, path: str) -> bool:
        with self._errors("look up", path), suppress(FileNotFoundError, NotADirectoryError):
            self._fs().info(path)
            return True
        return False

    def status(self, path: str) -> FileStatus:
        with self._errors("look up", path):
            return _status(path, self._fs().info(path))

    def list(self, path: str) -> Iterator[FileStatus]:
        found: list[FileStatus] = []
        with suppress(FileNotFoundError), self._errors("list", path):
            fs = self._fs()
            itself = _bare(fs, path)
            for info in fs.ls(path, detail=True):
                full = info["name"].rstrip("/")
                name = full.rpartition("/")[2]
                if full != itself:  # a file lists itself
                    found.append(_status(f"{path}/{name}", info))
        return iter(found)

    def files_below(self, path: str) -> builtins.list[str] | None:
        return None

    def make_dirs(self, path: str) -> None:
        with self._errors("create folder", path):
            self._fs().makedirs(path, exist_ok=True)

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError), self._errors("delete", path):
            self._fs().rm_file(path)

    def delete_below(self, root: str, path: str) -> None:
        self.delete(path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_side_by_side(self, root, paths)

    def delete_dir_below(self, root: str, path: str) -> None:
        self.delete_dir(path)

    def delete_dir(self, path: str) -> None:
        literal = glob.escape(path)  # some of fsspec's file systems treat the path of a folder as a pattern
        if literal != path and self.scheme != _MEMORY:
            raise storage_error("delete folder", path, "the storage would treat its name as a pattern of other names")
        with suppress(FileNotFoundError), self._errors("delete folder", path):
            self._fs().rm(literal, recursive=True)

    def delete_empty_dir_below(self, root: str, path: str) -> bool | None:
        if self.scheme not in _DELETES_EMPTY:
            return None
        try:
            with self._errors("delete folder", path):
                self._fs().rmdir(path)
        except FileNotFoundError:
            return False
        except StorageRefusedError:
            raise
        except StorageError:  # SFTP has no code for a folder with content
            if next(self.list(path), None) is None:
                raise
            return False
        return True

    def rename_dir(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        self.status(source)
        with self._errors("rename", target, source):
            fs = self._fs()
            self._make_parent(fs, target)
            if self.scheme != _MEMORY:
                fs.mv(source, target)
                return
            files, skip = fs.find(source), len(_bare(fs, source))
            fs.copy(files, [_bare(fs, target) + file[skip:] for file in files])
        self.delete_dir(source)

    def move_file(self, source: str, target: str) -> None:
        with self._errors("rename", target, source):
            self._arrow().move(self._bare(source), self._bare(target))

    def copy_file(self, source: str, target: str) -> None:
        with self._errors("copy", target, source):
            self._arrow().copy_file(self._bare(source), self._bare(target))

    def sync(self, path: str) -> None:
        """Do nothing: a closed file is as durable as the storage makes it."""

    def _fs(self) -> Any:
        with self._explained("connect to", f"{self.scheme}://"):
            return _file_system_class(self.scheme)(**self.options)  # fsspec keeps one per options

    def _arrow(self) -> PyFileSystem:
        return PyFileSystem(FSSpecHandler(self._fs()))

    def _bare(self, path: str) -> str:
        return _bare(self._fs(), path)

    def _make_parent(self, fs: Any, path: str) -> None:
        fs.makedirs(path.rpartition("/")[0], exist_ok=True)

    @contextmanager
    def _errors(self, action: str, path: str, source: str | None = None) -> Iterator[None]:
        """Count the block as a call of the storage. Errors name `path`, and the file to rename or copy (`source`)."""
        explained = self._explained(action if source is None else f"{action} {source} to", path)
        with explained, counted_call(self.metrics, self.scheme, action):
            yield

    @contextmanager
    def _explained(self, action: str, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        except PaimonError:
            raise
        except Exception as error:  # each client library has its own classes of errors
            text = str(error) or type(error).__name__
            shown = _without_secrets(text, self.options)
            code = errno.EACCES if isinstance(error, PermissionError) else getattr(error, "errno", None)
            failure = storage_error(action, path, shown, code)
            raise failure from (error if shown == text else None)


def url_options(uri: str) -> dict[str, Any]:
    """Return the options of a file system that are in the location, such as the host of `sftp://host/path`.

    Raises `UnsupportedFeatureError` if the package for the scheme is not installed.
    """
    return dict(_file_system_class(uri.partition("://")[0])._get_kwargs_from_urls(uri))


def _file_system_class(scheme: str) -> Any:
    purpose = f"Storage {scheme}://"
    fsspec = import_optional("fsspec", purpose, "fsspec")
    try:
        return fsspec.get_filesystem_class(scheme)
    except ImportError as error:  # fsspec guesses the reason; the cause has the true one
        cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        needed = cause.name or "that fsspec names"
        raise missing_package(needed, purpose, f"{install_command('fsspec')} {needed}", cause) from error
    except ValueError as error:  # fsspec does not support the scheme
        raise UnsupportedFeatureError(
            f"{purpose} is unknown to the installed fsspec: {error}. Run: {install_command('fsspec')} and the package "
            "for it"
        ) from error


def _first_bytes(fs: Any, path: str, most: int) -> bytes:
    try:
        return bytes(fs.cat_file(path, start=0, end=most))
    except FileNotFoundError:
        raise
    except Exception:
        if fs.info(path)["size"] == 0:  # some servers refuse an empty range
            return b""
        raise


def _bare(fs: Any, path: str) -> str:
    return str(fs._strip_protocol(path)).rstrip("/")


def _status(path: str, info: Mapping[str, Any]) -> FileStatus:
    is_dir = info["type"] == "directory"
    modified = next((info[key] for key in _TIME_KEYS if info.get(key) is not None), None)
    return FileStatus(path, 0 if is_dir else int(info["size"] or 0), is_dir, _millis(modified))


def _millis(moment: object) -> int:
    if isinstance(moment, datetime):
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(moment, int | float):
        return int(moment if moment > 1e11 else moment * 1000)  # seconds reach 1e11 in the year 5138
    return int(time.time() * 1000)


def _without_secrets(text: str, options: Mapping[str, Any]) -> str:
    for key, value in options.items():
        if isinstance(value, Mapping):
            text = _without_secrets(text, value)
        elif value and isinstance(value, str) and _SECRET_KEY.search(key):
            text = text.replace(value, "***")
    return text
