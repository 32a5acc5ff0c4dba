"""The protocol of storages: every byte that paimon_core reads or writes goes through a `FileIO`.

Paths are absolute: plain (`/warehouse/db.db/t`) for local disks, `scheme://bucket/key` elsewhere; no trailing slash.
Contract, for every backend:

- a failed call raises `StorageError` naming the path, `FileNotFoundError` if the path does not exist;
- only regular files are read: a pipe or a device, which could be read forever, is refused with `StorageError`;
- `write_bytes` and `create_exclusive` create parent folders, and the file is durable and whole when they return;
- `create_exclusive` is the one atomic step of the format: at most one caller ever gets True for a path, no reader sees
  a part of the content, and False leaves the existing file as it is. A backend that cannot promise this has
  `atomic_create = False`; if the backend, or this one folder, cannot promise it, the call raises `UnsafeStorageError`
  and creates nothing;
- `create_exclusive` may also raise `StorageError` when it does not know whether the file was created. A
  `StorageRefusedError` of any call means that the storage answered that it did not do it.
"""

from __future__ import annotations

import builtins
import errno
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, runtime_checkable

from pyarrow import NativeFile

from paimon_core.dataclass import dataclass
from paimon_core.errors import FolderMissingError, StorageError, StorageRefusedError, UnfamiliarFormError
from paimon_core.lazy import regex
from paimon_core.secrets import without_secrets

MOST_HINT = 2**10  # bytes of a file that holds a number
MOST_TEXT = 2**26  # bytes of a file with JSON
MOST_METADATA = 2**30  # bytes of a manifest, or of an index that is read as a whole
AT_ONCE = 16  # parallel requests to a remote storage
_TEMPORARY = regex(r"\..+\.[0-9a-f-]{32,36}\.tmp")
_ADVICE = {
    errno.ENOSPC: "free space on it, then run the statement again",
    errno.EDQUOT: "free space or raise the quota, then run the statement again",
    errno.EACCES: "grant this user access to it",
    errno.EPERM: "grant this user access to it",
    errno.EROFS: "mount it writable",
    errno.ENAMETOOLONG: "use a shorter name or a shorter warehouse path",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EEXIST: "remove the file in the place of a folder",
    errno.ENOTDIR: "remove the file in the place of a folder",
}


_REFUSALS = frozenset(_ADVICE) | {errno.EISDIR, errno.ELOOP, errno.EMLINK, errno.ENFILE}


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One entry of a folder.

    `size` is in bytes (0 for folders), `modified` in epoch milliseconds. For a symbolic link, these are the size and
    time of its target. `tag` is the ETag of the content: an object that is replaced gets another ETag. None stands
    for a storage without ETags.
    """

    path: str
    size: int
    is_dir: bool
    modified: int
    is_link: bool = False
    tag: str | None = None

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@runtime_checkable
class SignsUrls(Protocol):
    """A storage with addresses that grant access to a file."""

    def signed_url(self, path: str, seconds: int) -> str:
        """Return an address from which anyone can read a file for some seconds."""


class FileIO(Protocol):
    """One storage. Implementations are immutable, picklable and safe to use from several threads."""

    @property
    def atomic_create(self) -> bool:
        """Whether `create_exclusive` keeps its promise on this kind of storage."""

    @property
    def requests_at_once(self) -> int:
        """The number of requests that a caller may send in parallel: 1 for a storage that answers immediately."""

    def read_bytes(self, path: str, most: int = MOST_TEXT) -> bytes:
        """Return the whole content of a file of at most `most` bytes.

        Raises `UnfamiliarFormError` for a larger file.
        """

    def read_tagged(self, path: str) -> tuple[bytes, str | None]:
        """Return the whole content of a small file, and the ETag of this content, as `FileStatus` has it.

        Only an ETag from the same request identifies the content: between two requests, the file may be replaced.
        """

    @property
    def is_near(self) -> bool:
        """Whether reading a few bytes of a file costs almost nothing, because it is on a local disk."""

    def open_input(self, path: str, size: int | None = None) -> NativeFile:
        """Open a data file for reading at any offset. The caller closes it.

        If the caller passes the size of the file from metadata, an object store saves a request for a large file. A
        file of another size is opened, too, with its own size. Reading raises `OSError`, not always `StorageError`.
        """

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> builtins.list[bytes]:
        """Read parts of one file, each given by its offset and length, in parallel if the storage can.

        Raises `EOFError` for a part that the file does not have. Callers should join parts that are close together.
        """

    def open_output(self, path: str) -> NativeFile:
        """Create or replace a data file, for writing from its start in bounded memory. The caller closes it.

        Creates the folder of the file. The file is whole once it is closed, and durable once `sync` has returned.
        """

    def write_bytes(self, path: str, data: bytes) -> None:
        """Create or replace a file.

        This is not atomic for other writers: use it for files with unique names, and for hints.
        """

    def replace_file(self, path: str, data: bytes) -> None:
        """Create or replace a small file that other processes read.

        Whatever fails, it has either its old or its new content.
        """

    def replace_tagged(self, path: str, data: bytes, tag: str | None) -> bool:
        """Do the same as `replace_file`, but only if the file still has the content with the ETag of `read_tagged`.

        Return False if the file has other content or does not exist; then nothing was written. A storage without ETags,
        or without conditions for puts, replaces the file in any case.
        """

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file that must not exist. Returns False if it exists."""

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        """Queue for a folder with other writers of this machine, for at most half a minute. Yield whether we hold the
        slot.

        The queue saves writers the work of lost races. True means that no other writer and no rollback of the table
        runs until the block ends. False means nothing: there is no queue, or waiting took too long.
        """

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""

    def status(self, path: str) -> FileStatus:
        """Return the size and time of one file or folder."""

    def list(self, path: str) -> Iterator[FileStatus]:
        """Yield the direct children of a folder, in any order, or nothing if the folder does not exist.

        If the storage has no times, `modified` is the present time, so that such a file never looks old.
        """

    def files_below(self, path: str) -> builtins.list[str] | None:
        """Return the paths of all files below a folder, hidden ones too, if one request finds them.

        Return None for a storage with real folders, which may have links, or if the folder has too many files.
        """

    def make_dirs(self, path: str) -> None:
        """Create a folder and its parents, if they do not exist."""

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""

    def delete_below(self, root: str, path: str) -> None:
        """Delete a file below the folder `root`, if it exists.

        Raises `StorageError` if a link below `root` leads to the file.
        """

    def delete_many_below(self, root: str, paths: Sequence[str]) -> dict[str, OSError]:
        """Delete many files like `delete_below`. Return the errors of files that could not be deleted, by path.

        The files are deleted in any order, with as few requests as the storage needs, and several requests in parallel.
        Pass the files of a folder one after another.
        """

    def delete_dir_below(self, root: str, path: str) -> None:
        """Delete a folder below the folder `root`, like `delete_dir`. Raises the same errors as `delete_below`."""

    def delete_dir(self, path: str) -> None:
        """Delete a folder, if it exists, and everything below it. Links out of the folder are not followed."""

    def delete_empty_dir_below(self, root: str, path: str) -> bool | None:
        """Delete an empty folder below the folder `root`. Return whether it was deleted.

        Return False if the folder does not exist or is not empty, if a link below `root` leads to it, and on storages
        without real folders. Return None, and do nothing, if the storage cannot delete only empty folders. Raises
        `StorageError`, as for a missing right or a lost connection."""

    def rename_dir(self, source: str, target: str) -> None:
        """Move a folder. Raises `FileExistsError` if the target exists. Not atomic on object stores."""

    def move_file(self, source: str, target: str) -> None:
        """Move a file to another path, and replace a file at this path. Not atomic on object stores."""

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file within the storage, if possible by the storage itself. The folder of `target` must exist."""

    def sync(self, path: str) -> None:
        """Make a file of `open_output` as durable as a file of `write_bytes`.

        Call this before a commit names the file.
        """


def walk(io: FileIO, folder: str) -> Iterator[FileStatus]:
    """Yield everything below a folder, the content of each folder before the folder itself. Links are not followed."""
    for found in io.list(folder):
        if found.is_dir and not found.is_link:
            yield from walk(io, found.path)
        yield found


def delete_each_below(io: FileIO, root: str, paths: Iterable[str]) -> dict[str, OSError]:
    """Delete files one after another, in this order. Return the errors of files that could not be deleted, by path."""
    errors: dict[str, OSError] = {}
    for path in paths:
        try:
            io.delete_below(root, path)
        except OSError as error:
            errors[path] = error
    return errors


def read_each_range(io: FileIO, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Read parts of a file as `read_ranges` does, one after another, with the file opened once."""
    with storage_errors("read", path), io.open_input(path) as file:
        return [whole_part(path, file.read_at(length, offset), offset, length) for offset, length in ranges]


def whole_part(path: str, data: bytes, offset: int, length: int) -> bytes:
    """Return the bytes of a part of a file. Raises `EOFError` if the file ends within the part."""
    if len(data) < length:
        raise EOFError(f"{path} has {len(data)} of {length} bytes from {offset} on")
    return data


def temporary_name(name: str) -> str:
    """Return a unique, hidden name for the file that gets the name `name` once it is whole."""
    return f".{name}.{uuid.uuid4().hex}.tmp"


def is_temporary(name: str) -> bool:
    """Return whether a file was left by a writer that died: `.NAME.UUID.tmp`."""
    return _TEMPORARY.fullmatch(name) is not None


def storage_error(action: str, path: str, cause: str, code: int | None = None) -> StorageError:
    """Return the error of a storage call: the failed action, the path, the cause, and the advice."""
    advice = _ADVICE.get(code or 0, "check that the storage is up and reachable, then run the statement again")
    kind = StorageRefusedError if code in _REFUSALS else StorageError
    return kind(without_secrets(f"Cannot {action} {path}: {cause}; {advice}."))


def too_large(path: str, most: int) -> UnfamiliarFormError:
    """Return the error for a file with more bytes than its kind allows."""
    return UnfamiliarFormError(path, f"it has more than the {most} bytes that a file of its kind may have")


@contextmanager
def writing_errors(action: str, path: str) -> Iterator[None]:
    """Raise errors as `storage_errors` does, for a call that creates a file. A missing folder raises
    `FolderMissingError`.
    """
    try:
        with storage_errors(action, path):
            yield
    except FileNotFoundError as error:
        if isinstance(error, StorageError):
            raise
        raise FolderMissingError(
            f"Cannot {action} {path}: its folder is gone. The table may have been dropped or renamed meanwhile; "
            "nothing was committed. Run the statement again on the current table."
        ) from error


@contextmanager
def storage_errors(action: str, path: str) -> Iterator[None]:
    """Raise errors of the operating system as `StorageError`; `FileNotFoundError` stays."""
    try:
        yield
    except (FileNotFoundError, StorageError):
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        code = error.errno if isinstance(error, OSError) else None
        cause = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        raise storage_error(action, path, cause, code) from error
