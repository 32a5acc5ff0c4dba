"""Loads that write where they read.

Spark shuffles the rows of a primary-key table by key, so that tasks are even and few. Where a statement copies large
Parquet or ORC files, its tasks are so already: each one that reads a part of them may write its rows, which saves
a third of the time, where that makes neither more runs of files nor small ones. A connector is not told what is written
to it, so this is a rule of Spark's optimizer, which runs behind those that ask connectors for their distribution. Spark
wants a class for it; Janino compiles one.
"""

from __future__ import annotations

import re
from typing import Any

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm.gateway import SQL, Jvm, class_name
from paimon_sql.spark.proxy import Proxy

_FORMATS = ("ParquetFileFormat", "OrcFileFormat")  # what Spark divides as it likes
_LEAST_BYTES = 4 * 2**20  # for a file, as Spark estimates rows: where there is less, a shuffle makes fewer
_FILES = re.compile(r"any task writes (\d+) files$")  # of a description of `PaimonWrite`
_SOURCE = f"""
import {SQL}.catalyst.plans.logical.*;
import {SQL}.catalyst.rules.Rule;
import {SQL}.catalyst.trees.TreeNode;
import {SQL}.execution.datasources.LogicalRelation;
import scala.Function3;
import scala.Option;

public class SourceTasks {{
  public static class Unshuffled extends Rule {{
    private final Function3 mayWrite;
    Unshuffled(Function3 mayWrite) {{ this.mayWrite = mayWrite; }}

    public TreeNode apply(TreeNode plan) {{
      Option write = plan instanceof AppendData ? ((AppendData) plan).write()
        : plan instanceof OverwriteByExpression ? ((OverwriteByExpression) plan).write() : Option.empty();
      if (write.isEmpty()) return plan;
      V2WriteCommand command = (V2WriteCommand) plan;
      if (!(command.query() instanceof RepartitionByExpression)) return plan;
      LogicalPlan source = ((RepartitionByExpression) command.query()).child();
      LogicalPlan leaf = source;
      while (leaf instanceof Project) leaf = ((Project) leaf).child();
      if (!(leaf instanceof LogicalRelation)) return plan;
      boolean may = Boolean.TRUE.equals(mayWrite.apply(write.get(), source, ((LogicalRelation) leaf).relation()));
      return may ? (TreeNode) command.withNewQuery(source) : plan;
    }}
  }}

  public Rule rule(Function3 mayWrite) {{
    return new Unshuffled(mayWrite);
  }}
}}
"""


class SourceTasks(Proxy):
    """Whether the tasks that read files may write their rows."""

    def apply(self, write: Any, source: Any, relation: Any) -> bool:
        """`source` is the query, which has columns of `relation` alone."""
        files = _FILES.search(str(write.description()))
        if files is None:
            return False
        if class_name(relation) != "HadoopFsRelation" or class_name(relation.location()) != "InMemoryFileIndex":
            return False
        if class_name(relation.fileFormat()) not in _FORMATS:
            return False
        session, size = relation.sparkSession(), int(source.stats().sizeInBytes())
        tasks = self.jvm.file_tasks(session, relation.location())
        most = int(session.sessionState().conf().numShufflePartitions())
        return tasks <= most and size >= tasks * int(files[1]) * _LEAST_BYTES

    class Java:
        implements = ["scala.Function3"]


def install_source_tasks(jvm: Jvm, session: JavaObject) -> None:
    """Put the rule into a running session."""
    rule = jvm.compiled("SourceTasks", _SOURCE).rule(SourceTasks(jvm))
    jvm.add_last_optimization(session, rule)
