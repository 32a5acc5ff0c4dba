"""Primary-key writes against a dictionary: one file holds a key once, later rows win, buckets are Paimon's."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.columns import fixed_values
from paimon_core.errors import InvalidDataError, InvalidOptionError, StorageError, UnsupportedFeatureError
from paimon_core.spec.binary_row import decode_row, encode_body
from paimon_core.spec.hashing.murmur import murmur3_row
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, Kind, TimeType
from paimon_core.write.writer import open_writer
from tests.support.data import files_of, make_batch, make_store, read_rows
from tests.support.examples import examples

COLUMNS = {"p": STRING, "k": INT, "t": STRING, "v": BIGINT}
Row = tuple[str, int, str, int | None]
rows_of_table = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", "z/ä"]),
        st.integers(-3, 3),
        st.sampled_from(["", "a", "a longer text"]),
        st.none() | st.integers(0, 9),
    ),
    max_size=40,
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(rows_of_table, max_size=3),
    st.integers(1, 4),
    st.integers(1, 15),
    st.booleans(),
    st.sampled_from(["1 b", "256 mb"]),
)
def test_written_rows_merge_to_the_last_of_each_key(
    tmp_path: Path, tasks: list[list[Row]], buckets: int, size: int, in_order: bool, buffer: str
) -> None:
    options = {"bucket": str(buckets), "write_buffer_size": buffer}
    store = make_store(tmp_path, COLUMNS, keys=["p", "k", "t"], partitions=["p"], **options)
    model: dict[Any, Row] = {}
    messages = []
    start = 0
    for rows in tasks:
        ordered = sorted(rows, key=lambda r: r[:3]) if in_order else rows
        model.update({r[:3]: r for r in ordered})
        writer = open_writer(store, sequence_start=start)
        for i in range(0, len(ordered), size):
            writer.write(make_batch(store, ordered[i : i + size]))
        written = writer.finish()
        assert all(len(m.new_files) == 1 for m in written)
        messages += written
        start += len(rows)
    live = files_of(messages)
    assert sorted(read_rows(store, live), key=repr) == sorted(model.values(), key=repr)
    for (partition, bucket), files in live.items():
        (name,) = decode_row([STRING], partition)
        for file in files:
            content = pq.read_table(f"{store.bucket_dir(partition, bucket)}/{file.file_name}", partitioning=None)
            keys = [(r["_KEY_k"], r["_KEY_t"]) for r in content.to_pylist()]
            assert keys == sorted(set(keys))
            assert set(content.column("p").to_pylist()) == {name}
            types = store.schema.types(store.schema.bucket_keys)
            assert {abs(murmur3_row(encode_body(types, k))) % buckets for k in keys} == {bucket}
            assert decode_row([INT, STRING], file.min_key) == keys[0]
            assert decode_row([INT, STRING], file.max_key) == keys[-1]


def test_sequence_numbers_follow_arrival_and_deletes_are_counted(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": STRING}, keys=["k"], bucket="1")
    batch = make_batch(store, [(1, "a"), (1, "b"), (2, "c"), (3, "d")])
    kinds = pa.array([0, 2, 3, 0], pa.int8())
    writer = open_writer(store, sequence_start=100)
    writer.write(batch.append_column("_VALUE_KIND", kinds))
    messages = writer.finish()
    (file,) = messages[0].new_files
    assert (file.min_sequence_number, file.max_sequence_number, file.delete_row_count) == (101, 103, 1)
    assert (file.row_count, file.level, file.file_source, file.schema_id) == (3, 0, 0, 0)
    assert read_rows(store, files_of(messages)) == [(1, "b"), (3, "d")]


def test_sequence_field_decides_within_and_between_files(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "s": INT, "v": STRING}, keys=["k"], bucket="1", sequence__field="s")
    messages = []
    for start, rows in enumerate([[(1, 5, "new"), (1, 3, "old"), (2, None, "null")], [(1, 4, "late"), (2, 0, "x")]]):
        writer = open_writer(store, sequence_start=10 * start)
        writer.write(make_batch(store, rows))
        messages += writer.finish()
    assert read_rows(store, files_of(messages)) == [(1, 5, "new"), (2, 0, "x")]
    assert read_rows(store, files_of(messages), ["v"]) == [("new",), ("x",)]


def test_negative_zero_is_another_key_than_zero(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": DOUBLE, "v": INT}, keys=["k"], bucket="1")
    writer = open_writer(store, sequence_start=0)
    writer.write(make_batch(store, [(-0.0, 1), (0.0, 2), (-0.0, 3), (0.0, 4)]))
    rows = read_rows(store, files_of(writer.finish()))
    assert [(str(k), v) for k, v in rows] == [("-0.0", 3), ("0.0", 4)]


def test_files_roll_at_the_target_size(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": BIGINT, "v": BIGINT}, keys=["k"], bucket="1", target_file_size="64 kb")
    writer = open_writer(store, sequence_start=0)
    rows = pa.record_batch({"k": range(60_000), "v": [hash(str(i)) for i in range(60_000)]})
    for start in range(0, 60_000, 1000):
        writer.write(rows.slice(start, 1000))
    messages = writer.finish()
    files = messages[0].new_files
    assert len(files) > 3
    assert len({f.file_name for f in files}) == len(files)
    assert all(40_000 < f.file_size < 150_000 for f in files[:-1])
    assert sum(f.row_count for f in files) == 60_000
    assert len(read_rows(store, files_of(messages))) == 60_000


@pytest.mark.parametrize("keys", [["k"], []])
def test_files_have_the_rows_they_may_have_at_most(tmp_path: Path, keys: list[str]) -> None:
    options = {"bucket": "1"} if keys else {"bucket": "-1"}
    store = make_store(tmp_path, {"k": BIGINT, "v": INT}, keys=keys, target_file_row_num="40", **options)
    writer = open_writer(store, sequence_start=0)
    for start in range(0, 130, 65):
        writer.write(make_batch(store, [(k, k) for k in range(start, start + 65)]))
    messages = writer.finish()
    files = messages[0].new_files
    assert [f.row_count for f in files] == [40, 40, 40, 10]
    assert sorted(read_rows(store, files_of(messages))) == [(k, k) for k in range(130)]


@pytest.mark.parametrize(
    "options, files",
    [
        ({"write_buffer_spillable": "false"}, 3),
        ({"local_sort__max_num_file_handles": "1"}, 2),
        ({"write_buffer_spill__max_disk_size": "1 b"}, 2),
        *[({"spill_compression": codec}, 1) for codec in ("zstd", "lz4", "lzo", "none")],
    ],
)
def test_a_full_buffer_is_spilled_while_there_is_room(tmp_path: Path, options: dict[str, str], files: int) -> None:
    store = make_store(tmp_path, {"k": STRING, "v": INT}, keys=["k"], bucket="1", write_buffer_size="100 kb", **options)
    writer = open_writer(store, sequence_start=0)
    keys = [str(i % 500) for i in range(2000)] + ["long" * 20_000] + [str(i) for i in range(300, 800)]
    for start in range(0, len(keys), 100):
        writer.write(make_batch(store, [(k, start + i) for i, k in enumerate(keys[start : start + 100])]))
    messages = writer.finish()
    assert len(messages[0].new_files) == files
    assert sorted(read_rows(store, files_of(messages))) == sorted({k: (k, i) for i, k in enumerate(keys)}.values())


def test_what_is_spilled_is_merged_as_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By partition and key, each row by its engine; the changelog has every row, in its order."""
    options = {"bucket": "2", "changelog_producer": "input", "merge_engine": "aggregation", "target_file_size": "20 kb"}
    options |= {"fields__v__aggregate_function": "sum", "fields__t__aggregate_function": "last_value"}
    columns = {"p": STRING, "k": INT, "v": INT, "t": STRING}
    rows = [(f"p{i % 3}", i * i % 401, i, f"text {i}") for i in range(5000)]
    found = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for number, size in enumerate(["256 mb", "30 kb"]):
        root = tmp_path / str(number)
        store = make_store(root, columns, keys=["p", "k"], partitions=["p"], write_buffer_size=size, **options)
        writer = open_writer(store, sequence_start=0)
        for start in range(0, len(rows), 250):
            writer.write(make_batch(store, rows[start : start + 250]))
        messages = writer.finish()
        read = sorted(read_rows(store, files_of(messages)))
        found.append((read, {(m.partition, m.bucket): [f.row_count for f in m.new_files] for m in messages}))
        assert sum(f.row_count for m in messages for f in m.new_changelog) == len(rows)
    assert found[0] == found[1]
    sums = Counter[tuple[str, int]]()
    for p, k, v, _ in rows:
        sums[p, k] += v
    assert {(p, k): v for p, k, v, _ in found[0][0]} == sums
    assert not list(tmp_path.glob("paimon-spill*"))


def test_a_disk_that_takes_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    store = make_store(tmp_path, {"k": INT}, keys=["k"], bucket="1", write_buffer_size="1 b")
    writer = open_writer(store, sequence_start=0)
    writer.write(make_batch(store, [(1,)]))
    with pytest.raises(StorageError, match="missing.*'write-buffer-spillable' = 'false'"):
        writer.write(make_batch(store, [(2,)]))
    writer.abort()


def test_abort_leaves_nothing(tmp_path: Path) -> None:
    options = {"write_buffer_size": "1 b", "write_buffer_spillable": "false"}
    store = make_store(tmp_path, {"k": INT}, keys=["k"], bucket="2", **options)
    writer = open_writer(store, sequence_start=0)
    for start in (0, 100):
        writer.write(make_batch(store, [(i,) for i in range(start, start + 100)]))
    assert list(tmp_path.rglob("*.parquet"))
    writer.abort()
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("row", [(None, 1), (1, None)])
def test_null_is_refused_by_name(tmp_path: Path, row: tuple[int | None, int | None]) -> None:
    store = make_store(tmp_path, {"k": INT, "v": INT.with_nullable(False)}, keys=["k"], bucket="1")
    with pytest.raises(InvalidDataError, match="'k'" if row[0] is None else "'v'"):
        open_writer(store, sequence_start=0).write(make_batch(store, [row]))
    assert not list(tmp_path.rglob("*.parquet"))


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    for function, key in (("mod", STRING), ("hive", TimeType(Kind.TIMESTAMP, False, 6))):
        store = make_store(tmp_path, {"k": key}, keys=["k"], bucket="2", bucket_function__type=function)
        with pytest.raises(InvalidOptionError, match=f"'bucket-function.type' = '{function}'"):
            open_writer(store, sequence_start=0)
    with pytest.raises(InvalidOptionError, match="bucket-key"):
        open_writer(make_store(tmp_path, {"k": INT}, bucket="2"), sequence_start=0)
    with pytest.raises(UnsupportedFeatureError, match="'file.format' = 'lance'"):
        open_writer(make_store(tmp_path, {"k": INT}, file__format="lance"), sequence_start=0)


def test_kinds_are_written_as_given(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT}, keys=["k"], bucket="1")
    writer = open_writer(store, sequence_start=0)
    writer.write(make_batch(store, [(1,), (2,)]).append_column("_VALUE_KIND", pa.array([3, 0], pa.int8())))
    ((partition, bucket), (file,)) = next(iter(files_of(writer.finish()).items()))
    content = pq.read_table(f"{store.bucket_dir(partition, bucket)}/{file.file_name}", partitioning=None)
    assert fixed_values(content.column("_VALUE_KIND").combine_chunks(), "i1").tolist() == [3, 0]
