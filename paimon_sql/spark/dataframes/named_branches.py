"""The option `branch` of readers and writers as a name, for a Spark that hands such options to no table."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.spec.identifier import BRANCH_OPTION, MAIN_BRANCH
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.older.state_options import travels_in_name
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry


def named_branch(registry: CatalogRegistry, name: str, options: Mapping[str, str]) -> str | None:
    """The full name of the branch of a table that the options select. None for the main branch, for a table in a
    catalog that is not a Paimon catalog, and for a Spark that hands over the option itself."""
    branch = options.get(BRANCH_OPTION, MAIN_BRANCH)
    found = registry.find_name(name) if branch != MAIN_BRANCH and travels_in_name(registry.jvm) else None
    if found is None:
        return None
    catalog, table = found
    return ".".join(map(quoted_name, (catalog.catalog_name, table.database, table.on_branch(branch).name)))
