"""Tables that are defined by their schema files: the code that filesystem, JDBC and Hive catalogs share. The catalog
chooses the folder of a table; `SchemaFiles` creates, loads, alters and replaces the table in it. A table exists when
its folder has a schema file; the file of a version is published once, so one of several writers wins.

Source: specification, "Schema"; `FileSystemCatalog` and `SchemaManager` of Paimon.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from paimon_core.clock import now_millis
from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitUnknownError,
    InvalidNameError,
    InvalidOptionError,
    PaimonError,
    StorageError,
    StorageRefusedError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.format_table.kind import TYPE, is_format_table
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import check_no_secrets
from paimon_core.io.side_by_side import both
from paimon_core.lazy import ImportedOnCall, logger
from paimon_core.object_table import is_object_table
from paimon_core.options import (
    DISABLED,
    ICEBERG_STORAGE,
    PARTITION_MARK_DONE_URL,
    UPSERT_KEY,
    TableOptions,
    iceberg_options,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import TablePaths, parse_schema_id
from paimon_core.spec.schema import TableSchema, encode_schema
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache
from paimon_core.store.early_look import with_early_look
from paimon_core.store.features import check_iceberg_catalogs, check_stays
from paimon_core.store.schemas import latest_schema, load_schema, schema_ids
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import IcebergCatalogs, TableStore, Watcher
from paimon_core.table import Table, storage_publisher
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.option_values import TABLE_DEFAULT

if TYPE_CHECKING:
    from paimon_core.commit.publish import Publisher, publishes
    from paimon_core.format_table.options import check_format_schema
    from paimon_core.iceberg.follow import follow_rename, keep_up
    from paimon_core.maintenance.done_partitions import check_report
    from paimon_core.materialized_table import check_definition, is_materialized_table
    from paimon_core.object_table import object_schema, refuse_object_table
    from paimon_core.store.branches import branch_schema, check_lending_branches, open_branch
    from paimon_core.store.ddl.new_schema import check_schema, replacing_schema, same_partitions
    from paimon_core.store.ddl.schema_changes import SchemaChange, apply_changes, keep_columns
    from paimon_sql.catalog.replacing import complete, new_suffix, take_place
else:
    publishes = ImportedOnCall("paimon_core.commit.publish", "publishes")
    check_format_schema = ImportedOnCall("paimon_core.format_table.options", "check_format_schema")
    apply_changes = ImportedOnCall("paimon_core.store.ddl.schema_changes", "apply_changes")
    keep_columns = ImportedOnCall("paimon_core.store.ddl.schema_changes", "keep_columns")
    check_schema = ImportedOnCall("paimon_core.store.ddl.new_schema", "check_schema")
    replacing_schema = ImportedOnCall("paimon_core.store.ddl.new_schema", "replacing_schema")
    same_partitions = ImportedOnCall("paimon_core.store.ddl.new_schema", "same_partitions")
    follow_rename = ImportedOnCall("paimon_core.iceberg.follow", "follow_rename")
    keep_up = ImportedOnCall("paimon_core.iceberg.follow", "keep_up")
    check_report = ImportedOnCall("paimon_core.maintenance.done_partitions", "check_report")
    check_definition = ImportedOnCall("paimon_core.materialized_table", "check_definition")
    is_materialized_table = ImportedOnCall("paimon_core.materialized_table", "is_materialized_table")
    branch_schema = ImportedOnCall("paimon_core.store.branches", "branch_schema")
    check_lending_branches = ImportedOnCall("paimon_core.store.branches", "check_lending_branches")
    open_branch = ImportedOnCall("paimon_core.store.branches", "open_branch")
    complete = ImportedOnCall("paimon_sql.catalog.replacing", "complete")
    new_suffix = ImportedOnCall("paimon_sql.catalog.replacing", "new_suffix")
    take_place = ImportedOnCall("paimon_sql.catalog.replacing", "take_place")
    object_schema = ImportedOnCall("paimon_core.object_table", "object_schema")
    refuse_object_table = ImportedOnCall("paimon_core.object_table", "refuse_object_table")

_LOG = logger(__name__)
_ALTER_ATTEMPTS = 10
_SCHEMAS = "schema"
_DROPPED = ("snapshot", "changelog", "tag", "branch")  # deleted in this order, before the files that they name
_OF_FILES = {"a format": is_format_table, "an object": is_object_table}
# This function gets a catalog's options and the function that opens the catalog's own metastore. It returns the Iceberg
# catalogs of the tables.
OpenIceberg = Callable[..., IcebergCatalogs]


@dataclass(frozen=True)
class SchemaFiles:
    """Creates, loads, alters and replaces tables by the paths of their folders.

    `defaults` are options for new tables that do not set them. `publishing` returns the publisher of schemas and
    snapshots: a catalog with locks has another publisher than the storage. `accept` raises an error for a definition
    that the catalog cannot store, before it is written. `own_paths`: a table may have the option `path`. `watcher` is
    notified of changes to tables, `iceberg_catalogs` of changes to their Iceberg metadata.
    """

    io: FileIO
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)
    allowed: Allowed = field(default_factory=Allowed)
    defaults: Mapping[str, str] = field(default_factory=dict)
    publishing: Callable[[TableStore], Publisher] = storage_publisher
    accept: Callable[[Identifier, TableSchema], None] = lambda identifier, schema: None
    own_paths: bool = False
    watcher: Watcher | None = field(default=None, repr=False, compare=False)
    iceberg_catalogs: IcebergCatalogs | None = field(default=None, repr=False, compare=False)

    def exists(self, identifier: Identifier, path: str) -> bool:
        """Return whether the table at a path exists, and the branch that the identifier names."""
        look = partial(schema_ids, self.io, TablePaths(path, branch=identifier.branch or "").version_root)
        if identifier.branch is not None:
            return bool(look())
        if self.io.requests_at_once < 2:
            return bool(look()) or complete(self.io, path)
        return not self._is_free(path)

    def _is_free(self, path: str) -> bool:
        """Return whether a path has no table, nor a table that is being replaced. Both look-ups run in parallel."""
        ids, completed = both(self.io, partial(schema_ids, self.io, path), partial(complete, self.io, path))
        return not ids and not completed

    def load(self, identifier: Identifier, path: str) -> Table | None:
        """Return the table at a path, or the branch that the identifier names. Return None if the table does not exist.

        Raises `BranchNotFoundError`.
        """
        read = partial(latest_schema, self.io, path, self.cache)
        of_main = identifier.branch is None
        schema, look = with_early_look(self.io, path, self.cache, read) if of_main else (read(), None)
        if schema is None and complete(self.io, path):
            schema = read()
        if schema is None:
            return None
        main = self._table(identifier.base, path, schema)
        if identifier.branch is not None:
            return replace(main, store=open_branch(main.store, identifier.branch))
        return main if look is None else replace(main, store=replace(main.store, early_look=look))

    def registered_schema(self, path: str) -> TableSchema:
        """Return the latest schema in a folder to register. Raises `TableNotFoundError`."""
        schema = latest_schema(self.io, path)
        if schema is None:
            raise TableNotFoundError(f"There is no table in {path}: it has no schema file.")
        return schema

    def create(self, table: Table, check: Callable[[], None] = lambda: None) -> None:
        """Create a prepared table. `check` runs in parallel with the look-up of a table of that name.

        Raises `TableExistsError`, even if another process creates the table meanwhile, and the `StorageError` of
        `_is_made_meanwhile`.
        """
        root = table.store.root
        look, completed = partial(_schemas_and_leftovers, self.io, root), partial(complete, self.io, root)
        _, ((has_schemas, leftovers), is_completed) = both(self.io, check, partial(both, self.io, look, completed))
        is_there = has_schemas or is_completed or self._is_made_meanwhile(table.identifier, root, leftovers)
        if is_there or not publish_schema(table):
            raise TableExistsError(f"Table {table.identifier} already exists.")

    def has_schemas(self, identifier: Identifier, path: str) -> bool:
        """Return whether a path has schemas. Raises `StorageError` if it has no schemas, but files of a dropped table's
        versions.
        """
        has_schemas, leftovers = _schemas_and_leftovers(self.io, path)
        return has_schemas or self._is_made_meanwhile(identifier, path, leftovers)

    def _is_made_meanwhile(self, identifier: Identifier, path: str, leftovers: Sequence[str]) -> bool:
        """Return whether a path that had no schemas has some now. `leftovers` are the folders that had versions.

        Raises `StorageError` if they belong to a table that was dropped: a new table would show its rows.
        """
        if not leftovers:
            return False
        if schema_ids(self.io, path):  # another process created the table, and committed, between the listings
            return True
        found = " and ".join(f"'{name}'" for name in leftovers)
        raise StorageError(
            f"Cannot create table {identifier}: {path} has no schema, but files in {found} of a table that was dropped "
            "or renamed, or is being moved there. A new table would show its rows. Run the statement again. If it "
            "fails again, make sure that no job writes to this folder, then delete the folder."
        )

    def stage_create(self, identifier: Identifier, path: str, schema: TableSchema) -> StagedTable:
        """Return a staged table that is created with its first rows. Raises the same errors as `create`."""
        table = self.prepare(identifier, path, schema)
        if self.exists(identifier, path):
            raise TableExistsError(f"Table {identifier} already exists.")
        return StagedTable(table, partial(self.create, table))

    def stage_replace(self, old: Table, schema: TableSchema) -> StagedTable:
        """Return a staged table with another schema: a new version of the table, or a new table if the partitioning
        changes.
        """
        if is_object_table(old.schema.options) or is_object_table(schema.options):
            raise refuse_object_table(str(old.identifier))
        identifier, new = old.identifier, self.prepare(old.identifier, old.store.root, schema)
        if not same_partitions(old.schema, new.schema):
            return self._stage_beside(identifier, old.store.root, schema)
        table = self._table(identifier, old.store.root, replacing_schema(old.schema, new.schema))

        def publish() -> None:
            if not publish_schema(table):
                raise CommitConflictError(
                    f"Table {identifier} was altered meanwhile, and was not replaced. Run the statement again."
                )

        return StagedTable(table, publish)

    def _stage_beside(self, identifier: Identifier, path: str, schema: TableSchema) -> StagedTable:
        check_stays([schema], str(identifier), "replaced")
        suffix = new_suffix()
        beside = path + suffix
        staged = self.stage_create(replace(identifier, table=identifier.table + suffix), beside, schema)

        begun: list[str] = []

        def finish() -> None:
            begun.append(beside)
            try:
                self._take_place(identifier, path, beside)
            except StorageRefusedError:
                begun.clear()
                raise
            follow_name(partial(self.load, identifier, path))

        def discard() -> None:
            if begun or not schema_ids(self.io, path):  # if the rename takes effect late, this is the only table
                _LOG.warning(
                    "It is unknown whether table %s was replaced: check this, then delete %s.", identifier, beside
                )
            else:
                self.drop(beside)

        return replace(staged, table=unfollowed(staged.table), is_separate=True, finish=finish, discard=discard)

    def _take_place(self, identifier: Identifier, path: str, beside: str) -> None:
        aside = take_place(self.io, path, beside)
        try:
            self.drop(aside)
        except StorageError as error:
            _LOG.warning(
                "Table %s was replaced, but the old table %s remains: %s. Delete its folder.", identifier, aside, error
            )

    def clear_remains(self, identifier: Identifier, path: str) -> None:
        """Remove a schema that an interrupted CREATE left: the catalog has no table for the folder.

        Raises `TableExistsError` if the folder's table has been used: it belongs to another catalog, or this catalog
        has lost it. Raises the same `StorageError` as `create`.
        """
        if not self.has_schemas(identifier, path):
            return
        ids = schema_ids(self.io, path)
        others = {f.name for f in self.io.list(path)} - {_SCHEMAS}
        if others & {*_DROPPED} or (others and ids != [0]):
            raise TableExistsError(
                f"Table {identifier} cannot be created: {path} has a table that is not registered in this "
                f"catalog. Register it with CALL sys.repair('{identifier}'), or move its folder away."
            )
        for number in ids:
            self.io.delete(TablePaths(path).schema(number))

    def drop(self, path: str) -> None:
        """Delete the table at a path: first the files of its versions, last its schemas.

        If this fails, an empty table remains, which can be dropped. So there is never a damaged table, and a later
        table at the path never shows old files."""
        files = self.io.files_below(path)
        if files is not None:
            self._drop_files(path, files)
            return
        is_link = any(f.is_link for f in self.io.list(path.rpartition("/")[0]) if f.path == path)
        folders = set() if is_link else {f.name for f in self.io.list(path) if f.is_dir} - {_SCHEMAS}
        for name in (*(n for n in _DROPPED if n in folders), *sorted(folders - {*_DROPPED})):
            self.io.delete_dir(f"{path}/{name}")
        self.io.delete_dir(path)

    def drop_if_there(self, identifier: Identifier, path: str) -> bool:
        """Delete the table at a path. Return False if there is none. On an object store, one listing finds both."""
        files = self.io.files_below(path)
        if files is not None and any(_is_schema_of(path, f) for f in files):
            self._drop_files(path, files)
            return True
        is_there = self.exists(identifier, path)
        if is_there:
            self.drop(path)
        return is_there

    def _drop_files(self, path: str, files: Sequence[str]) -> None:
        """Delete a table in a storage without folders, in the order of `drop`. `files` are all its files."""
        by_folder: dict[str, list[str]] = defaultdict(list)
        for file in files:
            by_folder[file[len(path) + 1 :].partition("/")[0]].append(file)
        schemas = by_folder.pop(_SCHEMAS, [])
        if not by_folder:
            self._delete(path, schemas)
            return
        for name in _DROPPED:
            self._delete(path, by_folder.pop(name, []))
        self._delete(path, [file for folder in by_folder.values() for file in folder])
        self.io.delete_dir(path)  # with files that writers have added meanwhile

    def _delete(self, path: str, files: Sequence[str]) -> None:
        errors = self.io.delete_many_below(path, files) if files else {}
        if errors:
            raise next(iter(errors.values()))

    def rename(self, source: str, target: str, identifier: Identifier) -> None:
        """Rename the folder of a table. `identifier` is the table's new name.

        Raises `TableExistsError`, and `UnsupportedFeatureError` if rows contain paths."""
        self.check_renamed(source)
        try:
            self.io.rename_dir(source, target)
        except (FileExistsError, AlreadyExistsError) as e:
            raise TableExistsError(f"The folder of table {identifier} already exists.") from e

    def check_renamed(self, path: str) -> None:
        """Raise `UnsupportedFeatureError` if the folder of a table cannot be renamed. A table with a damaged or
        unfamiliar schema can be renamed. Raises `StorageError` if a schema cannot be fetched.
        """
        for number in schema_ids(self.io, path):
            try:
                schema = load_schema(self.io, path, number)
            except StorageError:
                raise
            except PaimonError:
                continue
            check_stays([schema], f"at {path}", "renamed")

    def alter(self, load: Callable[[], Table], changes: Sequence[SchemaChange]) -> None:
        """Publish the changed schema of a table.

        If another process alters the table meanwhile, load it and try again. Raises `CommitConflictError` if this
        happens at each try.
        """
        for _ in range(_ALTER_ATTEMPTS):
            table = load()
            changed = self.altered(table, changes)
            if changed.schema is table.schema or publish_schema(changed):
                return
        raise CommitConflictError(
            f"Table {table.name} is being altered by other processes all the time: run the statement again later."
        )

    def stage_alter(self, table: Table, changes: Sequence[SchemaChange]) -> StagedTable:
        """Return a staged table with a changed schema, which is published with the first rows that need it."""
        changed = self.altered(table, changes)

        def publish() -> None:
            if changed.schema is table.schema or publish_schema(changed):
                return
            latest = branch_schema(table.store, table.store.branch)
            if latest is None or replace(latest, time_millis=changed.schema.time_millis) != changed.schema:
                raise CommitConflictError(
                    f"Table {table.name} was altered meanwhile: nothing was written. Run the statement again."
                )

        return StagedTable(changed, publish)

    def altered(self, table: Table, changes: Sequence[SchemaChange]) -> Table:
        """Return a table with changes applied to its schema. Raises an error for an invalid change."""
        schema, store = table.schema, table.store
        _check_changes(table.identifier, schema, changes)
        has_snapshots = latest_snapshot(store) is not None
        changed = apply_changes(schema, changes, now_millis(), has_snapshots=has_snapshots)
        if is_format_table(changed.options):
            check_format_schema(changed)
        if changed is not schema:
            check_no_secrets(table.name, dict(changed.options.items() - schema.options.items()))
            options = TableOptions(changed.options)
            check_lending_branches(store, options)
            self._check_allowed(table.identifier, options)
            self.accept(table.identifier, changed)
            _warn_of_upserts(table.identifier, changed.options, schema.options)
        under = store.under(changed, store.branch)
        if iceberg_options(changed.options) != iceberg_options(schema.options):
            check_iceberg_catalogs(under)
        return replace(table, store=under)

    def prepare(self, identifier: Identifier, path: str, schema: TableSchema, *, lends: bool = True) -> Table:
        """Return the table that a schema, with the catalog's defaults, defines at a path. Writes nothing.

        `lends`: check that the branches from which the table reads exist at the path. Raises an error for an invalid
        definition.
        """
        if self.defaults:
            schema = replace(schema, options={**self.defaults, **schema.options})
            check_schema(schema)
        kind, is_object = schema.options.get(TYPE, "table"), is_object_table(schema.options)
        if is_format_table(schema.options):
            check_format_schema(schema)
        elif is_object:
            schema = object_schema(identifier, schema)
        elif is_materialized_table(schema.options):
            check_definition(str(identifier), schema.options)
        elif kind != "table":
            raise UnsupportedFeatureError(
                f"Table {identifier}: option 'type' = {kind!r} is not supported yet. Leave it out."
            )
        check_no_secrets(str(identifier), schema.options)
        self._check_allowed(identifier, TableOptions(schema.options))
        if "path" in schema.options and not self.own_paths and not is_object:
            raise InvalidOptionError(
                f"Table {identifier} cannot have the option 'path': the catalog chooses the path. Leave it out."
            )
        self.accept(identifier, schema)
        _warn_of_upserts(identifier, schema.options, {})
        table = self._table(identifier, path, schema)
        check_iceberg_catalogs(table.store)
        if lends:
            check_lending_branches(table.store, TableOptions(schema.options))
        return table

    def _table(self, identifier: Identifier, path: str, schema: TableSchema) -> Table:
        store = TableStore.of(self.io, path, schema, self.cache, identifier=identifier)
        limited = replace(store, allowed=self.allowed, watcher=self.watcher, iceberg_catalogs=self.iceberg_catalogs)
        return Table(limited, self.publishing)

    def at(self, identifier: Identifier, path: str, schema: TableSchema) -> Table:
        """Return the table of a definition that comes from the catalog instead of a schema file."""
        return self._table(identifier, path, schema)

    def _check_allowed(self, identifier: Identifier, options: TableOptions) -> None:
        """Raise `NotAllowedError` if the options of a table need something that the catalog does not allow."""
        if options.values.get(PARTITION_MARK_DONE_URL.key):
            check_report(str(identifier), options.values, options, self.allowed)


def _schemas_and_leftovers(io: FileIO, path: str) -> tuple[bool, Sequence[str]]:
    """Return whether a path has schemas, and which folders of `_DROPPED` have files of versions.

    On an object store, one listing finds both."""
    files = io.files_below(path)
    if files is not None:
        folders = {_version_folder(path, f) for f in files}
        return any(_is_schema_of(path, f) for f in files), [n for n in _DROPPED if n in folders]
    ids, found = both(io, partial(schema_ids, io, path), lambda: {f.name for f in io.list(path) if f.is_dir})
    return bool(ids), [
        n for n in _DROPPED if n in found and any(_version_folder(path, f.path) for f in io.list(f"{path}/{n}"))
    ]


def _version_folder(path: str, file: str) -> str | None:
    """Return the folder of `_DROPPED` in a table's folder that has a file, or None if the file is in none of them."""
    folder, _, name = file.removeprefix(f"{path}/").partition("/")
    return folder if folder in _DROPPED and name.startswith(f"{folder}-") else None


def _is_schema_of(path: str, file: str) -> bool:
    """Return whether a file is a schema of the table at a path."""
    folder, _, name = file.rpartition("/")
    return folder == TablePaths(path).schema_dir and parse_schema_id(name) is not None


def table_defaults(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that a catalog gives new tables: its own options `table-default.OPTION`."""
    return {k.removeprefix(TABLE_DEFAULT): v for k, v in options.items() if k.startswith(TABLE_DEFAULT)}


def properties_of(schema: TableSchema) -> dict[str, str]:
    """Return the copy of a table's definition that metastores store, for people and tools that read them."""
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys, "bucket-key": schema.bucket_keys}
    return {**schema.options, **{k: ",".join(columns) for k, columns in keys.items() if columns}}


def unfollowed(table: Table) -> Table:
    """Return a copy of a table that has no name of its own yet: its commits do not write Iceberg metadata.

    `keep_up` writes the metadata once the table has its name."""
    return replace(table, store=table.store.with_options({ICEBERG_STORAGE.key: DISABLED}))


def follow_name(load: Callable[[], Table | None], former: str | None = None) -> None:
    """Register the table that `load` returns for readers of Iceberg under its new name, instead of its `former` folder.

    This never raises: the table already has the new name, and its next commit registers it, too."""
    try:
        table = load()
    except PaimonError as error:
        _LOG.warning("Readers of Iceberg will see the renamed or replaced table only after its next commit: %s", error)
        return
    if table is None:
        return
    if former is None or former == table.store.root:
        keep_up(table.store)
    else:
        follow_rename(table.store, former)


def check_is_table(identifier: Identifier) -> None:
    """Raise `InvalidNameError` for a branch or system table: it cannot be created, dropped or renamed as a table."""
    if identifier.branch is not None or identifier.system_table is not None:
        raise InvalidNameError(f"{identifier} is not a table of its own: name the table without '$'.")


def publish_schema(table: Table, publisher: Publisher | None = None) -> bool:
    """Write the schema of a table as a new version, with the given publisher or the table's own.

    Return False if another process wrote this version first."""
    io, path, data = table.store.io, table.store.paths.schema(table.schema.id), encode_schema(table.schema)
    try:
        return publishes(publisher or table.publisher, path, data)
    except CommitUnknownError as error:
        if not io.exists(path):
            raise StorageError(f"{path} could not be written, nothing has changed: {error.__cause__}") from error
        return io.read_bytes(path) == data


def _check_changes(identifier: Identifier, schema: TableSchema, changes: Sequence[SchemaChange]) -> None:
    """Check changes of a format or object table.

    The files define the columns of such a table, so only its options and comment can change.
    """
    kind = next((k for k, is_it in _OF_FILES.items() if is_it(schema.options)), None)
    if kind is not None and not keep_columns(changes):
        raise UnsupportedFeatureError(
            f"Table {identifier} is {kind} table, which has the columns of its files: only options and the comment "
            "can be altered."
        )


def _warn_of_upserts(identifier: Identifier, options: Mapping[str, str], before: Mapping[str, str]) -> None:
    key, found = UPSERT_KEY.key, options.get(UPSERT_KEY.key)
    if found and before.get(key) != found:
        _LOG.warning(
            "Table %s has '%s', which Paimon's other engines ignore since version 2.1: their INSERT appends rows "
            "with equal keys, and does not replace them. If another engine writes the table, define a primary key.",
            identifier,
            key,
        )
