"""MAPs with a column per key: what is written is read again, and the metadata says where each key is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_core.arrow import map_shredding
from paimon_core.arrow.map_shredding import LRU, PLAIN, SEQUENTIAL, MapShredder
from paimon_core.arrow.shredded_maps import field_metadata, whole_maps
from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import InvalidOptionError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import (
    BIGINT,
    INT,
    STRING,
    VARIANT,
    CollectionType,
    DataField,
    DataType,
    Kind,
    MapType,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from tests.support.examples import examples

POLICIES = (LRU, PLAIN, SEQUENTIAL)
KEYS = ("a", "b", "ü", "long key", "𝄞", "")
ITEM = pa.map_(pa.string(), pa.int64())
Maps = list[dict[str, int | None] | None]
maps = st.lists(st.none() | st.dictionaries(st.sampled_from(KEYS), st.none() | st.integers(0, 9)), max_size=9)


def column(values: Maps) -> pa.MapArray:
    """A slice of a longer column."""
    given = [{"before": 1}, *values, {"behind": 2}]
    return pa.array([None if v is None else list(v.items()) for v in given], ITEM).slice(1, len(values))


def used(stored: pa.StructArray) -> tuple[dict[int, set[int]], set[int]]:
    """The columns of each key's number, and the numbers in the overflow."""
    columns, overflow = dict[int, set[int]](), set[int]()
    for row in stored.to_pylist():
        for index, number in enumerate(row["__field_mapping"] if row else ()):
            if number >= 0:
                columns.setdefault(number, set()).add(index)
        overflow |= {number for number, _ in (row or {}).get("__overflow") or ()}
    return columns, overflow


@settings(max_examples=examples(60))
@given(maps, maps, st.integers(1, 4), st.sampled_from(POLICIES))
def test_maps_come_back(first: Maps, second: Maps, columns: int, policy: str) -> None:
    shredder = MapShredder(columns, policy)
    stored = [shredder.physical(column(values)) for values in (first, second)]
    found = shredder.metadata()
    metadata = {key.encode(): value.encode() for key, value in found.items()}
    for values, struct in zip((first, second), stored, strict=True):
        struct.validate(full=True)
        back = whole_maps(struct, metadata)
        assert [None if v is None else dict(v) for v in back.to_pylist()] == values
    prefix = "paimon.map.shared-shredding."
    columns_of, overflow = used(pa.concat_arrays(stored))
    assert json.loads(found[f"{prefix}field-columns"]) == {str(n): sorted(at) for n, at in columns_of.items()}
    assert json.loads(found[f"{prefix}overflow-set"]) == sorted(overflow)
    assert int(found[f"{prefix}max-row-width"]) == max((len(v or ()) for v in first + second), default=0)
    assert (found["paimon.map.storage-layout"], found[f"{prefix}num-columns"]) == ("shared-shredding", str(columns))


@pytest.mark.parametrize(
    ("policy", "mappings"),
    [
        (PLAIN, [[0, 1], [1, 2], [2, -1], [2, 1]]),
        (SEQUENTIAL, [[0, 1], [1, 2], [2, -1], [1, 2]]),
        (LRU, [[0, 1], [2, 1], [2, -1], [2, 1]]),
    ],
)
def test_which_columns_keys_get(policy: str, mappings: list[list[int]]) -> None:
    rows: Maps = [{"a": 1, "b": 2}, {"b": 3, "c": 4}, {"c": 5}, {"c": 6, "b": 7, "a": 8}]
    stored = MapShredder(2, policy).physical(column(rows))
    found = [row["__field_mapping"] for row in stored.to_pylist()]
    assert found[:3] == mappings[:3]
    overflow = stored.field("__overflow").to_pylist()
    assert overflow[:3] == [None] * 3 and overflow[3] is not None and len(overflow[3]) == 1
    if policy == PLAIN:
        assert found[3] == mappings[3]


def test_a_key_keeps_its_column_if_there_are_enough() -> None:
    shredder = MapShredder(3, LRU)
    rows: list[Maps] = [[{"a": 1}, {"c": 1, "b": 2}], [{"b": 1, "a": 0}, {"c": 5, "a": 5, "b": 5}]]
    for part in rows:
        shredder.physical(column(part))
    assert shredder.metadata()["paimon.map.shared-shredding.field-columns"] == '{"0":[0],"1":[1],"2":[2]}'


def test_keys_that_occur_twice_or_are_null() -> None:
    shredder = MapShredder(2, LRU)
    stored = shredder.physical(pa.array([[("a", 1), ("b", 2), ("a", 3)]], ITEM))
    metadata = {key.encode(): value.encode() for key, value in shredder.metadata().items()}
    assert dict(whole_maps(stored, metadata).to_pylist()[0]) == {"a": 3, "b": 2}


@pytest.mark.parametrize("keys", [["long" * 20], ["a", "b", "c", "d"]])
def test_more_metadata_than_readers_accept_is_refused(keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_shredding, "_MOST_BYTES", 84)
    shredder = MapShredder(2, LRU)
    for _ in range(3):  # keys that occur again take no more room
        shredder.physical(column([{"a": 1, "b": 2}]))
    with pytest.raises(ValueError, match="different keys, too many for its metadata"):
        shredder.physical(column([{key: 1} for key in keys]))


FIELDS = (
    DataField(id=0, name="k", type=INT),
    DataField(id=7, name="m", type=MapType(key=STRING.with_nullable(False), value=BIGINT)),
)
LAYOUT = {"fields.m.map.storage-layout": "shared-shredding"}


def written(path: Path, values: list[Maps], **options: str) -> list[Any]:
    """Write maps as parts of a file, and read the file."""
    schema, files = arrow_schema(FIELDS), format_of_file(path.name)
    writer = files.open_writer(LocalFileIO(), str(path), FIELDS, TableOptions({**LAYOUT, **options}))
    for part in values:
        whole = pa.array([None if v is None else list(v.items()) for v in part], schema.field("m").type)
        writer.write(pa.table([pa.array(range(len(part)), pa.int32()), whole], schema=schema))
    writer.close()
    request = ReadRequest(str(path), FIELDS, None, lambda: FIELDS, TableOptions({}))
    batches = files.read(LocalFileIO(), request)
    return [None if v is None else dict(v) for b in batches for v in b.column(1).to_pylist()]


@pytest.mark.parametrize("extension", ["parquet", "orc"])
@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_files(tmp_path: Path, extension: str, compression: str) -> None:
    path = tmp_path / f"f.{extension}"
    parts: list[Maps] = [[{"a": 1, "b": None}, None, {}], [{"c": 3, "a": 4, "b": 5}, {f"k{i}": i for i in range(300)}]]
    assert written(path, parts, **{"file.compression": compression}) == [v for part in parts for v in part]
    found = pq.read_schema(path) if extension == "parquet" else po.ORCFile(path).schema
    assert [f.name for f in found.field("m").type] == ["__field_mapping", "__col_0", "__col_1", "__overflow"]
    metadata = found.field("m").metadata if extension == "parquet" else field_metadata(found)["m"]
    assert metadata[b"paimon.map.shared-shredding.max-row-width"] == b"300"
    assert pa.types.is_int32(found.field("k").type)


@pytest.mark.parametrize("extension", ["parquet", "orc"])
def test_files_without_rows_and_with_one_column(tmp_path: Path, extension: str) -> None:
    assert written(tmp_path / f"a.{extension}", []) == []
    rows: list[Maps] = [[None, {}], [{"a": 1, "b": 2}]]
    assert written(tmp_path / f"b.{extension}", rows) == [None, {}, {"a": 1, "b": 2}]
    most = {"fields.m.map.shared-shredding.max-columns": "1"}
    assert written(tmp_path / f"c.{extension}", rows[1:], **most) == rows[1]


def test_readers_of_iceberg_get_maps(tmp_path: Path) -> None:
    written(tmp_path / "f.parquet", [[{"a": 1}]], **{"metadata.iceberg.storage": "table-location"})
    assert pa.types.is_map(pq.read_schema(tmp_path / "f.parquet").field("m").type)


def test_which_columns_can_have_the_layout() -> None:
    def check(m: DataType, other: DataType = INT, **options: str) -> None:
        given = {"fields.m.map.storage-layout": "shared-shredding"}
        given |= {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
        fields = [DataField(id=0, name="m", type=m), DataField(id=1, name="n", type=other)]
        new_table_schema(fields, options=given)

    key = STRING.with_nullable(False)
    of_numbers = MapType(key=key, value=INT)
    check(of_numbers)
    check(of_numbers, file__format="ORC", fields__m__map__shared_shredding__max_columns="7")
    for arguments, options, told in (
        ((INT,), {}, "column 'm' is not a MAP"),
        ((MapType(key=INT.with_nullable(False), value=INT),), {}, "keys of column 'm' are not STRING"),
        ((of_numbers, VARIANT), {}, "VARIANT or MULTISET, such as 'n'"),
        ((of_numbers, CollectionType(Kind.MULTISET, element=INT)), {}, "VARIANT or MULTISET"),
        ((of_numbers,), {"file__format": "avro"}, "files in 'avro'"),
        ((of_numbers,), {"file__compression": "snappy"}, "compressed by 'snappy'"),
        ((of_numbers,), {"fields__m__map__shared_shredding__max_columns": "0"}, "max-columns"),
        ((of_numbers,), {"fields__m__map__shared_shredding__column_placement_policy": "x"}, "placement-policy"),
        ((of_numbers,), {"fields__x__map__storage_layout": "default"}, "no column 'x'"),
    ):
        with pytest.raises(InvalidOptionError, match=told):
            check(*arguments, **options)
