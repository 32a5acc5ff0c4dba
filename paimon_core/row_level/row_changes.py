"""Row-level changes: rows that are added, and places in data files whose rows are taken away.

A task of DELETE, UPDATE or MERGE on an append table gives new rows to an `AppendWriter` and notes the places of the
rows they replace; these are then marked by deletion vectors, or their files rewritten without them, tasks of their own.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_core.arrow.columns import fixed_values, int64_array, without_rows
from paimon_core.arrow.types import FILE_PATH, ROW_ID, ROW_INDEX, SEQUENCE_NUMBER, VALUE_KIND
from paimon_core.errors import CommitConflictError, CorruptFileError, SeveralMatchesError
from paimon_core.indexes.deletion_vector import Positions, decode_vectors
from paimon_core.io.failure import on_failure
from paimon_core.lsm.rows import ROW_DELETE
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.message import CommitMessage, decode_message, encode_message
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.row_tracking import rewritten_columns, tracking_fields
from paimon_core.store.data.time_units import as_stored_times
from paimon_core.store.indexes.index_files import Bucket, index_entries, index_path, read_index_file
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore
from paimon_core.write.append import AppendWriter
from paimon_core.write.deletion import delete_rows, vectors_of
from paimon_core.write.files.data_files import DataFileWriter, FileRole, target_file_size
from paimon_core.write.rows.incoming import SEVERAL_MATCHES

T = TypeVar("T")
Left = Callable[[DataFileMeta, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_TASKS_PER_FILE = 4  # side by side they take less time than one task that writes a whole file


@dataclass(slots=True)
class Removed:
    """Places of removed rows: a bitmap of row numbers per path of a data file. `once`: a row is removed by one."""

    places: dict[str, BitMap64] = field(default_factory=dict)
    once: bool = True

    def add(self, paths: pa.Array, rows: pa.Array) -> None:
        """Note places. Raises `InvalidDataError` for one that is there already."""
        encoded = paths.dictionary_encode()
        files, codes = encoded.dictionary.to_pylist(), fixed_values(encoded.indices, np.int32)
        numbers = fixed_values(rows, np.int64)
        for code, path in enumerate(files):
            own = numbers[codes == code]
            self._add(path, BitMap64(own.tolist()), len(own))

    def merge(self, other: Removed) -> None:
        """Take the places of another task."""
        for path, rows in other.places.items():
            self._add(path, rows, len(rows))

    def _add(self, path: str, rows: BitMap64, count: int) -> None:
        known = self.places.setdefault(path, BitMap64())
        before = len(known)
        known |= rows
        self.places[path] = known
        if self.once and len(known) != before + count:
            raise SeveralMatchesError(SEVERAL_MATCHES)

    def to_json(self) -> dict[str, str]:
        return {path: b64encode(rows.serialize()).decode() for path, rows in self.places.items()}

    @staticmethod
    def from_json(node: Mapping[str, str]) -> Removed:
        """The reverse of `to_json`. Raises `CorruptFileError`."""
        try:
            return Removed({path: BitMap64.deserialize(b64decode(text)) for path, text in node.items()})
        except (ValueError, TypeError, IndexError) as e:
            raise CorruptFileError("<row changes>", f"they do not decode ({e})", "run the statement again") from e


class AppendChangesWriter:
    """The changes of one task of an append table: `_VALUE_KIND`, the place of the row replaced (with row tracking its
    id too), and the new row, which keeps the id."""

    def __init__(self, store: TableStore, sequence_start: int, once: bool):
        self._rows = AppendWriter(store, sequence_start)
        self._changed = AppendWriter(store, sequence_start, tracked=True) if tracking_fields(store) else None
        self.removed = Removed(once=once)

    def write(self, batch: pa.RecordBatch) -> None:
        paths = batch.column(FILE_PATH)
        placed = batch.filter(paths.is_valid()) if paths.null_count else batch
        if placed.num_rows:
            self.removed.add(placed.column(FILE_PATH), placed.column(ROW_INDEX))
        kinds = fixed_values(batch.column(VALUE_KIND), np.int8)
        rows = batch.drop_columns([VALUE_KIND, FILE_PATH, ROW_INDEX])
        if (kinds == ROW_DELETE).any():
            rows = rows.take(int64_array(np.flatnonzero(kinds != ROW_DELETE)))
        if self._changed is not None:
            known = rows.column(ROW_ID).is_valid()
            changed, rows = rows.filter(known), rows.filter(pc.invert(known)).drop_columns([ROW_ID])
            if changed.num_rows:
                unnumbered = pa.nulls(changed.num_rows, pa.int64())
                self._changed.write(changed.append_column(SEQUENCE_NUMBER, unnumbered))
        if rows.num_rows:
            self._rows.write(rows)

    def finish(self) -> list[CommitMessage]:
        return [m for writer in self._writers for m in writer.finish()]

    def abort(self) -> None:
        for writer in self._writers:
            writer.abort()

    @property
    def _writers(self) -> list[AppendWriter]:
        return [self._rows, *([self._changed] if self._changed else [])]


def changed_files(
    store: TableStore, snapshot: Snapshot | None, removed: Removed
) -> list[tuple[ManifestEntry, BitMap64]]:
    """The files that have removed rows, and which. Raises `CommitConflictError` where one is no longer live."""
    entries = changed_entries(store, snapshot, removed.places)
    return [(entry, removed.places[path]) for path, entry in entries.items()]


def changed_entries(store: TableStore, snapshot: Snapshot | None, paths: Collection[str]) -> dict[str, ManifestEntry]:
    """The files at these paths. Raises `CommitConflictError` where one is no longer live."""
    found = {}
    for entry in live_files(store, snapshot).values() if paths else ():
        path = data_file_path(store.bucket_dir(entry.partition, entry.bucket), entry.file)
        if path in paths:
            found[path] = entry
    if left := set(paths) - found.keys():
        raise _replaced(store, min(left))
    return found


def _replaced(store: TableStore, file: str) -> CommitConflictError:
    return CommitConflictError(
        f"Table {store.name}: rows of file {file} were changed by another commit while this one changed them. Nothing "
        "was committed; run the statement again."
    )


def marked_rows(
    store: TableStore, snapshot: Snapshot | None, changed: Iterable[tuple[ManifestEntry, BitMap64]]
) -> list[CommitMessage]:
    """Messages that mark the rows as deleted, for a table with deletion vectors.

    Raises `CommitConflictError` where another commit has marked one of them since it was read, else as `delete_rows`.
    """
    places: dict[Bucket, dict[str, Positions]] = defaultdict(dict)
    for entry, rows in changed:
        places[entry.partition, entry.bucket][entry.file.file_name] = _numbers(rows)
    _check_unmarked(store, snapshot, places)
    return delete_rows(store, snapshot, places)


def _check_unmarked(
    store: TableStore, snapshot: Snapshot | None, places: Mapping[Bucket, Mapping[str, Positions]]
) -> None:
    known = index_entries(store, snapshot) if places else ()
    for place, rows in places.items():
        for file in vectors_of(known, place):
            ranges = [v for v in file.dv_ranges or () if v.data_file in rows]
            path = index_path(store, *place, file)
            marked = decode_vectors(path, read_index_file(store, path), ranges) if ranges else {}
            for name, positions in marked.items():
                if np.isin(rows[name], positions).any():
                    raise _replaced(store, name)


@dataclass(frozen=True, slots=True)
class Rewrites:
    """Texts of tasks that rewrite files, and the messages of new rows: those that go into these files, which are to be
    deleted then, and the rest."""

    tasks: tuple[str, ...]
    joined: tuple[CommitMessage, ...]
    kept: tuple[CommitMessage, ...]


def rewrites_of(
    store: TableStore, changed: Iterable[tuple[ManifestEntry, BitMap64]], written: Sequence[CommitMessage]
) -> Rewrites:
    """How files lose their removed rows: each is rewritten, or, without buckets, as many as make a quarter of a file
    become one, with the rows that replace those removed where there is room."""
    buckets: dict[Bucket, list[tuple[ManifestEntry, BitMap64]]] = defaultdict(list)
    for entry, rows in changed:
        buckets[entry.partition, entry.bucket].append((entry, rows))
    columns, share = rewritten_columns(store), rewritten_bytes(store)
    new_rows: dict[Bucket, list[CommitMessage]] = defaultdict(list)
    tasks, joined, kept = [], list[CommitMessage](), list[CommitMessage]()
    for message in written:
        fits = all(f.write_cols == columns for f in message.new_files)
        (new_rows[message.partition, message.bucket] if fits else kept).append(message)
    for place, group in buckets.items():
        if group[0][0].total_buckets > 0:
            tasks += [_task([one]) for one in group]
            continue
        new, parts = new_rows.pop(place, []), parts_of(group, lambda one: one[0].file.file_size, share)
        room = share - _size(e.file for e, _ in parts[-1]) - _size(f for m in new for f in m.new_files)
        (joined if room >= 0 else kept).extend(new)
        tasks += [_task(part) for part in parts[:-1]] + [_task(parts[-1], new if room >= 0 else ())]
    kept += (m for left in new_rows.values() for m in left)
    return Rewrites(tuple(tasks), tuple(joined), tuple(kept))


def rewritten_bytes(store: TableStore) -> int:
    """The bytes of files that a task writes again."""
    return target_file_size(store) // _TASKS_PER_FILE


def parts_of(group: Iterable[T], size: Callable[[T], int], share: int) -> list[list[T]]:
    """Files in parts of up to `share` bytes, one file at least."""
    parts: list[list[T]] = [[]]
    filled = 0
    for one in group:
        if parts[-1] and filled + size(one) > share:
            parts.append([])
            filled = 0
        parts[-1].append(one)
        filled += size(one)
    return parts


def _size(files: Iterable[DataFileMeta]) -> int:
    return sum(f.file_size for f in files)


def _task(group: Sequence[tuple[ManifestEntry, BitMap64]], new: Iterable[CommitMessage] = ()) -> str:
    """The text of a task: a message of the files that go, and those that go along with them; and the rows that go."""
    message = replace(without_files([e for e, _ in group]), new_files=tuple(f for m in new for f in m.new_files))
    removed = {e.file.file_name: b64encode(rows.serialize()).decode() for e, rows in group}
    return json.dumps({"files": encode_message(message), "removed": removed})


def without_files(going: Sequence[ManifestEntry]) -> CommitMessage:
    """A message that files of a bucket go."""
    first = going[0]
    return CommitMessage(
        partition=first.partition,
        bucket=first.bucket,
        total_buckets=first.total_buckets,
        deleted_files=tuple(e.file for e in going),
    )


def rewrite_function(store: TableStore) -> Callable[[str], str]:
    """What runs a task: its text to the text of the commit message of the files without the removed rows."""
    return partial(_rewrite, store)


def merged_removals(parts: Iterable[Removed], once: bool) -> Removed:
    """The places of all tasks. Raises `InvalidDataError` where two tasks removed the same row, but for `once`."""
    result = Removed(once=once)
    for part in parts:
        result.merge(part)
    return result


def _rewrite(store: TableStore, task: str) -> str:
    node, store = json.loads(task), as_stored_times(store)
    removed = {name: BitMap64.deserialize(b64decode(text)) for name, text in node["removed"].items()}

    def left(file: DataFileMeta, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gone = removed[file.file_name]
        return without_rows(rows, _numbers(gone)) if len(gone) < file.row_count else iter(())

    return encode_message(rewritten_files(store, decode_message(node["files"]), left))


def rewritten_files(store: TableStore, message: CommitMessage, left: Left) -> CommitMessage:
    """The message with new files, of what is `left` of the rows of each file that goes, and of the rows of new ones."""
    directory = store.bucket_dir(message.partition, message.bucket)
    start = min(f.min_sequence_number for f in message.deleted_files)
    writer = DataFileWriter(store, directory, FileRole(sequence_start=start, columns=rewritten_columns(store)))
    reader = BucketFiles(store, directory, (*store.schema.fields, *tracking_fields(store)))
    with on_failure(writer.abort):
        for file in message.deleted_files:
            for batch in left(file, reader.read([file])):
                writer.write(batch)
        for batch in reader.read_as_written(message.new_files):
            writer.write(batch)
        writer.roll()
    return replace(message, new_files=tuple(writer.finished))


def _numbers(rows: BitMap64) -> Positions:
    return np.fromiter(rows, dtype=np.int64, count=len(rows))
