"""A warehouse as one process sees it through its `FileIO`, with the calls that the bridge makes for statements, but
without Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.format_table.kind import is_format_table
from paimon_core.format_table.scan import read_format_split
from paimon_core.format_table.table import FormatTable
from paimon_core.format_table.write import FormatTableWriter
from paimon_core.insert import insert_rows
from paimon_core.io.failure import on_failure
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Operation
from paimon_core.spec.types import BIGINT, INT, STRING, DataType
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.write.compaction.sort_job import SortJob
from paimon_core.write.writer import open_writer, written
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.procedures import PROCEDURES, ForeignTable, ProcedureContext
from paimon_sql.procedures.migration import files, iceberg
from tests.support.data import make_batch
from tests.support.executors import TextExecutor
from tests.support.orphan_tasks import Lost
from tests.support.tables import fields

Rows = Sequence[tuple[Any, ...]]
_TYPES: dict[str, DataType] = {"k": INT, "v": STRING, "n": BIGINT, "p": STRING, "op": STRING}


@dataclass(frozen=True)
class HereExecutor(TextExecutor):
    """Executors and Spark's session catalog, in this process."""

    foreign: Mapping[str, ForeignTable]

    def find_orphans(self, search: OrphanSearch, parallelism: int | None, description: str) -> Lost:
        return Lost(search, travels=False)

    def select(self, rows: pa.Table, condition: str) -> list[int]:
        return list(range(rows.num_rows))

    def foreign_table(self, database: str, name: str) -> ForeignTable | None:
        return self.foreign.get(name)

    def foreign_tables(self, database: str) -> list[str] | None:
        return sorted(self.foreign)

    def drop_foreign_table(self, database: str, name: str) -> None:
        """Do nothing: this is Spark's task."""

    def folder_of_files(self, file_format: str, location: str, options: Mapping[str, str]) -> ForeignTable:
        return self.foreign[location.rpartition("/")[2]]

    def sort(self, job: SortJob, description: str) -> list[CommitMessage]:
        rows = pa.Table.from_batches([batch for text in job.texts for batch in job.read(text)])
        ordered = rows.sort_by([(column, "ascending") for column in job.sort_columns]).combine_chunks()
        return written(open_writer(job.store, sequence_start=0), ordered.to_batches())


class Place:
    """`root`/wh is the warehouse, `root`/files a folder of Parquet files of k and v that another program wrote."""

    def __init__(self, root: Path, io: FileIO | None = None, cache: MetadataCache | None = None) -> None:
        self.root, self.io = root, io or LocalFileIO()
        self.catalog = FileSystemCatalog(self.io, f"{root}/wh", cache=MetadataCache() if cache is None else cache)
        location = f"{root}/files"
        columns = fields(k=_TYPES["k"], v=_TYPES["v"])
        self.executor = HereExecutor({"files": ForeignTable(format="parquet", location=location, fields=columns)})

    # -- tables -------------------------------------------------------------------------------------------------------
    def table(self, name: str = "t") -> Table:
        return self.catalog.load_table(Identifier.of("default", name))

    def create(self, name: str = "t", keys: str = "", by: str = "", columns: str = "k v", **options: str) -> None:
        """Create a table with columns of k, v, n and p. `keys` and `by` are the primary key and the
        partition columns.
        """
        spelled = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        types = {column: _TYPES[column] for column in columns.split()}
        schema = new_table_schema(fields(**types), by.split(), _PATIENT | spelled, primary_keys=keys.split())
        self.catalog.create_table(Identifier.of("default", name), schema)

    def call(self, procedure: str, **arguments: Any) -> Rows:
        """Call a procedure, with the table `t` if it takes a table and none is given."""
        found = PROCEDURES[procedure]
        if any(p.name == "table" and p.required for p in found.parameters):
            arguments = {"table": "t", **arguments}
        with self._one_storage(files), self._one_storage(iceberg):
            return found.call(ProcedureContext(self.catalog, "default", self.executor, UTC), arguments)

    def _one_storage(self, module: ModuleType) -> AbstractContextManager[object]:
        """Make tables of other catalogs use this process's `FileIO`, too."""
        return patch.object(module, "load_file_io", lambda *_: self.io)

    # -- rows ---------------------------------------------------------------------------------------------------------
    def insert(self, rows: Rows, name: str = "t", overwrite: Overwrite | None = None) -> None:
        """Run INSERT INTO or OVERWRITE with one task."""
        table = self.table(name)
        if is_format_table(table.schema.options):
            _insert_files(FormatTable.of(table.store), rows, overwrite)
            return
        table.check_writable()
        table = table.for_write()
        messages = self.write(table, rows, overwrite)
        operation = Operation.WRITE if overwrite is None else Operation.OVERWRITE
        info = CommitInfo(user=table.new_commit_user(), operation=operation)
        insert_rows(table, messages, info, self.executor, overwrite)

    def write(self, table: Table, rows: Rows, overwrite: Overwrite | None = None) -> list[CommitMessage]:
        """Return the messages of a task that writes rows."""
        store, start = table.write_store(overwrites=overwrite is not None), table.max_sequence_number() + 1
        writer = open_writer(store, sequence_start=start, base=table.assignment_base(1, overwrite))
        return written(writer, [make_batch(table.store, rows)] if rows else [])

    def rows(self, name: str = "t") -> list[tuple[Any, ...]]:
        table = self.table(name)
        if is_format_table(table.schema.options):
            return format_rows(FormatTable.of(table.store))
        return rows_of(table)


_PATIENT = {"commit.min-retry-wait": "0 ms", "commit.max-retries": "3"}


def rows_of(table: Table, version: Any = None) -> list[tuple[Any, ...]]:
    """Return the rows of a version, by default the latest, sorted."""
    snapshot = table.latest_snapshot() if version is None else version
    columns = [f.name for f in table.schema.fields]
    batches = (b for s in table.plan(snapshot).splits for b in read_split(table.store, s, columns))
    return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=repr)


def format_rows(table: FormatTable) -> list[tuple[Any, ...]]:
    """The rows of a format table, sorted."""
    columns = [f.name for f in table.schema.fields]
    batches = (b for split in table.plan().splits for b in read_format_split(table.store, split, columns))
    return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=repr)


def _insert_files(table: FormatTable, rows: Rows, overwrite: Overwrite | None) -> None:
    writer = FormatTableWriter(table.store)
    with on_failure(writer.abort):
        if rows:
            writer.write(make_batch(table.store, rows))
        files = writer.finish()
        table.commit(files, overwrite)
