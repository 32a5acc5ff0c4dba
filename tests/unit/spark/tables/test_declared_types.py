from __future__ import annotations

import json
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, DataType, Kind, RowType, parse_type
from paimon_sql.preprocess import DECLARED_TYPES_PROPERTY
from paimon_sql.spark.tables.declared_types import apply_declared_types, declared_types
from paimon_sql.spark.types import from_struct, to_struct

NTZ, COUNTS = "TIMESTAMP(6)", {"type": "MAP", "key": "STRING NOT NULL", "value": "INT NOT NULL"}


def column(node: Any) -> DataField:
    return DataField(id=5, name="c", type=parse_type(node), description="kept", default="kept too")


def applied(node: Any, *declared: tuple[list[str], str]) -> DataType:
    """The type of column c after the declarations; what is not its type must not change."""
    (field,) = apply_declared_types((column(node),), json.dumps(declared))
    assert (field.id, field.name, field.description, field.default) == (5, "c", "kept", "kept too")
    return field.type


def test_nothing_declared() -> None:
    fields = (column("INT"), column(COUNTS))
    assert apply_declared_types(fields, None) == fields
    assert apply_declared_types(fields, "[]") == fields


@pytest.mark.parametrize(
    ("shown", "declared"),
    [
        (NTZ, "TIMESTAMP(3)"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
        ("BYTES", "BINARY(8)"),
        ("BYTES", "VARBINARY(8)"),
    ],
)
def test_a_column(shown: str, declared: str) -> None:
    assert applied(shown, (["c"], declared)) == parse_type(declared)
    assert applied(f"{shown} NOT NULL", (["c"], declared)) == parse_type(f"{declared} NOT NULL")
    assert applied(shown, (["other"], declared)) == parse_type(shown)


def test_elements_keys_and_values() -> None:
    assert applied({"type": "ARRAY", "element": NTZ}, (["c", "element"], "TIMESTAMP(3)")) == parse_type(
        {"type": "ARRAY", "element": "TIMESTAMP(3)"}
    )
    shown = {"type": "MAP NOT NULL", "key": f"{NTZ} NOT NULL", "value": "BYTES"}
    assert applied(shown, (["c", "key"], "TIMESTAMP(0)"), (["c", "value"], "BINARY(2)")) == parse_type(
        {"type": "MAP NOT NULL", "key": "TIMESTAMP(0) NOT NULL", "value": "BINARY(2)"}
    )


def test_fields_also_those_named_like_steps() -> None:
    shown = {
        "type": "ROW",
        "fields": [
            {"id": 6, "name": "element", "type": NTZ},
            {"id": 7, "name": "key", "type": {"type": "ARRAY", "element": NTZ}},
        ],
    }
    changed = applied(shown, (["c", "element"], "TIMESTAMP(1)"), (["c", "key", "element"], "TIMESTAMP(2)"))
    assert isinstance(changed, RowType)
    assert [(f.id, f.name, str(f.type)) for f in changed.fields] == [
        (6, "element", "TIMESTAMP(1)"),
        (7, "key", "ARRAY<TIMESTAMP(2)>"),
    ]


def test_multisets() -> None:
    assert applied(COUNTS, (["c"], "MULTISET")) == CollectionType(Kind.MULTISET, True, STRING.with_nullable(False))
    shown = {"type": "MAP NOT NULL", "key": NTZ, "value": "INT"}
    assert applied(shown, (["c"], "MULTISET"), (["c", "key"], "TIMESTAMP(3)")) == parse_type(
        {"type": "MULTISET NOT NULL", "element": "TIMESTAMP(3)"}
    )


def test_deep_down() -> None:
    """What the preprocessor makes of ROW(b ROW<d ARRAY<MULTISET<ROW(z TIMESTAMP(3))>>>)."""

    def row(name: str, node: Any) -> Any:
        return {"type": "ROW", "fields": [{"id": 9, "name": name, "type": node}]}

    def nested(multiset: Any) -> Any:
        return row("b", row("d", {"type": "ARRAY", "element": multiset}))

    path = ["c", "b", "d", "element"]
    changed = applied(
        nested({"type": "MAP", "key": row("z", NTZ), "value": "INT"}),
        (path, "MULTISET"),
        ([*path, "key", "z"], "TIMESTAMP(3)"),
    )
    assert changed == parse_type(nested({"type": "MULTISET", "element": row("z", "TIMESTAMP(3)")}))


def test_several_columns() -> None:
    fields = tuple(DataField(id=i, name=n, type=parse_type(NTZ)) for i, n in enumerate("abc"))
    declared = json.dumps([[["c"], "TIMESTAMP(3)"], [["a"], "TIMESTAMP(1)"]])
    assert [str(f.type) for f in apply_declared_types(fields, declared)] == ["TIMESTAMP(1)", NTZ, "TIMESTAMP(3)"]


@pytest.mark.parametrize(
    "text", ["", "x", "5", "null", "[5]", '[["c"]]', "[[5, 6]]", '[[["c"], "INT", 3]]', "[" * 10**5], ids=range(9)
)
def test_what_is_no_declaration(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"Property '{DECLARED_TYPES_PROPERTY}' cannot be"):
        apply_declared_types((column("INT"),), text)


def test_types_that_are_none() -> None:
    with pytest.raises(InvalidSchemaError, match=r"BINARY\(0\)"):
        applied("BYTES", (["c"], "BINARY(0)"))
    assert applied("INT", (["c", "element"], "BINARY(0)")) == INT


def test_what_is_declared_is_read_back() -> None:
    assert declared_types((column("INT"), column("BYTES"), column("TIMESTAMP(6)"), column(COUNTS))) is None
    nested = {"type": "ROW", "fields": [{"id": 1, "name": "x", "type": "BINARY(3)"}]}
    multiset = {"type": "MULTISET", "element": "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"}
    for node in ("TIMESTAMP(3) NOT NULL", {"type": "ARRAY", "element": nested}, multiset):
        fields = (column(node),)
        assert apply_declared_types(from_struct(to_struct(fields)), declared_types(fields))[0].type == parse_type(node)
