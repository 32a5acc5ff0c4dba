"""The levels of columns in Parquet files: a column or a field of a ROW adds one level, a LIST or MAP adds two."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from paimon_core.errors import UnsupportedFeatureError

MOST_LEVELS = 99  # of a column in a file: pyarrow refuses to open files with more


def check_levels(columns: Iterable[pa.Field]) -> None:
    """Raise `UnsupportedFeatureError` for a column with more levels than files are read with."""
    for column in columns:
        levels = _levels(column.type)
        if levels > MOST_LEVELS:
            raise UnsupportedFeatureError(
                f"Column {column.name!r} cannot be in Parquet files: it would have {levels} levels, and readers take "
                f"at most {MOST_LEVELS}. A ROW adds one level, an ARRAY or MAP two. Use a type with fewer levels, or "
                "ORC files."
            )


def _levels(found: pa.DataType) -> int:
    if pa.types.is_struct(found):
        return 1 + max((_levels(f.type) for f in found), default=0)
    if pa.types.is_map(found):
        return 2 + max(_levels(found.key_type), _levels(found.item_type))
    if pa.types.is_list(found):
        return 2 + _levels(found.value_type)
    return 1
