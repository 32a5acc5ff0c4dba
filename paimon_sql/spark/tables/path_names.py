"""The table that a reader, a writer or a view names by the options `path`, `catalog`, `database` and `table`."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.errors import InvalidOptionError
from paimon_core.io.load import is_storage_option, normalize
from paimon_core.spec.identifier import PathIdentifier
from paimon_sql.preprocess.quoting import PATHS, quoted_name, quoted_text
from paimon_sql.spark.jvm.plans import TemporaryView
from paimon_sql.spark.tables.definitions import PROVIDER
from paimon_sql.spark.tables.session_catalogs import LOCATORS


def table_name(options: Mapping[str, str], path: object, suffix: str = "") -> str:
    """Return the table of a reader's or writer's options and argument, as SQL names it.

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


# Spark would look for a class named `paimon`, so create the view from a query of the table
def view_of_path(view: TemporaryView) -> str | None:
    """Return the statement that creates a temporary view of the Paimon table that the view's options name; None for
    other providers.

    Raises `InvalidOptionError` if the options do not name exactly one table.
    """
    if view.provider.lower() != PROVIDER:
        return None
    if view.has_columns:
        raise InvalidOptionError(f"View {view.view} USING {PROVIDER} has the columns of its table: leave them out.")
    words = ["CREATE", "OR REPLACE" if view.replaces else "", "GLOBAL" if view.is_global else ""]
    of_table = {k: v for k, v in view.options.items() if k.lower() not in LOCATORS}
    given = ", ".join(f"{quoted_text(k)} = {quoted_text(v)}" for k, v in of_table.items())
    more = f" WITH ({given})" if given else ""
    table = table_name(view.options, None)
    return f"{' '.join(words)} TEMPORARY VIEW {quoted_name(view.view)} AS SELECT * FROM {table}{more}"  # noqa: S608  quoted
