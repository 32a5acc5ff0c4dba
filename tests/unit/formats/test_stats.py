"""Statistics modes: what is kept, and that cut bounds still bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import InvalidOptionError
from paimon_core.formats.stats import COUNTS, FULL, NONE, StatsMode, column_modes, parse_stats_mode, value_stats
from paimon_core.options import TableOptions
from paimon_core.spec.stats import EMPTY_STATS, UNKNOWN, ColumnStats, decode_stats
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, Kind

FIELDS = [DataField(id=i, name=n, type=t) for i, (n, t) in enumerate({"a": INT, "s": STRING, "b": INT}.items())]


@given(st.text() | st.binary(), st.integers(1, 4))
def test_truncated_bounds_still_bound(value: str | bytes, length: int) -> None:
    cut = StatsMode(length=length).apply(ColumnStats(value, value, 0))
    if cut.maximum is None:
        assert cut == ColumnStats(null_count=0)
        return
    assert cut.minimum <= value <= cut.maximum
    assert len(cut.minimum) <= length and len(cut.maximum) <= length


@pytest.mark.parametrize(
    ("maximum", "expected"),
    [
        ("abc", "ac"),
        ("ab", "ab"),
        ("a\U0010ffffx", "b"),
        ("a\ud7ffx", "a\ue000"),
        ("\U0010ffff" * 3, None),
        (b"a\xffx", b"b"),
        (b"\xff\xff\xff", None),
        (17, 17),
    ],
)
def test_upper_bounds_are_rounded_up(maximum: object, expected: object) -> None:
    cut = StatsMode(length=2).apply(ColumnStats(maximum, maximum, 3))
    assert cut.maximum == expected
    assert cut.null_count == 3


def test_modes_per_column() -> None:
    options = TableOptions({"metadata.stats-mode": "counts", "fields.s.stats-mode": "TRUNCATE(4)"})
    assert column_modes(options, FIELDS) == (COUNTS, StatsMode(length=4), COUNTS)
    assert column_modes(TableOptions({}), FIELDS) == (StatsMode(length=16),) * 3
    first = TableOptions({"metadata.stats-keep-first-n-columns": "1", "metadata.stats-mode": "full"})
    assert column_modes(first, FIELDS) == (FULL, NONE, NONE)
    for wrong in ("truncate(0)", "most", "truncate"):
        with pytest.raises(InvalidOptionError, match="stats-mode"):
            parse_stats_mode("metadata.stats-mode", wrong)


def test_columns_without_statistics_are_left_out() -> None:
    known = [ColumnStats(1, 2, 0), ColumnStats("a", "b", 1), ColumnStats(3, 4, 0)]
    stats, names = value_stats(FIELDS, [FULL] * 3, known)
    assert names is None
    assert decode_stats([f.type for f in FIELDS], stats) == tuple(known)
    assert value_stats(FIELDS, [NONE] * 3, known) == (EMPTY_STATS, ())
    stats, names = value_stats(FIELDS, [FULL, NONE, COUNTS], known)
    assert names == ("a", "b")
    assert decode_stats([INT, INT], stats) == (ColumnStats(1, 2, 0), ColumnStats(None, None, 0))
    nested = DataField(id=4, name="l", type=CollectionType(Kind.ARRAY, True, INT))
    assert value_stats([nested], [FULL], [UNKNOWN])[1] == ()
