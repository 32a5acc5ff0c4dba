"""The manifests of a snapshot: the manifests of the snapshot before, with the changes since, or completely new
manifests.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnreadableFileError
from paimon_core.formats.iceberg_types import Node
from paimon_core.iceberg.manifests import DELETED, EXISTING, Layout, read_own_records, write_manifest
from paimon_core.options import ICEBERG_MAX_MANIFESTS, ICEBERG_MIN_MANIFESTS
from paimon_core.spec.snapshot import CommitKind, Snapshot
from paimon_core.store.table_store import TableStore

_SMALL = 8 * 2**20  # bytes of a manifest that is worth merging
_ENTRIES = 50_000  # of a manifest, at most


@dataclass(frozen=True, slots=True)
class Listing:
    """The manifests of a snapshot, in the form of its manifest list, and the entries that it added and removed."""

    manifests: tuple[Node, ...]
    added: tuple[Node, ...]
    removed: tuple[Node, ...] = ()

    def summary(self, snapshot: Snapshot) -> Node:
        """Return Iceberg's summary of the snapshot's changes."""
        compacts = snapshot.commit_kind is CommitKind.COMPACT
        operation = "append" if not self.removed else "replace" if compacts else "overwrite"
        counted: Node = {"operation": operation}
        for files, prefix, size in ((self.added, "added", "added"), (self.removed, "deleted", "removed")):
            counted[f"{prefix}-data-files"] = len(files)
            counted[f"{prefix}-records"] = sum(e["data_file"]["record_count"] for e in files)
            counted[f"{size}-files-size"] = sum(e["data_file"]["file_size_in_bytes"] for e in files)
        for what, name in (("files", "data-files"), ("rows", "records")):
            live = (m[f"added_{what}_count"] + m[f"existing_{what}_count"] for m in self.manifests)
            counted[f"total-{name}"] = sum(live)
        return counted


def listed_anew(store: TableStore, layout: Layout, snapshot_id: int, entries: Sequence[Node]) -> Listing:
    """List all files in new manifests."""
    return Listing(tuple(_written(store, layout, snapshot_id, entries)), tuple(entries))


def continued(
    store: TableStore, layout: Layout, snapshot_id: int, base: str, added: Sequence[Node], removed: Set[str]
) -> Listing | None:
    """Return the manifests of the list `base`, with the `added` files, and without the files at the URIs `removed`.

    Return None if they do not fit together: the list belongs to another table, or is damaged.
    """
    try:
        manifests = [
            m
            for m in read_own_records(store.io, layout.folder, base)
            if m["added_files_count"] + m["existing_files_count"]
        ]
        if any(m["content"] for m in manifests):
            return None
        kept, gone = _without(store, layout, snapshot_id, manifests, removed)
        if len(gone) != len(removed):
            return None
        new = _written(store, layout, snapshot_id, added)
        return Listing((*_merged(store, layout, snapshot_id, kept), *new), tuple(added), tuple(gone))
    except (UnreadableFileError, FileNotFoundError, KeyError, TypeError):
        return None


def _without(
    store: TableStore, layout: Layout, snapshot_id: int, manifests: Sequence[Node], removed: Set[str]
) -> tuple[list[Node], list[Node]]:
    """Return the manifests with some files marked as removed, and these files."""
    kept, gone = list[Node](), list[Node]()
    for manifest in manifests:
        entries = _live(store, layout, manifest) if len(gone) < len(removed) else []
        found = [e for e in entries if e["data_file"]["file_path"] in removed]
        if not found:
            kept.append(manifest)
            continue
        gone += (took := [e | {"status": DELETED, "snapshot_id": snapshot_id} for e in found])
        rest = [e for e in entries if e["data_file"]["file_path"] not in removed]
        kept += _written(store, layout, snapshot_id, [*rest, *took])
    return kept, gone


def _merged(store: TableStore, layout: Layout, snapshot_id: int, manifests: Sequence[Node]) -> list[Node]:
    """Return the manifests. If there are many small manifests, these are merged into one."""
    small = [m for m in manifests if m["manifest_length"] < _SMALL and not m["deleted_files_count"]]
    size = sum(m["manifest_length"] for m in small)
    many = len(small) >= store.options[ICEBERG_MIN_MANIFESTS] and size >= _SMALL
    if not many and len(small) <= store.options[ICEBERG_MAX_MANIFESTS]:
        return list(manifests)
    entries = [e for m in small for e in _live(store, layout, m)]
    return [*(m for m in manifests if m not in small), *_written(store, layout, snapshot_id, entries)]


def _live(store: TableStore, layout: Layout, manifest: Node) -> list[Node]:
    """Return the live files of a manifest, as entries for another manifest."""
    found = []
    for entry in read_own_records(store.io, layout.folder, manifest["manifest_path"]):
        if entry["status"] == DELETED:
            continue
        file = dict(entry["data_file"])
        file["partition"] = dict(zip(layout.partition_names, file["partition"].values(), strict=True))
        inherited = {"sequence_number": manifest["sequence_number"], "snapshot_id": manifest["added_snapshot_id"]}
        own = {k: v for k, v in entry.items() if v is not None}
        found.append({**inherited, **own, "status": EXISTING, "data_file": file})
    return found


def _written(store: TableStore, layout: Layout, snapshot_id: int, entries: Sequence[Node]) -> list[Node]:
    parts = (entries[start : start + _ENTRIES] for start in range(0, len(entries), _ENTRIES))
    return [write_manifest(store.io, layout, snapshot_id, part) for part in parts]
