"""Statements that Spark's SQL has no counterpart for: who runs them, and what EXPLAIN does."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark


@pytest.fixture
def tagged(spark: Any) -> Any:
    spark.sql("CREATE TABLE t (a INT, b INT)")
    spark.sql("INSERT INTO t VALUES (1, 2)")
    return spark


def tags(spark: Any) -> list[str]:
    return [row.tag for row in spark.sql("SHOW TAGS t").collect()]


def test_explain_shows_a_statement_and_does_not_run_it(tagged: Any) -> None:
    for mode in ("", "EXTENDED "):
        plan = tagged.sql(f"EXPLAIN {mode}ALTER TABLE t CREATE TAG a").collect()[0][0]
        assert "CreateTag" in plan
    assert tags(tagged) == []
    frame = tagged.sql("ALTER TABLE t CREATE TAG a")
    assert (frame.columns, frame.collect(), tags(tagged)) == ([], [], ["a"])


@pytest.mark.parametrize(
    "call",
    [
        "make_tag(table => 't', tag => 'a', mode => 'create')",
        "change_columns(table => 't', changes => '[]')",
        "copy_into_table(table => 't', source => '/x', format => '{}')",
        "CreateTag()",
    ],
)
def test_nobody_can_call_them(tagged: Any, call: str) -> None:
    with pytest.raises(PySparkException, match="There is no procedure"):
        tagged.sql(f"CALL sys.{call}")


def test_they_are_for_tables_of_paimon(tagged: Any) -> None:
    tagged.sql("CREATE TABLE spark_catalog.default.other (a INT) USING parquet")
    for statement in ("CREATE TAG a", "DELETE TAG a", "MODIFY a BIGINT"):
        with pytest.raises(PySparkException, match="not in a Paimon catalog of this session"):
            tagged.sql(f"ALTER TABLE spark_catalog.default.other {statement}")
    tagged.sql("DROP TABLE spark_catalog.default.other")
    with pytest.raises(PySparkException, match="Syntax error at or near"):
        tagged.sql("ALTER TABLE t CREATE TAG a b")


@pytest.mark.parametrize("statement", ["CREATE TAG a", "MODIFY a BIGINT"])
def test_names_that_are_none(tagged: Any, statement: str) -> None:
    for name in ("`t$a$b`", "paimon.a.b.t"):
        with pytest.raises(PySparkException, match="is no.* table name"):
            tagged.sql(f"ALTER TABLE {name} {statement}")


def test_a_temporary_view_does_not_hide_the_table(tagged: Any) -> None:
    tagged.sql("CREATE TEMPORARY VIEW t AS SELECT 1 AS x")
    try:
        tagged.sql("ALTER TABLE t CREATE TAG a")
        tagged.sql("ALTER TABLE t MODIFY a BIGINT")
        assert tags(tagged) == ["a"]
    finally:
        tagged.sql("DROP VIEW t")
    assert tagged.table("t").schema["a"].dataType.simpleString() == "bigint"


def test_names_of_catalogs(tagged: Any) -> None:
    tagged.sql("ALTER TABLE paimon.default.t CREATE TAG a")
    tagged.sql("ALTER TABLE default.t RENAME TAG a TO b")
    tagged.sql("USE spark_catalog")
    try:
        tagged.sql("ALTER TABLE paimon.default.t CREATE TAG c")
    finally:
        tagged.sql("USE paimon")
    assert tags(tagged) == ["b", "c"]
