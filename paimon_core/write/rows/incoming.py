"""Checking incoming rows and converting them to the Arrow schema of data files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

import pyarrow as pa

from paimon_core.arrow.default_values import fill_default
from paimon_core.arrow.evolution import conform as evolved
from paimon_core.arrow.required_parts import check_required_parts, null_value, with_required_parts
from paimon_core.arrow.types import arrow_field, arrow_schema
from paimon_core.arrow.vectors import invalid_vector
from paimon_core.errors import InvalidDataError
from paimon_core.spec.types import DataField, StoredTimeType, nested_types
from paimon_core.store.table_store import TableStore

SEVERAL_MATCHES = (
    "MERGE failed: several source rows match one row of the target, so its new values are not decided. Make the "
    "source unique in the columns of the ON condition."
)


def conform(batch: pa.RecordBatch, store: TableStore) -> pa.RecordBatch:
    """Return the table's columns of a batch; see `conform_fields`."""
    return conform_fields(batch, store.schema.fields, store.zone, store.schema.primary_keys)


def conform_fields(
    batch: pa.RecordBatch, fields: Sequence[DataField], zone: tzinfo | None, keys: Sequence[str] = ()
) -> pa.RecordBatch:
    """Convert columns of a batch to the types and nullability of data files.

    A NULL in a column with a default value becomes the default; its instants are in `zone`. Neither required columns
    nor `keys` may have NULL. Raises `InvalidDataError` naming a column that is missing, has an unsuitable type, or has
    an invalid vector; `NullValueError` for a NULL in a column, or in a part of a value, that is NOT NULL.
    """
    arrays = [fill_default(_column(batch, f), f, zone) for f in fields]
    for field, column in zip(fields, arrays, strict=True):
        if column.null_count and (not field.type.nullable or field.name in keys):
            raise null_value(field.name, is_key=field.name in keys)
        if (fault := invalid_vector(column, field.type)) is not None:
            raise InvalidDataError(
                f"Column {field.name!r} of type {field.type.sql()} cannot hold {fault}. Write vectors of the column's "
                "length, or NULL in place of a vector."
            )
        check_required_parts(field.name, column, column.type)
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))


def as_stored(store: TableStore) -> TableStore:
    """Return the store for rows that were written before. NULL in a column with a default value then stays NULL."""
    fields = tuple(replace(f, default=None) for f in store.schema.fields)
    return replace(store, schema=replace(store.schema, fields=fields))


def _column(batch: pa.RecordBatch, field: DataField) -> pa.Array:
    index = batch.schema.get_field_index(field.name)
    if index < 0:
        raise InvalidDataError(f"The rows to write have no column {field.name!r}.")
    column, wanted = batch.column(index), arrow_field(field).type
    if column.type.equals(wanted):
        return column
    try:
        if any(isinstance(t, StoredTimeType) for t in nested_types(field.type)):
            return evolved(column, wanted)
        check_required_parts(field.name, column, wanted)
        return with_required_parts(column, wanted).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        raise InvalidDataError(f"Column {field.name!r} of type {field.type} cannot take {column.type}: {e}") from e
