"""The options that only other engines use, and the values that this version does not support.

`OPTIONS` is the registry of all options of Paimon's tables, by key. CREATE and ALTER TABLE refuse a value of the wrong
type, also for an option without effect here: otherwise the engines that use the option would fail later.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.options.files import STATS_MODE
from paimon_core.options.indexes import KEY_INDEXES
from paimon_core.options.option import (
    Change,
    Option,
    TableOptions,
    at_least,
    boolean,
    decimal_number,
    duration,
    integer,
    long_integer,
    memory_size,
    one_of,
    share,
    stats_mode,
    takes_blanks,
)
from paimon_core.options.reading import SCAN_IGNORE_CORRUPT, SCAN_IGNORE_LOST
from paimon_core.options.scan_modes import SCAN_OPTIONS
from paimon_core.options.table import TABLE_OPTIONS

_ELSEWHERE: Mapping[Callable[[str], Any], tuple[str, ...]] = MappingProxyType(
    {
        boolean: (
            "async-file-write",
            "auto-create",
            "blob-write-null-on-fetch-failure",
            "blob-write-null-on-missing-file",
            "blob.split-by-file-size",
            "bucket-append-ordered",
            "chain-table.split.key-range-enabled",
            "chain-table.streaming.merge-snapshot",
            "commit.discard-duplicate-files",
            "commit.force-compact",
            "commit.force-create-snapshot",
            "data-evolution.compaction.rewrite-row-ids",
            "data-evolution.merge-into.file-pruning",
            "data-evolution.merge-into.source-persist",
            "data-evolution.row-sidecar.enabled",
            "dynamic-partition-overwrite",
            "lookup.blob-as-descriptor",
            "lookup.cache.bloom.filter.enabled",
            "lookup.remote-file.enabled",
            "metastore.partitioned-table",
            "scan.fallback-branch.read-fail-fast",
            "scan.plan-sort-partition",
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
            "lookup.merge-records-threshold",
            "lookup.remote-file.level-threshold",
            "partition.expiration-batch-size",
            "read.batch-size",
            "scan.manifest.parallelism",
            "scan.max-splits-per-task",
            "sort-compaction.local-sample.magnification",
            "variant.shredding.adaptive.maxInferBufferRow",
            "vector-search.lateral-join.batch-size",
            "write-max-writers-to-spill",
            "write.batch-size",
        ),
        long_integer: (
            "commit.strict-mode.last-safe-snapshot",
            "data-evolution.row-sidecar.max-selected-rows",
            "lookup.cache-rows",
        ),
        decimal_number: (
            "data-evolution.row-sidecar.max-selection-ratio",
            "lookup.cache.bloom.filter.fpp",
            "lookup.hash-load-factor",
            "variant.shredding.adaptive.retentionRatio",
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
            "write.batch-memory",
        ),
        duration: (
            "clustering.history-partition.idle-to-full-sort",
            "continuous.discovery-interval",
            "lookup.continuous.discovery-interval",
            "partition.idle-time-to-report-statistic",
            "scan.plan-auto-tag-for-read.time-retained",
            "snapshot.watermark-idle-timeout",
            "visibility-callback.check-interval",
            "visibility-callback.timeout",
        ),
        at_least(integer, 1, "a whole number"): ("zorder.var-length-contribution",),
        at_least(integer, 2, "a whole number"): ("sort-spill-threshold",),
        at_least(memory_size, 1, "a size in bytes"): ("page-size",),
        share: ("lookup.cache.high-priority-pool-ratio",),
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
    }
)
_OTHERS = (Option(k, parse, None, "", supported=False) for parse, keys in _ELSEWHERE.items() for k in keys)
OPTIONS: Mapping[str, Option[Any]] = MappingProxyType({o.key: o for o in (*TABLE_OPTIONS, *_OTHERS)})
_BY_ALIAS = {alias: option for option in TABLE_OPTIONS for alias in option.aliases}
# options of reads and writes that no table has
_OF_USES = ("branch", "search.arguments", *SCAN_OPTIONS)
_SPELLED = {key.lower(): key for key in (*_BY_ALIAS, *OPTIONS, *_OF_USES)}


# options of columns: the names of columns are between these words, and their case counts
_OF_COLUMNS = ("fields.", "file-index.")
_STATS_MODE = "stats-mode"
_COLUMN_SETTINGS = frozenset(
    (
        "aggregate-function",
        "columns",
        "count-limit",
        "distinct",
        "ignore-retract",
        "list-agg-delimiter",
        "nested-key",
        "nested-key-null-strategy",
        "nested-sequence-field",
        "sequence-group",
        _STATS_MODE,
        "ts-field",
    )
)


def own_key(key: str) -> str:
    """Return the registry's spelling of an option's key, and the key itself if the registry does not have it."""
    prefix = next((p for p in _OF_COLUMNS if key.lower().startswith(p)), None)
    if key.lower() in _SPELLED or prefix is None:
        return _SPELLED.get(key.lower(), key)
    names, dot, setting = key[len(prefix) :].rpartition(".")
    return f"{prefix}{names}{dot}{setting.lower() if setting.lower() in _COLUMN_SETTINGS else setting}"


def in_own_spelling(given: Mapping[str, str]) -> dict[str, str]:
    """Return options of a session or a statement with the registry's spelling of keys: Spark ignores the case of keys.

    If a key is given in several spellings, the registry's own spelling wins.
    """
    found = {own_key(key): value for key, value in given.items()}
    return found | {key: value for key, value in given.items() if key in found}


def check_option_types(options: TableOptions, kept: Container[str] = ()) -> None:
    """Raise `InvalidOptionError` naming an option with a value of the wrong type, or with a key in another case.

    Engines find a table's options by their exact keys; the keys `kept` are from the table's previous schema. This
    package ignores blanks around every value. Java refuses some of them and could not read the table, so they raise the
    error, too.
    """
    for key, text in sorted(options.values.items()):
        if own_key(key) != key and key not in kept:
            raise InvalidOptionError(f"Option {key!r} has no effect in this spelling: write {own_key(key)!r}.")
        option = OPTIONS.get(key) or _BY_ALIAS.get(key) or _of_column(key)
        if option is None:
            continue
        options[option]
        if text != text.strip() and not takes_blanks(option.parse):
            raise InvalidOptionError(
                f"Option {key!r} cannot be {text!r}: Paimon's Java connector refuses blanks around the value. "
                f"Set it to {text.strip()!r}."
            )


def _of_column(key: str) -> Option[str] | None:
    """Return the option of a column with a value that needs a check."""
    if key.startswith("fields.") and key.endswith(f".{_STATS_MODE}"):
        return Option(key, stats_mode, STATS_MODE.default, "Statistics kept of the column.")
    return None


def change_of(key: str) -> Change:
    """Return when the option with this key may change."""
    return OPTIONS[key].change if key in OPTIONS else Change.FREE


@dataclass(frozen=True, slots=True)
class Feature:
    """An option with some values that this version does not support.

    The list has the options of Paimon 2.0 and of its next version that require kinds of files, or ways to read files,
    that are missing in this version. A `*` in `key` matches any text, except the keys `besides`. `instead` is the
    advice for another value.
    """

    key: str
    works: tuple[str, ...]
    keyed_only: bool = False
    instead: str = ""
    besides: frozenset[str] = frozenset()

    def asked_for(self, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the keys in `options` that match, with their values, if the value is not supported."""
        head, star, tail = self.key.partition("*")
        keys = [k for k in options if k.startswith(head) and k.endswith(tail)] if star else [self.key]
        given = ((key, options[key].strip().lower()) for key in keys if key in options and key not in self.besides)
        yield from ((key, value) for key, value in given if value not in self.works)


_SHREDDED = "shared-shredding"
WRITTEN_FORMATS = ("parquet", "orc", "avro", "csv", "json")  # formats of data files of tables with snapshots
# Three groups of features: needed to read a table, to write a table, and to create a table.
READ = (
    Feature(
        "type",
        ("table", "materialized-table"),
        instead="only tables of the types 'table' and 'materialized-table' support that",
    ),
    Feature("data-evolution.enabled", ("false",), keyed_only=True),
    Feature("fields.*.map.storage-layout", ("default", _SHREDDED)),
    Feature("manifest.format", ("avro", "parquet", "orc")),
    Feature("primary-key.nullable", ("false",), keyed_only=True),
)
_STAYS_BEHIND = (
    "its Iceberg metadata would not be updated, and readers of Iceberg would see old rows. Use Paimon's Java connector"
)
_ICEBERG_VERSION = Feature(
    "metadata.iceberg.format-version",
    ("2",),
    instead=f"{_STAYS_BEHIND}, or set the option to '2'",
)
WRITE = (
    *READ,
    Feature("file.format", WRITTEN_FORMATS),
    Feature("row-tracking.enabled", ("false",), keyed_only=True),
    Feature("pk-clustering-override", ("false",), keyed_only=True),
    Feature("pk-*.index.columns", ("",), besides=frozenset(o.key for o in KEY_INDEXES)),
    Feature("vector.file.format", ("", "parquet", "orc", "avro")),
    Feature("video-frame-field", ("",)),
    _ICEBERG_VERSION,
    Feature(
        "data-file.external-paths.strategy",
        ("none", "round-robin", "specific-fs", "weight-robin", "entropy-inject"),
    ),
)
NEW = tuple(f for f in WRITE if f.key != "type")


def may_be_shredded(options: TableOptions) -> bool:
    """Return whether files may have a column per key of a MAP, which Spark's own scan cannot read."""
    return any(k.endswith(".map.storage-layout") and v.strip().lower() == _SHREDDED for k, v in options.values.items())


def may_skip_files(options: TableOptions) -> bool:
    """Return whether queries skip files that are lost or damaged, so that metadata may count too many rows."""
    return options[SCAN_IGNORE_LOST] or options[SCAN_IGNORE_CORRUPT]


def unsupported_values(
    features: Iterable[Feature], options: Mapping[str, str], *, keyed: bool
) -> Iterator[tuple[str, str, str]]:
    """Yield the options with unsupported values, their values, and the advice for each."""
    for feature in features:
        for key, value in feature.asked_for(options) if keyed or not feature.keyed_only else ():
            works = " or ".join(map(repr, feature.works)) + " works" if any(feature.works) else "tables without it work"
            yield key, value, feature.instead or f"it is not supported yet; {works}"
