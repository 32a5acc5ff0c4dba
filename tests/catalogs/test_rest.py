"""What only a REST catalog has: users, lost answers, servers that restart, pages, and answers that are none."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.publish import PublishOutcome
from paimon_core.errors import (
    CommitConflictError,
    InvalidOptionError,
    PaimonError,
    StorageError,
    StorageRefusedError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.maintenance.branches import create_branch
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.snapshot import encode_snapshot
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, SetOption
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import OTHER_SCHEMA, OTHER_VIEW, SCHEMA, VIEW
from tests.support.lossy_proxy import LossyProxy
from tests.support.ports import free_port
from tests.support.rest_server import RestServer
from tests.support.scripted_server import Asked, scripted
from tests.support.stored import insert, read

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')

T, U = Identifier("db", "t"), Identifier("db", "u")
_ROOT = Path(__file__).parents[2]
ROWS = [(1, "a"), (2, "b")]


# -- users ------------------------------------------------------------------------------------------------------------
def test_who_may_do_what(behind: Any, tmp_path: Path) -> None:
    with RestServer.over(behind, tmp_path / "tokens") as server:
        writer: Any = load_catalog(server.options("writer"))
        writer.create_table(T, SCHEMA)
        insert(writer.load_table(T), ROWS)
        reader: Any = load_catalog(server.options("reader"))
        assert (reader.list_tables("db"), sorted(read(reader.load_table(T)))) == (["t"], ROWS)
        for change in (
            lambda: reader.create_table(U, SCHEMA),
            lambda: reader.drop_table(T),
            lambda: reader.alter_table(T, [SetOption("a", "b")]),
            lambda: insert(reader.load_table(T), [(3, "c")]),
            lambda: reader.create_view(U, VIEW),
            lambda: reader.drop_database("db", cascade=True),
        ):
            with pytest.raises(StorageRefusedError, match="403, User reader may only read"):
                change()
        assert sorted(read(writer.load_table(T))) == ROWS
        for given in ({}, {"token": "wrong"}, {"token": "wrong", "token.provider": "bear"}):
            with pytest.raises(StorageRefusedError, match="401, Unauthorized"):
                load_catalog({**server.options(), **given})
        lines = (tmp_path / "tokens").read_text().splitlines()
        (tmp_path / "tokens").write_text("\n".join(lines[1:]) + "\n")
        time.sleep(0.01)
        with pytest.raises(StorageRefusedError, match="401"):
            writer.list_databases()
        assert reader.list_databases() == ["db", "default"]
        assert server.tokens["writer"] not in "".join(lines)


# -- lost answers -----------------------------------------------------------------------------------------------------
CHANGES: Mapping[str, Callable[[Any], object]] = {
    "create database": lambda c: c.create_database("other"),
    "alter database": lambda c: c.alter_database("db", {"a": "b"}, ["c"]),
    "drop database": lambda c: c.drop_database("empty"),
    "create": lambda c: c.create_table(U, SCHEMA),
    "rename": lambda c: c.rename_table(T, U),
    "alter": lambda c: c.alter_table(T, [AddColumn(("w",), INT), SetOption("snapshot.num-retained.min", "3")]),
    "drop": lambda c: c.drop_table(T),
    "replace": lambda c: c.stage_replace(T, OTHER_SCHEMA).publish(),
    "create view": lambda c: c.create_view(Identifier("db", "w"), VIEW),
    "replace view": lambda c: c.replace_view(Identifier("db", "v"), OTHER_VIEW),
    "rename view": lambda c: c.rename_view(Identifier("db", "v"), Identifier("db", "w")),
    "drop view": lambda c: c.drop_view(Identifier("db", "v")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_lost_answer_is_settled(behind: Any, server: RestServer, change: str) -> None:
    behind.create_database("empty")
    behind.create_table(T, SCHEMA)
    behind.create_view(Identifier("db", "v"), VIEW)
    proxy = LossyProxy(server.port, b"\x00 nothing", lose=1)
    through: Any = load_catalog({**server.options(), "uri": f"http://127.0.0.1:{proxy.port}"})
    proxy._marker = b"DELETE /" if change.startswith("drop") else b"POST /"
    CHANGES[change](through)
    assert proxy.lose == 0
    proxy.close()


def test_a_server_that_is_only_read(behind: Any) -> None:
    behind.create_table(T, SCHEMA)
    insert(behind.load_table(T), ROWS)
    with RestServer.over(behind, read_only=True) as server:
        catalog: Any = load_catalog(server.options())
        assert sorted(read(catalog.load_table(T))) == ROWS
        for change in (lambda: catalog.drop_table(T), lambda: insert(catalog.load_table(T), [(3, "c")])):
            with pytest.raises(StorageRefusedError, match="403, User .* may only read"):
                change()
    assert sorted(read(behind.load_table(T))) == ROWS


def test_a_commit_whose_answer_is_lost_is_made_once(behind: Any, server: RestServer) -> None:
    behind.create_table(T, SCHEMA)
    proxy = LossyProxy(server.port, b"/commit ", lose=3)
    through: Any = load_catalog({**server.options(), "uri": f"http://127.0.0.1:{proxy.port}"})
    for row in ROWS:
        insert(through.load_table(T), [row])
    assert proxy.lose < 3
    table = behind.load_table(T)
    assert sorted(read(table)) == ROWS and len(snapshot_ids(table.store)) == 2
    proxy.close()


def test_what_only_reads_is_asked_again(behind: Any, server: RestServer) -> None:
    proxy = LossyProxy(server.port, b"GET /v1/paimon/databases ", lose=2)
    through: Any = load_catalog({**server.options(), "uri": f"http://127.0.0.1:{proxy.port}"})
    assert through.list_databases() == ["db", "default"] and proxy.lose == 0
    proxy.close()


def test_a_server_that_restarts(behind: Any) -> None:
    port = free_port()
    with RestServer.over(behind, port=port) as server:
        catalog: Any = load_catalog(server.options())
        catalog.create_table(T, SCHEMA)
        table = catalog.load_table(T)
    quick = {**server.options(), "rest.connection-timeout": "1 s"}
    with pytest.raises(StorageError, match="cannot be reached"):
        load_catalog(quick)
    with RestServer.over(behind, port=port):
        insert(table, ROWS)
        assert sorted(read(catalog.load_table(T))) == ROWS


# -- commits ----------------------------------------------------------------------------------------------------------
def test_a_table_that_was_made_again_gets_no_rows_of_the_old_one(catalog: Any) -> None:
    catalog.create_table(T, SCHEMA)
    old = catalog.load_table(T)
    insert(old, ROWS)
    snapshot = latest_snapshot(old.store)
    assert snapshot is not None
    catalog.drop_table(T)
    catalog.create_table(T, SCHEMA)
    publisher = old.publisher
    with pytest.raises(CommitConflictError):
        insert(old, [(3, "c")])
    first = encode_snapshot(replace(snapshot, id=1))
    with pytest.raises(PaimonError):  # the manifests are gone, and the id is another's
        publisher.publish(old.store.paths.snapshot(1), first)
    assert read(catalog.load_table(T)) == []


def test_the_server_takes_the_next_snapshot_alone(catalog: Any, server: RestServer) -> None:
    catalog.create_table(T, SCHEMA)
    table = catalog.load_table(T)
    insert(table, ROWS)
    made = latest_snapshot(table.store)
    assert made is not None
    node = json.loads(encode_snapshot(made))
    address = "/v1/paimon/databases/db/tables/t/commit"

    def commit(**changed: Any) -> Any:
        return catalog.client.post(address, {"tableId": None, "snapshot": {**node, **changed}})["success"]

    assert commit() is True, "the same one again"
    assert [commit(uuid="x"), commit(id=3, uuid="x"), commit(id=7, uuid="x")] == [False, False, False]
    for wrong in ({"id": 2, "uuid": None}, {"schemaId": 9}, {"deltaManifestList": "../x"}, {"id": "x"}, {"id": 0}):
        with pytest.raises(StorageRefusedError, match="400"):
            commit(**{"id": 2, "uuid": "y", **wrong})
    with pytest.raises(StorageRefusedError, match="created again"):
        catalog.client.post(address, {"tableId": "another", "snapshot": node})
    body = {"tableId": None, "baseSnapshotUuid": "another", "snapshot": {**node, "id": 2, "uuid": "z"}}
    assert catalog.client.post(address, body)["success"] is False
    assert snapshot_ids(table.store) == [1]


def test_branches_are_committed_to_by_the_server(catalog: Any) -> None:
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)
    create_branch(catalog.load_table(T).store, "b", None)
    branch = replace(T, branch="b")
    insert(catalog.load_table(branch), [(7, "x")])
    assert read(catalog.load_table(branch)) == [(7, "x")] and sorted(read(catalog.load_table(T))) == ROWS


def test_schemas_are_changed_by_the_server_alone(catalog: Any) -> None:
    catalog.create_table(T, SCHEMA)
    table = catalog.load_table(T)
    with pytest.raises(StorageRefusedError, match="only the server"):
        table.publisher.publish(table.store.paths.schema(1), b"{}")


_WRITER = """
import json, sys
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import insert
options, n, commits = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
catalog = load_catalog(options)
for k in range(commits):
    insert(catalog.load_table(Identifier("db", "t")), [(n * 1000 + k, "x")], user=f"u{n}")
"""


def test_many_commit_at_the_same_time(catalog: Any, server: RestServer) -> None:
    """Nothing is lost and nothing is twice; `make campaign NAME=catalog-commits` for many."""
    processes, commits = map(int, os.environ.get("PAIMON_SQL_CATALOG_COMMITS", "2x5").split("x"))
    catalog.create_table(T, new_table_schema(SCHEMA.fields, options={"commit.max-retries": "1000"}))
    words = [sys.executable, "-c", _WRITER, json.dumps(server.options())]
    running = [subprocess.Popen([*words, str(n), str(commits)], cwd=_ROOT) for n in range(processes)]
    assert [each.wait(timeout=3600) for each in running] == [0] * processes
    table = catalog.load_table(T)
    written = sorted(n * 1000 + k for n in range(processes) for k in range(commits))
    assert sorted(row[0] for row in read(table)) == written
    assert snapshot_ids(table.store)[-1] == processes * commits


# -- pages, and a filesystem catalog behind ---------------------------------------------------------------------------
def test_lists_come_in_pages(monkeypatch: pytest.MonkeyPatch, catalog: Any) -> None:
    monkeypatch.setattr("paimon_sql.server.rest.calls.MOST_RESULTS", 2)
    for name in "edcba":
        catalog.create_table(Identifier("db", name), SCHEMA)
        catalog.create_view(Identifier("db", f"v{name}"), VIEW)
    assert catalog.list_tables("db") == list("abcde") and len(catalog.list_views("db")) == 5
    client = catalog.client
    page = client.get("/v1/paimon/databases/db/tables", {"maxResults": "1", "tableNamePattern": "b%"})
    assert page == {"tables": ["b"], "nextPageToken": None}
    pages = list(client.pages("/v1/paimon/databases/db/table-details", "tableDetails"))
    assert [t["name"] for p in pages for t in p["tableDetails"]] == list("abcde")
    every = [t["object"] for p in client.pages("/v1/paimon/tables", "tables") for t in p["tables"]]
    assert every == list("abcde")
    with pytest.raises(StorageRefusedError, match="maxResults"):
        client.get("/v1/paimon/databases/db/tables", {"maxResults": "-1"})


def test_a_table_is_opened_by_one_request(monkeypatch: pytest.MonkeyPatch, catalog: Any) -> None:
    catalog.create_table(T, SCHEMA)
    asked: list[str] = []
    send = catalog.client._send
    monkeypatch.setattr(catalog.client, "_send", lambda request: (asked.append(request.path), send(request))[1])
    assert read(catalog.load_table(T)) == [] and len(asked) == 1


def test_a_filesystem_catalog_behind(tmp_path: Path) -> None:
    with RestServer.over(load_catalog({"warehouse": str(tmp_path / "wh"), "table-default.bucket": "2"})) as server:
        catalog: Any = load_catalog(server.options())
        catalog.create_database("db", {"a": "b"})
        staged = catalog.stage_create(T, replace(SCHEMA, options={}))
        staged.publish()
        insert(staged.table, ROWS)
        assert staged.table.schema.options["bucket"] == "2" and sorted(read(catalog.load_table(T))) == ROWS
        with pytest.raises(UnsupportedFeatureError, match="does not store properties"):
            catalog.alter_database("db", {"a": "b"})
        with pytest.raises(UnsupportedFeatureError, match="by their folders"):
            catalog.register_table(T)


# -- answers that are none --------------------------------------------------------------------------------------------
CONFIG = b'{"defaults": {}, "overrides": {"prefix": "p"}}'
TABLE = {"id": "1", "name": "t", "path": "/tmp/x", "isExternal": False, "schemaId": 0}


def answers(path: str, status: int, data: bytes, **headers: str) -> Callable[[Asked], Any]:
    def answer(asked: Asked) -> Any:
        if asked.path.startswith("/v1/config"):
            return 200, {}, CONFIG
        return (status, headers, data) if path in asked.path else (404, {}, b"")

    return answer


@pytest.mark.parametrize(
    "data",
    [
        b"<html>", b"[]", b"", b'{"tables": "x"}', b'{"tables": [1]}', b"\xff",
        b'{"tables": ["a"], "nextPageToken": []}',
               b"[" * 100_000, b'{"tables": ["\\ud800"]}',
    ],
)  # fmt: skip
def test_a_list_that_is_none(data: bytes) -> None:
    with scripted(answers("/tables", 200, data)) as script:
        catalog = load_catalog({"metastore": "rest", "uri": script.uri})
        if not data:
            assert catalog.list_tables("db") == []
            return
        refused = "(answered GET|returned an invalid answer to) /v1/p/databases/db/tables"
        with pytest.raises(StorageError, match=refused):
            catalog.list_tables("db")


@pytest.mark.parametrize(
    "changed",
    [
        {"schema": None},
        {"schema": {"fields": [{"id": 0, "name": "k", "type": "NOTHING"}]}},
        {"schemaId": "0"},
        {"path": "s3://user:secret@bucket/x"},
        {"path": ""},
        {"isExternal": "no"},
    ],
)
def test_a_table_that_is_none(changed: dict[str, Any]) -> None:
    schema = {"fields": [{"id": 0, "name": "k", "type": "INT"}], "partitionKeys": [], "primaryKeys": [], "options": {}}
    with scripted(answers("/tables/t", 200, json.dumps({**TABLE, "schema": schema, **changed}).encode())) as script:
        catalog = load_catalog({"metastore": "rest", "uri": script.uri})
        with pytest.raises(PaimonError) as caught:
            catalog.load_table(T)
        assert isinstance(caught.value, StorageError | UnsupportedFeatureError)
        assert "secret" not in str(caught.value)


def test_a_table_whose_folder_cannot_be_read(tmp_path: Path) -> None:
    schema = {"fields": [{"id": 0, "name": "k", "type": "INT"}], "partitionKeys": [], "primaryKeys": [], "options": {}}
    node = {**TABLE, "path": str(tmp_path), "schema": schema}
    with scripted(answers("/tables/t", 200, json.dumps(node).encode())) as script:
        catalog = load_catalog({"metastore": "rest", "uri": script.uri})
        with pytest.raises(TableNotFoundError, match="has no file of that version"):
            catalog.load_table(T)


def test_pages_without_end() -> None:
    with scripted(answers("/tables", 200, b'{"tables": ["a"], "nextPageToken": "a"}')) as script:
        catalog = load_catalog({"metastore": "rest", "uri": script.uri})
        with pytest.raises(StorageError, match="pages without end"):
            catalog.list_tables("db")
        assert len(script.asked) < 10


def test_redirects_are_not_followed() -> None:
    with scripted(lambda asked: (200, {}, CONFIG)) as elsewhere:

        def answer(asked: Asked) -> Any:
            return 307, {"Location": f"{elsewhere.uri}{asked.path}"}, b""

        with scripted(answer) as script, pytest.raises(StorageError, match="307"):
            load_catalog({"metastore": "rest", "uri": script.uri, "token": "secret"})
        assert elsewhere.asked == []


def test_words_of_a_server_are_shown_without_what_terminals_obey() -> None:
    said = json.dumps({"message": "\x1b[31mred\nline " + "x" * 9999, "code": 400}).encode()
    with scripted(answers("/tables", 400, said)) as script:
        catalog = load_catalog({"metastore": "rest", "uri": script.uri, "token": "se-cret"})
        with pytest.raises(InvalidOptionError) as caught:
            catalog.create_table(T, SCHEMA)
        text = str(caught.value)
        assert "\x1b" not in text and "\n" not in text and len(text) < 1000 and "se-cret" not in text + repr(catalog)


@pytest.mark.parametrize(("status", "kind", "error"), [
    (404, "DATABASE", "DatabaseNotFoundError"), (404, "TABLE", "TableNotFoundError"), (404, "", "NotFoundError"),
    (403, "TABLE", "StorageRefusedError"), (400, "", "InvalidOptionError"), (501, "", "UnsupportedFeatureError"),
    (409, "COLUMN", "InvalidSchemaError"), (500, "", "StorageError"), (418, "", "StorageRefusedError"),
])  # fmt: skip
def test_errors_of_other_servers(status: int, kind: str, error: str) -> None:
    said = {"message": "why", "resourceType": kind or None, "resourceName": None, "code": status}
    with scripted(answers("/tables/t", status, json.dumps(said).encode())) as script:
        catalog: Any = load_catalog({"metastore": "rest", "uri": script.uri})
        with pytest.raises(PaimonError) as caught:
            catalog.load_table(T)
        found = [c.__name__ for c in type(caught.value).__mro__]
        assert error in found, found


def test_a_class_of_error_that_a_server_may_not_name() -> None:
    said = json.dumps({"message": "why", "code": 400, "errorClass": "CommitUnknownError"}).encode()
    with scripted(answers("/databases", 400, said)) as script:
        catalog: Any = load_catalog({"metastore": "rest", "uri": script.uri})
        with pytest.raises(InvalidOptionError):
            catalog.create_database("db")


def test_a_busy_server_is_asked_again_and_changes_are_not() -> None:
    left = [2]

    def answer(asked: Asked) -> Any:
        if asked.path.startswith("/v1/config"):
            return 200, {}, CONFIG
        if asked.path.endswith("/databases/b"):
            return 404, {}, b""
        if left[0]:
            left[0] -= 1
            return 503, {"Retry-After": "0"}, b""
        return 200, {}, b'{"databases": ["a"]}'

    with scripted(answer) as script:
        catalog: Any = load_catalog({"metastore": "rest", "uri": script.uri})
        assert catalog.list_databases() == ["a"] and len(script.asked) == 4
        left[0] = 1
        with pytest.raises(StorageError, match="503"):
            catalog.create_database("b")
        assert [a.method for a in script.asked].count("POST") == 1


def test_headers_and_options_of_the_server() -> None:
    config = {
        "defaults": {"header.X-One": "1", "table-default.bucket": "3"},
        "overrides": {"prefix": "p", "x": "theirs"},
    }
    with scripted(lambda asked: (200, {}, json.dumps(config).encode())) as script:
        given = {"metastore": "rest", "uri": script.uri, "warehouse": "a b&c", "header.X-Two": "2", "x": "ours"}
        catalog: Any = load_catalog(given)
        catalog.list_databases()
        assert (catalog.options["x"], catalog.options["table-default.bucket"]) == ("theirs", "3")
        assert script.asked[0].path == "/v1/config?warehouse=a+b%26c"
        assert (script.asked[1].path, script.asked[1].headers["X-One"]) == ("/v1/p/databases", "1")
        assert script.asked[1].headers["X-Two"] == "2"


def test_views_at_a_server_that_replaces_none(behind: Any, server: RestServer) -> None:
    """The API has no step for another query: the old one is dropped, and comes back where the new one is refused."""
    catalog: Any = load_catalog(server.options())
    plain = replace(catalog, options={k: v for k, v in catalog.options.items() if "replaces-views" not in k})
    v = Identifier("db", "v")
    plain.replace_view(v, VIEW, create=True)
    plain.replace_view(v, OTHER_VIEW)
    assert behind.load_view(v) == OTHER_VIEW
    behind.create_table(T, SCHEMA)
    with pytest.raises(PaimonError, match="table"):
        plain.replace_view(T, VIEW)


def test_a_server_that_puts_tables_elsewhere(behind: Any, server: RestServer) -> None:
    catalog: Any = load_catalog(server.options())
    staged = catalog.stage_create(T, SCHEMA)
    with pytest.raises(TableExistsError):
        behind.create_table(T, SCHEMA)
        staged.publish()
    other = catalog.stage_create(U, SCHEMA)
    moved = catalog._server.find(T)
    object.__setattr__(catalog._server, "find", lambda identifier: moved)
    with pytest.raises(UnsupportedFeatureError, match="Run CREATE TABLE first"):
        other.publish()


# -- tokens for data --------------------------------------------------------------------------------------------------
def test_tokens_for_data_are_renewed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Also by a copy in another process, and before they end; a server that is gone is no matter until then."""
    lives, given = [600_000], [0]
    with RestServer.over(load_catalog({"warehouse": str(tmp_path / "wh")})) as server:
        real: Any = load_catalog(server.options())
        real.create_database("db")
        real.create_table(T, SCHEMA)

        def answer(asked: Asked) -> Any:
            if asked.path.startswith("/v1/config"):
                return 200, {}, b'{"defaults": {}, "overrides": {"prefix": "paimon", "data-token.enabled": "true"}}'
            if asked.path.endswith("/token"):
                given[0] += 1
                token = {"token": {"fs.oss.accessKeyId": f"k{given[0]}", "warehouse": "/etc"}}
                return 200, {}, json.dumps({**token, "expiresAt": int(time.time() * 1000) + lives[0]}).encode()
            body = json.loads(asked.body) if asked.body else None
            found = real.client._call(asked.method, asked.path, body, {}, safe=False)
            return 200, {}, json.dumps(found).encode()

        with scripted(answer) as script:
            catalog: Any = load_catalog({"metastore": "rest", "uri": script.uri})
            table = catalog.load_table(T)
            insert(table, ROWS)
            assert given[0] == 1
            copy = pickle.loads(pickle.dumps(table.store))  # noqa: S301
            assert copy.io.exists(copy.root) and given[0] == 1
            assert set(copy.io.held.token.options) == {"fs.oss.accessKeyId"}
            lives[0] = 300
            other: Any = load_catalog({"metastore": "rest", "uri": script.uri})
            short = other.load_table(T).store
            assert short.io.exists(short.root)
            time.sleep(0.2)
            before = given[0]
            assert short.io.exists(short.root) and given[0] == before + 1
        with caplog.at_level(logging.WARNING):
            object.__setattr__(short.io.held.token, "renew", 0)
            object.__setattr__(short.io.held.token, "expires", int(time.time() * 1000) + 60_000)
            short.io.held.client._retry = short.io.held.client._retry.new(total=0)
            assert short.io.exists(short.root) and "could not be renewed" in caplog.text
        object.__setattr__(short.io.held.token, "expires", 0)
        with pytest.raises(StorageError, match="cannot be reached"):
            short.io.exists(short.root)


def test_the_outcomes_of_a_publish(catalog: Any) -> None:
    catalog.create_table(T, SCHEMA)
    table = catalog.load_table(T)
    insert(table, ROWS)
    made = latest_snapshot(table.store)
    assert made is not None
    again = table.publisher.publish(table.store.paths.snapshot(1), encode_snapshot(made))
    other = table.publisher.publish(table.store.paths.snapshot(1), encode_snapshot(replace(made, uuid="other")))
    assert (again, other) == (PublishOutcome.PUBLISHED, PublishOutcome.LOST_RACE)
