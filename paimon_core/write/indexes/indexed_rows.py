"""The rows that a global index is made of: ranges of row ids without such an index, and their values of a column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.types import arrow_type
from paimon_core.dataclass import dataclass
from paimon_core.jobs import Measure
from paimon_core.options import GLOBAL_INDEX_BUILD_MAX_SHARD, GLOBAL_INDEX_ROWS_PER_SHARD
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.message import BUCKET_STATE, BucketState
from paimon_core.spec.records import Column, Record
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import DataField
from paimon_core.store.data.evolved_files import EvolvedFiles
from paimon_core.store.indexes.global_indexes import RowSpan, covered, joined, of_column, without
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class IndexTask:
    """A range of row ids to index, from `start` to before `end`. The rows are in the files of `bucket`."""

    bucket: BucketState
    start: int
    end: int


INDEX_TASK = Record(
    "index task",
    IndexTask,
    (Column("bucket", "bucket", record=BUCKET_STATE), Column("start", "start", "long"), Column("end", "end", "long")),
)


def _rows(task: IndexTask) -> int:
    return task.end - task.start


INDEXED_ROWS = Measure("rows", _rows)


def index_tasks(
    store: TableStore,
    snapshot: Snapshot,
    field: DataField,
    index_type: str,
    partitions: PartitionFilter,
    pieces: Callable[[RowSpan], Iterator[RowSpan]],
) -> Iterator[IndexTask]:
    """Yield the tasks that index the rows of some partitions without an index of this type on the column. `pieces`
    divides a range of rows.
    """
    known = of_column(index_entries(store, snapshot), field.id, (index_type,))
    done = covered(e.file for e in known)
    buckets: dict[BucketKey, list[DataFileMeta]] = defaultdict(list)
    for entry in live_files(store, snapshot, partitions).values():
        buckets[entry.partition, entry.bucket].append(entry.file)
    for bucket, files in sorted(buckets.items()):
        ranges = row_ranges(files)
        for whole in without(joined((r.first, r.first + r.count) for r in ranges), done):
            for start, end in pieces(whole):
                within = (r for r in ranges if r.first < end and start < r.first + r.count)
                state = BucketState(*bucket, -1, tuple(f for r in within for f in r.all_files))
                yield IndexTask(state, start, end)


def indexed_values(store: TableStore, field: DataField, task: IndexTask) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
    """Return the column of a task's rows, including deleted rows, and the rows' numbers, counted from the task's
    `start`.
    """
    start, end, bucket = task.start, task.end, task.bucket
    reader = EvolvedFiles(store, store.bucket_dir(*bucket.key), (field,))
    chunks, numbers = list[pa.Array](), list[NDArray[np.int64]]()
    for rows in row_ranges(bucket.files):
        row_id = rows.first
        for batch in reader.whole(rows):
            low, high = max(start, row_id), min(end, row_id + batch.num_rows)
            if low < high:
                chunks.append(batch.column(0).slice(low - row_id, high - low))
                numbers.append(np.arange(low - start, high - start, dtype=np.int64))
            row_id += batch.num_rows
    return pa.chunked_array(chunks, arrow_type(field.type)), np.concatenate(numbers)


def shards(store: TableStore, span: RowSpan) -> Iterator[RowSpan]:
    """Divide a range of rows evenly among index files."""
    start, end = span
    rows, most = (store.options[o] for o in (GLOBAL_INDEX_ROWS_PER_SHARD, GLOBAL_INDEX_BUILD_MAX_SHARD))
    count = max(1, min(-(-(end - start) // rows), most))
    bounds = [start + (end - start) * i // count for i in range(count + 1)]
    return zip(bounds, bounds[1:], strict=False)
