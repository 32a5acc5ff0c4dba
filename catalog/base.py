"""Tables by name. `Catalog` has the methods of every catalog; the other protocols add what only some catalogs can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

from paimon_core.errors import DatabaseNotEmptyError, InvalidNameError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.table import Table
from paimon_sql.catalog.function import Function
from paimon_sql.catalog.view import View

DEFAULT_DATABASE = "default"
SYSTEM_DATABASE = "sys"


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table under a schema that readers see after `publish`, which raises if another process was first.

    If `is_separate`, the table first has a folder of its own: `finish` replaces the old table by it, with the rows that
    it has then, and `discard` deletes it.
    """

    table: Table
    publish: Callable[[], None]
    is_separate: bool = False
    finish: Callable[[], None] = lambda: None
    discard: Callable[[], None] = lambda: None

    def seen_by(self, act: Callable[[Callable[[], None]], None]) -> StagedTable:
        """The same table, but `act` receives the step that makes it visible (`publish` or `finish`) and takes it."""
        if self.is_separate:
            return replace(self, finish=partial(act, self.finish))
        return replace(self, publish=partial(act, self.publish))


class Catalog(Protocol):
    """Tables by name. Every method raises `InvalidNameError` for a name that is refused, `TableNotFoundError` and
    `DatabaseNotFoundError` for what does not exist, `StorageError` if storage fails."""

    @property
    def options(self) -> Mapping[str, str]:
        """The catalog's options; may hold secrets."""

    def identifier(self, name: str) -> Identifier:
        """Parse the full name of a table, as `str` of an identifier writes it."""

    def table_exists(self, identifier: Identifier) -> bool:
        """Return whether the table exists, in its branch."""

    def load_table(self, identifier: Identifier) -> Table:
        """Return the table as it is now; for a system table, the table that it shows."""

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        """Raises `TableExistsError`, also if another process creates the table meanwhile."""

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """A table that is created with its first rows. Raises as `create_table`."""

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """A table under another schema; the next commit replaces its rows. The table keeps its snapshots, unless the
        partitioning changes: older snapshots would be unreadable then, so the staged table is a separate one."""

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Delete a table and its files."""

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        """Apply changes as one new schema version. See `apply_changes`. Raises `CommitConflictError`."""

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        """A table under the schema that `alter_table` would give it; published with rows that have its columns."""


@runtime_checkable
class SupportsDatabases(Catalog, Protocol):
    """A catalog that keeps its tables in databases."""

    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""

    def database_exists(self, name: str) -> bool:
        """Return whether the database exists."""

    def database_properties(self, name: str) -> dict[str, str]:
        """The properties of a database."""

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        """Raises `DatabaseExistsError`."""

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Raises `DatabaseNotEmptyError` if the database has tables, views or functions, unless `cascade`."""

    def list_tables(self, database: str) -> list[str]:
        """The names of all tables of a database, sorted."""

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        """Raises `TableExistsError` if the target exists."""


@runtime_checkable
class SupportsClosing(Catalog, Protocol):
    """A catalog with open connections."""

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""


@runtime_checkable
class SupportsDatabaseProperties(SupportsDatabases, Protocol):
    """A catalog that keeps properties of databases."""

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties. Raises `InvalidOptionError` for properties that cannot be kept."""


@runtime_checkable
class SupportsRegistration(SupportsDatabases, Protocol):
    """A catalog that knows its tables by other means than their folders, and can take in a folder that it has lost."""

    def register_table(self, identifier: Identifier) -> None:
        """Bring what the catalog knows of a table in line with its folder. Raises `TableNotFoundError` for a folder
        without a table."""

    def unregistered_tables(self, database: str) -> list[str]:
        """The tables in the folder of a database that the catalog does not know, sorted."""


@runtime_checkable
class SupportsLocations(SupportsDatabases, Protocol):
    """A catalog with tables outside their databases' folders: at their option `path`, as external tables."""

    def check_location(self, location: str) -> None:
        """Raises `InvalidOptionError` or `UnsupportedFeatureError` for a location that no table can have."""


@runtime_checkable
class SupportsViews(SupportsDatabases, Protocol):
    """A catalog that keeps views. A table and a view in one database cannot have the same name: `create_table` and
    `rename_table` raise `TableExistsError` for the name of a view. `table_exists` and `load_table` do not find views.
    `drop_database` drops views if it drops tables. Identifiers of views have no branch and no system table.

    Every method raises `InvalidNameError`, `DatabaseNotFoundError`, `StorageError`.
    """

    def list_views(self, database: str) -> list[str]:
        """The names of all views of a database, sorted."""

    def view_exists(self, identifier: Identifier) -> bool:
        """Return whether the view exists; False if the database does not exist."""

    def load_view(self, identifier: Identifier) -> View:
        """Raises `ViewNotFoundError`, `CorruptFileError` for a definition that cannot be read."""

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        """Raises `ViewExistsError` if a view or table has the name."""

    def replace_view(self, identifier: Identifier, view: View, create: bool = False) -> None:
        """Give a view another definition, in one step; with `create` also a view that does not exist. Raises
        `ViewNotFoundError`, and `ViewExistsError` if a table has the name."""

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Raises `ViewNotFoundError`, also for a table."""

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        """Raises `ViewNotFoundError`, and `ViewExistsError` if a view or table has the new name."""


@runtime_checkable
class SupportsFunctions(SupportsDatabases, Protocol):
    """A catalog that keeps functions. A function and a table may have the same name. `drop_database` drops functions
    if it drops tables. Identifiers of functions have no branch and no system table.

    Every method raises `InvalidNameError`, `DatabaseNotFoundError`, `StorageError`.
    """

    def list_functions(self, database: str) -> list[str]:
        """The names of all functions of a database, sorted."""

    def function_exists(self, identifier: Identifier) -> bool:
        """Return whether the function exists; False if the database does not exist."""

    def load_function(self, identifier: Identifier) -> Function:
        """Raises `FunctionNotFoundError`, `CorruptFileError` for a definition that cannot be read."""

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        """Raises `FunctionExistsError`, also if another process creates the function meanwhile."""

    def replace_function(self, identifier: Identifier, function: Function, create: bool = False) -> None:
        """Give a function another definition; with `create` also a function that does not exist. Raises
        `FunctionNotFoundError`."""

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Raises `FunctionNotFoundError`."""


def check_new_database(name: str) -> None:
    """Raises `InvalidNameError` for the name of the system database."""
    if name == SYSTEM_DATABASE:
        raise InvalidNameError(f"A database cannot be called {name!r}: procedures go by that name.")


def check_dropped_database(name: str) -> None:
    """Raises `InvalidNameError` for the system database."""
    if name == SYSTEM_DATABASE:
        raise InvalidNameError(f"Database {name!r} cannot be dropped: it holds the procedures.")


def check_is_view_name(identifier: Identifier) -> Identifier:
    """Raises `InvalidNameError` for a name that no view can have."""
    return _check_is_definition("view", identifier)


def check_is_function_name(identifier: Identifier) -> Identifier:
    """Raises `InvalidNameError` for a name that no function can have."""
    return _check_is_definition("function", identifier)


def _check_is_definition(kind: str, identifier: Identifier) -> Identifier:
    if identifier.branch is not None or identifier.system_table is not None:
        raise InvalidNameError(
            f"{identifier} is not a valid {kind} name: {kind}s have no branches and no system tables. Remove '$'."
        )
    check_name("database", identifier.database)
    check_name(kind, identifier.table)
    return identifier


def check_is_empty(
    database: str, tables: Sequence[str], views: Sequence[str] = (), functions: Sequence[str] = ()
) -> None:
    """Raises `DatabaseNotEmptyError` if a database to drop without CASCADE has tables, views or functions."""
    if tables or views or functions:
        raise not_empty(database, tables, views, functions)


def not_empty(
    database: str, tables: Sequence[str], views: Sequence[str] = (), functions: Sequence[str] = ()
) -> DatabaseNotEmptyError:
    """The error for a database that has tables, views or functions and is dropped without CASCADE."""
    parts = (("tables", tables), ("views", views), ("functions", functions))
    counted = " and ".join(f"{len(found)} {kind}" for kind, found in parts if found)
    first = [*tables, *views, *functions][0]
    return DatabaseNotEmptyError(
        f"Database {database} still has {counted}, {first} among them: drop them, or use CASCADE."
    )


def with_databases(catalog: Catalog) -> SupportsDatabases:
    """Return the catalog if it has databases. Raises `UnsupportedFeatureError` for any other."""
    if isinstance(catalog, SupportsDatabases):
        return catalog
    raise UnsupportedFeatureError("Tables named by their paths are in no database: name one, as `/folder/table`.")
