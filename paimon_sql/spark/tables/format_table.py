"""A format table as Spark's `Table`: Python workers read and write its files, the driver lists and moves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from paimon_core.errors import NotFoundError
from paimon_core.expressions.predicate import And, Or, Predicate, describe
from paimon_core.format_table.scan import FORMAT_SPLIT
from paimon_core.format_table.table import FormatTable
from paimon_core.format_table.write import STAGED_FILES, StagedFile
from paimon_core.formats.registry import write_format
from paimon_core.io.load import same_storage
from paimon_core.object_table import OBJECT_FIELDS, ObjectTable
from paimon_core.options.support import in_own_spelling
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.collections import option_map
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.older.catalyst_filters import taking_filters
from paimon_sql.spark.jvm.workers import message_bytes
from paimon_sql.spark.proxy import Proxy, TableProxy, WithoutMetrics
from paimon_sql.spark.read.filters import translate_all
from paimon_sql.spark.read.local_scan import LocalScanBuilder
from paimon_sql.spark.read.read_options import read_options
from paimon_sql.spark.read.worker_batch import WorkerBatch
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.partitions import PartitionManagement
from paimon_sql.spark.types import read_struct, string_types, to_struct
from paimon_sql.spark.workers.worker import read_format_function, write_format_function
from paimon_sql.spark.write.write import DistributedWrite, OverwritingBuilder, WorkerBatchWrite
from paimon_sql.spark.write.write_options import check_foreign, without_own


class FormatSparkTable(PartitionManagement, TableProxy):
    """A folder of files without versions. A scan reads the files that are in the folder when the scan is built."""

    def __init__(self, jvm: Jvm, session: SessionBridge, catalog: str, table: Table, options: dict[str, str]) -> None:
        super().__init__(jvm)
        self.session, self.catalog, self.table, self.at = session, catalog, table, table
        self.files = FormatTable.of(table.store.with_options(options), case_sensitive=session.is_case_sensitive())

    def toString(self) -> str:
        options = hash(frozenset(self.files.store.options.values.items()))
        return f"{self.name()} at {self.files.store.root}, options {options:x}"

    def name(self) -> str:
        return f"{self.catalog}.{self.table.name}"

    def schema(self) -> Any:
        return self.jvm.struct_type(to_struct(self.table.schema.fields))

    def columns(self) -> Any:
        return self.jvm.columns(to_struct(self.table.schema.fields))

    def partitioning(self) -> Any:
        return connector.partitioning(self.jvm, self.table.schema.partition_keys)

    def properties(self) -> Any:
        schema = self.table.schema
        comment = {} if schema.comment is None else {"comment": schema.comment}
        provider = write_format(self.files.store.options).extension
        return self.jvm.map(dict(schema.options) | comment | {"provider": provider})

    def capabilities(self) -> Any:
        writes = ("BATCH_WRITE", "TRUNCATE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC")
        return connector.capabilities(self.jvm, "BATCH_READ", *writes)

    def newScanBuilder(self, options: Any) -> Any:
        read_options(self.name(), option_map(self.jvm, options))
        builder = FormatScanBuilder(self.jvm, self.session, self._with_options(options))
        return taking_filters(self.jvm, self.session.session, builder)

    def newWriteBuilder(self, info: Any) -> Any:
        given = option_map(self.jvm, info.options())
        check_foreign(self.name(), given)
        table = self._with_options(info.options())
        return FormatWriteBuilder(self.jvm, self.session, table, info, given=given)

    # -- TruncatableTable, partitions ---------------------------------------------------------------------------------
    def truncateTable(self, options: Any = None) -> bool:
        self.files.truncate()
        return True

    def partition_rows(self) -> pa.Table:
        return self.files.partitions()

    def createPartitions(self, identifiers: Any, properties: Any) -> None:
        raise self._refusal("its partitions are its folders: a partition appears with its first row")

    def dropPartitions(self, identifiers: Any) -> bool:
        raise self._refusal("its partitions are its folders, so they are not dropped; use TRUNCATE TABLE … PARTITION")

    def truncatePartitions(self, identifiers: Any) -> bool:
        found = list(identifiers)
        if not all(self.partitionExists(i) for i in found):
            return False
        self.files.truncate(Or(tuple(self._predicate(i) for i in found)))
        return True

    def truncatePartition(self, identifier: Any) -> bool:
        if not self.partitionExists(identifier):
            raise NotFoundError(f"Table {self.table.name} has no such partition; SHOW PARTITIONS lists them.")
        return self.truncatePartitions([identifier])

    def _with_options(self, java_options: Any) -> FormatTable:
        more = without_own(in_own_spelling(option_map(self.jvm, java_options)))
        return self.files.with_options(more) if more else self.files

    class Java:
        implements = [
            classes.SUPPORTS_READ,
            classes.SUPPORTS_WRITE,
            classes.TRUNCATABLE_TABLE,
            classes.SUPPORTS_ATOMIC_PARTITION_MANAGEMENT,
        ]


class StagedFormatTable(FormatSparkTable):
    """The table of CREATE TABLE AS SELECT, or REPLACE TABLE. Publish its schema first, then move the files of the query
    into place, and last delete the files of the replaced table."""

    def __init__(
        self, jvm: Jvm, session: SessionBridge, catalog: str, staged: StagedTable, replaced: FormatTable | None
    ) -> None:
        super().__init__(jvm, session, catalog, staged.table, {})
        self.staged, self.replaced, self.is_published = staged, replaced, False

    def newWriteBuilder(self, info: Any) -> Any:
        if self.replaced is not None:
            check_foreign(self.name(), option_map(self.jvm, info.options()))
        files = self._with_options(info.options())
        return FormatWriteBuilder(self.jvm, self.session, files, info, self._publish, self.replaced)

    def commitStagedChanges(self) -> None:
        if not self.is_published:
            self._publish()
            if self.replaced is not None:
                self.replaced.truncate()

    def _publish(self) -> None:
        self.staged.publish()
        self.is_published = True

    def abortStagedChanges(self) -> None:
        """Do nothing: the writer has removed its own files."""

    class Java:
        implements = [*FormatSparkTable.Java.implements, classes.STAGED_TABLE]


class FormatScanBuilder(Proxy):
    """Collects what Spark pushes down: filters on partition columns choose folders, others skip parts of files."""

    def __init__(self, jvm: Jvm, session: SessionBridge, table: FormatTable) -> None:
        super().__init__(jvm)
        self.session, self.table = session, table
        self.required = string_types(to_struct(table.schema.fields))
        self.predicate: Predicate | None = None

    def pruneColumns(self, required: Any) -> None:
        self.required = read_struct(required.json()) or string_types(to_struct(self.table.schema.fields[:1]))

    def pushFilters(self, filters: Any) -> Any:
        found = [p for _, p in translate_all(self.jvm, filters, self.table.schema.field_by_name, {}) if p is not None]
        self.predicate = And(tuple(found)) if found else None
        return filters

    def pushedFilters(self) -> Any:
        return connector.no_predicates(self.jvm)

    def build(self) -> Any:
        return FormatScan(self)

    class Java:
        implements = [
            classes.SUPPORTS_PUSH_DOWN_REQUIRED_COLUMNS,
            classes.SUPPORTS_PUSH_DOWN_CATALYST_FILTERS,
        ]


class FormatScan(WithoutMetrics):
    """A scan of the files in the partitions that match the filters."""

    def __init__(self, builder: FormatScanBuilder) -> None:
        super().__init__(builder.jvm)
        self.session, self.table = builder.session, builder.table
        self.required, self.predicate = builder.required, builder.predicate
        self.plan = self.table.plan(self.predicate)

    def toString(self) -> str:
        store = self.table.store
        pushed = f"{self.predicate!r} {store.options!r}"
        return f"{self.description()} {self.required.json()} {store.root} {same_storage(store.io)} {pushed}"

    def description(self) -> str:
        kind = write_format(self.table.store.options).extension
        filters = "none" if self.predicate is None else describe(self.predicate)
        by = "read by Python workers, as Spark's reader does not know Paimon's options of the format"
        return (
            f"PaimonFormatScan {self.table.name}, {kind}, {self.plan.describe()}, {by}, pushed filters: {filters}, "
            "rows expected: unknown, as files of format tables have no statistics"
        )

    def readSchema(self) -> Any:
        return self.jvm.struct_type(self.required)

    def columnarSupportMode(self) -> Any:
        return connector.columnar_by_partition(self.jvm)

    def toBatch(self) -> Any:
        function = read_format_function(
            self.table.store, self.required, self.predicate, case_sensitive=self.table.case_sensitive
        )
        splits = [FORMAT_SPLIT.encode(s) for s in self.plan.splits]
        return WorkerBatch(self.jvm, self.toString(), splits, function, self.required)

    def estimateStatistics(self) -> Any:
        return FormatStatistics(self.jvm, self.plan.size)

    def estimateSizeInBytes(self) -> Any:
        return self.estimateStatistics().sizeInBytes()

    def reflectsFullyPushedDownFilters(self) -> bool:
        return False

    class Java:
        implements = [classes.SUPPORTS_REPORT_STATISTICS]


class FormatStatistics(Proxy):
    """The bytes of the files; the number of rows is unknown."""

    def __init__(self, jvm: Jvm, size: int) -> None:
        super().__init__(jvm)
        self.size = size

    def sizeInBytes(self) -> Any:
        return connector.optional_long(self.jvm, self.size)

    def numRows(self) -> Any:
        return connector.optional_long(self.jvm, None)

    def columnStats(self) -> Any:
        return self.jvm.map({})

    class Java:
        implements = [classes.STATISTICS]


class FormatWriteBuilder(OverwritingBuilder[FormatTable]):
    """The builder of a write of rows to a folder of files."""

    def __init__(
        self,
        jvm: Jvm,
        session: SessionBridge,
        table: FormatTable,
        info: Any,
        before_commit: Callable[[], None] | None = None,
        replaced: FormatTable | None = None,
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(jvm, given)
        self.session, self.table, self.schema = session, table, info.schema()
        self.before_commit, self.replaced = before_commit, replaced

    def build(self) -> Any:
        return FormatWrite(self)

    class Java:
        implements = [classes.SUPPORTS_OVERWRITE, classes.SUPPORTS_DYNAMIC_OVERWRITE]


class FormatWrite(DistributedWrite):
    """A write that brings the rows of a partition together, so that a task has one file open."""

    def __init__(self, builder: FormatWriteBuilder) -> None:
        super().__init__(builder.jvm)
        self.builder = builder

    def description(self) -> str:
        return f"PaimonFormatWrite {self.builder.table.name}"

    def toString(self) -> str:
        return self.description()

    def toBatch(self) -> Any:
        return FormatBatchWrite(self.builder)

    def requiredDistribution(self) -> Any:
        return connector.clustered(self.jvm, self.builder.table.schema.partition_keys)

    def requiredOrdering(self) -> Any:
        return connector.ascending(self.jvm, self.builder.table.schema.partition_keys)

    class Java:
        implements = [classes.REQUIRES_DISTRIBUTION_AND_ORDERING]


class FormatBatchWrite(WorkerBatchWrite):
    """One job: tasks write files under hidden names, and `commit` moves them."""

    builder: FormatWriteBuilder

    def _task(self, info: Any) -> Any:
        return write_format_function(self.builder.table.store)

    def _commit(self, messages: Any) -> None:
        builder, files = self.builder, _decode(messages)
        if builder.before_commit is None:
            self.may_be_visible = True
            builder.table.commit(files, builder.overwritten)
        else:
            builder.table.commit_definition(
                files, self._publish, replaced=builder.replaced, overwrite=builder.overwritten
            )

    def _publish(self) -> None:
        """Publish the definition of a new table. Only after that may files become visible."""
        if self.builder.before_commit is not None:
            self.builder.before_commit()
        self.may_be_visible = True

    def _abort(self, messages: list[Any]) -> None:
        self.builder.table.abort(_decode(messages))


def _decode(messages: Any) -> list[StagedFile]:
    return [file for m in messages for file in STAGED_FILES.decode(message_bytes(m)).files]


class ObjectSparkTable(TableProxy):
    """An object table. `name` is its name in the session; `catalog_options` give access to the storage of its files."""

    def __init__(self, jvm: Jvm, session: SessionBridge, name: str, table: Table, catalog_options: Any) -> None:
        super().__init__(jvm)
        self.session, self.full_name, self.table, self.catalog_options = session, name, table, catalog_options

    def toString(self) -> str:
        return f"{self.full_name} at {self.table.store.root}"

    def name(self) -> str:
        return self.full_name

    def schema(self) -> Any:
        return self.jvm.struct_type(to_struct(OBJECT_FIELDS))

    def columns(self) -> Any:
        return self.jvm.columns(to_struct(OBJECT_FIELDS))

    def partitioning(self) -> Any:
        return connector.partitioning(self.jvm)

    def properties(self) -> Any:
        schema = self.table.schema
        comment = {} if schema.comment is None else {"comment": schema.comment}
        return self.jvm.map(dict(schema.options) | comment | {"provider": "paimon"})

    def capabilities(self) -> Any:
        return connector.capabilities(self.jvm, "BATCH_READ")

    def newScanBuilder(self, options: Any) -> Any:
        read_options(self.name(), option_map(self.jvm, options))
        objects = ObjectTable.of(self.table.store, self.catalog_options)
        about = f"PaimonObjectTable {self.full_name}"
        return LocalScanBuilder(self.jvm, self.session, objects.read(), to_struct(OBJECT_FIELDS), about)

    class Java:
        implements = [classes.SUPPORTS_READ]
