"""Tables by name. `Catalog` has the methods of every catalog; the other protocols add what only some catalogs can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from paimon_core.dataclass import dataclass
from paimon_core.errors import DatabaseNotEmptyError, InvalidNameError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_core.spec.schema import TableSchema
from paimon_core.table import Table

if TYPE_CHECKING:
    from paimon_core.store.ddl.schema_changes import SchemaChange
    from paimon_sql.catalog.function import Function
    from paimon_sql.catalog.view import View

DEFAULT_DATABASE = "default"
SYSTEM_DATABASE = "sys"


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A prepared version of a table: its new schema, and the rows that the statement commits to it.

    `publish` makes the schema visible, and raises if another process was first. If `is_separate`, the table is prepared
    in a folder of its own: `finish` puts it in the place of the old table, with all its rows, and `discard` deletes it.
    """

    table: Table
    publish: Callable[[], None]
    is_separate: bool = False
    finish: Callable[[], None] = lambda: None
    discard: Callable[[], None] = lambda: None

    def seen_by(self, act: Callable[[Callable[[], None]], None]) -> StagedTable:
        """Return the same staged table, but pass the step that makes it visible (`publish` or `finish`) to `act`, which
        calls it.
        """
        if self.is_separate:
            return replace(self, finish=partial(act, self.finish))
        return replace(self, publish=partial(act, self.publish))


class Catalog(Protocol):
    """Tables by name.

    Every method raises `InvalidNameError` for an invalid name, `TableNotFoundError` or `DatabaseNotFoundError` for a
    missing table or database, and `StorageError` if storage fails."""

    @property
    def options(self) -> Mapping[str, str]:
        """The catalog's options, which may contain secrets."""

    def identifier(self, name: str) -> Identifier:
        """Parse the full name of a table, in the form that `str(identifier)` returns."""

    def table_exists(self, identifier: Identifier) -> bool:
        """Return whether the table exists. If the identifier names a branch, return whether the branch exists."""

    def load_table(self, identifier: Identifier) -> Table:
        """Return the table with its latest schema. For a system table, return the table that it describes."""

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        """Create an empty table. Raises `TableExistsError`, even if another process creates the table meanwhile."""

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """Return a staged table that is created together with its first rows.

        Raises the same errors as `create_table`.
        """

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """Return a staged table with another schema; the next commit replaces the rows.

        The table keeps its snapshots, unless the partitioning changes: older snapshots would then be unreadable, so the
        staged table is a separate table."""

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Delete a table and its files."""

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        """Apply changes as one new schema version; see `apply_changes`. Raises `CommitConflictError`."""

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        """Return a staged table with the schema that `alter_table` would create. It is published with rows of the new
        columns.
        """


@runtime_checkable
class SupportsDatabases(Catalog, Protocol):
    """A catalog with databases of tables."""

    def list_databases(self) -> list[str]:
        """Return the names of all databases, sorted."""

    def database_exists(self, name: str) -> bool:
        """Return whether the database exists."""

    def database_properties(self, name: str) -> dict[str, str]:
        """Return the properties of a database."""

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        """Create a database. Raises `DatabaseExistsError`."""

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Drop a database. Raises `DatabaseNotEmptyError` if it has tables, views or functions, unless `cascade`."""

    def list_tables(self, database: str) -> list[str]:
        """Return the names of all tables of a database, sorted."""

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        """Rename a table. Raises `TableExistsError` if the target exists."""


@runtime_checkable
class SupportsClosing(Catalog, Protocol):
    """A catalog with open connections."""

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""


@runtime_checkable
class SupportsDatabaseProperties(SupportsDatabases, Protocol):
    """A catalog that stores properties of databases."""

    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Set and remove properties of a database.

        Raises `InvalidOptionError` for properties that the catalog cannot store.
        """


@runtime_checkable
class SupportsRegistration(SupportsDatabases, Protocol):
    """A catalog that lists its tables apart from their folders, and can register a folder that is missing from its
    list.
    """

    def register_table(self, identifier: Identifier) -> None:
        """Update the catalog's entry of a table from the table's folder.

        Raises `TableNotFoundError` if the folder has no table."""

    def unregistered_tables(self, database: str) -> list[str]:
        """Return the tables in the folder of a database that are not registered in the catalog, sorted."""


@runtime_checkable
class SupportsLocations(SupportsDatabases, Protocol):
    """A catalog with tables outside their databases' folders: external tables, with the location in their option
    `path`.
    """

    def check_location(self, location: str) -> None:
        """Raise `InvalidOptionError` or `UnsupportedFeatureError` for a location that no table can have."""


@runtime_checkable
class SupportsViews(SupportsDatabases, Protocol):
    """A catalog with views.

    A table and a view in one database cannot have the same name: `create_table` and `rename_table` raise
    `TableExistsError` for the name of a view. `table_exists` and `load_table` do not find views. `drop_database` drops
    views if it drops tables. Identifiers of views have no branch and no system table. Every method raises
    `InvalidNameError`, `DatabaseNotFoundError`, `StorageError`.
    """

    def list_views(self, database: str) -> list[str]:
        """Return the names of all views of a database, sorted."""

    def list_relations(self, database: str) -> tuple[list[str], list[str]]:
        """Return the names of all tables and of all views of a database, each sorted."""

    def view_exists(self, identifier: Identifier) -> bool:
        """Return whether the view exists; False if the database does not exist."""

    def load_view(self, identifier: Identifier) -> View:
        """Return a view. Raises `ViewNotFoundError`, and `CorruptFileError` if its definition cannot be read."""

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        """Create a view. Raises `ViewExistsError` if a view or table has the name."""

    def replace_view(self, identifier: Identifier, view: View, create: bool = False) -> None:
        """Replace the definition of a view in one step. With `create`, create the view if it does not exist.

        Raises `ViewNotFoundError`, and `ViewExistsError` if a table has the name."""

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Drop a view. Raises `ViewNotFoundError`, also for a table."""

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        """Rename a view. Raises `ViewNotFoundError`, and `ViewExistsError` if a view or table has the new name."""


@runtime_checkable
class SupportsFunctions(SupportsDatabases, Protocol):
    """A catalog with functions.

    A function and a table may have the same name. `drop_database` drops functions if it drops tables. Identifiers of
    functions have no branch and no system table. Every method raises `InvalidNameError`, `DatabaseNotFoundError`,
    `StorageError`.
    """

    def list_functions(self, database: str) -> list[str]:
        """Return the names of all functions of a database, sorted."""

    def function_exists(self, identifier: Identifier) -> bool:
        """Return whether the function exists; False if the database does not exist."""

    def load_function(self, identifier: Identifier) -> Function:
        """Return a function. Raises `FunctionNotFoundError`, and `CorruptFileError` for an unreadable definition."""

    def create_function(self, identifier: Identifier, function: Function, ignore_if_exists: bool = False) -> None:
        """Create a function. Raises `FunctionExistsError`, even if another process creates the function meanwhile."""

    def replace_function(self, identifier: Identifier, function: Function, create: bool = False) -> None:
        """Replace the definition of a function.

        With `create`, create the function if it does not exist. Raises `FunctionNotFoundError`."""

    def drop_function(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Drop a function. Raises `FunctionNotFoundError`."""


def check_new_database(name: str) -> None:
    """Raise `InvalidNameError` for the name of the system database."""
    if name == SYSTEM_DATABASE:
        raise InvalidNameError(
            f"Database {name!r} cannot be created: the name is reserved for procedures. Choose another name."
        )


def check_dropped_database(name: str) -> None:
    """Raise `InvalidNameError` for the system database."""
    if name == SYSTEM_DATABASE:
        raise InvalidNameError(
            f"Database {name!r} cannot be dropped: it contains the procedures. Drop another database."
        )


def check_is_view_name(identifier: Identifier) -> Identifier:
    """Raise `InvalidNameError` for a name that a view cannot have. Else return the identifier."""
    return _check_is_definition("view", identifier)


def check_is_function_name(identifier: Identifier) -> Identifier:
    """Raise `InvalidNameError` for a name that a function cannot have. Else return the identifier."""
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
    """Raise `DatabaseNotEmptyError` if a database to be dropped without CASCADE has tables, views or functions."""
    if tables or views or functions:
        raise not_empty(database, tables, views, functions)


def not_empty(
    database: str, tables: Sequence[str], views: Sequence[str] = (), functions: Sequence[str] = ()
) -> DatabaseNotEmptyError:
    """Return the error for a database that is not empty and is dropped without CASCADE."""
    parts = (("tables", tables), ("views", views), ("functions", functions))
    counted = " and ".join(f"{len(found)} {kind}" for kind, found in parts if found)
    first = [*tables, *views, *functions][0]
    return DatabaseNotEmptyError(
        f"Database {database} still has {counted}, {first} among them: drop them, or use CASCADE."
    )


def with_databases(catalog: Catalog) -> SupportsDatabases:
    """Return the catalog if it has databases. Raises `UnsupportedFeatureError` for any other catalog."""
    if isinstance(catalog, SupportsDatabases):
        return catalog
    raise UnsupportedFeatureError(
        "Tables that are named by their paths have no databases: name a table by its path, as `/folder/table`."
    )
