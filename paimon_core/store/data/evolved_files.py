"""Read tables with data evolution: combine the columns of each row range from the range's files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from paimon_core.arrow.columns import int64_array, rows_at, without_rows
from paimon_core.arrow.evolution import missing_column
from paimon_core.arrow.types import ROW_ID, ROW_INDEX, SEQUENCE_NUMBER, TRACKING_NAMES, arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError
from paimon_core.expressions.predicate import Predicate
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.indexes.file_index.cursor import Rows
from paimon_core.indexes.global_index.grouped_rows import RowIds
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.row_ranges import RowRange, is_blob, row_ranges
from paimon_core.spec.split import DeletionFile
from paimon_core.spec.types import DataField
from paimon_core.store.blob.row_ranges import blob_column
from paimon_core.store.data.bucket_files import BucketFiles, numbered
from paimon_core.store.data.vector_parts import Piece, pieces_of
from paimon_core.store.file_fields import fields_of_file
from paimon_core.store.indexes.index_files import read_deletions
from paimon_core.store.partitions import partition_value
from paimon_core.store.table_store import TableStore


@dataclass(frozen=True, slots=True)
class EvolvedFiles:
    """A reader of some columns of a bucket's files. It leaves out deleted rows.

    `deletions` are the deletion vectors by the name of the anchor file of each range. Only rows with the
    ids `row_ids` are read, or all rows for None.
    """

    store: TableStore
    bucket_dir: str
    fields: tuple[DataField, ...]
    predicate: Predicate | None = None
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    row_ids: RowIds | None = None

    def read(self, files: Sequence[DataFileMeta]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files, one range after another. Raises the same errors as `BucketFiles.read`."""
        for rows in row_ranges(files):
            chosen = self._chosen(rows)
            if rows.is_plain and (chosen is None or not self._tracks):
                plain = BucketFiles(self.store, self.bucket_dir, self.fields, self.predicate, self.deletions)
                if chosen is not None:
                    plain = replace(plain, selection=partial(_same_positions, BitMap(chosen.astype(np.uint32))))
                yield from plain.read(rows.files)
            elif chosen is None:
                yield from self._undeleted(rows, self.whole(rows))
            else:
                yield from self.whole(rows, np.setdiff1d(chosen, self._deleted(rows), assume_unique=True))

    def read_numbered(self, rows: RowRange) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range, with their positions from 0 in a last column, `ROW_INDEX`.

        Raises the same errors as `read`.
        """
        batches, chosen = self._undeleted(rows, numbered(self.whole(rows))), self._chosen(rows)
        if chosen is None:
            return batches
        return (b.filter(pa.array(np.isin(b.column(ROW_INDEX).to_numpy(), chosen))) for b in batches)

    @property
    def _tracks(self) -> bool:
        return any(f.name in TRACKING_NAMES for f in self.fields)

    def whole(self, rows: RowRange, positions: Positions | None = None) -> Iterator[pa.RecordBatch]:
        """Yield all rows of a range in order, including deleted rows, or only the rows at ascending `positions`."""
        own = [f for f in self.fields if f.name not in TRACKING_NAMES]
        parts = {f: [p for p in rows.parts if holds(self.store, p, f)] for f in own}
        blobs = [(f, of) for f, of in parts.items() if of and is_blob(of[0])]
        vectors = pieces_of(self.store, rows, [f for f, of in parts.items() if of and not is_blob(of[0])])
        held = _newest_holders(self.store, rows.files, [f for f in own if not parts[f]])
        version = (held[0][0] if held else rows.anchor if own else rows.files[0]).max_sequence_number
        any_column = [(rows.anchor, fields_of_file(self.store, rows.anchor)[:1])]
        sources = held if held or vectors else any_column
        chosen = None if positions is None else partial(_same_positions, BitMap(positions.astype(np.uint32)))
        readers = ((BucketFiles(self.store, self.bucket_dir, of, selection=chosen), file) for file, of in sources)
        streams = [reader.read([file]) for reader, file in readers]
        values = (blob_column(self.store, self.bucket_dir, rows, files, field) for field, files in blobs)
        streams += values if positions is None else (rows_at(v, positions) for v in values)
        streams += [self._vectors(pieces, of, positions) for pieces, of in vectors.items()]
        target, start = arrow_schema(self.fields), 0
        for together in _side_by_side(streams, rows, rows.count if positions is None else len(positions)):
            found = {name: batch.column(name) for batch in together for name in batch.schema.names}
            count = together[0].num_rows
            part = slice(start, start + count)
            at = np.arange(part.start, part.stop, dtype=np.int64) if positions is None else positions[part]
            found[ROW_ID] = int64_array(rows.first + at)
            found[SEQUENCE_NUMBER] = int64_array(np.full(count, version, dtype=np.int64))
            arrays = [found[f.name] if f.name in found else self._missing(f, count) for f in target]
            yield pa.RecordBatch.from_arrays(arrays, schema=target)
            start += count

    def _vectors(
        self, pieces: Sequence[Piece], fields: Sequence[DataField], positions: Positions | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield VECTOR columns of all rows of a range, or of the rows at `positions`, from files of their own."""
        for piece in pieces:
            if positions is not None:
                wanted = positions[np.searchsorted(positions, piece.start) : np.searchsorted(positions, piece.end)]
            else:
                wanted = np.arange(piece.start, piece.end, dtype=np.int64)
            is_whole = positions is None and len(wanted) == piece.file.row_count
            chosen = BitMap((wanted - piece.first).astype(np.uint32))
            selection = None if is_whole else partial(_same_positions, chosen)
            yield from BucketFiles(self.store, self.bucket_dir, tuple(fields), selection=selection).read([piece.file])

    def _missing(self, column: pa.Field, count: int) -> pa.Array:
        """Return a column that no file has: the value of a partition column, or NULL. Files of changed columns have
        no partition columns."""
        keys, default = self.store.schema.partition_fields, self.store.options[PARTITION_DEFAULT_NAME]
        value = partition_value(keys, self.bucket_dir, default, column.name)
        return missing_column(value, count, column.type)

    def _undeleted(self, rows: RowRange, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return without_rows(batches, deleted) if len(deleted := self._deleted(rows)) else batches

    def _deleted(self, rows: RowRange) -> Positions:
        deletion = self.deletions.get(rows.anchor.file_name)
        if deletion is None:
            return np.zeros(0, dtype=np.int64)
        return read_deletions(self.store, deletion, rows.count)

    def _chosen(self, rows: RowRange) -> Positions | None:
        """Return the positions of the wanted rows in a range, or None if all rows are wanted."""
        if self.row_ids is None:
            return None
        within = RowIds()
        within.add_range(rows.first, rows.first + rows.count)
        return np.asarray((within & self.row_ids).to_array()).astype(np.int64) - rows.first


def _same_positions(positions: Rows, _: DataFileMeta) -> Rows:
    return positions


def holds(store: TableStore, file: DataFileMeta, column: DataField) -> bool:
    """Return whether a file has a column of the table."""
    return any(f.id == column.id for f in fields_of_file(store, file))


def _newest_holders(
    store: TableStore, files: Iterable[DataFileMeta], wanted: Iterable[DataField]
) -> list[tuple[DataFileMeta, tuple[DataField, ...]]]:
    """Return the files from which to read the columns, newest first, with the columns to read from each file."""
    pending, found = list(wanted), []
    for file in files:
        own = tuple(f for f in pending if holds(store, file, f))
        if own:
            found.append((file, own))
            pending = [f for f in pending if f not in own]
    return found


def _side_by_side(
    streams: Sequence[Iterator[pa.RecordBatch]], rows: RowRange, expected: int
) -> Iterator[tuple[pa.RecordBatch, ...]]:
    """Yield batches of the same rows, one batch from each stream.

    Raises `CorruptFileError` if streams differ in length.
    """
    heads: list[pa.RecordBatch | None] = [None] * len(streams)
    total = 0
    while True:
        for i, stream in enumerate(streams):
            if heads[i] is None:
                heads[i] = next((b for b in stream if b.num_rows), None)
        there = [h for h in heads if h is not None]
        if not there:
            break
        if len(there) < len(streams):
            raise _shorter(rows)
        count = min(h.num_rows for h in there)
        yield tuple(h.slice(0, count) for h in there)
        heads = [h.slice(count) if h.num_rows > count else None for h in there]
        total += count
    if total != expected:
        raise _shorter(rows)


def _shorter(rows: RowRange) -> CorruptFileError:
    names = " or ".join(f.file_name for f in rows.all_files)
    return CorruptFileError(names, f"it does not have the {rows.count} rows of its metadata")
