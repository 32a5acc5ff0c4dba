"""Read a format table: divide its files into splits, and read the rows of a split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Predicate, only_on
from paimon_core.format_table.folders import Folder, data_files, found_folders, partition_batch
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import write_format
from paimon_core.options import SPLIT_OPEN_FILE_COST, SPLIT_TARGET_SIZE
from paimon_core.scan.splits import pack
from paimon_core.spec.records import Column, Record
from paimon_core.spec.types import DataField
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class FormatSplit:
    """The files of one partition.

    `partition` has its values in the spelling of folders, `size` is the files' size in bytes.
    """

    partition: tuple[str, ...]
    paths: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class FormatPlan:
    """The plan of a scan: its splits, the folders that it reads, and the number of folders that filters on partition
    columns left out.
    """

    splits: tuple[FormatSplit, ...]
    folders: int
    skipped: int

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return sum(s.size for s in self.splits)

    def describe(self) -> str:
        """Return the plan in words, for EXPLAIN."""
        files = sum(len(s.paths) for s in self.splits)
        skipped = f", skipped folders: {self.skipped} by partition" if self.skipped else ""
        return f"folders {self.folders}, files {files} ({self.size} bytes), splits {len(self.splits)}{skipped}"


def plan_format_table(
    store: TableStore, predicate: Predicate | None = None, *, case_sensitive: bool = False
) -> FormatPlan:
    """Return the plan for the partitions that may satisfy a predicate; see `found_folders`."""
    target, cost = store.options[SPLIT_TARGET_SIZE], store.options[SPLIT_OPEN_FILE_COST]
    found = found_folders(store, predicate, case_sensitive=case_sensitive)
    splits = []
    for folder in found.folders:
        for group in pack(data_files(store, folder), lambda f: max(f.size, cost), target):
            splits.append(FormatSplit(folder.values, tuple(f.path for f in group), sum(f.size for f in group)))
    return FormatPlan(tuple(splits), len(found.folders), found.skipped)


def read_format_split(
    store: TableStore,
    split: FormatSplit,
    columns: Sequence[str],
    predicate: Predicate | None = None,
    *,
    case_sensitive: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split as batches of the named columns, in that order. Rows that do not match may be included.

    Unless names are `case_sensitive`, a column may have a name in another case in the file. Raises `FileNotFoundError`,
    `CorruptFileError`, `StorageError`, and `InvalidDataError` if two columns of the file match one name.
    """
    keys, schema = store.schema.partition_keys, store.schema
    stored = tuple(f for f in schema.fields if f.name not in keys)
    fields = tuple(f for f in schema.select(tuple(columns)) if f.name not in keys) or stored[:1]
    names = [f.name for f in fields]
    usable = only_on(predicate, names) if predicate is not None else None
    condition = to_arrow(usable, arrow_schema(fields)) if usable is not None else None
    values = partition_batch(store, [Folder("", split.partition)], schema.partition_fields)
    for path in split.paths:
        request = ReadRequest(
            path, fields, usable, lambda: stored, store.options, by_name=True, case_sensitive=case_sensitive
        )
        for batch in write_format(store.options).read(store.io, request):
            rows = batch if condition is None else condition.filter(batch)
            if rows.num_rows:
                yield _with_partition(rows, values, schema.select(tuple(columns)))


def _with_partition(rows: pa.RecordBatch, values: pa.RecordBatch, fields: Sequence[DataField]) -> pa.RecordBatch:
    arrays = [
        pa.repeat(values.column(f.name)[0], rows.num_rows) if f.name in values.schema.names else rows.column(f.name)
        for f in fields
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))


def _build(*, partition: Sequence[str], paths: Sequence[str], size: int) -> FormatSplit:
    return FormatSplit(tuple(partition), tuple(paths), size)


_STRINGS = {"type": "array", "items": "string"}
FORMAT_SPLIT = Record(
    "split",
    _build,
    (Column("partition", "partition", _STRINGS), Column("paths", "paths", _STRINGS), Column("size", "size", "long")),
)
