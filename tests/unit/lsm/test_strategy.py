"""When buckets are compacted, by the options that say so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from paimon_core.lsm.compaction import CompactUnit, level_runs
from paimon_core.lsm.strategy import Strategy, pick
from paimon_core.options import TableOptions
from paimon_core.spec.manifest import DataFileMeta

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def file(level: int, size: int, age: int = 0, hours: int = 0) -> DataFileMeta:
    return DataFileMeta(
        file_name=f"{level}-{size}-{age}",
        file_size=size,
        row_count=1,
        min_sequence_number=100 - age,
        max_sequence_number=100 - age,
        schema_id=0,
        level=level,
        creation_time=NOW - timedelta(hours=hours),
        delete_row_count=0,
    )


def picked(files: list[DataFileMeta], strategy: Strategy = Strategy.WRITE, **options: str) -> CompactUnit | None:
    spelled = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
    return pick(level_runs(files), TableOptions(spelled), strategy, NOW)


SMALL_AND_LARGE = [file(0, 10), file(5, 1000, 50, hours=2)]


@pytest.mark.parametrize(
    ("options", "level"),
    [
        ({}, None),
        ({"full_compaction__delta_commits": "3"}, 5),
        ({"compaction__optimization_interval": "1 h"}, 5),
        ({"compaction__optimization_interval": "3 h"}, None),
        ({"compaction__total_size_threshold": "2 kb"}, 5),
        ({"compaction__total_size_threshold": "1010 b"}, None),
        ({"compaction__incremental_size_threshold": "9 b"}, 5),
        ({"compaction__incremental_size_threshold": "10 b"}, None),
        ({"compaction__force_up_level_0": "true"}, 4),
        ({"changelog_producer": "lookup"}, 4),
        ({"changelog_producer": "lookup", "lookup_compact": "gentle"}, None),
        ({"force_lookup": "true"}, 4),
        ({"merge_engine": "first-row"}, 4),
        ({"deletion_vectors__enabled": "true"}, 4),
        ({"changelog_producer": "full-compaction"}, None),
    ],
)
def test_what_follows_a_write(options: dict[str, str], level: int | None) -> None:
    unit = picked(SMALL_AND_LARGE, **options)
    assert (unit and unit.output_level) == level
    assert unit is None or unit.drop_delete is (level == 5)


def test_minor_does_not_count_commits() -> None:
    assert picked(SMALL_AND_LARGE, Strategy.MINOR, full_compaction__delta_commits="1") is None
    unit = picked(SMALL_AND_LARGE, Strategy.FULL)
    assert unit is not None and len(unit.files) == 2


def test_gentle_waits_for_several_files() -> None:
    files = [file(5, 10**9, 90), *(file(0, 10**6 * 3**i, i) for i in range(9))]
    options = {"changelog_producer": "lookup", "lookup_compact": "gentle", "num_sorted_run__compaction_trigger": "99"}
    unit = picked(files, **options, lookup_compact__max_interval="9")
    assert unit is None, "never less than the trigger"
    unit = picked(files, **options | {"num_sorted_run__compaction_trigger": "4", "num_levels": "6"})
    assert unit is not None


def test_one_run_on_its_level_stays() -> None:
    for strategy in Strategy:
        assert picked([file(5, 10)], strategy, compaction__optimization_interval="1 ms") is None
        assert picked([], strategy, changelog_producer="lookup") is None


@pytest.mark.parametrize(("start", "end", "count"), [("11", "13", 6), ("22", "13", 6), ("13", "22", None)])
def test_off_peak_hours_take_larger_runs(start: str, end: str, count: int | None) -> None:
    sizes = [100, 140, 300, 700, 1500, 10**6]
    files = [*(file(0, s, i) for i, s in enumerate(sizes[:-1])), file(5, 10**6, 50)]
    hours = {"compaction__offpeak__start__hour": start, "compaction__offpeak__end__hour": end}
    more = {"compaction__max_size_amplification_percent": "100000000", "num_sorted_run__compaction_trigger": "6"}
    assert picked(files, **more) is None
    unit = picked(files, compaction__offpeak_ratio="100000", **hours, **more)
    assert (unit and len(unit.files)) == (count if count is None else len(files))
