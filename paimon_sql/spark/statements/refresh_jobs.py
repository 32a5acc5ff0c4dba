"""Jobs that keep materialized tables with the refresh mode CONTINUOUS up to date.

A job is a streaming query of the session that started it, so Spark shows it, stops it, and ends it with the session.
The rows of its batches do not matter. With each batch, once per FRESHNESS, the job reads the table's options, which any
process may have changed. They name the job that refreshes the table: the job ends if they name another job, if the
table is SUSPENDED, or if the table is gone. Then the job checks whether the tables of the query have changed since the
rows were computed. If they have, it runs the query and replaces the rows, in one commit. A failure is logged, and the
next batch tries again.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Hashable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_core.errors import PaimonError, TableNotFoundError
from paimon_core.materialized_table import ACTIVATED, HANDLER, STATUS, Definition, is_continuous, is_kept_by
from paimon_core.scan.fallback import reads_branches
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_sql.preprocess.statements import RefreshMaterialized
from paimon_sql.spark.jvm.frames import tables_read
from paimon_sql.spark.jvm.plans import TableReference
from paimon_sql.spark.jvm.sessions import java_session
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry
from paimon_sql.spark.statements.materialized_tables import MaterializedTables
from paimon_sql.spark.tables.catalog import SparkCatalog

_LOG = logging.getLogger("paimon_sql.materialized_tables")
_Versions = frozenset[tuple[Hashable, ...]]


def start_job(registry: CatalogRegistry, catalog: SparkCatalog, identifier: Identifier) -> None:
    """Start a job of this session that keeps a table up to date, in place of any other job. Do nothing for a table that
    users refresh by hand.
    """
    options = catalog.catalog.load_table(identifier).schema.options
    if not is_continuous(options):
        return
    spark, name = registry.bridge.python_session, job_name(catalog, identifier)
    handler = f"paimon-sql in the Spark application {spark.sparkContext.applicationId}, job {uuid.uuid4()}"
    catalog.catalog.alter_table(identifier, [SetOption(STATUS, ACTIVATED), SetOption(HANDLER, handler)])
    stop_job(registry, catalog, identifier)
    job = _Job(registry, catalog, identifier, handler)
    amount, unit = Definition.of(str(identifier), options).freshness
    triggers = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    writer = triggers.writeStream.queryName(name).trigger(processingTime=f"{amount} {unit.lower()}")
    job.start(writer)


def stop_job(registry: CatalogRegistry, catalog: SparkCatalog, identifier: Identifier) -> None:
    """End this session's job for a table, if there is one, after a refresh in progress."""
    for query in registry.bridge.python_session.streams.active:
        if query.name == job_name(catalog, identifier):
            query.stop()


def job_name(catalog: SparkCatalog, identifier: Identifier) -> str:
    """Return the name of the streaming query that refreshes a table."""
    return f"refresh of {catalog.catalog_name}.{identifier}"


class _Job:
    """Handles the batches of a streaming query."""

    def __init__(self, registry: CatalogRegistry, catalog: SparkCatalog, identifier: Identifier, handler: str) -> None:
        self.registry, self.catalog, self.identifier, self.handler = registry, catalog, identifier, handler
        self._query: StreamingQuery | None = None
        self._computed_from: _Versions | None = None  # the versions that the rows were computed from; None if unknown

    def start(self, writer: DataStreamWriter) -> None:
        """Start the query that `writer` describes."""
        self._query = writer.foreachBatch(self.run).start()

    def run(self, batch: DataFrame, _: int) -> None:
        """Refresh the table if a refresh is due."""
        try:
            if not self._is_current():
                self._end()
                return
            # the query has its own session: a refresh changes the current database, which must not change for the user
            session = SessionBridge(self.registry.jvm, java_session(batch.sparkSession))
            tables = MaterializedTables(session, self.catalog)
            versions = self._versions(tables.query(self.identifier))
            if versions is None or versions != self._computed_from:
                tables.refresh(self.identifier, RefreshMaterialized(()))
                self._computed_from = versions
        except (PaimonError, PySparkException, Py4JError) as error:
            _LOG.warning(
                "Table %s could not be refreshed; the job tries again: %s",
                self.identifier,
                error,
                extra={"table": str(self.identifier)},
            )

    def _is_current(self) -> bool:
        """Return whether the table's options name this job."""
        try:
            return is_kept_by(self.handler, self.catalog.catalog.load_table(self.identifier).schema.options)
        except TableNotFoundError:
            return False

    def _end(self) -> None:
        """Stop the query from another thread, because stopping waits for the current batch."""
        if self._query is not None:
            threading.Thread(target=self._query.stop, name=f"end of {self.identifier}", daemon=True).start()

    def _versions(self, query: DataFrame) -> _Versions | None:
        """Return the versions of all tables that a query reads; None if its rows may change although the
        tables do not.
        """
        references = tables_read(self.registry.jvm, query)
        if references is None:
            return None
        found = [self._version(r) for r in references]
        return frozenset(v for v in found if v is not None) if None not in found else None

    def _version(self, reference: TableReference) -> tuple[Hashable, ...] | None:
        """Return the version of a Paimon table that has only the rows of its snapshots. Return None for another table,
        and for a reference with options.
        """
        place = self.registry.find(reference)
        table = self.registry.table_of(place)
        if place is None or table is None or reads_branches(table.store) or reference.options():
            return None
        schema, snapshot = table.schema, table.latest_snapshot()
        of_snapshot = None if snapshot is None else (snapshot.id, snapshot.time_millis, snapshot.uuid)
        return place[0].catalog_name, str(place[1]), schema.id, schema.time_millis, of_snapshot
