"""Marks of holders: with a mark, other processes of this machine find out that the holder of a lock has died.

A mark is an empty file in the machine's shared memory, locked by `flock(2)` for as long as its holder lives. The kernel
gives the lock back when the last descriptor is closed, so a mark that can be locked is proof that its holder has died.
Process ids prove nothing: they are used again, and each container has its own.

A missing mark proves nothing: the holder may be on another machine, in a container with another shared memory, of
another user, or on a system that does not identify its boot. A stopped process keeps its mark, as does a child that it
forked. A mark gets its name after it is locked, so that a mark of a living holder is never found unlocked.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # the folder in it belongs to one user, and is checked
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAME = re.compile(r"[0-9a-f]{64}|new-[0-9a-f]{32}")
_OLD = 86400.0  # seconds after which the marks of dead holders are deleted
_GRACE = 5.0  # seconds: requests of a holder may arrive after its death


class Mark:
    """The mark of this process as the holder of a lock.

    Its methods never raise `OSError`: without a mark, other processes only wait longer for the lock of a dead holder.
    """

    def __init__(self, name: str) -> None:
        self._path: Path | None = None
        self._descriptor: int | None = None
        folder = _folder()
        if folder is None:
            return
        _sweep(folder)
        path = folder / f"new-{uuid.uuid4().hex}"
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            self._path = path
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.end()
            return
        self.rename(name)

    def rename(self, name: str) -> None:
        """Give the mark another name."""
        target = _path_of(name)
        if self._path is None or target is None:
            return
        try:
            os.replace(self._path, target)
        except OSError:  # the folder was cleaned: from now on, the holder's death cannot be proven
            self.end()
        else:
            self._path = target

    def end(self) -> None:
        """Remove the mark. Call this before releasing the lock: a mark must not outlive the lock."""
        path, self._path = self._path, None
        descriptor, self._descriptor = self._descriptor, None
        with suppress(OSError):
            if path is not None:
                os.unlink(path)
        with suppress(OSError):
            if descriptor is not None:
                os.close(descriptor)


class Deaths:
    """The dead holders that a waiting process has found, with the times of finding them."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def are_proven(self, name: str) -> bool:
        """Return whether the holder of a mark died on this machine, at least some seconds ago."""
        if not has_died(name):
            self._since.pop(name, None)
            return False
        return time.monotonic() - self._since.setdefault(name, time.monotonic()) >= _GRACE

    def forget(self, name: str) -> None:
        """Remove the mark of a holder that was proven dead. Call this after the holder's lock is free."""
        self._since.pop(name, None)
        path = _path_of(name)
        if path is not None and has_died(name):
            with suppress(OSError):
                os.unlink(path)


def has_died(name: str) -> bool:
    """Return whether a mark of this name exists without a living holder. Return False without proof."""
    path = _path_of(name)
    return path is not None and _is_free(path)


def _is_free(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _path_of(name: str) -> Path | None:
    folder, boot = _folder(), _boot()
    if folder is None or boot is None:
        return None
    return folder / hashlib.sha256(f"{boot}\0{name}".encode()).hexdigest()


def _folder() -> Path | None:
    """Return the folder of this user's marks, or None if there is no folder that only this user can change."""
    if _boot() is None or not SHARED_MEMORY.is_dir():
        return None
    folder = SHARED_MEMORY / f"paimon-sql-holders-{os.geteuid()}"
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return folder if is_ours else None


@cache
def _boot() -> str | None:
    try:
        return _BOOT.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _sweep(folder: Path) -> None:
    """Delete old marks of dead holders."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) is None or time.time() - entry.stat().st_mtime < _OLD:
                continue
            if _is_free(Path(entry.path)):
                os.unlink(entry.path)
