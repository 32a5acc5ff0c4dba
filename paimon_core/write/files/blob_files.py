"""Write a BLOB column of a bucket's rows as `.blob` files, which end at a size and together with the data files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.blob_parts import blob_parts
from paimon_core.clock import metadata_now
from paimon_core.errors import InvalidDataError
from paimon_core.formats.blob import BlobFile, BlobFileWriter
from paimon_core.formats.blob_elements import encoded
from paimon_core.formats.stats import NONE, value_stats
from paimon_core.options import BLOB_TARGET_FILE_SIZE, STATS_DENSE_STORE
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import TO_BE_NUMBERED, DataFileMeta, FileSource
from paimon_core.spec.stats import EMPTY_STATS, UNKNOWN
from paimon_core.spec.types import DataField, Kind
from paimon_core.store.blob.values import DescribedBlobs
from paimon_core.store.external.paths import external_path
from paimon_core.store.table_store import TableStore
from paimon_core.write.files.new_paths import NewPaths

_ENDING = ".blob"


class NewBlobFiles:
    """The files with BLOB values of one column that a writer makes, one after the other."""

    def __init__(self, store: TableStore, paths: NewPaths, ending: str):
        self._store, self._new_paths, self._ending = store, paths, ending
        self._file: BlobFileWriter | None = None
        self._paths: list[str] = []

    @property
    def path(self) -> str:
        """The path of the newest file."""
        return self._paths[-1]

    def open(self) -> BlobFileWriter:
        """Return the open file, or else a new one."""
        if self._file is None:
            self._paths.append(self._new_paths.next(self._ending))
            self._file = BlobFileWriter(self._store.io, self.path)
        return self._file

    def close(self) -> tuple[int, int] | None:
        """End the open file, and make it durable. Return its size and number of rows, or None if no file is open."""
        if self._file is None:
            return None
        file, self._file = self._file, None
        return file.close(), file.row_count

    def abort(self) -> None:
        """Delete all files, as far as possible."""
        if self._file is not None:
            self._file.abort()
            self._file = None
        for path in self._paths:
            with suppress(OSError):
                self._store.io.delete(path)


class BlobColumnWriter:
    """The `.blob` files of one column. The writer fetches the values that descriptors refer to, except for `stored`
    values, which were in the table before. Without a `target` (bytes), files do not end at a size.
    """

    def __init__(
        self,
        store: TableStore,
        field: DataField,
        paths: NewPaths,
        target: int | None,
        *,
        stored: bool = False,
        source: FileSource = FileSource.APPEND,
    ):
        self._store, self._field, self._source = store, field, source
        self._target = None if target is None else store.options[BLOB_TARGET_FILE_SIZE] or target
        self._blobs = None if stored else DescribedBlobs.of(store)
        self._files = NewBlobFiles(store, paths, _ENDING)
        self._finished: list[DataFileMeta] = []

    @property
    def name(self) -> str:
        return self._field.name

    def write(self, values: pa.Array, written: NDArray[np.bool_] | None = None) -> None:
        """Add the values of rows. Values that are not marked as `written` stay in older files. Raises
        `InvalidDataError`.
        """
        for piece in [values] if self._blobs is None else self._blobs.pieces(values):
            parts, _ = blob_parts(piece)
            stored = parts if self._blobs is None else self._blobs.resolved(parts)
            if self._field.type.kind is not Kind.BLOB:
                stored = self._encoded(piece, stored)
            self._write(stored, None if written is None else written[: len(piece)])
            written = None if written is None else written[len(piece) :]

    def _encoded(self, piece: pa.Array, parts: pa.Array) -> pa.Array:
        try:
            return encoded(piece, parts.cast(pa.large_binary()))
        except ValueError as e:
            raise InvalidDataError(
                f"Column {self.name!r} of table {self._store.name} has a value that cannot be stored: it {e}. Write "
                "each key once."
            ) from e

    def _write(self, values: pa.Array, written: NDArray[np.bool_] | None) -> None:
        while len(values):
            file = self._files.open()
            count = len(values) if self._target is None else file.room(values, self._target)
            file.write(values.slice(0, count), None if written is None else written[:count])
            values, written = values.slice(count), None if written is None else written[count:]
            if self._target is not None and file.size >= self._target:
                self._close()

    def copy(self, file: BlobFile | None, start: int, count: int) -> None:
        """Add the values of rows of a file as they are stored. Without a file, add NULL for each row."""
        while count:
            new = self._files.open()
            rows = count if self._target is None or file is None else file.room(start, count, self._target - new.size)
            new.copy(file, start, rows)
            start, count = start + rows, count - rows
            if self._target is not None and new.size >= self._target:
                self._close()

    def roll(self) -> Sequence[DataFileMeta]:
        """End the open file and return all files since the last call. The next values begin a new file."""
        self._close()
        finished, self._finished = self._finished, []
        return finished

    def abort(self) -> None:
        """Delete everything written, as far as possible."""
        self._files.abort()
        self._finished = []

    def _close(self) -> None:
        if (closed := self._files.close()) is not None:
            self._finished.append(self._meta(*closed))

    def _meta(self, size: int, row_count: int) -> DataFileMeta:
        dense = self._store.options[STATS_DENSE_STORE]
        stats, covered = value_stats([self._field], [NONE], [UNKNOWN], dense=dense)
        return DataFileMeta(
            file_name=self._files.path.rpartition("/")[2],
            file_size=size,
            row_count=row_count,
            min_key=EMPTY_ROW,
            max_key=EMPTY_ROW,
            key_stats=EMPTY_STATS,
            value_stats=stats,
            value_stats_cols=covered,
            min_sequence_number=TO_BE_NUMBERED,
            max_sequence_number=TO_BE_NUMBERED,
            schema_id=self._store.schema.id,
            level=0,
            creation_time=metadata_now(),
            delete_row_count=0,
            file_source=int(self._source),
            write_cols=(self.name,),
            external_path=external_path(self._store, self._files.path),
        )
