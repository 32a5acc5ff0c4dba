"""Refuse tables that this version would misread, or would write so that other engines misread them.

`options.support` lists the options that say so. All other options are passed on, also those that Paimon does not know:
Java takes any, and goes by its own only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.shown import Shown
from paimon_core.formats.iceberg_types import iceberg_schema
from paimon_core.options import (
    BUCKET,
    DATA_EVOLUTION,
    DELETION_VECTORS,
    DISABLED,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    ICEBERG_STORAGE,
    QUERY_AUTH,
    TableOptions,
    is_in_iceberg_catalog,
)
from paimon_core.options.support import NEW, READ, WRITE, Feature, unsupported_values
from paimon_core.spec.types import Kind, has_vector
from paimon_core.store.table_store import TableStore


def check_definable(options: Mapping[str, str], *, keyed: bool) -> None:
    """Raises `UnsupportedFeatureError` where a table that is given these options could not be written.

    Tables of another type, such as format tables, have rules of their own.
    """
    if options.get("type", "table") not in ("table", "materialized-table"):
        return
    for key, value, instead in unsupported_values(NEW, options, keyed=keyed):
        raise UnsupportedFeatureError(f"Option {key!r} cannot be {value!r}: {instead}.")


def check_readable(store: TableStore) -> None:
    """Raises `UnsupportedFeatureError` where reading this version of the table needs more than this library does, and
    as `check_selectable`."""
    check_selectable(store)
    _check(store, READ, "read")


def check_writable(store: TableStore) -> None:
    """Raises `UnsupportedFeatureError` where a commit to the table would break what other engines rely on, and as
    `check_insertable`."""
    check_insertable(store)
    _check(store, WRITE, "written")
    if store.schema.counts_new_rows:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: with 'write-mode' = 'change-log' and no primary key its files "
            "count equal rows, which this version reads and does not write. Copy it by CREATE TABLE ... AS SELECT, and "
            "write the copy."
        )
    vector = next((f for f in store.schema.fields if has_vector(f.type)), None)
    if vector is not None:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: column {vector.name!r} is of type {vector.type}, which this "
            "version does not write. Write the table by another engine; its other columns are read here."
        )
    if store.options[ICEBERG_STORAGE] != DISABLED:
        _check_iceberg(store)
        check_iceberg_catalogs(store)
    if not store.has_primary_key:
        return
    blobs = [f.name for f in store.schema.fields if f.type.kind is Kind.BLOB]
    if blobs:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: column {blobs[0]!r} is a BLOB, which this version reads in keyed "
            "tables and does not write."
        )
    if store.options[BUCKET] == 0:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be written: 'bucket' = '0' means no buckets; primary-key tables work with "
            "'bucket' = '-1', '-2', or '1' or more."
        )


def check_selectable(store: TableStore) -> None:
    """Raises `NoPrivilegeError` where the user of the catalog may not read rows, `UnsupportedFeatureError` where
    nobody can say what he may see of it."""
    if store.rights is not None:
        store.rights.check_select(store.name)
    _check_who_says(store)


def shown_part(store: TableStore) -> Shown | None:
    """What the catalog's user may see of the table, None where that is all. Raises as `check_selectable`.

    Whoever asks by this shows no more, and goes on with a store of `AskedRights`.
    """
    found = None if store.rights is None else store.rights.shown(store.name)
    _check_who_says(store)
    return found


def check_seen_whole(store: TableStore) -> None:
    """Raises where the catalog shows its user a part of the table: rows that are read to be written again would be
    lost, or stored as they are shown."""
    if store.rights is not None and store.rights.of_queries:
        store.rights.check_select(store.name)


def _check_who_says(store: TableStore) -> None:
    # an option of this use, or of an older schema, takes nothing back
    asks = any(options[QUERY_AUTH] for options in (store.options, TableOptions(store.schema.options)))
    if asks and (store.rights is None or not store.rights.of_queries):
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be read: '{QUERY_AUTH.key}' = 'true' has its readers ask the catalog what they "
            "may see, and only a REST catalog can say. Open it through that, or remove the option."
        )


def check_insertable(store: TableStore) -> None:
    """Raises `NoPrivilegeError` where the catalog's user may not change rows of the table."""
    if store.rights is not None:
        store.rights.check_insert(store.name)


def check_iceberg_catalogs(store: TableStore) -> None:
    """Raises where the catalog of Iceberg's that the table's options ask for is not to be told by them; see
    `IcebergCatalogs`."""
    if not is_in_iceberg_catalog(store.options):
        return
    if store.iceberg_catalogs is None:
        raise UnsupportedFeatureError(
            f"Table {store.name} has '{ICEBERG_STORAGE.key}' = '{store.options[ICEBERG_STORAGE]}', which only a "
            f"catalog can go by. Open it through one, or set the option to '{DISABLED}'."
        )
    store.iceberg_catalogs.check(store)


def _check_iceberg(store: TableStore) -> None:
    """Readers of Iceberg take each row of a file for one of the table, and find columns by the ids in Parquet."""
    options, advice = store.options, f"or set '{ICEBERG_STORAGE.key}' to '{DISABLED}'"
    reason = None
    if options[DELETION_VECTORS]:
        reason = f"readers of Iceberg 2 would see rows that its deletion vectors delete: go without these, {advice}"
    elif options[DATA_EVOLUTION]:
        reason = f"its files have some of the columns only: go without 'data-evolution.enabled', {advice}"
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
