"""The rows of dry runs: the files that a procedure would delete, and the data files that it would rewrite or remove, by
partition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from paimon_core.dataclass import dataclass
from paimon_core.maintenance.trial import tried
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.spec.manifest import ManifestEntry
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.features import check_selectable
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.text import partition_path
from paimon_sql.procedures.registry import DryRunRows


def partition_text(store: TableStore, partition: bytes) -> str:
    """Return a partition as `a=1/b=2`."""
    return partition_path(store.schema.partition_fields, partition, store.options[PARTITION_DEFAULT_NAME], store.zone)


def rows_of_partitions(work: str, store: TableStore, entries: Iterable[ManifestEntry], result: str) -> DryRunRows:
    """Return a row for each partition of data files. Raises `NoPrivilegeError` if the catalog's user may not read rows:
    partitions are values, and their numbers of rows are the table's.
    """
    check_selectable(store)
    parts = (FilesOfPartition(e.partition, 1, e.file.file_size, e.file.row_count) for e in entries)
    return summed_by_partition(work, store, parts, result)


@dataclass(frozen=True, slots=True)
class FilesOfPartition:
    """The number, bytes and rows of some data files of a partition. `rows` is unknown (None) before they are read."""

    partition: bytes
    files: int
    size: int
    rows: int | None


def summed_by_partition(work: str, store: TableStore, parts: Iterable[FilesOfPartition], result: str) -> DryRunRows:
    """Return a row for each partition with the sums of its parts."""
    by_partition: dict[bytes, list[FilesOfPartition]] = defaultdict(list)
    for part in parts:
        by_partition[part.partition].append(part)
    rows = []
    for partition, found in by_partition.items():
        counts = [part.rows for part in found if part.rows is not None]
        count = sum(counts) if len(counts) == len(found) else None
        files, size = sum(part.files for part in found), sum(part.size for part in found)
        rows.append((work, partition_text(store, partition), None, files, size, count, result))
    return DryRunRows(sorted(rows, key=lambda row: row[1]))


def removed_rows(work: str, store: TableStore, snapshot: Snapshot | None, chosen: PartitionFilter) -> DryRunRows:
    """Return the rows of a procedure that removes partitions from the latest version. Expiry deletes their files."""
    return rows_of_partitions(work, store, live_files(store, snapshot, chosen).values(), "removed")


def trial_rows(
    work: str, store: TableStore, operation: Callable[[TableStore], object], *, with_rows: bool = False
) -> DryRunRows:
    """Return a row with the versions that an operation would remove, and the files that it would delete. `with_rows`
    adds a row for each partition with files that leave or return to the latest version, and needs the right to read
    rows. Raises the errors of the operation, and `NoPrivilegeError`.
    """
    if with_rows:
        check_selectable(store)
    found = tried(store, operation, with_rows=with_rows)
    total = (work, None, None, found.files, found.size, None, found.said)
    if not with_rows:
        return DryRunRows([total])
    leaving = rows_of_partitions(work, store, found.leaving, "no longer in the table")
    returning = rows_of_partitions(work, store, found.returning, "in the table again")
    return DryRunRows([total, *leaving, *returning])
