"""The options of tables that this version goes by, in the order of their keys.

Source: Paimon's configuration page and `CoreOptions`. `options.support` lists those that only other engines go by.
Options of file formats (`parquet.*`, `csv.*` …) and of file indexes stand beside the code of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from paimon_core.options.iceberg import ICEBERG_OPTIONS
from paimon_core.options.option import (
    Change,
    Option,
    boolean,
    by_level,
    decimal_number,
    duration,
    file_prefix,
    folder,
    integer,
    long_integer,
    memory_size,
    names,
    one_of,
    optional,
    weights,
)

_T = TypeVar("_T")
_declared: list[Option[Any]] = []


def _option(
    key: str,
    parse: Callable[[str], _T],
    default: _T,
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    least: float | None = None,
    change: Change = Change.FREE,
) -> Option[_T]:
    """An option that `TABLE_OPTIONS` lists."""
    option = Option(key, parse, default, doc, aliases, least, change)
    _declared.append(option)
    return option


NO_NAMES: tuple[str, ...] = ()
NO_LEVELS: Mapping[int, str] = {}
DYNAMIC, POSTPONED = -1, -2  # values of `bucket`
DONE_ACTIONS: tuple[str, ...] = ("success-file",)
SEARCH_MODES = ("fast", "full", "detail")

ADD_BEFORE_PARTITION = _option("add-column-before-partition", boolean, False, "New columns stand before partitions.")
AGGREGATION_REMOVE_ON_DELETE = _option(
    "aggregation.remove-record-on-delete",
    boolean,
    False,
    "A delete removes the row, instead of its values.",
    change=Change.EMPTY,
)
NO_NULL_TO_NOT_NULL = _option("alter-column-null-to-not-null.disabled", boolean, True, "Refuse NULL to NOT NULL.")
BITMAP_INDEX_COMPRESSION = _option("bitmap-index.compression", str, "none", "Codec of blocks: none, zstd or lz4.")
BITMAP_INDEX_COMPRESSION_LEVEL = _option("bitmap-index.compression-level", integer, 1, "Level of zstd.")
BITMAP_INDEX_BLOCK_SIZE = _option(
    "bitmap-index.dictionary-block-size", memory_size, 16 * 2**10, "Bytes of a block of keys of a bitmap index."
)
BITMAP_INDEX_SCAN_SIZE = _option(
    "bitmap-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Bytes of files that ranges are looked up in."
)
BLOB_AS_DESCRIPTOR = _option("blob-as-descriptor", boolean, False, "Readers see where BLOB values are, not the values.")
BLOB_DESCRIPTOR_FIELD = _option(
    "blob-descriptor-field",
    names,
    NO_NAMES,
    "BLOB columns whose descriptors are in the data files.",
    change=Change.EMPTY,
)
BLOB_FIELD = _option(
    "blob-field", names, NO_NAMES, "Columns of binaries that are BLOB, in files of their own.", change=Change.EMPTY
)
BLOB_VIEW_FIELD = _option(
    "blob-view-field", names, NO_NAMES, "BLOB columns that name values of other tables.", change=Change.EMPTY
)
BLOB_TARGET_FILE_SIZE = _option(
    "blob.target-file-size", optional(memory_size), None, "Size at which .blob files roll; default: target-file-size."
)
BTREE_INDEX_BLOCK_SIZE = _option(
    "btree-index.block-size", memory_size, 64 * 2**10, "Bytes of a block of a btree index."
)
BTREE_INDEX_COMPRESSION = _option("btree-index.compression", str, "none", "Codec of blocks: none, zstd or lz4.")
BTREE_INDEX_COMPRESSION_LEVEL = _option("btree-index.compression-level", integer, 1, "Level of zstd.")
BTREE_INDEX_SCAN_SIZE = _option(
    "btree-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Bytes of files that ranges are looked up in."
)
BUCKET = _option("bucket", integer, -1, "Number of buckets; -1: dynamic with a primary key, unaware without.")
BUCKET_FUNCTION = _option(
    "bucket-function.type",
    one_of("default", "mod", "hive"),
    "default",
    "How the bucket follows from the bucket key.",
    change=Change.EMPTY,
)
BUCKET_KEY = _option(
    "bucket-key", names, NO_NAMES, "Columns that decide the bucket; default: the primary key.", change=Change.EMPTY
)
CHAIN_PARTITION_KEYS = _option(
    "chain-table.chain-partition-keys", names, NO_NAMES, "Partition columns that order chains."
)
CHAIN_TABLE = _option("chain-table.enabled", boolean, False, "Branches hold full partitions, and changes since.")
CHANGELOG_FILE_COMPRESSION = _option("changelog-file.compression", str, "", "Codec of changelog files.")
CHANGELOG_FILE_FORMAT = _option("changelog-file.format", str, "", "Format of changelog files; empty: `file.format`.")
CHANGELOG_FILE_PREFIX = _option(
    "changelog-file.prefix", file_prefix, "changelog-", "What changelog files' names begin with."
)
CHANGELOG_STATS_MODE = _option("changelog-file.stats-mode", str, "", "Statistics kept of changelog files.")
CHANGELOG_PRODUCER = _option(
    "changelog-producer",
    one_of("none", "input", "full-compaction", "lookup"),
    "none",
    "Where the changelog of a table comes from.",
)
CHANGELOG_ROW_DEDUPLICATE = _option(
    "changelog-producer.row-deduplicate", boolean, False, "Updates that leave a row as it was are no change."
)
CHANGELOG_ROW_DEDUPLICATE_IGNORE = _option(
    "changelog-producer.row-deduplicate-ignore-fields", names, NO_NAMES, "Columns that are not compared."
)
CHANGELOG_NUM_RETAINED_MAX = _option("changelog.num-retained.max", optional(integer), None, "Most changelogs kept.")
CHANGELOG_NUM_RETAINED_MIN = _option("changelog.num-retained.min", optional(integer), None, "Changelogs always kept.")
CHANGELOG_TIME_RETAINED = _option("changelog.time-retained", optional(duration), None, "How long changelogs stay, ms.")
CLUSTERING_COLUMNS = _option(
    "clustering.columns",
    names,
    NO_NAMES,
    "Columns that rows of append tables are sorted by.",
    aliases=("sink.clustering.by-columns",),
)
CLUSTERING_INCREMENTAL = _option("clustering.incremental", boolean, False, "Compactions sort files level by level.")
CLUSTERING_OPTIMIZE_WRITE = _option(
    "clustering.incremental.optimize-write", boolean, False, "Writes sort their rows, too."
)
CLUSTERING_STRATEGY = _option(
    "clustering.strategy",
    one_of("auto", "order", "zorder", "hilbert"),
    "auto",
    "How those columns order rows.",
    aliases=("sink.clustering.strategy",),
)
COMMIT_IDENTIFIER = _option(
    "commit.identifier", optional(long_integer), None, "Number of a write that is committed once.", least=0
)
COMMIT_MAX_RETRIES = _option(
    "commit.max-retries", integer, 10, "How often a commit is tried again; lost races count where it is set."
)
COMMIT_MAX_RETRY_WAIT = _option("commit.max-retry-wait", duration, 10_000, "Longest wait before another try, ms.")
COMMIT_MIN_RETRY_WAIT = _option("commit.min-retry-wait", duration, 10, "Shortest wait before another try, ms.")
COMMIT_TIMEOUT = _option("commit.timeout", optional(duration), None, "How long a commit is tried again, ms.")
COMMIT_UNSAFE_STORAGE = _option("commit.unsafe-storage", boolean, False, "Commit where losing a race goes unnoticed.")
COMMIT_USER_PREFIX = _option("commit.user-prefix", str, "", "What generated commit users begin with.")
DELETE_RATIO = _option(
    "compaction.delete-ratio-threshold",
    decimal_number,
    0.2,
    "Share of deleted rows that makes a file worth rewriting.",
    least=0,
)
FORCE_REWRITE = _option("compaction.force-rewrite-all-files", boolean, False, "A full compaction rewrites every file.")
FORCE_UP_LEVEL_0 = _option("compaction.force-up-level-0", boolean, False, "Compactions take all level-0 files.")
INCREMENTAL_SIZE_THRESHOLD = _option(
    "compaction.incremental-size-threshold", memory_size, 0, "Bytes above the last level that merge all."
)
MAX_SIZE_AMPLIFICATION = _option(
    "compaction.max-size-amplification-percent",
    integer,
    200,
    "Size of younger runs to the oldest that merges all.",
    least=0,
)
MIN_FILE_NUM = _option(
    "compaction.min.file-num", integer, 5, "Small files of an append table worth compacting.", least=1
)
OFFPEAK_RATIO = _option(
    "compaction.offpeak-ratio", integer, 0, "Percent more that a run may be larger off-peak.", least=0
)
OFFPEAK_END = _option("compaction.offpeak.end.hour", integer, -1, "Hour at which the off-peak ratio ends.")
OFFPEAK_START = _option("compaction.offpeak.start.hour", integer, -1, "Hour at which the off-peak ratio begins.")
OPTIMIZATION_INTERVAL = _option(
    "compaction.optimization-interval", duration, 0, "Longest time between full compactions."
)
SIZE_RATIO = _option(
    "compaction.size-ratio", integer, 1, "Percent by which a run may be larger than the younger ones.", least=0
)
COMPACTION_SKIP_EXPIRED = _option(
    "compaction.skip-expired-partitions", boolean, False, "Compactions skip partitions that are to expire."
)
SMALL_FILE_RATIO = _option(
    "compaction.small-file-ratio", decimal_number, 0.7, "Share of the target size below which a file is small.", least=0
)
TOTAL_SIZE_THRESHOLD = _option("compaction.total-size-threshold", memory_size, 0, "Bucket size below which all merges.")
CONSUMER_CHANGELOG_ONLY = _option("consumer.changelog-only", boolean, False, "Consumers keep changelogs only.")
CONSUMER_EXPIRATION_TIME = _option(
    "consumer.expiration-time", optional(duration), None, "Consumers idle for so long are removed, ms."
)
CONSUMER_ID = _option("consumer-id", str, "", "Streams keep their progress in the table under this name.")
CONSUMER_IGNORE_PROGRESS = _option(
    "consumer.ignore-progress", boolean, False, "Streams start as scan.mode says, not where their consumer is."
)
CROSS_PARTITION_INDEX_TTL = _option(
    "cross-partition-upsert.index-ttl", optional(duration), None, "Keys in files older than this count as new, ms."
)
DATA_EVOLUTION = _option(
    "data-evolution.enabled", boolean, False, "Files may hold only some columns of rows.", change=Change.EMPTY
)
DATA_FILE_EXTERNAL_PATHS = _option(
    "data-file.external-paths", names, NO_NAMES, "Folders outside of the table for new data files."
)
DATA_FILE_EXTERNAL_FS = _option("data-file.external-paths.specific-fs", str.lower, "", "Scheme of paths to choose.")
DATA_FILE_EXTERNAL_STRATEGY = _option(
    "data-file.external-paths.strategy",
    one_of("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
    "none",
    "How one of the external paths is chosen for a file.",
)
DATA_FILE_EXTERNAL_WEIGHTS = _option(
    "data-file.external-paths.weights", optional(weights), None, "How often each of them is chosen, by weight-robin."
)
DATA_FILE_DIRECTORY = _option(
    "data-file.path-directory", folder, "", "Folder of the table that holds the data files.", change=Change.EMPTY
)
DATA_FILE_PREFIX = _option("data-file.prefix", file_prefix, "data-", "What names of data files begin with.")
DATA_FILE_THIN = _option("data-file.thin-mode", boolean, False, "Data files repeat no key columns.")
DELETE_PRODUCES_CHANGELOG = _option(
    "delete.force-produce-changelog", boolean, False, "Delete each row, even where metadata would do."
)
DELETION_VECTOR_FILE_SIZE = _option(
    "deletion-vector.index-file.target-size", memory_size, 2 * 2**20, "Size at which files of deletion vectors roll."
)
DELETION_VECTOR_BITMAP64 = _option("deletion-vectors.bitmap64", boolean, False, "Deletion vectors of 64 bits.")
DELETION_VECTORS_MODIFIABLE = _option(
    "deletion-vectors.modifiable", boolean, False, "ALTER TABLE may change deletion-vectors.enabled."
)
DELETION_VECTORS = _option("deletion-vectors.enabled", boolean, False, "Mark deleted rows in files of their own.")
DELETION_VECTOR_MERGE_ON_READ = _option(
    "deletion-vectors.merge-on-read", boolean, False, "Readers merge rows that are not compacted yet."
)
NO_EXPLICIT_CAST = _option(
    "disable-explicit-type-casting", boolean, False, "Refuse type changes that lose information."
)
DYNAMIC_BUCKET_ASSIGNERS = _option(
    "dynamic-bucket.assigner-parallelism", integer, 0, "Assigners; 0: as many as tasks.", least=0
)
DYNAMIC_BUCKET_INITIAL = _option(
    "dynamic-bucket.initial-buckets", integer, 0, "Assigners that get keys; 0: all.", least=1, change=Change.EMPTY
)
DYNAMIC_BUCKET_MAX = _option("dynamic-bucket.max-buckets", integer, -1, "Most buckets of a partition; -1: no bound.")
DYNAMIC_BUCKET_TARGET_ROWS = _option(
    "dynamic-bucket.target-row-num", long_integer, 2_000_000, "Keys of a full bucket.", least=1
)
END_INPUT_CHECK_PARTITION_EXPIRE = _option(
    "end-input.check-partition-expire", boolean, False, "Every batch commit expires partitions."
)
FILE_INDEX_THRESHOLD = _option(
    "file-index.in-manifest-threshold", memory_size, 500, "Bytes of a file index that a manifest holds at most."
)
FILE_INDEX_READ = _option("file-index.read.enabled", boolean, True, "Leave out files and rows by file indexes.")
FILE_BLOCK_SIZE = _option("file.block-size", memory_size, 0, "Bytes of a row group or stripe; 0: the format's default.")
FILE_COMPRESSION = _option("file.compression", str, "zstd", "Codec of data files.")
FILE_COMPRESSION_PER_LEVEL = _option("file.compression.per.level", by_level, NO_LEVELS, "Codec of a level's files.")
ZSTD_LEVEL = _option("file.compression.zstd-level", integer, 1, "Level of the zstd codec.")
FILE_FORMAT = _option("file.format", str.lower, "parquet", "Format of data files.")
FILE_FORMAT_PER_LEVEL = _option("file.format.per.level", by_level, NO_LEVELS, "Format of a level's files.")
FILE_SUFFIX_COMPRESSION = _option(
    "file.suffix.include.compression", boolean, False, "Names of files include the codec."
)
FORCE_LOOKUP = _option(
    "force-lookup", boolean, False, "Compactions take all level-0 files, as for lookup.", change=Change.EMPTY
)
FORMAT_TABLE_ONLY_VALUES = _option(
    "format-table.partition-path-only-value", boolean, False, "Partition folders are called VALUE, not KEY=VALUE."
)
DELTA_COMMITS = _option(
    "full-compaction.delta-commits", integer, 0, "Compact fully after each write; 0: do not.", least=0
)
GLOBAL_INDEX_UPDATE_ACTION = _option(
    "global-index.column-update-action",
    one_of("throw_error", "drop_partition_index", "ignore"),
    "throw_error",
    "What an update of a column with a global index does.",
)
GLOBAL_INDEX_ENABLED = _option("global-index.enabled", boolean, True, "Leave out files and rows by global indexes.")
GLOBAL_INDEX_EXTERNAL_PATH = _option("global-index.external-path", optional(str), None, "Where new index files go.")
GLOBAL_INDEX_SEARCH_MODE = _option(
    "global-index.search-mode", one_of(*SEARCH_MODES), "full", "Whether queries find rows that have no index yet."
)
GLOBAL_INDEX_THREADS = _option("global-index.thread-num", integer, 32, "Index files that are read at a time.")
IGNORE_DELETE = _option(
    "ignore-delete",
    boolean,
    False,
    "Drop rows of kind -D and -U.",
    aliases=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
    change=Change.ONE_WAY,
)
IGNORE_UPDATE_BEFORE = _option("ignore-update-before", boolean, False, "Drop rows of kind -U.", change=Change.ONE_WAY)
INCREMENTAL_SCAN_MODE = _option(
    "incremental-between-scan-mode", one_of("auto", "delta", "changelog", "diff"), "auto", "What is read of snapshots."
)
INCREMENTAL_TAG_TO_SNAPSHOT = _option(
    "incremental-between-tag-to-snapshot",
    boolean,
    False,
    "Read the snapshots between two tags, instead of comparing the tags.",
)
INDEX_FILE_IN_DATA_DIR = _option(
    "index-file-in-data-file-dir", boolean, False, "Index files stand beside data files.", change=Change.EMPTY
)
SORT_MAX_FILES = _option(
    "local-sort.max-num-file-handles", integer, 128, "Spilled runs that a task merges at once.", least=1
)
LOOKUP_COMPACT = _option("lookup-compact", one_of("radical", "gentle"), "radical", "When level-0 files are looked up.")
LOOKUP_MAX_INTERVAL = _option(
    "lookup-compact.max-interval", integer, 0, "Level-0 files from which on `gentle` compacts.", least=0
)
LOOKUP_CACHE_RETENTION = _option(
    "lookup.cache-file-retention", duration, 3_600_000, "How long an unused copy stays, ms."
)
LOOKUP_CACHE_DISK_SIZE = _option(
    "lookup.cache-max-disk-size", memory_size, 2**63 - 1, "Bytes of local copies of remote files that lookups read."
)
LOOKUP_WAIT = _option(
    "lookup-wait",
    boolean,
    True,
    "Epochs of a stream wait for a compaction that shows their rows, or makes their changelog.",
    aliases=("changelog-producer.lookup-wait",),
)
MANIFEST_SORT_ENABLED = _option("manifest-sort.enabled", boolean, False, "Merged manifests are in order of partitions.")
MANIFEST_SORT_SIZE = _option("manifest-sort.max-rewrite-size", memory_size, 256 * 2**20, "Bytes of manifests to sort.")
MANIFEST_SORT_FIELD = _option(
    "manifest-sort.partition-field", str.strip, "", 'Partition column they go by; "": the first.'
)
MANIFEST_COMPRESSION = _option("manifest.compression", str, "zstd", "Codec of manifests.")
MANIFEST_DELETE_DROP_STATS = _option(
    "manifest.delete-file-drop-stats", boolean, False, "Manifests repeat no statistics of deleted files."
)
MANIFEST_FORMAT = _option("manifest.format", str.lower, "avro", "Format of manifests.")
MANIFEST_FULL_COMPACTION_SIZE = _option(
    "manifest.full-compaction-threshold-size", memory_size, 16 * 2**20, "Bytes of small manifests that rewrite all."
)
MANIFEST_MERGE_MIN_COUNT = _option("manifest.merge-min-count", integer, 30, "Small manifests that are merged.")
MANIFEST_TARGET_FILE_SIZE = _option("manifest.target-file-size", memory_size, 8 * 2**20, "Size of merged manifests.")
MERGE_ENGINE = _option(
    "merge-engine",
    one_of("deduplicate", "partial-update", "aggregation", "first-row"),
    "deduplicate",
    "How rows of one key become one.",
    change=Change.EMPTY,
)
STATS_DENSE_STORE = _option("metadata.stats-dense-store", boolean, True, "Columns without statistics take no room.")
STATS_KEEP_FIRST_N = _option(
    "metadata.stats-keep-first-n-columns", integer, -1, "Columns that statistics are kept of; -1: all."
)
STATS_MODE = _option("metadata.stats-mode", str.lower, "truncate(16)", "Statistics kept per column of a file.")
STATS_MODE_PER_LEVEL = _option("metadata.stats-mode.per.level", by_level, NO_LEVELS, "Statistics kept at a level.")
NUM_LEVELS = _option("num-levels", integer, 0, "LSM levels; 0: the compaction trigger + 1.", least=2)
NUM_SORTED_RUN_TRIGGER = _option(
    "num-sorted-run.compaction-trigger", integer, 5, "Sorted runs that start a compaction.", least=1
)
NUM_SORTED_RUN_STOP = _option(
    "num-sorted-run.stop-trigger", optional(integer), None, "Runs at which streams wait; default: trigger + 3.", least=1
)
OVERWRITE_UPGRADE = _option("overwrite-upgrade", boolean, True, "Files that replace all others count as compacted.")
PARTIAL_UPDATE_REMOVE_ON_DELETE = _option(
    "partial-update.remove-record-on-delete", boolean, False, "A delete removes the row.", change=Change.EMPTY
)
PARTIAL_UPDATE_REMOVE_ON_GROUP = _option(
    "partial-update.remove-record-on-sequence-group",
    names,
    NO_NAMES,
    "Groups whose deletes remove the row.",
    change=Change.EMPTY,
)
_option("partition", names, NO_NAMES, "Partition columns, at CREATE TABLE.", change=Change.NEVER)
PARTITION_DEFAULT_NAME = _option("partition.default-name", str, "__DEFAULT_PARTITION__", "Folder of NULL and blanks.")
PARTITION_END_INPUT_TO_DONE = _option(
    "partition.end-input-to-done", boolean, False, "Writes mark their partitions as done."
)
PARTITION_EXPIRATION_CHECK_INTERVAL = _option(
    "partition.expiration-check-interval", duration, 3_600_000, "How often commits expire partitions, ms."
)
PARTITION_EXPIRATION_MAX_NUM = _option(
    "partition.expiration-max-num", integer, 100, "Most partitions that expire at a time."
)
PARTITION_EXPIRATION_STRATEGY = _option(
    "partition.expiration-strategy",
    one_of("values-time", "update-time"),
    "values-time",
    "What the age of a partition is counted from.",
)
PARTITION_EXPIRATION_TIME = _option(
    "partition.expiration-time", optional(duration), None, "How long partitions stay, ms."
)
PARTITION_LEGACY_NAME = _option(
    "partition.legacy-name", boolean, True, "DATE in folders as days, moments as ISO 8601.", change=Change.EMPTY
)
PARTITION_MARK_DONE_ACTION = _option(
    "partition.mark-done-action", names, DONE_ACTIONS, "What marking a partition done does."
)
PARTITION_MARK_DONE_PARAMS = _option(
    "partition.mark-done-action.http.params", optional(str), None, "What http-report sends along."
)
PARTITION_MARK_DONE_URL = _option("partition.mark-done-action.http.url", str, "", "Where http-report sends to.")
PARTITION_TIMESTAMP_STRICT = _option(
    "partition.timestamp-format.strict", boolean, False, "Partitions that are no time are not written."
)
PARTITION_TIMESTAMP_FORMATTER = _option("partition.timestamp-formatter", str, "", "How a partition's time is read.")
PARTITION_TIMESTAMP_PATTERN = _option("partition.timestamp-pattern", str, "", "Values that make a partition's time.")
_option("path", str, "", "Where the table is.", change=Change.NEVER)
PK_CLUSTERING_OVERRIDE = _option(
    "pk-clustering-override", boolean, False, "Files are sorted by other columns.", change=Change.EMPTY
)
POSTPONE_BATCH_FIXED = _option(
    "postpone.batch-write-fixed-bucket", boolean, True, "Statements give rows their buckets at once."
)
POSTPONE_BATCH_MOST = _option(
    "postpone.batch-write-fixed-bucket.max-parallelism", integer, 2048, "Most buckets that a statement gives.", least=1
)
POSTPONE_DEFAULT_BUCKETS = _option(
    "postpone.default-bucket-num", optional(integer), None, "Buckets of a new partition; default: by its rows.", least=1
)
POSTPONE_MERGE_ON_READ = _option(
    "postpone.merge-on-read", boolean, False, "Readers see rows of the postponed bucket, too."
)
POSTPONE_TARGET_ROWS = _option(
    "postpone.target-row-num-per-bucket", optional(long_integer), None, "Rows of a bucket of a new partition.", least=1
)
POSTPONE_TARGET_SIZE = _option(
    "postpone.target-size-per-bucket", memory_size, 2**30, "Bytes of a bucket of a new partition."
)
PRIMARY_KEY = _option("primary-key", names, NO_NAMES, "Primary key columns, at CREATE TABLE.", change=Change.NEVER)
_option("primary-key.nullable", boolean, False, "Primary keys may be NULL.", change=Change.EMPTY)
QUERY_AUTH = _option("query-auth.enabled", boolean, False, "Readers ask the catalog what they may see.")
READ_ALLOW_FULL_SCAN = _option("read.allow.fullScan", boolean, True, "Read a partitioned table without a filter, too.")
RECORD_EXPIRE_TIME = _option("record-level.expire-time", optional(duration), None, "How long rows stay, ms.")
RECORD_TIME_FIELD = _option("record-level.time-field", str, "", "Column with the time that a row's expiry counts from.")
ROW_TRACKING = _option(
    "row-tracking.enabled", boolean, False, "Rows have ids, and know what snapshot changed them.", change=Change.EMPTY
)
ROW_TRACKING_GROUP = _option(
    "row-tracking.partition-group-on-commit", boolean, True, "New rows of a partition get ids that follow one another."
)
ROW_KIND_FIELD = _option("rowkind.field", str, "", "Column with the row kind: +I, -U, +U or -D.", change=Change.EMPTY)
SCALAR_INDEX_SEARCH_MODE = _option(
    "scalar-index.search-mode",
    optional(one_of(*SEARCH_MODES)),
    None,
    "As global-index.search-mode, which it overrides.",
)
SCAN_BOUNDED_WATERMARK = _option(
    "scan.bounded.watermark", optional(long_integer), None, "Streams end before the first snapshot past it, ms."
)
SCAN_BUCKET = _option("scan.bucket", optional(integer), None, "Read this bucket only.")
SCAN_CREATION_TIME_MILLIS = _option(
    "scan.creation-time-millis",
    long_integer,
    0,
    "Read the first snapshot committed since; without one, the files written since. Epoch milliseconds.",
)
SCAN_FALLBACK_BRANCH = _option(
    "scan.fallback-branch", str.strip, "", "Branch with the partitions that the table lacks."
)
SCAN_DELTA_BRANCH = _option("scan.fallback-delta-branch", str.strip, "", "Chain tables: the branch of changes.")
SCAN_SNAPSHOT_BRANCH = _option("scan.fallback-snapshot-branch", str.strip, "", "Chain tables: the full partitions.")
SCAN_FILE_CREATION_TIME_MILLIS = _option(
    "scan.file-creation-time-millis", long_integer, 0, "Read the files written at or after these epoch milliseconds."
)
SCAN_IGNORE_CORRUPT = _option("scan.ignore-corrupt-files", boolean, False, "Damaged files have no more rows.")
SCAN_IGNORE_LOST = _option("scan.ignore-lost-files", boolean, False, "Missing files have no rows.")
SCAN_MODE = _option(
    "scan.mode",
    one_of(
        *("default", "latest-full", "full", "latest", "latest-delta", "compacted-full", "from-timestamp"),
        *("from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental"),
    ),
    "default",
    "Which version a query reads.",
)
SCAN_PRIMARY_BRANCH = _option("scan.primary-branch", str.strip, "", "Branch whose partitions come before the table's.")
SCAN_SNAPSHOT_ID = _option("scan.snapshot-id", long_integer, 0, "Read this snapshot; 0: the latest.")
SCAN_TIMESTAMP = _option("scan.timestamp", str, "", "Read the table as of this wall clock time.")
SCAN_TIMESTAMP_MILLIS = _option(
    "scan.timestamp-millis", long_integer, 0, "Read the table as of these epoch milliseconds."
)
SCAN_WATERMARK = _option(
    "scan.watermark", long_integer, 0, "Read the first snapshot of this watermark or a later one, ms."
)
SEQUENCE_FIELD = _option("sequence.field", names, NO_NAMES, "Columns that order the rows of one key.")
SEQUENCE_ORDER = _option(
    "sequence.field.sort-order",
    one_of("ascending", "descending"),
    "ascending",
    "Which sequence field values are the newer.",
)
SNAPSHOT_ORDERING = _option(
    "sequence.snapshot-ordering",
    boolean,
    False,
    "Of the rows of a key that of the latest snapshot is the newest.",
    change=Change.EMPTY,
)
SINK_PROCESS_TIME_ZONE = _option("sink.process-time-zone", str, "", "Zone of automatic tags; default: the process's.")
SNAPSHOT_CLEAN_EMPTY_DIRS = _option(
    "snapshot.clean-empty-directories",
    boolean,
    False,
    "Expiry deletes the folders that it empties.",
    aliases=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_EXPIRE_LIMIT = _option("snapshot.expire.limit", integer, 50, "Snapshots that expire at a time.")
SNAPSHOT_IGNORE_EMPTY_COMMIT = _option("snapshot.ignore-empty-commit", boolean, True, "No snapshot for no rows.")
SNAPSHOT_NUM_RETAINED_MAX = _option("snapshot.num-retained.max", integer, 2**31 - 1, "Most snapshots kept.")
SNAPSHOT_NUM_RETAINED_MIN = _option("snapshot.num-retained.min", integer, 10, "Snapshots that are always kept.")
SNAPSHOT_TIME_RETAINED = _option("snapshot.time-retained", duration, 3_600_000, "How long snapshots are kept, ms.")
GLOBAL_INDEX_MAX_PARALLELISM = _option(
    "sorted-index.build.max-parallelism", integer, 4096, "Most files that the rows of a range are divided among."
)
GLOBAL_INDEX_ROWS = _option("sorted-index.records-per-range", long_integer, 10_000_000, "Rows of a global index file.")
SPLIT_OPEN_FILE_COST = _option("source.split.open-file-cost", memory_size, 4 * 2**20, "Least weight of a file.")
SPLIT_TARGET_SIZE = _option("source.split.target-size", memory_size, 128 * 2**20, "Bytes a read task should have.")
SPILL_COMPRESSION = _option("spill-compression", one_of("zstd", "lz4", "lzo", "none"), "zstd", "Codec of spilled rows.")
SPILL_ZSTD_LEVEL = _option("spill-compression.zstd-level", integer, 1, "Level of the zstd codec of spilled rows.")
STREAMING_READ_APPEND_OVERWRITE = _option(
    "streaming-read-append-overwrite", boolean, False, "As streaming-read-overwrite, of tables without keys."
)
STREAMING_READ_OVERWRITE = _option(
    "streaming-read-overwrite", boolean, False, "Streams read what snapshots that replace rows changed."
)
STREAMING_READ_DELAY = _option("streaming.read.snapshot.delay", optional(duration), None, "Streams read this late, ms.")
READ_SEQUENCE_NUMBER = _option(
    "table-read.sequence-number.enabled", boolean, False, "Show sequence numbers in $audit_log and $binlog."
)
TAG_AUTOMATIC_COMPLETION = _option("tag.automatic-completion", boolean, False, "Make the tags of missed periods.")
TAG_AUTOMATIC_CREATION = _option(
    "tag.automatic-creation", one_of("none", "process-time", "watermark", "batch"), "none", "When commits make tags."
)
TAG_BATCH_CUSTOMIZED_NAME = _option("tag.batch.customized-name", str, "", "Name of the tag of a batch commit.")
TAG_CREATE_SUCCESS_FILE = _option(
    "tag.create-success-file", boolean, False, "A tag has a file tag/tag-success-file/NAME_SUCCESS."
)
TAG_CREATION_DELAY = _option("tag.creation-delay", duration, 0, "How long after a period its tag is made, ms.")
TAG_CREATION_PERIOD = _option(
    "tag.creation-period", one_of("daily", "hourly", "two-hours"), "daily", "Period of a tag."
)
TAG_CREATION_PERIOD_DURATION = _option("tag.creation-period-duration", optional(duration), None, "Period of a tag, ms.")
TAG_DEFAULT_TIME_RETAINED = _option(
    "tag.default-time-retained", optional(duration), None, "How long automatic tags stay, ms."
)
TAG_NUM_RETAINED_MAX = _option("tag.num-retained-max", optional(integer), None, "Most automatic tags kept.")
TAG_PERIOD_FORMATTER = _option(
    "tag.period-formatter",
    one_of("with_dashes", "without_dashes", "without_dashes_and_spaces"),
    "with_dashes",
    "How periods name tags.",
)
TAG_TIME_EXPIRE_ENABLED = _option("tag.time-expire-enabled", boolean, True, "Commits remove expired tags.")
TARGET_FILE_ROW_NUM = _option(
    "target-file-row-num", long_integer, 2**63 - 1, "Rows that a data file has at most.", least=1
)
TARGET_FILE_SIZE = _option(
    "target-file-size", memory_size, 0, "Size data files roll at; 0: 128 mb with keys, else 256."
)
_option("type", str, "table", "What kind of table it is.", change=Change.NEVER)
UPSERT_KEY = _option("upsert-key", names, NO_NAMES, "INSERT INTO replaces the rows of equal values in these columns.")
WRITE_BUFFER_SIZE = _option(
    "write-buffer-size", memory_size, 256 * 2**20, "Bytes of rows a task sorts at once.", least=1
)
WRITE_BUFFER_SPILL_SIZE = _option(
    "write-buffer-spill.max-disk-size", memory_size, 2**63 - 1, "Bytes that a task may spill."
)
WRITE_BUFFER_SPILLABLE = _option("write-buffer-spillable", boolean, True, "A full buffer is spilled to the local disk.")
WRITE_ONLY = _option("write-only", boolean, False, "Writers do not compact.", aliases=("write.compaction-skip",))
HIVE_PARTITION_ORDER = _option(
    "write.hive-style-dynamic-partition.enabled", boolean, False, "INSERT … PARTITION (p) takes partition columns last."
)
MERGE_SCHEMA = _option("write.merge-schema", boolean, False, "Rows bring new columns with them.")
MERGE_SCHEMA_EXPLICIT_CAST = _option(
    "write.merge-schema.explicit-cast", boolean, False, "Rows also change types where information is lost."
)
MERGE_SCHEMA_TYPE_WIDENING = _option("write.merge-schema.type-widening", boolean, False, "Rows also widen types.")
STREAM_COMMIT_USER = _option("write.stream.commit-user", str, "", "Commit user of a stream; default: of its query.")
UNKNOWN_EPOCHS = ("fail", "commit", "skip")
STREAM_UNKNOWN_EPOCH = _option(
    "write.stream.unknown-epoch", one_of(*UNKNOWN_EPOCHS), "fail", "Epochs that may have been committed or not."
)

TABLE_OPTIONS = (*_declared, *ICEBERG_OPTIONS)
