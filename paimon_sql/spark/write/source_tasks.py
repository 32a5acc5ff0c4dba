"""Loads that write where they read.

Spark shuffles the rows of a primary-key table by key, so that tasks are even and few. Where a statement copies large
Parquet or ORC files, its tasks are so already: each one that reads a part of them may write its rows, which saves
a third of the time, where that makes neither more runs of files nor small ones. A connector does not see the query that
is written to it, so this is a rule of Spark's optimizer (`jvm/java/SourceTasks.java`), which asks here.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm.gateway import Jvm, class_name
from paimon_sql.spark.proxy import Proxy

_FORMATS = ("ParquetFileFormat", "OrcFileFormat")  # what Spark divides as it likes
_LEAST_BYTES = 4 * 2**20  # for a file, as Spark estimates rows: where there is less, a shuffle makes fewer


class SourceTasks(Proxy):
    """Whether the tasks that read files may write their rows."""

    def apply(self, files: int, source: Any, relation: Any) -> bool:
        """`files` is what a task writes, see `PaimonWrite`; `source` is the query, of columns of `relation` only."""
        if not files:
            return False
        if class_name(relation) != "HadoopFsRelation" or class_name(relation.location()) != "InMemoryFileIndex":
            return False
        if class_name(relation.fileFormat()) not in _FORMATS:
            return False
        session, size = relation.sparkSession(), int(source.stats().sizeInBytes())
        tasks = self.jvm.file_tasks(session, relation.location())
        most = int(session.sessionState().conf().numShufflePartitions())
        return tasks <= most and size >= tasks * files * _LEAST_BYTES

    class Java:
        implements = ["scala.Function3"]


def install_source_tasks(jvm: Jvm, session: JavaObject) -> None:
    """Put the rule into a running session."""
    rule = jvm.compiled("SourceTasks").rule(SourceTasks(jvm))
    jvm.add_last_optimization(session, rule)
