"""Row tracking: every row has a version, and an id that it keeps in every file.

_ROW_ID           BIGINT   the value in the file, else the file's `_FIRST_ROW_ID` + the row's position in it
_SEQUENCE_NUMBER  BIGINT   the value in the file, else the file's `_MAX_SEQUENCE_NUMBER`: the snapshot that wrote it

A file of new rows has neither column: only the commit can number them. Source: documentation, "Row tracking".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.columns import int64_array
from paimon_core.arrow.types import ROW_ID, SEQUENCE_NUMBER, TRACKING_FIELDS, TRACKING_NAMES
from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.formats.registry import FORMATS
from paimon_core.options import ROW_TRACKING, VECTOR_FILE_FORMAT
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import DataField, VectorType
from paimon_core.store.table_store import TableStore


def tracking_fields(store: TableStore) -> tuple[DataField, ...]:
    """Return the extra columns of a table's rows: `TRACKING_FIELDS` with row tracking, else none."""
    return TRACKING_FIELDS if store.options[ROW_TRACKING] and not store.has_primary_key else ()


def readable_fields(store: TableStore, names: Iterable[str]) -> tuple[DataField, ...]:
    """Return columns of the table and of row tracking, by name.

    Raises `InvalidSchemaError` naming an unknown column.
    """
    known = store.schema.field_by_name | {f.name: f for f in tracking_fields(store)}
    wanted = tuple(names)
    for name in wanted:
        if name not in known:
            raise InvalidSchemaError(f"Table {store.name} has no column {name!r}; it has {', '.join(known)}.")
    check_vectors_readable(store, wanted)
    return tuple(known[n] for n in wanted)


def check_vectors_readable(store: TableStore, names: Iterable[str]) -> None:
    """Raise `UnsupportedFeatureError` naming a VECTOR column in files of a format that this version cannot read."""
    own_format = store.options[VECTOR_FILE_FORMAT]
    if own_format is None or own_format in FORMATS:
        return
    fields = store.schema.field_by_name
    wanted = (fields[n] for n in names if n in fields)
    vector = next((f for f in wanted if isinstance(f.type, VectorType)), None)
    if vector is not None:
        readable = ", ".join(n for n, f in fields.items() if not isinstance(f.type, VectorType))
        raise UnsupportedFeatureError(
            f"Column {vector.name!r} of table {store.name} cannot be read: '{VECTOR_FILE_FORMAT.key}' = "
            f"{own_format!r}, and this version reads {', '.join(FORMATS)}. Select other columns ({readable})."
        )


def rewritten_columns(store: TableStore) -> tuple[str, ...] | None:
    """Return the columns of a file of rewritten rows, which keep their ids and versions.

    Return None if these are the columns of the table.
    """
    return (*store.schema.field_by_name, *TRACKING_NAMES) if tracking_fields(store) else None


def written_fields(store: TableStore, columns: Sequence[str]) -> tuple[DataField, ...]:
    """Return the columns of a written file in which each row has its id."""
    fields = readable_fields(store, columns)
    return tuple(replace(f, type=f.type.with_nullable(False)) if f.name == ROW_ID else f for f in fields)


def with_tracking(batches: Iterable[pa.RecordBatch], file: DataFileMeta) -> Iterator[pa.RecordBatch]:
    """Fill the tracking columns of a file's rows if the file does not have the values.

    `batches` must have all rows in order.
    """
    start = 0
    for batch in batches:
        yield _with_sequence_number(_with_row_id(batch, file, start), file)
        start += batch.num_rows


def _with_row_id(batch: pa.RecordBatch, file: DataFileMeta, start: int) -> pa.RecordBatch:
    index = batch.schema.get_field_index(ROW_ID)
    if index < 0 or file.first_row_id is None or not batch.column(index).null_count:
        return batch
    first = file.first_row_id + start
    derived = int64_array(np.arange(first, first + batch.num_rows, dtype=np.int64))
    return batch.set_column(index, batch.schema.field(index), pc.coalesce(batch.column(index), derived))


def _with_sequence_number(batch: pa.RecordBatch, file: DataFileMeta) -> pa.RecordBatch:
    index = batch.schema.get_field_index(SEQUENCE_NUMBER)
    if index < 0 or not batch.column(index).null_count:
        return batch
    known = pc.fill_null(batch.column(index), file.max_sequence_number)
    return batch.set_column(index, batch.schema.field(index), known)
