"""A snapshot ready to be published: its manifests are written, its file is not."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from paimon_core.clock import now_millis
from paimon_core.commit.changes import Delta
from paimon_core.commit.other_writers import other_writer
from paimon_core.commit.renumbering import renumbered_manifests
from paimon_core.commit.same_table import check_columns, checked_schema_id
from paimon_core.commit.snapshot_times import snapshot_time
from paimon_core.dataclass import dataclass
from paimon_core.io.failure import on_failure
from paimon_core.io.side_by_side import together
from paimon_core.spec.manifest import FileKind, ManifestFileMeta
from paimon_core.spec.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    WRITER,
    CommitKind,
    Operation,
    Snapshot,
    properties_of_try,
)
from paimon_core.store.indexes.index_files import index_manifest_file
from paimon_core.store.manifests import (
    data_manifests,
    delete_manifests,
    manifest_files,
    manifest_list_file,
    merge_manifests,
    remember_lists,
    remember_manifests,
)
from paimon_core.store.record_files import MetadataFile, write_metadata
from paimon_core.store.table_store import TableStore


class Once(enum.Enum):
    """The kinds of commits that are made once. The kind decides what follows if a table has no earlier commit of the
    same user; see `commit/once.py`.
    """

    FREE = "none was made before"
    FOLLOWING = "others were made before, unless its identifier is 0"
    ALONE = "it is the only commit of its user, and was not begun before the snapshot `begun_on`"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """The author and the purpose of a commit. Without an `operation`, the commit is upkeep of the table.

    `watermark` is in milliseconds. With `once`, the commit of this `user` and `identifier` is made only once.
    `planned_on` is the snapshot with sequence numbers that the new rows continue; see `planned.py`.
    """

    user: str
    identifier: int = BATCH_COMMIT_IDENTIFIER
    operation: Operation | None = None
    properties: dict[str, str] | None = None
    watermark: int | None = None
    once: Once | None = None
    planned_on: Snapshot | None = None
    begun_on: Snapshot | None = None

    def __post_init__(self) -> None:
        if self.operation is not None:
            Operation(self.operation)  # raises ValueError

    def of_try(self, number: int) -> CommitInfo:
        """Return the info for a try of the commit. The snapshot of a retry stores its number."""
        more = properties_of_try(number)
        return replace(self, properties={**(self.properties or {}), **more}) if more else self


def info_of_once(user: str, identifier: int, operation: Operation | None, *, follows: bool) -> CommitInfo:
    """Return the info of a commit that is made once. `follows`: it is one of a series that begins with identifier 0."""
    once = Once.FOLLOWING if follows else Once.FREE
    return CommitInfo(user=user, identifier=identifier, operation=operation, once=once)


@dataclass(frozen=True, slots=True)
class _Lists:
    """Names and sizes of the manifest lists of a snapshot."""

    base: tuple[str, int]
    delta: tuple[str, int]
    changelog: tuple[str | None, int | None]


@dataclass(frozen=True, slots=True)
class Draft:
    """A snapshot ready to be published, the snapshot that it is built on, and the names of its new manifests and
    lists.
    """

    snapshot: Snapshot
    base: Snapshot | None
    written: tuple[str, ...]


def write_draft(
    store: TableStore,
    latest: Snapshot | None,
    delta: Delta,
    kind: CommitKind,
    info: CommitInfo,
    schema_id: int | None,
    *,
    merge: bool,
) -> Draft:
    """Write the manifests of the next snapshot, in parallel. If this fails, no file remains. Raises
    `CommitConflictError` as `check_columns`.

    Without a `schema_id`, find the schema in force, and check that the table was not dropped. This check must come
    after `latest` is read. Otherwise the table could be dropped and created again in between: the check would pass for
    the old table, and `latest` would belong to the new one.
    """
    before = () if latest is None else data_manifests(store, latest)
    written: list[str] = []
    with on_failure(lambda: delete_manifests(store, written)):
        known = {m.file_name for m in before}
        if delta.renumbering is not None:
            base: list[ManifestFileMeta] = []
            for manifest in renumbered_manifests(store, before, delta.renumbering):
                base.append(manifest)
                written += [manifest.file_name] if manifest.file_name not in known else []
        else:
            base = merge_manifests(store, before) if merge else list(before)
            written += [m.file_name for m in base if m.file_name not in known]
        added, added_files = manifest_files(store, delta.entries)
        changelog, changelog_files = manifest_files(store, delta.changelog)
        base_list, delta_list = manifest_list_file(store, base), manifest_list_file(store, added)
        index = [index_manifest_file(store, delta.index)] if delta.index else []
        changelog_list = [manifest_list_file(store, changelog)] if changelog else []
        files = [*added_files, *changelog_files, base_list, delta_list, *index, *changelog_list]
        written += [f.name for f in files]
        steps: list[Callable[[], Any]] = [partial(write_metadata, store, f) for f in files]
        look = partial(checked_schema_id, store) if schema_id is None else lambda: schema_id
        in_force = together(store.io, [look, *steps])[0]
        if kind is not CommitKind.COMPACT and any(e.kind is FileKind.ADD for e in delta.entries):
            check_columns(store, in_force)
        remember_lists(store, [base_list, delta_list, *changelog_list])
        remember_manifests(store, [*added_files, *changelog_files])
    lists = _Lists(_named(base_list), _named(delta_list), _named(changelog_list[0]) if changelog_list else (None, None))
    snapshot = _snapshot(latest, delta, kind, info, lists, in_force)
    if store.schema.has_strict_readers and not delta.next_row_id and not (latest and latest.has_new_members):
        snapshot = snapshot.without_new_members()  # the version that created the table still reads it
    kept_index = None if latest is None or delta.index is not None else latest.index_manifest
    index_name = index[0].name if index else kept_index
    return Draft(replace(snapshot, index_manifest=index_name), latest, tuple(written))


def _named(file: MetadataFile) -> tuple[str, int]:
    return file.name, len(file.data)


def _snapshot(
    latest: Snapshot | None,
    delta: Delta,
    kind: CommitKind,
    info: CommitInfo,
    lists: _Lists,
    schema_id: int,
) -> Snapshot:
    rows = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in delta.entries)
    watermarks = [w for w in (info.watermark, None if latest is None else latest.watermark) if w is not None]
    now = now_millis()
    return Snapshot(
        uuid=str(uuid.uuid4()),
        id=1 if latest is None else latest.id + 1,
        schema_id=schema_id,
        base_manifest_list=lists.base[0],
        base_manifest_list_size=lists.base[1],
        delta_manifest_list=lists.delta[0],
        delta_manifest_list_size=lists.delta[1],
        changelog_manifest_list=lists.changelog[0],
        changelog_manifest_list_size=lists.changelog[1],
        changelog_record_count=sum(e.file.row_count for e in delta.changelog) or None,
        commit_user=info.user,
        commit_identifier=info.identifier,
        commit_kind=kind,
        time_millis=snapshot_time(latest, now),
        total_record_count=rows + (0 if latest is None else latest.total_record_count),
        delta_record_count=rows,
        watermark=max(watermarks, default=None),
        statistics=delta.statistics or _known_statistics(latest, schema_id),
        writer_version=WRITER,
        properties={**(info.properties or {}), **other_writer(latest, now)} or None,
        next_row_id=delta.next_row_id,
        operation=info.operation,
    )


def _known_statistics(latest: Snapshot | None, schema_id: int) -> str | None:
    return latest.statistics if latest is not None and latest.schema_id == schema_id else None
