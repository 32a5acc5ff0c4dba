"""Tables by name, for all catalogs that define a table by its schema files: the code that is the same for all names.

A catalog keeps names in folders, rows of a database, or entries of a metastore. A subclass of `NamedTables` finds the
table of a name, gives a name to a new table, and makes a change so that the names follow it. `SchemaFiles` does the
rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from paimon_core.errors import TableExistsError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.schema_files import SchemaFiles, check_is_table


class NamedTables(ABC):
    """The methods of `Catalog` that create and change tables. See there for what they raise."""

    # -- what a catalog keeps -----------------------------------------------------------------------------------------
    @abstractmethod
    def table_exists(self, identifier: Identifier) -> bool:
        """See `Catalog`."""

    @abstractmethod
    def load_table(self, identifier: Identifier) -> Table:
        """See `Catalog`."""

    @abstractmethod
    def _staged(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> StagedTable:
        """A table that `publish` creates and names. Raises for a name or definition that is refused, but does not
        check that the name is free: `publish` does, and raises `TableExistsError`."""

    @abstractmethod
    def _check_free(self, table: Table) -> None:
        """Raises `TableExistsError` if a table, or a view, has the name of a new table."""

    @abstractmethod
    def _files_of(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        """Return the `SchemaFiles` that change a table; `path` is its folder, if the caller has it."""

    def _change(self, identifier: Identifier, change: Callable[[], None]) -> None:
        """Change the definition of a table, and the catalog's copy of it."""
        change()

    def _check_replaced(self, old: Table, schema: TableSchema) -> None:  # noqa: B027  most replace any table
        """Raises `UnsupportedFeatureError` for a table that cannot be replaced by one of another schema."""

    # -- what is the same ---------------------------------------------------------------------------------------------
    def identifier(self, name: str) -> Identifier:
        return Identifier.parse(name)

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        self._staged(identifier, schema, ignore_if_exists).publish()

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        staged = self._staged(identifier, schema)
        self._check_free(staged.table)
        return staged

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        check_is_table(identifier)
        old = self.load_table(identifier)
        self._check_replaced(old, schema)
        staged = self._files_of(identifier, old.store.root).stage_replace(old, schema)
        return staged.seen_by(partial(self._change, identifier))

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        alter = partial(self._files_of(identifier).alter, partial(self._altered, identifier), changes)
        self._change(identifier, alter)

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        table = self._altered(identifier)
        staged = self._files_of(identifier, table.store.root).stage_alter(table, changes)
        return staged.seen_by(partial(self._change, identifier))

    def _altered(self, identifier: Identifier) -> Table:
        """Return the table, or branch, to alter. Raises `InvalidNameError` for a system table."""
        if identifier.system_table is not None:
            check_is_table(identifier)
        return self.load_table(identifier)

    def _create_unless_there(self, identifier: Identifier, create: Callable[[], None], ignore_if_exists: bool) -> None:
        try:
            create()
        except TableExistsError:
            if not ignore_if_exists or not self.table_exists(identifier):
                raise
