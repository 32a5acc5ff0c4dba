"""The other tables of a table's catalog, to which its blob views refer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.base import Catalog, SupportsClosing

Reopen = Callable[[Mapping[str, str]], Catalog]  # opens a catalog by its options, with the rights of its user


@dataclass(frozen=True)
class TablesOfCatalog:
    """The tables of `catalog`, which a table's scan and its tasks open with the rights of the catalog's user.

    Tasks run in other processes, and open the catalog again by its options, which contain the user and the password.
    """

    catalog: Catalog | None = field(repr=False, compare=False)
    options: Mapping[str, str] = field(repr=False)
    reopen: Reopen = field(repr=False)
    moment: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"catalog": None, "options": dict(self.options), "reopen": self.reopen, "moment": self.moment}

    def seen_by(self, catalog: Catalog) -> TablesOfCatalog:
        """Return the tables of the same catalog with the rights of its user."""
        return replace(self, catalog=catalog)

    def at(self, moment: int) -> TablesOfCatalog:
        return self if self.moment is not None else replace(self, moment=moment)

    @contextmanager
    def opened(self) -> Iterator[Callable[[str], TableStore]]:
        if self.catalog is not None:
            yield partial(_store_of, self.catalog)
            return
        catalog = self.reopen(self.options)
        try:
            yield partial(_store_of, catalog)
        finally:
            if isinstance(catalog, SupportsClosing):
                catalog.close()


def _store_of(catalog: Catalog, name: str) -> TableStore:
    """Return the table `database.table`. Raises `InvalidDataError` for the name of a branch or system table."""
    identifier = catalog.identifier(name)
    if identifier != identifier.base:
        raise InvalidDataError(
            f"A blob view refers to {name}, which is not the name of a table, such as database.table. Write the view "
            "again."
        )
    return catalog.load_table(identifier).store
