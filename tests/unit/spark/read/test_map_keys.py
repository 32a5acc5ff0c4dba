"""The keys that a scan reads of MAPs, of those that a query uses."""

from __future__ import annotations

import json

import pytest

from paimon_core.options import TableOptions
from paimon_core.spec.types import BIGINT, INT, STRING, DataField, MapType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.spark.read.value_parts import map_keys, shown_keys

MAP = MapType(key=STRING.with_nullable(False), value=BIGINT)
FIELDS = tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate([("k", INT), ("m", MAP), ("n", MAP)]))
LAYOUT = {"fields.m.map.storage-layout": "shared-shredding"}


def keys(used: dict[str, list[str]], **more: str) -> dict[int, tuple[str, ...]]:
    schema = new_table_schema(FIELDS, options=LAYOUT)
    options = {**schema.options, **{name.replace("__", ".").replace("_", "-"): v for name, v in more.items()}}
    return dict(map_keys(json.dumps(used), schema, TableOptions(options)))


def test_columns_that_files_have_in_parts() -> None:
    assert keys({"m": ["b", "a"], "n": ["x"], "k": [], "gone": ["y"]}) == {1: ("a", "b")}
    assert keys({"m": []}) == {1: ()} and keys({}) == {}


@pytest.mark.parametrize("key", ["fields__m__aggregate_function", "fields__default_aggregate_function"])
def test_columns_with_an_aggregate_function_are_read_whole(key: str) -> None:
    assert keys({"m": ["a"]}, **{key: "merge_map"}) == {}
    assert keys({"m": ["a"]}, metadata__iceberg__storage="table-location") == {}


def test_different_keys_have_different_texts() -> None:
    found = [{1: ("a", "b")}, {1: ('a", "b',)}, {1: ()}, {2: ("a", "b")}, {1: ("a",), 2: ("b",)}]
    texts = [shown_keys(of, FIELDS) for of in found]
    assert len({*texts}) == len(found) and texts[0] == 'm["a", "b"]' and texts[2] == "m[]"
