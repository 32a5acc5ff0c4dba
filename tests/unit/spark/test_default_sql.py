"""Defaults as schemas keep them, as SQL of the type of their column."""

from __future__ import annotations

import re

import pytest

from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    VARIANT,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
    RowType,
    TimeType,
)
from paimon_sql.spark.types import default_sql

INTS = CollectionType(kind=Kind.ARRAY, element=INT)
COUNTS = MapType(key=STRING, value=INT)
ROW = RowType(
    fields=(
        DataField(id=1, name="d", type=DATE),
        DataField(id=2, name="s", type=CollectionType(kind=Kind.ARRAY, element=STRING)),
    )
)
TIME = TimeType(Kind.TIME)
HOSTILE = "reflect('java.lang.System', 'setProperty', 'seen', 'yes')"
# what Spark may find outside the quotes of literals
_WORDS = re.compile(
    r"(?:CAST|AS|ARRAY|MAP|STRUCT|NULL|DATE|TIMESTAMP|TIMESTAMP_NTZ|X|INT|BIGINT|BOOLEAN|DOUBLE|DECIMAL|STRING|VARIANT|[DS](?=:))(?![A-Z])|[(),\s<>0-9:]"
)
_LITERALS = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)


@pytest.mark.parametrize(
    ("kept", "data_type", "sql"),
    [
        (None, INT, "NULL"),
        ("null", STRING, "NULL"),
        ("3", INT, "3"),
        ("'3'", INT, "3"),
        ("new", STRING, "'new'"),
        ("'new'", STRING, "'new'"),
        ("'it's'", STRING, "'it\\'s'"),
        ("2026-01-31", DATE, "DATE '2026-01-31'"),
        ("'2026-01-31'", DATE, "DATE '2026-01-31'"),
        ("'2026-01-31 10:00:00'", TimeType(Kind.TIMESTAMP), "TIMESTAMP_NTZ '2026-01-31 10:00:00'"),
        ("'2026-01-31 10:00:00'", TimeType(Kind.TIMESTAMP_LTZ), "TIMESTAMP '2026-01-31 10:00:00'"),
        ("'ä'", BYTES, "X'c3a4'"),
        ("1e3", DOUBLE, "1e3"),
        ("'Infinity'", DOUBLE, "CAST('Infinity' AS DOUBLE)"),
        ("TRUE", BOOLEAN, "TRUE"),
        ("'-1.50'", DecimalType(precision=5, scale=2), "-1.50"),
        ("ARRAY(1, 2)", INTS, "ARRAY(1, 2)"),
        ("[1, null]", INTS, "ARRAY(1, NULL)"),
        ("{a -> 1, it's->2}", COUNTS, "MAP('a', 1, 'it\\'s', 2)"),
        ("struct('2024-01-31', [x])", ROW, "STRUCT(DATE '2024-01-31', ARRAY('x'))"),
        ("{}", ROW, "STRUCT(NULL, NULL)"),
    ],
)
def test_default_sql(kept: str | None, data_type: DataType, sql: str) -> None:
    assert default_sql(DataField(id=0, name="a", type=data_type, default=kept)) == sql


@pytest.mark.parametrize(
    "wrapped", ["{}", "'{}'", '"{}"', "'' || {}", "1, {}", "[{}]", "ARRAY({})", "{{{}}}", "MAP({}, 1)"]
)
@pytest.mark.parametrize(
    "data_type",
    [
        BIGINT,
        DataType(Kind.BLOB),
        BOOLEAN,
        BYTES,
        DATE,
        DOUBLE,
        DecimalType(precision=5, scale=2),
        INT,
        STRING,
        TIME,
        VARIANT,
        INTS,
        COUNTS,
        ROW,
    ],
    ids=lambda t: t.sql(),
)
def test_a_text_of_another_writer_never_becomes_an_expression(data_type: DataType, wrapped: str) -> None:
    kept = wrapped.format(HOSTILE)
    sql = default_sql(DataField(id=0, name="a", type=data_type, default=kept))
    outside = _LITERALS.sub("", sql)
    assert "reflect" not in outside and "||" not in outside
    assert _WORDS.sub("", outside.upper()) == ""
