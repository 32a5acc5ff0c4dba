"""Update the Iceberg metadata of a table to its latest snapshot. The package's docstring explains how."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from functools import cache, partial

from paimon_core.commit.publish import create_if_missing
from paimon_core.dataclass import dataclass
from paimon_core.errors import CommitConflictError, PaimonError
from paimon_core.formats.iceberg_types import Node
from paimon_core.iceberg.cleaning import clean, clean_former
from paimon_core.iceberg.entries import added_entry, net_changes
from paimon_core.iceberg.listing import Listing, continued, listed_anew
from paimon_core.iceberg.manifests import Layout, write_manifest_list
from paimon_core.iceberg.metadata import (
    HINT,
    Metadata,
    identity_of,
    metadata_folder,
    metadata_node,
    read_metadata,
    snapshot_node,
    tag_refs,
    version_of,
    version_path,
)
from paimon_core.io.load import normalize
from paimon_core.lazy import cached_property
from paimon_core.options import is_in_iceberg_catalog
from paimon_core.spec.json_object import encode_json_object
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.tag import Tag
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.features import is_followed
from paimon_core.store.manifests import live_files, read_entries, read_manifest_list
from paimon_core.store.schemas import list_schemas, read_schema
from paimon_core.store.snapshots import find_snapshot, latest_snapshot, snapshot_ids
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import readable_tags

_LOG = logging.getLogger(__name__)
_LOOKS = 5
_MOST_DELTAS = 20  # to continue from; with more deltas, listing all files again takes no longer
_LONGEST = 1800.0  # seconds until new manifests must be used: cleaning removes older unused manifests


def keep_up(store: TableStore) -> None:
    """Call `follow` after a change of the table. The change is complete, so an error is only logged."""
    try:
        follow(store)
    except Exception as error:
        _LOG.warning(
            "Table %s was changed, but its Iceberg metadata was not: %s", store.name, error, extra=store.log_fields()
        )


def follow_rename(store: TableStore, former: str) -> None:
    """Update the Iceberg metadata of a renamed table, and remove the metadata of its `former` folder.

    Errors are only logged."""
    keep_up(store)
    try:
        clean_former(store, former)
    except Exception as error:
        _LOG.warning(
            "Readers of Iceberg may still find table %s under its former name: %s",
            store.name,
            error,
            extra=store.log_fields(),
        )


def follow(store: TableStore) -> None:
    """Write the Iceberg metadata of the table's latest snapshot, if the options require it.

    Raises `UnsupportedFeatureError`, `CorruptFileError`, `StorageError`; readers then see the old metadata.
    """
    if not is_followed(store):
        return
    for _ in range(_LOOKS):
        with store.writer_slot():
            latest = latest_snapshot(store)
            if latest is None:
                return
            following = _Following(store, metadata_folder(store), latest)
            following.write()
        following.publish()  # other processes may write while a catalog is slow
        with store.writer_slot():
            if following.is_latest():
                clean(store, following.folder, latest.id)
                return


@dataclass(frozen=True)
class _Following:
    """The metadata of one snapshot while it is being written."""

    store: TableStore
    folder: str
    latest: Snapshot

    def is_latest(self) -> bool:
        """Return whether the snapshot is still the table's latest snapshot."""
        now = latest_snapshot(self.store)
        return now is not None and identity_of(now) == identity_of(self.latest)

    def publish(self) -> None:
        """Register the metadata in Iceberg catalogs, if the options require it."""
        store = self.store
        if is_in_iceberg_catalog(store.options) and store.iceberg_catalogs is not None:
            store.iceberg_catalogs.publish(store, version_path(self.folder, self.latest.id), self.is_latest)

    def write(self) -> None:
        store, folder, latest = self.store, self.folder, self.latest
        versions = {n for f in store.io.list(folder) if (n := version_of(f.name)) is not None}
        known = self._read(latest.id) if latest.id in versions else None
        if known is not None and known.current.identity == identity_of(latest) and self._is_here(known):
            self._refresh(known)
        else:
            base = self._base(versions)
            self._write_new(base, self._uuid(base or known, versions))
        store.io.replace_file(f"{folder}/{HINT}", str(latest.id).encode())

    def _refresh(self, known: Metadata) -> None:
        """Update the metadata of the same snapshot: tags are added and removed, and snapshots expire, without a new
        snapshot.
        """
        node = self._node(known.uuid, self._history(known))
        if node != known.node:
            self.store.io.replace_file(version_path(self.folder, self.latest.id), encode_json_object(node))

    def _write_new(self, base: Metadata | None, table_uuid: str) -> None:
        started, latest = time.monotonic(), self.latest
        listing = self._listing(base)
        parent = None if base is None else base.current.id
        path = write_manifest_list(self.store.io, self.folder, latest.id, parent, list(listing.manifests))
        history = [*self._history(base), snapshot_node(latest, parent, path, listing.summary(latest))]
        data = encode_json_object(self._node(table_uuid, history))
        if time.monotonic() - started > _LONGEST:
            raise CommitConflictError(
                f"Listing the files of {self.store.name} took so long that another process may have removed the new "
                "metadata. Run the statement again."
            )
        metadata = version_path(self.folder, latest.id)
        if not create_if_missing(self.store.io, metadata, data):
            there = self._read(latest.id)
            of_this = there is not None and there.current.identity == identity_of(latest) and self._is_here(there)
            if not of_this:  # from a rolled-back history, or from the table's former folder
                self.store.io.replace_file(metadata, data)

    def _listing(self, base: Metadata | None) -> Listing:
        store, latest, places = self.store, self.latest, FilePlaces(self.store)
        schema_of = cache(partial(read_schema, store))
        entry_of = partial(added_entry, places, self._layout, schema_of, latest.id)
        if base is not None:
            deltas = [find_snapshot(store, n) for n in range(base.current.id + 1, latest.id + 1)]
            made = [s for s in deltas if s is not None]
            if len(made) == len(deltas):
                lists = (read_manifest_list(store, s.delta_manifest_list) for s in made)
                added, removed = net_changes(places, (e for found in lists for e in read_entries(store, found)))
                new = [entry_of(e) for e in added.values()]
                going_on = continued(store, self._layout, latest.id, base.current.manifest_list, new, set(removed))
                if going_on is not None:
                    return going_on
        added, _ = net_changes(places, live_files(store, latest).values())
        return listed_anew(store, self._layout, latest.id, [entry_of(e) for e in added.values()])

    @cached_property
    def _schemas(self) -> list[TableSchema]:
        return list_schemas(self.store)

    @cached_property
    def _tags(self) -> list[Tag]:
        return readable_tags(self.store)

    @cached_property
    def _layout(self) -> Layout:
        return Layout(self.folder, self._schemas[-1])

    def _node(self, table_uuid: str, history: Sequence[Node]) -> Node:
        refs = tag_refs(history, self._tags)
        return metadata_node(self.store, table_uuid, self._layout, self._schemas, history, refs)

    def _history(self, base: Metadata | None) -> list[Node]:
        """Return the snapshots that readers can still go back to."""
        if base is None:
            return []
        kept = {*snapshot_ids(self.store), *(t.snapshot.id for t in self._tags)}
        return [s.node for s in base.snapshots if s.id in kept or s.id == base.current.id == self.latest.id]

    def _base(self, versions: set[int]) -> Metadata | None:
        """Return the newest metadata to continue from: of an earlier snapshot in the table's history."""
        before = max((n for n in versions if self.latest.id - _MOST_DELTAS <= n < self.latest.id), default=None)
        found = None if before is None else self._read(before)
        if before is None or found is None:
            return None
        snapshot = find_snapshot(self.store, before)
        same = snapshot is not None and found.current.identity == identity_of(snapshot)
        return found if same and found.node.get("format-version") == 2 and self._is_here(found) else None

    def _is_here(self, metadata: Metadata) -> bool:
        """Return whether metadata names files in the table's folder, and not in the folder before a rename."""
        location = metadata.node.get("location")
        return isinstance(location, str) and normalize(location) == self.store.root

    def _uuid(self, base: Metadata | None, versions: set[int]) -> str:
        """Return the table's identity for readers; a new table does not take over the identity of a dropped table."""
        if base is None and self.latest.id > 1 and versions:
            base = self._read(max(versions))
        return str(uuid.uuid4()) if base is None or self.latest.id == 1 else base.uuid

    def _read(self, version: int) -> Metadata | None:
        """Read metadata. Returns None for an unreadable file, too; the caller rewrites it."""
        path = version_path(self.folder, version)
        try:
            return read_metadata(self.store.io, path)
        except PaimonError as error:
            _LOG.warning(
                "Iceberg metadata %s cannot be continued, so all files are listed again: %s",
                path,
                error,
                extra=self.store.log_fields(),
            )
            return None
