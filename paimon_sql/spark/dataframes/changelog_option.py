"""The option `read.changelog` of readers, in batch queries and streams: a table's changes with their row kinds, which
are the table's `$audit_log`.
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
    """A reader's options without this one, and whether it wants changes. Raises `InvalidOptionError`."""
    given = {k: v for k, v in options.items() if k.lower() == _OPTION.key}
    rest = {k: v for k, v in options.items() if k not in given}
    return rest, any(TableOptions({_OPTION.key: v})[_OPTION] for v in given.values())


def located_table(options: Mapping[str, str], path: object, *, changelog: bool) -> str:
    """The table, or its log, that a reader's options and argument name; raises as `table_name`."""
    name = table_name(options, path)
    if not changelog:
        return name
    _refuse_system_table(name, name.rpartition("/")[2])
    return table_name(options, path, _LOG)


def log_of(session: SparkSession, name: str) -> str:
    """The log of a table. Raises `InvalidOptionError` for a system table."""
    parts = name_parts(java_session(session), name)
    _refuse_system_table(name, parts[-1])
    return ".".join(quoted_name(p) for p in (*parts[:-1], parts[-1] + _LOG))


def is_in_catalog_of_ours(session: SparkSession, name: str) -> bool:
    """Whether a name leads to a Paimon catalog of the session."""
    registry = registry_of(session)
    return registry is not None and registry.find_name(name) is not None


def _refuse_system_table(name: str, last: str) -> None:
    if "$" in last.replace("$branch_", ""):
        raise InvalidOptionError(f"Option '{_OPTION.key}' is for tables themselves, {name} is a system table.")
