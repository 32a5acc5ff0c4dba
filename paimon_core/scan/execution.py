"""The ways to make the rows of a planned scan, and the choice among them: by the plan, the schema, and the footers of
Parquet files.

    METADATA  the requested aggregates are known from metadata (`scan.aggregates`): no file is read
    RAW       the engine reads the Parquet files itself: nothing to merge, and files have every requested column
    LOOKUP    the driver reads and merges: starting a task takes longer than reading so few keys, or so small a split
              of a remote storage
    MERGE     workers read and merge splits, and add values that files do not have

The first possible way is taken, in this order. If only some splits need a merge, a scan may be divided: the engine
reads the other splits (`divide`). RAW assumes that an engine's own reader works like Spark's: it finds columns by name,
skips files with names that it regards as hidden, and reads a colon in a name as the end of a scheme.
RAW and the other ways must give the same rows of the same files: `scan.footers` decides whether RAW does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from paimon_core.arrow.types import FILE_PATH, ROW_INDEX
from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, DataFileMissingError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Predicate, columns
from paimon_core.formats.registry import format_name
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import READ_ALLOW_FULL_SCAN
from paimon_core.options.support import may_be_shredded, may_skip_files
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.plan import Plan
from paimon_core.scan.pruning.files import keys_asked_for
from paimon_core.spec.kinds import INTEGERS
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import Kind, RowType, TimeType, nested_types
from paimon_core.store.blob.columns import described_fields, view_fields
from paimon_core.store.data.row_tracking import check_vectors_readable
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.io.objects.hadoop_reader import HadoopReader
    from paimon_core.scan.footers import engines_read_alike
else:
    engines_read_alike = ImportedOnCall("paimon_core.scan.footers", "engines_read_alike")

_CONNECTOR_BYTES = 2**23  # the average size of files that a connector of Hadoop reads
_LOOKUP_KEYS, _LOOKUP_FILES, _LOOKUP_BYTES = 16, 64, 2**28  # limits of one lookup
_SMALL_BYTES, _SMALL_ROWS = 2**20, 10_000  # limits of a whole split that the driver reads
_LEAST_DIVIDED = 4 * 2**20  # bytes: workers read less than this sooner than a second scan starts


# Python compares these partition values as SQL does
_COMPARED_EXACTLY = INTEGERS | {Kind.BOOLEAN, Kind.DATE, Kind.DECIMAL, Kind.VARCHAR}


class Execution(StrEnum):
    METADATA = "metadata"
    RAW = "raw"
    LOOKUP = "lookup"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """The request of a query: the columns of a table or derived table, and the predicate that pruned the plan."""

    columns: tuple[str, ...]
    derived: DerivedTable = DerivedTable.ROWS
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True)
class _Opens:
    """The files that an engine's reader opens: whether paths that are not ASCII and files on HDFS, and how objects."""

    unicode: bool
    hdfs: bool
    hadoop: HadoopReader | None


def choose_execution(
    store: TableStore,
    plan: Plan,
    request: ScanRequest,
    *,
    is_answered: bool = False,
    opens_unicode: bool = True,
    opens_hdfs: bool = True,
    hadoop: HadoopReader | None = None,
) -> Execution:
    """Choose how the rows are read.

    `is_answered`: metadata has the values of all requested aggregates. `opens_unicode`: the engine opens paths that are
    not ASCII. `opens_hdfs`: the engine reaches the same HDFS as we do. `hadoop`: the engine opens objects by Hadoop's
    connector."""
    opens = _Opens(opens_unicode, opens_hdfs, hadoop)
    check_vectors_readable(store, request.columns)
    if is_answered:
        return Execution.METADATA
    if _is_raw(store, plan, request, opens):
        return Execution.RAW
    return Execution.LOOKUP if _is_lookup(store, plan, request) else Execution.MERGE


def divide(
    store: TableStore,
    plan: Plan,
    request: ScanRequest,
    *,
    opens_unicode: bool = True,
    opens_hdfs: bool = True,
    hadoop: HadoopReader | None = None,
) -> Mapping[Execution, Plan]:
    """Divide a plan by the way to make its rows. Parameters as for `choose_execution`.

    Return one entry with the whole plan, or two: RAW for splits that the engine reads itself, and MERGE for the rest.
    """
    opens = _Opens(opens_unicode, opens_hdfs, hadoop)
    chosen = choose_execution(store, plan, request, opens_unicode=opens_unicode, opens_hdfs=opens_hdfs, hadoop=hadoop)
    if chosen is not Execution.MERGE:
        return {chosen: plan}
    plain: list[DataSplit] = []
    rest: list[DataSplit] = []
    for split in plan.splits:
        (plain if _is_plain(split, store.schema.id) else rest).append(split)
    raw = replace(plan, splits=tuple(plain))
    if not rest or sum(s.size for s in plain) < _LEAST_DIVIDED:
        return {chosen: plan}
    if not _is_raw(store, raw, request, opens):
        return {chosen: plan}
    return {Execution.RAW: raw, Execution.MERGE: replace(plan, splits=tuple(rest))}


def check_full_scan(store: TableStore, plan: Plan) -> None:
    """Raise `UnsupportedFeatureError` if a partitioned table would be read completely, and its options forbid that."""
    partition_keys = store.schema.partition_keys
    if partition_keys and plan.reads_all and not store.options[READ_ALLOW_FULL_SCAN]:
        raise UnsupportedFeatureError(
            f"Full scan is not supported of table {store.name} with '{READ_ALLOW_FULL_SCAN.key}' = 'false': "
            f"filter by its partition columns ({', '.join(partition_keys)})."
        )


def check_row_positions(store: TableStore, plan: Plan, names: Iterable[str]) -> None:
    """Raise `UnsupportedFeatureError` if files or positions are requested for rows merged from several files."""
    positions = [n for n in names if n in (FILE_PATH, ROW_INDEX)]
    if positions and store.schema.primary_keys and not all(map(_is_compacted, plan.splits)):
        raise UnsupportedFeatureError(
            f"Table {store.name} has rows that are merged from several files, so the metadata column {positions[0]} is "
            "not known. Append tables and fully compacted primary-key tables have it: compact the table first."
        )


def is_answered_by_partitions(predicate: Predicate, schema: TableSchema) -> bool:
    """Return whether the partitions that a plan keeps contain exactly the rows that satisfy a predicate."""
    kinds = {f.name: f.type.kind for f in schema.partition_fields}
    return all(kinds.get(c) in _COMPARED_EXACTLY for c in columns(predicate))


def has_case_twins(schema: TableSchema) -> bool:
    """Return whether names of columns, or of fields of a ROW, differ only in case."""
    rows = [t.fields for f in schema.fields for t in nested_types(f.type) if isinstance(t, RowType)]
    return any(len({f.name.lower() for f in row}) < len(row) for row in (schema.fields, *rows))


def check_sizes(store: TableStore, splits: Iterable[DataSplit]) -> None:
    """Compare the sizes of data files with metadata, by one request per file.

    Raises `DataFileMissingError`, `CorruptFileError`, `StorageError`.
    """
    for split in splits:
        for file in split.files:
            path = data_file_path(split.bucket_dir, file)
            try:
                size = store.io.status(path).size
            except FileNotFoundError:
                raise DataFileMissingError(
                    f"Data file {path} of table {store.name} is missing: it was deleted, or its snapshot expired. Run "
                    "the query again, or roll back to a snapshot that still has its files."
                ) from None
            if size != file.file_size:
                cause = f"this data file of table {store.name} has {size} bytes, but metadata says {file.file_size}"
                raise CorruptFileError(path, cause)


def _is_compacted(split: DataSplit) -> bool:
    """Return whether rows have positions in files, because nothing is merged and a compaction would change nothing."""
    return not split.needs_merge and (len(split.files) == 1 or all(f.level > 0 for f in split.files))


def _is_raw(store: TableStore, plan: Plan, request: ScanRequest, opens: _Opens) -> bool:
    """Return whether Parquet files have exactly the requested rows and columns, the engine opens them, and its reader
    returns the same values as ours.
    """
    return (
        (_is_local(store, opens.hdfs) or _opens_objects(plan, opens.hadoop))
        and _has_raw_columns(store, request)
        and all(_is_plain(s, store.schema.id) for s in plan.splits)
        and _opens_names(plan, opens.unicode)
        and engines_read_alike(store, plan.splits, [f for f in store.schema.fields if f.name in request.columns])
    )


def _has_raw_columns(store: TableStore, request: ScanRequest) -> bool:
    """Return whether an engine could read the requested columns from files of the table."""
    schema, options = store.schema, store.options
    return (
        not request.derived.is_log
        and schema.field_by_name.keys() >= set(request.columns)
        and not may_skip_files(options)
        and not may_be_shredded(options)
        and not _has_nanoseconds(schema)
        and not any(f.name in request.columns for f in described_fields(schema, options))
        and not any(f.name in request.columns for f in view_fields(schema, options))
        and not has_case_twins(schema)
    )


def _is_local(store: TableStore, opens_hdfs: bool) -> bool:
    """Return whether an engine opens the files of a table by their own paths, without keys."""
    return "://" not in store.root or (opens_hdfs and store.root.startswith("hdfs://"))


def _opens_objects(plan: Plan, hadoop: HadoopReader | None) -> bool:
    """Return whether an engine should read the files by Hadoop's connector.

    For each file, the connector sends several requests one after another. Workers request small files in parallel, so
    they read small files sooner.
    """
    files = [(s.bucket_dir, f) for s in plan.splits for f in s.files]
    is_large = sum(f.file_size for _, f in files) >= _CONNECTOR_BYTES * max(1, len(files))
    return is_large and hadoop is not None and all(hadoop.opens(data_file_path(d, f)) for d, f in files)


def _is_plain(split: DataSplit, schema_id: int) -> bool:
    """Return whether every row of the split's files is read as it is, and all files are Parquet files of the schema."""
    if split.needs_merge or split.branch or split.deletions:
        return False
    return all(f.schema_id == schema_id and format_name(f.file_name) == "parquet" for f in split.files)


def _has_nanoseconds(schema: TableSchema) -> bool:
    """Return whether the table may have times in INT96 or nanoseconds, which Spark reads as numbers or not at all."""
    types = (t for f in schema.fields for t in nested_types(f.type))
    return any(isinstance(t, TimeType) and t.precision > 6 for t in types)


def _opens_names(plan: Plan, opens_unicode: bool) -> bool:
    """Return whether an engine opens files with these names. Engines treat some names as hidden."""
    if any(f.file_name.startswith(("_", ".")) or ":" in f.file_name for s in plan.splits for f in s.files):
        return False
    return opens_unicode or all(s.bucket_dir.isascii() for s in plan.splits)


def _is_lookup(store: TableStore, plan: Plan, request: ScanRequest) -> bool:
    """Return whether the request is so small that reading takes less time than starting a task."""
    if request.derived is not DerivedTable.ROWS:
        return False
    if not store.io.is_near and _is_small(store, plan, request):
        return True  # the driver has a connection already, and a task opens one of its own
    keys = keys_asked_for(store.schema, request.predicate)
    if keys is None or keys > _LOOKUP_KEYS:
        return False
    return plan.files_kept <= _LOOKUP_FILES and sum(s.size for s in plan.splits) <= _LOOKUP_BYTES


def _is_small(store: TableStore, plan: Plan, request: ScanRequest) -> bool:
    """Return whether the driver can hold all rows. A BLOB may be larger than the file that names it."""
    if len(plan.splits) != 1 or plan.splits[0].size > _SMALL_BYTES or plan.splits[0].row_count > _SMALL_ROWS:
        return False
    fields = store.schema.field_by_name
    types = (t for name in request.columns if name in fields for t in nested_types(fields[name].type))
    return not any(t.kind is Kind.BLOB for t in types)
