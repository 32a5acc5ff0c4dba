"""The catalog at a server: its databases, and the parts for tables, views and functions. Each change is one request,
which the server carries out or refuses. If its answer is lost, the catalog checks whether the change was made
(`settle`), and raises `StorageError` if it was not.

Source: `RESTCatalog` of Paimon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.lazy import cached_property
from paimon_core.spec.json_object import text_map
from paimon_core.spec.paths import check_name
from paimon_core.store.allowed import Allowed
from paimon_sql.catalog.base import check_dropped_database, check_is_empty, check_new_database
from paimon_sql.catalog.definitions import FUNCTIONS, VIEWS, KeepsFunctions, KeepsViews
from paimon_sql.catalog.folders import LOCATION
from paimon_sql.catalog.function import Function
from paimon_sql.catalog.named_tables import RegisteredTables
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.definitions import (
    FUNCTION_FORM,
    REPLACES_FUNCTIONS,
    REPLACES_VIEWS,
    VIEW_FORM,
    RestDefinitions,
    RestViews,
)
from paimon_sql.catalog.rest.failures import Refused
from paimon_sql.catalog.rest.server import Server
from paimon_sql.catalog.rest.settings import PREFIX, RestSettings, read_headers
from paimon_sql.catalog.rest.staging import ServerRegistry
from paimon_sql.catalog.schema_files import OpenIceberg


@dataclass(frozen=True)
class RestCatalog(RegisteredTables, KeepsViews, KeepsFunctions):
    """A catalog with databases, tables, views and functions at a server.

    Its options include the options of the server.
    """

    client: RestClient = field(repr=False, compare=False)

    def close(self) -> None:
        """Close the connections to the server."""
        self.client.close()

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        with self._server.calling():
            return self.client.names(paths.below(self._server.prefix, "databases"), "databases")

    def database_exists(self, name: str) -> bool:
        return self._server.database(name) is not None

    def database_properties(self, name: str) -> dict[str, str]:
        return self._server.properties(name)

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        check_new_database(check_name("database", name))
        given = dict(properties or {})
        body = {"name": name, "options": given}
        with self._server.calling(name, exists=None if ignore_if_exists else f"Database {name} already exists."):
            settle(
                partial(self.client.post, paths.below(self._server.prefix, "databases"), body),
                lambda: self.database_exists(name) and given.items() <= self.database_properties(name).items(),
            )

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties of a database."""
        kept = [key for key in removed if key != LOCATION]
        body = {"updates": dict(properties), "removals": kept}

        def is_done() -> bool:
            now = self.database_properties(name)
            return properties.items() <= now.items() and not any(key in now for key in kept if key not in properties)

        with self._server.calling(name):
            address = paths.database(self._server.prefix, check_name("database", name))
            settle(partial(self.client.post, address, body), is_done)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        check_dropped_database(check_name("database", name))
        if not cascade:  # the API also drops the contents, unless the server is ours
            check_is_empty(name, self.list_tables(name), self.list_views(name), self.list_functions(name))
        with self._server.calling(name):
            drop = partial(
                self.client.delete, paths.database(self._server.prefix, name), {"cascade": str(cascade).lower()}
            )
            settle(drop, lambda: not self.database_exists(name))

    def list_tables(self, database: str) -> list[str]:
        return self._server.names("tables", database)

    # -- tables, views and functions ----------------------------------------------------------------------------------
    @cached_property
    def _registry(self) -> ServerRegistry:
        return ServerRegistry(self._server, self.options, self._schema_files, view_exists=self.view_exists)

    @cached_property
    def _server(self) -> Server:
        return Server(self.client, self.options.get(PREFIX, ""))

    @cached_property
    def _views(self) -> RestViews:
        return RestViews(VIEWS, VIEW_FORM, self._server, REPLACES_VIEWS in self.options)

    @cached_property
    def _functions(self) -> RestDefinitions[Function]:
        return RestDefinitions(FUNCTIONS, FUNCTION_FORM, self._server, REPLACES_FUNCTIONS in self.options)


def open_catalog(
    options: Mapping[str, str], settings: RestSettings, open_iceberg: OpenIceberg | None = None
) -> RestCatalog:
    """Open the catalog, with its own options and the options that its server returns. Raises `StorageError`."""
    client = RestClient(settings)
    asked = {"warehouse": settings.warehouse} if settings.warehouse else {}
    try:
        answer = client.get(paths.CONFIG, asked)
    except Refused as error:
        raise error.as_error() from error
    defaults = client.read(answer, paths.CONFIG, lambda node: text_map(node, "defaults"))
    overrides = client.read(answer, paths.CONFIG, lambda node: text_map(node, "overrides"))
    merged = {**defaults, **options, **overrides}
    if (headers := read_headers(merged)) != settings.headers:
        settings = replace(settings, headers=headers)
        client.close()
        client = RestClient(settings)
    return RestCatalog(client, options=merged, allowed=Allowed.of(options), open_iceberg=open_iceberg)
