"""Catalogs in Python: find, create, list, rename and drop tables without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_core.dataclass import dataclass
from paimon_core.errors import TableExistsError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.lazy import ImportedOnCall
from paimon_core.spec.identifier import Identifier
from paimon_core.time_zones import time_zone as zone_named
from paimon_core.tracing import span
from paimon_sql.catalog.base import (
    DEFAULT_DATABASE,
    Catalog,
    SupportsClosing,
    SupportsDatabases,
    SupportsFunctions,
    SupportsViews,
    with_databases,
)
from paimon_sql.catalog.iceberg_catalogs import NamedForIceberg
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.option_values import keyword_options
from paimon_sql.python.arguments import Options, checked, checked_methods
from paimon_sql.python.table import PaimonTable, check_kind

if TYPE_CHECKING:
    from paimon_sql.catalog.paths import PathCatalog
    from paimon_sql.catalog.system_database import read_catalog_system_table
    from paimon_sql.python.definitions import new_schema
    from paimon_sql.python.queries import run_query
else:
    new_schema = ImportedOnCall("paimon_sql.python.definitions", "new_schema")
    run_query = ImportedOnCall("paimon_sql.python.queries", "run_query")
    PathCatalog = ImportedOnCall("paimon_sql.catalog.paths", "PathCatalog")
    read_catalog_system_table = ImportedOnCall("paimon_sql.catalog.system_database", "read_catalog_system_table")


@checked
def open_catalog(
    warehouse: str | None = None, metastore: str = "filesystem", *, time_zone: str | None = None, **options: str
) -> PaimonCatalog:
    """Open a catalog of tables.

    `warehouse` is the folder or URI of the tables, `metastore` is where their names are: "filesystem", "jdbc", "hive"
    or "rest". `options` are the options of a catalog in Spark. Keywords take `_` for `-`; pass names with dots as
    `**{"s3.endpoint": "…"}`. `time_zone` is the zone of moments without a zone, as Spark's
    `spark.sql.session.timeZone` (default: this machine's).

    Raises `InvalidOptionError` for options that cannot be right, `UnsupportedFeatureError` if an optional package is
    missing, `StorageError`, `NoPrivilegeError`.
    """
    opened = load_catalog(keyword_options(warehouse, metastore, options))
    return PaimonCatalog(opened, None if time_zone is None else zone_named(time_zone))


@checked
def open_table(path: str, *, time_zone: str | None = None, **options: str) -> PaimonTable:
    """Open the table in a folder: an absolute path or a URI such as `s3://bucket/warehouse/shop.db/orders`.

    The path may end with `$branch_NAME`. `options` are the options of the storage, as for `open_catalog`.
    Raises `TableNotFoundError`, `InvalidNameError`, `StorageError`; `NoPrivilegeError` for a table of a warehouse with
    users, which needs a catalog.
    """
    given = keyword_options(None, "filesystem", options)
    paths = PathCatalog(lambda: given, open_iceberg=NamedForIceberg)
    zone = None if time_zone is None else zone_named(time_zone)
    return PaimonTable.load(paths, paths.identifier(path), zone)


@checked_methods
@dataclass(frozen=True)
class PaimonCatalog:
    """Tables by name, as Spark's catalogs have them: `open_catalog` makes one.

    Names of tables are `database.table`; a name without a database is in the database `default`. A name may end with
    `$branch_NAME`. Each call looks up the present state. A catalog may be used from several threads.
    """

    inner: Catalog = field(repr=False)
    zone: tzinfo | None = None

    # -- databases ----------------------------------------------------------------------------------------------------
    def list_databases(self) -> list[str]:
        """Return the names of all databases, sorted. Raises `StorageError`."""
        return self._databases.list_databases()

    def database_exists(self, name: str) -> bool:
        """Return whether the database exists. Raises `InvalidNameError`, `StorageError`."""
        return self._databases.database_exists(name)

    def database_properties(self, name: str) -> dict[str, str]:
        """Return the properties of a database. Raises `DatabaseNotFoundError`."""
        return self._databases.database_properties(name)

    def create_database(
        self, name: str, properties: Mapping[str, str] | None = None, *, if_not_exists: bool = False
    ) -> None:
        """Create a database. Raises `DatabaseExistsError`, unless `if_not_exists`; `InvalidNameError`."""
        self._databases.create_database(name, properties, ignore_if_exists=if_not_exists)

    def drop_database(self, name: str, *, cascade: bool = False, if_exists: bool = False) -> None:
        """Drop a database; with `cascade`, its tables and their files, too.

        Raises `DatabaseNotFoundError`, unless `if_exists`; `DatabaseNotEmptyError`, unless `cascade`.
        """
        if if_exists and not self.database_exists(name):
            return
        self._databases.drop_database(name, cascade=cascade)

    # -- tables -------------------------------------------------------------------------------------------------------
    def list_tables(self, database: str = DEFAULT_DATABASE) -> list[str]:
        """Return the names of the tables of a database, sorted. Raises `DatabaseNotFoundError`."""
        return self._databases.list_tables(database)

    def list_views(self, database: str = DEFAULT_DATABASE) -> list[str]:
        """Return the names of the views of a database, sorted. Only Spark can query a view."""
        return self.inner.list_views(database) if isinstance(self.inner, SupportsViews) else []

    def list_functions(self, database: str = DEFAULT_DATABASE) -> list[str]:
        """Return the names of the functions of a database, sorted. Only Spark can call a function."""
        return self.inner.list_functions(database) if isinstance(self.inner, SupportsFunctions) else []

    def table_exists(self, name: str) -> bool:
        """Return whether the table exists, in its branch. Raises `InvalidNameError`."""
        identifier = self.identifier(name)
        return self.database_exists(identifier.database) and self.inner.table_exists(identifier)

    def table(self, name: str) -> PaimonTable:
        """Return a table as it is now: its schema is fixed, but each scan reads the latest version.

        Raises `TableNotFoundError`, `DatabaseNotFoundError`, `InvalidNameError`; `UnsupportedFeatureError` for a view,
        a format table or an object table.
        """
        identifier = self.identifier(name)
        try:
            return PaimonTable.load(self.inner, identifier, self.zone)
        except TableNotFoundError:
            if self._is_view(identifier):
                raise UnsupportedFeatureError(
                    f"{name} is a view, and its query needs Spark: read the view with paimon_sql.connect, or read the "
                    "tables of the view."
                ) from None
            raise

    def create_table(
        self,
        name: str,
        schema: pa.Schema,
        *,
        primary_key: str | Sequence[str] = (),
        partitioned_by: str | Sequence[str] = (),
        options: Options | None = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> PaimonTable:
        """Create a table and return it; with `if_not_exists`, return the table that exists.

        `schema` is an Arrow schema: its fields are the columns, their metadata `comment` the comments. Columns of the
        primary key become NOT NULL. Raises `TableExistsError`, `DatabaseNotFoundError`, `InvalidSchemaError`,
        `InvalidOptionError`; `UnsupportedFeatureError` for an Arrow type that Paimon lacks, a format table or an object
        table.
        """
        identifier = self.identifier(name)
        defined = new_schema(schema, primary_key, partitioned_by, options or {}, comment)
        check_kind(identifier, defined.options)
        try:
            self.inner.create_table(identifier, defined)
        except TableExistsError:
            if not if_not_exists or not self.inner.table_exists(identifier):
                raise
        return self.table(name)

    def rename_table(self, name: str, new_name: str) -> None:
        """Give a table another name; a new name without a database stays in the table's database.

        Raises `TableNotFoundError`, `TableExistsError`, `InvalidNameError`.
        """
        source = self.identifier(name)
        target = self.identifier(new_name if "." in new_name else f"{source.database}.{new_name}")
        self._databases.rename_table(source, target)

    def drop_table(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a table and delete its files. Raises `TableNotFoundError`, unless `if_exists`."""
        self.inner.drop_table(self.identifier(name), ignore_if_not_exists=if_exists)

    def inspect(self, name: str) -> pa.Table:
        """Return the rows of a system table of the whole catalog: "tables", "partitions", "all_table_options" or
        "catalog_options". Raises `TableNotFoundError`, which lists the tables."""
        return read_catalog_system_table(self.inner, name)

    def sql(self, query: str) -> pa.Table:
        """Run a query on DuckDB, and return its rows. Needs the extra `duckdb`.

        The query is one SELECT in DuckDB's SQL. It names tables as this catalog does; quote names with `$`, as in
        `shop."orders$audit_log"`. `FOR VERSION AS OF` and `FOR TIMESTAMP AS OF` after a table's name choose a version.
        Only the columns and rows that the query needs are read. Queries of files, and statements that change data, are
        refused. Moments without a zone are in the catalog's zone.

        Raises `InvalidOptionError` for a query that is not valid or fails, `UnsupportedFeatureError` for other
        statements and if DuckDB is not installed, `TableNotFoundError`, and the errors of a scan.
        """
        with span("statement", kind="SELECT"):
            return run_query(self, query)

    def call(self, procedure: str, **arguments: Any) -> pa.Table:
        """Call a procedure, as `CALL sys.NAME` does, and return the rows of its result.

        Jobs run on threads of this process. Tables are named `database.table`. Raises `NotFoundError` for an unknown
        procedure, `InvalidOptionError` for arguments that are unknown, missing or of another type,
        `UnsupportedFeatureError` for a procedure or an argument that needs Spark, and the errors of the procedure.
        """
        from paimon_sql.python.calls import call_procedure  # noqa: PLC0415  procedures take long to import

        return call_procedure(self._databases, self.zone, procedure, arguments)

    # -- the catalog --------------------------------------------------------------------------------------------------
    def identifier(self, name: str) -> Identifier:
        """Parse the name of a table. Raises `InvalidNameError`."""
        return self.inner.identifier(name if "." in name else f"{DEFAULT_DATABASE}.{name}")

    def close(self) -> None:
        """Close the connections of the catalog, if it has any; a later call opens new ones."""
        if isinstance(self.inner, SupportsClosing):
            self.inner.close()

    def __enter__(self) -> PaimonCatalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_view(self, identifier: Identifier) -> bool:
        is_plain = identifier == identifier.base
        return is_plain and isinstance(self.inner, SupportsViews) and self.inner.view_exists(identifier)

    @property
    def _databases(self) -> SupportsDatabases:
        return with_databases(self.inner)
