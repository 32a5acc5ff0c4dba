"""Tables that a server creates, replaces or alters together with rows. The server makes each change completely or not
at all.

The rows are written first, under the schema that the table will have. The server then makes the change, and the catalog
checks that the schema is the expected one before a snapshot names the rows.

If the partitioning changes, a new table is created under a temporary name. It gets the old name after its rows are
written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, PaimonError, TableExistsError, UnsupportedFeatureError
from paimon_core.io.load import normalize
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.new_schema import replacing_schema, same_partitions
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.store.features import check_stays
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.folders import LOCATION
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.replacing import new_suffix
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.messages import encode_change, encode_schema_body
from paimon_sql.catalog.rest.registry import ServerTables, taken
from paimon_sql.catalog.rest.server import Server
from paimon_sql.catalog.schema_files import follow_name, unfollowed


@dataclass(frozen=True)
class ServerRegistry(ServerTables):
    """The tables of a server, with changes that come with rows; see `Registry`.

    `view_exists` returns whether a view has a name.
    """

    view_exists: Callable[[Identifier], bool]

    def stage(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        made = self.prepared(identifier, schema)
        location = self.server.properties(identifier.database).get(LOCATION)
        self.check_free(identifier)
        if self.data_tokens or location is None:
            return self._created_at_once(identifier, made)
        path = f"{normalize(location)}/{identifier.table}"

        def publish() -> None:
            self.create(identifier, made)
            found = self.server.find(identifier)
            if found.path != path:
                self.remove(identifier)
                raise UnsupportedFeatureError(
                    f"The catalog {self.server.uri} created table {identifier} in {found.path} and not in {path}, "
                    "where its rows are already written. Run CREATE TABLE first, then INSERT."
                )

        return StagedTable(self.at(identifier, path, made, None), publish)

    def check_free(self, identifier: Identifier) -> None:
        if self.exists(identifier) or self.view_exists(identifier):
            raise TableExistsError(taken(identifier))

    def _created_at_once(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """Create a table before its rows, because only the server can choose its folder.

        Drop it if writing the rows fails.
        """
        self.create(identifier, schema)

        def discard() -> None:
            self.remove(identifier)

        return StagedTable(self.load(identifier), lambda: None, discard=discard)

    def definitions(self, identifier: Identifier, path: str | None = None) -> ServerDefinitions:
        return ServerDefinitions(self, identifier)


@dataclass(frozen=True)
class ServerDefinitions:
    """The definition of one table or of a branch; see `TableChanges`."""

    tables: ServerRegistry
    identifier: Identifier

    @property
    def _server(self) -> Server:
        return self.tables.server

    def stage_replace(self, old: Table, schema: TableSchema) -> StagedTable:
        identifier = self.identifier
        new = self.tables.prepared(identifier, schema, lends=False)  # the server checks the branches
        if not same_partitions(old.schema, new):
            return self._stage_beside(new)
        made = replace(replacing_schema(old.schema, new), time_millis=0)

        def publish() -> None:
            body = {"schema": encode_schema_body(made), "schemaId": made.id}
            address = paths.table(self._server.prefix, identifier, "replace")
            with self._server.calling(identifier):
                settle(
                    partial(self._server.client.post, address, body),
                    lambda: self._server.find(identifier).schema_id == made.id,
                )
            self._check_published(made)

        return StagedTable(replace(old, store=old.store.under(made, "")), publish)

    def _stage_beside(self, schema: TableSchema) -> StagedTable:
        check_stays([schema], str(self.identifier), "replaced")
        tables, identifier, suffix = self.tables, self.identifier, new_suffix()
        beside = replace(identifier, table=identifier.table + suffix)
        aside = replace(identifier, table=identifier.table + suffix.replace("_replacing_", "_replaced_"))
        staged = tables.stage(beside, schema)
        begun: list[Identifier] = []

        def finish() -> None:
            begun.append(beside)
            tables.rename(identifier, aside)
            try:
                tables.rename(beside, identifier)
            except PaimonError:
                if not tables.exists(identifier):
                    tables.rename(aside, identifier)
                raise
            if not tables.remove(aside):
                raise tables.missing(aside)
            follow_name(partial(tables.load, identifier))

        def discard() -> None:
            if not begun:
                tables.remove(beside)

        return replace(staged, table=unfollowed(staged.table), is_separate=True, finish=finish, discard=discard)

    def alter(self, load: Callable[[], Table], changes: Sequence[SchemaChange]) -> None:
        self._alter(load(), changes)

    def _alter(self, before: Table, changes: Sequence[SchemaChange]) -> None:
        files, identifier = self.tables.files(before.store.io), self.identifier
        files.altered(before, changes)  # raises for an invalid change

        def is_done() -> bool:
            expected = files.altered(before, changes).schema
            found = self.tables.opened(identifier, self._server.find(identifier)).schema
            return replace(found, time_millis=expected.time_millis) == expected

        body = {"changes": [encode_change(c) for c in changes]}
        with self._server.calling(identifier, exists="A column has that name."):
            settle(partial(self._server.client.post, paths.table(self._server.prefix, identifier), body), is_done)

    def stage_alter(self, table: Table, changes: Sequence[SchemaChange]) -> StagedTable:
        changed = self.tables.files(table.store.io).altered(table, changes)
        if changed.schema is table.schema:
            return StagedTable(changed, lambda: None)
        made = replace(changed.schema, time_millis=0)

        def publish() -> None:
            if self._server.find(self.identifier).schema_id != table.schema.id:
                raise self._altered_meanwhile()
            self._alter(table, changes)
            self._check_published(made)

        return StagedTable(replace(table, store=table.store.under(made, table.store.branch)), publish)

    def _check_published(self, made: TableSchema) -> None:
        if replace(self.tables.load(self.identifier).schema, time_millis=0) != made:
            raise self._altered_meanwhile()

    def _altered_meanwhile(self) -> CommitConflictError:
        return CommitConflictError(
            f"Table {self.identifier} was altered meanwhile: nothing was written. Run the statement again."
        )
