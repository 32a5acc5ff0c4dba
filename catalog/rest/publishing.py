"""Publish snapshots through the catalog's server, which decides between writers. The table's id keeps writers of a
dropped table out of a new table of the same name."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from paimon_core.commit.publish import PublishOutcome
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, CommitUnknownError, PaimonError, StorageRefusedError
from paimon_core.spec.manifest import FileKind, ManifestEntry, created_millis
from paimon_core.spec.snapshot import Snapshot, decode_snapshot
from paimon_core.store.manifests import read_entries, read_manifest_list
from paimon_core.store.table_store import TableStore
from paimon_sql.catalog.outcomes import OutcomeUnknown
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.client import RestClient
from paimon_sql.catalog.rest.failures import Refused


@dataclass(frozen=True)
class ServerPublisher:
    """Publishes snapshots of a table or its branch through the server."""

    client: RestClient
    prefix: str
    table_id: str | None
    store: TableStore

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        """Publish a snapshot; see `Publisher`. Also raises `CommitConflictError` if the table has another id."""
        if path.rpartition("/")[0] != self.store.paths.snapshot_dir:
            raise StorageRefusedError(f"{path} cannot be written: only the server of the catalog changes schemas.")
        snapshot = decode_snapshot(path, data)
        body = {
            "tableId": self.table_id,
            "baseSnapshotUuid": None,
            "snapshot": json.loads(data),
            "statistics": partition_changes(self.store, snapshot),
        }
        address = paths.table(self.prefix, self._name, "commit")
        try:
            answer = self.client.post(address, body)
        except OutcomeUnknown as error:
            raise CommitUnknownError(f"It is unknown whether {path} was published: {error}") from error
        except Refused as error:
            return self._refused(error)
        match answer.get("success"):
            case True:
                return PublishOutcome.PUBLISHED
            case False:
                return PublishOutcome.LOST_RACE
        raise CommitUnknownError(
            f"It is unknown whether {path} was published: the server's answer does not contain it."
        )

    @property
    def _name(self) -> Any:
        return self.store.identifier.base.on_branch(self.store.branch or None)

    def _refused(self, error: Refused) -> PublishOutcome:
        if error.status == 409:
            return PublishOutcome.LOST_RACE
        if error.status == 404:
            raise CommitConflictError(
                f"Table {self.store.name} was dropped, or dropped and created again, while rows were written to it. "
                "Nothing was committed. "
                "Load the table again, then repeat the statement."
            ) from error
        meant: PaimonError = error.as_error()
        raise meant from error


def partition_changes(store: TableStore, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the changes of a snapshot to each partition, in the form of servers.

    Counts are differences, and times are the time of the newest file, in epoch milliseconds."""
    groups: dict[bytes, list[ManifestEntry]] = defaultdict(list)
    for entry in read_entries(store, read_manifest_list(store, snapshot.delta_manifest_list)):
        groups[entry.partition].append(entry)
    return [_changes(store, partition, entries) for partition, entries in sorted(groups.items())]


def _changes(store: TableStore, partition: bytes, entries: Sequence[ManifestEntry]) -> dict[str, Any]:
    signs = [(1 if e.kind is FileKind.ADD else -1, e.file) for e in entries]
    times = [made for _, f in signs if (made := created_millis(f)) is not None]
    return {
        "spec": store.partition_spec(partition),
        "recordCount": sum(sign * f.row_count for sign, f in signs),
        "fileSizeInBytes": sum(sign * f.file_size for sign, f in signs),
        "fileCount": sum(sign for sign, _ in signs),
        "lastFileCreationTime": max(times, default=0),
        "totalBuckets": entries[0].total_buckets,
    }
