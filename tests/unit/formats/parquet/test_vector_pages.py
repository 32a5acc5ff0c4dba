"""Columns of vectors are decoded as the native reader decodes them; other lists and damage are left to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import PaimonError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.parquet import data_files, vector_pages
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.formats.parquet.page_checks import checked_footer
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.types import DOUBLE, FLOAT, INT, CollectionType, DataField, Kind
from tests.support.examples import examples

FIELDS = (
    DataField(id=0, name="k", type=INT),
    DataField(id=1, name="v", type=CollectionType(Kind.ARRAY, element=FLOAT)),
    DataField(id=2, name="d", type=CollectionType(Kind.ARRAY, element=DOUBLE)),
)
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), metadata={"PARQUET:field_id": "0"}),
        pa.field("v", pa.list_(pa.field("element", pa.float32())), metadata={"PARQUET:field_id": "1"}),
        pa.field("d", pa.list_(pa.field("element", pa.float64())), metadata={"PARQUET:field_id": "2"}),
    ]
)
PLAIN: dict[str, Any] = {"use_dictionary": False, "store_schema": False, "write_page_checksum": True}


def table(rows: int, length: int) -> pa.Table:
    numbers = np.random.default_rng(rows).standard_normal(rows * length)
    vectors = [
        pa.array(numbers.reshape(rows, length).astype(t).tolist(), SCHEMA.field(i).type)
        for i, t in ((1, "f4"), (2, "f8"))
    ]
    return pa.table([pa.array(range(rows), pa.int32()), *vectors], schema=SCHEMA)


def read(path: Path, names: str = "kvd", **options: str) -> list[Any]:
    fields = tuple(f for f in FIELDS if f.name in names)
    request = ReadRequest(str(path), fields, None, lambda: FIELDS, TableOptions(options), max_rows=700)
    return [tuple(row.values()) for b in ParquetFormat().read(LocalFileIO(), request) for row in b.to_pylist()]


def decoded(path: Path, names: str = "vd") -> list[bool]:
    """Whether each chunk of the columns is decoded here."""
    with pa.OSFile(str(path)) as source:
        file = pq.ParquetFile(source)
        near = checked_footer(source, file.schema, file.metadata.num_row_groups)
        assert near is not None
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        found = [
            vector_pages.vectors_of(near, file.schema, (g, name, rows), verifies=True)
            for g, rows in enumerate(sizes)
            for name in names
        ]
    return [f is not None for f in found]


@pytest.mark.parametrize("codec", ["none", "zstd", "snappy", "lz4", "gzip"])
@pytest.mark.parametrize("length", [1, 3, 8, 100])
def test_vectors(tmp_path: Path, codec: str, length: int) -> None:
    path, rows = tmp_path / "v.parquet", table(3000, length)
    pq.write_table(
        rows, path, compression=codec, row_group_size=1300, data_page_size=4096, write_page_index=True, **PLAIN
    )
    assert read(path) == [tuple(r.values()) for r in rows.to_pylist()]
    assert read(path, "v") == [(v,) for v in rows.column("v").to_pylist()]
    assert set(decoded(path)) == {codec != "gzip"}


def test_pages_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, sizes, bytes_at = tmp_path / "v.parquet", list[int](), vector_pages.bytes_at
    pq.write_table(table(3000, 100), path, compression="none", data_page_size=2**14, **PLAIN)
    monkeypatch.setattr(
        vector_pages, "bytes_at", lambda source, at, length: sizes.append(length) or bytes_at(source, at, length)
    )
    assert decoded(path, "v") == [True]
    assert 3000 * 100 * 4 < sum(sizes) < path.stat().st_size and max(sizes) < 2**20


def test_what_our_writer_makes(tmp_path: Path) -> None:
    path, rows = tmp_path / "v.parquet", table(5000, 128)
    writer = ParquetFormat().open_writer(LocalFileIO(), str(path), FIELDS, TableOptions({}))
    writer.write(rows)
    writer.close()
    assert decoded(path) == [True, True]
    assert read(path, "v") == [(v,) for v in rows.column("v").to_pylist()]


lists = st.none() | st.lists(st.none() | st.floats(width=32), max_size=3) | st.just([1.0, 2.0])


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lists, min_size=1, max_size=12), st.booleans(), st.sampled_from(["1.0", "2.0"]))
def test_other_lists(tmp_path: Path, values: list[Any], dictionary: bool, version: str) -> None:
    path = tmp_path / "o.parquet"
    rows = pa.table(
        [
            pa.array(range(len(values)), pa.int32()),
            pa.array(values, SCHEMA.field(1).type),
            pa.array(values, SCHEMA.field(2).type),
        ],
        schema=SCHEMA,
    )
    pq.write_table(rows, path, **{**PLAIN, "use_dictionary": dictionary, "data_page_version": version})
    assert repr(read(path)) == repr([tuple(r.values()) for r in rows.to_pylist()])
    are_vectors = all(v and None not in v for v in values) and len({len(v or ()) for v in values}) == 1
    assert set(decoded(path)) == {are_vectors and not dictionary and version == "1.0"}


def test_a_wrong_checksum_is_found(tmp_path: Path) -> None:
    path, rows = tmp_path / "v.parquet", table(1000, 16)
    pq.write_table(rows, path, compression="none", **PLAIN)
    data = bytearray(path.read_bytes())
    at = data.index(rows.column("v").chunk(0).values.to_numpy()[4000:4004].tobytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(PaimonError, match="crc|CRC"):
        read(path, "v")
    assert len(read(path, "v", **{"parquet.page.verify-checksum.enabled": "false"})) == 1000


def outcome(path: Path) -> object:
    try:
        return repr(read(path, "v", **{"parquet.page.verify-checksum.enabled": "false"}))
    except PaimonError:
        return None


def test_damage_has_the_outcome_of_the_native_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rows = tmp_path / "v.parquet", table(40, 4)
    pq.write_table(rows.select(["k", "v"]), path, compression="none", data_page_size=64, **PLAIN)
    whole, random = path.read_bytes(), np.random.default_rng(5)
    native: Callable[[Any], bool] = lambda arrow: False  # noqa: E731
    for at in random.integers(4, len(whole), 300).tolist():
        data = bytearray(whole)
        data[at] ^= int(random.integers(1, 256))
        path.write_bytes(data)
        found = outcome(path)
        with monkeypatch.context() as patched:
            patched.setattr(data_files, "_may_be_vectors", native)
            expected = outcome(path)
        assert found == expected, (at, whole[at], data[at])
