"""Circles among views, by what each refers to."""

from __future__ import annotations

import pytest

from paimon_sql.spark.tables.views.cycles import Name, find_cycle


def name(view: str) -> Name:
    return ("c", "d", view)


@pytest.mark.parametrize(
    ("references", "cycle"),
    [
        ({}, None),
        ({"a": "b", "b": "c"}, None),
        ({"a": "a"}, "aa"),
        ({"a": "b", "b": "a"}, "aba"),
        ({"a": "bc", "b": "d", "c": "d"}, None),
        ({"a": "bc", "c": "de", "e": "fc"}, "cec"),
        ({"a": "b", "b": "cd", "c": "e", "d": "b"}, "bdb"),
    ],
)
def test_cycles(references: dict[str, str], cycle: str | None) -> None:
    found = find_cycle(name("a"), lambda view: [name(n) for n in references.get(view[2], "")])
    assert found == (None if cycle is None else [name(n) for n in cycle])


def test_a_chain_without_end() -> None:
    assert find_cycle(name("0"), lambda view: [name(str(int(view[2]) + 1))] if int(view[2]) < 500 else []) is None
