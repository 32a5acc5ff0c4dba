"""Convert rows from the schema of a file to the table's schema, by field id, at any depth. Formats read columns
unchanged. This module handles renamed, moved, added and dropped columns, and changed types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.casts import cast_column
from paimon_core.arrow.evolution import missing_column
from paimon_core.arrow.types import arrow_schema, arrow_type
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError
from paimon_core.expressions.predicate import Predicate, only_on, renamed
from paimon_core.lazy import cached_property
from paimon_core.spec.types import CollectionType, DataField, DataType, Kind, MapType, RowType


@dataclass(frozen=True)
class Evolution:
    """The conversion from the fields of a file (`then`) to some of the table's fields (`now`)."""

    then: tuple[DataField, ...]
    now: tuple[DataField, ...]
    trims: bool = False  # whether the file stores CHAR without its padding
    zone: tzinfo | None = None  # the zone of local times, None: this process's zone
    missing: Callable[[str], pa.Scalar | None] = lambda _: None  # value of a missing column, None for NULL

    @cached_property
    def sources(self) -> tuple[DataField | None, ...]:
        """The old field of each field, None for new fields."""
        by_id = {f.id: f for f in self.then}
        return tuple(by_id.get(f.id) for f in self.now)

    @cached_property
    def stored(self) -> tuple[DataField, ...]:
        """Return the fields to read from the file."""
        return tuple(f for f in self.sources if f is not None)

    def predicate_then(self, predicate: Predicate | None) -> Predicate | None:
        """Return the conjuncts on columns with an unchanged type, with the columns' old names."""
        same = {
            f.name: s.name
            for f, s in zip(self.now, self.sources, strict=True)
            if s is not None and s.type.with_nullable(True) == f.type.with_nullable(True)
        }
        usable = only_on(predicate, same) if predicate else None
        return renamed(usable, same) if usable else None

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert rows with the columns `stored` to rows with the columns `now`. Raises `InvalidDataError`."""
        target, columns = arrow_schema(self.now), iter(batch.columns)
        arrays = []
        for field, source, wanted in zip(self.now, self.sources, target, strict=True):
            if source is None:
                arrays.append(missing_column(self.missing(field.name), batch.num_rows, wanted.type))
                continue
            try:
                column = next(columns)
                if self.trims and source.type.kind is Kind.CHAR is not field.type.kind:
                    column = pc.utf8_rtrim(column, " ")
                arrays.append(_with_ids(evolve_column(column, source.type, field.type, self.zone), wanted.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, InvalidDataError) as e:
                raise InvalidDataError(
                    f"Column {field.name!r} was {source.type.sql()} and cannot be read as {field.type.sql()}: {e}"
                ) from e
        return pa.RecordBatch.from_arrays(arrays, schema=target)


def evolve_column(column: pa.Array, then: DataType, now: DataType, zone: tzinfo | None = None) -> pa.Array:
    """Convert a column from one type to another.

    Nested fields are found by id; instants become local times in `zone`.
    """
    if then.with_nullable(True) == now.with_nullable(True):
        return column
    nulls = column.is_null() if column.null_count else None
    match then, now:
        case RowType(fields=old), RowType(fields=new):
            return _evolve_struct(column, old, new, nulls, zone)
        case CollectionType(element=old_element), CollectionType(element=new_element):
            if pa.types.is_list(column.type):
                values = evolve_column(column.values, old_element, new_element, zone)
                return pa.ListArray.from_arrays(_offsets(column), values, mask=nulls)
            keys = evolve_column(column.keys, old_element, new_element, zone)
            return pa.MapArray.from_arrays(_offsets(column), keys, column.items, mask=nulls)
        case MapType(key=old_key, value=old_value), MapType(key=new_key, value=new_value):
            keys = evolve_column(column.keys, old_key, new_key, zone)
            items = evolve_column(column.items, old_value, new_value, zone)
            return pa.MapArray.from_arrays(_offsets(column), keys, items, mask=nulls)
    return cast_column(column, then, now, zone)


def _evolve_struct(
    column: pa.StructArray,
    old: Sequence[DataField],
    new: Sequence[DataField],
    nulls: pa.BooleanArray | None,
    zone: tzinfo | None,
) -> pa.StructArray:
    indices = {f.id: (i, f.type) for i, f in enumerate(old)}
    children = []
    for field in new:
        if field.id in indices:
            index, then = indices[field.id]
            children.append(evolve_column(column.field(index), then, field.type, zone))
        else:
            children.append(pa.nulls(len(column), arrow_type(field.type)))
    return pa.StructArray.from_arrays(children, names=[f.name for f in new], mask=nulls)


def _offsets(column: pa.Array) -> pa.Array:
    """Return a copy of the offsets: Arrow accepts no mask with the offsets of a slice."""
    return pa.array(column.offsets.to_numpy(), pa.int32())


def _with_ids(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the column with the field ids and nullability of the target type. Names and order must be the same."""
    return column if column.type.equals(target, check_metadata=True) else column.cast(target)
