"""A Paimon table, and a system table, as Spark's `Table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql.types import DataType, StructType

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import PaimonError, SnapshotNotFoundError, UnsupportedFeatureError
from paimon_core.options.support import in_own_spelling
from paimon_core.scan.changes.increment import Increment, increment_of_options, is_incremental
from paimon_core.scan.derived_tables import DerivedTable, derived_fields
from paimon_core.scan.metadata_columns import metadata_fields
from paimon_core.scan.time_travel import is_time_travel, snapshot_of_options
from paimon_core.spec.identifier import BRANCH_OPTION, MAIN_BRANCH, Identifier
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.ddl.constraints import check_of, constraints_of, is_constraint
from paimon_core.store.ddl.generated_columns import generated_of, is_generated
from paimon_core.store.features import check_selectable, shown_part
from paimon_core.table import Table
from paimon_sql.catalog.base import SYSTEM_DATABASE, Catalog
from paimon_sql.catalog.system_database import catalog_system_table, read_catalog_system_table
from paimon_sql.preprocess import DECLARED_TYPES_PROPERTY
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import option_map
from paimon_sql.spark.jvm.constraints import java_constraints
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.generated_columns import with_expressions
from paimon_sql.spark.jvm.older.catalyst_filters import taking_filters
from paimon_sql.spark.jvm.pipelines import puts_off_truncation, replaces_view, shown_clustering
from paimon_sql.spark.jvm.sessions import is_defined, is_described
from paimon_sql.spark.proxy import Proxy, TableProxy
from paimon_sql.spark.read.local_scan import LocalScanBuilder
from paimon_sql.spark.read.read_options import read_options
from paimon_sql.spark.read.scan_builder import IS_STREAM, PaimonScanBuilder
from paimon_sql.spark.read.search_arguments import has_scores, query_of
from paimon_sql.spark.read.search_scan import SCORE_FIELDS, SearchScanBuilder
from paimon_sql.spark.read.shown_scan import Part, ShownScanBuilder
from paimon_sql.spark.read.table_scan import TableScanBuilder
from paimon_sql.spark.read.unreadable_table import UnreadableScan
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.streams.sink import EpochWrites
from paimon_sql.spark.streams.sink_compactions import SinkCompactions
from paimon_sql.spark.streams.stream_scan import StreamScan
from paimon_sql.spark.tables.clustering import declared_clustering
from paimon_sql.spark.tables.declared_types import declared_types
from paimon_sql.spark.tables.partitions import PartitionManagement
from paimon_sql.spark.tables.schema_evolution import takes_change
from paimon_sql.spark.tables.session_catalogs import without_own_name
from paimon_sql.spark.types import from_arrow, to_spark, to_struct
from paimon_sql.spark.write.table_write import table_write_builder
from paimon_sql.spark.write.write import PaimonWriteBuilder
from paimon_sql.spark.write.write_options import check_foreign, without_own


class _BridgedTable(TableProxy):
    """A table with the options of a statement."""

    def __init__(self, jvm: Jvm, session: SessionBridge, table: Table, options: dict[str, str]) -> None:
        super().__init__(jvm)
        self.session, self.options = session, options
        self.table = table.with_options(options) if options else table

    def _snapshot(self, table: Table) -> Snapshot | None:
        """Return the version that a table's options select; without such options, the latest."""
        zone = self.session.time_zone() if is_time_travel(table.store) else None
        return snapshot_of_options(table.store, zone)

    def _version(self, table: Table) -> Snapshot | Increment | None:
        """Return the version as `_snapshot` does, or the increment if the options select changes."""
        if is_incremental(table.store.options.values):
            return increment_of_options(table.store, self.session.time_zone())
        return self._snapshot(table)

    def _at(self, must_exist: bool = True) -> Table:
        """Return the table with the columns of the version that its options select. If the version is missing, raise
        `SnapshotNotFoundError`; without `must_exist`, keep the table's current columns.
        """
        if not is_time_travel(self.table.store) or IS_STREAM in self.options:
            return self.table
        try:
            return self.table.at(self._snapshot(self.table))
        except SnapshotNotFoundError:
            if must_exist:
                raise
            return self.table

    def _with_options(self, given: Mapping[str, str]) -> Table:
        """Return the table with the options of this use (`t WITH (…)`, reader and writer options), which override
        others.
        """
        more = without_own_name(given, path=self.table.store.root)
        if more.pop(BRANCH_OPTION, MAIN_BRANCH) not in (MAIN_BRANCH, self.table.store.branch):
            raise UnsupportedFeatureError(
                f"Table {self.table.name}: rows are written to a branch by its name, `t$branch_NAME`, not by an option."
            )
        return self.table.with_options(more) if more else self.table


class _DataTable(_BridgedTable):
    """A table of data files, or a table derived from one. `at` is the version that is read."""

    at: Table

    def partitioning(self) -> Any:
        keys, columns = self.at.schema.partition_keys, declared_clustering(self.at.store)
        clustering = shown_clustering(self.jvm, columns, is_partitioned=bool(keys))
        return connector.partitioning(self.jvm, keys, clustering)

    def properties(self) -> Any:
        return self.jvm.map(self._properties())

    def _properties(self) -> dict[str, str]:
        # SHOW CREATE TABLE has no LOCATION clause for it
        location = {"location": self.table.store.root, "is_managed_location": "true"}
        comment = self.table.schema.comment
        about = {} if comment is None else {"comment": comment}
        return dict(self.table.schema.options) | location | {"provider": "paimon"} | about


class SparkTable(_DataTable, PartitionManagement):
    """A data table. Reading resolves the snapshot when a scan is built; writing always changes the latest snapshot."""

    CACHED = frozenset(
        (
            "name",
            "columns",
            "capabilities",
            "constraints",
            "metadataColumns",
            "canRenameConflictingMetadataColumns",
            "id",
            "version",
        )
    )

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        catalog: str,
        table: Table,
        options: dict[str, str],
        *,
        must_exist: bool = True,
        retarget: Callable[[], Table] | None = None,
    ) -> None:
        super().__init__(jvm, session, table, options)
        self.catalog = catalog
        self.at = self._at(must_exist)
        self.sink_compactions = SinkCompactions()
        self._retarget = retarget  # returns the branch to write to instead

    def toString(self) -> str:
        store = self.table.store
        options = hash(frozenset(store.options.values.items()))  # option values may be secrets
        return f"{self.name()} at {store.root}, schema {self.at.schema.id}, options {options:x}"

    def name(self) -> str:
        return f"{self.catalog}.{self.table.name}"

    @property
    def _defined_name(self) -> str:
        """Return the name in the definitions of pipelines, also if the session audits the table's rows in a branch."""
        return f"{self.catalog}.{self.table.identifier.base}"

    def id(self) -> str:
        """Return the table's folder and branch. Spark finds cached rows by this id. The table's name would not suffice:
        in a session with an audit it means a branch, in other sessions the table.
        """
        return f"{self.table.store.root}${self.table.store.branch}"

    def schema(self) -> Any:
        return self.jvm.struct_type(to_struct(self.at.schema.fields))

    def columns(self) -> Any:
        schema = self.at.schema
        with suppress(UnsupportedFeatureError):  # a write raises it
            made = {g.name: g.expression for g in generated_of(schema.options)}
            return self.jvm.columns(with_expressions(to_struct(schema.fields), made))
        return self.jvm.columns(to_struct(schema.fields))

    def _properties(self) -> dict[str, str]:
        schema = self.table.schema
        properties = {k: v for k, v in super()._properties().items() if not (is_constraint(k) or is_generated(k))}
        if schema.primary_keys:
            properties["primary-key"] = ",".join(schema.primary_keys)
        if (declared := declared_types(schema.fields)) is not None:
            properties[DECLARED_TYPES_PROPERTY] = declared  # for SHOW CREATE TABLE to make an equal table
        return properties

    def constraints(self) -> Any:
        try:
            options = self.at.schema.options
            made = [check_of(g) for g in generated_of(options)]
            if made and is_defined(self.jvm):
                made = []  # the columns show their expressions
            return java_constraints(self.jvm, [*constraints_of(options), *made])
        except UnsupportedFeatureError:  # a write raises it
            return super().constraints()

    def capabilities(self) -> Any:
        writes = ("BATCH_WRITE", "TRUNCATE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "AUTOMATIC_SCHEMA_EVOLUTION")
        return connector.capabilities(self.jvm, "BATCH_READ", "MICRO_BATCH_READ", *writes, "STREAMING_WRITE")

    def supportsColumnChange(self, change: Any) -> bool:
        return takes_change(self.table.store, change)

    def newScanBuilder(self, options: Any) -> Any:
        given = read_options(self.name(), option_map(self.jvm, options), has_vectors=True)
        table = self._with_options(given)
        shown = shown_part(table.store)
        at = self.at
        if table is not self.table:
            at = replace(at, store=at.store.with_options(table.store.options.values))
        version, query = partial(self._version, table), query_of(at, given, self.session)
        if query is not None and shown is not None:
            raise UnsupportedFeatureError(
                f"Table {table.name} cannot be searched: the catalog shows its user only some of the rows, or masks "
                "columns. Query the table with conditions, or search as another user."
            )
        try:
            if query is not None:
                builder: PaimonScanBuilder = SearchScanBuilder(self.jvm, self.session, at, version, query)
            elif shown is None:
                builder = TableScanBuilder(self.jvm, self.session, at, version, StreamScan, given=given)
            else:
                builder = ShownScanBuilder(self.jvm, self.session, at, version, Part(shown, table.schema.fields), given)
        except PaimonError as e:
            if not is_described(self.jvm):
                raise
            return UnreadableScan(self.jvm, to_struct(at.schema.fields), e)
        return taking_filters(self.jvm, self.session.session, builder)

    def newWriteBuilder(self, info: Any) -> Any:
        given = in_own_spelling(option_map(self.jvm, info.options()))
        check_foreign(self.name(), given)
        replaces = replaces_view(self.jvm, self._defined_name)
        self._choose_target()
        builder = self._write_builder(self._with_options(without_own(given)), info, given)
        return builder.truncate() if replaces else builder

    def _write_builder(self, table: Table, info: Any, given: Mapping[str, str]) -> PaimonWriteBuilder:
        epochs = partial(EpochWrites, compactions=self.sink_compactions)
        return table_write_builder(self.jvm, self.session, table, info, given, epochs)

    # -- SupportsMetadataColumns --------------------------------------------------------------------------------------
    def metadataColumns(self) -> Any:
        columns = (MetadataColumn(self.jvm, f.name, to_spark(f.type)) for f in self._metadata_fields())
        return connector.metadata_columns(self.jvm, columns)

    def _metadata_fields(self) -> tuple[DataField, ...]:
        scores = SCORE_FIELDS if has_scores(self.at) else ()
        return (*metadata_fields(self.at.schema), *tracking_fields(self.at.store), *scores)

    @property
    def metadata_names(self) -> list[str]:
        """Return the metadata columns without those that have the name of a column of the table."""
        own = {f.name.lower() for f in self.at.schema.fields}
        return [f.name for f in self._metadata_fields() if f.name.lower() not in own]

    def canRenameConflictingMetadataColumns(self) -> bool:
        return False

    def loadPartitionMetadata(self, identifier: Any) -> Any:
        counts = self.at.partition_counts(self._snapshot(self.table), self._predicate(identifier))
        return self.jvm.map({name: str(count) for name, count in counts.items()})

    def newRowLevelOperationBuilder(self, info: Any) -> Any:
        """Raise `UnsupportedFeatureError`: `DELETE`, `UPDATE` and `MERGE INTO` are commands of this package. Spark's
        pipelines check for this interface, and then merge by `df.mergeInto`.
        """
        raise UnsupportedFeatureError(
            f"Table {self.table.name}: Spark cannot plan this change of rows itself. Write DELETE, UPDATE or MERGE "
            "INTO in SQL, or df.mergeInto, in a session with the catalogs of paimon-sql."
        )

    # -- TruncatableTable ---------------------------------------------------------------------------------------------
    def _choose_target(self) -> None:
        """Switch to the branch in which the session audits its rows, if Spark loaded the table as for a query."""
        if self._retarget is not None:
            self.table, self._retarget = self._retarget(), None

    def dropPartitions(self, identifiers: Any) -> bool:
        self._choose_target()
        return super().dropPartitions(identifiers)

    def truncateTable(self, options: Any = None) -> bool:
        """Remove all rows. If a pipeline refreshes a materialized view, its new rows replace them instead: readers see
        no empty table between two commits.
        """
        if puts_off_truncation(self.jvm, self._defined_name):
            return True
        self._choose_target()
        self.table.truncate(CommitInfo(user=self.table.new_commit_user()))
        return True

    class Java:
        implements = [
            classes.SUPPORTS_READ,
            classes.SUPPORTS_WRITE,
            classes.TRUNCATABLE_TABLE,
            classes.SUPPORTS_ATOMIC_PARTITION_MANAGEMENT,
            classes.SUPPORTS_METADATA_COLUMNS,
            classes.SUPPORTS_SCHEMA_EVOLUTION,
            classes.SUPPORTS_ROW_LEVEL_OPERATIONS,
        ]


class MetadataColumn(Proxy):
    """A column that a query gets only if it names the column. It is cached, because Spark requests it in every
    statement.
    """

    CACHED = frozenset(("name", "dataType", "isNullable", "comment", "metadataInJSON"))

    def __init__(self, jvm: Jvm, name: str, data_type: DataType) -> None:
        super().__init__(jvm)
        self.column, self.type = name, data_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetadataColumn) and (self.column, self.type) == (other.column, other.type)

    def __hash__(self) -> int:
        return hash((self.column, self.type))

    def name(self) -> str:
        return self.column

    def dataType(self) -> Any:
        return self.jvm.data_type(self.type)

    def isNullable(self) -> bool:
        return True

    def comment(self) -> None:
        return None

    def transform(self) -> None:
        return None

    def metadataInJSON(self) -> None:
        return None

    class Java:
        implements = [classes.METADATA_COLUMN]


class _ReadOnlyTable(TableProxy):
    """A table without data files of its own, such as a system table; `spark_schema` are its columns."""

    spark_schema: StructType

    def schema(self) -> Any:
        return self.jvm.struct_type(self.spark_schema)

    def columns(self) -> Any:
        return self.jvm.columns(self.spark_schema)

    def partitioning(self) -> Any:
        return connector.partitioning(self.jvm)

    def properties(self) -> Any:
        return self.jvm.map({})

    def capabilities(self) -> Any:
        return connector.capabilities(self.jvm, "BATCH_READ")


class SparkDerivedTable(_DataTable, PartitionManagement, _ReadOnlyTable):
    """`table$ro`, `table$audit_log`, `table$binlog`: other views of the table's files."""

    def __init__(
        self, jvm: Jvm, session: SessionBridge, table: Table, identifier: Identifier, options: dict[str, str]
    ) -> None:
        super().__init__(jvm, session, table, options)
        self.identifier, self.derived = identifier, DerivedTable((identifier.system_table or "").lower())
        self.at = self._at()
        self.spark_schema = to_struct(derived_fields(self.at.store, self.derived))

    def name(self) -> str:
        return str(self.identifier)

    def newScanBuilder(self, options: Any) -> Any:
        given = read_options(self.name(), option_map(self.jvm, options))
        table = self._with_options(given)
        check_selectable(table.store)
        at = replace(self.at, store=self.at.store.with_options(table.store.options.values))
        version = partial(self._version, table)
        builder = TableScanBuilder(self.jvm, self.session, at, version, StreamScan, derived=self.derived, given=given)
        return taking_filters(self.jvm, self.session.session, builder)

    def capabilities(self) -> Any:
        return connector.capabilities(self.jvm, "BATCH_READ", "MICRO_BATCH_READ")

    def dropPartitions(self, identifiers: Any) -> bool:
        raise self._refusal(f"drop partitions in the table itself, not in {self.identifier}")

    class Java:
        implements = [classes.SUPPORTS_READ, classes.SUPPORTS_ATOMIC_PARTITION_MANAGEMENT]


class SparkSystemTable(_BridgedTable, _ReadOnlyTable):
    """`table$name`: a system table, read from metadata in the driver."""

    def __init__(
        self, jvm: Jvm, session: SessionBridge, table: Table, identifier: Identifier, options: dict[str, str]
    ) -> None:
        super().__init__(jvm, session, table, options)
        self.identifier, self.kind = identifier, identifier.system_table or ""
        self.spark_schema = from_arrow(table.system_table_schema(self.kind))

    def name(self) -> str:
        return str(self.identifier)

    def newScanBuilder(self, options: Any) -> Any:
        table = self._with_options(read_options(self.name(), option_map(self.jvm, options)))
        content = table.system_table(self.kind, self.session.time_zone())
        about = f"PaimonSystemTable {self.identifier}"
        return LocalScanBuilder(self.jvm, self.session, content, self.spark_schema, about)

    class Java:
        implements = [classes.SUPPORTS_READ]


class SparkCatalogSystemTable(_ReadOnlyTable):
    """`sys.name`: a system table about the whole catalog."""

    def __init__(self, jvm: Jvm, session: SessionBridge, catalog: Catalog, kind: str) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.kind = session, catalog, kind
        self.spark_schema = from_arrow(catalog_system_table(kind).schema)

    def name(self) -> str:
        return f"{SYSTEM_DATABASE}.{self.kind}"

    def newScanBuilder(self, options: Any) -> Any:
        read_options(self.name(), option_map(self.jvm, options))
        content = read_catalog_system_table(self.catalog, self.kind)
        return LocalScanBuilder(self.jvm, self.session, content, self.spark_schema, f"PaimonSystemTable {self.name()}")

    class Java:
        implements = [classes.SUPPORTS_READ]
