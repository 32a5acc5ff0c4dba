"""PySpark's own surface on Paimon tables: catalog API, pandas-on-Spark, Arrow, caches, checkpoints, threads, tags."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType
from pyspark.testing import assertDataFrameEqual, assertSchemaEqual

from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

THREADS = 8


@pytest.fixture
def table(spark: Any) -> Any:
    """The session, with `t` of two rows, whose key is `k`."""
    spark.sql(
        "CREATE TABLE t (k INT NOT NULL COMMENT 'the key', v STRING) COMMENT 'of a test' PARTITIONED BY (v) "
        "TBLPROPERTIES ('primary-key' = 'k,v', 'bucket' = '1')"
    )
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return spark


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_catalogs_and_databases(table: Any, warehouse: str) -> None:
    catalog = table.catalog
    assert catalog.currentCatalog() == "paimon" and catalog.currentDatabase() == "default"
    assert {"paimon", "spark_catalog"} <= {c.name for c in catalog.listCatalogs()}
    table.sql("CREATE DATABASE d COMMENT 'of a test'")
    assert [d.name for d in catalog.listDatabases()] == ["d", "default"]
    assert [d.name for d in catalog.listDatabases("d*")] == ["d", "default"]
    found = catalog.getDatabase("d")
    assert (found.name, found.catalog) == ("d", "paimon")
    assert found.locationUri == f"{warehouse}/d.db"
    assert catalog.databaseExists("d") and catalog.databaseExists("paimon.d") and not catalog.databaseExists("e")
    catalog.setCurrentDatabase("d")
    assert catalog.currentDatabase() == "d" and catalog.listTables() == []
    catalog.setCurrentCatalog("spark_catalog")
    assert catalog.currentCatalog() == "spark_catalog"
    catalog.setCurrentCatalog("paimon")
    with pytest.raises(AnalysisException):
        catalog.getDatabase("nowhere")


def test_tables_and_columns(table: Any) -> None:
    catalog = table.catalog
    table.sql("CREATE TABLE other (x INT)")
    # a name that Spark's own catalog has, too, is taken for that one by Spark
    assert [(t.name, t.isTemporary) for t in catalog.listTables("paimon.default")] == [("other", False), ("t", False)]
    assert [t.name for t in catalog.listTables("paimon.default", "o*")] == ["other"]
    found = catalog.getTable("paimon.default.t")
    assert (found.name, found.catalog, found.namespace, found.isTemporary) == ("t", "paimon", ["default"], False)
    assert found.description == "of a test" and found.tableType == "MANAGED"
    columns = catalog.listColumns("t")
    assert [(c.name, c.dataType, c.nullable, c.isPartition) for c in columns] == [
        ("k", "int", False, False), ("v", "string", False, True),
    ]  # fmt: skip
    assert columns[0].description == "the key"
    assert catalog.tableExists("t") and catalog.tableExists("paimon.default.t") and not catalog.tableExists("nowhere")
    with pytest.raises(AnalysisException) as refused:
        catalog.getTable("nowhere")
    assert refused.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"


def test_functions(table: Any) -> None:
    catalog, named = table.catalog, "paimon.default.area"
    table.sql("CREATE DATABASE d")
    table.sql("CREATE FUNCTION area(x INT, y INT) RETURNS INT RETURN x * y")
    table.sql("CREATE FUNCTION d.twice(x INT) RETURNS INT RETURN 2 * x")
    # a name that Spark's own catalog has, too, is taken for that one by Spark: so it is for tables
    found = [f for f in catalog.listFunctions("paimon.default") if f.catalog == "paimon"]
    assert [(f.name, f.namespace, f.isTemporary) for f in found] == [("area", ["default"], False)]
    assert [f.name for f in catalog.listFunctions("d") if f.catalog == "paimon"] == ["twice"]
    assert not [f for f in catalog.listFunctions("paimon.default", "x*") if f.catalog == "paimon"]
    assert catalog.functionExists(named) and catalog.functionExists("area") and catalog.functionExists("d.twice")
    assert not catalog.functionExists("paimon.d.area")
    assert (catalog.getFunction(named).name, catalog.getFunction(named).namespace) == ("area", ["default"])
    with pytest.raises(AnalysisException):
        catalog.getFunction("paimon.d.area")
    table.sql("DROP FUNCTION area")
    assert not catalog.functionExists(named)


def test_tables_that_the_catalog_makes(table: Any) -> None:
    schema = StructType([StructField("a", IntegerType()), StructField("b", StringType())])
    options = {"primary-key": "a", "bucket": "1"}
    made = table.catalog.createTable("made", source="paimon", schema=schema, description="by the catalog", **options)
    assert made.count() == 0 and table.catalog.getTable("made").description == "by the catalog"
    table.sql("INSERT INTO made VALUES (1, 'x'), (1, 'y')")
    assert rows(table.table("made")) == [(1, "y")]


def test_caches(table: Any) -> None:
    catalog, frame = table.catalog, table.table("t")
    catalog.cacheTable("t")
    assert catalog.isCached("t") and frame.count() == 2
    table.sql("INSERT INTO t VALUES (3, 'c')")
    assert rows(table.table("t")) == [(1, "a"), (2, "b"), (3, "c")], "a write of the session refreshes its caches"
    catalog.refreshTable("t")
    assert table.table("t").count() == 3
    catalog.uncacheTable("t")
    assert not catalog.isCached("t")
    cached = table.table("t").cache()
    assert cached.count() == 3 and cached.storageLevel.useMemory
    cached.unpersist()
    catalog.clearCache()


def test_caches_behind_row_level_statements(table: Any) -> None:
    table.table("t").cache().count()
    try:
        table.sql("DELETE FROM t WHERE k = 1")
        assert rows(table.table("t")) == [(2, "b")]
        added = "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (3, 'd')"
        table.sql(f"MERGE INTO t USING (SELECT 3 AS k) s ON t.k = s.k {added}")
        assert rows(table.table("t")) == [(2, "b"), (3, "d")]
        table.sql("CALL sys.rollback('t', '1')")
        assert rows(table.table("t")) == [(1, "a"), (2, "b")]
    finally:
        table.catalog.clearCache()


def test_checkpoints(table: Any, tmp_path: Path) -> None:
    table.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    reliable, local = table.table("t").checkpoint(), table.table("t").localCheckpoint()
    table.sql("DELETE FROM t WHERE k = 1")
    assert rows(reliable) == rows(local) == [(1, "a"), (2, "b")], "they are as the table was"
    assert rows(table.table("t")) == [(2, "b")]


def test_arrow(table: Any) -> None:
    found = table.table("t").orderBy("k").toArrow()
    assert isinstance(found, pa.Table) and found.to_pydict() == {"k": [1, 2], "v": ["a", "b"]}
    table.createDataFrame(pa.table({"k": pa.array([5], pa.int32()), "v": ["e"]})).writeTo("t").append()
    assert (5, "e") in rows(table.table("t"))


def test_pandas(table: Any) -> None:
    pytest.importorskip("pandas")
    found = table.table("t").orderBy("k").toPandas()
    assert found.to_dict("list") == {"k": [1, 2], "v": ["a", "b"]}
    found["k"] += 10
    table.createDataFrame(found).selectExpr("CAST(k AS INT) AS k", "v").writeTo("t").append()
    assert table.table("t").count() == 4


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_pandas_on_spark(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    import pyspark.pandas as ps  # noqa: PLC0415  it needs pandas

    monkeypatch.setattr(SparkSession, "_activeSession", table)  # pandas-on-Spark takes the active one
    table._jvm.SparkSession.setActiveSession(table._jsparkSession)
    table.conf.set("spark.sql.ansi.enabled", "false")  # Spark 4.0 demands that
    frame = ps.read_table("t", index_col="k")
    assert frame.v.sort_index().to_pandas().to_dict() == {1: "a", 2: "b"}
    frame["v"] = frame.v.str.upper()
    frame.to_table("upper", mode="overwrite", index_col="k")
    assert rows(table.table("upper")) == [(1, "A"), (2, "B")]
    assert ps.sql("SELECT count(*) AS n FROM {t}", t=ps.read_table("t")).n.to_list() == [2]


def test_testing_helpers(table: Any) -> None:
    expected = table.createDataFrame([(2, "b"), (1, "a")], "k INT, v STRING")
    assertDataFrameEqual(table.table("t"), expected)
    assertSchemaEqual(table.table("t").schema, table.sql("SELECT * FROM t LIMIT 0").schema)
    with pytest.raises(AssertionError):
        assertDataFrameEqual(table.table("t"), table.createDataFrame([(1, "a"), (3, "c")], "k INT, v STRING"))


@pytest.mark.parametrize("own", [False, True], ids=["one session", "a session each"])
def test_threads(table: Any, own: bool) -> None:
    """Each thread writes a table of its own and into one of all, and sees what it wrote."""
    table.sql("CREATE TABLE shared (n INT, i INT) TBLPROPERTIES ('bucket' = '1', 'bucket-key' = 'n')")

    def work(number: int) -> int:
        session = table.newSession() if own else table
        name, into = f"paimon.default.own_{number}", "paimon.default.shared"
        session.sql(f"CREATE TABLE {name} (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
        session.sql(f"INSERT INTO {name} VALUES (1, 'x'), (2, 'y')")
        session.sql(f"UPDATE {name} SET v = '{number}' WHERE k = 2")
        session.createDataFrame([(number, i) for i in range(3)], "n INT, i INT").writeTo(into).append()
        assert rows(session.table(name)) == [(1, "x"), (2, str(number))]
        return session.table(into).where(f"n = {number}").count()

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(work, range(THREADS))) == [3] * THREADS
    assert rows(table.table("shared")) == [(n, i) for n in range(THREADS) for i in range(3)]


@pytest.mark.parametrize("how", ["a tag of jobs", "all"])
def test_interrupting_statements(table: Any, how: str) -> None:
    """From another thread; the session goes on. PySpark keeps the tags of `addTag` by thread, so that only clients of
    Spark Connect, whose session keeps them, can use `interruptTag` so: see `tests/server/test_remote_frames.py`."""
    ended: dict[str, object] = {}

    def run() -> None:
        table.addTag("of this thread")
        table.sparkContext.addJobTag("slow")
        try:
            # one task: a core stays free
            table.sql("SELECT count(*) FROM range(0, 1000000000000, 1, 1) AS r JOIN t ON r.id % 7 = t.k").collect()
        except Exception as error:
            ended["slow"] = error
        finally:
            table.sparkContext.removeJobTag("slow")
        ended["tags"] = table.getTags()

    slow = threading.Thread(target=run)
    slow.start()
    tracker = table.sparkContext.statusTracker()
    wait_until(lambda: bool(tracker.getActiveJobsIds()))
    assert rows(table.table("t")) == [(1, "a"), (2, "b")] and slow.is_alive(), "what has no tag goes on"
    table.addTag("of this thread")
    assert table.interruptTag("of this thread") == [] and slow.is_alive()
    table.clearTags()

    def stopped() -> bool:
        if how == "all":
            table.interruptAll()
        else:
            table.sparkContext.cancelJobsWithTag("slow")
        slow.join(0.5)
        return not slow.is_alive()

    wait_until(stopped)
    assert "cancel" in str(ended["slow"]).lower() and ended["tags"] == {"of this thread"} and table.getTags() == set()
    assert rows(table.table("t")) == [(1, "a"), (2, "b")]
