"""Pruning is sound: no predicate that a row satisfies is ever judged impossible."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.expressions.predicate import And, Compare, In, IsNotNull, IsNull, Not, Or, Predicate, StartsWith
from paimon_core.expressions.prune import may_match
from paimon_core.spec.stats import UNKNOWN, ColumnStats

OPS = ["=", "!=", "<", "<=", ">", ">=", "<=>"]
DOMAINS = {
    "int": st.integers(-5, 5),
    "float": st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 2.5, math.inf, math.nan]),
    "str": st.text("ab\U0001f600", max_size=3),
    "bool": st.booleans(),
    "ts": st.tuples(st.integers(-2, 2), st.integers(0, 2)),
}


def order(value: Any) -> tuple[bool, Any]:
    return (True, 0) if value != value else (False, value)


def evaluate(predicate: Predicate, row: dict[str, Any]) -> bool | None:
    """SQL's answer for one row."""
    match predicate:
        case And(children) | Or(children):
            decisive = isinstance(predicate, Or)
            answers = [evaluate(c, row) for c in children]
            return decisive if decisive in answers else None if None in answers else not decisive
        case Not(child):
            answer = evaluate(child, row)
            return None if answer is None else not answer
        case IsNull(column):
            return row[column] is None
        case IsNotNull(column):
            return row[column] is not None
        case StartsWith(column, prefix):
            return None if row[column] is None else row[column].startswith(prefix)
        case In(column, values):
            return evaluate(Or(tuple(Compare(column, "=", v) for v in values)), row)
        case Compare(column, op, value):
            return compare(op, row[column], value)


def compare(op: str, left: Any, right: Any) -> bool | None:
    if op == "<=>":
        return left is right if None in (left, right) else order(left) == order(right)
    if left is None or right is None:
        return None
    a, b = order(left), order(right)
    return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def stats_of(values: list[Any], with_bounds: bool, with_nulls: bool) -> ColumnStats:
    present = sorted((v for v in values if v is not None), key=order)
    low, high = (present[0], present[-1]) if present and with_bounds else (None, None)
    return ColumnStats(low, high, values.count(None) if with_nulls else None)


def leaves(name: str) -> st.SearchStrategy[Predicate]:
    value = st.none() | DOMAINS[name]
    parts: list[st.SearchStrategy[Predicate]] = [
        st.builds(Compare, st.just(name), st.sampled_from(OPS), value),
        st.builds(In, st.just(name), st.lists(value, max_size=3).map(tuple)),
        st.builds(IsNull, st.just(name)),
        st.builds(IsNotNull, st.just(name)),
    ]
    if name == "str":
        parts.append(st.builds(StartsWith, st.just(name), DOMAINS["str"]))
    return st.one_of(parts)


predicates = st.recursive(
    st.one_of([leaves(n) for n in DOMAINS]),
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=5,
)
rows = st.lists(st.fixed_dictionaries({n: st.none() | d for n, d in DOMAINS.items()}), max_size=4)


@given(predicates, rows, st.booleans(), st.booleans())
def test_never_prunes_a_matching_row(
    predicate: Predicate, data: list[dict[str, Any]], with_bounds: bool, with_nulls: bool
) -> None:
    known = {n: stats_of([r[n] for r in data], with_bounds, with_nulls) for n in DOMAINS}
    if any(evaluate(predicate, row) for row in data):
        assert may_match(predicate, known.__getitem__, len(data))


FIVE = ColumnStats(3, 7, 0)


@pytest.mark.parametrize(
    ("predicate", "stats", "expected"),
    [
        (Compare("c", "=", 8), FIVE, False),
        (Compare("c", "<", 3), FIVE, False),
        (Compare("c", "<=", 3), FIVE, True),
        (Compare("c", ">", 7), FIVE, False),
        (Compare("c", ">=", 8), FIVE, False),
        (Compare("c", "!=", 4), ColumnStats(4, 4, 0), False),
        (Not(Compare("c", ">=", 3)), FIVE, False),
        (Not(Compare("c", "=", 3)), FIVE, True),
        (IsNull("c"), FIVE, False),
        (IsNotNull("c"), ColumnStats(None, None, 10), False),
        (Compare("c", "<=>", None), FIVE, False),
        (Compare("c", "=", None), FIVE, False),
        (Not(In("c", (1, None))), FIVE, False),
        (In("c", (1, 2)), FIVE, False),
        (In("c", ()), FIVE, False),
        (Not(In("c", ())), ColumnStats(None, None, 10), True),
        (Or((Compare("c", "=", 1), Compare("c", "=", 9))), FIVE, False),
        (And((Compare("c", ">", 4), Compare("c", "<", 2))), FIVE, False),
        (Compare("c", ">", 10.0), ColumnStats(1.0, math.nan, 0), True),
        (Compare("c", "=", math.nan), ColumnStats(1.0, 2.0, 0), False),
        (Compare("c", "=", 0.0), ColumnStats(-0.0, -0.0, 0), True),
        (StartsWith("c", "b"), ColumnStats("ca", "cz", 0), False),
        (Not(StartsWith("c", "c")), ColumnStats("ca", "cz", 0), False),
        (Compare("c", "=", "text"), FIVE, True),
        (Compare("c", "=", 1), UNKNOWN, True),
    ],
)
def test_decisions(predicate: Predicate, stats: ColumnStats, expected: bool) -> None:
    assert may_match(predicate, {"c": stats}.__getitem__, 10) is expected
