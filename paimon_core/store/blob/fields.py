"""Which BLOB columns a table keeps in `.blob` files, and which it keeps as descriptors in its data files.

Tables with a primary key have descriptors in their data files for all of them: the values are in `*.managed.blob`
packs, which are `.blob` files in the folder of the bucket. `<data file>.blobref` names the packs of a data file.
"""

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


def described_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """The columns that data files have descriptors of: all of a table with a primary key, whose values are in packs."""
    if not schema.primary_keys:
        return descriptor_fields(schema, options)
    return tuple(f for f in schema.fields if f.type.kind is Kind.BLOB and f.name not in options[BLOB_VIEW_FIELD])
