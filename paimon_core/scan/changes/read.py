"""Read a split as changes: the columns, with the sequence number and the row kind of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values, int64_array
from paimon_core.arrow.types import VALUE_KIND, arrow_schema, key_value_fields
from paimon_core.expressions.predicate import Predicate, only_on
from paimon_core.lsm.diff import difference
from paimon_core.lsm.merge import key_windows
from paimon_core.lsm.rows import ROW_DELETE, is_retract
from paimon_core.options import DATA_EVOLUTION, PK_CLUSTERING_OVERRIDE
from paimon_core.scan.counted import counted_changes
from paimon_core.scan.merged import SYSTEM_COLUMNS, merged_rows
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import DataField
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.evolved_files import EvolvedFiles
from paimon_core.store.indexes.index_files import read_deletions
from paimon_core.store.table_store import TableStore


def read_changes(
    store: TableStore, split: DataSplit, columns: Sequence[str], predicate: Predicate | None, *, retracts: bool
) -> Iterator[pa.RecordBatch]:
    """Yield batches of the named columns, then `SYSTEM_COLUMNS`. With `retracts`, -U and -D rows are included.

    A split of a version, without changes, yields the rows of the version, and its deleted rows as -D if files have
    them. Rows that do not match `predicate` may be included. Raises `DataFileMissingError`, `CorruptFileError`,
    `StorageError`.
    """
    fields = store.schema.select(tuple(columns))
    if store.options[DATA_EVOLUTION]:
        evolved = EvolvedFiles(store, split.bucket_dir, fields, predicate, split.deletions_by_file)
        batches = _with_kinds(evolved.read(split.files), fields, 0, 0)
    elif store.schema.counts_equal_rows:
        batches = counted_changes(store, split, fields, predicate)
    elif not store.has_primary_key:
        # Only logs show sequence numbers. There, every row of a file must count.
        batches = _append_changes(store, split, fields, None if retracts else predicate)
    elif split.kind is SplitKind.DIFFERENCE:
        batches = _compared(store, split, fields, predicate)
    elif split.kind is SplitKind.CHANGES or store.options[PK_CLUSTERING_OVERRIDE]:
        batches = _stored(store, split, fields, predicate)
    else:
        batches = merged_rows(store, split, fields, predicate, with_deletes=True)
    for batch in batches:
        rows = batch if retracts else _without_retracts(batch)
        if rows.num_rows:
            yield rows


def _stored(
    store: TableStore, split: DataSplit, fields: Sequence[DataField], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files in order, without deleted rows."""
    system = [f for f in key_value_fields((), ()) if f.name in SYSTEM_COLUMNS]
    files = BucketFiles(store, split.bucket_dir, (*fields, *system), predicate, split.deletions_by_file, lenient=True)
    yield from files.read(split.files)


def _append_changes(
    store: TableStore, split: DataSplit, fields: Sequence[DataField], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files without row kinds.

    They are inserted, or deleted if only the earlier version has their file.
    """
    files = BucketFiles(store, split.bucket_dir, tuple(fields), predicate, split.deletions_by_file, lenient=True)
    old = {f.file_name: f for f in split.before}
    new = {f.file_name: f for f in split.files}
    yield from _numbered(files, [f for f in split.files if f.file_name not in old], 0)
    earlier = replace(files, deletions={d.vector.data_file: d for d in split.before_deletions})
    yield from _numbered(earlier, [f for f in split.before if f.file_name not in new], ROW_DELETE)
    for name in old.keys() & new.keys():
        yield from _newly_deleted(files, earlier, new[name])


def _newly_deleted(after: BucketFiles, before: BucketFiles, file: DataFileMeta) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that the later version marks as deleted and the earlier version does not."""
    deletion, known = after.deletions.get(file.file_name), before.deletions.get(file.file_name)
    if deletion is None:
        return
    deleted = read_deletions(after.store, deletion, file.row_count)
    if known is not None:
        deleted = np.setdiff1d(deleted, read_deletions(after.store, known, file.row_count))
    whole, start = replace(after, deletions={}, predicate=None), 0
    for batch in _numbered(whole, [file], ROW_DELETE):
        low, high = np.searchsorted(deleted, (start, start + batch.num_rows))
        yield batch.take(int64_array(deleted[low:high] - start))
        start += batch.num_rows


def _numbered(files: BucketFiles, read: Sequence[DataFileMeta], kind: int) -> Iterator[pa.RecordBatch]:
    for file in read:
        yield from _with_kinds(files.read([file]), files.fields, file.min_sequence_number, kind)


def _with_kinds(
    batches: Iterator[pa.RecordBatch], fields: Sequence[DataField], number: int, kind: int
) -> Iterator[pa.RecordBatch]:
    """Yield rows of one kind, numbered from `number` on."""
    schema = arrow_schema([*fields, *key_value_fields((), ())])
    for batch in batches:
        numbers = int64_array(np.arange(number, number + batch.num_rows, dtype=np.int64))
        kinds = pa.array(np.full(batch.num_rows, kind, dtype=np.int8))
        number += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, numbers, kinds], schema=schema)


def _compared(
    store: TableStore, split: DataSplit, fields: Sequence[DataField], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that differ between two versions.

    All columns are compared; only the requested columns are returned.
    """
    keys, names = store.schema.trimmed_primary_keys, [f.name for f in fields]
    compared = tuple(f.name for f in store.schema.fields if f.name not in keys)
    on_keys = only_on(predicate, keys) if predicate else None
    earlier = replace(split, files=split.before, deletions=split.before_deletions)
    states = [merged_rows(store, s, store.schema.fields, on_keys, with_deletes=True) for s in (earlier, split)]
    empty = pa.RecordBatch.from_pylist([], schema=arrow_schema([*store.schema.fields, *key_value_fields((), ())]))
    for window in key_windows(states, keys):
        sides = dict(window)
        changed = difference(sides.get(0, empty), sides.get(1, empty), keys, compared)
        yield changed.select([*names, *SYSTEM_COLUMNS])


def _without_retracts(batch: pa.RecordBatch) -> pa.RecordBatch:
    retract = is_retract(fixed_values(batch.column(VALUE_KIND), np.int8))
    return batch.take(int64_array(np.flatnonzero(~retract))) if retract.any() else batch
