"""A server whose driver runs out of memory: it ends, and says so."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyhive.exc import Error
from thrift.transport.TTransport import TTransportException

from tests.support.served import PATIENCE, Server, answer, served

pytestmark = [pytest.mark.spark, pytest.mark.slow]


WIDE = "SELECT id, repeat('x', 1000000) AS x FROM range(0, {rows}, 1, 4)"


def test_answers_larger_than_the_memory(tmp_path: Path) -> None:
    """Rows that compress well are small until they are unpacked, which takes more than the memory of the server."""
    with served(tmp_path) as server, server.client() as client, client.cursor() as cursor:
        for statement, rows in (
            (WIDE.format(rows=1200), 1200),
            (f"{WIDE.format(rows=50000)} LIMIT 1300 OFFSET 100", 1300),
            (
                f"SELECT * FROM ({WIDE.format(rows=1200)}) CROSS JOIN (SELECT count(*) FROM range(3)) WHERE id >= 0",
                1200,
            ),
        ):
            cursor.execute(statement)
            found = [row[0] for row in iter(cursor.fetchone, None) if len(row[1]) == 1000000]
            assert len(found) == rows and len(set(found)) == rows, statement
            with server.client() as another, another.cursor() as beside:
                assert answer(beside, "SELECT 1") == [(1,)]
        assert server.health_now()["status"] == "serving"


CONNECT_CLIENT = """
import sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
def printed(run):
    try:
        print(run())
    except PySparkException as error:
        print(error.getCondition(), "maxResultSize" in str(error))
wide = "SELECT id, repeat('x', 1000000) AS x FROM range(0, 50000, 1, 4)"
few = wide.replace("50000", "1200")
joined = f"SELECT * FROM ({few}) CROSS JOIN (SELECT count(*) FROM range(3)) WHERE id >= 0"
printed(lambda: spark.sql(f"{wide} LIMIT 1300").collect())
printed(lambda: spark.sql(f"{wide} LIMIT 1300 OFFSET 1200").collect())
printed(lambda: spark.sql(f"{joined} LIMIT 1300").collect())
printed(lambda: spark.sql(wide).tail(1300))
printed(lambda: spark.sql(wide).show(1300))
printed(lambda: spark.sql(few).toPandas())
printed(lambda: [row.id for row in spark.sql(f"{wide} LIMIT 20 OFFSET 5").collect()] == list(range(5, 25)))
printed(lambda: [row.id for row in spark.sql(f"{joined} LIMIT 20 OFFSET 5").collect()] == list(range(5, 25)))
printed(lambda: [row.id for row in spark.range(0, 100, 1, 7).tail(40)] == list(range(60, 100)))
printed(lambda: [row.id for row in spark.range(0, 100, 1, 7).limit(40).collect()] == list(range(40)))
printed(lambda: [len(spark.range(9).tail(0)), len(spark.range(9).tail(99)), len(spark.range(9).limit(0).collect())])
printed(lambda: [len(spark.range(9).offset(4).collect()), len(spark.sql("SHOW DATABASES").limit(1).collect())])
printed(lambda: spark.range(0, 100, 1, 7).show(1) or spark.range(3).first()[0])
"""


def test_answers_over_connect_that_are_larger_than_the_memory(tmp_path: Path) -> None:
    """Spark unpacks the first rows of a plan in the driver, and the last ones; so it does for `show`."""
    with served(tmp_path) as server:
        command = [sys.executable, "-c", CONNECT_CLIENT, server.remote]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        refused = "PAIMON_LIMIT_EXCEEDED True"
        said = done.stdout.splitlines()
        assert said[:5] == [refused] * 5, (said, done.stderr[-3000:])
        shown = ["+---+", "| id|", "+---+", "|  0|", "+---+", "only showing top 1 row", "0"]
        assert said[6:] == ["True"] * 4 + ["[0, 9, 0]", "[5, 1]", *shown], (said, done.stderr[-3000:])
        with server.client() as client, client.cursor() as cursor:
            assert answer(cursor, "SELECT id FROM range(0, 100, 1, 7) LIMIT 2 OFFSET 50") == [(50,), (51,)]
        assert server.health_now()["status"] == "serving"


def test_answers_of_all_kinds_in_parts(common_server: Server) -> None:
    values = "1 AS i, 'a' AS s, X'01' AS b, 1.5 AS d, DATE'2026-01-01' AS t, TIMESTAMP'2026-01-01 00:00:00' AS z"
    nested = "array(1, NULL) AS a, map('k', 1) AS m, named_struct('x', 1) AS r, INTERVAL '1' DAY AS v, NULL AS n"
    shown = (1, "a", b"\x01", "1.5", "2026-01-01", "2026-01-01 00:00:00", "[1,null]", '{"k":1}', '{"x":1}')
    with common_server.client() as client, client.cursor() as cursor:
        for source in ("", " FROM range(1)", " FROM range(5) LIMIT 1", " FROM range(3) ORDER BY id LIMIT 1 OFFSET 1"):
            (row,) = answer(cursor, f"SELECT {values}, {nested}{source}")
            assert tuple(map(str, row))[:9] == tuple(map(str, shown)), source
        assert answer(cursor, "SELECT id FROM range(100000) LIMIT 7 OFFSET 3") == [(i,) for i in range(3, 10)]
        assert answer(cursor, "SELECT id FROM range(0, 10, 1, 10) WHERE id > 6 LIMIT 2") == [(7,), (8,)]
        assert answer(cursor, "SELECT id FROM range(0, 10, 1, 10) OFFSET 8") == [(8,), (9,)]
        assert answer(cursor, "SELECT id FROM range(5) LIMIT 0") == []
        assert answer(cursor, "SHOW DATABASES") != [] and answer(cursor, "SELECT count(*) FROM range(9)") == [(9,)]
        answer(cursor, "SET spark.sql.thriftServer.incrementalCollect=true")
        assert answer(cursor, "SELECT id FROM range(0, 9, 1, 3)") == [(i,) for i in range(9)]
        with pytest.raises(Error, match="DIVIDE_BY_ZERO"):
            answer(cursor, "SELECT 1 / (id - id) FROM range(3)")
        answer(cursor, "SET spark.sql.thriftServer.incrementalCollect=false")
        with pytest.raises(Error, match="DIVIDE_BY_ZERO"):
            answer(cursor, "SELECT 1 / (id - id) FROM range(3)")


def test_many_answers_that_nobody_fetches(tmp_path: Path) -> None:
    """Each is within the limit of one; all of them together would take more than the memory."""
    large = "SELECT xxhash64(id), xxhash64(id, 1), xxhash64(id, 2), xxhash64(id, 3) FROM range(5000000)"
    with served(tmp_path) as server, ExitStack() as cursors:
        refused = 0
        for _ in range(8):
            cursor = cursors.enter_context(cursors.enter_context(server.client()).cursor())
            try:
                cursor.execute(large)
            except Error as error:
                assert "PAIMON_LIMIT_EXCEEDED" in str(error)
                refused += 1
        assert 0 < refused < 8
        assert server.health_now()["status"] == "serving"
        cursors.close()
        with server.client() as client, client.cursor() as cursor:
            assert len(answer(cursor, f"{large} LIMIT 100")) == 100


def test_a_server_without_memory_ends(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.health_now()["status"] == "serving"
        cursor = server.client().cursor()  # nobody closes it: its server will be gone
        assert answer(cursor, "SELECT 1") == [(1,)]
        with pytest.raises((Error, TTransportException, OSError)):
            answer(cursor, "SELECT size(collect_list(repeat('x', 1000000))) AS x FROM range(3000)")
        assert server.process.wait(PATIENCE) == 1
        assert "The driver's JVM has ended" in server.log.read_text()
        with pytest.raises((urllib.error.URLError, OSError)):
            server.health_now()
