"""Read shredded VARIANTs: parts of values have their own columns, and `value` has everything else.

    a VARIANT: metadata, value, typed_value; parts of it: value, typed_value
    typed_value: of one type | LIST of parts, for arrays | a group of parts by name, for objects

An object may have fields in both; other values are in one of the two; a field that is in neither is missing. Shredding
lets readers of one path read one column. For readers of the whole VARIANT, this module puts it together again.

The bytes of a value contain the bytes of its parts, so that values are built from the leaves upwards, a column for each
level of the type (`_value`): leaves become primitives (`_leaves`), elements are joined to the arrays of their rows
(`_arrays`), fields to objects (`_objects`). Joining is one `binary_join_element_wise` of heads and bodies; the heads
(counts, ids, offsets) are computed for all rows at once by `spec.encodings.variant`. No step loops over rows.

Fields of an object are in the order of their keys, and refer to a key by its number in the row's metadata. A column has
few distinct metadata, so they are dictionary-encoded: `_Keys` reads the keys of each distinct metadata once, ranks all
keys in the order of their bytes, and has the number of every shredded name in each metadata. The fields of `value` and
of the columns then become one list of (row, rank), sorted once (`lexsort`). A name that is missing in metadata, or that
occurs twice, makes the file corrupt.

There are three kinds of NULL: no VARIANT, a VARIANT with a missing part, and a VARIANT null, which is a value. `there`
marks on each level the existing values, because Arrow may have arbitrary values below a NULL.
Source: parquet-format, "Variant Shredding".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimon_core import compute as pc
from paimon_core.arrow.columns import byte_lengths, fixed_values, int64_array, stored_bytes, validity
from paimon_core.arrow.types import arrow_type
from paimon_core.dataclass import dataclass
from paimon_core.spec.encodings import variant
from paimon_core.spec.types import VARIANT

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_TYPED = "typed_value"
_MOST_CELLS = 2**20  # rows by names of parts that are put together at once, which bounds the memory
# Arrow types with the same bytes as the VARIANT's value.
_PLAIN = {
    pa.float32(): (variant.FLOAT, 4),
    pa.float64(): (variant.DOUBLE, 8),
    pa.date32(): (variant.DATE, 4),
    pa.time64("us"): (variant.TIME, 8),
    pa.binary(16): (variant.UUID, 16),
}


def is_shredded(found: pa.DataType) -> bool:
    """Return whether a column of a file is a VARIANT with separate columns for its parts."""
    return pa.types.is_struct(found) and {"metadata", _TYPED} <= {f.name for f in found}


def parts_to_read(found: pa.DataType, paths: Sequence[Sequence[str]], column: str) -> list[str] | None:
    """Return the columns of a file that have the parts at `paths`, None if the file has no parts of this column.

    A part that is not shredded is in the `value` around it. A VARIANT of other kinds has NULL at a path.
    """
    if not is_shredded(found):
        return None
    return sorted({f"{column}.metadata", *(p for path in paths for p in _place(found, path, column))})


def _place(part: pa.StructType, path: Sequence[str], column: str) -> Iterator[str]:
    if not path:
        yield from (f"{column}.{f.name}" for f in part)
        return
    index = part.get_field_index(_TYPED)
    typed = part.field(index).type if index >= 0 else None
    if typed is None or not pa.types.is_struct(typed) or (inner := typed.get_field_index(path[0])) < 0:
        yield f"{column}.value"
    else:
        yield from _place(typed.field(inner).type, path[1:], f"{column}.{_TYPED}.{path[0]}")


def with_variants(batch: pa.RecordBatch, parts: Collection[str]) -> pa.RecordBatch:
    """Return rows with VARIANTs of the parts that were read; VARIANT null without any."""
    for i, found in enumerate(batch.schema):
        if found.name in parts:
            whole = reassembled(batch.column(i), arrow_type(VARIANT), absent=variant.VARIANT_NULL)
            batch = batch.set_column(i, found.with_type(whole.type), whole)
    return batch


def reassembled(column: pa.StructArray, target: pa.StructType, absent: bytes | None = None) -> pa.StructArray:
    """Return the VARIANTs as value and metadata. `absent` is the value of VARIANTs without any of the parts that were
    read. Raises `ValueError`."""
    valid = validity(column)
    if not valid.any():
        return pa.nulls(len(column), target)
    if not valid.all():
        rows = int64_array(np.cumsum(valid) - 1, valid)
        return reassembled(column.filter(column.is_valid()), target, absent).take(rows)
    names = sorted(set(_names_of_part(column.type)))
    rows_at_once = max(_MOST_CELLS // max(len(names), 1), 1)
    if len(column) > rows_at_once:
        starts = range(0, len(column), rows_at_once)
        return pa.concat_arrays([reassembled(column.slice(i, rows_at_once), target, absent) for i in starts])
    metadata = column.field("metadata").dictionary_encode()
    keys = _Keys.of(metadata.dictionary, pa.array(names, pa.binary()))
    value = _value(column, valid, fixed_values(metadata.indices, np.int32).astype(np.int64), keys)
    if absent is not None:
        value = value.fill_null(absent)
    if value.null_count:
        raise ValueError("a VARIANT has neither a value nor a typed value")
    parts = {"value": value, "metadata": column.field("metadata")}
    return pa.StructArray.from_arrays([parts[f.name] for f in target], fields=list(target))


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys in each distinct metadata of a column, and the names of some parts.

    `ids[m, n]` is the id of name `n` in metadata `m`, or -1. `ranks` has the alphabetical ranks of all keys; the ranks
    of metadata `m` begin at `first[m]`. `name_ranks` has the ranks of the names."""

    names: dict[bytes, int]
    ids: Numbers
    first: Numbers
    ranks: Numbers
    name_ranks: Numbers

    @classmethod
    def of(cls, metadata: pa.BinaryArray, names: pa.BinaryArray) -> _Keys:
        counts, keys = key_texts(metadata)
        owner = np.repeat(np.arange(len(metadata)), counts)
        texts = pa.concat_arrays([keys, names]).dictionary_encode()
        ranks = np.empty(len(texts.dictionary), dtype=np.int64)
        ranks[pc.array_sort_indices(texts.dictionary).to_numpy()] = np.arange(len(ranks))
        ranks = ranks[texts.indices.to_numpy()]
        name_ranks = ranks[len(owner) :]
        first = np.concatenate([[0], np.cumsum(counts)])[:-1]
        column = np.full(len(texts.dictionary), -1)
        column[name_ranks] = np.arange(len(names))
        ids, of_name = np.full((len(metadata), len(names)), -1), column[ranks[: len(owner)]]
        ids[owner[of_name >= 0], of_name[of_name >= 0]] = (np.arange(len(owner)) - first[owner])[of_name >= 0]
        return cls({n: i for i, n in enumerate(names.to_pylist())}, ids, first, ranks[: len(owner)], name_ranks)


def key_texts(metadata: pa.BinaryArray) -> tuple[Numbers, pa.BinaryArray]:
    """Return the number of keys of each metadata, and the keys of one metadata after another. Raises `ValueError`."""
    keys = variant.read_keys(_values(metadata))
    data, _ = stored_bytes(metadata)
    ends = np.concatenate([[0], np.cumsum(keys.ends - keys.starts)])
    offsets = np.arange(ends[-1]) + np.repeat(keys.starts - ends[:-1], keys.ends - keys.starts)
    return keys.counts, variant_column(variant.Values(data[offsets], ends))


def _names(typed: pa.DataType) -> Iterator[bytes]:
    """Yield the names of all parts of objects."""
    if pa.types.is_list(typed):
        yield from _names_of_part(typed.value_type)
    elif pa.types.is_struct(typed):
        for field in typed:
            yield field.name.encode()
            yield from _names_of_part(field.type)


def _names_of_part(part: pa.DataType) -> Iterator[bytes]:
    if part.get_field_index(_TYPED) >= 0:
        yield from _names(part.field(_TYPED).type)


def _value(part: pa.StructArray, there: Mask, owner: Numbers, keys: _Keys) -> pa.BinaryArray:
    """Return the bytes of values from their parts, NULL for missing values. `owner` is the metadata of each value.

    `there` marks the values that exist in an existing parent: without a parent, Arrow may have arbitrary values.
    """
    value, typed = (part.field(n) if part.type.get_field_index(n) >= 0 else None for n in ("value", _TYPED))
    value = pa.nulls(len(part), pa.binary()) if value is None else pc.if_else(pa.array(there), value, None)
    if typed is None:
        return value
    there = there & validity(typed)
    if pa.types.is_struct(typed.type):
        whole = _objects(typed, value, there, owner, keys)
    elif pa.types.is_list(typed.type):
        whole = _arrays(typed, there, owner, keys)
    else:
        whole = _leaves(typed)
    return pc.if_else(pa.array(there), whole, value)


def _objects(typed: pa.StructArray, value: pa.BinaryArray, there: Mask, owner: Numbers, keys: _Keys) -> pa.BinaryArray:
    """Return objects made of the parts and of the fields in `value`. Rows without an object have arbitrary bytes."""
    rest_of = np.flatnonzero(there & validity(value))
    rest = _values(value.take(int64_array(rest_of)))
    fields = variant.read_objects(rest)
    sizes = np.zeros(len(typed), dtype=np.int64)
    sizes[rest_of] = fields.sizes
    found = np.repeat(rest_of, fields.counts)
    at = keys.first[owner[found]] + fields.ids
    if len(at) and (at >= np.append(keys.first, len(keys.ranks))[owner[found] + 1]).any():
        raise ValueError("a VARIANT has a key that its metadata does not list")
    rows, ids, ranks, offsets = [found], [fields.ids], [keys.ranks[at]], [fields.offsets]
    bodies = [_slices(rest, fields.bodies, fields.sizes, rest_of, len(typed))]
    for i, field in enumerate(typed.type):
        bodies.append(_value(typed.field(i), there, owner, keys))
        has = np.flatnonzero(validity(bodies[-1]))
        name = keys.names[field.name.encode()]
        rows.append(has)
        ids.append(keys.ids[owner[has], name])
        ranks.append(np.full(len(has), keys.name_ranks[name]))
        offsets.append(sizes[has])
        sizes = sizes + byte_lengths(bodies[-1])
    row, key, rank = np.concatenate(rows), np.concatenate(ids), np.concatenate(ranks)
    order = np.lexsort((rank, row))
    row, key, rank = row[order], key[order], rank[order]
    if (key < 0).any() or ((np.diff(row) == 0) & (np.diff(rank) == 0)).any():
        raise ValueError("a VARIANT has a field twice, or a field that its metadata does not list")
    counts = np.bincount(row, minlength=len(typed))
    heads = variant.heads(counts, np.concatenate(offsets)[order], sizes, key)
    return pc.binary_join_element_wise(variant_column(heads), *bodies, b"", null_handling="replace")


def _slices(values: variant.Values, starts: Numbers, sizes: Numbers, rows: Numbers, count: int) -> pa.BinaryArray:
    """Return parts of values as a column of `count` rows, with the parts in `rows`."""
    lengths = np.zeros(count, dtype=np.int64)
    lengths[rows] = sizes
    ends = np.concatenate([[0], np.cumsum(sizes)])
    offsets = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes)
    return variant_column(variant.Values(values.data[offsets], np.concatenate([[0], np.cumsum(lengths)])))


def _arrays(typed: pa.ListArray, there: Mask, owner: Numbers, keys: _Keys) -> pa.BinaryArray:
    """Return arrays made of the elements. Rows without an array have arbitrary bytes."""
    counts = fixed_values(typed.value_lengths(), np.int32).astype(np.int64)
    there = np.repeat(there, counts)
    elements = _value(typed.flatten(), there, np.repeat(owner, counts), keys)
    if not validity(elements)[there].all():
        raise ValueError("a VARIANT has an array with an element that has no value")
    values = _values(elements)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    ends = values.ends[bounds]
    offsets = values.starts - np.repeat(ends[:-1], counts)
    bodies = variant_column(variant.Values(values.data, ends))
    return pc.binary_join_element_wise(variant_column(variant.heads(counts, offsets, np.diff(ends))), bodies, b"")


def _leaves(typed: pa.Array) -> pa.BinaryArray:
    """Return VARIANT values of one type. Rows with NULL have arbitrary bytes."""
    found = typed.type
    if pa.types.is_integer(found):
        return variant_column(variant.integers(fixed_values(typed, f"i{found.bit_width // 8}").astype(np.int64)))
    if pa.types.is_boolean(found):
        types = np.where(fixed_values(typed, np.uint8), variant.TRUE, variant.FALSE).astype(np.uint8)
        return variant_column(
            variant.primitives(types, np.zeros((len(typed), 0), np.uint8), np.zeros(len(typed), np.int64))
        )
    if pa.types.is_decimal128(found):
        halves = fixed_values(typed, "(2,)<i8")
        return variant_column(variant.decimals(halves[:, 0], halves[:, 1], found.scale))
    if pa.types.is_string(found) or pa.types.is_binary(found):
        lengths = byte_lengths(typed)
        heads = variant.text_heads(lengths) if pa.types.is_string(found) else variant.binary_heads(lengths)
        texts = typed.cast(pa.binary()).fill_null(b"")
        return pc.binary_join_element_wise(variant_column(heads), texts, b"")
    if pa.types.is_timestamp(found):
        kind, width = variant.TIMESTAMP_NTZ if found.tz is None else variant.TIMESTAMP, 8
        typed = typed.cast(pa.timestamp("us", found.tz), safe=False)
    elif found in _PLAIN:
        kind, width = _PLAIN[found]
    else:
        raise pa.ArrowNotImplementedError(f"a VARIANT with values of type {found}")
    body = fixed_values(typed, f"({width},)u1")
    types, widths = np.full(len(typed), kind, np.uint8), np.full(len(typed), width, np.int64)
    return variant_column(variant.primitives(types, body, widths))


def _values(column: pa.BinaryArray) -> variant.Values:
    return variant.Values(*stored_bytes(column))


def variant_column(values: variant.Values) -> pa.BinaryArray:
    """Return values as a column."""
    offsets = pa.py_buffer(values.ends.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(values), [None, offsets, pa.py_buffer(values.data)])
