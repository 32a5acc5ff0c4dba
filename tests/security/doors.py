"""Hundreds of attempts at each door of a server that only reads, made from the Spark that is installed.

Each function makes attempts and counts how they end. Nothing may be written, deleted or run: `sight_of` says what files
there are.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyspark
from pyhive.exc import Error
from thrift.transport.TTransport import TTransportException

from paimon_sql.server.reads.listed import allowed, is_read
from paimon_sql.server.rest.app import PREFIX, routes
from tests.support.printed import printed_lines
from tests.support.served import PATIENCE, Server, answer
from tests.support.spark_grammar import sentences

NOISE = ("log", "derby.log")  # of the server itself
REFUSED = "PAIMON_READ_ONLY"
_SESSION = 40  # statements, since some change where the next ones look
_CALL = "'java.lang.System', 'setProperty', 'paimon.attacked', '1'"
_METHODS = ("POST", "PUT", "DELETE", "PATCH", "GET", "HEAD", "OPTIONS", "TRACE", "COPY", "MOVE", "get", "POST ")
_NAMES = (
    "default",
    "t",
    "u",
    "..",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fusers",
    "t%24files",
    "a" * 3000,
    "%00",
    "t;x=1",
    "t/../t",
    "%ff",
)
_PREFIXES = (
    f"/v1/{PREFIX}/",
    f"/v1//{PREFIX}/",
    f"/V1/{PREFIX}/",
    f"/v1/{PREFIX}/../{PREFIX}/",
    f"//v1/{PREFIX}/",
    "/",
)
Sight = dict[str, tuple[int, int]]


def sight_of(folder: Path) -> Sight:
    """Each file and folder below one, with its size and when it was changed."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if name not in NOISE or Path(root) != folder:
                seen = os.lstat(os.path.join(root, name))
                found[os.path.join(root, name)] = (seen.st_size, seen.st_mtime_ns)
    return found


def statements(seed: int, each: int) -> list[str]:
    """Sentences of each class of statement of the grammar, and a statement for each function, source and setting."""
    made = sentences(seed, each)
    made += [f"SELECT {name}({_CALL})" for name in _functions()]
    for source in _sources():
        made.append(
            f"CREATE OR REPLACE TEMPORARY VIEW far USING `{source}` OPTIONS (path '{{folder}}/out', 'fs.x.impl' 'Evil')"
        )
        made.append(f"SELECT * FROM `{source}`.`{{folder}}/out`")
    return made + [f"SET {key} = {{folder}}/out" for key in _settings()]


def _functions() -> list[str]:
    """Every function of Spark that is listed, as allowed or as refused."""
    named = {name for name in allowed("functions") if name.isidentifier()}
    return sorted(named | set(_section("functions")))


def _section(kind: str) -> list[str]:
    text = Path(__file__).with_name("refused_by_read_only.txt").read_text("utf-8")
    return text.partition(f"[{kind}]\n")[2].partition("\n\n")[0].split()


def _sources() -> list[str]:
    """The data sources that jars declare, by their names and by their classes."""
    found = set(_section("sources"))
    for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar"):
        with zipfile.ZipFile(jar) as archive, suppress(KeyError):
            text = archive.read("META-INF/services/org.apache.spark.sql.sources.DataSourceRegister").decode()
            found.update(line for line in text.split() if line.startswith("org."))
    return sorted(found)


def _settings() -> list[str]:
    lines = Path(__file__).with_name("refused_settings.txt").read_text("utf-8").splitlines()
    return [key for line in lines if not line.startswith(("#", "[")) for key in line.split()]


def at_thrift(server: Server, folder: Path, texts: list[str]) -> Counter[str]:
    """Statements of clients of HiveServer2: how many were refused by us, failed otherwise, or were done."""
    ends: Counter[str] = Counter()
    for start in range(0, len(texts), _SESSION):
        with server.client() as client, client.cursor() as cursor:
            for text in texts[start : start + _SESSION]:
                ends[_end_of(cursor, text.replace("{folder}", str(folder)))] += 1
    with server.client() as client, client.cursor() as cursor:
        assert answer(cursor, "SELECT k, v FROM t") == [(1, "a")]
        assert answer(cursor, "SELECT '${system:paimon.attacked}'") == [("${system:paimon.attacked}",)]
    return ends


def _end_of(cursor: Any, statement: str) -> str:
    try:
        answer(cursor, statement)
    except (Error, TTransportException) as error:
        return "refused" if REFUSED in str(error) else "failed"
    return "done"


def at_connect(server: Server, folder: Path, seed: int, each: int) -> Counter[str]:
    """Messages of clients of Spark Connect, of every type: those of a type that is not listed have to be refused."""
    script = Path(__file__).with_name("connect_messages.py")
    command = [
        sys.executable,
        str(script),
        server.remote,
        str(folder),
        str(seed),
        str(each),
        *sorted(allowed("messages")),
    ]
    ends: Counter[str] = Counter()
    for line in printed_lines(command):
        name, listed, end = json.loads(line)
        assert listed or end == "refused" or end.startswith("not sent"), (name, end)
        ends[end.partition(":")[0]] += 1
    return ends


def at_rest(host: str, folder: Path, seed: int, count: int) -> Counter[str]:
    """Requests of the REST API, by their statuses: what is not known to read has to be refused."""
    ends: Counter[str] = Counter()
    for method, path, body, reads in _requests(random.Random(seed), folder, count):
        status = _status(host, method, path, body)
        assert reads or not 200 <= status < 300, (method, path[:200], status)
        assert status != 500, (method, path[:200], body[:200])
        ends[str(status)] += 1
    return ends


def _requests(chance: random.Random, folder: Path, count: int) -> Iterator[tuple[str, str, bytes, bool]]:
    made = 0
    while made < count:
        for method, pattern in routes():
            parts = [chance.choice(_NAMES) if part == "*" else part for part in pattern.split("/")]
            path = (
                chance.choice((*_PREFIXES, *[_PREFIXES[0]] * 10))
                + "/".join(parts)
                + chance.choice(("", "", "/", "?x=%00", "?maxResults=-1", "%00"))
            )
            verb = chance.choice((method, method, *_METHODS))
            yield verb, path, _body(chance, folder), verb in ("GET", "HEAD", "OPTIONS") or is_read(verb, pattern)
            made += 1


def _body(chance: random.Random, folder: Path) -> bytes:
    place, database = str(folder / "out"), {"database": "default"}
    table, other = {**database, "object": "t"}, {**database, "object": "u"}
    schema = {
        "fields": [{"id": 0, "name": "k", "type": "INT"}],
        "partitionKeys": [],
        "primaryKeys": [],
        "comment": place,
    }
    return chance.choice(
        [
            json.dumps({"identifier": other, "schema": {**schema, "options": {"path": place}}}),
            json.dumps({"name": "d", "options": {"location": place}}),
            json.dumps({"changes": [{"action": "setOption", "key": "path", "value": place}]}),
            json.dumps({"source": table, "destination": other}),
            json.dumps({"tableId": "x", "snapshot": {"version": 3, "id": 2, "schemaId": 0, "baseManifestList": place}}),
            json.dumps({"removals": ["path"], "updates": {"path": place}}),
            json.dumps({"identifier": table, "path": place, "tagName": "x", "snapshotId": 1}),
            "[" * 5000, "{" + '"a":{' * 3000, '{"name": NaN}', '{"name": 1e999999}', '"x"', "null", "",
            "\x00", "x" * 70000,
        ]
    ).encode()  # fmt: skip


def _status(host: str, method: str, path: str, body: bytes) -> int:
    name, _, port = host.partition(":")
    lines = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with socket.create_connection((name, int(port)), timeout=PATIENCE) as made:
        with suppress(OSError):  # a request may be refused before all of it is read
            made.sendall(lines.encode("latin-1") + body)
        answered = http.client.HTTPResponse(made, method=method.strip())
        try:
            answered.begin()
        except (http.client.HTTPException, OSError):
            return 0
        return answered.status


def at_health(server: Server, seed: int, count: int) -> Counter[str]:
    """Requests of the health door, by their statuses: it answers one."""
    chance, ends = random.Random(seed), Counter[str]()
    names = (
        "health",
        "",
        "shutdown",
        "stop",
        "log",
        "users",
        "../users",
        "..%2f..%2fetc%2fpasswd",
        "health/",
        "HEALTH",
        "x" * 9000,
    )
    for number in range(count):
        method, name = chance.choice((*_METHODS, *["GET"] * len(_METHODS))), chance.choice(names)
        path = (
            chance.choice(("/", "//", "/health/../", "http://127.0.0.1/", "/%00"))
            + name
            + chance.choice(("", "?stop", "#"))
        )
        if number % 10 == 9:
            method, path = chance.randbytes(20).decode("latin-1"), quote(chance.randbytes(20))
        status = _status(f"127.0.0.1:{server.health}", method, path, chance.choice((b"", b"{}", b"\0" * 5000)))
        assert status != 200 or (method.strip() == "GET" and path in ("/health", "//health")), (
            method,
            path[:100],
            status,
        )
        ends[str(status)] += 1
    assert server.health_now()["status"] == "serving"
    return ends
