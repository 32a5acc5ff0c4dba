"""Open the catalog that options describe: `METASTORES` has a function for each value of `metastore`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from paimon_core.errors import InvalidOptionError
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import check_location, load_file_io, normalize
from paimon_core.lazy import ImportedOnCall
from paimon_core.store.allowed import Allowed
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.iceberg_catalogs import NamedForIceberg
from paimon_sql.catalog.option_values import own_spelling
from paimon_sql.catalog.privileges.tables import has_users

if TYPE_CHECKING:
    from paimon_core.optional_packages import import_optional
    from paimon_sql.catalog.hive.settings import hive_options
    from paimon_sql.catalog.privileges.catalog import guarded
    from paimon_sql.catalog.rest.settings import RestSettings, read_settings
else:
    read_settings = ImportedOnCall("paimon_sql.catalog.rest.settings", "read_settings")
    hive_options = ImportedOnCall("paimon_sql.catalog.hive.settings", "hive_options")
    import_optional = ImportedOnCall("paimon_core.optional_packages", "import_optional")
    guarded = ImportedOnCall("paimon_sql.catalog.privileges.catalog", "guarded")


def _filesystem(options: Mapping[str, str]) -> SupportsDatabases:
    io, warehouse = _warehouse(options)
    return FileSystemCatalog(
        *(io, warehouse),
        options=dict(options),
        allowed=Allowed.of(options),
        open_iceberg=NamedForIceberg,
        reopen=load_catalog,
    )


def _jdbc(options: Mapping[str, str]) -> SupportsDatabases:
    import_optional("sqlalchemy", "A catalog with 'metastore' = 'jdbc'", "jdbc")
    from paimon_sql.catalog.jdbc.catalog import open_catalog as open_jdbc  # noqa: PLC0415  an extra

    return replace(open_jdbc(*_warehouse(options), options, NamedForIceberg), reopen=load_catalog)


def _hive(options: Mapping[str, str]) -> SupportsDatabases:
    import_optional("pymetastore", "A catalog with 'metastore' = 'hive'", "hive")
    import_optional("thrift", "A catalog with 'metastore' = 'hive'", "hive")
    from paimon_sql.catalog.hive.catalog import open_catalog as open_hive  # noqa: PLC0415  an extra

    given = hive_options(options)
    found = _warehouse({"warehouse": given.get("hive.metastore.warehouse.dir", ""), **given})
    return replace(open_hive(*found, given, NamedForIceberg), reopen=load_catalog)


def _rest(options: Mapping[str, str]) -> SupportsDatabases:
    settings = _rest_settings(options)
    from paimon_sql.catalog.rest.catalog import open_catalog as open_rest  # noqa: PLC0415  an extra

    return replace(open_rest(options, settings, NamedForIceberg), reopen=load_catalog)


def _rest_settings(options: Mapping[str, str]) -> RestSettings:
    import_optional("urllib3", "A catalog with 'metastore' = 'rest'", "rest")
    Allowed.of(options)  # raises for invalid values
    return read_settings(options)


def _warehouse(options: Mapping[str, str]) -> tuple[FileIO, str]:
    """Return the storage of a catalog's tables, and their folder there."""
    warehouse = warehouse_place(options.get("warehouse", ""))
    if not warehouse:
        raise InvalidOptionError("A catalog needs the option 'warehouse': the folder or URI of its tables.")
    check_location(warehouse)
    return load_file_io(warehouse, options), normalize(warehouse)


def warehouse_place(warehouse: str) -> str:
    """Return a warehouse without blanks around it, which settings may have, and with the home folder for `~`.

    Spark and Hadoop would make folders with the names ` ` and `~` in the working directory.
    """
    place = warehouse.strip()
    return os.path.expanduser(place) if place == "~" or place.startswith("~/") else place


METASTORES: dict[str, Callable[[Mapping[str, str]], SupportsDatabases]] = {
    "filesystem": _filesystem,
    "jdbc": _jdbc,
    "hive": _hive,
    "rest": _rest,
}


def load_catalog(options: Mapping[str, str]) -> SupportsDatabases:
    """Open the catalog of the kind `metastore` (default: filesystem). If the warehouse has users, the catalog has the
    rights of its option `user`.

    Raises `InvalidOptionError`, `StorageError`.
    """
    return for_user(options, open_catalog(options))


def open_catalog(options: Mapping[str, str]) -> SupportsDatabases:
    """Open a catalog as `load_catalog` does, but without checking users."""
    return METASTORES[_metastore(options)](_understood(options))


def check_options(options: Mapping[str, str]) -> None:
    """Check options without calling a server, a database or a storage.

    Raises the errors of `open_catalog` for options that are certainly invalid: `InvalidOptionError`,
    `UnsupportedFeatureError`."""
    metastore, options = _metastore(options), _understood(options)
    if metastore == "rest":
        _rest_settings(options)  # opening the catalog would call its server
    else:
        METASTORES[metastore](options)


def for_user(options: Mapping[str, str], catalog: SupportsDatabases) -> SupportsDatabases:
    """Return an opened catalog with the rights of the options' `user`, if the warehouse now has users.

    Raises `StorageError`.
    """
    metastore, folder = _metastore(options), _folder(catalog)
    return guarded(metastore, catalog) if folder is not None and has_users(*folder) else catalog


def _folder(catalog: SupportsDatabases) -> tuple[FileIO, str] | None:
    """Return the storage of a catalog and its warehouse there, or None if a server has the warehouse."""
    io, warehouse = getattr(catalog, "io", None), getattr(catalog, "warehouse", None)
    return None if io is None or warehouse is None else (io, warehouse)


def _understood(options: Mapping[str, str]) -> dict[str, str]:
    found = own_spelling(options)
    if "warehouse" in found and _metastore(options) != "rest":  # the warehouse of a REST server is a name
        found["warehouse"] = warehouse_place(found["warehouse"])
    return found


def _metastore(options: Mapping[str, str]) -> str:
    metastore = own_spelling(options).get("metastore", "filesystem").strip().lower()
    if metastore not in METASTORES:
        known = ", ".join(METASTORES)
        raise InvalidOptionError(f"Option 'metastore' cannot be {metastore!r}; this version supports {known}.")
    return metastore
