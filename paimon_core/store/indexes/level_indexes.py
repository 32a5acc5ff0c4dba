"""The indexes of keyed tables that options require: one file per column, bucket and level."""

from __future__ import annotations

from paimon_core.indexes.global_index.reader import BITMAP, BTREE, MULTIVALUE, key_type
from paimon_core.options import (
    INDEX_FILE_IN_DATA_DIR,
    PK_BITMAP_INDEX_COLUMNS,
    PK_BTREE_INDEX_COLUMNS,
    PK_MULTIVALUE_INDEX_COLUMNS,
)
from paimon_core.store.table_store import TableStore


def level_indexes(store: TableStore) -> dict[str, str]:
    """Return the columns with an index that this version makes and uses, with the type of the index.

    An index in the folder of its data files is left to Paimon's Java connector."""
    if not store.has_primary_key or store.options[INDEX_FILE_IN_DATA_DIR]:
        return {}
    asked = (
        (PK_BITMAP_INDEX_COLUMNS, BITMAP),
        (PK_BTREE_INDEX_COLUMNS, BTREE),
        (PK_MULTIVALUE_INDEX_COLUMNS, MULTIVALUE),
    )
    known = store.schema.field_by_name
    named = {name: kind for option, kind in asked for name in store.options[option] if name in known}
    return {name: kind for name, kind in named.items() if key_type(kind, known[name].type) is not None}
