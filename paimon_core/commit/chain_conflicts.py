"""Whether a commit to a branch of a chain table takes a full partition away that changes start from."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.options import SCAN_DELTA_BRANCH, SCAN_SNAPSHOT_BRANCH
from paimon_core.scan.chain import is_branch_of_chain, needed_partition
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.snapshot import CommitKind
from paimon_core.store.table_store import TableStore


def check_anchors(store: TableStore, kind: CommitKind, entries: Sequence[ManifestEntry]) -> None:
    """Raises `UnsupportedFeatureError`: for full partitions that are dropped, and for those that an overwrite of
    changes puts out of date."""
    if kind is not CommitKind.OVERWRITE:
        return
    overwrites = is_branch_of_chain(store, SCAN_DELTA_BRANCH)
    drops = is_branch_of_chain(store, SCAN_SNAPSHOT_BRANCH) and all(e.kind is FileKind.DELETE for e in entries)
    if not drops and not overwrites:
        return
    needed = needed_partition(store, {e.partition for e in entries}, entries if overwrites else ())
    if needed is not None:
        spec = ", ".join(f"{k}={v}" for k, v in store.partition_spec(needed).items())
        raise UnsupportedFeatureError(
            f"Snapshot partition cannot be dropped: changes behind partition {spec} of branch "
            f"'{store.options[SCAN_SNAPSHOT_BRANCH]}' start from it, and no full one is before it. Make one of the "
            f"next by sys.compact_chain_table, or drop the changes from '{store.options[SCAN_DELTA_BRANCH]}'."
        )
