"""The rows that a statement removes from data files, as recorded by its tasks, and their deletion vectors.

A task records the positions of rows per path of a data file. The driver merges the records of its tasks and finds the
files in the latest version. It marks the rows in deletion vectors if the table has them; else `rewrites` rewrites the
files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from paimon_core.arrow.columns import fixed_values
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, CorruptFileError, SeveralMatchesError
from paimon_core.indexes.deletion_vector import Positions
from paimon_core.spec.manifest import BucketKey, ManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.records import Column, Record
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.indexes.index_files import index_entries, index_path, read_vectors
from paimon_core.store.manifests import live_files
from paimon_core.store.table_store import TableStore
from paimon_core.write.deletion import delete_rows, vectors_of
from paimon_core.write.rows.incoming import SEVERAL_MATCHES


@dataclass(frozen=True, slots=True)
class FilePositions:
    """The positions of rows of one data file, as a serialized 64-bit roaring bitmap."""

    file: str
    rows: bytes

    @staticmethod
    def of(file: str, rows: BitMap64) -> FilePositions:
        return FilePositions(file, rows.serialize())

    def bitmap(self) -> BitMap64:
        """Decode the bitmap. Raises `CorruptFileError`."""
        try:
            return BitMap64.deserialize(self.rows)
        except (ValueError, TypeError, IndexError) as e:
            raise CorruptFileError("<row changes>", f"they do not decode ({e})", "run the statement again") from e


FILE_POSITIONS = Record(
    "file positions", FilePositions, (Column("file", "file", "string"), Column("rows", "rows", "bytes"))
)


@dataclass(slots=True)
class RemovedRows:
    """The positions of removed rows: a bitmap per path of a data file. `once`: a row may be removed only once."""

    by_path: dict[str, BitMap64] = field(default_factory=dict)
    once: bool = True

    @staticmethod
    def merged(parts: Iterable[FilePositions], once: bool) -> RemovedRows:
        """Return the rows that all tasks removed.

        With `once`, raise `SeveralMatchesError` if two tasks removed the same row."""
        result = RemovedRows(once=once)
        for part in parts:
            rows = part.bitmap()
            result._add(part.file, rows, len(rows))
        return result

    def add(self, paths: pa.Array, positions: pa.Array) -> None:
        """Record rows by path and position.

        With `once`, raise `SeveralMatchesError` for a row that is already recorded."""
        encoded = paths.dictionary_encode()
        files, codes = encoded.dictionary.to_pylist(), fixed_values(encoded.indices, np.int32)
        numbers = fixed_values(positions, np.int64)
        for code, path in enumerate(files):
            own = numbers[codes == code]
            self._add(path, BitMap64(own.tolist()), len(own))

    def file_positions(self) -> tuple[FilePositions, ...]:
        """Return the rows as values for transport."""
        return tuple(FilePositions.of(path, rows) for path, rows in self.by_path.items())

    def _add(self, path: str, rows: BitMap64, count: int) -> None:
        known = self.by_path.setdefault(path, BitMap64())
        before = len(known)
        known |= rows
        self.by_path[path] = known
        if self.once and len(known) != before + count:
            raise SeveralMatchesError(SEVERAL_MATCHES)


def positions(rows: BitMap64) -> Positions:
    """Return the ascending positions of a bitmap."""
    return np.fromiter(rows, dtype=np.int64, count=len(rows))


def changed_files(
    store: TableStore, snapshot: Snapshot | None, removed: RemovedRows
) -> list[tuple[ManifestEntry, BitMap64]]:
    """Return the files with removed rows, and the rows. Raises `CommitConflictError` if a file is no longer live."""
    entries = changed_entries(store, snapshot, removed.by_path.keys())
    return [(entry, removed.by_path[path]) for path, entry in entries.items()]


def changed_entries(store: TableStore, snapshot: Snapshot | None, paths: Collection[str]) -> dict[str, ManifestEntry]:
    """Return the files at these paths. Raises `CommitConflictError` if a file is no longer live."""
    found = {}
    for entry in live_files(store, snapshot).values() if paths else ():
        path = data_file_path(store.bucket_dir(entry.partition, entry.bucket), entry.file)
        if path in paths:
            found[path] = entry
    if replaced := set(paths) - found.keys():
        raise _replaced(store, min(replaced))
    return found


def _replaced(store: TableStore, file: str) -> CommitConflictError:
    return CommitConflictError(
        f"Table {store.name}: another commit changed rows of file {file} while this one changed them. Nothing was "
        "committed; run the statement again."
    )


def marked_rows(
    store: TableStore, snapshot: Snapshot | None, changed: Iterable[tuple[ManifestEntry, BitMap64]]
) -> list[CommitMessage]:
    """Return messages that mark the rows as deleted, for a table with deletion vectors.

    Raises `CommitConflictError` if another commit has marked one of the rows since it was read, and the errors of
    `delete_rows`.
    """
    deletions: dict[BucketKey, dict[str, Positions]] = defaultdict(dict)
    for entry, rows in changed:
        deletions[entry.partition, entry.bucket][entry.file.file_name] = positions(rows)
    _check_unmarked(store, snapshot, deletions)
    return delete_rows(store, snapshot, deletions)


def _check_unmarked(
    store: TableStore, snapshot: Snapshot | None, deletions: Mapping[BucketKey, Mapping[str, Positions]]
) -> None:
    known = index_entries(store, snapshot) if deletions else ()
    for bucket, rows in deletions.items():
        for file in vectors_of(known, bucket):
            ranges = [v for v in file.dv_ranges or () if v.data_file in rows]
            path = index_path(store, *bucket, file)
            marked = read_vectors(store, path, ranges) if ranges else {}
            for name, found in marked.items():
                if np.isin(rows[name], found).any():
                    raise _replaced(store, name)
