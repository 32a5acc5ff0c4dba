"""A table takes the place of another: two renames, and what ends them where a process died between the two.

    t, t_replacing_1a2b3c4d                      the new table is written beside the old one
    t_replaced_1a2b3c4d, t_replacing_1a2b3c4d    between the renames: nothing is called t
    t_replaced_1a2b3c4d, t                       the old table is deleted

These names say which of the three it is. So who looks for `t` between the renames does the second one, which makes the
statement whole; its process then finds that done.
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
    """What the name of a new table beside the old one has behind that."""
    return f"_replacing_{uuid.uuid4().hex[:8]}"


def take_place(io: FileIO, path: str, beside: str) -> str:
    """Make the table at `beside` the one at `path`; where the old one is then. Of the two there is always one, whatever
    fails. Raises `StorageError`."""
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
    """Do the second rename of a table that nobody finds where the first one was done; whether there was one."""
    folder, _, name = path.rpartition("/")
    try:
        found = between([f.name for f in io.list(folder) if f.is_dir])
    except (StorageError, FileNotFoundError):
        return False  # who may only look into the table's own folder replaces none beside it
    beside = next((f"{folder}/{b}" for b, base in found.items() if base == name), None)
    if beside is None or not schema_ids(io, beside):
        return False
    _put(io, beside, path)
    _LOG.warning("Table %s was being replaced: it is now. Where its process died, %s is left.", path, _aside(beside))
    return True


def between(names: Collection[str]) -> dict[str, str]:
    """The folders that are to take the place of a table, and its name, where nothing is called so."""
    known = set(names)
    pending = {n: match[1] for n in sorted(known) if (match := _BESIDE.fullmatch(n)) is not None}
    return {n: base for n, base in pending.items() if _aside(n) in known and base not in known}


def _put(io: FileIO, beside: str, path: str) -> None:
    try:
        io.rename_dir(beside, path)
    except (*_TAKEN, FileNotFoundError):
        if io.exists(beside) or not io.exists(path):  # else another process did it
            raise


def _aside(beside: str) -> str:
    return "_replaced_".join(beside.rsplit("_replacing_", 1))
