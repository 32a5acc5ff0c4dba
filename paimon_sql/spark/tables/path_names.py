"""The table that the options `path`, `catalog`, `database` and `table` of a reader, a writer or a view name."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import InvalidOptionError
from paimon_core.io.load import is_storage_option, normalize
from paimon_core.spec.identifier import PathIdentifier
from paimon_sql.preprocess.quoting import PATHS, quoted_name
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.session_catalogs import LOCATORS


def table_name(options: Mapping[str, str], path: object, suffix: str = "") -> str:
    """The table of a reader's or writer's options and argument, as SQL names it.

    Raises `InvalidOptionError` if they do not name exactly one table.
    """
    if kept := sorted(filter(is_storage_option, options)):
        raise InvalidOptionError(
            f"{', '.join(kept)}: options of a reader or a writer may end up in the table's definition. Set options of "
            f"a storage as settings of the session: spark.sql.catalog.{PATHS}.{kept[0]}."
        )
    locators = {k.lower(): v for k, v in options.items() if k.lower() in LOCATORS}
    given = [p for p in (*(path if isinstance(path, list) else [path]), locators.get("path")) if p is not None]
    catalog = locators.get("catalog")
    if len(given) != 1 and not (catalog and "database" in locators and "table" in locators and not given):
        found = "no path" if not given else f"{len(given)} paths ({', '.join(map(str, given))})"
        raise InvalidOptionError(f'format("{PROVIDER}") reads and writes one table at one path, not {found}.')
    location = normalize(str(given[0])) if given else ""
    if catalog is None:
        return f"{PATHS}.{quoted_name(location + suffix)}"
    at = PathIdentifier.of_path(location)
    database, table = locators.get("database", at.database_name), locators.get("table", at.table)
    return ".".join(map(quoted_name, (catalog, database, table + suffix)))
