"""From options to a catalog: a dictionary from `metastore` to what makes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paimon_core.errors import InvalidOptionError
from paimon_core.io.load import check_location, load_file_io, normalize
from paimon_core.store.allowed import Allowed
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.filesystem import FileSystemCatalog


def _filesystem(options: Mapping[str, str]) -> SupportsDatabases:
    warehouse = options.get("warehouse")
    if not warehouse:
        raise InvalidOptionError("A catalog needs the option 'warehouse': the folder or URI that holds its tables.")
    check_location(warehouse)
    io, allowed = load_file_io(warehouse, options), Allowed.of(options)
    return FileSystemCatalog(io, normalize(warehouse), dict(options), allowed=allowed)


METASTORES: dict[str, Callable[[Mapping[str, str]], SupportsDatabases]] = {"filesystem": _filesystem}


def load_catalog(options: Mapping[str, str]) -> SupportsDatabases:
    """The catalog that `metastore` names (default: filesystem). Raises `InvalidOptionError`."""
    metastore = options.get("metastore", "filesystem").strip().lower()
    if metastore not in METASTORES:
        known = ", ".join(METASTORES)
        raise InvalidOptionError(f"Option 'metastore' cannot be {metastore!r}; this version knows {known}.")
    return METASTORES[metastore](options)
