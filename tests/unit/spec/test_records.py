"""Records as JSON, both ways."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from paimon_core.spec.records import Column, Record, nullable


@dataclass(frozen=True, kw_only=True)
class Inner:
    n: int
    m: int | None = 7


@dataclass(frozen=True, kw_only=True)
class Outer:
    text: str
    number: int
    inner: Inner
    data: bytes = b"none"
    count: int | None = None
    names: list[str] | None = None


INNER = Record("inner", Inner, (Column("_N", "n", "long"), Column("_M", "m", nullable("int"))))
OUTER = Record(
    "outer",
    Outer,
    (
        Column("_TEXT", "text", "string"),
        Column("_NUMBER", "number", "int"),
        Column("_INNER", "inner", record=INNER),
        Column("_DATA", "data", "bytes"),
        Column("_COUNT", "count", nullable("long")),
        Column("_NAMES", "names", nullable({"type": "array", "items": "string"})),
    ),
)


def test_json_both_ways() -> None:
    value = Outer(text="ä", number=1, inner=Inner(n=2**63 - 1, m=3), data=b"\0\xff", count=None, names=["x"])
    node = json.loads(json.dumps(OUTER.to_json(value)))
    assert node == {"_TEXT": "ä", "_NUMBER": 1, "_INNER": {"_N": 2**63 - 1, "_M": 3}, "_DATA": "AP8=", "_NAMES": ["x"]}
    assert OUTER.from_json(node) == value


@pytest.mark.parametrize(
    "node",
    [
        None,
        5,
        "x",
        [],
        {},
        {"_TEXT": "t", "_NUMBER": 3},
        {"_TEXT": 5, "_NUMBER": 3, "_INNER": {"_N": 1}},
        {"_TEXT": "t", "_NUMBER": "3", "_INNER": {"_N": 1}},
        {"_TEXT": "t", "_NUMBER": True, "_INNER": {"_N": 1}},
        {"_TEXT": "t", "_NUMBER": 3.0, "_INNER": {"_N": 1}},
        {"_TEXT": "t", "_NUMBER": 3, "_INNER": 5},
        {"_TEXT": "t", "_NUMBER": 3, "_INNER": {"_N": None}},
        {"_TEXT": "t", "_NUMBER": 3, "_INNER": {"_N": 1}, "_DATA": "%"},
        {"_TEXT": "t", "_NUMBER": 3, "_INNER": {"_N": 1}, "_DATA": 5},
        {"_TEXT": "t", "_NUMBER": 3, "_INNER": {"_N": 1}, "_NAMES": 5},
        {"_TEXT": "t", "_NUMBER": 3, "_INNER": {"_N": 1}, "_NAMES": [5]},
    ],
    ids=repr,
)
def test_json_that_is_no_record(node: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        OUTER.from_json(node)
