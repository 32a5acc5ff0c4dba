"""The catalog at a server: it keeps names and schemas, and publishes snapshots; files are read and written as ever.

Each change is one request, which the server does or refuses. Where its answer is lost, the catalog looks whether what
was asked has come true, and raises `StorageError` where that does not show. A table is opened by one request: its
schema is the file of the version that the server names, since readers of older versions need those files anyhow.

Source: `RESTCatalog` of Paimon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from paimon_core.commit.publish import Publisher
from paimon_core.errors import (
    CommitConflictError,
    DatabaseNotFoundError,
    PaimonError,
    SchemaNotFoundError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.format_table.options import is_format_table
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io, normalize
from paimon_core.object_table import is_object_table
from paimon_core.options.option import boolean
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_core.spec.paths import TablePaths, check_name
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_core.store.branches import open_branch
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import replacing_schema, same_partitions
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.store.schemas import load_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table, storage_publisher
from paimon_sql.catalog.base import StagedTable, check_dropped_database, check_is_empty, check_new_database
from paimon_sql.catalog.definitions import KeepsFunctions, KeepsViews
from paimon_sql.catalog.function import Function
from paimon_sql.catalog.option_values import option_value
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.replacing import new_suffix
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import Node, RestClient
from paimon_sql.catalog.rest.definitions import (
    FUNCTION_FORM,
    REPLACES_FUNCTIONS,
    REPLACES_VIEWS,
    VIEW_FORM,
    RestDefinitions,
)
from paimon_sql.catalog.rest.failures import Refused
from paimon_sql.catalog.rest.messages import (
    decode_schema_body,
    encode_change,
    encode_identifier,
    encode_schema_body,
    text_map,
)
from paimon_sql.catalog.rest.publishing import ServerPublisher
from paimon_sql.catalog.rest.query_auth import query_auth
from paimon_sql.catalog.rest.server import Found, Server, checked
from paimon_sql.catalog.rest.settings import DATA_TOKENS, PREFIX, RestSettings, read_headers
from paimon_sql.catalog.rest.tokens import HeldToken, TokenFileIO
from paimon_sql.catalog.rest.versions import ServerVersions
from paimon_sql.catalog.schema_files import (
    OpenIceberg,
    SchemaFiles,
    check_is_table,
    follow_name,
    table_defaults,
    unfollowed,
)
from paimon_sql.catalog.view import View

_LOCATION = "location"


@dataclass(frozen=True)
class RestCatalog(KeepsViews, KeepsFunctions):
    """A catalog with databases, tables, views and functions at a server."""

    settings: RestSettings
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # with the server's options
    client: RestClient = field(repr=False, compare=False, kw_only=True)
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    allowed: Allowed = field(default_factory=Allowed)
    open_iceberg: OpenIceberg | None = field(default=None, repr=False, compare=False)

    def identifier(self, name: str) -> Identifier:
        return Identifier.parse(name)

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
        found = self._server.database(name)
        if found is None:
            raise self._server.no_database(name)
        location = self._read(found, name, lambda n: member(n, "location", str | None, None))
        given = self._read(found, name, lambda n: text_map(n, "options"))
        return given if location is None else {_LOCATION: location, **given}

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
        kept = [key for key in removed if key != _LOCATION]
        body = {"updates": dict(properties), "removals": kept}

        def is_done() -> bool:
            now = self.database_properties(name)
            return properties.items() <= now.items() and not any(key in now for key in kept if key not in properties)

        with self._server.calling(name):
            address = paths.database(self._server.prefix, check_name("database", name))
            settle(partial(self.client.post, address, body), is_done)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        check_dropped_database(check_name("database", name))
        if not cascade:  # the API drops what is in it, unless the server is one of ours
            check_is_empty(name, self.list_tables(name), self.list_views(name), self.list_functions(name))
        with self._server.calling(name):
            drop = partial(
                self.client.delete, paths.database(self._server.prefix, name), {"cascade": str(cascade).lower()}
            )
            settle(drop, lambda: not self.database_exists(name))

    def list_tables(self, database: str) -> list[str]:
        return self._server.names("tables", database)

    # -- tables -------------------------------------------------------------------------------------------------------
    def table_exists(self, identifier: Identifier) -> bool:
        return self._server.table_exists(identifier)

    def load_table(self, identifier: Identifier) -> Table:
        try:
            return self._table(identifier, self._server.find(identifier))
        except TableNotFoundError:
            if identifier.branch is None:
                raise
        main = self._table(identifier.base, self._server.find(identifier.base))
        return replace(main, store=open_branch(main.store, identifier.branch))  # raises if the branch does not exist

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        check_is_table(identifier)
        self._create(identifier, self._prepared(identifier, schema), ignore_if_exists)

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        check_is_table(identifier)
        made = self._prepared(identifier, schema)
        location = self.database_properties(identifier.database).get(_LOCATION)
        if self.table_exists(identifier) or self.view_exists(identifier):
            raise TableExistsError(f"Table {identifier} already exists, or a view so named.")
        if self._data_tokens or location is None:
            return self._created_at_once(identifier, made)
        path = f"{normalize(location)}/{identifier.table}"

        def publish() -> None:
            self._create(identifier, made)
            found = self._server.find(identifier)
            if found.path != path:
                self.drop_table(identifier)
                raise UnsupportedFeatureError(
                    f"The catalog {self.settings.uri} keeps table {identifier} in {found.path}, which is known only "
                    "when it is created: run CREATE TABLE first, then INSERT."
                )

        return StagedTable(self._at(identifier, path, made, None), publish)

    def _created_at_once(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """Create a table before its rows: only the server can choose its place. Drop it if writing the rows fails."""
        self._create(identifier, schema)
        return StagedTable(self.load_table(identifier), lambda: None, discard=lambda: self.drop_table(identifier, True))

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        check_is_table(identifier)
        old = self.load_table(identifier)
        new = self._prepared(identifier, schema, lends=False)  # the server has the branches
        if not same_partitions(old.schema, new):
            return self._stage_beside(identifier, new)
        made = replace(replacing_schema(old.schema, new), time_millis=0)

        def publish() -> None:
            body = {"schema": encode_schema_body(made), "schemaId": made.id}
            with self._server.calling(identifier):
                settle(
                    partial(self.client.post, paths.table(self._server.prefix, identifier, "replace"), body),
                    lambda: self._server.find(identifier).schema_id == made.id,
                )
            self._check_published(identifier, made)

        return StagedTable(replace(old, store=old.store.under(made, "")), publish)

    def _stage_beside(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """A table of another partitioning is a new one, which takes the name when it has its rows."""
        suffix = new_suffix()
        beside = replace(identifier, table=identifier.table + suffix)
        aside = replace(identifier, table=identifier.table + suffix.replace("_replacing_", "_replaced_"))
        staged = self.stage_create(beside, schema)
        begun: list[Identifier] = []

        def finish() -> None:
            begun.append(beside)
            self.rename_table(identifier, aside)
            try:
                self.rename_table(beside, identifier)
            except PaimonError:
                if not self.table_exists(identifier):
                    self.rename_table(aside, identifier)
                raise
            self.drop_table(aside)
            follow_name(partial(self.load_table, identifier))

        def discard() -> None:
            if not begun:
                self.drop_table(beside, ignore_if_not_exists=True)

        return replace(staged, table=unfollowed(staged.table), is_separate=True, finish=finish, discard=discard)

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_is_table(identifier)
        try:
            with self._server.calling(identifier):
                drop = partial(self.client.delete, paths.table(self._server.prefix, checked(identifier)))
                settle(drop, lambda: not self.table_exists(identifier))
        except (DatabaseNotFoundError, TableNotFoundError):
            if not ignore_if_not_exists:
                raise

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        check_is_table(source)
        check_is_table(target)
        before = self._server.find(source)
        with self._server.calling(
            source, exists=f"Table {target} already exists, or there is a view or a folder so named."
        ):
            settle(
                partial(self._server.rename, "tables", source, target),
                lambda: not self.table_exists(source) and self._is_moved(before, target),
            )

    def _is_moved(self, before: Found, target: Identifier) -> bool:
        found = self._server.find(target)
        return found.schema_id == before.schema_id and found.body == before.body

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        self._alter(identifier, self._altered(identifier), changes)

    def _alter(self, identifier: Identifier, before: Table, changes: Sequence[SchemaChange]) -> None:
        self._files(before.store.io).altered(before, changes)  # raises what has no place on the way

        def is_done() -> bool:
            expected = self._files(before.store.io).altered(before, changes).schema
            found = self._table(identifier, self._server.find(identifier)).schema
            return replace(found, time_millis=expected.time_millis) == expected

        with self._server.calling(identifier, exists="There is a column of that name."):
            body = {"changes": [encode_change(c) for c in changes]}
            settle(partial(self.client.post, paths.table(self._server.prefix, identifier), body), is_done)

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        table = self._altered(identifier)
        changed = self._files(table.store.io).altered(table, changes)
        if changed.schema is table.schema:
            return StagedTable(changed, lambda: None)
        made = replace(changed.schema, time_millis=0)

        def publish() -> None:
            if self._server.find(identifier).schema_id != table.schema.id:
                raise self._altered_meanwhile(identifier)
            self._alter(identifier, table, changes)
            self._check_published(identifier, made)

        return StagedTable(replace(table, store=table.store.under(made, table.store.branch)), publish)

    def _altered(self, identifier: Identifier) -> Table:
        """Return the table, or branch, to alter. Raises `InvalidNameError` for a system table."""
        if identifier.system_table is not None:
            check_is_table(identifier)
        return self.load_table(identifier)

    def _check_published(self, identifier: Identifier, made: TableSchema) -> None:
        now = self.load_table(identifier).schema
        if replace(now, time_millis=0) != made:
            raise self._altered_meanwhile(identifier)

    def _altered_meanwhile(self, identifier: Identifier) -> CommitConflictError:
        return CommitConflictError(f"Table {identifier} was altered meanwhile: nothing was written, try again.")

    def _prepared(self, identifier: Identifier, schema: TableSchema, *, lends: bool = True) -> TableSchema:
        """The schema with the catalog's defaults. Raises for a definition that is refused."""
        files = self._files(load_file_io("/", {}))
        made = files.prepare(checked(identifier), "/", schema, lends=lends).schema
        return replace(made, time_millis=0)

    def _create(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        body = {"identifier": encode_identifier(identifier), "schema": encode_schema_body(schema)}
        try:
            with self._server.calling(
                identifier.database, exists=f"Table {identifier} already exists, or a view so named."
            ):
                settle(
                    partial(self.client.post, paths.database(self._server.prefix, identifier.database, "tables"), body),
                    lambda: self._server.find(identifier).body == decode_schema_body(body["schema"]),
                )
        except TableExistsError:
            if not ignore_if_exists or not self.table_exists(identifier):
                raise

    # -- registration -------------------------------------------------------------------------------------------------
    def register_table(self, identifier: Identifier) -> None:
        """Have the server take in the folder of a table that it does not know, where it expects that folder."""
        check_is_table(checked(identifier))
        location = self.database_properties(identifier.database).get(_LOCATION, "")
        body = {"identifier": encode_identifier(identifier), "path": f"{location}/{identifier.table}"}
        with self._server.calling(identifier):
            self.client.post(paths.database(self._server.prefix, identifier.database, "register"), body)

    def unregistered_tables(self, database: str) -> list[str]:
        """Nothing: folders are the server's to look into."""
        self.database_properties(database)
        return []

    # -- the server ---------------------------------------------------------------------------------------------------
    @cached_property
    def _server(self) -> Server:
        return Server(self.client, self.options.get(PREFIX, ""))

    @cached_property
    def _views(self) -> RestDefinitions[View]:
        return RestDefinitions(VIEW_FORM, self._server, REPLACES_VIEWS in self.options)

    @cached_property
    def _functions(self) -> RestDefinitions[Function]:
        return RestDefinitions(FUNCTION_FORM, self._server, REPLACES_FUNCTIONS in self.options)

    @cached_property
    def _tokens(self) -> dict[tuple[Identifier, str], HeldToken]:
        """The tokens of tables that were opened."""
        return {}

    @cached_property
    def _data_tokens(self) -> bool:
        return option_value(self.options, DATA_TOKENS, boolean, False)

    def _table(self, identifier: Identifier, found: Found) -> Table:
        name = replace(identifier, system_table=None)
        if is_format_table(found.body.options) or is_object_table(found.body.options):
            return self._at(name, found.path, found.body.as_version(found.schema_id), found)
        io = self._io(name, found.path, found.is_external)
        root = TablePaths(found.path, branch=name.branch or "").version_root
        try:
            schema = load_schema(io, root, found.schema_id)
        except SchemaNotFoundError as error:
            raise TableNotFoundError(
                f"Table {name} is at version {found.schema_id} of its schema, says {self.settings.uri}, and "
                f"{root} has no file of it: it is being created or dropped, or this catalog cannot read that folder."
            ) from error
        return self._at(name, found.path, schema, found)

    def _at(self, identifier: Identifier, path: str, schema: TableSchema, found: Found | None) -> Table:
        is_external = found is not None and found.is_external
        io = self._io(identifier, path, is_external)
        made = self._files(io, found).at(identifier.base, path, schema)
        versioning = made.versioning if is_external else partial(ServerVersions, self._server)
        store = made.store.under(schema, identifier.branch or "")
        return replace(made, store=replace(store, rights=query_auth(self._server, store)), versioning=versioning)

    def _io(self, identifier: Identifier, path: str, is_external: bool) -> FileIO:
        if self._data_tokens and not is_external:
            held = self._tokens.setdefault((identifier.base, path), HeldToken())
            return TokenFileIO(self.settings, self._server.prefix, identifier.base, path, dict(self.options), held)
        return load_file_io(path, self.options)

    def _files(self, io: FileIO, found: Found | None = None) -> SchemaFiles:
        publishing = storage_publisher
        if found is None or not found.is_external:
            publishing = partial(self._publisher, None if found is None else found.id)
        common = (io, self.cache, self.allowed, table_defaults(self.options), publishing)
        return SchemaFiles(*common, iceberg_catalogs=self.open_iceberg and self.open_iceberg(self.options))

    def _publisher(self, table_id: str | None, store: TableStore) -> Publisher:
        if table_id is None:  # it was staged, and is there by now
            table_id = self._server.find(store.identifier.base).id
        return ServerPublisher(self.client, self._server.prefix, table_id, store)

    def _read(self, node: Node, what: str, decode: Callable[[Node], Any]) -> Any:
        return self.client.read(node, what, decode)


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
    return RestCatalog(settings, merged, client=client, allowed=Allowed.of(options), open_iceberg=open_iceberg)
