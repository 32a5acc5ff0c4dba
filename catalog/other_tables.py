"""The other tables of a table's catalog, to which its blob views refer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.lazy import cached_property
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.base import Catalog

Reopen = Callable[[Mapping[str, str]], Catalog]  # opens a catalog by its options, with the rights of its user


@dataclass(frozen=True)
class TablesOfCatalog:
    """The tables of `catalog`, which a table's scan and its tasks open with the rights of the catalog's user.

    Tasks run in other processes, and open the catalog again by its options, which contain the user and the password.
    """

    catalog: Catalog | None = field(repr=False, compare=False)
    options: Mapping[str, str] = field(repr=False)
    reopen: Reopen = field(repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"catalog": None, "options": dict(self.options), "reopen": self.reopen}

    def store_of(self, name: str) -> TableStore:
        """Return the table `database.table`. Raises `InvalidDataError` for the name of a branch or system table."""
        identifier = self._opened.identifier(name)
        if identifier != identifier.base:
            raise InvalidDataError(f"A blob view names {name}, which is not a table: views are of tables, db.table.")
        return self._opened.load_table(identifier).store

    @cached_property
    def _opened(self) -> Catalog:
        return self.reopen(self.options) if self.catalog is None else self.catalog
