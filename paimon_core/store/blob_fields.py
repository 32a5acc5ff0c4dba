"""Which BLOB columns a table keeps in `.blob` files, and which it keeps as descriptors in its data files."""

from __future__ import annotations

from paimon_core.options import BLOB_DESCRIPTOR_FIELD, BLOB_VIEW_FIELD, TableOptions
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, Kind


def blob_file_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """The columns whose values are in files of their own."""
    inline = {*options[BLOB_DESCRIPTOR_FIELD], *options[BLOB_VIEW_FIELD]}
    return tuple(f for f in schema.fields if f.type.kind is Kind.BLOB and f.name not in inline)


def descriptor_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """The columns of which data files hold descriptors."""
    return tuple(f for f in schema.fields if f.type.kind is Kind.BLOB and f.name in options[BLOB_DESCRIPTOR_FIELD])
