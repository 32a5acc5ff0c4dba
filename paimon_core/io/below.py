"""Delete files below a folder of a local disk, and never the target of a symbolic link.

Metadata names files, and metadata may be hostile: `root/link/file` must not delete a file elsewhere. A check of the
path before deleting would not suffice, because a folder may be replaced by a link in between. So a path is opened
folder by folder (`openat` with `O_NOFOLLOW`), and the file is deleted by its name in the open folder. The root itself,
and folders above it, may be links. This costs several calls more than one `unlink`, so many files are deleted folder by
folder.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby

from paimon_core.errors import StorageError

_OPEN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def delete_below(root: str, path: str) -> None:
    """Delete a file or a link. Raises `OSError`, and `StorageError` for a link between `root` and the file."""
    with _parent(root, path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def check_below(root: str, path: str) -> None:
    """Raise the error that `delete_below` would raise because of the folders above a file, and delete nothing."""
    with _parent(root, path):
        pass


def freed_bytes(path: str) -> int | None:
    """Return the bytes that are freed if a path is deleted: 0 for a link, None for a folder or if nothing is there."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return None
    if stat.S_ISDIR(found.st_mode):
        return None
    return 0 if stat.S_ISLNK(found.st_mode) else found.st_size


def delete_many_below(root: str, paths: Iterable[str]) -> Iterator[str]:
    """Delete files and links like `delete_below`, and yield the paths that could not be deleted.

    Pass the files of a folder one after another: the folder is then opened once for them.
    """
    for folder, group in groupby(paths, key=lambda path: path.rpartition("/")[0]):
        files = list(group)
        try:
            with _parent(root, files[0]) as (descriptor, _):
                failed = [path for path in files if not _unlink(path[len(folder) + 1 :], descriptor)]
        except (OSError, ValueError):
            failed = files
        yield from failed


def _unlink(name: str, folder: int) -> bool:
    """Delete a file in an open folder. Return whether the file no longer exists."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return False
    return True


def delete_dir_below(root: str, path: str) -> None:
    """Delete a folder and everything below it, or a link. Raises the same errors as `delete_below`."""
    with _parent(root, path) as (folder, name):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def delete_empty_dir_below(root: str, path: str) -> None:
    """Delete an empty folder. Raises the same errors as `delete_below`."""
    with _parent(root, path) as (folder, name):
        os.rmdir(name, dir_fd=folder)


@contextmanager
def _parent(root: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield a descriptor of the folder that contains `path`, and the name of `path` in it."""
    *folders, name = path.removeprefix(f"{root}/").split("/")
    if not path.startswith(f"{root}/") or {"", ".", ".."} & {*folders, name}:
        raise StorageError(f"Cannot delete {path}: it is not below {root}. It is left as it is.")
    descriptor = os.open(root, _OPEN)
    try:
        for number, folder in enumerate(folders):
            below = _open_folder(descriptor, folder, f"{root}/{'/'.join(folders[: number + 1])}", path)
            os.close(descriptor)
            descriptor = below
        yield descriptor, name
    finally:
        os.close(descriptor)


def _open_folder(parent: int, name: str, folder: str, path: str) -> int:
    try:
        return os.open(name, _OPEN | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if not _is_link(parent, name):
            raise
        raise StorageError(
            f"Cannot delete {path}: {folder} is a symbolic link, which may lead to other users' files. Replace "
            "the link by the folder itself."
        ) from error


def _is_link(parent: int, name: str) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    return False
