"""Rules for options that exclude each other, or that allow fewer values than their types: pure functions."""

from __future__ import annotations

import re

from paimon_core.errors import InvalidOptionError
from paimon_core.options import (
    BUCKET,
    CHAIN_PARTITION_KEYS,
    CHAIN_TABLE,
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    CHANGELOG_PRODUCER,
    DELETION_VECTORS,
    DELTA_COMMITS,
    DYNAMIC_BUCKET_MAX,
    MERGE_ENGINE,
    OFFPEAK_END,
    OFFPEAK_START,
    PARTITION_EXPIRATION_STRATEGY,
    PARTITION_EXPIRATION_TIME,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
    SEQUENCE_FIELD,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_ORDERING,
    TABLE_OPTIONS,
    WRITE_ONLY,
    TableOptions,
)
from paimon_core.spec.schema import TableSchema

_HOURS = ((OFFPEAK_START, 23), (OFFPEAK_END, 24))
_OVERWRITES = "streaming-read-overwrite"
_GROUP = re.compile(r"fields\.[^.]+\.(?!sequence-group$)\S*sequence-group")


def check_option_rules(schema: TableSchema, options: TableOptions) -> None:
    """Raise `InvalidOptionError` naming an option with an invalid value."""
    _check_retained(options)
    for option in TABLE_OPTIONS:
        if option.least is not None and option in options and options[option] < option.least:
            raise InvalidOptionError(
                f"Option '{option.key}' cannot be '{options[option]}': it should be at least {option.least}."
            )
    for hour, last in _HOURS:
        if not -1 <= options[hour] <= last:
            raise InvalidOptionError(
                f"Option '{hour.key}' cannot be '{options[hour]}': it must be an hour from 0 to {last}, or -1 for no "
                "hour."
            )
    buckets = options[DYNAMIC_BUCKET_MAX]
    if buckets < 1 and buckets != -1:
        raise InvalidOptionError(
            f"Option '{DYNAMIC_BUCKET_MAX.key}' cannot be '{buckets}': use a number greater than 0, or -1 for no limit."
        )
    _check_changelog(schema, options)
    _check_snapshot_ordering(schema, options)
    _check_chain(schema, options)
    malformed = [key for key in options.values if _GROUP.fullmatch(key)]
    if malformed and options[MERGE_ENGINE] == "partial-update":
        raise InvalidOptionError(
            f"Invalid sequence-group option {malformed[0]!r}: write fields.<column>.sequence-group."
        )


def _check_chain(schema: TableSchema, options: TableOptions) -> None:
    if not options[CHAIN_TABLE]:
        return
    producer, engine, expiry = (options[o] for o in (CHANGELOG_PRODUCER, MERGE_ENGINE, PARTITION_EXPIRATION_STRATEGY))
    keys, suffix = schema.partition_keys, options[CHAIN_PARTITION_KEYS]
    expires = options[PARTITION_EXPIRATION_TIME] is not None
    needs = (
        (bool(schema.primary_keys), "Primary key is required for chain table: define one"),
        (bool(keys), "Chain table must be partition table: define partition columns"),
        (options[BUCKET] > 0, f"Bucket number must be greater than 0 for chain table: set '{BUCKET.key}'"),
        (bool(options[SEQUENCE_FIELD]), f"Sequence field is required for chain table: set '{SEQUENCE_FIELD.key}'"),
        (producer in ("none", "input"), f"Changelog producer must be none or input for chain table, not {producer!r}"),
        (
            not options[DELETION_VECTORS] or engine == "deduplicate",
            f"Chain tables only support deletion vectors with the deduplicate merge engine, not {engine!r}",
        ),
        *(
            (option in options, f"Partition timestamp {what} is required for chain table: set '{option.key}'")
            for what, option in (
                ("pattern", PARTITION_TIMESTAMP_PATTERN),
                ("formatter", PARTITION_TIMESTAMP_FORMATTER),
            )
        ),
        (
            not expires or expiry == "values-time",
            f"Chain table only supports 'values-time' partition expiration strategy, but found {expiry!r}",
        ),
        (
            CHAIN_PARTITION_KEYS not in options or keys[-len(suffix) :] == suffix != (),
            f"{CHAIN_PARTITION_KEYS.key} must be a contiguous suffix of the table's partition keys. Partition keys: "
            f"{', '.join(keys)}; chain partition keys: {', '.join(suffix)}",
        ),
    )
    for holds, problem in needs:
        if not holds:
            raise InvalidOptionError(f"{problem}.")


def _check_retained(options: TableOptions) -> None:
    """Check the options for retention. Unless they have their own options, changelogs are kept as long as snapshots."""
    fewest, most = options[SNAPSHOT_NUM_RETAINED_MIN], options[SNAPSHOT_NUM_RETAINED_MAX]
    own_fewest, own_most = options[CHANGELOG_NUM_RETAINED_MIN], options[CHANGELOG_NUM_RETAINED_MAX]
    _check_range("snapshot", fewest, most)
    _check_range("changelog", fewest if own_fewest is None else own_fewest, most if own_most is None else own_most)


def _check_range(kind: str, fewest: int, most: int) -> None:
    least, greatest = f"{kind}.num-retained.min", f"{kind}.num-retained.max"
    if fewest < 1:
        raise InvalidOptionError(f"Option '{least}' cannot be '{fewest}': it should be at least 1.")
    if fewest > most:
        raise InvalidOptionError(
            f"Option '{least}', which is {fewest}, should not be larger than '{greatest}', which is {most}: set both."
        )


def _check_changelog(schema: TableSchema, options: TableOptions) -> None:
    producer = options[CHANGELOG_PRODUCER]
    if producer == "lookup" and DELTA_COMMITS in options:
        raise InvalidOptionError(
            f"Option '{DELTA_COMMITS.key}' is incompatible with 'changelog-producer' = 'lookup': use the producer "
            "'full-compaction', or remove it."
        )
    if options.values.get(_OVERWRITES, "false").strip().lower() != "true":
        return
    if not schema.primary_keys:
        raise InvalidOptionError(f"Option '{_OVERWRITES}' needs a primary key: use 'streaming-read-append-overwrite'.")
    if producer in ("lookup", "full-compaction"):
        raise InvalidOptionError(
            f"Option '{_OVERWRITES}' cannot be 'true' with 'changelog-producer' = {producer!r}: changes would be read "
            "twice."
        )


def _check_snapshot_ordering(schema: TableSchema, options: TableOptions) -> None:
    if not options[SNAPSHOT_ORDERING]:
        return
    needs = (
        (bool(schema.primary_keys), "needs a primary key: define one, or remove the option"),
        (not options[SEQUENCE_FIELD], f"does not go with '{SEQUENCE_FIELD.key}': remove one"),
        (options[WRITE_ONLY], f"needs '{WRITE_ONLY.key}' = 'true': the order of rows is fixed once they are committed"),
    )
    for holds, problem in needs:
        if not holds:
            raise InvalidOptionError(f"Option '{SNAPSHOT_ORDERING.key}' {problem}.")
