"""Procedures as Spark sees them."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.spark.jvm import classes
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.statements.paimon_statements import StatementCall
from paimon_sql.spark.tables.procedures import SparkBoundProcedure, SparkProcedure, UnknownProcedure


def proxies(base: type[Proxy] = Proxy) -> Iterator[type[Proxy]]:
    for made in base.__subclasses__():
        yield made
        yield from proxies(made)


def test_no_object_is_bound_before_spark_binds_it() -> None:
    """Spark counts the arguments of what implements both interfaces before it adds those that are not given."""
    found = {c: set(c.Java.implements) for c in proxies() if hasattr(c, "Java")}
    assert {SparkBoundProcedure, SparkProcedure, StatementCall, UnknownProcedure} <= set(found)
    both = {classes.BOUND_PROCEDURE, classes.UNBOUND_PROCEDURE}
    assert [c for c, implemented in found.items() if both <= implemented] == []
