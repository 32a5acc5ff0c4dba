"""Paimon's types and Spark's, both ways.

| Paimon | Spark |
|---|---|
| TIMESTAMP(p) | TIMESTAMP_NTZ |
| TIMESTAMP(p) WITH LOCAL TIME ZONE | TIMESTAMP |
| BINARY(n), VARBINARY(n), BYTES | BINARY |
| TIME(p) | INT (milliseconds of the day) |
| MULTISET<t> | MAP<t, INT> |

The others have the same names. Spark's timestamps become precision 6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import _parse_datatype_json_string

from paimon_core.arrow.default_values import nested_parts, unquoted
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec import types as paimon
from paimon_core.spec.kinds import BINARIES, NUMBERS, TEXTS, KindColumn
from paimon_core.spec.types import Kind
from paimon_sql.preprocess.quoting import quoted_text

_CHARACTERS = re.compile(r'"(?:var)?char\(\d+\)"')
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?")
_TYPED_LITERALS = {Kind.DATE: "DATE", Kind.TIMESTAMP: "TIMESTAMP_NTZ", Kind.TIMESTAMP_LTZ: "TIMESTAMP"}
_NUMBERS = NUMBERS | {Kind.TIME}
_BOOLEANS = ("true", "false")
_CONSTRUCTORS = {Kind.ARRAY: "ARRAY", Kind.MAP: "MAP", Kind.ROW: "STRUCT"}
_SIMPLE: KindColumn[type[spark.DataType]] = KindColumn(
    {
        Kind.BOOLEAN: spark.BooleanType,
        Kind.TINYINT: spark.ByteType,
        Kind.SMALLINT: spark.ShortType,
        Kind.INT: spark.IntegerType,
        Kind.BIGINT: spark.LongType,
        Kind.FLOAT: spark.FloatType,
        Kind.DOUBLE: spark.DoubleType,
        Kind.DATE: spark.DateType,
        Kind.TIME: spark.IntegerType,
        Kind.TIMESTAMP: spark.TimestampNTZType,
        Kind.TIMESTAMP_LTZ: spark.TimestampType,
        Kind.BINARY: spark.BinaryType,
        Kind.VARBINARY: spark.BinaryType,
        Kind.VARIANT: spark.VariantType,
        Kind.BLOB: spark.BinaryType,
    },
    others="DECIMAL CHAR VARCHAR ARRAY MAP MULTISET ROW",
)
_FROM_SPARK: dict[type[spark.DataType], paimon.DataType] = {
    spark.BooleanType: paimon.BOOLEAN,
    spark.ByteType: paimon.TINYINT,
    spark.ShortType: paimon.SMALLINT,
    spark.IntegerType: paimon.INT,
    spark.LongType: paimon.BIGINT,
    spark.FloatType: paimon.FLOAT,
    spark.DoubleType: paimon.DOUBLE,
    spark.DateType: paimon.DATE,
    spark.TimestampType: paimon.TimeType(Kind.TIMESTAMP_LTZ),
    spark.TimestampNTZType: paimon.TimeType(Kind.TIMESTAMP),
    spark.BinaryType: paimon.BYTES,
    spark.StringType: paimon.STRING,
    spark.VariantType: paimon.VARIANT,
}


def to_spark(data_type: paimon.DataType) -> spark.DataType:
    """Return Spark's type for a Paimon type."""
    match data_type:
        case paimon.DecimalType(precision=precision, scale=scale):
            return spark.DecimalType(precision, scale)
        case paimon.LengthType(kind=Kind.CHAR, length=length):
            return spark.CharType(length)
        case paimon.LengthType(kind=Kind.VARCHAR, length=length):
            return spark.StringType() if length == paimon.MAX_LENGTH else spark.VarcharType(length)
        case paimon.CollectionType(kind=Kind.ARRAY, element=element):
            return spark.ArrayType(to_spark(element), element.nullable)
        case paimon.CollectionType(element=element):
            return spark.MapType(to_spark(element), spark.IntegerType(), False)
        case paimon.MapType(key=key, value=value):
            return spark.MapType(to_spark(key), to_spark(value), value.nullable)
        case paimon.RowType(fields=fields):
            return to_struct(fields)
        case _:
            return _SIMPLE[data_type.kind]()


def to_struct(fields: Sequence[paimon.DataField]) -> spark.StructType:
    """Return Spark's schema of a table's columns. Comments and defaults are in the metadata, where Spark looks for
    them.
    """
    return spark.StructType([_struct_field(f) for f in fields])


def read_struct(text: str) -> spark.StructType:
    """Return a Spark schema from its JSON."""
    return spark.StructType.fromJson(json.loads(text))


def string_types(schema: spark.StructType) -> spark.StructType:
    """Return the schema with STRING for CHAR and VARCHAR, which are types of columns but not of rows."""
    return read_struct(_CHARACTERS.sub('"string"', schema.json()))


def from_arrow(schema: pa.Schema) -> spark.StructType:
    """Return Spark's schema of rows made in the driver; timestamps without a zone stay without one."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def _struct_field(field: paimon.DataField) -> spark.StructField:
    metadata: dict[str, Any] = {}
    if field.description is not None:
        metadata["comment"] = field.description
    if field.default:  # Java leaves an empty text when a default is dropped
        default = default_sql(field)
        metadata |= {"CURRENT_DEFAULT": default, "EXISTS_DEFAULT": default}
    return spark.StructField(field.name, to_spark(field.type), field.type.nullable, metadata)


def default_sql(field: paimon.DataField) -> str:
    """Return the default of a column as an SQL literal of the column's type; NULL if the column has none.

    A schema stores the text of a value, which Paimon's engines cast to the type. The text must never become an
    expression: then the writer of a schema could run functions in the sessions of its readers. A text that is not a
    value of the type becomes a cast, which fails when the default is used.
    """
    return _literal(field.default or "null", field.type)


def _literal(text: str, data_type: paimon.DataType) -> str:
    text = text.strip()
    if text.lower() == "null":
        return "NULL"
    parts = nested_parts(text, data_type)
    if parts is not None:
        return f"{_CONSTRUCTORS[data_type.kind]}({', '.join(_literal(*part) for part in parts)})"
    value, kind = unquoted(text), data_type.kind
    if kind in TEXTS:
        return quoted_text(value)
    if kind in BINARIES or kind is Kind.BLOB:
        return f"X'{value.encode().hex()}'"
    if kind in _TYPED_LITERALS:
        return f"{_TYPED_LITERALS[kind]} {quoted_text(value)}"
    if (kind in _NUMBERS and _NUMBER.fullmatch(value)) or (kind is Kind.BOOLEAN and value.lower() in _BOOLEANS):
        return value
    return f"CAST({quoted_text(value)} AS {to_spark(data_type).simpleString().upper()})"


def from_struct(schema: spark.StructType) -> tuple[paimon.DataField, ...]:
    """Return Paimon's columns for a Spark schema. Ids are numbered from 0; nested fields follow the columns that
    contain them.
    """
    ids = count(len(schema.fields))
    try:
        return tuple(_data_field(i, f, ids) for i, f in enumerate(schema.fields))
    except _NoCounterpartError as e:
        raise _refusal(e) from e


def from_spark(text: str, *column: str) -> paimon.DataType:
    """Return Paimon's type for the JSON of a Spark type, with fields numbered from 0. `column` is the name of the
    column that gets it.

    Raises `UnsupportedFeatureError`.
    """
    try:
        return _from_spark(_parse_datatype_json_string(text), count())
    except _NoCounterpartError as e:
        raise _refusal(e.within(*column)) from e


class _NoCounterpartError(Exception):
    """Raised for a type of Spark that no column of Paimon can have, with the names of the fields that lead to it."""

    def __init__(self, data_type: spark.DataType, path: tuple[str, ...] = ()) -> None:
        super().__init__(data_type, path)
        self.data_type, self.path = data_type, path

    def within(self, *names: str) -> _NoCounterpartError:
        return _NoCounterpartError(self.data_type, (*names, *self.path))


def _refusal(error: _NoCounterpartError) -> UnsupportedFeatureError:
    said = f"ype {error.data_type.simpleString()} of Spark has no counterpart in Paimon."
    return UnsupportedFeatureError(f"Column {'.'.join(error.path)!r}: t{said}" if error.path else f"T{said}")


def _data_field(field_id: int, field: spark.StructField, ids: Iterator[int]) -> paimon.DataField:
    try:
        data_type = _from_spark(field.dataType, ids)
    except _NoCounterpartError as e:
        raise e.within(field.name) from e
    return paimon.DataField(
        id=field_id,
        name=field.name,
        type=data_type.with_nullable(field.nullable),
        description=field.metadata.get("comment"),
        default=field.metadata.get("CURRENT_DEFAULT"),
    )


def _from_spark(data_type: spark.DataType, ids: Iterator[int]) -> paimon.DataType:
    match data_type:
        case spark.DecimalType():
            return paimon.DecimalType(precision=data_type.precision, scale=data_type.scale)
        case spark.CharType():
            return paimon.LengthType(Kind.CHAR, length=data_type.length)
        case spark.VarcharType():
            return paimon.LengthType(Kind.VARCHAR, length=data_type.length)
        case spark.ArrayType():
            element = _from_spark(data_type.elementType, ids).with_nullable(data_type.containsNull)
            return paimon.CollectionType(Kind.ARRAY, element=element)
        case spark.MapType():
            key = _from_spark(data_type.keyType, ids).with_nullable(False)
            value = _from_spark(data_type.valueType, ids).with_nullable(data_type.valueContainsNull)
            return paimon.MapType(key=key, value=value)
        case spark.StructType():
            numbered = [(next(ids), f) for f in data_type.fields]
            return paimon.RowType(fields=tuple(_data_field(i, f, ids) for i, f in numbered))
        case spark.StringType() if not data_type.isUTF8BinaryCollation():
            pass  # Paimon compares strings by their bytes
        case _ if type(data_type) in _FROM_SPARK:
            return _FROM_SPARK[type(data_type)]
    raise _NoCounterpartError(data_type)
