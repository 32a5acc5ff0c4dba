"""Read the rows of a split: as they are in the files, or merged by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_core.arrow.types import FILE_PATH, ROW_INDEX, arrow_schema
from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import Predicate, only_on
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import DATA_EVOLUTION, PK_CLUSTERING_OVERRIDE
from paimon_core.scan.merged import merged_rows
from paimon_core.scan.metadata_columns import metadata_column, metadata_fields
from paimon_core.scan.pruning.files import FileFilter
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.spec.split import DataSplit, SplitKind
from paimon_core.spec.types import DataField, cheap_field
from paimon_core.store.blob.columns import described_columns, form_of_blobs, viewed_columns
from paimon_core.store.data.bucket_files import BucketFiles, read_ahead
from paimon_core.store.data.row_tracking import readable_fields
from paimon_core.store.named_files import files_of
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.indexes.global_index.grouped_rows import decode_row_ids
    from paimon_core.scan.blob_views import with_viewed
    from paimon_core.scan.changes.read import read_changes
    from paimon_core.scan.described_blobs import with_values
    from paimon_core.store.branches import open_lending_branch
    from paimon_core.store.data.evolved_files import EvolvedFiles
else:
    decode_row_ids = ImportedOnCall("paimon_core.indexes.global_index.grouped_rows", "decode_row_ids")
    with_values = ImportedOnCall("paimon_core.scan.described_blobs", "with_values")
    with_viewed = ImportedOnCall("paimon_core.scan.blob_views", "with_viewed")
    read_changes = ImportedOnCall("paimon_core.scan.changes.read", "read_changes")
    open_lending_branch = ImportedOnCall("paimon_core.store.branches", "open_lending_branch")
    EvolvedFiles = ImportedOnCall("paimon_core.store.data.evolved_files", "EvolvedFiles")


def read_split(
    store: TableStore, split: DataSplit, columns: Sequence[str], predicate: Predicate | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split, as batches of the named columns (one or more), in that order.

    The conjuncts of `predicate` on these columns, except BLOB columns, filter the rows. Rows that do not match may
    still be included. Raises `DataFileMissingError`, `CorruptFileError`, `StorageError`.
    """
    if split.branch:
        store = open_lending_branch(store, split.branch).with_options(form_of_blobs(store.options))
    store = read_ahead(store, split.bucket_dir, split.files)
    with files_of(store):
        yield from with_blobs(store, _with_metadata_columns(store, split, columns, predicate), columns)


def with_blobs(
    store: TableStore, batches: Iterator[pa.RecordBatch], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Return rows with the values to which descriptors and views in BLOB columns refer. Raises the errors of
    `with_values` and `with_viewed`."""
    described = described_columns(store, columns)
    found = with_values(store, batches, described) if described else batches
    viewed = viewed_columns(store, columns)
    return with_viewed(store, found, viewed, read_split) if viewed else found


def _with_metadata_columns(
    store: TableStore, split: DataSplit, columns: Sequence[str], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    """The rows with the requested metadata columns."""
    extra = {f.name: f for f in metadata_fields(store.schema) if f.name in columns}
    if not extra:
        yield from _rows(store, split, columns, predicate)
        return
    any_column = cheap_field(store.schema.fields).name
    plain = [c for c in columns if c not in extra] or [any_column]
    by_file = extra.keys() & {FILE_PATH, ROW_INDEX}
    parts = _by_file(store, split, plain) if by_file else ((b, "") for b in _rows(store, split, plain, predicate))
    usable = only_on(predicate, plain) if predicate else None
    condition = to_arrow(usable, arrow_schema(readable_fields(store, plain))) if usable else None
    for batch, path in parts:
        rows = batch if condition is None else condition.filter(batch)
        if rows.num_rows:
            made = {n: metadata_column(f, store.schema, split, path, rows) for n, f in extra.items()}
            arrays = [made[c] if c in extra else rows.column(c) for c in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _rows(
    store: TableStore, split: DataSplit, columns: Sequence[str], predicate: Predicate | None
) -> Iterator[pa.RecordBatch]:
    fields = readable_fields(store, columns)
    usable = only_on(predicate, columns) if predicate else None
    deletes = any(f.delete_row_count != 0 for f in split.files)
    batches: Iterator[pa.RecordBatch]
    counted = split.needs_merge and store.schema.counts_equal_rows
    # Files without key order are compacted: each key has only one row, or a delete.
    unordered = deletes and store.has_primary_key and store.options[PK_CLUSTERING_OVERRIDE]
    if counted or unordered or split.kind in (SplitKind.CHANGES, SplitKind.DIFFERENCE):
        batches = (b.select(list(columns)) for b in read_changes(store, split, columns, usable, retracts=False))
    elif store.has_primary_key and (split.needs_merge or deletes):
        batches = merged_rows(store, split, fields, usable)
    else:
        batches = _reader(store, split, fields, predicate, usable).read(split.files)
    condition = to_arrow(usable, arrow_schema(fields)) if usable else None
    for batch in batches:
        rows = batch if condition is None else condition.filter(batch)
        if rows.num_rows:
            yield rows


def _reader(
    store: TableStore,
    split: DataSplit,
    fields: tuple[DataField, ...],
    predicate: Predicate | None,
    usable: Predicate | None,
) -> EvolvedFiles | BucketFiles:
    """Return the reader for files that need no merge by key. It reads only rows that indexes keep."""
    if store.options[DATA_EVOLUTION]:
        row_ids = decode_row_ids("<split>", split.row_ids) if split.row_ids else None
        return EvolvedFiles(store, split.bucket_dir, fields, usable, split.deletions_by_file, row_ids)
    selection = None
    if predicate is not None:
        selection = partial(FileFilter(store, predicate).rows_of, split.bucket_dir, positional=True)
    return BucketFiles(store, split.bucket_dir, fields, usable, split.deletions_by_file, selection, lenient=True)


def _by_file(store: TableStore, split: DataSplit, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, str]]:
    """Yield all rows of a split that needs no merge, with their positions and the path of their file.

    With data evolution, positions count from the first row of a range, and the file is the range's anchor, which
    deletion vectors name.
    """
    fields = readable_fields(store, columns)
    if store.options[DATA_EVOLUTION]:
        row_ids = decode_row_ids("<split>", split.row_ids) if split.row_ids else None
        evolved = EvolvedFiles(store, split.bucket_dir, fields, None, split.deletions_by_file, row_ids)
        for rows in row_ranges(split.files):
            path = data_file_path(split.bucket_dir, rows.anchor)
            yield from ((batch, path) for batch in evolved.read_numbered(rows))
        return
    reader = BucketFiles(store, split.bucket_dir, fields, deletions=split.deletions_by_file)
    for file in split.files:
        path = data_file_path(split.bucket_dir, file)
        for batch in reader.read_numbered(file):
            yield batch, path
