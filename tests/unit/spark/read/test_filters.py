"""Which filters Spark's own Parquet scan gets: not those by which it would lose rows."""

from __future__ import annotations

import pytest

from paimon_core.expressions.predicate import And, Compare, In, IsNotNull, Not, Or, Predicate, StartsWith
from paimon_core.expressions.terms import Call, LiteralValue, Reference, Term, predicate_of, respelled
from paimon_core.spec.types import BOOLEAN, DATE, DOUBLE, FLOAT, INT, STRING, DataField, Kind, TimeType
from paimon_sql.spark.jvm.scans.pushdown import _term
from paimon_sql.spark.read.filters import spark_prunes_soundly

TYPES = {"i": INT, "s": STRING, "f": FLOAT, "d": DOUBLE, "day": DATE, "t": TimeType(Kind.TIMESTAMP)}
FIELDS = {name: DataField(id=0, name=name, type=t) for name, t in TYPES.items()}
GREGORIAN_DAY = -141_427
ON_INT, ON_FLOAT = Compare("i", "=", GREGORIAN_DAY - 1), Compare("f", ">", 1.0)


@pytest.mark.parametrize(
    ("predicate", "sound"),
    [
        (ON_INT, True),
        (StartsWith("s", "a"), True),
        (ON_FLOAT, False),
        (IsNotNull("d"), False),
        (In("d", (1.0,)), False),
        (Compare("day", "=", GREGORIAN_DAY), True),
        (Compare("day", "=", GREGORIAN_DAY - 1), False),
        (In("day", (0, GREGORIAN_DAY - 1)), False),
        (IsNotNull("day"), True),
        (Compare("t", ">", (GREGORIAN_DAY * 86_400_000, 0)), True),
        (Compare("t", ">", (GREGORIAN_DAY * 86_400_000 - 1, 0)), False),
        (Not(ON_FLOAT), False),
        (And((ON_INT, ON_FLOAT)), False),
        (Or((ON_INT, StartsWith("s", "a"))), True),
    ],
)
def test_what_spark_may_prune_by(predicate: Predicate, sound: bool) -> None:
    assert spark_prunes_soundly(predicate, FIELDS) is sound


@pytest.mark.parametrize("literal", ["AlwaysTrue", "AlwaysFalse"])
def test_spark_writes_the_literals_of_booleans_as_predicates(literal: str) -> None:
    value, fields = literal == "AlwaysTrue", {"b": DataField(id=0, name="b", type=BOOLEAN)}

    def predicate(name: str, *terms: list[object]) -> Predicate | None:
        return predicate_of(_term(["call", name, ["field", ["b"]], *terms]), fields)

    assert predicate("<=>", ["call", literal]) == Compare("b", "<=>", value)
    assert predicate(">", ["call", literal]) == Compare("b", ">", value)
    assert predicate("IN", ["call", literal], ["literal", True]) == In("b", (value, True))
    assert predicate_of(_term(["call", literal]), fields) is None


def test_names_of_columns_are_spelled_otherwise_at_any_depth() -> None:
    def term(name: str) -> Term:
        is_x = Call("=", (Reference((name,)), LiteralValue("X")))
        return Call("NOT", (Call("OR", (is_x, Call("IS_NULL", (Reference((name,)),)))),))

    assert respelled(term("Day"), str.lower) == term("day")
    assert respelled(term("Day"), str) == term("Day")
