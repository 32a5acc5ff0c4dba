"""Where the row-level changes of DELETE, UPDATE and MERGE INTO go: a table that Spark appends them to.

Its columns are the row kind, for tables without a primary key the place of the row replaced (with row tracking its id
too), then the table's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import ByteType, LongType, StringType, StructField, StructType

from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, VALUE_KIND
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitUnknownError, PaimonError
from paimon_core.options import DELETION_VECTORS
from paimon_core.row_level.column_updates import ColumnUpdates
from paimon_core.row_level.key_deletes import delete_function, delete_tasks, keys_store
from paimon_core.row_level.patches import Patches, patch_function, patch_tasks, remove_patches
from paimon_core.row_level.row_changes import (
    Removed,
    changed_files,
    marked_rows,
    merged_removals,
    rewrite_function,
    rewrites_of,
)
from paimon_core.spec.message import CommitMessage, decode_message
from paimon_core.spec.snapshot import Operation
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_core.write.compaction.job import encode_tasks, task_size
from paimon_sql.spark.jvm.gateway import CATALOG, SQL, Jvm
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import to_struct
from paimon_sql.spark.workers.executor import SparkExecutor
from paimon_sql.spark.workers.worker import changes_function
from paimon_sql.spark.write.auto_compaction import compact_after_write
from paimon_sql.spark.write.row_commit import commit_rows
from paimon_sql.spark.write.write import PaimonBatchWrite, PaimonWrite, PaimonWriteBuilder

_POSITION = (StructField(FILE_PATH, StringType()), StructField(ROW_INDEX, LongType()))
_ROW_ID = StructField(ROW_ID, LongType())


@dataclass(frozen=True, slots=True)
class ChangeRules:
    """What a statement's changes are committed as; `once`: a row that two of them change is an error. `updates` is
    what a table with data evolution goes by. `by_key`: files are rewritten without the keys of the changes, since the
    merge engine takes no deletes. `patched`: files are written with other values in these columns, at rows' places."""

    operation: Operation
    once: bool = False
    updates: ColumnUpdates | None = None
    by_key: bool = False
    patched: tuple[str, ...] | None = None

    @property
    def moves_rows(self) -> bool:
        """Whether tasks write new rows, to the places that these belong to."""
        return self.updates is None and self.patched is None


def change_schema(table: Table) -> StructType:
    """The columns of changes. All may be NULL: a deleted row has no values."""
    own = [StructField(f.name, f.dataType, True, f.metadata) for f in to_struct(table.schema.fields)]
    return StructType([StructField(VALUE_KIND, ByteType()), *row_location(table), *own])


def row_location(table: Table) -> tuple[StructField, ...]:
    """The columns that say which row of the table a change replaces."""
    if table.schema.primary_keys:
        return ()
    return (*_POSITION, _ROW_ID) if tracking_fields(table.store) else _POSITION


class ChangesTable(Proxy):
    """The changes of a table, write only."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        rules: ChangeRules,
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(jvm)
        self.session, self.table, self.rules, self.before_commit = session, table, rules, before_commit

    def name(self) -> str:
        return self.table.name

    def id(self) -> None:
        return None

    def version(self) -> None:
        return None

    def schema(self) -> Any:
        return self.jvm.struct_type(change_schema(self.table))

    def columns(self) -> Any:
        return self.jvm.columns(change_schema(self.table))

    def partitioning(self) -> Any:
        return self.jvm.array(f"{SQL}.connector.expressions.Transform", [])

    def properties(self) -> Any:
        return self.jvm.map({})

    def constraints(self) -> Any:
        return self.jvm.array(f"{CATALOG}.constraints.Constraint", [])

    def capabilities(self) -> Any:
        return self.jvm.constants(f"{CATALOG}.TableCapability", "BATCH_WRITE")

    def newWriteBuilder(self, info: Any) -> Any:
        builder = ChangesWriteBuilder(self.jvm, self.session, self.table, info, self.rules)
        builder.before_commit = self.before_commit
        return builder

    class Java:
        implements = [f"{CATALOG}.SupportsWrite"]


class ChangesWriteBuilder(PaimonWriteBuilder):
    """Builds the write of row-level changes."""

    def __init__(self, jvm: Jvm, session: SessionBridge, table: Table, info: Any, rules: ChangeRules) -> None:
        super().__init__(jvm, session, table, info)
        self.rules = rules

    def build(self) -> Any:
        return ChangesWrite(self)


class ChangesWrite(PaimonWrite):
    """Changes are distributed as rows are, but for those that come in the order of row ranges."""

    builder: ChangesWriteBuilder

    def description(self) -> str:
        return f"ChangesWrite {self.table.name}"

    def getAsInt(self) -> int:
        return 0  # changes meet the rows they replace

    def requiredDistribution(self) -> Any:
        if self.builder.rules.moves_rows:
            return super().requiredDistribution()
        return self.jvm.java_class(f"{SQL}.connector.distributions.Distributions").unspecified()

    def requiredOrdering(self) -> Any:
        if self.builder.rules.moves_rows:
            return super().requiredOrdering()
        return self.jvm.array(f"{SQL}.connector.expressions.SortOrder", [])

    def toBatch(self) -> Any:
        return ChangesBatchWrite(self.builder)


class ChangesBatchWrite(PaimonBatchWrite):
    """One job for the changes; the files that lose rows are rewritten before the one commit."""

    builder: ChangesWriteBuilder

    def _function(self, store: TableStore, sequence_start: int, base: AssignmentBase | None) -> Any:
        rules = self.builder.rules
        target = keys_store(store) if rules.by_key else store
        return changes_function(target, sequence_start, rules.once, base, rules.updates, rules.patched)

    def _commit(self, messages: Any) -> None:
        rules, written = self.builder.rules, _decode(messages)
        going, kept = (written.messages, []) if rules.by_key else ([], written.messages)
        rewritten: list[CommitMessage] = []
        try:
            if going:
                rewritten = self._without_keys(going)
            elif rules.patched is not None:
                rewritten = self._patched(written.patches, rules.patched)
            else:
                rewritten, kept = self._take_away(merged_removals(written.removed, rules.once), kept)
            self.may_be_visible = True
            if self.builder.before_commit is not None:
                self.builder.before_commit()
            info = CommitInfo(user=self.table.new_commit_user(), operation=rules.operation)
            committed = commit_rows(self.builder.session, self.table, [*kept, *rewritten], info)
        except CommitUnknownError:
            raise
        except PaimonError:
            self.may_be_visible = False
            self.table.abort(rewritten)
            raise
        self.table.abort(going)
        remove_patches(self.table.store, written.patches)
        added = [m for m in committed if m not in rewritten]  # a file that lost rows is no reason to compact
        compact_after_write(self.builder.session, self.table, added, overwrites=False)

    def _patched(self, patches: Patches, columns: tuple[str, ...]) -> list[CommitMessage]:
        """Messages of the files that have other values in columns."""
        store = self.table.store
        tasks = patch_tasks(store, self.table.latest_snapshot(), patches)
        executor = SparkExecutor(self.builder.session)
        texts = executor.run(patch_function(store, columns), tasks, f"update files of {self.table.name}")
        return [decode_message(t) for t in texts]

    def _take_away(
        self, removed: Removed, written: list[CommitMessage]
    ) -> tuple[list[CommitMessage], list[CommitMessage]]:
        """Messages that take the rows away, by deletion vectors where the table has them, else by rewriting files; and
        those of new rows that are left."""
        store, snapshot = self.table.store, self.table.latest_snapshot()
        has_vectors = store.options[DELETION_VECTORS] and not store.has_primary_key
        changed = changed_files(store, snapshot, removed)
        if has_vectors:
            return marked_rows(store, snapshot, changed), written
        rewrites = rewrites_of(store, changed, written)
        executor = SparkExecutor(self.builder.session)
        texts = executor.run(rewrite_function(store), rewrites.tasks, f"rewrite files of {self.table.name}")
        self.table.abort(rewrites.joined)
        return [decode_message(t) for t in texts], list(rewrites.kept)

    def _without_keys(self, going: Sequence[CommitMessage]) -> list[CommitMessage]:
        """Messages that replace the files that hold keys of these."""
        store = self.table.store
        tasks = delete_tasks(store, self.table.latest_snapshot(), going)
        function, size = delete_function(store), sum(map(task_size, tasks))
        executor, name = SparkExecutor(self.builder.session), f"delete rows of {self.table.name}"
        return [decode_message(t) for t in executor.run_sized(function, encode_tasks(tasks), size, name)]

    def _abort(self, messages: list[Any]) -> None:
        written = _decode(messages)
        self.table.abort(written.messages)
        remove_patches(self.table.store, written.patches)


@dataclass(frozen=True, slots=True)
class _Written:
    """What the tasks have written and noted."""

    messages: list[CommitMessage]
    removed: list[Removed]
    patches: Patches


def _decode(messages: Any) -> _Written:
    nodes = [json.loads(bytes(m.pickledMessage())) for m in messages]
    return _Written(
        [decode_message(t) for n in nodes for t in n["messages"]],
        [Removed.from_json(n["removed"]) for n in nodes],
        Patches.merged(n["patches"] for n in nodes),
    )
