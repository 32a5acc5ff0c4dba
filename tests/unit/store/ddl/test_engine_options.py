"""Options of merge engines that do not go together, or not with the columns, are refused with their name."""

from __future__ import annotations

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.lsm.engines.registry import replaces_rows
from paimon_core.options import TableOptions
from paimon_core.spec.types import BOOLEAN, INT, STRING, CollectionType, Kind, LengthType, MapType, RowType
from paimon_core.store.ddl.new_schema import new_table_schema
from tests.support.tables import fields

NESTED = RowType(fields=tuple(fields(x=INT, y=STRING)))
COLUMNS = fields(
    k=INT,
    n=INT,
    m=INT,
    t=STRING,
    c=LengthType(Kind.VARCHAR, True, 9),
    b=BOOLEAN,
    list=CollectionType(Kind.ARRAY, element=INT),
    rows=CollectionType(Kind.ARRAY, element=NESTED),
    map=MapType(key=INT, value=INT),
    times=MapType(key=INT, value=NESTED),
    bytes=LengthType(Kind.VARBINARY),
)


def create(engine: str, options: dict[str, str]) -> None:
    new_table_schema(COLUMNS, options={"primary-key": "k", "bucket": "1", "merge-engine": engine, **options})


def aggregate(column: str, function: str, **more: str) -> dict[str, str]:
    spelled = {f"fields.{column}.{k.replace('_', '-')}": v for k, v in more.items()}
    return {f"fields.{column}.aggregate-function": function, **spelled}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (aggregate("n", "summe"), "'summe'.*Known are.*listagg"),
        (aggregate("t", "count"), "'t' of type STRING.*'count'.*INT and BIGINT"),
        (aggregate("t", "sum"), "'t' of type STRING.*'sum'.*numbers"),
        (aggregate("b", "product"), "numbers"),
        (aggregate("list", "max"), "compare"),
        (aggregate("b", "max"), "BOOLEAN"),
        (aggregate("n", "bool_and"), "BOOLEAN"),
        (aggregate("n", "listagg"), "STRING"),
        (aggregate("c", "listagg"), r"VARCHAR\(9\).*STRING"),
        (aggregate("t", "collect"), "ARRAY"),
        (aggregate("list", "merge_map"), "MAP"),
        (aggregate("map", "merge_map_with_keytime"), "ROW"),
        (aggregate("times", "merge_map_with_keytime", ts_field="z"), "fields.times.ts-field.*'z'.*x, y"),
        (aggregate("list", "nested_update"), "ARRAY<ROW"),
        (aggregate("rows", "nested_update", nested_key="z"), "fields.rows.nested-key.*'z'"),
        (aggregate("rows", "nested_update", nested_sequence_field="x"), "nested-sequence-field.*needs.*nested-key"),
        (aggregate("rows", "nested_update", nested_key="x", count_limit="few"), "count-limit"),
        (aggregate("rows", "nested_update", nested_key="x", nested_key_null_strategy="no"), "null-strategy"),
        (aggregate("rows", "nested_partial_update"), "needs 'fields.rows.nested-key'"),
        (aggregate("t", "rbm32"), "BYTES"),
        (aggregate("n", "max", ignore_retract="si"), "fields.n.ignore-retract"),
        ({"fields.default-aggregate-function": "sum"}, "'t' of type STRING"),
        ({"fields.nope.aggregate-function": "sum"}, "fields.nope.aggregate-function.*no column 'nope'"),
        ({"sequence.field": "nope"}, "sequence.field"),
        ({"sequence.field": "rows"}, "sequence.field' cannot name 'rows'"),
        ({"sequence.field": "n", **aggregate("n", "max")}, "fields.n.aggregate-function.*sequence.field"),
        ({"sequence.field": "n", "sequence.field.sort-order": "up"}, "sequence.field.sort-order"),
        (aggregate("n", "max", ignore_retract="true") | {"aggregation.remove-record-on-delete": "true"}, "conflict"),
        ({"rowkind.field": "nope"}, "rowkind.field"),
        ({"rowkind.field": "n"}, "rowkind.field.*STRING"),
    ],
)
def test_aggregation(options: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidOptionError, match=says):
        create("aggregation", options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (aggregate("n", "sum"), "fields.n.aggregate-function.*needs a sequence group"),
        ({"fields.default-aggregate-function": "max"}, "needs a sequence group"),
        ({"fields.n.sequence-group": "nope"}, "fields.n.sequence-group.*'nope'"),
        ({"fields.n,nope.sequence-group": "t"}, "fields.n,nope.sequence-group.*nope"),
        ({"fields.n.sequence-group": ""}, "fields.n.sequence-group' is empty"),
        ({"fields.map.sequence-group": "n"}, "fields.map.sequence-group.*'map'.*cannot order rows"),
        ({"fields.n,list.sequence-group": "t"}, "fields.n,list.sequence-group.*'list'.*cannot order rows"),
        ({"fields.n.sequence-group": "k"}, "primary key"),
        ({"fields.k.sequence-group": "n"}, "primary key"),
        ({"fields.n.sequence-group": "t", "fields.m.sequence-group": "t"}, "another sequence group"),
        ({"partial-update.remove-record-on-sequence-group": "n"}, "remove-record-on-sequence-group.*'n'"),
        ({"ignore-delete": "true", "partial-update.remove-record-on-delete": "true"}, "conflict"),
        ({"fields.n.sequence-group": "t", "partial-update.remove-record-on-delete": "true"}, "conflict"),
        (
            {
                "fields.n.sequence-group": "t",
                "partial-update.remove-record-on-sequence-group": "n",
                "partial-update.ignore-delete": "true",
            },
            "conflict",
        ),
        ({"fields.n.sequence-group": "t", **aggregate("t", "sum")}, "'t' of type STRING"),
        (
            {"fields.m.sequence-group": "n", "partial-update.remove-record-on-sequence-group": "m"}
            | aggregate("n", "count"),
            "'count'.*remove-record-on-sequence-group.*conflict",
        ),
    ],
)
def test_partial_update(options: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidOptionError, match=says):
        create("partial-update", options)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"sequence.field": "n"}, "first-row"), ({"changelog-producer": "input"}, "changelog-producer.*first-row")],
)
def test_first_row(options: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidOptionError, match=says):
        create("first-row", options)


def test_what_goes_together_is_taken() -> None:
    create("first-row", {"changelog-producer": "lookup", "first-row.ignore-delete": "true"})
    create("deduplicate", {"sequence.field": "n,t", "sequence.field.sort-order": "descending", "rowkind.field": "c"})
    create("partial-update", {"fields.n,t.sequence-group": "m,map", **aggregate("map", "merge_map")})
    create("partial-update", aggregate("n", "last_non_null_value"))
    functions = {
        "n": "primary-key",
        "m": "sum",
        "t": "listagg",
        "c": "min",
        "b": "bool_or",
        "list": "collect",
        "rows": "nested_update",
        "map": "merge_map",
        "times": "merge_map_with_keytime",
        "bytes": "theta_sketch",
    }
    create("aggregation", {f"fields.{c}.aggregate-function": f for c, f in functions.items()})
    create("aggregation", aggregate("rows", "nested_partial_update", nested_key="x, y"))


def test_functions_that_there_are_not() -> None:
    with pytest.raises(InvalidOptionError, match="avg.*Known are.*count"):
        create("aggregation", aggregate("n", "avg"))
    create("aggregation", aggregate("n", "count"))
    create("aggregation", aggregate("bytes", "rbm64"))


@pytest.mark.parametrize(
    ("engine", "options", "replaces"),
    [
        ("deduplicate", {}, True),
        ("first-row", {}, False),
        ("aggregation", {}, False),
        ("partial-update", {}, True),
        ("partial-update", {"fields.m.sequence-group": "n"} | aggregate("n", "max"), True),
        ("partial-update", {"fields.m.sequence-group": "n"} | aggregate("n", "sum"), False),
        ("partial-update", {"fields.m.sequence-group": "n"} | aggregate("n", "count"), False),
    ],
)
def test_rows_replace_others_where_nothing_is_added(engine: str, options: dict[str, str], replaces: bool) -> None:
    given = {"primary-key": "k", "bucket": "1", "merge-engine": engine, **options}
    columns = [c for c in COLUMNS if c.name in ("k", "n", "m")]
    schema = new_table_schema(columns, options=given)
    assert replaces_rows(schema, TableOptions(schema.options)) is replaces
