from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.errors import CommitConflictError, StorageError
from paimon_core.maintenance import turns
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.tags import create_tag, delete_tags
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.store.branches import open_branch
from paimon_core.store.snapshots import read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.interleaving import MemoryIO
from tests.support.tables import data_file, info, message, new_store


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(turns, "clocks", lambda: (self.now, 0.0))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def store() -> TableStore:
    store = new_store(Path("/w"), MemoryIO(), **{"write-only": "true"})
    Table(store).commit([message(store, data_file(store, 1, 1))], info())
    return store


def files(store: TableStore) -> dict[str, bool]:
    """The turns there are, and whether each is going on."""
    return {f.name: f.size > 0 for f in store.io.list(store.paths.turn_dir)}


def pass_by(store: TableStore, seconds: float) -> None:
    """On the storage's clock."""
    assert isinstance(store.io, MemoryIO)
    store.io.writes += int(seconds * 1000)


def test_a_turn_ends_with_its_block_and_the_next_has_the_next_number(store: TableStore) -> None:
    with upkeep_turn(store):
        assert files(store) == {"turn-1": True}
    assert files(store) == {"turn-1": False}
    with pytest.raises(KeyError), upkeep_turn(store):
        assert files(store) == {"turn-2": True}
        raise KeyError
    assert files(store) == {"turn-2": False}


def test_others_wait_and_are_refused(store: TableStore) -> None:
    create_tag(store, "t", read_snapshot(store, 1))
    refused = pytest.raises(CommitConflictError, match=r"Another process .* /w/db.db/t/upkeep frees")
    with upkeep_turn(store), refused, upkeep_turn(store, patience=0):
        pass
    delete_tags(store, ["t"])


def test_who_only_adds_does_not_wait(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0)
    with upkeep_turn(store):
        create_tag(store, "t", read_snapshot(store, 1))
        Table(store).commit([message(store, data_file(store, 2, 2))], info())
    assert files(store) == {"turn-1": False}


def test_a_turn_within_a_turn_is_the_same(store: TableStore) -> None:
    with upkeep_turn(store) as held:
        with upkeep_turn(held, patience=0) as again:
            assert again is held
        assert files(store) == {"turn-1": True}


def test_who_was_killed_is_followed_after_ten_minutes(store: TableStore) -> None:
    killed = upkeep_turn(store)
    killed.__enter__()
    pass_by(store, 590)
    with pytest.raises(CommitConflictError), upkeep_turn(store, patience=0):
        pass
    pass_by(store, 20)
    with upkeep_turn(store, patience=0):
        assert files(store) == {"turn-2": True}


def test_who_was_only_slow_deletes_nothing(store: TableStore, clock: Clock) -> None:
    with upkeep_turn(store) as held:
        clock.now += 601
        with pytest.raises(CommitConflictError, match="601 s passed"):
            held.delete(store.paths.snapshot(1))
        with pytest.raises(CommitConflictError, match="601 s passed"):
            held.delete_dir(store.root)
        with pytest.raises(CommitConflictError, match="601 s passed"):
            Table(held).commit([message(store, data_file(store, 2, 2))], info())
    assert read_snapshot(store, 1)


def test_a_long_turn_is_renewed(store: TableStore, clock: Clock) -> None:
    with upkeep_turn(store) as held:
        for _ in range(10):
            clock.now += 200
            pass_by(store, 200)
            held.check_turn()
        with pytest.raises(CommitConflictError), upkeep_turn(store, patience=0):
            pass


class SlowPuts(MemoryIO):
    """Tells who listens of each file that is put in the place of another."""

    told: Callable[[], None] = staticmethod(lambda: None)

    def replace_file(self, path: str, data: bytes) -> None:
        super().replace_file(path, data)
        self.told()


def test_a_long_fast_forward_keeps_its_turn(clock: Clock) -> None:
    """Each of its files takes 100 s: in 600 s others would have the turn."""
    store = new_store(Path("/w"), io := SlowPuts(), **{"write-only": "true"})
    create_branch(store, "b")
    for number in range(8):
        Table(open_branch(store, "b")).commit([message(store, data_file(store, number, number))], info())

    def told() -> None:
        clock.now += 100
        pass_by(store, 100)
        with pytest.raises(CommitConflictError), upkeep_turn(store, patience=0):
            pass

    io.told = told
    fast_forward(store, "b")
    assert clock.now > 800 and read_snapshot(store, 8)


def test_who_ends_late_ends_nobody_elses_turn(store: TableStore) -> None:
    slow = upkeep_turn(store)
    slow.__enter__()
    pass_by(store, 700)
    with upkeep_turn(store, patience=0):
        slow.__exit__(None, None, None)
        assert files(store)["turn-2"]
        with pytest.raises(CommitConflictError), upkeep_turn(store, patience=0):
            pass


def test_a_number_that_was_over_long_ago_gives_no_turn(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        with upkeep_turn(store):
            pass
    assert files(store) == {"turn-3": False}
    listed, seen = turns._files, list[int]()

    def stale(of: TableStore) -> object:
        """The first look is answered as it was before turn 2 began."""
        seen.append(1)
        return [] if len(seen) == 1 else listed(of)

    monkeypatch.setattr(turns, "_files", stale)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with upkeep_turn(store):
        assert files(store) == {"turn-4": True}


class LostAnswer(MemoryIO):
    """Creates, and says that it does not know."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        created = super().create_exclusive(path, data)
        if "/turn-" in path:
            raise StorageError("the answer was lost")
        return created


def test_a_lost_answer_is_read_back(store: TableStore) -> None:
    assert isinstance(store.io, MemoryIO)
    unsure = TableStore.of(LostAnswer(store.io.files), store.root, store.schema)
    with upkeep_turn(unsure):
        assert files(unsure) == {"turn-1": True}


def test_no_file_where_writers_queue(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    with upkeep_turn(store) as held:
        assert held.turn is not None and held.turn.is_alone
        assert not (Path(store.root) / "upkeep").exists()
