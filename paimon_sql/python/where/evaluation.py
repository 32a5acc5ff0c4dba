"""The value of a condition's tree for the rows of a batch, with Spark's semantics: NULLs, NaN, errors of ANSI mode.

AND and OR evaluate their right side only for the rows that the left side does not decide, as Spark does: a condition on
the left can exclude values for which the right side would fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.types import arrow_type
from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.expressions.constants import array_of, scalar_of
from paimon_core.spec.kinds import FLOATS, MOMENTS
from paimon_core.spec.types import CollectionType, DataType, DecimalType, Kind
from paimon_sql.python.where.bound import CAST, COLUMN, LITERAL, OPAQUE, Bound, nodes
from paimon_sql.python.where.casts import cast_values
from paimon_sql.python.where.coercion import as_decimal, spark_type

_DIGITS_OF_FACTOR, _DIGITS_OF_TERM, _DIGITS_OF_RESULT = 38, 75, 76  # that Arrow computes with, without an overflow
_FAILING = frozenset((CAST, OPAQUE, "+", "-", "*", "/", "%", "div", "negative", "abs"))
_TESTS: Mapping[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def evaluate(node: Bound, batch: pa.RecordBatch, zone: tzinfo | None) -> pa.Array:
    """Return the values of a node for each row of a batch that has its columns.

    Raises `InvalidDataError` if Spark would raise an error for a value: an overflow, a division by zero, a failed cast.
    """
    if node.name in ("and", "or"):
        return _decided(node, batch, zone)
    if node.name == COLUMN:
        return _column(batch.column(batch.schema.get_field_index(node.value)), node.type)
    if node.name == LITERAL:
        return _repeated(node, batch.num_rows)
    if node.name == OPAQUE:
        return node.value.values(batch)
    if node.name == "in":
        return _in(node, evaluate(node.parts[0], batch, zone))
    if node.name == "array_contains":
        return _containing(node, evaluate(node.parts[0], batch, zone), batch, zone)
    if node.name == "arrays_overlap":
        return _overlapping(node, evaluate(node.parts[0], batch, zone), zone)
    if node.name == "coalesce":
        return pc.coalesce(*(evaluate(p, batch, zone) for p in node.parts))
    parts = [evaluate(p, batch, zone) for p in node.parts]
    if node.name == CAST:
        return cast_values(parts[0], node.parts[0].type, node.type, zone)
    if node.name in _TESTS or node.name == "<=>":
        return _compared(node.name, *parts)
    if node.name in _ARITHMETIC:
        return _computed(node, parts)
    return _FUNCTIONS[node.name](node, *parts)


def value_of(node: Bound, zone: tzinfo | None) -> Any:
    """Return the value of a node without columns, as a literal has it. Raises `InvalidDataError`."""
    row = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["_"])
    found = evaluate(node, row, zone)
    if node.type.kind in MOMENTS or node.type.kind is Kind.DATE:
        found = found.cast(pa.int32() if node.type.kind is Kind.DATE else pa.int64())
    return found[0].as_py()


def can_fail(node: Bound) -> bool:
    """Return whether a node may raise an error for some values."""
    return any(n.name in _FAILING for n in nodes(node))


def _decided(node: Bound, batch: pa.RecordBatch, zone: tzinfo | None) -> pa.Array:
    """AND or OR of all parts, from left to right."""
    combine, decides = (pc.and_kleene, False) if node.name == "and" else (pc.or_kleene, True)
    found = evaluate(node.parts[0], batch, zone)
    for part in node.parts[1:]:
        if not can_fail(part):
            found = combine(found, evaluate(part, batch, zone))
            continue
        open_rows = pc.fill_null(pc.not_equal(found, scalar_of(decides, pa.bool_())), scalar_of(True, pa.bool_()))
        right = evaluate(part, batch.filter(open_rows), zone)
        found = pc.replace_with_mask(found, open_rows, combine(found.filter(open_rows), right))
    return found


def _column(values: pa.Array, data_type: DataType) -> pa.Array:
    """The values of a column as expressions have them."""
    if data_type.kind in MOMENTS:
        return _micros(values)
    wanted = arrow_type(data_type)
    return values if values.type == wanted or pa.types.is_nested(wanted) else pc.cast(values, wanted)


def _micros(values: pa.Array) -> pa.Array:
    if values.type.unit == "us":
        return values
    wanted = pa.timestamp("us", values.type.tz)
    return (
        pc.floor_temporal(values, unit="microsecond").cast(wanted) if values.type.unit == "ns" else values.cast(wanted)
    )


def _repeated(node: Bound, count: int) -> pa.Array:
    wanted = arrow_type(node.type)
    if node.value is not None and (node.type.kind in MOMENTS or node.type.kind is Kind.DATE):
        stored = pa.int32() if node.type.kind is Kind.DATE else pa.int64()
        return pa.repeat(scalar_of(node.value, stored), count).cast(wanted)
    return pa.repeat(scalar_of(node.value, wanted), count)


def _compared(operator: str, left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.types.is_boolean(left.type):
        left, right = left.cast(pa.int8()), right.cast(pa.int8())
    if operator == "<=>":
        both_null = pc.and_(pc.is_null(left), pc.is_null(right))
        return pc.or_(both_null, pc.coalesce(_compared("=", left, right), scalar_of(False, pa.bool_())))
    found = _TESTS[operator](left, right)
    if not pa.types.is_floating(left.type):
        return found
    # in SQL, NaN equals NaN and is above all other numbers
    first, second = pc.is_nan(left), pc.is_nan(right)
    ranks = _TESTS[operator](first.cast(pa.int8()), second.cast(pa.int8()))
    return pc.if_else(pc.or_(first, second), ranks, found)


def _in(node: Bound, values: pa.Array) -> pa.Array:
    given = [part.value for part in node.parts[1:]]
    found = _among(values, [v for v in given if v is not None], node.parts[0].type)
    unknown = scalar_of(None, pa.bool_())
    if None in given:
        found = pc.if_else(found, scalar_of(True, pa.bool_()), unknown)
    return pc.if_else(pc.is_valid(values), found, unknown)


def _among(values: pa.Array, known: list[Any], data_type: DataType) -> pa.Array:
    """Return which values are one of some constants that are not NULL; NaN and the two zeros are not special."""
    stored = values
    if data_type.kind in MOMENTS or data_type.kind is Kind.DATE:
        stored = values.cast(pa.int32() if data_type.kind is Kind.DATE else pa.int64())
    return pc.is_in(stored, value_set=array_of(known, stored.type))


# -- elements of ARRAYs -----------------------------------------------------------------------------------------------
def _containing(node: Bound, arrays: pa.Array, batch: pa.RecordBatch, zone: tzinfo | None) -> pa.Array:
    """Return whether each array has the value of its row, NULL if it does not and has a NULL."""
    value, elements, rows = node.parts[1], _elements(node, arrays, zone), _rows_of_elements(arrays)
    values = evaluate(value, batch, zone)
    of_rows = _repeated(value, len(elements)) if value.is_literal else pc.take(values, pa.array(rows))
    found = _any_element(arrays, rows, _compared("=", elements, of_rows))
    return pc.if_else(pc.is_valid(values), found, scalar_of(None, pa.bool_()))


def _overlapping(node: Bound, arrays: pa.Array, zone: tzinfo | None) -> pa.Array:
    """Return whether each array has one of the constants, NULL if it does not and one of both has a NULL."""
    given = [part.value for part in node.parts[1:]]
    known = [v for v in given if v is not None]
    elements = _elements(node, arrays, zone)
    if node.value.kind in FLOATS and 0 in known:
        known += [0.0, -0.0]  # Arrow's sets distinguish the two zeros, SQL does not
    found = _among(elements, known, node.value)
    unknown = scalar_of(None, pa.bool_())
    if None in given:
        found = pc.if_else(found, scalar_of(True, pa.bool_()), unknown)
    if given:
        found = pc.if_else(pc.is_valid(elements), found, unknown)
    return _any_element(arrays, _rows_of_elements(arrays), found)


def _elements(node: Bound, arrays: pa.Array, zone: tzinfo | None) -> pa.Array:
    """Return the elements of all arrays in the type in which they are compared."""
    array = node.parts[0].type
    assert isinstance(array, CollectionType)
    element = spark_type(array.element)
    return cast_values(_column(pc.list_flatten(arrays), element), element, node.value, zone)


def _rows_of_elements(arrays: pa.Array) -> NDArray[np.int64]:
    lengths = pc.fill_null(pc.list_value_length(arrays), 0)
    return np.repeat(np.arange(len(arrays)), np.asarray(lengths))


def _any_element(arrays: pa.Array, rows: NDArray[np.int64], found: pa.Array) -> pa.Array:
    """Return OR of the truths of each array's elements, false for an array without elements, NULL for NULL."""
    hits, unknown = (np.zeros(len(arrays), dtype=np.bool_) for _ in range(2))
    hits[rows[np.asarray(pc.fill_null(found, scalar_of(False, pa.bool_())))]] = True
    unknown[rows[np.asarray(pc.is_null(found))]] = True
    known = np.asarray(pc.is_valid(arrays)) & (hits | ~unknown)
    bits = [pa.py_buffer(np.packbits(b, bitorder="little")) for b in (known, hits)]
    return pa.Array.from_buffers(pa.bool_(), len(arrays), bits)


# -- numbers ----------------------------------------------------------------------------------------------------------
def _computed(node: Bound, parts: list[pa.Array]) -> pa.Array:
    kinds, result = [p.type for p in node.parts], node.type
    try:
        if isinstance(result, DecimalType):
            return _decimals(node.name, parts, kinds, result)
        wanted = arrow_type(result)
        left, right = (p.cast(pa.float64() if result.kind in FLOATS else wanted, safe=False) for p in parts)
        if node.name in ("/", "%", "div"):
            _check_divisor(right)
        found = _ARITHMETIC[node.name](left, right)
        return found.cast(wanted)
    except pa.ArrowInvalid as e:
        raise _overflow(node.name, result) from e


def _decimals(name: str, parts: list[pa.Array], kinds: list[DataType], result: DecimalType) -> pa.Array:
    """Compute decimals with digits to spare, then round half up to the digits of the result."""
    types = [as_decimal(k) for k in kinds]
    scale = max(t.scale for t in types)
    wide = [_DIGITS_OF_FACTOR - i if name == "*" else _DIGITS_OF_TERM for i in range(2)]
    scales = [t.scale if name == "*" else scale for t in types]
    given = [p.cast(pa.decimal256(*room)) for p, room in zip(parts, zip(wide, scales, strict=True), strict=True)]
    found = _ARITHMETIC[name](*given)
    if found.type.scale > result.scale:
        found = pc.round(found, ndigits=result.scale, round_mode="half_towards_infinity")
    room = result.precision - result.scale
    if room + found.type.scale >= _DIGITS_OF_RESULT:
        return found.cast(arrow_type(result))
    limit = pa.scalar(Decimal(10**room), pa.decimal256(_DIGITS_OF_RESULT, found.type.scale))
    if pc.any(pc.greater_equal(pc.abs(found), limit)).as_py():
        raise _overflow(name, result)
    return found.cast(arrow_type(result))


def _remainder(left: pa.Array, right: pa.Array) -> pa.Array:
    """The remainder with the sign of the dividend, as Java's `%`."""
    if pa.types.is_floating(left.type):
        valid = pc.and_(left.is_valid(), right.is_valid())
        pair = [pc.fill_null(p, 1).to_numpy(zero_copy_only=False) for p in (left, right)]
        return pc.if_else(valid, pa.array(np.fmod(*pair)), None)
    quotient = pc.divide(left, right)
    return pc.subtract(left, pc.multiply(quotient, right))


def _check_divisor(divisor: pa.Array) -> None:
    if pc.any(pc.equal(divisor, pa.scalar(0, divisor.type))).as_py():
        raise InvalidDataError(
            "where divides by zero: exclude such rows by a condition before it, as in n <> 0 AND 1 / n > 2."
        )


def _overflow(name: str, result: DataType) -> InvalidDataError:
    return InvalidDataError(
        f"where computes {name} with a result that {result.sql()} cannot hold: cast the operands to a wider type."
    )


_ARITHMETIC: Mapping[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": pc.divide,
    "%": _remainder,
    "div": pc.divide_checked,
}


# -- texts and times --------------------------------------------------------------------------------------------------
def _cased(change: Callable[[str], str], ascii_only: Callable[[pa.Array], pa.Array], text: pa.Array) -> pa.Array:
    """Change the case. Texts that are not ASCII are changed by Python, once per distinct text, because Python has the
    same special cases as Java.
    """
    if pc.all(pc.string_is_ascii(text)).as_py() is not False:
        return ascii_only(text)
    distinct = text.dictionary_encode()
    changed = pa.array([change(v) for v in distinct.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(distinct.indices, changed).cast(pa.string())


def _sought(test: Callable[..., pa.Array], node: Bound, text: pa.Array, _: pa.Array) -> pa.Array:
    pattern = node.parts[1]
    if not pattern.is_literal:
        raise UnsupportedFeatureError(
            f"where cannot evaluate {node.name} with a second text that is not a constant: filter the result."
        )
    return pa.nulls(len(text), pa.bool_()) if pattern.value is None else test(text, pattern=pattern.value)


def _negative(node: Bound, values: pa.Array) -> pa.Array:
    try:
        return pc.negate_checked(values)
    except pa.ArrowInvalid as e:
        raise _overflow("-", node.type) from e


def _absolute(node: Bound, values: pa.Array) -> pa.Array:
    try:
        return pc.abs_checked(values)
    except pa.ArrowInvalid as e:
        raise _overflow("abs", node.type) from e


def _as_int(values: pa.Array) -> pa.Array:
    return values.cast(pa.int32())


_FUNCTIONS: Mapping[str, Callable[..., pa.Array]] = {
    "field": lambda node, row: _column(pc.struct_field(row, node.value), node.type),
    "padded": lambda node, text: pc.utf8_rpad(text, node.value),
    "not": lambda _, value: pc.invert(value),
    "is_null": lambda _, value: value.is_null(),
    "like": lambda node, text: pc.match_substring_regex(text, node.value[1]),
    "rlike": lambda node, text: pc.match_substring_regex(text, node.value),
    "startswith": lambda node, *texts: _sought(pc.starts_with, node, *texts),
    "endswith": lambda node, *texts: _sought(pc.ends_with, node, *texts),
    "contains": lambda node, *texts: _sought(pc.match_substring, node, *texts),
    "negative": _negative,
    "abs": _absolute,
    "concat": lambda _, *texts: pc.binary_join_element_wise(*texts, "") if len(texts) > 1 else texts[0],
    "upper": lambda _, text: _cased(str.upper, pc.ascii_upper, text),
    "lower": lambda _, text: _cased(str.lower, pc.ascii_lower, text),
    "length": lambda _, text: _as_int(pc.utf8_length(text)),
    "year": lambda _, day: _as_int(pc.year(day)),
    "month": lambda _, day: _as_int(pc.month(day)),
    "day": lambda _, day: _as_int(pc.day(day)),
}
