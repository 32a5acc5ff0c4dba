"""VARIANTs that are shredded when they are written, against a reference that shreds one value at a time."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.evolution import conform
from paimon_core.arrow.required_parts import with_required_parts
from paimon_core.arrow.types import arrow_type
from paimon_core.arrow.variant_shredding import physical_type, shredded
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    VARIANT,
    CollectionType,
    DataField,
    DataType,
    DecimalType,
    Kind,
    RowType,
)
from tests.support.variants import decode, encode, encode_metadata, shred
from tests.unit.arrow.test_shredded import DOCUMENTS, V, keys_of


def row(**fields: DataType) -> RowType:
    return RowType(fields=tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(fields.items())))


def array(element: DataType) -> CollectionType:
    return CollectionType(Kind.ARRAY, element=element)


# the same shapes for the reference and for the code
SHAPES: list[tuple[Any, DataType]] = [
    (
        {"a": pa.int64(), "b": pa.string(), "o": {"x": pa.float64(), "日本": {"a": pa.bool_()}, "b": None}},
        row(a=BIGINT, b=STRING, o=row(x=DOUBLE, 日本=row(a=BOOLEAN), b=VARIANT)),
    ),
    ([{"a": pa.int64(), "x": [pa.string()]}], array(row(a=BIGINT, x=array(STRING)))),
    (pa.int64(), BIGINT),
]


def variants(documents: list[Any]) -> pa.StructArray:
    keys = [sorted(keys_of(d)) for d in documents]
    rows = [
        None if d == "missing" else {"value": encode(d, k), "metadata": encode_metadata(k)}
        for d, k in zip(documents, keys, strict=True)
    ]
    return pa.array(rows, V)


@given(st.lists(DOCUMENTS | st.just("missing"), max_size=8), st.sampled_from(SHAPES))
def test_parts_are_as_value_by_value(documents: list[Any], shapes: tuple[Any, DataType]) -> None:
    reference, shape = shapes
    column = shredded(variants(["missing", *documents]).slice(1), shape)
    column.validate(full=True)
    assert column.type == physical_type(shape)
    assert [_parts(v, d) for v, d in zip(column.to_pylist(), documents, strict=True)] == [
        None if d == "missing" else _parts(shred(d, reference, sorted(keys_of(d))), d) for d in documents
    ]
    whole = conform(with_required_parts(column), V).to_pylist()
    assert ["missing" if v is None else decode(v["value"], v["metadata"]) for v in whole] == documents


def _parts(part: dict[str, Any] | None, document: Any) -> Any:
    """A part with decoded values; the same for a field that is NULL, and for a field that is missing."""
    if part is None:
        return None
    keys = encode_metadata(sorted(keys_of(document)))
    value, typed = part.get("value"), part.get("typed_value")
    if isinstance(typed, dict):
        typed = {n: _parts(p, document) for n, p in typed.items()}
    elif isinstance(typed, list):
        typed = [_parts(p, document) for p in typed]
    return None if value is None else decode(value, keys), typed


NUMBERS = {
    "byte": bytes([3 << 2, 251]),  # -5
    "int": bytes([5 << 2]) + (300).to_bytes(4, "little"),
    "long": bytes([6 << 2]) + (2**62).to_bytes(8, "little"),
    "least": bytes([6 << 2]) + (2**63).to_bytes(8, "little"),
    "decimal": bytes([8 << 2, 2]) + (1250).to_bytes(4, "little"),  # 12.50
    "thirds": bytes([9 << 2, 3]) + (1255).to_bytes(8, "little"),  # 1.255
    "wide": bytes([10 << 2, 2]) + (10**25).to_bytes(16, "little"),
    "float": bytes([14 << 2]) + b"\0\0\xc0\x3f",  # 1.5
    "double": bytes([7 << 2]) + bytes(8),
    "true": bytes([1 << 2]),
    "null": b"\0",
    "date": bytes([11 << 2]) + bytes(4),
}


@pytest.mark.parametrize(
    ("shape", "typed"),
    [
        (BIGINT, {"byte": -5, "int": 300, "long": 2**62, "least": -(2**63)}),
        (INT, {"byte": -5, "int": 300}),
        (DataType(Kind.TINYINT), {"byte": -5}),
        (DecimalType(precision=10, scale=1), {"byte": "-5.0", "int": "300.0", "decimal": "12.5"}),
        (DecimalType(precision=4, scale=2), {"byte": "-5.00", "decimal": "12.50"}),
        (DecimalType(precision=4, scale=3), {"byte": "-5.000", "thirds": "1.255"}),
        (
            DecimalType(precision=38, scale=2),
            {"byte": "-5.00", "int": "300.00", "decimal": "12.50", "wide": "100000000000000000000000.00"},
        ),
        (FLOAT, {"float": 1.5}),
        (DOUBLE, {"double": 0.0}),
        (BOOLEAN, {"true": True}),
        (VARIANT, {}),
        (row(x=BIGINT), {}),
    ],
)
def test_numbers_take_another_type_only_without_a_loss(shape: DataType, typed: dict[str, Any]) -> None:
    metadata = encode_metadata([])
    column = pa.array([{"value": v, "metadata": metadata} for v in NUMBERS.values()], V)
    parts = shredded(column, shape)
    found = dict(zip(NUMBERS, parts.to_pylist(), strict=True))
    values = {n: p["typed_value"] for n, p in found.items() if p.get("typed_value") is not None}
    assert {n: str(v) if isinstance(v, Decimal) else v for n, v in values.items()} == typed
    assert {n: p["value"] for n, p in found.items() if n not in typed} == {
        n: v for n, v in NUMBERS.items() if n not in typed
    }


@given(st.data())
def test_damaged_values_are_refused_or_harmless(data: st.DataObject) -> None:
    column = variants([{"a": 1, "l": [1, {"b": "text"}], "o": {"x": 1.5}}, {"a": 2}])
    rows = column.to_pylist()
    part = data.draw(st.sampled_from(["metadata", "value"]))
    offset = data.draw(st.integers(0, len(rows[0][part]) - 1))
    changed = bytes([data.draw(st.integers(0, 255))])
    rows[0][part] = rows[0][part][:offset] + changed + rows[0][part][offset + 1 :]
    shape = row(a=BIGINT, l=array(row(b=STRING)), o=row(x=DOUBLE))
    with suppress(ValueError):
        found = shredded(pa.array(rows, V), shape)
        found.validate(full=True)
        conform(with_required_parts(found), V).validate(full=True)


def test_members_that_share_bytes_are_not_unfolded() -> None:
    value = b"\0"
    for _ in range(12):  # each array has the inner one 64 times
        ends = len(value).to_bytes(4, "little")
        value = bytes([3 | 3 << 2, 64]) + bytes(64 * 4) + ends + value
    column = pa.array([{"value": value, "metadata": encode_metadata([])}], V)
    shape: DataType = BIGINT
    for _ in range(12):
        shape = array(shape)
    with pytest.raises(ValueError, match="overlap"):
        shredded(column, shape)


def test_types_of_files_are_java_s() -> None:
    found = physical_type(row(a=BIGINT, l=array(VARIANT)))
    binary = pa.binary()
    inner = pa.list_(pa.struct([pa.field("value", binary, nullable=False)]))
    parts = [
        pa.field("a", pa.struct([("value", binary), ("typed_value", pa.int64())]), nullable=False),
        pa.field("l", pa.struct([("value", binary), ("typed_value", inner)]), nullable=False),
    ]
    fields = [pa.field("metadata", binary, nullable=False), ("value", binary), ("typed_value", pa.struct(parts))]
    assert found == pa.struct(fields)
    assert arrow_type(VARIANT) == V
