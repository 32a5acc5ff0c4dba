"""DESCRIBE EXTENDED lists the columns that are NOT NULL, in a section that Paimon's Java connector adds to Spark's."""

from __future__ import annotations

from py4j.java_gateway import JavaObject

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Variant, constructor, hook
from paimon_sql.spark.jvm.sessions import add_strategy

_NAMED = Variant.of("of a table and its name", constructor(classes.DESCRIBE_TABLE, 5))
_PLAIN = Variant.of("of a table", constructor(classes.DESCRIBE_TABLE, 3))


@hook("`DescribeTableExec`", "the section of NOT NULL columns in DESCRIBE EXTENDED", _NAMED, _PLAIN)
def install_described_columns(jvm: Jvm, session: JavaObject) -> None:
    """Put the strategy into a running session, once. It treats proxies as Paimon tables: Spark's own tables are Java
    classes."""
    without = "" if jvm.variant(install_described_columns) is _NAMED else "named"
    add_strategy(jvm, session, jvm.compiled("DescribedColumns", without).strategy())
