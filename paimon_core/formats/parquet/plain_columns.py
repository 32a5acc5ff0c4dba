"""The columns of Parquet files for which an engine's own reader returns the same values as this library's reader.

An engine gets a schema and finds columns by name. This module lists the usual ways to store a column, one or two for
each type, which every reader understands. This library's own reader reads everything else: wider integers, decimals of
more digits, times of another unit, names in another case, missing columns, and unforeseen cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from paimon_core.formats.parquet import shapes
from paimon_core.formats.parquet.shapes import BYTE_ARRAY, FIXED, INT32, INT64, REPEATED, REQUIRED, Element, FileLook
from paimon_core.spec.kinds import KindColumn
from paimon_core.spec.types import (
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
    RowType,
    TimeType,
)

# Codecs by their numbers in Parquet: none, Snappy, GZIP, Zstandard, raw LZ4.
_CODECS = frozenset((0, 1, 2, 6, 7))
# plain, dictionaries (both names), levels (RLE, BIT_PACKED), DELTA_BINARY_PACKED, and the second version's encodings of
# text: DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY
_ENCODINGS = frozenset((0, 2, 3, 4, 5, 6, 7, 8))
_SIMPLE: KindColumn[tuple[int, tuple[str, ...]]] = KindColumn(
    {
        Kind.BOOLEAN: (shapes.BOOLEAN, ("",)),
        Kind.TINYINT: (INT32, ("int(8)",)),
        Kind.SMALLINT: (INT32, ("int(16)",)),
        Kind.INT: (INT32, ("", "int(32)")),
        Kind.BIGINT: (INT64, ("", "int(64)")),
        Kind.FLOAT: (shapes.FLOAT, ("",)),
        Kind.DOUBLE: (shapes.DOUBLE, ("",)),
        Kind.DATE: (INT32, ("date",)),
        Kind.TIME: (INT32, ("time(ms,utc)", "time(ms,local)")),
        Kind.CHAR: (BYTE_ARRAY, ("string",)),
        Kind.VARCHAR: (BYTE_ARRAY, ("string",)),
        Kind.BINARY: (BYTE_ARRAY, ("",)),
        Kind.VARBINARY: (BYTE_ARRAY, ("",)),
    },
    others="DECIMAL BLOB TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW VARIANT",
)
_INT_DIGITS, _LONG_DIGITS = 9, 18
_MILLIS, _MICROS = 3, 6


def has_plain_chunks(look: FileLook) -> bool:
    """Return whether every engine can decode and decompress the chunks of a file."""
    return look.codecs <= _CODECS and look.encodings <= _ENCODINGS


def has_plain_columns(columns: Sequence[Element], wanted: Iterable[DataField]) -> bool:
    """Return whether a file has all of the wanted columns, under their names, stored in a usual way."""
    by_name = {c.name: c for c in columns}
    spelled = Counter(c.name.lower() for c in columns)  # an engine may refuse names that differ only in case
    identified = {c.field_id: c.name for c in columns if c.field_id is not None}
    return all(
        f.name in by_name
        and spelled[f.name.lower()] == 1
        and identified.get(f.id, f.name) == f.name
        and by_name[f.name].field_id in (None, f.id)
        and by_name[f.name].repetition != REPEATED
        and _is_plain(by_name[f.name], f.type)
        for f in wanted
    )


def _is_plain(element: Element, data_type: DataType) -> bool:
    match data_type:
        case RowType(fields=fields):
            return _is_group(element) and has_plain_columns(element.children, fields)
        case CollectionType(kind=Kind.ARRAY, element=item):
            return _is_plain_list(element, item)
        case CollectionType(element=item):
            return _is_plain_map(element, item, DataType(Kind.INT))
        case MapType(key=key, value=value):
            return _is_plain_map(element, key, value)
        case DecimalType(precision=precision, scale=scale):
            physical = INT32 if precision <= _INT_DIGITS else INT64 if precision <= _LONG_DIGITS else FIXED
            return element.physical in (physical, FIXED) and element.annotation == f"decimal({precision},{scale})"
        case TimeType(kind=Kind.TIMESTAMP | Kind.TIMESTAMP_LTZ as kind, precision=precision) if precision <= _MICROS:
            unit, zone = "ms" if precision <= _MILLIS else "us", "local" if kind is Kind.TIMESTAMP else "utc"
            return element.physical == INT64 and element.annotation == f"timestamp({unit},{zone})"
    if data_type.kind is Kind.VARIANT:
        return _is_plain_variant(element)
    if data_type.kind not in _SIMPLE:
        return False
    physical, annotations = _SIMPLE[data_type.kind]
    return element.physical == physical and element.annotation in annotations and not element.children


def _is_group(element: Element) -> bool:
    return bool(element.children) and element.annotation == ""


def _is_plain_list(element: Element, item: DataType) -> bool:
    """Return whether a list has three levels. Readers disagree about lists with two levels."""
    if element.annotation != "list" or len(element.children) != 1:
        return False
    (repeated,) = element.children
    if repeated.repetition != REPEATED or len(repeated.children) != 1 or not _is_group(repeated):
        return False
    names_an_element = repeated.name == "array" or repeated.name.endswith("_tuple")
    (inner,) = repeated.children
    return not names_an_element and inner.repetition != REPEATED and _is_plain(inner, item)


def _is_plain_map(element: Element, key: DataType, value: DataType) -> bool:
    if element.annotation != "map" or len(element.children) != 1:
        return False
    (repeated,) = element.children
    if repeated.repetition != REPEATED or len(repeated.children) != 2:
        return False
    one, other = repeated.children
    is_usual = one.repetition == REQUIRED and other.repetition != REPEATED
    return is_usual and _is_plain(one, key) and _is_plain(other, value)


def _is_plain_variant(element: Element) -> bool:
    """Return whether a VARIANT is one value, without parts in separate columns."""
    parts = {c.name: (c.physical, c.annotation) for c in element.children}
    return len(element.children) == 2 and parts == dict.fromkeys(("value", "metadata"), (BYTE_ARRAY, ""))
