"""Arrow expressions keep every row that SQL keeps, for all kinds of literals."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.expressions.arrow import to_arrow
from paimon_core.expressions.predicate import And, Compare, In, IsNull, Not, Or, Predicate, StartsWith
from tests.support.examples import examples
from tests.unit.expressions.test_prune import DOMAINS, evaluate, predicates

SCHEMA = pa.schema(
    [
        ("int", pa.int32()),
        ("float", pa.float64()),
        ("str", pa.string()),
        ("bool", pa.bool_()),
        ("ts", pa.timestamp("us")),
        ("dt", pa.date32()),
        ("dec", pa.decimal128(9, 2)),
        ("bin", pa.binary()),
        ("tm", pa.time32("ms")),
    ]
)
ROWS = pa.RecordBatch.from_pylist(
    [
        {
            "int": 1,
            "float": 1.0,
            "str": "abc",
            "bool": True,
            "ts": datetime(1970, 1, 1, 0, 0, 1, 500),
            "dt": date(1970, 1, 3),
            "dec": Decimal("1.50"),
            "bin": b"\x01",
            "tm": 5,
        },
        {},
    ],
    schema=SCHEMA,
)


def kept(predicate: Predicate) -> int | None:
    condition = to_arrow(predicate, SCHEMA)
    return None if condition is None else condition.filter(ROWS).num_rows


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (Compare("ts", "=", (1000, 500_000)), 1),
        (Compare("ts", ">", (1000, 500_000)), 0),
        (Compare("ts", "=", (1000, 500)), None),  # finer than the column
        (Compare("dt", "<=", 2), 1),
        (Compare("tm", "=", 5), 1),
        (Compare("dec", "=", Decimal("1.5")), 1),
        (Compare("dec", "=", Decimal("1.555")), None),
        (Compare("bin", "=", b"\x01"), 1),
        (Compare("bool", "=", 1), None),
        (Compare("int", "=", 2**40), None),
        (Compare("int", "<=>", None), 1),
        (Compare("int", "<=>", 1), 1),
        (Compare("int", "=", None), 0),
        (Not(Compare("int", "<=>", 1)), 1),
        (In("str", ("abc", None)), 1),
        (Not(In("str", ("x", None))), 0),
        (Not(In("str", ("x",))), 1),
        (StartsWith("str", "ab"), 1),
        (Or((IsNull("int"), Compare("int", "=", 1))), 2),
        (And((Compare("int", "=", 1), Compare("bool", "=", 1))), 1),  # the second cannot be expressed
        (Compare("missing", "=", 1), None),
    ],
)
def test_rows_kept(predicate: Predicate, expected: int | None) -> None:
    assert kept(predicate) == expected


@settings(max_examples=examples(60))
@given(predicates, st.fixed_dictionaries({n: st.none() | d for n, d in DOMAINS.items() if n != "ts"}))
def test_never_loses_a_match(predicate: Predicate, row: dict[str, Any]) -> None:
    condition = to_arrow(predicate, SCHEMA)
    batch = pa.RecordBatch.from_pylist([row], schema=SCHEMA)
    if condition is not None and evaluate(predicate, {**row, "ts": None}):
        assert condition.filter(batch).num_rows == 1


@pytest.mark.parametrize(("listed", "stored"), [(-0.0, 0.0), (0.0, -0.0)])
def test_zeros_of_both_signs_are_one_value_in_a_list(listed: float, stored: float) -> None:
    batch = pa.RecordBatch.from_pylist([{"float": stored}], schema=SCHEMA)
    condition = to_arrow(In("float", (listed,)), SCHEMA)
    assert condition is not None
    assert condition.filter(batch).num_rows == 1
