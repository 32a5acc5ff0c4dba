"""Parts of predicates."""

from __future__ import annotations

from paimon_core.expressions.predicate import (
    And,
    Compare,
    HasAny,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    StartsWith,
    columns,
    conjuncts,
    describe,
    only_on,
)

A, B, C = Compare("a", "=", 1), In("b", (1,)), Not(IsNull("c"))


def test_columns_of_every_shape() -> None:
    assert columns(And((A, Or((B, C))))) == {"a", "b", "c"}
    assert columns(And(())) == frozenset()


def test_conjuncts_flatten_nested_ands_only() -> None:
    assert conjuncts(And((A, And((B, C))))) == (A, B, C)
    assert conjuncts(Or((A, B))) == (Or((A, B)),)


def test_only_on_keeps_the_conjuncts_that_touch_nothing_else() -> None:
    assert only_on(And((A, Or((A, B)), C)), ["a", "c"]) == And((A, C))
    assert only_on(And((A, B)), ["b"]) == B
    assert only_on(Or((A, B)), ["a"]) is None


def test_describe_reads_like_sql() -> None:
    either = Or((Compare("a", "=", 1), StartsWith("s", "x")))
    predicate = And((either, Not(In("b", (1, 2))), IsNull("c"), IsNotNull("d")))
    assert describe(predicate) == "(a = 1 OR s LIKE 'x%') AND NOT (b IN (1, 2)) AND c IS NULL AND d IS NOT NULL"
    assert describe(HasAny("tags", ("a", "b"))) == "tags has one of ('a', 'b')"
