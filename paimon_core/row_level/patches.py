"""UPDATE of append tables: files are rewritten with new values in the assigned columns of some rows.

Tasks write the new values to Arrow files, in which each batch is a patch of one data file. Other tasks apply the
patches. In a Parquet file they read and write only the assigned columns: the bytes of the other columns are copied.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values, int64_array, with_values
from paimon_core.arrow.types import FILE_PATH, ROW_INDEX
from paimon_core.clock import metadata_now
from paimon_core.dataclass import dataclass
from paimon_core.errors import SeveralMatchesError
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.splice import replace_columns
from paimon_core.formats.reading import read_errors
from paimon_core.formats.registry import file_ending, format_name
from paimon_core.formats.stats import column_modes, value_stats
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.io.ahead import FileAhead
from paimon_core.io.file_io import FileIO
from paimon_core.io.side_by_side import both
from paimon_core.jobs import FILES_OF_TASK, Job
from paimon_core.lsm.rows import concat_batches
from paimon_core.options import BUCKET, DATA_FILE_PREFIX, DELETION_VECTORS, FILE_FORMAT, STATS_DENSE_STORE
from paimon_core.row_level.removed_rows import changed_entries
from paimon_core.row_level.rewrites import bucket_of, parts_of, rewritten_bytes, rewritten_files
from paimon_core.spec.manifest import BucketKey, DataFileMeta, ManifestEntry
from paimon_core.spec.message import BUCKET_STATE, WRITE_RESULT, BucketState, CommitMessage, WriteResult
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.records import Column, Record
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.stats import UNKNOWN
from paimon_core.store.data.column_stats import value_stats as known_stats
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.external.paths import external_path
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.new_paths import NewPaths
from paimon_core.write.rows.incoming import SEVERAL_MATCHES, conform_fields

_MOST_BUFFERED = 64 * 2**20  # bytes of new values in memory
_SMALL = 8  # a file below this share of a task's bytes is combined with others
_CODEC = "lz4"


def patched_columns(store: TableStore, assigned: Iterable[str]) -> tuple[str, ...] | None:
    """Return the columns that an UPDATE patches in new versions of files.

    Return None if it must change rows in another way: if rows are marked as deleted, are found by key, have their own
    version, or move to another partition or bucket."""
    columns = tuple(c for c in store.schema.field_by_name if c in set(assigned))
    locating = {*store.schema.partition_keys, *(store.schema.bucket_keys if store.options[BUCKET] > 0 else ())}
    stays = not store.has_primary_key and not tracking_fields(store) and not store.options[DELETION_VECTORS]
    return columns if stays and locating.isdisjoint(columns) else None


@dataclass(frozen=True, slots=True)
class Patch:
    """New values for rows of the data file `file`.

    They are the batch with the number `batch` of the Arrow file `path`.
    """

    file: str
    path: str
    batch: int


PATCH = Record(
    "patch",
    Patch,
    (Column("file", "file", "string"), Column("path", "path", "string"), Column("batch", "batch", "int")),
)


@dataclass(frozen=True, slots=True)
class PatchTask:
    """Files of a bucket that are rewritten into one file, and the patches of these files, which name the files without
    a folder.
    """

    bucket: BucketState
    patches: tuple[Patch, ...]


PATCH_TASK = Record(
    "patch task",
    PatchTask,
    (Column("bucket", "bucket", record=BUCKET_STATE), Column("patches", "patches", record=PATCH, repeated=True)),
)


class PatchWriter:
    """Writes the new values of one task.

    The batches have the file and position of the row, and the assigned columns.
    """

    def __init__(self, store: TableStore, columns: Sequence[str]) -> None:
        self._store, self._fields = store, store.schema.select(tuple(columns))
        self._buffer: list[pa.RecordBatch] = []
        self._bytes = self._batches = 0
        self._output: OutputFile | None = None
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self.patches: list[Patch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        values = conform_fields(batch, self._fields, self._store.zone)
        values = values.append_column(ROW_INDEX, batch.column(ROW_INDEX))
        self._buffer.append(values.append_column(FILE_PATH, batch.column(FILE_PATH)))
        self._bytes += self._buffer[-1].nbytes
        if self._bytes > _MOST_BUFFERED:
            self._flush()

    def finish(self) -> list[CommitMessage]:
        """End the file. There is no message to commit yet."""
        self._flush()
        if self._writer is not None and self._output is not None:
            self._writer.close()
            self._output.finish()
        return []

    def abort(self) -> None:
        if self._output is not None:
            self._output.abort()

    def _flush(self) -> None:
        """Write the buffered values, one batch per data file."""
        if not self._bytes:
            return
        rows = concat_batches(self._buffer)
        self._buffer, self._bytes = [], 0
        encoded = rows.column(FILE_PATH).dictionary_encode()
        codes, paths = fixed_values(encoded.indices, np.int32), encoded.dictionary.to_pylist()
        rows = rows.drop_columns([FILE_PATH]).take(int64_array(np.argsort(codes, kind="stable")))
        start = 0
        for path, count in zip(paths, np.bincount(codes, minlength=len(paths)).tolist(), strict=True):
            written = self._write_batch(path, rows.slice(start, count))
            self.patches.append(Patch(path, written, self._batches))
            self._batches, start = self._batches + 1, start + count

    def _write_batch(self, path: str, rows: pa.RecordBatch) -> str:
        """Write a batch. Return the path of the Arrow file, which is in the folder of the first data file that it
        patches.
        """
        if self._output is None or self._writer is None:
            prefix = self._store.options[DATA_FILE_PREFIX]
            self._output = OutputFile(self._store.io, f"{path.rpartition('/')[0]}/{prefix}{uuid.uuid4()}.arrow")
            options = pa.ipc.IpcWriteOptions(compression=_CODEC)
            self._writer = pa.ipc.new_file(self._output.sink, rows.schema, options=options)
        self._writer.write_batch(rows)
        return self._output.path


def patch_job(
    store: TableStore, snapshot: Snapshot | None, patches: Iterable[Patch], columns: tuple[str, ...]
) -> Job[PatchTask, WriteResult]:
    """Return the job that rewrites files with their patches.

    Small files of a bucket are combined, except in tables with fixed buckets. Raises `CommitConflictError` if a file is
    no longer live."""
    by_file: dict[str, list[Patch]] = defaultdict(list)
    for patch in patches:
        by_file[patch.file].append(patch)
    entries = changed_entries(store, snapshot, by_file.keys())
    tasks = tuple(
        PatchTask(
            bucket_of([e for _, e in group]),
            tuple(replace(patch, file=e.file.file_name) for path, e in group for patch in by_file[path]),
        )
        for group in _groups(store, entries.items())
    )
    name = f"update files of {store.name}"
    run = partial(_patch, as_stored_times(store), columns)
    return Job(name, run, PATCH_TASK, WRITE_RESULT, tasks, measure=FILES_OF_TASK)


def _groups(store: TableStore, patched: Iterable[tuple[str, ManifestEntry]]) -> list[list[tuple[str, ManifestEntry]]]:
    """Divide files, with their paths, into groups; each group is one task."""
    share, groups = rewritten_bytes(store), list[list[tuple[str, ManifestEntry]]]()
    small: dict[BucketKey, list[tuple[str, ManifestEntry]]] = defaultdict(list)
    for path, entry in patched:
        if entry.total_buckets > 0 or entry.file.file_size * _SMALL >= share:
            groups.append([(path, entry)])
        else:
            small[entry.partition, entry.bucket].append((path, entry))
    return groups + [p for group in small.values() for p in parts_of(group, lambda one: one[1].file.file_size, share)]


def remove_patches(store: TableStore, patches: Iterable[Patch]) -> None:
    """Delete the files of patches, as far as possible."""
    by_folder: dict[str, list[str]] = defaultdict(list)
    for path in sorted({p.path for p in patches}):
        by_folder[path.rpartition("/")[0]].append(path)
    for folder, paths in by_folder.items():
        with suppress(OSError):
            store.io.delete_many_below(folder, paths)


def _patch(store: TableStore, columns: tuple[str, ...], task: PatchTask) -> WriteResult:
    bucket = _Bucket(store, store.bucket_dir(*task.bucket.key), columns)
    read_changes = partial(bucket.all_changes, task.patches)
    if len(task.bucket.files) != 1 or not bucket.may_splice(task.bucket.files[0]):
        changes = read_changes()
    else:
        (file,) = task.bucket.files
        changes, io = both(store.io, read_changes, partial(bucket.ahead, file))
        spliced = bucket.spliced(io, file, changes[file.file_name])
        if spliced is not None:
            return WriteResult((replace(task.bucket.deleted(), new_files=(spliced,)),))
    patched = rewritten_files(store, task.bucket, (), lambda file, rows: changes[file.file_name].apply(0, rows))
    return WriteResult((patched,))


@dataclass(frozen=True, slots=True)
class _Changes:
    """New values of columns, and the ascending positions of their rows in the file."""

    rows: Positions
    values: pa.RecordBatch

    def apply(self, start: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the file from position `start` on, with the new values."""
        return with_values(batches, self.rows, self.values, start)


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The folder of a bucket, with files that get new values in some columns."""

    store: TableStore
    directory: str
    columns: tuple[str, ...]

    def all_changes(self, patches: Iterable[Patch]) -> dict[str, _Changes]:
        """Return the new values of each file, by its name. Raises `InvalidDataError` if a row has two new values."""
        ordered = sorted(patches, key=attrgetter("file"))
        return {name: self.changes(own) for name, own in groupby(ordered, key=attrgetter("file"))}

    def changes(self, patches: Iterable[Patch]) -> _Changes:
        """Return the new values of a file's rows. Raises `InvalidDataError` if a row has two new values."""
        batches = []
        for path, group in groupby(patches, key=attrgetter("path")):
            with read_errors("Arrow", path), self._open(path) as source:
                file = pa.ipc.open_file(source)
                batches += [file.get_batch(patch.batch) for patch in group]
        rows = concat_batches(batches)
        positions = fixed_values(rows.column(ROW_INDEX), np.int64)
        order = np.argsort(positions, kind="stable")
        positions = positions[order]
        if (np.diff(positions) == 0).any():
            raise SeveralMatchesError(SEVERAL_MATCHES)
        return _Changes(positions, rows.select(list(self.columns)).take(int64_array(order)))

    def _open(self, path: str) -> pa.NativeFile:
        return self.store.io.open_input(path)

    def may_splice(self, file: DataFileMeta) -> bool:
        """Return whether the bytes of the file's unchanged columns may be copied, as far as its metadata shows."""
        indexed = file.embedded_file_index is not None or file.extra_files
        is_parquet = format_name(file.file_name) == self.store.options[FILE_FORMAT] == "parquet"
        is_whole = file.schema_id == self.store.schema.id and file.write_cols is None
        return is_parquet and is_whole and not indexed

    def ahead(self, file: DataFileMeta) -> FileIO:
        """Return the storage for a file that is opened several times."""
        return FileAhead(self.store.io, self._path(file), file.file_size)

    def spliced(self, io: FileIO, file: DataFileMeta, changes: _Changes) -> DataFileMeta | None:
        """Return the new file, with the bytes of unchanged columns copied, or None if they cannot be copied."""
        schema, options = self.store.schema, self.store.options
        target = NewPaths(self.store, self.directory).next(file_ending(options))
        request = ReadRequest(
            self._path(file),
            schema.select(self.columns),
            stored=lambda: schema.fields,
            options=options,
            size=file.file_size,
        )
        written = replace_columns(io, request, target, changes.apply)
        return None if written is None else self._meta(file, written)

    def _path(self, file: DataFileMeta) -> str:
        return FilePlaces(self.store).of(data_file_path(self.directory, file))

    def _meta(self, file: DataFileMeta, written: WrittenFile) -> DataFileMeta:
        fields, options = self.store.schema.fields, self.store.options
        stats = known_stats(self.store.schema, file) | dict(written.stats)
        found, modes = [stats.get(f.name, UNKNOWN) for f in fields], column_modes(options, fields)
        value, covered = value_stats(fields, modes, found, dense=options[STATS_DENSE_STORE])
        return replace(
            file,
            file_name=written.path.rpartition("/")[2],
            file_size=written.size,
            value_stats=value,
            value_stats_cols=covered,
            creation_time=metadata_now(),
            external_path=external_path(self.store, written.path),
        )
