"""Adopt data files of an Iceberg table as data files of an append table, without rewriting them. Columns keep Iceberg's
ids, so that readers find them. Some readers find columns by name. For them, each file refers to the schema version with
the file's own names and types.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from paimon_core.arrow.binary_rows import row_bytes
from paimon_core.arrow.types import arrow_schema, field_id
from paimon_core.clock import now_millis
from paimon_core.errors import DataFileMissingError, InvalidSchemaError, UnsupportedFeatureError
from paimon_core.format_table.iceberg import IcebergFile, IcebergTable
from paimon_core.format_table.migration import ADOPTED, Adoption, adopted_name, imported_meta
from paimon_core.formats.reading import read_errors
from paimon_core.io.file_io import FileIO
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import UNAWARE_BUCKET, DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.schema import TableSchema, highest_field_id
from paimon_core.spec.types import DataField
from paimon_core.store.ddl.new_schema import check_schema
from paimon_core.store.table_store import TableStore

_THREADS = 16  # files that are opened in parallel to read their columns


def schemas_of(source: IcebergTable, options: Mapping[str, str]) -> tuple[TableSchema, ...]:
    """Return the schema versions for an append table: one for each schema of the Iceberg table that has the partition
    columns.
    """
    keys = source.partition_keys
    made = [
        TableSchema(
            fields=fields,
            highest_field_id=max(highest_field_id(f) for f in source.schemas),
            partition_keys=keys,
            primary_keys=(),
            options=dict(options),
            comment=None,
            time_millis=now_millis(),
        )
        for fields in source.schemas
        if set(keys) <= {f.name for f in fields} or fields is source.schemas[-1]
    ]
    for schema in made:
        check_schema(schema)
    return tuple(replace(s, id=number) for number, s in enumerate(made))


def plan_iceberg_adoption(
    storage: FileIO, source: IcebergTable, schemas: Sequence[TableSchema], target: TableStore
) -> Adoption:
    """Plan the adoption of the files. Raises `UnsupportedFeatureError`, `InvalidSchemaError`, `CorruptFileError`."""
    paths, messages = list[tuple[str, str]](), defaultdict[bytes, list[DataFileMeta]](list)
    for file in source.files:
        if file.file_format not in ADOPTED:
            raise UnsupportedFeatureError(
                f"File {file.path} cannot be migrated: its format is {file.file_format}, and only "
                f"{' and '.join(ADOPTED)} files can be migrated."
            )
    with ThreadPoolExecutor(_THREADS) as pool:
        columns = list(pool.map(partial(_columns, storage), source.files))
    for file, found in zip(source.files, columns, strict=True):
        schema = _schema_of(file, found, schemas)
        partition = _partition(target, file)
        name = adopted_name(storage, file.path, file.file_format)
        paths.append((file.path, f"{target.bucket_dir(partition, UNAWARE_BUCKET)}/{name}"))
        messages[partition].append(replace(imported_meta(target, name, file.size, file.rows), schema_id=schema.id))
    return Adoption(
        tuple(paths),
        tuple(
            CommitMessage(partition=p, bucket=UNAWARE_BUCKET, total_buckets=-1, new_files=tuple(files))
            for p, files in messages.items()
        ),
    )


def _partition(target: TableStore, file: IcebergFile) -> bytes:
    fields = target.schema.partition_fields
    if not fields:
        return EMPTY_ROW
    schema = arrow_schema([replace(f, type=f.type.with_nullable(True)) for f in fields])
    values = [pa.array([v], f.type) for v, f in zip(file.partition, schema, strict=True)]
    return row_bytes(pa.RecordBatch.from_arrays(values, schema=schema), 0, fields)


def _columns(storage: FileIO, file: IcebergFile) -> pa.Schema:
    try:
        with (
            read_errors(file.file_format, file.path),
            storage.open_input(file.path) as stream,
        ):
            return po.ORCFile(stream).schema if file.file_format == "orc" else pq.ParquetFile(stream).schema_arrow
    except FileNotFoundError:
        raise DataFileMissingError(
            f"Data file {file.path} of the Iceberg table does not exist: it may have been rewritten since. Name the "
            "latest metadata file."
        ) from None


def _schema_of(file: IcebergFile, found: pa.Schema, schemas: Sequence[TableSchema]) -> TableSchema:
    """Return the latest schema with the names and types of a file's columns. Raises `InvalidSchemaError`."""
    chosen = next((s for s in reversed(schemas) if _fits(list(found), s.fields)), None)
    if chosen is None:
        raise InvalidSchemaError(
            f"File {file.path} cannot be migrated: no version of the table's schema has its columns "
            f"{', '.join(found.names)} of these types. Rewrite its data files first."
        )
    return chosen


def _fits(found: Sequence[pa.Field], fields: Sequence[DataField]) -> bool:
    by_id = {i: f for f in found if (i := field_id(f)) is not None}
    by_name = {f.name: f for f in found}
    wanted = arrow_schema(fields)
    if not by_id:
        return by_name.keys() <= set(wanted.names) and all(
            _same(by_name[f.name], f) for f in wanted if f.name in by_name
        )
    for field in wanted:
        own = by_id.get(field_id(field) or 0)
        if own is None and field.name in by_name:
            return False  # a column with this name was dropped, and another column got the name
        if own is not None and (own.name != field.name or not _same(own, field)):
            return False
    return True


def _same(found: pa.Field, wanted: pa.Field) -> bool:
    """Return whether a column was written with a type.

    Numbers may have become wider, and fields of rows may have other names.
    """
    if pa.types.is_struct(wanted.type) and pa.types.is_struct(found.type):
        ours = {i: f for f in wanted.type if (i := field_id(f)) is not None}
        pairs = [(f, ours[i]) for f in found.type if (i := field_id(f)) in ours]
        return all(f.name == own.name and _same(f, own) for f, own in pairs)
    numbers = pa.types.is_primitive(wanted.type) and not pa.types.is_temporal(wanted.type)
    return not numbers or found.type.equals(wanted.type)
