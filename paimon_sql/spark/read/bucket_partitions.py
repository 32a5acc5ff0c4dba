"""Buckets as Spark's partitions, so that Spark joins tables of equal buckets without a shuffle.

Spark reads the key of such a partition from `HasPartitionKey`. Our scans use Spark's own file partitions, which have no
key: the classes of `jvm/java/BucketPartitions.java` add one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_core.options import BUCKET_FUNCTION
from paimon_core.scan.plan import Plan
from paimon_core.spec.split import SplitKind
from paimon_core.store.table_store import TableStore
from paimon_sql.spark.jvm import classes, connector
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.workers import bucket_function
from paimon_sql.spark.proxy import Proxy

BUCKET = "bucket"
_MOST_BUCKETS = 256  # each is a task, even a small one


def bucket_key(store: TableStore, plan: Plan, columns: Sequence[str]) -> tuple[str, int] | None:
    """Return the column that decides the buckets of all files of a plan, and the number of buckets. Return None if
    Spark cannot use the buckets, for instance if several columns decide them.
    """
    keys = store.schema.bucket_keys
    totals = {s.total_buckets if s.kind is SplitKind.ROWS and not s.branch else 0 for s in plan.splits}
    (total,) = totals if len(totals) == 1 else (0,)
    usable = len(keys) == 1 and keys[0] in columns and store.options[BUCKET_FUNCTION] == "default"
    return (keys[0], total) if usable and 0 < total <= _MOST_BUCKETS else None


def partitioning(jvm: Jvm, key: tuple[str, int] | None, partitions: int) -> Any:
    """Return the partitioning that a scan reports: `bucket(n, column)`, or unknown."""
    if key is None:
        return connector.unknown_partitioning(jvm)
    column, buckets = key
    return connector.bucket_partitioning(jvm, column, buckets, partitions)


class BucketTransform(Proxy):
    """The function `bucket`. It lets Spark compare the buckets of two tables, and computes nothing."""

    def name(self) -> str:
        return BUCKET

    def description(self) -> str:
        return "bucket(n, column): the bucket of a row"

    def bind(self, inputs: Any) -> Any:
        return bucket_function(self.jvm, inputs)

    class Java:
        implements = [classes.UNBOUND_FUNCTION]
