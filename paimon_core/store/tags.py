"""Tags of a table or branch: `tag/tag-NAME`, see `spec.tag`.

Who asks for a tag by its name gets an error if the tag cannot be read. Upkeep of the table goes on: it passes over such
a tag with a warning, and keeps the files that the tag names.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from paimon_core.errors import TagNotFoundError, UnreadableFileError
from paimon_core.spec.paths import TAG_PREFIX, is_file_name
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.tag import Tag, decode_kept_snapshot, decode_tag
from paimon_core.store.snapshots import describe_snapshots
from paimon_core.store.table_store import TableStore

_LOG = logging.getLogger(__name__)


def read_tag(store: TableStore, name: str) -> Tag | None:
    """A tag by its name, None where there is none."""
    if not is_file_name(name):
        return None
    path = store.paths.tag(name)
    try:
        return decode_tag(path, store.io.read_bytes(path), name)
    except FileNotFoundError:
        return None


def require_tag(store: TableStore, name: str) -> Tag:
    """A tag by its name. Raises `TagNotFoundError` naming those that exist."""
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
    """All tags that can be read, by name; a warning names each of the others."""
    found = []
    for name in tag_names(store):
        try:
            tag = read_tag(store, name)
        except UnreadableFileError as error:
            _LOG.warning("Tag %r of table %s is passed over: %s", name, store.name, error)
            continue
        found += [] if tag is None else [tag]
    return found


def has_tag(store: TableStore, name: str) -> bool:
    """Whether there is a tag of a name, readable or not."""
    return is_file_name(name) and store.io.exists(store.paths.tag(name))


def kept_snapshot(store: TableStore, name: str) -> Snapshot | None:
    """The snapshot whose files a tag keeps, None if there is no such tag.

    A tag that cannot be read otherwise still keeps files. Raises `UnreadableFileError` if it does not say which.
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
        _LOG.warning("Tag %r of table %s cannot be read; the files that it names stay: %s", name, store.name, error)
        return kept


@dataclass(frozen=True, slots=True)
class KeptByTags:
    """The snapshots whose files the tags of a branch keep, by the tags' names, and the tags that do not say which."""

    snapshots: Mapping[str, Snapshot]
    unknown: tuple[str, ...] = ()


def kept_by_tags(store: TableStore) -> KeptByTags:
    """What all tags of a branch keep; tags that are deleted meanwhile are left out."""
    snapshots, unknown = dict[str, Snapshot](), list[str]()
    for name in tag_names(store):
        try:
            kept = kept_snapshot(store, name)
        except UnreadableFileError as error:
            _LOG.warning("Which files tag %r of table %s keeps is not known: %s", name, store.name, error)
            unknown.append(name)
            continue
        if kept is not None:
            snapshots[name] = kept
    return KeptByTags(snapshots, tuple(unknown))
