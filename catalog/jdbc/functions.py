"""Functions in an SQL database: rows of a table of ours, which Java's catalog does not look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from paimon_core.errors import (
    DatabaseNotFoundError,
    FunctionExistsError,
    FunctionNotFoundError,
    InvalidOptionError,
)
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import DEFAULT_DATABASE, check_is_function_name
from paimon_sql.catalog.function import Function, decode_function, encode_function
from paimon_sql.catalog.jdbc import rows
from paimon_sql.catalog.jdbc.database import RowExists
from paimon_sql.catalog.jdbc.settings import JdbcSettings
from paimon_sql.catalog.jdbc.tables import MYSQL_TEXT_BYTES
from paimon_sql.catalog.outcomes import settle

_T = TypeVar("_T")


class _Rows(Protocol):
    """The catalog whose rows they are."""

    @property
    def settings(self) -> JdbcSettings: ...

    def _read(self, act: Callable[..., _T], *arguments: object) -> _T: ...

    def _write(self, act: Callable[..., _T], *arguments: object) -> _T: ...

    def _check_database(self, name: str) -> None: ...


class JdbcFunctions:
    """See `SupportsFunctions`. Each change is one transaction, of two that create a name the row decides."""

    def list_functions(self: _Rows, database: str) -> list[str]:
        self._check_database(database)
        return sorted(self._read(rows.functions, database))

    def function_exists(self: _Rows, identifier: Identifier) -> bool:
        return self._read(rows.function_schema, check_is_function_name(identifier)) is not None

    def load_function(self: _Rows, identifier: Identifier) -> Function:
        text = self._read(rows.function_schema, check_is_function_name(identifier))
        if text is None:
            self._check_database(identifier.database)
            raise _no_function(self.settings, identifier)
        return decode_function(f"{identifier} in {self.settings.address}", text.encode())

    def create_function(
        self: _Rows, identifier: Identifier, function: Function, ignore_if_exists: bool = False
    ) -> None:
        text = _text(self, identifier, function)
        try:
            settle(
                lambda: self._write(_insert, identifier, text),
                lambda: self._read(rows.function_schema, identifier) == text,
            )
        except RowExists as error:
            if not ignore_if_exists:
                raise FunctionExistsError(f"Function {identifier} already exists.") from error

    def replace_function(self: _Rows, identifier: Identifier, function: Function, create: bool = False) -> None:
        text = _text(self, identifier, function)

        def change(connection: Connection, key: str) -> None:
            if rows.function_schema(connection, key, identifier) is not None:
                rows.set_function_schema(connection, key, identifier, text)
            elif create:
                _insert(connection, key, identifier, text)
            else:
                raise _no_function(self.settings, identifier)

        def is_done() -> bool:
            return self._read(rows.function_schema, identifier) == text

        try:
            settle(lambda: self._write(change), is_done)
        except RowExists:  # another process has just created it
            settle(lambda: self._write(change), is_done)

    def drop_function(self: _Rows, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_function_name(identifier)
        was_there = settle(
            lambda: self._write(rows.delete_function, identifier),
            lambda: self._read(rows.function_schema, identifier) is None,
        )
        if was_there is False and not ignore_if_not_exists:
            self._check_database(identifier.database)
            raise _no_function(self.settings, identifier)


def _insert(connection: Connection, key: str, identifier: Identifier, text: str) -> None:
    database = identifier.database
    if database != DEFAULT_DATABASE and not rows.has_database(connection, key, database):  # dropped meanwhile
        raise DatabaseNotFoundError(f"There is no database {database} in the catalog any more.")
    rows.insert_function(connection, key, identifier, text)


def _text(catalog: _Rows, identifier: Identifier, function: Function) -> str:
    """The text of a function that a name can have. Raises where the name cannot be one, or the text does not fit."""
    check_is_function_name(identifier)
    catalog._check_database(identifier.database)
    data = encode_function(function)
    if catalog.settings.kind == "mysql" and len(data) > MYSQL_TEXT_BYTES:
        raise InvalidOptionError(
            f"Function {identifier} has a definition of {len(data)} bytes, and the catalog's database keeps "
            f"{MYSQL_TEXT_BYTES}: make functions of its parts."
        )
    return data.decode()


def _no_function(settings: JdbcSettings, identifier: Identifier) -> FunctionNotFoundError:
    return FunctionNotFoundError(f"There is no function {identifier} in the catalog {settings.address}.")
