from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as spark

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec import types as paimon
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    VARIANT,
    CollectionType,
    DataField,
    DecimalType,
    Kind,
    LengthType,
    MapType,
    RowType,
    TimeType,
)
from paimon_sql.spark.types import from_arrow, from_spark, from_struct, read_struct, to_spark, to_struct

# the same in both
SAME: list[tuple[paimon.DataType, spark.DataType]] = [
    (BOOLEAN, spark.BooleanType()),
    (TINYINT, spark.ByteType()),
    (SMALLINT, spark.ShortType()),
    (INT, spark.IntegerType()),
    (BIGINT, spark.LongType()),
    (FLOAT, spark.FloatType()),
    (DOUBLE, spark.DoubleType()),
    (DATE, spark.DateType()),
    (STRING, spark.StringType()),
    (BYTES, spark.BinaryType()),
    (VARIANT, spark.VariantType()),
    (DecimalType(precision=38, scale=38), spark.DecimalType(38, 38)),
    (DecimalType(precision=1, scale=0), spark.DecimalType(1, 0)),
    (LengthType(Kind.CHAR, length=3), spark.CharType(3)),
    (LengthType(Kind.VARCHAR, length=20), spark.VarcharType(20)),
    (TimeType(Kind.TIMESTAMP, precision=6), spark.TimestampNTZType()),
    (TimeType(Kind.TIMESTAMP_LTZ, precision=6), spark.TimestampType()),
]
# what Spark shows of types that it has not
SHOWN: list[tuple[paimon.DataType, spark.DataType]] = [
    *((TimeType(Kind.TIMESTAMP, precision=p), spark.TimestampNTZType()) for p in (0, 3, 9)),
    *((TimeType(Kind.TIMESTAMP_LTZ, precision=p), spark.TimestampType()) for p in (0, 3, 9)),
    (TimeType(Kind.TIME, precision=3), spark.IntegerType()),
    (paimon.DataType(Kind.BLOB), spark.BinaryType()),
    (LengthType(Kind.BINARY, length=3), spark.BinaryType()),
    (LengthType(Kind.VARBINARY, length=3), spark.BinaryType()),
    (CollectionType(Kind.MULTISET, element=STRING), spark.MapType(spark.StringType(), spark.IntegerType(), False)),
]


def both(data_type: paimon.DataType) -> paimon.DataType:
    """The type after a way to Spark and back."""
    (field,) = from_struct(to_struct([DataField(id=0, name="c", type=data_type)]))
    return field.type


@pytest.mark.parametrize(("ours", "sparks"), SAME, ids=[str(t) for t, _ in SAME])
@pytest.mark.parametrize("nullable", [True, False])
def test_the_same_types_both_ways(ours: paimon.DataType, sparks: spark.DataType, nullable: bool) -> None:
    assert to_spark(ours) == sparks
    assert both(ours.with_nullable(nullable)) == ours.with_nullable(nullable)
    assert from_struct(spark.StructType([spark.StructField("c", sparks, nullable)])) == (
        DataField(id=0, name="c", type=ours.with_nullable(nullable)),
    )


@pytest.mark.parametrize(("ours", "sparks"), SHOWN, ids=[str(t) for t, _ in SHOWN])
def test_types_that_spark_has_not(ours: paimon.DataType, sparks: spark.DataType) -> None:
    assert to_spark(ours) == sparks


def test_every_kind_has_a_type_in_spark() -> None:
    known = {t.kind for t, _ in SAME + SHOWN}
    assert known | {Kind.ARRAY, Kind.MAP, Kind.ROW} == set(Kind)


@pytest.mark.parametrize("nullable", [True, False])
def test_nested_types_both_ways(nullable: bool) -> None:
    array = CollectionType(Kind.ARRAY, nullable, INT.with_nullable(nullable))
    assert to_spark(array) == spark.ArrayType(spark.IntegerType(), nullable)
    assert both(array) == array
    mapped = MapType(nullable=nullable, key=STRING.with_nullable(False), value=DATE.with_nullable(nullable))
    assert to_spark(mapped) == spark.MapType(spark.StringType(), spark.DateType(), nullable)
    assert both(mapped) == mapped
    field = DataField(id=1, name="ä b", type=INT.with_nullable(nullable), description="the field")
    row = RowType(nullable=nullable, fields=(field,))
    assert to_spark(row) == spark.StructType(
        [spark.StructField("ä b", spark.IntegerType(), nullable, {"comment": "the field"})]
    )
    assert both(row) == row


def test_keys_of_maps_are_not_null() -> None:
    assert both(MapType(key=STRING, value=INT)) == MapType(key=STRING.with_nullable(False), value=INT)


def test_comments_and_defaults_both_ways() -> None:
    fields = (
        DataField(id=0, name="a", type=INT, description="größe", default="2"),
        DataField(id=1, name="b", type=STRING.with_nullable(False), description=""),
        DataField(id=2, name="c", type=STRING),
    )
    struct = to_struct(fields)
    assert struct["a"].metadata == {"comment": "größe", "CURRENT_DEFAULT": "2", "EXISTS_DEFAULT": "2"}
    assert struct["c"].metadata == {}
    assert from_struct(struct) == fields
    assert read_struct(struct.json()) == struct


def test_ids_number_columns_first_then_what_is_in_them() -> None:
    inner = spark.StructType([spark.StructField("x", spark.IntegerType()), spark.StructField("y", spark.IntegerType())])
    struct = spark.StructType(
        [spark.StructField("a", spark.ArrayType(inner)), spark.StructField("b", inner), spark.StructField("c", inner)]
    )
    fields = from_struct(struct)
    assert [f.id for f in fields] == [0, 1, 2]
    nested = [f.id for f in paimon.nested_fields(RowType(fields=fields)) if f.id > 2]
    assert nested == [3, 4, 5, 6, 7, 8]


def _required(data_type: paimon.DataType) -> paimon.DataType:
    return data_type.with_nullable(False)


def _nested(types: st.SearchStrategy[paimon.DataType]) -> st.SearchStrategy[paimon.DataType]:
    fields = st.lists(types, min_size=1, max_size=3).map(
        lambda found: tuple(DataField(id=0, name=f"f{i}", type=t) for i, t in enumerate(found))
    )
    return st.one_of(
        st.builds(lambda n, t: CollectionType(Kind.ARRAY, n, t), st.booleans(), types),
        st.builds(lambda n, k, v: MapType(nullable=n, key=k, value=v), st.booleans(), types.map(_required), types),
        st.builds(lambda n, fs: RowType(nullable=n, fields=fs), st.booleans(), fields),
    )


def _without_ids(data_type: Any) -> Any:
    node = data_type if isinstance(data_type, (dict, list, str)) else data_type.json()
    if isinstance(node, dict):
        return {k: _without_ids(v) for k, v in node.items() if k != "id"}
    return [_without_ids(n) for n in node] if isinstance(node, list) else node


SAME_TYPES = st.sampled_from([t for t, _ in SAME]).flatmap(lambda t: st.booleans().map(t.with_nullable))


@given(st.recursive(SAME_TYPES, _nested, max_leaves=8))
def test_any_type_both_ways(data_type: paimon.DataType) -> None:
    back = both(data_type)
    assert _without_ids(back.json()) == _without_ids(data_type.json())
    ids = [f.id for f in paimon.nested_fields(back)]
    assert len(set(ids)) == len(ids)
    assert 0 not in ids


@pytest.mark.parametrize(
    "sparks",
    [
        spark.NullType(),
        spark.CalendarIntervalType(),
        spark.DayTimeIntervalType(),
        spark.YearMonthIntervalType(),
        spark.TimeType(6),
        spark.StringType("UTF8_LCASE"),
    ],
    ids=lambda t: t.simpleString(),
)
def test_types_that_paimon_has_not_are_named(sparks: spark.DataType) -> None:
    of_spark = f"ype {sparks.simpleString()} of Spark has no counterpart in Paimon."
    for data_type, name in (
        (sparks, "c"),
        (spark.ArrayType(sparks), "c"),
        (spark.StructType([spark.StructField("x", sparks)]), "c.x"),
        (spark.ArrayType(spark.StructType([spark.StructField("x", sparks)])), "c.x"),
    ):
        columns = [spark.StructField("first", spark.IntegerType()), spark.StructField("c", data_type)]
        with pytest.raises(UnsupportedFeatureError) as caught:
            from_struct(spark.StructType(columns))
        assert str(caught.value) == f"Column {name!r}: t{of_spark}"
        with pytest.raises(UnsupportedFeatureError) as caught:
            from_spark(data_type.json(), "c")
        assert str(caught.value) == f"Column {name!r}: t{of_spark}"
    with pytest.raises(UnsupportedFeatureError) as caught:
        from_spark(sparks.json())
    assert str(caught.value) == f"T{of_spark}"


def test_rows_made_in_the_driver() -> None:
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), nullable=False),
            pa.field("b", pa.timestamp("us")),
            pa.field("c", pa.timestamp("us", "UTC")),
            pa.field("d", pa.list_(pa.string())),
        ]
    )
    assert from_arrow(schema) == spark.StructType(
        [
            spark.StructField("a", spark.LongType(), False),
            spark.StructField("b", spark.TimestampNTZType()),
            spark.StructField("c", spark.TimestampType()),
            spark.StructField("d", spark.ArrayType(spark.StringType())),
        ]
    )
