"""The protocols of a format of data files: requests, readers, writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.expressions.predicate import Predicate
from paimon_core.io.file_io import FileIO
from paimon_core.options import TableOptions
from paimon_core.spec.stats import ColumnStats
from paimon_core.spec.types import DataField


def _nothing(name: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The columns of a file to read: by field id, else by name, or only by name with `by_name`.

    If the file does not have a column, `missing` returns the value for its name, or `None` for NULL. Names may differ
    in case from the file's names, unless the request is by name and `case_sensitive`. `stored` returns the columns of
    the schema with which the file was written, for files without field ids.

    `predicate` (over `fields`) may skip parts of the file without a match; matching rows are never skipped. `unread`
    are columns that the file must have although they are not read: a file without them belongs to another table.
    `variant_paths` has, by field id of a VARIANT, the paths of keys that are needed; a reader may return values with
    these parts alone. `map_keys` has, by field id of a MAP, the keys that are needed; a reader may return MAPs with
    these keys alone. `options` are the table's options; some formats need them to read. `max_rows` and `max_bytes`
    limit a batch. `row_count` is the number of rows in metadata, None if unknown: a file with another number of rows is
    corrupt. `size` is the number of bytes in metadata, which saves a request; a file of another size is read, too.
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
    size: int | None = None
    variant_paths: Mapping[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    map_keys: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A finished file: its size in bytes, and the statistics of its fields (bounds include NaN)."""

    path: str
    size: int
    row_count: int
    stats: Mapping[str, ColumnStats] = field(default_factory=dict)


class FormatWriter(Protocol):
    """One file that is being written."""

    def write(self, rows: pa.Table) -> None:
        """Append rows with the schema of the file, as one row group."""

    @property
    def size(self) -> int:
        """The number of bytes written so far."""

    def close(self) -> WrittenFile:
        """Finish the file and make it durable."""

    def abort(self) -> None:
        """Close the file and delete it.

        This never raises: a file that cannot be deleted stays, but readers do not see it.
        """


class FileFormat(Protocol):
    """A format of data files."""

    @property
    def extension(self) -> str:
        """The ending of file names, without the dot."""

    def check(self, fields: Sequence[DataField], options: TableOptions) -> None:
        """Raise `UnsupportedFeatureError` for a column that files of the format cannot store, and `InvalidOptionError`
        for an invalid option of the format."""

    def open_writer(self, io: FileIO, path: str, fields: Sequence[DataField], options: TableOptions) -> FormatWriter:
        """Create a file. Raises `StorageError`."""

    def read(self, io: FileIO, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Yield the file's rows, in order, as batches with the Arrow schema of the request's fields.

        Raises `FileNotFoundError`, `CorruptFileError`, `StorageError`."""
