"""Writers of other engines, whose commits can replace ours.

On a local disk, Paimon's Java engine looks whether a snapshot's name is free and then renames its file to it, which
replaces a snapshot that came in between. Its threads can be stopped between the two steps, so a snapshot of ours may be
replaced some time after it was published. Therefore a commit looks again `_LOOK_AFTER` seconds later where another
engine has committed to the table within a day, which our snapshots remember in a property.
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
    """The property of the snapshot after `latest`: when another engine committed last, empty after a day."""
    if latest is None:
        return {}
    if latest.writer_version != WRITER:
        return {OTHER_WRITER: str(latest.time_millis)}
    text = (latest.properties or {}).get(OTHER_WRITER, "")
    if not _MILLIS.fullmatch(text) or now - int(text) > _REMEMBERED:
        return {}
    return {OTHER_WRITER: str(min(int(text), now))}


def is_replaced(store: TableStore, ours: Snapshot) -> bool:
    """Whether another engine has replaced our snapshot; takes `_LOOK_AFTER` seconds where another one writes."""
    if OTHER_WRITER not in (ours.properties or {}):
        return False
    try:
        return not _stays(store, ours)
    except (StorageError, UnreadableFileError) as error:
        _LOG.warning("Snapshot %s of %s is published; it could not be looked at again: %s", ours.id, store.name, error)
        return False


def find_carried(store: TableStore, replaced: list[Snapshot]) -> Snapshot | None:
    """The one of our replaced snapshots whose files the next version has nevertheless: its writer had read it.

    Removes those from `replaced` that the next version does not have. Raises `CommitUnknownError` where manifests do
    not show whether it has them.
    """
    for ours in list(replaced):
        while (successor := find_snapshot(store, ours.id + 1)) is not None:
            theirs = find_snapshot(store, ours.id)
            carried = None if theirs is None else _is_built_on(store, successor, ours, theirs)
            if carried is None:
                raise CommitUnknownError(
                    f"Table {store.name}: snapshot {ours.id} was replaced by another engine, and whether the next one "
                    "has its rows could not be established. Its files are kept. Before you run the statement again, "
                    "look whether the table has the rows."
                )
            if not carried:
                replaced.remove(ours)
                break
            if _stays(store, successor):
                return ours
    return None


def _stays(store: TableStore, snapshot: Snapshot) -> bool:
    """Whether nobody has replaced a snapshot a moment later; one that expires meanwhile counts as staying."""
    time.sleep(_LOOK_AFTER)
    found = find_snapshot(store, snapshot.id)
    return found is None or found.uuid == snapshot.uuid


def _is_built_on(store: TableStore, successor: Snapshot, ours: Snapshot, theirs: Snapshot) -> bool | None:
    """Whether a version is built on ours and not on theirs of the same number; None where manifests do not show it."""
    base = {m.file_name for m in read_manifest_list(store, successor.base_manifest_list)}
    ours_only, theirs_only = ({m.file_name for m in data_manifests(store, s)} for s in (ours, theirs))
    if ours_only == theirs_only:
        return None
    if base == ours_only or base & (ours_only - theirs_only):
        return True
    if base == theirs_only or base & (theirs_only - ours_only):
        return False
    return None
