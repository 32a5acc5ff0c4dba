"""Filters and masks of servers: which rows and values they show, and what is refused because nobody knows."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.expressions.shown import Shown
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, DataField, parse_type
from paimon_sql.catalog.rest.restrictions import UnknownRestriction, read_restrictions
from tests.support.tables import fields

FIELDS = (*fields(k=INT, v=STRING, d=DOUBLE, n=BIGINT), DataField(id=9, name="b", type=parse_type("BOOLEAN NOT NULL")))
ROWS = [
    (1, "a", 1.5, 10, True),
    (2, "Ab", float("nan"), None, False),
    (3, None, -0.0, 30, True),
    (None, "a\nb", None, 40, False),
    (5, "zab", 2.5, 50, True),
]
BATCH = pa.RecordBatch.from_arrays(
    [pa.array(column, f.type) for column, f in zip(zip(*ROWS, strict=True), arrow_schema(FIELDS), strict=True)],
    schema=arrow_schema(FIELDS),
)
TYPES = {"k": "INT", "v": "STRING", "d": "DOUBLE", "n": "BIGINT", "b": "BOOLEAN"}


def ref(name: str, kind: str | None = None) -> dict[str, Any]:
    return {"index": 77, "name": name, "type": kind or TYPES.get(name, "INT")}


def column(name: str, kind: str | None = None) -> dict[str, Any]:
    return {"name": "FIELD_REF", "fieldRef": ref(name, kind)}


def leaf(function: str, transform: Any, *literals: Any) -> dict[str, Any]:
    return {"kind": "LEAF", "transform": transform, "function": function, "literals": list(literals)}


def compound(function: str, *children: Any) -> dict[str, Any]:
    return {"kind": "COMPOUND", "function": function, "children": list(children)}


def text(name: str, *inputs: Any) -> dict[str, Any]:
    return {"name": name, "inputs": list(inputs)}


def shown(*filters: Any, **masks: Any) -> Shown:
    made = read_restrictions(map(json.dumps, filters), {k: json.dumps(v) for k, v in masks.items()}, FIELDS)
    assert made is not None
    return pickle.loads(pickle.dumps(made))  # noqa: S301  tasks get it so


def rows_of(*filters: Any) -> list[int]:
    """The numbers, from 1, of the rows that are shown; of a query for another column than those of the filters."""
    found = shown(*filters)
    numbered = BATCH.append_column("row", pa.array(range(1, 6)))
    kept = found.stored(["row"])
    return found.of(numbered.select(kept), ["row"]).column(0).to_pylist()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (leaf("EQUAL", column("k"), 1), [1]),
        (leaf("EQUAL", column("k"), None), []),
        (leaf("NOT_EQUAL", column("k"), 1), [2, 3, 5]),
        (leaf("LESS_THAN", column("k"), 3), [1, 2]),
        (leaf("LESS_OR_EQUAL", column("k"), 3), [1, 2, 3]),
        (leaf("GREATER_THAN", column("k"), 2), [3, 5]),
        (leaf("GREATER_OR_EQUAL", column("k"), 2), [2, 3, 5]),
        (leaf("GREATER_THAN", column("d"), 2), [2, 5]),  # NaN is above all numbers, as in Java
        (leaf("GREATER_OR_EQUAL", column("d"), 2.5), [2, 5]),
        (leaf("LESS_THAN", column("d"), 2), [1, 3]),
        (leaf("EQUAL", column("d"), 1.5), [1]),
        (leaf("NOT_EQUAL", column("d"), 1.5), [2, 3, 5]),
        (leaf("IS_NULL", column("v")), [3]),
        (leaf("IS_NOT_NULL", column("d")), [1, 2, 3, 5]),
        (leaf("IN", column("k"), 1, None, 5), [1, 5]),
        (leaf("IN", column("k")), []),
        (leaf("NOT_IN", column("k"), 1, 5), [2, 3]),
        (leaf("NOT_IN", column("k"), 1, None), []),
        (leaf("NOT_IN", column("k")), [1, 2, 3, 5]),
        (leaf("NOT_IN", column("d"), 1.5), [2, 3, 5]),
        (leaf("BETWEEN", column("k"), 2, 3), [2, 3]),
        (leaf("BETWEEN", column("k"), 2, None), []),
        (leaf("BETWEEN", column("d"), 1, 100), [1, 5]),
        (leaf("NOT_BETWEEN", column("k"), 2, 3), [1, 5]),
        (leaf("NOT_BETWEEN", column("k"), None, 3), []),
        (leaf("NOT_BETWEEN", column("d"), 1, 100), [2, 3]),
        (leaf("EQUAL", column("b"), True), [1, 3, 5]),
        (leaf("STARTS_WITH", column("v"), "a"), [1, 4]),
        (leaf("ENDS_WITH", column("v"), "b"), [2, 4, 5]),
        (leaf("CONTAINS", column("v"), "ab"), [5]),
        (leaf("CONTAINS", column("v"), None), []),
        (leaf("LIKE", column("v"), "a%b"), [4]),
        (leaf("LIKE", column("v"), "%a%"), [1, 4, 5]),
        (leaf("LIKE", column("v"), "a"), [1]),
        (leaf("LESS_THAN", column("v"), "a"), [2]),  # by bytes
        (leaf("EQUAL", text("UPPER", ref("v")), "AB"), [2]),
        (leaf("EQUAL", text("LOWER", ref("v")), "ab"), [2]),
        (leaf("EQUAL", text("CONCAT", ref("v"), "-", ref("v")), "a-a"), [1]),
        (leaf("IS_NULL", text("CONCAT", ref("v"), None)), [1, 2, 3, 4, 5]),
        (leaf("EQUAL", text("CONCAT_WS", "|", ref("v"), "x", None), "x"), [3]),
        (leaf("EQUAL", text("CONCAT_WS", "||", ref("v"), None), ""), [3]),
        (leaf("TRUE", {"name": "NULL"}), [1, 2, 3, 4, 5]),
        (leaf("FALSE", {"name": "NULL"}), []),
        (leaf("IS_NULL", {"name": "NULL"}), [1, 2, 3, 4, 5]),
        (compound("OR", leaf("EQUAL", column("k"), 1), leaf("IS_NULL", column("v"))), [1, 3]),
        (compound("AND", leaf("GREATER_THAN", column("k"), 1), leaf("IS_NOT_NULL", column("v"))), [2, 5]),
        (compound("AND", compound("OR", leaf("TRUE", {"name": "NULL"})), leaf("EQUAL", column("n"), 50)), [5]),
    ],
)
def test_rows_that_a_filter_shows(condition: Any, expected: list[int]) -> None:
    assert rows_of(condition) == expected


def test_filters_hold_together() -> None:
    assert rows_of(leaf("GREATER_THAN", column("k"), 1), leaf("LESS_THAN", column("k"), 5)) == [2, 3]


def test_masks() -> None:
    found = shown(
        leaf("GREATER_THAN", column("n"), 20),
        v=text("CONCAT", "***"),
        k={"name": "NULL"},
        n=column("n"),
    )
    assert found.stored(["k", "v"]) == ["k", "v", "n"] and found.masked == {"k", "v", "n"}
    kept = found.of(BATCH.select(found.stored(["k", "v"])), ["v", "k"])
    assert kept.to_pydict() == {"v": ["***"] * 3, "k": [None] * 3}
    assert kept.schema.field("k").type == pa.int32()


def test_a_filter_judges_what_is_stored_in_a_masked_column() -> None:
    found = shown(leaf("GREATER_THAN", column("k"), 2), k={"name": "NULL"})
    assert found.stored(["v"]) == ["v", "k"] and found.stored(["k"]) == ["k"]
    assert found.of(BATCH, ["k", "n"]).to_pydict() == {"k": [None, None], "n": [30, 50]}


def test_a_mask_is_made_of_what_is_stored() -> None:
    """Not of what another mask shows; columns that only a mask looks at are read."""
    masks = {"v": text("CONCAT_WS", "/", ref("w", "STRING"), ref("v"), "x"), "w": {"name": "NULL"}}
    of = fields(v=STRING, w=STRING)
    found = read_restrictions([], {k: json.dumps(v) for k, v in masks.items()}, of)
    assert found is not None and found.stored(["v"]) == ["v", "w"]
    batch = pa.record_batch({"v": ["a", None, None], "w": ["1", None, "3"]})
    assert found.of(batch, ["w", "v"]).to_pydict() == {"w": [None] * 3, "v": ["1/a/x", "x", "3/x"]}


def test_nothing_is_restricted() -> None:
    assert read_restrictions(["", ""], {"v": "", "nowhere": ""}, FIELDS) is None


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("{", "not JSON"),
        ([], "without 'kind'"),
        ({"kind": "invalid"}, "kind invalid"),
        (compound("XOR", leaf("TRUE", {"name": "NULL"})), "parts by XOR"),
        (compound("AND"), "0 parts"),
        (leaf("ARRAY_CONTAINS", column("v"), "x"), "ARRAY_CONTAINS"),
        (leaf("EQUAL", {"name": "CAST", "fieldRef": ref("k"), "type": "BIGINT"}, 1), "transform CAST"),
        (leaf("EQUAL", {"name": "FIELD_REF"}, 1), "without 'fieldRef'"),
        (leaf("EQUAL", column("x"), 1), "column 'x', which the table does not have"),
        (leaf("EQUAL", column("K"), 1), "column 'K', which the table does not have"),
        (leaf("EQUAL", column("k", "STRING"), "1"), "column 'k' as VARCHAR, which is INT"),
        (leaf("EQUAL", column("k", "WHAT"), "1"), "an unknown type"),
        (leaf("EQUAL", column("k"), "1"), "compares INT with '1'"),
        (leaf("EQUAL", column("k"), 2**31), "compares INT"),
        (leaf("EQUAL", column("k"), True), "compares INT"),
        (leaf("EQUAL", column("k"), 1.0), "compares INT"),
        (leaf("EQUAL", column("v"), 1), "compares VARCHAR"),
        (leaf("EQUAL", column("d"), 0), "compares DOUBLE with '0'"),
        (leaf("EQUAL", column("d"), float("nan")), "compares DOUBLE with 'nan'"),
        (leaf("EQUAL", column("k")), "0 literals"),
        (leaf("BETWEEN", column("k"), 1), "1 literals"),
        (leaf("LESS_THAN", column("b"), True), "LESS_THAN of BOOLEAN"),
        (leaf("STARTS_WITH", column("k"), "1"), "STARTS_WITH of INT"),
        (leaf("LIKE", column("v"), "a_b"), "other patterns than %"),
        (leaf("LIKE", column("v"), "a\\%"), "other patterns than %"),
        (leaf("EQUAL", {"name": "NULL"}, True), "EQUAL of NULL"),
        (leaf("EQUAL", text("UPPER", ref("k")), "A"), "column 'k' as a text"),
        (leaf("EQUAL", text("UPPER"), "A"), "UPPER of 0 texts"),
        (leaf("EQUAL", text("CONCAT"), "A"), "CONCAT of nothing"),
        (leaf("EQUAL", text("CONCAT_WS", ref("v"), "x"), "A"), "separator that is not a text"),
        (leaf("EQUAL", text("SUBSTRING", ref("v"), "1"), "A"), "transform SUBSTRING"),
    ],
)
def test_filters_that_are_not_known(condition: Any, says: str) -> None:
    given = condition if isinstance(condition, str) else json.dumps(condition)
    with pytest.raises(UnknownRestriction, match=says):
        read_restrictions([json.dumps(leaf("TRUE", {"name": "NULL"})), given], {}, FIELDS)


def test_a_filter_of_many_levels() -> None:
    condition = leaf("TRUE", {"name": "NULL"})
    for _ in range(60):
        condition = compound("AND", condition)
    with pytest.raises(UnknownRestriction, match="too many levels"):
        shown(condition)
    with pytest.raises(UnknownRestriction, match="not JSON"):
        read_restrictions(["[" * 100_000], {}, FIELDS)


@pytest.mark.parametrize(
    ("name", "mask", "says"),
    [
        ("x", {"name": "NULL"}, "a mask of column 'x'"),
        ("k", text("CONCAT", "***"), "a mask of VARCHAR for column 'k', which is INT"),
        ("k", column("n"), "a mask of BIGINT for column 'k', which is INT"),
        ("b", {"name": "NULL"}, "NULLs for column 'b', which is NOT NULL"),
        ("v", {"name": "HASH", "inputs": [ref("v")]}, "transform HASH"),
        ("v", [], "without 'name'"),
    ],
)
def test_masks_that_are_not_known(name: str, mask: Any, says: str) -> None:
    with pytest.raises(UnknownRestriction, match=says):
        read_restrictions([], {name: json.dumps(mask)}, FIELDS)


def test_nulls_where_none_may_be() -> None:
    of = (DataField(id=0, name="v", type=parse_type("STRING NOT NULL")), DataField(id=1, name="w", type=STRING))
    found = read_restrictions([], {"v": json.dumps(column("w", "STRING"))}, of)
    assert found is not None
    with pytest.raises(InvalidDataError, match="'v' is NOT NULL"):
        found.of(pa.record_batch({"v": ["a", "b"], "w": ["x", None]}), ["v"])


def test_capitals_that_other_engines_may_have_otherwise() -> None:
    found = shown(leaf("EQUAL", text("UPPER", ref("v")), "STRASSE"))
    with pytest.raises(UnsupportedFeatureError, match="some texts are not ASCII"):
        found.of(pa.record_batch({"v": ["straße"]}), ["v"])


def test_versions_with_other_columns() -> None:
    now = [replace(f, id=n) for n, f in enumerate(fields(k=INT, v=STRING, w=STRING))]
    found = read_restrictions([json.dumps(leaf("EQUAL", column("v"), "a"))], {"w": '{"name":"NULL"}'}, now)
    assert found is not None
    found.check_version("t", now, now[:2])  # what is masked was not there
    for then, says in (
        ([now[0], DataField(id=now[1].id, name="old", type=STRING)], "'old' no longer exists or has changed"),
        ([*now, DataField(id=7, name="gone", type=STRING)], "'gone' no longer exists or has changed"),
        ([DataField(id=8, name="v", type=STRING)], "'v' no longer exists or has changed"),
        ([now[0], replace(now[1], type=INT)], "'v' no longer exists or has changed"),
        (now[:1], "depend on column 'v', which did not exist yet"),
    ):
        with pytest.raises(UnsupportedFeatureError, match=says):
            found.check_version("t", now, then)
