"""DELETE, UPDATE and MERGE INTO in the driver: the results of a statement's tasks become one commit.

A statement runs in three steps:

1. Tasks write the changes (`write_changes`). The statement's `ChangeRules` decide what a `ChangesResult` contains:
   files of new rows, and the positions of replaced or deleted rows; files with single columns of row ranges; patches
   with new values; or files of keys to delete.
2. The driver finds the files that lose or change rows in the latest version. It is a conflict if a file is no longer
   live, or if another commit deleted the row. The driver marks removed rows in deletion vectors, or runs a job that
   rewrites the files: without the removed rows, with the patches applied, or without the keys.
3. One commit adds and deletes all these files. It also finds conflicts with commits made after step 2. Files that only
   step 2 read are deleted, and the buckets of new rows are compacted.

If a step certainly fails, the files that the driver knows are deleted; files of a task without a result stay as
orphans. If it is unknown whether the commit happened, all files are kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import AlreadyCommittedError, MetadataMissingError
from paimon_core.insert import commit_rows, compact_after_write
from paimon_core.io.failure import on_certain_failure, on_failure
from paimon_core.io.side_by_side import beside
from paimon_core.jobs import Executor, Job, TaskT
from paimon_core.options import DELETION_VECTORS
from paimon_core.row_level.key_deletes import key_delete_job
from paimon_core.row_level.patches import Patch, PatchTask, patch_job, remove_patches
from paimon_core.row_level.removed_rows import RemovedRows, changed_files, marked_rows
from paimon_core.row_level.rewrites import rewrite_job, rewrites_of
from paimon_core.row_level.rules import ChangeRules
from paimon_core.row_level.writer import ChangesResult
from paimon_core.spec.message import CommitMessage, WriteResult
from paimon_core.store.snapshots import latest_for_commit
from paimon_core.table import Table

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The messages to commit: files with `new` rows, and `changed` files with their replacements.

    `unused` files contain only keys, or their rows are in other files by now."""

    new: list[CommitMessage]
    changed: list[CommitMessage]
    unused: list[CommitMessage]


@dataclass(frozen=True, slots=True)
class RowLevelStatement:
    """The changes of one statement to a table."""

    table: Table
    rules: ChangeRules
    executor: Executor

    def commit(
        self, results: Sequence[ChangesResult], before_commit: Callable[[], None] | None = None
    ) -> Sequence[CommitMessage]:
        """Commit the results of tasks. `before_commit` makes columns visible that the statement adds.

        Return the committed messages, or no messages if they were committed before. Raises `CommitConflictError`,
        `SeveralMatchesError`, and the errors of `Table.commit`; then the files of the tasks are deleted, unless the
        outcome is unknown.
        """
        info = self.table.commit_info(self.rules.operation)
        try:
            with on_failure(lambda: self.abort(results)):
                self.table.check_not_made(info)
                prepared = self._prepare(results)
            patches = [p for r in results for p in r.patches]  # they are in the rewritten files now
            with (
                beside(self.table.store.io, partial(remove_patches, self.table.store, patches)),
                on_certain_failure(lambda: self.abort(results)),
                on_certain_failure(lambda: self.table.abort(prepared.changed)),
            ):
                if before_commit is not None:
                    before_commit()
                committed = commit_rows(self.table, [*prepared.new, *prepared.changed], info, self.executor)
        except AlreadyCommittedError as error:
            _LOG.warning("%s", error, extra=self.table.store.log_fields())
            return ()
        self.table.delete_replaced(prepared.unused)
        # A bucket that only lost rows is not compacted.
        compact_after_write(
            self.table, [m for m in committed if m not in prepared.changed], self.executor, overwrites=False
        )
        return committed

    def abort(self, results: Sequence[ChangesResult]) -> None:
        """Delete the files that tasks wrote, as far as possible."""
        self.table.abort([m for r in results for m in r.messages])
        remove_patches(self.table.store, (p for r in results for p in r.patches))

    def _prepare(self, results: Sequence[ChangesResult]) -> _Prepared:
        store, written = self.table.store, [m for r in results for m in r.messages]
        removed = RemovedRows.merged((f for r in results for f in r.removed), self.rules.once)
        needs_version = self.rules.by_key or removed.by_path
        if self.rules.patched is not None:
            patches = [p for r in results for p in r.patches]
            return _Prepared(written, self._run(self._patch_job(patches, self.rules.patched)), [])
        snapshot = latest_for_commit(store) if needs_version else None
        if self.rules.by_key:
            return _Prepared([], self._run(key_delete_job(store, snapshot, written)), written)
        changed = changed_files(store, snapshot, removed)
        if store.options[DELETION_VECTORS] and not store.has_primary_key:
            return _Prepared(written, marked_rows(store, snapshot, changed), [])
        rewrites = rewrites_of(store, changed, written)
        return _Prepared(list(rewrites.kept), self._run(rewrite_job(store, rewrites.tasks)), list(rewrites.joined))

    def _patch_job(self, patches: Sequence[Patch], columns: tuple[str, ...]) -> Job[PatchTask, WriteResult]:
        """Return the job that applies the patches. The job reads the planned version, which saves a request for the
        latest one: the commit notices files that others have replaced since. Even if the planned version has expired,
        its files may still be live.
        """
        store = self.table.store
        if self.table.planned is not None:
            with suppress(MetadataMissingError):
                return patch_job(store, self.table.planned.snapshot, patches, columns)
        return patch_job(store, latest_for_commit(store), patches, columns)

    def _run(self, job: Job[TaskT, WriteResult]) -> list[CommitMessage]:
        return self.table.run(self.executor, job) if job.tasks else []
