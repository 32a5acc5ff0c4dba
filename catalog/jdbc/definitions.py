"""Views and functions in an SQL database: rows of `paimon_views`, which Java's catalog also has, and of
`paimon_functions`, an extension."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from sqlalchemy import Connection

from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseNotFoundError, InvalidOptionError, PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_sql.catalog.base import DEFAULT_DATABASE
from paimon_sql.catalog.definitions import DefinitionKind, Definitions, T, ViewDefinitions
from paimon_sql.catalog.jdbc import rows
from paimon_sql.catalog.jdbc.database import CatalogRows, RowExists
from paimon_sql.catalog.jdbc.locks import JdbcLocks
from paimon_sql.catalog.jdbc.rows import DefinitionTable
from paimon_sql.catalog.jdbc.settings import JdbcSettings
from paimon_sql.catalog.jdbc.tables import MYSQL_TEXT_BYTES
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.view import View


@dataclass(frozen=True)
class JdbcDefinitions(Definitions[T]):
    """The definitions of one kind in rows; see `Definitions`.

    Each change is one transaction. If two processes create one name, the database lets only one of them insert the row.
    `check_database` raises for a database that does not exist.
    """

    kind: DefinitionKind[T]
    kept: DefinitionTable
    settings: JdbcSettings
    rows: CatalogRows
    check_database: Callable[[str], None]

    def names(self, database: str) -> list[str]:
        check_name("database", database)
        found = self.rows.read(rows.definitions, self.kept, database)
        if not found:
            self.check_database(database)
        return sorted(found)

    def exists(self, identifier: Identifier) -> bool:
        self._check(identifier)
        return self._text(identifier) is not None

    def load(self, identifier: Identifier) -> T:
        self._check(identifier)
        text = self._text(identifier)
        if text is None:
            raise self.missing(identifier)
        return self.kind.decode(f"{identifier} in {self.settings.address}", text.encode())

    def insert(self, identifier: Identifier, definition: T) -> None:
        text = self._encoded(identifier, definition)
        with self._locked(identifier):
            try:
                self._change(partial(self._insert, identifier, text), identifier, text)
            except RowExists as error:
                raise self.kind.exists(identifier) from error

    def replace(self, identifier: Identifier, definition: T, create: bool = False) -> None:
        text = self._encoded(identifier, definition)

        def put(connection: Connection, key: str) -> None:
            if rows.definition(connection, key, self.kept, identifier) is not None:
                rows.set_definition(connection, key, self.kept, identifier, text)
            elif create:
                self._insert(identifier, text, connection, key)
            else:
                self._check_new(connection, key, identifier)
                raise self.kind.missing(identifier, f"catalog {self.settings.address}")

        with self._locked(identifier):
            try:
                self._change(put, identifier, text)
            except RowExists:  # another process has just created it
                self._change(put, identifier, text)

    def remove(self, identifier: Identifier) -> bool:
        self._check(identifier)
        with self._locked(identifier):  # None: the answer was lost, and the row is gone
            return self._change(partial(self._delete, identifier), identifier, None) is not False

    def _delete(self, identifier: Identifier, connection: Connection, key: str) -> bool:
        if not self.kept.is_exact and rows.definition(connection, key, self.kept, identifier) is None:
            return False
        return rows.delete_definition(connection, key, self.kept, identifier)

    def _insert(self, identifier: Identifier, text: str, connection: Connection, key: str) -> None:
        self._check_new(connection, key, identifier)
        rows.insert_definition(connection, key, self.kept, identifier, text)

    def _change(self, change: Callable[[Connection, str], Any], left: Identifier, text: str | None) -> Any:
        """Make a change. Afterwards the name `left` has the definition `text`; with None, the name has disappeared."""
        return settle(partial(self.rows.write, change), lambda: self._text(left) == text)

    def _text(self, identifier: Identifier) -> str | None:
        return self.rows.read(rows.definition, self.kept, identifier)

    def _encoded(self, identifier: Identifier, definition: T) -> str:
        """Return the text of a definition. Raises an error if the name is not valid, or the text is too long."""
        self._check(identifier)
        self.check_database(identifier.database)
        data, kind = self.kind.encode(definition), self.kind.name
        if self.settings.kind == "mysql" and len(data) > MYSQL_TEXT_BYTES:
            raise InvalidOptionError(
                f"{kind.title()} {identifier} has a definition of {len(data)} bytes, but the catalog's database "
                f"stores at most {MYSQL_TEXT_BYTES}: split it into several {kind}s."
            )
        return data.decode()

    def _check(self, identifier: Identifier) -> None:
        """Raise `InvalidNameError` for a name that the catalog cannot have."""
        self.kind.check(identifier)

    def _locked(self, *names: Identifier) -> AbstractContextManager[None]:
        """Hold the locks of names, if this kind of definition shares its names with tables."""
        return nullcontext()

    def _check_new(self, connection: Connection, key: str, identifier: Identifier) -> None:
        """Raise an error if the name can no longer be used. Runs in the transaction that inserts the name."""
        database = identifier.database
        if database != DEFAULT_DATABASE and not rows.has_database(connection, key, database):  # dropped meanwhile
            raise DatabaseNotFoundError(f"There is no database {database} in the catalog {self.settings.address}.")

    def missing(self, identifier: Identifier) -> PaimonError:
        self.check_database(identifier.database)
        return self.kind.missing(identifier, f"catalog {self.settings.address}")


@dataclass(frozen=True)
class JdbcViews(JdbcDefinitions[View], ViewDefinitions):
    """Views, which cannot share a name with a table.

    `end_rename` completes the interrupted rename of a table's name.
    """

    locks: JdbcLocks
    end_rename: Callable[[Identifier], object]

    def rename(self, source: Identifier, target: Identifier) -> None:
        self._check(source)
        self._check(target)
        self.end_rename(target)
        with self._locked(source, target):
            text = self._text(source)
            if text is None:
                raise self.missing(source)
            self.check_database(target.database)
            if self.rows.read(rows.has_any, target):
                raise self.kind.exists(target)
            try:
                self._change(partial(self._rename, source, target), target, text)
            except RowExists as error:
                raise self.kind.exists(target) from error

    def _rename(self, source: Identifier, target: Identifier, connection: Connection, key: str) -> None:
        rows.rename_definition(connection, key, self.kept, source, target)

    def _encoded(self, identifier: Identifier, definition: View) -> str:
        text = super()._encoded(identifier, definition)
        self.end_rename(identifier)
        return text

    def _check(self, identifier: Identifier) -> None:
        self.kind.check(identifier)
        self.locks.lock(identifier)

    def _locked(self, *names: Identifier) -> AbstractContextManager[None]:
        return self.locks.held(*names)

    def _check_new(self, connection: Connection, key: str, identifier: Identifier) -> None:
        if rows.has_table(connection, key, identifier):
            raise self.kind.exists(identifier)
