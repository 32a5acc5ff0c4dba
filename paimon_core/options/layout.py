"""The columns, keys, buckets and partitions of a table."""

from __future__ import annotations

from paimon_core.options.option import (
    NO_NAMES,
    Change,
    Option,
    boolean,
    duration,
    integer,
    long_integer,
    memory_size,
    names,
    one_of,
    optional,
)

DYNAMIC, POSTPONED = -1, -2  # values of `bucket`

ADD_BEFORE_PARTITION = Option("add-column-before-partition", boolean, False, "Add columns before partition columns.")
NO_NULL_TO_NOT_NULL = Option(
    "alter-column-null-to-not-null.disabled", boolean, True, "Refuse to change nullable columns to NOT NULL."
)
BLOB_AS_DESCRIPTOR = Option("blob-as-descriptor", boolean, False, "Read descriptors of BLOB values, not the values.")
BLOB_DESCRIPTOR_FIELD = Option(
    "blob-descriptor-field",
    names,
    NO_NAMES,
    "BLOB columns with their descriptors in the data files.",
    change=Change.EMPTY,
)
BLOB_FIELD = Option(
    "blob-field", names, NO_NAMES, "Binary columns that become BLOB, in separate files.", change=Change.EMPTY
)
BLOB_VIEW_FIELD = Option(
    "blob-view-field", names, NO_NAMES, "BLOB columns that refer to values of other tables.", change=Change.EMPTY
)
BLOB_VIEW_RESOLVE = Option("blob-view.resolve.enabled", boolean, True, "Read the values that views refer to.")
BUCKET = Option("bucket", integer, -1, "Number of buckets; -1: dynamic with a primary key, none without.")
BUCKET_FUNCTION = Option(
    "bucket-function.type",
    one_of("default", "mod", "hive"),
    "default",
    "Function from the bucket key to the bucket.",
    change=Change.EMPTY,
)
BUCKET_KEY = Option(
    "bucket-key", names, NO_NAMES, "Columns that decide the bucket; default: the primary key.", change=Change.EMPTY
)
CHAIN_PARTITION_KEYS = Option(
    "chain-table.chain-partition-keys", names, NO_NAMES, "Partition columns that order chains."
)
CHAIN_TABLE = Option("chain-table.enabled", boolean, False, "Keep full partitions and later changes in branches.")
CROSS_PARTITION_INDEX_TTL = Option(
    "cross-partition-upsert.index-ttl", optional(duration), None, "Treat keys in files older than this as new, ms."
)
DATA_EVOLUTION = Option(
    "data-evolution.enabled", boolean, False, "Files may hold only some columns of rows.", change=Change.EMPTY
)
REASSIGN_SKIP_CONTIGUOUS = Option(
    "data-evolution.reassign.skip-contiguous-row-count",
    long_integer,
    1_000_000_000,
    "Consecutive row ids that rows keep; 0: all get new ones.",
    least=0,
)
NO_EXPLICIT_CAST = Option("disable-explicit-type-casting", boolean, False, "Refuse type changes that lose information.")
DYNAMIC_BUCKET_ASSIGNERS = Option(
    "dynamic-bucket.assigner-parallelism", integer, 0, "Assigners; 0: as many as tasks.", least=0
)
DYNAMIC_BUCKET_INITIAL = Option(
    "dynamic-bucket.initial-buckets", integer, 0, "Assigners in use; 0: all.", least=1, change=Change.EMPTY
)
DYNAMIC_BUCKET_MAX = Option("dynamic-bucket.max-buckets", integer, -1, "Most buckets of a partition; -1: no bound.")
DYNAMIC_BUCKET_TARGET_ROWS = Option(
    "dynamic-bucket.target-row-num", long_integer, 2_000_000, "Keys of a full bucket.", least=1
)
FORMAT_TABLE_ONLY_VALUES = Option(
    "format-table.partition-path-only-value", boolean, False, "Name partition folders VALUE, not KEY=VALUE."
)
PARTITION_DEFAULT_NAME = Option("partition.default-name", str, "__DEFAULT_PARTITION__", "Folder for NULL and blanks.")
PARTITION_LEGACY_NAME = Option(
    "partition.legacy-name", boolean, True, "Folders have DATE as days, timestamps in ISO 8601.", change=Change.EMPTY
)
PK_CLUSTERING_OVERRIDE = Option(
    "pk-clustering-override", boolean, False, "Files are sorted by other columns.", change=Change.EMPTY
)
POSTPONE_BATCH_FIXED = Option(
    "postpone.batch-write-fixed-bucket", boolean, True, "Batch statements assign buckets at once."
)
POSTPONE_BATCH_MOST = Option(
    "postpone.batch-write-fixed-bucket.max-parallelism", integer, 2048, "Most buckets per statement.", least=1
)
POSTPONE_DEFAULT_BUCKETS = Option(
    "postpone.default-bucket-num", optional(integer), None, "Buckets of a new partition; default: by its rows.", least=1
)
POSTPONE_MERGE_ON_READ = Option("postpone.merge-on-read", boolean, False, "Read rows of the postponed bucket, too.")
POSTPONE_TARGET_ROWS = Option(
    "postpone.target-row-num-per-bucket", optional(long_integer), None, "Rows of a bucket of a new partition.", least=1
)
POSTPONE_TARGET_SIZE = Option(
    "postpone.target-size-per-bucket", memory_size, 2**30, "Bytes of a bucket of a new partition."
)
PRIMARY_KEY = Option("primary-key", names, NO_NAMES, "Primary key columns, at CREATE TABLE.", change=Change.NEVER)
QUERY_AUTH = Option("query-auth.enabled", boolean, False, "Readers ask the catalog which rows and columns to show.")
ROW_TRACKING = Option(
    "row-tracking.enabled", boolean, False, "Rows have ids, and the snapshot that changed them.", change=Change.EMPTY
)
ROW_TRACKING_GROUP = Option(
    "row-tracking.partition-group-on-commit", boolean, True, "Give new rows of a partition consecutive ids."
)
VECTOR_FIELD = Option("vector-field", names, NO_NAMES, "ARRAY columns that become VECTOR.")
VECTOR_FILE_FORMAT = Option(
    "vector.file.format", optional(str.lower), None, "Format of separate files of VECTOR columns.", change=Change.EMPTY
)
VECTOR_TARGET_FILE_SIZE = Option(
    "vector.target-file-size",
    optional(memory_size),
    None,
    "Size at which separate files of VECTOR columns roll; default: 10 * target-file-size.",
)
UPSERT_KEY = Option("upsert-key", names, NO_NAMES, "INSERT INTO replaces rows with equal values in these columns.")
