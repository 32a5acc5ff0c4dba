"""Conditions in SQL over Arrow columns: what they keep, what they prune, and what they refuse."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.table_fields import table_fields
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare, HasAny, In, IsNotNull, Not, Predicate, StartsWith
from paimon_core.spec.types import DOUBLE, FLOAT, CollectionType, DataField, Kind, LengthType, TimeType, VectorType
from paimon_sql.python.where.condition import Condition

NAN = float("nan")
ROWS = pa.record_batch(
    {
        "n": pa.array([1, 2, 3, 4]),
        "a": pa.array([1, 2, None, -7], pa.int32()),
        "t": pa.array([1, 2, None, 3], pa.int8()),
        "f": pa.array([1.5, NAN, None, -0.0], pa.float32()),
        "d": pa.array([1.5, NAN, None, -0.0]),
        "s": pa.array(["a_b", "Äß", None, "x%"]),
        "day": pa.array([date(2024, 1, i) for i in (1, 2, 3, 4)]),
        "ts": pa.array([datetime(2024, 1, 1, i) for i in (1, 2, 3, 4)], pa.timestamp("us")),
        "ns": pa.array([1_000, 1_999, 2_000, None], pa.timestamp("ns")),
        "z": pa.array([datetime(2024, 1, 1, i) for i in (1, 2, 3, 4)], pa.timestamp("us", "UTC")),
        "e": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.10")], pa.decimal128(10, 2)),
        "yes": pa.array([True, False, None, True]),
        "r": pa.array([{"x": 1}, None, {"x": None}, {"x": 4}]),
        "bin": pa.array([b"\x1f", b"", None, b"a"]),
        "Text": pa.array(["12", " 7 ", "3.5", None]),
        "tags": pa.array([["x", "y"], ["x", None], None, []]),
        "few": pa.array([[1, 300], [None], None, [5, 5]], pa.list_(pa.int16())),
        "numbers": pa.array([[0.5], [NAN], [-0.0, None], []], pa.list_(pa.float64())),
        "days": pa.array([[date(2024, 1, 1)], None, [date(2024, 1, 2), None], []]),
        "moments": pa.array([[1], [2, None], [], None], pa.list_(pa.timestamp("us"))),
    }
)
FIELDS = table_fields(ROWS.schema)
BY_NAME = {f.name: f for f in FIELDS}


def kept(text: str, rows: pa.RecordBatch = ROWS, zone: timezone = UTC) -> list[int]:
    """The column `n` of the rows that satisfy a condition."""
    found: list[int] = Condition.of(text, FIELDS, zone).filter(rows).column("n").to_pylist()
    return found


def pushed(text: str) -> list[Predicate | None]:
    return [predicate for _, predicate in Condition.of(text, FIELDS, UTC).pushed(BY_NAME)]


# conditions, and the column `n` of the rows that satisfy them; None: an error. tests/spark compares them with Spark
KEPT: list[tuple[str, list[int] | None]] = [
    ("a > 1", [2]),
    ("NOT a > 1", [1, 4]),
    ("a <> 1 OR a IS NULL", [2, 3, 4]),
    ("a = 1 OR t = 2", [1, 2]),
    ("a <=> NULL", [3]),
    ("a IS DISTINCT FROM 1", [2, 3, 4]),
    ("a BETWEEN 1 AND 2", [1, 2]),
    ("a NOT IN (1, 2)", [4]),
    ("a NOT IN (1, NULL)", []),
    ("t < 300", [1, 2, 4]),
    ("a > 1.5", [2]),
    ("A = 2.0", [2]),
    ("a = '2'", [2]),
    ("f = 0.1", []),
    ("f = 1.5", [1]),
    ("d = 'NaN'", [2]),
    ("d > 1", [1, 2]),
    ("d = 0", [4]),
    ("d < DOUBLE('NaN')", [1, 4]),
    ("d IN (1.5, 'NaN')", [1, 2]),
    ("s LIKE 'a\\_%'", [1]),
    ("s LIKE 'x/%' ESCAPE '/'", [4]),
    ("s ILIKE 'Ä_'", [2]),
    ("s NOT LIKE '%b'", [2, 4]),
    ("s NOT ILIKE '%B' AND NOT s LIKE 'x%'", [2]),
    ("s NOT RLIKE 'b$' AND a NOT BETWEEN 1 AND 3", [4]),
    ("nvl(a, 5) = 5", [3]),
    ("concat(s, 'b') = 'x%b'", [4]),
    ("s RLIKE '^[ax]'", [1, 4]),
    ("s IN ('x%', NULL)", [4]),
    ("s || 'x' = 'x%x'", [4]),
    ("upper(s) = 'ÄSS'", [2]),
    ("length(s) = 2", [2, 4]),
    ("startswith(s, 'a')", [1]),
    ("contains(s, '_') OR endswith(s, '%')", [1, 4]),
    ("day = '2024-01-02'", [2]),
    ("day < DATE '2024-1-3' AND a IS NOT NULL", [1, 2]),
    ("day >= TIMESTAMP_NTZ '2024-01-03 12:00:00'", [4]),
    ("year(day) = 2024 AND month(day) = 1 AND day(day) > 3", [4]),
    ("ts >= TIMESTAMP_NTZ '2024-01-01 03:00:00'", [3, 4]),
    ("ns = TIMESTAMP_NTZ '1970-01-01 00:00:00.000001'", [1, 2]),
    ("z >= TIMESTAMP '2024-01-01 05:00:00+02:00'", [3, 4]),
    ("CAST(z AS STRING) = '2024-01-01 02:00:00'", [2]),
    ("e > 0", [1, 4]),
    ("e * 2 = 3", [1]),
    ("e + a > 2", [1]),
    ("e IN (1.5, -2.250)", [1, 3]),
    ("a % 2 = -1", [4]),
    ("a DIV 2 = -3", [4]),
    ("a / 2 = 0.5", [1]),
    ("-a = 7 AND abs(a) = 7", [4]),
    ("CAST(a AS STRING) = '2'", [2]),
    ("CAST(d AS INT) = 1 AND a = 1", None),
    ("a = 1 AND CAST(d AS INT) = 1", [1]),
    ("a <> 0 AND 4 / a > 1", [1, 2]),
    ("coalesce(a, 0) = 0", [3]),
    ("yes", [1, 4]),
    ("NOT yes", [2]),
    ("yes IS NOT TRUE", [2, 3]),
    ("yes > FALSE", [1, 4]),
    ("r.x = 4", [4]),
    ("R.X IS NULL", [2, 3]),
    ("bin = X'1F'", [1]),
    ("text = '12' OR Text = ' 7 '", [1, 2]),
    ("array_contains(tags, 'x')", [1, 2]),
    ("NOT array_contains(tags, 'y')", [4]),
    ("NOT array_contains(tags, s)", [1, 4]),
    ("array_contains(tags, CAST(NULL AS STRING)) IS NULL", [1, 2, 3, 4]),
    ("array_contains(few, 300)", [1]),
    ("array_contains(few, -1S) IS NULL", [2, 3]),
    ("array_contains(few, 5S)", [4]),
    ("array_contains(few, 100000)", []),
    ("NOT array_contains(few, 100000)", [1, 4]),
    ("array_contains(few, n)", [1]),
    ("array_contains(few, CAST(300 AS DECIMAL(9, 1)))", [1]),
    ("array_contains(numbers, 0.5D) OR array_contains(numbers, a)", [1]),
    ("array_contains(numbers, DOUBLE('NaN'))", [2]),
    ("array_contains(numbers, 0.0D) AND array_contains(numbers, 0)", [3]),
    ("array_contains(days, DATE '2024-01-02')", [3]),
    ("array_contains(moments, TIMESTAMP_NTZ '1970-01-01 00:00:00.000002')", [2]),
    ("arrays_overlap(tags, array('y', 'z'))", [1]),
    ("arrays_overlap(array(NULL, 'y'), tags)", [1]),
    ("arrays_overlap(tags, array('z', NULL)) IS NULL", [1, 2, 3]),
    ("NOT arrays_overlap(tags, array('z'))", [1, 4]),
    ("NOT arrays_overlap(tags, array())", [1, 2, 4]),
    ("NOT arrays_overlap(tags, array(NULL))", [4]),
    ("arrays_overlap(few, array(1, 5))", [1, 4]),
    ("arrays_overlap(few, array(100000, 5))", [4]),
    ("arrays_overlap(numbers, array(DOUBLE('NaN'), 0D))", [2, 3]),
    ("arrays_overlap(days, array(DATE '2024-01-01', DATE '2024-01-02'))", [1, 3]),
    ("1 = 1", [1, 2, 3, 4]),
    ("NULL", []),
]


@pytest.mark.parametrize(("text", "expected"), KEPT)
def test_rows_that_are_kept(text: str, expected: list[int] | None) -> None:
    if expected is None:  # the left side does not keep the NaN away
        with pytest.raises(InvalidDataError):
            kept(text)
    else:
        assert kept(text) == expected


def test_thousands_of_parts() -> None:
    """OR of many parts, and AND in a text that sqlglot reads or does not."""
    for text in ("n = 2 OR " * 3_000 + "n = 4", "n = 4 AND " * 3_000 + "n = 4", "n + 0 = 4 AND " * 3_000 + "n = 4"):
        condition = Condition.of(text, FIELDS, UTC)
        assert condition.columns == {"n"} and len(condition.pushed({f.name: f for f in FIELDS})) >= 1
        found = condition.evaluated(pa.record_batch({"n": pa.array([4, 5, None], pa.int32())}))
        assert found.to_pylist() == [True, False, None]


def test_a_quote_in_a_text() -> None:
    rows = ROWS.set_column(0, "n", pa.array([1, 2, 3, 4])).set_column(5, "s", pa.array(["a'b", "a\\b", "ab", None]))
    assert kept("s = 'a''b'", rows) == [1]
    assert kept(r"s = 'a\'b'", rows) == [1]
    assert kept("s = 'a' || 'b'", rows) == [3]


def test_moments_are_in_the_zone_of_the_catalog() -> None:
    east = timezone(timedelta(hours=2))
    assert kept("z >= TIMESTAMP '2024-01-01 05:00:00'", zone=east) == [3, 4]
    assert kept("z >= '2024-01-01 05:00:00'", zone=east) == [3, 4]
    assert kept("ts >= TIMESTAMP_NTZ '2024-01-01 03:00:00'", zone=east) == [3, 4]
    assert kept("z < ts", zone=east) == []  # the wall clocks in ts are two hours earlier


def test_char_is_padded() -> None:
    fields = [DataField(id=0, name="n", type=LengthType(Kind.CHAR, length=4))]
    rows = pa.record_batch({"n": pa.array(["ab", "ab  ", "abc"])})
    for text in ("n = 'ab'", "n IN ('ab', 'x')"):
        assert Condition.of(text, fields, UTC).filter(rows).column("n").to_pylist() == ["ab", "ab  "]
    assert Condition.of("n = 'ab'", fields, UTC).pushed({"n": fields[0]})[0][1] is None


PADDED = (
    ("n = 'ab'", True),
    ("n = 'ab      '", True),
    ("n IN ('ab      ', 'x')", True),
    ("n <= 'ab       ' AND n > ''", True),
    ("n = concat('a', 'b')", True),
    ("n <=> ' ab'", False),
    ("CAST(n AS STRING) = 'ab'", False),
    ("CAST(n AS STRING) = 'ab  '", True),
    ("n BETWEEN 'a' AND 'ab'", False),  # Spark compares it as it is
    ("n BETWEEN 'a' AND 'ab  '", True),
    ("n LIKE 'ab'", False),
)


@pytest.mark.parametrize(("text", "expected"), PADDED)
def test_char_is_padded_to_the_longest_value_that_it_is_compared_with(text: str, expected: bool) -> None:
    fields = [DataField(id=0, name="n", type=LengthType(Kind.CHAR, length=4))]
    rows = pa.record_batch({"n": pa.array(["ab", None, "b"])})
    assert Condition.of(text, fields, UTC).filter(rows).column("n").to_pylist() == (["ab"] if expected else [])


def test_char_of_two_lengths() -> None:
    types = [LengthType(Kind.CHAR, length=4), LengthType(Kind.CHAR, length=6)]
    fields = [DataField(id=i, name=name, type=t) for i, (name, t) in enumerate(zip("no", types, strict=True))]
    rows = pa.record_batch({"n": pa.array(["ab", "ab"]), "o": pa.array(["ab", "abc"])})
    assert Condition.of("n = o", fields, UTC).filter(rows).column("o").to_pylist() == ["ab"]


def test_elements_of_arrays_in_other_forms() -> None:
    """Slices, NULL in front of values, and elements of more digits than Spark has."""
    finer = DataField(id=0, name="n", type=CollectionType(Kind.ARRAY, element=TimeType(Kind.TIMESTAMP, precision=9)))
    rows = pa.record_batch({"n": pa.array([[1_999], None, [2_000]], pa.list_(pa.timestamp("ns")))})
    condition = Condition.of("array_contains(n, TIMESTAMP_NTZ '1970-01-01 00:00:00.000001')", [finer], UTC)
    assert condition.evaluated(rows).to_pylist() == [True, None, False]
    assert condition.evaluated(rows.slice(1)).to_pylist() == [None, False]
    assert condition.pushed({"n": finer})[0][1] is None  # files have the nanoseconds
    offsets, values = pa.array([0, 1, 2, 3], pa.int32()), pa.array(["x", "x", "y"])
    hidden = pa.ListArray.from_arrays(offsets, values, mask=pa.array([False, True, False]))
    found = Condition.of("array_contains(n, 'x')", table_fields(pa.schema([("n", hidden.type)])), UTC)
    assert found.evaluated(pa.record_batch({"n": hidden})).to_pylist() == [True, None, False]
    chars = DataField(id=0, name="n", type=CollectionType(Kind.ARRAY, element=LengthType(Kind.CHAR, length=4)))
    with pytest.raises(UnsupportedFeatureError, match="elements of type CHAR"):
        Condition.of("array_contains(n, 'x')", [chars], UTC)
    vector = DataField(id=0, name="n", type=VectorType(Kind.ARRAY, element=FLOAT, length=2))
    of_vectors = Condition.of("array_contains(n, 1)", [vector], UTC)
    assert of_vectors.pushed({"n": vector})[0][1] is None
    numbers = pa.record_batch({"n": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2))})
    assert of_vectors.evaluated(numbers).to_pylist() == [True, None, False]


def test_nan_is_null_as_a_decimal() -> None:
    fields = [DataField(id=0, name="n", type=DOUBLE)]
    rows = pa.record_batch({"n": [float("nan"), float("inf"), 0.5, None]})
    condition = Condition.of("CAST(n AS DECIMAL(5, 2)) = 0.5", fields, UTC)
    assert condition.filter(rows).column("n").to_pylist() == [0.5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t = 2", [Compare("t", "=", 2)]),
        ("2.0 < a", [Compare("a", ">", 2)]),
        ("t < 300", [None]),
        ("a IN (1, 2) AND s LIKE 'x%'", [In("a", (1, 2)), StartsWith("s", "x")]),
        ("day = '2024-01-02'", [Compare("day", "=", 19724)]),
        ("e = 0.1", [Compare("e", "=", Decimal("0.10"))]),
        ("z > TIMESTAMP '1970-01-01 00:00:01.5'", [Compare("z", ">", (1500, 0))]),
        ("ns > TIMESTAMP_NTZ '1970-01-01'", [None]),
        ("yes", [Compare("yes", "=", True)]),
        ("a IS NOT NULL AND upper(s) = 'X'", [IsNotNull("a"), None]),
        ("a = 1 OR upper(s) = 'X'", [None]),
        ("s LIKE '%x'", [None]),
        ("array_contains(tags, 'x')", [HasAny("tags", ("x",))]),
        ("NOT arrays_overlap(array('y', NULL), tags)", [Not(HasAny("tags", ("y",)))]),
        ("array_contains(few, 5) AND array_contains(few, 100000)", [HasAny("few", (5,)), None]),
        ("array_contains(tags, s) OR array_contains(tags, 'x')", [None]),
        ("array_contains(moments, TIMESTAMP_NTZ '1970-01-01 00:00:00.001002')", [HasAny("moments", ((1, 2000),))]),
        ("s LIKE 'x/%' ESCAPE '/'", [None]),
        ("s LIKE 'x//%' ESCAPE '/'", [None]),
    ],
)
def test_what_prunes(text: str, expected: list[Predicate | None]) -> None:
    assert pushed(text) == expected


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a >", InvalidOptionError, "is not valid SQL"),
        ("a", InvalidOptionError, "it is of type INT, not a condition"),
        ("nothing = 1", ColumnNotFoundError, "names the column 'nothing'"),
        ("r.nothing = 1", ColumnNotFoundError, "has no field 'nothing'"),
        ("TRY_CAST(s AS INT) = 1", UnsupportedFeatureError, "TRY_CAST"),
        ("CASE WHEN a = 1 THEN TRUE END", UnsupportedFeatureError, "CASE WHEN"),
        ("a IN (SELECT 1)", UnsupportedFeatureError, "SELECT 1"),
        ("SELECT 1", UnsupportedFeatureError, "SELECT 1"),
        ("rand() > 0", UnsupportedFeatureError, "RAND"),
        ("r = r", UnsupportedFeatureError, "ROW"),
        ("yes > 1", UnsupportedFeatureError, "cannot compare"),
        ("e / 2 > 1", UnsupportedFeatureError, "/ of DECIMAL"),
        ("trim(BOTH 'x' FROM s) = 's'", UnsupportedFeatureError, "TRIM"),
        ("array_contains(tags, 1)", UnsupportedFeatureError, "compare elements of type STRING with INT"),
        ("array_contains(numbers, 0.5)", UnsupportedFeatureError, "compare elements of type DOUBLE with DECIMAL(1, 1)"),
        ("array_contains(days, '2024-01-01')", UnsupportedFeatureError, "compare elements of type DATE"),
        ("array_contains(tags, NULL)", UnsupportedFeatureError, "NULL has no type"),
        ("array_contains(s, 'x')", UnsupportedFeatureError, "it takes an ARRAY"),
        ("array_contains(array('x'), s)", UnsupportedFeatureError, "ARRAY('x')"),
        ("array_has(tags, 'x')", UnsupportedFeatureError, "ARRAY_HAS"),
        ("arrays_overlap(tags, tags)", UnsupportedFeatureError, "ARRAYS_OVERLAP(tags, tags)"),
        ("arrays_overlap(tags, array(s))", UnsupportedFeatureError, "elements that are not constants"),
        ("s LIKE s", UnsupportedFeatureError, "a pattern that is not a constant"),
        (r"s LIKE 'a\\b'", InvalidOptionError, "LIKE pattern"),
        ("day = 'soon'", InvalidDataError, "cannot cast the value 'soon'"),
        ("z > 'soon'", InvalidDataError, "'soon'"),
    ],
)
def test_what_is_refused(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="where") as raised:
        Condition.of(text, FIELDS, UTC)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "a + 2147483647 > 0",
        "1 / (a - 1) > 0",
        "a % (a - 1) = 0",
        "CAST(s AS INT) = 1",
        "Text = 1",
        "CAST(d AS INT) = 1",
    ],
)
def test_errors_of_ansi_mode(text: str) -> None:
    with pytest.raises(InvalidDataError, match="where"):
        kept(text)


@given(
    st.lists(st.one_of(st.none(), st.integers(-128, 127))),
    st.integers(-300, 300),
    st.sampled_from(["<", "<=", "=", ">", ">=", "<>"]),
)
def test_a_small_type_and_any_constant(values: list[int | None], constant: int, operator: str) -> None:
    """A constant that the column's type cannot hold compares as in the wider type."""
    rows = pa.record_batch({"n": pa.array(values, pa.int8())})
    condition = Condition.of(f"n {operator} {constant}", table_fields(rows.schema), UTC)
    python = {"=": "==", "<>": "!="}.get(operator, operator)
    wanted = [v for v in values if v is not None and eval(f"{v} {python} {constant}")]  # noqa: S307  numbers
    assert condition.filter(rows).column("n").to_pylist() == wanted
