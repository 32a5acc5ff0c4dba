"""Copies of remote files on the local disk, for files that are read repeatedly, up to a size and an age.

For data files: they never change, and no name is used twice. The processes of a user on a machine share the copies, in
a folder that only this user can write to. A process that adds a copy removes old copies, then the least recently used.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from contextlib import suppress

from paimon_core.dataclass import dataclass
from paimon_core.io.file_io import FileIO, temporary_name
from paimon_core.io.local import LocalFileIO
from paimon_core.io.transfer import copy_file

_IN_USE = 60  # seconds: a reader opens its copy within this time


@dataclass(frozen=True, slots=True)
class LocalCopies:
    """Local copies of files of `source`: at most `most_bytes` in all, each used within the last `retention`
    milliseconds.
    """

    source: FileIO
    most_bytes: int
    retention: int

    def copy_of(self, path: str, size: int) -> str | None:
        """Return the path of a copy of a file of `size` bytes, and create the copy if necessary.

        Return None if that fails: the caller then reads the file itself, and gets the file's error."""
        if size > self.most_bytes:
            return None
        try:
            folder = _own_folder()
            if folder is None:
                return None
            copy = os.path.join(folder, hashlib.sha256(f"{_client(self.source)} {path}".encode()).hexdigest())
            if not _is_whole(copy, size):
                self._make_room(folder, size)
                self._fetch(path, size, copy)
            return copy if _is_whole(copy, size) else None
        except OSError:
            return None

    def _fetch(self, path: str, size: int, copy: str) -> None:
        folder, name = os.path.split(copy)
        partial = os.path.join(folder, temporary_name(name))
        try:
            copy_file(self.source, LocalFileIO(), path, partial)
            if os.path.getsize(partial) == size:
                os.rename(partial, copy)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(partial)

    def _make_room(self, folder: str, size: int) -> None:
        """Remove old copies, then the least recently used copies. Copies used within `_IN_USE` seconds stay."""
        now, found = time.time(), []
        for entry in os.scandir(folder):
            with suppress(FileNotFoundError):
                found.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
        kept = sum(length for _, length, _ in found)
        for used, length, path in sorted(found):
            is_old = now - used > max(self.retention / 1000, _IN_USE)
            if is_old or (kept + size > self.most_bytes and now - used > _IN_USE):
                with suppress(FileNotFoundError):
                    os.unlink(path)
                kept -= length


def _client(source: FileIO) -> str:
    """Return the identity of a storage's client: its options, including credentials.

    Other clients may see other files.
    """
    return repr(sorted(getattr(source, "options", {}).items(), key=str))


def _is_whole(copy: str, size: int) -> bool:
    """Return whether a complete copy exists, and mark it as used now."""
    try:
        os.utime(copy)
        return os.path.getsize(copy) == size
    except FileNotFoundError:
        return False


def _own_folder() -> str | None:
    """Return the folder of this user's copies, or None if other users could have put files there."""
    folder = os.path.join(tempfile.gettempdir(), f"paimon-copies-{os.getuid()}")
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if is_own else None
