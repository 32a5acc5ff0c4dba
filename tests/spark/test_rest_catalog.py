"""A REST catalog in a session: statements, errors of Spark's kinds, tokens that are not shown, users who only read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

import paimon_sql
from paimon_sql.catalog.load import load_catalog
from tests.support.rest_server import RestServer

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    behind: Any = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "served")})
    with RestServer.over(behind, tmp_path / "tokens") as running:
        yield running
    behind.close()


@pytest.fixture
def rest(spark: Any, server: RestServer) -> Any:
    """The session, in which `far` is a catalog at the server, and `seen` the same for who may only read."""
    for name, user in (("far", "writer"), ("seen", "reader")):
        given = ", ".join(f"'{k}' = '{v}'" for k, v in {"type": "paimon", **server.options(user)}.items())
        spark.sql(f"CREATE CATALOG {name} WITH ({given})")
    return spark


def test_statements(rest: Any, tmp_path: Path) -> None:
    rest.sql("CREATE DATABASE far.web COMMENT 'pages' WITH DBPROPERTIES (level = '1')")
    rest.sql("ALTER DATABASE far.web SET DBPROPERTIES (level = '2')")
    described = dict(rows(rest, "DESCRIBE DATABASE EXTENDED far.web"))
    assert (described["Comment"], described["Location"]) == ("pages", f"{tmp_path}/served/web.db")
    assert "(level,2)" in described["Properties"]
    rest.sql("USE far.web")
    rest.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k')")
    rest.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    rest.sql("UPDATE t SET v = 'c' WHERE k = 2")
    rest.sql("MERGE INTO t USING (SELECT 3 AS k) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 'm')")
    rest.sql("ALTER TABLE t RENAME TO u")
    rest.sql("ALTER TABLE u ADD COLUMN w INT")
    rest.sql("CREATE TABLE copied AS SELECT * FROM u")
    rest.sql("CREATE OR REPLACE TABLE copied AS SELECT k, v FROM u WHERE k < 3")
    rest.sql("CREATE OR REPLACE TABLE copied PARTITIONED BY (v) AS SELECT k, v FROM u WHERE k < 3")
    rest.sql("INSERT OVERWRITE copied PARTITION (v = 'c') SELECT 7")
    rest.sql("CREATE VIEW big AS SELECT k FROM u WHERE k > 1")
    rest.sql("CREATE OR REPLACE VIEW big AS SELECT k FROM u WHERE k > 2")
    assert sorted(r[1] for r in rows(rest, "SHOW TABLES")) == ["big", "copied", "u"]
    assert rows(rest, "SELECT k, v, w FROM u ORDER BY k") == [(1, "a", None), (2, "c", None), (3, "m", None)]
    assert rows(rest, "SELECT k, v FROM copied ORDER BY k") == [(1, "a"), (7, "c")]
    assert rows(rest, "SELECT * FROM big") == [(3,)]
    rest.sql("CALL sys.create_tag(table => 'web.u', tag => 'now')")
    rest.sql("DELETE FROM u WHERE k = 1")
    assert rows(rest, "SELECT count(*) FROM u VERSION AS OF 'now'") == [(3,)]
    rest.sql("CALL sys.rollback(table => 'web.u', version => 'now')")
    rest.sql("CALL sys.compact(table => 'web.u')")
    assert rows(rest, "SELECT count(*) FROM u") == [(3,)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        rest.sql("CREATE TABLE u (k INT)")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        rest.sql("DROP DATABASE far.web")
    rest.sql("DROP TABLE u")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        rest.sql("SELECT * FROM u")
    rest.sql("DROP DATABASE far.web CASCADE")
    assert rows(rest, "SHOW DATABASES IN far") == [("default",)]


def test_who_may_only_read(rest: Any) -> None:
    rest.sql("CREATE TABLE far.default.t (k INT)")
    rest.sql("INSERT INTO far.default.t VALUES (1)")
    assert rows(rest, "SELECT * FROM seen.default.t") == [(1,)]
    for statement in ("INSERT INTO seen.default.t VALUES (2)", "DROP TABLE seen.default.t", "CREATE DATABASE seen.x"):
        with pytest.raises(PySparkException, match="may only read"):
            rest.sql(statement)
    assert rows(rest, "SELECT * FROM far.default.t") == [(1,)]


def test_connect_and_tokens_are_not_shown(rest: Any, server: RestServer) -> None:
    options = server.options("writer")
    session = paimon_sql.connect(catalog="lake", **options)
    session.sql("CREATE TABLE lake.default.t (k INT)")
    assert rows(session, "SHOW TABLES IN lake.default") == [("default", "t", False)]
    shown = [
        *rows(rest, "SELECT * FROM far.sys.catalog_options"),
        *rows(rest, "SET -v"),
        *rows(rest, "SET"),
        *rows(session, "DESCRIBE EXTENDED lake.default.t"),
        *rows(session, "SHOW TBLPROPERTIES lake.default.t"),
    ]
    assert options["token"] not in repr(shown)
    rest.sql(f"CREATE CATALOG wrong WITH ('metastore' = 'rest', 'uri' = '{options['uri']}', 'token' = 'hidden-word')")
    with pytest.raises(PySparkException, match="401, Unauthorized") as caught:
        rest.sql("SHOW TABLES IN wrong.default")
    assert "hidden-word" not in str(caught.value)
