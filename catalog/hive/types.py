"""The types of columns as Hive writes them, for readers of the metastore. Source: `HiveTypeUtils` of Paimon."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_core.spec.kinds import KindColumn
from paimon_core.spec.types import (
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    LengthType,
    MapType,
    RowType,
    nested_types,
)

_LONGEST = {Kind.CHAR: 255, Kind.VARCHAR: 65535}  # Hive has no longer ones
_NAMES: KindColumn[str] = KindColumn(
    {
        Kind.BOOLEAN: "boolean",
        Kind.TINYINT: "tinyint",
        Kind.SMALLINT: "smallint",
        Kind.INT: "int",
        Kind.BIGINT: "bigint",
        Kind.FLOAT: "float",
        Kind.DOUBLE: "double",
        Kind.BINARY: "binary",
        Kind.VARBINARY: "binary",
        Kind.BLOB: "binary",
        Kind.DATE: "date",
        Kind.TIME: "string",
        Kind.TIMESTAMP: "timestamp",
        Kind.VARIANT: "struct<value:binary,metadata:binary>",
    },
    others="DECIMAL CHAR VARCHAR TIMESTAMP_LTZ ARRAY MAP MULTISET ROW",
)


def hive_type(column: DataType, *, has_time_zones: bool) -> str:
    """Return the name of a type in Hive.

    `has_time_zones`: the metastore has timestamps with a time zone, as Hive 3 does. If Hive lacks a type, return a type
    that can represent its values.
    """
    kind = column.kind
    if kind is Kind.TIMESTAMP_LTZ:
        return "timestamp with local time zone" if has_time_zones else "timestamp"
    if isinstance(column, DecimalType):
        return f"decimal({column.precision},{column.scale})"
    if kind in _LONGEST and isinstance(column, LengthType):
        return f"{kind.value.lower()}({column.length})" if column.length <= _LONGEST[kind] else "string"

    def name(part: DataType) -> str:
        return hive_type(part, has_time_zones=has_time_zones)

    if isinstance(column, RowType):
        return f"struct<{','.join(f'{f.name}:{name(f.type)}' for f in column.fields)}>"
    if isinstance(column, MapType):
        return f"map<{name(column.key)},{name(column.value)}>"
    if isinstance(column, CollectionType):
        inner = name(column.element)
        return f"map<{inner},int>" if kind is Kind.MULTISET else f"array<{inner}>"
    return _NAMES[kind]


def has_zoned_times(fields: Iterable[DataField]) -> bool:
    """Return whether a column has timestamps with a time zone. The metastore's version decides their type."""
    return any(t.kind is Kind.TIMESTAMP_LTZ for f in fields for t in nested_types(f.type))
