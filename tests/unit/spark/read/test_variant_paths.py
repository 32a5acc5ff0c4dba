"""The parts of VARIANTs that a query extracts, from what Spark says of it."""

from __future__ import annotations

import pytest

from paimon_core.spec.types import BIGINT, VARIANT, DataField, RowType
from paimon_sql.spark.read.value_parts import keys_of, shown_paths, variant_paths

N = DataField(id=9, name="n", type=VARIANT)
FIELDS = {
    f.name: f
    for f in (
        DataField(id=4, name="v", type=VARIANT),
        DataField(id=5, name="w", type=VARIANT),
        DataField(id=6, name="s", type=RowType(fields=(N,))),
        DataField(id=7, name="id", type=BIGINT),
    )
}


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ("$.a.b c", ("a", "b c")),
        ("$['a.b'][\"c d\"].e", ("a.b", "c d", "e")),
        ("$.a[3].b", ("a",)),
        ("$[0].a", ()),
        ("$..a", ()),
        ("a", ()),
    ],
)
def test_keys(path: str, keys: tuple[str, ...]) -> None:
    assert keys_of(path) == keys


def test_columns_that_are_needed_as_a_whole_have_no_paths() -> None:
    asked = [(("v",), "$.a"), (("v",), "$.b.c"), (("v",), "$.a"), (("w",), "$.a"), (("w",), "$"), (("s", "n"), "$.a")]
    assert variant_paths(asked, FIELDS) == {4: (("a",), ("b", "c"))}
    assert variant_paths([(("gone",), "$.a"), (("id",), "$.a")], FIELDS) == {}


def test_different_paths_have_different_texts() -> None:
    paths = {4: (("a", "b"), ("a.b",), ("x, v.y",), ('"', "é_1"), ("",)), 5: (("a",),)}
    assert shown_paths(paths, FIELDS.values()) == 'v.a.b, v."a.b", v."x, v.y", v."\\"".é_1, v."", w.a'
    odd = [DataField(id=4, name="v.a", type=VARIANT)]
    assert shown_paths({4: (("b",),)}, odd) == '"v.a".b'
