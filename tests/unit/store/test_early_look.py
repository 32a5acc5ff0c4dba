"""Looks at the versions of a table while it is opened: they save a request, and hide no commit."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_core.errors import StorageError
from paimon_core.io.file_io import FileStatus
from paimon_core.maintenance.rollback import roll_back
from paimon_core.spec.identifier import Identifier
from paimon_core.store import early_look
from paimon_core.store.snapshots import latest_for_read, latest_snapshot
from paimon_core.table import Table
from paimon_sql.catalog.filesystem import FileSystemCatalog
from tests.support.counted_requests import TaggingIO
from tests.support.tables import data_file, info, message, new_store

T = Identifier("db", "t")


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class World:
    """A catalog that has read a table of `versions` versions, another process, and a clock."""

    def __init__(self, root: Path, clock: Clock, versions: int = 3) -> None:
        self.io, self.clock, self.root = TaggingIO(), clock, root
        self.catalog = FileSystemCatalog(io=self.io, warehouse=str(root))
        new_store(root, self.io)
        for _ in range(versions):
            self.commit(self.other())
        self.catalog.load_table(T)
        latest_for_read(self.catalog.load_table(T).store)

    def other(self) -> Table:
        return FileSystemCatalog(io=TaggingIO(self.io.inner), warehouse=str(self.root)).load_table(T)

    def commit(self, table: Table) -> None:
        number = (getattr(latest_snapshot(table.store), "id", 0)) + 1
        table.commit([message(table.store, data_file(table.store, number, number))], info())

    def seen(self, table: Table) -> int:
        found = latest_for_read(table.store)
        assert found is not None
        return found.id


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    clock = Clock()
    monkeypatch.setattr(early_look, "time", clock)
    return World(tmp_path, clock)


def test_opening_a_table_and_planning_wait_for_one_request(world: World) -> None:
    with world.io.counted() as made:
        assert world.seen(world.catalog.load_table(T)) == 3
    assert (made.count, made.chain) == (2, 1), made.made


def test_commits_from_before_are_seen(world: World) -> None:
    world.commit(world.other())
    assert world.seen(world.catalog.load_table(T)) == 4


def test_own_commits_are_seen_at_once(world: World) -> None:
    table = world.catalog.load_table(T)
    world.commit(world.catalog.load_table(T))
    assert world.seen(table) == 4


def test_a_look_serves_one_reader(world: World) -> None:
    table = world.catalog.load_table(T)
    assert world.seen(table) == 3
    world.commit(world.other())
    assert world.seen(table) == 4


def test_another_program_that_begins_to_commit_after_the_opening_is_seen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request takes 10 ms, the look too."""

    def listed(*given: object) -> object:
        world.clock.now += 0.01
        return slow(*given)  # type: ignore[arg-type]

    slow = early_look.listed_versions
    monkeypatch.setattr(early_look, "listed_versions", listed)
    table, other = world.catalog.load_table(T), world.other()
    io = other.store.io
    assert isinstance(io, TaggingIO)
    with io.counted() as made:
        world.commit(other)
    world.clock.now += 0.01 * made.chain
    assert world.seen(table) == 4


@pytest.mark.parametrize(("took", "counts"), [(0.001, 0.004), (0.1, 0.25), (10.0, 0.0)])
def test_a_look_counts_for_four_times_its_duration_and_a_quarter_of_a_second_at_most(
    world: World, monkeypatch: pytest.MonkeyPatch, took: float, counts: float
) -> None:
    def listed(*given: object) -> object:
        world.clock.now += took
        return slow(*given)  # type: ignore[arg-type]

    slow = early_look.listed_versions
    for moment, requests in ((counts - 1e-6, 0), (counts + 1e-6, 1)):
        began = world.clock.now
        with monkeypatch.context() as slowed:
            slowed.setattr(early_look, "listed_versions", listed)
            table = world.catalog.load_table(T)
        world.clock.now = max(world.clock.now, began + moment)
        with world.io.counted() as made:
            assert world.seen(table) == 3
        assert made.count == (requests if took < counts else 1)


def test_a_rollback_after_the_look_does_not_hide_later_commits(world: World) -> None:
    table, other = world.catalog.load_table(T), world.other()
    roll_back(other.store, snapshot_id=2)
    assert world.seen(table) in (2, 3)
    assert world.seen(world.catalog.load_table(T)) == 2


def test_the_look_belongs_to_the_opened_table(world: World) -> None:
    table = world.catalog.load_table(T)
    assert table.store.early_look is not None
    assert pickle.loads(pickle.dumps(table.store)).early_look is None  # noqa: S301  our own bytes
    table.versions.create_branch("b")
    on_branch = world.catalog.load_table(T.on_branch("b"))
    assert on_branch.store.early_look is None


def test_a_look_that_fails_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(io: TaggingIO, path: str) -> Iterator[FileStatus]:
        if path.endswith("snapshot"):
            raise StorageError("Cannot list: the server does not answer.")
        return list_all(io, path)

    list_all = TaggingIO.list
    monkeypatch.setattr(TaggingIO, "list", fail)
    table = world.catalog.load_table(T)
    monkeypatch.setattr(TaggingIO, "list", list_all)
    assert table.store.early_look is None and world.seen(table) == 3


def test_a_table_that_the_session_has_not_read_is_opened_without_a_look(world: World) -> None:
    catalog = FileSystemCatalog(io=world.io, warehouse=str(world.root))
    assert catalog.load_table(T).store.early_look is None
