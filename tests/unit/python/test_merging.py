"""MERGE in Python: by a model of plain rows over each kind of table, and by the rules of MERGE INTO in SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import (
    ColumnNotFoundError,
    InvalidDataError,
    SeveralMatchesError,
    UnsupportedFeatureError,
)
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable
from tests.support.examples import examples
from tests.unit.python.test_checks import check
from tests.unit.python.test_writing import KINDS, SCHEMA, Row, as_dicts, rows

# by name: the argument, and what it makes of a row of the table and a row of the source (None: no row)
MATCHED: Mapping[str, tuple[Any, Callable[[Row, Row], Row | None]]] = {
    "none": ((), lambda t, s: t),
    "update": ({"v": "source.v"}, lambda t, s: (t[0], t[1], s[2])),
    "delete": ("delete", lambda t, s: None),
    "sum": (
        {"v": "coalesce(target.v, 0) + coalesce(source.v, 0)"},
        lambda t, s: (t[0], t[1], (t[2] or 0) + (s[2] or 0)),
    ),
    "first clause": (
        [("source.v > 4", "delete"), ("source.v > 2", {"v": 7}), {"v": "target.v"}],
        lambda t, s: None if (s[2] or 0) > 4 else (t[0], t[1], 7) if (s[2] or 0) > 2 else t,
    ),
    "all": ("update", lambda t, s: s),
    "condition": (("target.v < source.v", {"v": None}), lambda t, s: (*t[:2], None) if _less(t[2], s[2]) else t),
}
NOT_MATCHED: Mapping[str, tuple[Any, Callable[[Row], Row | None]]] = {
    "none": ((), lambda s: None),
    "insert": ("insert", lambda s: s),
    "columns": ({"k": "source.k", "p": "concat(source.p, '')", "v": 5}, lambda s: (s[0], s[1], 5)),
    "condition": (("source.v IS NOT NULL", "insert"), lambda s: None if s[2] is None else s),
}
BY_SOURCE: Mapping[str, tuple[Any, Callable[[Row], Row | None]]] = {
    "none": ((), lambda t: t),
    "delete": (("target.v > 5", "delete"), lambda t: None if (t[2] or 0) > 5 else t),
    "update": ({"v": "target.k + 10"}, lambda t: (t[0], t[1], t[0] + 10)),
}


def _less(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one < other


_ROW = st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.one_of(st.none(), st.integers(0, 9)))
_UNIQUE = st.lists(_ROW, min_size=1, max_size=6, unique_by=lambda row: row[0])
_CLAUSES = st.tuples(*(st.sampled_from(list(clauses)) for clauses in (MATCHED, NOT_MATCHED, BY_SOURCE)))
_STEPS = st.lists(st.tuples(_UNIQUE, _CLAUSES), min_size=1, max_size=3)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(start=st.lists(_UNIQUE, min_size=1, max_size=2), steps=_STEPS)
def test_a_model(
    kind: str,
    start: list[list[Row]],
    steps: list[tuple[list[Row], tuple[str, str, str]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    catalog = open_catalog(str(tmp_path_factory.mktemp("lake")))
    table = catalog.create_table("default.t", SCHEMA, **KINDS[kind])
    model: list[Row] = []
    for written in start:
        (table.upsert if table.primary_key else table.append)(as_dicts(written))
        model = list({r[0]: r for r in [*model, *written]}.values()) if table.primary_key else [*model, *written]
    for source, (matched, not_matched, by_source) in steps:
        if (matched, not_matched, by_source) == ("none", "none", "none"):
            continue
        table.merge(
            as_dicts(source),
            on="k",
            when_matched=MATCHED[matched][0],
            when_not_matched=NOT_MATCHED[not_matched][0],
            when_not_matched_by_source=BY_SOURCE[by_source][0],
        )
        by_key, keys = {row[0]: row for row in source}, {row[0] for row in model}
        kept = [
            MATCHED[matched][1](row, by_key[row[0]]) if row[0] in by_key else BY_SOURCE[by_source][1](row)
            for row in model
        ]
        added = [NOT_MATCHED[not_matched][1](row) for row in source if row[0] not in keys]
        model = [row for row in [*kept, *added] if row is not None]
        assert rows(table) == sorted(model, key=str), (source, matched, not_matched, by_source)


@pytest.fixture
def table(lake: PaimonCatalog) -> PaimonTable:
    made = lake.create_table("shop.t", SCHEMA, primary_key="k", options={"bucket": "1"})
    made.upsert(as_dicts([(1, "a", 1), (2, "b", 2)]))
    return made


def test_a_row_that_matches_twice_is_refused(table: PaimonTable, lake: PaimonCatalog) -> None:
    twice = as_dicts([(1, "a", 5), (1, "b", 6)])
    plain = lake.create_table("shop.p", SCHEMA)
    plain.append(as_dicts([(1, "a", 1), (2, "b", 2)]))
    for each in (table, plain):
        with pytest.raises(SeveralMatchesError, match="several source rows match"):
            each.merge(twice, on="k", when_matched={"v": "source.v"})
        with pytest.raises(SeveralMatchesError):
            each.merge(twice, on="k", when_matched=[("source.v > 5", "delete"), {"v": "source.v"}])
        assert rows(each) == [(1, "a", 1), (2, "b", 2)]
        each.merge(twice, on="k", when_matched=("source.v > 5", {"v": "source.v"}))  # only one of both changes the row
        assert rows(each) == [(1, "a", 6), (2, "b", 2)]
        each.merge(twice, on="k", when_matched="delete")  # all matches are deleted: nothing is undecided
        assert rows(each) == [(2, "b", 2)]


def test_null_and_types_in_the_condition(lake: PaimonCatalog) -> None:
    schema = pa.schema([("o", pa.int8()), ("k", pa.int32()), ("f", pa.float64()), ("c", pa.string())])
    data = [{"k": 1, "f": float("nan"), "c": "x"}, {"k": None, "f": -0.0, "c": "y"}, {"k": 3, "f": None, "c": "z"}]
    source = pa.table({"k": pa.array([1, None, 3], pa.int64()), "f": [float("nan"), 0.0, None], "n": ["1", "2", "3"]})
    cases = {
        "target.k = source.k": ["1", "y", "3"],
        "target.k <=> source.k": ["1", "2", "3"],
        "target.f = source.f": ["1", "2", "z"],
        "target.f <=> source.f": ["1", "2", "3"],
        "source.k = target.k AND target.c > 'x'": ["x", "y", "3"],
        "target.k + 1 = source.k": ["x", "y", "z"],
        "target.k = source.n": ["1", "y", "3"],
        "target.k <=> source.k AND target.f = source.f": ["1", "2", "z"],
    }
    for i, (on, expected) in enumerate(cases.items()):
        made = lake.create_table(f"shop.t{i}", schema)
        made.append([{"o": number, **row} for number, row in enumerate(data)])
        made.merge(source, on=on, when_matched={"c": "source.n"})
        assert (on, made.scan().to_arrow().sort_by("o")["c"].to_pylist()) == (on, expected)


def test_many_rows_and_keys_of_several_columns(lake: PaimonCatalog) -> None:
    schema = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("v", pa.int64())])
    made = lake.create_table("shop.t", schema, primary_key=["day", "id"], partitioned_by="day", options={"bucket": "2"})
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    count = 5_000
    made.upsert(pa.table({"day": [days[i % 2] for i in range(count)], "id": range(count), "v": [0] * count}, schema))
    source = pa.table({"day": [days[i % 2] for i in range(0, count * 2, 3)], "id": range(0, count * 2, 3)})
    made.merge(
        source,
        on=["day", "id"],
        when_matched={"v": "source.id"},
        when_not_matched={"day": "source.day", "id": "source.id", "v": -1},
    )
    found = {r["id"]: r["v"] for r in made.scan().to_arrow().to_pylist()}
    expected = {i: i if i % 3 == 0 else 0 for i in range(count)}
    expected |= {i: -1 for i in range(0, count * 2, 3) if i >= count}
    assert found == expected


def test_a_merge_reads_only_files_that_can_match(lake: PaimonCatalog) -> None:
    plain = lake.create_table("shop.p", SCHEMA, options={"write-only": "true"})
    for i in range(3):
        plain.append(as_dicts([(i, "a", i)]))
    before = set(plain.inspect("files")["file_path"].to_pylist())
    plain.merge(as_dicts([(1, "b", 9)]), on="k", when_matched="update", when_not_matched="insert")
    assert rows(plain) == [(0, "a", 0), (1, "b", 9), (2, "a", 2)]
    assert len(before & set(plain.inspect("files")["file_path"].to_pylist())) == 2


def test_the_key_may_get_a_value_that_the_condition_requires(table: PaimonTable) -> None:
    source = pa.table({"id": pa.array([1, 3]), "k": [1, 3], "p": ["x", "y"], "v": pa.array([8, 9], pa.int32())})
    table.merge(source, on="target.k = source.id", when_matched={"k": "source.id", "p": "source.p"})
    with pytest.raises(UnsupportedFeatureError, match="'k' belongs to the primary key"):
        table.merge(source, on="target.k = source.id", when_matched="update")
    with pytest.raises(UnsupportedFeatureError, match="'k' belongs to the primary key"):
        table.merge(source, on="k", when_matched={"k": "source.k + 1"})
    table.merge(source, on="k", when_matched="update", when_not_matched="insert")
    assert rows(table) == [(1, "x", 8), (2, "b", 2), (3, "y", 9)]


def test_clauses_that_update_other_columns_keep_the_rest(lake: PaimonCatalog) -> None:
    """With data evolution, a merge writes each column that one of its clauses assigns, for all rows that change."""
    evolved = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    for name, options in (("evolved", evolved), ("plain", {})):
        made = lake.create_table(f"shop.{name}", SCHEMA, options=options)
        made.append(as_dicts([(0, "a", 1), (1, "b", 2), (2, "c", 3)]))
        made.merge(
            as_dicts([(1, "x", 5), (2, "y", 6)]),
            on="k",
            when_matched=[("source.k = 1", "update"), {"p": "source.p"}],
            when_not_matched_by_source={"v": 9},
        )
        assert rows(made) == [(0, "a", 9), (1, "x", 5), (2, "y", 3)]


def test_the_key_gets_no_value_of_another_cast(lake: PaimonCatalog) -> None:
    """If `05` were cast to 5, the row would have two keys."""
    made = lake.create_table(
        "shop.t", pa.schema([("k", pa.string()), ("v", pa.int64())]), primary_key="k", options={"bucket": "1"}
    )
    made.upsert([{"k": "05", "v": 1}])
    source = pa.table({"k": ["05"], "v": [2]})
    for value in ("cast(source.k AS INT)", "cast(source.k AS DOUBLE)"):
        with pytest.raises(UnsupportedFeatureError, match="'k' belongs to the primary key"):
            made.merge(source, on="k", when_matched={"k": value, "v": "source.v"})
    made.merge(source, on="k", when_matched={"k": "source.k", "v": "source.v"})
    assert made.scan().to_arrow().to_pylist() == [{"k": "05", "v": 2}]


def test_constraints_hold_for_the_rows_that_change(lake: PaimonCatalog) -> None:
    plain = lake.create_table("shop.p", SCHEMA, options=check("v < 10", "v"))
    plain.append(as_dicts([(1, "a", 1)]))
    for clauses in ({"when_matched": {"v": "source.v"}}, {"when_not_matched": "insert"}):
        with pytest.raises(InvalidDataError, match="violates the constraint"):
            plain.merge(as_dicts([(1, "a", 20), (2, "a", 20)]), on="k", **clauses)
    assert rows(plain) == [(1, "a", 1)]


def test_what_is_refused(table: PaimonTable, lake: PaimonCatalog) -> None:
    source = as_dicts([(1, "a", 5)])
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"on": "k"}, InvalidDataError, "needs a clause"),
        ({"on": "k", "when_matched": "insert"}, InvalidDataError, "when_matched cannot be 'insert'"),
        ({"on": "k", "when_not_matched": "delete"}, InvalidDataError, "give 'insert'"),
        ({"on": "k", "when_matched": {"x": 1}}, ColumnNotFoundError, "has no column 'x' to assign"),
        ({"on": "k", "when_matched": {}}, InvalidDataError, "at least one column"),
        ({"on": "k", "when_matched": {"v": "v + 1"}}, ColumnNotFoundError, "the columns are target, source"),
        ({"on": "k", "when_not_matched": {"v": "target.v"}}, ColumnNotFoundError, "the columns are source"),
        ({"on": "k", "when_matched": {"v": "'text'"}}, InvalidDataError, "does not take STRING"),
        ({"on": "source.k > 1", "when_matched": "delete"}, UnsupportedFeatureError, "needs an equality"),
        ({"on": ["x"], "when_matched": "delete"}, ColumnNotFoundError, "the target has no such column"),
        ({"on": "k", "when_not_matched_by_source": "update"}, ColumnNotFoundError, "the source has no 'k'"),
    ]
    for arguments, error, message in refused:
        with pytest.raises(error, match=message):
            table.merge(source, **arguments)
    with pytest.raises(ColumnNotFoundError, match="stands for all columns"):
        table.merge([{"k": 1}], on="k", when_matched="update")
    with pytest.raises(UnsupportedFeatureError, match="cannot add columns"):
        table.merge(source, on="k", when_matched="update", options={"write.merge-schema": "true"})
    adding = {"merge-engine": "aggregation", "bucket": "1"}
    summed = lake.create_table("shop.s", SCHEMA, primary_key="k", options=adding)
    with pytest.raises(UnsupportedFeatureError, match="MERGE INTO of table"):
        summed.merge(source, on="k", when_matched="delete")
    assert rows(table) == [(1, "a", 1), (2, "b", 2)]
