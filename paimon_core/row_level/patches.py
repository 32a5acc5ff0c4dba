"""UPDATE of append tables: files are written again with other values in the assigned columns, at the rows' places.

Tasks write the new values to patches, Arrow files of which each batch is of one data file; other tasks put them in.
Of a Parquet file only the assigned columns are read and written then: the bytes of the others are copied.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import fixed_values, int64_array, with_values
from paimon_core.arrow.types import FILE_PATH, ROW_INDEX
from paimon_core.errors import SeveralMatchesError
from paimon_core.formats.file_format import ReadRequest, WrittenFile
from paimon_core.formats.output import OutputFile
from paimon_core.formats.parquet.splice import replace_columns
from paimon_core.formats.reading import read_errors
from paimon_core.formats.registry import file_ending, format_name
from paimon_core.formats.stats import column_modes, value_stats
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.lsm.rows import concat_batches
from paimon_core.options import BUCKET, DATA_FILE_PREFIX, DELETION_VECTORS, FILE_FORMAT, STATS_DENSE_STORE
from paimon_core.row_level.row_changes import changed_entries, parts_of, rewritten_bytes, rewritten_files, without_files
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.message import CommitMessage, decode_message, encode_message
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.stats import UNKNOWN
from paimon_core.store.data.column_stats import value_stats as known_stats
from paimon_core.store.data.row_tracking import tracking_fields
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.external.paths import external_path
from paimon_core.store.indexes.index_files import Bucket
from paimon_core.store.table_store import TableStore
from paimon_core.write.clock import wall_clock
from paimon_core.write.files.new_paths import NewPaths
from paimon_core.write.rows.incoming import SEVERAL_MATCHES, conform_fields

_MOST_WAITING = 64 * 2**20  # bytes of new values in memory
_SMALL = 8  # a file of less than this share of what a task writes becomes one with others
_CODEC = "lz4"
Places = list[tuple[str, int]]  # a file of patches, and which of its batches
_Patched = tuple[ManifestEntry, Places]


def patched_columns(store: TableStore, assigned: Iterable[str]) -> tuple[str, ...] | None:
    """The columns that an UPDATE writes into new versions of files, None where rows go another way: where they are
    marked as deleted, found by key, have a version of their own, or move to another partition or bucket."""
    columns = tuple(c for c in store.schema.field_by_name if c in set(assigned))
    placing = {*store.schema.partition_keys, *(store.schema.bucket_keys if store.options[BUCKET] > 0 else ())}
    stays = not store.has_primary_key and not tracking_fields(store) and not store.options[DELETION_VECTORS]
    return columns if stays and placing.isdisjoint(columns) else None


@dataclass(slots=True)
class Patches:
    """Where the new values of rows are, by the path of the data file that the rows are in."""

    places: dict[str, Places] = field(default_factory=dict)

    def add(self, path: str, patch: str, batch: int) -> None:
        self.places.setdefault(path, []).append((patch, batch))

    @property
    def files(self) -> set[str]:
        """The files of patches."""
        return {patch for places in self.places.values() for patch, _ in places}

    @staticmethod
    def merged(parts: Iterable[Mapping[str, Places]]) -> Patches:
        """Those of all tasks, as their JSON has them."""
        result = Patches()
        for part in parts:
            for path, places in part.items():
                for patch, batch in places:
                    result.add(path, patch, batch)
        return result


class PatchWriter:
    """The new values of one task: the place of the row, and the assigned columns among the table's."""

    def __init__(self, store: TableStore, columns: Sequence[str]) -> None:
        self._store, self._fields = store, store.schema.select(tuple(columns))
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._batches = 0
        self._output: OutputFile | None = None
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self.patches = Patches()

    def write(self, batch: pa.RecordBatch) -> None:
        values = conform_fields(batch, self._fields)
        placed = values.append_column(ROW_INDEX, batch.column(ROW_INDEX))
        self._waiting.append(placed.append_column(FILE_PATH, batch.column(FILE_PATH)))
        self._bytes += self._waiting[-1].nbytes
        if self._bytes > _MOST_WAITING:
            self._flush()

    def finish(self) -> list[CommitMessage]:
        """End the file; there is nothing to commit yet."""
        self._flush()
        if self._writer is not None and self._output is not None:
            self._writer.close()
            self._output.finish()
        return []

    def abort(self) -> None:
        if self._output is not None:
            self._output.abort()

    def _flush(self) -> None:
        """Write the values that wait, a batch for each data file."""
        if not self._bytes:
            return
        rows = concat_batches(self._waiting)
        self._waiting, self._bytes = [], 0
        encoded = rows.column(FILE_PATH).dictionary_encode()
        codes, paths = fixed_values(encoded.indices, np.int32), encoded.dictionary.to_pylist()
        rows = rows.drop_columns([FILE_PATH]).take(int64_array(np.argsort(codes, kind="stable")))
        start = 0
        for path, count in zip(paths, np.bincount(codes, minlength=len(paths)).tolist(), strict=True):
            patch = self._write_batch(path, rows.slice(start, count))
            self.patches.add(path, patch, self._batches)
            self._batches, start = self._batches + 1, start + count

    def _write_batch(self, path: str, rows: pa.RecordBatch) -> str:
        """Write a batch; the path of the patches, which lie beside the first data file they are of."""
        if self._output is None or self._writer is None:
            prefix = self._store.options[DATA_FILE_PREFIX]
            self._output = OutputFile(self._store.io, f"{path.rpartition('/')[0]}/{prefix}{uuid.uuid4()}.arrow")
            options = pa.ipc.IpcWriteOptions(compression=_CODEC)
            self._writer = pa.ipc.new_file(self._output.sink, rows.schema, options=options)
        self._writer.write_batch(rows)
        return self._output.path


def patch_tasks(store: TableStore, snapshot: Snapshot | None, patches: Patches) -> list[str]:
    """Texts of tasks that write files with their patches. Small files of a bucket become one, but for tables of fixed
    buckets. Raises `CommitConflictError` where a file is no longer live."""
    share, tasks = rewritten_bytes(store), list[list[_Patched]]()
    small: dict[Bucket, list[_Patched]] = defaultdict(list)
    for path, entry in changed_entries(store, snapshot, patches.places).items():
        one = entry, patches.places[path]
        if entry.total_buckets > 0 or entry.file.file_size * _SMALL >= share:
            tasks.append([one])
        else:
            small[entry.partition, entry.bucket].append(one)
    tasks += [part for group in small.values() for part in parts_of(group, lambda one: one[0].file.file_size, share)]
    return list(map(_task, tasks))


def _task(group: Sequence[_Patched]) -> str:
    message = encode_message(without_files([e for e, _ in group]))
    return json.dumps({"files": message, "patches": {e.file.file_name: places for e, places in group}})


def patch_function(store: TableStore, columns: tuple[str, ...]) -> Callable[[str], str]:
    """What runs a task: its text to the text of the commit message of the new files."""
    return partial(_patch, store, columns)


def remove_patches(store: TableStore, patches: Patches) -> None:
    """Delete the files of patches, as far as that is possible."""
    for path in patches.files:
        with suppress(OSError):
            store.io.delete(path)


def _patch(store: TableStore, columns: tuple[str, ...], task: str) -> str:
    node, store = json.loads(task), as_stored_times(store)
    message = decode_message(node["files"])
    bucket = _Bucket(store, store.bucket_dir(message.partition, message.bucket), columns)
    changes = {name: bucket.changes(places) for name, places in node["patches"].items()}
    if len(message.deleted_files) == 1:
        (file,) = message.deleted_files
        spliced = bucket.spliced(file, changes[file.file_name])
        if spliced is not None:
            return encode_message(replace(message, new_files=(spliced,)))
    return encode_message(rewritten_files(store, message, lambda file, rows: changes[file.file_name].apply(0, rows)))


@dataclass(frozen=True, slots=True)
class _Changes:
    """New values of columns, and the ascending places of their rows in the file."""

    rows: Positions
    values: pa.RecordBatch

    def apply(self, start: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the file from `start` on as they are now."""
        return with_values(batches, self.rows, self.values, start)


@dataclass(frozen=True, slots=True)
class _Bucket:
    """Where files are that get other values in some columns."""

    store: TableStore
    directory: str
    columns: tuple[str, ...]

    def changes(self, places: Places) -> _Changes:
        """The new values of a file's rows. Raises `InvalidDataError` where a row has two."""
        batches = []
        for patch, group in groupby(places, key=itemgetter(0)):
            with read_errors("Arrow", patch), self._open(patch) as source:
                file = pa.ipc.open_file(source)
                batches += [file.get_batch(number) for _, number in group]
        rows = concat_batches(batches)
        positions = fixed_values(rows.column(ROW_INDEX), np.int64)
        order = np.argsort(positions, kind="stable")
        positions = positions[order]
        if (np.diff(positions) == 0).any():
            raise SeveralMatchesError(SEVERAL_MATCHES)
        return _Changes(positions, rows.select(list(self.columns)).take(int64_array(order)))

    def _open(self, path: str) -> pa.NativeFile:
        return self.store.io.open_input(path)

    def spliced(self, file: DataFileMeta, changes: _Changes) -> DataFileMeta | None:
        """The file with the bytes of the columns that do not change; None where it is not such a file."""
        schema, options = self.store.schema, self.store.options
        indexed = file.embedded_file_index is not None or file.extra_files
        is_parquet = format_name(file.file_name) == options[FILE_FORMAT] == "parquet"
        if not is_parquet or indexed or file.schema_id != schema.id or file.write_cols is not None:
            return None
        target = NewPaths(self.store, self.directory).next(file_ending(options))
        request = ReadRequest(
            data_file_path(self.directory, file),
            schema.select(self.columns),
            stored=lambda: schema.fields,
            options=options,
        )
        written = replace_columns(self.store.io, request, target, changes.apply)
        return None if written is None else self._meta(file, written)

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
            creation_time=wall_clock(),
            external_path=external_path(self.store, written.path),
        )
