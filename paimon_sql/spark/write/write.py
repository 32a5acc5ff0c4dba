"""Writes: Spark shuffles by key and sorts natively, Python workers write files, the driver commits once."""

from __future__ import annotations

import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pyspark.sql.types import BinaryType, StructField, StructType

from paimon_core.commit.changes import Overwrite
from paimon_core.dataclass import dataclass
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import And, columns
from paimon_core.expressions.terms import predicate_of, respelled
from paimon_core.format_table.table import FormatTable
from paimon_core.insert import insert_rows
from paimon_core.jobs import TASKS
from paimon_core.maintenance.running import Announcement
from paimon_core.metrics import Metrics
from paimon_core.options import BUCKET, UPSERT_KEY
from paimon_core.progress import PHASES, Phase, showing
from paimon_core.spec.message import WRITE_RESULT, CommitMessage, written_messages
from paimon_core.spec.snapshot import Operation
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.tracing import span
from paimon_core.write.buckets.dynamic import AssignmentBase
from paimon_core.write.layout import clustering_columns, may_spread, must_cluster, range_columns, sort_columns
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.constraints import enforces_checks, refused_checks
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.metrics import reported_metrics, supported_metrics
from paimon_sql.spark.jvm.scans.pushdown import read_terms
from paimon_sql.spark.jvm.workers import message_bytes, writer_factory
from paimon_sql.spark.proxy import Proxy, WithoutMetrics
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.workers.executor import SMALL_WORK, SparkExecutor
from paimon_sql.spark.workers.worker import write_function
from paimon_sql.spark.write.write_metrics import WRITE_METRICS, commit_values, inserted_rows
from paimon_sql.spark.write.write_options import is_insert, overwrites_partitions, static_partition

_Table = TypeVar("_Table", Table, FormatTable)
_MESSAGE = StructType([StructField("message", BinaryType())])


@dataclass(frozen=True, slots=True)
class WriteRules:
    """The rules of a write.

    `overwritten` selects the rows that it replaces. It is committed as `operation`; None means WRITE or OVERWRITE.
    `before_commit` publishes the schema of its rows.
    """

    overwritten: Overwrite | None = None
    operation: Operation | None = None
    before_commit: Callable[[], None] | None = None


_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


class OverwritingBuilder(Proxy, Generic[_Table]):
    """A builder of appends and overwrites. For INSERT OVERWRITE, Spark calls one of two methods, which it chooses only
    by a setting of the session. The options of the write (`given`) override Spark's choice.
    """

    session: SessionBridge
    table: _Table
    overwritten: Overwrite | None = None

    def __init__(self, jvm: Jvm, given: Mapping[str, str]) -> None:
        super().__init__(jvm)
        self.given = given

    def truncate(self) -> Any:
        self.overwritten = Overwrite(dynamic=overwrites_partitions(self.given) is True)
        return self

    def overwriteDynamicPartitions(self) -> Any:
        if overwrites_partitions(self.given) is False:
            zone = self.session.time_zone()
            self.overwritten = Overwrite(predicate=static_partition(self.table.schema, self.given, zone))
        else:
            self.overwritten = Overwrite(dynamic=True)
        return self

    def canOverwrite(self, predicates: Any) -> bool:
        return True  # otherwise `overwrite` raises an error with the reason

    def overwrite(self, predicates: Any) -> Any:
        if is_insert(self.given) and overwrites_partitions(self.given):
            return self.truncate()
        keys, known_as = self.table.schema.partition_keys, self.session.known_as
        fields = {known_as(f.name): f for f in self.table.schema.fields}
        terms = read_terms(self.jvm, predicates)  # spelled as in the condition
        parts = [predicate_of(respelled(term, known_as), fields) for term in terms]
        known = tuple(p for p in parts if p is not None and columns(p) <= set(keys))
        if len(known) < len(parts):
            raise UnsupportedFeatureError(
                f"Table {self.table.name}: INSERT OVERWRITE replaces whole partitions; filter by partition columns"
                f" only ({', '.join(keys) or 'it has none'})."
            )
        self.overwritten = Overwrite(predicate=And(known) if known else None)
        return self


class DistributedWrite(WithoutMetrics):
    """A write that lets Spark shuffle and sort rows before tasks get them. Subclasses may require a distribution."""

    def requiredDistribution(self) -> Any:
        return connector.clustered(self.jvm, [])

    def requiredOrdering(self) -> Any:
        return connector.ascending(self.jvm, [])

    def requiredNumPartitions(self) -> int:
        return 0

    def advisoryPartitionSizeInBytes(self) -> int:
        return 0

    def distributionStrictlyRequired(self) -> bool:
        return False


_APPEND = WriteRules()


class PaimonWriteBuilder(OverwritingBuilder[Table]):
    """The builder of a write of rows to a table."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        info: Any,
        rules: WriteRules = _APPEND,
        given: Mapping[str, str] = _NO_OPTIONS,
    ) -> None:
        super().__init__(jvm, given)
        table.check_writable()
        self.session, self.table, self.schema = session, table, info.schema()
        self.overwritten, self.operation, self.before_commit = rules.overwritten, rules.operation, rules.before_commit

    def build(self) -> Any:
        self._check()
        return PaimonWrite(self)

    def _check(self) -> None:
        """Raise `UnsupportedFeatureError` for an append of rows to a table with `upsert-key`, and for CHECK constraints
        that this Spark does not enforce. Raise `InvalidDataError` for a session in another time zone than the zone of
        a generated column.
        """
        rules = RowRules.of(self.table.schema).in_zone(self.session.time_zone(), self.table.name)
        if rules.checks and not enforces_checks(self.jvm):
            raise refused_checks(rules.checks)
        if self.table.store.options[UPSERT_KEY] and self.overwritten is None and self.operation is None:
            raise UnsupportedFeatureError(
                f"Table {self.table.name}: rows of a DataFrame cannot be appended to a table with '{UPSERT_KEY.key}'. "
                "Write INSERT INTO in SQL, or DataFrame.mergeInto."
            )

    class Java:
        implements = [classes.SUPPORTS_OVERWRITE, classes.SUPPORTS_DYNAMIC_OVERWRITE]


class PaimonWrite(DistributedWrite):
    """A write that requires rows clustered by the columns that decide the file, and sorted by key. Rows of one key are
    then neighbours.
    """

    def __init__(self, builder: PaimonWriteBuilder) -> None:
        super().__init__(builder.jvm)
        self.builder, self.table = builder, builder.table
        self.batch: PaimonBatchWrite | None = None

    def supportedCustomMetrics(self) -> Any:
        return supported_metrics(self.jvm, WRITE_METRICS)

    def reportDriverMetrics(self) -> Any:
        """Return the numbers of the commit. Spark requests them when it has ended."""
        return reported_metrics(self.jvm, WRITE_METRICS, {} if self.batch is None else self.batch.committed)

    def description(self) -> str:
        return f"PaimonWrite {self.table.name}"

    def getAsInt(self) -> int:
        """Return the number of files that a task writes if each task may get any rows, or 0 if rows must be
        distributed. See `source_tasks`.
        """
        return self.table.store.options[BUCKET] if may_spread(self.table.store) else 0

    def toString(self) -> str:
        return self.description()  # EXPLAIN shows it

    def toBatch(self) -> Any:
        self.batch = self._batch()
        return self.batch

    def _batch(self) -> PaimonBatchWrite:
        return PaimonBatchWrite(self.builder)

    def requiredDistribution(self) -> Any:
        if range_columns(self.table.store):
            return connector.ordered(self.jvm, self.requiredOrdering())
        return connector.clustered(self.jvm, clustering_columns(self.table.store))

    def requiredOrdering(self) -> Any:
        return connector.ascending(self.jvm, sort_columns(self.table.store))

    def distributionStrictlyRequired(self) -> bool:
        return must_cluster(self.table.store)

    class Java:
        implements = [classes.REQUIRES_DISTRIBUTION_AND_ORDERING, classes.INT_SUPPLIER]


class WorkerBatchWrite(Proxy, ABC):
    """One job of Python workers: the factory goes to executors, the messages of its tasks come back to `commit`.

    `builder` has the session, and the schema of the rows.
    """

    def __init__(self, builder: Any) -> None:
        super().__init__(builder.jvm)
        self.builder, self.may_be_visible, self.began = builder, False, time.time_ns()

    def createBatchWriterFactory(self, info: Any) -> Any:
        return self._factory(info, writer_factory)

    def useCommitCoordinator(self) -> bool:
        return True  # only one attempt of a task, retried or speculative, may commit

    def onDataWriterCommit(self, message: Any) -> None:
        """Do nothing: files become visible when the job commits."""

    def commit(self, messages: Any, summary: Any = None) -> None:
        self.builder.session.bound_batches_by_bytes()
        with span("write", self.began, table=self.builder.table.name, tasks=len(messages)):
            self._commit(messages)

    def abort(self, messages: Any) -> None:
        """Delete the files, but only if none of them can be visible: Spark also aborts after `commit` raised."""
        self.builder.session.bound_batches_by_bytes()
        if not self.may_be_visible:
            self._abort([m for m in messages if m is not None])

    def _factory(self, info: Any, make: Callable[[Jvm, Any, StructType, Any], Any]) -> Any:
        """Return the factory that makes the writers of tasks."""
        task = self._task(info)
        self.builder.session.bound_batches_by_rows()
        return make(self.jvm, task, _MESSAGE, self.builder.schema)

    @abstractmethod
    def _task(self, info: Any) -> Any:
        """Return the function that a task runs."""

    @abstractmethod
    def _commit(self, messages: Any) -> None:
        """Make the files of the tasks visible. Set `may_be_visible` before that."""

    @abstractmethod
    def _abort(self, messages: list[Any]) -> None:
        """Delete the files of the tasks."""

    class Java:
        implements = [classes.BATCH_WRITE]


class PaimonBatchWrite(WorkerBatchWrite):
    """A write of rows to data files, committed once."""

    def __init__(self, builder: PaimonWriteBuilder) -> None:
        super().__init__(builder)
        self.counted = Metrics(parent=builder.table.store.metrics)
        self.table = replace(builder.table, store=replace(builder.table.store, metrics=self.counted))
        self.committed: Mapping[str, int] = {}  # numbers for Spark's UI
        self.ended: list[None] = []  # the tasks that have ended
        self.announcement: Announcement | None = None
        self.phase: Phase | None = None

    def createBatchWriterFactory(self, info: Any) -> Any:
        """Return the factory, and let `t$running` show the write until it is committed or aborted."""
        made, ended = super().createBatchWriterFactory(info), self.ended
        self.announcement, self.phase = Announcement(self.work), self._phase(info.numPartitions(), ended)
        weakref.finalize(self, self.announcement.stop)  # Spark may drop a write without either
        weakref.finalize(self, PHASES.close, self.phase)
        PHASES.open(self.phase)
        self.announcement.follow(self.phase)
        self.announcement.begin(self.table.store)
        return made

    def _phase(self, tasks: int, ended: Sequence[None]) -> Phase:
        return Phase(f"write {self.table.name}", TASKS.unit, tasks, lambda: len(ended))

    @property
    def work(self) -> str:
        """The name of the write in `t$running`."""
        operation: Operation | None = self.builder.operation
        if operation is None:
            return "insert" if self.builder.overwritten is None else "overwrite"
        return operation.value.lower()

    def onDataWriterCommit(self, message: Any) -> None:
        self.ended.append(None)

    def commit(self, messages: Any, summary: Any = None) -> None:
        with self._announced():
            super().commit(messages, summary)

    def abort(self, messages: Any) -> None:
        with self._announced():
            super().abort(messages)

    @contextmanager
    def _announced(self) -> Iterator[None]:
        """Let the announcement show the phases of the block, and end it after the block."""
        if self.announcement is None or self.phase is None:
            yield
            return
        PHASES.close(self.phase)
        try:
            with showing(self.announcement):
                yield
        finally:
            self.announcement.end()

    def _task(self, info: Any) -> Any:
        overwritten = self.builder.overwritten
        base = self.table.assignment_base(info.numPartitions(), overwritten)
        store = self.table.write_store(overwrites=overwritten is not None)
        self.table = self.table.for_write()
        return self._function(store, self.table.max_sequence_number() + 1, base)

    def _function(self, store: TableStore, sequence_start: int, base: AssignmentBase | None) -> Any:
        """Return the function that a task runs. It numbers rows from `sequence_start` on, and assigns dynamic buckets
        from `base`.
        """
        return write_function(store, sequence_start, base)

    def _commit(self, messages: Any) -> None:
        written, executor = decode_messages(messages), SparkExecutor(self.builder.session, small=SMALL_WORK)
        plain = Operation.WRITE if self.builder.overwritten is None else Operation.OVERWRITE
        info = self.table.commit_info(self.builder.operation or plain)
        self.may_be_visible = True  # `insert_rows` deletes the files of a failed commit itself
        overwritten, before = self.builder.overwritten, self.builder.before_commit
        committed = insert_rows(self.table, written, info, executor, overwritten, before)
        values = commit_values(committed, self.counted)
        self.committed = {**values, "insertedRecords": inserted_rows(committed)}

    def _abort(self, messages: list[Any]) -> None:
        self.table.abort(decode_messages(messages))


def decode_messages(messages: Any) -> list[CommitMessage]:
    """Decode the messages of the tasks of a write: they list the files written."""
    return written_messages(WRITE_RESULT.decode(message_bytes(m)) for m in messages)
