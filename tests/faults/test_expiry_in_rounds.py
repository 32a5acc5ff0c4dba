"""Expiry on a remote storage, which removes snapshots round by round (`maintenance/removal.py`): it is stopped before
each of its changes, or something else happens there. The model of tests/protocol shows why marks are needed; here the
code is tried, and without marks, or without heed of them, it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from unittest import mock

import pytest

from paimon_core.commit import commit
from paimon_core.errors import CommitConflictError, CommitUnknownError, SnapshotNotFoundError
from paimon_core.maintenance import removal, snapshot_expiry
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.removal import Rounds
from paimon_core.maintenance.rollback import roll_back, snapshot_at_watermark
from paimon_core.maintenance.snapshot_expiry import expire_snapshots
from paimon_core.maintenance.tags import create_tag, taggable_snapshot
from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.spec.snapshot import Snapshot, encode_snapshot
from paimon_core.store import snapshots as snapshots_module
from paimon_core.store.branches import open_branch
from paimon_core.store.cache import MetadataCache
from paimon_core.store.snapshots import (
    earliest_snapshot,
    find_snapshot,
    hinted_latest,
    history_ids,
    latest_snapshot,
    list_snapshots,
    read_snapshot,
    snapshot_ids,
    without_gaps,
)
from paimon_core.store.table_store import TableStore
from tests.faults.test_freed_numbers import Slow, append, expire, live, names
from tests.faults.test_interleavings import tried
from tests.support.histories import FOREVER, newest
from tests.support.interleaving import InterleavedIO, KilledError, MemoryIO
from tests.support.tables import new_store
from tests.support.upkeep_world import repeatable

LAST = 8  # the latest snapshot; all others expire
OPTIONS = {"commit.min-retry-wait": "0 ms", "commit.max-retries": "3", "snapshot.num-retained.min": "1000"}


@pytest.fixture(autouse=True)
def _many_rounds() -> Iterator[None]:
    """Parts of two snapshots: numbers 2, 4 and 6 get marks, and 7 is removed alone."""
    with mock.patch.object(removal, "_at_once", lambda _: 16), mock.patch.object(removal, "_LENGTH", 2):
        yield


@cache
def _full() -> TableStore:
    store = new_store(Path("/w"), MemoryIO(), **OPTIONS)
    for _ in range(LAST):
        append(store)
    return store


def table(length: int = LAST) -> TableStore:
    """A table with the first snapshots of the same history."""
    full = _full()
    store = another(full, full.io.copy())  # type: ignore[attr-defined]
    for number in range(length + 1, LAST + 1):
        store.delete(store.paths.snapshot(number))
    store.io.write_bytes(store.paths.latest_hint, str(length).encode())
    return store


def commit_the_rest(store: TableStore) -> None:
    """Others commit the later snapshots of that history."""
    full = _full()
    for number in snapshot_ids(full):
        path = full.paths.snapshot(number)
        store.io.create_exclusive(path, full.io.read_bytes(path))
    store.io.write_bytes(store.paths.latest_hint, str(LAST).encode())


def another(store: TableStore, io: InterleavedIO | MemoryIO) -> TableStore:
    """The table as another process has it."""
    return replace(store, io=io, cache=MetadataCache())  # type: ignore[arg-type]


def changes(length: int = LAST) -> list[int]:
    """The calls of an expiry that change something, by number."""
    store = table(length)
    io = InterleavedIO(store.io)  # type: ignore[arg-type]
    expire(another(store, io))
    return [number for number, call in enumerate(io.calls, 1) if call.changed]


def kill_expiry(store: TableStore, at: int) -> None:
    with suppress(KilledError):
        expire(another(store, InterleavedIO(store.io, at, killed=True)))  # type: ignore[arg-type]
    for path in [p for p in store.io.files if "/upkeep/turn" in p]:  # type: ignore[attr-defined]
        store.io.write_bytes(path, b"")  # its turn is over a while later


def check_rule(store: TableStore) -> None:
    """A number is free only after the snapshot below it is gone, or marked."""
    ids = snapshot_ids(store)
    for number in ids[:-1]:
        assert number + 1 in ids or read_snapshot(store, number).is_expiring, (number, ids)


def test_rounds() -> None:
    snapshots = list_snapshots(table())
    plan = Rounds.of(snapshots, 16)
    assert [s.id for s in plan.marked] == [2, 4, 6]
    assert [[s.id for s in r] for r in plan.removed] == [[1, 3, 5, 7], [2, 4, 6], [8]]
    one_by_one = tuple((s,) for s in snapshots)
    assert Rounds.of(snapshots, 1) == Rounds((), one_by_one)
    old = [s.without_new_members() for s in snapshots]  # Paimon 0.7 refuses a snapshot with properties
    assert Rounds.of(old, 16).marked == ()
    assert Rounds.of(snapshots[:3], 16) == Rounds((), one_by_one[:3])
    plan = Rounds.of(snapshots * 1000, 16)
    assert (len(plan.removed), len(plan.marked)) == (22 + 1, 363)


@pytest.mark.parametrize("ids", [[], [4], [1, 2, 3], [2, 3, 7, 8, 9], [1, 3, 9]])
def test_a_history_has_no_gaps(ids: list[int]) -> None:
    found = without_gaps(ids)
    assert found == ids[len(ids) - len(found) :] == list(range(ids[-1] - len(found) + 1, ids[-1] + 1)) if ids else True


def test_a_killed_expiry_leaves_a_table_that_is_whole() -> None:
    made = table()
    times = {n: read_snapshot(made, n).time_millis for n in snapshot_ids(made)}
    expected, points = live(made), changes()
    assert len(points) > 14
    whole = table()
    expire(whole)
    left = left_of(whole)
    for at in points:
        store = another(made, made.io.copy())  # type: ignore[attr-defined]
        kill_expiry(store, at)
        check_rule(store)
        for hint in range(1, LAST + 1):  # however old the hint is
            store.io.write_bytes(store.paths.latest_hint, str(hint).encode())
            found = latest_snapshot(another(store, store.io))  # type: ignore[arg-type]
            assert found is not None and found.id == LAST
        assert history_ids(store)[-1] == LAST and [s.id for s in list_snapshots(store)] == history_ids(store)
        for number, millis in times.items():
            with suppress(SnapshotNotFoundError):
                seen = snapshot_of_options(store.with_options({"scan.timestamp-millis": str(millis)}))
                assert seen is not None and times[seen.id] == millis, (number, seen)
        expire(store)
        remove_orphans(store, FOREVER)
        assert snapshot_ids(store) == [LAST] and live(store) == expected
        assert left_of(store) == left


def left_of(store: TableStore) -> set[str]:
    """The files of a table, except those of turns."""
    return {path for path in store.io.files if "/upkeep/" not in path}  # type: ignore[attr-defined]


def paused(base: int, at: int, *, resumes: bool = False) -> tuple[TableStore, set[str]]:
    """A writer stops between its look at `base` and its publish call, until an expiry is before its call `at`. With
    `resumes`, the next expiry has ended before the writer looks again. Return the table, and the files that it must
    have."""
    store, files = table(base), live(_full())

    def meanwhile() -> None:
        commit_the_rest(store)
        kill_expiry(store, at)

    after: list[Callable[[], object]] = [lambda: expire(store)] if resumes else []
    with suppress(CommitUnknownError):
        ours = append(store, Slow(store, before=[meanwhile], after=after))
        files |= names(ours)
    return store, files


def check_paused(*bases: int) -> None:
    for base in bases:
        for at in changes():
            store, files = paused(base, at)
            assert live(store) >= files, (base, at)


def test_a_paused_writer_loses_no_commit() -> None:
    check_paused(2, 5)


@pytest.mark.parametrize("base", [1])
def test_a_paused_writer_that_another_expiry_overtakes_is_told_so_at_worst(base: int) -> None:
    for at in changes():
        store, files = paused(base, at, resumes=True)
        assert live(store) >= files, at


def _without_marks(snapshots: list[Snapshot], at_once: int) -> Rounds:
    return Rounds((), (tuple(snapshots[:-1]), tuple(snapshots[-1:])))


def _all_at_once(snapshots: list[Snapshot], at_once: int) -> Rounds:
    return Rounds(tuple(snapshots), (tuple(reversed(snapshots)),))


def test_without_marks_a_commit_is_lost_and_a_hint_is_wrong() -> None:
    with mock.patch.object(Rounds, "of", lambda s, n: _reordered(_without_marks(list(s), n))):
        with pytest.raises(AssertionError):
            check_paused(1, 2)
        with pytest.raises(AssertionError):
            test_a_killed_expiry_leaves_a_table_that_is_whole()


def _reordered(plan: Rounds) -> Rounds:
    """The same plan; a storage deletes the names of one request in any order."""
    return replace(plan, removed=tuple(tuple(reversed(r)) for r in plan.removed))


def test_a_writer_that_ignores_marks_loses_a_commit() -> None:
    def is_there(store: TableStore, snapshot: Snapshot | None) -> bool:
        return snapshot is None or find_snapshot(store, snapshot.id) is not None

    with mock.patch.object(commit, "is_there", is_there), pytest.raises(AssertionError):
        check_paused(1, 2)


def test_a_reader_that_ignores_marks_trusts_an_old_hint() -> None:
    def last(store: TableStore, number: int) -> Snapshot | None:
        return None if find_snapshot(store, number + 1) is not None else find_snapshot(store, number)

    with mock.patch.object(snapshots_module, "_last", last), pytest.raises(AssertionError):
        test_a_killed_expiry_leaves_a_table_that_is_whole()


def test_the_last_removed_with_others_takes_a_commit_back() -> None:
    """The latest commit is checked while its base is gone, and others below it are not: it must not be withdrawn."""

    def check() -> None:
        for at in changes():
            store = table(LAST - 1)
            ours = append(store, Slow(store, after=[partial(kill_expiry, store, at)]))
            assert ours[1] is not None and ours[1].id == LAST and live(store) >= names(ours)

    check()
    with mock.patch.object(Rounds, "of", lambda s, n: _all_at_once(list(s), n)), pytest.raises(AssertionError):
        check()


@pytest.mark.parametrize("number", [2, 7])
def test_a_tag_of_a_snapshot_that_expires_has_its_files_or_is_refused(number: int) -> None:
    made = table()
    at, tagged = 0, 0
    while True:
        at += 1
        store = another(made, made.io.copy())  # type: ignore[attr-defined]
        outcomes: list[str] = []

        def tag(store: TableStore = store, outcomes: list[str] = outcomes) -> None:
            try:
                other = another(store, store.io)  # type: ignore[arg-type]
                create_tag(other, "t", taggable_snapshot(other, number))
                outcomes.append("tagged")
            except SnapshotNotFoundError:
                outcomes.append("refused")

        io = InterleavedIO(store.io, at, tag)  # type: ignore[arg-type]
        expire(another(store, io))
        if not outcomes:
            break
        fresh = another(store, store.io)  # type: ignore[arg-type]
        remove_orphans(fresh, FOREVER)
        if outcomes == ["tagged"]:
            tagged += 1
            assert len(live_of_tag(another(store, store.io.copy()))) == number  # type: ignore[attr-defined]
        assert snapshot_ids(store) == [LAST]
    assert 10 < tagged < at - 5


def live_of_tag(store: TableStore) -> set[str]:
    roll_back(store, tag="t")
    return live(store)


def test_snapshots_before_a_gap_have_expired() -> None:
    store = table()
    for number in (3, 4):
        store.delete(store.paths.snapshot(number))
    store.io.write_bytes(store.paths.snapshot(2), encode_snapshot(read_snapshot(store, 2).marked()))
    assert snapshot_ids(store) == [1, 2, 5, 6, 7, 8]
    assert [s.id for s in list_snapshots(store)] == [5, 6, 7, 8]
    first = read_snapshot(store, 1)
    with pytest.raises(SnapshotNotFoundError):
        snapshot_of_options(store.with_options({"scan.timestamp-millis": str(first.time_millis - 1)}))
    with pytest.raises(SnapshotNotFoundError):
        snapshot_at_watermark(store, 0)
    expire(store)
    assert snapshot_ids(store) == [8]


def test_a_number_that_a_listing_misses_makes_no_gap() -> None:
    """A listing in pages shows 8 and not 7, as both are committed meanwhile."""
    store = table()
    missed = [7]

    def listed(store: TableStore) -> list[int]:
        lacking = missed.pop() if missed else None
        return [n for n in snapshot_ids(store) if n != lacking]

    with mock.patch.object(snapshots_module, "snapshot_ids", listed):
        assert history_ids(store) == list(range(1, LAST + 1))
    missed.append(7)
    with mock.patch.object(snapshot_expiry, "snapshot_ids", listed):
        assert expire_snapshots(store, newest(6), 0) == 2
    assert snapshot_ids(store) == list(range(3, LAST + 1))


def branch_of(store: TableStore, snapshot: int) -> TableStore:
    create_tag(store, "t", read_snapshot(store, snapshot))
    create_branch(store, "b", "t")
    return open_branch(store, "b")


def test_a_branch_replaces_a_table_with_snapshots_before_a_gap() -> None:
    for at in changes():
        store = table()
        branch = branch_of(store, LAST)
        for _ in range(2):
            append(branch)
        kill_expiry(store, at)
        check_fast_forward(store, LAST + 2)


def test_a_branch_with_snapshots_before_a_gap_replaces_a_table() -> None:
    """The table's only snapshot is before the branch's first snapshots, which have expired."""
    for at in changes():
        store = table(1)
        branch = branch_of(store, 1)
        for _ in range(LAST - 1):
            append(branch)
        kill_expiry(branch, at)
        check_fast_forward(store, LAST)


def check_fast_forward(store: TableStore, latest: int) -> None:
    wanted = live(another(open_branch(store, "b"), store.io))  # type: ignore[arg-type]
    fast_forward(another(store, store.io), "b")  # type: ignore[arg-type]
    fresh = another(store, store.io)  # type: ignore[arg-type]
    ids, first = history_ids(fresh), earliest_snapshot(fresh)
    assert ids[-1] == latest and live(fresh) == wanted, snapshot_ids(fresh)
    assert first is not None and first.id == ids[0]


def test_the_earliest_version_after_a_rollback_is_not_before_a_gap() -> None:
    for at in changes():
        store = table()
        kill_expiry(store, at)
        for target in snapshot_ids(store):
            copy = another(store, store.io.copy())  # type: ignore[attr-defined]
            roll_back(copy, snapshot_id=target)
            ids, first = history_ids(copy), earliest_snapshot(copy)
            assert ids[-1] == target and first is not None and first.id == ids[0]


def test_an_expiry_restores_the_snapshot_of_a_rollback_before_it_writes_hints() -> None:
    """Another engine, which takes no turns, rolls the table back to a snapshot that expires."""
    store = table()

    def remove(held: TableStore, snapshots: Sequence[Snapshot]) -> None:
        held.io.write_bytes(held.paths.latest_hint, b"3")
        for number in range(LAST, 3, -1):
            held.io.delete(held.paths.snapshot(number))
        removal.remove_snapshots(held, snapshots)

    def last_first(_: object, *calls: Callable[[], object]) -> list[object]:
        return [call() for call in calls[::-1]][::-1]

    with (
        mock.patch.object(snapshot_expiry, "remove_snapshots", remove),
        mock.patch.object(snapshot_expiry, "both", last_first),
    ):
        assert expire_snapshots(another(store, store.io), newest(1), 0) == 0  # type: ignore[arg-type]
    assert snapshot_ids(store) == [3]
    assert hinted_latest(store) == 3


def test_another_snapshot_at_a_number_is_not_marked() -> None:
    store = table()
    snapshots = list_snapshots(store)
    other = replace(snapshots[1], uuid="another", delta_manifest_list="manifest-list-another-0")
    store.io.write_bytes(store.paths.snapshot(2), encode_snapshot(other))
    with pytest.raises(CommitConflictError, match="snapshot 2 is another one now"):
        removal.remove_snapshots(store, snapshots[:-1])
    assert snapshot_ids(store) == list(range(1, LAST + 1))


def test_a_snapshot_that_took_a_number_during_a_pause_is_not_removed() -> None:
    """Another engine, which takes no turns, rolls the table back and commits, while the expiry is suspended."""
    store = table()
    snapshots = list_snapshots(store)
    last = Rounds.of(snapshots[:-1], 16).removed[0][-1]
    other, calls = replace(last, uuid="another", delta_manifest_list="manifest-list-another-0"), list[int]()

    def clocks() -> tuple[float, float]:
        calls.append(1)
        if len(calls) == 2:  # after the comparison, before the removal
            store.io.write_bytes(store.paths.snapshot(last.id), encode_snapshot(other))
        return (0.0, 0.0) if len(calls) == 1 else (0.0, 100.0)

    with mock.patch.object(removal, "clocks", clocks):
        removal.remove_snapshots(store, snapshots[:-1])
    assert find_snapshot(store, last.id) == other


class Cut(InterleavedIO):
    """A storage in which another engine, which takes no turns, rolls the table back to snapshot 3, and commits again,
    before call number `at`. The expiry is killed after this call. If the expiry has begun to remove, `removes` is set.
    """

    def __init__(self, store: TableStore) -> None:
        super().__init__(store.io, meanwhile=self.cut)  # type: ignore[arg-type]
        self.store, self.removes = store, False

    def cut(self) -> None:
        self.removes = 1 not in snapshot_ids(self.store)
        for number in range(LAST, 3, -1):
            self.inner.delete(self.store.paths.snapshot(number))
        again = replace(read_snapshot(self.store, 3), id=4, uuid="again", delta_manifest_list="manifest-list-again-0")
        self.inner.write_bytes(self.store.paths.snapshot(4), encode_snapshot(again))
        self.inner.write_bytes(self.store.paths.latest_hint, b"4")
        self.at, self.killed, self.meanwhile = self.at + 1, True, None


def test_a_mark_brings_back_no_snapshot_that_another_engine_has_rolled_back() -> None:
    def check() -> None:
        at = 0
        while True:
            at, store = at + 1, table()
            store.io.has_tags = True  # type: ignore[attr-defined]
            io = Cut(another(store, store.io))  # type: ignore[arg-type]
            io.at = at
            with suppress(KilledError, CommitConflictError):
                expire(another(store, io))
            if io.removes:
                return
            assert max(snapshot_ids(store)) == 4 and read_snapshot(store, 4).uuid == "again", at

    check()
    with mock.patch.object(MemoryIO, "replace_tagged", replaced_without_condition), pytest.raises(AssertionError):
        check()


def replaced_without_condition(io: MemoryIO, path: str, data: bytes, tag: str | None) -> bool:
    io.replace_file(path, data)
    return True


@pytest.mark.parametrize("second", ["append", "fast forward"])
def test_pairs_that_meet(second: str) -> None:
    """The expiry of `test_interleavings.py`, in rounds, with another operation before each of its calls."""
    marked: list[int] = []

    def mark(store: TableStore, snapshots: Sequence[Snapshot], found: Sequence[Snapshot | None]) -> None:
        marked.extend(s.id for s in snapshots)
        _mark(store, snapshots, found)

    _mark = removal._mark
    with repeatable(), mock.patch.object(removal, "_LENGTH", 1), mock.patch.object(removal, "_mark", mark):
        assert list(tried("expire", second)) and marked
