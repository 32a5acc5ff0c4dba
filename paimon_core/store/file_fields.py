"""The columns of data files, by the version of the schema that they were written with."""

from __future__ import annotations

from paimon_core.arrow.types import TRACKING_FIELDS, counted_row_fields, key_value_fields
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore


def file_fields(store: TableStore) -> tuple[DataField, ...]:
    """The columns of the table's data files."""
    return fields_of(store.schema)


def fields_of(schema: TableSchema) -> tuple[DataField, ...]:
    """The columns of data files that are written with a schema."""
    return key_value_fields(schema.fields, schema.key_fields) if schema.primary_keys else schema.fields


def stored_fields(store: TableStore, schema_id: int) -> tuple[DataField, ...]:
    """The columns of a file that was written with a version of the schema. Each version is read once."""
    if schema_id == store.schema.id:
        return file_fields(store)
    # if a table is dropped and created again, these paths have other schemas
    version = f"{store.paths.schema(schema_id)} below schema {store.schema.id} of {store.schema.time_millis}"
    return store.cache.get(version, lambda: fields_of(read_schema(store, schema_id)))


def fields_of_file(store: TableStore, file: DataFileMeta) -> tuple[DataField, ...]:
    """The columns of a file, in its order."""
    fields = stored_fields(store, file.schema_id)
    if store.schema.counts_equal_rows and file.has_key:
        return counted_row_fields(fields)
    if file.write_cols is None:
        return fields
    known = {f.name: f for f in (*fields, *TRACKING_FIELDS)}
    return tuple(known[n] for n in file.write_cols if n in known)
