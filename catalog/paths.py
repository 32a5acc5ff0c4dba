"""Tables by their paths, in a catalog or in none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paimon_core.errors import InvalidNameError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.io.load import check_location, load_file_io, normalize
from paimon_core.spec.identifier import Identifier, PathIdentifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.cache import MetadataCache
from paimon_core.store.ddl.schema_changes import SchemaChange
from paimon_core.store.external.allowed import Allowed
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.filesystem import FileSystemCatalog

_LOCATION = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


def path_identifier(location: str) -> PathIdentifier:
    """The table at `/folder/table[$branch_NAME][$SYSTEM_TABLE]` or a URI. Raises `InvalidNameError`."""
    if not _LOCATION.match(location):
        raise InvalidNameError(f"{location!r} is no path of a table: write /folder/table, or scheme://bucket/table.")
    check_location(location)
    folder, _, name = normalize(location).rpartition("/")
    parts = Identifier.of("folder", name)
    return PathIdentifier(folder, parts.table, parts.branch, parts.system_table)


class _Folder(FileSystemCatalog):
    """A folder of tables."""

    def database_exists(self, name: str) -> bool:
        return True  # a new table makes it

    def _database_dir(self, name: str) -> str:
        return name

    def _absent(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table at {identifier.base}: it has no schema file.")


@dataclass(frozen=True)
class PathCatalog:
    """A `Catalog` of the tables that are named by a `PathIdentifier`, of any storage. It has no databases.

    `settings` are the options of storages, as a catalog takes them; asked for by each call.
    """

    settings: Callable[[], Mapping[str, str]]
    cache: MetadataCache = field(default_factory=MetadataCache, repr=False, compare=False)

    @property
    def options(self) -> Mapping[str, str]:
        return self.settings()

    def with_options(self, more: Mapping[str, str]) -> PathCatalog:
        """The catalog with options of a statement."""
        return replace(self, settings=lambda: {**self.settings(), **more})

    def identifier(self, name: str) -> Identifier:
        return path_identifier(name)

    def list_databases(self) -> list[str]:
        return []

    def database_exists(self, name: str) -> bool:
        return False

    def database_properties(self, name: str) -> dict[str, str]:
        raise _no_databases()

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        raise _no_databases()

    def drop_database(self, name: str, cascade: bool = False) -> None:
        raise _no_databases()

    def list_tables(self, database: str) -> list[str]:
        raise _no_databases()

    def table_exists(self, identifier: Identifier) -> bool:
        return self._folder(identifier).table_exists(identifier)

    def load_table(self, identifier: Identifier) -> Table:
        return self._folder(identifier).load_table(identifier)

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        self._folder(identifier).create_table(identifier, schema, ignore_if_exists)

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        return self._folder(identifier).stage_create(identifier, schema)

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        return self._folder(identifier).stage_replace(identifier, schema)

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        return self._folder(identifier).stage_alter(identifier, changes)

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        self._folder(identifier).drop_table(identifier, ignore_if_not_exists)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        raise UnsupportedFeatureError(f"The table at {source} cannot be renamed: move its folder.")

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        self._folder(identifier).alter_table(identifier, changes)

    def _folder(self, identifier: Identifier) -> _Folder:
        if not isinstance(identifier, PathIdentifier):
            raise InvalidNameError(f"{identifier} is no path of a table.")
        options = self.settings()
        io, allowed = load_file_io(str(identifier.base), options), Allowed.of(options)
        return _Folder(io, identifier.database, {}, self.cache, allowed)


def _no_databases() -> UnsupportedFeatureError:
    return UnsupportedFeatureError("Tables named by their paths are in no database: name one, as `/folder/table`.")
