"""The system tables by name: `table$NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, TableNotFoundError, UnfamiliarFormError, reason
from paimon_core.store.features import check_selectable
from paimon_core.store.named_files import files_of
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables import files, references, table_indexes, versions


@dataclass(frozen=True, slots=True)
class SystemTable:
    """The columns of a system table, and a function for its rows.

    The function returns a table, or tuples of values in the order of the columns. The function gets a time zone, and
    its moments are wall clocks in this zone.
    """

    schema: pa.Schema
    rows: Callable[[TableStore, tzinfo | None], Iterable[tuple[Any, ...]] | pa.Table]


SYSTEM_TABLES: dict[str, SystemTable] = {
    "aggregation_fields": SystemTable(references.AGGREGATION_FIELDS, references.aggregation_fields),
    "branches": SystemTable(references.BRANCHES, references.branches),
    "buckets": SystemTable(files.BUCKETS, files.buckets),
    "consumers": SystemTable(references.CONSUMERS, references.consumers),
    "file_indexes": SystemTable(table_indexes.FILE_INDEXES, table_indexes.file_indexes),
    "file_key_ranges": SystemTable(files.FILE_KEY_RANGES, files.file_key_ranges),
    "files": SystemTable(files.FILES, files.files),
    "manifests": SystemTable(files.MANIFESTS, files.manifests),
    "options": SystemTable(versions.OPTIONS, versions.options),
    "partitions": SystemTable(files.PARTITIONS, files.partitions),
    "running": SystemTable(references.RUNNING, references.running),
    "schemas": SystemTable(versions.SCHEMAS, versions.schemas),
    "snapshots": SystemTable(versions.SNAPSHOTS, versions.snapshots),
    "statistics": SystemTable(references.STATISTICS, references.statistics),
    "table_indexes": SystemTable(table_indexes.TABLE_INDEXES, table_indexes.table_indexes),
    "tags": SystemTable(versions.TAGS, versions.tags),
}


# These tables need no privilege, or any privilege on the table. Other system tables reveal values of columns.
_OF_DEFINITION = frozenset(("aggregation_fields", "options", "schemas"))
_OF_VERSIONS = frozenset(("branches", "consumers", "running", "snapshots", "tags"))


def system_table_schema(name: str) -> pa.Schema:
    """Return the columns of a system table. Raises `TableNotFoundError` listing the existing system tables."""
    return _find(name).schema


def read_system_table(store: TableStore, name: str, zone: tzinfo | None = None) -> pa.Table:
    """Return the rows of a system table of the store's table. Times are in `zone`, None for this process's zone.

    Raises the errors of `check_selectable` if the catalog's user may not see the rows."""
    table = _find(name)
    if name.lower() not in _OF_DEFINITION | _OF_VERSIONS:
        check_selectable(store)
    elif store.rights is not None and name.lower() in _OF_VERSIONS:
        store.rights.check_any(store.name)
    try:
        with files_of(store):
            found = table.rows(store, zone)
            if isinstance(found, pa.Table):
                return found
            columns = list(zip(*found, strict=True)) or [()] * len(table.schema)
        arrays = [pa.array(c, type=f.type) for c, f in zip(columns, table.schema, strict=True)]
    except PaimonError:
        raise
    except (ValueError, OverflowError, pa.ArrowException) as e:  # values that the columns of the table cannot hold
        cause = f"its values do not fit the columns of '${name}' ({reason(e)})"
        raise UnfamiliarFormError(store.paths.manifest("*"), cause) from e
    return pa.Table.from_arrays(arrays, schema=table.schema)


def _find(name: str) -> SystemTable:
    found = SYSTEM_TABLES.get(name.lower())
    if found is None:
        known = ", ".join(sorted(SYSTEM_TABLES))
        raise TableNotFoundError(f"There is no system table '${name}'; there are {known}.")
    return found
