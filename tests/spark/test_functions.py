"""Functions in catalogs of ours: every statement about them, where they are called, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_sql.catalog.base import SupportsFunctions
from paimon_sql.catalog.function import FileDefinition, Function, LambdaDefinition, SqlDefinition
from paimon_sql.catalog.load import load_catalog
from tests.spark.test_views import refused, rows
from tests.support.spark_versions import spark_minor
from tests.support.tables import fields

pytestmark = pytest.mark.spark
PYTHON = "spark.paimon-sql.python-functions"


@pytest.fixture
def session(files_or_database: Any) -> Any:
    """A session whose current catalog has the table `t` of three rows."""
    return with_table(files_or_database)


@pytest.fixture
def one(spark: Any) -> Any:
    """The same in a filesystem catalog alone."""
    return with_table(spark)


def with_table(spark: Any) -> Any:
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return spark


def on_disk(warehouse: str) -> SupportsFunctions:
    catalog = load_catalog({"warehouse": str(Path(warehouse))})
    assert isinstance(catalog, SupportsFunctions)
    return catalog


@contextmanager
def running_python(spark: Any) -> Iterator[None]:
    """An application that was started to run the Python of its catalogs."""
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set(PYTHON, "true")
    try:
        yield
    finally:
        conf.remove(PYTHON)


def test_scalar_functions(session: Any) -> None:
    catalog = rows(session, "SELECT current_catalog()")[0][0]
    session.sql(
        "CREATE FUNCTION inc(x INT DEFAULT 5 COMMENT 'the x', y INT DEFAULT 1) RETURNS INT COMMENT 'adds' RETURN x + y"
    )
    calls = f"inc(1), inc(), inc(y => 3), inc(y => 2, x => 1), default.inc(7), {catalog}.default.inc(8)"
    assert rows(session, f"SELECT {calls}") == [(2, 6, 8, 3, 8, 9)]
    assert rows(session, "SELECT k FROM t WHERE inc(k) > 2 ORDER BY k DESC") == [(3,), (2,)]
    session.sql("INSERT INTO t SELECT inc(k), v FROM t WHERE inc(k) = 4")
    session.sql("DELETE FROM t WHERE inc(k, 0) = 1")
    session.sql("UPDATE t SET v = 'new' WHERE k = inc(1)")
    assert rows(session, "SELECT * FROM t ORDER BY k") == [(2, "new"), (3, "c"), (4, "c")]
    session.sql("CREATE OR REPLACE FUNCTION inc(x INT) RETURNS STRING RETURN concat('v', x)")
    assert rows(session, "SELECT inc(1)") == [("v1",)]
    session.sql("CREATE FUNCTION IF NOT EXISTS inc(x INT) RETURNS INT RETURN 0")
    assert rows(session, "SELECT inc(1)") == [("v1",)]
    refused(session, "CREATE FUNCTION inc(x INT) RETURNS INT RETURN 0", "ROUTINE_ALREADY_EXISTS")
    session.sql("DROP FUNCTION inc")
    session.sql("DROP FUNCTION IF EXISTS inc")
    refused(session, "DROP FUNCTION inc", "UNRESOLVED_ROUTINE")
    refused(session, "SELECT inc(1)", "UNRESOLVED_ROUTINE")


def test_table_functions(session: Any) -> None:
    catalog = rows(session, "SELECT current_catalog()")[0][0]
    session.sql(
        "CREATE FUNCTION above(d INT) RETURNS TABLE (k INT, v STRING COMMENT 'w') RETURN SELECT * FROM t WHERE k > d"
    )
    assert rows(session, "SELECT * FROM above(1) ORDER BY k") == [(2, "b"), (3, "c")]
    full = "above" if spark_minor() < (4, 2) else f"{catalog}.default.above"
    assert rows(session, f"SELECT y FROM {full}(d => 2) AS a(x, y)") == [("c",)]
    assert rows(session, "SELECT t.k, a.k FROM t, LATERAL above(t.k + 1) a") == [(1, 3)]
    assert rows(session, "WITH c AS (SELECT * FROM above(2)) SELECT k FROM t WHERE k IN (SELECT k FROM c)") == [(3,)]
    assert "BatchScan" in rows(session, "EXPLAIN SELECT * FROM above(1)")[0][0]
    session.sql("CREATE TABLE u AS SELECT * FROM above(1)")
    session.sql("INSERT INTO u SELECT k + 10, v FROM above(2)")
    assert rows(session, "SELECT k FROM u ORDER BY k") == [(2,), (3,), (13,)]
    session.sql("CREATE OR REPLACE FUNCTION above(d INT) RETURNS TABLE RETURN SELECT d AS given")
    assert rows(session, "SELECT given FROM above(7)") == [(7,)]
    refused(session, "SELECT above(1)", "NOT_A_SCALAR_FUNCTION")
    session.sql("CREATE FUNCTION one() RETURNS INT RETURN 1")
    refused(session, "SELECT * FROM one()", "NOT_A_TABLE_FUNCTION")
    session.sql("DROP FUNCTION above")
    with pytest.raises(PySparkException, match=r"(?i)above|table-valued functions"):
        session.sql("SELECT * FROM above(1)").collect()


def test_functions_of_columns_print_no_warnings(spark: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        query = (
            "SELECT paimon.sys.descriptor_to_string(paimon.sys.path_to_descriptor(CAST(id AS STRING))) FROM range(2)"
        )
        assert [text.count("uri") for (text,) in rows(spark, query)] == [1, 1]


def test_names_are_those_of_the_definition(session: Any) -> None:
    """Wherever it is called: bodies' tables and functions are looked up where it was defined."""
    session.sql("CREATE FUNCTION half(x INT) RETURNS INT RETURN x DIV 2")
    session.sql("CREATE FUNCTION above(d INT) RETURNS TABLE (k INT) RETURN SELECT k FROM t WHERE k > d")
    least = "half(d)" if spark_minor() >= (4, 3) else "1"  # older ones call no function in the arguments of another
    session.sql(
        f"CREATE FUNCTION total(d INT) RETURNS BIGINT RETURN WITH w AS (FROM above({least})) SELECT sum(k) FROM w"
    )
    session.sql("CREATE DATABASE elsewhere")
    session.sql("CREATE TABLE elsewhere.t (k INT)")
    session.sql("CREATE FUNCTION elsewhere.half(x INT) RETURNS INT RETURN 1000")
    assert rows(session, "SELECT total(2)") == [(5,)]
    session.sql("USE elsewhere")
    assert rows(session, "SELECT default.total(2)") == [(5,)]
    if spark_minor() >= (4, 2):
        assert rows(session, "SELECT count(*) FROM default.above(2)") == [(1,)]
    session.sql("CREATE TEMPORARY VIEW t AS SELECT 100 AS k")
    assert rows(session, "SELECT default.total(2)") == [(5,)]
    session.sql("DROP VIEW t")
    session.sql("USE default")
    session.sql("DROP DATABASE elsewhere CASCADE")


def test_the_catalog_under_another_name(one: Any, warehouse: str) -> None:
    one.sql("CREATE FUNCTION total() RETURNS BIGINT RETURN SELECT sum(k) FROM t")
    one.sql(f"CREATE CATALOG again WITH ('warehouse' = '{Path(warehouse)}')")
    assert rows(one, "SELECT again.default.total()") == [(6,)]


def test_functions_in_views(one: Any) -> None:
    one.sql("CREATE FUNCTION twice(x INT) RETURNS INT RETURN 2 * x")
    one.sql("CREATE FUNCTION rows_of(x INT) RETURNS TABLE (y INT) RETURN SELECT x")
    one.sql("CREATE DATABASE elsewhere")
    one.sql("CREATE TEMPORARY VIEW seen AS SELECT twice(k) AS k2 FROM t")
    assert sorted(rows(one, "SELECT * FROM seen")) == [(2,), (4,), (6,)]
    refused(one, "CREATE VIEW v AS SELECT * FROM rows_of(1)", "PAIMON_UNSUPPORTED_FEATURE")
    if spark_minor() < (4, 2):
        refused(one, "CREATE VIEW v AS SELECT twice(k) AS k2 FROM t", "PAIMON_UNSUPPORTED_FEATURE")
        return
    one.sql("CREATE VIEW v AS SELECT twice(k) AS k2 FROM t")
    one.sql("USE elsewhere")
    assert sorted(rows(one, "SELECT * FROM default.v")) == [(2,), (4,), (6,)]
    one.sql("CREATE OR REPLACE FUNCTION default.twice(x INT) RETURNS INT RETURN 0")
    assert sorted(rows(one, "SELECT * FROM default.v")) == [(0,), (0,), (0,)]


@pytest.mark.skipif(spark_minor() < (4, 2), reason="before 4.2 Spark asks no catalog for functions in expressions")
def test_functions_in_dataframes(one: Any) -> None:
    one.sql("CREATE FUNCTION twice(x INT) RETURNS INT RETURN 2 * x")
    frame = one.table("t")
    assert sorted(tuple(r) for r in frame.selectExpr("twice(k) AS d").collect()) == [(2,), (4,), (6,)]
    assert frame.where("twice(k) > 4").count() == 1
    assert one.catalog.functionExists("twice") and not one.catalog.functionExists("thrice")
    assert one.catalog.getFunction("paimon.default.twice").name == "twice"


def test_showing(session: Any) -> None:
    catalog = rows(session, "SELECT current_catalog()")[0][0]
    session.sql("CREATE FUNCTION area(w DOUBLE, h DOUBLE) RETURNS DOUBLE COMMENT 'of a rectangle' RETURN w * h")
    session.sql("CREATE FUNCTION firsts(n INT) RETURNS TABLE (k INT) RETURN SELECT k FROM t WHERE k < n")
    named = f"{catalog}.default."
    shown = [name for (name,) in rows(session, "SHOW USER FUNCTIONS") if name.startswith(named)]
    assert shown == [f"{named}area", f"{named}firsts"]
    assert rows(session, "SHOW USER FUNCTIONS IN default LIKE 'ar*'") == [(f"{named}area",)]
    assert f"{named}area" in [name for (name,) in rows(session, "SHOW FUNCTIONS")]
    lines = [line for (line,) in rows(session, "DESCRIBE FUNCTION area")]
    assert [line.split() for line in lines] == [
        ["Function:", f"{named}area"],
        ["Type:", "SCALAR"],
        ["Input:", "w", "DOUBLE"],
        ["h", "DOUBLE"],
        ["Returns:", "DOUBLE"],
    ]
    more = "\n".join(line for (line,) in rows(session, "DESCRIBE FUNCTION EXTENDED firsts"))
    for part in ("TABLE", "k INT", "READS SQL DATA", "SELECT k FROM t WHERE k < n", "spark.sql.ansi.enabled=true"):
        assert part in more, more
    assert "of a rectangle" in str(rows(session, "DESCRIBE FUNCTION EXTENDED area"))
    assert rows(session, "DESCRIBE FUNCTION abs")[0] == ("Function: abs",)
    refused(session, "DESCRIBE FUNCTION nope", "UNRESOLVED_ROUTINE")


def test_functions_that_stand_for_others_are_not_shown(session: Any) -> None:
    session.sql("CREATE FUNCTION firsts(n INT) RETURNS TABLE (k INT) RETURN SELECT k FROM t WHERE k < n")
    session.sql("CREATE TEMPORARY FUNCTION passing(x INT) RETURNS INT RETURN x")
    assert rows(session, "SELECT count(*) FROM firsts(2)") == [(1,)]
    assert rows(session, "SELECT sys.path_to_descriptor('p') IS NULL") == [(False,)]
    known = session._jsparkSession.sessionState().catalog().listTemporaryFunctions().mkString(" ")
    assert "paimon_function_" in known and "passing" in known
    for listed in (session.catalog.listFunctions(), session.catalog.listFunctions(pattern="pa*")):
        names = [f.name for f in listed]
        assert "passing" in names and [n for n in names if n.startswith("paimon_")] == []
    for statement in ("SHOW USER FUNCTIONS", "SHOW FUNCTIONS", "SHOW ALL FUNCTIONS LIKE '*p*'", "show functions"):
        shown = [name for (name,) in rows(session, statement)]
        assert "passing" in shown and [n for n in shown if n.startswith("paimon_")] == []
    assert rows(session, "SHOW USER FUNCTIONS LIKE 'paimon_function_*'") == []
    assert rows(session, "SHOW SYSTEM FUNCTIONS LIKE 'absent|abs'") == [("abs",)]
    session.sql("DROP TEMPORARY FUNCTION passing")


def test_functions_of_sys_are_shown_and_described(one: Any) -> None:
    catalog = rows(one, "SELECT current_catalog()")[0][0]
    shown = [name for (name,) in rows(one, "SHOW USER FUNCTIONS IN sys")]
    assert {f"{catalog}.sys.{name}" for name in ("bucket", "max_pt", "path_to_descriptor")} <= set(shown)
    for called in ("sys.max_pt", f"{catalog}.sys.Max_PT"):
        lines = [line for (line,) in rows(one, f"DESCRIBE FUNCTION {called}")]
        assert lines[0] == f"Function: {catalog}.sys.max_pt" and "largest value" in lines[1]
    assert "takes a path, STRING, and returns BINARY" in str(rows(one, "DESCRIBE FUNCTION sys.path_to_descriptor"))
    assert "the functions of sys are" in refused(one, "DESCRIBE FUNCTION sys.nope", "UNRESOLVED_ROUTINE", "")


def test_circles(one: Any, warehouse: str) -> None:
    one.sql("CREATE FUNCTION f(x INT) RETURNS INT RETURN x")
    one.sql("CREATE FUNCTION g(x INT) RETURNS INT RETURN f(x)")
    for body in ("g(x)", "f(x)", "(SELECT max(f(k)) FROM t)"):
        refused(one, f"CREATE OR REPLACE FUNCTION f(x INT) RETURNS INT RETURN {body}", "PAIMON_UNSUPPORTED_FEATURE")
    assert rows(one, "SELECT g(3)") == [(3,)]
    f = Identifier("default", "f")
    made = on_disk(warehouse).load_function(f)  # as two statements at the same time, or another engine, may leave it
    on_disk(warehouse).replace_function(f, replaced(made, "g(x)"))
    message = refused(one, "SELECT g(3)", "PAIMON_UNSUPPORTED_FEATURE")
    assert "in a circle" in message
    one.sql("DROP FUNCTION f")
    refused(one, "SELECT g(3)", "UNRESOLVED_ROUTINE")


def replaced(function: Function, body: str) -> Function:
    return Function(
        parameters=function.parameters,
        results=function.results,
        definitions={"spark": SqlDefinition(body)},
        options=function.options,
    )


def test_what_is_refused(one: Any) -> None:
    one.sql("CREATE TEMPORARY VIEW only_here AS SELECT 1 AS x")
    one.sql("CREATE TEMPORARY FUNCTION only_now(x INT) RETURNS INT RETURN x")
    create = "CREATE FUNCTION f(x INT) RETURNS INT RETURN"
    refused(one, f"{create} SELECT x FROM only_here", "TABLE_OR_VIEW_NOT_FOUND")
    assert "only_now" in refused(one, f"{create} only_now(x)", "PAIMON_UNSUPPORTED_FEATURE")
    refused(one, f"{create} nocolumn", "UNRESOLVED_COLUMN")
    refused(one, f"{create} nofunction(x)", "UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND")
    refused(one, f"{create} sum(x)", "USER_DEFINED_FUNCTIONS")
    refused(one, "CREATE FUNCTION f(x INT) RETURNS INTERVAL DAY RETURN INTERVAL '1' DAY", "PAIMON_UNSUPPORTED_FEATURE")
    refused(one, "CREATE FUNCTION f AS 'com.x.Y' USING JAR '/tmp/a.jar'", "PAIMON_UNSUPPORTED_FEATURE")
    refused(one, "CREATE FUNCTION `a/b`(x INT) RETURNS INT RETURN x", "PAIMON_INVALID_NAME")
    refused(one, "CREATE FUNCTION nope.f(x INT) RETURNS INT RETURN x", "SCHEMA_NOT_FOUND")
    assert [n for (n,) in rows(one, "SHOW USER FUNCTIONS") if "default" in n] == []
    assert rows(one, "SELECT only_now(4)") == [(4,)]
    one.sql("CREATE FUNCTION only_now(x INT) RETURNS INT RETURN 10 * x")  # the name of one that is temporary
    assert rows(one, "SELECT only_now(4), default.only_now(4)") == [(4, 40)]
    one.sql("DROP TEMPORARY FUNCTION only_now")
    one.sql("DROP VIEW only_here")
    one.sql("CREATE FUNCTION `a b`(`x y` INT) RETURNS INT RETURN `a b`.`x y` + 1")
    assert rows(one, "SELECT `a b`(1), default.`a b`(`x y` => 2)") == [(2, 3)]


def test_functions_of_other_engines(one: Any, warehouse: str) -> None:
    """What Java's connector defines in SQL is called; what needs Java is shown and refused."""
    catalog = on_disk(warehouse)
    theirs = Function(
        parameters=tuple(fields(x=INT)),
        results=tuple(fields(area=INT)),
        definitions={"spark": SqlDefinition("x * x"), "flink": FileDefinition((("JAR", "/a.jar"),), "JAVA", "com.x.Y")},
        options={"spark.sql-function.is-query": "false", "team": "maps"},
    )
    catalog.create_function(Identifier("default", "area"), theirs)
    query = replaced(theirs, "SELECT max(k) FROM t WHERE k < x")
    catalog.create_function(Identifier("default", "query"), Function(**{**vars(query), "options": {}}))
    assert rows(one, "SELECT area(3), query(10)") == [(9, 3)]
    java = LambdaDefinition("(Integer l) -> { return l; }", "JAVA")
    catalog.create_function(Identifier("default", "j"), Function(**{**vars(theirs), "definitions": {"spark": java}}))
    catalog.create_function(Identifier("default", "empty"), Function(parameters=None, results=None))
    assert "spark: a lambda in JAVA" in refused(one, "SELECT j(1)", "PAIMON_UNSUPPORTED_FEATURE")
    assert "nothing yet" in refused(one, "SELECT empty()", "PAIMON_UNSUPPORTED_FEATURE")
    assert {"area", "query", "j", "empty"} <= {f.name for f in one.catalog.listFunctions()}
    shown = "\n".join(line for (line,) in rows(one, "DESCRIBE FUNCTION EXTENDED area"))
    assert "flink: the JAVA class com.x.Y in /a.jar" in shown and "team=maps" in shown
    assert "(Integer l) -> { return l; }" in str(rows(one, "DESCRIBE FUNCTION EXTENDED j"))
    assert rows(one, "DESCRIBE FUNCTION empty")[0][0].endswith("paimon.default.empty")


def test_functions_in_python(one: Any) -> None:
    one.sql(
        """CREATE FUNCTION repeated(s STRING, n INT DEFAULT 2) RETURNS STRING LANGUAGE PYTHON COMMENT 'c' AS $$
        import re
        return None if s is None else re.sub("x", "don't; ", s) * n
        $$"""
    )
    message = refused(one, "SELECT repeated('x')", "PAIMON_NOT_ALLOWED")
    assert f"{PYTHON}=true" in message
    one.sql(f"SET {PYTHON}=true")  # no statement may allow it
    refused(one, "SELECT repeated('x')", "PAIMON_NOT_ALLOWED")
    one.sql(f"RESET {PYTHON}")
    with running_python(one):
        assert rows(one, "SELECT repeated('ax'), repeated('b', 3), repeated(n => 1, s => NULL)") == [
            ("adon't; adon't; ", "bbb", None)
        ]
        assert sorted(rows(one, "SELECT repeated(v, k) FROM t")) == [("a",), ("bb",), ("ccc",)]
        one.sql("CREATE FUNCTION quoted(s STRING) RETURNS STRING RETURN concat('<', repeated(s, 1), '>')")
        assert rows(one, "SELECT quoted('b')") == [("<b>",)]
        one.sql("CREATE OR REPLACE FUNCTION repeated(s STRING, n INT) RETURNS INT LANGUAGE PYTHON AS 'return n'")
        assert rows(one, "SELECT repeated('b', 5)") == [(5,)]
    shown = "\n".join(line for (line,) in rows(one, "DESCRIBE FUNCTION EXTENDED repeated"))
    assert "a lambda in PYTHON" in shown and "return n" in shown
    create = "CREATE FUNCTION bad(x INT) RETURNS INT LANGUAGE PYTHON"
    refused(one, f"{create} AS 'return ('", "PAIMON_INVALID_DATA")
    refused(one, "CREATE FUNCTION bad(`class` INT) RETURNS INT LANGUAGE PYTHON AS 'return 1'", "PAIMON_INVALID_DATA")
    refused(one, "CREATE FUNCTION bad(x NOTYPE) RETURNS INT LANGUAGE PYTHON AS 'return 1'", "UNSUPPORTED_DATATYPE")
    refused(
        one,
        "CREATE FUNCTION spark_catalog.default.f() RETURNS INT LANGUAGE PYTHON AS '1'",
        "PAIMON_UNSUPPORTED_FEATURE",
    )
    assert not [n for (n,) in rows(one, "SHOW USER FUNCTIONS") if n.endswith(".bad")]


def test_a_damaged_definition(one: Any, warehouse: str) -> None:
    one.sql("CREATE FUNCTION f(x INT) RETURNS INT RETURN x")
    Path(warehouse, "default.db", "$functions", "f.json").write_text("{")
    refused(one, "SELECT f(1)", "PAIMON_CORRUPT_FILE")
    one.sql("CREATE OR REPLACE FUNCTION f(x INT) RETURNS INT RETURN x + 1")
    assert rows(one, "SELECT f(1)") == [(2,)]
