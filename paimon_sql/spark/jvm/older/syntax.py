"""The syntax that the parser of this Spark accepts, found by parsing example statements."""

from __future__ import annotations

from paimon_sql.preprocess import Syntax
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.hooks import Member, grammar

UPDATE_OPTIONS = grammar("UPDATE t WITH ('k' = 'v') SET a = 1")
UNNEST = grammar("SELECT * FROM UNNEST(array(1)) WITH ORDINALITY")
CREATE_LIKE = grammar("CREATE TABLE a.b.c LIKE d")
INSERT_EVOLUTION = grammar("INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1 AS a")
CONSTRAINTS = grammar("CREATE TABLE t (a INT, CHECK (a > 0))")
CHANGES = grammar("SELECT * FROM t CHANGES FROM VERSION 1")
STREAMS = grammar("SELECT * FROM STREAM t WITH ('k' = 'v')")
LISTED_PROCEDURES = grammar("SHOW PROCEDURES IN sys")
GRAMMAR: tuple[Member, ...] = (
    *(UPDATE_OPTIONS, UNNEST, CREATE_LIKE, INSERT_EVOLUTION, CONSTRAINTS, CHANGES, STREAMS, LISTED_PROCEDURES),
)


def syntax_of(jvm: Jvm) -> Syntax:
    """Return the syntax of this Spark; rewritten statements depend on it."""
    return Syntax(jvm.has(UPDATE_OPTIONS), jvm.has(UNNEST), jvm.has(CREATE_LIKE))
