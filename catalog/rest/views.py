"""Views at a REST server."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from paimon_core.errors import (
    DatabaseNotFoundError,
    PaimonError,
    UnreadableFileError,
    UnsupportedFeatureError,
    ViewExistsError,
    ViewNotFoundError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.base import check_is_view_name
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import Node
from paimon_sql.catalog.rest.messages import encode_identifier
from paimon_sql.catalog.rest.server import Server, checked
from paimon_sql.catalog.view import View, view_json, view_of

REPLACES_VIEWS = "paimon-sql.replaces-views"  # said by a server that replaces a view in one step


@dataclass(frozen=True)
class RestViews:
    """See `SupportsViews`. `replaces` is whether the server replaces a view in one step, for which the API has no
    name."""

    server: Server
    replaces: bool

    def list_views(self, database: str) -> list[str]:
        try:
            return self.server.names("views", database)
        except UnsupportedFeatureError:  # a server without views
            return []

    def view_exists(self, identifier: Identifier) -> bool:
        try:
            self.load_view(identifier)
        except (DatabaseNotFoundError, ViewNotFoundError):
            return False
        except (UnreadableFileError, UnsupportedFeatureError):
            return True
        return True

    def load_view(self, identifier: Identifier) -> View:
        check_is_view_name(checked(identifier))
        address = paths.view(self.server.prefix, identifier)
        with self.server.calling(identifier, kind="view"):
            node = self.server.client.read(
                self.server.client.get(address), address, lambda n: member(n, "schema", dict)
            )
            return view_of(f"{identifier} in {self.server.uri}", node)

    def replace_view(self, identifier: Identifier, view: View, create: bool = False) -> None:
        check_is_view_name(identifier)
        if self.replaces:
            self._put(identifier, view, {"replace": True, "create": create})
            return
        if not self.view_exists(identifier):
            if not create and not self.server.table_exists(identifier):
                self.load_view(identifier)  # raises what is not there
            self.create_view(identifier, view)
            return
        old = self.load_view(identifier)  # the API has no step for another query: drop, then create
        self.drop_view(identifier)
        try:
            self.create_view(identifier, view)
        except PaimonError:
            self.create_view(identifier, old, ignore_if_exists=True)
            raise

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_view_name(checked(identifier))
        try:
            with self.server.calling(identifier, kind="view"):
                address = paths.view(self.server.prefix, identifier)
                settle(partial(self.server.client.delete, address), lambda: not self.view_exists(identifier))
        except (DatabaseNotFoundError, ViewNotFoundError):
            if not ignore_if_not_exists:
                raise

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        check_is_view_name(checked(source))
        check_is_view_name(checked(target))
        with self.server.calling(source, kind="view", exists=f"View {target} already exists, or a table so named."):
            settle(
                partial(self.server.rename, "views", source, target),
                lambda: not self.view_exists(source) and self.view_exists(target),
            )

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        try:
            self._put(identifier, view, {})
        except ViewExistsError:
            if not ignore_if_exists:
                raise

    def _put(self, identifier: Identifier, view: View, how: Node) -> None:
        check_is_view_name(checked(identifier))
        body = {"identifier": encode_identifier(identifier), "schema": view_json(view), **how}
        taken = f"View {identifier} cannot be created: there is a view, or a table, of that name."
        with self.server.calling(identifier if how else identifier.database, kind="view", exists=taken):
            address = paths.database(self.server.prefix, identifier.database, "views")
            settle(partial(self.server.client.post, address, body), lambda: self.load_view(identifier) == view)
