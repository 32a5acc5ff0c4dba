"""Row-level changes of tables with data evolution: only the changed columns of updated rows are written.

The new values of a row range go to one file, together with the old values of its other rows. The new values of a BLOB
column go to a file of their own; older files keep the other values. Rows keep their ids. Deleted rows are recorded by
position, new rows go to new files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import fixed_values, int64_array, with_values
from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, VALUE_KIND
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, InvalidDataError, SeveralMatchesError
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.io.failure import on_failure
from paimon_core.lazy import cached_property
from paimon_core.lsm.rows import ROW_DELETE, concat_batches
from paimon_core.row_level.removed_rows import RemovedRows
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.row_ranges import RowRange, row_ranges
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.blob.columns import blob_file_fields
from paimon_core.store.data.evolved_files import EvolvedFiles
from paimon_core.store.data.vector_parts import vector_file_fields
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.write.append import AppendWriter
from paimon_core.write.compaction.row_ranges import ONE_FILE
from paimon_core.write.files.blob_files import BlobColumnWriter
from paimon_core.write.files.data_files import DataFileWriter, FileRole, target_file_size
from paimon_core.write.files.new_paths import NewPaths
from paimon_core.write.rows.incoming import SEVERAL_MATCHES, conform_fields


@dataclass(frozen=True, slots=True)
class ColumnUpdates:
    """The columns that the tasks of one statement write, and the latest version before the statement read rows.

    Since that version, no other commit may have written these columns of the same rows."""

    columns: tuple[str, ...]
    snapshot: Snapshot | None


@dataclass(frozen=True)
class _Ranges:
    """The row ranges of the version that was read and of the latest version, by the path of the anchor file."""

    store: TableStore
    snapshot: Snapshot | None

    def find(self, path: str) -> tuple[BucketKey, RowRange]:
        """Find a range. Raises `CommitConflictError` if neither version has it."""
        # A compaction may have replaced the range before rows were read.
        found = self._before.get(path) or self._latest.get(path)
        if found is None:
            raise CommitConflictError(
                f"Table {self.store.name}: another commit moved the rows of file {path} while they were changed. "
                "Nothing was committed; run the statement again."
            )
        return found

    @cached_property
    def _before(self) -> dict[str, tuple[BucketKey, RowRange]]:
        return self._by_path(self.snapshot)

    @cached_property
    def _latest(self) -> dict[str, tuple[BucketKey, RowRange]]:
        return self._by_path(latest_snapshot(self.store))

    def _by_path(self, snapshot: Snapshot | None) -> dict[str, tuple[BucketKey, RowRange]]:
        buckets: dict[BucketKey, list[DataFileMeta]] = {}
        for entry in live_files(self.store, snapshot).values():
            buckets.setdefault((entry.partition, entry.bucket), []).append(entry.file)
        return {
            data_file_path(self.store.bucket_dir(*bucket), rows.anchor): (bucket, rows)
            for bucket, files in buckets.items()
            for rows in row_ranges(files)
        }


class EvolvedChangesWriter:
    """Writes the changes of one task: `_VALUE_KIND`, file, position and id of the changed row, and the new row.

    Changes must be sorted by file and position, and all changes of a range must go to one task. The file of a change is
    the range's anchor file, which gets the deletion vector of the range. The position counts rows of the range.
    """

    def __init__(self, store: TableStore, updates: ColumnUpdates, once: bool):
        self._store, self._updates = store, updates
        self._new, self._ranges = AppendWriter(store, 0), _Ranges(store, updates.snapshot)
        self._touched, self.removed = RemovedRows(once=once), RemovedRows(once=False)
        self._path, self._buffer = "", list[pa.RecordBatch]()
        self._finished: set[str] = set()
        self._messages: list[CommitMessage] = []

    def write(self, batch: pa.RecordBatch) -> None:
        exists = batch.column(FILE_PATH).is_valid()
        changed, new = batch.filter(exists), batch.filter(pc.invert(exists))
        if new.num_rows:
            self._new.write(new.drop_columns([VALUE_KIND, FILE_PATH, ROW_INDEX, ROW_ID]))
        if not changed.num_rows:
            return
        self._touched.add(changed.column(FILE_PATH), changed.column(ROW_INDEX))
        deletes = fixed_values(changed.column(VALUE_KIND), np.int8) == ROW_DELETE
        deleted = changed.take(int64_array(np.flatnonzero(deletes)))
        if deleted.num_rows:
            self.removed.add(deleted.column(FILE_PATH), deleted.column(ROW_INDEX))
        for path, rows in _by_path(changed.take(int64_array(np.flatnonzero(~deletes)))):
            if path != self._path:
                self._flush()
                self._path = path
            self._buffer.append(rows.select([ROW_INDEX, *self._updates.columns]))

    def finish(self) -> list[CommitMessage]:
        self._flush()
        return [*self._messages, *self._new.finish()]

    def abort(self) -> None:
        self._new.abort()
        for message in self._messages:
            for file in message.new_files:
                self._store.io.delete(data_file_path(self._store.bucket_dir(message.partition, message.bucket), file))

    def _flush(self) -> None:
        """Write the columns of the range once all its changes have arrived."""
        if not self._buffer:
            return
        if self._path in self._finished:
            raise InvalidDataError(f"The changes of rows of file {self._path} do not come one after the other.")
        self._finished.add(self._path)
        (partition, bucket), rows = self._ranges.find(self._path)
        files = _write_columns(self._store, self._store.bucket_dir(partition, bucket), rows, self._changes())
        base = self._updates.snapshot.id if self._updates.snapshot is not None else 0
        self._messages.append(
            CommitMessage(partition=partition, bucket=bucket, total_buckets=-1, new_files=files, rows_base=base)
        )

    def _changes(self) -> pa.RecordBatch:
        """Return the changes of a range in the order of its rows. Raises `InvalidDataError` if a row changes twice."""
        fields = self._store.schema.select(self._updates.columns)
        rows, self._buffer = concat_batches(self._buffer), []
        positions = fixed_values(rows.column(ROW_INDEX), np.int64)
        order = np.argsort(positions, kind="stable")
        if (np.diff(positions[order]) == 0).any():
            raise SeveralMatchesError(SEVERAL_MATCHES)
        changes = conform_fields(rows, fields, self._store.zone)
        return changes.append_column(ROW_INDEX, rows.column(ROW_INDEX)).take(int64_array(order))


def _write_columns(
    store: TableStore, bucket_dir: str, rows: RowRange, changes: pa.RecordBatch
) -> tuple[DataFileMeta, ...]:
    """Write the files of a range with the columns of `changes`.

    They replace the values at the positions `ROW_INDEX`."""
    positions = fixed_values(changes.column(ROW_INDEX), np.int64)
    paths, blobs = NewPaths(store, bucket_dir), blob_file_fields(store.schema, store.options)
    target = target_file_size(store)
    changed = [BlobColumnWriter(store, f, paths, target) for f in blobs if f.name in changes.schema.names]
    apart = {f.name for f in vector_file_fields(store.schema, store.options)}
    given = [n for n in changes.schema.names if n != ROW_INDEX and n not in [b.name for b in changed]]
    names, vectors = (tuple(n for n in given if (n in apart) is of_vectors) for of_vectors in (False, True))
    writer = DataFileWriter(store.with_options(ONE_FILE), bucket_dir, FileRole(columns=names))
    vector_writer = DataFileWriter(store, bucket_dir, FileRole(columns=vectors, has_vectors=True))
    with ExitStack() as undo:
        for abort in (writer.abort, vector_writer.abort, *(blob.abort for blob in changed)):
            undo.enter_context(on_failure(abort))
        for of, merged in ((names, writer), (vectors, vector_writer)):
            if of:
                _write_merged(merged, EvolvedFiles(store, bucket_dir, store.schema.select(of)), rows, changes)
        for blob in changed:
            _write_blobs(blob, rows, positions, changes.column(blob.name))
        columns = [writer.finished, vector_writer.finished, *(blob.roll() for blob in changed)]
    return tuple(replace(f, first_row_id=first) for files in columns for f, first in _numbered(files, rows.first))


def _numbered(files: Sequence[DataFileMeta], first: int) -> Iterator[tuple[DataFileMeta, int]]:
    """Yield the adjacent files of a column, with the id of the first row of each file."""
    starts = accumulate((f.row_count for f in files), initial=first)
    return zip(files, starts, strict=False)


def _write_merged(writer: DataFileWriter, old: EvolvedFiles, rows: RowRange, changes: pa.RecordBatch) -> None:
    """Write columns of all rows of a range, with the new values at their positions."""
    positions = fixed_values(changes.column(ROW_INDEX), np.int64)
    for batch in with_values(old.whole(rows), positions, changes.select([f.name for f in old.fields])):
        writer.write(batch)
    writer.roll()


def _write_blobs(writer: BlobColumnWriter, rows: RowRange, positions: Positions, values: pa.Array) -> None:
    """Write the new values of a BLOB column at their positions in a range, and mark the other rows as not written."""
    changed = np.zeros(rows.count, dtype=np.bool_)
    changed[positions] = True
    writer.write(values.take(int64_array(np.cumsum(changed) - 1, changed)), changed)


def _by_path(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Divide rows into consecutive runs with the same file."""
    if not batch.num_rows:
        return
    encoded = batch.column(FILE_PATH).dictionary_encode()
    codes, paths = fixed_values(encoded.indices, np.int32), encoded.dictionary.to_pylist()
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), batch.num_rows], strict=True):
        yield paths[codes[start]], batch.slice(start, end - start)
