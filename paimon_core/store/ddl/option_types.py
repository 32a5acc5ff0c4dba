"""The types of all options that Paimon's tables have, those of others engines too: pure.

A value of the wrong type is refused where the table is made, also for an option that changes nothing here: the engines
that go by it would fail over it later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from paimon_core import options as known_options
from paimon_core.errors import InvalidOptionError
from paimon_core.lsm import compaction, strategy
from paimon_core.options import (
    SEARCH_MODES,
    Option,
    TableOptions,
    boolean,
    decimal_number,
    duration,
    integer,
    long_integer,
    memory_size,
    one_of,
)

KNOWN = tuple(o for m in (known_options, compaction, strategy) for o in vars(m).values() if isinstance(o, Option))


def _above(parse: Callable[[str], int], least: int, meant: str) -> Callable[[str], int]:
    def bounded(text: str) -> int:
        if parse(text) < least:
            raise ValueError(f"{meant} of {least} or more")
        return parse(text)

    return bounded


def _share(text: str) -> float:
    number = decimal_number(text)
    if not 0 <= number < 1:
        raise ValueError("a number from 0 to below 1")
    return number


_OTHERS: Mapping[Callable[[str], Any], tuple[str, ...]] = MappingProxyType(
    {
        boolean: (
            "async-file-write",
            "auto-create",
            "blob-compaction.enabled",
            "blob-view.resolve.enabled",
            "blob-write-null-on-fetch-failure",
            "blob-write-null-on-missing-file",
            "blob.split-by-file-size",
            "bucket-append-ordered",
            "chain-table.split.key-range-enabled",
            "chain-table.streaming.merge-snapshot",
            "changelog-producer.lookup-wait",
            "commit.discard-duplicate-files",
            "commit.force-compact",
            "commit.force-create-snapshot",
            "consumer.ignore-progress",
            "data-evolution.compaction.rewrite-row-ids",
            "data-evolution.merge-into.file-pruning",
            "data-evolution.merge-into.source-persist",
            "data-evolution.row-sidecar.enabled",
            "deletion-vectors.modifiable",
            "dynamic-partition-overwrite",
            "format-table.partition-path-only-value",
            "incremental-between-tag-to-snapshot",
            "lookup-wait",
            "lookup.blob-as-descriptor",
            "lookup.cache.bloom.filter.enabled",
            "lookup.remote-file.enabled",
            "metadata.stats-dense-store",
            "metastore.partitioned-table",
            "query-auth.enabled",
            "scan.fallback-branch.read-fail-fast",
            "scan.plan-sort-partition",
            "streaming-read-append-overwrite",
            "streaming-read-overwrite",
            "table-read.sequence-number.enabled",
            "variant.inferShreddingSchema",
            "vector-search.distribute.enabled",
            "visibility-callback.enabled",
            "write-buffer-for-append",
        ),
        integer: (
            "clustering.history-partition.limit",
            "compaction.file-num-limit",
            "cross-partition-upsert.bootstrap-parallelism",
            "file-operation.thread-num",
            "format-table.scan.list-parallelism",
            "global-index.build.max-parallelism",
            "global-index.build.max-shard",
            "lookup.merge-records-threshold",
            "lookup.remote-file.level-threshold",
            "metadata.stats-keep-first-n-columns",
            "num-sorted-run.stop-trigger",
            "partition.expiration-batch-size",
            "read.batch-size",
            "scan.manifest.parallelism",
            "scan.max-splits-per-task",
            "sort-compaction.local-sample.magnification",
            "variant.shredding.adaptive.maxInferBufferRow",
            "variant.shredding.maxInferBufferRow",
            "variant.shredding.maxSchemaDepth",
            "variant.shredding.maxSchemaWidth",
            "vector-search.lateral-join.batch-size",
            "write-max-writers-to-spill",
            "write.batch-size",
        ),
        long_integer: (
            "commit.strict-mode.last-safe-snapshot",
            "data-evolution.reassign.skip-contiguous-row-count",
            "data-evolution.row-sidecar.max-selected-rows",
            "global-index.row-count-per-shard",
            "lookup.cache-rows",
            "scan.bounded.watermark",
        ),
        decimal_number: (
            "data-evolution.row-sidecar.max-selection-ratio",
            "lookup.cache.bloom.filter.fpp",
            "lookup.hash-load-factor",
            "variant.shredding.adaptive.retentionRatio",
            "variant.shredding.minFieldCardinalityRatio",
        ),
        memory_size: (
            "blob.copy-buffer-size",
            "cache-page-size",
            "data-evolution.row-id-conflict-rewrite.max-size",
            "file-reader-async-threshold",
            "local-kv-db.block-size",
            "local-merge-buffer-size",
            "lookup.cache-max-memory-size",
            "lookup.merge-buffer-size",
            "sort-spill-buffer-size",
            "vector.target-file-size",
            "write.batch-memory",
        ),
        duration: (
            "clustering.history-partition.idle-to-full-sort",
            "continuous.discovery-interval",
            "lookup.continuous.discovery-interval",
            "partition.idle-time-to-report-statistic",
            "scan.plan-auto-tag-for-read.time-retained",
            "snapshot.watermark-idle-timeout",
            "streaming.read.snapshot.delay",
            "visibility-callback.check-interval",
            "visibility-callback.timeout",
        ),
        _above(integer, 1, "a whole number"): ("zorder.var-length-contribution",),
        _above(integer, 2, "a whole number"): ("sort-spill-threshold",),
        _above(memory_size, 1, "a size in bytes"): ("page-size",),
        _share: ("lookup.cache.high-priority-pool-ratio",),
        one_of("auto", "delta", "changelog", "diff"): ("incremental-between-scan-mode",),
        one_of("exactly-once", "at-least-once"): ("consumer.mode",),
        one_of("global-sort", "local-sort"): ("clustering.incremental.mode",),
        one_of("min-heap", "loser-tree"): ("sort-engine",),
        one_of("none", "hash", "partition_dynamic"): ("partition.sink-strategy",),
        one_of("none", "process-time", "watermark", "batch"): ("metastore.tag-to-partition.preview",),
        one_of("paimon", "engine"): ("format-table.implementation",),
        one_of("per-file", "adaptive"): ("variant.shredding.inferenceMode",),
        one_of("scan", "snapshot"): ("write.sequence-number-init-mode",),
        one_of("size", "quantity"): ("sort-compaction.range-strategy",),
        one_of("sync", "async"): ("snapshot.expire.execution-mode",),
        one_of(*SEARCH_MODES): ("full-text-index.search-mode", "vector-index.search-mode"),
    }
)


def check_option_types(options: TableOptions) -> None:
    """Raises `InvalidOptionError` naming an option whose value is none of its type."""
    for option in KNOWN:
        options[option]
    given = options.values
    for parse, keys in _OTHERS.items():
        for key in given.keys() & keys:
            try:
                parse(given[key])
            except ValueError as e:
                raise InvalidOptionError(f"Option {key!r} cannot be {given[key]!r}: it is {e}.") from e
