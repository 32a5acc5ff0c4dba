"""The versions of a table: commits, snapshots, rollbacks, tags, branches and consumers."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

from paimon_core.commit.publish import PublishOutcome
from paimon_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    InvalidDataError,
    InvalidOptionError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnreadableFileError,
    UnsupportedFeatureError,
)
from paimon_core.maintenance import branches, consumers, tags
from paimon_core.maintenance.branch_rename import rename_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.rollback import roll_back
from paimon_core.options.option import duration
from paimon_core.spec.json_object import encode_json_object, member
from paimon_core.spec.snapshot import Snapshot, decode_snapshot, encode_snapshot
from paimon_core.spec.tag import Tag
from paimon_core.store.branches import branch_names
from paimon_core.store.consumers import list_consumers
from paimon_core.store.schemas import schema_ids
from paimon_core.store.snapshots import (
    earliest_snapshot,
    find_snapshot,
    history_ids,
    latest_snapshot,
    read_snapshot,
    write_hints,
)
from paimon_core.store.tags import read_tag, require_tag, tag_names
from paimon_core.table import Table
from paimon_core.time_zones import wall_clock_millis
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.server.rest.calls import Node, RestCall, Routes, next_page, page, page_size
from paimon_sql.server.rest.tables import table_id

_AHEAD = 24 * 60 * 60  # seconds that a client's clock may be ahead


def commit(catalog: SupportsDatabases, call: RestCall) -> Node:
    """Publish the next snapshot of a table, if the number is still free. `success` in the answer shows whether it was
    published. If a client repeats a request because the answer was lost, it gets the same answer again.
    """
    table = catalog.load_table(call.identifier)
    given = member(call.body, "tableId", str | None, None)
    if given is not None and given != table_id(table):
        raise TableNotFoundError(
            f"Table {call.identifier} does not have the id {given}: it was dropped and created again. "
            "Load the new table."
        )
    data = encode_json_object(member(call.body, "snapshot", dict))
    snapshot = _checked(table, data)
    base = member(call.body, "baseSnapshotUuid", str | None, None)
    # a client on this machine may hold the lock of writers while it sends this request, so do not wait for it here
    return {"success": _publish(table, snapshot, data, base)}


def _checked(table: Table, data: bytes) -> Snapshot:
    """Return the snapshot of a request. Raises `InvalidDataError` if it cannot be a snapshot of the table."""
    try:
        snapshot = decode_snapshot("snapshot", data)
    except UnreadableFileError as error:
        raise InvalidDataError(f"The snapshot is not valid: {error.cause}.") from error
    names = (
        *(snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list),
        *(snapshot.index_manifest, snapshot.statistics),
    )
    if snapshot.id < 1 or not (snapshot.uuid or table.store.schema.has_strict_readers):
        raise InvalidDataError("The snapshot needs a number from 1 on and a uuid.")
    if any(n is not None and (not n or "/" in n or n in (".", "..") or "\x00" in n) for n in names):
        raise InvalidDataError("The snapshot names files by paths: it must use plain names.")
    if snapshot.schema_id not in schema_ids(table.store.io, table.store.paths.version_root):
        raise InvalidDataError(f"Table {table.name} has no schema {snapshot.schema_id}.")
    _check_time(snapshot)
    return snapshot


def _check_time(snapshot: Snapshot) -> None:
    """Raise `InvalidDataError` for a time before 1970, or more than a day ahead of this server's clock."""
    latest = (time.time() + _AHEAD) * 1000
    if not 0 <= snapshot.time_millis <= latest:
        raise InvalidDataError(
            f"The snapshot cannot have the time {snapshot.time_millis}: use milliseconds since 1970, at most a day "
            "ahead of the server's clock."
        )


def _check_files(table: Table, snapshot: Snapshot) -> None:
    """Raise `InvalidDataError` if a file that the snapshot names does not exist: the table could not be read then."""
    store = table.store
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list)
    named = [store.paths.manifest(name) for name in (*lists, snapshot.index_manifest) if name]
    for path in named:
        if not store.io.exists(path):
            raise InvalidDataError(f"The snapshot names {path}, and there is no such file.")


def _publish(table: Table, snapshot: Snapshot, data: bytes, base: str | None) -> bool:
    store = table.store
    latest = latest_snapshot(store)
    if latest is not None and latest.id >= snapshot.id:
        found = find_snapshot(store, snapshot.id)
        return found is not None and found.is_same(snapshot)
    follows = latest.id + 1 if latest is not None else 1
    is_base = base is None or (latest is not None and latest.uuid == base)
    if snapshot.id != follows or not is_base:
        return False
    _check_files(table, snapshot)
    try:
        outcome = table.publisher.publish(store.paths.snapshot(snapshot.id), data)
    except CommitUnknownError:
        found = find_snapshot(store, snapshot.id)
        if found is None:
            raise
        outcome = PublishOutcome.PUBLISHED if found.is_same(snapshot) else PublishOutcome.LOST_RACE
    if outcome is not PublishOutcome.PUBLISHED:
        return False
    write_hints(store, snapshot.id)
    return True


# -- snapshots --------------------------------------------------------------------------------------------------------
def get_latest(catalog: SupportsDatabases, call: RestCall) -> Node:
    latest = latest_snapshot(catalog.load_table(call.identifier).store)
    if latest is None:
        raise SnapshotNotFoundError(f"Table {call.identifier} has no snapshot yet.")
    return {
        "snapshot": {
            "snapshot": _json(latest),
            "recordCount": latest.total_record_count,
            "fileSizeInBytes": -1,
            "fileCount": -1,
            "lastFileCreationTime": -1,  # not measured
        }
    }


def get_version(catalog: SupportsDatabases, call: RestCall) -> Node:
    """Return a snapshot by its version: EARLIEST, LATEST, a number or a tag."""
    store, version = catalog.load_table(call.identifier).store, call.names[2]
    ends = {"EARLIEST": earliest_snapshot, "LATEST": latest_snapshot}
    if version in ends:
        found = ends[version](store)
        if found is None:
            raise SnapshotNotFoundError(f"Table {call.identifier} has no snapshot yet.")
    elif version.isascii() and version.isdigit() and read_tag(store, version) is None:
        found = read_snapshot(store, int(version[:19]))
    else:
        tag = read_tag(store, version)
        if tag is None:
            raise SnapshotNotFoundError(f"Table {call.identifier} has no snapshot and no tag {version!r}.")
        found = tag.snapshot
    return {"snapshot": _json(found)}


def list_snapshots(catalog: SupportsDatabases, call: RestCall) -> Node:
    store, after = catalog.load_table(call.identifier).store, call.parameters.get("pageToken", "")
    if after and not (after.isascii() and after.isdigit()):
        raise InvalidOptionError("pageToken is not valid: use the nextPageToken of the page before.")
    ids = [n for n in history_ids(store) if n > int(after or "0")]
    most = page_size(call.parameters.get("maxResults"))
    found = [s for n in ids[:most] if (s := find_snapshot(store, n)) is not None]
    return {"snapshots": [_json(s) for s in found], **next_page(str(ids[most - 1]) if len(ids) > most else None)}


def roll_back_table(catalog: SupportsDatabases, call: RestCall) -> None:
    store = catalog.load_table(call.identifier).store
    instant, expected = member(call.body, "instant", dict), member(call.body, "fromSnapshot", int | None, None)
    latest = latest_snapshot(store)
    if expected is not None and (latest is None or latest.id != expected):
        raise CommitConflictError(f"Table {call.identifier} is not at snapshot {expected} any more.")
    match member(instant, "type", str):
        case "snapshot":
            roll_back(store, snapshot_id=member(instant, "snapshotId", int))
        case "tag":
            roll_back(store, tag=member(instant, "tagName", str))
        case other:
            raise InvalidOptionError(f"A table can be rolled back to a snapshot or a tag, not to {other!r}.")


def roll_back_schema(catalog: SupportsDatabases, call: RestCall) -> None:
    raise UnsupportedFeatureError("Rolling back schemas is not supported by this server. Leave the schema out.")


# -- tags -------------------------------------------------------------------------------------------------------------
def list_tags(catalog: SupportsDatabases, call: RestCall) -> Node:
    names, prefix = tag_names(catalog.load_table(call.identifier).store), call.parameters.get("tagNamePrefix", "")
    return page(call, "tags", [n for n in names if n.startswith(prefix)])


def create_tag(catalog: SupportsDatabases, call: RestCall) -> None:
    store = catalog.load_table(call.identifier).store
    number, text = (
        member(call.body, "snapshotId", int | None, None),
        member(call.body, "timeRetained", str | None, None),
    )
    name = member(call.body, "tagName", str)
    if member(call.body, "ignoreIfExists", bool, False) and read_tag(store, name) is not None:
        return
    tags.create_tag(store, name, tags.taggable_snapshot(store, number), _retained(text))


def get_tag(catalog: SupportsDatabases, call: RestCall) -> Node:
    tag = require_tag(catalog.load_table(call.identifier).store, call.names[2])
    return {"tagName": tag.name, "snapshot": _json(tag.snapshot), **_times(tag)}


def delete_tag(catalog: SupportsDatabases, call: RestCall) -> None:
    store = catalog.load_table(call.identifier).store
    require_tag(store, call.names[2])
    tags.delete_tags(store, [call.names[2]])


def _retained(text: str | None) -> timedelta | None:
    try:
        return None if text is None else timedelta(milliseconds=duration(text))
    except ValueError as error:
        raise InvalidOptionError(f"timeRetained cannot be {text!r}: it is {error}.") from error


def _times(tag: Tag) -> dict[str, Any]:
    made = {} if tag.created is None else {"tagCreateTime": wall_clock_millis(tag.created)}
    return made if tag.retained is None else {**made, "tagTimeRetained": f"{int(tag.retained.total_seconds())} s"}


# -- branches ---------------------------------------------------------------------------------------------------------
def list_branches(catalog: SupportsDatabases, call: RestCall) -> Node:
    return {"branches": branch_names(catalog.load_table(call.identifier).store)}


def create_branch(catalog: SupportsDatabases, call: RestCall) -> None:
    store = catalog.load_table(call.identifier).store
    branches.create_branch(store, member(call.body, "branch", str), member(call.body, "fromTag", str | None, None))


def delete_branch(catalog: SupportsDatabases, call: RestCall) -> None:
    branches.delete_branch(catalog.load_table(call.identifier).store, call.names[2])


def move_branch(catalog: SupportsDatabases, call: RestCall) -> None:
    rename_branch(catalog.load_table(call.identifier).store, call.names[2], member(call.body, "toBranch", str))


def forward_branch(catalog: SupportsDatabases, call: RestCall) -> None:
    fast_forward(catalog.load_table(call.identifier).store, call.names[2])


# -- consumers --------------------------------------------------------------------------------------------------------
def list_all_consumers(catalog: SupportsDatabases, call: RestCall) -> Node:
    found = list_consumers(catalog.load_table(call.identifier).store)
    listed = page(call, "consumers", sorted(found))
    return {**listed, "consumers": [{"consumerId": n, "nextSnapshot": found[n]} for n in listed["consumers"]]}


def reset_consumer(catalog: SupportsDatabases, call: RestCall) -> None:
    store = catalog.load_table(call.identifier).store
    number = member(call.body, "nextSnapshotId", int | None, None)
    consumers.reset_consumer(store, member(call.body, "consumerId", str), number)


def _json(snapshot: Snapshot) -> dict[str, Any]:
    node: dict[str, Any] = json.loads(encode_snapshot(snapshot))
    return node


_TABLE = "databases/*/tables/*"
ROUTES: Routes = {
    ("POST", f"{_TABLE}/commit"): commit,
    ("GET", f"{_TABLE}/snapshot"): get_latest,
    ("GET", f"{_TABLE}/snapshots"): list_snapshots,
    ("GET", f"{_TABLE}/snapshots/*"): get_version,
    ("POST", f"{_TABLE}/rollback"): roll_back_table,
    ("POST", f"{_TABLE}/rollback-schema"): roll_back_schema,
    ("GET", f"{_TABLE}/tags"): list_tags,
    ("POST", f"{_TABLE}/tags"): create_tag,
    ("GET", f"{_TABLE}/tags/*"): get_tag,
    ("DELETE", f"{_TABLE}/tags/*"): delete_tag,
    ("GET", f"{_TABLE}/branches"): list_branches,
    ("POST", f"{_TABLE}/branches"): create_branch,
    ("DELETE", f"{_TABLE}/branches/*"): delete_branch,
    ("POST", f"{_TABLE}/branches/*/rename"): move_branch,
    ("POST", f"{_TABLE}/branches/*/forward"): forward_branch,
    ("GET", f"{_TABLE}/consumers"): list_all_consumers,
    ("POST", f"{_TABLE}/consumers/reset"): reset_consumer,
}
