"""MAPs with a column per key of pypaimon and ours, both ways, and tables with indexes of elements: `NAME=pypaimon`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.spec.message import written_messages
from paimon_core.store.partitions import PartitionFilter
from paimon_core.write.indexes.global_index import IndexBuild
from paimon_sql import open_catalog

PYPAIMON = os.environ.get("PAIMON_SQL_PYPAIMON")
pytestmark = pytest.mark.skipif(PYPAIMON is None, reason="no PAIMON_SQL_PYPAIMON: make campaign NAME=pypaimon")

# makes a table with rows if it gets rows, and prints the rows of a table, as JSON
_CLIENT = """
import json, sys
import pyarrow as pa
from pypaimon import CatalogFactory, Schema

given = json.loads(sys.argv[1])
catalog, name = CatalogFactory.create({"warehouse": given["warehouse"]}), given["table"]
schema = pa.schema([("k", pa.int32()), ("m", pa.map_(pa.string(), pa.int64()))])
if given["rows"]:
    catalog.create_database("default", True)
    catalog.create_table(name, Schema.from_pyarrow_schema(schema, options=given["options"]), False)
    builder = catalog.get_table(name).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    rows = [{"k": k, "m": m and [tuple(e) for e in m]} for k, m in given["rows"]]
    write.write_arrow(pa.Table.from_pylist(rows, schema=schema))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
builder = catalog.get_table(name).new_read_builder()
if given["key"] is not None:
    builder = builder.with_filter(builder.new_predicate_builder().equal("k", given["key"]))
print(json.dumps(builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()))
"""
ROWS: list[tuple[int, Any]] = [(1, [("a", 1), ("b", 2), ("ü", 3)]), (2, None), (3, []), (4, [("ü", None), ("a", 5)])]
EXPECTED = [(k, None if m is None else dict(m)) for k, m in ROWS]
LAYOUT = {"fields.m.map.storage-layout": "shared-shredding", "fields.m.map.shared-shredding.max-columns": "2"}
COLUMNS = pa.schema([("k", pa.int32()), ("m", pa.map_(pa.string(), pa.int64()))])


def client(root: Path, table: str, key: int | None = None, rows: Any = (), **options: str) -> list[Any]:
    assert PYPAIMON is not None
    task = {"warehouse": str(root), "table": table, "options": options, "rows": rows, "key": key}
    done = subprocess.run([PYPAIMON, "-c", _CLIENT, json.dumps(task)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def pairs(rows: list[dict[str, Any]]) -> list[tuple[int, dict[str, int] | None]]:
    return sorted(((r["k"], None if r["m"] is None else dict(r["m"])) for r in rows), key=lambda r: r[0])


def test_they_write_and_we_read(tmp_path: Path) -> None:
    assert pairs(client(tmp_path, "default.p", rows=ROWS, **LAYOUT)) == EXPECTED
    assert pairs(open_catalog(str(tmp_path)).table("default.p").scan().to_arrow().to_pylist()) == EXPECTED


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("policy", ["lru", "plain", "sequential"])
def test_we_write_and_they_read(tmp_path: Path, file_format: str, policy: str) -> None:
    options = {**LAYOUT, "file.format": file_format, "fields.m.map.shared-shredding.column-placement-policy": policy}
    table = open_catalog(str(tmp_path)).create_table("default.o", COLUMNS, options=options)
    table.append(pa.Table.from_pylist([{"k": k, "m": m} for k, m in ROWS], COLUMNS))
    if file_format == "parquet":
        (file,) = tmp_path.rglob("data-*.parquet")
        assert pa.types.is_struct(pq.read_schema(file).field("m").type)
    assert pairs(client(tmp_path, "default.o")) == EXPECTED


def test_they_read_tables_with_an_index_of_elements(tmp_path: Path) -> None:
    columns = pa.schema([("k", pa.int32()), ("tags", pa.list_(pa.string()))])
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = open_catalog(str(tmp_path)).create_table("default.t", columns, options=options)
    rows = [{"k": 1, "tags": ["red", "blue"]}, {"k": 2, "tags": None}]
    table.append(rows)
    inner, snapshot = table.inner, table.inner.latest_snapshot()
    assert snapshot is not None
    build = IndexBuild(inner.store, inner.schema.field_by_name["tags"], "multivalue", snapshot)
    inner.commit(written_messages(build.job(PartitionFilter(())).run_here()), CommitInfo(user="u"))
    assert client(tmp_path, "default.t") == rows
    assert client(tmp_path, "default.t", key=2) == rows[1:]
