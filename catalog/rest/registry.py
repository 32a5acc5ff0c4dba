"""Tables at a server, which has their names and schemas and publishes their snapshots. Files are read and written as in
other catalogs. A table is opened by one request. The server names the version of its schema, and the schema comes from
the file of this version: readers of older versions need these files anyhow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial

from paimon_core.commit.publish import Publisher
from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseNotFoundError, PaimonError, SchemaNotFoundError, TableNotFoundError
from paimon_core.format_table.kind import is_format_table
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io
from paimon_core.lazy import cached_property
from paimon_core.object_table import is_object_table
from paimon_core.options.option import boolean
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import TablePaths
from paimon_core.spec.schema import TableSchema
from paimon_core.store.branches import open_branch
from paimon_core.store.schemas import load_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.folders import LOCATION
from paimon_sql.catalog.named_tables import KeptRegistry
from paimon_sql.catalog.option_values import option_value
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.messages import decode_schema_body, encode_identifier, encode_schema_body
from paimon_sql.catalog.rest.publishing import ServerPublisher
from paimon_sql.catalog.rest.query_auth import query_auth
from paimon_sql.catalog.rest.server import Found, Server, checked
from paimon_sql.catalog.rest.settings import DATA_TOKENS
from paimon_sql.catalog.rest.tokens import HeldToken, TokenFileIO
from paimon_sql.catalog.rest.versions import ServerVersions
from paimon_sql.catalog.schema_files import SchemaFiles

_NOWHERE = load_file_io("/", {})  # for tables without a folder yet; never read


@dataclass(frozen=True)
class ServerTables(KeptRegistry):
    """The tables of a server; see `Registry`.

    `open_files` opens the tables of a storage; `tokens` has the tokens of opened tables.
    """

    server: Server
    options: Mapping[str, str] = field(repr=False)
    open_files: Callable[..., SchemaFiles]
    tokens: dict[tuple[Identifier, str], HeldToken] = field(default_factory=dict, repr=False, kw_only=True)

    def exists(self, identifier: Identifier) -> bool:
        return self.server.table_exists(identifier)

    def load(self, identifier: Identifier) -> Table:
        try:
            return self.opened(identifier, self.server.find(identifier))
        except TableNotFoundError:
            if identifier.branch is None:
                raise
        main = self.opened(identifier.base, self.server.find(identifier.base))
        return replace(main, store=open_branch(main.store, identifier.branch))  # raises if the branch does not exist

    def new(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """Return a staged table; see `Registry.new`.

        The server chooses its folder, which is therefore unknown before.
        """
        made = self.prepared(identifier, schema)
        without_place = self.files(_NOWHERE).at(identifier, "/", made)
        return StagedTable(without_place, partial(self.create, identifier, made))

    def prepared(self, identifier: Identifier, schema: TableSchema, *, lends: bool = True) -> TableSchema:
        """Return the schema with the catalog's defaults. Raises an error for an invalid definition."""
        made = self.files(_NOWHERE).prepare(checked(identifier), "/", schema, lends=lends).schema
        return replace(made, time_millis=0)

    def create(self, identifier: Identifier, schema: TableSchema) -> None:
        """Create a table at the server. Raises `TableExistsError` if a table or a view has the name."""
        body = {"identifier": encode_identifier(identifier), "schema": encode_schema_body(schema)}
        address = paths.database(self.server.prefix, identifier.database, "tables")
        with self.server.calling(identifier.database, exists=taken(identifier)):
            settle(
                partial(self.server.client.post, address, body),
                lambda: self.server.find(identifier).body == decode_schema_body(body["schema"]),
            )

    def rename(self, source: Identifier, target: Identifier) -> None:
        before = self.server.find(source)

        def is_done() -> bool:
            if self.exists(source):
                return False
            found = self.server.find(target)
            return found.schema_id == before.schema_id and found.body == before.body

        taken = f"Table {target} already exists, or a view or a folder has that name."
        with self.server.calling(source, exists=taken):
            settle(partial(self.server.rename, "tables", source, target), is_done)

    def remove(self, identifier: Identifier) -> bool:
        drop = partial(self.server.client.delete, paths.table(self.server.prefix, checked(identifier)))
        try:
            with self.server.calling(identifier):
                settle(drop, lambda: not self.exists(identifier))
        except (DatabaseNotFoundError, TableNotFoundError):
            return False
        return True

    def missing(self, identifier: Identifier) -> PaimonError:
        return self.server.missing("table", identifier)

    # -- registration -------------------------------------------------------------------------------------------------
    def register(self, identifier: Identifier) -> None:
        """Register the folder of a table at the server, if the server expects the folder."""
        location = self.server.properties(checked(identifier).database).get(LOCATION, "")
        body = {"identifier": encode_identifier(identifier), "path": f"{location}/{identifier.table}"}
        with self.server.calling(identifier):
            self.server.client.post(paths.database(self.server.prefix, identifier.database, "register"), body)

    def unregistered(self, database: str) -> list[str]:
        """Return an empty list: only the server can read the folders."""
        self.server.properties(database)
        return []

    # -- opened tables ------------------------------------------------------------------------------------------------
    def opened(self, identifier: Identifier, found: Found) -> Table:
        """Return the table that the server describes.

        Raises `TableNotFoundError` if its folder does not have its schema.
        """
        name = replace(identifier, system_table=None)
        if is_format_table(found.body.options) or is_object_table(found.body.options):
            return self.at(name, found.path, found.body.as_version(found.schema_id), found)
        io = self._io(name, found.path, found.is_external)
        root = TablePaths(found.path, branch=name.branch or "").version_root
        try:
            schema = load_schema(io, root, found.schema_id)
        except SchemaNotFoundError as error:
            raise TableNotFoundError(
                f"The server {self.server.uri} has table {name} with version {found.schema_id} of its schema, and "
                f"{root} has no file of that version: it is being created or dropped, or this catalog cannot read "
                "that folder."
            ) from error
        return self.at(name, found.path, schema, found)

    def at(self, identifier: Identifier, path: str, schema: TableSchema, found: Found | None) -> Table:
        """Return the table at a path. `found` is the server's description, None for a table that is not created yet."""
        is_external = found is not None and found.is_external
        io = self._io(identifier, path, is_external)
        made = self.files(io, found).at(identifier.base, path, schema)
        versioning = made.versioning if is_external else partial(ServerVersions, self.server)
        store = made.store.under(schema, identifier.branch or "")
        return replace(made, store=replace(store, rights=query_auth(self.server, store)), versioning=versioning)

    def files(self, io: FileIO, found: Found | None = None) -> SchemaFiles:
        """Return the tables of a storage. The server publishes the snapshots of all tables except external tables."""
        if found is not None and found.is_external:
            return self.open_files(io)
        return self.open_files(io, publishing=partial(self._publisher, None if found is None else found.id))

    def _io(self, identifier: Identifier, path: str, is_external: bool) -> FileIO:
        if self.data_tokens and not is_external:
            held = self.tokens.setdefault((identifier.base, path), HeldToken())
            settings = self.server.client.settings
            return TokenFileIO(settings, self.server.prefix, identifier.base, path, dict(self.options), held)
        return load_file_io(path, self.options)

    @cached_property
    def data_tokens(self) -> bool:
        """Return whether the server gives tokens for the storages of tables."""
        return option_value(self.options, DATA_TOKENS, boolean, False)

    def _publisher(self, table_id: str | None, store: TableStore) -> Publisher:
        if table_id is None:  # the table was staged, and exists by now
            table_id = self.server.find(store.identifier.base).id
        return ServerPublisher(self.server.client, self.server.prefix, table_id, store)


def taken(identifier: Identifier) -> str:
    """Return the error text for a name that is taken."""
    return f"Table {identifier} already exists, or a view has that name."
