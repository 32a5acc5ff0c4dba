"""Views and functions at a REST server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic

from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseNotFoundError, PaimonError, UnreadableFileError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.definitions import DefinitionKind, Definitions, T, ViewDefinitions
from paimon_sql.catalog.function import Function, function_json, function_of
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import Node
from paimon_sql.catalog.rest.messages import encode_identifier
from paimon_sql.catalog.rest.server import Server
from paimon_sql.catalog.view import View, view_json, view_of

# A server with these options replaces a definition in one step.
REPLACES_VIEWS, REPLACES_FUNCTIONS = "paimon-sql.replaces-views", "paimon-sql.replaces-functions"


@dataclass(frozen=True)
class Form(Generic[T]):
    """The JSON of a kind of definitions in the API.

    `body` creates the request for a new definition. `decoded` reads the `node` of an answer; its first argument names
    the definition in errors."""

    body: Callable[[Identifier, T], Node]
    node: Callable[[Node], Any]
    decoded: Callable[[str, Any], T]


VIEW_FORM: Form[View] = Form(
    lambda identifier, view: {"identifier": encode_identifier(identifier), "schema": view_json(view)},
    lambda node: member(node, "schema", dict),
    view_of,
)
FUNCTION_FORM: Form[Function] = Form(
    lambda identifier, function: {"name": identifier.table, **function_json(function)},
    lambda node: node,
    function_of,
)


@dataclass(frozen=True)
class RestDefinitions(Definitions[T]):
    """The definitions of one kind at a server; see `Definitions`.

    `replaces`: the server can replace a definition in one step, which is not part of the API."""

    kind: DefinitionKind[T]
    form: Form[T]
    server: Server
    replaces: bool

    def names(self, database: str) -> list[str]:
        try:
            return self.server.names(f"{self.kind.name}s", database)
        except UnsupportedFeatureError:  # the server does not have definitions of this kind
            return []

    def exists(self, identifier: Identifier) -> bool:
        try:
            self.load(identifier)
        except (DatabaseNotFoundError, self.kind.missing_error):
            return False
        except (UnreadableFileError, UnsupportedFeatureError):
            return True
        return True

    def load(self, identifier: Identifier) -> T:
        address = self._address(identifier)
        with self.server.calling(identifier, kind=self.kind.name):
            node = self.server.client.read(self.server.client.get(address), address, self.form.node)
        return self.form.decoded(f"{identifier} in {self.server.uri}", node)

    def insert(self, identifier: Identifier, definition: T) -> None:
        self._put(identifier, definition, {})

    def replace(self, identifier: Identifier, definition: T, create: bool = False) -> None:
        self.kind.check(identifier)
        if self.replaces:
            self._put(identifier, definition, {"replace": True, "create": create})
            return
        try:
            old = self.load(identifier)
        except self.kind.missing_error:
            if not create and not (self.kind.is_named_as_tables and self.server.table_exists(identifier)):
                raise
            self.create(identifier, definition)
            return
        self.drop(identifier)  # the API cannot replace a definition: drop it, then create it
        try:
            self.create(identifier, definition)
        except PaimonError:
            self.create(identifier, old, ignore_if_exists=True)
            raise

    def remove(self, identifier: Identifier) -> bool:
        address = self._address(identifier)
        try:
            with self.server.calling(identifier, kind=self.kind.name):
                settle(partial(self.server.client.delete, address), lambda: not self.exists(identifier))
        except (DatabaseNotFoundError, self.kind.missing_error):
            return False
        return True

    def missing(self, identifier: Identifier) -> PaimonError:
        return self.server.missing(self.kind.name, identifier)

    def _put(self, identifier: Identifier, definition: T, how: Node) -> None:
        address = paths.database(self.server.prefix, self.kind.check(identifier).database, f"{self.kind.name}s")
        about, taken = identifier if how else identifier.database, str(self.kind.exists(identifier))
        body = {**self.form.body(identifier, definition), **how}
        with self.server.calling(about, kind=self.kind.name, exists=taken):
            settle(partial(self.server.client.post, address, body), lambda: self.load(identifier) == definition)

    def _address(self, identifier: Identifier) -> str:
        self.kind.check(identifier)
        return paths.database(self.server.prefix, identifier.database, f"{self.kind.name}s", identifier.table)


class RestViews(RestDefinitions[View], ViewDefinitions):
    """Views, which can also be renamed."""

    def rename(self, source: Identifier, target: Identifier) -> None:
        self.kind.check(source)
        self.kind.check(target)
        with self.server.calling(source, kind=self.kind.name, exists=str(self.kind.exists(target))):
            settle(
                partial(self.server.rename, "views", source, target),
                lambda: not self.exists(source) and self.exists(target),
            )
