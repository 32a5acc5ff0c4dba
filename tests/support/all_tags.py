"""All tags of a table, for tests in which each of them must be readable."""

from __future__ import annotations

from paimon_core.spec.tag import Tag
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, tag_names


def list_tags(store: TableStore) -> list[Tag]:
    """Return all tags, by name. Tags that are deleted meanwhile are left out. Raises `UnreadableFileError`."""
    return [tag for name in tag_names(store) if (tag := read_tag(store, name)) is not None]
