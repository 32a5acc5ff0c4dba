"""Deleting files, and looking for them, here or over Spark's executors."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from paimon_core.errors import InvalidOptionError
from paimon_core.maintenance.orphans import search as orphans
from paimon_core.maintenance.orphans.job import OrphanSearch, known_files
from paimon_core.maintenance.release import Delete, delete_files, delete_job
from paimon_core.store.table_store import TableStore
from paimon_sql.procedures.registry import ProcedureContext

MODES = ("local", "distributed")
MANY = 100_000  # files: the names of more are not for one process
_EACH = 1000  # files of a task


def deleting(context: ProcedureContext) -> Delete:
    """What deletes the files that versions leave: here, or as tasks where they are many."""

    def delete(store: TableStore, paths: Collection[str]) -> None:
        if len(paths) < MANY:
            delete_files(store, paths)
            return
        context.executor.run(delete_job(store, paths, _EACH))

    return delete


def remove_orphans(
    context: ProcedureContext,
    store: TableStore,
    older_than: int,
    mode: str | None,
    parallelism: int | None,
    *,
    dry: bool,
) -> tuple[int, int]:
    """Delete the orphans of a table, or only find them; how many, and their bytes. Raises as `find_orphans`."""
    if mode is not None and mode.strip().lower() not in MODES:
        raise InvalidOptionError(f"mode cannot be {mode!r}: it is one of {', '.join(MODES)}.")
    distributed = known_files(store) >= MANY if mode is None else mode.strip().lower() == "distributed"
    if not distributed:
        found = (orphans.find_orphans if dry else orphans.remove_orphans)(store, older_than)
        return len(found.paths), found.size
    search = OrphanSearch(store, older_than)
    look = partial(context.executor.find_orphans, search, parallelism, f"find orphans of {store.name}")
    lost = orphans.in_peace(store, look)
    if not dry:
        lost.delete()
    return lost.count, lost.size
