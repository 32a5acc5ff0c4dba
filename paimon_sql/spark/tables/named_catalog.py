"""A Paimon catalog under its name in a session, and the conversion of Spark's names to names in the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

from paimon_core.errors import DatabaseNotFoundError, InvalidNameError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import DEFAULT_DATABASE, Catalog, SupportsDatabases, with_databases
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.tables.session_catalogs import find_catalog


class NamedCatalog(Proxy):
    """One configured catalog in one Spark session."""

    def __init__(self, jvm: Jvm, session: SessionBridge, name: str, load: Callable[[], Catalog]) -> None:
        super().__init__(jvm)
        self.session, self.catalog_name, self._load = session, name, load
        self._made: Catalog | None = None
        self._making = RLock()  # a lock for this catalog alone: other catalogs need not wait for its storage

    @property
    def catalog(self) -> Catalog:
        """The catalog, made on first use. Until then its configuration may be incomplete."""
        if self._made is None:
            with self._making:
                self._made = self._made or self._make()
        return self._made

    def _make(self) -> Catalog:
        made = self._load()
        if self._default_database != DEFAULT_DATABASE:
            with_databases(made).create_database(self._default_database, ignore_if_exists=True)
        return made

    @property
    def _default_database(self) -> str:
        return (self.session.catalog_options(self.catalog_name) or {}).get("defaultDatabase", DEFAULT_DATABASE)

    @staticmethod
    def named(namespace: Sequence[str], name: str) -> Identifier:
        """Return the identifier of a name. Raises `InvalidNameError`."""
        return Identifier.of(single(namespace), name)

    def _identifier(self, identifier: Any) -> Identifier:
        return self.named(list(identifier.namespace()), str(identifier.name()))

    def _renamed(self, kind: str, source: Any, target: Any) -> Identifier:
        """Return the new name of a table or a view."""
        parts = [*target.namespace(), str(target.name())]  # Spark leaves the catalog's name in the new name
        return renamed(kind, self.catalog_name, self._identifier(source), parts)

    def _catalog_of(self, name: str) -> Catalog | None:
        """Return the Paimon catalog of a name in the session."""
        return self.catalog if name == self.catalog_name else find_catalog(self.session, name)

    @property
    def _databases(self) -> SupportsDatabases:
        """Return the catalog as one with databases. Raises `UnsupportedFeatureError` for the catalog of paths."""
        return with_databases(self.catalog)

    def _has_database(self, name: str) -> bool:
        return isinstance(self.catalog, SupportsDatabases) and self.catalog.database_exists(name)

    def _database(self, namespace: Any) -> str:
        database = single(namespace)
        with self._naming_missing(database):
            if self._has_database(database):
                return database
            raise DatabaseNotFoundError(database)

    @contextmanager
    def _naming_missing(self, database: str) -> Iterator[None]:
        """Raise `DatabaseNotFoundError` with the catalog's name if the block does not find the database."""
        missing = f"Catalog {self.catalog_name} has no database {database!r}"
        try:
            yield
        except InvalidNameError as e:  # no database can have an invalid name
            raise DatabaseNotFoundError(f"{missing}. {e}") from None
        except DatabaseNotFoundError:
            raise DatabaseNotFoundError(f"{missing}.") from None


def renamed(kind: str, catalog: str, source: Identifier, target: Sequence[str]) -> Identifier:
    """Return the full new name of a table or a view. `target` is the new name, perhaps with a database, and with a
    catalog before the database. Raises `UnsupportedFeatureError` for another catalog."""
    *catalogs, database, name = target if len(target) > 1 else (source.database, *target)
    if catalogs not in ([], [catalog]):
        raise UnsupportedFeatureError(
            f"{kind} {source} cannot become {'.'.join(target)!r}: RENAME TO only supports operations within the same "
            f"catalog, {catalog}."
        )
    return Identifier.of(database, name)


def single(namespace: Any) -> str:
    """Return the database of a namespace. Raises `DatabaseNotFoundError` if the namespace has several
    names, or none.
    """
    parts = list(namespace)
    if len(parts) != 1:
        raise DatabaseNotFoundError(f"Paimon's databases have names of one part, not {'.'.join(parts) or 'none'!r}.")
    return str(parts[0])
