"""The numbers that Spark's UI shows for a scan, from its plan."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_core.dataclass import dataclass
from paimon_core.scan.plan import Plan
from paimon_sql.spark.jvm.metrics import MetricKind, UiMetric

# Paimon's Java connector has the first six names, too
SCAN_METRICS = (
    UiMetric("numSplits", "number of splits read"),
    UiMetric("planningDuration", "planning duration", MetricKind.MILLIS),
    UiMetric("scannedSnapshotId", "scanned snapshot id", MetricKind.ID),
    UiMetric("scannedManifests", "number of scanned manifests"),
    UiMetric("skippedTableFiles", "number of skipped table files"),
    UiMetric("resultedTableFiles", "number of resulted table files"),
    UiMetric("mergedSplits", "number of splits that need a merge"),
    UiMetric("skippedManifests", "number of skipped manifests"),
    UiMetric("skippedByPartition", "number of table files skipped by partition"),
    UiMetric("skippedByStatistics", "number of table files skipped by statistics"),
    UiMetric("skippedByIndex", "number of table files skipped by file indexes"),
    UiMetric("resultedBytes", "size of resulted table files", MetricKind.BYTES),
    UiMetric("resultedRecords", "number of records in resulted table files"),
)


@dataclass(frozen=True, slots=True)
class Planning:
    """The planning of a scan, which took `millis` milliseconds.

    Without `shows_rows`, the scan reports no number of rows: the user may not see all of them. The second part of a
    divided scan is `repeated`: it reports only the files that it reads.
    """

    millis: int = 0
    shows_rows: bool = True
    repeated: bool = False


def scan_values(planning: Planning, planned: Plan, read: Plan) -> Mapping[str, int]:
    """Return the numbers of a scan by their names. `read` is the plan without the partitions that a join has left out
    while the query ran.
    """
    left_out, skipped = planned.files_kept - read.files_kept, planned.skipped
    by_partition = left_out if planning.repeated else skipped.partition + left_out
    found = {
        "numSplits": len(read.splits),
        "mergedSplits": sum(s.needs_merge for s in read.splits),
        "resultedTableFiles": read.files_kept,
        "resultedBytes": sum(s.size for s in read.splits),
        "skippedByPartition": by_partition,
        "skippedTableFiles": by_partition,
    }
    if planning.shows_rows:
        found["resultedRecords"] = sum(s.row_count for s in read.splits)
    if planned.snapshot is not None:
        found["scannedSnapshotId"] = planned.snapshot.id
    if planning.repeated:
        return found
    return found | {
        "planningDuration": planning.millis,
        "scannedManifests": planned.manifests_read,
        "skippedManifests": planned.manifests_total - planned.manifests_read,
        "skippedTableFiles": by_partition + skipped.statistics + skipped.index + skipped.together,
        "skippedByStatistics": skipped.statistics,
        "skippedByIndex": skipped.index,
    }
