"""What a format of data files can do, and which formats there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from paimon_core.expressions.predicate import Predicate
from paimon_core.io.file_io import FileIO
from paimon_core.options import TableOptions
from paimon_core.spec.stats import ColumnStats
from paimon_core.spec.types import DataField


def _nothing(name: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Which columns of a file to read: by field id, else by name, or `by_name` only. Those that it lacks are what
    `missing` says of their names, NULL where that is None. Names may differ in case from those of the file, unless they
    are `case_sensitive` (of requests by name).

    `stored` gives the file's columns as the schema it was written with has them, for files that have names only.
    `predicate` (over `fields`) may skip parts of the file that hold no match; matching rows are never skipped.
    `unread` are columns that a file must have although nobody reads them: one that lacks them is of another table.
    `options` are the table's, for formats that need some to read. `max_rows` and `max_bytes` bound a batch.
    `row_count` is what metadata says of the file, None for nothing: a file of another number of rows is corrupt.
    """

    path: str
    fields: tuple[DataField, ...]
    predicate: Predicate | None = None
    stored: Callable[[], Sequence[DataField]] = tuple
    options: TableOptions = TableOptions({})
    by_name: bool = False
    case_sensitive: bool = False
    unread: frozenset[str] = frozenset()
    missing: Callable[[str], pa.Scalar | None] = _nothing
    max_rows: int = 128 * 1024
    max_bytes: int = 64 * 2**20
    row_count: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A finished file: size in bytes, and statistics per column of the fields it was opened with (bounds with NaN)."""

    path: str
    size: int
    row_count: int
    stats: Mapping[str, ColumnStats] = field(default_factory=dict)


class FormatWriter(Protocol):
    """One file that is being written."""

    def write(self, rows: pa.Table) -> None:
        """Append rows of the schema the file was opened with, as one row group."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def close(self) -> WrittenFile:
        """Finish the file and make it durable."""

    def abort(self) -> None:
        """Give the file up and delete it. Never fails: what cannot be deleted stays behind, seen by no reader."""


class FileFormat(Protocol):
    """A format of data files."""

    @property
    def extension(self) -> str:
        """What file names end with, without the dot."""

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        """Raises `UnsupportedFeatureError` for a column that files of the format cannot hold, `InvalidOptionError` for
        an option of the format that cannot be what it is."""

    def open_writer(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions) -> FormatWriter:
        """Create a file. Raises `StorageError`."""

    def read(self, io: FileIO, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """The file's rows, in order, as batches with the Arrow schema of the request's fields.

        Raises `FileNotFoundError`, `CorruptFileError`, `StorageError`."""
