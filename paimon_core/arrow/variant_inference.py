"""Find a shape for VARIANTs by looking at some of them: the parts that most of them have, with their types.

The rules are Java's. A part has a type if all of its values have it; whole numbers and DECIMALs have a common one.
A field needs a share of the values, and the number of columns is limited. VARIANT nulls do not count.
Unlike Java's, dates, times and bytes get no columns, because Paimon 2.0 cannot write or read them.

`_seen` takes a level of the values at a time (`variant_places`), and groups the fields of all objects by their keys.
Source: Java's `InferVariantShreddingSchema`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_values, stored_bytes
from paimon_core.arrow.shredded_variants import key_texts
from paimon_core.dataclass import dataclass
from paimon_core.spec.encodings import variant, variant_places
from paimon_core.spec.encodings.variant_places import ARRAY, NULL, OBJECT, ValuePlaces
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    STRING,
    VARIANT,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    RowType,
)

Numbers = NDArray[np.int64]
_POWERS = 10 ** np.arange(19, dtype=np.uint64)
_LONG_DIGITS, _MOST_DIGITS = 18, 38


@dataclass(frozen=True, slots=True)
class ShapeLimits:
    """Limits of inferred shapes: the most columns of all shapes together, the most levels, and the share of the values
    that must have a field to give it a column.
    """

    width: int = 300
    depth: int = 50
    share: float = 0.1


def inferred_shapes(columns: Sequence[pa.StructArray], limits: ShapeLimits) -> list[DataType]:
    """Return a shape for each column of VARIANTs; VARIANT if their parts get no columns."""
    left, shapes = limits.width, list[DataType]()
    for column in columns:
        shape, left = _limited(_of_column(column, limits), left)
        shapes.append(shape)
    return shapes


def _of_column(column: pa.StructArray, limits: ShapeLimits) -> DataType:
    known = column.filter(column.is_valid())
    if not len(known):
        return VARIANT
    try:
        encoded = known.field("metadata").dictionary_encode()
        at = ValuePlaces.of(variant.Values(*stored_bytes(known.field("value"))))
        owner = fixed_values(encoded.indices, np.int32).astype(np.int64)
        keys = _Keys.of(encoded.dictionary, math.ceil(len(known) * limits.share))
        return keys.seen(at, owner, limits.depth) or VARIANT
    except ValueError:  # damaged: it stays whole
        return VARIANT


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of all metadata as numbers of `texts`; the keys of each metadata begin at `first`. A field needs `least`
    values.
    """

    texts: pa.BinaryArray
    numbers: Numbers
    first: Numbers
    least: int

    @staticmethod
    def of(metadata: pa.BinaryArray, least: int) -> _Keys:
        counts, texts = key_texts(metadata)
        encoded = texts.dictionary_encode()
        numbers = fixed_values(encoded.indices, np.int32).astype(np.int64)
        return _Keys(encoded.dictionary, numbers, np.concatenate([[0], np.cumsum(counts)]), max(least, 1))

    def seen(self, at: ValuePlaces, owner: Numbers, depth: int) -> DataType | None:
        """Return the type that all values have. Return VARIANT if they have different types, None if all are VARIANT
        nulls.
        """
        known = at.types != NULL
        at, owner = at.chosen(known), owner[known]
        if not len(at):
            return None
        kinds, types = at.kinds, at.types
        if (kinds == OBJECT).all():
            return self._object(at, owner, depth)
        if (kinds == ARRAY).all():
            return self._array(at, owner, depth)
        if variant_places.texts(at)[2].all():
            return STRING
        for kind, found in ((variant.DOUBLE, DOUBLE), (variant.FLOAT, FLOAT)):
            if (types == kind).all():
                return found
        if np.isin(types, (variant.TRUE, variant.FALSE)).all():
            return BOOLEAN
        return _number(at)

    def _object(self, at: ValuePlaces, owner: Numbers, depth: int) -> DataType:
        if depth <= 0:
            return VARIANT
        members = variant_places.objects(at)
        of_field = np.repeat(owner, members.counts)
        key = self.first[of_field] + members.ids
        if (key >= self.first[of_field + 1]).any():
            raise ValueError("a VARIANT has a key that its metadata does not list")
        numbers = self.numbers[key]
        order, counts = np.argsort(numbers, kind="stable"), np.bincount(numbers, minlength=len(self.texts))
        ends, fields = np.cumsum(counts), list[DataField]()
        for number in np.flatnonzero(counts >= self.least):
            chosen = order[ends[number] - counts[number] : ends[number]]
            part = self.seen(members.places.chosen(chosen), of_field[chosen], depth - 1) or VARIANT
            fields.append(DataField(id=0, name=self.texts[int(number)].as_py().decode(), type=part))
        return RowType(fields=tuple(sorted(fields, key=lambda f: f.name.encode("utf-16-be")))) if fields else VARIANT

    def _array(self, at: ValuePlaces, owner: Numbers, depth: int) -> DataType:
        if depth <= 0:
            return VARIANT
        members = variant_places.arrays(at)
        known = members.places.types != NULL
        array = np.repeat(np.arange(len(at)), members.counts)
        # Java treats an array without values as an array of VARIANTs
        if (np.bincount(array, known, len(at)) == 0).any():
            return CollectionType(Kind.ARRAY, element=VARIANT)
        element = self.seen(members.places, np.repeat(owner, members.counts), depth - 1) or VARIANT
        return CollectionType(Kind.ARRAY, element=element)


def _number(at: ValuePlaces) -> DataType:
    """Return the narrowest type of whole numbers and DECIMALs, VARIANT if there are other values or none fits."""
    numbers, scales, narrow = variant_places.exact_numbers(at)
    wide, wide_scales, is_wide = variant_places.wide_decimals(at)
    is_wide &= ~narrow
    if not (narrow | is_wide).all():
        return VARIANT
    numbers, scales = numbers[narrow], scales[narrow]
    size = np.where(numbers < 0, -(numbers + 1), numbers).astype(np.uint64) + (numbers < 0)
    digits = np.maximum(np.searchsorted(_POWERS, size, side="right"), 1)
    zeros = sum(((size % p == 0) for p in _POWERS[1:]), np.zeros(len(size), dtype=np.int64))
    if is_wide.any():
        halves = pa.py_buffer(np.ascontiguousarray(wide[is_wide]))
        texts = pa.Array.from_buffers(pa.decimal128(38, 0), int(is_wide.sum()), [None, halves]).cast(pa.string())
        texts = pc.utf8_ltrim(texts, "-")
        lengths, kept = (fixed_values(pc.utf8_length(t), np.int32) for t in (texts, pc.utf8_rtrim(texts, "0")))
        digits, zeros = np.concatenate([digits, lengths]), np.concatenate([zeros, lengths - kept])
        scales = np.concatenate([scales, wide_scales[is_wide]])
    zeros = np.minimum(zeros, scales)
    scale = int((scales - zeros).max())
    before = int(np.maximum(digits - scales, 0).max())
    if before + scale > _MOST_DIGITS:
        return VARIANT
    if before + scale <= _LONG_DIGITS:
        return DecimalType(precision=max(before + scale, 1), scale=scale)
    return BIGINT if scale == 0 and narrow.all() else DecimalType(precision=before + scale, scale=scale)


def _limited(shape: DataType, left: int) -> tuple[DataType, int]:
    """Return a shape with at most `left` columns and with wide types, and the number of columns that are left."""
    left -= 1  # every part has a `value`
    if left <= 0 or shape.kind is Kind.VARIANT:
        return VARIANT, left
    match shape:
        case RowType(fields=fields):
            kept = list[DataField]()
            for field in fields:
                if left > 0:
                    part, left = _limited(field.type, left)
                    kept.append(replace(field, type=part))
            return (RowType(fields=tuple(kept)) if kept else VARIANT), left
        case CollectionType(element=element):
            part, left = _limited(element, left)
            return CollectionType(Kind.ARRAY, element=part), left
        case DecimalType(precision=precision, scale=scale):
            if precision <= _LONG_DIGITS and scale == 0:
                return BIGINT, left - 1
            return DecimalType(
                precision=_LONG_DIGITS if precision <= _LONG_DIGITS else _MOST_DIGITS, scale=scale
            ), left - 1
    return shape, left - 1
