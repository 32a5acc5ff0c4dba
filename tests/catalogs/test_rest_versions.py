"""Tags, branches and rollbacks of a REST catalog's tables: the server makes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import (
    BranchExistsError,
    BranchNotFoundError,
    InvalidOptionError,
    SnapshotNotFoundError,
    StorageError,
    StorageRefusedError,
    TableNotFoundError,
    TagExistsError,
    TagNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.io.read_only import ReadOnlyFileIO
from paimon_core.maintenance.tags import taggable_snapshot
from paimon_core.spec.identifier import Identifier
from paimon_core.store.branches import branch_names
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_core.store.snapshots import snapshot_ids
from paimon_core.store.tags import read_tag, tag_names
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.rest.client import _Answer
from paimon_sql.catalog.rest.failures import Refused
from tests.catalogs.kinds import SCHEMA
from tests.support.lossy_proxy import LossyProxy
from tests.support.rest_server import RestServer
from tests.support.stored import insert, read

pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')

T = Identifier("db", "t")
DAY = timedelta(days=1)


@pytest.fixture
def behind(behind: Any) -> Any:
    """With a table of three commits, a tag `first` of the first, a branch `b` from there with one more."""
    catalog = behind
    catalog.create_table(T, replace(SCHEMA, options={**SCHEMA.options, "write-only": "true"}))
    for k in range(3):
        insert(catalog.load_table(T), [(k, "x")])
    table = catalog.load_table(T)
    table.versions.create_tag("first", taggable_snapshot(table.store, 1))
    table.versions.create_branch("b", "first")
    insert(catalog.load_table(T.on_branch("b")), [(7, "b")])
    return catalog


def only_reading(table: Table) -> Table:
    """The same for someone who cannot change files."""
    io = ReadOnlyFileIO(table.store.io, "files are the server's to change")
    return replace(table, store=replace(table.store, io=io))


def tag(table: Table, name: str, snapshot: int, retained: timedelta | None = None) -> None:
    table.versions.create_tag(name, taggable_snapshot(table.store, snapshot), retained)


def rows(table: Table) -> list[int]:
    return sorted(row[0] for row in read(table))


CHANGES: Mapping[str, Callable[[Table], object]] = {
    "create tag": lambda t: tag(t, "a", 2),
    "create tag for a day": lambda t: tag(t, "a", 2, DAY),
    "delete tag": lambda t: t.versions.delete_tags(["first"]),
    "create branch": lambda t: t.versions.create_branch("c", "first"),
    "create empty branch": lambda t: t.versions.create_branch("c"),
    "rename branch": lambda t: t.versions.rename_branch("b", "c"),
    "delete branch": lambda t: t.versions.delete_branch("b"),
    "fast forward": lambda t: t.versions.fast_forward("b"),
    "roll back": lambda t: t.versions.roll_back(snapshot_id=2),
    "roll back to tag": lambda t: t.versions.roll_back(tag="first"),
}
# tags, branches and rows afterwards
RESULTS: Mapping[str, tuple[list[str], list[str], list[int]]] = {
    "create tag": (["a", "first"], ["b"], [0, 1, 2]),
    "create tag for a day": (["a", "first"], ["b"], [0, 1, 2]),
    "delete tag": ([], ["b"], [0, 1, 2]),
    "create branch": (["first"], ["b", "c"], [0, 1, 2]),
    "create empty branch": (["first"], ["b", "c"], [0, 1, 2]),
    "rename branch": (["first"], ["c"], [0, 1, 2]),
    "delete branch": (["first"], [], [0, 1, 2]),
    "fast forward": (["first"], ["b"], [0, 7]),
    "roll back": (["first"], ["b"], [0, 1]),
    "roll back to tag": (["first"], ["b"], [0]),
}


def result(catalog: Any) -> tuple[list[str], list[str], list[int]]:
    table = catalog.load_table(T)
    return tag_names(table.store), table.versions.branch_names(), rows(table)


@pytest.mark.parametrize("change", CHANGES)
def test_the_server_makes_a_change(behind: Any, catalog: Any, change: str) -> None:
    CHANGES[change](only_reading(catalog.load_table(T)))
    assert result(catalog) == result(behind) == RESULTS[change]


@pytest.mark.parametrize("change", CHANGES)
def test_a_lost_answer_is_settled(behind: Any, server: RestServer, change: str) -> None:
    proxy = LossyProxy(server.port, b"DELETE /" if change.startswith("delete") else b"POST /", lose=1)
    through: Any = load_catalog({**server.options(), "uri": f"http://127.0.0.1:{proxy.port}"})
    CHANGES[change](through.load_table(T))
    assert proxy.lose == 0 and result(behind) == RESULTS[change]
    proxy.close()


@pytest.mark.parametrize("change", CHANGES)
def test_an_answer_that_is_lost_before_anything_was_done(behind: Any, catalog: Any, change: str) -> None:
    before = result(behind)
    answering(catalog, 500, {"message": "boom"})
    with pytest.raises(StorageError, match="boom"):
        CHANGES[change](catalog.load_table(T))
    assert result(behind) == before


@pytest.mark.parametrize("change", CHANGES)
def test_who_may_only_read_changes_nothing(behind: Any, tmp_path: Path, change: str) -> None:
    before = result(behind)
    with RestServer.over(behind, tmp_path / "tokens") as server:
        reader: Any = load_catalog(server.options("reader"))
        with pytest.raises(StorageRefusedError, match="403, User reader may only read"):
            CHANGES[change](reader.load_table(T))
    assert result(behind) == before


def test_a_rollback_tells_where_it_was_and_is(catalog: Any) -> None:
    table = catalog.load_table(T)
    assert table.versions.roll_back(snapshot_id=2) == (3, 2)
    table.store.delete(table.store.paths.snapshot(1))  # it expired
    assert table.versions.roll_back(snapshot_id=1) == (2, 1), "a tag keeps it"
    assert snapshot_ids(table.store) == [1] and rows(table) == [0]


def test_a_branch_has_tags_and_rollbacks_of_its_own(catalog: Any) -> None:
    table = catalog.load_table(T.on_branch("b"))
    tag(only_reading(table), "of-b", 2)
    assert tag_names(table.store) == ["first", "of-b"] and tag_names(catalog.load_table(T).store) == ["first"]
    table.versions.roll_back(snapshot_id=1)
    assert rows(catalog.load_table(T.on_branch("b"))) == [0] and rows(catalog.load_table(T)) == [0, 1, 2]


def test_what_the_server_refuses_is_said_as_without_one(behind: Any, catalog: Any) -> None:
    table = catalog.load_table(T)
    refused: Mapping[Callable[[Any], object], type[Exception]] = {
        lambda v: tag(replace(table, versioning=lambda _: v), "first", 2): TagExistsError,
        lambda v: v.create_branch("b"): BranchExistsError,
        lambda v: v.create_branch("c", "nope"): TagNotFoundError,
        lambda v: v.delete_branch("nope"): BranchNotFoundError,
        lambda v: v.rename_branch("nope", "c"): BranchNotFoundError,
        lambda v: v.fast_forward("nope"): BranchNotFoundError,
        lambda v: v.roll_back(snapshot_id=9): SnapshotNotFoundError,
        lambda v: v.roll_back(tag="nope"): TagNotFoundError,
    }
    for change, kind in refused.items():
        texts = set()
        for one in (table, behind.load_table(T)):
            with pytest.raises(kind) as caught:
                change(one.versions)
            texts.add(str(caught.value))
        assert len(texts) == 1
    behind.alter_table(T, [SetOption("scan.fallback-branch", "b")])
    with pytest.raises(InvalidOptionError, match="Unset 'scan.fallback-branch'"):
        catalog.load_table(T).versions.delete_branch("b")


def test_schemas_are_not_rolled_back(behind: Any, catalog: Any) -> None:
    """Nothing keeps a commit in flight from naming the schema that would go."""
    behind.alter_table(T, [SetOption("a", "b")])
    with pytest.raises(Refused, match="501, Rolling back schemas is not supported") as caught:
        catalog.client.post("/v1/paimon/databases/db/tables/t/rollback-schema", {"schemaId": 0})
    assert isinstance(caught.value.as_error(), UnsupportedFeatureError)
    assert catalog.load_table(T).schema.id == 1


# -- servers of others ------------------------------------------------------------------------------------------------
def answering(catalog: Any, status: int, node: Mapping[str, Any] | None = None) -> None:
    """Let the server answer so whatever is asked of tags, branches and rollbacks."""
    send = catalog.client._send

    def answered(request: Any) -> Any:
        if any(part in request.path for part in ("/t/tags", "/t/branches", "/t/rollback")):
            return _Answer(status, b"" if node is None else json.dumps(node).encode(), {})
        return send(request)

    catalog.client._send = answered


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_tags_and_branches(behind: Any, catalog: Any, status: int) -> None:
    """Tags are made in the files, as in Java; the rest is refused."""
    answering(catalog, status, {"message": "what is that", "code": status} if status != 405 else None)
    table = catalog.load_table(T)
    tag(table, "a", 2, DAY)
    found = read_tag(behind.load_table(T).store, "a")
    assert found is not None and (found.snapshot.id, found.retained) == (2, DAY)
    table.versions.delete_tags(["first", "nope"])
    assert tag_names(table.store) == ["a"]
    for change, what in {
        "create branch": "make branches", "delete branch": "delete branches", "rename branch": "rename branches",
        "fast forward": "fast forward", "roll back": "roll back",
    }.items():  # fmt: skip
        with pytest.raises(UnsupportedFeatureError, match=f"cannot {what}: .* {status}"):
            CHANGES[change](table)
    with pytest.raises(UnsupportedFeatureError, match="has no way to list branches"):
        table.versions.branch_names()
    assert branch_names(table.store) == ["b"] and rows(table) == [0, 1, 2]
    behind.drop_table(T)
    with pytest.raises(TableNotFoundError):
        table.versions.create_branch("c")


@pytest.mark.parametrize(
    ("change", "status", "resource", "kind"),
    [
        ("create tag", 409, "TAG", TagExistsError),
        ("create tag", 409, None, TagExistsError),
        ("create tag", 404, "SNAPSHOT", SnapshotNotFoundError),
        ("create tag", 404, "TABLE", TableNotFoundError),
        ("create branch", 409, None, BranchExistsError),
        ("create branch", 404, "TAG", TagNotFoundError),
        ("rename branch", 409, None, BranchExistsError),
        ("fast forward", 404, "BRANCH", BranchNotFoundError),
        ("roll back", 404, "SNAPSHOT", SnapshotNotFoundError),
        ("roll back", 403, None, StorageRefusedError),
    ],
)
def test_refusals_of_other_servers(
    catalog: Any, change: str, status: int, resource: str | None, kind: type[Exception]
) -> None:
    answering(catalog, status, {"message": "no, thanks", "resourceType": resource, "code": status})
    with pytest.raises(kind, match="no, thanks"):
        CHANGES[change](catalog.load_table(T))


def test_a_tag_that_the_server_does_not_know_is_deleted(catalog: Any) -> None:
    """Java makes tags in the files."""
    answering(catalog, 404, {"message": "no such tag", "resourceType": "TAG", "code": 404})
    table = catalog.load_table(T)
    table.versions.delete_tags(["first"])
    assert tag_names(table.store) == []
