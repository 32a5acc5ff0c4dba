"""Tables whose readers ask the server first what they may see: `query-auth.enabled`."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import PaimonError, StorageError, StorageRefusedError, UnsupportedFeatureError
from paimon_core.options import TableOptions
from paimon_core.scan.changes.increment import Increment, IncrementMode
from paimon_core.spec.encodings.blob_view import view_head
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BYTES, INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import RemoveOption
from paimon_core.system_tables.registry import read_system_table
from paimon_core.table import Table
from paimon_sql.catalog.rest.client import _Answer
from tests.catalogs.kinds import SCHEMA
from tests.support.evolving import EVOLVES, EvolvingRows
from tests.support.evolving import read as read_rows
from tests.support.stored import insert, read
from tests.support.tables import fields

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')

T = Identifier("db", "t")
ROWS = [(1, "a"), (2, "b")]
_K = '{"name":"FIELD_REF","fieldRef":{"index":0,"name":"k","type":"INT"}}'
FILTER = '{"kind":"LEAF","transform":' + _K + ',"function":"GREATER_THAN","literals":[1]}'
MASK = '{"name":"NULL"}'
UNKNOWN = '{"name":"SUBSTRING","inputs":[]}'


@pytest.fixture
def table(behind: Any, catalog: Any) -> Table:
    """A table that is to be asked for, through the server."""
    asking = {**SCHEMA.options, "query-auth.enabled": "true"}
    behind.create_table(T, replace(SCHEMA, options=asking))
    found: Table = catalog.load_table(T)
    insert(found, ROWS)
    return found


def answering(catalog: Any, status: int, node: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Let the server answer so who asks what he may see; what is asked."""
    send, asked = catalog.client._send, []

    def answered(request: Any) -> Any:
        if not request.path.endswith("/auth"):
            return send(request)
        asked.append((request.path, json.loads(request.body)))
        return _Answer(status, json.dumps(node).encode(), {})

    catalog.client._send = answered
    return asked


READS: Mapping[str, Callable[[Table], object]] = {
    "rows": lambda t: t.plan(t.latest_snapshot()),
    "changes": lambda t: t.plan(Increment(mode=IncrementMode.DELTA)),
    "partitions": lambda t: t.partitions(t.latest_snapshot()),
    "bounds of files": lambda t: read_system_table(t.store, "files"),
    "another use": lambda t: t.with_options({"query-auth.enabled": "false"}).plan(t.latest_snapshot()),
}


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize(
    ("status", "node", "kind", "says"),
    [
        (200, {"filter": [FILTER]}, UnsupportedFeatureError, "shows its user only the rows of a filter, and only"),
        (200, {"columnMasking": {"v": MASK, "k": ""}}, UnsupportedFeatureError, r"shows its user masked columns \(v\)"),
        (200, {"filter": [FILTER], "columnMasking": {"v": MASK}}, UnsupportedFeatureError, r"alone and masked .*\(v\)"),
        (
            200,
            {"filter": ["{}"]},
            UnsupportedFeatureError,
            "a part of it, by a part without 'kind', which",
        ),
        (
            200,
            {"columnMasking": {"v": UNKNOWN}},
            UnsupportedFeatureError,
            "a transform SUBSTRING, which this",
        ),
        (403, {"message": "not for you", "code": 403}, StorageRefusedError, "not for you"),
        (
            501,
            {"message": "what", "code": 501},
            UnsupportedFeatureError,
            "query-auth.enabled.* cannot give it",
        ),
        (200, {"filter": "all"}, StorageError, "invalid answer"),
        (200, {"columnMasking": {"v": None}}, StorageError, "invalid answer"),
    ],
)
def test_what_is_not_shown_whole_is_not_read(
    catalog: Any, table: Table, what: str, status: int, node: dict[str, Any], kind: type[PaimonError], says: str
) -> None:
    asked = answering(catalog, status, node)
    with pytest.raises(kind, match=says):
        READS[what](table)
    assert asked[0] == ("/v1/paimon/databases/db/tables/t/auth", {"select": ["k", "v"]})


@pytest.mark.parametrize("node", [{}, {"filter": None, "columnMasking": None}, {"filter": [""], "columnMasking": {}}])
def test_who_may_see_all_reads_all(catalog: Any, table: Table, node: dict[str, Any]) -> None:
    asked = answering(catalog, 200, node)
    assert sorted(read(table)) == ROWS and len(asked) == 1
    assert read_system_table(table.store, "files").num_rows == 1 and len(asked) == 2


def test_the_branch_is_asked_for(behind: Any, catalog: Any, table: Table) -> None:
    table.versions.create_branch("b")
    asked = answering(catalog, 200, {"filter": [FILTER]})
    with pytest.raises(UnsupportedFeatureError, match=r"db\.t\$branch_b cannot be read in this way"):
        catalog.load_table(T.on_branch("b")).plan(None)
    assert asked[0][0] == "/v1/paimon/databases/db/tables/t%24branch_b/auth"


def test_what_shows_no_rows_asks_nobody(catalog: Any, table: Table) -> None:
    asked = answering(catalog, 403, {"message": "not for you", "code": 403})
    insert(table, [(3, "c")])
    assert read_system_table(table.store, "snapshots").num_rows == 2
    assert read_system_table(table.store, "options").num_rows > 0
    catalog.alter_table(T, [RemoveOption("query-auth.enabled")])
    assert sorted(read(catalog.load_table(T))) == [*ROWS, (3, "c")] and asked == []


def test_tasks_read_what_the_driver_has_asked_for(catalog: Any, table: Table) -> None:
    asked = answering(catalog, 200, {})
    snapshot = table.latest_snapshot()
    there = pickle.loads(pickle.dumps(table.store))  # noqa: S301
    assert replace(table, store=there).plan(snapshot).splits and asked == []


def test_views_of_blobs_show_what_their_reader_may_see_whole(behind: Any, catalog: Any) -> None:
    source, seen = Identifier("db", "source"), Identifier("db", "seen")
    asking = EVOLVES | {"blob-field": "v", "query-auth.enabled": "true"}
    behind.create_table(source, new_table_schema(fields(k=INT, v=BYTES), options=asking))
    behind.create_table(seen, new_table_schema(fields(k=INT, w=BYTES), options=EVOLVES | {"blob-view-field": "w"}))
    EvolvingRows({"k": pa.int32(), "v": pa.binary()}).insert(catalog.load_table(source), [(1, b"value")])
    views, table = EvolvingRows({"k": pa.int32(), "w": pa.binary()}), catalog.load_table(seen)
    views.insert(table, [(1, view_head("db.source") + struct.pack("<iq", 1, 0))])
    asked = answering(catalog, 200, {"columnMasking": {"v": MASK}})
    with pytest.raises(UnsupportedFeatureError, match=r"db\.source .*masked columns \(v\)"):
        read_rows(table, "w")
    assert asked[0][0] == "/v1/paimon/databases/db/tables/source/auth"
    answering(catalog, 403, {"message": "not for you", "code": 403})
    with pytest.raises(StorageRefusedError, match="not for you"):
        read_rows(table, "w")
    assert read_rows(table, "k") == [(1,)]
    answering(catalog, 200, {})
    assert read_rows(table, "w") == [(b"value",)]


def test_a_server_of_ours_cannot_say(behind: Any, catalog: Any, table: Table) -> None:
    for one in (table, behind.load_table(T)):
        with pytest.raises(UnsupportedFeatureError, match=r"db\.t cannot be read: 'query-auth.enabled' = 'true'"):
            read(one)
        assert TableOptions(one.schema.options).values["query-auth.enabled"] == "true"
    catalog.drop_table(T)
    with pytest.raises(PaimonError, match="There is no table db.t"):
        read(table)
