"""A catalog for a warehouse with users: it checks each call against the privileges of its own user.

Each method checks the privileges and then calls the inner catalog. Everything that the inner catalog supports is
available, except functions; `guarded` chooses the class for it. Tables carry the user's `Rights`. The storage of a
table is read-only for a user who may not change the table.

Source: `PrivilegedCatalog`, `PrivilegedFileStoreTable` of Paimon 2.0. Java does not check views, registration and
replacing; here the privileges of tables apply to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    DatabaseNotFoundError,
    InvalidOptionError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.io.file_io import FileIO
from paimon_core.io.read_only import ReadOnlyFileIO
from paimon_core.rights import no_privilege
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.schema import TableSchema
from paimon_core.table import Table
from paimon_sql.catalog.base import (
    Catalog,
    StagedTable,
    SupportsClosing,
    SupportsDatabaseProperties,
    SupportsDatabases,
    SupportsLocations,
    SupportsRegistration,
    SupportsViews,
)
from paimon_sql.catalog.privileges.accounts import Account, Accounts
from paimon_sql.catalog.privileges.rules import WHOLE_CATALOG, Grants, Privilege, Scope, object_name

if TYPE_CHECKING:
    from paimon_core.store.ddl.schema_changes import SchemaChange
    from paimon_sql.catalog.other_tables import TablesOfCatalog
    from paimon_sql.catalog.view import View

_USER, _PASSWORD = "user", "password"


@dataclass(frozen=True)
class PrivilegedCatalog:
    """The methods of every catalog, each with a check of the user's privileges."""

    inner: SupportsDatabases
    accounts: Accounts
    account: Account

    @property
    def options(self) -> Mapping[str, str]:
        return self.inner.options

    @property
    def grants(self) -> Grants:
        """The present privileges of the catalog's user. Raises `NoPrivilegeError` for a wrong password."""
        return self.accounts.grants(self.account)

    def identifier(self, name: str) -> Identifier:
        return self.inner.identifier(name)

    def close(self) -> None:
        """Close the connections of the inner catalog."""
        if isinstance(self.inner, SupportsClosing):
            self.inner.close()

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        self._check_known()
        return self.inner.list_databases()

    def database_exists(self, name: str) -> bool:
        return self.inner.database_exists(name)

    def database_properties(self, name: str) -> dict[str, str]:
        return self.inner.database_properties(name)

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, ignore_if_exists: bool = False
    ) -> None:
        if ignore_if_exists and self.inner.database_exists(name):
            return
        self.grants.check(Privilege.CREATE_DATABASE, WHOLE_CATALOG, "catalog")
        self.inner.create_database(name, properties, ignore_if_exists)

    def drop_database(self, name: str, cascade: bool = False) -> None:
        self.check_can_drop(name)
        self.inner.drop_database(name, cascade)
        self.forget_database(name)

    def forget_database(self, name: str) -> None:
        """Remove the privileges on a database that does not exist any more, and on its tables."""
        self.accounts.dropped(name)

    def list_tables(self, database: str) -> list[str]:
        self._check_known()
        return self.inner.list_tables(database)

    # -- tables -------------------------------------------------------------------------------------------------------
    def table_exists(self, identifier: Identifier) -> bool:
        return self.inner.table_exists(identifier)

    def load_table(self, identifier: Identifier) -> Table:
        grants = self.grants
        return self._guarded(self.inner.load_table(identifier), identifier, grants)

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> None:
        self.check_can_create(identifier.database)
        self.inner.create_table(identifier, schema, ignore_if_exists)

    def stage_create(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        self.check_can_create(identifier.database)
        return self._staged(self.inner.stage_create(identifier, schema), identifier)

    def stage_replace(self, identifier: Identifier, schema: TableSchema) -> StagedTable:
        self._check(Privilege.ALTER_TABLE, identifier)
        self._check(Privilege.INSERT, identifier)  # its rows are replaced
        return self._staged(self.inner.stage_replace(identifier, schema), identifier)

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        self._check(Privilege.DROP_TABLE, identifier)
        self.inner.drop_table(identifier, ignore_if_not_exists)
        self.accounts.dropped(object_name(identifier))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        self._check_rename(source, target)
        self.inner.rename_table(source, target)
        self.accounts.renamed(object_name(source), object_name(target))

    def alter_table(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> None:
        self._check(Privilege.ALTER_TABLE, identifier)
        self.inner.alter_table(identifier, changes)

    def stage_alter(self, identifier: Identifier, changes: Sequence[SchemaChange]) -> StagedTable:
        self._check(Privilege.INSERT, identifier)  # the new columns come with rows, as in Java
        return self._staged(self.inner.stage_alter(identifier, changes), identifier)

    # -- users --------------------------------------------------------------------------------------------------------
    def check_admin(self) -> None:
        """Raise `NoPrivilegeError` if the catalog's user may not change users and privileges."""
        self.grants.check(Privilege.ADMIN, WHOLE_CATALOG, "catalog")

    def check_can_create(self, database: str) -> None:
        """Raise `NoPrivilegeError` if the catalog's user may not create tables in a database."""
        self.grants.check(Privilege.CREATE_TABLE, database, "database")

    def check_can_copy_to(self, identifier: Identifier, *, creates_database: bool, with_rows: bool) -> None:
        """Raise `NoPrivilegeError` if the catalog's user may not create a table, or not write its rows."""
        if creates_database:
            self.grants.check(Privilege.CREATE_DATABASE, WHOLE_CATALOG, "catalog")
        self.check_can_create(identifier.database)
        if with_rows:
            self._check(Privilege.INSERT, identifier)

    def check_can_drop(self, database: str) -> None:
        """Raise `NoPrivilegeError` if the catalog's user may not drop a database."""
        self.grants.check(Privilege.DROP_DATABASE, database, "database")

    def check_object(self, name: str, scope: Scope) -> None:
        """Raise `DatabaseNotFoundError` or `TableNotFoundError` if an object does not exist."""
        if scope is Scope.DATABASE and not self.inner.database_exists(name):
            raise DatabaseNotFoundError(f"Database {name} does not exist.")
        if scope is Scope.TABLE:
            database, _, table = name.partition(".")
            if not self._has(Identifier(database, table)):
                raise TableNotFoundError(f"Table {name} does not exist.")

    def _has(self, identifier: Identifier) -> bool:
        inner = self.inner
        return inner.table_exists(identifier) or (isinstance(inner, SupportsViews) and inner.view_exists(identifier))

    # -- checks -------------------------------------------------------------------------------------------------------
    def _check_known(self) -> None:
        """Raise `NoPrivilegeError` for a wrong password."""
        self.accounts.grants(self.account)

    def _check(self, privilege: Privilege, identifier: Identifier) -> None:
        self.grants.check(privilege, object_name(identifier))

    def _check_rename(self, source: Identifier, target: Identifier) -> None:
        """Check a rename. Another database may give its users more rights, so a move there also needs the right to
        create tables.
        """
        self._check(Privilege.ALTER_TABLE, source)
        if source.database != target.database:
            self.check_can_create(target.database)

    def _guarded(self, table: Table, identifier: Identifier, grants: Grants) -> Table:
        """Return a table with the rights of the catalog's user."""
        store, rights = table.store, grants.rights(identifier)
        io: FileIO = store.io
        if not rights.insert:
            io = ReadOnlyFileIO(io, str(no_privilege(rights.user, ["INSERT"], "table", str(identifier.base))))
        allowed = replace(store.allowed, with_users=self.accounts.warehouse)
        others = None if store.others is None else cast("TablesOfCatalog", store.others).seen_by(self)
        return replace(table, store=replace(store, io=io, rights=rights, allowed=allowed, others=others))

    def _staged(self, staged: StagedTable, identifier: Identifier) -> StagedTable:
        return replace(staged, table=self._guarded(staged.table, identifier, self.grants))


class _WithProperties(PrivilegedCatalog):
    def alter_database(self, name: str, properties: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        self.grants.check(Privilege.ALTER_DATABASE, name, "database")
        cast(SupportsDatabaseProperties, self.inner).alter_database(name, properties, removed)


class _WithRegistration(PrivilegedCatalog):
    def register_table(self, identifier: Identifier) -> None:
        self.check_can_create(identifier.database)
        cast(SupportsRegistration, self.inner).register_table(identifier)

    def unregistered_tables(self, database: str) -> list[str]:
        return cast(SupportsRegistration, self.inner).unregistered_tables(database)


class _WithLocations(PrivilegedCatalog):
    def check_location(self, location: str) -> None:
        cast(SupportsLocations, self.inner).check_location(location)


class _WithViews(PrivilegedCatalog):
    @property
    def _views(self) -> SupportsViews:
        return cast(SupportsViews, self.inner)

    def list_views(self, database: str) -> list[str]:
        self._check_known()
        return self._views.list_views(database)

    def list_relations(self, database: str) -> tuple[list[str], list[str]]:
        self._check_known()
        return self._views.list_relations(database)

    def view_exists(self, identifier: Identifier) -> bool:
        return self._views.view_exists(identifier)

    def load_view(self, identifier: Identifier) -> View:
        self._check_known()
        return self._views.load_view(identifier)

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        self.check_can_create(identifier.database)
        self._views.create_view(identifier, view, ignore_if_exists)

    def replace_view(self, identifier: Identifier, view: View, create: bool = False) -> None:
        if create and not self._views.view_exists(identifier):
            self.check_can_create(identifier.database)
        else:
            self._check(Privilege.ALTER_TABLE, identifier)
        self._views.replace_view(identifier, view, create)

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        self._check(Privilege.DROP_TABLE, identifier)
        self._views.drop_view(identifier, ignore_if_not_exists)
        self.accounts.dropped(object_name(identifier))

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self._check_rename(source, target)
        self._views.rename_view(source, target)
        self.accounts.renamed(object_name(source), object_name(target))


class PrivilegedFiles(_WithViews):
    """The methods of a filesystem catalog."""


class PrivilegedJdbc(_WithProperties, _WithRegistration, _WithViews):
    """The methods of a JDBC catalog."""


class PrivilegedHive(_WithProperties, _WithRegistration, _WithLocations, _WithViews):
    """The methods of a Hive catalog."""


_KINDS: Mapping[str, Callable[..., PrivilegedCatalog]] = {
    "filesystem": PrivilegedFiles,
    "jdbc": PrivilegedJdbc,
    "hive": PrivilegedHive,
}


def guarded(metastore: str, catalog: SupportsDatabases) -> SupportsDatabases:
    """Return the catalog of a warehouse with users, with the rights of its user."""
    accounts, options = accounts_of(catalog), catalog.options
    made = _KINDS[metastore](catalog, accounts, Account.of(options.get(_USER), options.get(_PASSWORD)))
    return cast(SupportsDatabases, made)


def accounts_of(catalog: Catalog) -> Accounts:
    """Return the users of a catalog's warehouse.

    Raises `UnsupportedFeatureError` if this kind of catalog has no users.
    """
    if isinstance(catalog, PrivilegedCatalog):
        return catalog.accounts
    io, warehouse = getattr(catalog, "io", None), getattr(catalog, "warehouse", None)
    if io is None or warehouse is None:
        raise UnsupportedFeatureError(
            "This catalog cannot have users in the files of its warehouse: only catalogs with 'metastore' = "
            "'filesystem', 'jdbc' or 'hive' can."
        )
    return Accounts(io, warehouse)


def privileged(catalog: Catalog) -> PrivilegedCatalog:
    """Return the catalog if its warehouse has users. Raises `InvalidOptionError` if it does not."""
    if isinstance(catalog, PrivilegedCatalog):
        return catalog
    raise InvalidOptionError(
        "This catalog's warehouse has no users, or had none when the catalog was opened: CALL "
        "sys.init_file_based_privilege, then open the catalog again with the options 'user' and 'password'."
    )
