"""Compaction and clustering."""

from __future__ import annotations

from paimon_core.options.option import (
    NO_NAMES,
    Change,
    Option,
    boolean,
    decimal_number,
    duration,
    integer,
    memory_size,
    names,
    one_of,
    optional,
)

CLUSTERING_COLUMNS = Option(
    "clustering.columns",
    names,
    NO_NAMES,
    "Columns that rows of append tables are sorted by.",
    aliases=("sink.clustering.by-columns",),
)
CLUSTERING_INCREMENTAL = Option("clustering.incremental", boolean, False, "Compactions sort files level by level.")
CLUSTERING_OPTIMIZE_WRITE = Option(
    "clustering.incremental.optimize-write", boolean, False, "Writes sort their rows, too."
)
CLUSTERING_STRATEGY = Option(
    "clustering.strategy",
    one_of("auto", "order", "zorder", "hilbert"),
    "auto",
    "Order of rows by these columns.",
    aliases=("sink.clustering.strategy",),
)
DELETE_RATIO = Option(
    "compaction.delete-ratio-threshold",
    decimal_number,
    0.2,
    "Share of deleted rows that makes a file worth rewriting.",
    least=0,
)
FORCE_REWRITE = Option("compaction.force-rewrite-all-files", boolean, False, "A full compaction rewrites every file.")
FORCE_UP_LEVEL_0 = Option("compaction.force-up-level-0", boolean, False, "Compactions take all level-0 files.")
INCREMENTAL_SIZE_THRESHOLD = Option(
    "compaction.incremental-size-threshold", memory_size, 0, "Bytes above the last level that start a full compaction."
)
MAX_SIZE_AMPLIFICATION = Option(
    "compaction.max-size-amplification-percent",
    integer,
    200,
    "Size of younger runs, in percent of the oldest run, that starts a full compaction.",
    least=0,
)
MIN_FILE_NUM = Option(
    "compaction.min.file-num", integer, 5, "Small files of an append table worth compacting.", least=1
)
OFFPEAK_RATIO = Option(
    "compaction.offpeak-ratio", integer, 0, "Further percent by which a run may be larger off-peak.", least=0
)
OFFPEAK_END = Option("compaction.offpeak.end.hour", integer, -1, "Hour at which the off-peak ratio ends.")
OFFPEAK_START = Option("compaction.offpeak.start.hour", integer, -1, "Hour at which the off-peak ratio begins.")
OPTIMIZATION_INTERVAL = Option(
    "compaction.optimization-interval", duration, 0, "Longest time between full compactions."
)
SIZE_RATIO = Option(
    "compaction.size-ratio", integer, 1, "Percent by which a run may be larger than the younger ones.", least=0
)
COMPACTION_SKIP_EXPIRED = Option(
    "compaction.skip-expired-partitions", boolean, False, "Do not compact partitions that will expire."
)
SMALL_FILE_RATIO = Option(
    "compaction.small-file-ratio", decimal_number, 0.7, "Share of the target size below which a file is small.", least=0
)
TOTAL_SIZE_THRESHOLD = Option("compaction.total-size-threshold", memory_size, 0, "Compact smaller buckets fully.")
FORCE_LOOKUP = Option(
    "force-lookup", boolean, False, "Compactions take all level-0 files, as for lookup.", change=Change.EMPTY
)
DELTA_COMMITS = Option(
    "full-compaction.delta-commits", integer, 0, "Compact fully after each write; 0: do not.", least=0
)
LOOKUP_COMPACT = Option("lookup-compact", one_of("radical", "gentle"), "radical", "When level-0 files are looked up.")
LOOKUP_MAX_INTERVAL = Option(
    "lookup-compact.max-interval", integer, 0, "Number of level-0 files at which `gentle` compacts.", least=0
)
NUM_LEVELS = Option("num-levels", integer, 0, "LSM levels; 0: the compaction trigger + 1.", least=2)
NUM_SORTED_RUN_TRIGGER = Option(
    "num-sorted-run.compaction-trigger", integer, 5, "Sorted runs that start a compaction.", least=1
)
NUM_SORTED_RUN_STOP = Option(
    "num-sorted-run.stop-trigger", optional(integer), None, "Runs at which streams wait; default: trigger + 3.", least=1
)
OVERWRITE_UPGRADE = Option("overwrite-upgrade", boolean, True, "Treat files that replace all others as compacted.")
WRITE_ONLY = Option("write-only", boolean, False, "Writers do not compact.", aliases=("write.compaction-skip",))
