"""Tables whose compactions mark replaced rows: what is read, raw and merged, is what a plain model says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, CorruptFileError
from paimon_core.expressions.predicate import And, Compare
from paimon_core.lsm.strategy import Strategy, hides_level_0
from paimon_core.scan.read import read_split
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.indexes.index_files import index_entries
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job, live_buckets
from paimon_core.write.writer import open_writer
from tests.support.examples import examples
from tests.support.executors import run_job
from tests.support.tables import new_store

Row = tuple[int, int | None, int | None]  # k, p, n
Change = tuple[Row, int]
MERGE_ON_READ = {"deletion-vectors.merge-on-read": "true"}
COLUMNS = ["k", "p", "n"]


def dv_table(root: Path, **options: str) -> Table:
    spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    defaults = {"primary-key": "k", "bucket": "1", "deletion-vectors.enabled": "true"}
    return Table(new_store(root, **defaults | {"num-sorted-run.compaction-trigger": "3"} | spelled))


def written(table: Table, changes: list[Change]) -> list[CommitMessage]:
    k, p, n = zip(*(row for row, _ in changes), strict=True)
    arrays = [pa.array(k, pa.int32()), pa.nulls(len(k), pa.string()), pa.array(p, pa.int32()), pa.array(n, pa.int64())]
    batch = pa.record_batch(arrays, names=["k", "v", "p", "n"])
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    writer.write(batch.append_column("_VALUE_KIND", pa.array([kind for _, kind in changes], pa.int8())))
    return writer.finish()


def write(table: Table, changes: list[Change]) -> Snapshot | None:
    return table.commit(written(table, changes), CommitInfo(user="writer")) if changes else None


def compacted(table: Table, strategy: Strategy) -> list[CommitMessage]:
    buckets = live_buckets(table.store, table.latest_snapshot(), PartitionFilter(()))
    return run_job(compaction_job(table.store, buckets, strategy))


def compact(table: Table, strategy: Strategy = Strategy.WRITE) -> Snapshot | None:
    return table.commit(compacted(table, strategy), CommitInfo(user="compactor"))


def read(table: Table, **options: str) -> list[Any]:
    table = table.with_options(options) if options else table
    plan = table.plan(table.latest_snapshot())
    batches = [b for s in plan.splits for b in read_split(table.store, s, COLUMNS)]
    rows = sorted((tuple(r.values()) for b in batches for r in b.to_pylist()), key=lambda r: r[0])
    assert plan.row_count in (None, len(rows))
    return rows


def newest(rows: list[Change]) -> Change:
    return rows[-1]


def largest(rows: list[Change]) -> Change:
    return max(enumerate(rows), key=lambda r: (r[1][0][2] is not None, r[1][0][2] or 0, r[0]))[1]


def added(rows: list[Change]) -> Change:
    known = [r[2] for r, _ in rows if r[2] is not None]
    return (rows[-1][0][0], rows[-1][0][1], sum(known) if known else None), 0


def filled(rows: list[Change]) -> Change:
    p, n = ([r[i] for r, _ in rows if r[i] is not None] for i in (1, 2))
    return (rows[0][0][0], p[-1] if p else None, n[-1] if n else None), 0


def first(rows: list[Change]) -> Change:
    return rows[0]


# options, how rows of a key become one, whether there are deletes
TABLES: dict[str, tuple[dict[str, str], Callable[[list[Change]], Change], bool]] = {
    "deduplicate": ({}, newest, True),
    "small files": ({"target-file-size": "8 kb", "deletion-vectors.bitmap64": "true"}, newest, True),
    "lookup": ({"changelog-producer": "lookup", "target-file-size": "8 kb"}, newest, True),
    "sequence": ({"sequence.field": "n"}, largest, True),
    "aggregation": (
        {
            "merge-engine": "aggregation",
            "fields.n.aggregate-function": "sum",
            "fields.p.aggregate-function": "last_value",
        },
        added,
        False,
    ),
    "partial-update": ({"merge-engine": "partial-update"}, filled, False),
    "aggregation, lookup": (
        {
            "merge-engine": "aggregation",
            "fields.n.aggregate-function": "sum",
            "fields.p.aggregate-function": "last_value",
            "changelog-producer": "lookup",
            "deletion-vectors.enabled": "false",
        },
        added,
        False,
    ),
    "force-lookup": (
        {
            "merge-engine": "aggregation",
            "fields.n.aggregate-function": "sum",
            "fields.p.aggregate-function": "last_value",
            "force-lookup": "true",
            "deletion-vectors.enabled": "false",
        },
        added,
        False,
    ),
    "first-row": ({"merge-engine": "first-row", "deletion-vectors.enabled": "false"}, first, False),
    "first-row, lookup": (
        {
            "merge-engine": "first-row",
            "deletion-vectors.enabled": "false",
            "changelog-producer": "lookup",
            "target-file-size": "8 kb",
        },
        first,
        False,
    ),
}
numbers = st.none() | st.integers(0, 9)
rows = st.lists(st.tuples(st.tuples(st.integers(0, 25), numbers, numbers), st.sampled_from([0, 0, 0, 3])), max_size=12)
histories = st.lists(st.tuples(rows, st.sampled_from(["", *Strategy])), max_size=5)


@pytest.mark.parametrize("kind", TABLES)
def test_reads_are_what_the_model_says(tmp_path: Path, kind: str) -> None:
    options, merge, deletes = TABLES[kind]
    count = 0

    @settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(histories)
    def check(history: list[tuple[list[Change], str]]) -> None:
        nonlocal count
        count += 1
        table = dv_table(tmp_path / str(count), **options)
        # large enough to stay where it is while small files above it are compacted
        start = [((k, k, k % 10), 0) for k in range(0, 4000, 2)]
        write(table, start)
        compact(table, Strategy.FULL)
        live: dict[int, Change] = {change[0][0]: change for change in start}
        unmerged: list[Change] = []
        for changes, strategy in history:
            news = [(row, kind if deletes else 0) for row, kind in changes]
            write(table, news)
            unmerged += news
            merged = dict(live)
            for key in {row[0] for row, _ in unmerged}:
                known = [live[key]] if key in live else []
                merged[key] = merge(known + [c for c in unmerged if c[0][0] == key])
            merged = {k: c for k, c in merged.items() if c[1] == 0}
            if strategy:
                compact(table, Strategy(strategy))
                live, unmerged = merged, []
                assert all(e.file.level > 0 for e in live_files(table.store, table.latest_snapshot()).values())
            hidden = live if hides_level_0(table.store.options) else merged
            assert read(table) == sorted(row for row, _ in hidden.values())
            if "first" not in options.get("merge-engine", ""):
                assert read(table, **MERGE_ON_READ) == sorted(row for row, _ in merged.values())

    check()


def marked(table: Table) -> dict[str, int | None]:
    """How many rows of which data files are marked."""
    entries = index_entries(table.store, table.latest_snapshot())
    return {v.data_file: v.cardinality for e in entries for v in e.file.dv_ranges or ()}


@pytest.mark.parametrize("bitmap64", ["false", "true"])
def test_marks_come_and_go_with_their_files(tmp_path: Path, bitmap64: str) -> None:
    table = dv_table(tmp_path, deletion_vectors__bitmap64=bitmap64, num_sorted_run__compaction_trigger="5")
    write(table, [((k, k, 0), 0) for k in range(5000)])
    compact(table)
    (base,) = live_files(table.store, table.latest_snapshot()).values()
    assert not marked(table)
    write(table, [((k, k, 1), 0) for k in (0, 7, 4999, 9000)])
    assert len(read(table)) == 5000, "rows show once they are compacted"
    made = compact(table)
    assert made is not None and made.commit_kind is CommitKind.COMPACT
    assert marked(table) == {base.file.file_name: 3}
    write(table, [((7, None, None), 3), ((8, None, None), 3), ((12345, None, None), 3)])
    compact(table)
    assert marked(table)[base.file.file_name] == 4 and len(read(table)) == 4999
    assert len(index_entries(table.store, table.latest_snapshot())) == 1, "a bucket has one index file"
    before = read(table)
    assert compact(table, Strategy.FULL) is not None
    assert compact(table, Strategy.FULL) is None
    assert not marked(table) and read(table) == before
    (entry,) = live_files(table.store, table.latest_snapshot()).values()
    assert entry.file.row_count == 4999


def test_a_full_compaction_rewrites_marked_files_of_the_last_level(tmp_path: Path) -> None:
    table = dv_table(tmp_path, target_file_size="8 kb")
    write(table, [((k, k, k % 3), 0) for k in range(5000)])
    compact(table, Strategy.FULL)
    names = {e.file.file_name for e in live_files(table.store, table.latest_snapshot()).values()}
    write(table, [((1, 1, 1), 0), ((4999, 1, 1), 0)])
    compact(table)
    assert len(names) > 2 and marked(table).keys() < names
    with_deletes = marked(table).keys()
    for _ in range(2):
        compact(table, Strategy.FULL)
    kept = {e.file.file_name for e in live_files(table.store, table.latest_snapshot()).values()}
    assert not marked(table) and not with_deletes & kept
    assert [r for r in read(table) if r[1] == 1] == [(1, 1, 1), (4999, 1, 1)]


def test_of_two_compactions_one_wins(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    write(table, [((k, k, 0), 0) for k in range(3000)])
    compact(table, Strategy.FULL)
    write(table, [((1, 1, 1), 0)])
    one, other = compacted(table, Strategy.WRITE), compacted(table, Strategy.WRITE)
    table.commit(one, CommitInfo(user="one"))
    with pytest.raises(CommitConflictError, match="no longer live"):
        table.commit(other, CommitInfo(user="other"))
    table.abort(other)
    assert read(table)[:2] == [(0, 0, 0), (1, 1, 1)]


def test_damaged_marks_stop_a_compaction(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    write(table, [((k, k, 0), 0) for k in range(3000)])
    compact(table, Strategy.FULL)
    write(table, [((1, 1, 1), 0)])
    compact(table)
    (path,) = tmp_path.rglob("index/index-*")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    files = sorted(tmp_path.rglob("*.parquet"))
    write(table, [((2, 1, 1), 0)])
    with pytest.raises(CorruptFileError, match="checksum"):
        compacted(table, Strategy.WRITE)
    assert len(sorted(tmp_path.rglob("*.parquet"))) == len(files) + 1


def test_row_groups_are_left_out_of_files_with_marks(tmp_path: Path) -> None:
    table = dv_table(tmp_path, num_sorted_run__compaction_trigger="5")
    write(table, [((k, k, k), 0) for k in range(300_000)])
    compact(table, Strategy.FULL)
    write(table, [((k, -1, -1), 0) for k in (5, 70_000, 200_000, 299_999)])
    compact(table)
    (split,) = (s for s in table.plan(table.latest_snapshot()).splits if s.deletions)
    for condition, expected in (
        (Compare("n", ">", 250_000), 49_998),
        (And((Compare("n", ">=", 199_999), Compare("n", "<=", 200_001))), 2),
        (Compare("n", "<", 10), 9),
    ):
        reader = BucketFiles(table.store, split.bucket_dir, table.schema.fields, condition, split.deletions_by_file)
        rows = sum(b.num_rows for b in reader.read([f for f in split.files if f.level == 5]))
        assert rows == expected
