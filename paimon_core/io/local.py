"""Files on disks that the operating system mounts.

A file appears under its name only when it is whole and on the disk: its bytes go to a hidden file beside it
(`.NAME.UUID.tmp`), `fsync`, then `rename(2)` for a file that may be replaced, or `link(2)` for one that must not exist.
`link` is atomic, never replaces, and works on every file system that has hard links, NFS included.

Writers of one machine queue by `flock(2)` on a folder, which the system gives back when its holder dies.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pyarrow import NativeFile
from pyarrow.fs import LocalFileSystem

from paimon_core.dataclass import dataclass
from paimon_core.errors import StorageError, UnsafeStorageError
from paimon_core.io.failure import on_failure
from paimon_core.io.file_io import (
    MOST_TEXT,
    FileStatus,
    delete_each_below,
    read_each_range,
    storage_error,
    storage_errors,
    temporary_name,
    too_large,
    writing_errors,
)
from paimon_core.lazy import ImportedOnCall

if TYPE_CHECKING:
    from shutil import rmtree

    from paimon_core.io.below import delete_below, delete_dir_below, delete_empty_dir_below, delete_many_below
else:
    rmtree = ImportedOnCall("shutil", "rmtree")
    delete_below = ImportedOnCall("paimon_core.io.below", "delete_below")
    delete_dir_below = ImportedOnCall("paimon_core.io.below", "delete_dir_below")
    delete_empty_dir_below = ImportedOnCall("paimon_core.io.below", "delete_empty_dir_below")
    delete_many_below = ImportedOnCall("paimon_core.io.below", "delete_many_below")

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_STAYS = frozenset({errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ELOOP})  # no empty folder
_DELETE_ATTEMPTS = 5
_SLOT_PATIENCE, _SLOT_POLL = 30.0, 0.002  # seconds


@dataclass(frozen=True, slots=True)
class LocalFileIO:
    """`FileIO` for plain absolute paths."""

    @property
    def atomic_create(self) -> bool:
        return True

    @property
    def requests_at_once(self) -> int:
        return 1

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        with storage_errors("read", path), _none_if_too_long(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a pipe must not wait
            try:
                return _content(path, descriptor, most)
            finally:
                os.close(descriptor)

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        return self.read_bytes(path), None

    @property
    def is_near(self) -> bool:
        return True

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        _check_regular(path, os.stat(path).st_mode)
        return LocalFileSystem().open_input_file(path)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        return read_each_range(self, path, ranges)

    def open_output(self, path: str) -> NativeFile:
        self.make_dirs(os.path.dirname(path))
        return LocalFileSystem().open_output_stream(path, compression=None)

    def write_bytes(self, path: str, data: bytes) -> None:
        with writing_errors("write", path):
            temporary = _write_temporary(path, data)
            with on_failure(lambda: _discard(temporary)):
                os.replace(temporary, path)
            _sync_dir(os.path.dirname(path))

    def replace_file(self, path: str, data: bytes) -> None:
        self.write_bytes(path, data)  # it replaces the file by a rename, too

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        self.replace_file(path, data)
        return True

    def create_exclusive(self, path: str, data: bytes) -> bool:
        with writing_errors("create", path):
            temporary = _write_temporary(path, data)
            try:
                created = _link(temporary, path)
            finally:
                _discard(temporary)
            if created:
                _sync_dir(os.path.dirname(path))
            return created

    @contextmanager
    def writer_slot(self, path: str) -> Iterator[bool]:
        descriptor = _queue(path)
        try:
            yield descriptor is not None
        finally:
            if descriptor is not None:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may keep the descriptor open
                os.close(descriptor)

    def exists(self, path: str) -> bool:
        with (
            storage_errors("look up", path),
            suppress(FileNotFoundError, NotADirectoryError),
            _none_if_too_long(path),
        ):
            os.stat(path)
            return True
        return False

    def status(self, path: str) -> FileStatus:
        with storage_errors("look up", path), _none_if_too_long(path):
            return _status(path, os.stat(path))

    def list(self, path: str) -> Iterator[FileStatus]:
        found, below = list[FileStatus](), f"{path.rstrip('/')}/"
        with storage_errors("list", path), suppress(FileNotFoundError, NotADirectoryError), os.scandir(path) as entries:
            for entry in entries:
                try:
                    found.append(_status(below + entry.name, entry.stat(), is_link=entry.is_symlink()))
                except FileNotFoundError:  # deleted since the listing began, or a broken link
                    continue
        return iter(found)

    def files_below(self, path: str) -> builtins.list[str] | None:
        return None

    def make_dirs(self, path: str) -> None:
        with writing_errors("create folder", path):
            _make_dirs(path)

    def delete(self, path: str) -> None:
        with storage_errors("delete", path), suppress(FileNotFoundError):
            os.unlink(path)

    def delete_below(self, root: str, path: str) -> None:
        with storage_errors("delete", path), suppress(FileNotFoundError):
            delete_below(root, path)

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        return delete_each_below(self, root, delete_many_below(root, paths))  # try again, to get the error

    def delete_dir(self, path: str) -> None:
        self._delete_dir(path, lambda: (os.unlink if os.path.islink(path) else rmtree)(path))

    def delete_dir_below(self, root: str, path: str) -> None:
        self._delete_dir(path, lambda: delete_dir_below(root, path))

    def _delete_dir(self, path: str, remove: Callable[[], None]) -> None:
        with storage_errors("delete folder", path):
            for _ in range(_DELETE_ATTEMPTS):  # rmtree fails if another process deletes a file first
                with suppress(FileNotFoundError):
                    remove()
                if not os.path.lexists(path):
                    return
            raise storage_error("delete folder", path, "its content changes while it is deleted")

    def delete_empty_dir_below(self, root: str, path: str) -> bool:
        try:
            delete_empty_dir_below(root, path)
        except OSError as error:
            if isinstance(error, StorageError) or error.errno in _STAYS:
                return False
            with storage_errors("delete folder", path):
                raise
        return True

    def rename_dir(self, source: str, target: str) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        with storage_errors(f"rename {source} to", target):
            os.stat(source)
            parent = os.path.dirname(target)
            _make_dirs(parent)
            os.rename(source, target)
            _sync_dir(os.path.dirname(source))
            _sync_dir(parent)

    def move_file(self, source: str, target: str) -> None:
        with storage_errors(f"rename {source} to", target):
            os.replace(source, target)

    def copy_file(self, source: str, target: str) -> None:
        with storage_errors(f"copy {source} to", target):
            LocalFileSystem().copy_file(source, target)

    def link(self, path: str, other: str) -> bool:
        """Give a file a second path. Return False if that is not possible; the caller must then copy the file."""
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):  # a relative link would have another target in another folder
                return False
            os.link(path, other)
        except FileNotFoundError:
            raise
        except OSError:  # another disk, no hard links, or another user's file
            return False
        return True

    def sync(self, path: str) -> None:
        with writing_errors("sync", path):
            _fsync(path, os.O_RDONLY)
            _sync_dir(os.path.dirname(path))


@contextmanager
def _none_if_too_long(path: str) -> Iterator[None]:
    """Raise `FileNotFoundError` for a name that is longer than any file's name can be."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error


def _content(path: str, descriptor: int, most: int) -> bytes:
    found = os.fstat(descriptor)
    _check_regular(path, found.st_mode)
    if found.st_size > most:
        raise too_large(path, most)
    parts, step = list[bytes](), found.st_size + 1  # one byte more than the file has: the second read finds the end
    while part := os.read(descriptor, step):
        parts.append(part)
        if sum(map(len, parts)) > most:
            raise too_large(path, most)
    return b"".join(parts)


def _check_regular(path: str, mode: int) -> None:
    """Raise `IsADirectoryError` or `StorageError` for a path that is not a regular file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise StorageError(
            f"Cannot read {path}: it is a pipe, a socket or a device; replace it by the file that belongs there."
        )


def _status(path: str, found: os.stat_result, *, is_link: bool = False) -> FileStatus:
    is_dir = stat.S_ISDIR(found.st_mode)
    return FileStatus(path, 0 if is_dir else found.st_size, is_dir, found.st_mtime_ns // 1_000_000, is_link)


def _write_temporary(path: str, data: bytes) -> str:
    """Write the bytes to a hidden file beside `path`, durably. Delete the file if that fails."""
    parent, name = os.path.split(path)
    _make_dirs(parent)
    temporary = f"{parent}/{temporary_name(name)}"
    with on_failure(lambda: _discard(temporary)), open(temporary, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _link(temporary: str, path: str) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        # NFS repeats a request if the answer is lost: the second request finds the link of the first
        with suppress(FileNotFoundError):
            return os.path.samefile(temporary, path)
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        raise UnsafeStorageError(
            f"Cannot create {path}: its file system has no hard links, so two commits at once could overwrite each "
            "other. Put the warehouse on another file system, or accept the risk for a table that one process writes "
            "at a time with 'commit.unsafe-storage' = 'true'."
        ) from error
    return True


def _queue(folder: str) -> int | None:
    """Return a descriptor that holds the folder's lock, or None if the lock stays taken, for example by a stopped
    process.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    deadline = time.monotonic() + _SLOT_PATIENCE
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            time.sleep(_SLOT_POLL)
        except OSError:  # a file system without locks
            break
    os.close(descriptor)
    return None


def _discard(temporary: str) -> None:
    with suppress(OSError):  # a file that remains is harmless, and the search for orphans recognises its name
        os.unlink(temporary)


def _make_dirs(path: str) -> None:
    if not path or os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    _make_dirs(parent)
    try:
        os.mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    _sync_dir(parent)


def _sync_dir(path: str) -> None:
    try:
        _fsync(path or "/", os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # on these file systems, folders need no sync
            raise


def _fsync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
