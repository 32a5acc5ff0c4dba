"""SparkExecutor: how a procedure runs a function of values on Spark's executors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.errors import PythonException

from paimon_sql.spark.errors import of_worker
from paimon_sql.spark.session_bridge import SessionBridge


class SparkExecutor:
    """Runs one task per item; items and results are texts."""

    def __init__(self, session: SessionBridge) -> None:
        self.session = session

    def run(self, function: Callable[[str], str], items: Sequence[str], description: str) -> list[str]:
        """Results in the order of `items`. A failed task is retried as Spark does, then fails the call."""
        if not items:
            return []
        context = self.session.jvm.context
        context.setJobDescription(description)
        try:
            return list(context.parallelize(items, len(items)).map(function).collect())
        except PythonException as error:
            raise of_worker(error) from error
        finally:
            context.setJobDescription(None)
