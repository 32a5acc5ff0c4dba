"""Table: the facade that catalogs return. Each method calls the layers below."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.expressions.predicate import Predicate, compared_columns
from paimon_core.io.failure import on_certain_failure
from paimon_core.io.side_by_side import both, outcome_of
from paimon_core.lazy import ImportedOnCall
from paimon_core.metrics import BUCKETS_DUE
from paimon_core.options import (
    BUCKET,
    COMMIT_IDENTIFIER,
    COMMIT_UNSAFE_STORAGE,
    COMMIT_USER_PREFIX,
    DYNAMIC,
    POSTPONED,
    STREAM_COMMIT_USER,
    WRITE_ONLY,
    Option,
    TableOptions,
)
from paimon_core.scan.changes.increment import Increment
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.fallback import plan_with_fallback
from paimon_core.scan.plan import Plan, skips_level_0
from paimon_core.scan.time_travel import files_since, resolve_snapshot, store_at
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import CommitKind, Operation, Snapshot
from paimon_core.store.features import check_selectable, check_writable
from paimon_core.store.manifests import data_manifests, live_columns, max_sequence_number
from paimon_core.store.named_files import files_of
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.schemas import check_same
from paimon_core.store.snapshots import latest_for_read, latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.tracing import span

if TYPE_CHECKING:
    from paimon_core.commit.changes import Overwrite
    from paimon_core.commit.commit import abort, commit_statistics, delete_replaced
    from paimon_core.commit.draft import CommitInfo, info_of_once
    from paimon_core.commit.indexed import commit_indexed
    from paimon_core.commit.once import check_not_made
    from paimon_core.commit.planned import Planned
    from paimon_core.commit.publish import Publisher, publisher_for
    from paimon_core.commit.same_table import check_table
    from paimon_core.jobs import Executor, Job, TaskT
    from paimon_core.lsm.compaction import last_level
    from paimon_core.maintenance.after_commit import maintain
    from paimon_core.maintenance.chain_tables import drop_outdated
    from paimon_core.scan.changes.plan import plan_increment
    from paimon_core.scan.partitions import partition_counts, partition_rows
    from paimon_core.spec.message import BucketState, CommitMessage, WriteResult, written_messages
    from paimon_core.spec.statistics import TableStatistics
    from paimon_core.store.ddl.option_changes import check_option_set
    from paimon_core.store.statistics import read_statistics
    from paimon_core.system_tables.registry import read_system_table, system_table_schema
    from paimon_core.versions import FileVersions, TableVersions
    from paimon_core.write.bucket_moves import BucketMoves, write_store
    from paimon_core.write.buckets.dynamic import AssignmentBase
    from paimon_core.write.compaction.job import due_buckets
else:
    check_option_set = ImportedOnCall("paimon_core.store.ddl.option_changes", "check_option_set")
    Overwrite = ImportedOnCall("paimon_core.commit.changes", "Overwrite")
    abort = ImportedOnCall("paimon_core.commit.commit", "abort")
    delete_replaced = ImportedOnCall("paimon_core.commit.commit", "delete_replaced")
    check_table = ImportedOnCall("paimon_core.commit.same_table", "check_table")
    commit_statistics = ImportedOnCall("paimon_core.commit.commit", "commit_statistics")
    commit_indexed = ImportedOnCall("paimon_core.commit.indexed", "commit_indexed")
    check_not_made = ImportedOnCall("paimon_core.commit.once", "check_not_made")
    maintain = ImportedOnCall("paimon_core.maintenance.after_commit", "maintain")
    drop_outdated = ImportedOnCall("paimon_core.maintenance.chain_tables", "drop_outdated")
    read_system_table = ImportedOnCall("paimon_core.system_tables.registry", "read_system_table")
    system_table_schema = ImportedOnCall("paimon_core.system_tables.registry", "system_table_schema")
    FileVersions = ImportedOnCall("paimon_core.versions", "FileVersions")
    BucketMoves = ImportedOnCall("paimon_core.write.bucket_moves", "BucketMoves")
    write_store = ImportedOnCall("paimon_core.write.bucket_moves", "write_store")
    AssignmentBase = ImportedOnCall("paimon_core.write.buckets.dynamic", "AssignmentBase")
    due_buckets = ImportedOnCall("paimon_core.write.compaction.job", "due_buckets")
    CommitInfo = ImportedOnCall("paimon_core.commit.draft", "CommitInfo")
    info_of_once = ImportedOnCall("paimon_core.commit.draft", "info_of_once")
    Planned = ImportedOnCall("paimon_core.commit.planned", "Planned")
    publisher_for = ImportedOnCall("paimon_core.commit.publish", "publisher_for")
    plan_increment = ImportedOnCall("paimon_core.scan.changes.plan", "plan_increment")
    partition_counts = ImportedOnCall("paimon_core.scan.partitions", "partition_counts")
    partition_rows = ImportedOnCall("paimon_core.scan.partitions", "partition_rows")
    read_statistics = ImportedOnCall("paimon_core.store.statistics", "read_statistics")
    written_messages = ImportedOnCall("paimon_core.spec.message", "written_messages")
    last_level = ImportedOnCall("paimon_core.lsm.compaction", "last_level")

_T = TypeVar("_T")


def storage_publisher(store: TableStore) -> Publisher:
    """Return the publisher for tables without a catalog: the storage's atomic create.

    Raises `UnsafeStorageError` if the storage does not have one, unless the table's options accept the risk.
    """
    return publisher_for(store.io, None, store.options[COMMIT_UNSAFE_STORAGE])


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it was loaded: its schema is fixed, but each call looks up its snapshots. Its catalog gives the store
    an identifier.

    `publishing` returns the publisher of its schemas and snapshots. `versioning` returns the object that changes its
    tags and branches and rolls it back. `planned` is the version on which a write is planned (`for_write`): commits
    must be built on it.
    """

    store: TableStore
    publishing: Callable[[TableStore], Publisher] = storage_publisher
    planned: Planned | None = None
    versioning: Callable[[TableStore], TableVersions] = FileVersions

    @property
    def identifier(self) -> Identifier:
        """The table's name in its catalog, with its branch."""
        return replace(self.store.identifier, branch=self.store.branch or None)

    @property
    def name(self) -> str:
        """The table's identifier as text."""
        return self.store.name

    @property
    def publisher(self) -> Publisher:
        """The publisher of the table's schemas and snapshots.

        Raises `UnsafeStorageError` if there is no safe publisher.
        """
        return self.publishing(self.store)

    @property
    def versions(self) -> TableVersions:
        """The object that changes the table's tags and branches, and rolls the table back."""
        return self.versioning(self.store)

    @property
    def schema(self) -> TableSchema:
        return self.store.schema

    def with_options(self, more: Mapping[str, str]) -> Table:
        """Return the table with options overridden for this use. Raises `InvalidOptionError` for a fixed option."""
        for key, value in more.items():
            check_option_set(self.schema, key, value)
        return replace(self, store=self.store.with_options(more))

    def in_zone(self, zone: tzinfo | None) -> Table:
        """Return the table for a session in a time zone; see `TableStore`."""
        return replace(self, store=replace(self.store, zone=zone))

    def at(self, snapshot: Snapshot | None) -> Table:
        """Return the table with the columns that it had at a snapshot."""
        return replace(self, store=store_at(self.store, snapshot))

    def latest_snapshot(self) -> Snapshot | None:
        return latest_snapshot(self.store)

    def snapshot(self, version: str | None = None, timestamp_millis: int | None = None) -> Snapshot | None:
        """Return the snapshot of VERSION AS OF or TIMESTAMP AS OF; see `resolve_snapshot`."""
        return resolve_snapshot(self.store, version, timestamp_millis)

    def plan(
        self,
        version: Snapshot | Increment | None,
        predicate: Predicate | None = None,
        derived: DerivedTable = DerivedTable.ROWS,
        *,
        is_read: bool = True,
    ) -> Plan:
        """Plan a read of a version, or of the changes up to it; see `plan_with_fallback`, `plan_increment`. Without
        `is_read`, the plan is only shown, and advice does not count its filters.
        """
        with span("plan", table=self.name) as recorded, files_of(self.store):
            if isinstance(version, Increment):
                plan = plan_increment(self.store, version, predicate)
            else:
                only_last = derived is DerivedTable.READ_OPTIMIZED and self.store.has_primary_key
                level = last_level(self.store.options) if only_last else None
                plan = plan_with_fallback(self.store, version, predicate, level=level, since=files_since(self.store))
            recorded.set(snapshot=None if plan.snapshot is None else plan.snapshot.id, splits=len(plan.splits))
            recorded.set(files=plan.files_kept, files_total=plan.files_total)
        if predicate is not None and is_read:
            files = plan.files_total - plan.skipped.partition
            self.store.filters.add(self.store.root, compared_columns(predicate), files, plan.files_kept)
        return plan

    def plan_of_same(
        self,
        version: Snapshot | Increment | None,
        predicate: Predicate | None = None,
        derived: DerivedTable = DerivedTable.ROWS,
        *,
        is_read: bool = True,
    ) -> Plan:
        """Plan a read like `plan`, with the columns of a table that was loaded before.

        If the version is not the one that was planned or committed last, look at the table's schema while the plan is
        made: the present table of this name may be another one. Raises the errors of `check_same`, too.
        """
        store, seen = self.store, self.store.cache.read_versions
        root, plan = store.paths.version_root, partial(self.plan, version, predicate, derived, is_read=is_read)
        if version is None or seen.get(root) == (store.schema, version):
            return plan()
        check = partial(check_same, store, must_exist=False)
        checked, planned = both(store.io, partial(outcome_of, check), partial(outcome_of, plan))
        checked()
        found = planned()
        if isinstance(version, Snapshot):
            seen.put(root, (store.schema, version))
        return found

    def partitions(self, snapshot: Snapshot | None) -> pa.Table:
        """Return the partitions with files in a version, with a column per partition key."""
        check_selectable(self.store)
        return partition_rows(self.store, snapshot)

    def partition_counts(self, snapshot: Snapshot | None, predicate: Predicate) -> dict[str, int]:
        """Return the rows, files, bytes and the newest file's time of the partitions of a version that satisfy a
        predicate.
        """
        check_selectable(self.store)
        return partition_counts(self.store, snapshot, predicate)

    def for_write(self) -> Table:
        """Return the table for a write of rows that is planned now.

        If a rollback removes the present latest version, the commit conflicts."""
        return replace(self, planned=Planned(latest_for_read(self.store)))

    def max_sequence_number(self) -> int:
        """Return the largest sequence number of the live files, -1 without files. A writer's rows get larger numbers.

        In a table for a write, the live files are the files of the planned version.
        """
        return max_sequence_number(self.store, self._version())

    def _version(self) -> Snapshot | None:
        return latest_snapshot(self.store) if self.planned is None else self.planned.snapshot

    def assignment_base(self, tasks: int, overwrite: Overwrite | None = None) -> AssignmentBase | None:
        """Return the base for assigning dynamic buckets in the tasks of a write, or None for other buckets."""
        if not self.store.has_primary_key or self.store.options[BUCKET] != DYNAMIC:
            return None
        latest = latest_snapshot(self.store)
        if overwrite is None:
            return AssignmentBase(latest, tasks)
        if overwrite == Overwrite() or not self.schema.cross_partition_update:
            return AssignmentBase(None, tasks, overwrites=True)
        replaced = None if overwrite.dynamic else PartitionFilter(self.schema.partition_fields, overwrite.predicate)
        return AssignmentBase(latest, tasks, overwrites=True, replaced=replaced)

    def write_store(self, *, overwrites: bool) -> TableStore:
        """Return the store for the tasks of a write; see `write_store`."""
        return write_store(self.store, partial(latest_snapshot, self.store), overwrites=overwrites)

    def bucket_moves(self, executor: Executor, description: str) -> BucketMoves:
        """Return an object that moves rows of the latest version into other buckets.

        `description` describes its jobs.
        """
        start = self.max_sequence_number() + 1
        return BucketMoves(self.store, self._version(), start, partial(self.run, executor), description)

    def hides_rows(self) -> bool:
        """Return whether the latest version has rows that queries see only after a compaction."""
        snapshot = latest_snapshot(self.store) if skips_level_0(self.store) else None
        manifests = () if snapshot is None else data_manifests(self.store, snapshot)
        return any((m.levels[rows] == 0).any() for m, rows in live_columns(self.store, manifests))

    def check_writable(self) -> None:
        """Raise `UnsupportedFeatureError` if rows cannot be committed. Call this before rows are written."""
        check_writable(self.store)

    def new_commit_user(self) -> str:
        """Return a new user name, different from the names of all other writers."""
        prefix = self.store.options[COMMIT_USER_PREFIX]
        return f"{prefix}_{uuid.uuid4()}" if prefix else str(uuid.uuid4())

    def commit_info(self, operation: Operation | None = None) -> CommitInfo:
        """Return the commit info of a write.

        `commit.identifier` together with `write.stream.commit-user` makes it a commit that is made once. Raises
        `InvalidOptionError` for one of these options without the other.
        """
        identifier, user = self._of_this_use(COMMIT_IDENTIFIER), self._of_this_use(STREAM_COMMIT_USER)
        if identifier is None:
            return CommitInfo(user=self.new_commit_user(), operation=operation)
        if not user or identifier < 0:
            raise InvalidOptionError(
                f"Table {self.name}: '{COMMIT_IDENTIFIER.key}' cannot be '{identifier}': it must be a number from 0 "
                f"on, such as the number of a batch, and '{STREAM_COMMIT_USER.key}' must be set to a name that no "
                "other stream uses."
            )
        return info_of_once(user, identifier, operation, follows=False)

    def stream_commit_info(self, query: str, epoch: int, operation: Operation) -> CommitInfo:
        """Return the commit info of an epoch of a streaming query. It is made once."""
        prefix = self.store.options[COMMIT_USER_PREFIX]
        user = self._of_this_use(STREAM_COMMIT_USER) or (f"{prefix}_{query}" if prefix else query)
        return info_of_once(user, epoch, operation, follows=True)

    def _of_this_use(self, option: Option[_T]) -> _T:
        """Return the value of an option that is for one stream. Ignore a value in the table's schema, because all
        writers would share it.
        """
        own = {k: v for k, v in self.store.options.values.items() if self.schema.options.get(k) != v}
        return TableOptions(own)[option]

    def check_not_made(self, info: CommitInfo) -> None:
        """Check early, before much work is done, that a commit that is made once was not made before.

        Raises the errors of `once.check_not_made`, and `CommitConflictError` if the table was dropped since it was
        loaded.
        """
        if info.once is not None:
            check_table(self.store)
            check_not_made(self.store, info)

    def commit(
        self, messages: Sequence[CommitMessage], info: CommitInfo, overwrite: Overwrite | None = None
    ) -> Snapshot | None:
        """Make the files of messages visible (see `commit_indexed`), and run the upkeep that the options require.

        Raises the errors of `commit_indexed`, and `CommitUnknownError` if the files are visible and `drop_outdated`
        fails.
        """
        publisher = self.publisher
        if self.planned is not None:
            info = replace(info, planned_on=self.planned.snapshot)
        made = commit_indexed(self.store, messages, info, publisher, overwrite)
        if made is not None:
            self.store.cache.read_versions.put(self.store.paths.version_root, (self.store.schema, made))
            drop_outdated(self.store, made, publisher)
        if made is not None and not _only_postponed(messages):
            is_write = made.commit_kind is not CommitKind.COMPACT
            maintain(self.store, made, publisher, {m.partition for m in messages} if is_write else ())
        return made

    def commit_or_abort(
        self, messages: Sequence[CommitMessage], info: CommitInfo, overwrite: Overwrite | None = None
    ) -> Snapshot | None:
        """Commit like `commit`. If this certainly fails, delete the files."""
        with on_certain_failure(lambda: self.abort(messages)):
            return self.commit(messages, info, overwrite)

    def statistics(self, snapshot: Snapshot | None) -> TableStatistics | None:
        """Return the statistics that ANALYZE TABLE made for a version or an earlier version, or None."""
        return read_statistics(self.store, snapshot)

    def commit_statistics(self, statistics: TableStatistics, info: CommitInfo) -> Snapshot:
        """Give the table new statistics."""
        return commit_statistics(self.store, statistics, info, self.publisher)

    def due_compactions(self, written: Sequence[CommitMessage]) -> list[BucketState]:
        """Return the buckets that messages have written to and that are due for compaction."""
        if self.store.options[WRITE_ONLY]:
            return []
        due = due_buckets(self.store, partial(latest_for_read, self.store), written)
        self.store.metrics.add(BUCKETS_DUE, len(due))
        return due

    def run(self, executor: Executor, job: Job[TaskT, WriteResult]) -> list[CommitMessage]:
        """Run a job. Return the messages of its tasks.

        If a task fails, delete the files of the other tasks, as far as they are known."""
        return written_messages(executor.run(job.undone_by(lambda result: self.abort(result.messages))))

    def abort(self, messages: Sequence[CommitMessage]) -> None:
        """Delete the files of messages that were not committed, with their packs of BLOBs."""
        abort(self.store, messages)

    def delete_replaced(self, messages: Sequence[CommitMessage]) -> None:
        """Delete the files of messages that were not committed, because other files have their rows."""
        delete_replaced(self.store, messages)

    def truncate(self, info: CommitInfo, predicate: Predicate | None = None) -> Snapshot | None:
        """Remove all rows, or the partitions that satisfy a predicate on partition columns."""
        info = replace(info, operation=info.operation or Operation.TRUNCATE)
        return self.commit((), info, Overwrite(predicate=predicate))

    def system_table_schema(self, name: str) -> pa.Schema:
        """Return the columns of `table$name`."""
        return system_table_schema(name)

    def system_table(self, name: str, zone: tzinfo | None = None) -> pa.Table:
        """Return the rows of `table$name`. Times are in `zone`, None for the process's own zone."""
        return read_system_table(self.store, name, zone)


def _only_postponed(messages: Sequence[CommitMessage]) -> bool:
    """Return whether all rows are postponed. If so, the compaction that gives them buckets runs the upkeep."""
    return bool(messages) and all(m.bucket == POSTPONED for m in messages)
