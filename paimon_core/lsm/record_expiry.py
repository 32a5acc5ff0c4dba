"""Record-level expiry: compactions leave out rows that are older than `record-level.expire-time`.

`record-level.time-field` names the column with a row's time: INT, epoch seconds; BIGINT, epoch seconds or milliseconds;
TIMESTAMP, interpreted as UTC. A row with a NULL time stays. Reads show expired rows until they are compacted.
Source: Paimon's page "Compaction", "Record-Level expire".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, int64_array, validity
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidOptionError
from paimon_core.options import RECORD_EXPIRE_TIME, RECORD_TIME_FIELD, TableOptions
from paimon_core.spec.kinds import MOMENTS
from paimon_core.spec.types import DataField, Kind

_TIMES = MOMENTS | {Kind.INT, Kind.BIGINT}
_LEAST_MILLIS = 1_000_000_000_000  # a BIGINT from here on is milliseconds
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class RecordExpiry:
    """The rule of expiry: a row expires if its `column` is before `oldest`, in epoch seconds."""

    column: str
    oldest: int

    def live(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that stay; all rows if they do not have the column."""
        index = rows.schema.get_field_index(self.column)
        if index < 0:
            return rows
        column = rows.column(index)
        kept = ~validity(column) | (epoch_seconds(column) >= self.oldest)
        return rows if kept.all() else rows.take(int64_array(np.flatnonzero(kept)))


def check_time_column(options: TableOptions, columns: Mapping[str, DataField]) -> None:
    """Raise `InvalidOptionError` if rows expire by a column that does not exist, or that has a type without times."""
    name = options[RECORD_TIME_FIELD]
    if options[RECORD_EXPIRE_TIME] is not None and not name:
        raise InvalidOptionError(
            f"Option '{RECORD_EXPIRE_TIME.key}' needs '{RECORD_TIME_FIELD.key}', the column with the time of each row."
        )
    if name and (name not in columns or columns[name].type.kind not in _TIMES):
        raise InvalidOptionError(
            f"Option '{RECORD_TIME_FIELD.key}' cannot name {name!r}: it must name a column of type INT, BIGINT or "
            "TIMESTAMP."
        )


def record_expiry(options: TableOptions, now: int) -> RecordExpiry | None:
    """Return the rule of expiry at `now` (epoch seconds), or None if rows do not expire."""
    time = options[RECORD_EXPIRE_TIME]
    return None if time is None else RecordExpiry(options[RECORD_TIME_FIELD], now - time // 1000)


def epoch_seconds(column: pa.Array) -> NDArray[np.int64]:
    """Return the times of rows, 0 for NULL; shape (rows,)."""
    if pa.types.is_timestamp(column.type):
        return fixed_values(column, np.int64) // _PER_SECOND[column.type.unit]
    if column.type.bit_width == 32:
        return fixed_values(column, np.int32).astype(np.int64)
    values = fixed_values(column, np.int64)
    return np.where(values >= _LEAST_MILLIS, values // 1000, values)
