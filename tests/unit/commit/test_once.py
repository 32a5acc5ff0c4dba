"""Commits that are made once: whatever comes between their steps, and however often they are tried."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import commit
from paimon_core.commit.draft import CommitInfo, Once
from paimon_core.commit.once import check_not_made
from paimon_core.commit.publish import AtomicPublisher
from paimon_core.errors import (
    AlreadyCommittedError,
    CommitConflictError,
    CommitUnknownError,
    CorruptFileError,
    InvalidNameError,
    InvalidOptionError,
    UnfamiliarFormError,
)
from paimon_core.insert import commit_new_rows
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.after_commit import maintain
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.spec.snapshot import Operation
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import latest_snapshot, list_snapshots, snapshot_ids
from paimon_core.store.streams import StreamCommit, last_stream_commit, stream_files, stream_users
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.interleaving import InterleavedIO, KilledError, MemoryIO
from tests.support.tables import data_file, info, message, new_store

EPOCH, OLD = 3, 2**61
ALL_EXPIRE = Retention(least=1, most=1, older_than=2**62, limit=1000)
FAST = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "2 ms", "snapshot.num-retained.min": "1"}


def epoch(number: int = EPOCH, user: str = "query", once: Once = Once.FOLLOWING) -> CommitInfo:
    return CommitInfo(user=user, identifier=number, operation=Operation.WRITE, once=once)


def run(store: TableStore, about: CommitInfo, name: str = "a") -> None:
    """Commit a file that is named."""
    file = replace(data_file(store, 1, 1), file_name=f"data-{name}.parquet")
    commit(store, [message(store, file)], about, AtomicPublisher(store.io))


def files(store: TableStore) -> list[str]:
    """The files of the table, by what their names have in them."""
    found = live_files(store, latest_snapshot(store)).values()
    return sorted(e.file.file_name.removeprefix("data-").removesuffix(".parquet") for e in found)


def on(store: TableStore, io: FileIO) -> TableStore:
    return replace(store, io=io)


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    """A table whose stream has committed the epochs before `EPOCH`."""
    made = new_store(tmp_path).with_options(FAST)
    for number in range(EPOCH):
        run(made, epoch(number), f"epoch{number}")
    return made


BEFORE = [f"epoch{n}" for n in range(EPOCH)]


def test_an_epoch_is_committed_once(store: TableStore) -> None:
    run(store, epoch(), "first")
    with pytest.raises(AlreadyCommittedError, match=r"Commit 3 of query to table db\.t was made before.* commit 3\."):
        run(store, epoch(), "again")
    with pytest.raises(AlreadyCommittedError):
        run(store, epoch(1), "long ago")
    run(store, epoch(EPOCH + 1), "next")
    assert files(store) == [*BEFORE, "first", "next"]
    assert [(s.commit_user, s.commit_identifier) for s in list_snapshots(store)] == [("query", n) for n in range(5)]


def test_streams_do_not_know_each_other(store: TableStore) -> None:
    run(store, epoch(0, "another"), "another")
    assert files(store) == ["another", *BEFORE]
    assert stream_users(store) == ["another", "query"]


def test_one_record_remains_of_a_stream(store: TableStore) -> None:
    run(store, epoch())
    assert [f.name for f in stream_files(store)] == [f"commit-{EPOCH}"]
    assert last_stream_commit(store, "query") == StreamCommit(EPOCH, made=True, searched=EPOCH + 1)


def test_other_commits_leave_no_record(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    Table(store).commit([message(store, data_file(store, 1, 1))], info("me", identifier=7))
    Table(store).commit([message(store, data_file(store, 2, 2))], info("me", identifier=7))
    assert snapshot_ids(store) == [1, 2] and stream_users(store) == []


@pytest.mark.parametrize("user", ["a/b", "..", "team %2F", "*"])
def test_a_user_may_be_any_text(store: TableStore, user: str) -> None:
    run(store, epoch(0, user), "x")
    with pytest.raises(AlreadyCommittedError):
        run(store, epoch(0, user), "y")
    assert user in stream_users(store)


@pytest.mark.parametrize("user", ["", " ", "a\nb", "x" * 201, "/" * 70])
def test_a_user_that_is_no_name_is_refused(store: TableStore, user: str) -> None:
    with pytest.raises(InvalidNameError, match=r"commit user .* of a stream is not valid"):
        run(store, epoch(0, user))


def others_commit(store: TableStore, *, expire: Callable[[TableStore], object] | None = None) -> None:
    for n in range(2):
        commit(
            store, [message(store, data_file(store, 8, 8, file_name=f"data-other{n}.parquet"))], info("other"),
            AtomicPublisher(store.io),
        )  # fmt: skip
    if expire is not None:
        expire(store)


def our_expiry(store: TableStore) -> None:
    expire_snapshots(store, ALL_EXPIRE, OLD)


def foreign_expiry(store: TableStore) -> None:
    """As another engine's: it knows no records."""
    for number in snapshot_ids(store)[:-1]:
        store.io.delete(store.paths.snapshot(number))
    store.io.write_bytes(store.paths.earliest_hint, str(snapshot_ids(store)[0]).encode())


@pytest.mark.parametrize("expiry", [our_expiry, foreign_expiry])
def test_an_epoch_is_remembered_beyond_its_snapshot(store: TableStore, expiry: Callable[[TableStore], None]) -> None:
    run(store, epoch(), "first")
    others_commit(store, expire=expiry)
    assert len(snapshot_ids(store)) == 1
    with pytest.raises(AlreadyCommittedError, match="its stream has gone on to commit 3"):
        run(store, epoch(), "again")
    with pytest.raises(AlreadyCommittedError):
        run(store, epoch(0), "long ago")
    run(store, epoch(EPOCH + 1), "next")
    assert "first" in files(store) and "again" not in files(store) and "next" in files(store)


def world(store: TableStore) -> MemoryIO:
    """The table in memory, where nobody queues."""
    folder, memory = Path(store.root), MemoryIO()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        memory.files[str(file)] = file.read_bytes(), 0
    return memory


def test_two_tries_at_once_make_one_commit(store: TableStore) -> None:
    """Before each call of one try, the other one happens whole."""
    start, at = world(store), 0
    while True:
        at += 1
        memory = start.copy()
        other = on(store, memory)
        first = InterleavedIO(memory, at, lambda other=other: try_it(other, "second"))  # type: ignore[misc]
        try_it(on(store, first), "first")
        made = [f for f in files(other) if f in ("first", "second")]
        assert len(made) == 1, (at, made)
        if len(first.calls) < at:
            break
    assert at > 20


def try_it(store: TableStore, name: str) -> bool:
    """Whether an epoch was committed by this try."""
    try:
        run(store, epoch(), name)
    except AlreadyCommittedError:
        return False
    return True


@pytest.mark.parametrize("expiry", [None, our_expiry])
def test_a_try_that_was_killed_is_made_up_for_once(
    store: TableStore, expiry: Callable[[TableStore], None] | None
) -> None:
    """Killed before each call; then others commit, and its snapshot expires; then the epoch is tried again."""
    start, at, outcomes = world(store), 0, set()
    while True:
        at += 1
        memory = start.copy()
        killed = InterleavedIO(memory, at, killed=True)
        try:
            run(on(store, killed), epoch(), "first")
        except KilledError:
            pass
        else:
            break
        after = on(store, memory)
        others_commit(after, expire=expiry)
        outcomes.add(try_it(after, "second"))
        assert len([f for f in files(after) if f in ("first", "second")]) == 1, at
        run(after, epoch(EPOCH + 1), "next")
        assert "next" in files(after)
    assert at > 20 and outcomes == {True, False}


def test_after_another_engine_expires_snapshots_it_is_once_or_refused(store: TableStore) -> None:
    start, at, refused = world(store), 0, []
    while True:
        at += 1
        memory = start.copy()
        killed = InterleavedIO(memory, at, killed=True)
        try:
            run(on(store, killed), epoch(), "first")
        except KilledError:
            pass
        else:
            break
        after = on(store, memory)
        others_commit(after, expire=foreign_expiry)
        has = "first" in files(after)
        try:
            assert try_it(after, "second") is not has
        except CommitConflictError as error:
            assert "unknown whether it was made before, since it was begun" in str(error)
            refused.append(at)
            said = after.with_options({"write.stream.unknown-epoch": "skip" if has else "commit"})
            assert try_it(said, "second") is not has
        assert len([f for f in files(after) if f in ("first", "second")]) == 1
        run(after, epoch(EPOCH + 1), "next")
    assert refused and refused == list(range(refused[0], refused[-1] + 1)), "between the two writes of the record"


def test_expiry_comes_between_any_two_calls(store: TableStore) -> None:
    """Before each call of a try, others commit and everything expires. It is made, or fails and may be tried again."""
    start, at = world(store), 0
    while True:
        at += 1
        memory = start.copy()
        other = on(store, memory)
        first = InterleavedIO(memory, at, lambda other=other: others_commit(other, expire=our_expiry))  # type: ignore[misc]
        try:
            run(on(store, first), epoch(), "first")
        except CommitConflictError:
            assert "first" not in files(other), at
        except CommitUnknownError:
            pass
        others_commit(other, expire=our_expiry)
        try_it(other, "second")
        assert len([f for f in files(other) if f in ("first", "second")]) == 1, at
        if len(first.calls) < at:
            break
    assert at > 20


def test_a_try_is_killed_within_expiry(store: TableStore) -> None:
    """Expiry is killed before each of its calls, after a try that was killed once its snapshot was there."""
    run(store, epoch(), "first")
    path = store.paths.stream_commit("query", EPOCH)
    Path(path).write_bytes(b'{"made": false, "searched": 3}')  # as before the publish
    others_commit(store)
    start, at = world(store), 0
    while True:
        at += 1
        memory = start.copy()
        try:
            our_expiry(on(store, InterleavedIO(memory, at, killed=True)))
        except KilledError:
            pass
        else:
            break
        after = on(store, memory)
        assert not try_it(after, "second"), at
        memory.delete_dir(store.paths.turn_dir)  # the killed one's turn is over
        our_expiry(after)
        assert not try_it(after, "second"), at
    assert at > 5


@pytest.mark.parametrize("mode", [Fault.BEFORE, Fault.AFTER, Fault.LATE, Fault.TORN, Fault.CRASH], ids=lambda f: f.name)
def test_every_fault_of_the_storage(tmp_path: Path, mode: Fault) -> None:
    """One call fails; the query stops or goes on, is started again, and has the epoch once."""
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        store = new_store(folder).with_options({**FAST, "commit.max-retries": "2"})
        run(store, epoch(0), "epoch0")
        faulty = FaultyIO(LocalFileIO(), number, mode)
        with contextlib.suppress(SimulatedCrash, OSError, CommitUnknownError, CommitConflictError, CorruptFileError):
            run(on(store, faulty), epoch(1), "first")
        faulty.settle()
        with_record = None
        try:
            run(store, epoch(1), "second")
        except AlreadyCommittedError:
            pass
        except CorruptFileError as error:  # half of a record was written
            with_record = error
            said = "skip" if "first" in files(store) else "commit"
            try_epoch_1(store.with_options({"write.stream.unknown-epoch": said}))
        assert len([f for f in files(store) if f in ("first", "second")]) == 1, (number, mode)
        assert with_record is None or mode is Fault.TORN
        if number > faulty.calls:
            break
    assert number > 20


def try_epoch_1(store: TableStore) -> None:
    with contextlib.suppress(AlreadyCommittedError):
        run(store, epoch(1), "second")


def test_an_epoch_without_predecessors_is_refused(tmp_path: Path) -> None:
    """The table was dropped and created again under a checkpoint."""
    store = new_store(tmp_path)
    with pytest.raises(CommitConflictError, match=r"neither snapshots of its stream nor a record.*new checkpoint"):
        run(store, epoch(5))
    assert latest_snapshot(store) is None and stream_users(store) == []
    run(store, epoch(5, once=Once.FREE), "batch")
    assert files(store) == ["batch"]


@pytest.mark.parametrize(("policy", "expected"), [("commit", ["a"]), ("skip", [])])
def test_the_user_says_what_nobody_knows(tmp_path: Path, policy: str, expected: list[str]) -> None:
    store = new_store(tmp_path)
    said = store.with_options({"write.stream.unknown-epoch": policy})
    if policy == "skip":
        with pytest.raises(AlreadyCommittedError, match="'skip' treats it as made"):
            run(said, epoch(5))
    else:
        run(said, epoch(5))
        with pytest.raises(AlreadyCommittedError):
            run(said, epoch(5))
        run(store, epoch(6), "b")
        expected = [*expected, "b"]
    assert files(store) == expected


def test_empty_epochs_are_remembered(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for number in range(3):
        assert commit(store, [], epoch(number), AtomicPublisher(store.io)) is None
    with pytest.raises(AlreadyCommittedError):
        commit(store, [], epoch(2), AtomicPublisher(store.io))
    run(store, epoch(3))
    assert snapshot_ids(store) == [1]


def test_an_epoch_that_replaces_the_table_does_so_once(store: TableStore) -> None:
    run(store, epoch(), "first")
    others_commit(store)
    with pytest.raises(AlreadyCommittedError):
        commit(store, [], epoch(), AtomicPublisher(store.io), Overwrite())
    assert "first" in files(store)
    commit(store, [], epoch(EPOCH + 1), AtomicPublisher(store.io), Overwrite())
    assert files(store) == []


def test_rolled_back_epochs_do_not_come_again_and_the_next_one_does(store: TableStore) -> None:
    run(store, epoch(), "first")
    roll_back(store, snapshot_id=1)
    with pytest.raises(AlreadyCommittedError):
        run(store, epoch(), "again")
    run(store, epoch(EPOCH + 1), "next")
    assert files(store) == ["epoch0", "next"]


def test_a_rollback_between_tries(store: TableStore) -> None:
    """Numbers are used again: what is there now is searched."""
    start, at = world(store), 0
    while True:
        at += 1
        memory = start.copy()
        other = on(store, memory)
        first = InterleavedIO(memory, at, lambda other=other: roll_back(other, snapshot_id=1))  # type: ignore[misc]
        with contextlib.suppress(CommitConflictError, CommitUnknownError):
            run(on(store, first), epoch(), "first")
        try_it(other, "second")
        assert len([f for f in files(other) if f in ("first", "second")]) <= 1, at
        if len(first.calls) < at:
            break


def emptied(memory: MemoryIO, store: TableStore) -> bool:
    """Empty the last record of the stream, as a process did on HDFS that was killed while it wrote the record over an
    earlier one. Return whether it is the record of the epoch.
    """
    record = last_stream_commit(on(store, memory), "query")
    assert record is not None
    memory.files[store.paths.stream_commit("query", record.identifier)] = b"", 0
    return record.identifier == EPOCH


@pytest.mark.parametrize("expiry", [None, our_expiry])
def test_an_empty_record_does_not_stop_a_stream(store: TableStore, expiry: Callable[[TableStore], None] | None) -> None:
    """Killed before every second call, and the record is empty; the next try is killed, too, at another call. The epoch
    is made once, and is never refused.
    """
    start, at, outcomes, seen = world(store), 0, set(), set()
    while True:
        at += 2
        killed = InterleavedIO(start.copy(), at, killed=True)
        try:
            run(on(store, killed), epoch(), "first")
        except KilledError:
            pass
        else:
            break
        memory = killed.inner
        after = on(store, memory)
        seen.add(emptied(memory, store))
        others_commit(after, expire=expiry)
        with contextlib.suppress(KilledError, AlreadyCommittedError):
            run(on(store, InterleavedIO(memory, 1 + at * 7 % 36, killed=True)), epoch(), "second")
        memory.delete_dir(store.paths.turn_dir)
        others_commit(after, expire=expiry)
        outcomes.add(try_it(after, "third"))
        made = [f for f in files(after) if f in ("first", "second", "third")]
        assert len(made) == 1, (at, made)
        run(after, epoch(EPOCH + 1), "next")
        assert "next" in files(after)
    assert at > 20 and outcomes == {True, False} and seen == {True, False}


def test_an_epoch_with_an_empty_record_is_refused_only_if_its_snapshots_have_expired_unnoticed(
    store: TableStore,
) -> None:
    start, at, refused = world(store), 0, []
    while True:
        at += 2
        killed = InterleavedIO(start.copy(), at, killed=True)
        try:
            run(on(store, killed), epoch(), "first")
        except KilledError:
            pass
        else:
            break
        memory = killed.inner
        is_begun, after = emptied(memory, store), on(store, memory)
        others_commit(after, expire=foreign_expiry)
        has = "first" in files(after)
        try:
            assert try_it(after, "second") is not has
        except CommitConflictError as error:
            assert is_begun and "it was begun, and snapshots have expired since" in str(error)
            refused.append(at)
            said = after.with_options({"write.stream.unknown-epoch": "skip" if has else "commit"})
            assert try_it(said, "second") is not has
        assert len([f for f in files(after) if f in ("first", "second")]) == 1
        run(after, epoch(EPOCH + 1), "next")
    assert refused


def test_what_an_expiry_finds_is_written_to_an_empty_record(store: TableStore) -> None:
    path, memory = store.paths.stream_commit("query", EPOCH), world(store)
    memory.files[path] = b"", 0
    begun = on(store, memory)
    assert last_stream_commit(begun, "query") == StreamCommit(EPOCH, made=False, searched=0)
    others_commit(begun, expire=our_expiry)
    assert last_stream_commit(begun, "query") == StreamCommit(EPOCH, made=False, searched=EPOCH + 1)
    run(store, epoch(), "first")
    Path(path).write_bytes(b"")
    others_commit(store, expire=our_expiry)
    assert last_stream_commit(store, "query") == StreamCommit(EPOCH, made=True, searched=EPOCH + 1)


def test_a_damaged_record_is_named(store: TableStore) -> None:
    path = Path(store.paths.stream_commit("query", EPOCH - 1))
    path.write_bytes(b'{"made": 1}')
    with pytest.raises(UnfamiliarFormError, match=r"commit-2 has a form.* not a record of a stream.*unknown-epoch"):
        run(store, epoch())
    our_expiry(store)  # goes on
    run(store.with_options({"write.stream.unknown-epoch": "commit"}), epoch())
    assert "a" in files(store)


def test_streams_are_forgotten_as_consumers_are(store: TableStore) -> None:
    kept = store.with_options({"consumer.expiration-time": "1 d"})
    made = latest_snapshot(store)
    assert made is not None
    maintain(kept, made, AtomicPublisher(store.io))
    assert stream_users(store) == ["query"] and list(stream_files(store))
    for file in stream_files(store):
        os.utime(file.path, (0, 0))
    maintain(kept, made, AtomicPublisher(store.io))
    assert list(stream_files(store)) == []


def test_a_search_for_orphans_leaves_records(store: TableStore) -> None:
    remove_orphans(store, OLD)
    assert last_stream_commit(store, "query") is not None


def test_files_of_a_try_for_nothing_are_deleted(store: TableStore, caplog: pytest.LogCaptureFixture) -> None:
    """What the driver does with the messages of tasks."""
    table, nobody = Table(store), None
    run(store, epoch(), "first")
    written = message(store, replace(data_file(store, 1, 1), file_name="data-replayed.parquet"))
    path = Path(store.bucket_dir(written.partition, written.bucket)) / "data-replayed.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with caplog.at_level(logging.WARNING):
        assert commit_new_rows(table, [written], epoch(), nobody) == ()  # type: ignore[arg-type]
    assert not path.exists() and "was made before" in caplog.text


def test_who_commits_is_in_the_options_of_a_write(tmp_path: Path) -> None:
    table = Table(new_store(tmp_path))
    plain = table.commit_info(Operation.WRITE)
    assert plain.once is None and plain != table.commit_info(Operation.WRITE)
    given = {"commit.identifier": "7", "write.stream.commit-user": "orders"}
    about = table.with_options(given).commit_info(Operation.WRITE)
    assert (about.user, about.identifier, about.once) == ("orders", 7, Once.FREE)
    for wrong in ({"commit.identifier": "7"}, {**given, "commit.identifier": "-1"}):
        with pytest.raises(InvalidOptionError, match=r"commit\.identifier.*write\.stream\.commit-user"):
            table.with_options(wrong).commit_info()


def test_who_commits_an_epoch(tmp_path: Path) -> None:
    table = Table(new_store(tmp_path))
    about = table.stream_commit_info("f00", 4, Operation.WRITE)
    assert (about.user, about.identifier, about.once) == ("f00", 4, Once.FOLLOWING)
    prefixed = table.with_options({"commit.user-prefix": "team"})
    assert prefixed.stream_commit_info("f00", 4, Operation.WRITE).user == "team_f00"
    named = prefixed.with_options({"write.stream.commit-user": "orders"})
    assert named.stream_commit_info("f00", 4, Operation.WRITE).user == "orders"


def test_a_table_gives_its_writers_no_commit_user(tmp_path: Path) -> None:
    """All of them would share it."""
    options = {"write.stream.commit-user": "orders", "commit.identifier": "7"}
    table = Table(new_store(tmp_path, **options))
    assert table.stream_commit_info("f00", 4, Operation.WRITE).user == "f00"
    assert table.commit_info().once is None


def test_asking_changes_nothing(store: TableStore) -> None:
    before = {f.path: f.modified for f in stream_files(store)}
    check_not_made(store, epoch())
    check_not_made(store, info("me"))
    assert {f.path: f.modified for f in stream_files(store)} == before
