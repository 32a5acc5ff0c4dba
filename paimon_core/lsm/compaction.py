"""Choose the files of a bucket to compact, their new level, and the files that need no rewriting: pure decisions.

Universal compaction works on sorted runs from young to old: each level-0 file is a run, each higher level is one.
A run joins if the younger runs together are about as large as the run; all runs are merged if the younger runs are
larger than the oldest. Source: specification, "LSM Trees"; RocksDB, "Universal Compaction".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from paimon_core.dataclass import dataclass
from paimon_core.lsm.runs import SortedRun, age, sections
from paimon_core.options import (
    FORCE_REWRITE,
    MAX_SIZE_AMPLIFICATION,
    NUM_LEVELS,
    NUM_SORTED_RUN_TRIGGER,
    SIZE_RATIO,
    TableOptions,
)
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import DataType


@dataclass(frozen=True, slots=True)
class LevelRun:
    """A sorted run and its level."""

    level: int
    files: tuple[DataFileMeta, ...]

    @property
    def size(self) -> int:
        return sum(f.file_size for f in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactUnit:
    """A compaction: files, their new level, and whether deletes are dropped because no older row remains.

    `separately`: every file is rewritten by itself, because the files between them stay.
    """

    files: tuple[DataFileMeta, ...]
    output_level: int
    drop_delete: bool
    max_level: int
    separately: bool = False


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Merge these sections, in key order, into new files."""

    sections: tuple[tuple[SortedRun, ...], ...]

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        return tuple(f for section in self.sections for run in section for f in run.files)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Keep this file and give it the output level."""

    file: DataFileMeta


def level_runs(files: Iterable[DataFileMeta]) -> list[LevelRun]:
    """The sorted runs of a bucket, from young to old."""
    by_level: dict[int, list[DataFileMeta]] = {}
    for file in files:
        by_level.setdefault(file.level, []).append(file)
    newest_first = sorted(by_level.pop(0, []), key=age, reverse=True)
    young = [LevelRun(0, (f,)) for f in newest_first]
    return young + [LevelRun(level, tuple(by_level[level])) for level in sorted(by_level)]


def max_level(runs: Sequence[LevelRun], options: TableOptions) -> int:
    """Return the highest level of a bucket's files, or the level of full compaction if that is higher."""
    return max(last_level(options), max((r.level for r in runs), default=0))


def last_level(options: TableOptions) -> int:
    """The level that full compaction writes to."""
    return (options[NUM_LEVELS] or options[NUM_SORTED_RUN_TRIGGER] + 1) - 1


def pick_full(
    runs: Sequence[LevelRun], options: TableOptions, outdated: frozenset[str] = frozenset()
) -> CompactUnit | None:
    """Return all runs, to be merged into the last level.

    If all files are in the last level already, return the `outdated` files only, or all files if the options require
    it; None if there is nothing to rewrite."""
    last = max_level(runs, options)
    if not runs or runs[0].level < last or options[FORCE_REWRITE]:
        return _unit(runs, len(runs), last, last) if runs else None
    unit = _unit(runs, 1, last, last)
    files = tuple(f for f in unit.files if f.file_name in outdated)
    return replace(unit, files=files, separately=True) if files else None


def pick_universal(runs: Sequence[LevelRun], options: TableOptions, *, extra_ratio: int = 0) -> CompactUnit | None:
    """Return the next unit of universal compaction, or None if no compaction is due. `extra_ratio` is added to the size
    ratio of the options.
    """
    trigger, last = options[NUM_SORTED_RUN_TRIGGER], max_level(runs, options)
    if len(runs) < trigger or not runs:
        return None
    young = sum(r.size for r in runs[:-1])
    if young * 100 > options[MAX_SIZE_AMPLIFICATION] * runs[-1].size:
        unit = _unit(runs, len(runs), last, last)
    else:
        ratio = options[SIZE_RATIO] + extra_ratio
        count = _count_by_ratio(runs, 1, ratio)
        if count == 1 and len(runs) > trigger:
            count = _count_by_ratio(runs, len(runs) - trigger + 1, ratio)
        if count == 1:
            return None
        unit = _with_output_level(runs, count, last)
    moves = len(unit.files) > 1 or unit.files[0].level != unit.output_level
    return unit if moves else None


def pick_young(runs: Sequence[LevelRun], options: TableOptions) -> CompactUnit | None:
    """Return all level-0 files, and older runs that are not much larger. Return None if there are no level-0 files."""
    count = sum(r.level == 0 for r in runs)
    if not count:
        return None
    count = _count_by_ratio(runs, count, options[SIZE_RATIO], forced=True)
    return _with_output_level(runs, count, max_level(runs, options))


def plan_rewrites(
    unit: CompactUnit,
    key_types: Sequence[DataType],
    small: int,
    *,
    every: bool = False,
    expired: frozenset[str] = frozenset(),
) -> list[Rewrite | Upgrade]:
    """Divide a unit into steps.

    Sections with overlaps and files below `small` bytes are rewritten, together if they are neighbours. A file without
    overlaps only changes its level, unless it is `expired`. With `every`, all files are rewritten."""
    if unit.separately:
        return [Rewrite(((SortedRun((f,)),),)) for f in unit.files]
    steps: list[Rewrite | Upgrade] = []
    pending: list[tuple[SortedRun, ...]] = []
    parts = sections(unit.files, key_types)
    if every:
        return [Rewrite(tuple(map(tuple, parts)))]
    for section in parts:
        if len(section) > 1:
            pending.append(tuple(section))
            continue
        for file in section[0].files:
            if file.file_size < small:
                pending.append((SortedRun((file,)),))
            else:
                steps += _rewrite(pending, unit, expired)
                pending = []
                steps += _upgrade(file, unit, expired)
    return steps + _rewrite(pending, unit, expired)


def pick_append(
    files: Sequence[DataFileMeta],
    *,
    target: int,
    small: int,
    min_files: int,
    in_order: bool,
    outdated: frozenset[str] = frozenset(),
    most_rows: int = 2**63 - 1,
) -> list[tuple[DataFileMeta, ...]]:
    """Return groups of small files of an append bucket that are worth concatenating.

    Sizes are in bytes. A group of twice the `target` size is complete; a smaller group needs `min_files` files. A file
    with `most_rows` rows does not count as small. `outdated` files are chosen regardless of their size, even alone.
    With `in_order`, a group has only neighbouring files, for buckets with files that are read in order.
    """
    groups: list[tuple[DataFileMeta, ...]] = []
    group: list[DataFileMeta] = []

    def complete(least: int) -> None:
        if len(group) >= least or any(f.file_name in outdated for f in group):
            groups.append(tuple(group))
        group.clear()

    for file in files:
        if (file.file_size < small and file.row_count < most_rows) or file.file_name in outdated:
            group.append(file)
            if sum(f.file_size for f in group) >= 2 * target:
                complete(2)
        elif in_order:
            complete(min_files)
    complete(min_files)
    return groups


def _count_by_ratio(runs: Sequence[LevelRun], count: int, ratio: int, *, forced: bool = False) -> int:
    """Return how many of the youngest runs to compact together: at least `count`, or 1 if no compaction is due."""
    size = sum(r.size for r in runs[:count])
    for run in runs[count:]:
        is_due = forced or count > 1
        if size * (100 + ratio) < run.size * 100 and (not is_due or run.level > 1):
            break
        size += run.size
        count += 1
    return count


def _with_output_level(runs: Sequence[LevelRun], count: int, last: int) -> CompactUnit:
    """Put the output right above the next run, but never on level 0, where it would count as new."""
    level = last if count == len(runs) else max(0, runs[count].level - 1)
    while level == 0 and count < len(runs):
        level = runs[count].level
        count += 1
    return _unit(runs, count, last if count == len(runs) else level, last)


def _unit(runs: Sequence[LevelRun], count: int, level: int, last: int) -> CompactUnit:
    return CompactUnit(
        files=tuple(f for r in runs[:count] for f in r.files),
        output_level=level,
        drop_delete=level != 0 and level >= max(r.level for r in runs),
        max_level=last,
    )


def _rewrite(
    pending: list[tuple[SortedRun, ...]], unit: CompactUnit, expired: frozenset[str]
) -> list[Rewrite | Upgrade]:
    if len(pending) == 1 and len(pending[0]) == 1:
        return [step for file in pending[0][0].files for step in _upgrade(file, unit, expired)]
    return [Rewrite(tuple(pending))] if pending else []


def _upgrade(file: DataFileMeta, unit: CompactUnit, expired: frozenset[str]) -> list[Rewrite | Upgrade]:
    if file.file_name in expired or (unit.output_level == unit.max_level and file.delete_row_count != 0):
        return [Rewrite(((SortedRun((file,)),),))]
    return [Upgrade(file)] if file.level != unit.output_level else []
