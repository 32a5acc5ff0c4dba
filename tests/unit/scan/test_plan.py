from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import And, Compare, In, IsNull, Or, Predicate, StartsWith
from paimon_core.scan.changes.increment import increment_of_options
from paimon_core.scan.plan import Plan, plan_scan
from paimon_core.scan.splits import spread
from paimon_core.spec.binary_row import encode_body, encode_row
from paimon_core.spec.hashing.murmur import bucket_of, murmur3_row
from paimon_core.spec.index_manifest import DeletionVectorMeta
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.split import DataSplit, DeletionFile, SplitKind
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.snapshots import read_snapshot
from paimon_core.table import Table
from tests.support import stored
from tests.support.golden import golden_checks, golden_names, golden_table
from tests.support.tables import data_file, info, message, new_store

KEYED = {"primary_key": "k", "bucket": "1"}


def planned(table: Table, predicate: Predicate | None = None) -> Plan:
    return table.plan(table.latest_snapshot(), predicate)


def read(plan: Plan) -> set[str]:
    return {f.file_name for s in plan.splits for f in s.files}


def names(*files: DataFileMeta) -> set[str]:
    return {f.file_name for f in files}


@pytest.mark.parametrize("name", golden_names())
def test_golden_plans_have_the_files_that_java_lists(name: str) -> None:
    table = golden_table(name)
    plan = planned(table)
    columns = ("partition", "bucket", "level", "record_count", "min_sequence_number", "max_sequence_number")
    expected = [
        [row[c["columns"].index(x)] for x in columns]
        for c in golden_checks(name)
        if f"{name}$files`" in c["query"] and set(columns) <= set(c["columns"])
        for row in c["rows"]
    ]
    if not expected:
        pytest.skip("no query lists its files")
    rows = table.system_table("files").select(list(columns)).to_pylist()
    assert sorted(map(repr, (list(r.values()) for r in rows))) == sorted(map(repr, expected))
    assert plan.files_kept == plan.files_total == len(expected)
    for split in plan.splits:
        for file in split.files:
            assert (Path(split.bucket_dir) / file.file_name).exists()
    counting = re.compile(rf"SELECT count\(\*\) AS n FROM golden\.{name}")
    count = [c["rows"][0][0] for c in golden_checks(name) if counting.fullmatch(c["query"])]
    if plan.row_count is not None and count:
        assert plan.row_count == count[0]


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    plan = planned(Table(new_store(tmp_path)))
    assert (plan.splits, plan.row_count, plan.snapshot) == ((), 0, None)
    assert "no snapshot" in plan.describe()


def test_append_files_are_pruned_one_by_one_and_packed_in_order(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options({"source.split.open-file-cost": "1b", "source.split.target-size": "2500b"})
    files = [data_file(store, 10 * n, 10 * n + 9, rows=10) for n in range(7)]
    table = Table(store)
    for file in files:
        table.commit([message(store, file)], info())
    assert [len(s.files) for s in planned(table).splits] == [2, 2, 2, 1]
    assert [f for s in planned(table).splits for f in s.files] == files
    assert planned(table).row_count == 70
    some = planned(table, And((Compare("k", ">", 25), Compare("k", "<=", 40))))
    assert read(some) == names(*files[2:5])
    assert some.row_count is None and (some.files_kept, some.files_total) == (3, 7)
    assert "files 3/7 (3000 bytes), splits 2 (2 raw, 0 merge)" in some.describe()
    assert some.describe().endswith("skipped files: 4 by statistics, rows expected: at most 30")
    assert planned(table).describe().endswith("(4 raw, 0 merge), rows expected: 70")
    assert planned(table, IsNull("k")).splits == ()
    assert len(read(planned(table, IsNull("v")))) == 7, "no statistics: all files may match"


def test_a_big_file_and_a_small_one_do_not_share_a_split(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options({"source.split.open-file-cost": "1kb", "source.split.target-size": "10kb"})
    sizes = [100_000, 1, 1, 1, 9_000, 1]
    Table(store).commit([message(store, *(data_file(store, 1, 1, file_size=n) for n in sizes))], info())
    assert [[f.file_size for f in s.files] for s in planned(Table(store)).splits] == [[100_000], [1, 1, 1], [9_000, 1]]


def test_partitions_are_pruned_by_manifest_and_by_entry(tmp_path: Path) -> None:
    store = new_store(tmp_path, partition="p")
    table = Table(store)
    files = {p: data_file(store, 1, 1, rows=3) for p in (1, 2, 3, None)}
    table.commit([message(store, files[1], p=1), message(store, files[3], p=3)], info())
    table.commit([message(store, files[2], p=2)], info())
    table.commit([message(store, files[None], p=None)], info())
    plan = planned(table, Compare("p", "=", 2))
    assert read(plan) == names(files[2])
    assert (plan.manifests_read, plan.manifests_total, plan.row_count) == (2, 3, 3)
    assert plan.describe().endswith("skipped files: 2 by partition, rows expected: 3"), "of the manifests that are read"
    assert read(planned(table, IsNull("p"))) == names(files[None])
    assert read(planned(table, Or((Compare("p", "=", 1), Compare("k", "=", 5))))) == names(files[1])
    assert read(planned(table, In("p", (1, 3)))) == names(files[1], files[3])


def test_keyed_files_are_merged_where_they_overlap(tmp_path: Path) -> None:
    store = new_store(tmp_path, **KEYED)
    single, low, high, deleting = (
        data_file(store, 1, 5, rows=5),
        data_file(store, 10, 20),
        data_file(store, 15, 30),
        data_file(store, 40, 50, delete_row_count=1),
    )
    Table(store).commit([message(store, single, low, high, deleting)], info())
    plan = planned(Table(store))
    merged = {n for s in plan.splits if s.needs_merge for n in names(*s.files)}
    assert merged == names(low, high, deleting) and read(plan) - merged == names(single)
    assert plan.row_count is None
    assert plan.describe().endswith("rows expected: at most 8")
    few = planned(Table(store), Compare("k", "<", 6))
    assert few.splits[0].files == (single,) and few.skipped.statistics == 3


def test_an_older_version_does_not_surface(tmp_path: Path) -> None:
    """v = 'b' is only in the newer file: leaving that out by its statistics would show the older row for v = 'a'."""
    store = new_store(tmp_path, **KEYED)

    def file(low: str, high: str, k: int) -> DataFileMeta:
        bounds = ([INT, STRING], ("k", "v"))
        low_row, high_row = encode_row(bounds[0], [k, low]), encode_row(bounds[0], [k, high])
        base = data_file(store, k, k)
        stats = type(base.value_stats)(min_values=low_row, max_values=high_row, null_counts=(0, 0))
        return data_file(store, k, k, value_stats=stats, value_stats_cols=bounds[1])

    older, newer, other = file("a", "a", 1), file("b", "b", 1), file("a", "a", 2)
    table = Table(store)
    table.commit([message(store, older, other)], info())
    table.commit([message(store, newer)], info())
    assert read(planned(table, Compare("v", "=", "a"))) == names(older, newer, other)
    assert read(planned(table, And((Compare("v", "=", "a"), Compare("k", "=", 1))))) == names(older, newer)
    none = planned(table, Compare("v", "=", "z"))
    assert read(none) == set() and none.skipped.describe() == (
        "3 by statistics or indexes of files that are read together"
    )
    assert read(planned(table, StartsWith("v", "b"))) == names(older, newer)


def test_buckets_are_pruned_by_hash(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="4")
    by_bucket = {b: data_file(store, 0, 99) for b in range(4)}
    Table(store).commit([message(store, f, bucket=b) for b, f in by_bucket.items()], info())
    for k in range(20):
        hashed = np.array([murmur3_row(encode_body([INT], [k]))], dtype=np.int32)
        bucket = int(bucket_of(hashed, 4)[0])
        assert read(planned(Table(store), Compare("k", "=", k))) == names(by_bucket[bucket])
    assert read(planned(Table(store), In("k", tuple(range(50))))) == names(*by_bucket.values())
    assert read(planned(Table(store), Compare("k", "=", 2**40))) == set()
    assert len(read(planned(Table(store), Compare("n", "=", 1)))) == 4


def test_statistics_of_another_schema_are_found_by_field_id() -> None:
    table = golden_table("se_pk")
    types = {f.name: f.type for f in table.schema.fields}
    assert types["n"].with_nullable(True) == BIGINT, "n was INT in the first files"
    assert planned(table, Compare("k", "=", 99)).splits == ()
    assert len(read(planned(table, Compare("n", "=", 10)))) == 4
    first = table.plan(read_snapshot(table.store, 1))
    assert first.files_kept == 1


def test_files_of_other_formats_are_refused(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    Table(store).commit([message(store, data_file(store, 1, 1, file_name="data-1.lance"))], info())
    with pytest.raises(UnsupportedFeatureError, match=r"data-1\.lance"):
        planned(Table(store))


def test_splits_are_cut_where_tasks_would_be_idle(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    files = tuple(replace(data_file(store, i, i), file_size=10 * 2**20) for i in range(6))
    vector = DeletionVectorMeta(data_file=files[4].file_name, offset=1, length=2, cardinality=1)
    marks = (DeletionFile("index", vector),)
    split = DataSplit(partition=b"", bucket=0, bucket_dir="d", files=files, deletions=marks)

    def sizes(split: DataSplit, tasks: int) -> list[int]:
        return [len(s.files) for s in spread([split], tasks)]

    assert [sizes(split, n) for n in (1, 2, 3, 100)] == [[6], [3, 3], [2, 2, 2], [1] * 6]
    assert [len(s.deletions) for s in spread([split], 3)] == [0, 0, 1]
    assert sizes(replace(split, needs_merge=True), 3) == sizes(replace(split, kind=SplitKind.CHANGES), 3) == [6]
    assert sizes(replace(split, files=files[:1]), 3) == [1]


def test_one_bucket_is_read(warehouse: str) -> None:
    table = stored.create_table(warehouse, primary_key="k", bucket="4", scan__bucket="1")
    first = stored.insert(table, [(k, "a") for k in range(20)])
    assert first is not None
    found = stored.read(table)
    assert 0 < len(found) < 20
    assert {s.bucket for s in table.plan(first).splits} == {1} and table.plan(first).files_total == 1
    stored.insert(table, [(k, "b") for k in range(20)])
    increment = increment_of_options(table.store.with_options({"incremental-between": "1,2"}))
    assert {s.bucket for s in table.plan(increment).splits} == {1}
    table_of_all = stored.open_table(warehouse).with_options({"scan.bucket": "9"})
    assert stored.read(table_of_all) == []


def test_files_before_a_time_are_named_by_their_reason(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    times = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    files = [replace(data_file(store, n, n), creation_time=at) for n, at in enumerate(times)]
    Table(store).commit([message(store, *files)], info())
    since = int(datetime(2024, 1, 2, 12, tzinfo=UTC).timestamp() * 1000)
    plan = plan_scan(store, Table(store).latest_snapshot(), Compare("k", ">", 0), since=since)
    assert read(plan) == names(files[2])
    assert (plan.skipped.statistics, plan.skipped.since) == (1, 1)
    assert "1 by statistics, 1 by their creation time (scan.creation-time-millis" in plan.describe()
