"""Writers of other engines, which can replace our snapshots.

On a local disk, Paimon's Java engine checks that a snapshot's name is free and then renames its file to it. The rename
replaces a snapshot that was published in between. Java's threads can pause between the two steps, so a snapshot of ours
may be replaced some time after it was published. Therefore a commit checks again `_LOOK_AFTER` seconds later if another
engine has committed to the table within a day. A property of our snapshots stores the time of that engine's last
commit.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping

from paimon_core.errors import CommitUnknownError, StorageError, UnreadableFileError
from paimon_core.spec.snapshot import WRITER, Snapshot
from paimon_core.store.manifests import data_manifests, read_manifest_list
from paimon_core.store.snapshots import find_snapshot
from paimon_core.store.table_store import TableStore

OTHER_WRITER = "paimon-sql.other-writer-millis"
_LOOK_AFTER = 0.25
_REMEMBERED = 86_400_000
_MILLIS = re.compile(r"[0-9]{1,15}")
_LOG = logging.getLogger(__name__)


def other_writer(latest: Snapshot | None, now: int) -> Mapping[str, str]:
    """Return the property for the snapshot after `latest`: the time of another engine's last commit.

    Return no property if that engine has not committed for a day. `now` is in epoch milliseconds.
    """
    if latest is None:
        return {}
    if latest.writer_version != WRITER:
        return {OTHER_WRITER: str(latest.time_millis)}
    text = (latest.properties or {}).get(OTHER_WRITER, "")
    if not _MILLIS.fullmatch(text) or now - int(text) > _REMEMBERED:
        return {}
    return {OTHER_WRITER: str(min(int(text), now))}


def is_replaced(store: TableStore, ours: Snapshot) -> bool:
    """Return whether another engine has replaced our snapshot. Takes `_LOOK_AFTER` seconds if another engine writes."""
    # Snapshots in the form of old versions cannot store the property, so assume that another engine may write there.
    if ours.has_new_members and OTHER_WRITER not in (ours.properties or {}):
        return False
    try:
        return not _stays(store, ours)
    except (StorageError, UnreadableFileError) as error:
        _LOG.warning(
            "Snapshot %s of %s is published, but it could not be checked afterwards: %s",
            ours.id,
            store.name,
            error,
            extra=store.log_fields(ours),
        )
        return False


def find_carried(store: TableStore, replaced: list[Snapshot]) -> Snapshot | None:
    """Return a replaced snapshot of ours that is still part of the next version, because the writer of the next version
    had read it.

    Removes from `replaced` the snapshots that the next version does not contain. Raises `CommitUnknownError` if
    manifests do not show which snapshots it contains.
    """
    for ours in list(replaced):
        while (successor := find_snapshot(store, ours.id + 1)) is not None:
            theirs = find_snapshot(store, ours.id)
            carried = None if theirs is None else _is_built_on(store, successor, ours, theirs)
            if carried is None:
                raise CommitUnknownError(
                    f"Table {store.name}: another engine replaced snapshot {ours.id}, and it is unknown whether the "
                    "next one has its rows. Its files are kept. Before you run the statement again, check whether the "
                    "table has the rows."
                )
            if not carried:
                replaced.remove(ours)
                break
            if _stays(store, successor):
                return ours
    return None


def _stays(store: TableStore, snapshot: Snapshot) -> bool:
    """Return whether a snapshot is unchanged a moment later. If it expires meanwhile, it counts as unchanged."""
    time.sleep(_LOOK_AFTER)
    found = find_snapshot(store, snapshot.id)
    return found is None or found.is_same(snapshot)


def _is_built_on(store: TableStore, successor: Snapshot, ours: Snapshot, theirs: Snapshot) -> bool | None:
    """Return whether the version `successor` is built on our snapshot and not on the other snapshot with its number.

    Return None if manifests do not show it.
    """
    base = {m.file_name for m in read_manifest_list(store, successor.base_manifest_list)}
    ours_only, theirs_only = ({m.file_name for m in data_manifests(store, s)} for s in (ours, theirs))
    if ours_only == theirs_only:
        return None
    if base == ours_only or base & (ours_only - theirs_only):
        return True
    if base == theirs_only or base & (theirs_only - ours_only):
        return False
    return None
