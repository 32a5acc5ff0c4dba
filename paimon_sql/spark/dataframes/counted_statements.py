"""Metrics of the statements that a program passes to `spark.sql`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from pyspark.sql import SparkSession

from paimon_core.metrics import PROCESS, STATEMENT_ERRORS, STATEMENTS
from paimon_sql.preprocess.counted_kinds import counted_kind
from paimon_sql.spark.jvm.hooks import hook, python
from paimon_sql.spark.session_bridge import UNCOUNTED

_PATCHED = "_counted_by_paimon_sql"
_METHOD, _SERVER = "sql", "session"
_counts: ContextVar[bool] = ContextVar("paimon_sql_counts_statements", default=True)


@hook(
    "PySpark's `SparkSession.sql`",
    "statements of sessions in `paimon_sql.metrics()`",
    python("pyspark.sql", "SparkSession.sql"),
)
def install_counted_statements() -> None:
    """Count the statements of this process's sessions, when `spark.sql` returns or raises: commands have run then, and
    queries are analyzed. Does nothing the second time.
    """
    original = SparkSession.sql
    if hasattr(original, _PATCHED):
        return

    @wraps(original)
    def sql(self: Any, sqlQuery: Any, *arguments: Any, **named: Any) -> Any:
        if not _counts.get() or hasattr(self, UNCOUNTED):
            return original(self, sqlQuery, *arguments, **named)
        try:
            made = original(self, sqlQuery, *arguments, **named)
        except BaseException as error:
            _count(sqlQuery, "failed")
            PROCESS.add(STATEMENT_ERRORS, condition=_condition(error))
            raise
        _count(sqlQuery, "finished")
        return made

    setattr(sql, _PATCHED, True)
    setattr(SparkSession, _METHOD, sql)


@contextmanager
def uncounted() -> Iterator[None]:
    """Do not count the statements of this thread during the block."""
    before = _counts.set(False)
    try:
        yield
    finally:
        _counts.reset(before)


def _count(text: Any, state: str) -> None:
    PROCESS.add(STATEMENTS, server=_SERVER, kind=counted_kind(text) if isinstance(text, str) else "other", state=state)


def _condition(error: BaseException) -> str:
    """Return the condition of an error of Spark, or of this package; else the name of its class."""
    ask = getattr(error, "getCondition", None)
    return str((ask() if ask is not None else None) or type(error).__name__)
