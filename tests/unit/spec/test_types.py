from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import InvalidSchemaError, UnsupportedFeatureError
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_LENGTH,
    MAX_NESTING,
    SMALLINT,
    STRING,
    TINYINT,
    VARIANT,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    LengthType,
    MapType,
    RowType,
    TimeType,
    nested_fields,
    parse_field,
    parse_type,
)
from tests.support.strategies import KEY_TYPES

LTZ = " WITH LOCAL TIME ZONE"
# texts that are written as they are read
SPELLINGS: list[tuple[str, DataType]] = [
    ("BOOLEAN", BOOLEAN),
    ("TINYINT", TINYINT),
    ("SMALLINT", SMALLINT),
    ("INT", INT),
    ("BIGINT", BIGINT),
    ("FLOAT", FLOAT),
    ("DOUBLE", DOUBLE),
    ("DATE", DATE),
    ("VARIANT", VARIANT),
    ("STRING", STRING),
    ("BYTES", BYTES),
    ("DECIMAL(10, 2)", DecimalType(precision=10, scale=2)),
    ("DECIMAL(38, 38)", DecimalType(precision=38, scale=38)),
    ("CHAR(3)", LengthType(Kind.CHAR, length=3)),
    ("CHAR(2147483647)", LengthType(Kind.CHAR)),
    ("VARCHAR(20)", LengthType(Kind.VARCHAR, length=20)),
    ("BINARY(8)", LengthType(Kind.BINARY, length=8)),
    ("VARBINARY(2147483646)", LengthType(Kind.VARBINARY, length=MAX_LENGTH - 1)),
    ("TIME(0)", TimeType(Kind.TIME, precision=0)),
    ("TIMESTAMP(9)", TimeType(Kind.TIMESTAMP, precision=9)),
    ("TIMESTAMP(3)" + LTZ, TimeType(Kind.TIMESTAMP_LTZ, precision=3)),
]
ALIASES: list[tuple[str, DataType]] = [
    ("INTEGER", INT),
    ("DOUBLE PRECISION", DOUBLE),
    ("NUMERIC", DecimalType()),
    ("DEC(7)", DecimalType(precision=7)),
    ("DECIMAL", DecimalType(precision=10, scale=0)),
    ("NUMERIC(5,1)", DecimalType(precision=5, scale=1)),
    ("CHAR", LengthType(Kind.CHAR, length=1)),
    ("VARCHAR", LengthType(Kind.VARCHAR, length=1)),
    ("BINARY", LengthType(Kind.BINARY, length=1)),
    ("VARBINARY", LengthType(Kind.VARBINARY, length=1)),
    ("VARCHAR(2147483647)", STRING),
    ("VARBINARY(2147483647)", BYTES),
    ("TIME", TimeType(Kind.TIME, precision=0)),
    ("TIME(3) WITHOUT TIME ZONE", TimeType(Kind.TIME, precision=3)),
    ("TIMESTAMP", TimeType(Kind.TIMESTAMP, precision=6)),
    ("TIMESTAMP WITHOUT TIME ZONE", TimeType(Kind.TIMESTAMP, precision=6)),
    ("TIMESTAMP(1)WITHOUT TIME ZONE", TimeType(Kind.TIMESTAMP, precision=1)),
    ("TIMESTAMP" + LTZ, TimeType(Kind.TIMESTAMP_LTZ, precision=6)),
    ("TIMESTAMP_LTZ(2)", TimeType(Kind.TIMESTAMP_LTZ, precision=2)),
    ("INT NULL", INT),
    ("  decimal ( 10 ,\t2 ) ", DecimalType(precision=10, scale=2)),
]


@pytest.mark.parametrize(("text", "data_type"), SPELLINGS, ids=[t for t, _ in SPELLINGS])
def test_each_spelling_both_ways(text: str, data_type: DataType) -> None:
    assert parse_type(text) == data_type
    assert data_type.json() == text == data_type.sql() == str(data_type)
    required = data_type.with_nullable(False)
    assert parse_type(text + " NOT NULL") == required
    assert required.json() == text + " NOT NULL"
    assert required.sql() == text


@pytest.mark.parametrize(("text", "data_type"), ALIASES, ids=[t for t, _ in ALIASES])
def test_other_spellings_are_read(text: str, data_type: DataType) -> None:
    assert parse_type(text) == data_type
    assert parse_type(text.lower()) == data_type
    if "NULL" not in text:
        assert parse_type(f"{text} NOT NULL") == data_type.with_nullable(False)


@pytest.mark.parametrize("null", ["", " NULL", " NOT NULL"])
def test_nested_types_may_show_their_parts_in_their_name(null: str) -> None:
    """As pypaimon 2 writes MAPs; the NOT NULL of a part is not that of the type."""
    nullable = null != " NOT NULL"
    node = {"type": f"MAP<STRING NOT NULL, INT>{null}", "key": "STRING NOT NULL", "value": "INT", "nullable": True}
    assert parse_type(node) == MapType(nullable=nullable, key=STRING.with_nullable(False), value=INT)
    node = {
        "type": f"ARRAY<MAP<INT NOT NULL, DATE>>{null}",
        "element": {"type": "MAP<INT, DATE>", "key": "INT", "value": "DATE"},
    }
    assert parse_type(node) == CollectionType(Kind.ARRAY, nullable, MapType(key=INT, value=DATE))
    with pytest.raises(InvalidSchemaError):
        parse_type({"type": f"MAP<INT, DATE{null}", "key": "INT", "value": "DATE"})


def test_nested_types_both_ways() -> None:
    fields = (
        DataField(id=3, name="a", type=INT.with_nullable(False), description="first", default="1"),
        DataField(id=4, name="b c", type=CollectionType(Kind.ARRAY, element=STRING)),
    )
    for data_type, node, sql in (
        (
            CollectionType(Kind.ARRAY, False, INT.with_nullable(False)),
            {"type": "ARRAY NOT NULL", "element": "INT NOT NULL"},
            "ARRAY<INT NOT NULL>",
        ),
        (CollectionType(Kind.MULTISET, True, STRING), {"type": "MULTISET", "element": "STRING"}, "MULTISET<STRING>"),
        (
            MapType(key=INT, value=DATE, nullable=False),
            {"type": "MAP NOT NULL", "key": "INT", "value": "DATE"},
            "MAP<INT, DATE>",
        ),
        (
            RowType(fields=fields),
            {
                "type": "ROW",
                "fields": [
                    {"id": 3, "name": "a", "type": "INT NOT NULL", "description": "first", "defaultValue": "1"},
                    {"id": 4, "name": "b c", "type": {"type": "ARRAY", "element": "STRING"}},
                ],
            },
            "ROW<`a` INT NOT NULL, `b c` ARRAY<STRING>>",
        ),
        (RowType(), {"type": "ROW", "fields": []}, "ROW<>"),
    ):
        assert parse_type(node) == data_type
        assert data_type.json() == node
        assert data_type.sql() == sql


def _fields(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[tuple[DataField, ...]]:
    texts = st.none() | st.text(max_size=5)
    field = st.builds(DataField, id=st.integers(0, 99), name=st.text(), type=types, description=texts, default=texts)
    return st.lists(field, max_size=4).map(tuple)


def _nested(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    return st.one_of(
        st.builds(CollectionType, st.sampled_from((Kind.ARRAY, Kind.MULTISET)), st.booleans(), types),
        st.builds(MapType, nullable=st.booleans(), key=types, value=types),
        st.builds(RowType, nullable=st.booleans(), fields=_fields(types)),
    )


ATOMIC = st.sampled_from((*KEY_TYPES, VARIANT)).flatmap(lambda t: st.booleans().map(t.with_nullable))


@given(st.recursive(ATOMIC, _nested, max_leaves=10))
def test_what_is_written_is_read(data_type: DataType) -> None:
    assert parse_type(data_type.json()) == data_type


@pytest.mark.parametrize(
    "node",
    [
        "",
        " ",
        "INT(3)",
        "DATE(3)",
        "STRING(3)",
        "VARIANT(1)",
        "DECIMAL(10, 2",
        "DECIMAL(-1)",
        "DECIMAL(39)",
        "DECIMAL(0)",
        "DECIMAL(5, 6)",
        "CHAR(0)",
        "VARCHAR(2147483648)",
        "VARCHAR(3, 4)",
        "VARCHAR(99999999999)",
        "TIME(10)",
        "TIME WITH LOCAL TIME ZONE",
        "TIMESTAMP(10)",
        "TIMESTAMP(3, 3)",
        "TIMESTAMP(3) WITH TIME ZONE",
        "INT WITHOUT TIME ZONE",
        "INT NOT",
        "INT NULL NOT NULL",
        "DECIMAL(٣)",
        "ARRAY",
        "MAP<INT, INT>",
        "ROW NOT NULL",
        None,
        3,
        True,
        [],
        {},
        {"type": 3},
        {"type": "ARRAY"},
        {"type": "INT"},
        {"type": "array", "element": "INT"},
        {"type": "ARRAY SOMETIMES", "element": "INT"},
        {"type": "MAP", "key": "INT"},
        {"type": "ROW"},
        {"type": "ROW", "fields": None},
        {"type": "ROW", "fields": "abc"},
        {"type": "ROW", "fields": [None]},
        {"type": "ROW", "fields": [{"id": 1, "name": "a"}]},
        {"type": "ROW", "fields": [{"id": True, "name": "a", "type": "INT"}]},
        {"type": "ROW", "fields": [{"id": "x", "name": "a", "type": "INT"}]},
        {"type": "ROW", "fields": [{"id": 1, "name": [2], "type": "INT"}]},
    ],
    ids=repr,
)
def test_what_is_no_type(node: Any) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_type(node)


@pytest.mark.parametrize(
    ("node", "name"),
    [
        (" geography(4326)", "geography"),
        ("GEOMETRY('OGC:CRS84')", "GEOMETRY"),
        ("VECTOR<FLOAT, 3>", "VECTOR"),
        ("INTERVAL DAY", "INTERVAL"),
        ({"type": "ROW", "fields": [{"id": 1, "name": "a", "type": "BLOB"}]}, "BLOB"),
    ],
    ids=repr,
)
def test_types_of_other_versions_are_named(node: Any, name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=f"Columns of type .*{name}"):
        parse_type(node)


def test_vectors_both_ways() -> None:
    node = {"type": "VECTOR NOT NULL", "element": "FLOAT", "length": 3}
    found = parse_type(node)
    assert (found.json(), str(found)) == (node, "VECTOR<FLOAT, 3> NOT NULL")
    assert parse_type({"type": "VECTOR", "element": "DOUBLE", "length": "2"}).json()["length"] == 2
    assert parse_type({"type": "ARRAY", "element": "FLOAT"}) != parse_type(node)
    for length in (0, None, "x"):
        with pytest.raises(InvalidSchemaError):
            parse_type({"type": "VECTOR", "element": "FLOAT", "length": length})
    for element in ("STRING", "DECIMAL(3, 1)", {"type": "ARRAY", "element": "FLOAT"}):
        with pytest.raises(InvalidSchemaError, match="the elements of a vector are BOOLEAN, TINYINT, .*DOUBLE"):
            parse_type({"type": "VECTOR", "element": element, "length": 3})


@pytest.mark.parametrize("key", ["description", "defaultValue"])
def test_texts_of_fields_are_texts(key: str) -> None:
    assert parse_field({"id": 1, "name": "a", "type": "INT", key: None}) == DataField(id=1, name="a", type=INT)
    with pytest.raises(InvalidSchemaError, match=f"'{key}' is \\[5\\]"):
        parse_field({"id": 1, "name": "a", "type": "INT", key: [5]})


def test_nesting_has_a_limit() -> None:
    node: Any = "INT"
    for _ in range(MAX_NESTING):
        node = {"type": "ARRAY", "element": node}
    assert parse_type(node).json() == node
    with pytest.raises(InvalidSchemaError, match="64 levels"):
        parse_type({"type": "MAP", "key": "INT", "value": node})


def test_errors_stay_short_however_large_the_type() -> None:
    for node in ("INT" + "x" * 10**6, {"type": ["x" * 10**6]}, "BLOB" + "x" * 10**6):
        with pytest.raises((InvalidSchemaError, UnsupportedFeatureError)) as caught:
            parse_type(node)
        assert len(str(caught.value)) < 300


def test_blanks_take_no_time() -> None:
    start = time.thread_time()
    with pytest.raises(InvalidSchemaError):
        parse_type("INT" + " " * 100_000 + "x")
    assert time.thread_time() - start < 1


def test_nested_fields_are_listed_depth_first() -> None:
    inner = DataField(id=2, name="b", type=INT)
    outer = DataField(id=1, name="a", type=RowType(fields=(inner,)))
    last = DataField(id=3, name="c", type=INT)
    deep = CollectionType(Kind.ARRAY, element=MapType(key=INT, value=RowType(fields=(outer, last))))
    assert list(nested_fields(deep)) == [outer, inner, last]
    assert list(nested_fields(INT)) == []
