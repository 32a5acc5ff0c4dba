"""A cache of file contents on the local disk: bounded, and shared by the processes of one user.

    FOLDER/paimon-sql-UID/key       32 random bytes: names of entries show nothing about paths and keys of a storage
    FOLDER/paimon-sql-UID/used      at least the bytes of all entries; a process locks this file to add entries
    FOLDER/paimon-sql-UID/ab/NAME   an entry: a checksum of its name and content, and the content

A process may be killed at any moment, and files may be damaged. So an entry is written to a temporary file and renamed,
and each read compares the checksum: a damaged entry is deleted, and counts as missing. The number in `used` is raised
before an entry is written, so it is never too small. If the cache is full, the entries that were not used for the
longest time are deleted. Readers open an entry and read it whole, so a deletion does not break them.

No method raises an error of the disk: a caller then reads from the storage. No process waits long for another one: if
the lock is taken, the entry is not added.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError

_KEY_BYTES, _CHECKSUM_BYTES, _NAME_BYTES = 32, 16, 20
_BLOCK = 4096  # bytes: a file takes whole blocks of the disk
_LARGEST_PART = 8  # an entry takes at most this part of the cache
_KEPT = 0.9  # the part of a full cache that stays
_TOUCHED_AFTER = 60.0  # seconds until the next use of an entry is noted again
_TRIES, _PAUSE = 5, 0.002  # for the lock
_AFTER_BUSY = 0.1  # seconds without new entries after the lock was not free
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class DiskCache:
    """The cache in a folder, with at most `most` bytes."""

    folder: str
    most: int

    def get(self, parts: tuple[str, ...]) -> bytes | None:
        """Return the content that was added under a key of some texts, or None."""
        opened = _opened(os.getpid(), self.folder)
        return None if opened is None else opened.get(opened.name(parts), self.most)

    def put(self, parts: tuple[str, ...], content: bytes) -> None:
        """Add a content that never changes under a key of some texts."""
        opened = _opened(os.getpid(), self.folder)
        if opened is not None and _space(len(content)) <= self.most // _LARGEST_PART:
            opened.put(opened.name(parts), content, self.most)


def check_private(folder: str) -> None:
    """Raise `InvalidOptionError` if other users could change or read a cache in a folder."""
    try:
        _make_private(_own_folder(folder))
    except OSError as error:
        raise InvalidOptionError(
            f"Files cannot be cached in {_own_folder(folder)}: {error.strerror or error}. Set 'local-cache.dir' to "
            "another folder."
        ) from error


class _Opened:
    """The folder of a cache, for one process."""

    def __init__(self, folder: str) -> None:
        self._root = _own_folder(folder)
        _make_private(self._root)
        self._key = _secret(f"{self._root}/key")
        self._lock, self._free_at = Lock(), 0.0

    def name(self, parts: tuple[str, ...]) -> str:
        """Return the path of an entry, below the folder."""
        text = b"".join(len(p.encode()).to_bytes(8, "big") + p.encode() for p in parts)
        digest = hmac.new(self._key, text, hashlib.sha256).hexdigest()[: 2 * _NAME_BYTES]
        return f"{digest[:2]}/{digest[2:]}"

    def get(self, name: str, most: int) -> bytes | None:
        path = f"{self._root}/{name}"
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb", buffering=0) as file:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    return None
                data = file.readall() if found.st_size <= most + _CHECKSUM_BYTES else b""
                content = data[_CHECKSUM_BYTES:]
                if data[:_CHECKSUM_BYTES] == _checksum(name, content):
                    if abs(time.time() - found.st_mtime) > _TOUCHED_AFTER:
                        os.utime(descriptor)
                    return content
            os.unlink(path)
        return None

    def put(self, name: str, content: bytes, most: int) -> None:
        path = f"{self._root}/{name}"
        if time.monotonic() < self._free_at or os.path.lexists(path):
            return
        with self._lock, suppress(OSError), self._used() as descriptor:
            if descriptor is None:
                self._free_at = time.monotonic() + _AFTER_BUSY
                return
            size, used = _space(len(content)), _number(descriptor)
            if used is None or used + size > most:
                used = self._tidy(int(most * _KEPT) - size)
            os.pwrite(descriptor, b"%020d" % (used + size), 0)
            folder, temporary = os.path.dirname(path), f"{self._root}/new"
            os.makedirs(folder, _PRIVATE, exist_ok=True)
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # a killed process left it: only this process has the lock
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(temporary, flags, 0o600), "wb", buffering=0) as file:
                for data in (_checksum(name, content), content):
                    left = memoryview(data)
                    while left:
                        left = left[file.write(left) :]
            os.rename(temporary, path)

    @contextmanager
    def _used(self) -> Iterator[int | None]:
        """Lock the cache while entries are added. Yield the file that stores the size of the cache, or None if another
        process has the lock.
        """
        descriptor = os.open(f"{self._root}/used", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor if _lock(descriptor) else None
        finally:
            os.close(descriptor)

    def _tidy(self, most: int) -> int:
        """Delete the entries that were not used for the longest time, until the others have `most` bytes. Return their
        number of bytes.
        """
        found = sorted(_entries(self._root))
        total = sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= most:
                break
            with suppress(FileNotFoundError):
                os.unlink(path)
            total -= size
        return max(total, 0)


@lru_cache(maxsize=16)
def _opened(process: int, folder: str) -> _Opened | None:
    """Return the cache in a folder, or None if this machine has no such folder for this user."""
    try:
        return _Opened(folder)
    except OSError:
        return None


def _own_folder(folder: str) -> str:
    return f"{folder}/paimon-sql-{os.geteuid()}"


def _make_private(folder: str) -> None:
    """Create a folder that only this user can open. Raises `OSError` if it exists and others can open it."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(folder, _PRIVATE)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(1, "it is not a folder that only this user can open; delete it", folder)


def _secret(path: str) -> bytes:
    """Return the cache's key, and create it if it is missing. Of several processes, the first one creates it."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb", buffering=0) as file:
                key = file.read(_KEY_BYTES + 1)
            if key is not None and len(key) == _KEY_BYTES:
                return key
            os.unlink(path)
        made = f"{path}-{os.getpid()}-{os.urandom(8).hex()}"
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
        with suppress(FileExistsError):
            os.link(made, path)
        os.unlink(made)
    raise OSError(f"{path} cannot be read")


def _lock(descriptor: int) -> bool:
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_PAUSE)
        else:
            return True
    return False


def _number(descriptor: int) -> int | None:
    text = os.pread(descriptor, 21, 0)
    return int(text) if len(text) == 20 and text.isdigit() else None


def _entries(root: str) -> Iterator[tuple[float, int, str]]:
    """Yield the time of the last use, the bytes and the path of each entry."""
    for folder in Path(root).iterdir():
        if len(folder.name) == 2 and folder.is_dir() and not folder.is_symlink():
            for entry in os.scandir(folder):
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    yield found.st_mtime, _space(found.st_size - _CHECKSUM_BYTES), entry.path


def _space(content: int) -> int:
    return -(-(content + _CHECKSUM_BYTES) // _BLOCK) * _BLOCK


def _checksum(name: str, content: bytes) -> bytes:
    digest = hashlib.blake2b(name.encode(), digest_size=_CHECKSUM_BYTES)
    digest.update(content)
    return digest.digest()
