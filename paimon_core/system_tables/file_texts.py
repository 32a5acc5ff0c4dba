"""The texts of keys and statistics in `$files`, computed together for all files with one layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.arrow.binary_row_fields import RowField
from paimon_core.arrow.binary_rows import scalar_value
from paimon_core.arrow.casts import cast_column
from paimon_core.arrow.columns import fixed_array, int64_array
from paimon_core.arrow.text_casts import iso_moments, to_text
from paimon_core.errors import InvalidDataError
from paimon_core.manifests.entries import EntryColumns
from paimon_core.scan.partitions import values_array
from paimon_core.scan.pruning.entries import StatsGroup
from paimon_core.spec.binary_row import decode_hints, decode_row, encode_row
from paimon_core.spec.casts import can_cast
from paimon_core.spec.kinds import BINARIES, DAYS_AND_TIMES, FLOATS, INTEGERS, TEXTS
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import DataField, DecimalType, Kind, TimeType
from paimon_core.spec.value_texts import internal_text
from paimon_core.store.data.column_stats import for_columns, names_then, value_stats
from paimon_core.system_tables.text import key_text, map_text

_INTEGERS = INTEGERS | DAYS_AND_TIMES
_NULL = "null"


FileTexts = tuple[str | None, str | None, str, str, str]  # keys (smallest, largest), NULL counts, values (the same)
_COLUMNS = 5


def single_texts(now: TableSchema, then: TableSchema, file: DataFileMeta, zone: tzinfo | None) -> FileTexts:
    """Return the texts of one file."""
    stats = for_columns(names_then(now, then, same_type=False), value_stats(then, file), file)
    by_id = {f.id: f for f in then.field_by_name.values()}
    shown = [(f.name, partial(texts_now, f, by_id.get(f.id, f), zone=zone), stats[f.name]) for f in now.fields]
    return (
        key_text(then.key_fields, file.min_key),
        key_text(then.key_fields, file.max_key),
        map_text({name: _NULL if s.null_count is None else str(s.null_count) for name, _, s in shown}),
        map_text({name: texts([s.minimum])[0] for name, texts, s in shown}),
        map_text({name: texts([s.maximum])[0] for name, texts, s in shown}),
    )


def have_whole_stats(manifest: EntryColumns, group: StatsGroup) -> NDArray[np.bool_]:
    """Return which files of a group have complete keys and statistics, as `column_texts` requires; shape (files,)."""
    keys, known = len(group.schema.key_fields), group.schema.field_by_name
    whole = np.full(len(group.rows), all(name in known for name in group.covered))
    for rows, arity in (
        *((b, keys) for b in manifest.key_bounds()),
        *((b, len(group.covered)) for b in manifest.bounds("_VALUE_STATS")),
    ):
        whole &= RowField(rows.take(int64_array(group.rows)), arity, 0).fits()
    return whole


def file_texts(
    now: TableSchema, manifest: EntryColumns, groups: Iterable[StatsGroup], zone: tzinfo | None
) -> list[pa.Array]:
    """Return the texts of the files in groups as columns, sorted by the rows of the files: see `FileTexts`.

    Bounds of a column with a changed type are local times in `zone`.
    """
    rows, parts = [np.zeros(0, dtype=np.int64)], [[pa.array([], pa.string())] * _COLUMNS]
    for group in groups:
        whole = have_whole_stats(manifest, group)
        rest = group.rows[~whole]
        one_by_one = [single_texts(now, group.schema, e.file, zone) for e in manifest.entries(rest)]
        rows.append(rest)
        parts.append([pa.array([texts[i] for texts in one_by_one], pa.string()) for i in range(_COLUMNS)])
        if whole.any():
            rows.append(group.rows[whole])
            parts.append(column_texts(now, manifest, replace(group, rows=group.rows[whole]), zone))
    order = int64_array(np.argsort(np.concatenate(rows)))
    return [pa.concat_arrays([p[i] for p in parts]).take(order) for i in range(_COLUMNS)]


def column_texts(now: TableSchema, manifest: EntryColumns, group: StatsGroup, zone: tzinfo | None) -> list[pa.Array]:
    """Return the texts of the files of a group, one column per text."""
    names, taken = names_then(now, group.schema, same_type=False), int64_array(group.rows)
    covered = tuple(group.schema.field_by_name[name] for name in group.covered)
    there = {n: group.covered.index(then) for n, then in names.items() if then in group.covered}
    missing = {n for n, then in names.items() if group.lacks(then)}
    rows = int64_array(manifest.row_counts[group.rows]).cast(pa.string())
    codes, counts = manifest.null_counts()
    nulls = {n: _counts(codes[group.rows], counts, index) for n, index in there.items()} | dict.fromkeys(missing, rows)
    maps = [_maps({n: nulls.get(n, _NULL) for n in names}, len(rows))]
    for bounds in manifest.bounds("_VALUE_STATS"):
        rows_of = partial(_bound_texts, bounds.take(taken), covered)
        texts = {n: rows_of(index, now.field_by_name[n], zone) for n, index in there.items() if n not in missing}
        maps.append(_maps({n: texts.get(n, _NULL) for n in names}, len(rows)))
    keys = (_keys(k.take(taken), group.schema.key_fields) for k in manifest.key_bounds())
    return [*keys, *maps]


def texts_now(now: DataField, then: DataField, values: Sequence[Any], zone: tzinfo | None) -> list[str]:
    """Return values of a column as texts of its current type, or of the old type if a value cannot be cast."""
    same = now.type.with_nullable(True) == then.type.with_nullable(True)
    if not same and can_cast(then.type, now.type) and any(v is not None for v in values):
        try:
            column, types = cast_column(values_array(then, values), then.type, now.type, zone), [now.type]
            stored = (encode_row(types, [scalar_value(v, now.type)]) for v in column)
            values, then = [decode_row(types, row)[0] for row in stored], now
        except (InvalidDataError, pa.ArrowInvalid):  # Arrow's: nanoseconds before 1677, for example
            pass
    return [_NULL if v is None else internal_text(then.type, v) for v in values]


def _bound_texts(
    rows: pa.Array, fields: Sequence[DataField], index: int, now: DataField, zone: tzinfo | None
) -> pa.Array:
    if now.type.with_nullable(True) == fields[index].type.with_nullable(True):
        return field_texts(rows, fields, index)
    types = [f.type for f in fields]
    values = [decode_hints(types, r)[index] for r in rows.to_pylist()]
    return pa.array(texts_now(now, fields[index], values, zone), pa.string())


def field_texts(rows: pa.Array, fields: Sequence[DataField], index: int) -> pa.Array:
    """Return a field of BinaryRows as texts; all rows must have these fields."""
    return pc.fill_null(_texts(RowField(rows, len(fields), index), fields), _NULL)


def _texts(found: RowField, fields: Sequence[DataField]) -> pa.Array:
    """Return a field as texts like `field_texts`, with NULL for NULL."""
    field = fields[found.index]
    data_type, kind = field.type, field.type.kind
    if kind in TEXTS:
        return found.texts().cast(pa.string())
    if kind in BINARIES:
        coded = found.texts().dictionary_encode()
        return pa.array([internal_text(data_type, b) for b in coded.dictionary.to_pylist()], pa.string()).take(
            coded.indices
        )
    if isinstance(data_type, DecimalType):
        return to_text(found.decimals(data_type), data_type)
    if kind in FLOATS:
        floats, valid = found.floats(data_type)
        return to_text(fixed_array(floats, pa.from_numpy_dtype(floats.dtype), valid), data_type)
    if kind in _INTEGERS:
        return int64_array(*found.numbers(data_type)).cast(pa.string())
    numbers, valid = found.numbers(data_type)
    if kind is Kind.BOOLEAN:
        return _where(valid, pc.if_else(fixed_array(numbers, pa.bool_()), "true", "false"))
    if isinstance(data_type, TimeType):
        return _where(valid, iso_moments(numbers, found.nanos(data_type)))
    types = [f.type for f in fields]
    values = (decode_hints(types, row)[found.index] for row in found.rows.to_pylist())
    return pa.array([None if v is None else internal_text(data_type, v) for v in values], pa.string())


def _where(valid: NDArray[np.bool_], texts: pa.Array) -> pa.Array:
    return pc.if_else(fixed_array(valid, pa.bool_()), texts, None)


def _keys(rows: pa.Array, fields: Sequence[DataField]) -> pa.Array:
    if not fields:
        return pa.nulls(len(rows), pa.string())
    texts = pc.binary_join_element_wise(*(field_texts(rows, fields, i) for i in range(len(fields))), ", ")
    return pc.binary_join_element_wise("[", texts, "]", "")


def _counts(codes: NDArray[np.int64], lists: Sequence[Sequence[int | None]], index: int) -> pa.Array:
    texts = [str(counts[index]) if index < len(counts) and counts[index] is not None else _NULL for counts in lists]
    return pa.array([*texts, _NULL], pa.string()).take(int64_array(codes % (len(lists) + 1)))


def _maps(columns: Mapping[str, pa.Array | str], count: int) -> pa.Array:
    """Return a text for each row: the columns by name."""
    parts: list[pa.Array | str] = []
    for name in sorted(columns):
        parts += ["{" if not parts else ", ", f"{name}=", columns[name]]
    joined = pc.binary_join_element_wise(*parts, "}", "")
    return pa.repeat(joined, count) if isinstance(joined, pa.Scalar) else joined
