"""Functions that return one of the values: the first, the last, the largest, the smallest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array
from paimon_core.lsm.functions.steps import (
    ADD,
    ADD_OLDER,
    RETRACT,
    SET,
    Mask,
    Positions,
    Steps,
    replaced,
    take_steps,
)
from paimon_core.lsm.keys import Words, flatten, float_values, fold, key_words, widths


def primary_key(column: pa.Array, steps: Steps) -> pa.Array:
    """Return the value that all rows of a key share."""
    return take_steps(column, steps, steps.ends)


def last_value(column: pa.Array, steps: Steps) -> pa.Array:
    """Return the newest value, even NULL. After the value is retracted, the result is NULL."""
    if steps.ops is None:
        return take_steps(column, steps, steps.ends)
    return _take_unless_retracted(column, steps, steps.last(steps.narrowed(steps.is_op(SET, ADD, RETRACT))))


def last_non_null_value(column: pa.Array, steps: Steps) -> pa.Array:
    """Return the newest value that is not NULL. A value that comes late and is older counts only if there is no newer
    value.
    """
    if not column.null_count and steps.ops is None:
        return take_steps(column, steps, steps.ends)
    valid = steps.narrowed(steps.valid(column))
    if steps.ops is None:
        return take_steps(column, steps, steps.last(valid))
    newest = steps.last(valid & steps.is_op(SET, ADD, RETRACT))
    older = valid & steps.is_op(ADD_OLDER)
    if not older.any():
        return _take_unless_retracted(column, steps, newest)
    empty = (newest < 0) | (steps.ops[newest] == RETRACT)
    after = older & (np.arange(len(older)) > np.repeat(newest, steps.sizes))
    first = steps.first(after)
    filled = np.where(first < len(older), first, -1)
    return take_steps(column, steps, np.where(empty, filled, newest))


def first_value(column: pa.Array, steps: Steps) -> pa.Array:
    """Return the first value, even NULL. A later row replaces it if it is older by its sequence group."""
    if steps.ops is None:
        return take_steps(column, steps, steps.starts)
    added = steps.is_op(ADD, ADD_OLDER)
    first = np.repeat(steps.first(added), steps.sizes)
    step = np.arange(len(added))
    chosen = steps.is_op(SET) | (steps.is_op(ADD) & (step == first)) | (steps.is_op(ADD_OLDER) & (step > first))
    return take_steps(column, steps, steps.last(steps.narrowed(chosen)))


def first_non_null_value(column: pa.Array, steps: Steps) -> pa.Array:
    """Return the first value that is not NULL. A later row replaces it if it is older by its sequence group."""
    valid, step = steps.valid(column), np.arange(len(steps.rows))
    first = steps.first(valid & steps.is_op(ADD))
    chosen = steps.is_op(SET) | (step == np.repeat(first, steps.sizes))
    result = take_steps(column, steps, steps.last(steps.narrowed(chosen)))
    older = steps.is_op(ADD_OLDER)
    if not older.any():
        return result
    # with older rows, the result depends on each step: loop over the groups that have such rows
    groups = steps.last(older) >= 0
    picked = [_first_non_null(steps, valid, part) for _, part in steps.groups_of(np.repeat(groups, steps.sizes))]
    return replaced(result, groups, take_steps(column, steps, np.array(picked, dtype=np.int64)))


def largest(column: pa.Array, steps: Steps) -> pa.Array:
    """Return the largest value in the order of keys, ignoring NULL. For booleans, return whether one is true."""
    return _extreme(column, steps, np.maximum, np.iinfo(np.int64).min)


def smallest(column: pa.Array, steps: Steps) -> pa.Array:
    """Return the smallest value in the order of keys, ignoring NULL. For booleans, return whether all are true."""
    return _extreme(column, steps, np.minimum, np.iinfo(np.int64).max)


def _take_unless_retracted(column: pa.Array, steps: Steps, chosen: Positions) -> pa.Array:
    assert steps.ops is not None
    if steps.retracts:
        chosen = np.where(steps.ops[chosen] == RETRACT, -1, chosen)
    return take_steps(column, steps, chosen)


def _extreme(column: pa.Array, steps: Steps, better: np.ufunc, worst: int) -> pa.Array:
    words, whole = _order(column)
    words = steps.of(words)
    counts = None
    if column.null_count or steps.ops is not None:
        counts = steps.narrowed(steps.valid(column))
        words = np.where(counts, words, worst)
    best = steps.reduced(better, words)
    if whole:
        known = None if counts is None else steps.any(counts)
        return fixed_array(_values(best, column.type), column.type, known)
    found = words == np.repeat(best, steps.sizes)
    return take_steps(column, steps, steps.last(found if counts is None else found & counts))


def _order(column: pa.Array) -> tuple[Words, bool]:
    """Return a word per row in the order of the values, and whether the word is the value itself."""
    key = key_words([column])
    arrow = column.type
    variable = pa.types.is_string(arrow) or pa.types.is_binary(arrow) or pa.types.is_decimal(arrow)
    return (fold(flatten(key, widths([key]))), False) if variable else (key[0].words[-1], True)


def _values(words: Words, arrow: pa.DataType) -> NDArray[np.generic]:
    """Return the values of words of a fixed-width type, in Arrow's form."""
    if pa.types.is_boolean(arrow):
        return words
    if pa.types.is_floating(arrow):
        return float_values(words).astype(np.float32 if arrow.bit_width == 32 else np.float64)
    return words.astype(f"i{arrow.bit_width // 8}")


def _first_non_null(steps: Steps, valid: Mask, part: Positions) -> int:
    """Return the step with the final value of a group, -1 for NULL."""
    assert steps.ops is not None
    value, known = -1, False
    for step, op in zip(part.tolist(), steps.ops[part].tolist(), strict=True):
        here = step if valid[step] else -1
        if op == SET:
            value = here
        elif op == ADD and not known and here >= 0:
            value, known = here, True
        elif op == ADD_OLDER and not known and value >= 0:
            known = True
        elif op == ADD_OLDER:
            value = here
    return value
