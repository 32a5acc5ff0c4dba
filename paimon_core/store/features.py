"""Refuse tables that this version would misread, and tables that other engines would misread after its writes.

`options.support` lists the options of such tables. All other options are accepted, even unknown options, as in Java.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import (
    BLOB_DESCRIPTOR_FIELD,
    BLOB_VIEW_FIELD,
    BUCKET,
    BUCKET_FUNCTION,
    CHANGELOG_PRODUCER,
    DATA_EVOLUTION,
    DATA_FILE_EXTERNAL_PATHS,
    DATA_FILE_PREFIX,
    DELETION_VECTORS,
    DISABLED,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    ICEBERG_STORAGE,
    MERGE_ENGINE,
    PK_CLUSTERING_OVERRIDE,
    QUERY_AUTH,
    SEQUENCE_FIELD,
    TARGET_FILE_SIZE,
    WRITE_ONLY,
    Option,
    TableOptions,
    is_in_iceberg_catalog,
)
from paimon_core.options.support import NEW, READ, WRITE, Feature, unsupported_values
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import holds_blobs
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.expressions.shown import Shown
    from paimon_core.formats.iceberg_types import iceberg_schema
    from paimon_core.lsm.record_expiry import check_time_column
else:
    iceberg_schema = ImportedOnCall("paimon_core.formats.iceberg_types", "iceberg_schema")
    check_time_column = ImportedOnCall("paimon_core.lsm.record_expiry", "check_time_column")

_OF_ALL: tuple[Option[Any], ...] = (BUCKET,)
_OF_KEYS: tuple[Option[Any], ...] = (MERGE_ENGINE, CHANGELOG_PRODUCER)
_FUNCTIONS_OF_BLOBS = (
    "last_value",
    "last_non_null_value",
    "first_value",
    "first_non_null_value",
)  # they need no bytes
_ENGINES_WITH_PACKS = ("deduplicate", "partial-update", "first-row")
_OF_WRITERS: tuple[Option[Any], ...] = (WRITE_ONLY, TARGET_FILE_SIZE, DATA_FILE_PREFIX)


def check_definable(options: Mapping[str, str], *, keyed: bool) -> None:
    """Raise `UnsupportedFeatureError` if a table with these options could not be written.

    Other types of tables, such as format tables, have their own rules.
    """
    if options.get("type", "table") not in ("table", "materialized-table"):
        return
    for key, value, instead in unsupported_values(NEW, options, keyed=keyed):
        raise UnsupportedFeatureError(f"Option {key!r} cannot be {value!r}: {instead}.")


def check_readable(store: TableStore) -> None:
    """Raise `UnsupportedFeatureError` if this library cannot read this version of the table.

    Raises `InvalidOptionError` for an option with a value that is unknown here, and the errors of `check_selectable`.
    """
    check_selectable(store)
    _check_values(store, _OF_ALL, "read")
    check_merging(store, "read")
    _check_columns(store, SEQUENCE_FIELD.key, _sequence_columns(store), "read")
    _check(store, READ, "read")


def check_merging(store: TableStore, verb: str) -> None:
    """Raise `InvalidOptionError` if an option for the rows of a key has an unknown value. `verb` is for the error.

    Only reads and writers of rows need these options: a commit of files, such as a copy of a table, does not.
    """
    if store.has_primary_key:
        _check_values(store, _OF_KEYS, verb)


def check_writable(store: TableStore) -> None:
    """Raise `UnsupportedFeatureError` if other engines could no longer rely on the table after a commit.

    Raises `InvalidOptionError` like `check_readable`, and the errors of `check_insertable`."""
    check_insertable(store)
    _check_options_of_writers(store)
    _check(store, WRITE, "written")
    if store.schema.counts_new_rows:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: with 'write-mode' = 'change-log' and no primary key its files "
            "count equal rows, which this version can only read. Copy it by CREATE TABLE ... AS SELECT, and "
            "write the copy."
        )
    if store.options[ICEBERG_STORAGE] != DISABLED:
        _check_iceberg(store)
        check_iceberg_catalogs(store)
    if not store.has_primary_key:
        return
    with _naming(store, "written"):
        check_packs(store.schema, store.options)
    if store.options[BUCKET] == 0:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: 'bucket' = '0' means no buckets; primary-key tables work with "
            "'bucket' = '-1', '-2', or '1' or more."
        )


def packed_columns(schema: TableSchema, options: TableOptions) -> list[str]:
    """Return the BLOB columns with values in packs. Only tables with a primary key have them."""
    inline = {*options[BLOB_DESCRIPTOR_FIELD], *options[BLOB_VIEW_FIELD]} if schema.primary_keys else ()
    blobs = (f.name for f in schema.fields if holds_blobs(f.type) and schema.primary_keys)
    return [name for name in blobs if name not in inline]


def check_stays(schemas: Iterable[TableSchema], name: str, change: str) -> None:
    """Raise `UnsupportedFeatureError` if the files of a table with these versions of its schema must not get other
    paths. `change` is the participle for errors, such as "renamed"."""
    for schema in schemas:
        for column in packed_columns(schema, TableOptions(schema.options)):
            raise UnsupportedFeatureError(
                f"Table {name} cannot be {change}: its rows contain the paths of the files with the values of BLOB "
                f"column {column!r}. Create another table, and INSERT the rows."
            )


def function_of(column: str, options: TableOptions) -> str | None:
    """Return the aggregate function that options set for a column, or None."""
    values = options.values
    return values.get(f"fields.{column}.aggregate-function") or values.get("fields.default-aggregate-function")


def check_packs(schema: TableSchema, options: TableOptions) -> None:
    """Raise `InvalidOptionError` if options of a table with a primary key cannot be combined with its BLOB columns."""
    blobs = [field for field in schema.fields if schema.primary_keys and holds_blobs(field.type)]
    for field in blobs if blobs and options[MERGE_ENGINE] == "partial-update" else ():
        function = function_of(field.name, options)
        if function is not None and function not in _FUNCTIONS_OF_BLOBS:
            raise InvalidOptionError(
                f"The BLOB column {field.name!r} cannot have the aggregate function {function!r}: merges see where a "
                f"BLOB is, not its bytes. Set 'fields.{field.name}.aggregate-function' to one of "
                f"{', '.join(_FUNCTIONS_OF_BLOBS)}."
            )
    packed = packed_columns(schema, options)
    if not packed:
        return
    wrong = {
        f"'{MERGE_ENGINE.key}' = '{options[MERGE_ENGINE]}'": options[MERGE_ENGINE] not in _ENGINES_WITH_PACKS,
        f"'{CHANGELOG_PRODUCER.key}' = '{options[CHANGELOG_PRODUCER]}'": options[CHANGELOG_PRODUCER] != "none",
        f"'{DATA_FILE_EXTERNAL_PATHS.key}'": bool(options[DATA_FILE_EXTERNAL_PATHS]),
        f"'{PK_CLUSTERING_OVERRIDE.key}' = 'true'": options[PK_CLUSTERING_OVERRIDE],
    }
    for setting in (s for s, is_wrong in wrong.items() if is_wrong):
        raise InvalidOptionError(
            f"Column {packed[0]!r} is a BLOB, and BLOBs of a table with a primary key do not support {setting}. They "
            f"need one of the merge engines {', '.join(_ENGINES_WITH_PACKS)}, no changelog producer, no external "
            f"paths and no '{PK_CLUSTERING_OVERRIDE.key}'. Change the option, or make the column BINARY."
        )


def check_selectable(store: TableStore) -> None:
    """Raise `NoPrivilegeError` if the catalog's user may not read rows.

    Raises `UnsupportedFeatureError` if the catalog cannot return the permissions that the table requires."""
    if store.rights is not None:
        store.rights.check_select(store.name)
    _check_who_says(store)


def shown_part(store: TableStore) -> Shown | None:
    """Return the part of the table that the catalog's user may see, or None for the whole table.

    Raises the same errors as `check_selectable`. The caller must apply this part, and then use a store with
    `AskedRights`.
    """
    found = None if store.rights is None else store.rights.shown(store.name)
    _check_who_says(store)
    return found


def check_seen_whole(store: TableStore) -> None:
    """Raise an error if the catalog's user may see only a part of the table.

    A rewrite would lose the other rows, or store masked values."""
    if store.rights is not None and store.rights.of_queries:
        store.rights.check_select(store.name)


def _check_who_says(store: TableStore) -> None:
    # An option of this use, or of an older schema, cannot disable the check.
    asks = any(options[QUERY_AUTH] for options in (store.options, TableOptions(store.schema.options)))
    if asks and (store.rights is None or not store.rights.of_queries):
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be read: '{QUERY_AUTH.key}' = 'true' makes readers ask the catalog for their "
            "permissions, and only a REST catalog can answer. Open the table through a REST catalog, or remove the "
            "option."
        )


def check_insertable(store: TableStore) -> None:
    """Raise `NoPrivilegeError` if the catalog's user may not change rows of the table."""
    if store.rights is not None:
        store.rights.check_insert(store.name)


def is_followed(store: TableStore) -> bool:
    """Return whether the table has metadata for readers of Iceberg. They do not read branches."""
    return store.options[ICEBERG_STORAGE] != DISABLED and not store.branch


def check_iceberg_catalogs(store: TableStore) -> None:
    """Raise an error if the table's options select an Iceberg catalog that must not be notified; see
    `IcebergCatalogs`.
    """
    if not is_in_iceberg_catalog(store.options):
        return
    if store.iceberg_catalogs is None:
        raise UnsupportedFeatureError(
            f"Table {store.name} has '{ICEBERG_STORAGE.key}' = '{store.options[ICEBERG_STORAGE]}', which needs a "
            f"catalog. Open the table through a catalog, or set the option to '{DISABLED}'."
        )
    store.iceberg_catalogs.check(store)


def _check_iceberg(store: TableStore) -> None:
    """Check that Iceberg can read the table.

    Its readers treat each row of a file as a live row, and find columns by the ids in Parquet."""
    options, advice = store.options, f"or set '{ICEBERG_STORAGE.key}' to '{DISABLED}'"
    reason = None
    if options[DELETION_VECTORS]:
        reason = f"readers of Iceberg 2 would see rows that its deletion vectors delete: disable these, {advice}"
    elif options[DATA_EVOLUTION]:
        reason = f"its files have only some of the columns: disable 'data-evolution.enabled', {advice}"
    elif {options[FILE_FORMAT], *options[FILE_FORMAT_PER_LEVEL].values()} != {"parquet"}:
        reason = f"readers of Iceberg find columns in Parquet only: set 'file.format' to 'parquet', {advice}"
    else:
        try:
            iceberg_schema(store.schema.id, store.schema.fields)
        except UnsupportedFeatureError as e:
            reason = f"{e}; drop it, {advice}"
    if reason is not None:
        raise UnsupportedFeatureError(f"Table {store.name} cannot be written with Iceberg metadata: {reason}.")


def _check(store: TableStore, features: Iterable[Feature], verb: str) -> None:
    for key, value, instead in unsupported_values(features, store.options.values, keyed=store.has_primary_key):
        raise UnsupportedFeatureError(f"Table {store.name} cannot be {verb}: '{key}' = {value!r}: {instead}.")


def _check_options_of_writers(store: TableStore) -> None:
    """Check the options that writers use, so that they are refused before a file is written."""
    _check_values(store, (*_OF_ALL, *_OF_WRITERS), "written")
    _check_columns(store, SEQUENCE_FIELD.key, _sequence_columns(store), "written")
    if store.has_primary_key:
        with _naming(store, "written"):
            check_time_column(store.options, store.schema.field_by_name)
    if store.options[BUCKET] > 0:
        _check_values(store, (BUCKET_FUNCTION,), "written")
        _check_columns(store, "bucket-key", store.schema.bucket_keys, "written")


def _sequence_columns(store: TableStore) -> tuple[str, ...]:
    return store.options[SEQUENCE_FIELD] if store.has_primary_key else ()


def _check_values(store: TableStore, options: Iterable[Option[Any]], verb: str) -> None:
    with _naming(store, verb):
        for option in options:
            store.options[option]


@contextmanager
def _naming(store: TableStore, verb: str) -> Iterator[None]:
    """Name the table in errors about options."""
    try:
        yield
    except InvalidOptionError as e:
        raise InvalidOptionError(f"Table {store.name} cannot be {verb}. {e}") from e


def _check_columns(store: TableStore, option: str, columns: Iterable[str], verb: str) -> None:
    known = store.schema.field_by_name
    for name in (n for n in columns if n not in known):
        raise InvalidOptionError(
            f"Table {store.name} cannot be {verb}: '{option}' names {name!r}, which is not a column of the table. "
            f"Set the option to some of {', '.join(known)}."
        )
