"""Dynamic buckets: whichever tasks write, a key is in one bucket, and the hash index says which."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, InvalidDataError
from paimon_core.spec.message import CommitMessage
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.table import Table
from paimon_core.write.buckets.dynamic import Assigners, AssignmentBase, PartitionBuckets, load_partition
from paimon_core.write.writer import open_writer
from tests.support.examples import examples
from tests.support.stored import compact, create_table, open_table, read

Row = tuple[int, str]
OPTIONS = {"target": "dynamic_bucket__target_row_num", "max": "dynamic_bucket__max_buckets"}
EMPTY = b"\0" * 12


def dynamic_table(root: Path, **options: str) -> Table:
    spelled = {OPTIONS.get(k, k): v for k, v in options.items()}
    return create_table(str(root), primary_key="k", bucket="-1", **spelled)


def write(table: Table, rows: list[Row], tasks: int, base: AssignmentBase | None = None) -> list[CommitMessage]:
    """As many writers as there are tasks, a key in one of them."""
    known = base or table.assignment_base(tasks)
    start, messages = table.max_sequence_number() + 1, []
    for task in range(tasks):
        share = [r for r in rows if r[0] % tasks == task]
        writer = open_writer(table.store, sequence_start=start, base=known)
        if share:
            k, v = zip(*share, strict=True)
            batch = pa.record_batch([pa.array(k, pa.int32()), pa.array(v)], names=["k", "v"])
            for offset in range(0, len(share), 20):  # a buffer of a byte spills each of them
                writer.write(batch.slice(offset, 20))
        messages += writer.finish()
    return messages


def commit(table: Table, messages: list[CommitMessage], **more: Overwrite) -> None:
    table.commit(messages, CommitInfo(user="tester"), **more)


def check_index(table: Table) -> dict[int, int]:
    """Keys per bucket, where the index agrees with the files: one index file per bucket, and each hash once."""
    entries = index_entries(table.store, table.latest_snapshot())
    assert max(Counter(e.bucket_and_type for e in entries).values(), default=1) == 1
    found = load_partition(table.store, table.latest_snapshot(), EMPTY)
    assert len(np.unique(found.hashes)) == len(found.hashes)
    by_bucket = Counter(found.buckets.tolist())
    live = {e.bucket for e in live_files(table.store, table.latest_snapshot()).values()}
    assert live <= set(by_bucket)
    names = {p.name for p in Path(f"{table.store.root}/index").iterdir()} if entries else set()
    assert {e.file.file_name for e in entries} <= names
    return dict(by_bucket)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.lists(st.integers(0, 200), max_size=60), st.integers(1, 4), st.booleans()), max_size=6),
    st.sampled_from([{}, {"target": "7"}, {"target": "3", "max": "4"}, {"dynamic_bucket__initial_buckets": "2"}]),
    st.sampled_from([{}, {"dynamic_bucket__assigner_parallelism": "3"}, {"write_buffer_size": "1 b"}]),
)
def test_any_history_against_a_model(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[list[int], int, bool]],
    options: dict[str, str],
    more: dict[str, str],
) -> None:
    table = dynamic_table(tmp_path_factory.mktemp("dynamic"), **options, **more)
    model: dict[int, str] = {}
    for number, (keys, tasks, compacts) in enumerate(history):
        rows = dict.fromkeys(keys, f"v{number}")
        commit(table, write(table, list(rows.items()), tasks))
        model |= rows
        if compacts:
            compact(table)
        assert read(table) == sorted(model.items())
        counts = check_index(table)
        assert sum(counts.values()) == len(model)
        if "max" in options:
            assert max(counts, default=0) < 4


def test_a_task_on_its_own_fills_bucket_after_bucket(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path, target="3")
    for keys, expected in ((range(5), {0: 3, 1: 2}), (range(2, 7), {0: 3, 1: 3, 2: 1}), (range(3), {0: 3, 1: 3, 2: 1})):
        commit(table, write(table, [(k, "v") for k in keys], 1))
        assert check_index(table) == expected


def test_tasks_beside_each_other_agree_and_go_on_where_there_is_room(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path, target="10", dynamic_bucket__assigner_parallelism="2")
    commit(table, write(table, [(k, "v") for k in range(60)], 3))
    first = check_index(table)
    assert set(first) == {0, 1} and sum(first.values()) == 60
    commit(table, write(table, [(k, "v") for k in range(60, 90)], 3))
    after = check_index(table)
    assert {b: after[b] for b in first} == first and set(after) == {0, 1, 2, 3}


def test_keys_of_one_hash_meet_though_tasks_do_not() -> None:
    hashes = np.arange(-1000, 1000, dtype=np.int32)
    one = Assigners(count=3, channels=3, most_buckets=100).slots(EMPTY, hashes)
    again = Assigners(count=3, channels=3, most_buckets=100).slots(EMPTY, hashes[::-1])[::-1]
    assert (one == again).all() and set(one.tolist()) == {0, 1, 2}


def test_lookups() -> None:
    known = PartitionBuckets(np.empty(0, np.int32), np.empty(0, np.int32), {})
    assert known.find(np.array([5], np.int32)).tolist() == [-1]
    known.add(np.array([9, -4, 7], np.int32), np.array([1, 0, 1], np.int32))
    assert known.find(np.array([7, 8, -4, 100, -100], np.int32)).tolist() == [1, -1, 0, -1, -1]
    assert {b: np.concatenate(h).tolist() for b, h in known.added.items()} == {0: [-4], 1: [9, 7]}


def test_no_bucket_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_core.write.buckets.dynamic._MOST_BUCKETS", 2)
    table = dynamic_table(tmp_path, target="2")
    with pytest.raises(InvalidDataError, match=r"no bucket left.*dynamic-bucket\.target-row-num"):
        write(table, [(k, "v") for k in range(5)], 1)


def test_of_two_writers_of_new_keys_both_get_through(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path)
    commit(table, write(table, [(1, "a")], 1))
    for late_keys, keys, tasks in (([2], [2], 1), ([3], [4], 2), ([1], [5], 1), ([6, 7], [8, 9], 2)):
        late = write(table, [(k, "late") for k in late_keys], tasks)
        commit(open_table(str(tmp_path)), write(table, [(k, "b") for k in keys], 1))
        commit(table, late)
        check_index(table)
    rows = dict(read(table))
    assert sorted(rows) == list(range(1, 10)) and len(read(table)) == 9
    assert {rows.pop(k) for k in (1, 3, 6, 7)} == {"late"} and rows.pop(2) in ("b", "late")
    assert set(rows.values()) == {"b"}
    check_files(table)


def test_keys_that_another_commit_put_elsewhere_go_there(tmp_path: Path) -> None:
    """The second writer found the first bucket full, the first one did not: their common keys must be in one."""
    table = dynamic_table(tmp_path, target="4")
    commit(table, write(table, [(k, "a") for k in range(3)], 1))
    late = write(table, [(k, "late") for k in (0, 4, 5)], 3)  # beside each other tasks fill a bucket over its target
    commit(open_table(str(tmp_path)), write(table, [(k, "b") for k in (3, 4, 5, 6)], 1))
    assert check_index(table) == {0: 4, 1: 3}
    before = {(m.bucket, f.file_name) for m in late for f in m.new_files}
    commit(table, late)
    check_index(table)
    rows = read(table)
    assert [k for k, _ in rows] == list(range(7)) and dict(rows)[0] == "late"  # of 4 and 5 either one may be the newer
    files = {(e.bucket, e.file.file_name) for e in live_files(table.store, table.latest_snapshot()).values()}
    assert not before <= files, "no bucket was looked up again"
    check_files(table)


def test_a_changelog_moves_with_its_rows(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path, target="2", changelog_producer="input")
    late = write(table, [(k, "late") for k in (1, 2)], 1)
    commit(open_table(str(tmp_path)), write(table, [(k, "b") for k in (0, 1, 2)], 1))  # 2 is in bucket 1
    commit(table, late)
    made = table.latest_snapshot()
    assert made is not None and made.changelog_record_count == 2 and made.changelog_manifest_list is not None
    manifests = read_manifest_list(table.store, made.changelog_manifest_list)
    assert sorted(e.bucket for e in read_entries(table.store, manifests)) == [0, 1]
    assert [k for k, _ in read(table)] == [0, 1, 2] and check_index(table) == {0: 2, 1: 1}


@pytest.mark.parametrize("seed", range(3))
def test_writers_of_the_same_keys_never_put_one_into_two_buckets(tmp_path: Path, seed: int) -> None:
    """All have looked their keys up before the first one commits."""
    table, keys = dynamic_table(tmp_path, target="5"), np.random.default_rng(seed)
    expected = dict[int, int]()
    for turn in range(3):
        rows = [[(int(k), f"{turn}/{w}") for k in np.unique(keys.integers(0, 40, 8))] for w in range(4)]
        messages = [write(open_table(str(tmp_path)), r, tasks=w % 3 + 1) for w, r in enumerate(rows)]
        for mine, written in zip(rows, messages, strict=True):
            commit(open_table(str(tmp_path)), written)
            expected |= {k: turn for k, _ in mine}
        check_index(table)
    assert [(k, int(v.partition("/")[0])) for k, v in read(table)] == sorted(expected.items())
    check_files(table)


def test_an_overwrite_in_between_is_a_conflict(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path, target="2")
    commit(table, write(table, [(k, "a") for k in range(6)], 1))
    late = write(table, [(5, "late")], 1)
    other = open_table(str(tmp_path))
    commit(other, write(other, [(5, "b")], 1, other.assignment_base(1, Overwrite())), overwrite=Overwrite())
    with pytest.raises(CommitConflictError, match="other buckets"):
        table.commit_or_abort(late, CommitInfo(user="tester"))
    assert read(table) == [(5, "b")]


def check_files(table: Table) -> None:
    """No file is kept of what commits have replaced."""
    latest = table.latest_snapshot()
    assert latest is not None
    versions = [table.snapshot(str(s)) for s in range(1, latest.id + 1)]
    known = {e.file.file_name for s in versions for e in index_entries(table.store, s)}
    assert {p.name for p in Path(f"{table.store.root}/index").iterdir()} == known
    live = {e.file.file_name for s in versions for e in live_files(table.store, s).values()}
    assert {p.name for p in Path(table.store.root).glob("bucket-*/data-*")} == live


def test_an_expired_base_is_a_conflict(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path)
    for k in range(3):
        commit(table, write(table, [(k, "a")], 1))
    late = [replace(m, index_base=2) for m in write(table, [(1, "late")], 1)]
    Path(table.store.paths.snapshot(2)).unlink()
    with pytest.raises(CommitConflictError, match="snapshot 2.* has expired"):
        commit(table, late)


def test_an_overwrite_begins_anew(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path, target="2")
    commit(table, write(table, [(k, "a") for k in range(6)], 1))
    base = table.assignment_base(1, Overwrite())
    commit(table, write(table, [(5, "b"), (9, "b")], 1, base), overwrite=Overwrite())
    assert read(table) == [(5, "b"), (9, "b")] and check_index(table) == {0: 2}
    commit(table, write(table, [(5, "c"), (0, "c")], 1))
    assert read(table) == [(0, "c"), (5, "c"), (9, "b")] and check_index(table) == {0: 2, 1: 1}


def test_a_writer_that_is_told_nothing_is_right_too(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path)
    for number in range(3):
        writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
        writer.write(
            pa.record_batch([pa.array(range(10), pa.int32()), pa.array([f"v{number}"] * 10)], names=["k", "v"])
        )
        commit(table, writer.finish())
    assert read(table) == [(k, "v2") for k in range(10)] and check_index(table) == {0: 10}
