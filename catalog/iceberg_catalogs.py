"""Register a table's Iceberg metadata in external Iceberg catalogs, as the options of the table or its catalog require.

Catalogs do not import this module, as it imports parts of theirs. The code that opens a catalog passes it
`NamedForIceberg`.

A table's schema is a file that other writers may change. So an address in it counts only if the catalog has the same
address or allows it. An address from a session always counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from paimon_core.dataclass import dataclass
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import HIVE_CATALOG, ICEBERG_STORAGE
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.optional_packages import import_optional
else:
    import_optional = ImportedOnCall("paimon_core.optional_packages", "import_optional")


class _Opened(Protocol):
    """The Iceberg catalogs that register one table."""

    def publish(self, store: TableStore, metadata: str, is_latest: Callable[[], bool]) -> None: ...


@dataclass(frozen=True)
class NamedForIceberg:
    """The `IcebergCatalogs` for the tables of a catalog with these `options`.

    `own` returns the metastore in which the catalog stores its tables."""

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
        if storage == HIVE_CATALOG:
            from paimon_sql.catalog.hive.iceberg import iceberg_entries  # noqa: PLC0415  an extra

            return iceberg_entries(store, self.options, self.own())
        from paimon_sql.catalog.rest.iceberg import table_at_server  # noqa: PLC0415  an extra

        return table_at_server(store, self.options)
