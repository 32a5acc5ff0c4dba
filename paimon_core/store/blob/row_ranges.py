"""The values of a BLOB column in a row range: the newest `.blob` file with a value for a row decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.types import arrow_field, arrow_schema
from paimon_core.errors import CorruptFileError, DataFileMissingError
from paimon_core.formats.blob import BlobFile
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import BLOB_AS_DESCRIPTOR
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.row_ranges import RowRange, first_row
from paimon_core.spec.types import DataField, Kind
from paimon_core.store.blob.columns import reads_rows_to_change
from paimon_core.store.blob.values import MOST_BYTES, descriptors, is_descriptor
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.store.blob.nested_values import nested_descriptors, nested_values
else:
    nested_descriptors = ImportedOnCall("paimon_core.store.blob.nested_values", "nested_descriptors")
    nested_values = ImportedOnCall("paimon_core.store.blob.nested_values", "nested_values")


def blob_column(
    store: TableStore, bucket_dir: str, rows: RowRange, parts: Sequence[DataFileMeta], field: DataField
) -> Iterator[pa.RecordBatch]:
    """Yield the values of a BLOB column for all rows of a range, as `newest_values` finds them.

    With `blob-as-descriptor`, the values are descriptors. Raises the same errors.
    """
    schema = arrow_schema([field])
    for file, start, count in newest_values(store, bucket_dir, rows, parts):
        if file is None:
            yield pa.RecordBatch.from_arrays([pa.nulls(count, schema.types[0])], schema=schema)
            continue
        for values in _values(store, file, field, start, count):
            yield pa.RecordBatch.from_arrays([values], schema=schema)


def newest_values(
    store: TableStore, bucket_dir: str, rows: RowRange, parts: Sequence[DataFileMeta]
) -> Iterator[tuple[BlobFile | None, int, int]]:
    """Yield the places of the values of a BLOB column for all rows of a range: a file, its first row, and a number of
    rows.

    The value of a row comes from the newest file in `parts` that has a value for the row; rows without such a file
    have None as their file, and the value NULL. Raises `DataFileMissingError`, `CorruptFileError`, `StorageError`.
    """
    oldest_first = sorted(parts, key=lambda f: (f.max_sequence_number, f.file_name))
    places = FilePlaces(store)
    files = [_open(store, places.of(data_file_path(bucket_dir, f)), f) for f in oldest_first]
    starts = [first_row(f) - rows.first for f in oldest_first]
    source = np.full(rows.count, -1, dtype=np.int64)
    for number, (file, start) in enumerate(zip(files, starts, strict=True)):
        source[start : start + len(file.lengths)][file.written] = number
    changes = np.flatnonzero(np.diff(source, prepend=-2))
    counts = np.diff(changes, append=rows.count)
    for number in range(len(files)):
        runs = source[changes] == number
        files[number] = files[number].for_rows(changes[runs] - starts[number], counts[runs], MOST_BYTES // len(files))
    for start, end in zip(changes.tolist(), [*changes[1:].tolist(), rows.count], strict=True):
        number = int(source[start])
        yield (None, 0, end - start) if number < 0 else (files[number], start - starts[number], end - start)


def _values(store: TableStore, file: BlobFile, field: DataField, start: int, count: int) -> Iterator[pa.Array]:
    """Yield the values of some rows in the form that the reader wants."""
    again = reads_rows_to_change(store.options)
    if field.type.kind is not Kind.BLOB:
        kind = arrow_field(field).type
        if store.options[BLOB_AS_DESCRIPTOR]:
            return nested_descriptors(file, kind, start, count)
        return nested_values(file, kind, start, count, again=again)
    if store.options[BLOB_AS_DESCRIPTOR]:
        return _descriptors(file, start, count)
    return _values_to_write(file, start, count) if again else file.read(start, count)


def _descriptors(file: BlobFile, start: int, count: int) -> Iterator[pa.Array]:
    """Yield descriptors of the values of some rows."""
    starts, lengths = (part[start : start + count] for part in file.spans)
    yield descriptors(file.path, starts, lengths)


def _values_to_write(file: BlobFile, start: int, count: int) -> Iterator[pa.Array]:
    """Yield values of some rows. Those that look like descriptors are descriptors of their bytes."""
    for values in file.read(start, count):
        alike = is_descriptor(values)
        if alike.any():
            starts, lengths = (part[start : start + len(values)] for part in file.spans)
            yield pc.if_else(pa.array(alike), descriptors(file.path, starts, lengths), values)
        else:
            yield values
        start += len(values)


def _open(store: TableStore, path: str, meta: DataFileMeta) -> BlobFile:
    try:
        file = BlobFile.open(store.io, path, meta.file_size)
    except FileNotFoundError as e:
        raise DataFileMissingError(
            f"Blob file {path} of table {store.name} is missing: it was deleted, or its snapshot expired. Run the "
            "query again, or roll back to a snapshot that still has its files."
        ) from e
    if len(file.lengths) != meta.row_count:
        raise CorruptFileError(path, f"it has {len(file.lengths)} values, but metadata says {meta.row_count}")
    return file
