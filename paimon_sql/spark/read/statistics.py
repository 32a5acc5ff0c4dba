"""Statistics of a scan for Spark's optimizer: bytes, rows, and the column statistics of ANALYZE TABLE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import types as spark
from pyspark.sql.types import StructType

from paimon_core.errors import PaimonError
from paimon_core.scan.plan import Plan
from paimon_core.spec.statistics import TableStatistics
from paimon_core.spec.types import Kind
from paimon_core.spec.value_texts import sql_bound
from paimon_core.table import Table
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.scans import statistics as jvm_statistics
from paimon_sql.spark.types import to_struct

_COUNTS = ("distinctCount", "nullCount", "avgLen", "maxLen")
# bytes of a value by Spark's estimate
_WIDTHS: Mapping[type[spark.DataType], int] = {
    spark.BooleanType: 1,
    spark.ByteType: 1,
    spark.ShortType: 2,
    spark.IntegerType: 4,
    spark.FloatType: 4,
    spark.DateType: 4,
    spark.LongType: 8,
    spark.DoubleType: 8,
    spark.TimestampType: 8,
    spark.TimestampNTZType: 8,
    spark.BinaryType: 100,
    spark.VariantType: 2048,
}
_TEXT_WIDTH = 20


def scan_statistics(jvm: Jvm, table: Table, plan: Plan, read: StructType) -> Any:
    """Return Spark's `Statistics` of a plan, before merging: its rows, and the bytes of the columns read.

    The bytes come from the sizes of the files. If the table was analyzed, they come from the average lengths of its
    columns.
    """
    rows, known = sum(s.row_count for s in plan.splits), _analyzed(table, plan)
    if known is None or not known.columns:
        width, whole = row_width(read, {}), row_width(to_struct(table.schema.fields), {})
        size = sum(s.size for s in plan.splits) * min(width, whole) // whole
    else:
        lengths = {name: c["avgLen"] for name, c in known.columns.items() if isinstance(c.get("avgLen"), int)}
        size = rows * row_width(read, lengths)
    return jvm_statistics.scan_statistics(
        jvm, max(size, rows), rows, {} if known is None else _columns(table, known, read), read
    )


def row_width(schema: StructType, lengths: Mapping[str, int]) -> int:
    """Return the bytes of a row, from the average lengths of columns if these are known."""
    return max(1, sum(lengths.get(f.name, _width(f.dataType)) for f in schema.fields))


def _analyzed(table: Table, plan: Plan) -> TableStatistics | None:
    try:
        return table.statistics(plan.snapshot)
    except PaimonError:
        return None  # the query's result does not depend on statistics


def _columns(table: Table, known: TableStatistics, read: StructType) -> dict[str, dict[str, str]]:
    """Return the known statistics of the columns read, as the texts that Spark stores."""
    found: dict[str, dict[str, str]] = {}
    for name in read.fieldNames():
        entry, field = known.columns.get(name), table.schema.field_by_name.get(name)
        if entry is None or field is None or entry.get("colId") != field.id:
            continue
        if field.type.kind is Kind.TIMESTAMP:
            continue  # with cbo.enabled, Spark up to 4.3 fails on n < x if it has any statistic of n
        found[name] = {k: str(entry[k]) for k in _COUNTS if isinstance(entry.get(k), int)}
        bounds = {k: sql_bound(field.type.kind, entry.get(k)) for k in ("min", "max")}
        found[name] |= {k: v for k, v in bounds.items() if v is not None}
    return found


def _width(data_type: spark.DataType) -> int:
    match data_type:
        case spark.DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
        case spark.CharType(length=length) | spark.VarcharType(length=length):
            return int(length)
        case spark.ArrayType(elementType=element):
            return _width(element)
        case spark.MapType(keyType=key, valueType=value):
            return _width(key) + _width(value)
        case spark.StructType(fields=fields):
            return sum(_width(f.dataType) for f in fields)
    return _WIDTHS.get(type(data_type), _TEXT_WIDTH)
