"""The catalog that is a folder: `WAREHOUSE/NAME.db/TABLE`; a table is there when its folder has a schema file."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from paimon_core.commit.publish import Outcome
from paimon_core.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitUnknownError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    InvalidNameError,
    InvalidOptionError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.format_table.options import TYPE, check_format_schema, is_format_table
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import check_no_secrets
from paimon_core.maintenance.done_partitions import check_report
from paimon_core.options import PARTITION_MARK_DONE_URL, TableOptions
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import TablePaths, check_name
from paimon_core.spec.schema import TableSchema, encode_schema
from paimon_core.store.branches import branch_schema, check_lending_branches, open_branch
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.new_schema import check_schema, replacing_schema, same_partitions
from paimon_core.store.ddl.schema_changes import RemoveOption, SchemaChange, SetOption, UpdateComment, apply_changes
from paimon_core.store.external.allowed import Allowed
from paimon_core.store.schemas import latest_schema, schema_ids
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table, storage_publisher
from paimon_sql.catalog.base import DEFAULT_DATABASE, SYSTEM_DATABASE, StagedTable

_LOG = logging.getLogger(__name__)
_SUFFIX = ".db"
_DEFAULTS = "table-default."
_ALTER_ATTEMPTS = 10
_ABOUT = (SetOption, RemoveOption, UpdateComment)


@dataclass(frozen=True)
class FileSystemCatalog:
    """A `Catalog` over one folder. Database properties are not kept; `default` always exists."""

    io: FileIO
    warehouse: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    allowed: Allowed = field(default_factory=Allowed)

    def identifier(self, name: str) -> Identifier:
        return Identifier.parse(name)

    def list_databases(self) -> list[str]:
        folders = (f.name for f in self.io.list(self.warehouse) if f.is_dir)
        found = {n.removesuffix(_SUFFIX) for n in folders if n.endswith(_SUFFIX) and n != _SUFFIX}
        return sorted(found | {DEFAULT_DATABASE})

    def database_exists(self, name: str) -> bool:
        return name == DEFAULT_DATABASE or self.io.exists(self._database_dir(name))

    def database_properties(self, name: str) -> dict[str, str]:
        self._check_database(name)
        return {"location": self._database_dir(name)}

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        if "location" in (properties or {}):
            raise InvalidOptionError(
                f"Database {name} cannot have a location of its own: this catalog keeps it in {self.warehouse}."
            )
        if name == SYSTEM_DATABASE:
            raise InvalidNameError(f"A database cannot be called {name!r}: procedures go by that name.")
        path = self._database_dir(name)
        if self.io.exists(path):
            if ignore_if_exists:
                return
            raise DatabaseExistsError(f"Database {name} already exists.")
        if properties:
            _LOG.warning("A filesystem catalog keeps no database properties: %s are dropped.", ", ".join(properties))
        self.io.make_dirs(path)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        if name == SYSTEM_DATABASE:
            raise InvalidNameError(f"Database {name!r} cannot be dropped: it holds the procedures.")
        self._check_database(name)
        tables = self.list_tables(name)
        if tables and not cascade:
            raise DatabaseNotEmptyError(
                f"Database {name} still has {len(tables)} tables, {tables[0]} among them: drop them, or use CASCADE."
            )
        self.io.delete_dir(self._database_dir(name))

    def list_tables(self, database: str) -> list[str]:
        self._check_database(database)
        folders = [f for f in self.io.list(self._database_dir(database)) if f.is_dir]
        return sorted(f.name for f in folders if self._may_be_table(f.path))

    def table_exists(self, identifier: Identifier) -> bool:
        if not self.database_exists(identifier.database):
            return False
        return bool(schema_ids(self.io, self._version_dir(identifier)))

    def load_table(self, identifier: Identifier) -> Table:
        main = self._table(identifier.base, self._schema(identifier.base))
        return main if identifier.branch is None else replace(main, store=open_branch(main.store, identifier.branch))

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        schema = self._checked(identifier, schema)
        root = self._table_dir(identifier)
        exists = bool(schema_ids(self.io, root)) or not self._publish(root, schema)
        if exists and not ignore_if_exists:
            raise TableExistsError(f"Table {identifier} already exists.")

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        schema = self._checked(identifier, schema)
        if self.table_exists(identifier):
            raise TableExistsError(f"Table {identifier} already exists.")
        return StagedTable(self._table(identifier, schema), lambda: self.create_table(identifier, schema))

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        old, schema = self._schema(identifier), self._checked(identifier, schema)
        if not same_partitions(old, schema):
            return self._stage_apart(identifier, schema)
        changed = replacing_schema(old, schema)

        def publish() -> None:
            if not self._publish(self._table_dir(identifier), changed):
                raise CommitConflictError(f"Table {identifier} was altered meanwhile: it was not replaced, try again.")

        return StagedTable(self._table(identifier, changed), publish)

    def _stage_apart(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        apart = Identifier(identifier.database, f"{identifier.table}_replacing_{uuid.uuid4().hex[:8]}")
        staged = self.stage_create(apart, schema)

        def settle() -> None:
            self.drop_table(identifier)
            self.rename_table(apart, identifier)

        discard = partial(self.drop_table, apart, ignore_if_not_exists=True)
        return replace(staged, is_apart=True, settle=settle, discard=discard)

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        _check_plain(identifier)
        if not ignore_if_not_exists:
            self._check_database(identifier.database)
        if self.table_exists(identifier):
            self.io.delete_dir(self._table_dir(identifier))
        elif not ignore_if_not_exists:
            raise self._absent(identifier)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        _check_plain(source)
        _check_plain(target)
        self._check_database(source.database)
        if not self._may_be_table(self._table_dir(source)):
            raise self._absent(source)
        self._check_database(target.database)
        if self.table_exists(target):
            raise TableExistsError(f"Table {target} already exists.")
        try:
            self.io.rename_dir(self._table_dir(source), self._table_dir(target))
        except (FileExistsError, AlreadyExistsError) as e:
            raise TableExistsError(f"The folder of table {target} already exists.") from e

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        for _ in range(_ALTER_ATTEMPTS):
            table, changed = self._altered(identifier, changes)
            if changed is table.schema or self._publish(self._version_dir(identifier), changed):
                return
        raise CommitConflictError(f"Table {identifier} is being altered by others all the time: try again later.")

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        table, changed = self._altered(identifier, changes)
        store = table.store

        def publish() -> None:
            if changed is table.schema or self._publish(self._version_dir(identifier), changed):
                return
            latest = branch_schema(store, store.branch)
            if latest is None or replace(latest, time_millis=changed.time_millis) != changed:
                raise CommitConflictError(f"Table {identifier} was altered meanwhile: nothing was written, try again.")

        return StagedTable(replace(table, store=store.under(changed, store.branch)), publish)

    def _altered(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> tuple[Table, TableSchema]:
        """A table as it is, and what changes make of its schema."""
        if identifier.system_table is not None:
            _check_plain(identifier)
        table = self.load_table(identifier)
        schema = table.schema
        _check_changes(identifier, schema, changes)
        has_snapshots = latest_snapshot(table.store) is not None
        changed = apply_changes(schema, changes, time.time_ns() // 1_000_000, has_snapshots=has_snapshots)
        if is_format_table(changed.options):
            check_format_schema(changed)
        if changed is not schema:
            check_no_secrets(str(identifier), dict(changed.options.items() - schema.options.items()))
            options = TableOptions(changed.options)
            check_lending_branches(table.store, options)
            self._check_allowed(identifier, options)
        return table, changed

    def _table(self, identifier: Identifier, schema: TableSchema) -> Table:
        store = TableStore.of(self.io, self._table_dir(identifier), schema, self.cache, identifier=identifier)
        return Table(replace(store, allowed=self.allowed))

    def _checked(self, identifier: Identifier, schema: TableSchema) -> TableSchema:
        """The schema with the catalog's defaults, where a table can be made of it."""
        _check_plain(identifier)
        self._check_database(identifier.database)
        defaults = {k.removeprefix(_DEFAULTS): v for k, v in self.options.items() if k.startswith(_DEFAULTS)}
        if defaults:
            schema = _with_defaults(schema, defaults)
        kind = schema.options.get(TYPE, "table")
        if is_format_table(schema.options):
            check_format_schema(schema)
        elif kind != "table":
            raise UnsupportedFeatureError(f"Table {identifier}: option 'type' = {kind!r} is not supported yet.")
        check_no_secrets(str(identifier), schema.options)
        self._check_allowed(identifier, TableOptions(schema.options))
        if "path" in schema.options:
            raise InvalidOptionError(f"Table {identifier} cannot have a 'path' of its own in a filesystem catalog.")
        return schema

    def _check_allowed(self, identifier: Identifier, options: TableOptions) -> None:
        """Raises `NotAllowedError` for a definition of what the catalog refuses whenever it is used."""
        if options.values.get(PARTITION_MARK_DONE_URL.key):
            check_report(str(identifier), options.values, options, self.allowed)

    def _publish(self, root: str, schema: TableSchema) -> bool:
        """Write a new schema version. False where another process wrote it first."""
        path, data = TablePaths(root).schema(schema.id), encode_schema(schema)
        publisher = storage_publisher(TableStore.of(self.io, root, schema))
        try:
            return publisher.publish(path, data) is Outcome.PUBLISHED
        except CommitUnknownError as error:
            if not self.io.exists(path):
                raise StorageError(f"{path} could not be written, nothing has changed: {error.__cause__}") from error
            return self.io.read_bytes(path) == data

    def _schema(self, identifier: Identifier) -> TableSchema:
        self._check_database(identifier.database)
        schema = latest_schema(self.io, self._table_dir(identifier))
        if schema is None:
            raise self._absent(identifier)
        return schema

    def _may_be_table(self, root: str) -> bool:
        """Whether a folder has schemas, or cannot be looked into: a table there may be is listed, as others are."""
        try:
            return bool(schema_ids(self.io, root))
        except StorageError:
            return True

    def _absent(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table {identifier.base} in the warehouse {self.warehouse}.")

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise DatabaseNotFoundError(f"There is no database {name} in the warehouse {self.warehouse}.")

    def _database_dir(self, name: str) -> str:
        return f"{self.warehouse}/{check_name('database', name)}{_SUFFIX}"

    def _version_dir(self, identifier: Identifier) -> str:
        return TablePaths(self._table_dir(identifier), branch=identifier.branch or "").version_root

    def _table_dir(self, identifier: Identifier) -> str:
        return f"{self._database_dir(identifier.database)}/{check_name('table', identifier.table)}"


def _with_defaults(schema: TableSchema, defaults: Mapping[str, str]) -> TableSchema:
    changed = replace(schema, options={**defaults, **schema.options})
    check_schema(changed)
    return changed


def _check_changes(identifier: Identifier, schema: TableSchema, changes: Sequence[SchemaChange]) -> None:
    """A format table has the columns of its files: only what is said about it changes."""
    if is_format_table(schema.options) and not all(isinstance(c, _ABOUT) for c in changes):
        raise UnsupportedFeatureError(
            f"Table {identifier} is a format table, whose columns are those of its files: only options and the comment "
            "can be altered."
        )


def _check_plain(identifier: Identifier) -> None:
    """Tables are created, dropped and renamed; branches and system tables are not."""
    if identifier.branch is not None or identifier.system_table is not None:
        raise InvalidNameError(f"{identifier} is not a table of its own: name the table without '$'.")
