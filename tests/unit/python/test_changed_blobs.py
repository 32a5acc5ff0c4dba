"""UPDATE and MERGE keep BLOBs as they are, also BLOBs that look like descriptors of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable
from paimon_sql.spark.tables.blob_view_function import encode_views, viewed_column

KEYED = {"bucket": "1"}
EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
OPTIONS = [KEYED, EVOLVED]


@pytest.fixture
def file(tmp_path: Path) -> bytes:
    """A descriptor of a file."""
    path = tmp_path / "secret.txt"
    path.write_bytes(b"secret")
    return BlobDescriptor(str(path)).encode()


@pytest.fixture
def lookalike(tmp_path: Path, file: bytes) -> bytes:
    """A descriptor of a file with the bytes of a descriptor."""
    path = tmp_path / "upload.png"
    path.write_bytes(file)
    return BlobDescriptor(str(path)).encode()


def new_table(catalog: PaimonCatalog, options: dict[str, str], data_type: pa.DataType) -> PaimonTable:
    schema = pa.schema([("k", pa.int32()), ("n", pa.string()), ("v", data_type)])
    keys: dict[str, Any] = {"primary_key": "k"} if "bucket" in options else {}
    blobs = {} if "blob-descriptor-field" in options else {"blob-field": "v"}
    return catalog.create_table("shop.t", schema, options=blobs | options, **keys)


def added(table: PaimonTable, *values: Any) -> None:
    rows = [{"k": k, "n": "a", "v": value} for k, value in enumerate(values, start=1)]
    (table.upsert if table.primary_key else table.append)(rows)


def rows(table: PaimonTable) -> list[tuple[str, Any]]:
    return [(r["n"], r["v"]) for r in sorted(table.scan().to_arrow().to_pylist(), key=lambda r: r["k"])]


@pytest.mark.parametrize("options", OPTIONS, ids=["keyed", "evolved"])
def test_an_update_keeps_values(lake: PaimonCatalog, options: dict[str, str], file: bytes, lookalike: bytes) -> None:
    table = new_table(lake, options, pa.binary())
    added(table, lookalike, b"plain", None, file)
    table.update({"n": "'b'"})
    assert rows(table) == [("b", file), ("b", b"plain"), ("b", None), ("b", b"secret")]
    table.update({"v": "v"})
    assert rows(table) == [("b", file), ("b", b"plain"), ("b", None), ("b", b"secret")]
    table.update({"v": lookalike}, where="k = 3")  # a new value is fetched, once
    assert rows(table)[2] == ("b", file)


@pytest.mark.parametrize("options", OPTIONS, ids=["keyed", "evolved"])
def test_a_merge_keeps_values(lake: PaimonCatalog, options: dict[str, str], file: bytes, lookalike: bytes) -> None:
    table = new_table(lake, options, pa.binary())
    added(table, lookalike, lookalike, b"plain")
    source = pa.table({"k": pa.array([1, 2, 3], pa.int32()), "v": [b"1", b"2", lookalike]})
    changes = [("source.k = 1", {"n": "'b'"}), {"n": "'c'", "v": "source.v"}]
    table.merge(source, on="k", when_matched=changes)
    assert rows(table) == [("b", file), ("c", b"2"), ("c", file)]


def test_values_in_arrays_and_maps_stay(lake: PaimonCatalog, file: bytes, lookalike: bytes) -> None:
    table = new_table(lake, KEYED, pa.list_(pa.binary()))
    added(table, [lookalike, None, b"x"], None)
    table.update({"n": "'b'"})
    assert rows(table) == [("b", [file, None, b"x"]), ("b", None)]


@pytest.mark.parametrize("options", OPTIONS, ids=["keyed", "evolved"])
def test_columns_of_descriptors_keep_them(
    lake: PaimonCatalog, options: dict[str, str], file: bytes, lookalike: bytes
) -> None:
    table = new_table(lake, options | {"blob-descriptor-field": "v"}, pa.binary())
    added(table, file, lookalike)
    table.merge(
        pa.table({"k": pa.array([1, 2], pa.int32())}),
        on="k",
        when_matched=[("source.k = 1", {"n": "'b'", "v": file}), {"n": "'c'"}],
    )
    assert rows(table) == [("b", b"secret"), ("c", file)]


@pytest.mark.parametrize("options", OPTIONS, ids=["keyed", "evolved"])
def test_expressions_on_views_are_refused(lake: PaimonCatalog, options: dict[str, str]) -> None:
    source = new_table(lake, EVOLVED, pa.binary())
    added(source, b"one", None)
    head, column = viewed_column(source.inner, "v")
    views = encode_views(head, column, pa.array([0, 1])).to_pylist()
    schema = pa.schema([("k", pa.int32()), ("n", pa.string()), ("v", pa.binary())])
    keys: dict[str, Any] = {"primary_key": "k"} if "bucket" in options else {}
    more = {"blob-view-field": "v", "deletion-vectors.enabled": "false" if keys else "true"}
    table = lake.create_table("shop.seen", schema, options=options | more, **keys)
    added(table, *views, None)
    given = pa.table({"k": pa.array([1], pa.int32()), "v": [views[1]]})
    for change in (
        lambda: table.update({"n": "'b'"}, where="n = 'a' AND v IS NULL"),
        lambda: table.update({"v": "v"}),
        lambda: table.merge(given, on="k", when_matched=("target.v IS NULL", {"n": "'b'"})),
        lambda: table.merge(given, on="k", when_matched={"v": "target.v"}),
        lambda: table.merge(given, on="target.k = source.k AND target.v IS NULL", when_matched={"n": "'b'"}),
    ):
        with pytest.raises(UnsupportedFeatureError, match=r"(UPDATE|MERGE INTO) on table shop\.seen reads column 'v'"):
            change()
    assert rows(table) == [("a", b"one"), ("a", None), ("a", None)]
    table.update({"n": "'b'"}, where="k = 1")
    table.merge(given, on="k", when_matched={"v": "source.v"})
    assert rows(table) == [("b", None), ("a", None), ("a", None)]
    table.delete("k = 2 AND v IS NULL")
    assert rows(table) == [("b", None), ("a", None)]
