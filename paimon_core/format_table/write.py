"""Write a format table: tasks write files with hidden names, and the commit makes them visible."""

from __future__ import annotations

import itertools
import uuid
from contextlib import suppress

import pyarrow as pa

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.arrow.types import arrow_schema
from paimon_core.dataclass import dataclass
from paimon_core.format_table.folders import folder_values, partition_folder
from paimon_core.formats.file_format import FormatWriter
from paimon_core.formats.registry import block_bytes, file_ending, write_format
from paimon_core.io.file_io import temporary_name
from paimon_core.options import DATA_FILE_PREFIX
from paimon_core.spec.records import Column, Record
from paimon_core.store.table_store import TableStore
from paimon_core.write.buckets.bucketing import partition_codes, split_by
from paimon_core.write.files.data_files import ROW_GROUP_BYTES, target_file_size
from paimon_core.write.rows.incoming import conform


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A complete file with a hidden name. The commit renames it to `name` in the same folder."""

    folder: str
    staged: str
    name: str

    @property
    def staged_path(self) -> str:
        return f"{self.folder}/{self.staged}"

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}"


class FormatTableWriter:
    """Writes the files of one task. Consecutive rows of a partition go to one file, until it is large enough."""

    def __init__(self, store: TableStore) -> None:
        self._store, self._keys = store, store.schema.partition_keys
        self._fields = tuple(f for f in store.schema.fields if f.name not in self._keys)
        prefix, ending = f"{store.options[DATA_FILE_PREFIX]}{uuid.uuid4()}", file_ending(store.options)
        self._names = (f"{prefix}-{i}{ending}" for i in itertools.count())
        self._group_bytes = min(block_bytes(store.options) or ROW_GROUP_BYTES, target_file_size(store))
        self._partition: bytes | None = None
        self._pending: list[pa.RecordBatch] = []
        self._file: FormatWriter | None = None
        self._staged: list[StagedFile] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        rows = conform(batch, self._store)
        for _, part in split_by(rows, partition_codes(rows, self._keys)):
            partition = row_bytes(part, 0, self._store.schema.partition_fields)
            if partition != self._partition:
                self._end_file()
                self._partition = partition
            self._pending.append(part.select([f.name for f in self._fields]))
            if sum(b.nbytes for b in self._pending) >= self._group_bytes:
                self._write_pending()
                if self._file is not None and self._file.size >= target_file_size(self._store):
                    self._end_file()

    def finish(self) -> list[StagedFile]:
        """End the last file. Return all files."""
        self._end_file()
        return self._staged

    def abort(self) -> None:
        """Delete everything written, as far as possible."""
        if self._file is not None:
            self._file.abort()
        discard(self._store, self._staged)

    def _write_pending(self) -> None:
        if not self._pending:
            return
        if self._file is None:
            folder = partition_folder(self._store, folder_values(self._store, self._partition or b""))
            name = next(self._names)
            staged = StagedFile(folder, temporary_name(name), name)
            self._staged.append(staged)
            options = self._store.options
            self._file = write_format(options).open_writer(self._store.io, staged.staged_path, self._fields, options)
        self._file.write(pa.Table.from_batches(self._pending, arrow_schema(self._fields)))
        self._pending = []

    def _end_file(self) -> None:
        self._write_pending()
        if self._file is not None:
            self._file.close()
            self._file = None


def discard(store: TableStore, files: list[StagedFile]) -> None:
    """Delete files that were not committed, as far as possible."""
    for file in files:
        with suppress(OSError):
            store.io.delete(file.staged_path)


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """The files of one task."""

    files: tuple[StagedFile, ...] = ()


_STAGED_FILE = Record("staged file", StagedFile, tuple(Column(c, c, "string") for c in ("folder", "staged", "name")))
STAGED_FILES = Record("staged files", StagedFiles, (Column("files", "files", record=_STAGED_FILE, repeated=True),))
