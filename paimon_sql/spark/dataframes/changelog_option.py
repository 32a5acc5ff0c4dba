"""The option `read.changelog` of readers, in batch queries and streams. It reads a table's changes with their row
kinds, from the table's `$audit_log`.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from paimon_core.errors import InvalidOptionError
from paimon_core.options import Option, TableOptions
from paimon_core.options.option import boolean
from paimon_sql.preprocess.quoting import quoted_name
from paimon_sql.spark.jvm.sessions import java_session, name_parts
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.tables.path_names import table_name

_OPTION = Option("read.changelog", boolean, False, "Read the changes of a table with their row kinds.")
_LOG = "$audit_log"


def without_changelog(options: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """Return a reader's options without `read.changelog`, and whether that option is on. Raises
    `InvalidOptionError`.
    """
    given = {k: v for k, v in options.items() if k.lower() == _OPTION.key}
    rest = {k: v for k, v in options.items() if k not in given}
    return rest, any(TableOptions({_OPTION.key: v})[_OPTION] for v in given.values())


def located_table(options: Mapping[str, str], path: object, *, changelog: bool) -> str:
    """Return the name of the table that a reader's options and argument select; with `changelog`, of its log. Raises as
    `table_name`.
    """
    name = table_name(options, path)
    if not changelog:
        return name
    _refuse_system_table(name, name.rpartition("/")[2])
    return table_name(options, path, _LOG)


def log_of(session: SparkSession, name: str) -> str:
    """Return the name of a table's log of changes. Raises `InvalidOptionError` for a system table."""
    parts = name_parts(java_session(session), name)
    _refuse_system_table(name, parts[-1])
    return ".".join(quoted_name(p) for p in (*parts[:-1], parts[-1] + _LOG))


def is_in_catalog_of_ours(session: SparkSession, name: str) -> bool:
    """Return whether a name leads to a Paimon catalog of the session."""
    registry = registry_of(session)
    return registry is not None and registry.find_name(name) is not None


def _refuse_system_table(name: str, last: str) -> None:
    if "$" in last.replace("$branch_", ""):
        raise InvalidOptionError(f"Option '{_OPTION.key}' cannot read system table {name}: use it on a data table.")
