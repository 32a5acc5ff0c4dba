from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from paimon_core.scan.limits import sample_of_files
from paimon_core.scan.plan import Plan
from paimon_core.spec.split import SplitKind
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store


def planned(store: TableStore) -> Plan:
    return Table(store).plan(Table(store).latest_snapshot())


def names(plan: Plan) -> set[str]:
    return {f.file_name for s in plan.splits for f in s.files}


def test_parts_of_the_numbers_divide_the_files(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    files = [data_file(store, i, i, level=5, file_name=f"{i}.parquet") for i in range(400)]
    Table(store).commit([message(store, *files)], info())
    plan = planned(store)
    bounds = (0.0, 0.1, 0.35, 1.0)
    parts = [names(sample_of_files(store, plan, low, high, 7)) for low, high in zip(bounds, bounds[1:], strict=False)]
    assert set().union(*parts) == names(plan) and sum(map(len, parts)) == 400
    assert [abs(len(part) - expected) < 40 for part, expected in zip(parts, (40, 100, 260), strict=True)] == [True] * 3
    assert names(sample_of_files(store, plan, 0, 0.35, 7)) == parts[0] | parts[1]
    assert names(sample_of_files(store, plan, 0, 0.5, 8)) != names(sample_of_files(store, plan, 0, 0.5, 7))
    assert names(sample_of_files(store, plan, 0, 1, 7)) == names(plan)
    assert sample_of_files(store, plan, 0, 0, 7).splits == ()


def test_each_seed_takes_other_files(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    files = [data_file(store, i, i, level=5, file_name=f"{i}.parquet") for i in range(100)]
    Table(store).commit([message(store, *files)], info())
    plan = planned(store)
    samples = [names(sample_of_files(store, plan, 0, 0.5, seed)) for seed in range(10)]
    assert all(10 < len(one & other) < 40 for i, one in enumerate(samples) for other in samples[:i])


def test_files_that_share_keys_stay_together(tmp_path: Path) -> None:
    store = new_store(tmp_path, primary_key="k,p", partition="p", bucket="1")
    files = [data_file(store, p, p + 1, file_name=f"{p}-{i}.parquet") for p in range(40) for i in range(3)]
    Table(store).commit([message(store, *files[p * 3 : p * 3 + 3], p=p) for p in range(40)], info())
    plan = planned(store)
    assert len(plan.splits) == 40 and all(split.needs_merge for split in plan.splits)
    found = names(sample_of_files(store, plan, 0, 0.5, 1))
    assert 0 < len(found) < 120
    assert all(len({f"{p}-{i}.parquet" for i in range(3)} & found) in (0, 3) for p in range(40))


def test_partitions_with_only_postponed_rows_are_in_samples(tmp_path: Path) -> None:
    """The splits of postponed rows have no other files."""
    store = new_store(tmp_path, primary_key="k,p", partition="p", bucket="1")
    Table(store).commit([message(store, data_file(store, 0, 9), p=p) for p in range(40)], info())
    plan = planned(store)
    waiting = (replace(s, kind=SplitKind.POSTPONED, needs_merge=True, files=(), before=s.files) for s in plan.splits)
    plan = replace(plan, splits=tuple(waiting))
    parts = [sample_of_files(store, plan, low, high, 3).splits for low, high in ((0.0, 0.5), (0.5, 1.0))]
    assert all(parts) and sorted(map(hash, (*parts[0], *parts[1]))) == sorted(map(hash, plan.splits))
