"""Copies and deletions of files, and the search for orphans: in this process, or as Spark tasks if there are many
files.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from paimon_core.errors import InvalidOptionError
from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import Copy, Pairs, copy_files, copy_job
from paimon_core.maintenance.orphans import search as orphans
from paimon_core.maintenance.orphans.job import OrphanSearch, known_files
from paimon_core.maintenance.release import Delete, delete_files, delete_job
from paimon_core.store.table_store import TableStore
from paimon_sql.procedures.registry import ProcedureContext

MODES = ("local", "distributed")
MANY_DELETIONS = 100_000  # more paths would take too much memory of one process
_DELETIONS = 1000  # files of a task
MANY_COPIES = 100
_COPIES = 10  # files of a task


def copying(context: ProcedureContext) -> Copy:
    """Return a function that copies files, as tasks if there are many files."""

    def copy(source: FileIO, target: FileIO, pairs: Pairs) -> None:
        if len(pairs) < MANY_COPIES:
            copy_files(source, target, pairs)
            return
        context.executor.run(copy_job(source, target, pairs, _COPIES))

    return copy


def deleting(context: ProcedureContext) -> Delete:
    """Return a function that deletes files that no version needs, as tasks if there are many files."""

    def delete(store: TableStore, paths: Collection[str]) -> None:
        if len(paths) < MANY_DELETIONS:
            delete_files(store, paths)
            return
        context.executor.run(delete_job(store, paths, _DELETIONS))

    return delete


def check_mode(mode: str | None) -> None:
    """Raise `InvalidOptionError` for an unknown mode of a search for orphans."""
    if mode is not None and mode.strip().lower() not in MODES:
        raise InvalidOptionError(f"mode cannot be {mode!r}: use one of {', '.join(MODES)}.")


def remove_orphans(
    context: ProcedureContext,
    store: TableStore,
    older_than: int,
    mode: str | None,
    parallelism: int | None,
    *,
    dry: bool,
) -> tuple[int, int]:
    """Delete the orphans of a table, or with `dry` only find them. Return their number and their bytes. Raises as
    `find_orphans`.
    """
    check_mode(mode)
    distributed = known_files(store) >= MANY_DELETIONS if mode is None else mode.strip().lower() == "distributed"
    if not distributed:
        found = (orphans.find_orphans if dry else orphans.remove_orphans)(store, older_than)
        return len(found.paths), found.size
    search = OrphanSearch(store, older_than)
    look = partial(context.executor.find_orphans, search, parallelism, f"find orphans of {store.name}")
    lost = orphans.in_peace(store, look)
    if not dry:
        lost.delete()
    return lost.count, lost.size
