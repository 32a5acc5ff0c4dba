"""Tags of a table or branch: `tag/tag-NAME`, see `spec.tag`."""

from __future__ import annotations

from paimon_core.errors import TagNotFoundError
from paimon_core.spec.paths import TAG_PREFIX, is_file_name
from paimon_core.spec.tag import Tag, decode_tag
from paimon_core.store.snapshots import describe_snapshots
from paimon_core.store.table_store import TableStore


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


def list_tags(store: TableStore) -> list[Tag]:
    """All tags, by name; those that are deleted meanwhile are left out."""
    return [tag for name in tag_names(store) if (tag := read_tag(store, name)) is not None]
