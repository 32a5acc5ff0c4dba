"""The rows of dry runs: the files that a procedure would delete, and the data files that it would rewrite or remove, by
partition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from paimon_core.maintenance.trial import tried
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.manifest import DataFileMeta, ManifestEntry
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.text import partition_path
from paimon_sql.procedures.registry import DryRunRows


def partition_text(store: TableStore, partition: bytes) -> str:
    """Return a partition as `a=1/b=2`."""
    return partition_path(store.schema.partition_fields, partition, store.options[PARTITION_DEFAULT_NAME], store.zone)


def rows_of_partitions(work: str, store: TableStore, entries: Iterable[ManifestEntry], result: str) -> DryRunRows:
    """Return a row for each partition of data files."""
    files: dict[bytes, list[DataFileMeta]] = defaultdict(list)
    for entry in entries:
        files[entry.partition].append(entry.file)
    rows = [
        (
            work,
            partition_text(store, partition),
            None,
            len(found),
            sum(f.file_size for f in found),
            sum(f.row_count for f in found),
            result,
        )
        for partition, found in files.items()
    ]
    return DryRunRows(sorted(rows, key=lambda row: str(row[1])))


def removed_rows(work: str, store: TableStore, snapshot: Snapshot | None, chosen: PartitionFilter) -> DryRunRows:
    """Return the rows of a procedure that removes partitions from the latest version. Expiry deletes their files."""
    return rows_of_partitions(work, store, live_files(store, snapshot, chosen).values(), "removed")


def trial_rows(
    work: str, store: TableStore, operation: Callable[[TableStore], object], *, with_rows: bool = False
) -> DryRunRows:
    """Return a row with the versions that an operation would remove, and the files that it would delete. `with_rows`
    adds a row for each partition with files that leave or return to the latest version. Raises as the operation.
    """
    found = tried(store, operation, with_rows=with_rows)
    leaving = rows_of_partitions(work, store, found.leaving, "no longer in the table")
    returning = rows_of_partitions(work, store, found.returning, "in the table again")
    return DryRunRows([(work, None, None, found.files, found.size, None, found.said), *leaving, *returning])
