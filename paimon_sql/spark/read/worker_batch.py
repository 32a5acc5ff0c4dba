"""Tasks of Python workers as Spark's `Batch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.types import StructType

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.workers import partitions, reader_factory
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.workers.worker import BatchFunction


class WorkerBatch(Proxy):
    """A `Batch` of one task of a Python worker per split. A partition of Spark's own class has the split's JSON."""

    def __init__(
        self,
        jvm: Jvm,
        about: str,
        splits: Sequence[str],
        function: BatchFunction,
        required: StructType,
        buckets: Sequence[int] | None = None,
    ) -> None:
        super().__init__(jvm)
        self.about, self.splits, self.buckets = about, splits, buckets
        self.function, self.required = function, required

    def toString(self) -> str:
        return f"WorkerBatch of {self.about}"

    def planInputPartitions(self) -> Any:
        return partitions(self.jvm, [s.encode() for s in self.splits], self.buckets)

    def createReaderFactory(self) -> Any:
        return reader_factory(self.jvm, self.function, self.required)

    class Java:
        implements = [classes.BATCH]
