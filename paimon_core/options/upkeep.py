"""Upkeep by commits: expiry of snapshots, changelogs and partitions, tags, and partitions that are done."""

from __future__ import annotations

from paimon_core.options.option import (
    Option,
    boolean,
    duration,
    integer,
    names,
    one_of,
    optional,
)

DONE_ACTIONS: tuple[str, ...] = ("success-file",)

CHANGELOG_NUM_RETAINED_MAX = Option("changelog.num-retained.max", optional(integer), None, "Most changelogs kept.")
CHANGELOG_NUM_RETAINED_MIN = Option("changelog.num-retained.min", optional(integer), None, "Changelogs always kept.")
CHANGELOG_TIME_RETAINED = Option("changelog.time-retained", optional(duration), None, "How long changelogs stay, ms.")
CONSUMER_EXPIRATION_TIME = Option(
    "consumer.expiration-time", optional(duration), None, "Remove consumers that are idle for longer, ms."
)
END_INPUT_CHECK_PARTITION_EXPIRE = Option(
    "end-input.check-partition-expire", boolean, False, "Every batch commit expires partitions."
)
PARTITION_END_INPUT_TO_DONE = Option(
    "partition.end-input-to-done", boolean, False, "Writes mark their partitions as done."
)
PARTITION_EXPIRATION_CHECK_INTERVAL = Option(
    "partition.expiration-check-interval", duration, 3_600_000, "How often commits expire partitions, ms."
)
PARTITION_EXPIRATION_MAX_NUM = Option(
    "partition.expiration-max-num", integer, 100, "Most partitions to expire at a time."
)
PARTITION_EXPIRATION_STRATEGY = Option(
    "partition.expiration-strategy",
    one_of("values-time", "update-time"),
    "values-time",
    "How the age of a partition is measured.",
)
PARTITION_EXPIRATION_TIME = Option(
    "partition.expiration-time", optional(duration), None, "How long partitions stay, ms."
)
PARTITION_MARK_DONE_ACTION = Option(
    "partition.mark-done-action", names, DONE_ACTIONS, "What marking a partition done does."
)
PARTITION_MARK_DONE_PARAMS = Option(
    "partition.mark-done-action.http.params", optional(str), None, "Text that http-report sends along."
)
PARTITION_MARK_DONE_URL = Option("partition.mark-done-action.http.url", str, "", "Address that http-report calls.")
PARTITION_TIMESTAMP_STRICT = Option(
    "partition.timestamp-format.strict", boolean, False, "Refuse partitions that are not a time."
)
PARTITION_TIMESTAMP_FORMATTER = Option("partition.timestamp-formatter", str, "", "Format of a partition's time.")
PARTITION_TIMESTAMP_PATTERN = Option("partition.timestamp-pattern", str, "", "Pattern that builds a partition's time.")
SINK_PROCESS_TIME_ZONE = Option("sink.process-time-zone", str, "", "Zone of automatic tags; default: the process's.")
SNAPSHOT_CLEAN_EMPTY_DIRS = Option(
    "snapshot.clean-empty-directories",
    boolean,
    False,
    "Expiry deletes folders that become empty.",
    aliases=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_EXPIRE_LIMIT = Option("snapshot.expire.limit", integer, 50, "Snapshots that expire at a time.")
SNAPSHOT_NUM_RETAINED_MAX = Option("snapshot.num-retained.max", integer, 2**31 - 1, "Most snapshots kept.")
SNAPSHOT_NUM_RETAINED_MIN = Option("snapshot.num-retained.min", integer, 10, "Snapshots that are always kept.")
SNAPSHOT_TIME_RETAINED = Option("snapshot.time-retained", duration, 3_600_000, "How long snapshots are kept, ms.")
TAG_AUTOMATIC_COMPLETION = Option("tag.automatic-completion", boolean, False, "Create the tags of missed periods.")
TAG_AUTOMATIC_CREATION = Option(
    "tag.automatic-creation", one_of("none", "process-time", "watermark", "batch"), "none", "When commits create tags."
)
TAG_BATCH_CUSTOMIZED_NAME = Option("tag.batch.customized-name", str, "", "Name of the tag of a batch commit.")
TAG_CREATE_SUCCESS_FILE = Option(
    "tag.create-success-file", boolean, False, "Write tag/tag-success-file/NAME_SUCCESS per tag."
)
TAG_CREATION_DELAY = Option("tag.creation-delay", duration, 0, "Wait after a period before its tag is created, ms.")
TAG_CREATION_PERIOD = Option("tag.creation-period", one_of("daily", "hourly", "two-hours"), "daily", "Period of a tag.")
TAG_CREATION_PERIOD_DURATION = Option("tag.creation-period-duration", optional(duration), None, "Period of a tag, ms.")
TAG_DEFAULT_TIME_RETAINED = Option(
    "tag.default-time-retained", optional(duration), None, "How long automatic tags stay, ms."
)
TAG_NUM_RETAINED_MAX = Option("tag.num-retained-max", optional(integer), None, "Most automatic tags kept.")
TAG_PERIOD_FORMATTER = Option(
    "tag.period-formatter",
    one_of("with_dashes", "without_dashes", "without_dashes_and_spaces"),
    "with_dashes",
    "Format of tag names.",
)
TAG_TIME_EXPIRE_ENABLED = Option("tag.time-expire-enabled", boolean, True, "Commits remove expired tags.")
