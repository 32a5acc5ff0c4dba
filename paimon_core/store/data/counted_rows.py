"""Files that count equal rows: Java 0.4 and 0.5 write them for tables without a key with `write-mode` = change-log.

Such a file has each distinct row once, with a number. A positive number n adds n equal rows, a negative number removes
them. A row is in the table as often as the sum of its numbers in all files of its bucket, or not at all if the sum is
below one. Later versions of Java do not read these tables, but append files without numbers to them, in which each row
counts once.
"""

from __future__ import annotations

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import EMPTY_STATS, decode_stats
from paimon_core.spec.types import BIGINT
from paimon_core.store.table_store import TableStore


def is_counted(schema: TableSchema, file: DataFileMeta) -> bool:
    """Return whether a file of a table counts equal rows: its key is the whole row."""
    return schema.counts_equal_rows and file.has_key


def is_counted_once(schema: TableSchema, file: DataFileMeta) -> bool:
    """Return whether a file certainly adds each of its rows once: because it does not count rows, or because all its
    counts are 1 by its statistics.
    """
    if not is_counted(schema, file):
        return True
    if file.value_stats == EMPTY_STATS:
        return False
    (count,) = decode_stats((BIGINT,), file.value_stats)
    return bool(count.minimum == count.maximum == 1)


def check_counts(store: TableStore, file: DataFileMeta) -> None:
    """Raise `UnsupportedFeatureError` for a file with rows that may count more or less than once."""
    if not is_counted_once(store.schema, file):
        raise UnsupportedFeatureError(
            f"Positions of rows in table {store.name} cannot be read: file {file.file_name} counts equal rows, as Java "
            "0.4 and 0.5 do for 'write-mode' = 'change-log' without a primary key. Leave out the columns for the place "
            "of a row, or copy the table by CREATE TABLE ... AS SELECT."
        )
