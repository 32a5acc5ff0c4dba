"""Files that count equal rows: Java 0.4 and 0.5 write them for tables without a key with `write-mode` = change-log.

Such a file has each row once, with a number: how many equal rows it adds, or removes if the number is negative. A row
is in the table as often as the numbers of all files of its bucket add up to, and not at all below one. Later versions
of Java do not read these tables; they append files without numbers to them, whose rows count once each.
"""

from __future__ import annotations

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import EMPTY_STATS, decode_stats
from paimon_core.spec.types import BIGINT
from paimon_core.store.table_store import TableStore


def is_counted(schema: TableSchema, file: DataFileMeta) -> bool:
    """Whether the file of a table counts equal rows: its key is the whole row."""
    return schema.counts_equal_rows and file.has_key


def is_counted_once(schema: TableSchema, file: DataFileMeta) -> bool:
    """Whether a file surely adds each of its rows once: it counts none, or its statistics have 1 alone."""
    if not is_counted(schema, file):
        return True
    if file.value_stats == EMPTY_STATS:
        return False
    (count,) = decode_stats((BIGINT,), file.value_stats)
    return bool(count.minimum == count.maximum == 1)


def check_counts(store: TableStore, file: DataFileMeta) -> None:
    """Raises `UnsupportedFeatureError` for a file of which each row would be taken for one row, and is not."""
    if not is_counted_once(store.schema, file):
        raise UnsupportedFeatureError(
            f"Positions of rows in table {store.name} cannot be read: file {file.file_name} counts equal rows, as Java "
            "0.4 and 0.5 do for 'write-mode' = 'change-log' without a primary key. Leave out the columns that say "
            "where a row is stored, or copy the table by CREATE TABLE ... AS SELECT."
        )
