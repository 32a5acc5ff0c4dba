"""Shred VARIANTs: give parts of values their own columns. `shredded_variants` puts such values together again.

A shape names the parts with columns: a ROW for objects, an ARRAY for arrays, a type for a value, VARIANT for none. A
part of another type than its shape, a text that is not UTF-8, and a field that the shape does not name, stay in
`value`. As in Java, whole numbers and DECIMALs are converted to each other if no digit is lost.

Like reassembly, shredding takes a level of the shape at a time, for all rows at once. `_part` gets the places of the
values of a level (`variant_places`), and the row of each; it returns a column of `value` and a column of `typed_value`.
The fields of all objects are one list, from which each field of the shape selects its own by numbers of names.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.columns import fixed_array, fixed_values, int64_array, stored_bytes, validity
from paimon_core.arrow.shredded_variants import key_texts, variant_column
from paimon_core.arrow.types import arrow_field, arrow_type
from paimon_core.dataclass import dataclass
from paimon_core.spec.encodings import variant, variant_places
from paimon_core.spec.encodings.variant_places import ARRAY, OBJECT, Members, ValuePlaces
from paimon_core.spec.types import (
    BYTES,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    RowType,
    nested_fields,
)

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_MOST = 2**63 - 1
_WHOLE = {
    Kind.TINYINT: (np.int8, 2**7 - 1),
    Kind.SMALLINT: (np.int16, 2**15 - 1),
    Kind.INT: (np.int32, 2**31 - 1),
    Kind.BIGINT: (np.int64, _MOST),
}
_FLOATS = {Kind.FLOAT: (variant.FLOAT, "<f4"), Kind.DOUBLE: (variant.DOUBLE, "<f8")}
# Bytes of UTF-8; RE2 treats each byte as a character. Source: Unicode, "Well-Formed UTF-8 Byte Sequences".
_UTF8 = (
    r"\A(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    r"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*\z"
)
# The types that Paimon 2.0 shreds and reads.
SHREDDED_KINDS = frozenset({*_WHOLE, *_FLOATS, Kind.BOOLEAN, Kind.VARCHAR, Kind.DECIMAL})


def physical_type(shape: DataType) -> pa.StructType:
    """Return the type of a file's column with VARIANTs of this shape. Java's reader needs the field ids."""
    fields = (
        DataField(id=0, name="metadata", type=BYTES.with_nullable(False)),
        *_part(shape, first=1, in_object=False),
    )
    return arrow_field(DataField(id=0, name="variant", type=RowType(fields=fields))).type


def shredded(column: pa.StructArray, shape: DataType) -> pa.StructArray:
    """Return VARIANTs (value, metadata) with parts in columns. Raises `ValueError` for damaged values."""
    valid = validity(column)
    if not valid.all():
        rows = int64_array(np.cumsum(valid) - 1, valid)
        return shredded(column.filter(column.is_valid()), shape).take(rows)
    metadata, values, physical = column.field("metadata"), column.field("value"), physical_type(shape)
    parts = _shredded(values, metadata, shape, physical)
    return pa.StructArray.from_arrays([metadata, *parts], fields=list(physical))


def _shredded(
    values: pa.BinaryArray, metadata: pa.BinaryArray, shape: DataType, physical: pa.StructType
) -> list[pa.Array]:
    encoded = metadata.dictionary_encode()
    names = sorted({f.name for f in nested_fields(shape)})
    owner = fixed_values(encoded.indices, np.int32).astype(np.int64)
    at = ValuePlaces.of(variant.Values(*stored_bytes(values)))
    parts = _Names.of(encoded.dictionary, names).part(at, np.arange(len(at)), len(at), owner, (shape, physical))
    for part in parts:
        part.validate(full=True)
    return parts


def _part(shape: DataType, *, first: int, in_object: bool) -> tuple[DataField, ...]:
    """Return the fields of a part, numbered from `first`."""
    if shape.kind is Kind.VARIANT:
        return (DataField(id=first, name="value", type=BYTES.with_nullable(in_object)),)
    typed = shape
    if isinstance(shape, RowType):
        parts = ((f.name, RowType(nullable=False, fields=_part(f.type, first=0, in_object=True))) for f in shape.fields)
        typed = RowType(fields=tuple(DataField(id=i, name=name, type=part) for i, (name, part) in enumerate(parts)))
    elif isinstance(shape, CollectionType):
        element = RowType(fields=_part(shape.element, first=0, in_object=False))
        typed = CollectionType(Kind.ARRAY, element=element)
    value = DataField(id=first, name="value", type=BYTES)
    return (value, DataField(id=first + 1, name="typed_value", type=typed))


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a shape. `numbers` has, for the keys of one metadata after another, the number of the key's name, -1
    for other keys; the keys of a metadata begin at `first`."""

    of_name: dict[str, int]
    numbers: Numbers
    first: Numbers

    @staticmethod
    def of(metadata: pa.BinaryArray, names: list[str]) -> _Names:
        counts, texts = key_texts(metadata)
        found = pc.index_in(texts, pa.array([n.encode() for n in names], pa.binary()))
        first = np.concatenate([[0], np.cumsum(counts)])
        numbers = np.where(validity(found), fixed_values(found, np.int32), -1).astype(np.int64)
        return _Names({n: i for i, n in enumerate(names)}, numbers, first)

    def part(
        self, at: ValuePlaces, rows: Numbers, count: int, owner: Numbers, form: tuple[DataType, pa.StructType]
    ) -> list[pa.Array]:
        """Return the columns of a part with `count` rows. `rows` are the rows that have a value, `at` are the places of
        these values. `owner` is the metadata of each value, `form` the shape and the type of the part's column."""
        shape, arrow = form
        match shape:
            case RowType():
                return self._objects(at, rows, count, owner, (shape, arrow.field("typed_value").type))
            case CollectionType():
                return self._arrays(at, rows, count, owner, (shape, arrow.field("typed_value").type))
            case _ if shape.kind is Kind.VARIANT:
                return [_bytes_of(at, rows, count)]
        typed, fits = _typed(at, rows, count, shape)
        return [_bytes_of(at.chosen(~fits), rows[~fits], count), typed]

    def _objects(
        self, at: ValuePlaces, rows: Numbers, count: int, owner: Numbers, form: tuple[RowType, pa.StructType]
    ) -> list[pa.Array]:
        shape, arrow = form
        parents = np.flatnonzero(at.kinds == OBJECT)
        members = variant_places.objects(at.chosen(parents))
        parent = np.repeat(parents, members.counts)
        key = self.first[owner[parent]] + members.ids
        if (key >= self.first[owner[parent] + 1]).any():
            raise ValueError("a VARIANT has a key that its metadata does not list")
        name, named = self.numbers[key], np.zeros(len(self.of_name) + 1, dtype=np.bool_)  # the last one is for -1
        columns = []
        for field, part in zip(shape.fields, arrow, strict=True):
            number = self.of_name[field.name]
            named[number], chosen = True, name == number
            of_rows = rows[parent[chosen]]
            if (np.diff(of_rows) == 0).any():
                raise ValueError("a VARIANT has a field twice")
            of_field = (field.type, part.type)
            inner = self.part(members.places.chosen(chosen), of_rows, count, owner[parent[chosen]], of_field)
            columns.append(pa.StructArray.from_arrays(inner, fields=list(part.type)))
        is_object = np.zeros(count, dtype=np.bool_)
        is_object[rows[parents]] = True
        typed = pa.StructArray.from_arrays(columns, fields=list(arrow), mask=pa.array(~is_object))
        others = at.kinds != OBJECT
        value = _bytes_of(at.chosen(others), rows[others], count)
        return [pc.coalesce(value, _rest(members, rows[parent], ~named[name], count)), typed]

    def _arrays(
        self, at: ValuePlaces, rows: Numbers, count: int, owner: Numbers, form: tuple[CollectionType, pa.ListType]
    ) -> list[pa.Array]:
        shape, arrow = form
        is_array = at.kinds == ARRAY
        members = variant_places.arrays(at.chosen(is_array))
        owners, places = np.repeat(owner[is_array], members.counts), members.places
        inner = self.part(places, np.arange(len(places)), len(places), owners, (shape.element, arrow.value_type))
        counts, missing = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.bool_)
        counts[rows[is_array]], missing[rows[is_array]] = members.counts, False
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), pa.int32())
        values = pa.StructArray.from_arrays(inner, fields=list(arrow.value_type))
        typed = pa.ListArray.from_arrays(offsets, values, type=arrow, mask=pa.array(missing))
        return [_bytes_of(at.chosen(~is_array), rows[~is_array], count), typed]


def _rest(members: Members, rows: Numbers, is_rest: Mask, count: int) -> pa.BinaryArray:
    """Return objects of the fields without columns, NULL for rows without such fields."""
    at, ids, rows = members.places.chosen(is_rest), members.ids[is_rest], rows[is_rest]
    counts = np.bincount(rows, minlength=count)
    kept = counts > 0
    ends = np.concatenate([[0], np.cumsum(at.sizes)])
    bounds = ends[np.concatenate([[0], np.cumsum(counts[kept])])]
    offsets = ends[:-1] - np.repeat(bounds[:-1], counts[kept])
    heads = variant_column(variant.heads(counts[kept], offsets, np.diff(bounds), ids))
    bodies = variant_column(variant.Values(_gathered(at.data, at.starts, at.sizes), bounds))
    whole = pc.binary_join_element_wise(heads, bodies, b"")
    return whole.take(int64_array(np.cumsum(kept) - 1, kept))


def _bytes_of(at: ValuePlaces, rows: Numbers, count: int) -> pa.BinaryArray:
    """Return a column of `count` rows with the bytes of values in `rows`, NULL in the others."""
    return _slices(at.data, at.starts, at.sizes, rows, count, pa.binary())


def _slices(
    data: variant_places.Bytes, starts: Numbers, sizes: Numbers, rows: Numbers, count: int, arrow: pa.DataType
) -> pa.Array:
    lengths, valid = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    lengths[rows], valid[rows] = sizes, True
    ends = pa.py_buffer(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(arrow, count, [bits, ends, pa.py_buffer(_gathered(data, starts, sizes))])


def _gathered(data: variant_places.Bytes, starts: Numbers, sizes: Numbers) -> variant_places.Bytes:
    """Return slices of bytes, one after the other."""
    ends = np.cumsum(sizes)
    found: variant_places.Bytes = data[
        np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
    ]
    return found


def _are_utf8(data: variant_places.Bytes, starts: Numbers, sizes: Numbers) -> Mask:
    """Return a mask of the slices of bytes that are UTF-8."""
    count = len(starts)
    slices = _slices(data, starts, sizes, np.arange(count), count, pa.binary())
    try:
        slices.view(pa.string()).validate(full=True)
    except pa.ArrowInvalid:
        found: Mask = pc.match_substring_regex(slices, _UTF8).to_numpy(zero_copy_only=False)
        return found
    return np.ones(count, dtype=np.bool_)


def _typed(at: ValuePlaces, rows: Numbers, count: int, shape: DataType) -> tuple[pa.Array, Mask]:
    """Return a column of the values that fit the type of a shape exactly, and a mask of these values."""
    if shape.kind is Kind.VARCHAR:
        starts, sizes, fits = variant_places.texts(at)
        fits[fits] = _are_utf8(at.data, starts[fits], sizes[fits])
        return _slices(at.data, starts[fits], sizes[fits], rows[fits], count, pa.string()), fits
    if shape.kind is Kind.BOOLEAN:
        fits = np.isin(at.types, (variant.TRUE, variant.FALSE))
        return _fixed(at.types == variant.TRUE, fits, rows, count, pa.bool_()), fits
    if shape.kind in _FLOATS:
        kind, dtype = _FLOATS[shape.kind]
        body = np.ascontiguousarray(at.bytes_at(1, np.dtype(dtype).itemsize))
        fits = at.types == kind
        return _fixed(body.view(dtype).reshape(-1), fits, rows, count, arrow_type(shape)), fits
    if isinstance(shape, DecimalType):
        return _decimals(at, rows, count, shape)
    whole, most = _WHOLE[shape.kind]
    numbers, fits = _rescaled(at, 0, most)
    fits &= numbers >= -most - 1
    return _fixed(numbers.astype(whole), fits, rows, count, arrow_type(shape)), fits


def _decimals(at: ValuePlaces, rows: Numbers, count: int, shape: DecimalType) -> tuple[pa.Array, Mask]:
    most = int(_POWERS[shape.precision]) - 1 if shape.precision < len(_POWERS) else _MOST
    numbers, fits = _rescaled(at, shape.scale, most)
    fits &= numbers >= -most
    halves = np.stack([numbers, numbers >> 63], axis=1)
    wide, scales, is_wide = variant_places.wide_decimals(at)
    bound = 10**shape.precision >> 64
    takes = ~fits & is_wide & (scales == shape.scale) & (wide[:, 1] > -bound) & (wide[:, 1] < bound)
    halves[takes] = wide[takes]
    fits |= takes
    found, valid = np.zeros((count, 2), dtype=np.int64), np.zeros(count, dtype=np.bool_)
    found[rows[fits]], valid[rows[fits]] = halves[fits], True
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(arrow_type(shape), count, [bits, pa.py_buffer(found)]), fits


def _rescaled(at: ValuePlaces, scale: int, most: int) -> tuple[Numbers, Mask]:
    """Return exact numbers at a scale, and a mask of the numbers that lose no digit by it and do not exceed `most`."""
    numbers, scales, fits = variant_places.exact_numbers(at)
    steps = scale - scales
    factor = _POWERS[np.minimum(np.abs(steps), len(_POWERS) - 1)]
    limit, near = _MOST // factor, np.abs(steps) < len(_POWERS)
    grows = (steps >= 0) & near & (((numbers >= -limit) & (numbers <= limit)) | (steps == 0))
    shrinks = (steps < 0) & near & (numbers % factor == 0)
    found = np.where(grows, numbers * np.where(grows, factor, 1), numbers // factor)
    return found, fits & (grows | shrinks) & (found <= most)


def _fixed(values: NDArray[np.generic], fits: Mask, rows: Numbers, count: int, arrow: pa.DataType) -> pa.Array:
    found, valid = np.zeros(count, dtype=values.dtype), np.zeros(count, dtype=np.bool_)
    found[rows[fits]], valid[rows[fits]] = values[fits], True
    return fixed_array(found, arrow, valid)
