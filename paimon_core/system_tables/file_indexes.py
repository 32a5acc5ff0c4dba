"""`t$file_indexes`: the indexes of each data file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from paimon_core.spec.paths import data_file_path
from paimon_core.store.indexes.file_indexes import read_file_index
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.files import shown_files
from paimon_core.system_tables.text import row_text

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
    """The rows of `t$file_indexes`. Raises `CorruptFileError`, `DataFileMissingError`, `StorageError`."""
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
