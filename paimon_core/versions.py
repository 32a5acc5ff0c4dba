"""Changes of tags and branches, the versions that users name: in the table's files, or by a catalog's server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from paimon_core.dataclass import dataclass
from paimon_core.errors import BranchExistsError, CommitConflictError, SnapshotNotFoundError, TagNotFoundError
from paimon_core.maintenance import branch_rename, branches, fast_forward, rollback, tags
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names, open_branch
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore


class TableVersions(Protocol):
    """Tags, branches and rollbacks of a table.

    Methods raise the errors of the functions with these names in `maintenance`. If a server makes the change, they also
    raise `StorageError`, and `UnsupportedFeatureError` if the server does not support the change.
    """

    def create_tag(self, name: str, snapshot: Snapshot, retained: timedelta | None = None) -> None:
        """Create a tag for a snapshot."""

    def delete_tags(self, names: Sequence[str]) -> None:
        """Remove tags. Names without a tag are ignored."""

    def branch_names(self) -> list[str]:
        """Return all branches except main, sorted, including incomplete branches that were created or deleted only
        partly.
        """

    def branch_exists(self, name: str) -> bool:
        """Return whether a branch exists. An incomplete branch, created or deleted only partly, does not exist."""

    def create_branch(self, name: str, tag: str | None = None) -> None:
        """Create a branch: from a tag with its rows, or without a tag with only the schema."""

    def delete_branch(self, name: str) -> None:
        """Remove a branch."""

    def rename_branch(self, name: str, target: str) -> None:
        """Give a branch another name."""

    def fast_forward(self, branch: str) -> None:
        """Replace the table's history by the history of a branch."""

    def roll_back(self, *, snapshot_id: int | None = None, tag: str | None = None) -> tuple[int, int]:
        """Return the table to a snapshot or a tag. Return the latest snapshot numbers before and after."""


_BASE = "audit_base_"  # a tag of the snapshot that a branch begins with; it exists while the branch is created
_TRIES = 5


@dataclass(frozen=True)
class FileVersions:
    """Changes tags and branches in the files of a table."""

    store: TableStore

    def create_tag(self, name: str, snapshot: Snapshot, retained: timedelta | None = None) -> None:
        tags.create_tag(self.store, name, snapshot, retained)

    def delete_tags(self, names: Sequence[str]) -> None:
        tags.delete_tags(self.store, names)

    def branch_names(self) -> list[str]:
        return branch_names(self.store)

    def branch_exists(self, name: str) -> bool:
        return branches.branch_exists(self.store, name)

    def create_branch(self, name: str, tag: str | None = None) -> None:
        branches.create_branch(self.store, name, tag)

    def delete_branch(self, name: str) -> None:
        branches.delete_branch(self.store, name)

    def rename_branch(self, name: str, target: str) -> None:
        branch_rename.rename_branch(self.store, name, target)

    def fast_forward(self, branch: str) -> None:
        fast_forward.fast_forward(self.store, branch)

    def roll_back(self, *, snapshot_id: int | None = None, tag: str | None = None) -> tuple[int, int]:
        return rollback.roll_back(self.store, snapshot_id=snapshot_id, tag=tag)


def drop_audit_tag(versions: TableVersions, name: str) -> None:
    """Remove the tag that a killed process left when it created an audited branch."""
    versions.delete_tags([_BASE + name])


def create_audit_branch(store: TableStore, versions: TableVersions, name: str) -> None:
    """Create a branch with the latest rows of a table, unless it exists.

    Raises `InvalidNameError`, and `CommitConflictError` if other processes keep changing the branch.
    """
    tag = _BASE + name
    for _ in range(_TRIES):
        if versions.branch_exists(name):
            return
        latest = latest_snapshot(store)
        try:
            if latest is None:
                versions.create_branch(name)
                return
            drop_audit_tag(versions, name)
            versions.create_tag(tag, latest)
            try:
                versions.create_branch(name, tag)
            finally:
                drop_audit_tag(versions, name)
            tags.delete_tags(open_branch(store, name), [tag])
            return
        except (BranchExistsError, TagNotFoundError, SnapshotNotFoundError):
            continue  # another process creates the branch, or has removed the snapshot
    raise CommitConflictError(
        f"Branch {name!r} of table {store.name} could not be created: other processes keep changing the table's "
        "branches and tags. Run the statement again."
    )
