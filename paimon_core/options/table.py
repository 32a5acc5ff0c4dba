"""The options of tables that this version supports, in the order of their keys.

Source: Paimon's configuration page and `CoreOptions`. `options.support` lists options that only other engines use.
Options of file formats (`parquet.*`, `csv.*` …) and of file indexes are beside the code of these.
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
    """Return a new option, and add it to `TABLE_OPTIONS`."""
    option = Option(key, parse, default, doc, aliases, least, change)
    _declared.append(option)
    return option


NO_NAMES: tuple[str, ...] = ()
NO_LEVELS: Mapping[int, str] = {}
DYNAMIC, POSTPONED = -1, -2  # values of `bucket`
DONE_ACTIONS: tuple[str, ...] = ("success-file",)
SEARCH_MODES = ("fast", "full", "detail")

ADD_BEFORE_PARTITION = _option("add-column-before-partition", boolean, False, "Add columns before partition columns.")
AGGREGATION_REMOVE_ON_DELETE = _option(
    "aggregation.remove-record-on-delete",
    boolean,
    False,
    "A delete removes the row, not only its values.",
    change=Change.EMPTY,
)
NO_NULL_TO_NOT_NULL = _option("alter-column-null-to-not-null.disabled", boolean, True, "Refuse NULL to NOT NULL.")
BITMAP_INDEX_COMPRESSION = _option("bitmap-index.compression", str, "none", "Codec of blocks: none, zstd or lz4.")
BITMAP_INDEX_COMPRESSION_LEVEL = _option("bitmap-index.compression-level", integer, 1, "Level of zstd.")
BITMAP_INDEX_BLOCK_SIZE = _option(
    "bitmap-index.dictionary-block-size", memory_size, 16 * 2**10, "Size of a bitmap index's blocks of keys."
)
BITMAP_INDEX_SCAN_SIZE = _option(
    "bitmap-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Largest size of files for lookups of ranges."
)
BLOB_AS_DESCRIPTOR = _option("blob-as-descriptor", boolean, False, "Read descriptors of BLOB values, not the values.")
BLOB_DESCRIPTOR_FIELD = _option(
    "blob-descriptor-field",
    names,
    NO_NAMES,
    "BLOB columns with their descriptors in the data files.",
    change=Change.EMPTY,
)
BLOB_FIELD = _option(
    "blob-field", names, NO_NAMES, "Binary columns that become BLOB, in separate files.", change=Change.EMPTY
)
BLOB_VIEW_FIELD = _option(
    "blob-view-field", names, NO_NAMES, "BLOB columns that refer to values of other tables.", change=Change.EMPTY
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
    "btree-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Largest size of files for lookups of ranges."
)
BUCKET = _option("bucket", integer, -1, "Number of buckets; -1: dynamic with a primary key, none without.")
BUCKET_FUNCTION = _option(
    "bucket-function.type",
    one_of("default", "mod", "hive"),
    "default",
    "Function from the bucket key to the bucket.",
    change=Change.EMPTY,
)
BUCKET_KEY = _option(
    "bucket-key", names, NO_NAMES, "Columns that decide the bucket; default: the primary key.", change=Change.EMPTY
)
CHAIN_PARTITION_KEYS = _option(
    "chain-table.chain-partition-keys", names, NO_NAMES, "Partition columns that order chains."
)
CHAIN_TABLE = _option("chain-table.enabled", boolean, False, "Keep full partitions and later changes in branches.")
CHANGELOG_FILE_COMPRESSION = _option("changelog-file.compression", str, "", "Codec of changelog files.")
CHANGELOG_FILE_FORMAT = _option("changelog-file.format", str, "", "Format of changelog files; empty: `file.format`.")
CHANGELOG_FILE_PREFIX = _option(
    "changelog-file.prefix", file_prefix, "changelog-", "First part of the names of changelog files."
)
CHANGELOG_STATS_MODE = _option("changelog-file.stats-mode", str, "", "Statistics kept of changelog files.")
CHANGELOG_PRODUCER = _option(
    "changelog-producer",
    one_of("none", "input", "full-compaction", "lookup"),
    "none",
    "Source of the table's changelog.",
)
CHANGELOG_ROW_DEDUPLICATE = _option(
    "changelog-producer.row-deduplicate", boolean, False, "Ignore updates that do not change the row."
)
CHANGELOG_ROW_DEDUPLICATE_IGNORE = _option(
    "changelog-producer.row-deduplicate-ignore-fields", names, NO_NAMES, "Columns to leave out of this comparison."
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
    "Order of rows by these columns.",
    aliases=("sink.clustering.strategy",),
)
COMMIT_IDENTIFIER = _option(
    "commit.identifier", optional(long_integer), None, "Number of a write that must be committed only once.", least=0
)
COMMIT_MAX_RETRIES = _option(
    "commit.max-retries", integer, 10, "Most retries of a commit; includes lost races if the table sets it."
)
COMMIT_MAX_RETRY_WAIT = _option("commit.max-retry-wait", duration, 10_000, "Longest wait before another try, ms.")
COMMIT_MIN_RETRY_WAIT = _option("commit.min-retry-wait", duration, 10, "Shortest wait before another try, ms.")
COMMIT_TIMEOUT = _option("commit.timeout", optional(duration), None, "Longest time for retries of a commit, ms.")
COMMIT_UNSAFE_STORAGE = _option("commit.unsafe-storage", boolean, False, "Commit on storages that hide lost races.")
COMMIT_USER_PREFIX = _option("commit.user-prefix", str, "", "First part of generated commit users.")
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
    "compaction.incremental-size-threshold", memory_size, 0, "Bytes above the last level that start a full compaction."
)
MAX_SIZE_AMPLIFICATION = _option(
    "compaction.max-size-amplification-percent",
    integer,
    200,
    "Size of younger runs, in percent of the oldest run, that starts a full compaction.",
    least=0,
)
MIN_FILE_NUM = _option(
    "compaction.min.file-num", integer, 5, "Small files of an append table worth compacting.", least=1
)
OFFPEAK_RATIO = _option(
    "compaction.offpeak-ratio", integer, 0, "Further percent by which a run may be larger off-peak.", least=0
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
    "compaction.skip-expired-partitions", boolean, False, "Do not compact partitions that will expire."
)
SMALL_FILE_RATIO = _option(
    "compaction.small-file-ratio", decimal_number, 0.7, "Share of the target size below which a file is small.", least=0
)
TOTAL_SIZE_THRESHOLD = _option("compaction.total-size-threshold", memory_size, 0, "Compact smaller buckets fully.")
CONSUMER_CHANGELOG_ONLY = _option("consumer.changelog-only", boolean, False, "Consumers keep changelogs only.")
CONSUMER_EXPIRATION_TIME = _option(
    "consumer.expiration-time", optional(duration), None, "Remove consumers that are idle for longer, ms."
)
CONSUMER_ID = _option("consumer-id", str, "", "Name under which a stream keeps its progress in the table.")
CONSUMER_IGNORE_PROGRESS = _option(
    "consumer.ignore-progress", boolean, False, "Start streams by scan.mode, not at the consumer's progress."
)
CROSS_PARTITION_INDEX_TTL = _option(
    "cross-partition-upsert.index-ttl", optional(duration), None, "Treat keys in files older than this as new, ms."
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
    "Choice of an external path for a file.",
)
DATA_FILE_EXTERNAL_WEIGHTS = _option(
    "data-file.external-paths.weights", optional(weights), None, "Weights of the external paths for weight-robin."
)
DATA_FILE_DIRECTORY = _option(
    "data-file.path-directory", folder, "", "Folder of the table that holds the data files.", change=Change.EMPTY
)
DATA_FILE_PREFIX = _option("data-file.prefix", file_prefix, "data-", "First part of the names of data files.")
DATA_FILE_THIN = _option("data-file.thin-mode", boolean, False, "Do not store key columns twice.")
DELETE_PRODUCES_CHANGELOG = _option(
    "delete.force-produce-changelog", boolean, False, "Delete row by row, so that the changelog has each row."
)
DELETION_VECTOR_FILE_SIZE = _option(
    "deletion-vector.index-file.target-size", memory_size, 2 * 2**20, "Target size of files of deletion vectors."
)
DELETION_VECTOR_BITMAP64 = _option("deletion-vectors.bitmap64", boolean, False, "Deletion vectors of 64 bits.")
DELETION_VECTORS_MODIFIABLE = _option(
    "deletion-vectors.modifiable", boolean, False, "ALTER TABLE may change deletion-vectors.enabled."
)
DELETION_VECTORS = _option("deletion-vectors.enabled", boolean, False, "Mark deleted rows in separate files.")
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
    "dynamic-bucket.initial-buckets", integer, 0, "Assigners in use; 0: all.", least=1, change=Change.EMPTY
)
DYNAMIC_BUCKET_MAX = _option("dynamic-bucket.max-buckets", integer, -1, "Most buckets of a partition; -1: no bound.")
DYNAMIC_BUCKET_TARGET_ROWS = _option(
    "dynamic-bucket.target-row-num", long_integer, 2_000_000, "Keys of a full bucket.", least=1
)
END_INPUT_CHECK_PARTITION_EXPIRE = _option(
    "end-input.check-partition-expire", boolean, False, "Every batch commit expires partitions."
)
FILE_INDEX_THRESHOLD = _option(
    "file-index.in-manifest-threshold", memory_size, 500, "Largest file index that is stored in a manifest."
)
FILE_INDEX_READ = _option("file-index.read.enabled", boolean, True, "Skip files and rows by file indexes.")
FILE_BLOCK_SIZE = _option("file.block-size", memory_size, 0, "Bytes of a row group or stripe; 0: the format's default.")
FILE_COMPRESSION = _option("file.compression", str, "zstd", "Codec of data files.")
FILE_COMPRESSION_PER_LEVEL = _option("file.compression.per.level", by_level, NO_LEVELS, "Codec of a level's files.")
ZSTD_LEVEL = _option("file.compression.zstd-level", integer, 1, "Level of the zstd codec.")
FILE_FORMAT = _option("file.format", str.lower, "parquet", "Format of data files.")
FILE_FORMAT_PER_LEVEL = _option("file.format.per.level", by_level, NO_LEVELS, "Format of a level's files.")
FILE_SUFFIX_COMPRESSION = _option(
    "file.suffix.include.compression", boolean, False, "Add the codec to the names of files."
)
FORCE_LOOKUP = _option(
    "force-lookup", boolean, False, "Compactions take all level-0 files, as for lookup.", change=Change.EMPTY
)
FORMAT_TABLE_ONLY_VALUES = _option(
    "format-table.partition-path-only-value", boolean, False, "Name partition folders VALUE, not KEY=VALUE."
)
DELTA_COMMITS = _option(
    "full-compaction.delta-commits", integer, 0, "Compact fully after each write; 0: do not.", least=0
)
GLOBAL_INDEX_UPDATE_ACTION = _option(
    "global-index.column-update-action",
    one_of("throw_error", "drop_partition_index", "ignore"),
    "throw_error",
    "What happens to a global index when its column is updated.",
)
GLOBAL_INDEX_ENABLED = _option("global-index.enabled", boolean, True, "Skip files and rows by global indexes.")
GLOBAL_INDEX_EXTERNAL_PATH = _option("global-index.external-path", optional(str), None, "Folder for new index files.")
GLOBAL_INDEX_SEARCH_MODE = _option(
    "global-index.search-mode", one_of(*SEARCH_MODES), "full", "How queries find rows that are not indexed yet."
)
GLOBAL_INDEX_THREADS = _option("global-index.thread-num", integer, 32, "Index files to read at a time.")
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
    "incremental-between-scan-mode", one_of("auto", "delta", "changelog", "diff"), "auto", "What to read of snapshots."
)
INCREMENTAL_TAG_TO_SNAPSHOT = _option(
    "incremental-between-tag-to-snapshot",
    boolean,
    False,
    "Read the snapshots between two tags, instead of comparing the tags.",
)
INDEX_FILE_IN_DATA_DIR = _option(
    "index-file-in-data-file-dir", boolean, False, "Store index files beside data files.", change=Change.EMPTY
)
SORT_MAX_FILES = _option(
    "local-sort.max-num-file-handles", integer, 128, "Spilled runs that a task merges at once.", least=1
)
LOOKUP_COMPACT = _option("lookup-compact", one_of("radical", "gentle"), "radical", "When level-0 files are looked up.")
LOOKUP_MAX_INTERVAL = _option(
    "lookup-compact.max-interval", integer, 0, "Number of level-0 files at which `gentle` compacts.", least=0
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
    "Streams wait for the compaction that makes an epoch's rows visible, or its changelog.",
    aliases=("changelog-producer.lookup-wait",),
)
MANIFEST_SORT_ENABLED = _option("manifest-sort.enabled", boolean, False, "Sort merged manifests by partition.")
MANIFEST_SORT_SIZE = _option("manifest-sort.max-rewrite-size", memory_size, 256 * 2**20, "Bytes of manifests to sort.")
MANIFEST_SORT_FIELD = _option(
    "manifest-sort.partition-field", str.strip, "", 'Partition column to sort by; "": the first.'
)
MANIFEST_COMPRESSION = _option("manifest.compression", str, "zstd", "Codec of manifests.")
MANIFEST_DELETE_DROP_STATS = _option(
    "manifest.delete-file-drop-stats", boolean, False, "Leave statistics of deleted files out of manifests."
)
MANIFEST_FORMAT = _option("manifest.format", str.lower, "avro", "Format of manifests.")
MANIFEST_FULL_COMPACTION_SIZE = _option(
    "manifest.full-compaction-threshold-size", memory_size, 16 * 2**20, "Size of small manifests that rewrites all."
)
MANIFEST_MERGE_MIN_COUNT = _option("manifest.merge-min-count", integer, 30, "Small manifests that are merged.")
MANIFEST_TARGET_FILE_SIZE = _option("manifest.target-file-size", memory_size, 8 * 2**20, "Size of merged manifests.")
MERGE_ENGINE = _option(
    "merge-engine",
    one_of("deduplicate", "partial-update", "aggregation", "first-row"),
    "deduplicate",
    "How rows of one key are merged into one.",
    change=Change.EMPTY,
)
STATS_DENSE_STORE = _option("metadata.stats-dense-store", boolean, True, "Store no empty statistics.")
STATS_KEEP_FIRST_N = _option(
    "metadata.stats-keep-first-n-columns", integer, -1, "Number of columns with statistics; -1: all."
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
OVERWRITE_UPGRADE = _option("overwrite-upgrade", boolean, True, "Treat files that replace all others as compacted.")
PARTIAL_UPDATE_REMOVE_ON_DELETE = _option(
    "partial-update.remove-record-on-delete", boolean, False, "A delete removes the row.", change=Change.EMPTY
)
PARTIAL_UPDATE_REMOVE_ON_GROUP = _option(
    "partial-update.remove-record-on-sequence-group",
    names,
    NO_NAMES,
    "Sequence groups with deletes that remove the row.",
    change=Change.EMPTY,
)
_option("partition", names, NO_NAMES, "Partition columns, at CREATE TABLE.", change=Change.NEVER)
PARTITION_DEFAULT_NAME = _option("partition.default-name", str, "__DEFAULT_PARTITION__", "Folder for NULL and blanks.")
PARTITION_END_INPUT_TO_DONE = _option(
    "partition.end-input-to-done", boolean, False, "Writes mark their partitions as done."
)
PARTITION_EXPIRATION_CHECK_INTERVAL = _option(
    "partition.expiration-check-interval", duration, 3_600_000, "How often commits expire partitions, ms."
)
PARTITION_EXPIRATION_MAX_NUM = _option(
    "partition.expiration-max-num", integer, 100, "Most partitions to expire at a time."
)
PARTITION_EXPIRATION_STRATEGY = _option(
    "partition.expiration-strategy",
    one_of("values-time", "update-time"),
    "values-time",
    "How the age of a partition is measured.",
)
PARTITION_EXPIRATION_TIME = _option(
    "partition.expiration-time", optional(duration), None, "How long partitions stay, ms."
)
PARTITION_LEGACY_NAME = _option(
    "partition.legacy-name", boolean, True, "Folders have DATE as days, timestamps in ISO 8601.", change=Change.EMPTY
)
PARTITION_MARK_DONE_ACTION = _option(
    "partition.mark-done-action", names, DONE_ACTIONS, "What marking a partition done does."
)
PARTITION_MARK_DONE_PARAMS = _option(
    "partition.mark-done-action.http.params", optional(str), None, "Text that http-report sends along."
)
PARTITION_MARK_DONE_URL = _option("partition.mark-done-action.http.url", str, "", "Address that http-report calls.")
PARTITION_TIMESTAMP_STRICT = _option(
    "partition.timestamp-format.strict", boolean, False, "Refuse partitions that are not a time."
)
PARTITION_TIMESTAMP_FORMATTER = _option("partition.timestamp-formatter", str, "", "Format of a partition's time.")
PARTITION_TIMESTAMP_PATTERN = _option("partition.timestamp-pattern", str, "", "Pattern that builds a partition's time.")
_option("path", str, "", "Folder of the table.", change=Change.NEVER)
PK_CLUSTERING_OVERRIDE = _option(
    "pk-clustering-override", boolean, False, "Files are sorted by other columns.", change=Change.EMPTY
)
POSTPONE_BATCH_FIXED = _option(
    "postpone.batch-write-fixed-bucket", boolean, True, "Batch statements assign buckets at once."
)
POSTPONE_BATCH_MOST = _option(
    "postpone.batch-write-fixed-bucket.max-parallelism", integer, 2048, "Most buckets per statement.", least=1
)
POSTPONE_DEFAULT_BUCKETS = _option(
    "postpone.default-bucket-num", optional(integer), None, "Buckets of a new partition; default: by its rows.", least=1
)
POSTPONE_MERGE_ON_READ = _option("postpone.merge-on-read", boolean, False, "Read rows of the postponed bucket, too.")
POSTPONE_TARGET_ROWS = _option(
    "postpone.target-row-num-per-bucket", optional(long_integer), None, "Rows of a bucket of a new partition.", least=1
)
POSTPONE_TARGET_SIZE = _option(
    "postpone.target-size-per-bucket", memory_size, 2**30, "Bytes of a bucket of a new partition."
)
PRIMARY_KEY = _option("primary-key", names, NO_NAMES, "Primary key columns, at CREATE TABLE.", change=Change.NEVER)
_option("primary-key.nullable", boolean, False, "Primary keys may be NULL.", change=Change.EMPTY)
QUERY_AUTH = _option("query-auth.enabled", boolean, False, "Readers ask the catalog which rows and columns to show.")
READ_ALLOW_FULL_SCAN = _option("read.allow.fullScan", boolean, True, "Allow queries without a filter on partitions.")
RECORD_EXPIRE_TIME = _option("record-level.expire-time", optional(duration), None, "How long rows stay, ms.")
RECORD_TIME_FIELD = _option("record-level.time-field", str, "", "Column with the time that a row's expiry counts from.")
ROW_TRACKING = _option(
    "row-tracking.enabled", boolean, False, "Rows have ids, and the snapshot that changed them.", change=Change.EMPTY
)
ROW_TRACKING_GROUP = _option(
    "row-tracking.partition-group-on-commit", boolean, True, "Give new rows of a partition consecutive ids."
)
ROW_KIND_FIELD = _option("rowkind.field", str, "", "Column with the row kind: +I, -U, +U or -D.", change=Change.EMPTY)
SCALAR_INDEX_SEARCH_MODE = _option(
    "scalar-index.search-mode",
    optional(one_of(*SEARCH_MODES)),
    None,
    "Overrides global-index.search-mode.",
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
    "scan.fallback-branch", str.strip, "", "Branch for partitions that the table does not have."
)
SCAN_DELTA_BRANCH = _option("scan.fallback-delta-branch", str.strip, "", "Chain tables: the branch of changes.")
SCAN_SNAPSHOT_BRANCH = _option("scan.fallback-snapshot-branch", str.strip, "", "Chain tables: the full partitions.")
SCAN_FILE_CREATION_TIME_MILLIS = _option(
    "scan.file-creation-time-millis", long_integer, 0, "Read the files written at or after these epoch milliseconds."
)
SCAN_IGNORE_CORRUPT = _option("scan.ignore-corrupt-files", boolean, False, "Ignore the rest of damaged files.")
SCAN_IGNORE_LOST = _option("scan.ignore-lost-files", boolean, False, "Ignore missing files.")
SCAN_MODE = _option(
    "scan.mode",
    one_of(
        *("default", "latest-full", "full", "latest", "latest-delta", "compacted-full", "from-timestamp"),
        *("from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental"),
    ),
    "default",
    "Version that a query reads.",
)
SCAN_PRIMARY_BRANCH = _option("scan.primary-branch", str.strip, "", "Branch with partitions that replace the table's.")
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
    "Order in which sequence field values become newer.",
)
SNAPSHOT_ORDERING = _option(
    "sequence.snapshot-ordering",
    boolean,
    False,
    "Of the rows of a key, the row of the latest snapshot is the newest.",
    change=Change.EMPTY,
)
SINK_PROCESS_TIME_ZONE = _option("sink.process-time-zone", str, "", "Zone of automatic tags; default: the process's.")
SNAPSHOT_CLEAN_EMPTY_DIRS = _option(
    "snapshot.clean-empty-directories",
    boolean,
    False,
    "Expiry deletes folders that become empty.",
    aliases=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_EXPIRE_LIMIT = _option("snapshot.expire.limit", integer, 50, "Snapshots that expire at a time.")
SNAPSHOT_IGNORE_EMPTY_COMMIT = _option("snapshot.ignore-empty-commit", boolean, True, "No snapshot for no rows.")
SNAPSHOT_NUM_RETAINED_MAX = _option("snapshot.num-retained.max", integer, 2**31 - 1, "Most snapshots kept.")
SNAPSHOT_NUM_RETAINED_MIN = _option("snapshot.num-retained.min", integer, 10, "Snapshots that are always kept.")
SNAPSHOT_TIME_RETAINED = _option("snapshot.time-retained", duration, 3_600_000, "How long snapshots are kept, ms.")
GLOBAL_INDEX_MAX_PARALLELISM = _option(
    "sorted-index.build.max-parallelism", integer, 4096, "Most index files per range."
)
GLOBAL_INDEX_ROWS = _option("sorted-index.records-per-range", long_integer, 10_000_000, "Rows of a global index file.")
SPLIT_OPEN_FILE_COST = _option("source.split.open-file-cost", memory_size, 4 * 2**20, "Least weight of a file.")
SPLIT_TARGET_SIZE = _option("source.split.target-size", memory_size, 128 * 2**20, "Bytes a read task should have.")
SPILL_COMPRESSION = _option("spill-compression", one_of("zstd", "lz4", "lzo", "none"), "zstd", "Codec of spilled rows.")
SPILL_ZSTD_LEVEL = _option("spill-compression.zstd-level", integer, 1, "Level of the zstd codec of spilled rows.")
STREAMING_READ_APPEND_OVERWRITE = _option(
    "streaming-read-append-overwrite", boolean, False, "As streaming-read-overwrite, without a primary key."
)
STREAMING_READ_OVERWRITE = _option(
    "streaming-read-overwrite", boolean, False, "Streams also read snapshots that overwrite rows."
)
STREAMING_READ_DELAY = _option("streaming.read.snapshot.delay", optional(duration), None, "Streams read this late, ms.")
READ_SEQUENCE_NUMBER = _option(
    "table-read.sequence-number.enabled", boolean, False, "Show sequence numbers in $audit_log and $binlog."
)
TAG_AUTOMATIC_COMPLETION = _option("tag.automatic-completion", boolean, False, "Create the tags of missed periods.")
TAG_AUTOMATIC_CREATION = _option(
    "tag.automatic-creation", one_of("none", "process-time", "watermark", "batch"), "none", "When commits create tags."
)
TAG_BATCH_CUSTOMIZED_NAME = _option("tag.batch.customized-name", str, "", "Name of the tag of a batch commit.")
TAG_CREATE_SUCCESS_FILE = _option(
    "tag.create-success-file", boolean, False, "Write tag/tag-success-file/NAME_SUCCESS per tag."
)
TAG_CREATION_DELAY = _option("tag.creation-delay", duration, 0, "Wait after a period before its tag is created, ms.")
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
    "Format of tag names.",
)
TAG_TIME_EXPIRE_ENABLED = _option("tag.time-expire-enabled", boolean, True, "Commits remove expired tags.")
TARGET_FILE_ROW_NUM = _option(
    "target-file-row-num", long_integer, 2**63 - 1, "Rows that a data file has at most.", least=1
)
TARGET_FILE_SIZE = _option(
    "target-file-size", memory_size, 0, "Target size of data files; 0: 128 mb with keys, else 256."
)
_option("type", str, "table", "Kind of table.", change=Change.NEVER)
UPSERT_KEY = _option("upsert-key", names, NO_NAMES, "INSERT INTO replaces rows with equal values in these columns.")
WRITE_BUFFER_SIZE = _option(
    "write-buffer-size", memory_size, 256 * 2**20, "Bytes of rows that a task sorts at once.", least=1
)
WRITE_BUFFER_SPILL_SIZE = _option(
    "write-buffer-spill.max-disk-size", memory_size, 2**63 - 1, "Bytes that a task may spill."
)
WRITE_BUFFER_SPILLABLE = _option("write-buffer-spillable", boolean, True, "Spill full buffers to the local disk.")
WRITE_ONLY = _option("write-only", boolean, False, "Writers do not compact.", aliases=("write.compaction-skip",))
HIVE_PARTITION_ORDER = _option(
    "write.hive-style-dynamic-partition.enabled", boolean, False, "INSERT … PARTITION (p) has partition columns last."
)
MERGE_SCHEMA = _option("write.merge-schema", boolean, False, "Writes add new columns to the table.")
MERGE_SCHEMA_EXPLICIT_CAST = _option(
    "write.merge-schema.explicit-cast", boolean, False, "Writes also change types, even if that loses information."
)
MERGE_SCHEMA_TYPE_WIDENING = _option("write.merge-schema.type-widening", boolean, False, "Writes also widen types.")
STREAM_COMMIT_USER = _option("write.stream.commit-user", str, "", "Commit user of a stream; default: of its query.")
UNKNOWN_EPOCHS = ("fail", "commit", "skip")
STREAM_UNKNOWN_EPOCH = _option(
    "write.stream.unknown-epoch", one_of(*UNKNOWN_EPOCHS), "fail", "What to do with epochs of unknown outcome."
)

TABLE_OPTIONS = (*_declared, *ICEBERG_OPTIONS)
