"""BLOB columns: the columns with files of their own, and the form in which a read returns their values.

The values of a BLOB column are in `.blob` files. For descriptor and view columns, data files contain descriptors
instead. In tables with a primary key, data files contain descriptors for all BLOB columns: the values are in
`*.managed.blob` packs, which are `.blob` files in the folder of the bucket. `<data file>.blobref` names the packs of a
data file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_core.clock import now_millis
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import (
    BLOB_AS_DESCRIPTOR,
    BLOB_DESCRIPTOR_FIELD,
    BLOB_VIEW_FIELD,
    BLOB_VIEW_RESOLVE,
    TableOptions,
)
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, Kind, holds_blobs
from paimon_core.store.table_store import TableStore

# An option of reads, not of tables. The rows that UPDATE and MERGE read are written again, and a writer fetches the
# bytes of every descriptor. So a value that looks like a descriptor is read as a descriptor of its bytes.
ROWS_TO_CHANGE = "paimon-sql.rows-to-change"


def reads_rows_to_change(options: TableOptions) -> bool:
    """Return whether rows are read in order to be written again. Values that look like descriptors are then read as
    descriptors of themselves.
    """
    return options.values.get(ROWS_TO_CHANGE) == "true"


def options_of_change(schema: TableSchema) -> dict[str, str]:
    """Return the options of a read of the rows that a statement writes again."""
    return {ROWS_TO_CHANGE: "true"} if any(holds_blobs(f.type) for f in schema.fields) else {}


def form_of_blobs(options: TableOptions) -> dict[str, str]:
    """Return the options that decide the form in which a read returns BLOBs. They also apply to the branches that the
    read uses.
    """
    return {key: options.values[key] for key in (BLOB_AS_DESCRIPTOR.key, ROWS_TO_CHANGE) if key in options.values}


def blob_file_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """The columns with values in files of their own: `.blob` files, or packs in a table with a primary key."""
    inline = {*options[BLOB_DESCRIPTOR_FIELD], *options[BLOB_VIEW_FIELD]}
    return tuple(f for f in schema.fields if holds_blobs(f.type) and f.name not in inline)


def descriptor_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """The columns with descriptors in data files."""
    return tuple(f for f in schema.fields if f.type.kind is Kind.BLOB and f.name in options[BLOB_DESCRIPTOR_FIELD])


def view_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """The columns with views in data files."""
    return tuple(f for f in schema.fields if f.type.kind is Kind.BLOB and f.name in options[BLOB_VIEW_FIELD])


def viewed_columns(store: TableStore, columns: Sequence[str]) -> list[str]:
    """Return the columns with views that a read replaces by values. In rows to be written again, views stay."""
    if not store.options[BLOB_VIEW_RESOLVE] or reads_rows_to_change(store.options):
        return []
    return [f.name for f in view_fields(store.schema, store.options) if f.name in columns]


def store_of_read(store: TableStore, columns: Sequence[str]) -> TableStore:
    """Return the store for the tasks of a scan that reads columns. Only a read of blob views opens other tables, and
    needs the catalog's options with the password for that. So the stores of all other reads do not have them. All tasks
    read the other tables as they are now.
    """
    if store.others is None:
        return store
    return replace(store, others=store.others.at(now_millis()) if viewed_columns(store, columns) else None)


def check_no_views_read(store: TableStore, columns: Sequence[str], statement: str) -> None:
    """Raise `UnsupportedFeatureError` if a statement that rewrites rows has an expression on a column of blob views.
    Rewritten rows keep their views, so the expression would get a view instead of the value.
    """
    found = viewed_columns(store, columns)
    if found:
        raise UnsupportedFeatureError(
            f"{statement} on table {store.name} reads column {found[0]!r} in a condition or in a new value. It has "
            f"views of BLOBs in other tables, and {statement} keeps them as views, so it cannot compare or "
            "change their values. Use another column, such as the key of rows that a query found."
        )


def described_fields(schema: TableSchema, options: TableOptions) -> tuple[DataField, ...]:
    """Return the columns with descriptors in data files. In a table with a primary key, these are all BLOB columns."""
    if not schema.primary_keys:
        return descriptor_fields(schema, options)
    return tuple(f for f in schema.fields if holds_blobs(f.type) and f.name not in options[BLOB_VIEW_FIELD])


def described_columns(store: TableStore, columns: Sequence[str]) -> list[str]:
    """Return the columns with descriptors that a read replaces by values. With `blob-as-descriptor`, descriptors stay;
    in rows to be written again, descriptors stay in descriptor columns.
    """
    if store.options[BLOB_AS_DESCRIPTOR]:
        return []
    kept = descriptor_fields(store.schema, store.options) if reads_rows_to_change(store.options) else ()
    fields = described_fields(store.schema, store.options)
    return [f.name for f in fields if f.name in columns and f not in kept]
