"""A JDBC catalog in a session: statements, options, several catalogs beside each other, and no password shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import paimon_sql

pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


@pytest.fixture
def jdbc(spark: Any, tmp_path: Path) -> Any:
    """The session, in which `meta` is a catalog in a file of SQLite's."""
    spark.sql(
        f"CREATE CATALOG meta WITH ('type' = 'paimon', 'metastore' = 'jdbc', 'warehouse' = '{tmp_path}/meta', "
        f"'uri' = 'jdbc:sqlite:{tmp_path}/names.sqlite', 'jdbc.user' = 'me', 'jdbc.password' = 'hidden-word')"
    )
    return spark


def test_statements(jdbc: Any, tmp_path: Path) -> None:
    jdbc.sql("CREATE DATABASE meta.web COMMENT 'pages' WITH DBPROPERTIES (level = '1')")
    jdbc.sql("ALTER DATABASE meta.web SET DBPROPERTIES (level = '2')")
    described = dict(rows(jdbc, "DESCRIBE DATABASE EXTENDED meta.web"))
    assert (described["Comment"], described["Location"]) == ("pages", f"{tmp_path}/meta/web.db")
    assert "(level,2)" in described["Properties"]
    jdbc.sql("USE meta.web")
    jdbc.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k')")
    jdbc.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    jdbc.sql("UPDATE t SET v = 'c' WHERE k = 2")
    jdbc.sql("ALTER TABLE t RENAME TO u")
    jdbc.sql("ALTER TABLE u ADD COLUMN w INT")
    jdbc.sql("CREATE TABLE copied AS SELECT * FROM u")
    jdbc.sql("CREATE OR REPLACE TABLE copied PARTITIONED BY (v) AS SELECT k, v FROM u")
    assert rows(jdbc, "SHOW TABLES") == [("web", "copied", False), ("web", "u", False)]
    assert rows(jdbc, "SELECT k, v, w FROM u ORDER BY k") == [(1, "a", None), (2, "c", None)]
    assert rows(jdbc, "SELECT k, v FROM copied ORDER BY k") == [(1, "a"), (2, "c")]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        jdbc.sql("CREATE TABLE u (k INT)")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        jdbc.sql("DROP DATABASE meta.web")
    jdbc.sql("DROP TABLE u")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        jdbc.sql("SELECT * FROM u")
    jdbc.sql("DROP DATABASE meta.web CASCADE")
    assert rows(jdbc, "SHOW DATABASES IN meta") == [("default",)]


def test_several_catalogs_in_one_session(jdbc: Any, tmp_path: Path) -> None:
    jdbc.sql("CREATE TABLE meta.default.names (k INT, name STRING)")
    jdbc.sql("INSERT INTO meta.default.names VALUES (1, 'one'), (2, 'two')")
    jdbc.sql("CREATE TABLE paimon.default.amounts (k INT, amount INT)")
    jdbc.sql("INSERT INTO paimon.default.amounts VALUES (1, 10), (2, 20)")
    joined = "SELECT name, amount FROM meta.default.names JOIN paimon.default.amounts USING (k) ORDER BY k"
    assert rows(jdbc, joined) == [("one", 10), ("two", 20)]
    other = {"metastore": "jdbc", "warehouse": f"{tmp_path}/meta", "uri": f"jdbc:sqlite:{tmp_path}/names.sqlite"}
    for key, value in {**other, "catalog-key": "another"}.items():
        jdbc.conf.set(f"spark.sql.catalog.keyed.{key}", value)
    jdbc.conf.set("spark.sql.catalog.keyed", "paimon_sql.SparkCatalog")
    assert rows(jdbc, "SHOW TABLES IN keyed.default") == []
    assert rows(jdbc, "SHOW TABLES IN meta.default") == [("default", "names", False)]


def test_lost_rows_are_found_again(jdbc: Any, tmp_path: Path) -> None:
    jdbc.sql("CREATE TABLE meta.default.t (k INT)")
    jdbc.sql("INSERT INTO meta.default.t VALUES (1)")
    (tmp_path / "names.sqlite").unlink()
    jdbc.sql(
        f"CREATE CATALOG anew WITH ('metastore' = 'jdbc', 'warehouse' = '{tmp_path}/meta', "
        f"'uri' = 'jdbc:sqlite:{tmp_path}/anew.sqlite')"
    )
    assert rows(jdbc, "SHOW TABLES IN anew.default") == []
    with pytest.raises(AnalysisException, match=r"CALL sys\.repair\('default\.t'\)"):
        jdbc.sql("CREATE TABLE anew.default.t (k INT)")
    assert rows(jdbc, "CALL anew.sys.repair('default')") == [(True,)]
    assert rows(jdbc, "SELECT * FROM anew.default.t") == [(1,)]


def test_connect(spark: Any, tmp_path: Path) -> None:
    uri = f"jdbc:sqlite:{tmp_path}/lake.sqlite"
    session = paimon_sql.connect(str(tmp_path / "wh"), catalog="lake", metastore="jdbc", uri=uri, catalog_key="k")
    session.sql("CREATE TABLE lake.default.t (k INT)")
    assert rows(session, "SHOW TABLES IN lake.default") == [("default", "t", False)]
    assert (tmp_path / "lake.sqlite").exists()


def test_passwords_are_not_shown(jdbc: Any) -> None:
    jdbc.sql("CREATE TABLE meta.default.t (k INT)")
    shown = [
        *rows(jdbc, "SELECT * FROM meta.sys.catalog_options"),
        *rows(jdbc, "SET -v"),
        *rows(jdbc, "SET"),
        *rows(jdbc, "DESCRIBE EXTENDED meta.default.t"),
        *rows(jdbc, "SHOW TBLPROPERTIES meta.default.t"),
    ]
    assert "hidden-word" not in repr(shown)
    jdbc.sql(
        "CREATE CATALOG wrong WITH ('metastore' = 'jdbc', 'warehouse' = '/tmp/x', "
        "'uri' = 'jdbc:postgresql://127.0.0.1:1/d?password=hidden-word', 'jdbc.password' = 'hidden-word')"
    )
    with pytest.raises(Exception, match=r"postgresql://127\.0\.0\.1:1/d cannot be reached") as caught:
        jdbc.sql("SHOW TABLES IN wrong.default")
    assert "hidden-word" not in str(caught.value)
