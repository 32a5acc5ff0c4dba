"""MAPs whose keys share columns, as Java writes them: any layout of any maps gives them back, damage is an error."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.shredded_maps import field_metadata, whole_maps
from paimon_core.errors import CorruptFileError, UnsupportedFeatureError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.registry import format_of_file
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import BIGINT, STRING, DataField, MapType
from tests.support.examples import examples

FIELD = DataField(id=7, name="m", type=MapType(key=STRING.with_nullable(False), value=BIGINT))
KEYS = ("a", "b", "ü", "long key")
Maps = list[dict[str, int | None] | None]
maps = st.lists(st.none() | st.dictionaries(st.sampled_from(KEYS), st.none() | st.integers(0, 9)), max_size=9)


def shredded(values: Maps, columns: int, indices: st.DataObject | None = None, **more: str) -> pa.RecordBatch:
    """The maps as a file has them: each key in a column that is free, or in the overflow."""
    item = pa.int64()
    ids = {key: number for number, key in enumerate(KEYS)}
    physical: list[dict[str, Any] | None] = []
    for value in values:
        mapping = [-1] * columns
        row: dict[str, Any] = {f"__col_{n}": None for n in range(columns)}
        overflow = []
        for key, number in (value or {}).items():
            free = [n for n in range(columns) if mapping[n] < 0]
            index = (free[0] if indices is None else indices.draw(st.sampled_from([*free, -1]))) if free else -1
            if index < 0:
                overflow.append((ids[key], number))
            else:
                mapping[index], row[f"__col_{index}"] = ids[key], number
        whole = {"__field_mapping": mapping, **row, "__overflow": overflow or None}
        physical.append(None if value is None else whole)
    fields = [("__field_mapping", pa.list_(pa.int32())), *((f"__col_{n}", item) for n in range(columns))]
    arrow = pa.struct([*fields, ("__overflow", pa.map_(pa.int32(), item))])
    schema = pa.schema([pa.field("m", arrow, metadata={"PARQUET:field_id": "7", **layout_metadata(ids, **more)})])
    return pa.RecordBatch.from_arrays([pa.array(physical, arrow)], schema=schema)


def layout_metadata(ids: Mapping[str, int], codec: str = "zstd", **more: str) -> dict[str, str]:
    """The field's metadata."""
    names = json.dumps(ids, ensure_ascii=False).encode()
    data = names if codec == "none" else pa.compress(names, {"lz4": "lz4_raw"}.get(codec, codec), asbytes=True)
    data = bytes(8) + data if codec == "lz4" else data
    found = {"version": "1", "field-dict-compression": codec, "field-dict-original-size": str(len(names))}
    found |= {"field-dict": data.decode("latin-1"), **{k.replace("_", "-"): v for k, v in more.items()}}
    return {f"paimon.map.shared-shredding.{k}": v for k, v in found.items()}


def read(path: Path, max_rows: int = 100) -> list[Any]:
    request = ReadRequest(str(path), (FIELD,), None, lambda: (FIELD,), TableOptions({}), max_rows=max_rows)
    batches = format_of_file(path.name).read(LocalFileIO(), request)
    return [None if v is None else dict(v) for b in batches for v in b.column(0).to_pylist()]


@settings(max_examples=examples(40))
@given(maps, st.integers(0, 4), st.sampled_from(["zstd", "lz4", "none"]), st.integers(0, 3), st.data())
def test_maps_come_back(values: Maps, columns: int, codec: str, skipped: int, indices: st.DataObject) -> None:
    batch = shredded(values, columns, indices, codec=codec).slice(skipped)
    found = whole_maps(batch.column(0), batch.schema.field(0).metadata)
    found.validate(full=True)
    assert [None if v is None else dict(v) for v in found.to_pylist()] == values[skipped:]


@pytest.mark.parametrize("columns", [1, 2])
def test_from_a_file(tmp_path: Path, columns: int) -> None:
    values: Maps = [{"a": 1, "b": None, "ü": 3}, None, {}, {"long key": 4}, {"b": 5, "a": 6}]
    pq.write_table(pa.Table.from_batches([shredded(values, columns)]), tmp_path / "f.parquet")
    for max_rows in (100, 2):
        assert read(tmp_path / "f.parquet", max_rows) == values


def test_files_may_tell_it_of_all_fields_at_once() -> None:
    """As ORC's do, which know no metadata of a field but its id."""
    known = shredded([], 1).schema
    found = pa.schema([known.field(0).with_metadata({"paimon.id": "7"}), pa.field("k", pa.int32())])
    assert not field_metadata(found)
    encoded = base64.b64encode(known.append(pa.field("dropped", pa.int32(), metadata={"a": "b"})).serialize())
    described = field_metadata(found.with_metadata({"ARROW:schema": encoded}))
    assert described == {"m": {**known.field(0).metadata, b"paimon.id": b"7"}}


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"version": "2"}, UnsupportedFeatureError, "in version '2'.* reads 1"),
        ({"field_dict_compression": "gzip"}, UnsupportedFeatureError, "'gzip'"),
        ({"field_dict_original_size": str(2**40)}, UnsupportedFeatureError, "bytes in"),
        ({"field_dict_original_size": "many"}, CorruptFileError, "many"),
        ({"field_dict": "no frame"}, CorruptFileError, "not a Parquet file, or damaged"),
        ({"codec": "none", "field_dict": '["a"]'}, CorruptFileError, "has no names of its keys"),
        ({"codec": "none", "field_dict": '{"a": "0"}'}, CorruptFileError, "has no names of its keys"),
    ],
)
def test_damage_is_an_error(tmp_path: Path, more: dict[str, str], error: type[Exception], says: str) -> None:
    pq.write_table(pa.Table.from_batches([shredded([{"a": 1}], 1, **more)]), tmp_path / "f.parquet")
    with pytest.raises(error, match=says):
        read(tmp_path / "f.parquet")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mapping=st.lists(st.none() | st.integers(-2, 9), max_size=4) | st.none())
def test_columns_that_do_not_say_what_they_hold(mapping: list[int | None] | None) -> None:
    batch = shredded([{"a": 1}], 2)
    parts = {f.name: batch.column(0).field(f.name) for f in batch.schema.field(0).type}
    parts["__field_mapping"] = pa.array([mapping], pa.list_(pa.int32()))
    column = pa.StructArray.from_arrays(list(parts.values()), names=list(parts))
    fits = mapping is not None and len(mapping) == 2 and None not in mapping
    if fits:
        assert mapping is not None
        named = [KEYS[n] for n in mapping if n is not None and 0 <= n < len(KEYS)]
        assert [k for k, _ in whole_maps(column, batch.schema.field(0).metadata).to_pylist()[0]] == named
    else:
        with pytest.raises(ValueError, match="the keys of its 2 columns"):
            whole_maps(column, batch.schema.field(0).metadata)


def test_plain_maps_and_structs_stay_what_they_are(tmp_path: Path) -> None:
    plain = pa.table({"m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64()))})
    pq.write_table(plain, tmp_path / "f.parquet")
    assert read(tmp_path / "f.parquet") == [{"a": 1}, None]
