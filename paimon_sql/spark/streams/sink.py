"""Tables as sinks of streaming queries: each epoch is a separate write, committed once.

Spark requests a writer for each epoch, with the query's id from the checkpoint, and commits with the epoch's number.
Both are stored in the snapshot. If the process dies before Spark records the epoch, Spark repeats it, and the repeated
epoch finds its snapshot: see `paimon_core/commit/once.py`. Due compactions run after the epochs.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

from paimon_core.insert import commit_new_rows, compact_after_write
from paimon_core.options import TableOptions
from paimon_core.spec.snapshot import Operation
from paimon_core.store.schemas import latest_schema
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.streams.sinks import stream_writer_factory
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.streams.sink_compactions import SinkCompactions, is_waited_for, most_waiting
from paimon_sql.spark.workers.executor import SMALL_WORK, SparkExecutor
from paimon_sql.spark.write.table_write import TableWriteBuilder
from paimon_sql.spark.write.write import PaimonBatchWrite, decode_messages


class EpochWrites(Proxy):
    """The writes of the epochs of a query."""

    CACHED = frozenset(("hashCode", "toString", "useCommitCoordinator"))

    def __init__(self, builder: TableWriteBuilder, compactions: SinkCompactions) -> None:
        super().__init__(builder.jvm)
        self.builder, self.compactions = builder, compactions
        self.write = EpochWrite(builder, compactions)

    def createStreamingWriterFactory(self, info: Any) -> Any:
        self.write = EpochWrite(self.builder, self.compactions)
        return self.write.factory(info)

    def useCommitCoordinator(self) -> bool:
        return True  # as for batches

    def commit(self, epoch: int, messages: Any) -> None:
        self.write.commit_epoch(epoch, messages)

    def abort(self, epoch: int, messages: Any) -> None:
        self.write.abort(messages)

    class Java:
        implements = [classes.STREAMING_WRITE]


class EpochWrite(PaimonBatchWrite):
    """The write of one epoch, which is committed once."""

    builder: TableWriteBuilder

    def __init__(self, builder: TableWriteBuilder, compactions: SinkCompactions) -> None:
        super().__init__(builder)
        self.table, self.compactions, self.epoch = of_now(builder.table), compactions, -1

    def commit_epoch(self, epoch: int, messages: Any) -> None:
        """Commit the files of an epoch's tasks, by the epoch's number."""
        self.epoch = epoch
        self.commit(messages)

    def factory(self, info: Any) -> Any:
        """Return the factory that makes the writers of the epoch's tasks."""
        return self._factory(info, stream_writer_factory)

    def _commit(self, messages: Any) -> None:
        table, overwritten = self.table, self.builder.overwritten
        operation = Operation.WRITE if overwritten is None else Operation.OVERWRITE
        info = table.stream_commit_info(self.builder.query, self.epoch, operation)
        executor = SparkExecutor(self.builder.session, small=SMALL_WORK)
        self.may_be_visible = True  # `commit_new_rows` deletes the files of a failed commit itself
        committed = commit_new_rows(table, decode_messages(messages), info, executor, overwritten)
        overwrites = overwritten is not None
        if is_waited_for(table.store):
            compact_after_write(table, committed, executor, overwrites=overwrites)
        elif committed:
            compact = partial(compact_after_write, table, executor=executor, overwrites=overwrites)
            self.compactions.add(compact, committed, most_waiting(table.store))


def of_now(table: Table) -> Table:
    """Return a table that was loaded long ago with its latest options, for new files. Its columns remain those that the
    query writes, until the query is restarted.
    """
    store, loaded, newest = table.store, table.schema, latest_schema(table.store.io, table.store.paths.version_root)
    options = store.options
    if newest is not None and newest.id != loaded.id:
        own = {k: v for k, v in options.values.items() if loaded.options.get(k) != v}
        options = TableOptions({**newest.options, **own})
    return replace(table, store=replace(store, options=options, loaded=time.time()))
