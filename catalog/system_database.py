"""The tables of the database `sys`, which describe the whole catalog."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import TableNotFoundError
from paimon_core.maintenance.running import running_work
from paimon_core.secrets import is_secret, redacted, without_secrets
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.manifest import ManifestEntry, created_millis
from paimon_core.store.features import check_selectable
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_sql.catalog.base import SYSTEM_DATABASE, Catalog
from paimon_sql.catalog.listing import UNREADABLE, each_table

_STRING, _BIGINT, _BOOLEAN = pa.string(), pa.int64(), pa.bool_()
_UNKNOWN = (None,) * 4
_FIGURES = [("record_count", _BIGINT), ("file_size_in_bytes", _BIGINT), ("file_count", _BIGINT)]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CatalogSystemTable:
    """The columns of a system table, and a function for its rows: tuples of values in the order of the columns."""

    schema: pa.Schema
    rows: Callable[[Catalog], Iterator[Row]]


def read_catalog_system_table(catalog: Catalog, name: str) -> pa.Table:
    """Return the rows of `sys.name`. Raises `TableNotFoundError`, which lists the tables of `sys`."""
    table = catalog_system_table(name)
    columns = list(zip(*table.rows(catalog), strict=True)) or [()] * len(table.schema)
    arrays = [pa.array(c, type=f.type) for c, f in zip(columns, table.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=table.schema)


def catalog_system_table(name: str) -> CatalogSystemTable:
    """Return a table of `sys`. Raises `TableNotFoundError`, which lists the tables of `sys`."""
    found = CATALOG_SYSTEM_TABLES.get(name.lower())
    if found is None:
        known = ", ".join(f"{SYSTEM_DATABASE}.{n}" for n in CATALOG_SYSTEM_TABLES)
        raise TableNotFoundError(f"There is no table {SYSTEM_DATABASE}.{name}; there are {known}.")
    return found


def _all_table_options(catalog: Catalog) -> Iterator[Row]:
    def options(identifier: Identifier) -> list[Row]:
        table = catalog.load_table(identifier)
        return list(redacted({**table.schema.options, "path": table.store.root}).items())

    return _rows(catalog, options, lambda error: ("error", str(error)))


def _catalog_options(catalog: Catalog) -> Iterator[Row]:
    for key, value in sorted(catalog.options.items()):
        yield key, "******" if is_secret(key) else without_secrets(value)


def _all_tables(catalog: Catalog) -> Iterator[Row]:
    def about(identifier: Identifier) -> list[Row]:
        table = catalog.load_table(identifier)
        schema, options = table.schema, table.schema.options
        kinds = (options.get("type", "table"), bool(schema.partition_keys), bool(schema.primary_keys))
        try:
            if table.store.rights is not None:
                table.store.rights.check_any(table.name)
            snapshot = table.latest_snapshot()
            figures = _figures(list(live_files(table.store, snapshot).values())) if snapshot else _UNKNOWN
        except UNREADABLE as e:
            kinds, figures = (_unreadable(e), *kinds[1:]), _UNKNOWN
        return [(*kinds, options.get("owner"), None, None, None, None, *figures)]

    return _rows(catalog, about, lambda error: (_unreadable(error), *(None,) * 11))


def _all_running(catalog: Catalog) -> Iterator[Row]:
    def running(identifier: Identifier) -> list[Row]:
        table = catalog.load_table(identifier)
        if table.store.rights is not None:
            table.store.rights.check_any(table.name)
        return [(w.work, w.began, w.host, w.process, w.seen, *w.progress) for w in running_work(table.store)]

    return _rows(catalog, running, lambda error: (_unreadable(error), *(None,) * 10))


def _all_partitions(catalog: Catalog) -> Iterator[Row]:
    def partitions(identifier: Identifier) -> list[Row]:
        table = catalog.load_table(identifier)
        if not table.schema.partition_fields:
            return []
        check_selectable(table.store)
        groups: dict[bytes, list[ManifestEntry]] = defaultdict(list)
        for entry in live_files(table.store, table.latest_snapshot()).values():
            groups[entry.partition].append(entry)
        named = sorted((_partition_name(table, p), es) for p, es in groups.items())
        return [(name, *_figures(entries), False) for name, entries in named]

    return _rows(catalog, partitions, lambda error: (_unreadable(error), *(None,) * 5))


def _rows(
    catalog: Catalog, read: Callable[[Identifier], list[Row]], unreadable: Callable[[Exception], Row]
) -> Iterator[Row]:
    """Yield the rows of each table, after the table's names. For an unreadable table, yield one row with the error."""
    for database, name, found in each_table(catalog, read):
        rows = [unreadable(found)] if isinstance(found, Exception) else found
        yield from ((database, name, *row) for row in rows)


def _unreadable(error: Exception) -> str:
    """Return the text for the first text column of an unreadable table: Paimon has no column for errors."""
    return f"unreadable: {error}"


def _partition_name(table: Table, partition: bytes) -> str:
    return "/".join(f"{column}={text}" for column, text in table.store.partition_spec(partition).items())


def _figures(entries: list[ManifestEntry]) -> Row:
    """Return the numbers of rows, bytes and files, and the time of the newest file in epoch milliseconds."""
    files = [e.file for e in entries]
    times = [made for f in files if (made := created_millis(f)) is not None]
    return sum(f.row_count for f in files), sum(f.file_size for f in files), len(files), max(times, default=None)


_NAMES = [("database_name", _STRING), ("table_name", _STRING)]
CATALOG_SYSTEM_TABLES: dict[str, CatalogSystemTable] = {
    "all_table_options": CatalogSystemTable(
        pa.schema([*_NAMES, ("key", _STRING), ("value", _STRING)]),
        _all_table_options,
    ),
    "catalog_options": CatalogSystemTable(
        pa.schema([pa.field("key", _STRING, False), pa.field("value", _STRING, False)]), _catalog_options
    ),
    "partitions": CatalogSystemTable(
        pa.schema(
            [
                *_NAMES,
                ("partition_name", _STRING),
                *_FIGURES,
                ("last_file_creation_time", _BIGINT),
                ("done", _BOOLEAN),
            ]
        ),
        _all_partitions,
    ),
    "running": CatalogSystemTable(
        pa.schema(
            [
                *_NAMES,
                ("work", _STRING),
                *(("started_at", _BIGINT), ("host", _STRING), ("process", _BIGINT), ("seen_at", _BIGINT)),
                *(("job", _STRING), ("done", _BIGINT), ("total", _BIGINT), ("unit", _STRING)),
                *(("per_second", pa.float64()), ("seconds_left", _BIGINT)),
            ]
        ),
        _all_running,
    ),
    "tables": CatalogSystemTable(
        pa.schema(
            [
                *_NAMES,
                ("table_type", _STRING),
                ("partitioned", _BOOLEAN),
                ("primary_key", _BOOLEAN),
                ("owner", _STRING),
                ("created_at", _BIGINT),
                ("created_by", _STRING),
                ("updated_at", _BIGINT),
                ("updated_by", _STRING),
                *_FIGURES,
                ("last_file_creation_time", _BIGINT),
            ]
        ),
        _all_tables,
    ),
}
