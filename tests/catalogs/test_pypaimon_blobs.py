"""BLOBs of pypaimon and ours in arrays, maps and views, both ways, in files of the same bytes: `make campaign
NAME=pypaimon`."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import (
    BOOLEAN,
    BYTES,
    DATE,
    INT,
    STRING,
    CollectionType,
    DataType,
    Kind,
    MapType,
    parse_type,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_sql import open_catalog
from paimon_sql.catalog.load import load_catalog
from tests.support.evolving import EVOLVES, live
from tests.support.stored import compact
from tests.support.tables import fields
from tests.unit.formats.test_blob_elements import resolved

PYPAIMON = os.environ.get("PAIMON_SQL_PYPAIMON")
pytestmark = pytest.mark.skipif(PYPAIMON is None, reason="no PAIMON_SQL_PYPAIMON: make campaign NAME=pypaimon")

# appends the rows of a table to another, writes views of a table, or neither, and prints the rows of a table
_CLIENT = """
import sys
from pypaimon import CatalogFactory
from pypaimon.table.row.blob import BlobViewStruct
import pyarrow as pa
import datetime, decimal

warehouse, name, write = sys.argv[1:]
catalog = CatalogFactory.create({"warehouse": warehouse})
table = catalog.get_table(name)

def commit(rows):
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(rows)
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()

D = decimal.Decimal
KEYS = {
    "s": ("x", pa.string()), "i": (-7, pa.int32()), "d": (D("-1.25"), pa.decimal128(9, 2)),
    "e": (D("-12345678901234567890.25"), pa.decimal128(30, 2)), "y": (datetime.date(1969, 12, 31), pa.date32()),
    "t": (datetime.time(1, 2, 3, 4000), pa.time32("ms")), "b": (True, pa.bool_()), "x": (bytes([0, 255]), pa.binary()),
}
if write == "maps":
    blob = pa.large_binary()
    columns = {"k": pa.array([1, 2, 3], pa.int32()), "a": pa.array([[b"1", None, b""], [], None], pa.list_(blob))}
    for n, (key, kind) in KEYS.items():
        columns["m" + n] = pa.array([[(key, b"v")], [], None], pa.map_(kind, blob))
    commit(pa.table(columns))
if write == "views":
    views = [BlobViewStruct("default.src", 1, i).serialize() for i in (1, 0)] + [None]
    commit(pa.table({"k": pa.array([1, 2, 3], pa.int32()), "w": pa.array(views, pa.large_binary())}))
builder = table.new_read_builder()
rows = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
print(repr(sorted(rows, key=lambda r: r["k"])))
"""
KEYS: dict[str, DataType] = {
    "s": STRING,
    "i": INT,
    "d": parse_type("DECIMAL(9, 2)"),
    "e": parse_type("DECIMAL(30, 2)"),
    "y": DATE,
    "t": parse_type("TIME(3)"),
    "b": BOOLEAN,
    "x": BYTES,
}
COLUMNS = {"k": INT, "a": CollectionType(Kind.ARRAY, element=BYTES)} | {
    f"m{n}": MapType(key=key, value=BYTES) for n, key in KEYS.items()
}


def client(root: Path, table: str, write: str = "") -> str:
    """Return the rows that pypaimon reads, as the text of a list."""
    assert PYPAIMON is not None
    done = subprocess.run(
        [PYPAIMON, "-c", _CLIENT, str(root), f"default.{table}", write], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def new_table(root: Path, name: str, columns: dict[str, DataType], **options: str) -> Table:
    common = {} if "primary_key" in options else EVOLVES
    spelled = common | {k.replace("__", ".").replace("_", "-"): o for k, o in options.items()}
    catalog = load_catalog({"warehouse": str(root)})
    catalog.create_table(Identifier("default", name), new_table_schema(fields(**columns), options=spelled))
    found = catalog.load_table(Identifier("default", name))
    assert isinstance(found, Table)
    return found


def rows_of(root: Path, name: str) -> list[dict[str, Any]]:
    table = open_catalog(warehouse=str(root)).table(f"default.{name}")
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda r: int(r["k"]))


def blob_bytes(root: Path, table: Table) -> dict[Any, bytes]:
    """The bytes of the only `.blob` file of each column."""
    found = {f.write_cols: f.file_name for f in live(table) if f.file_name.endswith(".blob")}
    return {columns: next(root.rglob(name)).read_bytes() for columns, name in found.items()}


def test_arrays_and_maps(tmp_path: Path) -> None:
    names = ",".join(n for n in COLUMNS if n != "k")
    theirs, ours = (
        new_table(tmp_path, name, COLUMNS, blob_field=names, blob_compaction__enabled="true") for name in ("p", "o")
    )
    read = client(tmp_path, "p", "maps")
    rows = rows_of(tmp_path, "p")
    assert repr(rows) == read
    open_catalog(warehouse=str(tmp_path)).table("default.o").append(
        open_catalog(warehouse=str(tmp_path)).table("default.p").scan().to_arrow()
    )
    assert client(tmp_path, "o") == read
    assert blob_bytes(tmp_path, ours) == blob_bytes(tmp_path, theirs)
    assert len(blob_bytes(tmp_path, ours)) == len(COLUMNS) - 1
    client(tmp_path, "p", "maps")
    assert sum(f.file_name.endswith(".blob") for f in live(theirs)) == 2 * (len(COLUMNS) - 1)
    compact(theirs)
    assert sum(f.file_name.endswith(".blob") for f in live(theirs)) == len(COLUMNS) - 1
    assert client(tmp_path, "p") == repr([row for row in rows for _ in range(2)])
    assert rows_of(tmp_path, "p") == [row for row in rows for _ in range(2)]


def test_views(tmp_path: Path) -> None:
    new_table(tmp_path, "src", {"k": INT, "v": BYTES}, blob_field="v")
    new_table(tmp_path, "seen", {"k": INT, "w": BYTES}, blob_view_field="w")
    catalog = open_catalog(warehouse=str(tmp_path))
    catalog.table("default.src").append([{"k": 1, "v": b"one"}, {"k": 2, "v": b"two"}])
    expected = [{"k": 1, "w": b"two"}, {"k": 2, "w": b"one"}, {"k": 3, "w": None}]
    assert client(tmp_path, "seen", "views") == repr(expected)
    assert rows_of(tmp_path, "seen") == expected


@pytest.mark.parametrize(("engine", "expected"), [("partial-update", b"new"), ("first-row", b"old")])
def test_packs_of_other_merge_engines(tmp_path: Path, engine: str, expected: bytes) -> None:
    """pypaimon writes no such tables; it merges their rows, and returns the descriptors."""
    keyed = {"primary_key": "k", "bucket": "1", "merge_engine": engine, "blob_field": "v"}
    new_table(tmp_path, "t", {"k": INT, "v": BYTES, "n": INT}, **keyed)
    table = open_catalog(warehouse=str(tmp_path)).table("default.t")
    table.upsert([{"k": 1, "v": b"old", "n": 1}, {"k": 2, "v": b"two", "n": 2}])
    table.upsert([{"k": 1, "v": b"new", "n": None}])
    rows = [{"k": 1, "v": expected, "n": 1}, {"k": 2, "v": b"two", "n": 2}]
    assert rows_of(tmp_path, "t") == rows
    assert [{**r, "v": resolved(r["v"])} for r in ast.literal_eval(client(tmp_path, "t"))] == rows
