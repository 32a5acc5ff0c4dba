"""IF NOT EXISTS and IF EXISTS excuse one thing only: every other error reaches the caller as it does without them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException

from paimon_core.errors import StorageError
from paimon_core.io.local import LocalFileIO
from paimon_sql.catalog.load import load_catalog
from tests.support.rest_server import RestServer

pytestmark = pytest.mark.spark
_PLACE = re.compile(r"[;(] ?line \d+,? pos \d+[;)]?")


class Said(NamedTuple):
    """What a caller is told of an error."""

    kind: type[PySparkException]
    condition: str | None
    state: str | None
    message: str
    java: str


def said(spark: Any, statement: str) -> Said | None:
    """The error of a statement; None if it has none."""
    try:
        spark.sql(statement).collect()
    except PySparkException as e:
        message = _PLACE.sub("", str(e).split("\n")[0])
        return Said(type(e), e.getCondition(), e.getSqlState(), message, str(e._origin.getClass().getName()))
    return None


# behind `CREATE TABLE {ine}`: why each cannot be, as its condition says
TABLES = {
    "n (k INT) TBLPROPERTIES ('bucket' = 'x')": "PAIMON_INVALID_OPTION",
    "n (k INT) TBLPROPERTIES ('merge-engine' = 'nope', 'primary-key' = 'k')": "PAIMON_INVALID_OPTION",
    "n (k INT) TBLPROPERTIES ('primary-key' = 'nope')": "PAIMON_INVALID_SCHEMA",
    "n (k INT) PARTITIONED BY (bucket(4, k))": "PAIMON_UNSUPPORTED_FEATURE",
    "n (k INT, i INTERVAL DAY TO SECOND)": "PAIMON_UNSUPPORTED_FEATURE",
    "n (k INT) TBLPROPERTIES ('file.format' = 'nope')": "PAIMON_INVALID_OPTION",
    "n (k INT) USING delta": "PAIMON_UNSUPPORTED_FEATURE",
    "n (k INT) LOCATION '/tmp/elsewhere'": "PAIMON_UNSUPPORTED_FEATURE",
    "`a/b` (k INT)": "PAIMON_INVALID_NAME",
    "`n$files` (k INT)": "PAIMON_INVALID_NAME",
    "nowhere.n (k INT)": "SCHEMA_NOT_FOUND",
    "n LIKE t TBLPROPERTIES ('bucket' = 'x')": "PAIMON_INVALID_OPTION",
    "n LIKE t USING delta": "PAIMON_UNSUPPORTED_FEATURE",
    "`a/b` LIKE t": "PAIMON_INVALID_NAME",
    "n (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = 'x')": "PAIMON_INVALID_OPTION",
    "n TBLPROPERTIES ('bucket' = 'x') AS SELECT 1 AS k": "PAIMON_INVALID_OPTION",
    "n USING delta AS SELECT 1 AS k": "PAIMON_UNSUPPORTED_FEATURE",
    "`a/b` AS SELECT 1 AS k": "PAIMON_INVALID_NAME",
    "nowhere.n AS SELECT 1 AS k": "SCHEMA_NOT_FOUND",
}
DAILY = "FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS k"
# with {ine} for IF NOT EXISTS and {ie} for IF EXISTS
OTHERS = {
    "CREATE DATABASE {ine} `a/b`": "PAIMON_INVALID_NAME",
    "CREATE DATABASE {ine} n LOCATION '/tmp/elsewhere'": "PAIMON_INVALID_OPTION",
    f"CREATE MATERIALIZED TABLE {{ine}} n WITH ('bucket' = 'x') {DAILY}": "PAIMON_INVALID_OPTION",
    f"CREATE MATERIALIZED TABLE {{ine}} nowhere.n {DAILY}": "SCHEMA_NOT_FOUND",
    "CREATE VIEW {ine} nowhere.n AS SELECT 1 AS k": "SCHEMA_NOT_FOUND",
    "CREATE VIEW {ine} n AS SELECT nope FROM t": "UNRESOLVED_COLUMN.WITH_SUGGESTION",
    "CREATE FUNCTION {ine} nowhere.n(x INT) RETURNS INT RETURN x": "SCHEMA_NOT_FOUND",
    "CREATE FUNCTION {ine} n(x INT) RETURNS INT RETURN nope(x)": "ROUTINE_NOT_FOUND",
    "CREATE FUNCTION {ine} n(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return ( $$": None,
    "CREATE CATALOG {ine} n WITH ('type' = 'hudi')": "PAIMON_UNSUPPORTED_FEATURE",
    "CREATE CATALOG {ine} n WITH ('metastore' = 'nope')": "PAIMON_INVALID_OPTION",
    "ALTER TABLE t CREATE TAG {ine} x AS OF VERSION 99": "PAIMON_NOT_FOUND",
    "ALTER TABLE nowhere.t CREATE TAG {ine} x": None,
    "ALTER TABLE nowhere.t DELETE TAG {ie} x": None,
    "ALTER TABLE t ADD {ine} PARTITION (nope = 1)": None,
    "ALTER TABLE t DROP {ie} PARTITION (nope = 1)": None,
    "ALTER TABLE t DROP COLUMN {ie} k": None,
    "ALTER TABLE t UNSET TBLPROPERTIES {ie} ('primary-key')": None,
    "DROP DATABASE {ie} full RESTRICT": "SCHEMA_NOT_EMPTY",
    "DROP MATERIALIZED TABLE {ie} t": "PAIMON_INVALID_OPTION",
    f"CREATE MATERIALIZED TABLE {{ine}} n {DAILY.replace('1 AS k', 'nope FROM t')}": None,
    "CREATE VIEW {ine} `a/b` AS SELECT 1 AS k": "PAIMON_INVALID_NAME",
    "CREATE VIEW {ine} n (a, b) AS SELECT 1 AS k": "CREATE_VIEW_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS",
    "CREATE FUNCTION {ine} `a/b`(x INT) RETURNS INT RETURN x": "PAIMON_INVALID_NAME",
    "CREATE FUNCTION {ine} n(x INT, x INT) RETURNS INT RETURN x": "DUPLICATE_ROUTINE_PARAMETER_NAMES",
    "CREATE NAMESPACE {ine} `a/b`": "PAIMON_INVALID_NAME",
    "ALTER TABLE nope DELETE TAG {ie} x": "TABLE_OR_VIEW_NOT_FOUND",
    "ALTER TABLE nope ADD {ine} PARTITION (p = 1)": None,
    "DROP VIEW {ie} t": "WRONG_COMMAND_FOR_OBJECT_TYPE",
    "DROP TABLE {ie} `t$files`": "PAIMON_INVALID_NAME",
    "DROP CATALOG {ie} paimon": "PAIMON_INVALID_OPTION",
}


@pytest.fixture
def world(spark: Any) -> Any:
    return peopled(spark)


def peopled(spark: Any) -> Any:
    spark.sql("CREATE TABLE t (k INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k,p')")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    spark.sql("CREATE DATABASE full")
    spark.sql("CREATE TABLE full.t (k INT)")
    return spark


@pytest.fixture(params=["jdbc", "rest"])
def elsewhere(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Iterator[Any]:
    """The session with the same tables in a catalog of another kind."""
    with ExitStack() as stack:
        if request.param == "jdbc":
            pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')
            options = {"metastore": "jdbc", "warehouse": f"{tmp_path}/far", "uri": f"jdbc:sqlite:{tmp_path}/names"}
        else:
            pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')
            behind = load_catalog({"warehouse": f"{tmp_path}/served"})
            options = stack.enter_context(RestServer.over(behind)).options()
        given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        spark.sql(f"CREATE CATALOG far WITH ({given})")
        spark.sql("USE far.default")
        yield peopled(spark)
        spark.sql("USE paimon.default")


def made(spark: Any) -> list[Any]:
    return [spark.sql(f"SHOW {what}").collect() for what in ("DATABASES", "TABLES", "VIEWS", "USER FUNCTIONS")]


def check(spark: Any, statement: str, condition: str | None) -> None:
    """A statement with {ine} or {ie} fails, and in the same way with the words in their place."""
    before = made(spark)
    strict = said(spark, " ".join(statement.format(ine="", ie="").split()))
    lenient = said(spark, statement.format(ine="IF NOT EXISTS", ie="IF EXISTS"))
    assert strict is not None, f"{statement} does not fail"
    assert lenient == strict, statement
    assert condition in (None, strict.condition), (statement, strict)
    assert "AlreadyExists" not in strict.java, strict
    assert made(spark) == before, statement


def test_a_table_that_cannot_be_is_not_made_silently(world: Any) -> None:
    for statement, condition in TABLES.items():
        check(world, f"CREATE TABLE {{ine}} {statement}", condition)


def test_no_statement_is_silent_about_another_error(world: Any) -> None:
    for statement, condition in OTHERS.items():
        check(world, statement, condition)


def test_catalogs_elsewhere_are_not_silent_either(elsewhere: Any) -> None:
    for statement, condition in list(TABLES.items())[::3]:
        check(elsewhere, f"CREATE TABLE {{ine}} {statement}", condition)
    others = {statement: c for statement, c in OTHERS.items() if "CATALOG" not in statement}
    for statement, condition in list(others.items())[::3]:
        check(elsewhere, statement, condition)
    for statement in (
        "CREATE TABLE IF NOT EXISTS n (k INT)",
        "CREATE TABLE IF NOT EXISTS n LIKE t",
        "CREATE TABLE IF NOT EXISTS n AS SELECT 1 AS k",
        "ALTER TABLE t CREATE TAG IF NOT EXISTS x",
        "ALTER TABLE t DROP IF EXISTS PARTITION (p = 1)",
    ):
        with broken_writes():
            found = said(elsewhere, statement)
        assert found is not None and "disk is gone" in found.message, (statement, found)
        assert found.condition == "PAIMON_STORAGE_FAILURE" and "AlreadyExists" not in found.java


@pytest.mark.parametrize("mode", ["errorifexists", "ignore", "append", "overwrite"])
def test_modes_of_a_dataframe_excuse_one_thing_only(world: Any, mode: str) -> None:
    writer = world.sql("SELECT 5 AS k, 5 AS p").write.mode(mode)
    for name, option, condition in (
        ("n", "bucket", "PAIMON_INVALID_OPTION"),
        ("nowhere.n", "a", "SCHEMA_NOT_FOUND"),
        ("`a/b`", "a", "PAIMON_INVALID_NAME"),
    ):
        with pytest.raises(PySparkException) as caught:
            writer.option(option, "x").saveAsTable(name)
        assert caught.value.getCondition() == condition
    with broken_writes(), pytest.raises(PySparkException, match="disk is gone"):
        world.range(1).write.mode(mode).saveAsTable("n")
    if mode == "ignore":
        world.sql("SELECT 5 AS k, 5 AS p").write.mode(mode).saveAsTable("t")
        assert world.sql("SELECT * FROM t").collect() == [(1, 1)]
    assert [row.tableName for row in world.sql("SHOW TABLES").collect()] == ["t"]


def test_replacing_says_what_is_wrong(world: Any) -> None:
    for statement in ("(k INT) TBLPROPERTIES ('bucket' = 'x')", "(k INT) USING delta"):
        for verb in ("CREATE OR REPLACE", "REPLACE"):
            found, creating = said(world, f"{verb} TABLE t {statement}"), said(world, f"CREATE TABLE n {statement}")
            assert found is not None and creating is not None
            assert found._replace(message="") == creating._replace(message="")
            assert found.java.endswith(".AnalysisException")
    assert world.sql("SELECT * FROM t").collect() == [(1, 1)]


def test_what_exists_is_excused(world: Any) -> None:
    for statement in (
        "CREATE TABLE IF NOT EXISTS t (other STRING)",
        "CREATE TABLE IF NOT EXISTS t LIKE full.t",
        "CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS a",
        "CREATE DATABASE IF NOT EXISTS full",
        "DROP TABLE IF EXISTS nope",
        "DROP DATABASE IF EXISTS nope",
        "DROP VIEW IF EXISTS nope",
        "ALTER TABLE t ADD IF NOT EXISTS PARTITION (p = 1)",
        "ALTER TABLE t DROP IF EXISTS PARTITION (p = 7)",
    ):
        assert said(world, statement) is None, statement
    assert world.table("t").columns == ["k", "p"]
    existing = said(world, "CREATE TABLE t (other STRING)")
    assert existing is not None and existing.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    existing = said(world, "CREATE DATABASE full")
    assert existing is not None and existing.condition == "SCHEMA_ALREADY_EXISTS"


@contextmanager
def broken_writes() -> Iterator[None]:
    def write(io: LocalFileIO, path: str, *_: Any) -> Any:
        raise StorageError(f"Cannot write {path}: the disk is gone.")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write_bytes", "create_exclusive", "make_directory"):
            if hasattr(LocalFileIO, name):
                patch.setattr(LocalFileIO, name, write)
        yield


def test_a_storage_that_fails_is_no_success(world: Any) -> None:
    for statement in (
        "CREATE TABLE IF NOT EXISTS n (k INT)",
        "CREATE TABLE IF NOT EXISTS n LIKE t",
        "CREATE TABLE IF NOT EXISTS n AS SELECT 1 AS k",
        f"CREATE MATERIALIZED TABLE IF NOT EXISTS n {DAILY}",
        "CREATE VIEW IF NOT EXISTS n AS SELECT 1 AS k",
        "CREATE FUNCTION IF NOT EXISTS n(x INT) RETURNS INT RETURN x",
        "ALTER TABLE t CREATE TAG IF NOT EXISTS x",
        "ALTER TABLE t DROP IF EXISTS PARTITION (p = 1)",
    ):
        with broken_writes():
            found = said(world, statement)
        assert found is not None and "disk is gone" in found.message, (statement, found)
        assert (found.condition, found.state) == ("PAIMON_STORAGE_FAILURE", "58030")
        assert "AlreadyExists" not in found.java


def test_a_missing_privilege_is_no_success(world: Any, warehouse: str) -> None:
    become_a_reader(world, warehouse)
    for statement in (
        "CREATE TABLE {ine} n (k INT)",
        "CREATE TABLE {ine} n LIKE t",
        "CREATE TABLE {ine} n AS SELECT 1 AS k",
        "CREATE DATABASE {ine} n",
        "CREATE VIEW {ine} n AS SELECT 1 AS k",
        "DROP TABLE {ie} t",
        "DROP DATABASE {ie} full CASCADE",
        "ALTER TABLE t CREATE TAG {ine} x",
        "ALTER TABLE t DROP {ie} PARTITION (p = 1)",
    ):
        check(world, statement, "PAIMON_NO_PRIVILEGE")


def become_a_reader(spark: Any, warehouse: str) -> None:
    """Make one who may read `default.t` alone the user of the session."""
    spark.sql("CALL sys.init_file_based_privilege('of root')")
    for user in ("root", "ann"):
        spark.sql(
            f"CREATE CATALOG {user} WITH ('warehouse' = '{warehouse}', 'user' = '{user}', 'password' = 'of {user}')"
        )
        if user == "root":
            spark.sql("CALL root.sys.create_privileged_user('ann', 'of ann')")
            spark.sql("CALL root.sys.grant_privilege_to_user('ann', 'SELECT', 'default', 't')")
    spark.sql("USE ann.default")


def test_a_caller_in_the_jvm_takes_no_error_for_another(world: Any) -> None:
    """Who catches TableAlreadyExistsException, as Spark does, catches that alone."""
    made_by = world.range(1).writeTo("n").tableProperty("bucket", "x")
    with pytest.raises(AnalysisException) as caught:
        made_by.create()
    assert caught.value._origin.getClass().getName() == "org.apache.spark.sql.AnalysisException"
    with pytest.raises(AnalysisException) as caught:
        world.range(1).writeTo("t").create()
    assert caught.value._origin.getClass().getSimpleName() == "TableAlreadyExistsException"
