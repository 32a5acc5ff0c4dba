"""The session a user has: connect, the current catalog, what Spark's own SHOW, DESCRIBE and catalog API answer."""

from __future__ import annotations

import getpass
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import paimon_sql
from paimon_core.jobs import Job
from paimon_core.maintenance.release import FILE_LIST, FileList
from paimon_sql.spark.jvm.gateway import Jvm, accessible_field
from paimon_sql.spark.jvm.sessions import name_parts, parser_of
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.workers.executor import SparkExecutor
from tests.support.root_settings import without_new_catalogs
from tests.support.spark_versions import said_by

pytestmark = pytest.mark.spark


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@pytest.fixture
def active(root_session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session without anything of ours, active in this thread."""
    with without_new_catalogs(root_session):
        session = root_session.newSession()
        # to PySpark the first one is active, until another makes a DataFrame of values
        monkeypatch.setattr(SparkSession, "_activeSession", root_session)
        session._jvm.SparkSession.setActiveSession(session._jsparkSession)
        yield session
        session._jvm.SparkSession.clearActiveSession()


@pytest.fixture
def described(spark: Any) -> Any:
    """A session with the table `t`, partitioned, commented, with keys."""
    spark.sql(
        "CREATE TABLE t (k INT COMMENT 'the key', v STRING, m MAP<STRING, INT>, p DATE) COMMENT 'a table' "
        "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2')"
    )
    spark.sql("INSERT INTO t VALUES (1, 'a', map('x', 1), DATE '2024-01-01'), (2, 'b', NULL, DATE '2024-01-02')")
    return spark


# -- connect --------------------------------------------------------------------------------------------------------


def test_connect_uses_the_active_session(active: Any, tmp_path: Path) -> None:
    spark = paimon_sql.connect(str(tmp_path / "wh"))
    assert spark is SparkSession.getActiveSession()
    assert rows(spark, "SELECT current_catalog(), current_database()") == [("paimon", "default")]
    spark.sql("CREATE TABLE t (k INT)")
    assert Path(tmp_path, "wh", "default.db", "t", "schema", "schema-0").exists()


def test_workers_are_forked_with_their_imports(root_session: Any) -> None:
    context, key = root_session.sparkContext, "spark.python.daemon.module"
    settings = context._jsc.sc().conf()
    chosen = settings.get(key)
    paimon_sql.install(root_session.newSession())
    assert settings.get(key) == chosen, "what the user has set stays"
    settings.remove(key)
    try:
        paimon_sql.install(root_session.newSession())
        assert settings.get(key) == "paimon_sql.spark.workers.daemon"
        parents = context.parallelize([0], 1).map(lambda _: Path(f"/proc/{os.getppid()}/cmdline").read_text()).collect()
    finally:
        settings.set(key, chosen)
    assert "\0paimon_sql.spark.workers.daemon\0" in parents[0]


def test_jobs_and_queries_have_the_same_workers(spark: Any) -> None:
    executor = SparkExecutor(SessionBridge(Jvm(spark.sparkContext), spark._jsparkSession))
    before = dict(spark.sparkContext.environment)
    job = Job("ask for the parent", lambda _: FileList((str(os.getppid()),)), FILE_LIST, FILE_LIST, (FileList(()),) * 2)
    parents = executor.run(job)
    asked = spark.range(1).mapInArrow(lambda _: [pa.RecordBatch.from_pydict({"p": [str(os.getppid())]})], "p string")
    assert {p.paths[0] for p in parents} == {asked.collect()[0].p}
    assert spark.sparkContext.environment == before


@pytest.mark.parametrize("spelling", ["{path}", "{path}/", "file:{path}", "file://{path}", "{path}/../wh"])
def test_spellings_of_the_warehouse(active: Any, tmp_path: Path, spelling: str) -> None:
    spark = paimon_sql.connect(spelling.format(path=tmp_path / "wh"))
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    assert rows(spark, "SELECT * FROM t") == [(1,)]
    assert Path(tmp_path, "wh", "default.db", "t", "snapshot", "snapshot-1").exists()


def test_new_sessions_have_the_catalogs(active: Any, tmp_path: Path) -> None:
    spark = paimon_sql.connect(str(tmp_path / "wh"), catalog="lake", **{"table-default.file.compression": "snappy"})
    spark.sql("CREATE TABLE t (k INT)")
    spark.conf.set("spark.sql.catalog.paimon_path.fsspec.some", "thing")
    spark.conf.set("spark.sql.shuffle.partitions", "17")
    other = spark.newSession()
    assert "lake" in [c.name for c in other.catalog.listCatalogs()], "without a statement before"
    other.catalog.setCurrentCatalog("lake")
    assert rows(other, "SHOW TABLES") == [("default", "t", False)]
    assert ("file.compression", "snappy") in rows(other, "SHOW TBLPROPERTIES t")
    assert other.conf.get("spark.sql.catalog.paimon_path.fsspec.some") == "thing"
    assert other.conf.get("spark.sql.shuffle.partitions") != "17", "other settings are a session's own"
    paimon_sql.connect(str(tmp_path / "elsewhere"), catalog="lake")
    assert rows(spark, "SHOW TABLES") == []
    assert rows(other, "SHOW TABLES") == [("default", "t", False)], "made before: it has settings of its own"
    assert rows(spark.newSession(), "SHOW TABLES IN lake.default") == []


def test_a_value_that_looks_like_a_catalog_makes_none(spark: Any) -> None:
    spark.conf.set("some.value", "x,spark.sql.catalog.evil=paimon_sql.SparkCatalog,y")
    spark.sql("SELECT 1").collect()
    assert "evil" not in [row.catalog for row in spark.sql("SHOW CATALOGS").collect()]


def test_two_sessions_of_one_application_are_equipped(root_session: Any, warehouse: str) -> None:
    """Sessions share their extensions: a session made after both must get one hook, not one around the other."""
    setting = accessible_field(root_session._jsparkSession.sessionState(), "sqlParser")
    kept = parser_of(root_session._jsparkSession)
    paimon_sql.install(root_session.newSession())
    try:
        paimon_sql.install(root_session)  # its parser is older than the hook in the extensions
        with without_new_catalogs(root_session):
            spark = root_session.newSession()
            spark.conf.set("spark.sql.catalog.lake", "paimon_sql.SparkCatalog")
            spark.conf.set("spark.sql.catalog.lake.warehouse", warehouse)
            spark.sql("CREATE TABLE lake.default.t (k INT)")
            spark.sql("INSERT INTO lake.default.t VALUES (1)")
            spark.sql("BEGIN ALTER TABLE lake.default.t CREATE TAG first; END")
            assert rows(spark, "SELECT tag_name FROM lake.default.`t$tags`") == [("first",)]
    finally:
        setting.set(root_session._jsparkSession.sessionState(), kept)


def test_a_script_calls_what_is_named_like_a_placeholder(spark: Any) -> None:
    with pytest.raises(PySparkException, match="statement of Paimon 7"):
        spark.sql("BEGIN CALL `statement of Paimon 7`(); END")


def test_cloned_sessions_have_the_catalogs(active: Any, tmp_path: Path) -> None:
    spark = paimon_sql.connect(str(tmp_path / "wh"))
    spark.sql("CREATE TABLE t (k INT)")
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    assert rows(clone, "SHOW TABLES IN paimon.default") == [("default", "t", False)]


def test_cloned_sessions_begin_where_their_original_is(active: Any, tmp_path: Path) -> None:
    spark = paimon_sql.connect(str(tmp_path / "wh"), catalog="lake")
    spark.sql("CREATE DATABASE shop")
    spark.sql("CREATE TABLE shop.orders (k INT)")

    def clone() -> Any:
        return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())

    here = "SELECT current_catalog(), current_database()"
    for place in ("lake.shop", "spark_catalog.default", "lake.shop"):
        spark.sql(f"USE {place}")
        assert rows(clone(), here) == [tuple(place.split("."))]
    before = clone()
    spark.sql("USE lake.default")
    assert before.table("orders").columns == ["k"] and rows(before, here) == [("lake", "shop")]
    assert rows(spark, here) == [("lake", "default")] == rows(spark.newSession(), here)
    spark.sql("USE shop")
    dropped = clone()
    spark.sql("DROP DATABASE lake.shop CASCADE")
    assert rows(dropped, here) == [("lake", "default")]


def test_batches_of_a_stream_begin_where_it_started(active: Any, tmp_path: Path) -> None:
    spark = paimon_sql.connect(str(tmp_path / "wh"), catalog="lake")
    spark.sql("CREATE DATABASE shop")
    spark.sql("USE shop")
    spark.sql("CREATE TABLE source (k INT)")
    spark.sql("INSERT INTO source VALUES (1)")
    spark.sql("CREATE TABLE copied (k INT)")
    query = spark.readStream.table("source").writeStream.foreachBatch(lambda batch, _: batch.writeTo("copied").append())
    query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    assert rows(spark, "SELECT k FROM copied") == [(1,)]


def test_threads_have_the_catalogs(active: Any, tmp_path: Path) -> None:
    found = []

    def asks() -> None:
        spark = SparkSession.builder.getOrCreate()  # no session is active in a new thread
        found.append((spark, rows(spark, "SHOW TABLES IN paimon.default")))
        found.append((paimon_sql.connect(str(tmp_path / "wh")), rows(spark, "SHOW TABLES")))

    spark = paimon_sql.connect(str(tmp_path / "wh"))
    spark.sql("CREATE TABLE t (k INT)")
    thread = threading.Thread(target=asks)
    thread.start()
    thread.join()
    assert found == [(spark, [("default", "t", False)])] * 2


def test_connect_with_a_relative_warehouse(active: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paimon_sql.connect("wh").sql("CREATE TABLE t (k INT)")
    assert Path(tmp_path, "wh", "default.db", "t").is_dir()


def test_connect_with_names_and_options(active: Any, tmp_path: Path) -> None:
    options = {"table-default.file.compression": "snappy", "spark.sql.shuffle.partitions": "3"}
    spark = paimon_sql.connect(str(tmp_path / "wh"), catalog="lake", metastore="filesystem", **options)
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    assert spark.catalog.currentCatalog() == "lake"
    spark.sql("CREATE TABLE t (k INT)")
    assert ("file.compression", "snappy") in rows(spark, "SHOW TBLPROPERTIES t")


def test_names_without_a_catalog_mean_the_same_in_sessions_made_of_this_one(active: Any, tmp_path: Path) -> None:
    spark = paimon_sql.connect(str(tmp_path / "wh"), catalog="lake")
    spark.sql("CREATE DATABASE d")
    spark.sql("CREATE TABLE d.t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    spark.sql("CREATE TABLE d.source (k INT, v STRING)")
    spark.sql("INSERT INTO d.source VALUES (1, upper('a'))")

    def write_all(frame: Any, session: Any) -> None:
        frame.createOrReplaceTempView("batch")
        session.sql("MERGE INTO d.t USING batch b ON t.k = b.k WHEN NOT MATCHED THEN INSERT *")
        frame.write.mode("append").saveAsTable("d.t")
        frame.write.insertInto("d.t")
        frame.writeTo("d.t").append()
        frame.mergeInto("d.t", frame.k == F.col("d.t.k")).whenNotMatched().insertAll().merge()
        assert [r.v for r in session.table("d.t").select("v").collect()] == ["A"]
        session.sql("CALL sys.compact(table => 'd.t')")

    def each(batch: Any, number: int) -> None:
        try:
            write_all(batch, batch.sparkSession)
        except Exception as error:
            failed.append(error)

    failed: list[Exception] = []
    options = {"checkpointLocation": str(tmp_path / "checkpoint")}
    query = spark.readStream.table("d.source").selectExpr("k", "upper(v) AS v").writeStream.foreachBatch(each)
    query.options(**options).trigger(availableNow=True).start().awaitTermination()
    assert failed == []
    other = spark.newSession()
    assert rows(other, "SELECT current_catalog(), current_database()") == [("lake", "default")]
    write_all(other.createDataFrame([(1, "A")], "k INT, v STRING"), other)


def test_a_default_catalog_of_the_user_stays(active: Any, tmp_path: Path) -> None:
    SparkSession.getActiveSession().conf.set("spark.sql.defaultCatalog", "spark_catalog")
    spark = paimon_sql.connect(str(tmp_path / "wh"))
    assert spark.conf.get("spark.sql.defaultCatalog") == "spark_catalog"
    assert rows(spark, "SELECT current_catalog()") == [("paimon",)]
    spark.conf.unset("spark.sql.defaultCatalog")
    for catalog in ("one", "two"):
        paimon_sql.connect(str(tmp_path / catalog), catalog=catalog)
        assert spark.conf.get("spark.sql.defaultCatalog") == catalog
    assert rows(spark.newSession(), "SELECT current_catalog()") == [("two",)]
    spark.sql("USE one.default")
    spark.sql("DROP CATALOG two")
    assert spark.conf.get("spark.sql.defaultCatalog", None) is None


@pytest.mark.parametrize("name", ["paimon_sql.SparkCatalog", "org.apache.paimon.spark.SparkCatalog"])
def test_defaults_that_call_functions_with_a_default_catalog(active: Any, tmp_path: Path, name: str) -> None:
    """Spark computes such a default in a session's settings without the session's catalogs."""
    active.conf.set("spark.sql.catalog.lake", name)
    active.conf.set("spark.sql.catalog.lake.warehouse", str(tmp_path / "wh"))
    active.conf.set("spark.sql.defaultCatalog", "lake")
    spark = paimon_sql.install(active)
    spark.sql("USE lake.default")
    spark.sql("CREATE TABLE t (k INT, tags ARRAY<STRING> DEFAULT ARRAY('a'), n INT DEFAULT abs(-1))")
    spark.sql("INSERT INTO t (k) VALUES (1)")
    assert rows(spark, "SELECT * FROM t") == [(1, ["a"], 1)]
    spark.sql("CREATE TABLE spark_catalog.default.of_spark (k INT, n INT DEFAULT abs(-1)) USING PARQUET")
    try:
        spark.sql("ALTER TABLE spark_catalog.default.of_spark ALTER COLUMN n SET DEFAULT abs(-2)")
        spark.sql("INSERT INTO spark_catalog.default.of_spark (k) VALUES (1)")
        assert rows(spark, "SELECT * FROM spark_catalog.default.of_spark") == [(1, 2)]
    finally:
        spark.sql("DROP TABLE spark_catalog.default.of_spark")


def test_connect_twice(active: Any, tmp_path: Path) -> None:
    first = paimon_sql.connect(str(tmp_path / "one"))
    first.sql("CREATE TABLE t (k INT)")
    second = paimon_sql.connect(str(tmp_path / "two"))
    assert rows(second, "SHOW TABLES") == []
    assert rows(paimon_sql.connect(str(tmp_path / "one")), "SHOW TABLES") == [("default", "t", False)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"warehouse": ""}, r"warehouse"),
        ({"warehouse": "/wh", "metastore": "nope"}, r"'metastore' cannot be 'nope'; this version supports filesystem"),
        ({"warehouse": "nope://bucket/wh"}, r"nope://"),
        ({"warehouse": "s3://user:secret@bucket/wh"}, r"pass them as catalog options"),
    ],
)
def test_connect_with_a_mistake(active: Any, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(PySparkException, match=message) as caught:
        paimon_sql.connect(**arguments)
    assert "secret" not in str(caught.value)
    assert rows(active, "SELECT 1") == [(1,)]


# -- the catalog API ------------------------------------------------------------------------------------------------


def test_listings(spark: Any) -> None:
    spark.sql("CREATE DATABASE other")
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    spark.sql("CREATE TABLE other.u (k INT)")
    catalog = spark.catalog
    assert {c.name for c in catalog.listCatalogs()} == {"paimon", "spark_catalog"}
    assert [d.name for d in catalog.listDatabases()] == ["default", "other"]
    assert [d.name for d in catalog.listDatabases("o*")] == ["other"]
    # by the bare name of a database that it has too, Spark means its own catalog
    assert [(t.catalog, t.namespace, t.name, t.isTemporary) for t in catalog.listTables("paimon.default")] == [
        ("paimon", ["default"], "t", False)
    ]
    assert [[t.name for t in catalog.listTables(n)] for n in ("paimon.other", "other")] == [["u"], ["u"]]
    assert catalog.listTables("other", "x*") == []
    assert [(c.name, c.dataType, c.nullable) for c in catalog.listColumns("t")] == [
        ("k", "int", True),
        ("v", "string", True),
    ]
    assert (catalog.getTable("t").name, catalog.getDatabase("other").name) == ("t", "other")
    assert [catalog.tableExists(n) for n in ("t", "other.u", "paimon.other.u")] == [True] * 3
    assert [catalog.tableExists(n) for n in ("nope", "nope.t", "paimon.nope.t")] == [False] * 3
    assert [catalog.databaseExists(n) for n in ("other", "paimon.other", "nope")] == [True, True, False]


def test_the_current_database(spark: Any) -> None:
    spark.sql("CREATE DATABASE other")
    spark.sql("CREATE TABLE other.u (k INT)")
    spark.sql("USE other")
    assert spark.catalog.currentDatabase() == "other"
    assert spark.table("u").collect() == []
    assert [t.name for t in spark.catalog.listTables()] == ["u"]
    spark.catalog.setCurrentDatabase("default")
    with pytest.raises(AnalysisException, match="`u`"):
        spark.table("u")
    spark.catalog.setCurrentCatalog("spark_catalog")
    assert rows(spark, "SELECT current_catalog()") == [("spark_catalog",)]
    spark.sql("USE paimon.other")
    assert rows(spark, "SELECT * FROM u") == []
    with pytest.raises(AnalysisException, match="nope"):
        spark.sql("USE nope")


def test_the_default_catalog_of_the_session(root_session: Any, warehouse: str) -> None:
    session = root_session.newSession()
    session.conf.set("spark.sql.catalog.lake", "paimon_sql.SparkCatalog")
    session.conf.set("spark.sql.catalog.lake.warehouse", warehouse)
    session.conf.set("spark.sql.defaultCatalog", "lake")
    paimon_sql.install(session)
    session.sql("CREATE TABLE t (k INT)")
    assert rows(session, "SHOW TABLES") == [("default", "t", False)]
    assert rows(session, "SELECT current_catalog(), current_database()") == [("lake", "default")]


def test_databases(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE DATABASE other COMMENT 'dropped' WITH DBPROPERTIES ('a' = 'b')")
    spark.sql("CREATE DATABASE IF NOT EXISTS other")
    with pytest.raises(AnalysisException, match="SCHEMA_ALREADY_EXISTS"):
        spark.sql("CREATE DATABASE other")
    assert rows(spark, "SHOW DATABASES LIKE 'o*'") == [("other",)]
    assert ("Location", f"{warehouse}/other.db") in rows(spark, "DESCRIBE DATABASE other")
    spark.sql("CREATE TABLE other.t (k INT)")
    with pytest.raises(AnalysisException, match=r"SCHEMA_NOT_EMPTY.*other"):
        spark.sql("DROP DATABASE other")
    spark.sql("DROP DATABASE other CASCADE")
    assert not Path(warehouse, "other.db").exists()
    spark.sql("DROP DATABASE IF EXISTS other")


# -- SHOW and DESCRIBE ----------------------------------------------------------------------------------------------


def test_describe(described: Any) -> None:
    columns = [("k", "int", "the key"), ("v", "string", None), ("m", "map<string,int>", None), ("p", "date", None)]
    partitions = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), ("p", "date", None)]
    assert rows(described, "DESCRIBE t") == columns + partitions
    one = [("col_name", "k"), ("data_type", "int"), ("comment", "the key")]
    assert rows(described, "DESC paimon.default.t k") == one
    extended = {name: value for name, value, _ in rows(described, "DESCRIBE EXTENDED t")}
    named = {"Catalog": "paimon", "Database": "default", "Table": "t"}
    expected = {"Provider": "paimon", "Comment": "a table"}
    expected |= said_by({(4, 0): {"Name": "paimon.default.t"}, (4, 2): named})
    assert expected.items() <= extended.items()
    assert "primary-key=k,p" in extended["Table Properties"]
    assert rows(described, "DESCRIBE EXTENDED t")[-3:] == [
        ("# Column Not Null", "", ""),
        ("k", "int", "NOT NULL"),
        ("p", "date", "NOT NULL"),
    ]
    described.sql("CREATE TABLE nulls (k INT)")
    assert "NOT NULL" not in str(rows(described, "DESCRIBE EXTENDED nulls"))
    described.sql("CREATE TEMPORARY VIEW w AS SELECT k FROM t")  # Spark's own
    assert "NOT NULL" not in str(rows(described, "DESCRIBE EXTENDED w"))


def test_show(described: Any) -> None:
    assert rows(described, "SHOW COLUMNS IN t") == [("k",), ("v",), ("m",), ("p",)]
    for view in ("t", "t$audit_log", "t$ro"):
        assert rows(described, f"SHOW PARTITIONS {view}") == [("p=2024-01-01",), ("p=2024-01-02",)]
    with pytest.raises(PySparkException, match="drop partitions in the table itself"):
        described.sql("ALTER TABLE t$audit_log DROP PARTITION (p = DATE '2024-01-02')")
    assert rows(described, "SELECT value FROM t$options WHERE key = 'owner'") == [(getpass.getuser(),)]
    assert rows(described, "SHOW PARTITIONS t PARTITION (p = DATE '2024-01-02')") == [("p=2024-01-02",)]
    assert rows(described, "SHOW TBLPROPERTIES t") == [("bucket", "2"), ("primary-key", "k,p")]
    assert rows(described, "SHOW TBLPROPERTIES t ('bucket')") == [("bucket", "2")]
    assert rows(described, "SHOW TABLES FROM paimon.default LIKE 't'") == [("default", "t", False)]
    information = rows(described, "SHOW TABLE EXTENDED LIKE 't'")[0][3]
    assert "Provider: paimon" in information and " |-- k: integer (nullable = false)" in information


def test_show_create_table_makes_an_equal_table(described: Any) -> None:
    (statement,) = rows(described, "SHOW CREATE TABLE t")[0]
    assert "COMMENT 'a table'" in statement and "COMMENT 'the key'" in statement
    described.sql(statement.replace("default.t ", "default.copy "))
    for query in ("DESCRIBE {}", "SHOW TBLPROPERTIES {}"):
        assert rows(described, query.format("copy")) == rows(described, query.format("t"))


def test_show_create_table_of_many_tables(described: Any) -> None:
    tables = (
        "(`a b` STRING COMMENT 'it\\'s `q`', c CHAR(3) NOT NULL, d VARCHAR(9), e DECIMAL(38, 18)) COMMENT 'say \"no\"'",
        "(a BINARY, b TIMESTAMP, c TIMESTAMP_NTZ, d DATE, e TINYINT, f SMALLINT, g FLOAT, h DOUBLE, i BOOLEAN)",
        "(a ARRAY<MAP<STRING, STRUCT<x: INT COMMENT 'a \\'', `y z`: ARRAY<VARCHAR(3)>>>>, b MAP<INT, DATE>, v VARIANT)",
        "(k INT, p STRING, q DATE) PARTITIONED BY (p, q) TBLPROPERTIES ('primary-key' = 'k,p,q', 'bucket' = '3')",
        "(k INT, s INT DEFAULT 1, t STRING DEFAULT 'a\\'b') TBLPROPERTIES ('bucket-key' = 'k', 'bucket' = '2')",
        "(k INT PRIMARY KEY NOT ENFORCED, v BYTES) WITH ('merge-engine' = 'partial-update')",
    )
    stored = "SELECT fields, partition_keys, primary_keys, options, comment FROM `{}$schemas`"
    for i, definition in enumerate(tables):
        described.sql(f"CREATE TABLE first_{i} {definition}")
        (statement,) = rows(described, f"SHOW CREATE TABLE first_{i}")[0]
        described.sql(statement.replace(f"first_{i} ", f"again_{i} "))
        assert rows(described, stored.format(f"again_{i}")) == rows(described, stored.format(f"first_{i}")), statement


def test_comments_and_properties(described: Any) -> None:
    described.sql("COMMENT ON TABLE t IS 'another'")
    described.sql("ALTER TABLE t SET TBLPROPERTIES ('owner.team' = 'x', 'target-file-size' = '64 mb')")
    described.sql("ALTER TABLE t UNSET TBLPROPERTIES ('owner.team')")
    extended = {name: value for name, value, _ in rows(described, "DESCRIBE EXTENDED t")}
    assert extended["Comment"] == "another" and "target-file-size=64 mb" in extended["Table Properties"]
    assert "owner.team" not in extended["Table Properties"]
    assert rows(described, "SELECT count(*) FROM t") == [(2,)]


def test_rename_and_drop(described: Any, warehouse: str) -> None:
    described.sql("CREATE DATABASE other")
    described.sql("ALTER TABLE t RENAME TO other.u")
    assert rows(described, "SELECT count(*) FROM other.u") == [(2,)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        described.sql("SELECT * FROM t")
    described.sql("DROP TABLE other.u")
    assert not Path(warehouse, "other.db", "u").exists()
    described.sql("DROP TABLE IF EXISTS other.u")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        described.sql("DROP TABLE other.u")


def test_explain_shows_what_is_read(described: Any) -> None:
    (text,) = rows(described, "EXPLAIN SELECT v FROM t WHERE p = DATE '2024-01-01' AND k > 0")[0]
    assert "PaimonScan[raw] default.t, snapshot 1, manifests 1/1, files 1/2" in text and "k > 0" in text
    assert rows(described, "EXPLAIN FORMATTED SELECT * FROM t")
    assert rows(described, "EXPLAIN COST SELECT * FROM t")


# -- statements run once --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (1)",
        "INSERT OVERWRITE t VALUES (1)",
        "CREATE TABLE u AS SELECT 1 AS k",
        "UPDATE t SET k = 1",
        "DELETE FROM t WHERE k < 1",
        "MERGE INTO t USING (SELECT 0 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET k = 2",
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "TRUNCATE TABLE t",
    ],
)
def test_a_statement_runs_once(spark: Any, statement: str) -> None:
    """Notebooks ask a data frame for its columns, its count and its rows."""
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (0)")
    frame = spark.sql(statement)
    assert (frame.columns, frame.count(), frame.collect(), frame.isEmpty()) == ([], 0, [], True)
    frame.show()
    frame._jdf.showString(20, 20, False)
    name = "u" if "u AS" in statement else "t"
    assert rows(spark, f"SELECT count(*) FROM `{name}$snapshots`") == [(1 if name == "u" else 2,)]


def test_a_call_runs_once(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    for k in range(2):
        spark.sql(f"INSERT INTO t VALUES ({k})")
    frame = spark.sql("CALL sys.compact('t')")
    spark.sql("INSERT INTO t VALUES (2)")
    assert (frame.count(), len(frame.collect()), frame.columns) == (1, 1, ["result"])
    assert rows(spark, "SELECT commit_kind FROM `t$snapshots` ORDER BY snapshot_id DESC LIMIT 1") == [("APPEND",)]


def test_copying_runs_once(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1\n2\n")
    spark.sql("CREATE TABLE t (k INT)")
    frame = spark.sql(f"COPY INTO t FROM '{tmp_path}' FILE_FORMAT = (TYPE = CSV) FORCE = TRUE")
    (told,) = frame.collect()
    assert (frame.count(), frame.isEmpty(), frame.collect()) == (1, False, [told]), told
    frame._jdf.showString(20, 20, False)
    assert rows(spark, "SELECT total_record_count FROM `t$snapshots`") == [(2,)]


def test_a_query_sees_one_version(spark: Any) -> None:
    """A data frame reads what is there when it is asked; a query reads one version throughout."""
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    frame = spark.table("t")
    spark.sql("INSERT INTO t VALUES (2)")
    assert frame.count() == len(frame.collect()) == 2
    assert rows(spark, "SELECT (SELECT count(*) FROM t), count(*), count(DISTINCT k) FROM t") == [(2, 2, 2)]


def test_catalogs_are_created_and_dropped(spark: Any, tmp_path: Path) -> None:
    create = f"CREATE CATALOG other WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}/other')"
    assert spark.sql(create).collect() == []
    spark.sql("USE CATALOG other")
    spark.sql("CREATE TABLE t (k INT)")
    assert (tmp_path / "other" / "default.db" / "t").is_dir()
    for statement, message in {
        create: "There is a catalog 'other' already",
        "CREATE CATALOG x WITH ('type' = 'hive')": "cannot be of type 'hive'",
        "CREATE CATALOG x WITH ('metastore' = 'nope')": "'metastore' cannot be 'nope'",
        "CREATE CATALOG IF NOT EXISTS x WITH ('type' = 'paimon')": "needs the option 'warehouse'",
        "DROP CATALOG other": "is the current one",
        "DROP CATALOG nope": "no Paimon catalog 'nope'",
        "CREATE CATALOG x": "needs WITH",
    }.items():
        with pytest.raises(AnalysisException, match=message):
            spark.sql(statement)
    assert "x" not in {row[0] for row in spark.sql("SHOW CATALOGS").collect()}
    spark.sql("USE paimon.default")
    spark.sql("DROP CATALOG IF EXISTS nope")
    spark.sql("DROP CATALOG other")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM other.default.t")
    spark.sql(create.replace("CATALOG", "CATALOG IF NOT EXISTS"))
    assert spark.sql("SELECT count(*) FROM other.default.t").collect() == [(0,)]


@pytest.mark.parametrize(
    "name", ["t", "_t", "cat.db.T1", "select.table.order", "`a.b`.c", "a . b", "`1`", "db.`t$files`"]
)
def test_names_have_the_parts_that_sparks_parser_finds(spark: Any, name: str) -> None:
    bridge = SessionBridge(Jvm(spark.sparkContext), spark._jsparkSession)
    assert bridge.name_parts(name) == name_parts(spark._jsparkSession, name)
