"""Elements of lists and maps as row numbers, so that merges handle numbers and never values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core.arrow.columns import int64_array, validity
from paimon_core.arrow.equality import value_codes
from paimon_core.dataclass import dataclass
from paimon_core.lsm.functions.steps import ADD, RETRACT, Mask, Steps, replaced, take_steps
from paimon_core.lsm.keys import flatten, fold, key_words, widths

Elements = list[int]
# from the kind and the elements of each step (None for NULL) to the elements of the group's result
Merge = Callable[[Iterator[tuple[int, Elements | None]]], Elements | None]


@dataclass(frozen=True, slots=True)
class Span:
    """The lists or maps of the merged steps: `column` has one per step, in order."""

    column: pa.Array

    @property
    def keys(self) -> pa.Array:
        """Return the keys of the maps."""
        return self.column.keys

    @property
    def values(self) -> pa.Array:
        """Return the elements of the lists, or the values of the maps."""
        return self.column.items if pa.types.is_map(self.column.type) else self.column.values


def merge_elements(column: pa.Array, steps: Steps, merge_of: Callable[[Span], Merge], nulls_matter: bool) -> pa.Array:
    """Merge the elements of each group of several steps, in a loop over those groups. The value of a single step stays.
    `nulls_matter`: NULL counts as a step.
    """
    return merge_groups(column, steps, nulls_matter, lambda span, groups: _elements(span, groups, merge_of(span)))


def merge_groups(
    column: pa.Array,
    steps: Steps,
    nulls_matter: bool,
    merged: Callable[[Span, Iterator[Iterator[tuple[int, Elements | None]]]], pa.Array],
) -> pa.Array:
    """Merge like `merge_elements`, with one function for all groups that builds the merged column itself."""
    known = steps.narrowed(np.ones(len(steps.rows), dtype=np.bool_))
    several = _several(steps, known if nulls_matter else known & steps.valid(column))
    single = steps.last(known & steps.valid(column))
    result = take_steps(column, steps, np.where(several, -1, single))
    if not several.any():
        return result
    chosen = known & np.repeat(several, steps.sizes)
    span = Span(column.take(int64_array(steps.rows[chosen])))
    return replaced(result, several, merged(span, _groups(span.column, steps, chosen)))


def element_codes(column: pa.Array) -> NDArray[np.int64]:
    """Return a number per row. Two numbers are equal exactly if the values are equal; NULL is equal to NULL."""
    if pa.types.is_struct(column.type):
        children = [element_codes(column.field(i)) for i in range(column.type.num_fields)]
        return fold([validity(column).astype(np.int64), *children])
    if pa.types.is_nested(column.type):
        return value_codes(column)
    key = key_words([column])
    return fold(flatten(key, widths([key])))


def _several(steps: Steps, known: Mask) -> Mask:
    """Return the groups with a result other than the value of a single step: groups with several steps, or with a step
    that retracts.
    """
    counts = steps.counts(known)
    result: Mask = counts > 1
    if steps.ops is not None:
        retracts = steps.any(known & steps.is_op(RETRACT))
        result |= retracts
    return result


def _groups(lists: pa.Array, steps: Steps, chosen: Mask) -> Iterator[Iterator[tuple[int, Elements | None]]]:
    offsets, valid = lists.offsets.to_numpy().tolist(), validity(lists).tolist()
    ops = (np.full(len(steps.rows), ADD) if steps.ops is None else steps.ops)[chosen].tolist()
    first = 0
    for _, part in steps.groups_of(chosen):
        positions = range(first, first + len(part))
        yield ((ops[i], list(range(offsets[i], offsets[i + 1])) if valid[i] else None) for i in positions)
        first += len(part)


def _elements(span: Span, groups: Iterator[Iterator[tuple[int, Elements | None]]], merge: Merge) -> pa.Array:
    return list_column(span, [merge(g) for g in groups])


def list_column(span: Span, lists: Sequence[Elements | None]) -> pa.Array:
    """Return a column of the span's type with the given elements."""
    chosen = int64_array(np.array([e for one in lists if one for e in one], dtype=np.int64))
    if pa.types.is_map(span.column.type):
        return _wrapped(span, lists, span.keys.take(chosen), span.values.take(chosen))
    return _wrapped(span, lists, span.values.take(chosen))


def struct_column(span: Span, rows: Sequence[Sequence[Sequence[int]] | None]) -> pa.Array:
    """Return a column of lists of structs. `rows` has the source element of each field, -1 for NULL."""
    structs = span.values
    chosen = np.array([row for one in rows if one for row in one], dtype=np.int64).reshape(-1, structs.type.num_fields)
    fields = [_take(structs.field(i), chosen[:, i]) for i in range(structs.type.num_fields)]
    values = pa.StructArray.from_arrays(fields, fields=list(structs.type))
    return _wrapped(span, rows, values)


def _take(column: pa.Array, chosen: NDArray[np.int64]) -> pa.Array:
    return column.take(int64_array(np.maximum(chosen, 0), chosen >= 0))


def _wrapped(span: Span, lists: Sequence[Sequence[Any] | None], *children: pa.Array) -> pa.Array:
    sizes = np.array([len(one) if one else 0 for one in lists], dtype=np.int64)
    offsets = pa.array(np.append(0, np.cumsum(sizes)).tolist(), pa.int32())
    mask = pa.array([one is None for one in lists], pa.bool_()) if None in lists else None
    maker = pa.MapArray if pa.types.is_map(span.column.type) else pa.ListArray
    return maker.from_arrays(offsets, *children, type=span.column.type, mask=mask)
