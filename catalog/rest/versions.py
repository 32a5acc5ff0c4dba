"""Tags, branches and rollbacks of a table at a REST server, which performs them and may store copies. If the server
does not support tags, they are created in the table's files, as in Paimon's Java. The API cannot replace or rename a
tag, so both always happen in the files. If an answer is lost, the table's files show whether the change was made.

Source: `RESTCatalog`, `CatalogBranchManager` of Paimon 2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import (
    BranchExistsError,
    PaimonError,
    SnapshotNotFoundError,
    TagExistsError,
    TagNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.maintenance import branches
from paimon_core.maintenance.branches import check_branch_name, check_unused
from paimon_core.spec.identifier import MAIN_BRANCH, Identifier
from paimon_core.spec.json_object import text_list
from paimon_core.spec.paths import check_name
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.branches import open_branch
from paimon_core.store.snapshots import latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, readable_tags
from paimon_core.versions import FileVersions
from paimon_sql.catalog.outcomes import settle
from paimon_sql.catalog.rest import paths
from paimon_sql.catalog.rest.failures import Refused
from paimon_sql.catalog.rest.server import Server


class _NotThere(UnsupportedFeatureError):
    """The server does not have an operation."""


@dataclass(frozen=True)
class ServerVersions:
    """The tags, branches and rollbacks of a table at a server; see `TableVersions`."""

    server: Server
    store: TableStore

    # -- tags ---------------------------------------------------------------------------------------------------------
    def create_tag(self, name: str, snapshot: Snapshot, retained: timedelta | None = None) -> None:
        check_name("tag", name)
        kept = None if retained is None else f"{retained // timedelta(milliseconds=1)} ms"
        body = {"tagName": name, "snapshotId": snapshot.id, "timeRetained": kept}

        def is_made() -> bool:
            found = read_tag(self.store, name)
            return found is not None and (found.snapshot, found.retained) == (snapshot, retained)

        try:
            self._change("make tags", lambda: self._post(body, "tags"), is_made, TagExistsError)
        except _NotThere:
            self._files.create_tag(name, snapshot, retained)

    def delete_tags(self, names: Sequence[str]) -> None:
        for name in dict.fromkeys(names):
            if read_tag(self.store, name) is not None:
                self._delete_tag(name)

    def _delete_tag(self, name: str) -> None:
        try:
            self._change(
                "delete tags",
                lambda: self.server.client.delete(self._address("tags", name)),
                lambda: read_tag(self.store, name) is None,
            )
        except (_NotThere, TagNotFoundError):  # a tag that is only in the files, as Java creates them
            self._files.delete_tags([name])

    # -- branches -----------------------------------------------------------------------------------------------------
    def branch_names(self) -> list[str]:
        address = self._address("branches")
        try:
            answer = self.server.client.get(address)
        except Refused as error:
            raise self._meant(error, "list branches", None) from error
        found = self.server.client.read(answer, address, lambda node: text_list(node, "branches"))
        return sorted(set(found) - {MAIN_BRANCH})

    def branch_exists(self, name: str) -> bool:
        return name in self.branch_names() and branches.branch_exists(self.store, name)

    def create_branch(self, name: str, tag: str | None = None) -> None:
        self._change(
            "make branches",
            lambda: self._post({"branch": check_branch_name(name), "fromTag": tag}, "branches"),
            lambda: branches.branch_exists(self.store, name),
            BranchExistsError,
        )

    def delete_branch(self, name: str) -> None:
        check_unused(self.store, check_branch_name(name))
        self._change(
            "delete branches",
            lambda: self.server.client.delete(self._address("branches", name)),
            lambda: not branches.branch_exists(self.store, name),
        )

    def rename_branch(self, name: str, target: str) -> None:
        check_branch_name(target)
        check_unused(self.store, check_branch_name(name), "renamed")

        def is_done() -> bool:
            return not branches.branch_exists(self.store, name) and branches.branch_exists(self.store, target)

        self._change(
            "rename branches",
            lambda: self._post({"toBranch": target}, "branches", check_branch_name(name), "rename"),
            is_done,
            BranchExistsError,
        )

    def fast_forward(self, branch: str) -> None:
        def is_done() -> bool:
            main, other = (latest_snapshot(open_branch(self.store, name)) for name in (MAIN_BRANCH, branch))
            return main == other

        self._change(
            "fast forward",
            lambda: self._post({"branch": branch}, "branches", check_branch_name(branch), "forward"),
            is_done,
        )

    # -- rollback -----------------------------------------------------------------------------------------------------
    def roll_back(self, *, snapshot_id: int | None = None, tag: str | None = None) -> tuple[int, int]:
        before = latest_snapshot(self.store)
        if before is None:
            raise SnapshotNotFoundError(f"Table {self.store.name} cannot be rolled back: it has no snapshots yet.")
        instant = self._instant(snapshot_id, tag)

        def is_done() -> bool:
            wanted = instant.get("snapshotId")
            if "tagName" in instant:
                kept = read_tag(self.store, instant["tagName"])
                wanted = None if kept is None else kept.snapshot.id
            return self._latest() == wanted

        self._change("roll back", lambda: self._post({"instant": instant, "fromSnapshot": None}, "rollback"), is_done)
        return before.id, self._latest()

    def _instant(self, snapshot_id: int | None, tag: str | None) -> dict[str, Any]:
        """Return the target of a rollback. If the snapshot has expired, the target is a tag of it."""
        if tag is None and snapshot_id not in snapshot_ids(self.store):
            tag = next((t.name for t in readable_tags(self.store) if t.snapshot.id == snapshot_id), None)
        return {"type": "snapshot", "snapshotId": snapshot_id} if tag is None else {"type": "tag", "tagName": tag}

    def _latest(self) -> int:
        found = latest_snapshot(self.store)
        return 0 if found is None else found.id

    # -- the server ---------------------------------------------------------------------------------------------------
    @property
    def _files(self) -> FileVersions:
        return FileVersions(self.store)

    @property
    def _name(self) -> Identifier:
        return self.store.identifier.base.on_branch(self.store.branch or None)

    def _address(self, *more: str) -> str:
        return paths.table(self.server.prefix, self._name, *more)

    def _post(self, body: dict[str, Any], *more: str) -> None:
        self.server.client.post(self._address(*more), body)

    def _change(
        self,
        what: str,
        ask: Callable[[], object],
        is_done: Callable[[], bool],
        exists: type[PaimonError] | None = None,
    ) -> None:
        """Request a change from the server. `exists` is the class of the error for a name that is taken."""
        try:
            settle(ask, is_done)
        except Refused as error:
            raise self._meant(error, what, exists) from error

    def _meant(self, error: Refused, what: str, exists: type[PaimonError] | None) -> PaimonError:
        meant = error.as_error()
        if not error.kind and (error.status in (405, 501) or (error.status == 404 and not error.resource)):
            self.server.find(self._name)  # raises if the table does not exist
            return _NotThere(f"The catalog {self.server.uri} cannot {what}: {error}")
        is_taken = error.status == 409 and isinstance(meant, Refused)
        return exists(str(error)) if exists is not None and is_taken else meant
