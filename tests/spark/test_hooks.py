"""Each hook of the bridge into Spark, alone: where another version of Spark moves one, this says which."""

from __future__ import annotations

import importlib
import os
import pkgutil
import threading
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql.types import IntegerType, StringType, StructField, StructType, TimestampNTZType, TimestampType

import paimon_sql
from paimon_core.errors import InvalidOptionError
from paimon_core.jobs import Job
from paimon_core.maintenance.release import FILE_LIST, FileList
from paimon_sql import spark as bridge
from paimon_sql.spark.jvm.arrow_schemas import arrow_schema
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans.rows import internal_rows
from paimon_sql.spark.jvm.sessions import java_session
from paimon_sql.spark.proxy import Proxy
from paimon_sql.spark.session_bridge import SessionBridge
from paimon_sql.spark.statements.parser import registry_of
from paimon_sql.spark.workers.executor import SparkExecutor
from paimon_sql.spark.write import write as written
from tests.support.long_session import held
from tests.support.waiting import wait_until

pytestmark = pytest.mark.spark

KEYED = "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')"


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


def plan(spark: Any, query: str) -> str:
    """The physical plan."""
    return str(spark.sql(f"EXPLAIN {query}").collect()[0][0])


def new_session(root_session: Any, **settings: str) -> Any:
    """A session without the hook, with settings (`__` for `.`)."""
    session = root_session.newSession()
    for key, value in settings.items():
        session.conf.set("spark.sql.catalog." + key.replace("__", "."), value)
    return session


# -- the parser, sessions and catalogs ------------------------------------------------------------------------------


def test_install_on_a_running_session(root_session: Any, warehouse: str) -> None:
    session = new_session(root_session, running="paimon_sql.SparkCatalog", running__warehouse=warehouse)
    assert rows(session, "SELECT 1") == [(1,)]
    assert paimon_sql.install(session) is session
    assert rows(session, "SHOW DATABASES IN running") == [("default",)]


def test_install_is_idempotent(spark: Any) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog("paimon")
    for _ in range(2):
        assert paimon_sql.install(spark) is spark
    assert spark._jsparkSession.sessionState().sqlParser().equals(parser)
    assert spark._jsparkSession.sessionState().catalogManager().catalog("paimon").equals(catalog)


def test_new_sessions_inherit_the_hook(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    other = spark.newSession()
    assert rows(other, "SHOW TABLES IN paimon.default") == [("default", "t", False)]
    other.conf.set("spark.sql.catalog.other", "paimon_sql.SparkCatalog")
    other.conf.set("spark.sql.catalog.other.warehouse", warehouse)
    assert rows(other, "SHOW TABLES IN other.default") == [("default", "t", False)]
    with pytest.raises(AnalysisException, match=r"other"):
        spark.sql("SHOW TABLES IN other.default")


class _Task(Proxy):
    """A `Runnable` of a Python function."""

    def __init__(self, jvm: Jvm, function: Callable[[], object]) -> None:
        super().__init__(jvm)
        self.function = function

    def run(self) -> None:
        self.function()

    class Java:
        implements = ["java.lang.Runnable"]


def test_threads_of_the_jvm_share_connections(spark: Any) -> None:
    jvm = Jvm(spark.sparkContext)
    thread, seen, idle = jvm.java_class("java.lang.Thread"), [], 16
    before = threading.active_count()
    for i in range(2 * idle):  # each by itself: its Python calls Java, which calls Python
        inner = _Task(jvm, lambda i=i: seen.append(i))
        one = thread(_Task(jvm, lambda inner=inner: jvm.java_class("java.util.Objects").toString(inner, inner.run())))
        one.start()
        one.join()
    assert seen == list(range(2 * idle))
    wait_until(lambda: threading.active_count() <= before + 1, threading.enumerate)
    together = threading.Barrier(2 * idle)
    all_at_once = [thread(_Task(jvm, together.wait)) for _ in range(2 * idle)]
    for one in all_at_once:
        one.start()
    for one in all_at_once:
        one.join()
    # a thread ends once it sees that its connection was closed
    wait_until(lambda: threading.active_count() <= before + idle, threading.enumerate)


def test_a_thread_that_ends_leaves_no_connection(spark: Any) -> None:
    spark.sql("CREATE TABLE t AS SELECT 1 AS k")
    client = spark.sparkContext._gateway._gateway_client
    used: list[weakref.ref[Any]] = []

    def work() -> None:
        spark.table("t").collect()
        used.append(weakref.ref(client.get_thread_connection()))
        assert used[-1]() in client.deque

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(used) == 2
    wait_until(lambda: not any(one() in client.deque for one in used), lambda: (used, client.deque))


def test_sessions_are_released(spark: Any) -> None:
    pool = spark.sparkContext._gateway.gateway_property.pool
    for _ in range(5):
        assert rows(spark.newSession(), "SELECT 1") == [(1,)]
    held(spark)
    before = sum(type(p).__name__ == "PaimonParser" for p in list(pool.dict.values()))
    for _ in range(5):
        assert rows(spark.newSession(), "SELECT 1") == [(1,)]
    held(spark)
    assert sum(type(p).__name__ == "PaimonParser" for p in list(pool.dict.values())) <= before


def test_a_session_has_one_registry_of_catalogs(spark: Any) -> None:
    registry = registry_of(spark)
    assert registry is not None and registry_of(spark) is registry
    spark.sql("CREATE TABLE t (k INT)")
    spark.range(1).selectExpr("CAST(id AS INT) AS k").writeTo("t").append()
    assert registry_of(spark) is registry, "writes of DataFrames make no other"
    assert registry_of(spark.newSession()) is not registry


def test_statements_leave_the_settings_of_the_session(spark: Any) -> None:
    """Fields that nested columns lack are NULL without the setting by which Spark fills them."""
    spark.sql("CREATE TABLE t (k INT, s STRUCT<a: INT, b: INT>)")
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    before = spark.sql("SET").collect()
    spark.sql("INSERT INTO t BY NAME SELECT 1 AS k, named_struct('b', 2) AS s")
    spark.sql("INSERT INTO t BY NAME SELECT 2 AS k, named_struct('b', 3, 'c', 4) AS s")
    assert spark.sql("SET").collect() == before
    spark.conf.unset("spark.paimon.write.merge-schema")
    before = spark.sql("SET").collect()
    more = spark.sql("SELECT 3 AS k, named_struct('c', 5) AS s")
    more.writeTo("t").option("write.merge-schema", "true").append()
    assert spark.sql("SET").collect() == before
    expected = [(1, None, 2, None), (2, None, 3, 4), (3, None, None, 5)]
    assert rows(spark, "SELECT k, s.a, s.b, s.c FROM t ORDER BY k") == expected


def test_jobs_leave_the_environment_of_the_context(spark: Any) -> None:
    registry, before = registry_of(spark), dict(spark.sparkContext.environment)
    assert registry is not None
    tasks = FileList(("a",)), FileList(("b",))
    job = Job("ask for the setting", with_traceback_setting, FILE_LIST, FILE_LIST, tasks)
    assert SparkExecutor(registry.bridge).run(job) == [FileList(("a", "1")), FileList(("b", "1"))]
    assert spark.sparkContext.environment == before


def with_traceback_setting(task: FileList) -> FileList:
    """The task and the setting that the workers of scans and writes have, of which the context knows nothing."""
    return FileList((*task.paths, os.environ.get("SPARK_SIMPLIFIED_TRACEBACK", "none")))


def test_a_catalog_configured_after_install(spark: Any, tmp_path: Path) -> None:
    spark.sql("SET spark.sql.catalog.late = paimon_sql.SparkCatalog")
    spark.sql(f"SET spark.sql.catalog.late.warehouse = {tmp_path}/late")
    spark.sql("CREATE TABLE late.default.t (k INT)")
    assert spark.table("late.default.t").collect() == []


@pytest.mark.parametrize("through", ["table", "writeTo", "tableExists", "read.table"])
def test_a_new_catalog_is_found_without_a_statement(spark: Any, tmp_path: Path, through: str) -> None:
    spark.conf.set("spark.sql.catalog.late", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.late.warehouse", f"{tmp_path}/late")
    if through == "writeTo":
        spark.createDataFrame([(1,)], "k INT").writeTo("late.default.t").create()
        assert spark.table("late.default.t").collect() == [(1,)]
    elif through == "tableExists":
        assert spark.catalog.tableExists("late.default.t") is False
    else:
        read = spark.table if through == "table" else spark.read.table
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            read("late.default.t").collect()


def test_two_catalogs_at_once(spark: Any, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.second", "org.apache.paimon.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.second.warehouse", f"{tmp_path}/second")
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    spark.sql("INSERT INTO t VALUES (1, 'first')")
    spark.sql("CREATE TABLE second.default.t (k INT, v STRING)")
    spark.sql("INSERT INTO second.default.t SELECT k + 1, 'second' FROM t")
    both = "SELECT * FROM paimon.default.t UNION ALL SELECT * FROM second.default.t ORDER BY k"
    assert rows(spark, both) == [(1, "first"), (2, "second")]
    assert Path(tmp_path, "second", "default.db", "t", "schema", "schema-0").exists()
    spark.conf.set("spark.sql.catalog.second.defaultDatabase", "mine")
    spark.sql("USE second")
    spark.sql("CREATE TABLE u AS SELECT 1 AS k")
    assert spark.sql("SELECT current_database(), * FROM second.mine.u").collect() == [("mine", 1)]


def test_the_class_name_of_the_java_connector(root_session: Any, warehouse: str) -> None:
    session = new_session(root_session, java="org.apache.paimon.spark.SparkCatalog", java__warehouse=warehouse)
    paimon_sql.install(session)
    session.sql("CREATE TABLE java.default.t (k INT)")
    assert rows(session, "SHOW TABLES IN java.default") == [("default", "t", False)]


def test_other_catalogs_are_not_touched(spark: Any) -> None:
    spark.conf.set("spark.sql.catalog.foreign", "com.example.Foreign")
    with pytest.raises(Py4JJavaError, match=r"com\.example\.Foreign"):
        spark.sql("SHOW TABLES IN foreign.default")
    assert rows(spark, "SELECT 1") == [(1,)]
    spark.conf.unset("spark.sql.catalog.foreign")


def test_every_way_into_the_parser(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    assert rows(spark, "SELECT 1;") == [(1,)]
    assert spark.sql("SELECT v FROM t WHERE k = :k", args={"k": 2}).collect() == [("b",)]
    assert spark.sql("SELECT v FROM t WHERE k = ?", args=[1]).collect() == [("a",)]
    assert spark.sql("SELECT * FROM {t} WHERE k = 1", t=spark.table("t")).collect() == [(1, "a")]
    assert spark.table("t").selectExpr("k + 1 AS n").where("n = 3").collect() == [(3,)]
    assert spark.createDataFrame([], "a INT, b MAP<STRING, INT>").columns == ["a", "b"]
    spark.sql("CREATE TEMPORARY VIEW view AS SELECT * FROM t WHERE k = 2")
    assert spark.table("view").collect() == [(2, "b")]
    assert rows(spark, "EXPLAIN CODEGEN SELECT * FROM t")


def test_parse_errors_are_sparks_own(spark: Any) -> None:
    with pytest.raises(ParseException, match=r"near 'SELEKT'") as caught:
        spark.sql("SELEKT 1")
    assert "Py4J" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT * FROM t$files WHER x = 1", "(line 1, pos 27)\n\n== SQL ==\nSELECT * FROM t$files WHER"),
        ("CREATE TABLE u (k BYTES, v INTT)", "== SQL (line 1, position 28) ==\nCREATE TABLE u (k BYTES, v INTT)"),
        ("CREATE TABLE u (k INT,\n c AS 1)", "(line 2, pos 1)\n\n== SQL ==\nCREATE TABLE u (k INT,\n c AS 1)\n-^^^"),
        ("CREATE CATALOG c", "(line 1, pos 15)\n\n== SQL ==\nCREATE CATALOG c"),
    ],
)
def test_parse_errors_show_the_statement_as_written(spark: Any, text: str, told: str) -> None:
    with pytest.raises(ParseException) as caught:
        spark.sql(text)
    assert told in str(caught.value)
    assert caught.value.getCondition()
    assert "SQLSTATE" in caught.value.getMessage() or "INTT" in text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT 'ü', ROW(1), ARRAY[1, 2], nope FROM t$files", "line 1 pos 33"),
        ("SELECT * FROM t$files,\n t /*+ OPTIONS('scan.mode'='latest') */ WHERE nope = 1", "line 2 pos 46"),
        ("SELECT * FROM t$files WHERE file_path IN (SELECT nope FROM t$files f)", "line 1 pos 49"),
        ("SELECT * FROM paimon_incremental_query('t', 1, 1) x JOIN nope", "line 1 pos 57"),
        ("SELECT a[0], 1/0 AS nope FROM (SELECT ARRAY[1, 2] AS a, ROW(1) FROM t)", "(line 1, position 14)"),
        ("SELECT ARRAY[1, 2], ?, nope FROM t$files", "line 1 pos 23"),
    ],
)
def test_errors_after_parsing_point_into_the_text_as_written(spark: Any, text: str, place: str) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    spark.sql("INSERT INTO t VALUES (1, 'a')")
    with pytest.raises(PySparkException) as caught:
        spark.sql(text, args=["parameter"] if "?" in text else None).collect()
    assert place in str(caught.value)
    (context,) = caught.value.getQueryContext()
    assert context.fragment() == ("1/0" if "1/0" in text else "nope")
    start = text.index(context.fragment())
    assert (context.startIndex(), context.stopIndex()) == (start, start + len(context.fragment()) - 1)


def test_every_method_that_spark_can_call_is_there(spark: Any) -> None:
    """A proxy receives default methods too. Strict both ways: what is listed here must be missing."""
    for module in pkgutil.walk_packages(bridge.__path__, f"{bridge.__name__}."):
        importlib.import_module(module.name)
    jvm = Jvm(spark.sparkContext)
    java_class, modifier = jvm.java_class("java.lang.Class"), jvm.java_class("java.lang.reflect.Modifier")
    loader = jvm.java_class("java.lang.Thread").currentThread().getContextClassLoader()
    missing = {
        (proxy.__name__, method.getName())
        for proxy in subclasses(Proxy)
        for interface in jvm.interfaces(vars(proxy)["Java"].implements)
        for method in java_class.forName(interface, False, loader).getMethods()
        if not modifier.isStatic(method.getModifiers()) and not hasattr(proxy, method.getName())
    }
    # and apply$mcII$sp, for functions of numbers
    functions = {"compose", "andThen", "tupled", "curried", "and", "or", "negate"}
    missing = {(p, m) for p, m in missing if m not in functions and not m.startswith("apply$mc")}
    assert missing == {
        *((scan, "toBatch") for scan in ("LocalScan", "LookupScan", "SearchScan")),  # a local scan has rows
        *((scan, "toBatch") for scan in ("StreamScan", "NarrowStreamScan")),
        *((scan, "toContinuousStream") for scan in ("StreamScan", "NarrowStreamScan", "SearchScan")),
        *((builder, "buildForBatch") for builder in WRITE_BUILDERS),  # deprecated: `build` is asked
        *((scan, stream) for scan in SCANS for stream in STREAMS),
        *((builder, "buildForStreaming") for builder in WRITE_BUILDERS),
        ("FormatWrite", "toStreaming"),
        ("PaimonWrite", "toStreaming"),
    }


SCANS = (
    *("DividedScan", "FormatScan", "LocalScan", "LookupScan", "MergeScan"),
    *("PartitionedDividedScan", "PartitionedMergeScan", "PartitionedRawScan"),
    *("RawScan", "ShownScan", "UnreadableScan"),
)
WRITE_BUILDERS = ("FormatWriteBuilder", "PaimonWriteBuilder", "KeyedTableWriteBuilder")
STREAMS = ("toMicroBatchStream", "toContinuousStream")


def subclasses(base: type) -> Iterator[type]:
    for found in base.__subclasses__():
        if "Java" in vars(found):
            yield found
        yield from subclasses(found)


def test_threads(spark: Any) -> None:
    """Statements of several threads, each calling back into Python."""
    spark.sql("CREATE TABLE t (k INT)")
    failed: list[BaseException] = []

    def work(n: int) -> None:
        try:
            for i in range(3):
                spark.sql(f"INSERT INTO t VALUES ({10 * n + i})")
                assert spark.sql(f"SELECT * FROM t WHERE k = {10 * n + i}").count() == 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert rows(spark, "SELECT count(*), count(DISTINCT k) FROM t") == [(12, 12)]


# -- versions and options -------------------------------------------------------------------------------------------


@pytest.fixture
def versions(spark: Any, warehouse: str) -> Any:
    """Two versions of t, the first one tagged `first`, and the moment between them."""
    spark.sql("CREATE TABLE t (k INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    between = datetime.now(UTC)
    spark.sql("INSERT INTO t VALUES (2)")
    snapshot = Path(warehouse, "default.db", "t", "snapshot", "snapshot-1")
    tag = Path(warehouse, "default.db", "t", "tag", "tag-first")
    tag.parent.mkdir()
    tag.write_bytes(snapshot.read_bytes())
    return between


SPELLINGS = (
    "t VERSION AS OF 1",
    "t VERSION AS OF '1'",
    "t FOR VERSION AS OF 1",
    "t FOR SYSTEM_VERSION AS OF 1",
    "t VERSION AS OF 'first'",
    "t TIMESTAMP AS OF '{text}'",
    "t TIMESTAMP AS OF TIMESTAMP '{text}'",
    "t FOR TIMESTAMP AS OF '{text}'",
    "t FOR SYSTEM_TIME AS OF '{text}'",
    "t TIMESTAMP AS OF timestamp_micros({micros})",
    "t WITH ('scan.snapshot-id' = '1')",
    "t WITH ('scan.tag-name' = 'first')",
    "t WITH ('scan.version' = 'first')",
    "t WITH ('scan.timestamp' = '{text}')",
    "t WITH ('scan.timestamp-millis' = '{millis}')",
    "paimon.default.t VERSION AS OF 1 AS x",
    "`t` VERSION AS OF 1 x WHERE x.k > 0",
)


def test_time_travel(spark: Any, versions: datetime) -> None:
    micros = int(versions.timestamp() * 1_000_000)
    text = versions.strftime("%Y-%m-%d %H:%M:%S.%f")
    for spelling in SPELLINGS:
        source = spelling.format(text=text, micros=micros, millis=micros // 1000)
        assert rows(spark, f"SELECT * FROM {source}") == [(1,)], spelling
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1,), (2,)]


def test_time_travel_in_the_session_time_zone(spark: Any, versions: datetime) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    local = f"{versions.timestamp():.6f}"
    (text,) = rows(spark, f"SELECT CAST(timestamp_micros(CAST({local} * 1000000 AS BIGINT)) AS STRING)")[0]
    for spelling in (f"TIMESTAMP AS OF '{text}'", f"WITH ('scan.timestamp' = '{text}')"):
        assert rows(spark, f"SELECT * FROM t {spelling}") == [(1,)]


def test_time_travel_of_readers(spark: Any, versions: datetime) -> None:
    for option, value in {"scan.snapshot-id": 1, "scan.tag-name": "first", "versionAsOf": 1}.items():
        assert spark.read.option(option, value).table("t").collect() == [(1,)], option
    text = versions.strftime("%Y-%m-%d %H:%M:%S.%f")
    assert spark.read.option("timestampAsOf", text).table("t").collect() == [(1,)]


def test_options_of_the_session(spark: Any, versions: datetime) -> None:
    spark.sql("SET spark.paimon.scan.snapshot-id = 1")
    assert rows(spark, "SELECT * FROM t") == [(1,)]
    spark.sql("RESET spark.paimon.scan.snapshot-id")
    spark.sql("SET `spark.paimon.paimon.default.t.scan.snapshot-id` = 1")
    assert rows(spark, "SELECT * FROM t") == [(1,)]
    spark.sql("RESET `spark.paimon.paimon.default.t.scan.snapshot-id`")
    assert rows(spark, "SELECT count(*) FROM t") == [(2,)]


def test_versions_join(spark: Any, versions: datetime) -> None:
    both = "t VERSION AS OF 1 old RIGHT JOIN t VERSION AS OF 2 new ON old.k = new.k"
    assert rows(spark, f"SELECT count(old.k), count(new.k) FROM {both}") == [(1, 2)]


# -- filters --------------------------------------------------------------------------------------------------------

COLUMNS = (
    "k INT, b BOOLEAN, y TINYINT, s SMALLINT, l BIGINT, f FLOAT, d DOUBLE, c DECIMAL(10, 2), t STRING, x BINARY, "
    "a DATE, m TIMESTAMP, n TIMESTAMP_NTZ"
)
# one row per file
VALUES = [
    "(1, true, 1Y, 1S, 1L, CAST(0.1 AS FLOAT), 0.1D, 0.10, 'a', X'01', DATE '2024-01-01', "
    "TIMESTAMP '2024-01-01 00:00:00.000001', TIMESTAMP_NTZ '2024-01-01 00:00:00.000001')",
    "(2, false, 2Y, 2S, 2L, CAST(-0.0 AS FLOAT), -0.0D, 2.00, 'ab', X'FF', DATE '1969-12-31', "
    "TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMP_NTZ '1969-12-31 23:59:59.999999')",
    "(3, NULL, NULL, NULL, NULL, CAST('NaN' AS FLOAT), DOUBLE('NaN'), NULL, NULL, NULL, NULL, NULL, NULL)",
    "(4, true, 4Y, 4S, 4L, CAST('Infinity' AS FLOAT), DOUBLE('-Infinity'), -99999999.99, 'ö€😀', X'', "
    "DATE '9999-12-31', TIMESTAMP '9999-12-31 23:59:59', TIMESTAMP_NTZ '0001-01-01 00:00:00')",
]
# the condition, and what of it reaches the core
CONDITIONS = {
    "k = 2": "k = 2",
    "2 = k": "k = 2",
    "k <> 2": "NOT (k = 2)",
    "k != 2": "NOT (k = 2)",
    "k < 2": "k < 2",
    "2 > k": "k < 2",
    "k <= 2": "k <= 2",
    "k > 2": "k > 2",
    "k >= 2": "k >= 2",
    "k <=> 2": "k <=> 2",
    "k BETWEEN 2 AND 3": "k >= 2, k <= 3",
    "k IN (1, 3)": "k IN (1, 3)",
    "k NOT IN (1, 3)": "NOT (k IN (1, 3))",
    "l IS NULL": "l IS NULL",
    "l IS NOT NULL": "l IS NOT NULL",
    "NOT (l > 1)": "l <= 1",
    "k = 1 OR k = 4": "k = 1 OR k = 4",
    "k = 1 OR t = 'ab'": "k = 1 OR t = 'ab'",
    "NOT (k = 1 OR t = 'ab')": "NOT (k = 1), NOT (t = 'ab')",
    "t LIKE 'a%'": "t LIKE 'a%'",
    "t LIKE '%b'": None,
    "t LIKE '%a%'": None,
    "t = 'ö€😀'": "t = 'ö€😀'",
    "upper(t) = 'A'": None,
    "b": "b = True",
    "NOT b": "NOT (b = True)",
    "b = false": "NOT (b = True)",
    "y = 2Y": "y = 2",
    "s > 2S": "s > 2",
    "l = 1L": "l = 1",
    "f = CAST(0.1 AS FLOAT)": "f = ",
    "f >= CAST(0.1 AS FLOAT)": "f >= ",
    "f = CAST(0.0 AS FLOAT)": "f = 0.0",
    "f = CAST('NaN' AS FLOAT)": "f = nan",
    "f > CAST('Infinity' AS FLOAT)": "f > inf",
    "f < CAST('NaN' AS FLOAT)": "f < nan",
    "d = 0.1D": "d = 0.1",
    "d = 0.0D": "d = 0.0",
    "d = DOUBLE('NaN')": "d = nan",
    "d < -1.0D": "d < -1.0",
    "d IN (0.0D, DOUBLE('NaN'))": "d IN (",
    "d >= DOUBLE('NaN')": "d >= nan",
    "d <> DOUBLE('NaN')": "NOT (d = nan)",
    "c = 0.10": "c = Decimal('0.10')",
    "c < 0": "c < Decimal('0.00')",
    "x = X'FF'": "x = ",
    "x < X'01'": "x < ",
    "a = DATE '1969-12-31'": "a = ",
    "a > DATE '2024-01-01'": "a > ",
    "m = TIMESTAMP '2024-01-01 00:00:00.000001'": "m = ",
    "m <= TIMESTAMP '1969-12-31 23:59:59.999999'": "m <= ",
    "m > TIMESTAMP '2024-01-01 00:00:00.000001'": "m > ",
    "n = TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'": "n = ",
    "n < TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'": "n < ",
    "t IS NULL AND f = CAST('NaN' AS FLOAT)": "t IS NULL, f = nan",
    "coalesce(l, 0) = 0": None,
    "k + 1 = 2": None,
    "rand() < 2 AND k = 1": "k = 1",
    "k = (SELECT 1)": "k = 1",
    "k > 100": "k > 100",
}


@pytest.fixture(scope="module")
def filtered(root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Tables `keyed` and `appended` of a file per row, and the view `plain` of the same rows."""
    session = new_session(root_session)
    session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    session.conf.set("spark.sql.catalog.paimon.warehouse", str(tmp_path_factory.mktemp("filters")))
    paimon_sql.install(session)
    session.sql("USE paimon.default")
    session.sql(f"CREATE TABLE keyed ({COLUMNS}) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    session.sql(f"CREATE TABLE appended ({COLUMNS})")
    for value in VALUES:
        session.sql(f"INSERT INTO keyed VALUES {value}")
        session.sql(f"INSERT INTO appended VALUES {value}")
    appended = session.table("appended")
    session.createDataFrame(appended.collect(), appended.schema).createTempView("plain")
    return session


def pushed_filters(described: str) -> list[str]:
    """What a plan's scans say about filters, from the first to the last."""
    return [part.partition(" RuntimeFilters")[0] for part in described.split("pushed filters: ")[1:]]


@pytest.mark.parametrize("start", range(0, len(CONDITIONS), 20))
def test_filters(filtered: Any, start: int) -> None:
    """What reaches the core of each condition, and that files left out because of it hold none of its rows."""
    asked = list(CONDITIONS.items())[start : start + 20]
    query = " UNION ALL ".join(f"SELECT {n} AS n, k FROM {{0}} WHERE {c}" for n, (c, _) in enumerate(asked))
    expected = sorted(rows(filtered, query.format("plain")))
    assert len({n for n, _ in expected}) >= len(asked) - 2, "conditions that hold nowhere prove little"
    for table in ("keyed", "appended"):
        assert sorted(rows(filtered, query.format(table))) == expected
        described = pushed_filters(plan(filtered, query.format(table)))
        for (condition, pushed), shown in zip(asked, described, strict=True):
            parts = [p for p in shown.split(", ") if not p.endswith("IS NOT NULL")]
            assert pushed in shown if pushed else parts in ([], ["none"]), condition


def test_filters_skip_files(filtered: Any) -> None:
    for table in ("keyed", "appended"):
        for condition, kept in {"k = 2": 1, "k > 100": 0, "t LIKE 'a%'": 2, "l IS NULL": 1, "t = 'zz'": 0}.items():
            assert f"files {kept}/4" in plan(filtered, f"SELECT * FROM {table} WHERE {condition}"), (table, condition)


def test_partition_filters(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, p STRING, q DATE) PARTITIONED BY (p, q)")
    spark.sql("INSERT INTO t VALUES (1, 'a', DATE '2024-01-01'), (2, 'b', NULL), (3, NULL, DATE '2024-01-02')")
    for condition, kept in {
        "p = 'a'": [1],
        "p IS NULL": [3],
        "q > DATE '2024-01-01'": [3],
        "q IS NULL": [2],
        "p IN ('a', 'b')": [1, 2],
        "year(q) <=> 2024": [1, 3],
    }.items():
        assert [k for (k,) in rows(spark, f"SELECT k FROM t WHERE {condition} ORDER BY k")] == kept
        files = 3 if "year" in condition else len(kept)
        assert f"files {files}/3" in plan(spark, f"SELECT k FROM t WHERE {condition}"), condition


# -- scans ----------------------------------------------------------------------------------------------------------


def test_which_scan_is_chosen(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t (k INT, v STRING) {KEYED}")
    assert "PaimonScan[raw]" in plan(spark, "SELECT * FROM t")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    assert "PaimonScan[raw]" in plan(spark, "SELECT * FROM t")
    spark.sql("INSERT INTO t VALUES (1, 'c')")
    assert "PaimonScan[merge]" in plan(spark, "SELECT * FROM t")
    assert "PaimonScan[raw]" in plan(spark, "SELECT * FROM t VERSION AS OF 1")
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, "c"), (2, "b")]
    assert "LocalTableScan" in plan(spark, "SELECT * FROM t WHERE k IN (1, 3)")
    assert rows(spark, "SELECT v, upper(v) FROM t WHERE k IN (1, 3) AND v > 'b'") == [("c", "C")]
    assert rows(spark, "SELECT count(*) FROM t WHERE k = 2 OR k = 1") == [(2,)]
    spark.sql("CALL sys.compact('t')")
    assert "PaimonScan[raw]" in plan(spark, "SELECT * FROM t")
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, "c"), (2, "b")]


def test_columns_are_pruned(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t (k INT, v STRING, n STRUCT<a: INT, b: STRING>) {KEYED}")
    spark.sql("INSERT INTO t VALUES (1, 'a', struct(1, 'x')), (2, 'b', NULL)")
    spark.sql("INSERT INTO t VALUES (1, 'c', struct(2, 'y'))")
    query = "SELECT v FROM t WHERE v > 'a' ORDER BY v"
    assert "BatchScan paimon.default.t[v#" in plan(spark, query)
    assert rows(spark, query) == [("b",), ("c",)]
    assert rows(spark, "SELECT n.b FROM t ORDER BY k") == [("y",), (None,)]
    assert rows(spark, "SELECT 7 FROM t") == [(7,), (7,)]


@pytest.mark.parametrize("merged", [False, True])
def test_counts(spark: Any, merged: bool) -> None:
    keys = "TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '1')"
    spark.sql(f"CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p) {keys}")
    assert rows(spark, "SELECT count(*) FROM t") == [(0,)]
    spark.sql("INSERT INTO t VALUES (1, 'a', 1), (2, NULL, 1), (3, 'c', 2)")
    if merged:
        spark.sql("INSERT INTO t VALUES (1, 'b', 1)")
    assert ("LocalTableScan [count(*)" in plan(spark, "SELECT count(*) FROM t")) is not merged
    for query, expected in {
        "SELECT count(*) FROM t": [(3,)],
        "SELECT count(1) AS n FROM t": [(3,)],
        "SELECT count(v) FROM t": [(2,)],
        "SELECT count(*), max(k) FROM t": [(3, 3)],
        "SELECT p, count(*) FROM t GROUP BY p ORDER BY p": [(1, 2), (2, 1)],
        "SELECT count(*) FROM t WHERE p = 1": [(2,)],
        "SELECT count(*) FROM t WHERE k > 1": [(2,)],
        "SELECT count(*) FROM t HAVING count(*) > 5": [],
        "SELECT count(*) FROM (SELECT DISTINCT p FROM t)": [(2,)],
    }.items():
        assert rows(spark, query) == expected, query
    assert spark.table("t").count() == 3


def test_rows_of_the_driver(spark: Any) -> None:
    """Arrow tables as Spark's rows, through which system tables and results of procedures pass."""
    bridge = SessionBridge(Jvm(spark.sparkContext), spark._jsparkSession)
    content = pa.table({
        "i": pa.array([1, None], pa.int32()),
        "s": ["ö€😀", None],
        "n": pa.array([datetime(1969, 12, 31, 23, 59, 59, 999999), None], pa.timestamp("us")),
        "z": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
    })  # fmt: skip
    types = (IntegerType(), StringType(), TimestampNTZType(), TimestampType())
    schema = StructType([StructField(n, t) for n, t in zip(content.column_names, types, strict=True)])
    found = bridge.local_rows(content, schema)
    assert [found[0].getInt(0), str(found[0].getUTF8String(1)), found[0].getLong(2)] == [1, "ö€😀", -1]
    assert [found[1].isNullAt(i) for i in range(4)] == [True] * 4
    assert len(bridge.local_rows(content.slice(0, 0), schema)) == 0


def test_system_tables_are_local_scans(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    assert rows(spark, "SELECT * FROM `t$snapshots`") == []
    spark.sql("INSERT INTO t VALUES (1)")
    assert rows(spark, "SELECT snapshot_id, commit_kind FROM `t$snapshots` WHERE snapshot_id = 1") == [(1, "APPEND")]
    assert "LocalTableScan" in plan(spark, "SELECT * FROM `t$snapshots`")
    join = "SELECT s.snapshot_id, f.record_count FROM `t$snapshots` s CROSS JOIN `t$files` f"
    assert rows(spark, join) == [(1, 1)]


def test_a_scan_is_used_twice(spark: Any) -> None:
    spark.sql(f"CREATE TABLE t (k INT, v INT) {KEYED}")
    spark.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    spark.sql("INSERT INTO t VALUES (1, 3)")
    assert rows(spark, "SELECT a.v, b.v FROM t a JOIN t b ON a.k = b.k ORDER BY 1") == [(2, 2), (3, 3)]
    totals = spark.sql("SELECT v, count(*) FROM t GROUP BY v UNION ALL SELECT v, count(*) FROM t GROUP BY v")
    assert len(totals.collect()) == 4
    assert "ReusedExchange" in totals._jdf.queryExecution().executedPlan().toString()


def test_proxies_are_equal_where_they_mean_the_same(spark: Any) -> None:
    """Spark's cache finds a table again, and forgets it when it is written."""
    spark.sql(f"CREATE TABLE t (k INT, v INT) {KEYED}")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    assert spark.table("t").sameSemantics(spark.table("t"))
    assert not spark.table("t").sameSemantics(spark.read.option("scan.snapshot-id", 1).table("t"))
    frame = spark.table("t").cache()
    assert frame.count() == 1
    assert "InMemoryTableScan" in spark.table("t")._jdf.queryExecution().executedPlan().toString()
    spark.sql("INSERT INTO t VALUES (1, 2), (2, 2)")
    assert (frame.count(), rows(spark, "SELECT sum(v) FROM t")) == (2, [(4,)])
    frame.unpersist()
    spark.sql("CACHE TABLE t")
    assert spark.catalog.isCached("t")
    assert rows(spark, "SELECT sum(v) FROM t") == [(4,)]
    spark.sql("UNCACHE TABLE t")
    assert not spark.catalog.isCached("t")


def test_constant_answers_are_asked_once(spark: Any) -> None:
    asked: list[str] = []

    class Source(Proxy):
        CACHED = frozenset(("call", "toString"))

        def call(self) -> Any:
            asked.append("call")
            if len(asked) == 1:
                raise InvalidOptionError("not yet")

        def toString(self) -> str:
            return f"asked {len(asked)}"

        class Java:
            implements = ["java.util.concurrent.Callable"]

    jvm = Jvm(spark.sparkContext)
    source = jvm.fronted(Source(jvm))
    with pytest.raises(IllegalArgumentException, match="not yet"):
        source.call()
    assert [source.call(), source.call(), source.toString()] == [None, None, "asked 2"]
    jvm.fronted(Source(jvm)).call()
    assert [str(source.toString()), asked] == ["asked 2", ["call"] * 3], "each has its own answers"
    assert jvm.fronted("text") == "text"


# -- writes ---------------------------------------------------------------------------------------------------------


def test_rows_are_distributed_and_sorted_by_spark(spark: Any) -> None:
    options = "PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'p,k', 'bucket' = '2')"
    spark.sql(f"CREATE TABLE keyed (k INT, v STRING, p INT) {options}")
    spark.sql("CREATE TABLE plain (k INT, v STRING)")
    source = "SELECT CAST(id AS INT), 'v', CAST(id % 3 AS INT) FROM range(10)"
    keyed = plan(spark, f"INSERT INTO keyed {source}")
    assert "hashpartitioning(p#" in keyed and "Sort [p#" in keyed and keyed.index("Sort") < keyed.index("Exchange")
    assert "hashpartitioning" not in plan(spark, "INSERT INTO plain SELECT CAST(id AS INT), 'v' FROM range(10)")


def test_loads_of_large_files_are_not_shuffled(spark: Any, tmp_path: Path) -> None:
    """The rows of a key meet several tasks then: the last one of the files counts."""
    group, path = 40_000, f"{tmp_path}/large.parquet"
    noise = pa.py_buffer(os.urandom(300 * group))
    pad = pa.FixedSizeBinaryArray.from_buffers(pa.binary(300), group, [None, noise])
    with pq.ParquetWriter(path, pa.schema({"k": pa.int32(), "v": pa.int32(), "pad": pa.binary(300)})) as writer:
        for start in (0, group):
            place = pa.array(range(start, start + group), pa.int32())
            writer.write_table(
                pa.table([pa.array([i % 1_000 for i in range(group)], pa.int32()), place, pad], writer.schema)
            )
    spark.read.parquet(path).limit(10).write.parquet(f"{tmp_path}/small")
    spark.read.parquet(path).drop("pad").limit(10).write.json(f"{tmp_path}/json")
    columns = "(k INT, v INT, pad BINARY)"
    spark.sql(f"CREATE TABLE t {columns} {KEYED}")
    spark.sql(f"CREATE TABLE narrow (k INT, v INT) {KEYED}")
    spark.sql(f"CREATE TABLE dynamic {columns} TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-1')")
    spark.sql(f"CREATE TABLE many {columns} TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '9')")
    spark.sql(f"CREATE TABLE parts {columns} PARTITIONED BY (v) TBLPROPERTIES ('primary-key' = 'v,k', 'bucket' = '1')")
    unshuffled = {
        f"INSERT INTO t SELECT * FROM parquet.`{path}`": True,
        f"INSERT INTO t (pad, v, k) SELECT pad, v + 1, k FROM parquet.`{path}`": True,
        f"INSERT OVERWRITE t SELECT * FROM parquet.`{path}`": True,
        f"INSERT INTO t SELECT * FROM parquet.`{path}` WHERE v > 5": False,
        f"INSERT INTO t SELECT * FROM parquet.`{path}` UNION ALL SELECT * FROM parquet.`{path}`": False,
        f"INSERT INTO narrow SELECT k, v FROM parquet.`{path}`": False,
        f"INSERT INTO narrow SELECT k, v FROM json.`{tmp_path}/json`": False,
        f"INSERT INTO t SELECT * FROM parquet.`{tmp_path}/small`": False,
        f"INSERT INTO dynamic SELECT * FROM parquet.`{path}`": False,
        f"INSERT INTO many SELECT * FROM parquet.`{path}`": False,
        f"INSERT INTO parts SELECT * FROM parquet.`{path}`": False,
        "INSERT INTO t SELECT id, id, NULL FROM range(100000)": False,
    }
    assert {q: "Exchange" not in plan(spark, q) for q in unshuffled} == unshuffled
    load = f"INSERT INTO paimon.default.t SELECT * FROM parquet.`{path}`"
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    assert "Exchange" in plan(spark, load), "fewer tasks would write"
    other = spark.newSession()
    other.sql("SET spark.sql.catalog.paimon = paimon_sql.SparkCatalog")
    other.conf.set("spark.sql.catalog.paimon.warehouse", spark.conf.get("spark.sql.catalog.paimon.warehouse"))
    assert "Exchange" not in plan(other, load)
    other.sql(load)
    assert rows(spark, "SELECT count(*), min(v), max(v) FROM t") == [(1_000, 2 * group - 1_000, 2 * group - 1)]
    assert rows(spark, "SELECT count(*) FROM `t$files`") == [(4,)], "two tasks, each of both buckets"


def test_batches_for_python_are_bounded_by_rows_during_a_write(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    context = spark.sparkContext
    before_commit = written.insert_rows
    session = SessionBridge(Jvm(context), spark._jsparkSession)
    sizes = spark.range(10_000, numPartitions=1).mapInArrow(row_counts, "n int")

    def noted(*values: Any) -> Any:
        asked.append(context.getLocalProperty("spark.sql.execution.arrow.maxBytesPerBatch"))
        return before_commit(*values)

    session.bound_batches_by_rows()
    assert [r.n for r in sizes.collect()] == [4096, 4096, 1808]
    monkeypatch.setattr(written, "insert_rows", noted)
    spark.sql("CREATE TABLE t (k INT, v INT)")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    assert asked == [None]
    assert [r.n for r in sizes.collect()] == [10_000]
    session.bound_batches_by_rows()
    with pytest.raises(PySparkException):
        spark.sql("INSERT INTO t SELECT id, raise_error(string(id)) FROM range(1)")
    assert [r.n for r in sizes.collect()] == [10_000]
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", "64m")
    session.bound_batches_by_rows()
    assert [r.n for r in sizes.collect()] == [10_000]


def row_counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([batch.num_rows], pa.int32())], names=["n"])


def test_null_as_a_static_partition(spark: Any) -> None:
    """`PARTITION (p = NULL)` is a value; only a name without one comes with the rows."""
    spark.sql("CREATE TABLE t (q INT, a INT, p STRING) PARTITIONED BY (p, q)")
    spark.sql("INSERT INTO t PARTITION (p = NULL, q) SELECT a, q FROM VALUES (1, 2) AS s (a, q)")
    spark.sql("INSERT INTO t PARTITION (p = NULL) SELECT '3', '4'")
    assert rows(spark, "SELECT q, a FROM t WHERE p IS NULL ORDER BY q") == [(2, 1), (3, 4)]
    spark.sql("INSERT OVERWRITE t PARTITION (p = NULL, q = 2) SELECT '5'")
    assert rows(spark, "SELECT q, a, p FROM t ORDER BY q") == [(2, 5, None), (3, 4, None)]
    spark.sql("CREATE TABLE u (k INT, v INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('upsert-key' = 'k')")
    spark.sql("INSERT INTO u PARTITION (p = NULL) SELECT '1', 2")
    spark.sql("INSERT INTO u PARTITION (p = NULL) SELECT 1, '3'")
    assert rows(spark, "SELECT * FROM u") == [(1, 3, None)]


def test_overwrites(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, p INT) PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    spark.sql("INSERT OVERWRITE t PARTITION (p = 1) VALUES (10)")
    assert rows(spark, "SELECT * FROM t ORDER BY p") == [(10, 1), (2, 2), (3, 3)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql("INSERT OVERWRITE t VALUES (20, 2)")
    assert rows(spark, "SELECT * FROM t ORDER BY p") == [(10, 1), (20, 2), (3, 3)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    spark.sql("INSERT OVERWRITE t VALUES (7, 7)")
    assert rows(spark, "SELECT * FROM t") == [(7, 7)]
    spark.sql("TRUNCATE TABLE t")
    assert rows(spark, "SELECT * FROM t") == []


def test_partitions_are_dropped(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, p STRING, q DATE) PARTITIONED BY (p, q)")
    values = "(1, 'a', DATE '2024-01-01'), (2, 'a', NULL), (3, NULL, DATE '2024-01-01'), (4, 'b', DATE '2024-01-01')"
    spark.sql(f"INSERT INTO t VALUES {values}")
    spark.sql("ALTER TABLE t DROP PARTITION (p = 'a', q = DATE '2024-01-01')")
    assert rows(spark, "SELECT k FROM t ORDER BY k") == [(2,), (3,), (4,)]
    spark.sql("TRUNCATE TABLE t PARTITION (p = 'a', q = NULL)")
    assert rows(spark, "SELECT k FROM t ORDER BY k") == [(3,), (4,)]
    about = rows(spark, "SHOW TABLE EXTENDED LIKE 't' PARTITION (p = 'b', q = DATE '2024-01-01')")[0][3]
    assert "recordCount: 1" in about
    assert "fileCount: 1" in about
    with pytest.raises(AnalysisException, match="PARTITIONS_NOT_FOUND"):
        spark.sql("ALTER TABLE t DROP PARTITION (p = 'c', q = DATE '2024-01-01')")
    spark.sql("ALTER TABLE t DROP IF EXISTS PARTITION (p = 'c', q = DATE '2024-01-01')")
    spark.sql("ALTER TABLE t ADD PARTITION (p = 'c', q = NULL)")  # it appears with its first row
    with pytest.raises(PySparkException, match=r"Table default\.t: "):
        spark.sql("ALTER TABLE t DROP PARTITION (p = 'b', q = DATE '2024-01-01') PURGE")
    with pytest.raises(AnalysisException, match="by the first of"):
        spark.sql("ALTER TABLE t DROP PARTITION (q = DATE '2024-01-01')")
    spark.sql("ALTER TABLE t DROP PARTITION (p = 'c')")  # of those that begin so there are none
    spark.sql("ALTER TABLE t DROP PARTITION (p = 'c'), PARTITION (p = 'b')")
    assert rows(spark, "SELECT k FROM t ORDER BY k") == [(3,)]
    assert rows(spark, "SELECT k FROM t VERSION AS OF 1 ORDER BY k") == [(1,), (2,), (3,), (4,)]


def test_nothing_of_a_failing_task_is_visible(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v INT) TBLPROPERTIES ('target-file-size' = '1 kb')")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    last_row = "if(id = 99999, raise_error('the last row'), 1)"
    with pytest.raises(PySparkException, match="the last row"):
        spark.sql(f"INSERT INTO t SELECT id, {last_row} FROM range(0, 100000, 1, 3)")
    assert rows(spark, "SELECT * FROM t") == [(1, 1)]
    assert rows(spark, "SELECT count(*) FROM `t$snapshots`") == [(1,)]
    spark.sql("INSERT INTO t VALUES (2, 2)")
    assert rows(spark, "SELECT * FROM t ORDER BY k") == [(1, 1), (2, 2)]


# -- procedures and errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "CALL sys.compact('t')",
        "CALL paimon.sys.compact('t')",
        "CALL sys.compact(table => 'default.t')",
        "CALL sys.compact(table => 'paimon.default.t', compact_strategy => 'full')",
        "CALL sys.compact(`table` => 't')",
    ],
)
def test_calls(spark: Any, call: str) -> None:
    spark.sql(f"CREATE TABLE t (k INT) {KEYED}")
    for k in range(3):
        spark.sql(f"INSERT INTO t VALUES ({k})")
    frame = spark.sql(call)
    assert [tuple(row) for row in frame.collect()] == [(True,)]
    assert frame.columns == ["result"] and frame.count() == 1
    assert rows(spark, "SELECT count(*) FROM `t$snapshots` WHERE commit_kind = 'COMPACT'") == [(1,)]


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("SELECT * FROM nope", AnalysisException, r"\[TABLE_OR_VIEW_NOT_FOUND\].*`nope`"),
        ("SELECT nope FROM t", AnalysisException, r"\[UNRESOLVED_COLUMN.*`nope`"),
        ("CREATE TABLE t (k INT)", AnalysisException, r"\[TABLE_OR_VIEW_ALREADY_EXISTS\].*t"),
        ("CREATE TABLE u (k INT) TBLPROPERTIES ('bucket' = 'x')", AnalysisException, r"Option 'bucket' cannot be 'x'"),
        ("DROP DATABASE nope", AnalysisException, r"\[SCHEMA_NOT_FOUND\].*nope"),
        ("CALL sys.nope()", PySparkException, r"There is no procedure sys\.nope\. .*(SHOW PROCEDURES|sys\.compact)"),
        ("CALL sys.compact(table => 'nope')", PySparkException, r"There is no table default\.nope"),
        ("SELECT * FROM t VERSION AS OF 9", PySparkException, r"Table default\.t has no snapshot 9"),
    ],
)
def test_errors_cross(spark: Any, statement: str, error: type[Exception], message: str) -> None:
    spark.sql("CREATE TABLE t (k INT)")
    with pytest.raises(error, match=f"(?s){message}") as caught:
        spark.sql(statement).collect()
    assert "Traceback" not in str(caught.value) and "Py4J" not in str(caught.value)


def test_few_rows_arrive_as_many_do(spark: Any) -> None:
    """Few rows are pickled, many go through a plan of Spark's: the rows are the same, whatever their types."""
    types = (
        "b TINYINT, s SMALLINT, l BIGINT, f FLOAT, d DOUBLE, o BOOLEAN, t STRING, z TIMESTAMP, n TIMESTAMP_NTZ, p DATE"
    )
    schema = spark.createDataFrame([], types).schema
    early, late = datetime(1500, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 1, 2, 3, 4, UTC)
    table = pa.Table.from_pylist(
        [
            dict(zip(schema.names, row, strict=True))
            for row in (
                (1, -5, 1, 1.5, 1e300, True, "\u00e9\u2603", early, early.replace(tzinfo=None), early.date()),
                (-128, 2**15 - 1, 2**62, float("nan"), -0.0, False, "", late, late.replace(tzinfo=None), late.date()),
                (None,) * 10,
            )
        ],
        arrow_schema(schema),
    )
    jvm = Jvm(spark.sparkContext)
    struct, session = jvm.struct_type(schema), java_session(spark)

    def told(rows: Any) -> list[str]:
        return [str(r.toSeq(struct).toString()) for r in rows]

    few, many = (
        internal_rows(jvm, session, table, schema),
        internal_rows(jvm, session, pa.concat_tables([table] * 400), schema),
    )
    assert len(many) == 1200
    assert told(few) == [str(many[i].toSeq(struct).toString()) for i in range(3)]
