"""Changelogs that remain after their snapshots expired.

    changelog/changelog-N        the JSON of snapshot N, which has expired
    changelog/{EARLIEST,LATEST}  hints: the text of N, -1 if no changelog exists

The hints are written for other engines, and not read here.
"""

from __future__ import annotations

from contextlib import suppress

from paimon_core.errors import StorageError
from paimon_core.io.side_by_side import side_by_side
from paimon_core.spec.paths import parse_changelog_id
from paimon_core.spec.snapshot import Snapshot, decode_snapshot, encode_snapshot
from paimon_core.store.table_store import TableStore


def changelog_ids(store: TableStore) -> list[int]:
    """Return the snapshot numbers of all long-lived changelogs, ascending."""
    found = (parse_changelog_id(f.name) for f in store.io.list(store.paths.changelog_dir))
    return sorted(n for n in found if n is not None)


def list_changelogs(store: TableStore) -> list[Snapshot]:
    """Return all long-lived changelogs, ascending; changelogs that expire meanwhile are left out."""
    found = side_by_side(store.io, lambda n: find_changelog(store, n), changelog_ids(store))
    return [c for c in found if c is not None]


def find_changelog(store: TableStore, snapshot_id: int) -> Snapshot | None:
    """Return the changelog with a snapshot's number, or None if it does not exist."""
    path = store.paths.changelog(snapshot_id)
    try:
        return decode_snapshot(path, store.io.read_bytes(path))
    except FileNotFoundError:
        return None


def write_changelog(store: TableStore, snapshot: Snapshot) -> None:
    """Keep the changelog of an expiring snapshot, as a file of its own."""
    store.io.replace_file(store.paths.changelog(snapshot.id), encode_snapshot(snapshot))


def reset_changelog_hints(store: TableStore) -> None:
    """Write the numbers of the earliest and the latest changelog as hints, after a change.

    This never raises. A hint to a deleted changelog makes Java's rollbacks and expiry of changelogs fail.
    """
    with suppress(StorageError, FileNotFoundError):
        ids = changelog_ids(store) or [-1]
        store.io.write_bytes(store.paths.changelog_earliest_hint, str(ids[0]).encode())
        store.io.write_bytes(store.paths.changelog_latest_hint, str(ids[-1]).encode())
