"""The choice of sorted runs to compact: universal compaction, and options that add to it. Pure.

    full-compaction.delta-commits       every write is followed by a full compaction
    compaction.optimization-interval    a full compaction, if the last one is longer ago
    compaction.total-size-threshold     a full compaction, while the bucket is smaller
    compaction.incremental-size-threshold  a full compaction, if the files that are not compacted yet are larger
    compaction.force-up-level-0         no file stays at level 0

Source: Paimon's page "Compaction"; `lookup-compact` = gentle leaves level-0 files until there are several.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from paimon_core.lazy import ImportedOnCall
from paimon_core.options import (
    CHANGELOG_PRODUCER,
    DELETION_VECTOR_MERGE_ON_READ,
    DELETION_VECTORS,
    DELTA_COMMITS,
    FORCE_LOOKUP,
    FORCE_UP_LEVEL_0,
    IGNORE_DELETE,
    INCREMENTAL_SIZE_THRESHOLD,
    LOOKUP_COMPACT,
    LOOKUP_MAX_INTERVAL,
    MERGE_ENGINE,
    NUM_SORTED_RUN_TRIGGER,
    OFFPEAK_END,
    OFFPEAK_RATIO,
    OFFPEAK_START,
    OPTIMIZATION_INTERVAL,
    SEQUENCE_FIELD,
    TOTAL_SIZE_THRESHOLD,
    TableOptions,
)

if TYPE_CHECKING:
    from paimon_core.lsm.compaction import CompactUnit, LevelRun, max_level, pick_full, pick_universal, pick_young
else:
    max_level = ImportedOnCall("paimon_core.lsm.compaction", "max_level")
    pick_full = ImportedOnCall("paimon_core.lsm.compaction", "pick_full")
    pick_universal = ImportedOnCall("paimon_core.lsm.compaction", "pick_universal")
    pick_young = ImportedOnCall("paimon_core.lsm.compaction", "pick_young")


class Strategy(StrEnum):
    """The kind of compaction. FULL merges all runs into one. MINOR merges runs that are due. WRITE is MINOR after a
    write.
    """

    FULL = "full"
    MINOR = "minor"
    WRITE = "write"


def pick(
    runs: Sequence[LevelRun],
    options: TableOptions,
    strategy: Strategy,
    now: datetime,
    outdated: frozenset[str] = frozenset(),
) -> CompactUnit | None:
    """Choose what to compact among a bucket's runs, given from young to old; return None if no compaction is due.

    `now` is the wall clock's time. `outdated` names files with deleted or expired rows, which a full compaction
    rewrites.
    """
    if strategy is Strategy.FULL or (strategy is Strategy.WRITE and options[DELTA_COMMITS] > 0):
        return pick_full(runs, options, outdated)
    if _early_full(runs, options, now):
        return pick_full(runs, options)
    unit = pick_universal(runs, options, extra_ratio=_offpeak_ratio(options, now.hour))
    return unit if unit is not None or not _level_0_is_due(runs, options) else pick_young(runs, options)


def _early_full(runs: Sequence[LevelRun], options: TableOptions, now: datetime) -> bool:
    if len(runs) < 2:
        return False
    last = max_level(runs, options)
    total, done = sum(r.size for r in runs), sum(r.size for r in runs if r.level == last)
    interval = options[OPTIMIZATION_INTERVAL]
    made = [f.creation_time for r in runs if r.level == last for f in r.files if f.creation_time is not None]
    if interval and (not made or now - max(made) > timedelta(milliseconds=interval)):
        return True
    growth = options[INCREMENTAL_SIZE_THRESHOLD]
    return total < options[TOTAL_SIZE_THRESHOLD] or 0 < growth < total - done


def _level_0_is_due(runs: Sequence[LevelRun], options: TableOptions) -> bool:
    young = sum(r.level == 0 for r in runs)
    if waits_for_compaction(options):
        trigger = options[NUM_SORTED_RUN_TRIGGER]
        patience = max(trigger, options[LOOKUP_MAX_INTERVAL] or 2 * trigger)
        return young >= (1 if options[LOOKUP_COMPACT] == "radical" else patience)
    return young > 0 and options[FORCE_UP_LEVEL_0]


def waits_for_compaction(options: TableOptions) -> bool:
    """Return whether readers wait for a compaction to look up older rows before they see level-0 rows or their
    changes.
    """
    hidden = hides_level_0(options) or options[DELETION_VECTORS]
    return hidden or options[CHANGELOG_PRODUCER] == "lookup" or options[FORCE_LOOKUP]


def hides_level_0(options: TableOptions) -> bool:
    """Return whether batch scans of a table with a primary key skip level 0.

    Level-0 rows are not compared with older rows yet. So deletion vectors do not mark the older rows that they replace,
    and with the engine first-row, older rows may make them invalid.
    """
    if options[DELETION_VECTORS]:
        return not options[DELETION_VECTOR_MERGE_ON_READ]
    return options[MERGE_ENGINE] == "first-row"


def looks_up(options: TableOptions, unit: CompactUnit) -> bool:
    """Return whether a compaction of this unit must look up older rows of its level-0 keys outside of the unit."""
    return waits_for_compaction(options) and unit.output_level > 0 and any(f.level == 0 for f in unit.files)


def holds_whole_rows(options: TableOptions) -> bool:
    """Return whether a row above level 0 includes all older rows of its key.

    The compaction that wrote the row looked the older rows up. Another merge with them would count them twice, or would
    ignore a delete that had replaced them.
    """
    replaces = newest_wins(options) and not options[IGNORE_DELETE]
    return waits_for_compaction(options) and not replaces


def newest_wins(options: TableOptions) -> bool:
    """Return whether the newest row of a key replaces all older rows, independent of their values."""
    return options[MERGE_ENGINE] == "deduplicate" and not options[SEQUENCE_FIELD]


def _offpeak_ratio(options: TableOptions, hour: int) -> int:
    start, end = options[OFFPEAK_START], options[OFFPEAK_END]
    if start < 0 or end < 0 or start == end:
        return 0
    inside = start <= hour < end if start < end else hour >= start or hour < end
    return options[OFFPEAK_RATIO] if inside else 0


def makes_changelog(options: TableOptions, unit: CompactUnit) -> bool:
    """Return whether a compaction of this unit writes changelog files."""
    match options[CHANGELOG_PRODUCER]:
        case "full-compaction":
            return unit.output_level == unit.max_level
        case "lookup":
            return unit.output_level > 0 and any(f.level == 0 for f in unit.files)
        case _:
            return False


def is_published(options: TableOptions, level: int, last: int) -> bool:
    """Return whether the changelog already has the rows of a level."""
    return level == last if options[CHANGELOG_PRODUCER] == "full-compaction" else level > 0
