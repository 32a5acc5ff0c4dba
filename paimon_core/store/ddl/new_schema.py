"""The first schema of a table, from its definition; and the checks for every version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from paimon_core.arrow.default_values import default_value
from paimon_core.clock import now_millis
from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.formats.registry import check_formats
from paimon_core.indexes.file_index.options import indexed_columns
from paimon_core.lsm.engines.registry import merge_engine
from paimon_core.lsm.functions.field_options import DEFAULT_FUNCTION, FIELDS_PREFIX, FUNCTION_SUFFIX, FieldOptions
from paimon_core.lsm.record_expiry import check_time_column
from paimon_core.manifests.record_files import record_format
from paimon_core.options import (
    BUCKET,
    BUCKET_FUNCTION,
    BUCKET_KEY,
    CHANGELOG_PRODUCER,
    CHANGELOG_ROW_DEDUPLICATE_IGNORE,
    CLUSTERING_COLUMNS,
    CLUSTERING_INCREMENTAL,
    DATA_EVOLUTION,
    DELETION_VECTORS,
    DELTA_COMMITS,
    MERGE_ENGINE,
    PARTITION_LEGACY_NAME,
    RECORD_TIME_FIELD,
    ROW_KIND_FIELD,
    ROW_TRACKING,
    SCAN_TIMESTAMP,
    SEQUENCE_FIELD,
    UPSERT_KEY,
    TableOptions,
    names,
)
from paimon_core.options.iceberg import iceberg_properties
from paimon_core.options.scan_modes import SCAN_OPTIONS, check_one_version, check_scan_mode
from paimon_core.options.support import check_option_types
from paimon_core.spec.hashing.bucket_functions import check_bucket_key
from paimon_core.spec.kinds import BINARIES, TEXTS
from paimon_core.spec.schema import TableSchema, encode_schema, highest_field_id
from paimon_core.spec.types import NESTED_KINDS, CollectionType, DataField, DataType, Kind, MapType, RowType
from paimon_core.store.ddl.blob_schema import check_blobs, with_blobs
from paimon_core.store.ddl.column_lists import check_column_lists
from paimon_core.store.ddl.constraints import check_constraints
from paimon_core.store.ddl.generated_columns import check_generated
from paimon_core.store.ddl.key_index_rules import check_key_indexes
from paimon_core.store.ddl.map_layout_rules import check_map_layouts
from paimon_core.store.ddl.option_rules import check_option_rules
from paimon_core.store.ddl.partition_options import check_partition_options
from paimon_core.store.ddl.usable_values import check_usable_values
from paimon_core.store.ddl.vector_schema import check_vectors, with_vectors
from paimon_core.store.features import check_definable
from paimon_core.time_zones import parsed_moment

_RESERVED = frozenset(("_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"))
_RESERVED_PREFIX = "_KEY_"


def new_table_schema(
    columns: Sequence[DataField],
    partition_keys: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    primary_keys: Sequence[str] = (),
) -> TableSchema:
    """Return version 0 of a new table's schema; `columns` get new ids.

    Keys may also be given by the options `primary-key` and `partition`, which are then removed. Primary key columns
    become NOT NULL. Raises `InvalidSchemaError`, `InvalidOptionError`, `UnsupportedFeatureError`.
    """
    kept = dict(options or {})
    keys = _keys("primary key", "primary-key", primary_keys, kept)
    partitions = _keys("partition", "partition", partition_keys, kept)
    ids = count()
    columns, kept = with_blobs([numbered(c, ids) for c in columns], kept)
    columns, kept = with_vectors(columns, kept)
    fields = tuple(replace(f, type=f.type.with_nullable(False)) if f.name in keys else f for f in columns)
    schema = TableSchema(
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=partitions,
        primary_keys=keys,
        options=kept,
        comment=comment,
        time_millis=now_millis(),
    )
    check_schema(schema)
    _check_folders(schema)
    check_definable(kept, keyed=bool(keys))
    return schema


def same_partitions(old: TableSchema, new: TableSchema) -> bool:
    """Return whether the two schemas store partitions in the same way: by the same order and types of keys.

    Manifests of one schema can then be read with the other."""
    then, now = ([(f.name, f.type.with_nullable(True)) for f in s.partition_fields] for s in (old, new))
    return then == now


def replacing_schema(old: TableSchema, new: TableSchema) -> TableSchema:
    """Return the version that follows `old` after REPLACE TABLE, with the same partitions. The new columns get unused
    ids, so that earlier snapshots stay readable."""
    ids = count(max(old.highest_field_id, highest_field_id(old.fields)) + 1)
    fields = tuple(numbered(f, ids) for f in new.fields)
    return replace(new, id=old.id + 1, fields=fields, highest_field_id=highest_field_id(fields))


def check_schema(schema: TableSchema, previous: TableSchema | None = None) -> None:
    """Raise `InvalidSchemaError`, `InvalidOptionError` or `UnsupportedFeatureError` for an invalid table.

    Buckets without a key are accepted if the version `previous` already had them: a table with rows cannot get a key.
    """
    encode_schema(schema)  # raises for a text that cannot be written
    _check_columns(schema)
    _check_keys(schema)
    for field in schema.fields:
        if field.default is not None:
            default_value(field)  # raises for an invalid default
    options = TableOptions(schema.options)
    check_option_types(options, () if previous is None else previous.options)
    check_column_lists(schema, previous)
    _check_scan(options, previous)
    _check_bucket(schema, options, _keeps_keyless_buckets(schema, previous))
    _check_sequence(schema, options)
    _check_upsert_key(schema, options)
    _check_fields(schema, options)
    if schema.primary_keys:
        merge_engine(schema, options)
    _check_changelog(schema, options)
    _check_expiry(schema, options)
    _check_row_tracking(schema, options)
    check_option_rules(schema, options)
    check_partition_options(schema, options, previous)
    check_usable_values(schema, options, previous)
    indexed_columns(options, schema)  # raises for a column that cannot have the index
    check_blobs(schema, options)
    check_vectors(schema, options)
    check_key_indexes(schema, options)
    check_map_layouts(schema, options)
    iceberg_properties(schema.options)  # raises for a property that Iceberg sets itself
    check_generated(schema, previous)
    check_constraints(schema, previous)
    check_formats(schema.fields, options)
    record_format(options)  # raises for an unknown format


def _keys(kind: str, option: str, given: Sequence[str], options: dict[str, str]) -> tuple[str, ...]:
    text = options.pop(option, None)
    if text is not None and given:
        raise InvalidSchemaError(
            f"The {kind} is defined twice, by the statement and by the option {option!r}. Leave one of them out."
        )
    if text is None:
        return tuple(given)
    found = names(text)
    if len(found) != len(text.rstrip(", ").split(",")) or not found:
        raise InvalidSchemaError(
            f"Option {option!r} = {text!r} has an empty name: list the columns of the {kind} with commas between them, "
            "or leave the option out."
        )
    return found


def numbered(field: DataField, ids: Iterable[int]) -> DataField:
    """Give the field the next id, and the fields nested in it the ids after it, in reading order."""
    number = iter(ids)
    field_id = next(number)
    return replace(field, id=field_id, type=_numbered_type(field.type, number))


def _numbered_type(data_type: DataType, ids: Iterable[int]) -> DataType:
    match data_type:
        case RowType(fields=fields):
            return replace(data_type, fields=tuple(numbered(f, ids) for f in fields))
        case MapType(key=key, value=value):
            return replace(data_type, key=_numbered_type(key, ids), value=_numbered_type(value, ids))
        case CollectionType(element=element):
            return replace(data_type, element=_numbered_type(element, ids))
    return data_type


def _check_scan(options: TableOptions, previous: TableSchema | None) -> None:
    """Check the options that set what a query reads by default. A table that already has such options keeps them."""
    before = {} if previous is None else previous.options
    if any(options.values.get(key) != before.get(key) for key in SCAN_OPTIONS):
        check_scan_mode(options)
        check_one_version(options)
        _check_moment(options)


def _check_moment(options: TableOptions) -> None:
    text = options[SCAN_TIMESTAMP]
    try:
        if text:
            parsed_moment(text)
    except ValueError as e:
        raise InvalidOptionError(
            f"Option '{SCAN_TIMESTAMP.key}' cannot be {text!r}: write it as '2024-01-31 12:00:00' or '2024-01-31'."
        ) from e


def _check_columns(schema: TableSchema) -> None:
    all_names = [f.name for f in schema.fields]
    _check_unique("Column", all_names)  # the session decides whether upper and lower case differ
    for name in all_names:
        if not name or name in _RESERVED or name.startswith(_RESERVED_PREFIX):
            raise InvalidSchemaError(
                f"A column cannot be called {name!r}: Paimon uses that name itself. Choose another name."
            )


def _check_keys(schema: TableSchema) -> None:
    for kind, keys in (("Primary key", schema.primary_keys), ("Partition", schema.partition_keys)):
        _check_unique(f"{kind} column", keys)
        for field in schema.select(keys):
            if field.type.kind in NESTED_KINDS:
                raise InvalidSchemaError(
                    f"{kind} column {field.name!r} cannot be of type {field.type.sql()}: keys cannot be nested. Choose "
                    "another column."
                )
    if schema.primary_keys and set(schema.primary_keys) == set(schema.partition_keys):
        raise InvalidSchemaError(
            f"The primary key ({', '.join(schema.primary_keys)}) has only partition columns, so each partition would "
            "hold one row: add a column to it."
        )


def _check_folders(schema: TableSchema) -> None:
    """Raise `InvalidSchemaError` if a partition's folder cannot get a valid name: every write would then fail."""
    for field in schema.partition_fields:
        if field.type.kind in BINARIES and TableOptions(schema.options)[PARTITION_LEGACY_NAME]:
            raise InvalidSchemaError(
                f"Partition column {field.name!r} cannot be of type {field.type.sql()}: names of folders cannot "
                "contain its values. Partition by a STRING, for example by hex(…) of the values."
            )


def _keeps_keyless_buckets(schema: TableSchema, previous: TableSchema | None) -> bool:
    if previous is None:
        return schema.allows_keyless_buckets
    then, now = ((TableOptions(s.options)[BUCKET], s.bucket_keys) for s in (previous, schema))
    return then == now


def _check_bucket(schema: TableSchema, options: TableOptions, keyless: bool) -> None:
    bucket, keys = options[BUCKET], options[BUCKET_KEY]
    clusters, columns = options[CLUSTERING_INCREMENTAL], options[CLUSTERING_COLUMNS]
    if bucket == -1:
        if BUCKET_KEY in options:
            raise InvalidOptionError(
                "Cannot define 'bucket-key' with 'bucket' = '-1': remove 'bucket-key' or give a number of buckets."
            )
        if clusters and schema.primary_keys:
            raise InvalidOptionError(
                f"Option '{CLUSTERING_INCREMENTAL.key}' is for tables without a primary key: remove it."
            )
        _named(schema, CLUSTERING_COLUMNS.key, columns)
        if clusters and not columns:
            raise InvalidOptionError(
                f"Option '{CLUSTERING_INCREMENTAL.key}' needs '{CLUSTERING_COLUMNS.key}': set both, or none."
            )
        if not schema.primary_keys and DELTA_COMMITS in options:
            raise InvalidOptionError(
                f"Option '{DELTA_COMMITS.key}' has no effect in an append table without buckets: remove it."
            )
        return
    if clusters:
        raise InvalidOptionError(f"Option '{CLUSTERING_INCREMENTAL.key}' needs 'bucket' = '-1'.")
    if bucket < 1 and not (bucket == -2 and schema.primary_keys):
        raise InvalidOptionError(f"Option 'bucket' cannot be '{bucket}': use a number greater than 0, or -1.")
    if not schema.primary_keys and not keys and not keyless:
        raise InvalidOptionError(
            f"You should define a 'bucket-key' for an append table with 'bucket' = '{bucket}', or leave 'bucket' out."
        )
    for field in _named(schema, "bucket-key", keys):
        if field.type.kind in NESTED_KINDS:
            raise InvalidOptionError(
                f"Option 'bucket-key' cannot name {field.name!r} of type {field.type.sql()}: bucket keys cannot be "
                "nested. Name another column."
            )
        if field.name in schema.partition_keys:
            raise InvalidOptionError(f"Option 'bucket-key' cannot name {field.name!r}: it is a partition column.")
        if schema.primary_keys and field.name not in schema.primary_keys:
            raise InvalidOptionError(f"Option 'bucket-key' cannot name {field.name!r}: it is not in the primary key.")
    check_bucket_key(schema.select(schema.bucket_keys), options[BUCKET_FUNCTION])


def _check_sequence(schema: TableSchema, options: TableOptions) -> None:
    columns = options[SEQUENCE_FIELD]
    if SEQUENCE_FIELD in options and not columns:
        raise InvalidOptionError("Option 'sequence.field' is empty: name a column, or remove the option.")
    _check_unique("Sequence field", columns)
    for field in _named(schema, "sequence.field", columns):
        if field.type.kind in NESTED_KINDS:
            raise InvalidOptionError(
                f"Option 'sequence.field' cannot name {field.name!r} of type {field.type.sql()}: values of this type "
                "have no order. "
                "Choose another column."
            )
    for name in columns:
        option = FieldOptions(name, options).key(FUNCTION_SUFFIX)
        if option in options.values:
            raise InvalidOptionError(f"Option {option!r} cannot be set: {name!r} is in '{SEQUENCE_FIELD.key}'.")
    if columns and schema.primary_keys and not set(schema.partition_keys) <= set(schema.primary_keys):
        raise InvalidOptionError(
            f"Option '{SEQUENCE_FIELD.key}' needs a primary key that includes all partition columns "
            f"({', '.join(schema.partition_keys)})."
        )
    if columns and options[MERGE_ENGINE] == "first-row":
        raise InvalidOptionError(
            "Option 'sequence.field' cannot be set with 'merge-engine' = 'first-row': remove one of them."
        )
    if not schema.primary_keys and MERGE_ENGINE in options and options[MERGE_ENGINE] != "deduplicate":
        raise InvalidOptionError("Option 'merge-engine' needs a primary key: define one, or remove the option.")


def _check_upsert_key(schema: TableSchema, options: TableOptions) -> None:
    keys = options[UPSERT_KEY]
    for field in _named(schema, UPSERT_KEY.key, keys):
        if field.type.kind in NESTED_KINDS:
            raise InvalidOptionError(
                f"Option 'upsert-key' cannot name {field.name!r} of type {field.type.sql()}: keys cannot be nested. "
                "Name another column."
            )
    if keys and schema.primary_keys:
        raise InvalidOptionError(
            f"Option 'upsert-key' ({', '.join(keys)}) is for tables without a primary key, and "
            f"this table has one ({', '.join(schema.primary_keys)}): remove one of them."
        )


def _check_fields(schema: TableSchema, options: TableOptions) -> None:
    """Check options that name columns: `fields.<columns>.<…>` and `rowkind.field`."""
    for key in options.values:
        if not key.startswith(FIELDS_PREFIX) or key == DEFAULT_FUNCTION:
            continue
        columns, *path = key[len(FIELDS_PREFIX) :].split(".")
        fields = _named(schema, key, columns.split(","))
        if len(path) > 1 and len(fields) == 1 and fields[0].type.kind is Kind.ROW:
            raise InvalidOptionError(
                f"Option {key!r} names a field within {columns!r}: such options are for whole columns only."
            )
    kind = options[ROW_KIND_FIELD]
    if kind and _named(schema, ROW_KIND_FIELD.key, (kind,))[0].type.kind not in TEXTS:
        raise InvalidOptionError(
            f"Option '{ROW_KIND_FIELD.key}' cannot name {kind!r}: the column must be of type STRING."
        )


def _check_changelog(schema: TableSchema, options: TableOptions) -> None:
    producer = options[CHANGELOG_PRODUCER]
    ignored = options[CHANGELOG_ROW_DEDUPLICATE_IGNORE]
    _named(schema, CHANGELOG_ROW_DEDUPLICATE_IGNORE.key, ignored)
    first_row = bool(schema.primary_keys) and options[MERGE_ENGINE] == "first-row"
    if producer != "none" and not schema.primary_keys:
        raise InvalidOptionError("Option 'changelog-producer' needs a primary key: define one, or remove the option.")
    if first_row and producer not in ("none", "lookup"):
        raise InvalidOptionError(
            f"Option 'changelog-producer' cannot be {producer!r} with 'merge-engine' = 'first-row': use none or lookup."
        )
    if producer == "full-compaction" and options[DELETION_VECTORS]:
        raise InvalidOptionError(
            "Option 'changelog-producer' cannot be 'full-compaction' with 'deletion-vectors.enabled' = 'true': use "
            "none, input or lookup."
        )
    if first_row and options[DELETION_VECTORS]:
        raise InvalidOptionError(
            "Option 'deletion-vectors.enabled' cannot be 'true' with 'merge-engine' = 'first-row': this engine "
            "keeps the first row of a key and marks no rows as deleted. Remove the option."
        )


def _check_expiry(schema: TableSchema, options: TableOptions) -> None:
    column = options[RECORD_TIME_FIELD]
    if column:
        _named(schema, RECORD_TIME_FIELD.key, (column,))
    check_time_column(options, schema.field_by_name)


def _check_row_tracking(schema: TableSchema, options: TableOptions) -> None:
    if options[ROW_TRACKING] and (schema.primary_keys or options[BUCKET] != -1):
        what = "primary-key" if schema.primary_keys else BUCKET.key
        raise InvalidOptionError(
            f"Cannot define {what} for row tracking table: '{ROW_TRACKING.key}' = 'true' is for append tables with "
            f"'{BUCKET.key}' = '-1'."
        )
    if options[DATA_EVOLUTION] and not options[ROW_TRACKING]:
        raise InvalidOptionError(
            f"Data evolution config must enabled with {ROW_TRACKING.key}: set '{ROW_TRACKING.key}' = 'true' too."
        )
    if options[DATA_EVOLUTION] and options[CLUSTERING_INCREMENTAL]:
        raise InvalidOptionError(
            f"Option '{CLUSTERING_INCREMENTAL.key}' cannot be set with '{DATA_EVOLUTION.key}' = 'true': remove one."
        )


def _named(schema: TableSchema, option: str, columns: Sequence[str]) -> tuple[DataField, ...]:
    try:
        return schema.select(tuple(columns))
    except InvalidSchemaError as e:
        raise InvalidOptionError(f"Option {option!r} cannot be {','.join(columns)!r}. {e}") from e


def _check_unique(kind: str, names: Sequence[str]) -> None:
    seen = set[str]()
    for name in names:
        if name in seen:
            raise InvalidSchemaError(f"{kind} {name!r} is a duplicate: name it once.")
        seen.add(name)
