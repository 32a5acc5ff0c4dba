"""`paimon-sql serve`, with the clients that people have: PyHive, also below SQLAlchemy as Superset has it, impyla,
beeline, and PySpark's of Spark Connect."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pyspark
import pytest
import sqlalchemy
from impala import dbapi as impyla
from impala.error import OperationalError as ImpylaError
from pyhive import hive
from pyhive.exc import OperationalError
from pyhive.hive import Cursor
from TCLIService import ttypes
from thrift.transport.TTransport import TTransportException

from tests.support.served import PATIENCE, Server, answer, served
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CONNECT_CLIENT = """
import sys
from pyspark.sql import SparkSession
from pyspark.errors import AnalysisException
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
print(spark.catalog.currentCatalog(), spark.catalog.listTables("paimon.default") is not None)
print(spark.sql("SELECT current_catalog()").collect()[0][0])
spark.sql("CREATE TABLE of_connect (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
spark.createDataFrame([(1, "a"), (2, "b")], "k INT, v STRING").writeTo("of_connect").append()
print(spark.table("of_connect$snapshots").count(), spark.sql("SELECT * FROM of_connect$files").count())
print(spark.sql("CALL sys.compact(table => 'default.of_connect')").collect()[0][0])
spark.sql("UPDATE of_connect SET v = 'x' WHERE k = 1")
print(sorted(tuple(r) for r in spark.table("of_connect").collect()))
try:
    spark.sql("CREATE TABLE d (k INT) WITH ('bucket' = 'many')")
except AnalysisException as error:
    print(error.getCondition())
print(spark.sql("SELECT '${env:HOME}'").selectExpr("*", "'${system:user.home}'").collect()[0][:])
spark.stop()
"""
FAILING_CLIENT = """
import sys, threading, time
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
def run(statement):
    try:
        spark.sql(statement).collect()
    except PySparkException as error:
        print(error.getCondition())
run("SELECT raise_error('bad ' || id) FROM range(1)")
slow = threading.Thread(target=run, args=("SELECT count(*) AS bad FROM range(1000000000000) WHERE id % 7 = 2",))
slow.start()
while slow.is_alive():
    time.sleep(5)
    spark.interruptAll()
"""


@pytest.fixture
def server(common_server: Server) -> Server:
    return common_server


def test_statements_of_a_jdbc_client(server: Server) -> None:
    with server.client() as client, client.cursor() as cursor:
        assert answer(cursor, "SELECT current_catalog(), current_database()") == [("paimon", "default")]
        answer(cursor, "CREATE TABLE t (k INT, v STRING) WITH ('primary-key' = 'k', 'bucket' = '1')")
        answer(cursor, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        answer(cursor, "DELETE FROM t WHERE k = 2")
        answer(cursor, "MERGE INTO t USING (SELECT 3 AS k, 'c' AS v) AS s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *")
        assert answer(cursor, "SELECT * FROM t ORDER BY k") == [(1, "a"), (3, "c")]
        assert answer(cursor, "SELECT * FROM t VERSION AS OF 1 ORDER BY k") == [(1, "a"), (2, "b")]
        assert len(answer(cursor, "SELECT * FROM t$snapshots")) == 3
        assert answer(cursor, "CALL sys.compact(table => 'default.t')") == [(True,)]
        assert "t" in [row[1] for row in answer(cursor, "SHOW TABLES")]
        with pytest.raises(OperationalError) as refused:
            answer(cursor, "CREATE TABLE u (k INT) WITH ('bucket' = 'many')")
        assert "PAIMON_INVALID_OPTION" in str(refused.value) and "Py4J" not in str(refused.value)
        assert answer(cursor, "SELECT 1") == [(1,)]


def test_sessions_have_their_own_state(server: Server) -> None:
    with server.client() as one, server.client() as other, one.cursor() as first, other.cursor() as second:
        answer(first, "CREATE DATABASE mine")
        answer(first, "USE mine")
        answer(first, "SET spark.sql.shuffle.partitions = 7")
        answer(first, "CREATE TEMPORARY VIEW only_here AS SELECT 1 AS x")
        assert answer(first, "SELECT current_database()") == [("mine",)]
        assert answer(second, "SELECT current_database()") == [("default",)]
        assert answer(second, "SET spark.sql.shuffle.partitions") == [("spark.sql.shuffle.partitions", "2")]
        with pytest.raises(OperationalError, match="TABLE_OR_VIEW_NOT_FOUND"):
            answer(second, "SELECT * FROM only_here")


def test_variables_are_settings_of_the_client_only(server: Server) -> None:
    """Neither the server's environment, the properties of its JVM, nor secrets: these stay as they are written."""
    written = ("${env:HOME}", "${system:user.home}", "${java:x}")
    shown = ", ".join(f"'{one}'" for one in written)
    with server.client() as client, client.cursor() as cursor:
        cursor.execute("SET mine = 7")
        assert answer(cursor, "SELECT ${mine}, ${hivevar:mine}, ${hiveconf:mine}, '${nothing}'") == [(7, 7, 7, "")]
        assert answer(cursor, f"SELECT {shown}") == [written]
        assert answer(cursor, f"BEGIN SELECT {shown}; END") == [written]
        assert answer(cursor, "EXECUTE IMMEDIATE concat('SELECT \"', '$', '{env:HOME}\"')") == [written[:1]]
        assert answer(cursor, "SELECT '$${nothing}{env:HOME}', '$$${nothing}{nothing}{env:HOME}'") == [written[:1] * 2]
        cursor.execute("SET mine = ${env:HOME}")
        assert answer(cursor, "SELECT '${mine}'") == [written[:1]]
        cursor.execute("SET spark.sql.catalog.far.jdbc.password = canary")
        ((redacted,),) = answer(cursor, "SELECT '${spark.sql.catalog.far.jdbc.password}'")
        assert answer(cursor, "SET spark.sql.catalog.far.jdbc.password")[0][1] == redacted != "canary"
        cursor.execute("SET spark.sql.variable.substitute = false")
        assert answer(cursor, "SELECT '${mine}', '${env:HOME}'") == [("${mine}", "${env:HOME}")]


def test_trees_of_tables_and_columns(server: Server) -> None:
    with server.client() as client, client.cursor() as cursor:
        answer(cursor, "CREATE DATABASE tree")
        answer(cursor, "CREATE TABLE tree.orders (id INT NOT NULL, total DECIMAL(10, 2), at TIMESTAMP)")
        answer(cursor, "CREATE TABLE tree.other (id INT)")
        answer(cursor, "CREATE VIEW tree.recent AS SELECT id FROM paimon.tree.orders")
        answer(cursor, "CREATE CATALOG second WITH ('type' = 'paimon', 'warehouse' = 'second')")
        answer(cursor, "CREATE TABLE second.default.elsewhere (x STRING)")
        tree = Tree(client)
        assert {"paimon", "second"} <= {row[0] for row in tree.catalogs()}
        assert ("tree", "paimon") in tree.schemas("paimon")
        assert tree.schemas("second") == [("default", "second")] and tree.schemas("nowhere") == []
        assert tree.schemas("paimon", "tr_e") == [("tree", "paimon")]
        assert {("tree", "paimon"), ("default", "second")} <= set(tree.schemas(None))
        assert tree.tables("paimon", "tree", "%") == [
            ("paimon", "tree", "orders", "TABLE"),
            ("paimon", "tree", "other", "TABLE"),
            ("paimon", "tree", "recent", "VIEW"),
        ]
        assert tree.tables(None, "tr_e", "OR%") == [("paimon", "tree", "orders", "TABLE")]
        assert tree.tables("paimon", "tree", "%", ["VIEW"]) == [("paimon", "tree", "recent", "VIEW")]
        assert tree.tables("second", "%", "%") == [("second", "default", "elsewhere", "TABLE")]
        assert tree.tables("nowhere", "%", "%") == tree.tables("paimon", "t\\_ee", "%") == []
        assert tree.columns("paimon", "tree", "orders", "%") == [
            ("paimon", "tree", "orders", "id", "INT"),
            ("paimon", "tree", "orders", "total", "DECIMAL(10,2)"),
            ("paimon", "tree", "orders", "at", "TIMESTAMP"),
        ]
        ids = [("paimon", "tree", table, "id", "INT") for table in ("orders", "other", "recent")]
        assert tree.columns(None, "tree", "%", "I%") == ids


def test_trees_are_as_those_of_sparks_own_tables(server: Server) -> None:
    """The same tables in Spark's own catalog, which Spark's own code lists, and in ours have the same answers."""
    columns = (
        "id INT, d DECIMAL(10, 2), ts TIMESTAMP, n TIMESTAMP_NTZ, dt DATE, b BINARY, f FLOAT, g DOUBLE, bo BOOLEAN,"
        "ti TINYINT, sm SMALLINT, bi BIGINT, a ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT, y: STRING>,"
        "c CHAR(5), vc VARCHAR(7) COMMENT 'a note'"
    )
    with server.client() as client, client.cursor() as cursor:
        for catalog in ("paimon", "spark_catalog"):
            answer(cursor, f"CREATE DATABASE {catalog}.alike")
            for name, all_columns in (("a_b", columns), ("axb", "id INT"), ("other", "a_b INT, axb STRING")):
                using = "" if catalog == "paimon" else "USING parquet"
                answer(cursor, f"CREATE TABLE {catalog}.alike.{name} ({all_columns}) {using}")
        tree = Tree(client)
        patterns = (None, "", "%", "*", ".*", "a_b", "a\\_b", "A%", "%b", "a%b", "nope", "o.*")
        for pattern in patterns:
            found = [sorted(row[1:] for row in tree.tables(c, "alike", pattern)) for c in ("spark_catalog", "paimon")]
            assert found[0] == found[1], pattern
            found = [
                sorted(row[1:] for row in tree.whole_columns(c, "alike", pattern)) for c in ("spark_catalog", "paimon")
            ]
            assert found[0] == found[1] and bool(found[0]) == (pattern not in ("", "nope")), pattern
            if pattern == "*":  # not a pattern of columns in Spark
                continue
            found = [
                sorted(row[1:] for row in tree.whole_columns(c, "alike", "other", pattern and pattern.lower()))
                for c in ("spark_catalog", "paimon")
            ]
            assert found[0] == found[1], pattern
        for schema in (None, "", "%", "al_ke", "ALI%", "nope"):
            found = [
                [row[0] for row in tree.schemas(c, schema) if row[0] == "alike"] for c in ("spark_catalog", "paimon")
            ]
            assert found[0] == found[1], schema
            assert bool(tree.tables("paimon", schema, "axb")) == (schema != "nope"), schema
        assert (
            tree.tables("pai*", "%", "%") == tree.tables("paimon' OR 'x", "%", "%") == tree.tables("\\", "%", "%") == []
        )


def test_primary_keys(server: Server) -> None:
    with server.client() as client, client.cursor() as cursor:
        answer(cursor, "CREATE DATABASE keyed")
        options = "WITH ('primary-key' = 'z,At day', 'bucket' = '1')"
        answer(cursor, f"CREATE TABLE keyed.`of ``two` (v INT, `At day` DATE, z INT) {options}")
        answer(cursor, "CREATE TABLE keyed.no_key (v INT)")
        answer(cursor, "CREATE VIEW keyed.seen AS SELECT v FROM paimon.keyed.no_key")
        tree = Tree(client)
        answer(cursor, "USE keyed")
        table = ("paimon", "keyed", "of `two")
        for asked in (table, (None, *table[1:]), (None, None, table[2])):
            assert tree.key(*asked) == [(*table, "At day", 2, None), (*table, "z", 1, None)]
        others = [("paimon", "keyed", "no_key"), ("paimon", "keyed", "seen"), ("paimon", "keyed", "nowhere")]
        assert [tree.key(*other) for other in others] == [[]] * len(others)


class Tree:
    """The calls of HiveServer2 with which BI tools fill their trees; PyHive has them as its own client's."""

    def __init__(self, client: Any) -> None:
        self.client, self.session = client._client, client._sessionHandle

    def catalogs(self) -> list[tuple[Any, ...]]:
        return self._rows(self.client.GetCatalogs(ttypes.TGetCatalogsReq(self.session)))

    def schemas(self, catalog: str | None, schema: str = "%") -> list[tuple[Any, ...]]:
        return self._rows(self.client.GetSchemas(ttypes.TGetSchemasReq(self.session, catalog, schema)))

    def tables(self, catalog: str | None, schema: str, table: str, types: list[str] | None = None) -> list[Any]:
        asked = ttypes.TGetTablesReq(self.session, catalog, schema, table, types)
        return sorted(row[:4] for row in self._rows(self.client.GetTables(asked)))

    def columns(self, catalog: str | None, schema: str, table: str, column: str) -> list[Any]:
        asked = ttypes.TGetColumnsReq(self.session, catalog, schema, table, column)
        return [(*row[:4], row[5]) for row in self._rows(self.client.GetColumns(asked))]

    def whole_columns(self, catalog: str | None, schema: str, table: str, column: str = "%") -> list[Any]:
        """Return all that is answered about columns."""
        return self._rows(self.client.GetColumns(ttypes.TGetColumnsReq(self.session, catalog, schema, table, column)))

    def key(self, catalog: str | None, schema: str | None, table: str) -> list[tuple[Any, ...]]:
        return self._rows(self.client.GetPrimaryKeys(ttypes.TGetPrimaryKeysReq(self.session, catalog, schema, table)))

    def _rows(self, done: Any) -> list[tuple[Any, ...]]:
        assert done.status.statusCode == ttypes.TStatusCode.SUCCESS_STATUS, done.status.errorMessage
        asked = ttypes.TFetchResultsReq(done.operationHandle, ttypes.TFetchOrientation.FETCH_NEXT, 1000)
        found = self.client.FetchResults(asked).results
        columns = [hive._unwrap_column(column) for column in found.columns]
        return list(zip(*columns, strict=True))


def test_clients_at_the_same_time(server: Server) -> None:
    statements, wrong = 10, []

    def work(number: int) -> None:
        with server.client() as client, client.cursor() as cursor:
            answer(cursor, f"CREATE TABLE many_{number} (k INT) WITH ('bucket' = '1', 'bucket-key' = 'k')")
            for i in range(statements):
                answer(cursor, f"INSERT INTO many_{number} VALUES ({i})")
            found = answer(cursor, f"SELECT count(*), sum(k) FROM many_{number}")
            if found != [(statements, sum(range(statements)))]:
                wrong.append((number, found))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_wrong_password_is_refused(server: Server) -> None:
    for user, password in (("ann", "wrong"), ("ann", ""), ("bob", "right")):
        with pytest.raises(TTransportException):
            hive.connect("127.0.0.1", server.thrift, username=user, password=password, auth="CUSTOM")


def test_beeline(server: Server) -> None:
    with server.client() as client, client.cursor() as cursor:
        answer(cursor, "CREATE DATABASE of_beeline")
        answer(cursor, "CREATE TABLE of_beeline.orders (id INT, page STRING)")
    url = f"jdbc:hive2://127.0.0.1:{server.thrift}/of_beeline"
    asked = ["!tables", "!columns orders", "SELECT snapshot_id FROM orders$snapshots;", "SELECT 40 + 2 AS n;"]
    command = [str(Path(pyspark.__file__).parent / "bin" / "beeline"), "--silent=true", "--outputformat=csv2"]
    command += ["-u", url, "-n", "ann", "-p", "right", *(word for one in asked for word in ("-e", one))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    for line in ("paimon,of_beeline,orders,TABLE,", "paimon,of_beeline,orders,page,12,STRING,", "snapshot_id", "42"):
        assert any(found.startswith(line) for found in done.stdout.splitlines()), (line, done.stdout)


def test_sqlalchemy(server: Server) -> None:
    """As Superset asks for databases, columns and rows. For names of tables PyHive takes those of their databases."""
    with server.client() as client, client.cursor() as cursor:
        answer(cursor, "CREATE DATABASE of_superset")
        answer(cursor, "CREATE TABLE of_superset.visits (id INT, page STRING)")
        answer(cursor, "INSERT INTO of_superset.visits VALUES (1, '/'), (2, '/'), (3, '/about')")
        answer(cursor, "CREATE VIEW of_superset.pages AS SELECT DISTINCT page FROM paimon.of_superset.visits")
    engine = sqlalchemy.create_engine(f"hive://ann:right@127.0.0.1:{server.thrift}/of_superset?auth=CUSTOM")
    asked = sqlalchemy.inspect(engine)
    assert "of_superset" in asked.get_schema_names()
    assert asked.has_table("pages", "of_superset")
    assert [column["name"] for column in asked.get_columns("visits", "of_superset")] == ["id", "page"]
    visits = sqlalchemy.Table("visits", sqlalchemy.MetaData(), schema="of_superset", autoload_with=engine)
    counted = sqlalchemy.select(visits.c.page, sqlalchemy.func.count()).group_by(visits.c.page).order_by(visits.c.page)
    with engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(counted)] == [("/", 2), ("/about", 1)]
    engine.dispose()


def test_impyla(server: Server) -> None:
    def session(password: str) -> Any:
        return impyla.connect("127.0.0.1", server.thrift, auth_mechanism="PLAIN", user="ann", password=password)

    with session("right") as client, client.cursor() as cursor:
        cursor.execute("CREATE TABLE of_impyla (id INT, page STRING) WITH ('primary-key' = 'id', 'bucket' = '1')")
        cursor.execute("INSERT INTO of_impyla VALUES (1, '/'), (2, '/about')")
        cursor.execute("SELECT * FROM of_impyla ORDER BY id")
        assert [column[:2] for column in cursor.description] == [("id", "INT"), ("page", "STRING")]
        assert cursor.fetchall() == [(1, "/"), (2, "/about")]
        cursor.execute("SELECT snapshot_id FROM of_impyla$snapshots")
        assert cursor.fetchall() == [(1,)]
        with pytest.raises(ImpylaError, match="PAIMON_INVALID_OPTION"):
            cursor.execute("CREATE TABLE other (k INT) WITH ('bucket' = 'many')")
    with pytest.raises(TTransportException):
        session("wrong").cursor()


def test_spark_connect(server: Server) -> None:
    def run(token: str) -> subprocess.CompletedProcess[str]:
        url = f"sc://localhost:{server.connect}/;token={token}"  # only so PySpark sends a token without TLS
        command = [sys.executable, "-c", CONNECT_CLIENT, url]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    done = run("a-token")
    assert done.stdout.splitlines() == [
        "paimon True", "paimon", "1 1", "True", "[(1, 'x'), (2, 'b')]", "PAIMON_INVALID_OPTION",
        "('${env:HOME}', '${system:user.home}')",
    ], done.stderr[-3000:]  # fmt: skip
    assert run("another").returncode != 0


def test_the_token_is_on_no_command_line(server: Server) -> None:
    processes = psutil.Process(server.process.pid).children(recursive=True)
    lines = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):  # one that has ended has no command line any more
            lines.append(" ".join(process.cmdline()))
    assert any("SparkSubmit" in line for line in lines)
    assert not any("a-token" in line for line in lines)


def test_the_log_tells_each_statement_without_secrets(server: Server) -> None:
    with server.client() as client, client.cursor() as cursor:
        answer(cursor, "SELECT 'find me'")
        answer(cursor, "SET spark.sql.catalog.other.s3.secret-key = hush")
        answer(cursor, "SELECT * FROM range(1500)")
    server.wait_for("range(1500)")
    log = server.wait_for("s3.secret-key")
    assert re.search(r"thrift user=ann seconds=\d+\.\d+ rows=1 closed: SELECT 'find me'", log), log
    assert re.search(r"thrift user=ann seconds=\d+\.\d+ rows=1500 closed: SELECT \* FROM range", log), log
    assert "s3.secret-key" in log and "hush" not in log


def test_the_log_tells_failures_from_ends(server: Server) -> None:
    failing = ("SELECT raise_error('bad ' || id) FROM range(1)", "SELECT bad_column")
    with server.client() as client, client.cursor() as cursor:
        for statement in failing:
            with pytest.raises(OperationalError):
                cursor.execute(statement)
            cursor.close()
    for number, leave in enumerate((Cursor.cancel, Cursor.close)):
        with server.client() as client, client.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM range(1000000000000) WHERE id % 7 = {number}", async_=True)
            time.sleep(5)  # Spark overlooks what is cancelled while it is planned
            leave(cursor)
            cursor.close()
    command = [sys.executable, "-c", FAILING_CLIENT, server.remote]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    server.wait_for("bad_column")
    log = server.wait_for("SELECT count(*) AS bad")
    rows = (
        r"^common \{ plan_id: \d+ \} sql .*"  # the rows of a statement: its command comes before, in a line of its own
    )
    ends = [
        ("thrift", "failed", r"SELECT raise_error\("), ("thrift", "failed", "SELECT bad_column"),
        ("thrift", "canceled", "% 7 = 0"), ("thrift", "canceled", "% 7 = 1"),
        ("connect", "failed", rows + r"raise_error\("), ("connect", "canceled", rows + "% 7 = 2"),
    ]  # fmt: skip
    lines = re.findall(r"(thrift|connect) user=\w* seconds=(\d+)\.\d+(?: rows=\d+)? (\w+): (.*)", log)
    for door, state, text in ends:
        found = [
            (end, int(seconds) < PATIENCE) for at, seconds, end, line in lines if at == door and re.search(text, line)
        ]
        assert found == [(state, True)], (text, log)


def test_cancelling_ends_the_job(server: Server) -> None:
    with server.client() as client, client.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM range(1000000000000) WHERE id % 7 = 1", async_=True)
        wait_until(lambda: server.health_now()["statements"])
        time.sleep(5)  # Spark overlooks what is cancelled while it is planned
        cursor.cancel()
        cursor.close()  # as clients do; it ends a job that was being planned when it was cancelled
        wait_until(lambda: server.health_now()["statements"] == 0, server.log.read_text)
    with server.client() as client, client.cursor() as cursor:
        assert answer(cursor, "SELECT 1") == [(1,)]


def test_a_port_in_use_is_said(server: Server, tmp_path: Path) -> None:
    words = ["serve", "--thrift", str(server.thrift), "-w", str(tmp_path / "w"), "--master", "local[1]"]
    done = subprocess.run(
        [sys.executable, "-m", "paimon_sql", *words], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 1
    assert f"The JDBC server cannot listen on 127.0.0.1:{server.thrift}" in done.stderr


def test_what_is_refused_before_spark_starts(tmp_path: Path) -> None:
    words = ["serve", "--thrift", "1", "--host", "0.0.0.0"]
    done = subprocess.run(
        [sys.executable, "-m", "paimon_sql", *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1 and "give --users FILE or --ldap URL" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_it_stops_when_its_statements_have_ended(tmp_path: Path) -> None:
    with served(tmp_path, "--drain", PATIENCE) as server:  # a busy machine takes longer than the default for the first
        assert server.health_now()["status"] == "serving"
        found: list[Any] = []

        cursor = server.quiet_client().cursor()
        many = "SELECT count(*) FROM range(1000) AS a, range(20000) AS b WHERE a.id != b.id"
        thread = threading.Thread(target=lambda: found.extend(answer(cursor, many)))
        thread.start()
        wait_until(lambda: server.health_now()["statements"] or found, server.log.read_text)
        server.process.send_signal(signal.SIGTERM)
        thread.join()
        assert found == [(1000 * 20000 - 1000,)]
        assert server.process.wait(PATIENCE) == 0
