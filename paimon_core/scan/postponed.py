"""`postpone.merge-on-read`: rows of the postponed bucket are read together with rows that have a bucket.

A reader does not need the future bucket of a postponed row. So a partition with such rows is one split, and in it
postponed rows are newer than all others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import int64_array
from paimon_core.arrow.types import SEQUENCE_NUMBER
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.merge import MergeSpec, merge_rows, merge_runs
from paimon_core.lsm.rows import concat_batches
from paimon_core.lsm.runs import SortedRun, sections
from paimon_core.options import BUCKET, POSTPONE_MERGE_ON_READ, POSTPONED
from paimon_core.spec.manifest import BucketKey, ManifestEntry
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.split import DataSplit, DeletionFile, SplitKind
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.lsm.diff import shared_words
    from paimon_core.store.data.postponed_files import arrival_order
else:
    arrival_order = ImportedOnCall("paimon_core.store.data.postponed_files", "arrival_order")
    shared_words = ImportedOnCall("paimon_core.lsm.diff", "shared_words")

Partitions = dict[bytes, list[ManifestEntry]]


def partitions_with_postponed_rows(store: TableStore, live: Iterable[ManifestEntry]) -> Partitions:
    """Return all files of the partitions that have postponed rows.

    Return no partitions if readers do not see such rows.
    """
    if store.options[BUCKET] != POSTPONED or not store.options[POSTPONE_MERGE_ON_READ]:
        return {}
    found: Partitions = defaultdict(list)
    for entry in live:
        found[entry.partition].append(entry)
    return {p: entries for p, entries in found.items() if any(e.bucket == POSTPONED for e in entries)}


def postponed_splits(
    store: TableStore, partitions: Partitions, vectors: Mapping[BucketKey, Mapping[str, DeletionFile]]
) -> Iterator[DataSplit]:
    """Yield a split per partition. Its `before` are the files of postponed rows, its `files` are all others, with their
    full paths.
    """
    for partition, entries in partitions.items():
        with_bucket = [e for e in entries if e.bucket != POSTPONED]
        folders = {e.bucket: store.bucket_dir(partition, e.bucket) for e in with_bucket}
        found = [vectors[partition, e.bucket].get(e.file.file_name) for e in with_bucket]
        yield DataSplit(
            partition=partition,
            bucket=POSTPONED,
            bucket_dir=store.bucket_dir(partition, POSTPONED),
            files=tuple(replace(e.file, external_path=data_file_path(folders[e.bucket], e.file)) for e in with_bucket),
            needs_merge=True,
            deletions=tuple(d for d in found if d is not None),
            kind=SplitKind.POSTPONED,
            before=tuple(arrival_order(e.file for e in entries if e.bucket == POSTPONED)),
        )


def merge_with_postponed(files: BucketFiles, split: DataSplit, spec: MergeSpec) -> Iterator[pa.RecordBatch]:
    """Merge the rows of a split of `postponed_splits`. Postponed rows are sorted in memory."""
    parts = sections(split.files, [f.type for f in files.store.schema.key_fields])
    runs = [files.read(run.files) for run in _chained(parts)]
    postponed = _postponed_run(files, split, spec)
    yield from merge_runs([*runs, iter([postponed])] if postponed is not None else runs, spec)


def _chained(parts: list[list[SortedRun]]) -> Iterator[SortedRun]:
    """Combine runs of all sections into long runs: sections follow one another by key."""
    for i in range(max(map(len, parts), default=0)):
        yield SortedRun(tuple(f for runs in parts if i < len(runs) for f in runs[i].files))


def _postponed_run(files: BucketFiles, split: DataSplit, spec: MergeSpec) -> pa.RecordBatch | None:
    """Return the postponed rows as one sorted run. Their sequence numbers are above the numbers of all other rows."""
    batches = [b for b in replace(files, deletions={}).read(split.before) if b.num_rows]
    if not batches:
        return None
    rows = concat_batches(batches)
    start = 1 + max((f.max_sequence_number for f in split.files), default=-1)
    column = rows.schema.get_field_index(SEQUENCE_NUMBER)
    numbers = int64_array(np.arange(start, start + rows.num_rows, dtype=np.int64))
    rows = rows.set_column(column, rows.schema.field(column), numbers)
    (key,) = shared_words([rows], spec.key_names)
    return merge_rows(rows, key, replace(spec, drop_delete=False))
