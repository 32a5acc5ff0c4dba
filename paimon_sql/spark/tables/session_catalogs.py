"""The Paimon catalogs of a session's settings, independent of Spark's catalog manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from paimon_core.io.load import normalize
from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.iceberg_catalogs import NamedForIceberg
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.paths import PathCatalog
from paimon_sql.preprocess.quoting import PATHS
from paimon_sql.spark.session_bridge import CATALOG_PREFIX, SessionBridge

LOCATORS = ("path", "catalog", "database", "table")  # options by which readers and writers name a table


def path_catalog(session: SessionBridge, may_open: Callable[[str], bool] | None = None) -> PathCatalog:
    """Return the catalog of tables by path; `spark.sql.catalog.paimon_path.KEY` are options of the storages. `may_open`
    is as in `PathCatalog`.
    """
    settings = partial(session.settings, f"{CATALOG_PREFIX}{PATHS}.")
    return PathCatalog(settings, open_iceberg=NamedForIceberg, may_open=may_open)


def find_catalog(session: SessionBridge, name: str) -> Catalog | None:
    """Return the Paimon catalog of that name; None if the session has none."""
    if name == PATHS:
        return path_catalog(session)
    options = session.catalog_options(name)
    return None if options is None else load_catalog(options)


def without_own_name(options: Mapping[str, str], **own: str) -> dict[str, str]:
    """Return options without `path`, `catalog`, `database` and `table`, if they name this table: Spark passes them on
    from a reader or a writer of `format("paimon")`. `own` are the table's values of these options.
    """

    def names_it(key: str, value: str) -> bool:
        if key == "path" and key in own:
            return normalize(value).partition("$")[0] == own[key]
        return own.get(key) == value

    return {key: value for key, value in options.items() if not names_it(key.lower(), value)}
