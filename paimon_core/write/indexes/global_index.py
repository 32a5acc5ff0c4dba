"""Making a global index of a column, as a job with a task per range of rows of a partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.indexes.global_index.arrow_keys import grouped_rows, rows_of_elements
from paimon_core.indexes.global_index.bitmap import encode_bitmap_index
from paimon_core.indexes.global_index.block_codecs import compression
from paimon_core.indexes.global_index.blocks import Compress
from paimon_core.indexes.global_index.btree import encode_btree
from paimon_core.indexes.global_index.file_meta import encode_file_meta
from paimon_core.indexes.global_index.grouped_rows import GroupedRows
from paimon_core.indexes.global_index.keys import KeyFormat
from paimon_core.indexes.global_index.reader import BITMAP, BTREE, MULTIVALUE, key_type
from paimon_core.jobs import Job
from paimon_core.options import (
    BITMAP_INDEX_BLOCK_SIZE,
    BITMAP_INDEX_COMPRESSION,
    BITMAP_INDEX_COMPRESSION_LEVEL,
    BTREE_INDEX_BLOCK_SIZE,
    BTREE_INDEX_BLOOM_FILTER,
    BTREE_INDEX_COMPRESSION,
    BTREE_INDEX_COMPRESSION_LEVEL,
    GLOBAL_INDEX_MAX_PARALLELISM,
    GLOBAL_INDEX_ROWS,
    MULTIVALUE_INDEX_BLOCK_SIZE,
    MULTIVALUE_INDEX_COMPRESSION,
    MULTIVALUE_INDEX_COMPRESSION_LEVEL,
    Option,
    TableOptions,
)
from paimon_core.spec.index_manifest import GlobalIndexMeta
from paimon_core.spec.message import WRITE_RESULT, WriteResult
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField, DataType
from paimon_core.store.indexes.global_indexes import RowSpan, new_index_file
from paimon_core.store.indexes.index_files import write_index_file
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore
from paimon_core.write.indexes.indexed_rows import INDEX_TASK, INDEXED_ROWS, IndexTask, index_tasks, indexed_values

_SHARED, _OLDER = "sorted-index.", "btree-index."  # the prefix of settings for all types, and its earlier form


@dataclass(frozen=True, slots=True)
class _Form:
    """The settings of the files of an index type."""

    block_size: Option[int]
    codec: Option[str]
    level: Option[int]


_FORMS = {
    BITMAP: _Form(BITMAP_INDEX_BLOCK_SIZE, BITMAP_INDEX_COMPRESSION, BITMAP_INDEX_COMPRESSION_LEVEL),
    BTREE: _Form(BTREE_INDEX_BLOCK_SIZE, BTREE_INDEX_COMPRESSION, BTREE_INDEX_COMPRESSION_LEVEL),
    MULTIVALUE: _Form(
        MULTIVALUE_INDEX_BLOCK_SIZE,
        MULTIVALUE_INDEX_COMPRESSION,
        MULTIVALUE_INDEX_COMPRESSION_LEVEL,
    ),
}


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """A global index to make for a column, for the rows of a version that have no such index yet."""

    store: TableStore
    field: DataField
    index_type: str
    snapshot: Snapshot

    def check(self) -> None:
        """Raise `UnsupportedFeatureError` if the column cannot be indexed, `InvalidOptionError` if a setting is
        invalid.
        """
        if key_type(self.index_type, self.field.type) is None:
            wanted = "an ARRAY column" if self.index_type == MULTIVALUE else "a column"
            raise UnsupportedFeatureError(
                f"Column {self.field.name!r} of table {self.store.name} cannot have a {self.index_type} index: "
                f"{self.field.type.sql()} is not supported by global index now. Name {wanted} of numbers, texts, "
                "dates, times or booleans."
            )
        _compress(self.store.options, self.index_type)
        _shared(self.store.options, GLOBAL_INDEX_ROWS)
        _shared(self.store.options, GLOBAL_INDEX_MAX_PARALLELISM)

    def job(self, partitions: PartitionFilter) -> Job[IndexTask, WriteResult]:
        """Return the job that indexes rows of some partitions. Each task indexes rows without such an index, and writes
        one index file.
        """
        pieces = partial(_pieces, self.store.options)
        tasks = tuple(index_tasks(self.store, self.snapshot, self.field, self.index_type, partitions, pieces))
        name = f"global index of {self.store.name}"
        return Job(name, self._run, INDEX_TASK, WRITE_RESULT, tasks, measure=INDEXED_ROWS)

    def _run(self, task: IndexTask) -> WriteResult:
        """Write the index of a task's rows."""
        column, rows = indexed_values(self.store, self.field, task)
        grouped = indexed_rows(self.index_type, column, self.field.type, rows)
        data = encoded_index(self.store.options, self.index_type, grouped)
        file = replace(
            new_index_file(self.store, self.index_type),
            file_size=len(data),
            row_count=grouped.row_count,
            global_index=GlobalIndexMeta(
                row_range_start=task.start,
                row_range_end=task.end - 1,
                index_field_id=self.field.id,
                index_meta=encode_file_meta(grouped.meta),
            ),
        )
        written = write_index_file(self.store, task.bucket.key, file, data)
        empty = replace(task.bucket, files=()).deleted()
        return WriteResult((replace(empty, new_index_files=(written,), rows_base=self.snapshot.id),))


def indexed_rows(index_type: str, column: pa.ChunkedArray, data_type: DataType, rows: NDArray[np.int64]) -> GroupedRows:
    """Return the rows, numbered by `rows`, grouped by the keys that an index of the column has."""
    of = key_type(index_type, data_type)
    key_format = None if of is None else KeyFormat.of(of)
    assert of is not None and key_format is not None  # callers have only such columns
    return (rows_of_elements if index_type == MULTIVALUE else grouped_rows)(column, of, key_format, rows)


def encoded_index(options: TableOptions, index_type: str, grouped: GroupedRows) -> bytes:
    """Return the bytes of an index file. Raises `InvalidOptionError`."""
    how, compress = _FORMS[index_type], _compress(options, index_type)
    if index_type == BTREE:
        return encode_btree(grouped, options[how.block_size], compress, has_filter=options[BTREE_INDEX_BLOOM_FILTER])
    return encode_bitmap_index(grouped, options[how.block_size], compress)


def _compress(options: TableOptions, index_type: str) -> Compress:
    how = _FORMS[index_type]
    return compression(how.codec.key, options[how.codec], options[how.level])


def _pieces(options: TableOptions, span: RowSpan) -> Iterator[RowSpan]:
    """Divide a range of rows evenly, into as many files as the options require."""
    start, end = span
    count = (end - start) // _shared(options, GLOBAL_INDEX_ROWS)
    count = max(min(count, _shared(options, GLOBAL_INDEX_MAX_PARALLELISM)), 1)
    bounds = [start + (end - start) * i // count for i in range(count + 1)]
    return zip(bounds, bounds[1:], strict=False)


def _shared(options: TableOptions, option: Option[int]) -> int:
    """Return a setting that all index types share, by its current or its older name. Raises `InvalidOptionError`."""
    older = replace(option, key=option.key.replace(_SHARED, _OLDER))
    found = options[option if option in options else older]
    if found <= 0:
        raise InvalidOptionError(f"Option '{option.key}' cannot be {found}: it must be 1 or more.")
    return found
