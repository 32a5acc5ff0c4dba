"""Read a local file by a path without symbolic links, even if a user puts a link into the path meanwhile. A path is
first checked against rules, and the file is opened later. In between, the user could replace a folder or the file by a
link to another user's file. So the path is opened folder by folder (`openat` with `O_NOFOLLOW`).
"""

from __future__ import annotations

import errno
import os
import stat

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import NotAllowedError
from paimon_core.io.local import LocalFileIO

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe must not wait


@dataclass(frozen=True, slots=True)
class UnlinkedFileIO(LocalFileIO):
    """`FileIO` for absolute paths without links. `open_input` does not follow links."""

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open a regular file. Raises `NotAllowedError` if the path leads through a link, `OSError`."""
        try:
            descriptor = _open(path)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            raise _not_allowed(path) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _not_allowed(path)
        return pa.PythonFile(os.fdopen(descriptor, "rb"), mode="r")


def _open(path: str) -> int:
    *folders, name = path.strip("/").split("/")
    descriptor = os.open("/", _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        return os.open(name, _FILE, dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _not_allowed(path: str) -> NotAllowedError:
    return NotAllowedError(
        f"Cannot read {path}: it is not a regular file, or a symbolic link was put into its path. Name the file itself."
    )
