"""Columns that a query may select beside the table's own: the place of a row, and its identity in all its versions.

__paimon_file_path   STRING   the data file
__paimon_row_index   BIGINT   the row's position in it, from 0
__paimon_partition   STRUCT   the partition columns
__paimon_bucket      INT      the bucket
_ROW_ID, _SEQUENCE_NUMBER     see `store.data.row_tracking`: these are read as columns are
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import FILE_PATH, ROW_INDEX, arrow_field
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.kinds import MOMENTS, TEXTS
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import BIGINT, INT, STRING, DataField, Kind, RowType

PARTITION, BUCKET = "__paimon_partition", "__paimon_bucket"
_FIRST_ID = 2_147_482_000  # larger than the ids of other columns


def metadata_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The metadata columns of a table."""
    partition = RowType(fields=tuple(map(_as_text, schema.partition_fields)))
    types = {FILE_PATH: STRING, ROW_INDEX: BIGINT, PARTITION: partition, BUCKET: INT}
    return tuple(DataField(id=_FIRST_ID + i, name=n, type=t) for i, (n, t) in enumerate(types.items()))


def _as_text(field: DataField) -> DataField:
    """Return the column with texts of any length: Spark has no lengths of texts in nested columns."""
    is_text = field.type.kind in TEXTS
    return replace(field, type=STRING.with_nullable(field.type.nullable)) if is_text else field


def metadata_column(
    field: DataField, schema: TableSchema, split: DataSplit, path: str, rows: pa.RecordBatch
) -> pa.Array:
    """Return the values of a metadata column for rows of one file. Columns of positions need rows with positions."""
    arrow = arrow_field(field).type
    if field.name == ROW_INDEX:
        return rows.column(ROW_INDEX)
    if field.name == PARTITION:
        return pa.repeat(_partition(schema, split, arrow), rows.num_rows)
    return pa.repeat(pa.scalar(path if field.name == FILE_PATH else split.bucket, arrow), rows.num_rows)


def _partition(schema: TableSchema, split: DataSplit, arrow: pa.DataType) -> pa.Scalar:
    values = decode_row([f.type for f in schema.partition_fields], split.partition)
    fields = zip(schema.partition_fields, values, arrow, strict=True)
    return pa.scalar({f.name: _plain(f, v, a.type) for f, v, a in fields}, arrow)


def _plain(field: DataField, value: Any, arrow: pa.DataType) -> Any:
    """Convert a partition value for Arrow."""
    if value is not None and field.type.kind in MOMENTS:
        millis, nanos = value
        return pa.scalar(millis * 1_000_000 + nanos, pa.timestamp("ns")).cast(pa.timestamp(arrow.unit)).value
    if value is not None and field.type.kind in (Kind.DATE, Kind.TIME):
        return pa.scalar(value, pa.int32()).cast(arrow).as_py()
    return value
