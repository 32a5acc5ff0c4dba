"""Rules for MAPs with a column per key in files: `fields.X.map.storage-layout` = shared-shredding."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_core.arrow.map_shredding import SHARED
from paimon_core.errors import InvalidOptionError
from paimon_core.formats.shared_maps import LAYOUT_SUFFIX, layout, most_columns, placement
from paimon_core.options import (
    BUCKET,
    CHANGELOG_FILE_COMPRESSION,
    CHANGELOG_FILE_FORMAT,
    FILE_COMPRESSION,
    FILE_COMPRESSION_PER_LEVEL,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    TableOptions,
)
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import Kind, MapType, VectorType, nested_types

_PREFIX, _POSTPONED = "fields.", -2
_FORMATS, _CODECS = ("parquet", "orc"), ("none", "lz4", "zstd")


def check_map_layouts(schema: TableSchema, options: TableOptions) -> None:
    """Raise `InvalidOptionError` if the options ask for a layout that no engine could write."""
    for key in sorted(options.values):
        if key.startswith(_PREFIX) and key.endswith(LAYOUT_SUFFIX):
            name = key[len(_PREFIX) : -len(LAYOUT_SUFFIX)]
            for why in _reasons(schema, options, name):
                raise InvalidOptionError(f"Option {key!r} cannot be {options.values[key]!r}: {why}.")


def _reasons(schema: TableSchema, options: TableOptions, name: str) -> Iterator[str]:
    field = schema.field_by_name.get(name)
    if field is None or not isinstance(field.type, MapType):
        yield f"column {name!r} is not a MAP of the table; name a MAP column"
        return
    if options[layout(name)] != SHARED:
        return
    if field.type.key.kind is not Kind.VARCHAR:
        yield f"the keys of column {name!r} are not STRING; use the layout 'default'"
    if options[most_columns(name)] < 1:
        yield f"'{most_columns(name).key}' is {options[most_columns(name)]}; set it to 1 or more"
    _ = options[placement(name)]  # raises for an unknown policy
    if options[BUCKET] == _POSTPONED:
        yield f"tables with '{BUCKET.key}' = '{_POSTPONED}' cannot have it; set another number of buckets"
    formats = (options[FILE_FORMAT], *options[FILE_FORMAT_PER_LEVEL].values(), options[CHANGELOG_FILE_FORMAT])
    if other := [f for f in formats if f and f.lower() not in _FORMATS]:
        yield f"files in {other[0]!r} cannot have it; use {' or '.join(map(repr, _FORMATS))}"
    codecs = (
        options[FILE_COMPRESSION],
        *options[FILE_COMPRESSION_PER_LEVEL].values(),
        options[CHANGELOG_FILE_COMPRESSION],
    )
    if other := [c for c in codecs if c and c.lower() not in _CODECS]:
        yield f"files compressed by {other[0]!r} cannot have it; use {', '.join(map(repr, _CODECS))}"
    for column in schema.fields:
        if any(t.kind in (Kind.VARIANT, Kind.MULTISET) for t in nested_types(column.type)):
            yield f"tables with a VARIANT or MULTISET, such as {column.name!r}, cannot have it; remove the option"
    if any(t.kind is Kind.BLOB or isinstance(t, VectorType) for t in nested_types(field.type.value)):
        yield f"the values of column {name!r} have a BLOB or VECTOR; use the layout 'default'"
