"""Scans in two parts: Spark's Parquet reader reads files that need no merge, Python workers read the rest."""

from __future__ import annotations

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import constructor, hook, method
from paimon_sql.spark.jvm.sessions import add_last_optimization, add_strategy


@hook(
    "`DataSourceV2ScanRelation`, `UnionExec`",
    "workers read all files of a scan if some files need a merge",
    method(classes.SCAN_RELATION, "keyGroupedPartitioning", 0),
    constructor(classes.UNION_EXEC, 1),
    method(classes.TREE_NODE, "makeCopy", 1),
)
def install_divided_scans(jvm: Jvm, session: JavaObject) -> None:
    """Add the strategy, and the rule that it needs, to a running session."""
    divided = jvm.compiled("DividedScans")
    add_strategy(jvm, session, divided.strategy())
    add_last_optimization(jvm, session, divided.rule())
