"""Move the folder of a renamed table. The catalog and the folder change in separate steps, and a process may die
between any two of them.

A catalog notes both folders before a move begins. If another process needs the table and holds its locks, that process
ends the move; the files in the two folders show how far it got. On a local disk a move is one step, so only one of the
folders exists. On other storages every file is copied before the first one is deleted, and writers with an older name
may add files to either folder. If the folders do not show what happened, they stay as they are and an error is raised.
"""

from __future__ import annotations

from collections.abc import Iterator

from paimon_core.errors import StorageError
from paimon_core.io.file_io import FileIO
from paimon_core.store.schemas import schema_ids


def ends_forward(io: FileIO, source: str, target: str) -> bool:
    """End the move of a table's folder that another process began; return whether the table is at `target` then.

    Raises `StorageError`, also if the folders do not show what happened: then nothing is deleted.
    """
    if not schema_ids(io, target):
        _delete_copies(io, source, target)
        return False
    if not schema_ids(io, source):  # deleting had begun, so all is copied
        io.delete_dir(source)
        return True
    old, new = set(_names(io, source)), set(_names(io, target))
    if new <= old:  # nothing is deleted yet
        _delete_copies(io, source, target)
        return False
    if old <= new:
        io.delete_dir(source)
        return True
    raise StorageError(
        f"A table was being moved from {source} to {target}, and each has files that the other has not. "
        "Bring all of them into one of the two, empty the other, and run the statement again."
    )


def _delete_copies(io: FileIO, source: str, target: str) -> None:
    """Delete the files at `target` that `source` has, too; delete the folder if it is empty then."""
    known, found = set(_names(io, source)), set(_names(io, target))
    if found <= known:
        io.delete_dir(target)
        return
    for name in found & known:
        io.delete(f"{target}/{name}")


def _names(io: FileIO, folder: str, below: str = "") -> Iterator[str]:
    """The files below a folder, by their paths in it."""
    for entry in io.list(f"{folder}/{below}".rstrip("/")):
        name = f"{below}{entry.name}"
        if entry.is_dir:
            yield from _names(io, folder, f"{name}/")
        else:
            yield name
