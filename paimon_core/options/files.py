"""Data files, changelog files and manifests: formats, codecs, names, sizes, folders and statistics."""

from __future__ import annotations

from paimon_core.options.option import (
    NO_LEVELS,
    NO_NAMES,
    Change,
    Option,
    boolean,
    by_level,
    decimal_number,
    file_prefix,
    folder,
    integer,
    long_integer,
    memory_size,
    names,
    one_of,
    optional,
    stats_mode,
    stats_mode_by_level,
    weights,
)

BLOB_COMPACTION = Option("blob-compaction.enabled", boolean, False, "Compactions combine .blob files, too.")
BLOB_TARGET_FILE_SIZE = Option(
    "blob.target-file-size", optional(memory_size), None, "Size at which .blob files roll; default: target-file-size."
)
CHANGELOG_FILE_COMPRESSION = Option("changelog-file.compression", str, "", "Codec of changelog files.")
CHANGELOG_FILE_FORMAT = Option("changelog-file.format", str, "", "Format of changelog files; empty: `file.format`.")
CHANGELOG_FILE_PREFIX = Option(
    "changelog-file.prefix", file_prefix, "changelog-", "First part of the names of changelog files."
)
CHANGELOG_STATS_MODE = Option(
    "changelog-file.stats-mode", optional(stats_mode), None, "Statistics kept of changelog files."
)
DATA_FILE_EXTERNAL_PATHS = Option(
    "data-file.external-paths", names, NO_NAMES, "Folders outside of the table for new data files."
)
DATA_FILE_EXTERNAL_FS = Option("data-file.external-paths.specific-fs", str.lower, "", "Scheme of paths to choose.")
DATA_FILE_EXTERNAL_STRATEGY = Option(
    "data-file.external-paths.strategy",
    one_of("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
    "none",
    "Choice of an external path for a file.",
)
DATA_FILE_EXTERNAL_WEIGHTS = Option(
    "data-file.external-paths.weights", optional(weights), None, "Weights of the external paths for weight-robin."
)
DATA_FILE_DIRECTORY = Option(
    "data-file.path-directory", folder, "", "Folder of the table that holds the data files.", change=Change.EMPTY
)
DATA_FILE_PREFIX = Option("data-file.prefix", file_prefix, "data-", "First part of the names of data files.")
DATA_FILE_THIN = Option("data-file.thin-mode", boolean, False, "Do not store key columns twice.")
DELETION_VECTOR_FILE_SIZE = Option(
    "deletion-vector.index-file.target-size", memory_size, 2 * 2**20, "Target size of files of deletion vectors."
)
FILE_BLOCK_SIZE = Option("file.block-size", memory_size, 0, "Bytes of a row group or stripe; 0: the format's default.")
FILE_COMPRESSION = Option("file.compression", str, "zstd", "Codec of data files.")
FILE_COMPRESSION_PER_LEVEL = Option("file.compression.per.level", by_level, NO_LEVELS, "Codec of a level's files.")
ZSTD_LEVEL = Option("file.compression.zstd-level", integer, 1, "Level of the zstd codec.")
FILE_FORMAT = Option("file.format", str.lower, "parquet", "Format of data files.")
FILE_FORMAT_PER_LEVEL = Option("file.format.per.level", by_level, NO_LEVELS, "Format of a level's files.")
FILE_SUFFIX_COMPRESSION = Option(
    "file.suffix.include.compression", boolean, False, "Add the codec to the names of files."
)
MANIFEST_SORT_ENABLED = Option("manifest-sort.enabled", boolean, False, "Sort merged manifests by partition.")
MANIFEST_SORT_SIZE = Option(
    "manifest-sort.max-rewrite-size", memory_size, 256 * 2**20, "Most bytes of manifests that one commit sorts."
)
MANIFEST_SORT_FIELD = Option(
    "manifest-sort.partition-field", str.strip, "", 'Partition column to sort by; "": the first.'
)
MANIFEST_COMPRESSION = Option("manifest.compression", str, "zstd", "Codec of manifests.")
MANIFEST_DELETE_DROP_STATS = Option(
    "manifest.delete-file-drop-stats", boolean, False, "Leave statistics of deleted files out of manifests."
)
MANIFEST_FORMAT = Option("manifest.format", str.lower, "avro", "Format of manifests.")
MANIFEST_FULL_COMPACTION_SIZE = Option(
    "manifest.full-compaction-threshold-size",
    memory_size,
    16 * 2**20,
    "Size of small manifests from which a commit rewrites all manifests.",
)
MANIFEST_MERGE_MIN_COUNT = Option(
    "manifest.merge-min-count", integer, 30, "Number of small manifests that starts a merge."
)
MANIFEST_TARGET_FILE_SIZE = Option("manifest.target-file-size", memory_size, 8 * 2**20, "Size of merged manifests.")
STATS_DENSE_STORE = Option("metadata.stats-dense-store", boolean, True, "Store no empty statistics.")
STATS_KEEP_FIRST_N = Option(
    "metadata.stats-keep-first-n-columns", integer, -1, "Number of columns with statistics; -1: all."
)
STATS_MODE = Option("metadata.stats-mode", stats_mode, "truncate(16)", "Statistics kept per column of a file.")
STATS_MODE_PER_LEVEL = Option(
    "metadata.stats-mode.per.level", stats_mode_by_level, NO_LEVELS, "Statistics kept at a level."
)
TARGET_FILE_ROW_NUM = Option(
    "target-file-row-num", long_integer, 2**63 - 1, "Rows that a data file has at most.", least=1
)
TARGET_FILE_SIZE = Option(
    "target-file-size", memory_size, 0, "Target size of data files; 0: 128 mb with keys, else 256."
)
VARIANT_INFERENCE = Option(
    "variant.inferShreddingSchema", boolean, False, "Shred VARIANTs by the first rows of a file."
)
VARIANT_INFERENCE_DEPTH = Option("variant.shredding.maxSchemaDepth", integer, 50, "Levels of inferred parts.")
VARIANT_INFERENCE_ROWS = Option(
    "variant.shredding.maxInferBufferRow",
    integer,
    4096,
    "Number of first rows of a file from which the parts are inferred.",
)
VARIANT_INFERENCE_SHARE = Option(
    "variant.shredding.minFieldCardinalityRatio", decimal_number, 0.1, "Share of the rows that have an inferred part."
)
VARIANT_INFERENCE_WIDTH = Option("variant.shredding.maxSchemaWidth", integer, 300, "Columns of inferred parts.")
VARIANT_SHREDDING_SCHEMA = Option(
    "variant.shreddingSchema",
    str,
    "",
    "Parts of VARIANTs that get columns, as JSON.",
    aliases=("parquet.variant.shreddingSchema",),
)
