"""Making the indexes of a keyed bucket: a compaction makes the indexes of the levels that it changes again.

The commit of the compaction drops the level's older indexes (`commit.global_indexes`). If an index cannot be made, it
is left out: queries then scan the files of the level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_core.arrow.types import arrow_type
from paimon_core.errors import InvalidDataError
from paimon_core.indexes.global_index.file_meta import encode_file_meta
from paimon_core.indexes.global_index.grouped_rows import GroupedRows
from paimon_core.io.failure import on_failure
from paimon_core.spec.index_manifest import GlobalIndexMeta, IndexFileMeta
from paimon_core.spec.level_sources import LevelSources
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.types import DataField
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.indexes.index_files import delete_index_files, new_index_name, write_index_file
from paimon_core.store.indexes.level_indexes import level_indexes
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.indexes.global_index import encoded_index, indexed_rows

_MOST_ROWS = 20_000_000  # rows of one index: its column is in memory while the index is made


def indexes_of_levels(
    store: TableStore, bucket: BucketKey, files: Sequence[DataFileMeta], levels: Iterable[int]
) -> tuple[IndexFileMeta, ...]:
    """Write the indexes of some levels of a bucket with these live files. Return their metadata.

    Raises `StorageError`, `CorruptFileError`; then no new file is kept."""
    wanted = level_indexes(store)
    written: list[IndexFileMeta] = []
    if not wanted:
        return ()
    # with the precision of times that the table declares
    whole = replace(store, schema=read_schema(store, store.schema.id))
    by_name = {f.file_name: f for f in files}
    with on_failure(lambda: delete_index_files(store, *bucket, written)):
        for level in sorted(set(levels) - {0}):
            sources = LevelSources.of(level, files)
            covered = [by_name[name] for name, _ in sources.files]
            if not 0 < sources.row_count <= _MOST_ROWS or not all(f.file_name.isascii() for f in covered):
                continue
            for name, kind in wanted.items():
                field = whole.schema.field_by_name[name]
                grouped = _grouped(whole, bucket, field, kind, covered)
                if grouped is not None and grouped.row_count == sources.row_count:
                    file = _index_file(field, kind, sources, grouped)
                    data = encoded_index(store.options, kind, grouped)
                    written.append(write_index_file(store, bucket, replace(file, file_size=len(data)), data))
    return tuple(written)


def _grouped(
    store: TableStore, bucket: BucketKey, field: DataField, kind: str, files: Sequence[DataFileMeta]
) -> GroupedRows | None:
    """Return the rows of files by their values in a column, or None if the column has a value without a key."""
    arrow = arrow_type(field.type)
    reader = BucketFiles(store, store.bucket_dir(*bucket), (field,))
    try:
        column = pa.chunked_array(list(_chunks(reader, files, arrow)), arrow)
        return indexed_rows(kind, column, field.type, np.arange(len(column), dtype=np.int64))
    except (InvalidDataError, pa.ArrowInvalid, OverflowError):
        return None


def _chunks(reader: BucketFiles, files: Sequence[DataFileMeta], arrow: pa.DataType) -> Iterator[pa.Array]:
    """Yield the column of all rows of files, also of deleted rows."""
    for file in files:
        for batch in reader.read_numbered(file):
            yield batch.column(0).cast(arrow)


def _index_file(field: DataField, kind: str, sources: LevelSources, grouped: GroupedRows) -> IndexFileMeta:
    covers = GlobalIndexMeta(
        row_range_start=0,
        row_range_end=sources.row_count - 1,
        index_field_id=field.id,
        index_meta=encode_file_meta(grouped.meta),
        source_meta=sources.encode(),
    )
    return IndexFileMeta(
        index_type=kind, file_name=new_index_name(), file_size=0, row_count=grouped.row_count, global_index=covers
    )
