"""Changes of the versions that users name, tags and branches: in the table's files here, or by a catalog's server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from paimon_core.maintenance import branch_rename, branches, fast_forward, rollback, tags
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import branch_names
from paimon_core.store.table_store import TableStore


class TableVersions(Protocol):
    """Tags, branches and rollbacks of a table. Methods raise as the functions of these names in `maintenance`. If a
    server does the change, they also raise `StorageError`, and `UnsupportedFeatureError` for what it does not support.
    """

    def create_tag(self, name: str, snapshot: Snapshot, retained: timedelta | None = None) -> None:
        """Name a snapshot."""

    def delete_tags(self, names: Sequence[str]) -> None:
        """Remove tags; names without a tag are ignored."""

    def branch_names(self) -> list[str]:
        """All branches but main, sorted, with incomplete ones that were made or deleted halfway."""

    def branch_exists(self, name: str) -> bool:
        """Return whether a branch exists. An incomplete branch, made or deleted halfway, does not."""

    def create_branch(self, name: str, tag: str | None = None) -> None:
        """Create a branch, from a tag with its rows, or without a tag with the schema only."""

    def delete_branch(self, name: str) -> None:
        """Remove a branch."""

    def rename_branch(self, name: str, target: str) -> None:
        """Give a branch another name."""

    def fast_forward(self, branch: str) -> None:
        """Make the table what a branch is."""

    def roll_back(self, *, snapshot_id: int | None = None, tag: str | None = None) -> tuple[int, int]:
        """Go back to a snapshot, or to a tag. Return the snapshot numbers before and after."""


@dataclass(frozen=True)
class FileVersions:
    """Changes the files of a table directly."""

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
