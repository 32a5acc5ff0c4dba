"""The queries of the SQL page in Spark: each in a session of its own, which refuses every statement that is not on the
list of statements that only read.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from paimon_core.errors import InvalidOptionError, PaimonError
from paimon_core.time_zones import time_zone
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.queries import QueryLimits
from paimon_sql.server.reads.sessions import prepare_sessions, refuse_all_but_reads
from paimon_sql.server.ui.queries import MOST_COLUMNS, QueryAnswer
from paimon_sql.spark.jvm.client_sessions import READ_ONLY
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.values import as_text, is_number

_OF_REFUSALS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # of PySpark


def quiet_refusals() -> None:
    """Keep PySpark from logging refused statements with their text."""
    for name in _OF_REFUSALS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


class SparkQueries:
    """Runs queries on sessions made from a session. `describe` returns an error's message for people."""

    label = "A statement in Spark's SQL that only reads; tables are named database.table"

    def __init__(self, spark: SparkSession, describe: Callable[[BaseException], str]) -> None:
        self._spark, self._describe = spark, describe
        jvm = jvm_of(spark.sparkContext)
        prepare_sessions(jvm, spark)
        refuse_all_but_reads(jvm, spark)

    def run(self, _: PaimonCatalog, text: str, limits: QueryLimits) -> QueryAnswer:
        context, tag = self._spark.sparkContext, f"page-{uuid.uuid4()}"
        stopped: list[None] = []

        def stop() -> None:
            stopped.append(None)
            context.cancelJobsWithTag(tag)

        context.addJobTag(tag)
        try:
            with limits.ending(stop):
                return self._answer(text, limits.rows)
        except Exception as error:
            if stopped:
                raise InvalidOptionError(
                    f"The query was stopped after {limits.seconds:g} seconds: let it read less, or run it in the shell."
                ) from error
            raise self._shown(error) from error
        finally:
            context.removeJobTag(tag)

    def _answer(self, text: str, most: int) -> QueryAnswer:
        session = self._spark.newSession()
        frame = session.sql(text)
        fields = frame.schema.fields[:MOST_COLUMNS]
        rows = frame.limit(most).collect() if fields else []
        zone = time_zone(session.conf.get("spark.sql.session.timeZone"))
        return QueryAnswer(
            [field.name for field in fields],
            [[as_text(value, f.dataType, zone) for value, f in zip(row, fields, strict=False)] for row in rows],
            [i for i, field in enumerate(fields) if is_number(field.dataType)],
        )

    def _shown(self, error: Exception) -> PaimonError:
        if isinstance(error, PySparkException) and error.getCondition() == READ_ONLY:
            return InvalidOptionError(
                "This page runs only statements that are certain to only read, and this one is not: run it in "
                "the shell."
            )
        return InvalidOptionError(f"The query cannot run: {self._describe(error)}")
