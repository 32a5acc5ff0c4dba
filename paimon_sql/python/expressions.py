"""Expressions of `pyarrow.compute` as conditions of scans.

A form that is understood (`arrow_filters`) becomes a condition as SQL makes one, which prunes files. Arrow evaluates
every other expression on the rows, with the columns as scans return them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import acero

from paimon_core.arrow.chars import with_spaces
from paimon_core.arrow.types import arrow_schema, plain_schema
from paimon_core.dataclass import dataclass
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.spec.types import DataField
from paimon_sql.python.arrow_filters import condition_in, positions_in
from paimon_sql.python.where.bound import COLUMN, OPAQUE, Bound, condition_of
from paimon_sql.python.where.coercion import spark_type

_RESULT, _COUNTED = "result", "__rows"


def bind_expression(expression: pc.Expression, fields: Sequence[DataField]) -> Bound:
    """Return the tree of an expression on the columns of a table.

    Raises `ColumnNotFoundError`, `InvalidOptionError` for an expression that is not a condition,
    `UnsupportedFeatureError` for a form that Arrow does not evaluate on these columns.
    """
    schema = plain_schema(arrow_schema(fields))
    found = condition_in(expression, {f.name: f for f in fields}, schema)
    if found is not None:
        return found
    _check(expression, fields)
    used = _used(expression, fields)
    parts = [Bound(COLUMN, spark_type(f.type), value=f.name) for f in used]
    return condition_of(OPAQUE, *parts, value=ArrowForm(expression, tuple(used)))


@dataclass(frozen=True, slots=True, eq=False)
class ArrowForm:
    """An expression that Arrow evaluates on these columns, as scans return them."""

    expression: pc.Expression
    fields: tuple[DataField, ...]

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the value for each row of a batch. Raises `InvalidDataError` for a value that Arrow fails on."""
        schema = plain_schema(arrow_schema(self.fields))
        pairs = zip(self.fields, schema, strict=True)
        columns = [with_spaces(batch.column(f.name), f.type).cast(a.type) for f, a in pairs]
        try:
            return _evaluated(self.expression, columns, schema, batch.num_rows)
        except pa.ArrowException as e:
            raise InvalidDataError(
                f"where cannot evaluate {self.expression} for a value ({_cause(e)}): exclude such rows by a scan "
                "before it, or filter the result."
            ) from e


def _check(expression: pc.Expression, fields: Sequence[DataField]) -> None:
    """Evaluate an expression on no rows."""
    try:
        found = _type_of(expression, fields)
    except pa.ArrowNotImplementedError as e:
        raise UnsupportedFeatureError(
            f"where cannot evaluate {expression}: Arrow has no such function of these types ({_cause(e)}). Cast the "
            "columns, or write the condition in SQL."
        ) from e
    except pa.ArrowException as e:
        if "No match for FieldRef" in str(e):
            raise ColumnNotFoundError(
                f"where names a column that does not exist in {expression}: the columns are "
                f"{', '.join(f.name for f in fields)}."
            ) from e
        raise InvalidOptionError(f"where cannot be {expression}: {_cause(e)}.") from e
    if found != pa.bool_():
        raise InvalidOptionError(f"where cannot be {expression}: it is of type {found}, not a condition.")


def _used(expression: pc.Expression, fields: Sequence[DataField]) -> Sequence[DataField]:
    """Return the columns to evaluate an expression on. If it has positions of columns, these stay valid."""
    text = str(expression)
    known = [f for f in fields if f.name in text]  # the text has the names of all columns that the expression uses
    positions = positions_in(expression)
    if positions:
        last = max(*positions, *(i for i, f in enumerate(fields) if f in known), 0)
        return fields[: last + 1]
    return [f for f in known if _needs(expression, known, f)]


def _needs(expression: pc.Expression, fields: Sequence[DataField], field: DataField) -> bool:
    try:
        _type_of(expression, [f for f in fields if f is not field])
    except pa.ArrowException:
        return True
    return False


def _type_of(expression: pc.Expression, fields: Sequence[DataField]) -> pa.DataType:
    schema = plain_schema(arrow_schema(fields))
    return _evaluated(expression, [pa.nulls(0, f.type) for f in schema], schema, 0).type


def _evaluated(expression: pc.Expression, columns: Sequence[pa.Array], schema: pa.Schema, count: int) -> pa.Array:
    # without columns, a column keeps the number of rows
    rows = pa.table(columns, names=schema.names) if columns else pa.table([pa.nulls(count)], names=[_COUNTED])
    steps = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(rows)),
        acero.Declaration("project", acero.ProjectNodeOptions([expression], [_RESULT])),
    ]
    found = acero.Declaration.from_sequence(steps).to_table(use_threads=False).column(0)  # in the order of the rows
    return pa.concat_arrays(found.chunks) if found.num_chunks else pa.nulls(0, found.type)


def _cause(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
