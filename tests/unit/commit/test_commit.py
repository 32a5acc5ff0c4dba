from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, product
from pathlib import Path

import pytest

from paimon_core.commit import commit as commit_module
from paimon_core.commit.changes import Overwrite
from paimon_core.commit.commit import abort, commit
from paimon_core.commit.publish import AtomicPublisher, PublishOutcome
from paimon_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    InvalidDataError,
    InvalidOptionError,
    StorageRefusedError,
    UnsafeStorageError,
    UnsupportedFeatureError,
)
from paimon_core.expressions.predicate import Compare
from paimon_core.io.file_io import storage_errors
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import CommitKind, Snapshot, encode_snapshot
from paimon_core.store import snapshots as snapshots_module
from paimon_core.store.cache import MetadataCache
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import create_schema, latest_schema
from paimon_core.store.snapshots import (
    find_snapshot,
    latest_for_read,
    latest_snapshot,
    list_snapshots,
    read_snapshot,
)
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.golden import golden_table
from tests.support.interleaving import InterleavedIO, MemoryIO
from tests.support.tables import data_file, info, message, new_store

FAST = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "2 ms"}


def live(store: TableStore) -> set[str]:
    return {e.file.file_name for e in live_files(store, latest_snapshot(store)).values()}


def names(*files: DataFileMeta) -> set[str]:
    return {f.file_name for f in files}


def latest(store: TableStore) -> Snapshot:
    found = latest_snapshot(store)
    assert found is not None
    return found


def manifests_on_disk(store: TableStore) -> set[str]:
    return {p.name for p in Path(store.paths.manifest_dir).glob("*")}


def test_a_table_that_is_dropped_within_a_commit_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store(tmp_path)
    Table(store).commit([message(store, data_file(store, 1, 5))], info())
    store, original = replace(store, cache=MetadataCache()), LocalFileIO.write_bytes

    def dropped(self: LocalFileIO, path: str, data: bytes) -> None:
        if "/manifest/" in path and Path(store.root).exists():
            shutil.rmtree(store.root)
        original(self, path, data)

    monkeypatch.setattr(LocalFileIO, "write_bytes", dropped)
    with pytest.raises(CommitConflictError, match="was dropped while rows were written"):
        Table(store).commit([message(store, data_file(store, 6, 9))], info())


def test_the_first_snapshot(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    a = data_file(store, 1, 5, rows=5)
    made = Table(store).commit([message(store, a)], info("me", identifier=7))
    assert made == latest(store)
    assert (made.id, made.schema_id, made.commit_kind, made.operation) == (1, 0, CommitKind.APPEND, "WRITE")
    assert (made.commit_user, made.commit_identifier) == ("me", 7)
    assert (made.total_record_count, made.delta_record_count, made.next_row_id, made.version) == (5, 5, 0, 3)
    assert (made.properties, made.watermark, made.statistics, made.index_manifest) == (None, None, None, None)
    assert made.base_manifest_list_size == Path(store.paths.manifest(made.base_manifest_list)).stat().st_size
    assert Path(store.paths.latest_hint).read_text() == "1" == Path(store.paths.earliest_hint).read_text()
    assert live(store) == names(a)


def test_appends_add_up_and_carry_over(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    files = [data_file(store, k, k, rows=k + 1) for k in range(3)]
    for n, file in enumerate(files):
        Table(store).commit([message(store, file)], info(watermark=100 - n))
    assert [s.total_record_count for s in list_snapshots(store)] == [1, 3, 6]
    assert [s.watermark for s in list_snapshots(store)] == [100, 100, 100]
    assert live(store) == names(*files)


def test_an_empty_append_makes_no_snapshot(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert Table(store).commit([], info()) is None
    assert Table(store).commit([message(store)], info()) is None
    assert latest_snapshot(store) is None
    asked = Table(store.with_options({"snapshot.ignore-empty-commit": "false"}))
    made = asked.commit([], info())
    assert made is not None and (made.commit_kind, made.delta_record_count) == (CommitKind.APPEND, 0)


def test_written_and_compacted_files_are_two_snapshots(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    a, b = data_file(store, 1, 2, rows=2), data_file(store, 1, 2, level=5, rows=2)
    made = Table(store).commit([message(store, a, compact_before=(a,), compact_after=(b,))], info())
    assert [s.commit_kind for s in list_snapshots(store)] == ["APPEND", "COMPACT"]
    assert made is not None and (made.delta_record_count, made.total_record_count) == (0, 2)
    assert live(store) == names(b)


def test_a_compaction_that_conflicts_does_not_take_the_rows_with_it(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    new, removed, output = data_file(store, 1, 2), data_file(store, 1, 2), data_file(store, 1, 2, level=5)
    written = Path(store.bucket_dir(message(store).partition, 0)) / output.file_name
    written.parent.mkdir(parents=True)
    written.write_bytes(b"rows")
    made = Table(store).commit([message(store, new, compact_before=(removed,), compact_after=(output,))], info())
    assert made is not None and made.commit_kind is CommitKind.APPEND
    assert live(store) == names(new)
    assert not written.exists()


def test_overwrites_replace_what_they_say(tmp_path: Path) -> None:
    store = new_store(tmp_path, partition="p")
    one, two, three = (data_file(store, p, p) for p in (1, 2, 3))
    table = Table(store)
    table.commit([message(store, one, p=1), message(store, two, p=2), message(store, three, p=3)], info())
    new = data_file(store, 9, 9)
    made = table.commit([message(store, new, p=2)], info(), Overwrite(dynamic=True))
    assert made is not None and made.commit_kind is CommitKind.OVERWRITE
    assert live(store) == names(one, new, three)
    table.commit([], info(), Overwrite(predicate=Compare("p", ">=", 2)))
    assert live(store) == names(one)
    with pytest.raises(InvalidDataError, match="other partitions"):
        table.commit([message(store, new, p=2)], info(), Overwrite(predicate=Compare("p", "=", 1)))
    assert table.commit([], info(), Overwrite(dynamic=True)) is None
    made = table.truncate(info())
    assert made is not None and (made.total_record_count, live(store)) == (0, set())


def test_a_deleted_file_cannot_be_compacted(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    a, b = data_file(store, 1, 1), data_file(store, 2, 2)
    table = Table(store)
    table.commit([message(store, a)], info())
    table.truncate(info("eve", identifier=42))
    before = manifests_on_disk(store)
    with pytest.raises(CommitConflictError) as caught:
        table.commit([message(store, compact_before=(a,), compact_after=(b,))], info())
    for part in ("db.t", a.file_name, "snapshot 2", "OVERWRITE", "eve", "42", "run the statement again"):
        assert part in str(caught.value)
    assert live(store) == set() and manifests_on_disk(store) == before


def test_a_file_is_added_once(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    a = data_file(store, 1, 1)
    Table(store).commit([message(store, a)], info())
    with pytest.raises(CommitConflictError, match="already exists"):
        Table(store).commit([message(store, a)], info())


def test_compactions_of_overlapping_keys_conflict(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    a, b = data_file(store, 1, 5), data_file(store, 4, 9)
    table = Table(store)
    table.commit([message(store, a, b)], info())
    upper = data_file(store, 1, 5, level=5)
    table.commit([message(store, compact_before=(a,), compact_after=(upper,))], info())
    with pytest.raises(CommitConflictError, match="share keys on level 5"):
        table.commit([message(store, compact_before=(b,), compact_after=(data_file(store, 4, 9, level=5),))], info())
    table.commit([message(store, compact_before=(b,), compact_after=(data_file(store, 4, 9, level=4),))], info())
    assert latest(store).id == 3


def test_another_number_of_buckets_needs_an_overwrite(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="2")
    Table(store).commit([message(store, data_file(store, 1, 1))], info())
    with pytest.raises(CommitConflictError, match="new bucket num 4, but the previous bucket num is 2"):
        Table(store).commit([message(store, data_file(store, 2, 2), of=4)], info())
    new = data_file(store, 2, 2)
    Table(store).commit([message(store, new, of=4)], info(), Overwrite())
    assert live(store) == names(new)


def test_a_partition_keeps_one_number_of_buckets_where_files_are_replaced(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="2")
    old, late = data_file(store, 1, 1), data_file(store, 2, 2)
    Table(store).commit([message(store, old)], info())
    rescaled = [message(store, deleted_files=(old,)), message(store, data_file(store, 1, 1), of=4)]
    Table(store).commit([message(store, late)], info())
    with pytest.raises(CommitConflictError, match="rescale"):
        Table(store).commit(rescaled, info())
    Table(store).commit([*rescaled, message(store, deleted_files=(late,))], info())
    assert latest(store).commit_kind is CommitKind.OVERWRITE


def test_a_dropped_table_is_not_written(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.io.delete_dir(store.root)
    with pytest.raises(CommitConflictError, match="was dropped"):
        Table(store).commit([message(store, data_file(store, 1, 1))], info())
    create_schema(store.io, store.root, replace(store.schema, time_millis=1))
    with pytest.raises(CommitConflictError, match="created again"):
        Table(store).commit([message(store, data_file(store, 1, 1))], info())


@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_is_dropped_just_before_the_snapshot_appears_is_not_written(again: bool) -> None:
    store = new_store(Path("/w"), io := MemoryIO())
    Table(store).commit([message(store, data_file(store, 1, 1))], info())

    def drop() -> None:
        io.delete_dir(store.root)
        if again:
            create_schema(io, store.root, replace(store.schema, time_millis=1))

    class Dropped(AtomicPublisher):
        def publish(self, path: str, data: bytes) -> PublishOutcome:
            drop()
            return super().publish(path, data)

    with pytest.raises(CommitConflictError, match="was dropped while"):
        commit(store, [message(store, data_file(store, 2, 2))], info(), Dropped(io))
    assert list_snapshots(store) == []


def in_reverse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls that are made side by side come in the reverse order, one after the other."""

    def together(io: object, calls: Iterable[Callable[[], object]]) -> list[object]:
        return [call() for call in [*calls][::-1]][::-1]

    for module in (commit_module, snapshots_module):
        monkeypatch.setattr(module, "both", lambda io, *calls: together(io, calls))
    monkeypatch.setattr(snapshots_module, "together", together)


@pytest.mark.parametrize("is_known", [False, True], ids=["unknown", "known"])
@pytest.mark.parametrize("is_reversed", [False, True], ids=["in order", "reversed"])
@pytest.mark.parametrize(("before", "commits"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 3)])
def test_a_commit_does_not_land_in_a_new_table_of_the_same_name(
    before: int, commits: int, is_reversed: bool, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each call of a commit, drop the table, and create another with any number of snapshots.

    Calls that are made side by side may come in either order.
    """
    if is_reversed:
        in_reverse(monkeypatch)
    ends = set()
    for at in count(1):
        store = new_store(Path("/w"), inner := MemoryIO(has_tags=is_known))
        for number in range(before):
            Table(store).commit([message(store, data_file(store, number, number))], info())
        seen = list[str]()
        io = TwoAtOnce(inner, at, lambda s=store, seen=seen: replaced(s, commits, seen))
        mine = replace(store, io=io, cache=MetadataCache()).with_options(FAST)
        mine.cache.latest_numbers.put(store.paths.version_root, before or 1)
        if is_known:  # as a statement that has loaded the table and planned a write
            latest_schema(inner, store.root, mine.cache)
            latest_for_read(replace(mine, io=inner))
        try:
            Table(mine).commit([message(store, data_file(store, 9, 9))], info("mine"))
            ends.add("committed")
            assert at > len(io.calls) or "mine" in seen  # the commit came before the drop
        except CommitConflictError as error:
            assert "dropped" in str(error)
            ends.add("refused")
        except CommitUnknownError:
            assert "mine" in seen
        if at > len(io.calls):
            break
        assert [s.commit_user for s in list_snapshots(store)] == ["other"] * commits
    assert ends == {"committed", "refused"} and at > 10


@pytest.mark.parametrize("hint", ["2", "5"])
@pytest.mark.parametrize("is_reversed", [False, True], ids=["in order", "reversed"])
def test_a_commit_on_a_version_that_expires_during_the_look_for_it_is_not_lost(
    is_reversed: bool, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each call of a commit, others commit and expire versions: the number after the known version is free."""
    if is_reversed:
        in_reverse(monkeypatch)

    def overtake() -> None:
        for number in (3, 4, 5):
            Table(store).commit([message(store, data_file(store, number, number))], info("other"))
        for number in (1, 2, 3, 4):
            inner.delete(store.paths.snapshot(number))
        inner.write_bytes(store.paths.latest_hint, hint.encode())

    for at in count(1):
        store = new_store(Path("/w"), inner := MemoryIO(has_tags=True))
        for number in (1, 2):
            Table(store).commit([message(store, data_file(store, number, number))], info())
        io = TwoAtOnce(inner, at, overtake)
        mine = replace(store, io=io, cache=MetadataCache()).with_options(FAST)
        latest_for_read(replace(mine, io=inner))
        ours = data_file(store, 9, 9)
        Table(mine).commit([message(store, ours)], info("mine"))
        assert names(ours) <= live(replace(store, cache=MetadataCache()))
        if at > len(io.calls):
            break
    assert at > 10


class TwoAtOnce(InterleavedIO):
    @property
    def requests_at_once(self) -> int:
        return 2


def replaced(store: TableStore, commits: int, seen: list[str]) -> None:
    """Drop a table, after the authors of its snapshots were `seen`. Create another by its name, with some snapshots."""
    seen += [s.commit_user for s in list_snapshots(store)]
    store.io.delete_dir(store.root)
    again = replace(store.schema, time_millis=1)
    create_schema(store.io, store.root, again)
    new = TableStore.of(store.io, store.root, again, identifier=store.identifier)
    for number in range(commits):
        Table(new).commit([message(new, data_file(new, number, number))], info("other"))


def test_a_commit_into_a_new_table_that_others_build_on_keeps_its_files() -> None:
    store = new_store(Path("/w"), io := MemoryIO())
    Table(store).commit([message(store, data_file(store, 1, 1))], info())

    class Replaced(AtomicPublisher):
        def publish(self, path: str, data: bytes) -> PublishOutcome:
            replaced(store, 1, [])
            outcome = super().publish(path, data)
            shown = find_snapshot(store, 2)
            assert shown is not None
            io.create_exclusive(store.paths.snapshot(3), encode_snapshot(replace(shown, id=3, commit_user="other")))
            return outcome

    with pytest.raises(CommitUnknownError, match="dropped"):
        commit(store.with_options(FAST), [message(store, data_file(store, 9, 9))], info(), Replaced(io))
    assert [s.id for s in list_snapshots(store)] == [1, 2, 3]


def test_the_snapshot_names_the_schema_in_force(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    create_schema(store.io, store.root, replace(store.schema, id=1))
    Table(store).commit([message(store, data_file(store, 1, 1))], info())
    assert latest(store).schema_id == 1


def test_threads_lose_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options({**FAST, "commit.max-retries": "1000", "manifest.merge-min-count": "8"})
    files = [[data_file(store, n, n) for _ in range(10)] for n in range(8)]

    def write(mine: list[DataFileMeta]) -> list[int]:
        made = [Table(store).commit([message(store, f)], info()) for f in mine]
        return [s.id for s in made if s is not None]

    with ThreadPoolExecutor(8) as pool:
        ids = [n for made in pool.map(write, files) for n in made]
    assert sorted(ids) == list(range(1, 81))
    assert live(store) == {f.file_name for mine in files for f in mine}
    assert latest(store).total_record_count == 80
    referenced = {m for s in list_snapshots(store) for m in (s.base_manifest_list, s.delta_manifest_list)}
    assert {n for n in manifests_on_disk(store) if n.startswith("manifest-list-")} == referenced


class Unqueued(LocalFileIO):
    """A disk whose writers do not queue."""

    def writer_slot(self, path: str) -> AbstractContextManager[bool]:
        return nullcontext(False)


@dataclass
class Racing:
    """A publisher that others are ahead of, the first time."""

    store: TableStore
    others: list[Callable[[], object]]

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        while self.others:
            self.others.pop(0)()
        return AtomicPublisher(self.store.io).publish(path, data)


OPERATIONS = ("insert", "overwrite", "compact", "update")


@pytest.mark.parametrize(("ahead", "behind"), list(product(OPERATIONS, repeat=2)))
def test_pairs_of_operations(tmp_path: Path, ahead: str, behind: str) -> None:
    """What is behind lost its race to two commits, of which the first matters."""
    store = replace(new_store(tmp_path).with_options(FAST), io=Unqueued())
    a, b, new, newer, unrelated = (data_file(store, n, n) for n in range(5))
    Table(store).commit([message(store, a, b)], info())
    expected = names(a, b)

    def prepared(operation: str, file: DataFileMeta) -> tuple[list[CommitMessage], Overwrite | None]:
        match operation:
            case "compact":
                return [message(store, compact_before=(a, b), compact_after=(file,))], None
            case "update":
                return [message(store, file, deleted_files=(a,))], None
        return [message(store, file)], Overwrite() if operation == "overwrite" else None

    def after(operation: str, file: DataFileMeta) -> set[str]:
        removed = {"insert": set(), "overwrite": expected, "compact": names(a, b), "update": names(a)}[operation]
        return expected - removed | names(file)

    messages, overwrite = prepared(ahead, new)
    first = partial(Table(store).commit, messages, info(), overwrite)
    messages, overwrite = prepared(behind, newer)
    racing = Racing(store, [first, partial(Table(store).commit, [message(store, unrelated)], info())])
    expected = after(ahead, new) | names(unrelated)
    if behind in ("compact", "update") and ahead != "insert":
        with pytest.raises(CommitConflictError, match=a.file_name):
            commit(store, messages, info(), racing, overwrite)
    else:
        commit(store, messages, info(), racing, overwrite)
        expected = after(behind, newer)
    assert live(store) == expected


@dataclass
class Scripted:
    """A publisher whose calls go as `script` says, then as usual."""

    store: TableStore
    script: list[str]
    calls: list[str] = field(default_factory=list)

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        self.calls.append(path)
        step = self.script.pop(0) if self.script else "publish"
        if step in ("unknown after", "refused after", "publish", "usurped"):
            assert AtomicPublisher(self.store.io).publish(path, data) is PublishOutcome.PUBLISHED
        if step == "usurped":  # a writer that renames over what is there
            before = read_snapshot(self.store, latest(self.store).id - 1)
            theirs = replace(before, id=before.id + 1, uuid="theirs", commit_user="other")
            Path(path).write_bytes(encode_snapshot(theirs))
        if step.startswith("unknown"):
            raise CommitUnknownError("the connection was lost")
        if step == "refused after":
            raise StorageRefusedError("permission denied")
        if step == "unsafe":
            raise UnsafeStorageError("no atomic create")
        return PublishOutcome.LOST_RACE if step == "lost" else PublishOutcome.PUBLISHED


def scripted(tmp_path: Path, *script: str) -> tuple[TableStore, Scripted]:
    store = new_store(tmp_path).with_options({**FAST, "commit.max-retries": "2"})
    return store, Scripted(store, list(script))


@pytest.mark.parametrize(("timeout", "calls"), [("0 ms", 1), ("1 h", 3)])
def test_a_commit_that_takes_too_long_is_not_tried_again(tmp_path: Path, timeout: str, calls: int) -> None:
    store, publisher = scripted(tmp_path, "lost", "lost", "lost")
    hurried = store.with_options({"commit.timeout": timeout})
    with pytest.raises(CommitConflictError, match=f"{calls} commits in a row lost the race"):
        commit(hurried, [message(store, data_file(store, 1, 1))], info(), publisher)
    assert len(publisher.calls) == calls


def test_a_commit_that_loses_many_races_goes_on(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options(FAST)
    publisher = Scripted(store, ["lost"] * 50)
    made = commit(store, [message(store, data_file(store, 1, 1))], info(), publisher)
    assert made == latest(store) and len(publisher.calls) == 51


@pytest.mark.parametrize(
    ("script", "calls"),
    [
        (["unknown after"], 1),
        (["unknown before"], 2),
        (["unknown before", "unknown after"], 2),
        (["lost", "lost"], 3),
        (["lost", "unknown after"], 2),
    ],
)
def test_unknown_outcomes_are_resolved_without_duplicates(tmp_path: Path, script: list[str], calls: int) -> None:
    store, publisher = scripted(tmp_path, *script)
    a = data_file(store, 1, 1)
    made = commit(store, [message(store, a)], info(), publisher)
    assert made == latest(store) and made is not None and made.id == 1
    assert live(store) == names(a) and len(publisher.calls) == calls


def test_an_outcome_that_stays_unknown_keeps_all_files(tmp_path: Path) -> None:
    store, publisher = scripted(tmp_path, *["unknown before"] * 3)
    with pytest.raises(CommitUnknownError, match=r"snapshot 1 .*tester"):
        commit(store, [message(store, data_file(store, 1, 1))], info(), publisher)
    assert latest_snapshot(store) is None
    assert len(manifests_on_disk(store)) == 9


def test_giving_up_leaves_nothing_behind(tmp_path: Path) -> None:
    store, publisher = scripted(tmp_path)
    commit(store, [message(store, data_file(store, 1, 1))], info("eve", identifier=42), publisher)
    before, publisher.script = manifests_on_disk(store), ["lost", "lost", "lost"]
    with pytest.raises(CommitConflictError, match="3 commits in a row.* snapshot 1, a APPEND by user eve, commit 42"):
        commit(store, [message(store, data_file(store, 1, 1))], info(), publisher)
    assert manifests_on_disk(store) == before


def test_storage_without_atomic_create_is_refused_cleanly(tmp_path: Path) -> None:
    store, publisher = scripted(tmp_path, "unsafe")
    with pytest.raises(UnsafeStorageError):
        commit(store, [message(store, data_file(store, 1, 1))], info(), publisher)
    assert manifests_on_disk(store) == set()


def test_a_snapshot_that_was_written_over_counts_as_a_lost_race(tmp_path: Path) -> None:
    store, publisher = scripted(tmp_path)
    first, second = data_file(store, 1, 1), data_file(store, 2, 2)
    commit(store, [message(store, first)], info(), publisher)
    publisher.script = ["usurped"]
    made = commit(store, [message(store, second)], info(), publisher)
    assert made is not None and made.id == 3 and made.commit_user == "tester"
    assert live(store) == names(first, second)


def test_a_late_landing_is_ours_once(tmp_path: Path) -> None:
    """The first call fails and takes effect only after it was looked for: the second call then loses to it."""
    store, _ = scripted(tmp_path)

    @dataclass
    class Late:
        pending: list[tuple[str, bytes]] = field(default_factory=list)

        def publish(self, path: str, data: bytes) -> PublishOutcome:
            if not self.pending:
                self.pending.append((path, data))
                raise CommitUnknownError("timeout")
            LocalFileIO().create_exclusive(*self.pending[0])
            return AtomicPublisher(store.io).publish(path, data)

    a = data_file(store, 1, 1)
    made = commit(store, [message(store, a)], info(), Late())
    assert made == latest(store) and [s.id for s in list_snapshots(store)] == [1]
    assert live(store) == names(a)
    assert len(manifests_on_disk(store)) == 6  # the other's stay: of several tries it is not certain which ones count


def test_tables_of_other_features_are_not_written() -> None:
    store = golden_table("cluster_pk_override").store
    with pytest.raises(UnsupportedFeatureError, match="golden.cluster_pk_override cannot be written"):
        commit(store, [message(store)], info(), AtomicPublisher(store.io))


def test_options_that_cannot_be_written(tmp_path: Path) -> None:
    for option, value in (("file.format", "lance"), ("manifest.format", "csv")):
        store = new_store(tmp_path / option / value, primary_key="k", bucket="1").with_options({option: value})
        with pytest.raises((UnsupportedFeatureError, InvalidOptionError), match=option):
            Table(store).commit([message(store, data_file(store, 1, 1))], info())


def test_abort_deletes_what_was_written(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    new, old, out = (data_file(store, 1, 1) for _ in range(3))
    m = message(store, new, compact_before=(old,), compact_after=(out, replace(old, level=5)))
    folder = Path(store.bucket_dir(m.partition, 0))
    folder.mkdir(parents=True)
    for f in (new, old, out):
        (folder / f.file_name).write_bytes(b"x")
    abort(store, [m])
    assert {p.name for p in folder.iterdir()} == names(old)


def test_an_operation_that_other_engines_do_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="COMPACT"):
        replace(info(), operation="COMPACT")


class Refusing(LocalFileIO):
    """A disk whose folder of snapshots cannot be written: no permission, read-only, full."""

    def __init__(self, code: int):
        object.__setattr__(self, "code", code)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        with storage_errors("create", path):
            raise OSError(self.code, os.strerror(self.code))


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT])
def test_a_folder_that_cannot_be_written_fails_the_commit_at_once(tmp_path: Path, code: int) -> None:
    store = new_store(tmp_path)
    refusing = replace(store, io=Refusing(code))
    with pytest.raises(StorageRefusedError, match=os.strerror(code)):
        Table(refusing).commit([message(store, data_file(store, 1, 1))], info())
    assert manifests_on_disk(store) == set() and latest_snapshot(store) is None
    Table(store).commit([message(store, data_file(store, 1, 1))], info())


def test_a_file_named_like_the_snapshot_folder_fails_the_commit_at_once(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    Path(store.paths.snapshot_dir).write_bytes(b"")
    with pytest.raises(StorageRefusedError, match="remove the file in the place of a folder"):
        Table(store).commit([message(store, data_file(store, 1, 1))], info())
    assert manifests_on_disk(store) == set()


def test_a_refusal_behind_a_commit_that_is_visible_is_no_failure(tmp_path: Path) -> None:
    """The client asked twice: the first time worked, and its answer was lost."""
    store, publisher = scripted(tmp_path, "refused after")
    made = commit(store, [message(store, data_file(store, 1, 1))], info(), publisher)
    assert made == latest(store) and len(publisher.calls) == 1
