"""The table to which Spark appends the row-level changes of DELETE, UPDATE and MERGE INTO.

Its columns are the row kind, then the table's own. For a table without a primary key, the file and the position of the
replaced row come between them; with row tracking also the row's id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import ByteType, LongType, StringType, StructField, StructType

from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, VALUE_KIND
from paimon_core.row_level.rules import ChangeRules, row_position_columns
from paimon_core.row_level.statement import RowLevelStatement
from paimon_core.row_level.writer import CHANGES_RESULT, ChangesResult, changes_store
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.workers import message_bytes
from paimon_sql.spark.proxy import TableProxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.types import to_struct
from paimon_sql.spark.workers.executor import SMALL_WORK, SparkExecutor
from paimon_sql.spark.workers.worker import changes_function
from paimon_sql.spark.write.write import PaimonBatchWrite, PaimonWrite, PaimonWriteBuilder, WriteRules
from paimon_sql.spark.write.write_metrics import commit_values

_POSITION_TYPES = {FILE_PATH: StringType(), ROW_INDEX: LongType(), ROW_ID: LongType()}


def change_schema(table: Table) -> StructType:
    """Return the columns of changes. All may be NULL, because a deleted row has no values."""
    own = [StructField(f.name, f.dataType, True, f.metadata) for f in to_struct(table.schema.fields)]
    position = [StructField(c, _POSITION_TYPES[c]) for c in row_position_columns(table.store)]
    return StructType([StructField(VALUE_KIND, ByteType()), *position, *own])


class ChangesTable(TableProxy):
    """The changes of a table: it can only be written."""

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

    def schema(self) -> Any:
        return self.jvm.struct_type(change_schema(self.table))

    def columns(self) -> Any:
        return self.jvm.columns(change_schema(self.table))

    def partitioning(self) -> Any:
        return connector.partitioning(self.jvm)

    def properties(self) -> Any:
        return self.jvm.map({})

    def capabilities(self) -> Any:
        return connector.capabilities(self.jvm, "BATCH_WRITE")

    def newWriteBuilder(self, info: Any) -> Any:
        rules = WriteRules(before_commit=self.before_commit)
        return ChangesWriteBuilder(self.jvm, self.session, self.table, info, rules, self.rules)

    class Java:
        implements = [classes.SUPPORTS_WRITE]


class ChangesWriteBuilder(PaimonWriteBuilder):
    """The builder of a write of row-level changes."""

    def __init__(
        self, jvm: Jvm, session: SessionBridge, table: Table, info: Any, write: WriteRules, rules: ChangeRules
    ) -> None:
        super().__init__(jvm, session, table, info, write)
        self.rules = rules

    def build(self) -> Any:
        return ChangesWrite(self)


class ChangesWrite(PaimonWrite):
    """A write of changes. It distributes them to tasks as rows are distributed, unless they already come in the order
    of row ranges.
    """

    builder: ChangesWriteBuilder

    def description(self) -> str:
        return f"ChangesWrite {self.table.name}"

    def getAsInt(self) -> int:
        return 0  # all changes of one file must go to one task

    def requiredDistribution(self) -> Any:
        if self.builder.rules.moves_rows:
            return super().requiredDistribution()
        return connector.any_distribution(self.jvm)

    def requiredOrdering(self) -> Any:
        if self.builder.rules.moves_rows:
            return super().requiredOrdering()
        return connector.ascending(self.jvm, [])

    def _batch(self) -> PaimonBatchWrite:
        return ChangesBatchWrite(self.builder)


class ChangesBatchWrite(PaimonBatchWrite):
    """One job for the changes. `RowLevelStatement` commits the files that its tasks wrote."""

    builder: ChangesWriteBuilder

    @property
    def work(self) -> str:
        return self.builder.rules.operation.value.lower()

    def _function(self, store: TableStore, sequence_start: int, base: AssignmentBase | None) -> Any:
        rules = self.builder.rules
        return changes_function(changes_store(store, rules), rules, sequence_start, base)

    def _commit(self, messages: Any) -> None:
        results = self._results(messages)
        self.may_be_visible = True  # the statement deletes the files of a failed commit itself
        committed = self._statement().commit(results, self.builder.before_commit)
        self.committed = commit_values(committed, self.counted)

    def _abort(self, messages: list[Any]) -> None:
        self._statement().abort(self._results(messages))

    def _statement(self) -> RowLevelStatement:
        executor = SparkExecutor(self.builder.session, small=SMALL_WORK)
        return RowLevelStatement(self.table, self.builder.rules, executor)

    def _results(self, messages: Any) -> list[ChangesResult]:
        return [CHANGES_RESULT.decode(message_bytes(m)) for m in messages]
