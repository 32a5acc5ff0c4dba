"""Spark's own Thrift server with the jar that `paimon-sql jar` makes: clients of HiveServer2, and beeline."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass

import psutil
import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from tests.support.jvm_programs import Programs, programs_with_jar
from tests.support.ports import free_port, is_free
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CLIENTS = 16
# runs in a task for five seconds
SLOW = "3 + length(coalesce(reflect('java.lang.Thread', 'sleep', 5000L), ''))"


@dataclass(frozen=True, slots=True)
class Started:
    """A server of Spark, and the folder of its programs."""

    programs: Programs
    process: psutil.Process
    port: int

    def client(self, user: str) -> AbstractContextManager[hive.Connection]:
        return hive.connect("127.0.0.1", self.port, username=user)

    def pythons(self) -> list[psutil.Process]:
        living = (child for child in self.process.children() if child.status() != psutil.STATUS_ZOMBIE)
        return [child for child in living if "-c" in child.cmdline()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    programs = programs_with_jar(tmp_path_factory.mktemp("programs"))
    options = programs.run("paimon-sql spark-options -w lake").out.replace("\n", " ")
    main = "--class org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    port = free_port()
    command = f"spark-submit {options} {main} --conf spark.hadoop.hive.server2.thrift.port={port} spark-internal"
    with programs.started(command) as process:
        started = Started(programs, process, port)
        wait_until(lambda: not is_free(port) or process.poll() is not None, (programs.folder / "log").read_text)
        wait_until(lambda: len(started.pythons()) == 1)  # it starts before any statement
        yield started
        (python,) = started.pythons()
    python.wait(600)


def asked(client: hive.Connection, statement: str) -> list[tuple[object, ...]]:
    with client.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_python_is_killed_while_a_client_inserts(server: Started) -> None:
    with server.client("ann") as ann, server.client("ben") as ben:
        assert asked(ann, "CREATE TABLE t (id BIGINT) WITH ('bucket' = '1', 'bucket-key' = 'id')") == []
        asked(ben, "INSERT INTO t VALUES (1), (2)")
        assert asked(ann, "SELECT id FROM t ORDER BY id") == [(1,), (2,)]
        assert asked(ben, "CALL sys.compact(table => 'default.t')") == [(True,)]
        with ThreadPoolExecutor(1) as beside:
            insert = beside.submit(asked, ann, f"INSERT INTO t SELECT {SLOW}")
            time.sleep(1)  # wherever the statement is then, nothing of it may be visible
            (killed,) = server.pythons()
            killed.kill()
            outcome = insert.exception()
        rows = asked(ben, "SELECT id FROM t ORDER BY id")
        assert rows[:2] == [(1,), (2,)] and (outcome is None) == (len(rows) == 3)
        asked(ann, "INSERT INTO t VALUES (9)")
        assert (9,) in asked(ben, "SELECT id FROM t")
    (python,) = server.pythons()
    assert python.pid != killed.pid


def test_16_beelines(server: Started) -> None:
    """Each makes a table, and writes to one that all share; no commit is lost."""
    with server.client("ann") as ann:
        asked(ann, "CREATE TABLE shared (id INT, name STRING) WITH ('primary-key' = 'id', 'bucket' = '1')")

    def beeline(number: int) -> str:
        steps = (
            f"CREATE TABLE own_{number} (id INT) WITH ('bucket' = '-1');",
            f"INSERT INTO own_{number} VALUES ({number});",
            f"INSERT INTO shared VALUES ({number}, 'of {number}');",
            f"SELECT concat('found ', o.id, ' ', s.name) AS f FROM own_{number} AS o JOIN shared AS s USING (id);",
            "SELECT no_such_column FROM shared;",
        )
        words = " ".join(f'-e "{step}"' for step in steps)
        place = f"-u jdbc:hive2://127.0.0.1:{server.port}/default -n user{number}"
        ended = server.programs.run(f"beeline --silent=true --outputformat=csv2 --force=true {place} {words}")
        assert f"found {number} of {number}" in ended.out, ended.out + ended.err
        return ended.err

    with ThreadPoolExecutor(CLIENTS) as clients:
        errors = list(clients.map(beeline, range(CLIENTS)))
    assert all("UNRESOLVED_COLUMN.WITH_SUGGESTION" in text and "42703" in text for text in errors), errors[0]
    with server.client("ann") as ann:
        assert asked(ann, "SELECT id FROM shared ORDER BY id") == [(n,) for n in range(CLIENTS)]
        assert asked(ann, "SELECT count(*) FROM shared$snapshots WHERE commit_kind = 'APPEND'") == [(CLIENTS,)]
    assert len(server.pythons()) == 1


def test_a_cancelled_insert_writes_nothing(server: Started) -> None:
    with server.client("ann") as ann:
        asked(ann, "CREATE TABLE cancelled (id BIGINT) WITH ('bucket' = '-1')")
        with ann.cursor() as cursor:
            cursor.execute(f"INSERT INTO cancelled SELECT {SLOW} FROM range(0, 100, 1, 2)", async_=True)
            time.sleep(2)
            cursor.cancel()
        assert asked(ann, "SELECT count(*) FROM cancelled") == [(0,)]
        asked(ann, "INSERT INTO cancelled VALUES (1)")
        assert asked(ann, "SELECT id FROM cancelled") == [(1,)]
        assert asked(ann, "SELECT count(*) FROM cancelled$snapshots") == [(1,)]
        with pytest.raises(OperationalError, match="TABLE_OR_VIEW_NOT_FOUND"):
            asked(ann, "INSERT INTO cancelled_too VALUES (1)")


def test_classes_of_an_added_jar(server: Started) -> None:
    """`ADD JAR` gives a session classes, which its statements on Paimon tables use."""
    server.programs.compiled("added.jar", 'public class Added { public static String word() { return "added"; } }')
    jar = server.programs.folder / "added.jar"
    with server.client("ann") as ann:
        asked(ann, f"ADD JAR {jar}")
        asked(ann, "CREATE TABLE words (word STRING) WITH ('bucket' = '-1')")
        asked(ann, "INSERT INTO words SELECT reflect('Added', 'word')")
        assert asked(ann, "SELECT word, reflect('Added', 'word') FROM words") == [("added", "added")]
