from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.expressions.predicate import Compare
from paimon_core.scan.first_rows import FirstRows
from paimon_core.scan.limits import Order, first_rows, has_sql_order, least_rows, top_rows
from paimon_core.scan.plan import Plan
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.split import SplitKind
from paimon_core.spec.stats import EMPTY_STATS, ColumnStats, encode_stats
from paimon_core.spec.types import INT, DataField, parse_type
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store


def planned(store: TableStore) -> Plan:
    table = Table(store)
    return table.plan(table.latest_snapshot())


def names(plan: Plan) -> set[str]:
    return {f.file_name for s in plan.splits for f in s.files}


def test_the_first_rows_are_in_few_files(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    files = [data_file(store, i, i, rows=10, file_name=f"{i}.parquet") for i in range(5)]
    Table(store).commit([message(store, *files[:3]), message(store, *files[3:], p=1)], info())
    plan = planned(store)
    assert [first_rows(store, plan, n).files_kept for n in (0, 1, 10, 11, 49, 50, 51)] == [0, 1, 1, 2, 5, 5, 5]
    assert first_rows(store, plan, 51) is plan
    assert len(first_rows(store, plan, 31).splits) == len(plan.splits)
    filtered = Table(store).plan(plan.snapshot, Compare("k", ">", 0))
    assert first_rows(store, filtered, 1) is filtered


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_the_top_rows_are_in_the_files_kept(tmp_path: Path, descending: bool, nulls_first: bool) -> None:
    """Against the values themselves: files that hold one of the top rows are kept, and of many others some go."""
    random.seed(7)
    store, order, left_out = new_store(tmp_path), Order("k", descending, nulls_first), 0
    for step in range(25):
        rows = {f"{step}-{i}.parquet": _values() for i in range(random.randint(1, 6))}
        files = [_file(store, name, values) for name, values in rows.items()]
        table = Table(new_store(tmp_path / str(step)))
        table.commit([message(store, *files)], info())
        count = random.randint(1, 12)
        plan = planned(table.store)
        kept = names(top_rows(table.store, plan, order, count))
        ranked = sorted(_rank(v, order) for values in rows.values() for v in values)
        held = sorted(_rank(v, order) for name in kept for v in rows[name])[:count]
        assert held == ranked[:count]
        left_out += len(rows) - len(kept)
    assert left_out > 5


def test_nanoseconds_do_not_have_the_order_of_sql() -> None:
    """Spark orders by microseconds, so rows with one microsecond tie, and the next column decides."""
    types = {"INT": True, "STRING": True, "DOUBLE": False, "TIMESTAMP(6)": True, "TIMESTAMP(9)": False}
    for text, expected in types.items():
        assert has_sql_order(DataField(id=0, name="c", type=parse_type(text))) == expected


def test_without_statistics_all_files_are_read(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    unknown = data_file(store, 0, 0, rows=9, value_stats=EMPTY_STATS, value_stats_cols=None)
    Table(store).commit([message(store, unknown, data_file(store, 5, 5), data_file(store, 9, 9))], info())
    plan = planned(store)
    assert top_rows(store, plan, Order("k"), 1).files_kept == 2
    assert top_rows(store, plan, Order("k"), 3) is plan
    assert top_rows(store, plan, Order("nosuch"), 1) is plan


def keyed(tmp_path: Path, *runs: dict[int, bool], **options: str) -> TableStore:
    """Return a table of files with key ranges, one file for each run; a run has keys, and whether their row deletes."""
    store = new_store(tmp_path, primary_key="p,k", partition="p", bucket="1", **options)
    files = [
        data_file(store, min(run), max(run), rows=len(run), delete_row_count=sum(run.values()), min_sequence_number=i)
        for i, run in enumerate(runs)
    ]
    Table(store).commit([message(store, *files, p=0)], info())
    return store


def test_a_merge_leaves_the_rows_of_its_longest_run(tmp_path: Path) -> None:
    """Against the merged rows themselves: there are at least as many, and in the simple case as many."""
    dice = random.Random(11)
    for step in range(60):
        runs = [
            {k: dice.random() < 0.2 for k in dice.sample(range(30), dice.randint(1, 12))}
            for _ in range(dice.randint(2, 4))
        ]
        merged: dict[int, bool] = {}
        for run in runs:
            merged |= run
        store = keyed(tmp_path / str(step), *runs)
        least = sum(least_rows(store, s) for s in planned(store).splits)
        assert least <= sum(not deletes for deletes in merged.values())
        if not any(deletes for run in runs for deletes in run.values()):
            assert least >= max(map(len, runs))
    plain = keyed(tmp_path / "plain", dict.fromkeys(range(10), False), dict.fromkeys(range(5, 9), False))
    assert [least_rows(plain, s) for s in planned(plain).splits] == [10]


def test_the_number_of_deletes_may_be_unknown(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    older = [data_file(store, 0, 9, rows=10, delete_row_count=n) for n in (None, 0)]
    Table(store).commit([message(store, *older)], info())
    assert [least_rows(store, s) for s in planned(store).splits] == [0]


@pytest.mark.parametrize("descending", [False, True])
def test_the_first_rows_by_partition_are_in_few_partitions(tmp_path: Path, descending: bool) -> None:
    """Files with rows to merge have few statistics; their partition has one value."""
    store = new_store(tmp_path, primary_key="p,k", partition="p", bucket="1")
    parts = [1, 2, None, 3]
    for p in parts:
        files = [data_file(store, 0, 9, rows=10, delete_row_count=n) for n in (0, 1)]
        Table(store).commit([message(store, *files, p=p)], info())
    plan = planned(store)
    assert [top_rows(store, plan, Order("p", descending, False), n).files_kept for n in (1, 9, 10, 18, 27, 28)] == [
        *(2, 2, 4, 4, 6, 8)
    ]
    nulls_first = top_rows(store, plan, Order("p", descending, True), 9)
    wanted = {3 if descending else 1, None}
    assert {p for p in parts if any(s.partition == message(store, p=p).partition for s in nulls_first.splits)} == wanted
    assert first_rows(store, plan, 9).files_kept == 2


def postponed(store: TableStore, *partitions: int) -> Plan:
    """Return a plan with 10 rows in every partition from 0 to 3; rows of `partitions` wait for a bucket."""
    for p in range(4):
        Table(store).commit([message(store, data_file(store, 0, 9, rows=10, file_name=f"{p}.parquet"), p=p)], info())
    plan, waiting = planned(store), {message(store, p=p).partition for p in partitions}
    kind = {"kind": SplitKind.POSTPONED, "needs_merge": True}
    splits = (replace(s, files=(), before=s.files, **kind) if s.partition in waiting else s for s in plan.splits)
    return replace(plan, splits=tuple(splits))


@pytest.mark.parametrize("descending", [False, True])
def test_partitions_with_only_postponed_rows_are_kept(tmp_path: Path, descending: bool) -> None:
    """A split of postponed rows has no other files."""
    store = new_store(tmp_path, primary_key="p,k", partition="p", bucket="1")
    plan = postponed(store, 0, 3)
    by_partition = top_rows(store, plan, Order("p", descending), 1)
    first, second = ("3", "2") if descending else ("0", "1")
    assert {f.file_name[0] for s in by_partition.splits for f in (*s.files, *s.before)} == {first, second}
    by_key = top_rows(store, plan, Order("k", descending), 1)
    assert {s.partition for s in plan.splits if s.before} <= {s.partition for s in by_key.splits}
    assert first_rows(store, plan, 1).files_kept == 1 and first_rows(store, plan, 21) is plan


@pytest.mark.parametrize("option", ["scan.ignore-lost-files", "scan.ignore-corrupt-files"])
def test_rows_that_may_be_lost_do_not_count(tmp_path: Path, option: str) -> None:
    """A reader may skip the files that have the rows, so it needs the other files."""
    for name, options in (("plain", {}), ("keyed", {"primary_key": "k,p", "bucket": "1"})):
        store = new_store(tmp_path / name, partition="p", **options)
        files = [data_file(store, i, i, rows=5, file_name=f"{i}.parquet") for i in range(3)]
        Table(store).commit([message(store, f, p=p) for p, f in enumerate(files)], info())
        for order in (Order("k"), Order("p")):
            assert top_rows(store, planned(store), order, 5).files_kept < 3
            lenient = store.with_options({option: "true"})
            plan = planned(lenient)
            assert plan.row_count is None and plan.most_rows == 15
            assert first_rows(lenient, plan, 5) is plan
            assert top_rows(lenient, plan, order, 5) is plan


def test_orders_that_keep_other_files_are_described_otherwise() -> None:
    orders = [Order(c, d, n) for c in ("a", "b") for d in (False, True) for n in (False, True)]
    assert len({o.describe() for o in orders}) == 8
    assert Order("a", True, False).describe() == "a DESC NULLS LAST"


def test_tasks_stop_behind_the_first_rows() -> None:
    taken = []

    def batches() -> Iterator[pa.RecordBatch]:
        for keys in ([1, 1, 2], [2, 2], [2, 3], [4, 4]):
            taken.append(keys)
            yield pa.record_batch({"k": pa.array(keys, pa.int32())})

    def first(count: int, column: str | None = None) -> tuple[list[int], int]:
        taken.clear()
        found = [k for b in FirstRows(count, column).of(batches()) for k in b.column("k").to_pylist()]
        return found, len(taken)

    assert first(1) == ([1], 1)
    assert first(3) == ([1, 1, 2], 1)
    assert first(4) == ([1, 1, 2, 2], 2)
    assert first(1, "k") == ([1, 1], 1)
    assert first(3, "k") == ([1, 1, 2, 2, 2, 2], 3)
    assert first(7, "k") == ([1, 1, 2, 2, 2, 2, 3], 4)
    assert first(99, "k")[0] == first(99)[0] == [1, 1, 2, 2, 2, 2, 3, 4, 4]


def _values() -> list[int | None]:
    base = random.randint(0, 30)
    return [None if random.random() < 0.1 else base + random.randint(0, 4) for _ in range(random.randint(1, 5))]


def _rank(value: int | None, order: Order) -> tuple[int, int]:
    if value is None:
        return (-1 if order.nulls_first else 1), 0
    return 0, -value if order.descending else value


def _file(store: TableStore, name: str, values: list[int | None]) -> DataFileMeta:
    there = [v for v in values if v is not None]
    bounds = ColumnStats(min(there, default=None), max(there, default=None), values.count(None))
    return data_file(store, 0, 0, rows=len(values), file_name=name, value_stats=encode_stats([INT], [bounds]))
