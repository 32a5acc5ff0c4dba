"""Simple conditions are read without sqlglot, and have the trees that sqlglot's texts have."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.spark import Spark

from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_core.spec.types import INT, DataField
from paimon_sql.python.where.binding import bind
from paimon_sql.python.where.simple import bind_simple
from tests.unit.python.test_where import FIELDS, UTC

SIMPLE = [
    "n = 4",
    "n=4",
    "  n == -4 ",
    "n != 3 AND a <> 2",
    "n >= 1 and a < 2 And t <= 3",
    "n = 2147483647",
    "a = -2147483648",
    "n = 2147483648",
    "n = 9223372036854775807",
    "n = -9223372036854775808",
    "n > 1.5",
    "e = -2.25",
    "d = 0.5D",
    "d > -4d",
    "f <= 1.5",
    "t = 300",
    "s = 'x%'",
    "s = ''",
    "s > 'Äß -- x'",
    "Text = '12'",
    "Text = 12",
    "s <=> 'a'",
    "day = DATE '2024-01-02'",
    "day > '2024-01-02'",
    "ts = timestamp '2024-01-01 04:00:00'",
    "z >= TIMESTAMP '2024-01-01 04:00:00+02:00'",
    "ns < TIMESTAMP '2024-01-01'",
    "n IN (1, 2, 300)",
    "t in(1,1000)",
    "s IN ('a', 'b,)')",
    "d IN (1.5, 2)",
    "day IN (DATE '2024-01-01') AND n = 1",
]
OTHERS = [
    "",
    "n = 4 OR n = 5",
    "n = 4 AND",
    "n = 4 AND ",
    "AND n = 4",
    "n = 4 n = 5",
    "4 = n",
    "N = 4",  # names in another case
    "r.x = 1",
    "n = a",
    "n = 4 -- comment",
    "n = 4L",
    "n = 4e1",
    "n = - 4",
    "n = +4",
    "s = 'a' 'b'",
    "s = 'it''s'",
    r"s = 'a\n'",
    's = "a"',
    "s = r'a'",
    "n IN ()",
    "n IN (1, NULL)",
    "n = NULL",
    "yes",
    "NOT yes",
    "n = 4;",
    "n = 4)",
    "n BETWEEN 1 AND 2",
    "nothing = 1",
]


@pytest.mark.parametrize("text", SIMPLE)
def test_a_simple_condition(text: str) -> None:
    found = bind_simple(text, FIELDS, UTC)
    assert found is not None
    assert found == bind(text, FIELDS, UTC)


@pytest.mark.parametrize("text", OTHERS)
def test_other_texts_are_left_to_sqlglot(text: str) -> None:
    assert bind_simple(text, FIELDS, UTC) is None


_CONSTANTS = st.one_of(
    st.integers(-(2**66), 2**66).map(str),
    st.decimals(-(10**9), 10**9, places=3).map(str),
    st.text("aä%_;-\n\t 0'\\", max_size=4).map("'{}'".format),
    st.sampled_from(["DATE '2024-01-01'", "DATE 'x'", "TIMESTAMP '2024-01-01 10:00:00'", "1D", "true", "NULL"]),
)
_NAMES = st.sampled_from([f.name for f in FIELDS])
_PARTS = st.one_of(
    st.tuples(_NAMES, st.sampled_from(["=", "<", ">=", "<>", "<=>"]), _CONSTANTS).map(" ".join),
    st.tuples(_NAMES, st.lists(_CONSTANTS, min_size=1, max_size=3)).map(
        lambda part: f"{part[0]} IN ({', '.join(part[1])})"
    ),
)


@given(st.lists(_PARTS, min_size=1, max_size=3).map(" AND ".join))
def test_a_text_has_the_same_tree_or_fails_alike(text: str) -> None:
    try:
        found = bind_simple(text, FIELDS, UTC)
    except PaimonError as error:
        with pytest.raises(type(error)):
            bind(text, FIELDS, UTC)
        return
    assert found is None or found == bind(text, FIELDS, UTC)


@pytest.mark.parametrize("form", ["n = {}", "n = -{}", "n > {}.5", "n IN (1, {})", "n = {}D"])
def test_a_number_with_thousands_of_digits(form: str) -> None:
    for read in (bind_simple, bind):
        with pytest.raises(UnsupportedFeatureError, match="cannot evaluate 1111"):
            read(form.format("1" * 5_000), FIELDS, UTC)


def test_columns_with_the_names_of_words(caplog: pytest.LogCaptureFixture) -> None:
    """Spark takes nearly all words as names. sqlglot refuses some of them, and reads others as expressions."""
    caplog.set_level(logging.CRITICAL)
    words = {w.lower() for w in (*Spark.Tokenizer.KEYWORDS, *(t.name for t in Spark.Parser.NO_PAREN_FUNCTIONS))}
    fields = [DataField(id=i, name=w, type=INT) for i, w in enumerate(sorted(w for w in words if w.isidentifier()))]
    assert len(fields) > 150
    for field in fields:
        found = bind_simple(f"{field.name} = 4", fields, UTC)
        with suppress(PaimonError):
            assert found in (None, bind(f"{field.name} = 4", fields, UTC))
    for word in ("null", "true", "current_date", "case", "not"):
        assert bind_simple(f"{word} = 4", fields, UTC) is None
    assert bind_simple("comment = 4", fields, UTC) is not None
