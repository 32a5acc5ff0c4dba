"""The times of partition columns in ORC files that Java wrote, for partitions in the last second before 1970.

Java's ORC writer stores such a time one second later. Keys, other columns and Java's own reader show the later time,
because the earlier time is lost. The folder of a partition still has the right time, and Java shows it as the value of
the partition column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.evolution import missing_column
from paimon_core.formats.trusted_bounds import TIMES
from paimon_core.spec.types import DataField

_SECOND = timedelta(seconds=1)


def old_times(fields: Iterable[DataField], value_of: Callable[[str], pa.Scalar | None]) -> Mapping[str, pa.Scalar]:
    """Return the values of those partition columns that ORC files have one second later.

    `value_of` returns the value of a partition column, and None for any other column.
    """
    found = {f.name: value_of(f.name) for f in fields if f.type.kind in TIMES}
    return {name: value for name, value in found.items() if value is not None and _is_in_last_second(value)}


def with_old_times(batches: Iterator[pa.RecordBatch], times: Mapping[str, pa.Scalar]) -> Iterator[pa.RecordBatch]:
    """Yield the batches with the times of partitions as values of the partition columns."""
    if not times:
        yield from batches
        return
    for batch in batches:
        for name, value in times.items():
            index = batch.schema.get_field_index(name)
            field = batch.schema.field(index)
            batch = batch.set_column(index, field, missing_column(value, batch.num_rows, field.type))
        yield batch


def _is_in_last_second(value: pa.Scalar) -> bool:
    """Return whether a time is in the second before 1970."""
    zero = pa.scalar(0, pa.int64()).cast(value.type)
    second = pa.scalar(_SECOND, pa.duration(value.type.unit))
    below = pc.and_(pc.less(value, zero), pc.greater(value, pc.subtract(zero, second)))
    return bool(below.as_py())
