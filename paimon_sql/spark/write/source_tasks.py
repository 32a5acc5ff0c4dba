"""Writes without a shuffle: loads in which the tasks that read also write, and statements that contain a few rows.

Spark shuffles the rows of a primary-key table by key, so that tasks are even and few. If a statement copies large
Parquet or ORC files, its tasks are even and few already. Then each task that reads a part of a file may write its rows,
unless that makes more sorted runs or small files. This saves a third of the time. A connector does not see the query of
a write, so a rule of Spark's optimizer decides (`jvm/java/SourceTasks.java`). The rule calls this module.

Spark also shuffles the rows of `INSERT INTO t VALUES …`. The rule lets one task write them, up to 10,000, which saves a
stage of tasks. Adaptive execution would bring as few rows into one task, too.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.files import file_relation
from paimon_sql.spark.jvm.scans.statistics import estimated_size
from paimon_sql.spark.jvm.sessions import add_last_optimization
from paimon_sql.spark.proxy import Proxy

_LEAST_BYTES = 4 * 2**20  # of a file, by Spark's estimate: for less data, a shuffle makes fewer files


class SourceTasks(Proxy):
    """A function that returns whether the tasks that read files may write their rows."""

    def apply(self, files: int, source: Any, relation: Any) -> bool:
        """Return whether tasks may write. `files` is the number of files that a task writes, see `PaimonWrite`;
        `source` is the query, with columns of `relation` only.
        """
        if not files:
            return False
        found = file_relation(self.jvm, relation)
        if found is None:
            return False
        return found.tasks <= found.most_tasks and estimated_size(source) >= found.tasks * files * _LEAST_BYTES

    class Java:
        implements = [classes.FUNCTION_3]


def install_source_tasks(jvm: Jvm, session: JavaObject) -> None:
    """Add the rule to a running session."""
    rule = jvm.compiled("SourceTasks").rule(SourceTasks(jvm))
    add_last_optimization(jvm, session, rule)
