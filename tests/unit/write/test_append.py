"""Append writes: rows keep their order within a partition, partitions may interleave."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import InvalidDataError
from paimon_core.spec.binary_row import EMPTY_ROW, decode_row, encode_body
from paimon_core.spec.hashing.murmur import murmur3_row
from paimon_core.spec.stats import EMPTY_STATS
from paimon_core.spec.types import DATE, INT, STRING
from paimon_core.write import bucket_writers
from paimon_core.write.writer import open_writer
from tests.support.data import files_of, make_batch, make_store, read_rows
from tests.support.examples import examples

rows_of_table = st.lists(
    st.tuples(st.none() | st.sampled_from(["x", "y"]), st.none() | st.integers(0, 2), st.integers()), max_size=40
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows_of_table.map(lambda rows: [(p, q, v % 1000) for p, q, v in rows]), st.integers(1, 15))
def test_each_partition_keeps_its_rows_in_order(
    tmp_path: Path, rows: list[tuple[str | None, int | None, int]], size: int
) -> None:
    store = make_store(tmp_path, {"p": STRING, "q": INT, "v": INT}, partitions=["p", "q"])
    writer = open_writer(store, sequence_start=77)
    for i in range(0, len(rows), size):
        writer.write(make_batch(store, rows[i : i + size]))
    live = files_of(writer.finish())
    assert {k[0] for k in live} == {p for p, _ in live} and all(bucket == 0 for _, bucket in live)
    for (partition, _), files in live.items():
        spec = decode_row([STRING, INT], partition)
        assert read_rows(store, {(partition, 0): files}) == [r for r in rows if r[:2] == spec]
    assert sum(f.row_count for files in live.values() for f in files) == len(rows)


def test_metadata_of_append_files(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"v": INT})
    writer = open_writer(store, sequence_start=77)
    writer.write(make_batch(store, [(3,), (None,), (1,)]))
    (message,) = writer.finish()
    (file,) = message.new_files
    assert (message.bucket, message.total_buckets) == (0, -1)
    assert (file.min_key, file.max_key, file.key_stats) == (EMPTY_ROW, EMPTY_ROW, EMPTY_STATS)
    assert (file.min_sequence_number, file.max_sequence_number) == (0, 2)
    assert (file.level, file.delete_row_count, file.file_source) == (0, 0, 0)
    assert file.value_stats.null_counts == (1,)
    path = Path(store.bucket_dir(message.partition, 0)) / file.file_name
    assert path.stat().st_size == file.file_size


def test_buckets_of_a_bucket_key(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a": STRING, "v": INT}, bucket="4", bucket_key="a")
    rows = [(f"name {i % 7}", i) for i in range(100)]
    writer = open_writer(store, sequence_start=10)
    writer.write(make_batch(store, rows))
    messages = writer.finish()
    for (partition, bucket), files in files_of(messages).items():
        expected = [r for r in rows if abs(murmur3_row(encode_body([STRING], r[:1]))) % 4 == bucket]
        assert read_rows(store, {(partition, bucket): files}) == expected
        assert files[0].min_sequence_number == 10
    assert {m.total_buckets for m in messages} == {4}


def test_writers_beyond_the_bound_end_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_writers, "MAX_OPEN_WRITERS", 2)
    store = make_store(tmp_path, {"p": DATE, "v": INT}, partitions=["p"])
    writer = open_writer(store, sequence_start=0)
    for i in range(9):
        writer.write(make_batch(store, [(i % 3, i)]))
    live = files_of(writer.finish())
    assert [len(f) for f in live.values()] == [3, 3, 3]
    assert sorted(read_rows(store, live, ["v"])) == [(i,) for i in range(9)]


def test_wrong_rows_are_refused(tmp_path: Path) -> None:
    writer = open_writer(make_store(tmp_path, {"v": INT}), sequence_start=0)
    with pytest.raises(InvalidDataError, match="'v'"):
        writer.write(pa.record_batch({"w": [1]}))
    with pytest.raises(InvalidDataError, match="'v'"):
        writer.write(pa.record_batch({"v": [2**40]}))
    kinds = pa.array([3], pa.int8())
    with pytest.raises(InvalidDataError, match="inserted"):
        writer.write(pa.record_batch({"v": pa.array([1], pa.int32()), "_VALUE_KIND": kinds}))


def test_partitions_that_are_no_time_are_refused_where_asked(tmp_path: Path) -> None:
    times = {"partition__timestamp_formatter": "yyyyMMdd", "partition__timestamp_pattern": "$p"}
    strict = {"partition__timestamp_format__strict": "true"}
    for name, options, refuses in (("t", times, False), ("u", strict, False), ("v", strict | times, True)):
        store = make_store(tmp_path / name, {"p": STRING, "v": INT}, partitions=["p"], **options)
        writer = open_writer(store, sequence_start=0)
        writer.write(make_batch(store, [("20240131", 1)]))
        if not refuses:
            writer.write(make_batch(store, [("January", 1)]))
            continue
        with pytest.raises(InvalidDataError, match=r"partition p=January: by 'partition\.timestamp-pattern'"):
            writer.write(make_batch(store, [("January", 1)]))
