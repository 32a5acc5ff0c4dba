"""What PySpark raises for errors of ours, wherever they come from, and what the ways in that we do not have say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    ParseException,
    PySparkException,
    SparkRuntimeException,
    UnsupportedOperationException,
)

from paimon_core import errors
from paimon_core.errors import PaimonError
from paimon_sql.spark.dataframes.remote_frames import install_source
from paimon_sql.spark.errors.conditions import OURS, SPARKS, condition_of
from paimon_sql.spark.errors.raised import raised
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.exceptions import java_exception_of, may_raise
from paimon_sql.spark.jvm.gateway import jvm_of
from paimon_sql.spark.jvm.sessions import java_session
from paimon_sql.spark.proxy import Function1
from paimon_sql.spark.tables.catalog import SparkCatalog
from paimon_sql.spark.workers.worker import read_function
from tests.support.raw_errors import raw
from tests.support.spark_versions import said_by

pytestmark = pytest.mark.spark


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in spark.sql(query).collect()]


@pytest.fixture
def table(spark: Any, warehouse: str) -> Path:
    """The folder of the table `t`, whose rows Python workers merge."""
    spark.sql("CREATE TABLE t (k BIGINT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    for value in ("x", "y"):
        spark.sql(f"INSERT INTO t SELECT id, '{value}' FROM range(100)")
    return Path(warehouse, "default.db", "t")


ALL = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, PaimonError)]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_has_a_message_a_condition_and_a_state(spark: Any, kind: type[PaimonError]) -> None:
    made = kind("/file", "it is $odd <here>") if issubclass(kind, errors.UnreadableFileError) else kind("'it' {is}")
    error = raised(made)
    assert raw(error) is None or (kind is errors.InternalError and "INTERNAL_ERROR" in str(raw(error)))
    assert str(made) in str(error)
    assert error.getCondition() == condition_of(kind)
    condition = condition_of(kind)
    assert condition in SPARKS.values() or str(made) in error.getMessage()
    assert len(error.getSqlState()) == 5 and error.getSqlState() in error.getMessage()


def test_conditions_are_distinguished() -> None:
    names = [name for name, _ in OURS.values()]
    assert len(set(names)) == len(names) and all(name.startswith("PAIMON_") for name in names)
    assert condition_of(errors.DataFileMissingError) == "PAIMON_DATA_FILE_MISSING"
    assert condition_of(errors.BranchNotFoundError) == "TABLE_OR_VIEW_NOT_FOUND"
    assert condition_of(errors.MergeRefusedError) == "PAIMON_INVALID_DATA"


ACTIONS: dict[str, Callable[[Any, Path], object]] = {
    "collect": lambda frame, _: frame.collect(),
    "toArrow": lambda frame, _: frame.toArrow(),
    "toLocalIterator": lambda frame, _: list(frame.toLocalIterator()),
    "write": lambda frame, folder: frame.write.parquet(str(folder)),
    "rdd": lambda frame, _: frame.rdd.count(),
    "insert": lambda frame, _: frame.writeTo("u").append(),
    "procedure": lambda frame, _: frame.sparkSession.sql("CALL sys.compact('t')"),
    "statement": lambda frame, _: frame.sparkSession.sql("UPDATE t SET v = 'z' WHERE v = 'y'"),
}


def test_errors_of_workers_come_as_errors_of_the_driver(spark: Any, table: Path, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE u (k BIGINT, v STRING)")
    (path, *_) = table.glob("bucket-0/data-*")
    for damaged in table.glob("bucket-0/data-*"):
        damaged.write_bytes(b"PAR1" + b"junk" * 600 + b"PAR1")
    for name, act in ACTIONS.items():
        with pytest.raises(SparkRuntimeException, match=r"data-.* is corrupt") as caught:
            act(spark.table("t"), tmp_path / "out")
        assert raw(caught.value) is None, name
        assert caught.value.getCondition() == "PAIMON_CORRUPT_FILE", name
        assert caught.value.getSqlState() == "XX001", name


def test_unexpected_errors_say_that_they_are_internal(spark: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("unheard of")

    with monkeypatch.context() as patch:
        patch.setattr(SparkCatalog, "_table", fail)
        with pytest.raises(
            SparkRuntimeException, match=r"INTERNAL_ERROR.*Unexpected KeyError: 'unheard of'.*report"
        ) as caught:
            spark.sql("SELECT * FROM t")
    assert "in fail" in str(caught.value._cause._desc), "the stack trace comes along"
    with pytest.raises(errors.InternalError, match="Unexpected ValueError") as failed:
        list(read_function(None, None, None)(iter(())))  # type: ignore[arg-type]
    assert "Traceback" in failed.value.__notes__[0]


class Failing(Function1):
    """A function of Scala's that raises an exception from the JVM."""


def test_checked_exceptions_cross_methods_that_do_not_declare_them(spark: Any) -> None:
    """Java would replace them by an UndeclaredThrowableException."""
    jvm, java = jvm_of(spark.sparkContext), spark._jvm.java
    some = spark._jvm.scala.Some("a")
    with pytest.raises(SparkRuntimeException, match="UNRESOLVED_COLUMN.*`nothing`") as caught:
        some.map(Failing(jvm, lambda _: spark.sql("SELECT nothing")))
    assert caught.value.getCondition() == "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"
    assert caught.value.getMessageParameters() == {"objectName": "`nothing`"}
    with pytest.raises(SparkRuntimeException, match="Illegal character in path at index 1: a b"):
        some.map(Failing(jvm, lambda _: java.net.URI("a b")))
    with pytest.raises(SparkRuntimeException, match="PARSE_SYNTAX_ERROR"):
        some.map(Failing(jvm, lambda _: spark.sql("SELECT 1 +")))
    with pytest.raises(ParseException) as refused:
        spark.sql("SELECT 1 +")
    declared = [([classes.FUNCTION_1], "apply"), ([classes.FUNCTION_1, classes.PARSER_INTERFACE], "parseExpression")]
    assert [may_raise(jvm, *d, java_exception_of(refused.value)) for d in declared] == [False, True]


def test_views_of_tables_by_their_paths(spark: Any, table: Path) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW w USING paimon OPTIONS (path '{table}')")
    assert rows(spark, "SELECT max(v), count(*) FROM w") == [("y", 100)]
    options = f"OPTIONS (path '{table}', 'scan.snapshot-id' '1')"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW w\nUSING `paimon` {options}")
    assert rows(spark, "SELECT max(v), count(*) FROM w") == [("x", 100)]
    spark.sql(f"CREATE GLOBAL TEMPORARY VIEW of_path USING Paimon OPTIONS (path '{table}')")
    assert rows(spark, "SELECT count(*) FROM global_temp.of_path") == [(100,)]
    spark.sql("DROP VIEW global_temp.of_path")
    with pytest.raises(UnsupportedOperationException, match="temporary view w.*name the table"):
        spark.sql("DELETE FROM w WHERE k = 1")
    for statement, message in (
        ("CREATE TEMPORARY VIEW z USING paimon", "one table at one path, not no path"),
        (f"CREATE TEMPORARY VIEW z (k INT) USING paimon OPTIONS (path '{table}')", "the columns of its table"),
    ):
        with pytest.raises(IllegalArgumentException, match=message):
            spark.sql(statement)


@pytest.mark.parametrize("has_source", [False, True])
def test_tables_of_ours_in_sparks_own_catalog_are_refused(spark: Any, has_source: bool) -> None:
    """Servers, and `SparkGenericCatalog` of another session, give Spark a class for the data source."""
    if has_source:
        install_source(jvm_of(spark.sparkContext), java_session(spark))
    rows_of_one = spark.range(1)
    for act in (
        lambda: spark.sql("CREATE TABLE spark_catalog.default.x (k INT) USING paimon"),
        lambda: spark.sql("CREATE TABLE spark_catalog.default.x USING paimon AS SELECT 1 AS k"),
        lambda: spark.sql("INSERT OVERWRITE DIRECTORY '/nope/x' USING paimon SELECT 1"),
        lambda: spark.catalog.createTable("spark_catalog.default.x", source="paimon", schema=rows_of_one.schema),
        lambda: rows_of_one.write.format("paimon").saveAsTable("spark_catalog.default.x"),
        lambda: rows_of_one.writeTo("spark_catalog.default.x").using("paimon").create(),
    ):
        with pytest.raises(
            UnsupportedOperationException, match=r"spark_catalog cannot have Paimon tables: set spark\.sql\.catalog"
        ) as caught:
            act()
        assert raw(caught.value) is None


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        (
            "SELECT * FROM form CHANGES FROM VERSION 1 TO VERSION 2",
            AnalysisException,
            said_by({(4, 0): "CHANGES of a table needs Spark 4.2", (4, 2): r"form has no changes"}),
        ),
        ("SELECT * FROM paimon_incremental_query('t', 1, 1 + 1)", ParseException, r"needs 3 literals"),
        (
            "SELECT * FROM paimon_incremental_query('t', :a, 2)",
            PySparkException,
            r"UNBOUND_SQL_PARAMETER.* a\.",
        ),
        (
            "INSERT WITH SCHEMA EVOLUTION INTO form BY NAME SELECT 1 AS k, 2 AS more",
            PySparkException,
            said_by({(4, 0): "needs Spark 4.2.*write.merge-schema", (4, 2): r"form.*format table"}),
        ),
    ],
)
def test_unsupported_features(spark: Any, table: Path, statement: str, kind: type[Exception], message: str) -> None:
    spark.sql("CREATE TABLE form (k INT) USING parquet")
    with pytest.raises(kind, match=f"(?s){message}") as caught:
        spark.sql(statement).collect()
    assert raw(caught.value) is None
