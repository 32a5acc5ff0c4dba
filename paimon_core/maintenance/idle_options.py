"""Options that do nothing on a table: by its kind, or by its other options. Pure functions.

An option is listed only if no engine uses it there: a compaction job of Flink, for example, uses
`full-compaction.delta-commits` of tables that are `write-only`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.lsm.strategy import waits_for_compaction
from paimon_core.options import (
    BUCKET,
    CHANGELOG_PRODUCER,
    CHANGELOG_ROW_DEDUPLICATE,
    CHANGELOG_ROW_DEDUPLICATE_IGNORE,
    CLUSTERING_COLUMNS,
    CLUSTERING_INCREMENTAL,
    CLUSTERING_OPTIMIZE_WRITE,
    CLUSTERING_STRATEGY,
    DELETION_VECTOR_MERGE_ON_READ,
    DELETION_VECTORS,
    DYNAMIC_BUCKET_MAX,
    DYNAMIC_BUCKET_TARGET_ROWS,
    END_INPUT_CHECK_PARTITION_EXPIRE,
    FILE_INDEX_READ,
    GLOBAL_INDEX_ENABLED,
    IGNORE_DELETE,
    KEY_INDEXES,
    LOOKUP_COMPACT,
    LOOKUP_MAX_INTERVAL,
    MAX_SIZE_AMPLIFICATION,
    MERGE_ENGINE,
    MIN_FILE_NUM,
    NUM_SORTED_RUN_TRIGGER,
    OFFPEAK_END,
    OFFPEAK_RATIO,
    OFFPEAK_START,
    PARTITION_EXPIRATION_CHECK_INTERVAL,
    PARTITION_EXPIRATION_TIME,
    PK_CLUSTERING_OVERRIDE,
    SEQUENCE_FIELD,
    SEQUENCE_ORDER,
    SIZE_RATIO,
    TAG_AUTOMATIC_COMPLETION,
    TAG_AUTOMATIC_CREATION,
    TAG_CREATION_DELAY,
    TAG_NUM_RETAINED_MAX,
    Change,
    Option,
    TableOptions,
)


@dataclass(frozen=True, slots=True)
class TableTraits:
    """The options of a table, and whether it has a primary key and partition columns."""

    options: TableOptions
    has_primary_key: bool
    has_partitions: bool


@dataclass(frozen=True, slots=True)
class IdleWhere:
    """Options that do nothing on tables that `applies` accepts, and the reason."""

    idle: tuple[Option[Any], ...]
    applies: Callable[[TableTraits], bool]
    reason: str


def _is_never_offpeak(table: TableTraits) -> bool:
    start, end = table.options[OFFPEAK_START], table.options[OFFPEAK_END]
    return start < 0 or end < 0 or start == end


def _compares_no_updates(table: TableTraits) -> bool:
    return table.options[CHANGELOG_PRODUCER] not in ("lookup", "full-compaction")


_KINDS = (
    IdleWhere(
        (MERGE_ENGINE, SEQUENCE_FIELD, IGNORE_DELETE, NUM_SORTED_RUN_TRIGGER, SIZE_RATIO, MAX_SIZE_AMPLIFICATION),
        lambda t: not t.has_primary_key,
        "only tables with a primary key use it",
    ),
    IdleWhere((MIN_FILE_NUM,), lambda t: t.has_primary_key, "only tables without a primary key use it"),
    IdleWhere(
        (DYNAMIC_BUCKET_MAX, DYNAMIC_BUCKET_TARGET_ROWS),
        lambda t: t.options[BUCKET] > 0,
        "the table has a fixed number of buckets",
    ),
    IdleWhere(
        (PARTITION_EXPIRATION_TIME, PARTITION_EXPIRATION_CHECK_INTERVAL, END_INPUT_CHECK_PARTITION_EXPIRE),
        lambda t: not t.has_partitions,
        "the table has no partition columns",
    ),
    IdleWhere(
        (CLUSTERING_COLUMNS,),
        lambda t: t.has_primary_key and not t.options[PK_CLUSTERING_OVERRIDE],
        "the files of a table with a primary key are sorted by it",
    ),
    IdleWhere(
        (CLUSTERING_COLUMNS,),
        lambda t: not t.has_primary_key and t.options[BUCKET] > 0,
        "the rows of a bucket stay in the order of their writes",
    ),
)
_PAIRS = (
    IdleWhere((CLUSTERING_STRATEGY,), lambda t: not t.options[CLUSTERING_COLUMNS], "it needs 'clustering.columns'"),
    IdleWhere(
        (CLUSTERING_OPTIMIZE_WRITE,),
        lambda t: not t.options[CLUSTERING_INCREMENTAL],
        "it needs 'clustering.incremental' = 'true'",
    ),
    IdleWhere(
        (OFFPEAK_RATIO,),
        _is_never_offpeak,
        "it needs 'compaction.offpeak.start.hour' and another 'compaction.offpeak.end.hour'",
    ),
    IdleWhere(
        (OFFPEAK_START, OFFPEAK_END), lambda t: not t.options[OFFPEAK_RATIO], "it needs 'compaction.offpeak-ratio'"
    ),
    IdleWhere(
        (LOOKUP_COMPACT, LOOKUP_MAX_INTERVAL),
        lambda t: not waits_for_compaction(t.options),
        "only compactions that look up older rows use it, as with deletion vectors or the changelog producer 'lookup'",
    ),
    IdleWhere(
        (LOOKUP_MAX_INTERVAL,),
        lambda t: waits_for_compaction(t.options) and t.options[LOOKUP_COMPACT] == "radical",
        "it needs 'lookup-compact' = 'gentle'",
    ),
    IdleWhere(
        (CHANGELOG_ROW_DEDUPLICATE, CHANGELOG_ROW_DEDUPLICATE_IGNORE),
        _compares_no_updates,
        "it needs 'changelog-producer' = 'lookup' or 'full-compaction'",
    ),
    IdleWhere(
        (CHANGELOG_ROW_DEDUPLICATE_IGNORE,),
        lambda t: not _compares_no_updates(t) and not t.options[CHANGELOG_ROW_DEDUPLICATE],
        "it needs 'changelog-producer.row-deduplicate' = 'true'",
    ),
    IdleWhere(
        (DELETION_VECTOR_MERGE_ON_READ,),
        lambda t: not t.options[DELETION_VECTORS],
        "it needs 'deletion-vectors.enabled' = 'true'",
    ),
    IdleWhere((SEQUENCE_ORDER,), lambda t: not t.options[SEQUENCE_FIELD], "it needs 'sequence.field'"),
    IdleWhere(
        (PARTITION_EXPIRATION_CHECK_INTERVAL, END_INPUT_CHECK_PARTITION_EXPIRE),
        lambda t: t.has_partitions and t.options[PARTITION_EXPIRATION_TIME] is None,
        "it needs 'partition.expiration-time'",
    ),
    IdleWhere(
        (TAG_AUTOMATIC_COMPLETION, TAG_CREATION_DELAY, TAG_NUM_RETAINED_MAX),
        lambda t: t.options[TAG_AUTOMATIC_CREATION] == "none",
        "it needs 'tag.automatic-creation'",
    ),
)


def idle_options(table: TableTraits) -> Iterator[tuple[str, str]]:
    """Yield the options that are set and do nothing, each with the reason. ALTER TABLE can remove them."""
    for where in (*_KINDS, *_PAIRS):
        keys = [o.key_in(table.options.values) for o in where.idle if o.change is Change.FREE]
        for key in keys if any(keys) and _applies(where, table) else ():
            if key is not None:
                yield key, where.reason


def unread_indexes(table: TableTraits, file_indexes: bool) -> Iterator[tuple[str, str]]:
    """Yield the options by which scans ignore the indexes that writers build, with the name of the kind of index.

    `file_indexes`: options name columns for file indexes."""
    if file_indexes and not table.options[FILE_INDEX_READ]:
        yield FILE_INDEX_READ.key, "file indexes"
    has_key_indexes = table.has_primary_key and any(o in table.options for o in KEY_INDEXES)
    if has_key_indexes and not table.options[GLOBAL_INDEX_ENABLED]:
        yield GLOBAL_INDEX_ENABLED.key, "indexes of levels"


def _applies(where: IdleWhere, table: TableTraits) -> bool:
    try:
        return where.applies(table)
    except InvalidOptionError:  # an invalid value by another writer: its effect is unknown
        return False
