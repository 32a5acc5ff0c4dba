"""Catalogs of Iceberg's in which commits name the metadata of tables, as options of the table, or of its catalog, say.

A table's schema is a file that others may write. So an address that it has counts only where its catalog has it, too,
or allows it; what a session says counts as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from paimon_core.optional_packages import import_optional
from paimon_core.options import HIVE_CATALOG, ICEBERG_STORAGE
from paimon_core.store.table_store import TableStore


class _Opened(Protocol):
    """The catalogs that one table is to be named in."""

    def publish(self, store: TableStore, metadata: str, is_latest: Callable[[], bool]) -> None: ...


@dataclass(frozen=True)
class NamedForIceberg:
    """The `IcebergCatalogs` of the tables of a catalog with these `options`; `own` gives the metastore that the catalog
    keeps its tables in."""

    options: Mapping[str, str] = field(repr=False)
    own: Callable[[], Any] = lambda: None

    def check(self, store: TableStore) -> None:
        self._opened(store)

    def publish(self, store: TableStore, metadata: str, is_latest: Callable[[], bool]) -> None:
        self._opened(store).publish(store, metadata, is_latest)

    def _opened(self, store: TableStore) -> _Opened:
        storage = store.options[ICEBERG_STORAGE]
        packages, extra = (("pymetastore", "thrift"), "hive") if storage == HIVE_CATALOG else (("urllib3",), "rest")
        for package in packages:
            import_optional(package, f"'{ICEBERG_STORAGE.key}' = '{storage}'", extra)
        made: _Opened
        if storage == HIVE_CATALOG:
            made = import_module("paimon_sql.catalog.hive.iceberg").iceberg_entries(store, self.options, self.own())
        else:
            made = import_module("paimon_sql.catalog.rest.iceberg").table_at_server(store, self.options)
        return made
