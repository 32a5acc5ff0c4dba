"""DESCRIBE EXTENDED lists the columns that are NOT NULL, in a section that Paimon's Java connector adds to Spark's."""

from __future__ import annotations

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.sessions import add_strategy


def install_described_columns(jvm: Jvm, session: JavaObject) -> None:
    """Put the strategy into a running session, once. A table that is a proxy is one of ours: Spark's are classes."""
    add_strategy(jvm, session, jvm.compiled("DescribedColumns").strategy())
