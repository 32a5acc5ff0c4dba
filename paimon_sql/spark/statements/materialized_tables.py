"""Materialized tables: their definitions, and refreshes, which replace all rows by the current result of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from paimon_core.errors import InvalidOptionError, PaimonError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.materialized_table import (
    ACTIVATED,
    STATUS,
    SUSPENDED,
    Definition,
    is_kept_by_flink,
    is_materialized_table,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_core.table import Table
from paimon_sql.catalog.base import with_databases
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.preprocess.statements import (
    CreateMaterialized,
    DropMaterialized,
    RefreshMaterialized,
    SuspendMaterialized,
)
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.types import string_types, to_struct

NAME_COLUMNS = (("namespace", "string"), ("tableName", "string"))


class MaterializedTables:
    """The materialized tables of one catalog in a session."""

    def __init__(self, session: SessionBridge, catalog: SparkCatalog) -> None:
        self.bridge, self.catalog = session, catalog

    @property
    def spark(self) -> SparkSession:
        return self.bridge.python_session

    def create(self, identifier: Identifier, statement: CreateMaterialized) -> bool:
        """Create a table with the rows that its query returns now, in one commit. Return whether the table is new."""
        if statement.lenient and self.catalog.catalog.table_exists(identifier):
            return False
        place = self.spark.sql("SELECT current_catalog() AS c, current_database() AS d").first()
        assert place is not None
        definition = Definition(statement.query, statement.freshness, statement.mode, place["c"], place["d"])
        comment = {} if statement.comment is None else {"comment": statement.comment}
        properties = {**statement.options, **definition.options(), **comment}
        self._writer(identifier, self.spark.sql(statement.query), properties, statement.partitions).create()
        return True

    def refresh(self, identifier: Identifier, statement: RefreshMaterialized) -> None:
        """Replace all rows, or the rows of a partition, by the query's current result, in one commit."""
        table, definition = self._defined(identifier)
        with self._place(identifier, definition):
            if statement.query is not None:
                self._redefine(identifier, table, replace(definition, query=statement.query))
                return
            frame, condition = self.spark.sql(definition.query), F.lit(True)
            if statement.partition:
                condition = self._condition(table, statement.partition)
                frame = frame.where(condition)
            frame.writeTo(self._name(identifier)).overwrite(condition)

    def set_suspended(self, identifier: Identifier, statement: SuspendMaterialized) -> None:
        """Suspend or resume the refresh of this table in the background."""
        self._defined(identifier)
        status = SUSPENDED if statement.suspended else ACTIVATED
        self.catalog.catalog.alter_table(identifier, [SetOption(STATUS, status)])

    def query(self, identifier: Identifier) -> DataFrame:
        """Return the table's query, analyzed with the current tables and views."""
        _, definition = self._defined(identifier)
        with self._place(identifier, definition):
            return self.spark.sql(definition.query)

    def drop(self, identifier: Identifier, statement: DropMaterialized) -> None:
        """Drop a materialized table. Raises `InvalidOptionError` for a table of another kind."""
        catalog = self.catalog.catalog
        if not catalog.table_exists(identifier):
            if statement.lenient:
                return
            raise TableNotFoundError(f"There is no materialized table {identifier}.")
        Definition.of(str(identifier), self._table(identifier).schema.options)
        catalog.drop_table(identifier, ignore_if_not_exists=statement.lenient)

    def names(self, database: str, pattern: str | None) -> list[tuple[str, str]]:
        """Return the materialized tables of a database, sorted; `pattern` is a LIKE pattern of SHOW TABLES. Tables that
        cannot be read are left out.
        """
        found = []
        for name in with_databases(self.catalog.catalog).list_tables(database):
            try:
                options = self.catalog.catalog.load_table(Identifier(database, name)).schema.options
            except PaimonError:
                continue
            if is_materialized_table(options) and _matches(name, pattern):
                found.append((database, name))
        return found

    def _defined(self, identifier: Identifier) -> tuple[Table, Definition]:
        """Return a materialized table and its definition. Raises `InvalidOptionError` for another kind of table, and
        `UnsupportedFeatureError` for a table of Flink.
        """
        table = self._table(identifier)
        definition = Definition.of(str(identifier), table.schema.options)
        if is_kept_by_flink(table.schema.options):
            raise UnsupportedFeatureError(
                f"Table {identifier} is kept up to date by a streaming job of Flink: refresh, suspend and resume it "
                "there."
            )
        return table, definition

    def _redefine(self, identifier: Identifier, table: Table, definition: Definition) -> None:
        """Replace the query, and the table's columns and rows by the new query's, in one commit."""
        schema = table.schema
        keys = {"primary-key": ",".join(schema.primary_keys)} if schema.primary_keys else {}
        comment = {} if schema.comment is None else {"comment": schema.comment}
        properties = {**schema.options, **definition.options(), **keys, **comment}
        frame = self.spark.sql(definition.query)
        self._writer(identifier, frame, properties, schema.partition_keys).replace()

    def _writer(self, identifier: Identifier, frame: DataFrame, properties: dict[str, str], partitions: Any) -> Any:
        writer = frame.writeTo(self._name(identifier)).using(PROVIDER)
        for key, value in properties.items():
            writer = writer.tableProperty(key, value)
        return writer.partitionedBy(*(F.col(quoted_name(p)) for p in partitions)) if partitions else writer

    def _condition(self, table: Table, partition: Mapping[str, str]) -> Column:
        types = {f.name: f.dataType for f in string_types(to_struct(table.schema.fields)).fields}
        condition = F.lit(True)
        for name, value in partition.items():
            if name not in table.schema.partition_keys:
                raise InvalidOptionError(
                    f"Table {table.name} has no partition column {name!r}; it has "
                    f"{', '.join(table.schema.partition_keys) or 'none'}."
                )
            condition = condition & (F.col(quoted_name(name)) == F.lit(value).cast(types[name]))
        return condition

    def _table(self, identifier: Identifier) -> Table:
        return self.catalog.catalog.load_table(identifier)

    def _name(self, identifier: Identifier) -> str:
        return ".".join(map(quoted_name, (self.catalog.catalog_name, identifier.database, identifier.name)))

    @contextmanager
    def _place(self, identifier: Identifier, definition: Definition) -> Iterator[None]:
        """Make the definition's catalog and database current during the block. If the definition names none, use the
        table's own.
        """
        before = self.spark.sql("SELECT current_catalog() AS c, current_database() AS d").first()
        assert before is not None
        here = definition.catalog or self.catalog.catalog_name, definition.database or identifier.database
        if here == (before["c"], before["d"]):
            yield
            return
        self.spark.sql(f"USE {quoted_name(here[0])}.{quoted_name(here[1])}")
        try:
            yield
        finally:
            self.spark.sql(f"USE {quoted_name(before['c'])}.{quoted_name(before['d'])}")


def _matches(name: str, pattern: str | None) -> bool:
    return pattern is None or any(fnmatchcase(name.lower(), p.strip().lower()) for p in pattern.split("|"))
