"""Files that count equal rows: Java 0.4 and 0.5 write them for tables without a key with `write-mode` = change-log.

Such a file has each row once, with a number: how many equal rows it adds, or removes if the number is negative. Later
versions of Java do not read these tables at all. Here a file is read if it adds each of its rows once.
"""

from __future__ import annotations

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.binary_row import EMPTY_ROW
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.stats import decode_stats
from paimon_core.spec.types import BIGINT
from paimon_core.store.data.column_stats import counts_equal_rows
from paimon_core.store.table_store import TableStore


def check_counts(store: TableStore, file: DataFileMeta) -> None:
    """Raises `UnsupportedFeatureError` for a file that adds a row several times, or removes rows of other files."""
    if not counts_equal_rows(store.schema) or file.min_key == EMPTY_ROW:
        return
    (count,) = decode_stats((BIGINT,), file.value_stats)
    if not {count.minimum, count.maximum} <= {1, None}:
        raise UnsupportedFeatureError(
            f"Table {store.name} cannot be read: file {file.file_name} counts equal rows (from {count.minimum} to "
            f"{count.maximum}), as Java 0.4 and 0.5 do for 'write-mode' = 'change-log' without a primary key. Copy the "
            "table by the engine that wrote it into a table without this option."
        )
