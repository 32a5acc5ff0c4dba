"""Convert the rows of a program to rows of a table: by the names of columns, and with the casts that INSERT allows.

The rules are those that Spark uses for INSERT (`spark.sql.storeAssignmentPolicy` = ANSI): a value that the column
cannot hold is an error, and a text never becomes a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.required_parts import check_required_parts, with_required_parts
from paimon_core.arrow.table_fields import table_type
from paimon_core.arrow.types import arrow_type
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, UnsupportedFeatureError
from paimon_core.spec.kinds import BINARIES, MOMENTS, NUMBERS, TEXTS
from paimon_core.spec.types import MAX_LENGTH, NESTED_KINDS, DataField, DataType, Kind, LengthType
from paimon_core.store.table_store import TableStore
from paimon_sql.python.where.casts import cast_values
from paimon_sql.python.where.coercion import COMPARED, spark_type

_BATCH_ROWS = 2**16


def rows_of(data: Any, fields: Sequence[DataField]) -> pa.RecordBatchReader:
    """Return rows as a stream of batches: of an Arrow stream, a DataFrame of pandas or Polars, or a list of dicts.

    `fields` are the columns of the table, which give dicts their types. Raises `InvalidDataError`.
    """
    try:
        if type(data).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(data, preserve_index=False).to_reader(_BATCH_ROWS)
        if isinstance(data, pa.Table):
            return data.to_reader(_BATCH_ROWS)
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data)
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data]).to_reader(_BATCH_ROWS)
        if isinstance(data, Mapping):
            data = [data]
        return _of_dicts(list(data), fields).to_reader(_BATCH_ROWS)
    except InvalidDataError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
        raise InvalidDataError(
            f"The rows cannot be used ({str(e).partition(chr(10))[0]}): give an Arrow table or stream, a DataFrame of "
            "pandas or Polars (of a LazyFrame, by collect()), or a list of dicts with values of the columns' types."
        ) from e


def _of_dicts(rows: list[Mapping[str, Any]], fields: Sequence[DataField]) -> pa.Table:
    if not all(isinstance(row, Mapping) for row in rows):
        raise TypeError("a row is not a dict")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not all(isinstance(name, str) for name in names):
        raise TypeError("the name of a column is not a text")
    known = {f.name: arrow_type(f.type) for f in fields}
    known = {n: known.get(n) or next((t for k, t in known.items() if k.lower() == n.lower()), None) for n in names}
    return pa.table({n: _of_values(n, [row.get(n) for row in rows], known[n]) for n in names})


def _of_values(name: str, values: list[Any], wanted: pa.DataType | None) -> pa.Array:
    """Return values of Python as a column. Raises `InvalidDataError` for a key that the type `wanted` lacks."""
    if wanted is not None and pa.types.is_nested(wanted):
        with suppress(pa.ArrowException, TypeError, OverflowError):  # then the next step reports the values
            _check_fields(name, pa.infer_type(values), wanted)
    return pa.array(values, wanted)


@dataclass(frozen=True)
class AssignedRows:
    """The rows of a write, by the columns of a table. `fixed` columns have one value, also if the rows lack them."""

    store: TableStore
    fixed: Mapping[str, pa.Scalar]

    def batches(self, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield the rows with the columns of the table. Columns that the rows lack are NULL, or have their default.

        Raises `ColumnNotFoundError` for a column that the table lacks, `InvalidDataError` for values that a column
        cannot hold.
        """
        places = self._places(rows.schema)
        casts = {name: self._cast(rows.schema.field(i), self._field(name)) for name, i in places.items()}
        for batch in rows:
            arrays = [self._array(batch, f, places.get(f.name), casts) for f in self.store.schema.fields]
            yield pa.RecordBatch.from_arrays(arrays, names=[f.name for f in self.store.schema.fields])

    def _field(self, name: str) -> DataField:
        return self.store.schema.field_by_name[name]

    def _places(self, schema: pa.Schema) -> dict[str, int]:
        """The place of each column in the rows. Names are compared as Spark does, without case."""
        known = {f.name.lower(): f.name for f in self.store.schema.fields}
        exact = {f.name: f.name for f in self.store.schema.fields}
        places: dict[str, int] = {}
        for i, name in enumerate(schema.names):
            found = exact.get(name) or known.get(name.lower())
            if found is None:
                raise ColumnNotFoundError(
                    f"Table {self.store.name} has no column {name!r}; it has {', '.join(exact)}. Leave the column out, "
                    "add it by alter(add=…), or write with the option 'write.merge-schema' = 'true'."
                )
            if found in places:
                raise InvalidDataError(f"The rows have the column {found!r} of table {self.store.name} twice.")
            places[found] = i
        return places

    def _array(
        self, batch: pa.RecordBatch, field: DataField, place: int | None, casts: Mapping[str, Callable[..., pa.Array]]
    ) -> pa.Array:
        wanted = self.fixed.get(field.name)
        if place is None:
            return pa.nulls(len(batch), arrow_type(field.type)) if wanted is None else pa.repeat(wanted, len(batch))
        return casts[field.name](batch.column(place))

    def _cast(self, source: pa.Field, field: DataField) -> Callable[[pa.Array], pa.Array]:
        """Return the cast of a column of the rows. Raises `InvalidDataError` if INSERT does not allow it."""
        if pa.types.is_null(source.type):
            return lambda column: pa.nulls(len(column), arrow_type(field.type))
        try:
            given = table_type(source.type, field.name)
        except UnsupportedFeatureError as e:
            raise InvalidDataError(f"Column {field.name!r} of table {self.store.name}: {e}") from e
        if field.type.kind in NESTED_KINDS:
            _check_fields(field.name, source.type, arrow_type(field.type))
        same = given.kind is field.type.kind or (given.kind in BINARIES and field.type.kind is Kind.BLOB)
        if same or given.kind in NESTED_KINDS or field.type.kind in NESTED_KINDS:
            return lambda column: self._fitted(self._as_arrow(column, field), field)
        if not _is_assignable(spark_type(given), spark_type(field.type)):
            raise InvalidDataError(
                f"Column {field.name!r} of table {self.store.name} is of type {field.type.sql()} and does not take "
                f"{given.sql()}: cast the values first."
            )
        return lambda column: self._fitted(self._converted(column, given, field), field)

    def _converted(self, column: pa.Array, given: DataType, field: DataField) -> pa.Array:
        source, target = spark_type(given), spark_type(field.type)
        try:
            values = cast_values(column.cast(arrow_type(source)), source, target, self.store.zone)
        except (InvalidDataError, pa.ArrowInvalid) as e:
            raise self._out_of_range(field, e) from e
        return self._as_arrow(values, field)

    def _as_arrow(self, column: pa.Array, field: DataField) -> pa.Array:
        """Return values of the same kind in the type of the column. Digits of a second that the type lacks are cut."""
        wanted = arrow_type(field.type)
        if column.type == wanted:
            return column
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        try:
            if pa.types.is_decimal(wanted) and pa.types.is_decimal(column.type) and column.type.scale > wanted.scale:
                column = pc.round(column, ndigits=wanted.scale, round_mode="half_towards_infinity")
            check_required_parts(field.name, column, wanted)
            column = with_required_parts(column, wanted)
            return column.cast(options=pc.CastOptions(wanted, allow_time_truncate=True))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            raise self._out_of_range(field, e) from e

    def _fitted(self, column: pa.Array, field: DataField) -> pa.Array:
        """Check the length of texts as Spark does: blanks at the end may be cut off, CHAR is padded."""
        if field.type.kind not in TEXTS or not isinstance(field.type, LengthType) or field.type.length == MAX_LENGTH:
            return column
        length = field.type.length
        cut = pc.utf8_rpad(pc.utf8_rtrim(pc.utf8_slice_codeunits(column, length), " "), 0)
        if pc.any(pc.greater(pc.utf8_length(cut), 0)).as_py():
            raise InvalidDataError(
                f"Column {field.name!r} of table {self.store.name} is of type {field.type.sql()}: a text has more than "
                f"{length} characters."
            )
        column = pc.utf8_slice_codeunits(column, 0, length)
        return pc.utf8_rpad(column, length) if field.type.kind is Kind.CHAR else column

    def _out_of_range(self, field: DataField, error: Exception) -> InvalidDataError:
        cause = str(error).partition("\n")[0].partition(": ")[0].removeprefix("where ")
        return InvalidDataError(
            f"Column {field.name!r} of table {self.store.name} is of type {field.type.sql()}, and a value does not fit "
            f"({cause}): correct the value, or change the column's type by alter(types=…)."
        )


def _check_fields(path: str, given: pa.DataType, wanted: pa.DataType) -> None:
    """Raise `InvalidDataError` for a field below a column that the table lacks: a cast by Arrow would leave it out."""
    if given.id != wanted.id:
        return
    if pa.types.is_map(wanted):
        _check_fields(f"{path}.key", given.key_type, wanted.key_type)
        _check_fields(f"{path}.value", given.item_type, wanted.item_type)
    elif pa.types.is_list(wanted):
        _check_fields(f"{path}.element", given.value_type, wanted.value_type)
    elif pa.types.is_struct(wanted):
        known = {f.name: f.type for f in wanted.fields}
        for field in given.fields:
            if field.name not in known:
                raise InvalidDataError(
                    f"The rows have a field {path}.{field.name} that the table lacks: its fields there are "
                    f"{', '.join(known)}. Leave the field out, spell it as the table does, or add it to the table."
                )
            _check_fields(f"{path}.{field.name}", field.type, known[field.name])


def _is_assignable(source: DataType, target: DataType) -> bool:
    """Return whether Spark stores values of a type in a column of another type, in ANSI mode."""
    one, other = source.kind, target.kind
    if one is other or (one in NUMBERS and other in NUMBERS):
        return True
    if other in TEXTS:
        return one in COMPARED and one is not Kind.VARBINARY
    times = (*MOMENTS, Kind.DATE)
    return one in times and other in times
