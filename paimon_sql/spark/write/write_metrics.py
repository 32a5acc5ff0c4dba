"""The numbers that Spark's UI shows for a write, from its committed messages and the counters of its commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paimon_core.metrics import COMMIT_SECONDS, COMMIT_TRIES, COMMITS, Metrics
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_sql.spark.jvm.metrics import MetricKind, UiMetric

# Paimon's Java connector has the first seven names, too
WRITE_METRICS = (
    UiMetric("commitDuration", "commit duration", MetricKind.MILLIS),
    UiMetric("addedTableFiles", "number of added table files"),
    UiMetric("deletedTableFiles", "number of deleted table files"),
    UiMetric("insertedRecords", "number of inserted records"),
    UiMetric("appendedChangelogFiles", "number of appended changelog files"),
    UiMetric("partitionsWritten", "number of partitions written"),
    UiMetric("bucketsWritten", "number of buckets written"),
    UiMetric("addedBytes", "size of added table files", MetricKind.BYTES),
    UiMetric("commitAttempts", "number of commit attempts"),
    UiMetric("commits", "number of commits, compactions included"),
)


def commit_values(messages: Sequence[CommitMessage], counted: Metrics) -> Mapping[str, int]:
    """Return the numbers of a committed write by their names, without the number of rows."""
    added = _files_of(m.new_files for m in messages)
    written = [m for m in messages if m.new_files or m.deleted_files]
    return {
        "addedTableFiles": len(added),
        "addedBytes": sum(f.file_size for f in added),
        "deletedTableFiles": len(_files_of(m.deleted_files for m in messages)),
        "appendedChangelogFiles": len(_files_of(m.new_changelog for m in messages)),
        "partitionsWritten": len({m.partition for m in written}),
        "bucketsWritten": len({m.key for m in written}),
        "commitDuration": round(1000 * counted.value(COMMIT_SECONDS.name)),
        "commitAttempts": round(counted.value(COMMIT_TRIES.name)),
        "commits": round(counted.value(COMMITS.name, result="published")),
    }


def inserted_rows(messages: Sequence[CommitMessage]) -> int:
    """Return the number of rows in the new files of messages."""
    return sum(f.row_count for f in _files_of(m.new_files for m in messages))


def _files_of(groups: Iterable[Sequence[DataFileMeta]]) -> list[DataFileMeta]:
    """Return the files of all groups."""
    return [f for group in groups for f in group]
