"""Queries and streams that read a table."""

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

CONSUMER_CHANGELOG_ONLY = Option("consumer.changelog-only", boolean, False, "Consumers keep changelogs only.")
CONSUMER_ID = Option("consumer-id", str, "", "Name under which a stream keeps its progress in the table.")
CONSUMER_IGNORE_PROGRESS = Option(
    "consumer.ignore-progress", boolean, False, "Start streams by scan.mode, not at the consumer's progress."
)
INCREMENTAL_SCAN_MODE = Option(
    "incremental-between-scan-mode", one_of("auto", "delta", "changelog", "diff"), "auto", "What to read of snapshots."
)
INCREMENTAL_TAG_TO_SNAPSHOT = Option(
    "incremental-between-tag-to-snapshot",
    boolean,
    False,
    "Read the snapshots between two tags, instead of comparing the tags.",
)
LOOKUP_CACHE_RETENTION = Option(
    "lookup.cache-file-retention", duration, 3_600_000, "How long an unused copy stays, ms."
)
LOOKUP_CACHE_DISK_SIZE = Option(
    "lookup.cache-max-disk-size", memory_size, 2**63 - 1, "Bytes of local copies of remote files that lookups read."
)
READ_ALLOW_FULL_SCAN = Option("read.allow.fullScan", boolean, True, "Allow queries without a filter on partitions.")
READ_GENERATED_PRUNE = Option(
    "read.generated-columns.prune", boolean, True, "Filters skip files by the columns that are generated from others."
)
SCAN_BOUNDED_WATERMARK = Option(
    "scan.bounded.watermark", optional(long_integer), None, "Streams end before the first snapshot past it, ms."
)
SCAN_BUCKET = Option("scan.bucket", optional(integer), None, "Read this bucket only.")
SCAN_CREATION_TIME_MILLIS = Option(
    "scan.creation-time-millis",
    long_integer,
    0,
    "Read the first snapshot committed since; without one, the files written since. Epoch milliseconds.",
)
SCAN_FALLBACK_BRANCH = Option(
    "scan.fallback-branch", str.strip, "", "Branch for partitions that the table does not have."
)
SCAN_DELTA_BRANCH = Option("scan.fallback-delta-branch", str.strip, "", "Chain tables: the branch of changes.")
SCAN_SNAPSHOT_BRANCH = Option("scan.fallback-snapshot-branch", str.strip, "", "Chain tables: the full partitions.")
SCAN_FILE_CREATION_TIME_MILLIS = Option(
    "scan.file-creation-time-millis", long_integer, 0, "Read the files written at or after these epoch milliseconds."
)
SCAN_IGNORE_CORRUPT = Option("scan.ignore-corrupt-files", boolean, False, "Ignore the rest of damaged files.")
SCAN_IGNORE_LOST = Option("scan.ignore-lost-files", boolean, False, "Ignore missing files.")
SCAN_MODE = Option(
    "scan.mode",
    one_of(
        *("default", "latest-full", "full", "latest", "latest-delta", "compacted-full", "from-timestamp"),
        *("from-creation-timestamp", "from-file-creation-time", "from-snapshot", "from-snapshot-full", "incremental"),
    ),
    "default",
    "Version that a query reads.",
)
SCAN_PRIMARY_BRANCH = Option("scan.primary-branch", str.strip, "", "Branch with partitions that replace the table's.")
SCAN_SNAPSHOT_ID = Option("scan.snapshot-id", long_integer, 0, "Read this snapshot; 0: the latest.")
SCAN_TIMESTAMP = Option("scan.timestamp", str, "", "Read the table as of this wall clock time.")
SCAN_TIMESTAMP_MILLIS = Option(
    "scan.timestamp-millis", long_integer, 0, "Read the table as of these epoch milliseconds."
)
SCAN_WATERMARK = Option(
    "scan.watermark", long_integer, 0, "Read the first snapshot of this watermark or a later one, ms."
)
SPLIT_OPEN_FILE_COST = Option(
    "source.split.open-file-cost",
    memory_size,
    4 * 2**20,
    "Bytes that a file counts as at least when splits are packed.",
)
SPLIT_TARGET_SIZE = Option("source.split.target-size", memory_size, 128 * 2**20, "Bytes a read task should have.")
STREAMING_READ_APPEND_OVERWRITE = Option(
    "streaming-read-append-overwrite", boolean, False, "As streaming-read-overwrite, without a primary key."
)
STREAMING_READ_OVERWRITE = Option(
    "streaming-read-overwrite", boolean, False, "Streams also read snapshots that overwrite rows."
)
STREAMING_READ_DELAY = Option(
    "streaming.read.snapshot.delay", optional(duration), None, "How long streams wait before they read a snapshot, ms."
)
READ_SEQUENCE_NUMBER = Option(
    "table-read.sequence-number.enabled", boolean, False, "Show sequence numbers in $audit_log and $binlog."
)
