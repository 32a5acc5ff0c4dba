"""The parts of VARIANTs that a Parquet file has as columns: by the table's option, or by the first rows.

`variant.shreddingSchema` names parts of columns, as the type of a schema file. With `variant.inferShreddingSchema`,
each file gets the parts that most of its first rows have, of VARIANTs in ROWs, too. Source: Java's Paimon 2.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_core.arrow.columns import int64_array, validity
from paimon_core.arrow.variant_inference import ShapeLimits, inferred_shapes
from paimon_core.arrow.variant_shredding import SHREDDED_KINDS, physical_type, shredded
from paimon_core.dataclass import dataclass
from paimon_core.errors import InvalidDataError, InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_core.formats.parquet.levels import MOST_LEVELS
from paimon_core.options import (
    VARIANT_INFERENCE,
    VARIANT_INFERENCE_DEPTH,
    VARIANT_INFERENCE_ROWS,
    VARIANT_INFERENCE_SHARE,
    VARIANT_INFERENCE_WIDTH,
    VARIANT_SHREDDING_SCHEMA,
    TableOptions,
)
from paimon_core.spec.types import VARIANT, CollectionType, DataField, DataType, Kind, RowType, parse_type

_Path = tuple[str, ...]
_OF_OBJECT, _OF_ARRAY = 2, 3  # levels of a file for a level of a shape


@dataclass(frozen=True, slots=True)
class VariantColumns:
    """The shapes of the VARIANTs of a file, by their paths: a column, and fields of ROWs below it."""

    shapes: Mapping[_Path, DataType]

    def schema(self, logical: pa.Schema) -> pa.Schema:
        """Return the columns of the file."""
        return pa.schema([self._field(f, (f.name,)) for f in logical]) if self.shapes else logical

    def physical(self, rows: pa.Table) -> pa.Table:
        """Return the rows as the file has them."""
        for i, field in enumerate(rows.schema):
            found = self._field(field, (field.name,))
            if found is not field:
                chunks = [self._column(c, found, (field.name,)) for c in rows.column(i).chunks]
                rows = rows.set_column(i, found, pa.chunked_array(chunks, found.type))
        return rows

    def parts(self, physical: pa.Schema) -> pa.Schema:
        """Return the columns that have shredded VARIANTs."""
        return pa.schema([f for f in physical if self._below((f.name,))])

    def _below(self, path: _Path) -> bool:
        return any(known[: len(path)] == path for known in self.shapes)

    def _field(self, field: pa.Field, path: _Path) -> pa.Field:
        if not self._below(path):
            return field
        if path in self.shapes:
            return field.with_type(physical_type(self.shapes[path]))
        return field.with_type(pa.struct([self._field(f, (*path, f.name)) for f in field.type]))

    def _column(self, column: pa.StructArray, field: pa.Field, path: _Path) -> pa.Array:
        if path in self.shapes:
            try:
                return shredded(column, self.shapes[path])
            except ValueError as e:
                raise InvalidDataError(
                    f"Column {'.'.join(path)!r} has a VARIANT that cannot be stored in parts: {e}. Write the value "
                    f"again, or unset '{VARIANT_SHREDDING_SCHEMA.key}' and '{VARIANT_INFERENCE.key}'."
                ) from e
        # Arrow may have arbitrary values below a NULL
        rows = int64_array(np.arange(len(column)), validity(column)) if column.null_count else None
        columns = list[pa.Array]()
        for i, wanted in enumerate(field.type):
            inner = column.field(i)
            if self._below((*path, wanted.name)):
                inner = self._column(inner if rows is None else inner.take(rows), wanted, (*path, wanted.name))
            columns.append(inner)
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(columns, fields=list(field.type), mask=mask)


def variant_columns(fields: Sequence[DataField], options: TableOptions, first_rows: pa.Table) -> VariantColumns:
    """Return the shapes for a file with these first rows. Raises `InvalidOptionError`."""
    paths = list(_variants(fields))
    if not paths:
        return VariantColumns({})
    if (given := given_shapes(options)) is not None:
        return VariantColumns({(n,): shape for n, shape in given.items() if (n,) in paths})
    if not options[VARIANT_INFERENCE]:
        return VariantColumns({})
    sample = first_rows.slice(0, max(options[VARIANT_INFERENCE_ROWS], 0)).combine_chunks()
    depth = min(options[VARIANT_INFERENCE_DEPTH], MOST_LEVELS // _OF_OBJECT)
    limits = ShapeLimits(options[VARIANT_INFERENCE_WIDTH], depth, options[VARIANT_INFERENCE_SHARE])
    inferred = inferred_shapes([_at(sample, path) for path in paths], limits)
    shapes = {p: _within(s, MOST_LEVELS - len(p)) for p, s in zip(paths, inferred, strict=True)}
    return VariantColumns({p: s for p, s in shapes.items() if s.kind is not Kind.VARIANT})


def given_shapes(options: TableOptions) -> dict[str, DataType] | None:
    """Return the shapes of columns that the table's option names, or None if the option is not set. Raises
    `InvalidOptionError`.
    """
    text = options[VARIANT_SHREDDING_SCHEMA]
    if not text.strip():
        return None
    try:
        found = parse_type(_with_ids(json.loads(text)))
        parts = {f.name: _supported(f.type) for f in found.fields} if isinstance(found, RowType) else None
    except (ValueError, TypeError, RecursionError, PaimonError) as e:
        raise _invalid(text, str(e)) from e
    if parts is None:
        raise _invalid(text, "it is not a ROW with a field for each VARIANT column")
    for name, shape in parts.items():
        if _within(shape, MOST_LEVELS - 1) != shape:
            raise _invalid(text, f"column {name!r} would have more than {MOST_LEVELS} levels in files")
    return parts


def _within(shape: DataType, levels: int) -> DataType:
    """Return a shape with a limited number of levels in a file: deeper parts become VARIANT."""
    if levels < 1:
        return VARIANT
    match shape:
        case RowType(fields=fields) if levels > _OF_OBJECT:
            return RowType(fields=tuple(replace(f, type=_within(f.type, levels - _OF_OBJECT)) for f in fields))
        case CollectionType(element=element) if levels > _OF_ARRAY:
            return CollectionType(Kind.ARRAY, element=_within(element, levels - _OF_ARRAY))
        case RowType() | CollectionType():
            return VARIANT
    return shape


def _invalid(text: str, why: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"Option '{VARIANT_SHREDDING_SCHEMA.key}' cannot be {text[:200]!r}: {why[:200]}. Write the parts of columns as "
        '{"type": "ROW", "fields": [{"name": "COLUMN", "type": {"type": "ROW", "fields": '
        '[{"name": "FIELD", "type": "BIGINT"}]}}]}.'
    )


def _with_ids(node: Any) -> Any:
    """Return JSON with an id for each field, as Java needs none here."""
    if isinstance(node, list):
        return [_with_ids(n) for n in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _with_ids(value) for key, value in node.items()}
    return {"id": 0, **inner} if "name" in node else inner


def _supported(shape: DataType) -> DataType:
    """Return a shape without the columns that Paimon 2.0 does not have."""
    match shape:
        case RowType(fields=fields) if fields:
            if len({f.name for f in fields}) < len(fields):
                raise InvalidSchemaError("a ROW has two fields of one name")
            return RowType(fields=tuple(DataField(id=0, name=f.name, type=_supported(f.type)) for f in fields))
        case CollectionType(kind=Kind.ARRAY, element=element):
            return CollectionType(Kind.ARRAY, element=_supported(element))
    return shape.with_nullable(True) if shape.kind in SHREDDED_KINDS else VARIANT


def _variants(fields: Sequence[DataField]) -> Iterator[_Path]:
    """Yield the paths of VARIANTs that are not in an ARRAY or MAP."""
    for field in fields:
        if field.type.kind is Kind.VARIANT:
            yield (field.name,)
        elif isinstance(field.type, RowType):
            yield from ((field.name, *path) for path in _variants(field.type.fields))


def _at(rows: pa.Table, path: _Path) -> pa.StructArray:
    """Return the VARIANTs at a path, NULL where a ROW around them is NULL."""
    column = rows.column(path[0])
    found = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    for name in path[1:]:
        rows_of = found.filter(found.is_valid())  # rows without a ROW do not count
        found = rows_of.field(name)
    return found
