"""The values of pictures, of tables with files that exist in metadata alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.inspect.layout import FileOrder, file_sizes, listed_files, partition_sizes, table_summary
from paimon_core.inspect.lsm_map import MOST_SPANS, lsm_map
from paimon_core.inspect.schema_history import schema_history
from paimon_core.inspect.timeline import MOST_COMMITS, refs, timeline
from paimon_core.io.local import LocalFileIO
from paimon_core.lsm.strategy import Strategy
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING, DataType, Kind, TimeType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, DropColumn, RenameColumn, SetOption
from paimon_core.store.schemas import create_schema
from paimon_core.table import Table
from paimon_sql.catalog.filesystem import FileSystemCatalog
from tests.support.tables import data_file, fields, info, message, new_store
from tests.unit.procedures.test_advice import Lake

MIB = 2**20
ONE = {"primary-key": "k", "bucket": "1"}


def table_of(root: Path, **options: str) -> Table:
    return Table(new_store(root, **options))


def add(table: Table, *files: object, **where: object) -> None:
    table.commit([message(table.store, *files, **where)], info())  # type: ignore[arg-type]


def test_runs_are_spans_of_the_key_range(tmp_path: Path) -> None:
    table = table_of(tmp_path, **ONE, **{"num-sorted-run.compaction-trigger": "9"})
    store = table.store
    add(table, data_file(store, 0, 40, level=5, rows=10, file_size=100), data_file(store, 50, 100, level=5, rows=20))
    add(table, data_file(store, 25, 75, rows=3, max_sequence_number=40))
    add(table, data_file(store, 60, 60, rows=1, max_sequence_number=50))
    (bucket,) = lsm_map(store).buckets
    assert [run.level for run in bucket.runs] == [0, 0, 5]
    places = [(s.start, s.end) for run in bucket.runs for s in run.spans]
    assert places == [(0.6, 0.6), (0.25, 0.75), (0, 0.4), (0.5, 1)]
    assert [(s.first_key, s.last_key) for s in bucket.runs[2].spans] == [("[0]", "[40]"), ("[50]", "[100]")]
    assert (bucket.files, bucket.rows, bucket.size, bucket.overlap) == (4, 34, 3100, 3)
    assert bucket.due == 0 and bucket.output_level is None


def test_the_files_that_the_next_compaction_takes(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**ONE, "num-sorted-run.compaction-trigger": "3"})
    for n in range(3):
        lake.insert(n)
    (bucket,) = lsm_map(lake.table.store).buckets
    assert bucket.due == 3 and all(s.is_due for run in bucket.runs for s in run.spans)
    lake.call("compact", table="t")
    (bucket,) = lsm_map(lake.table.store).buckets
    assert bucket.due == 0 and len(bucket.runs) == 1


def test_many_files_of_a_run_share_spans(tmp_path: Path) -> None:
    table = table_of(tmp_path, **ONE)
    add(table, *(data_file(table.store, n * 10, n * 10 + 5, level=5) for n in range(1000)))
    (bucket,) = lsm_map(table.store).buckets
    (run,) = bucket.runs
    assert len(run.spans) <= MOST_SPANS and sum(s.files for s in run.spans) == 1000 == bucket.files


def test_a_part_of_the_table(tmp_path: Path) -> None:
    table = table_of(tmp_path, **{"primary-key": "k,p", "partition": "p", "bucket": "2"})
    for p in (1, 2):
        for bucket in (0, 1):
            add(table, data_file(table.store, 0, 9), p=p, bucket=bucket)
    found = lsm_map(table.store, "p=2", 1)
    assert [(b.partition, b.bucket) for b in found.buckets] == [("p=2", 1)]
    assert lsm_map(table.store).bucket_count == 4
    with pytest.raises(InvalidOptionError, match="in partition 'p=3'. It has files in partitions 'p=1', 'p=2'"):
        lsm_map(table.store, "p=3")
    with pytest.raises(InvalidOptionError, match="bucket 7"):
        lsm_map(table.store, bucket=7)


def test_tables_without_files_or_keys(tmp_path: Path) -> None:
    assert lsm_map(table_of(tmp_path / "keyed", **ONE).store).buckets == ()
    append = table_of(tmp_path / "append", bucket="-1")
    with pytest.raises(UnsupportedFeatureError, match="has no primary key"):
        lsm_map(append.store)
    assert timeline(append.store).commits == () and file_sizes(append.store).classes == ()
    assert partition_sizes(append.store).count == 0


def test_commits_with_their_tags(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for n in range(3):
        lake.insert(n)
    lake.call("create_tag", table="t", tag="first", snapshot=1)
    lake.call("create_tag", table="t", tag="second", snapshot=2)
    lake.call("expire_snapshots", table="t", retain_max=2, retain_min=1)
    found = timeline(lake.table.store)
    assert [(c.id, c.delta, c.total, c.tags) for c in found.commits] == [(2, 1, 2, ("second",)), (3, 1, 3, ())]
    assert (found.expired, found.hidden, found.kept) == (1, 0, (("first", 1),))
    assert found.commits[0].engine == "paimon-sql" and found.commits[0].kind == "APPEND"


def test_only_the_newest_commits_are_listed(tmp_path: Path) -> None:
    table = table_of(tmp_path, bucket="-1")
    for n in range(MOST_COMMITS + 3):
        add(table, data_file(table.store, n, n))
    found = timeline(table.store)
    assert len(found.commits) == MOST_COMMITS and found.hidden == 3 and found.commits[-1].id == MOST_COMMITS + 3


def test_branches_and_tags(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for n in range(3):
        lake.insert(n)
    lake.call("create_tag", table="t", tag="one", snapshot=1)
    lake.call("create_branch", table="t", branch="b", tag="one")
    lake.call("create_branch", table="t", branch="empty")
    found = {(r.name, r.is_tag): (r.first, r.last) for r in refs(lake.table.store)}
    assert found == {
        ("main", False): (1, 3),
        ("b", False): (1, 1),
        ("empty", False): (None, None),
        ("one", True): (1, 1),
    }


def test_files_by_size(tmp_path: Path) -> None:
    table = table_of(tmp_path, bucket="-1", target_file_size="64 mb")
    sizes = (10, 1023, 1024, 5000, 50 * MIB)
    add(table, *(data_file(table.store, n, n, file_size=size, rows=2) for n, size in enumerate(sizes)))
    found = file_sizes(table.store)
    counted = {c.below: c.files for c in found.classes if c.files}
    assert counted == {1024: 2, 4096: 1, 16384: 1, 64 * MIB: 1}
    assert (found.files, found.rows, found.size) == (5, 10, sum(sizes))
    assert found.target == 64 * MIB and found.small == 4  # 0.7 of the target is small


def test_partitions_by_size_and_skew(tmp_path: Path) -> None:
    table = table_of(tmp_path, partition="p", bucket="2", bucket_key="k")
    add(table, data_file(table.store, 0, 9, file_size=100), p=1, bucket=0)
    add(table, data_file(table.store, 0, 9, file_size=300), p=2, bucket=0)
    add(table, data_file(table.store, 0, 9, file_size=100), p=2, bucket=1)
    found = partition_sizes(table.store)
    sizes = [(p.name, p.size, p.buckets, p.skew) for p in found.partitions]
    assert sizes == [("p=2", 400, 2, 1.5), ("p=1", 100, 1, 1.0)]
    assert (found.count, found.size) == (2, 500)


def test_changes_of_schemas(tmp_path: Path) -> None:
    catalog, name = FileSystemCatalog(LocalFileIO(), str(tmp_path)), Identifier("default", "t")
    catalog.create_table(name, new_store(tmp_path / "x", bucket="-1").schema)
    catalog.alter_table(name, [AddColumn(("w",), INT), RenameColumn(("v",), "text"), DropColumn(("n",))])
    catalog.alter_table(name, [SetOption("snapshot.num-retained.max", "99")])
    store = catalog.load_table(name).store
    of_another_engine = replace(store.schema, id=3, options={**store.schema.options, "fs.s3a.secret.key": "xyz"})
    assert create_schema(store.io, store.root, of_another_engine)
    first, second, third, fourth = schema_history(catalog.load_table(name).store)
    assert first.changes == ()
    assert second.changes == ("add column w INT", "drop column n", "rename column v to text")
    assert third.changes == ("set 'snapshot.num-retained.max' = '99'",)
    assert len(fourth.changes) == 1 and "fs.s3a.secret.key" in fourth.changes[0] and "xyz" not in fourth.changes[0]


def test_files_are_listed_in_an_order_and_in_parts(tmp_path: Path) -> None:
    table = table_of(tmp_path, partition="p")
    store = table.store
    day = datetime(2024, 1, 1, tzinfo=UTC)
    for p in range(3):
        files = [
            data_file(store, n, n, file_size=100 * p + n, rows=7, creation_time=day.replace(day=3 * p + n + 1))
            for n in range(3)
        ]
        add(table, *files, p=p)
    add(table, data_file(store, 9, 9, file_size=9999), p=1, bucket=-2)  # not yet a part of the table
    sizes = {order: [f.size for f in listed_files(store, order, 2, 4).files] for order in FileOrder}
    every = [100 * p + n for p in range(3) for n in range(3)]
    assert sizes["smallest"] == sizes["oldest"] == every[2:6]
    assert sizes["largest"] == sizes["newest"] == every[::-1][2:6]
    listed = listed_files(store, FileOrder.SMALLEST, 8, 4)
    assert (listed.start, listed.count, len(listed.files)) == (8, 9, 1)
    (last,) = listed.files
    assert (last.partition, last.rows, last.created) == ("p=2", 7, datetime(2024, 1, 9))
    assert listed_files(store, FileOrder.LEVEL, 100, 4).files == ()
    summary = table_summary(store)
    assert (summary.files, summary.size, summary.rows, summary.partitions, summary.buckets) == (9, sum(every), 63, 3, 3)
    add(table, data_file(store, 1, 1, file_size=5), p=1, bucket=4)
    more = table_summary(store)
    assert (more.files, more.partitions, more.buckets) == (10, 3, 4)
    empty = table_summary(table_of(tmp_path / "empty").store)
    assert (empty.snapshot, empty.files, empty.size, empty.partitions) == (None, 0, 0, 0)


def test_parts_of_the_timeline(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for n in range(5):
        add(table, data_file(table.store, n, n))
    found = timeline(table.store, 2)
    assert ([c.id for c in found.commits], found.count, found.hidden) == ([1, 2, 3], 5, 0)
    assert timeline(table.store, 9).commits == ()


@pytest.mark.parametrize(
    ("key", "bounds", "places"),
    [
        (DataType(Kind.DOUBLE), [(-0.0, 1.0), (1.0, 4.0)], [(0.0, 0.25), (0.25, 1.0)]),
        (DataType(Kind.DOUBLE), [(0.0, 1.0), (1.0, float("nan"))], [(0.0, 0.5), (0.5, 1.0)]),  # by rank
        (TimeType(Kind.TIMESTAMP, precision=9), [((0, 5), (0, 9)), ((0, 9), (7, 0))], [(0.0, 0.5), (0.5, 1.0)]),
        (STRING, [("a", "b"), ("b", "z")], [(0.0, 0.5), (0.5, 1.0)]),
    ],
    ids=["numbers", "nan", "moments", "texts"],
)
def test_places_of_keys_of_other_types(key: DataType, bounds: list[Any], places: list[Any], tmp_path: Path) -> None:
    catalog, name = FileSystemCatalog(LocalFileIO(), str(tmp_path)), Identifier("default", "t")
    catalog.create_table(name, new_table_schema(fields(k=key), options=ONE))
    table = catalog.load_table(name)
    files = [
        data_file(table.store, 0, 0, min_key=encode_row([key], [low]), max_key=encode_row([key], [high]), level=n)
        for n, (low, high) in enumerate(bounds, 1)
    ]
    add(table, *files)
    (bucket,) = lsm_map(table.store).buckets
    assert [(s.start, s.end) for run in bucket.runs for s in run.spans] == places


@pytest.mark.parametrize("strategy", [Strategy.FULL, Strategy.MINOR])
def test_a_bucket_before_and_after_a_compaction(strategy: Strategy, tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**ONE, "num-sorted-run.compaction-trigger": "3"})
    for n in range(3):
        lake.insert(n * 10, n * 10 + 5)
    (before,) = lsm_map(lake.table.store, compaction=strategy).buckets
    assert before.due == 3 and before.then is not None
    lake.call("compact", table="t", compact_strategy=strategy.value)
    (after,) = lsm_map(lake.table.store).buckets
    (planned,), (made,) = before.then.runs, after.runs
    assert planned.level == made.level == before.output_level
    keys = [(s.first_key, s.last_key, s.rows) for s in planned.spans]
    assert keys == [(s.first_key, s.last_key, s.rows) for s in made.spans]
    assert before.then.size == before.size and before.then.due == 0
    assert lsm_map(lake.table.store, compaction=strategy).buckets[0].then is None, "it has nothing to do"


def test_files_of_other_levels_stay_in_a_minor_compaction(tmp_path: Path) -> None:
    table = table_of(tmp_path, **ONE, **{"num-sorted-run.compaction-trigger": "2", "write-only": "true"})
    add(table, data_file(table.store, 0, 99, level=5, rows=100, file_size=100_000_000))
    for n in range(3):
        add(table, data_file(table.store, n, n + 20, rows=1, max_sequence_number=n))
    (found,) = lsm_map(table.store, compaction=Strategy.MINOR).buckets
    assert found.then is not None
    levels = [run.level for run in found.then.runs]
    assert levels[-1] == 5 and len(levels) == 2 and sum(s.rows for s in found.then.runs[0].spans) == 3
    assert (found.then.runs[0].spans[0].first_key, found.then.runs[0].spans[0].last_key) == ("[0]", "[22]")
