"""Rows of one key: how they are merged, ordered and deleted, and the changelog of a table."""

from __future__ import annotations

from paimon_core.options.option import (
    NO_NAMES,
    Change,
    Option,
    boolean,
    duration,
    names,
    one_of,
    optional,
)

AGGREGATION_REMOVE_ON_DELETE = Option(
    "aggregation.remove-record-on-delete",
    boolean,
    False,
    "A delete removes the row, not only its values.",
    change=Change.EMPTY,
)
CHANGELOG_PRODUCER = Option(
    "changelog-producer",
    one_of("none", "input", "full-compaction", "lookup"),
    "none",
    "Source of the table's changelog.",
)
CHANGELOG_ROW_DEDUPLICATE = Option(
    "changelog-producer.row-deduplicate", boolean, False, "Ignore updates that do not change the row."
)
CHANGELOG_ROW_DEDUPLICATE_IGNORE = Option(
    "changelog-producer.row-deduplicate-ignore-fields", names, NO_NAMES, "Columns to leave out of this comparison."
)
DELETE_PRODUCES_CHANGELOG = Option(
    "delete.force-produce-changelog", boolean, False, "Delete row by row, so that the changelog has each row."
)
DELETION_VECTOR_BITMAP64 = Option("deletion-vectors.bitmap64", boolean, False, "Deletion vectors of 64 bits.")
DELETION_VECTORS_MODIFIABLE = Option(
    "deletion-vectors.modifiable", boolean, False, "ALTER TABLE may change deletion-vectors.enabled."
)
DELETION_VECTORS = Option("deletion-vectors.enabled", boolean, False, "Mark deleted rows in separate files.")
DELETION_VECTOR_MERGE_ON_READ = Option(
    "deletion-vectors.merge-on-read", boolean, False, "Readers merge rows that are not compacted yet."
)
IGNORE_DELETE = Option(
    "ignore-delete",
    boolean,
    False,
    "Drop rows of kind -D and -U.",
    aliases=("first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"),
    change=Change.ONE_WAY,
)
IGNORE_UPDATE_BEFORE = Option("ignore-update-before", boolean, False, "Drop rows of kind -U.", change=Change.ONE_WAY)
MERGE_ENGINE = Option(
    "merge-engine",
    one_of("deduplicate", "partial-update", "aggregation", "first-row"),
    "deduplicate",
    "How rows of one key are merged into one.",
    change=Change.EMPTY,
)
PARTIAL_UPDATE_REMOVE_ON_DELETE = Option(
    "partial-update.remove-record-on-delete", boolean, False, "A delete removes the row.", change=Change.EMPTY
)
PARTIAL_UPDATE_REMOVE_ON_GROUP = Option(
    "partial-update.remove-record-on-sequence-group",
    names,
    NO_NAMES,
    "Sequence groups with deletes that remove the row.",
    change=Change.EMPTY,
)
RECORD_EXPIRE_TIME = Option("record-level.expire-time", optional(duration), None, "How long rows stay, ms.")
RECORD_TIME_FIELD = Option("record-level.time-field", str, "", "Column with the time that a row's expiry counts from.")
ROW_KIND_FIELD = Option("rowkind.field", str, "", "Column with the row kind: +I, -U, +U or -D.", change=Change.EMPTY)
SEQUENCE_FIELD = Option("sequence.field", names, NO_NAMES, "Columns that order the rows of one key.")
SEQUENCE_ORDER = Option(
    "sequence.field.sort-order",
    one_of("ascending", "descending"),
    "ascending",
    "Order in which sequence field values become newer.",
)
SNAPSHOT_ORDERING = Option(
    "sequence.snapshot-ordering",
    boolean,
    False,
    "Of the rows of a key, the row of the latest snapshot is the newest.",
    change=Change.EMPTY,
)
