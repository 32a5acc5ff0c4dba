"""Picking: which runs, which level, which files need no rewriting."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from paimon_core.lsm.compaction import (
    CompactUnit,
    Rewrite,
    Upgrade,
    level_runs,
    pick_append,
    pick_full,
    pick_universal,
    plan_rewrites,
)
from paimon_core.options import TableOptions
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import INT

OPTIONS = TableOptions({})  # 5 runs, levels 0 to 5
DAY = datetime(2024, 1, 1, tzinfo=UTC)


def file(level: int, size: int, *, sequence: int = 0, keys: tuple[int, int] = (0, 9), deletes: int = 0) -> DataFileMeta:
    return DataFileMeta(
        file_name=f"{level}-{size}-{sequence}-{keys}",
        file_size=size,
        row_count=1,
        min_key=encode_row([INT], [keys[0]]),
        max_key=encode_row([INT], [keys[1]]),
        min_sequence_number=sequence,
        max_sequence_number=sequence,
        schema_id=0,
        level=level,
        delete_row_count=deletes,
        creation_time=DAY,
    )


def young(*sizes: int) -> list[DataFileMeta]:
    """Level-0 files, the oldest first."""
    return [file(0, size, sequence=i) for i, size in enumerate(sizes)]


def picked(files: list[DataFileMeta]) -> tuple[int, int, bool] | None:
    """Number of files, output level, deletes dropped."""
    unit = pick_universal(level_runs(files), OPTIONS)
    return None if unit is None else (len(unit.files), unit.output_level, unit.drop_delete)


def test_runs_go_from_young_to_old() -> None:
    files = [file(5, 1), file(0, 2, sequence=1), file(0, 3, sequence=2), file(2, 4), file(5, 6, keys=(10, 11))]
    runs = level_runs(files)
    assert [(r.level, r.size) for r in runs] == [(0, 3), (0, 2), (2, 4), (5, 7)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], None),
        (young(1, 1, 1, 1), None),  # fewer runs than the trigger
        (young(1, 1, 1, 1, 1), (5, 5, True)),  # younger ones outweigh the oldest
        ([*young(1, 1, 1, 1), file(5, 1000)], (4, 4, False)),  # equal sizes go together, above the large one
        ([*young(100, 1, 1, 1), file(5, 1000)], (4, 4, False)),  # once begun, all of level 0 joins
        ([*young(1000, 100, 10, 1), file(5, 10_000)], None),  # each much larger than the younger ones
        ([*young(1000, 100, 10, 1), file(4, 3000), file(5, 10_000)], (4, 3, False)),  # too many runs
        ([*young(1, 1, 1, 1), file(1, 1000)], (5, 5, True)),  # never to level 0, so level 1 joins
    ],
)
def test_universal_picks(files: list[DataFileMeta], expected: tuple[int, int, bool] | None) -> None:
    assert picked(files) == expected


def test_full_takes_everything_once() -> None:
    unit = pick_full(level_runs([*young(1, 1), file(3, 5)]), OPTIONS)
    assert unit is not None
    assert (len(unit.files), unit.output_level, unit.drop_delete, unit.max_level) == (3, 5, True, 5)
    assert pick_full(level_runs([file(5, 5), file(5, 6, keys=(10, 20))]), OPTIONS) is None
    assert pick_full([], OPTIONS) is None


def test_levels_above_the_configured_ones_stay_in_use() -> None:
    unit = pick_full(level_runs([*young(1), file(8, 5)]), OPTIONS)
    assert unit is not None
    assert unit.output_level == 8


def unit_of(*files: DataFileMeta) -> CompactUnit:
    return CompactUnit(files=files, output_level=5, drop_delete=True, max_level=5)


def test_only_overlaps_and_small_files_are_rewritten() -> None:
    overlap = [file(0, 100, sequence=i, keys=(0, 5)) for i in range(2)]
    single, small = file(3, 100, keys=(6, 7)), [file(3, 1, keys=(k, k)) for k in (8, 9)]
    there = file(5, 100, keys=(10, 20))
    steps = plan_rewrites(unit_of(*overlap, single, *small, there), [INT], small=50)
    assert [type(s) for s in steps] == [Rewrite, Upgrade, Rewrite]
    assert steps[0].files == tuple(overlap)  # type: ignore[union-attr]
    assert steps[1] == Upgrade(single)
    assert steps[2].files == tuple(small)  # type: ignore[union-attr]


def test_a_file_with_deletes_is_rewritten_at_the_last_level_and_a_lone_small_one_upgraded() -> None:
    with_deletes = file(0, 100, deletes=1)
    (step,) = plan_rewrites(unit_of(with_deletes), [INT], small=50)
    assert isinstance(step, Rewrite)
    lone = file(0, 1)
    assert plan_rewrites(unit_of(lone), [INT], small=50) == [Upgrade(lone)]


def test_append_groups() -> None:
    def sizes(files: list[int], **given: int | bool) -> list[list[int]]:
        rules = {"target": 100, "small": 70, "min_files": 3, "in_order": False, **given}
        metas = [file(0, s, sequence=i) for i, s in enumerate(files)]
        return [[f.file_size for f in g] for g in pick_append(metas, **rules)]  # type: ignore[arg-type]

    assert sizes([10, 20]) == []
    assert sizes([10, 90, 20, 30]) == [[10, 20, 30]]
    assert sizes([10, 90, 20, 30], in_order=True) == []
    assert sizes([60, 60, 60, 60, 5, 6]) == [[60, 60, 60, 60]]
    assert sizes([60, 60, 60, 60, 5, 6], min_files=2) == [[60, 60, 60, 60], [5, 6]]
    assert sizes([10, 20, 30], most_rows=1) == [], "files that have all the rows they may have"
    assert sizes([]) == []
