"""Upkeep on an object store, which cannot tell whether a file with the same content was created by this call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from paimon_core.commit.draft import CommitInfo, Once
from paimon_core.commit.once import OnceGuard
from paimon_core.commit.publish import create_if_missing
from paimon_core.errors import StorageError, StorageRefusedError
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.maintenance.tags import create_tag
from paimon_core.spec.types import INT, STRING
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.snapshots import read_snapshot, snapshot_ids
from paimon_core.store.tags import require_tag
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from tests.support.object_server import Answer, ObjectServer, Request, object_server
from tests.support.stored import T, insert, read
from tests.support.tables import fields

pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")


@pytest.fixture
def server() -> Iterator[ObjectServer]:
    with object_server() as found:
        yield found


@pytest.fixture
def table(server: ObjectServer) -> Table:
    """A table with five snapshots of one row each."""
    catalog = load_catalog({"warehouse": "s3://lake/wh", **server.options})
    catalog.create_table(T, new_table_schema(fields(k=INT, v=STRING)))
    made = catalog.load_table(T)
    for number in range(5):
        insert(made, [(number, "x")])
    return made


def test_rollback_to_a_snapshot_and_to_a_tag(table: Table) -> None:
    assert roll_back(table.store, snapshot_id=4) == (5, 4)
    create_tag(table.store, "here", read_snapshot(table.store, 2))
    assert roll_back(table.store, tag="here") == (4, 2)
    assert read(table) == [(0, "x"), (1, "x")] and snapshot_ids(table.store) == [1, 2]


def test_rollback_to_a_snapshot_that_only_a_tag_keeps(table: Table, server: ObjectServer) -> None:
    create_tag(table.store, "here", read_snapshot(table.store, 2))
    expire_snapshots(table.store, Retention(least=1, most=1, older_than=0, limit=10), 0)
    assert snapshot_ids(table.store) == [5]
    lost = [True]

    def lose_an_answer(request: Request) -> Answer | None:
        if request.method == "PUT" and request.key.endswith("/snapshot-2") and lost:
            lost.pop()
            return Answer(500, "InternalError", done=True)
        return None

    server.fault = lose_an_answer
    assert roll_back(table.store, tag="here") == (5, 2)
    assert not lost and read(table) == [(0, "x"), (1, "x")] and require_tag(table.store, "here").snapshot.id == 2


def test_fast_forward(table: Table) -> None:
    create_tag(table.store, "here", read_snapshot(table.store, 3))
    create_branch(table.store, "b", "here")
    branch = Table(open_branch(table.store, "b"))
    insert(branch, [(9, "x")])
    fast_forward(table.store, "b")
    assert read(table) == [(n, "x") for n in (0, 1, 2, 9)]


def test_a_branch_is_renamed(table: Table) -> None:
    create_tag(table.store, "here", read_snapshot(table.store, 3))
    create_branch(table.store, "b", "here")
    insert(Table(open_branch(table.store, "b")), [(9, "x")])
    rename_branch(table.store, "b", "c")
    assert branch_names(table.store) == ["c"]
    assert read(Table(open_branch(table.store, "c"))) == [(n, "x") for n in (0, 1, 2, 9)]


def test_the_record_of_a_commit_that_another_try_has_begun(table: Table) -> None:
    info = CommitInfo(user="stream", identifier=1, once=Once.FREE)
    assert OnceGuard(table.store, info, 5).begin()
    assert not OnceGuard(table.store, info, 5).begin()


def test_a_file_that_exists_with_the_same_content_or_another(table: Table) -> None:
    io, path = table.store.io, f"{table.store.root}/file"
    assert create_if_missing(io, path, b"1")
    assert not create_if_missing(io, path, b"1") and not create_if_missing(io, path, b"2")
    assert io.read_bytes(path) == b"1"
    with pytest.raises(StorageError, match="unknown whether this call created"):
        io.create_exclusive(path, b"1")


def test_a_refused_create_is_an_error(table: Table, server: ObjectServer) -> None:
    server.fault = lambda request: Answer(403, "AccessDenied") if request.method == "PUT" else None
    with pytest.raises(StorageRefusedError):
        create_if_missing(table.store.io, f"{table.store.root}/file", b"1")
