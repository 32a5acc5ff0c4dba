"""Write the rows of one bucket as data files with their metadata. A file ends at a size and a number of rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.arrow.columns import fixed_values
from paimon_core.arrow.types import KEY_PREFIX, SEQUENCE_NUMBER, VALUE_KIND, arrow_schema
from paimon_core.clock import metadata_now
from paimon_core.dataclass import dataclass
from paimon_core.formats.file_format import FormatWriter, WrittenFile
from paimon_core.formats.registry import block_bytes, file_ending, for_level, for_rows, for_vectors, write_format
from paimon_core.formats.stats import KEY_MODE, column_modes, value_stats
from paimon_core.lazy import ImportedOnCall
from paimon_core.lsm.rows import is_retract
from paimon_core.options import (
    DATA_FILE_THIN,
    FILE_INDEXES,
    ROW_TRACKING,
    STATS_DENSE_STORE,
    TARGET_FILE_ROW_NUM,
    TARGET_FILE_SIZE,
    VECTOR_TARGET_FILE_SIZE,
    TableOptions,
)
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import TO_BE_NUMBERED, DataFileMeta, FileSource
from paimon_core.spec.stats import EMPTY_STATS, UNKNOWN, ColumnStats, encode_stats
from paimon_core.store.blob.columns import blob_file_fields, descriptor_fields, view_fields
from paimon_core.store.blob.values import check_descriptors, check_views
from paimon_core.store.data.row_tracking import written_fields
from paimon_core.store.data.vector_parts import vector_file_fields
from paimon_core.store.external.paths import external_path
from paimon_core.store.file_fields import file_fields
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.new_paths import NewPaths
from paimon_core.write.files.packs import PackedColumns

if TYPE_CHECKING:
    from paimon_core.indexes.file_index.options import indexed_columns
    from paimon_core.write.files.blob_files import BlobColumnWriter
    from paimon_core.write.indexes.file_index import FileIndexBuilder, with_file_index
else:
    indexed_columns = ImportedOnCall("paimon_core.indexes.file_index.options", "indexed_columns")
    BlobColumnWriter = ImportedOnCall("paimon_core.write.files.blob_files", "BlobColumnWriter")
    FileIndexBuilder = ImportedOnCall("paimon_core.write.indexes.file_index", "FileIndexBuilder")
    with_file_index = ImportedOnCall("paimon_core.write.indexes.file_index", "with_file_index")

ROW_GROUP_ROWS = 1_000_000
ROW_GROUP_BYTES = 64 * 2**20
_MIB = 2**20
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRole:
    """The role of a writer's files: their level, the source of their rows, and in append tables the first sequence
    number.

    `columns` are the names of the files' columns, or None for all columns of the table. If `has_vectors`, they are
    VECTOR columns that get files of their own. `stored`: the rows were in the table before. Their BLOB values stay as
    they are: the values themselves, whatever their bytes are, or descriptors in tables with a primary key.
    """

    level: int = 0
    source: FileSource = FileSource.APPEND
    sequence_start: int = 0
    columns: tuple[str, ...] | None = None
    has_vectors: bool = False
    stored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """The metadata of the rows of a file. `unnumbered`: the commit gives the rows their sequence numbers."""

    min_key: bytes = EMPTY_ROW
    max_key: bytes = EMPTY_ROW
    min_sequence: int
    max_sequence: int
    deletes: int = 0
    unnumbered: int = 0

    def followed_by(self, more: _Contents) -> _Contents:
        return _Contents(
            min_key=self.min_key,
            max_key=more.max_key,
            min_sequence=min(self.min_sequence, more.min_sequence),
            max_sequence=max(self.max_sequence, more.max_sequence),
            deletes=self.deletes + more.deletes,
            unnumbered=self.unnumbered + more.unnumbered,
        )


def target_file_size(store: TableStore) -> int:
    """Return the size in bytes at which a file ends."""
    return store.options[TARGET_FILE_SIZE] or (128 if store.has_primary_key else 256) * _MIB


class DataFileWriter:
    """Writes the files of one bucket. Rows come as batches of `file_fields`, in key order if the table has a primary
    key.

    BLOB values go to separate files, and VECTOR columns by `vector.file.format`. In `finished`, the list of closed
    files, they follow their data file. `buffered` is the size in bytes of the rows that do not fill a row group yet.
    """

    def __init__(self, store: TableStore, bucket_dir: str, role: FileRole):
        self._store, self._role = store, role
        self._options = _options_of(store, role)
        fields = file_fields(store) if role.columns is None else written_fields(store, role.columns)
        self._incoming = arrow_schema(fields)
        blobs = [f for f in blob_file_fields(store.schema, store.options) if f in fields]
        blobs, packed = ([], blobs) if store.has_primary_key else (blobs, [])
        apart = () if role.has_vectors else vector_file_fields(store.schema, store.options)
        vectors = [f.name for f in apart if f in fields]
        fields = tuple(f for f in fields if f not in blobs and f.name not in vectors)
        self._write_cols = tuple(f.name for f in fields) if blobs or vectors else role.columns
        self._schema = arrow_schema(fields)
        self._columns = store.schema.fields if self._write_cols is None else fields
        self._described = [f for f in descriptor_fields(store.schema, store.options) if f in fields]
        self._viewed = [f for f in view_fields(store.schema, store.options) if f in fields]
        self._key_fields = fields[: len(store.schema.key_fields)] if store.has_primary_key else ()
        self._stored = fields[len(self._key_fields) :] if store.options[DATA_FILE_THIN] else fields
        self._modes = column_modes(self._options, self._columns)
        self._target, self._paths_to_come = target_file_size(store), NewPaths(store, bucket_dir)
        if role.has_vectors:
            self._target = store.options[VECTOR_TARGET_FILE_SIZE] or 10 * self._target
        self._own_ending = self._ending = file_ending(self._options)
        self._blobs = [BlobColumnWriter(store, f, self._paths_to_come, self._target, stored=role.stored) for f in blobs]
        self._packed = PackedColumns(store, packed, self._paths_to_come, self._target, stored=role.stored)
        of_vectors = replace(role, columns=tuple(vectors), has_vectors=True)
        self._vectors = DataFileWriter(store, bucket_dir, of_vectors) if vectors else None
        self._next_sequence = role.sequence_start
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = 0
        self._room = self._most_rows = store.options[TARGET_FILE_ROW_NUM]
        names = {f.name for f in self._columns}
        has_indexes = any(key.startswith(FILE_INDEXES) for key in store.options.values)
        declared = indexed_columns(store.options, store.schema) if has_indexes else ()
        self._indexed = [c for c in declared if c.field.name in names]
        self._index: FileIndexBuilder | None = None
        self._file: FormatWriter | None = None
        self._contents: _Contents | None = None
        self._paths: list[str] = []
        self.finished: list[DataFileMeta] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; full row groups are written."""
        if self._role.columns is not None:
            batch = pa.RecordBatch.from_arrays(batch.columns, schema=self._incoming)
        most_bytes = min(block_bytes(self._options) or ROW_GROUP_BYTES, self._target)
        step = min(ROW_GROUP_ROWS, max(1, most_bytes * batch.num_rows // max(batch.nbytes, 1)))
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, min(step, self._room))
            start += part.num_rows
            self._room -= part.num_rows
            part = self._without_parts(part)
            self._pending.append(part)
            self._pending_rows += part.num_rows
            self._pending_bytes += part.nbytes
            if not self._room:
                self.roll()
            elif self._pending_rows >= ROW_GROUP_ROWS or self._pending_bytes >= most_bytes:
                self.flush()

    @property
    def buffered(self) -> int:
        return self._pending_bytes + (0 if self._vectors is None else self._vectors.buffered)

    def flush(self) -> None:
        """Write the buffered rows as a row group, and end the file if it is large enough."""
        self._write_pending()
        if self._vectors is not None:
            self._vectors.flush()
        if self._file is not None and self._file.size >= self._target:
            self._close()

    def roll(self) -> None:
        """End the open file. The next rows begin a new file."""
        self._write_pending()
        self._close()
        self._packed.close()

    def abort(self) -> None:
        """Delete everything written, as far as possible."""
        if self._file is not None:
            self._file.abort()
            self._file = None
        for blob in self._blobs:
            blob.abort()
        self._packed.abort()
        if self._vectors is not None:
            self._vectors.abort()
        for path in self._paths:
            with suppress(OSError):
                self._store.io.delete(path)
        self._pending, self._pending_rows, self._pending_bytes, self.finished = [], 0, 0, []

    def _without_parts(self, part: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns of the data file. BLOB values are written immediately, so that they are not buffered;
        VECTOR columns with files of their own go to their writer."""
        if (self._described or self._viewed) and not self._role.stored:
            new = part
            if VALUE_KIND in part.schema.names:
                new = part.filter(pa.array(~is_retract(fixed_values(part.column(VALUE_KIND), np.int8))))
            for field in self._described:
                check_descriptors(field.name, new.column(field.name), self._store.root)
            for field in self._viewed:
                check_views(field.name, new.column(field.name))
        for blob in self._blobs:
            blob.write(part.column(blob.name))
        part = self._packed.packed(part)
        if self._vectors is not None:
            self._vectors.write(part.select(self._vectors._schema.names))
        return part.select(self._schema.names) if self._blobs or self._vectors is not None else part

    def _write_pending(self) -> None:
        if not self._pending_rows:
            return
        rows = pa.Table.from_batches(self._pending, schema=self._schema)
        stored = rows.select([f.name for f in self._stored])
        options = for_rows(self._options, stored)
        # files of BLOBs and vectors, and patches of some columns, have the rows of one file: there the format's own
        # writer refuses
        splits = not self._blobs and self._vectors is None and self._role.columns is None
        if self._file is not None and splits and file_ending(options) not in (self._ending, self._own_ending):
            self._close()
            self._room -= self._pending_rows
        if self._file is None:
            self._ending = file_ending(options)
            path = self._paths_to_come.next(f".vector{self._ending}" if self._role.has_vectors else self._ending)
            self._paths.append(path)
            self._file = write_format(options).open_writer(self._store.io, path, self._stored, options)
            self._index = FileIndexBuilder(self._indexed) if self._indexed else None
        contents = self._contents_of(self._pending)
        self._contents = self._contents.followed_by(contents) if self._contents else contents
        self._file.write(stored)
        self._packed.note(self._pending)
        if self._index is not None:
            self._index.add(rows)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0

    def _contents_of(self, batches: list[pa.RecordBatch]) -> _Contents:
        if self._store.options[ROW_TRACKING]:
            return _tracked_contents(batches)
        if not self._store.has_primary_key:
            first = self._next_sequence
            self._next_sequence += self._pending_rows
            return _Contents(min_sequence=first, max_sequence=self._next_sequence - 1)
        sequences = [fixed_values(b.column(SEQUENCE_NUMBER), np.int64) for b in batches]
        return _Contents(
            min_key=row_bytes(batches[0], 0, self._key_fields),
            max_key=row_bytes(batches[-1], batches[-1].num_rows - 1, self._key_fields),
            min_sequence=min(int(s.min()) for s in sequences),
            max_sequence=max(int(s.max()) for s in sequences),
            deletes=sum(int(is_retract(fixed_values(b.column(VALUE_KIND), np.int8)).sum()) for b in batches),
        )

    def _close(self) -> None:
        if self._file is None or self._contents is None:
            return
        written = self._file.close()
        meta = self._meta(written, self._contents)
        self._file = self._contents = None
        self._room = self._most_rows
        folder = written.path.rpartition("/")[0]
        if self._index is not None:
            meta, self._index = with_file_index(self._store, folder, meta, self._index.bodies()), None
            self._paths += [f"{folder}/{name}" for name in meta.extra_files]
        meta = self._packed.with_references(folder, meta)
        self.finished += [meta, *(file for blob in self._blobs for file in blob.roll()), *self._rolled_vectors()]

    def _rolled_vectors(self) -> list[DataFileMeta]:
        """End the open file of vectors. Return the files of vectors since the last call."""
        if self._vectors is None:
            return []
        self._vectors.roll()
        rolled, self._vectors.finished = self._vectors.finished, []
        return rolled

    def _meta(self, written: WrittenFile, contents: _Contents) -> DataFileMeta:
        columns = self._columns
        found = [written.stats.get(f.name, UNKNOWN) for f in columns]
        stats, covered = value_stats(columns, self._modes, found, dense=self._options[STATS_DENSE_STORE])
        meta = DataFileMeta(
            file_name=written.path.rpartition("/")[2],
            file_size=written.size,
            row_count=written.row_count,
            min_key=contents.min_key,
            max_key=contents.max_key,
            value_stats=stats,
            value_stats_cols=covered,
            min_sequence_number=contents.min_sequence if contents.unnumbered < written.row_count else TO_BE_NUMBERED,
            max_sequence_number=TO_BE_NUMBERED if contents.unnumbered else contents.max_sequence,
            schema_id=self._store.schema.id,
            level=self._role.level,
            creation_time=metadata_now(),
            delete_row_count=contents.deletes,
            file_source=int(self._role.source),
            write_cols=self._write_cols,
            external_path=external_path(self._store, written.path),
        )
        if not self._key_fields:
            return replace(meta, key_stats=EMPTY_STATS)
        keys = [KEY_MODE.apply(self._key_stats(written, f.name)) for f in self._key_fields]
        return replace(meta, key_stats=encode_stats([f.type for f in self._key_fields], keys))

    def _key_stats(self, written: WrittenFile, name: str) -> ColumnStats:
        return written.stats.get(name) or written.stats.get(name.removeprefix(KEY_PREFIX), UNKNOWN)


def _options_of(store: TableStore, role: FileRole) -> TableOptions:
    if role.has_vectors:
        return for_vectors(store.options)
    return for_level(store.options, role.level) if store.has_primary_key else store.options


def _tracked_contents(batches: list[pa.RecordBatch]) -> _Contents:
    """Return the metadata of rows with row tracking. New and changed rows have no sequence number yet."""
    columns = [b.column(SEQUENCE_NUMBER).drop_null() for b in batches if SEQUENCE_NUMBER in b.schema.names]
    numbers = [fixed_values(c, np.int64) for c in columns if len(c)]
    return _Contents(
        min_sequence=min((int(n.min()) for n in numbers), default=_LARGEST),
        max_sequence=max((int(n.max()) for n in numbers), default=TO_BE_NUMBERED),
        unnumbered=sum(b.num_rows for b in batches) - sum(map(len, numbers)),
    )
