"""Functions at a REST server."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from paimon_core.errors import (
    DatabaseNotFoundError,
    FunctionExistsError,
    FunctionNotFoundError,
    PaimonError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import check_is_function_name
from paimon_sql.catalog.function import Function, function_json, function_of
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import Node
from paimon_sql.catalog.rest.server import Server

REPLACES_FUNCTIONS = "paimon-sql.replaces-functions"  # said by a server that replaces a function in one step


@dataclass(frozen=True)
class RestFunctions:
    """See `SupportsFunctions`. `replaces` is whether the server replaces a function in one step, for which the API has
    no name."""

    server: Server
    replaces: bool

    def list_functions(self, database: str) -> list[str]:
        try:
            return self.server.names("functions", database)
        except UnsupportedFeatureError:  # a server without functions
            return []

    def function_exists(self, identifier: Identifier) -> bool:
        try:
            self.load_function(identifier)
        except (DatabaseNotFoundError, FunctionNotFoundError):
            return False
        except (UnreadableFileError, UnsupportedFeatureError):
            return True
        return True

    def load_function(self, identifier: Identifier) -> Function:
        address = paths.function(self.server.prefix, check_is_function_name(identifier))
        with self.server.calling(identifier, kind="function"):
            node = self.server.client.get(address)
        return function_of(f"{identifier} in {self.server.uri}", node)

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        try:
            self._put(identifier, function, {})
        except FunctionExistsError:
            if not ignore_if_exists:
                raise

    def replace_function(self, identifier: Identifier, function: Function, create: bool = False) -> None:
        check_is_function_name(identifier)
        if self.replaces:
            self._put(identifier, function, {"replace": True, "create": create})
            return
        if create and not self.function_exists(identifier):
            self.create_function(identifier, function)
            return
        old = self.load_function(identifier)  # the API has no step for other parameters: drop, then create
        self.drop_function(identifier)
        try:
            self.create_function(identifier, function)
        except PaimonError:
            self.create_function(identifier, old, ignore_if_exists=True)
            raise

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_function_name(identifier)
        try:
            with self.server.calling(identifier, kind="function"):
                address = paths.function(self.server.prefix, identifier)
                settle(partial(self.server.client.delete, address), lambda: not self.function_exists(identifier))
        except (DatabaseNotFoundError, FunctionNotFoundError):
            if not ignore_if_not_exists:
                raise

    def _put(self, identifier: Identifier, function: Function, how: Node) -> None:
        check_is_function_name(identifier)
        body = {"name": identifier.table, **function_json(function), **how}
        taken = f"Function {identifier} already exists."
        with self.server.calling(identifier if how else identifier.database, kind="function", exists=taken):
            address = paths.database(self.server.prefix, identifier.database, "functions")
            settle(partial(self.server.client.post, address, body), lambda: self.load_function(identifier) == function)
