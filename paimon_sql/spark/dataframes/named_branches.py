"""Branches by name instead of by the option `branch`, for readers and writers of a Spark that does not pass such
options to tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.options.support import in_own_spelling
from paimon_core.spec.identifier import BRANCH_OPTION, MAIN_BRANCH
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.older.state_options import travels_in_name
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry


def named_branch(registry: CatalogRegistry, name: str, options: Mapping[str, str]) -> str | None:
    """Return the full name of the branch of a table that the options select. Return None for the main branch, for a
    table outside of Paimon catalogs, and for a Spark that passes the option itself.
    """
    branch = in_own_spelling(options).get(BRANCH_OPTION, MAIN_BRANCH)
    found = registry.find_name(name) if branch != MAIN_BRANCH and travels_in_name(registry.jvm) else None
    if found is None:
        return None
    catalog, table = found
    return ".".join(map(quoted_name, (catalog.catalog_name, table.database, table.on_branch(branch).name)))
