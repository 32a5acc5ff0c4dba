"""Create, rename and remove tags. A tag keeps the files of its snapshot when the snapshot expires."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from paimon_core.commit.publish import create_new
from paimon_core.errors import (
    BranchNotFoundError,
    CommitUnknownError,
    SnapshotNotFoundError,
    TagExistsError,
    TagNotFoundError,
    UnreadableFileError,
)
from paimon_core.iceberg.follow import keep_up
from paimon_core.io.side_by_side import side_by_side
from paimon_core.maintenance.references import Versions
from paimon_core.maintenance.release import release
from paimon_core.maintenance.success_files import write_success_file
from paimon_core.maintenance.turns import upkeep_turn
from paimon_core.options import TAG_CREATE_SUCCESS_FILE
from paimon_core.spec.paths import check_name
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.tag import Tag, decode_tag, encode_tag
from paimon_core.store.schemas import schema_ids
from paimon_core.store.snapshots import find_snapshot, latest_snapshot, read_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import kept_by, read_tag, readable_tags, require_tag
from paimon_core.time_zones import wall_clock_millis

_LOOK_SECONDS = 60.0  # between two looks for expired tags of other sessions


def taggable_snapshot(store: TableStore, snapshot_id: int | None) -> Snapshot:
    """Return the snapshot with a number, even if only a tag keeps it, or the latest snapshot without a number.

    Raises `SnapshotNotFoundError`."""
    if snapshot_id is None:
        latest = latest_snapshot(store)
        if latest is None:
            raise SnapshotNotFoundError(f"Table {store.name} has no snapshot yet: insert rows first.")
        return latest
    found = find_snapshot(store, snapshot_id)  # before the tags: a tag keeps a snapshot that expires afterwards
    if found is not None:
        return found
    kept = next((t.snapshot for t in readable_tags(store) if t.snapshot.id == snapshot_id), None)
    return kept or read_snapshot(store, snapshot_id)


def create_tag(store: TableStore, name: str, snapshot: Snapshot, retained: timedelta | None = None) -> None:
    """Create a tag for a snapshot.

    Raises `TagExistsError`, `InvalidNameError`, and `SnapshotNotFoundError` if the snapshot expired meanwhile.
    """
    path, tag = store.paths.tag(check_name("tag", name)), _tag(name, snapshot, retained)
    if not create_new(store.io, path, encode_tag(tag)):
        old = require_tag(store, name)
        raise TagExistsError(
            f"Tag {name!r} of table {store.name} already exists, for snapshot {old.snapshot.id}: "
            "delete it, or call replace_tag."
        )
    try:
        kept = is_kept(store, tag)
    except UnreadableFileError as error:
        raise CommitUnknownError(
            f"Tag {name!r} of table {store.name} was created, but it is unknown whether its snapshot expired "
            f"meanwhile: {error} Read the tag, or delete it and create it again."
        ) from error
    if not kept:
        store.delete(path)
        raise _expired(store, snapshot)
    if store.branch and not schema_ids(store.io, store.paths.version_root):
        store.delete(path)
        raise BranchNotFoundError(
            f"Branch {store.name} was deleted or renamed while it was tagged; no tag was created. "
            "Run the statement again on another branch."
        )
    _write_success(store, name)
    _follow(store)


def replace_tag(
    store: TableStore, name: str, snapshot: Snapshot | None = None, retained: timedelta | None = None
) -> None:
    """Let a tag name another snapshot (None for the same), retained for `retained` from now on.

    Raises `TagNotFoundError`."""
    old = require_tag(store, name)
    new = _tag(name, snapshot or old.snapshot, retained)

    def overwrite() -> None:
        with upkeep_turn(store) as held:  # so that no snapshot expires meanwhile
            if read_tag(held, name) != old:
                raise _changed(store, name)
            if new.snapshot != old.snapshot and not is_kept(held, new):
                raise _expired(store, new.snapshot)
            held.check_turn()
            held.io.replace_file(held.paths.tag(name), encode_tag(new))

    release(Versions(store, (old.snapshot,)), overwrite)
    _write_success(store, name)
    _follow(store)


def rename_tag(store: TableStore, name: str, target: str) -> None:
    """Rename a tag. Raises `TagNotFoundError`, `TagExistsError`, `InvalidNameError`."""
    require_tag(store, name)
    path = store.paths.tag(check_name("tag", target))
    with upkeep_turn(store) as held:
        try:
            data = held.io.read_bytes(held.paths.tag(name))
        except FileNotFoundError:
            raise _changed(store, name) from None
        decode_tag(held.paths.tag(name), data, name)  # raises if the file is incomplete
        if not create_new(held.io, path, data):
            raise TagExistsError(f"Tag {target!r} of table {store.name} already exists: choose another name.")
        held.delete(held.paths.tag(name))
    _write_success(store, target, instead_of=name)
    _follow(store)


def delete_tags(store: TableStore, names: Sequence[str]) -> list[str]:
    """Remove tags, with the files that are not in any other version. Names without a tag are ignored.

    If it is unknown which files a tag keeps, only the tag is removed; `remove_orphan_files` finds the files.
    """
    wanted = list(dict.fromkeys(names))
    kept = kept_by(store, wanted)
    found = [name for name in wanted if name in kept.snapshots or name in kept.unknown]

    def delete() -> None:
        with upkeep_turn(store) as held:
            held.delete_each(held.paths.tag(name) for name in found)

    if found:
        release(Versions(store, tuple(kept.snapshots.values())), delete)
    if store.options[TAG_CREATE_SUCCESS_FILE]:
        store.delete_each(store.paths.tag_success(name) for name in found)
    if found:
        _follow(store)
    return found


def _follow(store: TableStore) -> None:
    """Notify the catalog's copy of the tags. The next commit looks for expired tags."""
    store.cache.tag_looks.put(store.paths.version_root, 0.0)
    store.notify(lambda watcher: watcher.tagged(store))
    keep_up(store)


def expire_tags(store: TableStore, now: datetime) -> None:
    """Remove the tags that have expired, after a commit. `now` is a local time.

    On a remote storage, a session lists the tags again when the next known tag expires, but at least once a minute,
    because other sessions may have created tags.
    """
    looks, root = store.cache.tag_looks, store.paths.version_root
    due = looks.get(root)
    if due is not None and time.monotonic() < due and store.io.requests_at_once > 1:
        return
    began, ends = time.monotonic(), {t.name: _end(t) for t in readable_tags(store)}
    delete_tags(store, [name for name, end in ends.items() if end is not None and now > end])
    waits = ((end - now).total_seconds() for end in ends.values() if end is not None and end >= now)
    looks.put(root, began + min([_LOOK_SECONDS, *waits]))


def _end(tag: Tag) -> datetime | None:
    """Return the local time from which on a tag has expired, or None for a tag that stays."""
    return None if tag.created is None or tag.retained is None else tag.created + tag.retained


def expired_tags(store: TableStore, now: datetime, older_than: int | None = None) -> list[str]:
    """Return the names of tags that have expired, and of tags created before `older_than`.

    `now` is a local time, `older_than` is in epoch milliseconds.
    """
    tags = readable_tags(store)
    over = {t.name for t in tags if (end := _end(t)) is not None and now > end}
    if older_than is not None:
        others = [tag for tag in tags if tag.name not in over]
        made = side_by_side(store.io, partial(_made, store), others)
        over |= {tag.name for tag, time in zip(others, made, strict=True) if time < older_than}
    return [tag.name for tag in tags if tag.name in over]


def _made(store: TableStore, tag: Tag) -> int:
    """Return the time when a tag was created, in epoch milliseconds."""
    if tag.created is None or tag.retained is None:
        return store.io.status(store.paths.tag(tag.name)).modified
    return wall_clock_millis(tag.created)


def _tag(name: str, snapshot: Snapshot, retained: timedelta | None) -> Tag:
    """Return a new tag. Without a time to live, its file equals the snapshot's file, so that readers of old versions
    accept it."""
    return Tag(name=name, snapshot=snapshot, created=None if retained is None else datetime.now(), retained=retained)


def _write_success(store: TableStore, name: str, instead_of: str | None = None) -> None:
    """Write the success file of a tag, for processes that wait for it, if the table's options require it."""
    if store.options[TAG_CREATE_SUCCESS_FILE]:
        write_success_file(store.io, store.paths.tag_success(name))
        if instead_of is not None:
            store.delete(store.paths.tag_success(instead_of))


def is_kept(store: TableStore, tag: Tag) -> bool:
    """Return whether a snapshot, or another tag, keeps the files of a tag.

    Expiry removes a snapshot before it searches for tags. So a snapshot that still exists now keeps its files."""
    now = find_snapshot(store, tag.snapshot.id)
    if now is not None and now.delta_manifest_list == tag.snapshot.delta_manifest_list:
        return True
    others = (t for t in readable_tags(store) if t.name != tag.name)
    return any(t.snapshot.delta_manifest_list == tag.snapshot.delta_manifest_list for t in others)


def _expired(store: TableStore, snapshot: Snapshot) -> SnapshotNotFoundError:
    return SnapshotNotFoundError(
        f"Snapshot {snapshot.id} of table {store.name} expired while it was tagged; no tag was created."
    )


def _changed(store: TableStore, name: str) -> TagNotFoundError:
    return TagNotFoundError(f"Tag {name!r} of table {store.name} was deleted or changed meanwhile.")
