"""The columns of data files, by the schema version with which they were written."""

from __future__ import annotations

from paimon_core.arrow.types import TRACKING_FIELDS, counted_row_fields, key_value_fields
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore


def file_fields(store: TableStore) -> tuple[DataField, ...]:
    """Return the columns of the table's new data files."""
    return fields_of(store.schema)


def fields_of(schema: TableSchema) -> tuple[DataField, ...]:
    """Return the columns of data files written with a schema."""
    return key_value_fields(schema.fields, schema.key_fields) if schema.primary_keys else schema.fields


def stored_fields(store: TableStore, schema_id: int) -> tuple[DataField, ...]:
    """Return the columns of a file written with a version of the schema. Each version is read once."""
    if schema_id == store.schema.id:
        return file_fields(store)
    # If a table is dropped and created again, the same paths have other schemas.
    version = f"{store.paths.schema(schema_id)} below schema {store.schema.id} of {store.schema.time_millis}"
    return store.cache.get(version, lambda: fields_of(read_schema(store, schema_id)))


def fields_of_file(store: TableStore, file: DataFileMeta) -> tuple[DataField, ...]:
    """Return the columns of a file, in the file's order."""
    fields = stored_fields(store, file.schema_id)
    if store.schema.counts_equal_rows and file.has_key:
        return counted_row_fields(fields)
    if file.write_cols is None:
        return fields
    known = {f.name: f for f in (*fields, *TRACKING_FIELDS)}
    return tuple(known[n] for n in file.write_cols if n in known)
