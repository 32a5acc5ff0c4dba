"""The write of rows to a table, by a statement or by each epoch of a streaming query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from paimon_core.errors import CommitConflictError, UnsupportedFeatureError
from paimon_core.store.ddl.row_rules import RowRules
from paimon_core.table import Table
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.write.write import PaimonWrite, PaimonWriteBuilder
from paimon_sql.spark.write.write_options import CHECKED

MakeEpochs: TypeAlias = "Callable[[TableWriteBuilder], Any]"


def table_write_builder(
    jvm: Jvm, session: SessionBridge, table: Table, info: Any, given: Mapping[str, str], epochs: MakeEpochs
) -> TableWriteBuilder:
    """Return the builder of a write with the options `given`. Tables with a primary key accept the output mode
    Update.
    """
    kind = KeyedTableWriteBuilder if table.schema.primary_keys else TableWriteBuilder
    return kind(jvm, session, table, info, given, epochs)


class TableWriteBuilder(PaimonWriteBuilder):
    """The builder of a statement's write. For streams, `epochs` makes the writes of a streaming query, and `query` is
    its id.
    """

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: Table,
        info: Any,
        given: Mapping[str, str],
        epochs: MakeEpochs,
    ) -> None:
        super().__init__(jvm, session, table, info, given=given)
        self.query, self.epochs = str(info.queryId()), epochs

    def build(self) -> Any:
        self._check()
        return TableWrite(self)


class KeyedTableWriteBuilder(TableWriteBuilder):
    """A builder for tables with a primary key. Rows that are written again replace the rows of their keys, so the
    output mode Update is an append.
    """

    class Java:
        implements = [*PaimonWriteBuilder.Java.implements, classes.STREAMING_UPDATE]


class TableWrite(PaimonWrite):
    """A write that a streaming query may use, too."""

    builder: TableWriteBuilder

    def toStreaming(self) -> Any:
        """Return the write of a streaming query. Raises `UnsupportedFeatureError` if its rows are not checked against
        the table's constraints: Spark checks the rows of batches only. Raises `CommitConflictError` if the constraints
        have changed since the query was made.
        """
        rules = RowRules.of(self.table.schema)
        if rules.checks and CHECKED not in self.builder.given:
            first = rules.checks[0]
            raise UnsupportedFeatureError(
                f"Table {self.table.name}: Spark does not check the rows of a stream against its constraint "
                f"{first.name!r}, {first.sql}: start the stream by writeStream.toTable, or write its batches "
                "in foreachBatch."
            )
        if rules.checks and self.builder.given[CHECKED] != rules.digest:
            raise CommitConflictError(
                f"Table {self.table.name}: its constraints have changed while the stream started: start it again."
            )
        return self.builder.epochs(self.builder)
