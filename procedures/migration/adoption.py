"""The files that a new table takes over: their commit, and the rows of a dry run."""

from __future__ import annotations

from contextlib import suppress

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import AlreadyCommittedError
from paimon_core.format_table.migration import Adoption, taken_files, without
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.file_io import FileIO
from paimon_core.io.transfer import take_files
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.procedures.dry_runs import FilesOfPartition, summed_by_partition
from paimon_sql.procedures.file_tasks import copying
from paimon_sql.procedures.migration.runs import Runs, delete_quietly
from paimon_sql.procedures.registry import ProcedureContext, Rows


def adopted_rows(work: str, target: TableStore, adoption: Adoption, *, delete_origin: bool) -> Rows:
    """Return a row of a dry run for each partition of files that are taken over."""
    parts = (FilesOfPartition(m.partition, 1, f.file_size, f.row_count) for m in adoption.messages for f in m.new_files)
    return summed_by_partition(work, target, parts, "moved" if delete_origin else "copied")


def commit_adopted(
    context: ProcedureContext, source: FileIO, target: Table, adoption: Adoption, runs: Runs | None
) -> None:
    """Give files a path in a table and commit them, without files that one of the `runs` of this migration has
    committed.

    Without `runs`, all files are copied. After a failure that surely committed nothing, new files are deleted.
    """
    copy = copying(context)
    if runs is not None:
        adoption = without(adoption, taken_files(target.store))
    if not adoption.messages:
        return
    taken = [path for _, path in adoption.paths]
    info = CommitInfo(user=target.new_commit_user()) if runs is None else runs.info()
    with (
        suppress(AlreadyCommittedError),  # another run committed them meanwhile
        on_certain_failure(lambda: delete_quietly(target.store.io, taken), FileNotFoundError),
    ):
        if runs is None:
            copy(source, target.store.io, adoption.paths)
        else:
            take_files(source, target.store.io, adoption.paths, copy)
        target.commit(adoption.messages, info)
