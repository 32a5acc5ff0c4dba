"""Engines equal their models for any rows of any keys: every function, deletes at any position, sequence groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema, key_value_fields
from paimon_core.errors import MergeRefusedError
from paimon_core.lsm.engines.registry import columns_to_merge, merge_engine
from paimon_core.lsm.keys import key_words
from paimon_core.lsm.rows import group_by_key
from paimon_core.options import TableOptions
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    MapType,
)
from tests.support import merge_models as models
from tests.support.examples import examples
from tests.support.merge_models import FUNCTIONS, PartialUpdate, Refused, Row

KEY = INT.with_nullable(False)
History = Sequence[tuple[int, Row]]
small = st.none() | st.integers(-3, 3)
TYPES: Mapping[str, tuple[DataType, st.SearchStrategy[Any]]] = {
    "sum": (BIGINT, small),
    "product": (INT, st.none() | st.sampled_from([1, -1, 2, -3])),
    "max": (DecimalType(precision=30, scale=2), st.none() | st.sampled_from([Decimal("1.50"), Decimal("-7.25")])),
    "min": (STRING, st.none() | st.sampled_from(["", "a", "ab", "a text of more than one word"])),
    "last_value": (STRING, st.none() | st.text("ab", max_size=2)),
    "last_non_null_value": (INT, small),
    "first_value": (INT, small),
    "first_non_null_value": (INT, small),
    "listagg": (STRING, st.sampled_from([None, "", " ", "x", "y,z"])),
    "listagg distinct": (STRING, st.sampled_from([None, "", " ", "x", "y,z", "x,y"])),
    "bool_and": (BOOLEAN, st.none() | st.booleans()),
    "bool_or": (BOOLEAN, st.none() | st.booleans()),
    "collect": (CollectionType(Kind.ARRAY, element=INT), st.none() | st.lists(small, max_size=3)),
    "merge_map": (MapType(key=INT, value=INT), st.none() | st.dictionaries(st.integers(0, 2), small, max_size=2)),
}


def options_of(functions: Mapping[str, str], **more: str) -> dict[str, str]:
    options = {f"fields.{c}.aggregate-function": f.partition(" ")[0] for c, f in functions.items()}
    options |= {f"fields.{c}.distinct": "true" for c, f in functions.items() if f.endswith("distinct")}
    return options | {k.replace("__", ".").replace("_", "-"): v for k, v in more.items()}


def merged(types: Mapping[str, DataType], options: Mapping[str, str], rows: History, drop: bool = False) -> list[Any]:
    """(key, kind, values) of each key, merged by the engine of a table of these columns."""
    fields = tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate({"k": KEY, **types}.items()))
    schema = TableSchema(fields=fields, highest_field_id=len(fields), primary_keys=("k",))
    stored = arrow_schema(key_value_fields(fields, fields[:1]))
    cells = [[k, i, row[0], k, *(row[1][n] for n in types)] for i, (k, row) in enumerate(rows)]
    arrays = [pa.array(list(c), f.type) for c, f in zip(zip(*cells, strict=True), stored, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=stored)
    keyed = group_by_key(batch, key_words([batch.column(0)])[0].words[0], np.arange(len(cells)))
    result = merge_engine(schema, TableOptions(dict(options)))(keyed, drop)
    assert result.schema.equals(stored, check_metadata=True)
    result.validate(full=True)
    maps = {n for n, t in types.items() if t.kind is Kind.MAP}
    return [
        (r["_KEY_k"], r["_VALUE_KIND"], {n: dict(r[n]) if n in maps and r[n] is not None else r[n] for n in types})
        for r in result.to_pylist()
    ]


def check(
    types: Mapping[str, DataType],
    options: Mapping[str, str],
    rows: History,
    model: Callable[[Sequence[Row]], Row | None],
) -> None:
    """The engine makes of the rows what the model makes of those of each key, with and without deletes."""
    try:
        made = {k: model([r for key, r in rows if key == k]) for k in sorted({k for k, _ in rows})}
    except Refused:
        with pytest.raises(MergeRefusedError):
            merged(types, options, rows)
        return
    expected = [(k, *r) for k, r in made.items() if r is not None]
    assert merged(types, options, rows) == expected
    assert merged(types, options, rows, drop=True) == [e for e in expected if not models.retracts(e[1])]


def histories(columns: Mapping[str, st.SearchStrategy[Any]], kinds: Sequence[int]) -> st.SearchStrategy[History]:
    row = st.tuples(st.sampled_from(kinds), st.fixed_dictionaries(dict(columns)))
    return st.lists(st.tuples(st.integers(0, 3), row), min_size=1, max_size=14)


WITH_DELETES = (0, 0, 0, 2, 1, 3)


@settings(max_examples=examples(40))
@given(histories({"a": small, "b": small}, WITH_DELETES), st.booleans())
def test_deduplicate(rows: History, ignore_delete: bool) -> None:
    options = {"ignore-delete": str(ignore_delete)}
    check({"a": INT, "b": INT}, options, rows, lambda r: models.deduplicate(r, ignore_delete))


@settings(max_examples=examples(40))
@given(histories({"a": small, "b": small}, WITH_DELETES), st.booleans())
def test_first_row(rows: History, ignore_delete: bool) -> None:
    options = {"merge-engine": "first-row", "first-row.ignore-delete": str(ignore_delete)}
    check({"a": INT, "b": INT}, options, rows, lambda r: models.first_row(r, ignore_delete))


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=examples(25))
@given(st.data())
def test_aggregate_functions(name: str, data: st.DataObject) -> None:
    kind, values = TYPES[name]
    removes = data.draw(st.booleans())
    ignores = not removes and data.draw(st.booleans())
    rows = data.draw(histories({"v": values}, data.draw(st.sampled_from([(0, 2), WITH_DELETES]))))
    options = options_of({"v": name}, merge_engine="aggregation", aggregation__remove_record_on_delete=str(removes))
    options["fields.v.ignore-retract"] = str(ignores)

    def model(group: Sequence[Row]) -> Row:
        function = FUNCTIONS[name]()
        function.ignore_retract = ignores
        return models.aggregate(group, {"v": function}, removes)

    check({"v": kind}, options, rows, model)


@settings(max_examples=examples(40))
@given(histories({"a": small, "b": small}, WITH_DELETES), st.sampled_from(["", "ignore", "remove"]))
def test_partial_update(rows: History, deletes: str) -> None:
    options = {
        "merge-engine": "partial-update",
        "ignore-delete": str(deletes == "ignore"),
        "partial-update.remove-record-on-delete": str(deletes == "remove"),
    }
    model = PartialUpdate("ab", ignore_delete=deletes == "ignore", remove_on_delete=deletes == "remove")
    check({"a": INT, "b": INT}, options, rows, model.merge)


@settings(max_examples=examples(100))
@given(
    histories(dict.fromkeys(("g", "h", "i", "a", "b", "c", "d"), small), WITH_DELETES),
    st.sampled_from([(), (0,), (1,), (0, 1)]),
    st.booleans(),
)
def test_sequence_groups(rows: History, removing: tuple[int, ...], ignore_delete: bool) -> None:
    groups = ((("g",), ("a",)), (("h", "i"), ("b", "c")))
    options = {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "a",
        "fields.h,i.sequence-group": "b,c",
        "partial-update.remove-record-on-sequence-group": ",".join("gh"[i] for i in removing),
    }
    if ignore_delete:
        del options["partial-update.remove-record-on-sequence-group"]
        options["ignore-delete"], removing = "true", ()
    model = PartialUpdate("ghiabcd", groups, removing=removing, ignore_delete=ignore_delete)
    check(dict.fromkeys("ghiabcd", INT), options, rows, model.merge)


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=examples(25))
@given(st.data())
def test_functions_in_sequence_groups(name: str, data: st.DataObject) -> None:
    kind, values = TYPES[name]
    removes = data.draw(st.booleans())
    kinds = data.draw(st.sampled_from([(0, 2), WITH_DELETES]))
    rows = data.draw(histories({"g": small, "v": values, "w": small}, kinds))
    options = options_of({"v": name}, merge_engine="partial-update", fields__g__sequence_group="v,w")
    options["fields.g.sequence-group"] = options.pop("fields.g.sequence-group")
    if removes:
        options["partial-update.remove-record-on-sequence-group"] = "g"

    def model(group: Sequence[Row]) -> Row:
        functions = {"v": FUNCTIONS[name]()}
        return PartialUpdate("gvw", [("g", "vw")], functions, removing=(0,) if removes else ()).merge(group)

    check({"g": INT, "v": kind, "w": INT}, options, rows, model)


def test_whole_numbers_that_overflow_are_refused_with_the_column() -> None:
    rows = [(1, (0, {"v": 2**62})), (1, (0, {"v": 2**62}))]
    options = options_of({"v": "sum"}, merge_engine="aggregation")
    with pytest.raises(MergeRefusedError, match="'v'.*'sum'.*64 bits"):
        merged({"v": BIGINT}, options, rows)
    assert merged({"v": BIGINT}, options, [*rows[:1], (1, (3, {"v": 2**62}))]) == [(1, 0, {"v": 0})]
    small_product = [(1, (0, {"v": 2**20})), (1, (0, {"v": 2**11}))]
    with pytest.raises(MergeRefusedError, match="'product'.*32 bits"):
        merged({"v": INT}, options_of({"v": "product"}, merge_engine="aggregation"), small_product)


def test_decimals_that_overflow_are_null_and_products_are_rounded() -> None:
    money, large = DecimalType(precision=4, scale=2), DecimalType(precision=20, scale=2)

    def value(function: str, *values: str, of: DecimalType = money) -> Any:
        rows = [(1, (0, {"v": Decimal(v)})) for v in values]
        return merged({"v": of}, options_of({"v": function}, merge_engine="aggregation"), rows)[0][2]["v"]

    most = "999999999999999999.99"
    for last, of in (("99.99", money), (most, large)):
        assert value("sum", last, "0.01", of=of) is None
        assert value("sum", last, of=of) == Decimal(last)
        assert value("sum", f"-{last}", of=of) == Decimal(f"-{last}")
        assert value("sum", last, "-0.01", of=of) == Decimal(last) - Decimal("0.01")
    assert value("sum", most, "0.01", "3.00", of=large) == Decimal("3.00")
    assert value("sum", "99.99", "0.01", "3.00") is None
    assert value("sum", "99.99", "0.01", "-3.00") == Decimal("97.00")
    rows = [(key, (0, {"v": Decimal(most)})) for key in (1, 2, 2)]
    found = merged({"v": large}, options_of({"v": "sum"}, merge_engine="aggregation"), rows)
    assert [row["v"] for _, _, row in found] == [Decimal(most), None]
    assert value("product", "1.25", "2.50") == Decimal("3.13")
    assert value("product", "50.00", "2.00") is None


def test_floating_point_is_added_in_the_order_of_the_rows() -> None:
    random = np.random.default_rng(5)
    for count in (3, 9, 200):
        numbers = (random.random(count) * 10.0 ** random.integers(-9, 9, count)).tolist()
        total = numbers[0]
        for number in numbers[1:]:
            total += number
        rows = [(1, (0, {"v": n})) for n in numbers]
        options = options_of({"v": "sum"}, merge_engine="aggregation")
        assert merged({"v": DOUBLE}, options, rows)[0][2]["v"] == total


def test_nan_is_the_largest_number() -> None:
    rows = [(1, (0, {"v": v})) for v in (1.0, float("nan"), -0.0, 0.0)]
    options = options_of({"v": "max"}, merge_engine="aggregation")
    assert str(merged({"v": DOUBLE}, options, rows)[0][2]["v"]) == "nan"
    options = options_of({"v": "min"}, merge_engine="aggregation")
    assert str(merged({"v": DOUBLE}, options, rows)[0][2]["v"]) == "-0.0"


def test_columns_that_decide_are_read_with_those_asked_for() -> None:
    fields = tuple(DataField(id=i, name=n, type=INT) for i, n in enumerate("kabghs"))
    schema = TableSchema(fields=fields, highest_field_id=5, primary_keys=("k",))
    options = {"merge-engine": "partial-update", "fields.g.sequence-group": "a", "fields.h.sequence-group": "b"}
    assert columns_to_merge(schema, TableOptions(options), frozenset("a")) == {"a", "g"}
    assert columns_to_merge(schema, TableOptions(options | {"sequence.field": "s"}), frozenset("g")) == {"g", "s"}
    removing = options | {"partial-update.remove-record-on-sequence-group": "h"}
    assert columns_to_merge(schema, TableOptions(removing), frozenset()) == {"h"}


@pytest.mark.parametrize(("delimiter", "joined"), [({}, "x,y"), ({"fields__v__list_agg_delimiter": ""}, "xy")])
def test_an_empty_delimiter_joins_texts_without_one(delimiter: dict[str, str], joined: str) -> None:
    options = options_of({"v": "listagg"}, merge_engine="aggregation", **delimiter)
    rows = [(1, (0, {"v": v})) for v in ("x", None, "", "y")]
    assert merged({"v": STRING}, options, rows) == [(1, 0, {"v": joined})]
