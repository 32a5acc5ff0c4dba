"""Servers of Iceberg's REST API: a small one in this process, and Apache Iceberg's own, with jars from Maven.

In the small one, pyiceberg applies the changes of clients and checks them by Iceberg's specification. In both, a test
can see requests, or make them fail. PAIMON_SQL_ICEBERG_JARS is the output of `scripts/jars iceberg 1.10.0`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import TypeAdapter
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata

from tests.support.sql_servers import free_port
from tests.support.waiting import PATIENCE

JARS = os.environ.get("PAIMON_SQL_ICEBERG_JARS")
_UPDATES, _REQUIREMENTS = TypeAdapter(list[TableUpdate]), TypeAdapter(list[TableRequirement])
Answer = tuple[int, dict[str, Any]]


@dataclass
class IcebergServer:
    """A server at `uri`. `refuse` may answer a request (method and path) in its place. If there is a `token`, requests
    need it.
    """

    uri: str
    prefix: str = "lake"
    token: str | None = None
    refuse: Callable[[str, str], Answer | None] = lambda method, path: None
    tables: dict[tuple[str, str], Any] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)
    requests: list[tuple[str, str]] = field(default_factory=list)
    turn: Lock = field(default_factory=Lock, repr=False)

    def answer(self, method: str, path: str, body: Any, headers: Any) -> Answer:
        refused = self.refuse(method, path)
        if refused is not None:
            return refused
        if path == "/v1/oauth/tokens":
            given = {k: v[0] for k, v in parse_qs(body.decode()).items()}
            is_known = (given["client_id"], given["client_secret"]) == ("me", "let me in")
            return (200, {"access_token": self.token}) if is_known else _error(401, "Unauthorized")
        if self.token is not None and headers["Authorization"] != f"Bearer {self.token}":
            return _error(401, "Unauthorized")
        if path == "/v1/config":
            return 200, {"defaults": {}, "overrides": {"prefix": self.prefix}}
        with self.turn:
            return self._of_names(method, [unquote(p) for p in path.split("/")[3:]], json.loads(body or "{}"))

    def _of_names(self, method: str, parts: list[str], body: Any) -> Answer:
        match method, parts:
            case "POST", ["namespaces"]:
                (name,) = body["namespace"]
                if name in self.namespaces:
                    return _error(409, "AlreadyExistsException")
                self.namespaces.add(name)
                return 200, body
            case "POST", ["namespaces", namespace, "register"]:
                return self._register(namespace, body)
            case _, ["namespaces", namespace, "tables", table]:
                return self._of_table(method, (namespace, table), body)
        return _error(404, "no such route")

    def _register(self, namespace: str, body: Any) -> Answer:
        if namespace not in self.namespaces:
            return _error(404, "NoSuchNamespaceException")
        if (namespace, body["name"]) in self.tables:
            return _error(409, "AlreadyExistsException")
        text = Path(urlsplit(body["metadata-location"]).path).read_text(encoding="utf-8")
        made = self.tables[namespace, body["name"]] = TableMetadataUtil.parse_raw(text)
        return 200, _loaded(made)

    def _of_table(self, method: str, name: tuple[str, str], body: Any) -> Answer:
        if name not in self.tables:
            return _error(404, "NoSuchTableException")
        if method == "DELETE":
            del self.tables[name]
            return 204, {}
        if method == "POST":
            base = self.tables[name]
            try:
                for requirement in _REQUIREMENTS.validate_python(body["requirements"]):
                    requirement.validate(base)
            except CommitFailedException as error:
                return _error(409, str(error))
            updates = tuple(_UPDATES.validate_python(body["updates"]))
            try:
                self.tables[name] = update_table_metadata(base, updates, enforce_validation=False)
            except ValueError as error:
                return _error(400, str(error))
        return 200, _loaded(self.tables[name])


def _loaded(metadata: Any) -> dict[str, Any]:
    node = json.loads(metadata.model_dump_json())
    return {"metadata-location": f"{metadata.location}/metadata/at-the-server.json", "metadata": node, "config": {}}


def _error(status: int, message: str) -> Answer:
    return status, {"error": {"message": message, "type": message, "code": status}}


@contextmanager
def small_server(**more: Any) -> Iterator[IcebergServer]:
    """Yield the small server."""
    made = IcebergServer("", **more)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path).path
            made.requests.append((self.command, path))
            status, node = made.answer(self.command, path, data, self.headers)
            sent = b"" if status == 204 else json.dumps(node).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_DELETE = do_HEAD = _serve

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.uri = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextmanager
def apaches_server(folder: Path) -> Iterator[IcebergServer]:
    """Yield Apache Iceberg's server, with tables in an SQLite file."""
    port = free_port()
    settings = {"CATALOG_REST_PORT": str(port), "CATALOG_WAREHOUSE": str(folder / "of-iceberg")}
    settings["CATALOG_URI"] = f"jdbc:sqlite:{folder}/catalog.db"
    command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", str(JARS)]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [*command, "org.apache.iceberg.rest.RESTCatalogServer"], stdout=log, stderr=log, env=os.environ | settings
        )
    try:
        _wait(f"http://127.0.0.1:{port}/v1/config", process, folder / "log")
        yield IcebergServer(f"http://127.0.0.1:{port}", prefix="")
    finally:
        process.kill()
        process.wait(PATIENCE)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"No server of Iceberg's: {log.read_text(errors='replace')[-2000:]}") from None
            time.sleep(0.1)
        else:
            return
