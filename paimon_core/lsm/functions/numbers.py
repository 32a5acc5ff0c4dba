"""`sum` and `product`: exact in the column's type, floating point in the order of the rows.

Whole numbers that overflow raise an error; decimals that overflow become NULL, and the next value starts over. Java
does not check the intermediate sums of decimals with at most 18 digits: only the final sum must fit.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, fixed_values, int64_array
from paimon_core.dataclass import dataclass
from paimon_core.errors import MergeRefusedError
from paimon_core.lsm.functions.steps import RETRACT, SET, Mask, Steps, replaced, take_steps

Number = Any  # int, float or Decimal
_WORKING = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)
_COMPACT = 18  # digits
_SLACK = 1 - 1e-9  # a floating point estimate may be too small by this factor


@dataclass(frozen=True, slots=True)
class _Operation:
    """A function: its vectorized and its stepwise form, and the operation that retracts a value."""

    name: str
    ufunc: np.ufunc
    neutral: float
    forward: Callable[[Number, Number], Number]
    backward: Callable[[Number, Number], Number]
    first_backward: Callable[[Number], Number | None]


def total(column: pa.Array, steps: Steps) -> pa.Array:
    """Compute `sum`; a retracted value counts negative."""
    return _reduced(column, steps, _SUM)


def product(column: pa.Array, steps: Steps) -> pa.Array:
    """Compute `product`. Retracted values are divisors."""
    return _reduced(column, steps, _PRODUCT)


def _reduced(column: pa.Array, steps: Steps, operation: _Operation) -> pa.Array:
    known = steps.narrowed(steps.valid(column))
    if pa.types.is_decimal(column.type):
        result, doubtful = _decimals(column, steps, known, operation)
    elif pa.types.is_floating(column.type):
        result, doubtful = _floats(column, steps, known, operation)
    else:
        result, doubtful = _integers(column, steps, known, operation)
    if not doubtful.any():
        return result
    # loop only over groups near the limits of the type, and groups with a division
    values = [
        _stepwise(column, steps, part, operation)
        for _, part in steps.groups_of(known & np.repeat(doubtful, steps.sizes))
    ]
    groups = doubtful & steps.any(known)
    return replaced(result, groups, pa.array(values, column.type))


def _integers(column: pa.Array, steps: Steps, known: Mask, operation: _Operation) -> tuple[pa.Array, Mask]:
    width = column.type.bit_width // 8
    limit = 2.0 ** (8 * width - 1) * _SLACK
    values = steps.of(fixed_values(column, f"i{width}")).astype(np.int64)
    if operation is _SUM:
        values *= known
    else:
        values = np.where(known, values, 1)
    values, doubtful = _taken_back(values, steps, known, operation)
    largest = max(1, int(values.max()), -int(values.min()))
    most = int(steps.sizes.max())
    with np.errstate(over="ignore"):
        if operation is _PRODUCT or largest * most >= limit:
            sizes = np.abs(values.astype(np.float64))
            sizes = np.maximum(sizes, 1) if operation is _PRODUCT else sizes
            doubtful |= steps.reduced(operation.ufunc, sizes) >= limit
        result = steps.reduced(operation.ufunc, values).astype(f"i{width}")
    return fixed_array(result, column.type, steps.any(known)), doubtful


def _floats(column: pa.Array, steps: Steps, known: Mask, operation: _Operation) -> tuple[pa.Array, Mask]:
    kind = np.float32 if column.type.bit_width == 32 else np.float64
    values = np.where(known, steps.of(fixed_values(column, kind)), kind(operation.neutral))
    values, doubtful = _taken_back(values, steps, known, operation)
    result = _in_order(values, steps, operation.ufunc)
    return fixed_array(result, column.type, steps.any(known)), doubtful


def _taken_back(values: NDArray[Any], steps: Steps, known: Mask, operation: _Operation) -> tuple[NDArray[Any], Mask]:
    """Return the values, negated where `sum` retracts them, and the groups in which `product` divides by a retracted
    value.
    """
    if steps.ops is None:
        return values, np.zeros(len(steps.starts), dtype=np.bool_)
    backward = steps.is_op(RETRACT) & known
    if operation is _SUM:
        return np.where(backward, -values, values), np.zeros(len(steps.starts), dtype=np.bool_)
    return values, steps.any(backward)


def _in_order(values: NDArray[Any], steps: Steps, ufunc: np.ufunc) -> NDArray[Any]:
    """Reduce the values of each group from the first to the last; `reduceat` does not guarantee this order."""
    with np.errstate(all="ignore"):
        result = steps.reduced(ufunc, values)
        for group in steps.groups.large.tolist():  # vectorized within the group
            result[group] = ufunc.accumulate(values[steps.starts[group] : steps.ends[group] + 1])[-1]
    return result


def _decimals(column: pa.Array, steps: Steps, known: Mask, operation: _Operation) -> tuple[pa.Array, Mask]:
    several = steps.counts(known) > 1
    if steps.ops is not None:
        several |= steps.any(known & steps.is_op(RETRACT))
    if operation is _PRODUCT:  # every product is rounded: step by step
        return take_steps(column, steps, steps.last(known)), several
    values = column.take(int64_array(steps.rows, known))
    sizes = np.abs(values.cast(pa.float64()).fill_null(0).to_numpy())
    digits = column.type.precision - column.type.scale
    doubtful = steps.reduced(np.add, sizes) >= 10.0**digits * _SLACK
    if steps.ops is not None:
        values = pc.if_else(fixed_array(steps.is_op(RETRACT), pa.bool_()), pc.negate(values), values)
    groups = np.repeat(np.arange(len(steps.starts)), steps.sizes)
    table = pa.table({"group": int64_array(groups), "value": values})
    sums = table.group_by("group", use_threads=False).aggregate([("value", "sum")]).column("value_sum")
    exact = sums.combine_chunks() if isinstance(sums, pa.ChunkedArray) else sums
    if column.type.precision <= _COMPACT:  # only the final sum must fit
        fits = pc.less(pc.abs(exact), pa.scalar(decimal.Decimal(10**digits)))
        return pc.if_else(fits, exact, pa.scalar(None, exact.type)).cast(column.type), np.zeros_like(several)
    doubtful &= several
    fitting = pc.if_else(fixed_array(doubtful, pa.bool_()), pa.scalar(None, exact.type), exact)
    return fitting.cast(column.type), doubtful


def _stepwise(column: pa.Array, steps: Steps, part: NDArray[np.int64], operation: _Operation) -> Number | None:
    """Compute the result of one group, exact at each step."""
    values = column.take(int64_array(steps.rows[part])).to_pylist()
    ops = np.full(len(part), SET) if steps.ops is None else steps.ops[part]
    result: Number | None = None
    for value, op in zip(values, ops.tolist(), strict=True):
        if result is None:
            result = operation.first_backward(value) if op == RETRACT else value
        else:
            result = (operation.backward if op == RETRACT else operation.forward)(result, value)
        result = _fitting(result, column.type, operation)
    return result


def _fitting(value: Number | None, arrow: pa.DataType, operation: _Operation) -> Number | None:
    if isinstance(value, decimal.Decimal):
        rounded = value.quantize(decimal.Decimal(1).scaleb(-arrow.scale), context=_WORKING)
        return rounded if len(rounded.as_tuple().digits) <= arrow.precision or not rounded else None
    if isinstance(value, float) and arrow.bit_width == 32:
        return float(np.float32(value))
    if isinstance(value, int) and not -(2 ** (arrow.bit_width - 1)) <= value < 2 ** (arrow.bit_width - 1):
        raise MergeRefusedError(f"the {operation.name} {value} does not fit into {arrow.bit_width} bits")
    return value


def _divide(left: Number, right: Number) -> Number:
    if isinstance(left, float):
        with np.errstate(all="ignore"):
            return float(np.float64(left) / np.float64(right))
    if not right:
        raise MergeRefusedError("a product cannot retract a zero")
    if isinstance(left, int):
        return abs(left) // abs(right) * int(math.copysign(1, left) * math.copysign(1, right))
    quotient = _WORKING.divide(left, right)
    if _WORKING.multiply(quotient, right) != left:
        raise MergeRefusedError(f"the product {left} cannot retract {right}: the quotient has infinitely many digits")
    return quotient


def _multiply(left: Number, right: Number) -> Number:
    return _WORKING.multiply(left, right) if isinstance(left, decimal.Decimal) else left * right


_SUM = _Operation("sum", np.add, -0.0, lambda a, b: a + b, lambda a, b: a - b, lambda a: -a)
_PRODUCT = _Operation("product", np.multiply, 1.0, _multiply, _divide, lambda _: None)
