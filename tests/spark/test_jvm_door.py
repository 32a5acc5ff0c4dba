"""Stock `spark-sql` and `spark-shell` with the jar that `paimon-sql jar` makes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import psutil
import pyspark
import pytest

from tests.support.jvm_programs import JAR, LACKS_THE_PACKAGE_AT_FIRST, Programs, programs_in, programs_with_jar
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(bash|scala|text)\n(.*?)^```\n", re.M | re.S)
PROGRAM = ROOT / "tests" / "support" / "jvm_door.scala"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return programs_with_jar(tmp_path_factory.mktemp("programs"))


def test_the_page_is_true(tmp_path: Path) -> None:
    """The commands of docs/jvm.md run in order, with Hive support as by default, and print what stands below them."""
    programs = programs_in(tmp_path / "page", {"spark.sql.catalogImplementation": "hive"})
    blocks = BLOCK.findall((ROOT / "docs" / "jvm.md").read_text("utf-8"))
    assert [kind for kind, _ in blocks].count("bash") == 2
    outputs = []
    for kind, text in blocks:
        if kind == "scala":
            (programs.folder / "visits.scala").write_text(text)
        elif kind == "text":
            assert outputs[-1].endswith(text)
        else:
            ended = programs.run(f"set -e\n{text}")
            assert ended.status == 0, ended.err
            outputs.append(ended.out)
    assert re.search(r"SHA-256 [0-9a-f]{64}$", outputs[0].splitlines()[0])
    assert "visits: 3" in outputs[1]


def test_a_scala_program(programs: Programs) -> None:
    """One program for all: the start of a JVM takes longer than its steps."""
    python = programs.noted_python("python", LACKS_THE_PACKAGE_AT_FIRST)
    lake = programs.folder / "door-lake"
    command = f"spark-shell $(paimon-sql spark-options -w {lake} -c spark.pyspark.driver.python={python})"
    ended = programs.run(command, PROGRAM.read_text("utf-8"), {"LAKE": str(lake)})
    assert ended.status == 0, ended.err
    found = dict(re.findall(r"^(?:scala> )*([\w ]+?) (?:=|raised) (.*)$", ended.out, re.M))
    print(ended.out, ended.err)  # shown if the test fails
    _check_missing(found, str(python))
    _check_work(found)
    _check_errors(found)
    _check_restart(found)
    python_id = int(re.search(r"^(?:scala> )*process (\d+)$", ended.out, re.M)[1])
    wait_until(lambda: not psutil.pid_exists(python_id))  # it ends once the JVM's end of its input is closed
    assert re.search(r"PYSPARK_GATEWAY_SECRET|token", ended.err) is None


def test_python_starts_with_the_first_statement_if_a_setting_says_so(programs: Programs) -> None:
    """The session is made, and the program waits long enough for a start beside it; only then comes a statement."""
    python = programs.noted_python("late", LACKS_THE_PACKAGE_AT_FIRST)
    options = f"-w lake -c spark.pyspark.driver.python={python} -c spark.paimon_sql.start=statement"
    steps = (
        "spark.sessionState",
        f'def began = new java.io.File("{python}.ids").exists',
        "Thread.sleep(2000)",
        'println("before " + began)',
        'println("statement " + scala.util.Try(spark.sql("SELECT 1")).isSuccess)',
        'println("after " + began)',
        "System.exit(0)\n",
    )
    ended = programs.run(f"spark-shell $(paimon-sql spark-options {options})", "\n".join(steps))
    found = dict(re.findall(r"^(?:scala> )*(before|statement|after) (\w+)$", ended.out, re.M))
    assert found == {"before": "false", "statement": "false", "after": "true"}, ended.err


def test_an_unknown_start_is_refused_by_name(programs: Programs) -> None:
    options = programs.run("paimon-sql spark-options -w unknown-lake -c spark.paimon_sql.start=Statement").out
    ended = programs.run(f"spark-sql {' '.join(options.split())} -e 'SELECT 1'")
    assert ended.status != 0
    assert "Setting spark.paimon_sql.start = 'Statement' is not valid. Set it to 'session'" in ended.err + ended.out


# another extension wraps the parser of a session, and parses at once
_EARLY = """
val first = spark.sessionState
org.apache.spark.sql.SparkSession.clearActiveSession()
org.apache.spark.sql.SparkSession.clearDefaultSession()
val other = org.apache.spark.sql.SparkSession.builder().withExtensions { e =>
  new paimon_sql.Extensions().apply(e)
  e.injectParser { (session, delegate) => println("early " + delegate.parseMultipartIdentifier("a.b").size); delegate }
}.getOrCreate()
println("sum " + other.sql("SELECT 1 + 1").head.getInt(0))
println("table " + other.sql("CREATE TABLE t (id INT) WITH ('bucket' = '-1')").count())
System.exit(0)
"""


def test_a_parser_of_others_parses_while_the_session_is_made(programs: Programs) -> None:
    """Python, which waits for the session, cannot read this name."""
    lake = programs.folder / "early-lake"
    options = programs.run(f"paimon-sql spark-options -w {lake}").out.replace("paimon_sql.Extensions", "")
    ended = programs.run(f"spark-shell {' '.join(options.split())}", _EARLY)
    found = dict(re.findall(r"^(?:scala> |     \| )*(early|sum|table) (\w+)$", ended.out, re.M))
    assert found == {"early": "2", "sum": "2", "table": "0"}, ended.out + ended.err


# the first row of the first epoch kills Python
_EPOCHS = """
import org.apache.spark.sql.streaming.Trigger
def isOurs(p: ProcessHandle) = p.info().arguments().map[Boolean](_.contains("-c")).orElse(false)
def python = ProcessHandle.current().children().filter(isOurs(_))
def sql(text: String) = spark.sql(text).collect()
sql("CREATE TABLE source (id BIGINT) WITH ('bucket' = '-1')")
sql("CREATE TABLE sink (id BIGINT) WITH ('bucket' = '-1')")
sql("INSERT INTO source VALUES (1), (2), (3)")
def end() = { python.forEach(p => { p.destroyForcibly(); () }); Thread.sleep(2000) }
def kill() = if (System.setProperty("killed", "true") == null) end()
spark.udf.register("killing", (id: Long) => { kill(); id })
def rows = sql("SELECT id FROM sink ORDER BY id").map(_.getLong(0)).mkString(",")
def follow() = {
  val writer = spark.readStream.table("source").selectExpr("killing(id) AS id").writeStream
  writer.trigger(Trigger.AvailableNow()).option("checkpointLocation", "epochs").toTable("sink").awaitTermination()
}
println("first raised " + scala.util.Try(follow()).isFailure)
println("killed = " + System.getProperty("killed"))
println("left = [" + rows + "]")
println("second raised " + scala.util.Try(follow()).isFailure)
println("all = [" + rows + "]")
sql("INSERT INTO source VALUES (4)")
println("third raised " + scala.util.Try(follow()).isFailure)
println("goes on = [" + rows + "]")
System.exit(0)
"""


def test_python_is_killed_in_an_epoch(programs: Programs) -> None:
    """The epoch is not there, or whole; a query on the same checkpoint goes on without a loss or a double."""
    ended = programs.run("spark-shell $(paimon-sql spark-options -w epochs-lake)", _EPOCHS)
    found = dict(re.findall(r"^(?:scala> |     \\| )*([\w ]+?) (?:=|raised) (\S+)$", ended.out, re.M))
    assert found.pop("left") == ("[]" if found.pop("first") == "true" else "[1,2,3]"), ended.out + ended.err
    expected = {"killed": "true", "second": "false", "all": "[1,2,3]", "third": "false", "goes on": "[1,2,3,4]"}
    assert found == expected, ended.out + ended.err


def test_a_java_program_with_16_threads(programs: Programs) -> None:
    """Each thread writes and reads in another way; the program ends by itself, and Python with it."""
    programs.compiled("program.jar", (ROOT / "tests" / "support" / "JvmThreads.java").read_text("utf-8"))
    python = programs.noted_python("noted")
    lake = programs.folder / "threads-lake"
    options = f"$(paimon-sql spark-options -w {lake} -c spark.pyspark.driver.python={python})"
    ended = programs.run(f"spark-submit {options} --class JvmThreads program.jar {lake}")
    found = dict(re.findall(r"^([\w ]+) (?:=|raised) (.*)$", ended.out, re.M))
    assert found == {f"thread {n}": "1" for n in range(16)} | {"all": f"[16,{sum(range(16))}]"}, ended.out + ended.err
    assert ended.status == 0
    (started,) = python.ids()
    wait_until(lambda: not psutil.pid_exists(started))


# the first context stops while its Python starts
_TWO_CONTEXTS = """
def isOurs(p: ProcessHandle) = p.info().arguments().map[Boolean](_.contains("-c")).orElse(false)
def pythons = ProcessHandle.current().children().filter(isOurs(_)).count()
val settings = spark.sparkContext.getConf
spark.sessionState
while (!new java.io.File(settings.get("spark.pyspark.driver.python") + ".ids").exists) Thread.sleep(10)
spark.stop()
val next = org.apache.spark.sql.SparkSession.builder().config(settings).getOrCreate()
println("table = " + next.sql("CREATE TABLE t (id INT) WITH ('bucket' = '-1')").count())
Thread.sleep(2000)
println("pythons = " + pythons)
val its = next.sql("SHOW TABLES").count()
println("stopped = " + scala.util.Try(spark.sql("SELECT 1")).failed.get.getMessage)
println("goes on = " + (next.sql("SHOW TABLES").count() == its))
System.exit(0)
"""


def test_a_context_begins_while_python_starts_for_another(programs: Programs) -> None:
    """The later context has its Python, and the first one's ends. Sessions of the first one start no other."""
    python = programs.noted_python("twice")
    options = f"-w two-lake -c spark.pyspark.driver.python={python}"
    ended = programs.run(f"spark-shell $(paimon-sql spark-options {options})", _TWO_CONTEXTS)
    found = dict(re.findall(r"^(?:scala> )*(table|pythons|stopped|goes on) = (.+)$", ended.out, re.M))
    assert "context of this session has stopped" in found.pop("stopped"), ended.out + ended.err
    assert found == {"table": "0", "pythons": "1", "goes on": "true"}, ended.out + ended.err
    assert len(python.ids()) == 2


def test_sessions_as_kyuubi_opens_them(programs: Programs) -> None:
    """Kyuubi itself is not needed: its engine is a driver with a session for each connection."""
    program = (ROOT / "tests" / "support" / "kyuubi_engine.scala").read_text("utf-8")
    workers = programs.noted_python("workers")
    options = f"-w kyuubi-lake -c spark.pyspark.python={workers}"
    ended = programs.run(f"spark-shell $(paimon-sql spark-options {options})", program)
    found = dict(re.findall(r"^(?:scala> |     \| )*(\w+(?: \w+)?) = (.*)$", ended.out, re.M))
    expected = {
        "schemas first": "default",
        "own": "0,1,2,3",
        "shared": "0,1,2,3",
        "current": "db0,db1,db2,db3",
        "iterator": "of 0,of 1,of 2,of 3",
        "arrow": "true",
        "schemas": "db0,db1,db2,db3,default",
        "tables": "shared",
        "columns": "id null,name a name",
        "cancelled": "1",
        "goes on": "2",
        "error": "UNRESOLVED_COLUMN.WITH_SUGGESTION 42703",
    }
    assert {name: found.get(name) for name in expected} == expected, ended.out + ended.err
    assert ended.status == 0
    assert workers.ids() != []


# settings of a program for Paimon's Java connector, with the jar exchanged
_OF_JAVA = {
    "spark.jars": JAR,
    "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.paimon.spark.SparkGenericCatalog",
    "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
    "spark.sql.catalogImplementation": "hive",
    "spark.pyspark.driver.python": sys.executable,
}
_BOTH_KINDS = """
CREATE DATABASE both;
USE both;
CREATE TABLE ours (id INT, v STRING) USING paimon TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1');
CREATE TABLE orcs STORED AS ORC AS SELECT 1 AS id, 'x' AS w;
INSERT INTO ours VALUES (1, 'a'), (2, 'b');
UPDATE ours SET v = 'c' WHERE id = 1;
CREATE VIEW joined AS SELECT id, v, w FROM ours JOIN orcs USING (id);
SELECT * FROM both.joined;
SHOW TABLES;
SELECT count(*) FROM both.ours$snapshots;
CREATE TABLE paimon.default.more (id INT, w STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1');
INSERT INTO paimon.default.more VALUES (2, 'more');
SELECT o.id, v, w FROM both.ours o JOIN paimon.default.more USING (id);
CALL paimon.sys.compact(table => 'default.more');
CREATE FUNCTION paimon.default.twice(x INT) RETURNS INT RETURN x * 2;
CREATE VIEW paimon.default.seen AS SELECT id, w FROM paimon.default.more;
SELECT paimon.default.twice(id), w FROM paimon.default.seen;
"""


def test_paimon_tables_in_a_hive_metastore_beside_hives(programs: Programs, hive_server: Any) -> None:
    """The settings of Paimon's quickstart: `spark_catalog` is a SparkGenericCatalog, `paimon` a SparkCatalog."""
    server = hive_server()
    server.clear()
    given = _OF_JAVA | {"spark.sql.catalog.paimon.warehouse": f"file:{programs.folder}/beside-lake"}
    given |= {"spark.hadoop.hive.metastore.uris": server.uri, "spark.sql.warehouse.dir": server.warehouse}
    options = " ".join(f"--conf {key}={value}" for key, value in given.items())
    (programs.folder / "both.sql").write_text(_BOTH_KINDS)
    ended = programs.run(f"spark-sql {options} -f both.sql")
    assert ended.status == 0, ended.err
    assert [line.split() for line in ended.out.splitlines() if line] == [
        ["1", "c", "x"],
        ["joined"],
        ["orcs"],
        ["ours"],
        ["2"],
        ["2", "b", "more"],
        ["true"],
        ["4", "more"],
    ]
    known = {name: server.client().get_table("both", name) for name in ("ours", "orcs")}
    assert known["ours"].parameters["table_type"] == "PAIMON"
    assert "OrcSerde" in known["orcs"].sd.serdeInfo.serializationLib


def _check_missing(found: dict[str, str], python: str) -> None:
    assert found["missing"].startswith("DoorException PAIMON_PYTHON_UNAVAILABLE 58000 ")
    assert f"{python} -m pip install paimon-sql" in found["missing"]


def _check_work(found: dict[str, str]) -> None:
    assert found["current database"] == "default"
    assert found["databases"] == "default"
    assert found["create"] == "t"
    assert (found["writeTo"], found["saveAsTable"], found["path"]) == ("3", "6", "8")
    assert found["view"] == "3 3 [shop,v,false] true"
    assert (found["view over view"], found["function"]) == ("[4][1]", "[8][42]")
    assert found["function of rows"] == "[0],[1]"
    assert [name for name in ("below", "reversed", "twice") if f"paimon.shop.{name}" not in found["functions"]] == []
    on_4_0 = pyspark.__version__.startswith("4.0.")
    assert ("needs Spark 4.1" if on_4_0 else "[2024-03-05T12:00,2024-03-05]") in found["generated"]
    assert found["mergeInto"] == "[0,a],[1,a],[2,b],[3,b],[4,b]"
    assert (found["time travel"], found["call"], found["newSession"]) == ("3", "[true]", "5")
    assert (found["threads"], found["after threads"], found["foreachBatch"]) == ("16", "24", "24")


def _check_errors(found: dict[str, str]) -> None:
    expected = {
        "function in Python": "SparkRuntimeException PAIMON_NOT_ALLOWED 42501",
        "no function": "AnalysisException UNRESOLVED_ROUTINE 42883",
        "no view": "ExtendedAnalysisException TABLE_OR_VIEW_NOT_FOUND 42P01",
        "no table": "ExtendedAnalysisException TABLE_OR_VIEW_NOT_FOUND 42P01",
        "table exists": "TableAlreadyExistsException TABLE_OR_VIEW_ALREADY_EXISTS 42P07",
        "no database": "NoSuchNamespaceException SCHEMA_NOT_FOUND 42704",
        "bad option": "AnalysisException PAIMON_INVALID_OPTION ",
        "no syntax": "ParseException PARSE_SYNTAX_ERROR 42601",
    }
    for name, text in expected.items():
        assert found[name].startswith(text), found[name]


def _check_restart(found: dict[str, str]) -> None:
    assert found["pythons"] == found["pythons again"] == "1"
    assert "PAIMON_PYTHON_UNAVAILABLE" in found["killed"] and "ended with status" in found["killed"]
    assert found["after"] == "24"  # nothing half-written
    assert found["goes on"] == found["newSession goes on"] == "25"
