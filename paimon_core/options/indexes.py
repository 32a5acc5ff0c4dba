"""Indexes of files, and global indexes."""

from __future__ import annotations

from paimon_core.options.option import (
    NO_NAMES,
    Change,
    Option,
    boolean,
    integer,
    long_integer,
    memory_size,
    names,
    one_of,
    optional,
)

FILE_INDEXES = "file-index."  # the beginning of the options of file indexes
SEARCH_MODES = ("fast", "full", "detail")

BITMAP_INDEX_COMPRESSION = Option("bitmap-index.compression", str, "none", "Codec of blocks: none, zstd or lz4.")
BITMAP_INDEX_COMPRESSION_LEVEL = Option("bitmap-index.compression-level", integer, 1, "Level of zstd.")
BITMAP_INDEX_BLOCK_SIZE = Option(
    "bitmap-index.dictionary-block-size", memory_size, 16 * 2**10, "Size of a bitmap index's blocks of keys."
)
BITMAP_INDEX_SCAN_SIZE = Option(
    "bitmap-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Largest size of files for lookups of ranges."
)
BTREE_INDEX_BLOCK_SIZE = Option("btree-index.block-size", memory_size, 64 * 2**10, "Bytes of a block of a btree index.")
BTREE_INDEX_BLOOM_FILTER = Option(
    "btree-index.bloom-filter.enabled", boolean, False, "New btree indexes have a bloom filter of their keys."
)
BTREE_INDEX_COMPRESSION = Option("btree-index.compression", str, "none", "Codec of blocks: none, zstd or lz4.")
BTREE_INDEX_COMPRESSION_LEVEL = Option("btree-index.compression-level", integer, 1, "Level of zstd.")
BTREE_INDEX_SCAN_SIZE = Option(
    "btree-index.fallback-scan-max-size", memory_size, 256 * 2**20, "Largest size of files for lookups of ranges."
)
MULTIVALUE_INDEX_COMPRESSION = Option(
    "multivalue-index.compression", str, "none", "Codec of blocks: none, zstd or lz4."
)
MULTIVALUE_INDEX_COMPRESSION_LEVEL = Option("multivalue-index.compression-level", integer, 1, "Level of zstd.")
MULTIVALUE_INDEX_BLOCK_SIZE = Option(
    "multivalue-index.dictionary-block-size", memory_size, 16 * 2**10, "Size of a multivalue index's blocks of keys."
)
FILE_INDEX_THRESHOLD = Option(
    "file-index.in-manifest-threshold", memory_size, 500, "Largest file index that is stored in a manifest."
)
FILE_INDEX_READ = Option("file-index.read.enabled", boolean, True, "Skip files and rows by file indexes.")
GLOBAL_INDEX_UPDATE_ACTION = Option(
    "global-index.column-update-action",
    one_of("throw_error", "drop_partition_index", "ignore"),
    "throw_error",
    "What happens to a global index when its column is updated.",
)
GLOBAL_INDEX_ENABLED = Option("global-index.enabled", boolean, True, "Skip files and rows by global indexes.")
GLOBAL_INDEX_EXTERNAL_PATH = Option("global-index.external-path", optional(str), None, "Folder for new index files.")
GLOBAL_INDEX_SEARCH_MODE = Option(
    "global-index.search-mode", one_of(*SEARCH_MODES), "full", "How queries find rows that are not indexed yet."
)
GLOBAL_INDEX_THREADS = Option("global-index.thread-num", integer, 32, "Index files to read at a time.")
GLOBAL_INDEX_BUILD_MAX_SHARD = Option(
    "global-index.build.max-shard", integer, 32, "Most files of a vector index per range of rows.", least=1
)
GLOBAL_INDEX_ROWS_PER_SHARD = Option(
    "global-index.row-count-per-shard", long_integer, 100_000, "Rows of a file of a vector index.", least=1
)
VECTOR_SEARCH_MODE = Option(
    "vector-index.search-mode", optional(one_of(*SEARCH_MODES)), None, "Overrides global-index.search-mode."
)
FULL_TEXT_SEARCH_MODE = Option(
    "full-text-index.search-mode", optional(one_of(*SEARCH_MODES)), None, "Overrides global-index.search-mode."
)
INDEX_FILE_IN_DATA_DIR = Option(
    "index-file-in-data-file-dir", boolean, False, "Store index files beside data files.", change=Change.EMPTY
)
PK_BITMAP_INDEX_COLUMNS = Option("pk-bitmap.index.columns", names, NO_NAMES, "Columns with a bitmap index per level.")
PK_BTREE_INDEX_COLUMNS = Option("pk-btree.index.columns", names, NO_NAMES, "Columns with a B-tree index per level.")
PK_MULTIVALUE_INDEX_COLUMNS = Option(
    "pk-multivalue.index.columns", names, NO_NAMES, "ARRAY columns with an index of their elements per level."
)
KEY_INDEXES = (PK_BITMAP_INDEX_COLUMNS, PK_BTREE_INDEX_COLUMNS, PK_MULTIVALUE_INDEX_COLUMNS)
SCALAR_INDEX_SEARCH_MODE = Option(
    "scalar-index.search-mode",
    optional(one_of(*SEARCH_MODES)),
    None,
    "Overrides global-index.search-mode.",
)
GLOBAL_INDEX_MAX_PARALLELISM = Option(
    "sorted-index.build.max-parallelism", integer, 4096, "Most index files per range."
)
GLOBAL_INDEX_ROWS = Option("sorted-index.records-per-range", long_integer, 10_000_000, "Rows of a global index file.")
