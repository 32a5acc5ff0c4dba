"""Filters that follow for generated columns: every row of a filter satisfies them, also in regions of time zones."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.expressions.derived import Made, derived, made_by
from paimon_core.expressions.functions import MakingFunction, function_of
from paimon_core.expressions.predicate import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
    columns,
    describe,
)
from paimon_core.spec.types import DATE, INT, STRING, DataField, DataType, Kind, TimeType
from tests.support.examples import examples

LTZ, NTZ = TimeType(Kind.TIMESTAMP_LTZ), TimeType(Kind.TIMESTAMP)
EPOCH = datetime(1970, 1, 1)
ZONES = {"UTC": 0, "Europe/Berlin": None, "Pacific/Apia": None, "America/St_Johns": None}
EXPRESSIONS: dict[str, DataType] = {
    "CAST(ts AS DATE)": DATE,
    "to_date(ts)": DATE,
    "trunc(ts, 'MM')": DATE,
    "CAST(date_trunc('WEEK', ts) AS DATE)": DATE,
    "trunc(ts, 'quarter')": DATE,
    "date_trunc('HOUR', ts)": LTZ,
    "date_trunc('month', `ts`)": LTZ,
    "date_format(ts, 'yyyy-MM-dd')": STRING,
    "date_format(ts, 'yyyyMMdd HH')": STRING,
    "CAST(CAST(ts AS DATE) AS STRING)": STRING,
    "year(ts)": INT,
    "month(ts)": INT,
    "dayofmonth(ts)": INT,
    "hour(ts)": INT,
}


def made(kind: DataType, zone: str = "UTC") -> list[Made]:
    source = DataField(id=0, name="ts", type=kind)
    fields = [DataField(id=i + 1, name=text, type=t) for i, (text, t) in enumerate(EXPRESSIONS.items())]
    found = [made_by(f, f.name, [source], ZONES[zone]) for f in fields]
    assert all(found)
    return [m for m in found if m is not None]


def stored(moment: datetime) -> tuple[int, int]:
    millis, micros = divmod((moment - EPOCH) // timedelta(microseconds=1), 1000)
    return millis, micros * 1000


def row(value: Any, zone: str) -> dict[str, Any]:
    """Return a row with the values that the expressions have, by Python's own dates."""
    if value is None:
        return dict.fromkeys(["ts", *EXPRESSIONS])
    if isinstance(value, date) and not isinstance(value, datetime):
        wall, key = datetime(value.year, value.month, value.day), (value - date(1970, 1, 1)).days
    else:
        wall = value.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        key = stored(value)
    day = wall.date()
    starts = {
        "MM": day.replace(day=1),
        "week": day - timedelta(days=day.weekday()),
        "quarter": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
    }

    def days(found: date) -> int:
        return (found - date(1970, 1, 1)).days

    def instant(found: datetime) -> tuple[int, int]:
        known = found.replace(tzinfo=ZoneInfo(zone), fold=wall.fold).astimezone(UTC).replace(tzinfo=None)
        return stored(known)

    values = [
        *(days(day), days(day), days(starts["MM"]), days(starts["week"]), days(starts["quarter"])),
        instant(wall.replace(minute=0, second=0, microsecond=0)),
        instant(wall.replace(day=1, hour=0, minute=0, second=0, microsecond=0)),
        *(f"{day.isoformat()}", f"{wall:%Y%m%d %H}", day.isoformat()),
        *(day.year, day.month, day.day, wall.hour),
    ]
    return {"ts": key, **dict(zip(EXPRESSIONS, values, strict=True))}


def holds(predicate: Predicate, values: dict[str, Any]) -> bool | None:
    match predicate:
        case And(children):
            found = [holds(c, values) for c in children]
            return False if False in found else None if None in found else True
        case Or(children):
            found = [holds(c, values) for c in children]
            return True if True in found else None if None in found else False
        case Not(child):
            inner = holds(child, values)
            return None if inner is None else not inner
        case IsNull(column):
            return values[column] is None
        case IsNotNull(column):
            return values[column] is not None
        case In(column, wanted):
            return None if values[column] is None else values[column] in wanted
        case StartsWith(column, prefix):
            return None if values[column] is None else values[column].startswith(prefix)
        case Compare(column, op, wanted):
            value = values[column]
            if value is None:
                return False if op == "<=>" else None
            tests = {"<": value < wanted, "<=": value <= wanted, ">": value > wanted, ">=": value >= wanted}
            return {**tests, "=": value == wanted, "<=>": value == wanted, "!=": value != wanted}[op]


MOMENTS = st.datetimes(datetime(1890, 1, 2), datetime(2200, 1, 1)) | st.datetimes(
    datetime(2023, 12, 30), datetime(2024, 1, 2)
)
DAYS = st.dates(date(1890, 1, 2), date(2200, 1, 1)) | st.dates(date(2023, 12, 30), date(2024, 1, 2))
OPS = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "<=>"])


def predicates(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    leaf = st.one_of(
        st.builds(Compare, st.just("ts"), OPS, values),
        st.builds(In, st.just("ts"), st.lists(values | st.none(), max_size=4).map(tuple)),
        st.sampled_from([IsNull("ts"), IsNotNull("ts")]),
    )
    parts = lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple)  # noqa: E731
    return st.recursive(
        leaf, lambda inner: st.one_of(st.builds(And, parts(inner)), st.builds(Or, parts(inner)), st.builds(Not, inner))
    )


@settings(max_examples=examples(400))
@given(data=st.data(), zone=st.sampled_from(sorted(ZONES)))
def test_every_matching_row_satisfies_the_derived_filter(data: st.DataObject, zone: str) -> None:
    is_date = data.draw(st.booleans())
    values = DAYS if is_date else MOMENTS
    key = (lambda v: (v - date(1970, 1, 1)).days) if is_date else stored
    predicate = data.draw(predicates(values.map(key)))
    found = derived(predicate, made(DATE if is_date else LTZ, zone))
    for value in data.draw(st.lists(values | st.none(), min_size=1, max_size=8)):
        one = row(value, zone)
        if found is not None and holds(predicate, one) is True:
            assert holds(found, one) is True, describe(found)


@pytest.mark.parametrize(
    ("kind", "value", "stored_as"),
    [(NTZ, stored(datetime(2011, 12, 30, 12)), "2011-12-31 12"), (DATE, 15_338, "2011-12-31 00")],
)
def test_wall_clocks_that_a_zone_skips(kind: DataType, value: Any, stored_as: str) -> None:
    """Functions of moments see a later wall clock: Pacific/Apia skipped 30 December 2011."""
    day = date.fromisoformat(stored_as[:10])
    values: dict[str, Any] = {
        "date_format(ts, 'yyyy-MM-dd HH')": stored_as,
        "CAST(date_trunc('DAY', ts) AS DATE)": (day - date(1970, 1, 1)).days,
        "year(ts)": 2011,
        "hour(ts)": int(stored_as[11:]),
    }
    types = (STRING, DATE, INT, INT)
    fields = [DataField(id=i + 1, name=n, type=t) for i, (n, t) in enumerate(zip(values, types, strict=True))]
    known = [made_by(f, f.name, [DataField(id=0, name="ts", type=kind)], None) for f in fields]
    for op in ("=", "<=", ">=", "<=>"):
        for made in known:
            assert made is not None
            found = derived(Compare("ts", op, value), [made])
            assert found is None or holds(found, values) is True, (op, describe(found))


def test_a_day_in_a_gap_at_midnight() -> None:
    """`hour` of a DATE is the hour of its first moment, which is 1 if the zone skips the hour from midnight."""
    source = DataField(id=0, name="ts", type=DATE)
    made = made_by(DataField(id=1, name="hr", type=INT), "hour(ts)", [source], None)
    assert made is not None
    assert derived(Compare("ts", "=", 15_338), [made]) is None


def test_texts_of_the_julian_calendar() -> None:
    """A session of `spark.sql.legacy.timeParserPolicy=LEGACY` writes 1500-01-01 as 1499-12-22, its Julian date."""
    dates = DataField(id=0, name="ts", type=DATE)
    text, day = DataField(id=1, name="t", type=STRING), DataField(id=2, name="d", type=INT)
    columns = [made_by(text, "date_format(ts, 'yyyy-MM-dd')", [dates], 0), made_by(day, "year(ts)", [dates], 0)]
    known = [column for column in columns if column is not None]

    def filters(op: Any, value: date) -> str:
        found = derived(Compare("ts", op, value.toordinal() - date(1970, 1, 1).toordinal()), known)
        return "" if found is None else describe(found)

    assert "t" not in filters("=", date(1500, 1, 1)) and "d = 1500" in filters("=", date(1500, 1, 1))
    assert "t" not in filters(">=", date(1500, 1, 1)) and "t" not in filters("<", date(1500, 1, 1))
    assert "t <=" in filters("<=", date(1600, 1, 1)) and "t =" in filters("=", date(1600, 1, 1))


def test_what_follows() -> None:
    source = DataField(id=0, name="ts", type=NTZ)
    day = made_by(DataField(id=1, name="dt", type=DATE), "CAST(ts AS DATE)", [source], None)
    parts = [made_by(DataField(id=1, name=n, type=INT), f"{n}(ts)", [source], None) for n in ("year", "month")]
    assert day is not None
    first, next_day = stored(datetime(2024, 1, 31, 5)), stored(datetime(2024, 2, 1))
    one_day = And((Compare("ts", ">=", first), Compare("ts", "<", next_day)))
    assert describe(derived(one_day, [day])) == "dt >= 19753 AND dt <= 19753"  # type: ignore[arg-type]
    known = [p for p in parts if p is not None]
    assert describe(derived(Compare("ts", ">", first), known)) == (  # type: ignore[arg-type]
        "year > 2024 OR (year = 2024 AND month >= 1)".replace("(", "").replace(")", "")
    )
    assert derived(Or((Compare("ts", ">", first), Compare("other", "=", 1))), [day]) is None
    assert derived(Not(Compare("ts", ">", first)), [day]) is None
    many = In("ts", tuple((i, 0) for i in range(0, 86_400_000 * 300, 86_400_000)))
    assert describe(derived(many, [day])) == "dt >= 0 AND dt <= 299"  # type: ignore[arg-type]


def test_first_characters() -> None:
    field, source = DataField(id=1, name="p", type=STRING), DataField(id=0, name="s", type=STRING)
    for text in ("substring(s, 1, 2)", "left(s, 2)", "SUBSTR(`s`, 0, 2)"):
        made = made_by(field, text, [source], None)
        assert made is not None
        for predicate, wanted in (
            (Compare("s", "=", "abc"), Compare("p", "=", "ab")),
            (Compare("s", "<", "abc"), Compare("p", "<=", "ab")),
            (StartsWith("s", "abc"), StartsWith("p", "ab")),
            (StartsWith("s", "a"), StartsWith("p", "a")),
            (IsNull("s"), IsNull("p")),
        ):
            assert derived(predicate, [made]) in (wanted, And((wanted,)))
        assert made.source is source and columns(predicate) == {"s"}


@pytest.mark.parametrize(
    "text",
    [
        "CAST(ts AS DATE) + 1",
        "date_format(ts, 'dd-MM-yyyy')",
        "date_format(ts, 'yyyy-MM-dd''x')",
        "substring(s, 2, 3)",
        "trunc(ts, 'DAY')",
        "minute(ts)",
        "DATE '2024-01-31'",
        "ts",
        "f(",
        "year(ts",
        "((((",
    ],
)
def test_other_expressions_imply_nothing(text: str) -> None:
    assert function_of(text) is None


def test_functions() -> None:
    assert function_of(" ( date ( `t``s` ) ) ") == MakingFunction("date", "t`s")
    assert function_of("CAST(date_trunc('HOUR', ts) AS DATE)") == MakingFunction("date", "ts", "day", by_moment=True)
    assert function_of('date_format(TS, "yyyy")') is None
    assert function_of("date_format(TS, 'yyyy-MM-ddTHH')") is None
