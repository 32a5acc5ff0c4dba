"""Move rows to other buckets: postponed rows get a bucket, and a rescale divides the rows of a bucket again.

A task reads files of one bucket in order and writes level-0 files of other buckets. Postponed rows get sequence numbers
in the order in which they are read, above all numbers in the table; the ranges are assigned before the tasks start.
Rows that already have a bucket keep their sequence numbers. So if a statement begins before a rescale and commits after
it, its rows are still younger than the rows that it read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.jobs import Job, Measure
from paimon_core.lsm.runs import sections
from paimon_core.options import BUCKET, POSTPONED, SPLIT_TARGET_SIZE
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import BUCKET_STATE, WRITE_RESULT, BucketState, WriteResult
from paimon_core.spec.records import Column, Record
from paimon_core.store.data.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.data.postponed_files import arrival_order
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.file_fields import file_fields
from paimon_core.store.indexes.index_files import vectors_by_file
from paimon_core.store.table_store import TableStore
from paimon_core.write.append import AppendWriter
from paimon_core.write.key_value import KeyValueWriter
from paimon_core.write.rows.incoming import as_stored
from paimon_core.write.writer import written


@dataclass(frozen=True, slots=True)
class Route:
    """A task: distribute the rows of `source` among the `buckets` buckets of its partition. Rows without sequence
    numbers are numbered from `start` on."""

    source: BucketState
    buckets: int
    start: int


ROUTE = Record(
    "route",
    Route,
    (
        Column("source", "source", record=BUCKET_STATE),
        Column("buckets", "buckets", "int"),
        Column("start", "start", "long"),
    ),
)


def routes(store: TableStore, sources: Iterable[BucketState], buckets: Mapping[bytes, int], start: int) -> list[Route]:
    """Return the tasks for the buckets `sources`. `buckets` has the new number of buckets of each partition."""
    found = []
    for source in sources:
        for part in _parts(store, source):
            found.append(Route(part, buckets[source.partition], start))
            start += part.row_count
    return found


def route_job(store: TableStore, tasks: Iterable[Route]) -> Job[Route, WriteResult]:
    """Return the job that writes rows to their new buckets. Its results are messages for the new buckets."""
    tasks = tuple(tasks)
    size = sum(t.source.size for t in tasks)
    name, run = f"move rows of {store.name}", partial(_move, as_stored_times(store))
    return Job(name, run, ROUTE, WRITE_RESULT, tasks, size, measure=Measure("files", _files))


def _files(task: Route) -> int:
    return len(task.source.files)


def _move(store: TableStore, task: Route) -> WriteResult:
    target = as_stored(store).with_options({BUCKET.key: str(task.buckets)})
    rows = _rows(store, task.source)
    if not store.has_primary_key:
        return WriteResult(tuple(written(AppendWriter(target, task.start), rows)))
    start = task.start if task.source.bucket == POSTPONED else None
    return WriteResult(tuple(written(KeyValueWriter(target, start, counted=True), rows)))


def _rows(store: TableStore, source: BucketState) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a bucket: all rows in order, or one row of each key if the files are sorted."""
    deletions = vectors_by_file(store, source.key, source.vectors)
    files = BucketFiles(store, store.bucket_dir(*source.key), file_fields(store), deletions=deletions)
    if not store.has_primary_key or source.bucket == POSTPONED:
        yield from files.read(source.files)
        return
    spec = merge_spec(store, drop_delete=True)
    for section in sections(source.files, [f.type for f in store.schema.key_fields]):
        yield from merge_section(files, section, spec)


def _parts(store: TableStore, source: BucketState) -> Iterator[BucketState]:
    """Divide a bucket into pieces of about the size of a split, in order. A sorted bucket is not divided, because a key
    can be in several files."""
    if store.has_primary_key and source.bucket != POSTPONED:
        yield source
        return
    if source.bucket == POSTPONED:
        ordered = arrival_order(source.files)
    else:
        ordered = sorted(source.files, key=lambda f: f.min_sequence_number)
    group, size = list[DataFileMeta](), 0
    for file in ordered:
        if group and size + file.file_size > store.options[SPLIT_TARGET_SIZE]:
            yield replace(source, files=tuple(group))
            group, size = [], 0
        group.append(file)
        size += file.file_size
    if group:
        yield replace(source, files=tuple(group))
