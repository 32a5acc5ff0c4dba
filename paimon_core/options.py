"""Table options: one line each, with type and default, and the parsing of their values.

Source: Paimon's configuration page. Unknown options are kept and passed on; those below are the ones acted upon.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Generic, TypeVar

from paimon_core.errors import InvalidOptionError

T = TypeVar("T")

_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_AMOUNT = re.compile(r"([0-9]{1,19}) *([a-z]*)")
_LONG = 2**63
_SIZE_UNITS = {
    1: ("", "b", "bytes"),
    2**10: ("k", "kb", "kibibytes"),
    2**20: ("m", "mb", "mebibytes"),
    2**30: ("g", "gb", "gibibytes"),
    2**40: ("t", "tb", "tebibytes"),
}
_DURATION_UNITS = {
    86_400_000: ("d", "day", "days"),
    3_600_000: ("h", "hour", "hours"),
    60_000: ("min", "m", "minute", "minutes"),
    1000: ("s", "sec", "secs", "second", "seconds"),
    1: ("", "ms", "milli", "millis", "millisecond", "milliseconds"),
}


def _amount(text: str, units: Mapping[int, tuple[str, ...]], meant: str) -> int:
    match = _AMOUNT.fullmatch(text.strip().lower())
    scale = next((s for s, names in units.items() if match and match[2] in names), None)
    if match is None or scale is None or int(match[1]) * scale >= _LONG:
        raise ValueError(meant)
    return int(match[1]) * scale


# parsers of values raise ValueError with what the value should be


def integer(text: str) -> int:
    """A number of 32 bits, which is what the other engines keep it in."""
    number = long_integer(text)
    if not -(2**31) <= number < 2**31:
        raise ValueError("a whole number of 32 bits")
    return number


def long_integer(text: str) -> int:
    """A number of 64 bits."""
    if not _NUMBER.fullmatch(text.strip()) or not -_LONG <= int(text) < _LONG:
        raise ValueError("a whole number")
    return int(text)


def decimal_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("a number") from None
    if not isfinite(number):
        raise ValueError("a number")
    return number


def boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.strip().lower() == "true"


def memory_size(text: str) -> int:
    """Bytes of `128 mb`."""
    return _amount(text, _SIZE_UNITS, "a size such as '128 mb', in b, kb, mb, gb or tb")


def duration(text: str) -> int:
    """Milliseconds of `10 s`."""
    return _amount(text, _DURATION_UNITS, "a duration such as '10 s', in ms, s, min, h or d")


def names(text: str) -> tuple[str, ...]:
    """A comma-separated list of names."""
    return tuple(n.strip() for n in text.split(",") if n.strip())


def weights(text: str) -> tuple[int, ...]:
    """`10,5` as numbers above 0."""
    found = [part.strip() for part in text.split(",")]
    if not all(_NUMBER.fullmatch(part) and int(part) > 0 for part in found):
        raise ValueError("numbers above 0, as in '10,5'")
    return tuple(map(int, found))


def by_level(text: str) -> Mapping[int, str]:
    """`0:lz4,5:zstd` as values by level."""
    found = [part.partition(":") for part in text.split(",") if part.strip()]
    if not all(_NUMBER.fullmatch(level.strip()) and value.strip() for level, _, value in found):
        raise ValueError("levels and values, as in '0:avro,5:parquet'")
    return {int(level): value.strip() for level, _, value in found}


def folder(text: str) -> str:
    """A folder below another, without slashes around it: it must not lead out."""
    parts = text.strip("/").split("/")
    if any(p in ("", ".", "..") or p != p.strip() or not p.isprintable() for p in parts):
        raise ValueError("the path of a folder below the table's")
    return "/".join(parts)


def one_of(*values: str) -> Callable[[str], str]:
    """One of the values, case ignored."""

    def parse(text: str) -> str:
        if text.strip().lower() not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return text.strip().lower()

    return parse


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """The same values, for an option whose default is None."""
    return parse


@dataclass(frozen=True, slots=True)
class Option(Generic[T]):
    """One option: its key, how its value is read, its default; `aliases` are keys it had before."""

    key: str
    parse: Callable[[str], T]
    default: T
    doc: str
    aliases: tuple[str, ...] = ()

    def key_in(self, values: Mapping[str, str]) -> str | None:
        """The key that gives it a value; None where none does."""
        if self.key in values:
            return self.key
        return next((k for k in self.aliases if k in values), None) if self.aliases else None


NO_NAMES: tuple[str, ...] = ()
NO_LEVELS: Mapping[int, str] = {}
DYNAMIC, POSTPONED = -1, -2  # values of `bucket`
DONE_ACTIONS: tuple[str, ...] = ("success-file",)
SEARCH_MODES = ("fast", "full", "detail")

ADD_BEFORE_PARTITION = Option("add-column-before-partition", boolean, False, "New columns stand before partitions.")
AGGREGATION_REMOVE_ON_DELETE = Option(
    "aggregation.remove-record-on-delete", boolean, False, "A delete removes the row, instead of its values."
)
BITMAP_INDEX_BLOCK_SIZE = Option(
    "bitmap-index.dictionary-block-size", memory_size, 16 * 2**10, "Bytes of a block of keys of a bitmap index."
)
BITMAP_INDEX_COMPRESSION = Option("bitmap-index.compression", str, "none", "Codec of blocks: none, zstd or lz4.")
BITMAP_INDEX_COMPRESSION_LEVEL = Option("bitmap-index.compression-level", integer, 1, "Level of zstd.")
BITMAP_INDEX_SCAN_SIZE = Option(
    "bitmap-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Bytes of files that ranges are looked up in."
)
BTREE_INDEX_BLOCK_SIZE = Option("btree-index.block-size", memory_size, 64 * 2**10, "Bytes of a block of a btree index.")
BTREE_INDEX_COMPRESSION = Option("btree-index.compression", str, "none", "Codec of blocks: none, zstd or lz4.")
BTREE_INDEX_COMPRESSION_LEVEL = Option("btree-index.compression-level", integer, 1, "Level of zstd.")
BTREE_INDEX_SCAN_SIZE = Option(
    "btree-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Bytes of files that ranges are looked up in."
)
BLOB_AS_DESCRIPTOR = Option("blob-as-descriptor", boolean, False, "Readers see where BLOB values are, not the values.")
BLOB_DESCRIPTOR_FIELD = Option(
    "blob-descriptor-field", names, NO_NAMES, "BLOB columns whose descriptors are in the data files."
)
BLOB_FIELD = Option("blob-field", names, NO_NAMES, "Columns of binaries that are BLOB, in files of their own.")
BLOB_TARGET_FILE_SIZE = Option(
    "blob.target-file-size", optional(memory_size), None, "Size at which .blob files roll; default: target-file-size."
)
BLOB_VIEW_FIELD = Option("blob-view-field", names, NO_NAMES, "BLOB columns that name values of other tables.")
BUCKET = Option("bucket", integer, -1, "Number of buckets; -1: dynamic with a primary key, unaware without.")
BUCKET_FUNCTION = Option(
    "bucket-function.type", one_of("default", "mod", "hive"), "default", "How the bucket follows from the bucket key."
)
BUCKET_KEY = Option("bucket-key", names, NO_NAMES, "Columns that decide the bucket; default: the primary key.")
CHANGELOG_FILE_COMPRESSION = Option("changelog-file.compression", str, "", "Codec of changelog files.")
CHANGELOG_FILE_FORMAT = Option("changelog-file.format", str, "", "Format of changelog files; empty: `file.format`.")
CHANGELOG_FILE_PREFIX = Option("changelog-file.prefix", str, "changelog-", "What changelog files' names begin with.")
CHANGELOG_STATS_MODE = Option("changelog-file.stats-mode", str, "", "Statistics kept of changelog files.")
CHANGELOG_NUM_RETAINED_MAX = Option("changelog.num-retained.max", optional(integer), None, "Most changelogs kept.")
CHANGELOG_NUM_RETAINED_MIN = Option("changelog.num-retained.min", optional(integer), None, "Changelogs always kept.")
CHANGELOG_ROW_DEDUPLICATE = Option(
    "changelog-producer.row-deduplicate", boolean, False, "Tell no update that leaves a row as it was."
)
CHANGELOG_ROW_DEDUPLICATE_IGNORE = Option(
    "changelog-producer.row-deduplicate-ignore-fields", names, NO_NAMES, "Columns whose change alone is no update."
)
CHANGELOG_TIME_RETAINED = Option("changelog.time-retained", optional(duration), None, "How long changelogs stay, ms.")
CHAIN_PARTITION_KEYS = Option(
    "chain-table.chain-partition-keys", names, NO_NAMES, "Partition columns that order chains."
)
CHAIN_TABLE = Option("chain-table.enabled", boolean, False, "Branches hold full partitions, and changes since.")
CHANGELOG_PRODUCER = Option(
    "changelog-producer",
    one_of("none", "input", "full-compaction", "lookup"),
    "none",
    "How the changes of rows are told to those who follow them.",
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
    "How those columns order rows.",
    aliases=("sink.clustering.strategy",),
)
COMMIT_MAX_RETRIES = Option(
    "commit.max-retries", integer, 10, "How often a commit is tried again; lost races count where it is set."
)
COMMIT_MAX_RETRY_WAIT = Option("commit.max-retry-wait", duration, 10_000, "Longest wait before another try, ms.")
COMMIT_MIN_RETRY_WAIT = Option("commit.min-retry-wait", duration, 10, "Shortest wait before another try, ms.")
COMMIT_TIMEOUT = Option("commit.timeout", optional(duration), None, "How long a commit is tried again, ms.")
COMMIT_UNSAFE_STORAGE = Option("commit.unsafe-storage", boolean, False, "Commit where losing a race goes unnoticed.")
COMMIT_USER_PREFIX = Option("commit.user-prefix", str, "", "What generated commit users begin with.")
COMPACTION_SKIP_EXPIRED = Option(
    "compaction.skip-expired-partitions", boolean, False, "Compactions leave partitions alone that are to expire."
)
CONSUMER_CHANGELOG_ONLY = Option("consumer.changelog-only", boolean, False, "Consumers keep changelogs only.")
CONSUMER_EXPIRATION_TIME = Option("consumer.expiration-time", optional(duration), None, "Idle consumers go, ms.")
CROSS_PARTITION_INDEX_TTL = Option(
    "cross-partition-upsert.index-ttl", optional(duration), None, "Keys in files older than this are forgotten, ms."
)
DATA_FILE_DIRECTORY = Option("data-file.path-directory", folder, "", "Folder of the table that holds the data files.")
DATA_FILE_EXTERNAL_FS = Option("data-file.external-paths.specific-fs", str.lower, "", "Scheme of paths to choose.")
DATA_FILE_EXTERNAL_PATHS = Option("data-file.external-paths", names, NO_NAMES, "Where new data files go instead.")
DATA_FILE_EXTERNAL_STRATEGY = Option(
    "data-file.external-paths.strategy",
    one_of("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
    "none",
    "How one of the external paths is chosen for a file.",
)
DATA_FILE_EXTERNAL_WEIGHTS = Option(
    "data-file.external-paths.weights", optional(weights), None, "How often each of them is chosen, by weight-robin."
)
DATA_FILE_PREFIX = Option("data-file.prefix", str, "data-", "What names of data files begin with.")
DATA_FILE_THIN = Option("data-file.thin-mode", boolean, False, "Data files repeat no key columns.")
DATA_EVOLUTION = Option("data-evolution.enabled", boolean, False, "Files may hold some columns of rows only.")
DELETE_PRODUCES_CHANGELOG = Option(
    "delete.force-produce-changelog", boolean, False, "Delete each row, even where metadata alone could."
)
DELETION_VECTORS = Option("deletion-vectors.enabled", boolean, False, "Mark deleted rows in files of their own.")
DELETION_VECTOR_BITMAP64 = Option("deletion-vectors.bitmap64", boolean, False, "Deletion vectors of 64 bits.")
DELETION_VECTOR_FILE_SIZE = Option(
    "deletion-vector.index-file.target-size", memory_size, 2 * 2**20, "Size files of deletion vectors end at."
)
DELETION_VECTOR_MERGE_ON_READ = Option(
    "deletion-vectors.merge-on-read", boolean, False, "Readers merge rows that are not compacted yet."
)
DYNAMIC_BUCKET_ASSIGNERS = Option("dynamic-bucket.assigner-parallelism", integer, 0, "Assigners; 0: as many as tasks.")
DYNAMIC_BUCKET_INITIAL = Option("dynamic-bucket.initial-buckets", integer, 0, "Assigners that get keys; 0: all.")
DYNAMIC_BUCKET_MAX = Option("dynamic-bucket.max-buckets", integer, -1, "Most buckets of a partition; -1: no bound.")
DYNAMIC_BUCKET_TARGET_ROWS = Option("dynamic-bucket.target-row-num", long_integer, 2_000_000, "Keys of a full bucket.")
FILE_BLOCK_SIZE = Option("file.block-size", memory_size, 0, "Bytes of a row group or stripe; 0: the format's default.")
END_INPUT_CHECK_PARTITION_EXPIRE = Option(
    "end-input.check-partition-expire", boolean, False, "Every batch commit expires partitions."
)
FILE_COMPRESSION = Option("file.compression", str, "zstd", "Codec of data files.")
FILE_COMPRESSION_PER_LEVEL = Option("file.compression.per.level", by_level, NO_LEVELS, "Codec of a level's files.")
FILE_FORMAT = Option("file.format", str.lower, "parquet", "Format of data files.")
FILE_FORMAT_PER_LEVEL = Option("file.format.per.level", by_level, NO_LEVELS, "Format of a level's files.")
FILE_INDEX_READ = Option("file-index.read.enabled", boolean, True, "Leave out files and rows by file indexes.")
FILE_INDEX_THRESHOLD = Option(
    "file-index.in-manifest-threshold", memory_size, 500, "Bytes of a file index that a manifest holds at most."
)
FILE_SUFFIX_COMPRESSION = Option("file.suffix.include.compression", boolean, False, "Names of files tell the codec.")
GLOBAL_INDEX_ENABLED = Option("global-index.enabled", boolean, True, "Leave out files and rows by global indexes.")
GLOBAL_INDEX_EXTERNAL_PATH = Option("global-index.external-path", optional(str), None, "Where new index files go.")
GLOBAL_INDEX_MAX_PARALLELISM = Option(
    "sorted-index.build.max-parallelism", integer, 4096, "Most files that the rows of a range are divided among."
)
GLOBAL_INDEX_ROWS = Option("sorted-index.records-per-range", long_integer, 10_000_000, "Rows of a global index file.")
GLOBAL_INDEX_SEARCH_MODE = Option(
    "global-index.search-mode", one_of(*SEARCH_MODES), "full", "Whether queries find rows that have no index yet."
)
GLOBAL_INDEX_THREADS = Option("global-index.thread-num", integer, 32, "Index files that are read at a time.")
GLOBAL_INDEX_UPDATE_ACTION = Option(
    "global-index.column-update-action",
    one_of("throw_error", "drop_partition_index", "ignore"),
    "throw_error",
    "What an update of a column with a global index does.",
)
HIVE_PARTITION_ORDER = Option(
    "write.hive-style-dynamic-partition.enabled", boolean, False, "INSERT … PARTITION (p) takes partition columns last."
)
IGNORE_DELETE = Option(
    "ignore-delete",
    boolean,
    False,
    "Leave out rows that delete or take back.",
    aliases=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
)
IGNORE_UPDATE_BEFORE = Option("ignore-update-before", boolean, False, "Leave out rows that an update takes back.")
INDEX_FILE_IN_DATA_DIR = Option("index-file-in-data-file-dir", boolean, False, "Index files stand beside data files.")
LOOKUP_CACHE_DISK_SIZE = Option(
    "lookup.cache-max-disk-size", memory_size, 2**63 - 1, "Bytes of local copies of remote files that lookups read."
)
LOOKUP_CACHE_RETENTION = Option(
    "lookup.cache-file-retention", duration, 3_600_000, "How long an unused copy stays, ms."
)
MANIFEST_COMPRESSION = Option("manifest.compression", str, "zstd", "Codec of manifests.")
MANIFEST_DELETE_DROP_STATS = Option(
    "manifest.delete-file-drop-stats", boolean, False, "Manifests repeat no statistics of files that go."
)
MANIFEST_FORMAT = Option("manifest.format", str.lower, "avro", "Format of manifests.")
MANIFEST_FULL_COMPACTION_SIZE = Option(
    "manifest.full-compaction-threshold-size", memory_size, 16 * 2**20, "Bytes of small manifests that rewrite all."
)
MANIFEST_MERGE_MIN_COUNT = Option("manifest.merge-min-count", integer, 30, "Small manifests that are merged.")
MANIFEST_SORT_ENABLED = Option("manifest-sort.enabled", boolean, False, "Merged manifests are in order of partitions.")
MANIFEST_SORT_FIELD = Option(
    "manifest-sort.partition-field", str.strip, "", 'Partition column they go by; "": the first.'
)
MANIFEST_SORT_SIZE = Option("manifest-sort.max-rewrite-size", memory_size, 256 * 2**20, "Bytes of manifests to sort.")
MANIFEST_TARGET_FILE_SIZE = Option("manifest.target-file-size", memory_size, 8 * 2**20, "Size of merged manifests.")
MERGE_ENGINE = Option(
    "merge-engine",
    one_of("deduplicate", "partial-update", "aggregation", "first-row"),
    "deduplicate",
    "How rows of one key become one.",
)
MERGE_SCHEMA = Option("write.merge-schema", boolean, False, "Rows bring new columns with them.")
MERGE_SCHEMA_EXPLICIT_CAST = Option(
    "write.merge-schema.explicit-cast", boolean, False, "Rows also change types where information is lost."
)
MERGE_SCHEMA_TYPE_WIDENING = Option("write.merge-schema.type-widening", boolean, False, "Rows also widen types.")
NO_EXPLICIT_CAST = Option("disable-explicit-type-casting", boolean, False, "Refuse type changes that lose information.")
NO_NULL_TO_NOT_NULL = Option("alter-column-null-to-not-null.disabled", boolean, True, "Refuse NULL to NOT NULL.")
NUM_LEVELS = Option("num-levels", integer, 0, "LSM levels; 0: the compaction trigger + 1.")
NUM_SORTED_RUN_TRIGGER = Option("num-sorted-run.compaction-trigger", integer, 5, "Sorted runs that start a compaction.")
OVERWRITE_UPGRADE = Option("overwrite-upgrade", boolean, True, "Files that replace all others count as compacted.")
PARTIAL_UPDATE_REMOVE_ON_DELETE = Option(
    "partial-update.remove-record-on-delete", boolean, False, "A delete removes the row."
)
PARTIAL_UPDATE_REMOVE_ON_GROUP = Option(
    "partial-update.remove-record-on-sequence-group", names, NO_NAMES, "Groups whose deletes remove the row."
)
PARTITION_DEFAULT_NAME = Option("partition.default-name", str, "__DEFAULT_PARTITION__", "Folder of NULL and blanks.")
PARTITION_EXPIRATION_CHECK_INTERVAL = Option(
    "partition.expiration-check-interval", duration, 3_600_000, "How often commits expire partitions, ms."
)
PARTITION_EXPIRATION_MAX_NUM = Option("partition.expiration-max-num", integer, 100, "Partitions that go at a time.")
PARTITION_EXPIRATION_STRATEGY = Option(
    "partition.expiration-strategy", one_of("values-time", "update-time"), "values-time", "What a partition's age is."
)
PARTITION_EXPIRATION_TIME = Option("partition.expiration-time", optional(duration), None, "Partitions' life, ms.")
PARTITION_LEGACY_NAME = Option("partition.legacy-name", boolean, True, "DATE in folders as days, moments in ISO form.")
PARTITION_END_INPUT_TO_DONE = Option(
    "partition.end-input-to-done", boolean, False, "Writes mark their partitions as done."
)
PARTITION_MARK_DONE_ACTION = Option(
    "partition.mark-done-action", names, DONE_ACTIONS, "What marking a partition done does."
)
PARTITION_MARK_DONE_PARAMS = Option(
    "partition.mark-done-action.http.params", optional(str), None, "What http-report sends along."
)
PARTITION_MARK_DONE_URL = Option("partition.mark-done-action.http.url", str, "", "Where http-report sends to.")
PARTITION_TIMESTAMP_FORMATTER = Option("partition.timestamp-formatter", str, "", "How a partition's time is read.")
PARTITION_TIMESTAMP_PATTERN = Option("partition.timestamp-pattern", str, "", "Values that make a partition's time.")
PARTITION_TIMESTAMP_STRICT = Option(
    "partition.timestamp-format.strict", boolean, False, "Partitions that are no time are not written."
)
PK_CLUSTERING_OVERRIDE = Option("pk-clustering-override", boolean, False, "Files are sorted by other columns.")
POSTPONE_BATCH_FIXED = Option(
    "postpone.batch-write-fixed-bucket", boolean, True, "Statements give rows their buckets at once."
)
POSTPONE_BATCH_MOST = Option(
    "postpone.batch-write-fixed-bucket.max-parallelism", integer, 2048, "Most buckets that a statement gives."
)
POSTPONE_DEFAULT_BUCKETS = Option(
    "postpone.default-bucket-num", optional(integer), None, "Buckets of a new partition; default: by its rows."
)
POSTPONE_MERGE_ON_READ = Option("postpone.merge-on-read", boolean, False, "Readers see rows that wait for a bucket.")
POSTPONE_TARGET_ROWS = Option(
    "postpone.target-row-num-per-bucket", optional(long_integer), None, "Rows of a bucket of a new partition."
)
POSTPONE_TARGET_SIZE = Option(
    "postpone.target-size-per-bucket", memory_size, 2**30, "Bytes of a bucket of a new partition."
)
PRIMARY_KEY = Option("primary-key", names, NO_NAMES, "Primary key columns, at CREATE TABLE.")
READ_ALLOW_FULL_SCAN = Option("read.allow.fullScan", boolean, True, "Read a partitioned table without a filter, too.")
RECORD_EXPIRE_TIME = Option("record-level.expire-time", optional(duration), None, "How long rows stay, ms.")
RECORD_TIME_FIELD = Option("record-level.time-field", str, "", "Column that tells when rows' time began.")
ROW_KIND_FIELD = Option("rowkind.field", str, "", "Column that says what a row does: +I, -U, +U or -D.")
ROW_TRACKING = Option("row-tracking.enabled", boolean, False, "Rows have ids, and know what snapshot changed them.")
SCAN_BUCKET = Option("scan.bucket", optional(integer), None, "Read this bucket only.")
SCAN_CREATION_TIME_MILLIS = Option(
    "scan.creation-time-millis",
    long_integer,
    0,
    "Read the first snapshot committed since; without one, the files written since. Epoch milliseconds.",
)
ROW_TRACKING_GROUP = Option(
    "row-tracking.partition-group-on-commit", boolean, True, "New rows of a partition get ids that follow one another."
)
SCAN_DELTA_BRANCH = Option("scan.fallback-delta-branch", str.strip, "", "Chain tables: the branch of changes.")
SCAN_FALLBACK_BRANCH = Option("scan.fallback-branch", str.strip, "", "Branch that lends partitions.")
SCAN_FILE_CREATION_TIME_MILLIS = Option(
    "scan.file-creation-time-millis", long_integer, 0, "Read the files written at or after these epoch milliseconds."
)
SCAN_IGNORE_CORRUPT = Option("scan.ignore-corrupt-files", boolean, False, "Damaged files have no more rows.")
SCAN_IGNORE_LOST = Option("scan.ignore-lost-files", boolean, False, "Missing files have no rows.")
SCAN_MODE = Option(
    "scan.mode",
    one_of(
        *("default", "latest-full", "full", "latest", "latest-delta", "compacted-full", "from-timestamp"),
        *("from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental"),
    ),
    "default",
    "Which version a query reads.",
)
SCAN_PRIMARY_BRANCH = Option("scan.primary-branch", str.strip, "", "Branch whose partitions come before the table's.")
SCAN_SNAPSHOT_BRANCH = Option("scan.fallback-snapshot-branch", str.strip, "", "Chain tables: the full partitions.")
SCAN_SNAPSHOT_ID = Option("scan.snapshot-id", long_integer, 0, "Read this snapshot; 0: the latest.")
SCAN_TIMESTAMP = Option("scan.timestamp", str, "", "Read the table as of this wall clock time.")
SCAN_TIMESTAMP_MILLIS = Option(
    "scan.timestamp-millis", long_integer, 0, "Read the table as of these epoch milliseconds."
)
SCAN_WATERMARK = Option(
    "scan.watermark", long_integer, 0, "Read the first snapshot of this watermark or a later one, ms."
)
SCALAR_INDEX_SEARCH_MODE = Option(
    "scalar-index.search-mode", optional(one_of(*SEARCH_MODES)), None, "As global-index.search-mode, and before it."
)
SEQUENCE_FIELD = Option("sequence.field", names, NO_NAMES, "Columns that order the rows of one key.")
SEQUENCE_ORDER = Option(
    "sequence.field.sort-order",
    one_of("ascending", "descending"),
    "ascending",
    "Which sequence field values are the newer.",
)
SNAPSHOT_ORDERING = Option(
    "sequence.snapshot-ordering", boolean, False, "Of the rows of a key that of the latest snapshot is the newest."
)
SINK_PROCESS_TIME_ZONE = Option("sink.process-time-zone", str, "", "Zone of automatic tags; default: the process's.")
SNAPSHOT_CLEAN_EMPTY_DIRS = Option(
    "snapshot.clean-empty-directories",
    boolean,
    False,
    "Expiry deletes the folders that it empties.",
    aliases=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_EXPIRE_LIMIT = Option("snapshot.expire.limit", integer, 50, "Snapshots that expire at a time.")
SNAPSHOT_IGNORE_EMPTY_COMMIT = Option("snapshot.ignore-empty-commit", boolean, True, "No snapshot for no rows.")
SNAPSHOT_NUM_RETAINED_MAX = Option("snapshot.num-retained.max", integer, 2**31 - 1, "Most snapshots kept.")
SNAPSHOT_NUM_RETAINED_MIN = Option("snapshot.num-retained.min", integer, 10, "Snapshots that are always kept.")
SNAPSHOT_TIME_RETAINED = Option("snapshot.time-retained", duration, 3_600_000, "How long snapshots are kept, ms.")
SORT_MAX_FILES = Option("local-sort.max-num-file-handles", integer, 128, "Spilled runs that a task merges at once.")
SPILL_COMPRESSION = Option("spill-compression", one_of("zstd", "lz4", "lzo", "none"), "zstd", "Codec of spilled rows.")
SPILL_ZSTD_LEVEL = Option("spill-compression.zstd-level", integer, 1, "Level of the zstd codec of spilled rows.")
SPLIT_OPEN_FILE_COST = Option("source.split.open-file-cost", memory_size, 4 * 2**20, "Least weight of a file.")
SPLIT_TARGET_SIZE = Option("source.split.target-size", memory_size, 128 * 2**20, "Bytes a read task should have.")
STATS_MODE = Option("metadata.stats-mode", str.lower, "truncate(16)", "Statistics kept per column of a file.")
STATS_MODE_PER_LEVEL = Option("metadata.stats-mode.per.level", by_level, NO_LEVELS, "Statistics kept at a level.")
TAG_AUTOMATIC_COMPLETION = Option("tag.automatic-completion", boolean, False, "Make the tags of missed periods.")
TAG_AUTOMATIC_CREATION = Option(
    "tag.automatic-creation", one_of("none", "process-time", "watermark", "batch"), "none", "When commits make tags."
)
TAG_BATCH_CUSTOMIZED_NAME = Option("tag.batch.customized-name", str, "", "Name of the tag of a batch commit.")
TAG_CREATION_DELAY = Option("tag.creation-delay", duration, 0, "How long after a period its tag is made, ms.")
TAG_CREATION_PERIOD = Option("tag.creation-period", one_of("daily", "hourly", "two-hours"), "daily", "Time of a tag.")
TAG_CREATION_PERIOD_DURATION = Option("tag.creation-period-duration", optional(duration), None, "Time of a tag, ms.")
TAG_DEFAULT_TIME_RETAINED = Option("tag.default-time-retained", optional(duration), None, "Automatic tags' life, ms.")
TAG_NUM_RETAINED_MAX = Option("tag.num-retained-max", optional(integer), None, "Most automatic tags kept.")
TAG_PERIOD_FORMATTER = Option(
    "tag.period-formatter",
    one_of("with_dashes", "without_dashes", "without_dashes_and_spaces"),
    "with_dashes",
    "How periods name tags.",
)
TAG_CREATE_SUCCESS_FILE = Option(
    "tag.create-success-file", boolean, False, "A tag has a file tag/tag-success-file/NAME_SUCCESS."
)
TAG_TIME_EXPIRE_ENABLED = Option("tag.time-expire-enabled", boolean, True, "Commits remove tags whose time is over.")
TARGET_FILE_ROW_NUM = Option("target-file-row-num", long_integer, 2**63 - 1, "Rows that a data file has at most.")
TARGET_FILE_SIZE = Option("target-file-size", memory_size, 0, "Size data files roll at; 0: 128 mb with keys, else 256.")
UPSERT_KEY = Option("upsert-key", names, NO_NAMES, "INSERT INTO replaces the rows of equal values in these columns.")
WRITE_BUFFER_SIZE = Option("write-buffer-size", memory_size, 256 * 2**20, "Bytes of rows a task sorts at once.")
WRITE_BUFFER_SPILLABLE = Option("write-buffer-spillable", boolean, True, "A full buffer waits on the local disk.")
WRITE_BUFFER_SPILL_SIZE = Option(
    "write-buffer-spill.max-disk-size", memory_size, 2**63 - 1, "Bytes that a task may spill."
)
WRITE_ONLY = Option("write-only", boolean, False, "Writers do not compact.", aliases=("write.compaction-skip",))
ZSTD_LEVEL = Option("file.compression.zstd-level", integer, 1, "Level of the zstd codec.")


@dataclass(frozen=True)
class TableOptions:
    """The options of a table, read through `Option`s: `options[BUCKET]`."""

    values: Mapping[str, str]

    def __getitem__(self, option: Option[T]) -> T:
        """The value, parsed. Raises `InvalidOptionError` naming the option."""
        key = option.key_in(self.values)
        if key is None:
            return option.default
        text = self.values[key]
        try:
            return option.parse(text)
        except ValueError as e:
            raise InvalidOptionError(
                f"Option {key!r} cannot be {text!r}: it is {e}. {option.doc} Default: {option.default!r}."
            ) from e

    def __contains__(self, option: Option[T]) -> bool:
        return option.key_in(self.values) is not None

    def merged(self, more: Mapping[str, str]) -> TableOptions:
        """These options, overridden by `more`."""
        return TableOptions({**self.values, **more})
