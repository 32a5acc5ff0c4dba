"""Indexes never lose a row that matches, and bitmaps name exactly those that do."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from paimon_core.expressions.predicate import And, Compare, In, IsNotNull, IsNull, Not, Or, Predicate, StartsWith
from paimon_core.indexes.file_index.registry import INDEX_TYPES
from paimon_core.indexes.matching_rows import matching_rows
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
    DataType,
    DecimalType,
    Kind,
    LengthType,
    TimeType,
)
from tests.support.examples import examples
from tests.support.file_indexes import indexed
from tests.unit.expressions.test_prune import OPS, evaluate

FLOATS = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 2.5, math.inf, math.nan])
TEXTS = st.text("ab\0\U0001f600", max_size=3)
MILLIS, MICROS = st.just(0), st.integers(0, 3).map(lambda n: n * 1000)
TIMES = st.integers(-3, 3)


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-3, 3) | st.sampled_from([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1])


COLUMNS: dict[str, tuple[DataType, st.SearchStrategy[Any]]] = {
    "boolean": (BOOLEAN, st.booleans()),
    "tinyint": (TINYINT, whole(8)),
    "smallint": (SMALLINT, whole(16)),
    "int": (INT, whole(32)),
    "bigint": (BIGINT, whole(64)),
    "date": (DATE, whole(32)),
    "time": (TimeType(Kind.TIME, precision=3), st.integers(0, 4)),
    "float": (FLOAT, FLOATS),
    "double": (DOUBLE, FLOATS),
    "string": (STRING, TEXTS),
    "char": (LengthType(Kind.CHAR, length=3), st.text("ab", max_size=3)),
    "bytes": (BYTES, st.binary(max_size=3)),
    "decimal": (DecimalType(precision=10, scale=2), st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2))),
    "long decimal": (DecimalType(precision=38), st.integers(-2, 2).map(lambda n: Decimal(n * 10**18))),
    "millis": (TimeType(Kind.TIMESTAMP, precision=3), st.tuples(TIMES, MILLIS)),
    "micros": (TimeType(Kind.TIMESTAMP_LTZ, precision=6), st.tuples(TIMES, MICROS)),
    "nanos": (TimeType(Kind.TIMESTAMP, precision=9), st.tuples(TIMES, st.integers(0, 2001))),
}
# values that are written, and those of predicates, which may be finer
LITERALS = {
    "decimal": st.integers(-3000, 3000).map(lambda n: Decimal(n).scaleb(-3)),
    "millis": st.tuples(TIMES, MICROS),
    "micros": st.tuples(TIMES, st.integers(0, 2001)),
}
CASES = [(name, t) for name, (data_type, _) in COLUMNS.items() for t, i in INDEX_TYPES.items() if i.admits(data_type)]


def leaves(name: str, of: str) -> st.SearchStrategy[Predicate]:
    value = st.none() | COLUMNS[of][1] | LITERALS.get(of, st.nothing())
    parts: list[st.SearchStrategy[Predicate]] = [
        st.builds(Compare, st.just(name), st.sampled_from(OPS), value),
        st.builds(In, st.just(name), st.lists(value, max_size=3).map(tuple)),
        st.builds(IsNull, st.just(name)),
        st.builds(IsNotNull, st.just(name)),
    ]
    if of == "string":
        parts.append(st.builds(StartsWith, st.just(name), TEXTS))
    return st.one_of(parts)


def compound(leaf: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
            st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
            st.builds(Not, inner),
        ),
        max_leaves=5,
    )


@pytest.mark.parametrize(("of", "index_type"), CASES)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_no_matching_row_is_lost(of: str, index_type: str, data: st.DataObject) -> None:
    data_type, domain = COLUMNS[of]
    values = data.draw(st.lists(st.none() | domain, min_size=1, max_size=8))
    predicate = data.draw(compound(leaves("c", of)))
    rows = matching_rows(predicate, indexed([("c", values, data_type, [index_type])]))
    matching = {i for i, v in enumerate(values) if evaluate(predicate, {"c": v})}
    assert rows is None or matching <= set(rows) <= set(range(len(values)))


@settings(max_examples=examples(100))
@given(data=st.data())
def test_bitmaps_of_two_columns_are_exact(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    of = {n: data.draw(st.sampled_from(["int", "string", "double", "boolean"])) for n in "ab"}
    columns = {n: data.draw(st.lists(st.none() | COLUMNS[of[n]][1], min_size=count, max_size=count)) for n in "ab"}
    predicate = data.draw(compound(leaves("a", of["a"]) | leaves("b", of["b"])))
    assume("Not(" not in repr(predicate) or "StartsWith(" not in repr(predicate))  # which has no opposite
    rows = matching_rows(predicate, indexed((n, v, COLUMNS[of[n]][0], ["range-bitmap"]) for n, v in columns.items()))
    matching = {i for i in range(count) if evaluate(predicate, {n: v[i] for n, v in columns.items()})}
    assume(rows is not None)
    assert set(rows or ()) == matching


def test_what_no_index_knows_is_possible() -> None:
    columns = indexed([("a", [1, 2, 3], INT, ["bitmap"]), ("s", ["x", "y", "z"], STRING, ["bloom-filter"])])
    one, unknown = Compare("a", "=", 1), Compare("other", "=", 1)
    assert matching_rows(unknown, columns) is None
    assert set(matching_rows(And((one, unknown)), columns) or ()) == {0}
    assert matching_rows(Or((one, unknown)), columns) is None
    assert set(matching_rows(Or((one, Compare("s", "=", "missing"))), columns) or ()) == {0}
    assert matching_rows(Compare("s", "=", "missing"), columns) == BitMap()
    assert matching_rows(Compare("a", "<=>", None), columns) == BitMap()
    assert set(matching_rows(Not(Compare("a", "<=>", 1)), columns) or ()) == {1, 2}
    assert matching_rows(Not(Compare("s", "<=>", "x")), columns) is None
