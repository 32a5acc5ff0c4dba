"""`t$table_indexes` and `t$file_indexes`: the index files of a version, and the indexes of each data file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.spec.index_manifest import GlobalIndexMeta
from paimon_core.spec.paths import data_file_path
from paimon_core.store.indexes.file_indexes import read_file_index
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.files import shown_files
from paimon_core.system_tables.text import row_text

_VECTOR = pa.struct(
    [
        pa.field("f0", pa.string(), False),
        pa.field("f1", pa.int32(), False),
        pa.field("f2", pa.int32(), False),
        pa.field("_CARDINALITY", pa.int64()),
    ]
)
TABLE_INDEXES = pa.schema(
    [
        pa.field("partition", pa.string()),
        pa.field("bucket", pa.int32(), False),
        pa.field("index_type", pa.string(), False),
        pa.field("file_name", pa.string(), False),
        pa.field("file_size", pa.int64(), False),
        pa.field("row_count", pa.int64(), False),
        pa.field("dv_ranges", pa.list_(_VECTOR)),
        pa.field("row_range_start", pa.int64()),
        pa.field("row_range_end", pa.int64()),
        pa.field("index_field_id", pa.int32()),
        pa.field("index_field_name", pa.string()),
    ]
)


def table_indexes(store: TableStore, zone: tzinfo | None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `t$table_indexes`, for the version that options select, or the latest version."""
    fields, names = store.schema.partition_fields, {f.id: f.name for f in store.schema.fields}
    for entry in index_entries(store, snapshot_of_options(store, zone)):
        file, covered = entry.file, entry.file.global_index
        ranges = [(v.data_file, v.offset, v.length, v.cardinality) for v in file.dv_ranges or ()]
        yield (
            row_text(fields, entry.partition, zone),
            entry.bucket,
            file.index_type,
            file.file_name,
            file.file_size,
            file.row_count,
            None if file.dv_ranges is None else ranges,
            None if covered is None else covered.row_range_start,
            None if covered is None else covered.row_range_end,
            None if covered is None else covered.index_field_id,
            _column_names(covered, names),
        )


def _column_names(covered: GlobalIndexMeta | None, names: Mapping[int, str]) -> str | None:
    """Return the columns of a global index, or None if the table no longer has all of them."""
    found = [names.get(i) for i in covered.field_ids] if covered is not None else [None]
    return None if None in found else ",".join(n for n in found if n is not None)


FILE_INDEXES = pa.schema(
    [
        pa.field("partition", pa.string()),
        pa.field("bucket", pa.int32(), False),
        pa.field("file_path", pa.string(), False),
        pa.field("file_size_in_bytes", pa.int64(), False),
        pa.field("record_count", pa.int64(), False),
        pa.field("schema_id", pa.int64(), False),
        pa.field("column_name", pa.string(), False),
        pa.field("index_type", pa.string(), False),
        pa.field("storage_type", pa.string(), False),
        pa.field("index_file_path", pa.string()),
        pa.field("index_size_in_bytes", pa.int64(), False),
        pa.field("index_container_size_in_bytes", pa.int64(), False),
        pa.field("is_empty", pa.bool_(), False),
    ]
)


def file_indexes(store: TableStore, zone: tzinfo | None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `t$file_indexes`. Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
    fields = store.schema.partition_fields
    for entry in shown_files(store, zone):
        folder, file = store.bucket_dir(entry.partition, entry.bucket), entry.file
        index = read_file_index(store, folder, file, lambda location: False)
        if index is None:
            continue
        shown = row_text(fields, entry.partition, zone), entry.bucket, data_file_path(folder, file)
        counts = file.file_size, file.row_count, file.schema_id
        storage = "EMBEDDED" if index.path is None else "FILE"
        for location in index.locations:
            kind = location.column, location.index_type, storage, index.path
            yield (*shown, *counts, *kind, location.length, index.size, location.start is None)
