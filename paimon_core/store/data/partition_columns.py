"""The partition columns that ORC files of Java have in another form than the folder of the partition.

Java's ORC writer stores a time in the last second before 1970 one second later. Keys, other columns and Java's own
reader show the later time, because the earlier time is lost. A CHAR value of ORC files has lost the spaces at its end.
The folder of a partition still has the value, and Java shows it as the value of the partition column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta

import pyarrow as pa

from paimon_core import compute as pc
from paimon_core.arrow.evolution import missing_column
from paimon_core.spec.kinds import MOMENTS
from paimon_core.spec.types import DataField, Kind

_SECOND = timedelta(seconds=1)


def values_of_folder(
    fields: Iterable[DataField], value_of: Callable[[str], pa.Scalar | None]
) -> Mapping[str, pa.Scalar]:
    """Return the values of the partition columns that ORC files may have in another form.

    `value_of` returns the value of a partition column, and None for any other column.
    """
    found = {f.name: value_of(f.name) for f in fields if f.type.kind in MOMENTS or f.type.kind is Kind.CHAR}
    return {name: value for name, value in found.items() if value is not None and _may_differ(value)}


def with_values(batches: Iterator[pa.RecordBatch], values: Mapping[str, pa.Scalar]) -> Iterator[pa.RecordBatch]:
    """Yield the batches with these values in the columns of these names."""
    if not values:
        yield from batches
        return
    for batch in batches:
        for name, value in values.items():
            index = batch.schema.get_field_index(name)
            field = batch.schema.field(index)
            batch = batch.set_column(index, field, missing_column(value, batch.num_rows, field.type))
        yield batch


def _may_differ(value: pa.Scalar) -> bool:
    """Return whether a value is a text, or a time in the last second before 1970."""
    if not pa.types.is_timestamp(value.type):
        return True
    zero = pa.scalar(0, pa.int64()).cast(value.type)
    second = pa.scalar(_SECOND, pa.duration(value.type.unit))
    below = pc.and_(pc.less(value, zero), pc.greater(value, pc.subtract(zero, second)))
    return bool(below.as_py())
