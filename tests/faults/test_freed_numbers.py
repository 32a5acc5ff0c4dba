"""Numbers of snapshots that expiry or a rollback makes free, while a commit is about to use them: on a storage whose
writers do not queue. The model of tests/protocol tells the stories; here they happen to the code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from paimon_core.commit.commit import commit
from paimon_core.commit.publish import AtomicPublisher, PublishOutcome
from paimon_core.errors import CommitUnknownError
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import expire_snapshots
from paimon_core.maintenance.tags import create_tag
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import open_branch
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot, list_snapshots, snapshot_ids
from paimon_core.store.table_store import TableStore
from tests.support.histories import newest
from tests.support.interleaving import MemoryIO
from tests.support.tables import data_file, info, message, new_store

Act = Callable[[], object]
_CHANGES = ("write_bytes", "replace_file", "create_exclusive", "delete", "delete_below", "delete_many_below")


@dataclass
class Slow:
    """A publisher around whose calls others act; `late` ones fail, and take effect when `arrive` is called."""

    store: TableStore
    before: list[Act] = field(default_factory=list)
    after: list[Act] = field(default_factory=list)
    late: int = 0
    requests: list[tuple[str, bytes]] = field(default_factory=list)

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        if self.late:
            self.late -= 1
            self.requests.append((path, data))
            raise CommitUnknownError("timeout")
        outcome = _all(self.before) or AtomicPublisher(self.store.io).publish(path, data)
        return _all(self.after) or outcome

    def arrive(self) -> None:
        self.store.io.create_exclusive(*self.requests.pop(0))


def _all(acts: list[Act]) -> None:
    while acts:
        acts.pop(0)()


@pytest.fixture
def store() -> TableStore:
    """A table with one snapshot."""
    made = new_store(Path("/w"), MemoryIO(), **{"commit.min-retry-wait": "0 ms", "commit.max-retries": "3"})
    append(made)
    return made


def append(store: TableStore, publisher: Slow | None = None) -> tuple[DataFileMeta, Snapshot | None]:
    """Commit a file."""
    file = data_file(store, 1, 1)
    return file, commit(store, [message(store, file)], info(), publisher or Slow(store))


def expire(store: TableStore) -> None:
    expire_snapshots(store, newest(1), 0)


def live(store: TableStore) -> set[str]:
    return {e.file.file_name for e in live_files(store, latest_snapshot(store)).values()}


def names(*appended: tuple[DataFileMeta, Snapshot | None]) -> set[str]:
    return {file.file_name for file, _ in appended}


@pytest.mark.parametrize("others", [2, 3])
def test_a_number_that_expiry_made_free_loses_no_commit(store: TableStore, others: int) -> None:
    """Others commit and expire between our look and our publish call: snapshot 2 is free, and below the latest."""
    theirs: list[tuple[DataFileMeta, Snapshot | None]] = []
    before = live(store)
    publisher = Slow(store, before=[lambda: theirs.append(append(store))] * others + [lambda: expire(store)])
    ours = append(store, publisher)
    assert ours[1] is not None and ours[1].id == others + 2
    assert live(store) == before | names(ours, *theirs)
    assert snapshot_ids(store) == [others + 1, others + 2]


class Queueing(MemoryIO):
    """A storage with a queue, whose waiters pass by who stopped while it had the turn."""

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(True)


def test_who_stops_while_it_has_the_turn_loses_no_commit() -> None:
    """The others wait for half a minute, then commit and expire; the number of the stopped one is free again."""
    store = new_store(Path("/w"), Queueing(), **{"commit.min-retry-wait": "0 ms", "commit.max-retries": "3"})
    before, theirs = append(store), list[tuple[DataFileMeta, Snapshot | None]]()
    ours = append(store, Slow(store, before=[lambda: theirs.append(append(store))] * 2 + [lambda: expire(store)]))
    assert live(store) == names(before, *theirs, ours)
    assert ours[1] is not None and snapshot_ids(store)[-1] == ours[1].id


def test_the_first_number_that_expiry_made_free() -> None:
    store = new_store(Path("/w"), MemoryIO(), **{"commit.min-retry-wait": "0 ms"})
    theirs: list[tuple[DataFileMeta, Snapshot | None]] = []
    publisher = Slow(store, before=[lambda: theirs.append(append(store))] * 2 + [lambda: expire(store)])
    ours = append(store, publisher)
    assert live(store) == names(ours, *theirs) and snapshot_ids(store) == [2, 3]


def test_merged_manifests_still_show_what_a_version_is_built_on(store: TableStore) -> None:
    """The next writer merges ours into another manifest, and what we are built on expires before we look for it."""
    merging = store.with_options({"manifest.full-compaction-threshold-size": "0 b"})
    theirs: list[tuple[DataFileMeta, Snapshot | None]] = []
    publisher = Slow(store)
    publisher.after = [lambda: theirs.append(append(merging)), lambda: expire_snapshots(store, newest(2), 0)]
    before, ours = live(store), append(store, publisher)
    assert ours[1] is not None and snapshot_ids(store) == [2, 3]
    assert live(store) == before | names(ours, *theirs)


def test_a_snapshot_below_it_does_not_take_the_latest_back(store: TableStore) -> None:
    """Ours is the latest when expiry takes what it is built on, and a slow writer takes one of the free numbers."""
    slow = Slow(store, before=[lambda: append(store)])
    seen: list[set[str]] = []

    def others() -> None:
        expire(store)
        store.io.create_exclusive(*slow.requests[0])
        seen.append(live(store))

    slow.late = 1
    with pytest.raises(CommitUnknownError):
        commit(store.with_options({"commit.max-retries": "0"}), [message(store, data_file(store, 9, 9))], info(), slow)
    append(store)
    append(store)
    ours = append(store, Slow(store, after=[others]))
    assert ours[1] is not None and (latest := latest_snapshot(store)) is not None and latest == ours[1]
    assert live(store) == seen[0] and names(ours) < live(store)


def test_a_commit_that_expired_at_once_is_not_taken_for_replaced(store: TableStore) -> None:
    """Ours was built on and has expired, and a slow writer has its number when we read it back."""
    other = Slow(store, late=1)
    with pytest.raises(CommitUnknownError):
        commit(store.with_options({"commit.max-retries": "0"}), [message(store, data_file(store, 9, 9))], info(), other)
    publisher = Slow(store, after=[lambda: append(store), lambda: expire(store), other.arrive])
    with pytest.raises(CommitUnknownError, match="it is unknown whether"):
        append(store, publisher)
    assert len(live(store)) == 3


def test_a_snapshot_that_is_gone_before_it_can_be_told_apart(store: TableStore) -> None:
    """Ours took a number that expiry had made free, and the next expiry removes it before we look."""
    publisher = Slow(store, before=[lambda: append(store), lambda: append(store), lambda: expire(store)])
    publisher.after = [lambda: expire(store)]
    before = len(live(store))
    with pytest.raises(CommitUnknownError, match="while others expired"):
        append(store, publisher)
    assert snapshot_ids(store) == [3] and len(live(store)) == before + 2


def test_of_several_tries_no_manifest_is_deleted(store: TableStore) -> None:
    """The first request takes effect late, is built on and expires; the second takes the number again."""
    publisher = Slow(store, late=1)
    publisher.before = [publisher.arrive, lambda: append(store), lambda: expire(store)]
    before, ours = live(store), append(store, publisher)
    latest = latest_snapshot(store)
    assert latest is not None and latest.id == 3
    assert before | names(ours) < live(store) and len(live(store)) == 3


def test_a_late_snapshot_is_taken_back_where_its_history_was_cut_off(
    store: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request takes effect behind a rollback and a commit; the writer finds it when it tries again."""
    cut_off, theirs = append(store), list[tuple[DataFileMeta, Snapshot | None]]()
    publisher = Slow(store, late=1)

    def meanwhile(_: float) -> None:
        if publisher.requests:
            roll_back(store, snapshot_id=1)
            theirs.append(append(store))
            publisher.arrive()

    monkeypatch.setattr("paimon_core.commit.commit.time.sleep", meanwhile)
    ours = append(store, publisher)
    assert [s.id for s in list_snapshots(store)] == [1, 2, 3]
    assert names(ours, *theirs) < live(store) and not names(cut_off) & live(store)


def test_what_expired_while_it_was_read_is_a_lost_race(store: TableStore) -> None:
    """A commit reads the latest snapshot, and its manifests when others have committed and expired it."""
    opened = TableStore.of(store.io, store.root, store.schema, identifier=store.identifier)
    opened = opened.with_options(dict(store.options.values))
    read, done = store.io.read_bytes, list[str]()

    def slowly(path: str, most: int = 0) -> bytes:
        if "manifest-list" in path and not done:
            done.append(path)
            append(store)
            expire(store)
        return read(path)

    store.io.read_bytes = slowly  # type: ignore[method-assign]
    assert append(opened)[1] is not None
    assert len(live(store)) == 3 and done


def test_a_commit_onto_what_was_rolled_back_is_taken_back_where_the_rest_was_compacted(store: TableStore) -> None:
    """What the table is rolled back to left no trace in the version that ours is built on."""
    merging = store.with_options({"manifest.full-compaction-threshold-size": "0 b"})
    first = live_files(store, latest_snapshot(store)).values()
    compacted = data_file(store, 1, 1, level=5)
    commit(merging, [message(store, compacted, deleted_files=tuple(e.file for e in first))], info(), Slow(store))
    append(merging)
    before = {e.file.file_name for e in first}
    ours = append(store, Slow(store, before=[lambda: roll_back(store, snapshot_id=1)]))
    assert live(store) == before | names(ours) and snapshot_ids(store) == [1, 2]


@pytest.fixture
def forked() -> TableStore:
    """A table and a branch `b`, each with a first snapshot of its own."""
    made = new_store(Path("/w"), MemoryIO(), **{"commit.min-retry-wait": "0 ms", "commit.max-retries": "3"})
    create_branch(made, "b")
    append(made)
    append(open_branch(made, "b"))
    return made


def test_a_commit_onto_a_snapshot_that_a_branch_replaced(forked: TableStore) -> None:
    theirs = live(open_branch(forked, "b"))
    ours = append(forked, Slow(forked, before=[lambda: fast_forward(forked, "b")]))
    assert live(forked) == theirs | names(ours) and snapshot_ids(forked) == [1, 2]


@pytest.mark.parametrize("number", range(1, 7))
def test_a_commit_while_a_branch_replaces_the_first_snapshot(forked: TableStore, number: int) -> None:
    """Whole, before a write of `fast_forward`: it is a part of the branch's history then, or of the one cut off."""
    io, theirs = forked.io, live(open_branch(forked, "b"))
    write, writes = io.write_bytes, list[str]()
    made: list[tuple[DataFileMeta, Snapshot | None]] = []

    def slowly(path: str, data: bytes) -> None:
        writes.append(path)
        if len(writes) == number:
            made.append(append(forked))
        write(path, data)

    io.write_bytes = slowly  # type: ignore[method-assign]
    fast_forward(forked, "b")
    assert made and live(forked) in (theirs, theirs | names(*made))


def new_store_at(store: TableStore, io: MemoryIO) -> TableStore:
    """The same table in another storage."""
    opened = TableStore.of(io, store.root, store.schema, identifier=store.identifier)
    return opened.with_options(dict(store.options.values))


def test_a_rollback_that_stops_after_it_brought_back_an_expired_snapshot(store: TableStore) -> None:
    """It stops at any write or deletion; the commit after that is the latest version, whichever it is built on."""
    first = latest_snapshot(store)
    assert first is not None
    create_tag(store, "first", first)
    append(store)
    append(store)
    expire(store)
    for stops_at in range(1, 30):
        io = store.io.copy()  # type: ignore[attr-defined]
        late, changes = new_store_at(store, io), Stopping(io, stops_at)
        try:
            roll_back(new_store_at(store, changes), tag="first")  # type: ignore[arg-type]
        except Stopped:
            ours = append(late)
            latest = latest_snapshot(late)
            assert latest is not None and latest == ours[1] and snapshot_ids(late)[-1] == latest.id
        else:
            assert stops_at > 4 and snapshot_ids(late) == [1]
            return
    raise AssertionError("it does not end")


class Stopped(BaseException):
    """The end of a process."""


class Stopping:
    """A storage that is not reached any more from a change on."""

    def __init__(self, io: MemoryIO, at: int) -> None:
        self.io, self.left = io, at

    def __getattr__(self, name: str) -> object:
        found = getattr(self.io, name)
        return self._counted(found) if name in _CHANGES else found

    def _counted(self, act: Callable[..., object]) -> Callable[..., object]:
        def counted(*values: object) -> object:
            self.left -= 1
            if self.left <= 0:
                raise Stopped
            return act(*values)

        return counted
