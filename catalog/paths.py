"""Tables by their paths, inside or outside of a catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    InvalidNameError,
    NoPrivilegeError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import check_location, is_storage_option, load_file_io, normalize, without_links
from paimon_core.spec.identifier import Identifier, PathIdentifier
from paimon_core.spec.schema import TableSchema
from paimon_core.store.allowed import Allowed
from paimon_core.store.cache import MetadataCache
from paimon_core.table import Table
from paimon_sql.catalog.base import StagedTable
from paimon_sql.catalog.named_tables import NamedTables, Registry
from paimon_sql.catalog.privileges.accounts import Accounts
from paimon_sql.catalog.schema_files import OpenIceberg, SchemaFiles

_LOCATION = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


def is_location(text: str) -> bool:
    """Return whether a text is an absolute path or a URI, as opposed to a name."""
    return _LOCATION.match(text) is not None


def path_identifier(location: str) -> PathIdentifier:
    """Return the table at `/folder/table[$branch_NAME][$SYSTEM_TABLE]` or a URI. Raises `InvalidNameError`."""
    if not is_location(location):
        raise InvalidNameError(f"{location!r} is not a table's path: write /folder/table, or scheme://bucket/table.")
    check_location(location)
    folder, _, name = normalize(location).rpartition("/")
    parts = Identifier.of("folder", name)
    return PathIdentifier(folder, parts.table, parts.branch, parts.system_table)


class _CacheOfOptions:
    """A cache for one set of storage options. Other options start a new cache: their user may have fewer rights."""

    def __init__(self) -> None:
        self._held: tuple[dict[str, str], MetadataCache] = {}, MetadataCache()

    def under(self, options: Mapping[str, str]) -> MetadataCache:
        own = {key: value for key, value in options.items() if is_storage_option(key)}
        known, cache = self._held
        if own != known:
            cache = MetadataCache()
            self._held = own, cache
        return cache


@dataclass(frozen=True)
class PathCatalog(NamedTables):
    """A catalog of tables of any storage, named by their paths (`PathIdentifier`). It has no databases.

    `settings` returns the options of storages, in the form of a catalog's options. Each call reads them again.
    `may_open` tests whether the catalog's users may open the table at a path; without it, they may open every table.
    """

    settings: Callable[[], Mapping[str, str]]
    cache: _CacheOfOptions = field(default_factory=_CacheOfOptions, repr=False, compare=False)
    open_iceberg: OpenIceberg | None = field(default=None, repr=False, compare=False)
    may_open: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)

    @property
    def options(self) -> Mapping[str, str]:
        return self.settings()

    def with_options(self, more: Mapping[str, str]) -> PathCatalog:
        """Return the catalog with the options of a statement in addition."""
        return replace(self, settings=lambda: {**self.settings(), **more})

    def identifier(self, name: str) -> Identifier:
        return path_identifier(name)

    @property
    def _registry(self) -> PathRegistry:
        return PathRegistry(self._files_of)

    def _files_of(self, identifier: Identifier) -> SchemaFiles:
        if not isinstance(identifier, PathIdentifier):
            raise InvalidNameError(f"{identifier} is not a table's path: write /folder/table.")
        options, root = self.settings(), str(identifier.base)
        if self.may_open is not None and not self.may_open(root):
            raise NoPrivilegeError(
                f"The path {root} is outside of this server's warehouses: use the name of a table in a catalog."
            )
        io = load_file_io(root, options)
        for location in dict.fromkeys((root, without_links(root))):
            _check_no_users(io, location)
        common = (io, self.cache.under(options), Allowed.of(options))
        return SchemaFiles(*common, iceberg_catalogs=self.open_iceberg and self.open_iceberg(options))


@dataclass(frozen=True)
class PathRegistry(Registry):
    """The tables of any storage by the paths of their folders. `files_of` opens the storage of a table."""

    files_of: Callable[[Identifier], SchemaFiles]

    def exists(self, identifier: Identifier) -> bool:
        return self.files_of(identifier).exists(identifier, str(identifier.base))

    def load(self, identifier: Identifier) -> Table:
        table = self.files_of(identifier).load(identifier, str(identifier.base))
        if table is None:
            raise self.missing(identifier)
        return table

    def new(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        files = self.files_of(identifier)
        table = files.prepare(identifier, str(identifier), schema)
        return StagedTable(table, partial(files.create, table))

    def check_free(self, identifier: Identifier) -> None:
        if self.exists(identifier):
            raise TableExistsError(f"Table {identifier} already exists.")

    def rename(self, source: Identifier, target: Identifier) -> None:
        raise UnsupportedFeatureError(
            "Tables that are named by their paths have no databases: name a table by its path, as `/folder/table`."
        )

    def remove(self, identifier: Identifier) -> bool:
        files = self.files_of(identifier)
        is_there = files.exists(identifier, str(identifier))
        if is_there:
            files.drop(str(identifier))
        return is_there

    def missing(self, identifier: Identifier) -> TableNotFoundError:
        return TableNotFoundError(f"There is no table at {identifier.base}: it has no schema file.")

    def definitions(self, identifier: Identifier, path: str | None = None) -> SchemaFiles:
        return self.files_of(identifier)


def _check_no_users(io: FileIO, path: str) -> None:
    """Raise `NoPrivilegeError` for the table of a warehouse with users, and for the tables that store the users.

    Access by a path has no user name, so privileges cannot be checked."""
    folder, _, name = path.rpartition("/")
    warehouse = folder.rpartition("/")[0] if folder.endswith(".db") else folder if name.endswith(".sys") else ""
    if warehouse and Accounts(io, warehouse).enabled():
        raise NoPrivilegeError(
            f"Table {path} is in a warehouse with users: use the table's name in a catalog of this warehouse with "
            "the options 'user' and 'password'."
        )
