"""Move the folder of a renamed table. The catalog and the folder change in separate steps, and a process may die
between any two of them. So a catalog records both folders before a move begins. A later process that needs the table
takes its locks and completes the move; the files in the two folders show how far the move came. On a local disk a move
is one step, so only one of the folders exists. On other storages every file is copied before the first one is deleted,
and writers with an older name may add files to either folder. If the folders do not show what happened, they stay as
they are and an error is raised.
"""

from __future__ import annotations

from collections.abc import Iterator

from paimon_core.errors import StorageError
from paimon_core.io.file_io import FileIO
from paimon_core.store.schemas import schema_ids


def ends_forward(io: FileIO, source: str, target: str) -> bool:
    """Complete the move of a table's folder that another process began. Return whether the table is at `target`
    afterwards.

    Raises `StorageError` if the storage fails, and if the folders do not show what happened; then nothing is deleted.
    """
    if not schema_ids(io, target):
        _delete_copies(io, source, target)
        return False
    if not schema_ids(io, source):  # deleting has begun, so every file has been copied
        io.delete_dir(source)
        return True
    old, new = set(_names(io, source)), set(_names(io, target))
    if new <= old:  # no file has been deleted yet
        _delete_copies(io, source, target)
        return False
    if old <= new:
        io.delete_dir(source)
        return True
    raise StorageError(
        f"A table was being moved from {source} to {target}, and each folder has files that the other lacks. Move "
        "all files to one of the two folders, empty the other, and run the statement again."
    )


def _delete_copies(io: FileIO, source: str, target: str) -> None:
    """Delete the files at `target` that `source` also has, and the folder if it is then empty."""
    known, found = set(_names(io, source)), set(_names(io, target))
    if found <= known:
        io.delete_dir(target)
        return
    for name in found & known:
        io.delete(f"{target}/{name}")


def _names(io: FileIO, folder: str, below: str = "") -> Iterator[str]:
    """Yield the files below a folder, as paths relative to it."""
    for entry in io.list(f"{folder}/{below}".rstrip("/")):
        name = f"{below}{entry.name}"
        if entry.is_dir:
            yield from _names(io, folder, f"{name}/")
        else:
            yield name
