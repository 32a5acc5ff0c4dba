"""Compaction never changes what is read, and ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, UnsupportedFeatureError
from paimon_core.lsm.strategy import Strategy
from paimon_core.spec.manifest import FileSource
from paimon_core.spec.message import BucketState, CommitMessage
from paimon_core.spec.types import INT, STRING, Kind, TimeType
from paimon_core.store.table_store import TableStore
from paimon_core.write.compaction.bucket import compact_append, compact_bucket
from paimon_core.write.writer import open_writer
from tests.support.data import Live, files_of, make_batch, make_store, read_rows
from tests.support.examples import examples

Change = tuple[int, int | None, int]
changes = st.lists(
    st.tuples(st.integers(0, 20), st.none() | st.integers(0, 99), st.sampled_from([0, 0, 0, 3])), max_size=15
)


def write(store: TableStore, rows: list[Change], start: int) -> list[CommitMessage]:
    ordered = sorted(rows, key=lambda r: r[0])
    batch = make_batch(store, [r[:2] for r in ordered])
    writer = open_writer(store, sequence_start=start)
    writer.write(batch.append_column("_VALUE_KIND", pa.array([r[2] for r in ordered], pa.int8())))
    return writer.finish()


def compact_all(store: TableStore, live: Live, full: bool) -> list[CommitMessage]:
    found = [
        compact_bucket(store, BucketState(p, b, 2, tuple(files)), Strategy.FULL if full else Strategy.MINOR)
        for (p, b), files in live.items()
    ]
    return [m for m in found if m is not None]


def write_rows(store: TableStore, rows: list[tuple[int, int]], start: int = 0) -> list[CommitMessage]:
    writer = open_writer(store, sequence_start=start)
    writer.write(make_batch(store, rows))
    return writer.finish()


def compact_one(store: TableStore, live: Live, strategy: Strategy) -> list[CommitMessage]:
    compact = compact_bucket if store.has_primary_key else compact_append
    found = [compact(store, BucketState(p, b, 1, tuple(files)), strategy) for (p, b), files in live.items()]
    return [m for m in found if m is not None]


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(changes, st.sampled_from(["", "", "minor", "full"])), max_size=8), st.booleans())
def test_reads_are_the_same_after_compaction(
    tmp_path: Path, steps: list[tuple[list[Change], str]], tiny_files: bool
) -> None:
    options = {"target_file_size": "1 b"} if tiny_files else {}
    store = make_store(
        tmp_path,
        {"k": INT, "v": INT},
        keys=["k"],
        bucket="2",
        num_sorted_run__compaction_trigger="3",
        **options,
    )
    model: dict[int, Any] = {}
    live: Live = {}
    for number, (rows, compaction) in enumerate(steps):
        live = files_of(write(store, rows, 100 * number), live)
        for key, value, kind in sorted(rows, key=lambda r: r[0]):
            model.pop(key, None) if kind == 3 else model.update({key: (key, value)})
        if compaction:
            live = files_of(compact_all(store, live, compaction == "full"), live)
        assert sorted(read_rows(store, live)) == sorted(model.values())
    live = files_of(compact_all(store, live, True), live)
    files = [f for bucket in live.values() for f in bucket]
    assert sum(f.row_count for f in files) == len(model)
    assert all(f.level == 3 and f.delete_row_count == 0 for f in files)
    assert compact_all(store, live, True) == []


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(changes, min_size=2, max_size=6), st.randoms(), st.integers(0, 6))
def test_writers_at_one_time_lose_to_the_same_one_before_and_after_compaction(
    tmp_path: Path, writers: list[list[Change]], random: Random, compacted: int
) -> None:
    """They number their rows alike, and metadata lists their files in any order."""
    store = make_store(tmp_path, {"k": INT, "v": INT}, keys=["k"], bucket="1")
    live: Live = {}
    for turn, rows in enumerate(writers):
        live = files_of(write(store, rows, 0), live)
        if turn == compacted:
            live = files_of(compact_all(store, live, True), live)
    before = read_rows(store, live)
    for files in live.values():
        random.shuffle(files)
        assert read_rows(store, live) == before
    assert read_rows(store, files_of(compact_all(store, live, True), live)) == before


def test_metadata_of_compacted_files(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": INT}, keys=["k"], bucket="1")
    live = files_of(write(store, [(1, 1, 0), (2, 2, 0), (3, 3, 0)], 0) + write(store, [(1, 5, 0), (3, None, 3)], 10))
    (message,) = compact_all(store, live, True)
    (file,) = message.compact_after
    assert len(message.compact_before) == 2
    assert message.new_files == ()
    assert (file.level, file.file_source, file.row_count) == (5, FileSource.COMPACT, 2)
    assert (file.min_sequence_number, file.max_sequence_number) == (1, 10)


def test_a_file_alone_is_upgraded_without_rewriting(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": INT}, keys=["k"], bucket="1")
    live = files_of(write(store, [(1, 1, 0)], 0))
    (message,) = compact_all(store, live, True)
    assert [f.file_name for f in message.compact_before] == [f.file_name for f in message.compact_after]
    assert message.compact_after[0].level == 5


def test_a_broken_input_leaves_no_output(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": INT}, keys=["k"], bucket="1")
    live = files_of(write(store, [(1, 1, 0)], 0) + write(store, [(1, 2, 0)], 10))
    paths = sorted(tmp_path.rglob("*.parquet"))
    paths[0].write_bytes(b"PAR1")
    with pytest.raises(CorruptFileError):
        compact_all(store, live, True)
    assert sorted(tmp_path.rglob("*.parquet")) == paths


def test_append_files_are_concatenated_in_order(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a": INT, "s": STRING})
    messages = []
    for i in range(5):
        writer = open_writer(store, sequence_start=0)
        writer.write(make_batch(store, [(10 * i + j, f"text {i}") for j in range(3)]))
        messages += writer.finish()
    live = files_of(messages)
    ((partition, bucket), files) = next(iter(live.items()))
    state = BucketState(partition, bucket, -1, tuple(files))
    before = read_rows(store, live)
    assert compact_append(store, replace(state, files=state.files[:4]), Strategy.MINOR) is None
    message = compact_append(store, state, Strategy.MINOR)
    assert message is not None
    (file,) = message.compact_after
    assert (file.level, file.file_source, file.row_count) == (0, FileSource.COMPACT, 15)
    live = files_of([message], live)
    assert read_rows(store, live) == before
    assert compact_append(store, replace(state, files=tuple(live[(partition, bucket)])), Strategy.FULL) is None


def test_every_file_is_written_anew_where_that_is_asked_for(tmp_path: Path) -> None:
    anew = {"compaction.force-rewrite-all-files": "true", "file.format": "orc"}
    for keys in ([], ["k"]):
        options = {"bucket_key": "k", "bucket": "1"}
        store = make_store(tmp_path / str(len(keys)), {"k": INT, "v": INT}, keys=keys, **options)
        live = files_of(write_rows(store, [(k, k) for k in range(9)]))
        live = files_of(compact_one(store, live, Strategy.FULL), live)
        assert compact_one(store, live, Strategy.FULL) == []
        assert compact_one(store.with_options(anew), live, Strategy.MINOR) == []
        (message,) = compact_one(store.with_options(anew), live, Strategy.FULL)
        assert [f.file_name.rpartition(".")[2] for f in message.compact_after] == ["orc"]
        assert sorted(read_rows(store, files_of([message], live))) == [(k, k) for k in range(9)]


def test_what_a_small_file_is(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": INT}, bucket="1", bucket_key="k")
    live = {}
    for start in (0, 9):
        live = files_of(write_rows(store, [(k, k) for k in range(start, start + 9)], start), live)
    size = max(f.file_size for files in live.values() for f in files)
    store = store.with_options({"target-file-size": f"{2 * size} b"})
    assert compact_one(store.with_options({"compaction.small-file-ratio": "0.4"}), live, Strategy.FULL) == []
    assert len(compact_one(store, live, Strategy.FULL)) == 1


def test_times_that_nanoseconds_do_not_reach_are_refused_by_name(tmp_path: Path) -> None:
    """The file is as it should be: it is this version that cannot merge it."""
    store = make_store(tmp_path, {"k": INT, "t": TimeType(Kind.TIMESTAMP, precision=9)}, keys=["k"], bucket="1")
    messages = []
    for start in (0, 10):
        writer = open_writer(store, sequence_start=start)
        writer.write(make_batch(store, [(1, datetime(2020, 1, 1))]))
        messages += writer.finish()
    path = next(tmp_path.rglob("*.parquet"))
    rows = pq.read_table(path, partitioning=None)
    field = rows.schema.field("t").with_type(pa.timestamp("us"))
    far = pa.array([datetime(3000, 1, 1)], pa.timestamp("us"))
    pq.write_table(rows.set_column(rows.schema.get_field_index("t"), field, far), path)
    with pytest.raises(
        UnsupportedFeatureError, match=f"'t' of file {path} has times outside of the years 1678 to 2261"
    ):
        compact_all(store, files_of(messages), True)
