"""What our client asks and our server answers, held to the API's facts, operation by operation.

With PAIMON_REST_OPENAPI, the path of Paimon's `rest-catalog-open-api.yaml`, they are held to that document, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.ddl.nested_columns import ColumnPosition
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import (
    AddColumn,
    DropColumn,
    RemoveOption,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from paimon_sql.catalog.function import Function, LambdaDefinition, SqlDefinition
from paimon_sql.catalog.load import load_catalog
from tests.catalogs.kinds import OTHER_SCHEMA, OTHER_VIEW, SCHEMA, VIEW
from tests.support.rest_api import API, ERROR, operation
from tests.support.rest_server import RestServer
from tests.support.stored import insert
from tests.support.tables import fields

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')

F, T, U, V = (Identifier("db", name) for name in "ftuv")
FUNCTION = Function(
    parameters=tuple(fields(x=INT)), results=tuple(fields(f=INT)), definitions={"spark": SqlDefinition("x + 1")}
)
PARTED = new_table_schema(fields(k=INT, v=STRING), partition_keys=("v",))
CHANGES = (
    *(
        AddColumn(("w",), INT, "new", ColumnPosition("first")),
        UpdateColumnType(("w",), BIGINT),
        RenameColumn(("w",), "x"),
    ),
    *(UpdateColumnComment(("x",), "c"), UpdateColumnDefault(("x",), "7"), UpdateColumnDefault(("x",), None)),
    *(
        UpdateColumnPosition(("x",), ColumnPosition("after", "v")),
        UpdateColumnNullability(("v",), True),
        DropColumn(("x",)),
    ),
    *(SetOption("snapshot.num-retained.min", "3"), RemoveOption("snapshot.num-retained.min"), UpdateComment("hi")),
)


@dataclass(frozen=True)
class Exchange:
    method: str
    path: str
    body: Any
    status: int
    answer: Any


@pytest.fixture
def exchanges(tmp_path: Path) -> Iterator[list[Exchange]]:
    """All that a client asks in the life of some tables and views."""
    behind: Any = load_catalog({"metastore": "jdbc", "warehouse": str(tmp_path / "wh")})
    seen: list[Exchange] = []
    with RestServer.over(behind) as server:
        catalog: Any = load_catalog(server.options())
        send = catalog.client._send

        def noting(request: Any) -> Any:
            answer = send(request)
            texts = (request.body, answer.data)
            body, data = (json.loads(text) if text.strip() else {} for text in texts)
            seen.append(Exchange(request.method, request.path, body, answer.status, data))
            return answer

        catalog.client._send = noting
        _databases_and_views(catalog)
        _functions(catalog)
        _tables(catalog)
        _versions(catalog)
        _errors(catalog)
        catalog.close()
    yield seen
    behind.close()


def _databases_and_views(catalog: Any) -> None:
    catalog.client.get("/v1/config")
    catalog.create_database("db", {"a": "b"})
    catalog.alter_database("db", {"c": "d"}, ["a"])
    assert catalog.list_databases() == ["db", "default"]
    catalog.create_database("gone")
    catalog.drop_database("gone")
    catalog.create_view(V, VIEW)
    catalog.replace_view(V, OTHER_VIEW)
    change = {"action": "addDialect", "dialect": "flink", "query": "SELECT 1"}
    catalog.client.post("/v1/paimon/databases/db/views/v", {"changes": [change]})
    assert catalog.load_view(V).dialects == {"flink": "SELECT 1"}
    catalog.rename_view(V, Identifier("db", "w"))
    for path in ("databases/db/views", "databases/db/view-details", "views"):
        catalog.client.get(f"/v1/paimon/{path}")
    catalog.drop_view(Identifier("db", "w"))


def _functions(catalog: Any) -> None:
    catalog.create_function(F, FUNCTION)
    catalog.replace_function(F, replace(FUNCTION, comment="other"))
    definition = {"type": "lambda", "definition": "x -> x", "language": "JAVA"}
    changes = [
        {"action": "setOption", "key": "a", "value": "b"},
        {"action": "setOption", "key": "c", "value": "d"},
        {"action": "removeOption", "key": "a"},
        {"action": "updateComment", "comment": "third"},
        {"action": "addDefinition", "name": "flink", "definition": {"type": "sql", "definition": "x"}},
        {"action": "updateDefinition", "name": "flink", "definition": definition},
        {"action": "dropDefinition", "name": "spark"},
    ]
    catalog.client.post("/v1/paimon/databases/db/functions/f", {"changes": changes})
    found = catalog.load_function(F)
    assert (found.comment, found.options) == ("third", {"c": "d"})
    assert found.definitions == {"flink": LambdaDefinition("x -> x", "JAVA")}
    assert catalog.list_functions("db") == ["f"]
    (details,) = catalog.client.get("/v1/paimon/databases/db/function-details")["functionDetails"]
    assert details["name"] == "f" and details["comment"] == "third"
    assert catalog.client.get("/v1/paimon/functions")["functions"] == [{"database": "db", "object": "f"}]
    catalog.drop_function(F)


def _tables(catalog: Any) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.alter_table(T, CHANGES)
    catalog.stage_replace(T, OTHER_SCHEMA).publish()
    catalog.rename_table(T, U)
    catalog.register_table(U)
    found = catalog.client.get("/v1/paimon/databases/db/tables/u")
    for path in ("databases/db/tables", "databases/db/table-details", "tables", f"tables/id/{found['id']}"):
        catalog.client.get(f"/v1/paimon/{path}")
    catalog.drop_table(U)


def _versions(catalog: Any) -> None:
    catalog.create_table(T, PARTED)
    insert(catalog.load_table(T), [(1, "x"), (2, "y")])
    insert(catalog.load_table(T), [(3, "x")])
    table, client = "/v1/paimon/databases/db/tables/t", catalog.client
    client.post(f"{table}/tags", {"tagName": "first", "snapshotId": 1, "timeRetained": "1 d"})
    client.post(f"{table}/branches", {"branch": "b", "fromTag": "first"})
    client.post(f"{table}/branches/b/rename", {"toBranch": "c"})
    client.post(f"{table}/consumers/reset", {"consumerId": "me", "nextSnapshotId": 1})
    client.ask(f"{table}/partitions/list-by-names", {"specs": [{"v": "x"}]})
    client.post(f"{table}/partitions/mark", {"specs": [{"v": "x"}]})
    ends = ("snapshot", "snapshots", "snapshots/1", "snapshots/first", "snapshots/EARLIEST", "snapshots/LATEST")
    for path in (*ends, "partitions", "branches", "tags", "tags/first", "consumers"):
        client.get(f"{table}/{path}")
    client.post(f"{table}/branches/c/forward", {})
    client.post(f"{table}/rollback", {"instant": {"type": "snapshot", "snapshotId": 1}, "fromSnapshot": 1})
    client.delete(f"{table}/branches/c")
    client.delete(f"{table}/tags/first")


def _errors(catalog: Any) -> None:
    client = catalog.client
    for what in ("nope", "db/tables/nope", "db/views/nope", "db/functions/nope", "db/none-of-the-api"):
        with pytest.raises(PaimonError):
            client.get(f"/v1/paimon/databases/{what}")
    with pytest.raises(PaimonError):
        client.post("/v1/paimon/databases", {"name": "db", "options": {}})
    with pytest.raises(PaimonError):
        client.post("/v1/paimon/databases", {"name": 7})


def test_every_operation_is_as_the_api_has_it(exchanges: list[Exchange]) -> None:
    met = set()
    for each in exchanges:
        if each.status >= 400:
            Draft202012Validator(ERROR).validate(each.answer)
            assert each.answer["code"] == each.status
            continue
        kind = operation(each.method, each.path)
        met.add(kind)
        asked, answered = API[kind]
        Draft202012Validator(asked).validate(each.body)
        Draft202012Validator(answered).validate(each.answer)
    assert set(API) - met == set()
    assert {each.status for each in exchanges} == {200, 400, 404, 409, 501}


@pytest.mark.skipif("PAIMON_REST_OPENAPI" not in os.environ, reason="PAIMON_REST_OPENAPI names no document")
def test_every_operation_is_as_the_document_has_it(exchanges: list[Exchange]) -> None:
    document = yaml.safe_load(Path(os.environ["PAIMON_REST_OPENAPI"]).read_text())
    # the document says text, Java's client and server write a number
    document["components"]["schemas"]["Snapshot"]["properties"]["commitIdentifier"] = {"type": "integer"}
    for page in document["components"]["schemas"].values():  # and null for a last page
        if "nextPageToken" in page.get("properties", {}):
            page["properties"]["nextPageToken"] = {"type": ["string", "null"]}
    paths = {tuple("*" if p[:1] == "{" else p for p in path.strip("/").split("/")): path for path in document["paths"]}
    checked = 0
    for each in (e for e in exchanges if e.status < 400 and not e.path.endswith("/replace")):
        method, pattern = operation(each.method, each.path)
        behind = tuple(pattern.strip("/").split("/"))
        at = paths[("v1", *behind)] if behind == ("config",) else paths[("v1", "*", *behind)]
        known = document["paths"][at][method.lower()]
        for part, value in ((known.get("requestBody"), each.body), (known["responses"]["200"], each.answer)):
            schema = ((part or {}).get("content") or {}).get("application/json", {}).get("schema")
            if schema is not None:
                Draft202012Validator({**schema, "components": document["components"]}).validate(value)
                checked += 1
    assert checked > 40
