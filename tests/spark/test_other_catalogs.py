"""Statements on tables of other catalogs beside ours: Spark, or another extension of its parser, gets the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.spark.jvm.sessions import java_session, parser_of
from paimon_sql.spark.statements.parser import _PARSERS

pytestmark = pytest.mark.spark

THEIRS = "SELECT 'theirs' AS answer"
STATEMENTS = [
    "ALTER TABLE {} CREATE OR REPLACE TAG a",
    "ALTER TABLE {} DELETE TAG a",
    "ALTER TABLE {} MODIFY a BIGINT",
    "ALTER TABLE {} SET ('a' = 'b')",
    "CREATE TABLE {} (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('a' = 'b')",
    "COPY INTO {} FROM '/data' FILE_FORMAT = (TYPE = CSV)",
    "REFRESH MATERIALIZED TABLE {}",
    "CREATE FUNCTION {}(a INT) RETURNS INT LANGUAGE PYTHON AS $$ return a $$",
]


class Extension:
    """What stands between our parser and Spark's, as the parser of Iceberg's or Delta's extension does."""

    def __init__(self, spark_parser: Any) -> None:
        self.spark_parser, self.seen = spark_parser, []

    def parsePlan(self, text: str) -> Any:
        self.seen.append(text)
        return self.spark_parser.parsePlan(THEIRS if text in self.takes else text)

    def parsePlanWithParameters(self, text: str, context: Any) -> Any:
        return self.parsePlan(text)

    takes: frozenset[str] = frozenset()


@pytest.fixture
def extension(spark: Any) -> Iterator[Extension]:
    parser = _PARSERS[str(parser_of(java_session(spark)).toString())]
    found = Extension(parser.delegate)
    parser.delegate = found
    yield found
    parser.delegate = found.spark_parser


@pytest.mark.parametrize("name", ["ice.d.t", "spark_catalog.default.t"])
def test_an_extension_gets_them_as_written(spark: Any, extension: Extension, name: str) -> None:
    statements = [statement.format(name) for statement in STATEMENTS]
    extension.takes = frozenset(statements)
    for statement in statements:
        assert [tuple(row) for row in spark.sql(statement).collect()] == [("theirs",)], statement


def test_names_below_another_current_catalog_are_its_own(spark: Any, extension: Extension) -> None:
    extension.takes = frozenset({"ALTER TABLE t CREATE TAG a"})
    spark.sql("USE spark_catalog.default")
    assert spark.sql("ALTER TABLE t CREATE TAG a").collect()[0].answer == "theirs"
    spark.sql("USE paimon.default")
    with pytest.raises(PySparkException, match="There is no table"):
        spark.sql("ALTER TABLE t CREATE TAG a")


def test_keys_of_another_catalogs_table_stay_constraints(spark: Any, extension: Extension) -> None:
    spark.sql("CREATE TABLE t (id INT, PRIMARY KEY (id))")
    assert "PRIMARY KEY" not in extension.seen[-1]
    written = "CREATE TABLE spark_catalog.default.t (id INT, PRIMARY KEY (id)) USING nope"
    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"):
        spark.sql(written)
    assert extension.seen[-1] == written


def test_what_nobody_else_takes_says_whose_it_is(spark: Any) -> None:
    with pytest.raises(PySparkException, match="not in a Paimon catalog of this session"):
        spark.sql("ALTER TABLE spark_catalog.default.t CREATE TAG a")
