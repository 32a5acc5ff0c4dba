"""Tables in the rows of a database: a table exists when it has a row; the schema files in its folder define it.

Folders are the same as in a filesystem catalog, `WAREHOUSE/NAME.db/TABLE`. Every change of a name holds the lock of the
table. If a crash leaves rows and files that do not match, the next process that uses the table mends them:

- CREATE: the row is inserted, the schema written, the transaction committed. A schema without a row does not stop a
  later CREATE. A folder that has snapshots but no row is refused: `register` takes it.
- DROP: files first, versions before schemas, the row last. A row without a schema is dropped again.
- RENAME: a note beside the row names the new place of the folder (`rows.RENAMED_TO`; no folder was there before), the
  folder is moved, and in one transaction the rows get the new name and the note goes. See `moves`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection

from paimon_core.commit.publish import UnsafePublisher
from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, TableExistsError, TableNotFoundError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.schemas import latest_schema
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.folders import Folders, unnamed_tables
from paimon_sql.catalog.jdbc import rows
from paimon_sql.catalog.jdbc.database import CatalogRows, RowExists
from paimon_sql.catalog.jdbc.locks import JdbcLocks
from paimon_sql.catalog.jdbc.settings import JdbcSettings
from paimon_sql.catalog.moves import ends_forward
from paimon_sql.catalog.named_tables import KeptRegistry
from paimon_sql.catalog.outcomes import OutcomeUnknown, settle
from paimon_sql.catalog.schema_files import SchemaFiles, follow_name, properties_of, publish_schema


@dataclass(frozen=True)
class RowRegistry(KeptRegistry):
    """The tables in the rows of a database; see `Registry`.

    `check_database` raises for a database that does not exist.
    """

    files: SchemaFiles
    folders: Folders
    settings: JdbcSettings
    rows: CatalogRows
    locks: JdbcLocks
    check_database: Callable[[str], None]

    def exists(self, identifier: Identifier) -> bool:
        path = self.folders.table(identifier)
        if not self._has_row(identifier):
            return False
        return identifier.branch is None or self.files.exists(identifier, path)

    def load(self, identifier: Identifier) -> Table:
        path = self.folders.table(identifier)
        for is_last in (False, True):
            is_there, is_moving = self.rows.read(rows.look_up, identifier)
            table = self.files.load(identifier, path) if is_there and not is_moving else None
            if table is not None:
                return table
            if is_last or not self.end_rename(identifier):
                break
        raise self._without_schema(identifier) if is_there else self.missing(identifier)

    def new(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        self.locks.lock(identifier)
        self.check_database(identifier.database)
        table = self.files.prepare(identifier, self.folders.table(identifier), schema)
        return StagedTable(table, partial(self._create, table))

    def check_free(self, identifier: Identifier) -> None:
        if self.rows.read(rows.has_any, identifier.base):
            raise self._exists(identifier)

    def _create(self, table: Table) -> None:
        """Make a prepared table: insert its row, and write its schema while no other process can insert the row."""
        identifier, schema = table.identifier, table.schema
        self.end_rename(identifier)
        with self.locks.held(identifier):
            try:
                settle(
                    partial(self.rows.write, partial(self._insert_and_publish, table)),
                    lambda: self._has_row(identifier) and latest_schema(self.files.io, table.store.root) == schema,
                )
            except RowExists as error:
                raise self._exists(identifier) from error

    def _insert_and_publish(self, table: Table, connection: Connection, key: str) -> None:
        self._insert(table.identifier, table.schema, False, connection, key)
        self.files.clear_remains(table.identifier, table.store.root)
        # Other processes wait for the row, so none of them writes the schema.
        if not publish_schema(table, UnsafePublisher(self.files.io)):
            raise self._exists(table.identifier)

    def _insert(
        self, identifier: Identifier, schema: TableSchema, may_exist: bool, connection: Connection, key: str
    ) -> None:
        """Insert the rows of a table.

        Raises an error if a row exists and `may_exist` is not set, or if a view has the name.
        """
        if rows.definition(connection, key, rows.VIEWS_KEPT, identifier) is not None:
            raise self._exists(identifier)
        if not (may_exist and rows.has_table(connection, key, identifier)):
            rows.insert_table(connection, key, identifier)
        if self.settings.sync_properties:
            rows.set_table_properties(connection, key, identifier, properties_of(schema))

    def change(self, identifier: Identifier, act: Callable[[], None]) -> None:
        with self.locks.held(identifier):
            act()
            schema = latest_schema(self.files.io, self.folders.table(identifier))
            if self.settings.sync_properties and schema is not None:
                self.rows.write_surely(rows.set_table_properties, identifier.base, properties_of(schema))

    def definitions(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        return self.files

    def remove(self, identifier: Identifier) -> bool:
        path = self.folders.table(identifier)
        self.end_rename(identifier)
        with self.locks.held(identifier):
            is_there = self._has_row(identifier)
            if is_there:
                self.files.drop(path)
                self.locks.lock(identifier).check()
                self.rows.write_surely(rows.delete_table, identifier)
        return is_there

    def rename(self, source: Identifier, target: Identifier) -> None:
        old, new = self.folders.table(source), self.folders.table(target)
        for name in (source, target):
            self.end_rename(name)
        with self.locks.held(source, target):
            self.check_database(source.database)
            if not self._has_row(source):
                raise self._not_found(source)
            self.check_database(target.database)
            if source == target or self.rows.read(rows.has_any, target) or self.files.io.exists(new):
                raise self._exists(target)
            settle(
                partial(self.rows.write, rows.note_rename, source, target),
                lambda: self.rows.read(rows.noted_rename, source) == (source, target),
            )
            try:
                self.files.rename(old, new, target)
            except PaimonError:
                self._end_move(source, target)
                raise
            try:
                self.rows.write(rows.rename_table, source, target)
            except OutcomeUnknown:
                if self.rows.read(rows.noted_rename, source) is not None:
                    self._end_move(source, target)
        follow_name(partial(self.files.load, target, new), old)

    def end_rename(self, identifier: Identifier) -> bool:
        """Complete a rename of this table that another process began. Return whether there was one."""
        found = self.rows.read(rows.noted_rename, identifier.base)
        if found is None:
            return False
        with self.locks.held(*found):
            if self.rows.read(rows.noted_rename, identifier.base) == found:
                self._end_move(*found)
        return True

    def _end_move(self, source: Identifier, target: Identifier) -> None:
        """Complete a move under the locks of both names."""
        if ends_forward(self.files.io, self.folders.table(source), self.folders.table(target)):
            self.rows.write(rows.rename_table, source, target)
        else:
            self.rows.write_surely(rows.forget_rename, source)

    # -- folders that lost their rows ---------------------------------------------------------------------------------
    def register(self, identifier: Identifier) -> None:
        """Insert missing rows, and write all properties again."""
        path = self.folders.table(identifier)
        self.end_rename(identifier)
        with self.locks.held(identifier):
            schema = self.files.registered_schema(path)
            self.files.accept(identifier, schema)
            self.rows.write(partial(self._insert, identifier, schema, True))

    def unregistered(self, database: str) -> list[str]:
        known = frozenset(self.rows.read(rows.tables, database))
        return unnamed_tables(self.files.io, self.folders.database(database), known.__contains__)

    # -- errors -------------------------------------------------------------------------------------------------------
    def missing(self, identifier: Identifier) -> PaimonError:
        self.check_database(identifier.database)
        return self._not_found(identifier)

    def _not_found(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table {identifier.base} in the catalog {self.settings.address}.")

    def _without_schema(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(
            f"Table {identifier.base} is known to the catalog, but {self.folders.table(identifier)} has no schema "
            "file: a DROP was interrupted, or the folder was removed. Drop the table, or restore its folder."
        )

    def _exists(self, identifier: Identifier) -> TableExistsError:
        return TableExistsError(
            f"Table {identifier} already exists, or a view or the folder of another table has that name."
        )

    def _has_row(self, identifier: Identifier) -> bool:
        return self.rows.read(rows.has_table, identifier)
