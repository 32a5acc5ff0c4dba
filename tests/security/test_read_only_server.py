"""A server that only reads, attacked at each door: nothing is written, deleted or run."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from TCLIService import ttypes
from thrift.transport.TTransport import TTransportException

from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import accounts_of
from paimon_sql.server.rest.app import PREFIX, routes
from tests.security.attempts import SETTINGS, session_settings, statements
from tests.security.doors import at_connect, at_health, at_rest, at_thrift, sight_of
from tests.security.doors import statements as statements_of_spark
from tests.support.ports import free_port
from tests.support.served import PATIENCE, Server, answer, served
from tests.support.stored import create_table, insert

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NOISE = ("log", "derby.log")  # of the server itself


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a table, as a server that only reads can make none."""
    made = tmp_path_factory.mktemp("read-only")
    insert(create_table(str(made / "warehouse"), primary_key="k", bucket="1"), [(1, "a")])
    for name in ("hidden", "warehouse/links"):
        (made / name).mkdir()
    (made / "hidden" / "x").write_text("hidden\n")
    (made / "warehouse" / "links" / "folder").symlink_to(made / "hidden")
    (made / "warehouse" / "links" / "file").symlink_to(made / "hidden" / "x")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    (folder / "listed").mkdir()
    (folder / "listed" / "rows").write_text("a\nb\n")
    listed = ("-c", f"spark.paimon-sql.read-paths={folder}/listed")
    with served(folder, "--read-only", "--rest", free_port(), *listed, passwords=False) as found:
        with found.client() as client, client.cursor() as cursor:
            assert answer(cursor, "SELECT k, v FROM t") == [(1, "a")]
        yield found


def contents(folder: Path) -> dict[str, str]:
    """Each file and folder below one, and what the files hold."""
    found = {}
    for root, folders, files in os.walk(folder):
        found.update({os.path.join(root, name): "" for name in folders})
        for name in files:
            if name not in NOISE:
                path = Path(root, name)
                is_link = path.is_symlink()  # which may lead to a missing file
                found[str(path)] = os.readlink(path) if is_link else hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def said_to(cursor: Any, statement: str) -> str:
    """What a statement is refused with; its rows where it is not."""
    try:
        return f"done: {answer(cursor, statement)}"
    except OperationalError as error:
        return str(error)


def test_statements_over_thrift(server: Server, folder: Path) -> None:
    before, done = contents(folder), {}
    with server.client() as client, client.cursor() as cursor:
        for statement in statements():
            text = statement.replace("{folder}", str(folder))
            said = said_to(cursor, text)
            if "PAIMON_READ_ONLY" not in said:
                done[text] = said[:400]
        assert answer(cursor, "SELECT k, v FROM t") == [(1, "a")]
    assert [text for text, said in done.items() if not is_refused_by_spark(said)] == []
    assert len(done) < 40, done  # the others are refused by name
    assert contents(folder) == before


def is_refused_by_spark(said: str) -> bool:
    """Whether Spark itself does not take a statement, before anything of it is looked at."""
    return (
        "PARSE_SYNTAX_ERROR" in said
        or "INVALID_SQL_SYNTAX" in said
        or "CANNOT_MODIFY" in said
        or "_UNSUPPORTED" in said
    )


def test_paths_of_warehouses_and_listed_places(server: Server, folder: Path) -> None:
    with server.client() as client, client.cursor() as cursor:
        assert answer(cursor, f"SELECT count(*) FROM text.`{folder}/listed/*`") == [(2,)]
        assert answer(cursor, f"SELECT v FROM paimon.`{folder}/warehouse/default.db/t` VERSION AS OF 1") == [("a",)]
        assert answer(cursor, f"SELECT count(*) FROM json.`file:{folder}/warehouse/default.db/t/schema`")[0][0] > 0
        assert "PAIMON_READ_ONLY" in said_to(cursor, f"SELECT * FROM text.`{folder}/listed-2`")


# a name for a file or a table outside of the warehouse; {x} exists, or does not
NAMES = """
text.`token{x}`
csv.`./token{x}`
`org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`token{x}`
IDENTIFIER('parquet.`token{x}`')
IDENTIFIER('parquet.`{folder}/hidden/x{x}`')
json.`{folder}/hidden/x{x}`
text.`{folder}/warehouse/links/folder/x{x}`
text.`{folder}/warehouse/links/fol[d]er/x{x}`
text.`{folder}/warehouse/*/folder/x{x}`
text.`{folder}/warehouse/links/dangling{x}`
paimon.`{folder}/elsewhere/default.db/t{x}`
paimon_path.`{folder}/elsewhere/default.db`.t{x}
`{folder}/elsewhere/default.db`.t{x}
`{folder}/elsewhere/default.db`.`t{x}$schemas`
""".strip().splitlines()
PLACES_OF_NAMES = """
SELECT * FROM {name}
TABLE {name}
WITH s AS (SELECT * FROM {name}) SELECT * FROM s
SELECT (SELECT count(*) FROM {name})
EXPLAIN SELECT * FROM {name}
DESCRIBE QUERY SELECT * FROM {name}
CREATE TEMPORARY VIEW seen AS SELECT * FROM {name}
FROM {name} |> LIMIT 1
BEGIN SELECT * FROM {name}; END
EXECUTE IMMEDIATE "SELECT * FROM {name}"
""".strip().splitlines()


def test_no_statement_shows_whether_a_file_exists(server: Server, folder: Path) -> None:
    insert(create_table(str(folder / "elsewhere"), bucket="-1"), [(1, "hidden")])
    (folder / "warehouse" / "links" / "dangling").symlink_to(folder / "missing")
    (folder / "warehouse" / "links" / "dangling_not").symlink_to(folder / "token")
    wrong = []
    with server.client() as client, client.cursor() as cursor:
        for number, name in enumerate(NAMES * 2):
            place = PLACES_OF_NAMES[number % len(PLACES_OF_NAMES)]
            for x in ("", "_not"):
                text = place.format(name=name.format(folder=folder, x=x))
                said = said_to(cursor, text)
                if "PAIMON_READ_ONLY" not in said:
                    wrong.append((text, said[:300]))
    assert wrong == []


def test_the_catalog_of_paths_cannot_be_current(server: Server, folder: Path) -> None:
    """A name without a path could be one then."""
    hidden = f"{folder}/hidden"
    for statement in (
        "SET CATALOG paimon_path",
        "SET CATALOG `PAIMON_PATH`",
        "USE paimon_path",
        f"USE paimon_path.`{hidden}`",
        f"USE `{hidden}`",
        f"SET PATH = paimon_path.`{hidden}`",
        f"SHOW TABLES IN paimon_path.`{hidden}`",
    ):
        with server.client() as client, client.cursor() as cursor:
            said = said_to(cursor, statement)
            assert "PAIMON_READ_ONLY" in said or "PARSE_SYNTAX_ERROR" in said, (statement, said[:300])
            assert answer(cursor, "SELECT current_catalog()") == [("paimon",)], statement


def test_a_warehouse_that_gets_users(tmp_path: Path) -> None:
    """Paths into it were allowed before: files there hold the passwords, and tables that others may not read."""
    insert(create_table(str(tmp_path / "warehouse"), primary_key="k", bucket="1"), [(1, "a")])
    files = f"{tmp_path}/warehouse"
    with (
        served(tmp_path, "--read-only", passwords=False) as server,
        server.client() as client,
        client.cursor() as cursor,
    ):
        assert answer(cursor, f"SELECT count(*) > 0 FROM text.`{files}/default.db/t/schema`") == [(True,)]
        assert answer(cursor, f"SELECT v FROM paimon.`{files}/default.db/t`") == [("a",)]
        accounts_of(load_catalog({"warehouse": files})).initialize("root's password")
        for name in (f"text.`{files}/default.db/t/schema`", f"avro.`{files}/user.sys/bucket-0`", f"text.`{files}`"):
            assert "PAIMON_READ_ONLY" in said_to(cursor, f"SELECT * FROM {name}"), name
        assert "done" not in said_to(cursor, f"SELECT v FROM paimon.`{files}/default.db/t`")


def test_sessions_over_thrift(server: Server, folder: Path) -> None:
    before, opened = contents(folder), []
    for key, value in session_settings():
        try:
            hive.connect(
                "127.0.0.1", server.thrift, username="ann", configuration={key: value.replace("{folder}", str(folder))}
            ).close()
            opened.append(key)
        except (OperationalError, TTransportException):
            pass
    assert opened == []
    given = {"set:hiveconf:spark.sql.shuffle.partitions": "7", "set:hivevar:mine": "x"}
    with (
        hive.connect("127.0.0.1", server.thrift, username="ann", configuration=given) as client,
        client.cursor() as cursor,
    ):
        assert answer(cursor, "SET spark.sql.shuffle.partitions") == [("spark.sql.shuffle.partitions", "7")]
        overlay = ttypes.TExecuteStatementReq(client._sessionHandle, "SELECT 1", {"fs.file.impl": "Evil"}, False)
        assert client._client.ExecuteStatement(overlay).status.statusCode == ttypes.TStatusCode.ERROR_STATUS
    assert contents(folder) == before


def test_silent_connections_over_thrift(server: Server) -> None:
    """More than HiveServer2 has threads: the oldest make room for who logs in."""
    silent = [socket.create_connection(("127.0.0.1", server.thrift), timeout=60) for _ in range(600)]
    try:
        with server.client() as client, client.cursor() as cursor:
            assert answer(cursor, "SELECT 1") == [(1,)]
        with suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""
    finally:
        for one in silent:
            one.close()


def test_calls_over_spark_connect(server: Server, folder: Path) -> None:
    before = contents(folder)
    settings = [line.replace("{folder}", str(folder)) for line in SETTINGS]
    script = Path(__file__).with_name("connect_attempts.py")
    command = [sys.executable, str(script), server.remote, str(folder), *settings]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    attempts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(attempts) > 100, done.stderr[-3000:]
    for name, said in attempts:
        assert name.startswith("allowed: ") == said.startswith("done: "), (name, said)
    refused = [name for name, said in attempts if "PAIMON_READ_ONLY" in said]
    others = {
        name: said for name, said in attempts if "PAIMON_READ_ONLY" not in said and not name.startswith("allowed: ")
    }
    assert len(refused) > 100 and len(others) < 5, others  # refused by the client itself
    assert contents(folder) == before


def test_requests_of_the_rest_api(server: Server, folder: Path) -> None:
    before, host = contents(folder), server.rest.removeprefix("http://")
    names = {"databases": "default", "tables": "t"}
    tried = 0
    for method, pattern in routes():
        parts = pattern.split("/")
        path = "/".join(names.get(parts[i - 1], "x") if part == "*" else part for i, part in enumerate(parts))
        for verb in {method, "POST", "DELETE", "PUT", "PATCH"} - {"GET"}:
            connection = http.client.HTTPConnection(host, timeout=30)
            connection.request(verb, f"/v1/{PREFIX}/{quote(path)}", body=json.dumps({"name": "d", "identifier": {}}))
            status = connection.getresponse().status
            connection.close()
            tried += 1
            assert status in (403, 405, 501) or pattern.endswith("list-by-names"), (verb, pattern, status)
    assert tried > 100
    assert contents(folder) == before


def test_generated_attempts_at_each_door(server: Server, folder: Path) -> None:
    """A share of what `python -m tests.security` tries: each class of statement, each message, each address."""
    before, seed = sight_of(folder), 20260101
    texts = statements_of_spark(seed, 1)
    thrift = at_thrift(server, folder, [*texts[:95], *texts[95::25]])
    assert thrift["refused"] > 60, thrift
    connect = at_connect(server, folder, seed, 1)
    assert connect["refused"] > 60, connect
    at_rest(server.rest.removeprefix("http://"), folder, seed, 100)
    at_health(server, seed, 50)
    now = sight_of(folder)
    assert {path: seen for path, seen in now.items() if before.get(path) != seen} == {} and before.keys() <= now.keys()


def test_requests_of_the_health_door(server: Server, folder: Path) -> None:
    before = contents(folder)
    for verb in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"):
        connection = http.client.HTTPConnection("127.0.0.1", server.health, timeout=30)
        connection.request(verb, "/health", body="{}")
        assert connection.getresponse().status >= 400, verb
        connection.close()
    for path in ("/", "/shutdown", "/health/../users", "/log"):
        connection = http.client.HTTPConnection("127.0.0.1", server.health, timeout=30)
        connection.request("GET", path)
        assert connection.getresponse().status == 404, path
        connection.close()
    assert contents(folder) == before
