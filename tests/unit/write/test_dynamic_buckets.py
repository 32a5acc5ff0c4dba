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
from paimon_core.store.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.dynamic_buckets import Assigners, AssignmentBase, PartitionBuckets, load_partition
from paimon_core.write.writer import open_writer
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
            for place in range(0, len(share), 20):  # a buffer of a byte spills each of them
                writer.write(batch.slice(place, 20))
        messages += writer.finish()
    return messages


def commit(table: Table, messages: list[CommitMessage], **more: Overwrite) -> None:
    table.commit(messages, CommitInfo(user="tester"), **more)


def check_index(table: Table) -> dict[int, int]:
    """Keys per bucket, where the index agrees with the files: one index file per bucket, and each hash once."""
    entries = index_entries(table.store, table.latest_snapshot())
    assert max(Counter(e.place for e in entries).values(), default=1) == 1
    found = load_partition(table.store, table.latest_snapshot(), EMPTY)
    assert len(np.unique(found.hashes)) == len(found.hashes)
    by_bucket = Counter(found.buckets.tolist())
    live = {e.bucket for e in live_files(table.store, table.latest_snapshot()).values()}
    assert live <= set(by_bucket)
    names = {p.name for p in Path(f"{table.store.root}/index").iterdir()} if entries else set()
    assert {e.file.file_name for e in entries} <= names
    return dict(by_bucket)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
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
    monkeypatch.setattr("paimon_core.write.dynamic_buckets._MOST_BUCKETS", 2)
    table = dynamic_table(tmp_path, target="2")
    with pytest.raises(InvalidDataError, match=r"no bucket left.*dynamic-bucket\.target-row-num"):
        write(table, [(k, "v") for k in range(5)], 1)


def test_of_two_writers_of_new_keys_one_fails(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path)
    commit(table, write(table, [(1, "a")], 1))
    for late_keys, keys, tasks in (([2], [2], 1), ([3], [4], 2), ([1], [5], 1)):
        late = write(table, [(k, "late") for k in late_keys], tasks)
        commit(open_table(str(tmp_path)), write(table, [(k, "b") for k in keys], 1))
        with pytest.raises(CommitConflictError, match="given new keys their buckets"):
            commit(table, late)
        table.abort(late)
    names = {p.name for p in Path(f"{table.store.root}/index").iterdir()}
    known = {e.file.file_name for s in range(1, 5) for e in index_entries(table.store, table.snapshot(str(s)))}
    assert names == known, "index files of failed commits and of tasks are gone"
    late = write(table, [(1, "late")], 1)
    commit(table, write(table, [(1, "b"), (2, "b")], 1))
    commit(table, late)  # nobody added a key
    assert [k for k, _ in read(table)] == [1, 2, 4, 5]


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
