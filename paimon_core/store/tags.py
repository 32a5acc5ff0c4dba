"""Tags of a table or branch: `tag/tag-NAME`, see `spec.tag`.

If a tag cannot be read, a reader of this tag gets an error. Upkeep of the table continues: it skips the tag with a
warning, and keeps the tag's files.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from paimon_core.dataclass import dataclass
from paimon_core.errors import TagNotFoundError, UnreadableFileError
from paimon_core.io.side_by_side import side_by_side
from paimon_core.spec.paths import TAG_PREFIX, is_file_name
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.tag import Tag, decode_kept_snapshot, decode_tag
from paimon_core.store.snapshots import describe_snapshots
from paimon_core.store.table_store import TableStore

_LOG = logging.getLogger(__name__)


def read_tag(store: TableStore, name: str) -> Tag | None:
    """Read a tag by its name. Return None if it does not exist."""
    if not is_file_name(name):
        return None
    path = store.paths.tag(name)
    try:
        return decode_tag(path, store.io.read_bytes(path), name)
    except FileNotFoundError:
        return None


def require_tag(store: TableStore, name: str) -> Tag:
    """Read a tag by its name. Raises `TagNotFoundError`, which lists the tags."""
    tag = read_tag(store, name)
    if tag is None:
        known = ", ".join(tag_names(store)) or "none"
        raise TagNotFoundError(
            f"Table {store.name} has no tag {name!r} (its tags: {known}); {describe_snapshots(store)}."
        )
    return tag


def tag_names(store: TableStore) -> list[str]:
    """The names of all tags, sorted."""
    files = (f.name for f in store.io.list(store.paths.tag_dir) if not f.is_dir)
    return sorted(n.removeprefix(TAG_PREFIX) for n in files if n.startswith(TAG_PREFIX))


def readable_tags(store: TableStore) -> list[Tag]:
    """Return all readable tags by name. Log a warning for each other tag."""

    def read(name: str) -> Tag | None:
        try:
            return read_tag(store, name)
        except UnreadableFileError as error:
            _LOG.warning("Tag %r of table %s is skipped: %s", name, store.name, error, extra=store.log_fields())
            return None

    return [tag for tag in side_by_side(store.io, read, tag_names(store)) if tag is not None]


def has_tag(store: TableStore, name: str) -> bool:
    """Return whether a tag exists, readable or not."""
    return is_file_name(name) and store.io.exists(store.paths.tag(name))


def kept_snapshot(store: TableStore, name: str) -> Snapshot | None:
    """Return the snapshot with the files that a tag keeps, or None if the tag does not exist.

    A tag that is otherwise unreadable still keeps its files. Raises `UnreadableFileError` if it does not name its
    files.
    """
    if not is_file_name(name):
        return None
    path = store.paths.tag(name)
    try:
        data = store.io.read_bytes(path)
    except FileNotFoundError:
        return None
    try:
        return decode_tag(path, data, name).snapshot
    except UnreadableFileError as error:
        kept = decode_kept_snapshot(path, data)
        _LOG.warning(
            "Tag %r of table %s cannot be read; the files that it names are kept: %s",
            name,
            store.name,
            error,
            extra=store.log_fields(),
        )
        return kept


@dataclass(frozen=True, slots=True)
class KeptByTags:
    """The snapshots that the tags of a branch keep, by tag, and the tags with unknown snapshots."""

    snapshots: Mapping[str, Snapshot]
    unknown: tuple[str, ...] = ()


def kept_by_tags(store: TableStore) -> KeptByTags:
    """Collect the snapshots that all tags of a branch keep. Tags that are deleted meanwhile are left out."""
    return kept_by(store, tag_names(store))


def kept_by(store: TableStore, names: Sequence[str]) -> KeptByTags:
    """Collect the snapshots that some tags of a branch keep; names without a tag are left out."""
    unknown: list[str] = []

    def read(name: str) -> Snapshot | None:
        try:
            return kept_snapshot(store, name)
        except UnreadableFileError as error:
            _LOG.warning(
                "It is unknown which files tag %r of table %s keeps: %s",
                name,
                store.name,
                error,
                extra=store.log_fields(),
            )
            unknown.append(name)
            return None

    found = side_by_side(store.io, read, names)
    snapshots = {name: kept for name, kept in zip(names, found, strict=True) if kept is not None}
    return KeptByTags(snapshots, tuple(sorted(unknown)))
