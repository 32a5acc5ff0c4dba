"""The counts of filters: bounded, by table, and another set in another process."""

from __future__ import annotations

import pickle

from paimon_core.expressions.predicate import And, Compare, In, Or, compared_columns
from paimon_core.seen_filters import FILTERS, SeenFilter, SeenFilters


def test_counts_by_table_and_column() -> None:
    seen = SeenFilters()
    seen.add("t", ["b", "a"], 10, 4)
    seen.add("t", ["a"], 10, 10)
    seen.add("u", [], 10, 10)
    assert seen.of_table("t") == (SeenFilter("a", 2, 20, 14), SeenFilter("b", 1, 10, 4))
    assert seen.of_table("u") == seen.of_table("v") == ()


def test_the_tables_scanned_last_stay() -> None:
    seen = SeenFilters()
    for n in range(1000):
        seen.add(f"t{n}", ["a"], 1, 1)
    seen.add("t0", ["a"], 1, 1)
    seen.add("new", ["a"], 1, 1)
    assert [bool(seen.of_table(name)) for name in ("t0", "t1", "t2", "new")] == [True, False, True, True]


def test_a_table_has_a_bounded_number_of_columns() -> None:
    seen = SeenFilters()
    seen.add("t", [f"c{n}" for n in range(1500)], 1, 1)
    seen.add("t", ["c0"], 1, 1)
    assert len(seen.of_table("t")) == 1000 and seen.of_table("t")[0].scans == 2


def test_another_process_has_its_own() -> None:
    assert pickle.loads(pickle.dumps(SeenFilters())) is FILTERS  # noqa: S301  our own bytes


def test_columns_with_given_values() -> None:
    either = Or((Compare("d", "=", 1), Compare("e", "=", 1)))
    found = compared_columns(And((Compare("a", "=", 1), And((In("b", (1, 2)), Compare("c", ">", 1))), either)))
    assert found == {"a", "b"}
