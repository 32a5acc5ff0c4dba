"""Changelog files: data files with names of their own, which contain changes, not rows of a version.

    TABLE/[KEY=VALUE/…]bucket-N/changelog-UUID-N.FORMAT

Source: specification, "Data Files", "Changelog File".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from paimon_core.formats.registry import for_changelog
from paimon_core.lazy import ImportedOnCall
from paimon_core.options import (
    CHANGELOG_FILE_PREFIX,
    CHANGELOG_PRODUCER,
    CHANGELOG_ROW_DEDUPLICATE,
    CHANGELOG_ROW_DEDUPLICATE_IGNORE,
    DATA_FILE_PREFIX,
    MERGE_ENGINE,
    TableOptions,
)
from paimon_core.store.table_store import TableStore

if TYPE_CHECKING:
    from paimon_core.indexes.file_index.options import without_file_indexes
else:
    without_file_indexes = ImportedOnCall("paimon_core.indexes.file_index.options", "without_file_indexes")


def changelog_store(store: TableStore) -> TableStore:
    """Return the store for writers of changelog files. Its options for changelog files replace the options for data
    files, and it has no file indexes."""
    options = for_changelog(store.options)
    own = {DATA_FILE_PREFIX.key: options[CHANGELOG_FILE_PREFIX]}
    return replace(store, options=TableOptions(without_file_indexes(options.values) | own))


def takes_input(store: TableStore) -> bool:
    """Return whether writers also write their input rows to the changelog."""
    return store.has_primary_key and store.options[CHANGELOG_PRODUCER] == "input"


def compared_columns(store: TableStore) -> tuple[str, ...] | None:
    """Return the columns that decide whether a row counts as updated, or None if every new version of a row counts."""
    if store.options[MERGE_ENGINE] == "first-row":
        return tuple(f.name for f in store.schema.fields)
    if not store.options[CHANGELOG_ROW_DEDUPLICATE]:
        return None
    ignored = store.options[CHANGELOG_ROW_DEDUPLICATE_IGNORE]
    return tuple(f.name for f in store.schema.fields if f.name not in ignored)
