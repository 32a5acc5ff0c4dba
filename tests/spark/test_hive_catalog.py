"""A Hive catalog in a session: settings, statements, places, errors as Spark has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, PySparkException

import paimon_sql
from tests.support.hive_server import HiveServer
from tests.support.sql_servers import free_port

ttypes = pytest.importorskip("pymetastore.hive_metastore.ttypes", reason='needs pip install "paimon-sql[hive]"')


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


@pytest.fixture
def server(hive_server: Callable[[], HiveServer]) -> HiveServer:
    return hive_server()


@pytest.fixture
def hive(spark: Any, server: HiveServer, tmp_path: Path) -> Any:
    """The session, in which `meta` is a catalog in a metastore that is empty at first."""
    server.clear()
    spark.sql(
        f"CREATE CATALOG meta WITH ('type' = 'paimon', 'metastore' = 'hive', 'uri' = '{server.uri}', "
        f"'warehouse' = '{tmp_path}/meta')"
    )
    return spark


def test_statements(hive: Any, server: HiveServer, tmp_path: Path) -> None:
    hive.sql("CREATE DATABASE meta.web COMMENT 'pages' WITH DBPROPERTIES (level = '1')")
    hive.sql("ALTER DATABASE meta.web SET DBPROPERTIES (level = '2')")
    described = dict(rows(hive, "DESCRIBE DATABASE EXTENDED meta.web"))
    assert (described["Comment"], described["Location"]) == ("pages", f"{tmp_path}/meta/web.db")
    assert "(level,2)" in described["Properties"]
    hive.sql("USE meta.web")
    hive.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k')")
    hive.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    hive.sql("UPDATE T SET v = 'c' WHERE k = 2")
    hive.sql("ALTER TABLE t RENAME TO u")
    hive.sql("ALTER TABLE u ADD COLUMN w INT")
    hive.sql("CREATE TABLE copied AS SELECT * FROM u")
    hive.sql("CREATE OR REPLACE TABLE copied PARTITIONED BY (v) AS SELECT k, v FROM u")
    assert rows(hive, "SHOW TABLES") == [("web", "copied", False), ("web", "u", False)]
    assert rows(hive, "SELECT k, v, w FROM u ORDER BY k") == [(1, "a", None), (2, "c", None)]
    assert rows(hive, "SELECT k, v FROM copied ORDER BY k") == [(1, "a"), (2, "c")]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        hive.sql("CREATE TABLE u (k INT)")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        hive.sql("DROP DATABASE meta.web")
    hive.sql("DROP TABLE u")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        hive.sql("SELECT * FROM u")
    hive.sql("DROP DATABASE meta.web CASCADE")
    assert rows(hive, "SHOW DATABASES IN meta") == [("default",)]


def test_if_exists_excuses_one_thing_only(hive: Any, server: HiveServer) -> None:
    hive.sql("CREATE TABLE meta.default.t (k INT)")
    refused = {
        "CREATE TABLE {ine} meta.default.n (k INT) TBLPROPERTIES ('bucket' = 'x')": "PAIMON_INVALID_OPTION",
        "CREATE TABLE {ine} meta.default.n TBLPROPERTIES ('bucket' = 'x') AS SELECT 1 AS k": "PAIMON_INVALID_OPTION",
        "CREATE TABLE {ine} meta.default.n USING delta AS SELECT 1 AS k": "PAIMON_UNSUPPORTED_FEATURE",
        "CREATE TABLE {ine} meta.nowhere.n (k INT)": "SCHEMA_NOT_FOUND",
        "CREATE DATABASE {ine} meta.`a b`": "PAIMON_INVALID_NAME",
        "DROP DATABASE {ie} meta.default CASCADE": None,
    }
    for statement, condition in refused.items():
        for words in ({"ine": "", "ie": ""}, {"ine": "IF NOT EXISTS", "ie": "IF EXISTS"}):
            with pytest.raises(PySparkException) as caught:
                hive.sql(statement.format(**words))
            assert condition in (None, caught.value.getCondition()), statement
    for statement in ("CREATE TABLE IF NOT EXISTS meta.default.t (z INT)", "DROP TABLE IF EXISTS meta.default.n"):
        hive.sql(statement)
    assert [row[1] for row in rows(hive, "SHOW TABLES IN meta.default")] == ["t"]
    given = f"'metastore' = 'hive', 'uri' = 'thrift://127.0.0.1:{free_port()}', 'warehouse' = '/tmp/nowhere'"
    hive.sql(f"CREATE CATALOG gone WITH ({given})")
    for statement in (
        "CREATE TABLE {ine} gone.default.n (k INT)",
        "CREATE DATABASE {ine} gone.n",
        "DROP TABLE {ie} gone.default.t",
        "DROP VIEW {ie} gone.default.v",
    ):
        with pytest.raises(PySparkException, match="cannot be reached") as caught:
            hive.sql(statement.format(ine="IF NOT EXISTS", ie="IF EXISTS"))
        assert caught.value.getCondition() == "PAIMON_STORAGE_FAILURE", statement


def test_locations(hive: Any, tmp_path: Path) -> None:
    hive.sql(f"CREATE DATABASE meta.far LOCATION '{tmp_path}/far'")
    hive.sql("CREATE TABLE meta.far.t (k INT)")
    assert (tmp_path / "far" / "t" / "schema" / "schema-0").exists()
    hive.sql(f"CREATE TABLE meta.far.ext (k INT) LOCATION '{tmp_path}/ext'")
    hive.sql("INSERT INTO meta.far.ext VALUES (1)")
    hive.sql("DROP TABLE meta.far.ext")
    assert (tmp_path / "ext" / "schema" / "schema-0").exists()
    hive.sql(f"CREATE TABLE meta.far.again (k INT) LOCATION '{tmp_path}/ext'")
    assert rows(hive, "SELECT * FROM meta.far.again") == [(1,)]


def test_partitions_of_statements(hive: Any, server: HiveServer) -> None:
    hive.sql(
        "CREATE TABLE meta.default.t (v INT, p INT, q STRING) PARTITIONED BY (p, q) "
        "TBLPROPERTIES ('metastore.partitioned-table' = 'true')"
    )

    def known() -> set[tuple[str, ...]]:
        return {tuple(part.values) for part in server.client().get_partitions("default", "t", -1)}

    hive.sql("INSERT INTO meta.default.t VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')")
    assert known() == {("1", "x"), ("2", "y"), ("3", "z")}
    hive.sql("INSERT OVERWRITE meta.default.t PARTITION (p = 1, q = 'x') SELECT 5")
    hive.sql("ALTER TABLE meta.default.t DROP PARTITION (p = 2, q = 'y')")
    assert known() == {("1", "x"), ("3", "z")}
    hive.sql("CALL meta.sys.drop_partition(table => 'default.t', partitions => 'p=3,q=z')")
    assert known() == {("1", "x")}
    server.client().drop_partition("default", "t", ["1", "x"], False)
    hive.sql("CALL meta.sys.repair('default.t')")
    assert known() == {("1", "x")}


def test_names_have_no_case(hive: Any) -> None:
    hive.sql("CREATE TABLE meta.default.Mixed (k INT)")
    hive.sql("INSERT INTO meta.default.MIXED VALUES (1)")
    assert rows(hive, "SELECT * FROM meta.DEFAULT.mixed") == [(1,)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        hive.sql("CREATE TABLE meta.default.mIxEd (k INT)")


def test_tables_of_hives_own(hive: Any, server: HiveServer, tmp_path: Path) -> None:
    client = server.client()
    parquet = "org.apache.hadoop.hive.ql.io.parquet"
    text = ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat")
    for name, source, sink, serde in (
        (
            "pq",
            f"{parquet}.MapredParquetInputFormat",
            f"{parquet}.MapredParquetOutputFormat",
            f"{parquet}.serde.ParquetHiveSerDe",
        ),
        ("lines", *text, "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"),
    ):
        sd = ttypes.StorageDescriptor(
            cols=[ttypes.FieldSchema("k", "int", None), ttypes.FieldSchema("v", "string", None)],
            location=f"file:{tmp_path}/{name}",
            inputFormat=source,
            outputFormat=sink,
            serdeInfo=ttypes.SerDeInfo(serializationLib=serde, parameters={}),
        )
        keys = [ttypes.FieldSchema("p", "int", None)]
        client.create_table(ttypes.Table(tableName=name, dbName="default", sd=sd, partitionKeys=keys, parameters={}))
        (tmp_path / name / "p=1").mkdir(parents=True)
    pq.write_table(
        pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", None]}), tmp_path / "pq" / "p=1" / "000000_0"
    )
    (tmp_path / "lines" / "p=1" / "000000_0").write_text("1\x01a\n2\x01\\N\n")
    assert rows(hive, "SHOW TABLES IN meta.default") == [("default", "lines", False), ("default", "pq", False)]
    for name in ("pq", "lines"):
        assert rows(hive, f"SELECT * FROM meta.default.{name} ORDER BY k") == [(1, "a", 1), (2, None, 1)]
        hive.sql(f"INSERT INTO meta.default.{name} VALUES (3, 'c', 2), (4, NULL, 2)")
        assert rows(hive, f"SELECT k, v FROM meta.default.{name} WHERE p = 2 ORDER BY k") == [(3, "c"), (4, None)]
        with pytest.raises(Exception, match="which only Hive defines"):
            hive.sql(f"ALTER TABLE meta.default.{name} SET TBLPROPERTIES ('a' = 'b')")
    assert "4\x01\\N" in "".join(f.read_text() for f in (tmp_path / "lines" / "p=2").glob("data*"))
    hive.sql("DROP TABLE meta.default.pq")
    assert client.get_all_tables("default") == ["lines"]


def test_views(hive: Any, server: HiveServer) -> None:
    hive.sql("USE meta.default")
    hive.sql("CREATE TABLE t (k INT, v STRING, at TIMESTAMP)")
    hive.sql("INSERT INTO t VALUES (1, 'a', TIMESTAMP '2024-01-01 00:00:00'), (2, 'b', NULL)")
    hive.sql(
        "CREATE VIEW Big (key COMMENT 'the key', v) COMMENT 'it\\'s' TBLPROPERTIES ('x' = 'y') AS "
        "SELECT k, upper(v) AS u FROM t WHERE k > 1"
    )
    hive.sql("CREATE VIEW over AS SELECT key, v FROM big")
    assert rows(hive, "SELECT * FROM over") == [(2, "B")]
    assert rows(hive, "SHOW VIEWS") == [("default", "big", False), ("default", "over", False)]
    assert {r[1] for r in rows(hive, "SHOW TABLES")} == {"big", "over", "t"}
    (shown,) = rows(hive, "SHOW CREATE TABLE big")[0]
    assert "key COMMENT 'the key'" in shown and "COMMENT 'it\\'s'" in shown and "'x' = 'y'" in shown
    assert "paimon-sql" not in shown and "transient" not in shown
    for statement in ("CREATE OR REPLACE VIEW big AS SELECT * FROM over", "ALTER VIEW big AS SELECT * FROM over"):
        with pytest.raises(AnalysisException, match="RECURSIVE_VIEW"):
            hive.sql(statement)
    for statement in ("CREATE TABLE big (k INT)", "CREATE VIEW t AS SELECT 1 AS a", "ALTER TABLE t RENAME TO big"):
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
            hive.sql(statement)
    with pytest.raises(PySparkException, match="EXPECT_TABLE_NOT_VIEW"):
        hive.sql("INSERT INTO big VALUES (1, 'a')")
    hive.sql("ALTER VIEW big SET TBLPROPERTIES ('z' = '1')")
    hive.sql("ALTER VIEW big UNSET TBLPROPERTIES ('x')")
    shown = dict(rows(hive, "SHOW TBLPROPERTIES big"))
    assert shown.get("z") == "1" and "x" not in shown and "paimon-sql.view" not in shown
    hive.sql("CREATE OR REPLACE VIEW big AS SELECT 7 AS key, 'q' AS v")
    assert rows(hive, "SELECT * FROM over") == [(7, "q")]
    hive.sql("CREATE DATABASE meta.web")
    hive.sql("ALTER VIEW big RENAME TO web.named")
    assert rows(hive, "DESCRIBE web.named") == [("key", "int", None), ("v", "string", None)]
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        hive.sql("DROP DATABASE meta.web")
    hive.sql("DROP DATABASE meta.web CASCADE")
    hive.sql("DROP VIEW over")
    assert server.client().get_all_tables("default") == ["t"]


def test_views_of_others(hive: Any, server: HiveServer) -> None:
    """Hive's text is Spark's in most cases; where it is not, an error says so, and the others are not hidden."""
    client = server.client()
    hive.sql("CREATE TABLE meta.default.t (k INT, v STRING)")
    hive.sql("INSERT INTO meta.default.t VALUES (1, 'a'), (2, 'b')")

    def create(name: str, text: str, expanded: str, **parameters: str) -> None:
        sd = ttypes.StorageDescriptor(
            cols=[ttypes.FieldSchema("renamed", "int", "about")], serdeInfo=ttypes.SerDeInfo(parameters={})
        )
        client.create_table(
            ttypes.Table(
                tableName=name,
                dbName="default",
                sd=sd,
                partitionKeys=[],
                parameters=parameters,
                tableType="VIRTUAL_VIEW",
                viewOriginalText=text,
                viewExpandedText=expanded,
            )
        )

    create("hives", "select k from t", "select `t`.`k` from `default`.`t`", comment="by hive")
    create("odd", "select k from t", "from `t` insert nothing")
    create("lost", "select k from gone", "select `gone`.`k` from `default`.`gone`")
    create("trino", "/* Presto View: e30= */", "/* Presto View */", presto_view="true")
    assert [r[1] for r in rows(hive, "SHOW VIEWS IN meta.default")] == ["hives", "lost", "odd", "trino"]
    assert rows(hive, "SELECT renamed FROM meta.default.hives ORDER BY 1") == [(1,), (2,)]
    assert rows(hive, "DESCRIBE meta.default.hives") == [("renamed", "int", "about")]
    for name, words in (
        ("odd", "odd"),
        ("lost", "TABLE_OR_VIEW_NOT_FOUND.*gone"),
        ("trino", "belongs to Trino or Presto"),
    ):
        with pytest.raises(Exception, match=words):
            hive.sql(f"SELECT * FROM meta.default.{name}")
    hive.sql("CREATE OR REPLACE VIEW meta.default.trino AS SELECT 1 AS one")
    assert rows(hive, "SELECT * FROM meta.default.trino") == [(1,)]
    hive.sql("ALTER VIEW meta.default.hives SET TBLPROPERTIES ('a' = 'b')")
    assert client.get_table("default", "hives").viewExpandedText == "select `t`.`k` from `default`.`t`"
    for name in ("hives", "odd", "lost", "trino"):
        hive.sql(f"DROP VIEW meta.default.{name}")
    assert client.get_all_tables("default") == ["t"]


@pytest.mark.parametrize("name", ["csv", "json", "orc", "parquet", "text"])
def test_format_tables(hive: Any, server: HiveServer, tmp_path: Path, name: str) -> None:
    is_text = name == "text"  # which has one column
    columns = "(v STRING)" if is_text else "(v STRING, k INT, p INT)"
    hive.sql(f"CREATE TABLE meta.default.f {columns} USING {name}{'' if is_text else ' PARTITIONED BY (p)'}")
    assert [c.name for c in server.client().get_table("default", "f").partitionKeys] == ([] if is_text else ["p"])
    values = "'a'" if is_text else "'a', 0, 7"
    hive.sql(f"INSERT INTO meta.default.f VALUES ({values})")
    assert rows(hive, "SELECT v FROM meta.default.f") == [("a",)]
    assert rows(hive, "SHOW TABLES IN meta.default") == [("default", "f", False)]
    hive.sql("DROP TABLE meta.default.f")
    assert rows(hive, "SHOW TABLES IN meta.default") == []


def test_partitions_of_format_tables(hive: Any, server: HiveServer, tmp_path: Path) -> None:
    """Those that are written here are Hive's, too; those that Hive has elsewhere are read there, and only read."""
    client = server.client()
    hive.sql("CREATE TABLE meta.default.f (v INT, p STRING, q INT) USING parquet PARTITIONED BY (p, q)")
    hive.sql("INSERT INTO meta.default.f VALUES (1, 'a b', 1), (2, 'c=d/e', 2)")
    hive.sql("INSERT INTO meta.default.f VALUES (3, 'a b', 1), (4, NULL, 3)")
    null = client.get_table("default", "f").parameters.get("partition.default-name", "__DEFAULT_PARTITION__")
    known = client.get_partitions("default", "f", -1)
    assert sorted(p.values for p in known) == sorted([["a b", "1"], ["c=d/e", "2"], [null, "3"]])
    root = client.get_table("default", "f").sd.location
    places = {p.values[1]: p.sd.location for p in known}
    assert places == {n: f"{root}/p={v}/q={n}" for v, n in (("a b", "1"), ("c%3Dd%2Fe", "2"), (null, "3"))}

    for number, folder in ((7, tmp_path / "far"), (8, Path(root.removeprefix("file:")) / "odd")):
        hive.sql(f"INSERT INTO meta.default.f VALUES ({number}, 'there', {number})")
        part = client.get_partition("default", "f", ["there", str(number)])
        Path(part.sd.location.removeprefix("file:")).rename(folder)
        part.sd.location = str(folder)
        client.alter_partitions("default", "f", [part])
    assert rows(hive, "SELECT v FROM meta.default.f ORDER BY v") == [(1,), (2,), (3,), (4,), (7,), (8,)]
    assert rows(hive, "SELECT v, q FROM meta.default.f WHERE p = 'there' AND q > 7") == [(8, 8)]
    assert ("p=there/q=7",) in rows(hive, "SHOW PARTITIONS meta.default.f")
    for statement in (
        "INSERT INTO meta.default.f VALUES (0, 'there', 7)",
        "INSERT OVERWRITE meta.default.f PARTITION (p = 'there', q = 7) VALUES (0)",
        "INSERT OVERWRITE meta.default.f VALUES (0, 'new', 0)",
        "TRUNCATE TABLE meta.default.f PARTITION (p = 'there', q = 8)",
    ):
        with pytest.raises(
            PySparkException, match=r"partition \(p = 'there', q = '[78]'\) of table default\.f cannot be written"
        ):
            hive.sql(statement)
    assert rows(hive, "SELECT v FROM meta.default.f ORDER BY v") == [(1,), (2,), (3,), (4,), (7,), (8,)]
    part = client.get_partition("default", "f", ["there", "8"])
    part.sd.location = "s3://other/place"
    client.alter_partitions("default", "f", [part])
    with pytest.raises(PySparkException, match=r"there/8 of table default\.f is on another storage.*s3://other/place"):
        rows(hive, "SELECT * FROM meta.default.f")


def test_functions_are_refused(hive: Any) -> None:
    hive.sql("USE meta.default")
    for statement in (
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN x + 1",
        "CREATE OR REPLACE FUNCTION meta.default.f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$",
        "CALL sys.create_function('f', '[]', '[]')",
    ):
        with pytest.raises(PySparkException, match="does not support functions"):
            hive.sql(statement)
    assert rows(hive, "SHOW USER FUNCTIONS IN meta.default") == []
    with pytest.raises(PySparkException, match="UNRESOLVED_ROUTINE"):
        hive.sql("SELECT meta.default.f(1)")


def test_materialized_tables(hive: Any, server: HiveServer) -> None:
    hive.sql("USE meta.default")
    hive.sql("CREATE TABLE t (k INT, v INT)")
    hive.sql("INSERT INTO t VALUES (1, 2), (1, 3)")
    hive.sql("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS SELECT k, sum(v) AS v FROM t GROUP BY k")
    assert rows(hive, "SELECT * FROM m") == [(1, 5)]
    hive.sql("INSERT INTO t VALUES (2, 7)")
    hive.sql("REFRESH MATERIALIZED TABLE m")
    hive.sql("ALTER MATERIALIZED TABLE m SUSPEND")
    assert rows(hive, "SELECT * FROM m ORDER BY k") == [(1, 5), (2, 7)]
    assert [r[1] for r in rows(hive, "SHOW MATERIALIZED TABLES")] == ["m"]
    known = server.client().get_table("default", "m").parameters
    assert (known["type"], known["materialized-table.refresh-status"]) == ("materialized-table", "SUSPENDED")
    hive.sql("DROP MATERIALIZED TABLE m")
    assert [r[1] for r in rows(hive, "SHOW TABLES")] == ["t"]


def test_connect(spark: Any, server: HiveServer, tmp_path: Path) -> None:
    server.clear()
    session = paimon_sql.connect(
        str(tmp_path / "wh"), catalog="lake", metastore="hive", uri=f"thrift://127.0.0.1:{free_port()},{server.uri}"
    )
    session.sql("CREATE TABLE lake.default.t (k INT)")
    assert rows(session, "SHOW TABLES IN lake.default") == [("default", "t", False)]
    with pytest.raises(Exception, match=r"cannot be reached: thrift://127\.0\.0\.1:1: Connection refused"):
        paimon_sql.connect(str(tmp_path / "wh"), catalog="down", metastore="hive", uri="thrift://127.0.0.1:1").sql(
            "SHOW TABLES IN down.default"
        )
