"""Writes and commits."""

from __future__ import annotations

from paimon_core.options.option import (
    Option,
    boolean,
    duration,
    integer,
    long_integer,
    memory_size,
    one_of,
    optional,
)

UNKNOWN_EPOCHS = ("fail", "commit", "skip")

COMMIT_IDENTIFIER = Option(
    "commit.identifier", optional(long_integer), None, "Number of a write that must be committed only once.", least=0
)
COMMIT_MAX_RETRIES = Option(
    "commit.max-retries", integer, 10, "Most retries of a commit; includes lost races if the table sets it."
)
COMMIT_MAX_RETRY_WAIT = Option("commit.max-retry-wait", duration, 10_000, "Longest wait before another try, ms.")
COMMIT_MIN_RETRY_WAIT = Option("commit.min-retry-wait", duration, 10, "Shortest wait before another try, ms.")
COMMIT_TIMEOUT = Option("commit.timeout", optional(duration), None, "Longest time for retries of a commit, ms.")
COMMIT_UNSAFE_STORAGE = Option("commit.unsafe-storage", boolean, False, "Commit on storages that hide lost races.")
COMMIT_USER_PREFIX = Option("commit.user-prefix", str, "", "First part of generated commit users.")
SORT_MAX_FILES = Option(
    "local-sort.max-num-file-handles", integer, 128, "Spilled runs that a task merges at once.", least=1
)
LOOKUP_WAIT = Option(
    "lookup-wait",
    boolean,
    True,
    "Streams wait for the compaction that makes an epoch's rows visible, or its changelog.",
    aliases=("changelog-producer.lookup-wait",),
)
SNAPSHOT_IGNORE_EMPTY_COMMIT = Option("snapshot.ignore-empty-commit", boolean, True, "No snapshot for no rows.")
SPILL_COMPRESSION = Option("spill-compression", one_of("zstd", "lz4", "lzo", "none"), "zstd", "Codec of spilled rows.")
SPILL_ZSTD_LEVEL = Option("spill-compression.zstd-level", integer, 1, "Level of the zstd codec of spilled rows.")
WRITE_BUFFER_SIZE = Option(
    "write-buffer-size", memory_size, 256 * 2**20, "Bytes of rows that a task sorts at once.", least=1
)
WRITE_BUFFER_SPILL_SIZE = Option(
    "write-buffer-spill.max-disk-size", memory_size, 2**63 - 1, "Bytes that a task may spill."
)
WRITE_BUFFER_SPILLABLE = Option("write-buffer-spillable", boolean, True, "Spill full buffers to the local disk.")
HIVE_PARTITION_ORDER = Option(
    "write.hive-style-dynamic-partition.enabled", boolean, False, "INSERT … PARTITION (p) has partition columns last."
)
MERGE_SCHEMA = Option("write.merge-schema", boolean, False, "Writes add new columns to the table.")
MERGE_SCHEMA_EXPLICIT_CAST = Option(
    "write.merge-schema.explicit-cast", boolean, False, "Writes also change types, even if that loses information."
)
MERGE_SCHEMA_TYPE_WIDENING = Option("write.merge-schema.type-widening", boolean, False, "Writes also widen types.")
WAP_ENABLED = Option(
    "write.wap.enabled", boolean, False, "Sessions with `spark.paimon.wap.branch` write to that branch, to be audited."
)
STREAM_COMMIT_USER = Option("write.stream.commit-user", str, "", "Commit user of a stream; default: of its query.")
STREAM_UNKNOWN_EPOCH = Option(
    "write.stream.unknown-epoch", one_of(*UNKNOWN_EPOCHS), "fail", "What to do with epochs of unknown outcome."
)
