"""What `$files` prints of keys and statistics, of all files at once where they are laid out alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimon_core.formats.columns import int64_array
from paimon_core.formats.entry_columns import EntryColumns
from paimon_core.formats.row_fields import RowField
from paimon_core.scan.column_stats import for_columns, names_then, value_stats
from paimon_core.scan.entry_pruning import StatsGroup
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import BIGINT, DataField, Kind
from paimon_core.system_tables.text import key_text, map_text, value_text

_NUMBERS = frozenset((Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DATE, Kind.TIME))
_TEXTS = frozenset((Kind.CHAR, Kind.VARCHAR))
_NULL = "null"


FileTexts = tuple[str | None, str | None, str, str, str]  # least and largest key, NULL counts, least, largest values


def single_texts(now: TableSchema, then: TableSchema, file: DataFileMeta) -> FileTexts:
    """The texts of one file. Raises `CorruptFileError` where its statistics do not decode."""
    stats = for_columns(names_then(now, then, same_type=False), value_stats(then, file), file)
    by_id = {f.id: f for f in then.field_by_name.values()}
    shown = [(f, by_id.get(f.id, f), stats[f.name]) for f in now.fields]
    return (
        key_text(then.key_fields, file.min_key),
        key_text(then.key_fields, file.max_key),
        map_text({f.name: _NULL if s.null_count is None else str(s.null_count) for f, _, s in shown}),
        map_text({f.name: value_text(old, s.minimum) for f, old, s in shown}),
        map_text({f.name: value_text(old, s.maximum) for f, old, s in shown}),
    )


def told_by_columns(manifest: EntryColumns, group: StatsGroup) -> NDArray[np.bool_]:
    """For which files of a group `column_texts` tells: those whose keys and statistics are whole; shape (files,)."""
    keys, known = len(group.schema.key_fields), group.schema.field_by_name
    told = np.full(len(group.rows), all(name in known for name in group.covered))
    for rows, arity in (
        *((b, keys) for b in manifest.key_bounds()),
        *((b, len(group.covered)) for b in manifest.bounds("_VALUE_STATS")),
    ):
        told &= RowField(rows.take(int64_array(group.rows)), arity, 0).fits()
    return told


def column_texts(now: TableSchema, manifest: EntryColumns, group: StatsGroup) -> Iterator[tuple[int, FileTexts]]:
    """The texts of the files of a group, by row."""
    if not len(group.rows):
        return
    names, taken = names_then(now, group.schema, same_type=False), int64_array(group.rows)
    covered = tuple(group.schema.field_by_name[name] for name in group.covered)
    there = {n: group.covered.index(then) for n, then in names.items() if then in group.covered}
    absent = {n for n, then in names.items() if group.lacks(then)}
    rows = int64_array(manifest.row_counts[group.rows]).cast(pa.string())
    codes, counts = manifest.null_counts()
    nulls = {n: _counts(codes[group.rows], counts, place) for n, place in there.items()} | dict.fromkeys(absent, rows)
    maps = [_maps({n: nulls.get(n, _NULL) for n in names}, len(rows))]
    for bounds in manifest.bounds("_VALUE_STATS"):
        texts = {n: field_texts(bounds.take(taken), covered, place) for n, place in there.items() if n not in absent}
        maps.append(_maps({n: texts.get(n, _NULL) for n in names}, len(rows)))
    keys = (_keys(k.take(taken), group.schema.key_fields) for k in manifest.key_bounds())
    yield from zip(group.rows.tolist(), zip(*keys, *maps, strict=True), strict=True)


def field_texts(rows: pa.Array, fields: Sequence[DataField], place: int) -> pa.Array:
    """A field of BinaryRows, all of which are of these fields, as texts."""
    field, found = fields[place], RowField(rows, len(fields), place)
    if field.type.kind in _TEXTS:
        return pc.fill_null(found.texts().cast(pa.string()), _NULL)
    if field.type.kind in _NUMBERS:
        return pc.fill_null(int64_array(*found.numbers(field.type)).cast(pa.string()), _NULL)
    if field.type.kind is Kind.DOUBLE:
        numbers, valid = found.numbers(BIGINT)
        texts = [value_text(field, v) for v in numbers.view(np.float64).tolist()]
        return pc.if_else(pa.array(valid), pa.array(texts, pa.string()), _NULL)
    types = [f.type for f in fields]
    return pa.array([value_text(field, decode_row(types, row)[place]) for row in rows.to_pylist()], pa.string())


def _keys(rows: pa.Array, fields: Sequence[DataField]) -> list[str | None]:
    if not fields:
        return [None] * len(rows)
    texts = pc.binary_join_element_wise(*(field_texts(rows, fields, i) for i in range(len(fields))), ", ")
    found: list[str | None] = pc.binary_join_element_wise("[", texts, "]", "").to_pylist()
    return found


def _counts(codes: NDArray[np.int64], lists: Sequence[Sequence[int | None]], place: int) -> pa.Array:
    texts = [str(counts[place]) if place < len(counts) and counts[place] is not None else _NULL for counts in lists]
    return pa.array([*texts, _NULL], pa.string()).take(int64_array(codes % (len(lists) + 1)))


def _maps(columns: Mapping[str, pa.Array | str], count: int) -> list[str]:
    """A text for each row: the columns by name."""
    parts: list[pa.Array | str] = []
    for name in sorted(columns):
        parts += ["{" if not parts else ", ", f"{name}=", columns[name]]
    joined = pc.binary_join_element_wise(*parts, "}", "")
    found: list[str] = [joined.as_py()] * count if isinstance(joined, pa.Scalar) else joined.to_pylist()
    return found
