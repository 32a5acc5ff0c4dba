"""Catalog: where tables are. The protocol that every metastore implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.table import Table

DEFAULT_DATABASE = "default"
SYSTEM_DATABASE = "sys"


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table under a schema that nobody sees before `publish`, which raises where another process was first.

    Where `is_apart`, it has another name at first: `settle` puts it, with the rows that it has then, in the place of
    the one that it replaces, `discard` takes it away.
    """

    table: Table
    publish: Callable[[], None]
    is_apart: bool = False
    settle: Callable[[], None] = lambda: None
    discard: Callable[[], None] = lambda: None


class Catalog(Protocol):
    """Databases and tables by name. Every method raises `InvalidNameError` for a name that is refused,
    `DatabaseNotFoundError` and `TableNotFoundError` for what does not exist, `StorageError` where storage fails."""

    @property
    def options(self) -> Mapping[str, str]:
        """The catalog's options; may hold secrets."""

    def identifier(self, name: str) -> Identifier:
        """The table that a full name means, as `str` of an identifier gives it."""

    def list_databases(self) -> list[str]:
        """The names of all databases, sorted."""

    def database_exists(self, name: str) -> bool:
        """Whether there is such a database."""

    def database_properties(self, name: str) -> dict[str, str]:
        """The properties of a database."""

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        """Raises `DatabaseExistsError`."""

    def drop_database(self, name: str, cascade: bool = False) -> None:
        """Raises `DatabaseNotEmptyError` where it has tables, unless `cascade`."""

    def list_tables(self, database: str) -> list[str]:
        """The names of all tables of a database, sorted."""

    def table_exists(self, identifier: Identifier) -> bool:
        """Whether there is such a table, in its branch."""

    def load_table(self, identifier: Identifier) -> Table:
        """The table as it is now; for a system table the one that it shows."""

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        """Raises `TableExistsError`, also where another process creates it meanwhile."""

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """A table that is created with its first rows. Raises as `create_table`."""

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        """A table under another schema, whose rows are to be replaced with the next commit. Snapshots stay, unless the
        partitioning is another: older ones could not be read, so the table is one apart.

        Raises `TableNotFoundError`."""

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """Delete a table and its files."""

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        """Raises `TableExistsError` where the target exists."""

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        """Apply changes as one new schema version. See `apply_changes`. Raises `CommitConflictError`."""

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        """A table under the schema that `alter_table` would give it, which is published with rows of its columns."""
