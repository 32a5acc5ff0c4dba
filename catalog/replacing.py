"""Replace a table by another table: two renames, and the code that completes them if a process died between the two.

    t, t_replacing_1a2b3c4d                      the new table is written beside the old one
    t_replaced_1a2b3c4d, t_replacing_1a2b3c4d    between the renames: no table has the name t
    t_replaced_1a2b3c4d, t                       the old table is deleted

These names show which of the three states it is. So a process that looks for `t` between the renames does the second
rename and completes the statement. The process that began it then finds the rename done.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Collection

from paimon_core.errors import AlreadyExistsError, PaimonError, StorageError
from paimon_core.io.file_io import FileIO
from paimon_core.store.schemas import schema_ids

_LOG = logging.getLogger(__name__)
_BESIDE = re.compile(r"(.+)_replacing_([0-9a-f]{8})")
_TAKEN = (AlreadyExistsError, FileExistsError)


def new_suffix() -> str:
    """Return the suffix of the replacement table's name."""
    return f"_replacing_{uuid.uuid4().hex[:8]}"


def take_place(io: FileIO, path: str, beside: str) -> str:
    """Move the table at `beside` to `path`, and return the new folder of the old table.

    One of the two tables always exists, whatever fails. Raises `StorageError`."""
    aside = _aside(beside)
    io.rename_dir(path, aside)
    try:
        _put(io, beside, path)
    except (PaimonError, OSError):
        if not io.exists(path):
            io.rename_dir(aside, path)
        raise
    return aside


def complete(io: FileIO, path: str) -> bool:
    """Do the second rename if a table is missing and the first rename was done. Return whether it was."""
    folder, _, name = path.rpartition("/")
    try:
        found = between([f.name for f in io.list(folder) if f.is_dir])
    except (StorageError, FileNotFoundError):
        return False  # a user without the right to list the parent folder does not complete a replacement
    beside = next((f"{folder}/{b}" for b, base in found.items() if base == name), None)
    if beside is None or not schema_ids(io, beside):
        return False
    _put(io, beside, path)
    _LOG.warning(
        "The interrupted replacement of table %s is complete. If the process that began it has died, delete %s.",
        path,
        _aside(beside),
    )
    return True


def between(names: Collection[str]) -> dict[str, str]:
    """Return the folders that will take the place of a missing table, each with the name of that table."""
    known = set(names)
    pending = {n: match[1] for n in sorted(known) if (match := _BESIDE.fullmatch(n)) is not None}
    return {n: base for n, base in pending.items() if _aside(n) in known and base not in known}


def _put(io: FileIO, beside: str, path: str) -> None:
    try:
        io.rename_dir(beside, path)
    except (*_TAKEN, FileNotFoundError):
        if io.exists(beside) or not io.exists(path):  # otherwise another process did the rename
            raise


def _aside(beside: str) -> str:
    return "_replaced_".join(beside.rsplit("_replacing_", 1))
