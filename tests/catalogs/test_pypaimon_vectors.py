"""Vectors of pypaimon and ours in files of their own, and their indexes, both ways: `make campaign NAME=pypaimon`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.indexes.vector_index.layout import VECTOR_INDEXES
from paimon_core.spec.message import written_messages
from paimon_core.store.partitions import PartitionFilter
from paimon_core.write.indexes.vector_index import VectorIndexBuild
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable

PYPAIMON = os.environ.get("PAIMON_SQL_PYPAIMON")
pytestmark = pytest.mark.skipif(PYPAIMON is None, reason="no PAIMON_SQL_PYPAIMON: make campaign NAME=pypaimon")

# makes a table with an index, or writes to a table, and prints what it finds, as JSON
_CLIENT = """
import json, sys
import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.globalindex.create_global_index import create_global_index

given = json.loads(sys.argv[1])
catalog, name = CatalogFactory.create({"warehouse": given["warehouse"]}), given["table"]
length = len(given["query"])
schema = pa.schema([("k", pa.int32()), ("v", pa.list_(pa.float32(), length)), ("n", pa.string())])
if given["options"]:
    catalog.create_database("default", True)
    catalog.create_table(name, Schema.from_pyarrow_schema(schema, options=given["options"]), False)
if given["rows"]:
    builder = catalog.get_table(name).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_pylist(given["rows"], schema=schema))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
if given["index"]:
    create_global_index(catalog.get_table(name), "v", index_type=given["index"])
builder = catalog.get_table(name).new_read_builder()
rows = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
found = []
if given["search"]:
    search = catalog.get_table(name).new_vector_search_builder()
    result = search.with_limit(5).with_vector_column("v").with_query_vector(given["query"]).execute_local()
    score = result.score_getter()
    found = sorted(([i, score(i)] for i in result.results()), key=lambda p: -p[1])
print(json.dumps([sorted(rows, key=lambda r: r["k"]), found]))
"""
VALUES = np.random.default_rng(3).standard_normal((300, 8)).astype(np.float32)
ROWS = [{"k": k, "v": v, "n": None} for k, v in enumerate(VALUES.tolist())]
QUERY = (VALUES[7] + np.float32(0.01)).tolist()
OPTIONS = {
    "row-tracking.enabled": "true",
    "data-evolution.enabled": "true",
    "vector-field": "v",
    "field.v.vector-dim": "8",
    "ivf-pq.pq.m": "4",
    "fields.v.metric": "l2",
}
COLUMNS = pa.schema([("k", pa.int32()), ("v", pa.list_(pa.float32())), ("n", pa.string())])


def client(root: Path, **given: Any) -> list[Any]:
    assert PYPAIMON is not None
    task = {"warehouse": str(root), "options": {}, "rows": [], "index": "", "query": QUERY, "search": False} | given
    done = subprocess.run([PYPAIMON, "-c", _CLIENT, json.dumps(task)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answer: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def found(table: PaimonTable) -> list[list[Any]]:
    rows = table.search("v", QUERY, 5, columns=["k"], options={"ivf.nprobe": "100"})
    return [[r["k"], pytest.approx(r["__paimon_search_score"], rel=1e-5)] for r in rows.to_pylist()]


def test_vectors_in_files_of_their_own(tmp_path: Path) -> None:
    options = OPTIONS | {"vector.file.format": "parquet"}
    theirs = [*ROWS[:3], {"k": 3, "v": None, "n": "x"}]
    client(tmp_path, table="default.p", options=options, rows=ROWS[:3])
    catalog = open_catalog(str(tmp_path))
    catalog.create_table("default.o", COLUMNS, options=options).append(ROWS[:2])
    rows, _ = client(tmp_path, table="default.o", rows=ROWS[2:3])
    assert rows == ROWS[:3]
    for name in ("default.p", "default.o"):
        assert catalog.table(name).scan().to_arrow().to_pylist() == ROWS[:3]
    catalog.table("default.p").append(theirs[3:])
    assert catalog.table("default.p").scan().to_arrow().to_pylist() == theirs
    assert {p.name.partition(".")[2] for p in tmp_path.rglob("data-*")} == {"parquet", "vector.parquet"}


@pytest.mark.parametrize("kind", VECTOR_INDEXES)
def test_indexes_of_vectors(tmp_path: Path, kind: str) -> None:
    _, by_them = client(tmp_path, table="default.p", options=OPTIONS, rows=ROWS, index=kind, search=True)
    catalog = open_catalog(str(tmp_path))
    assert by_them == found(catalog.table("default.p"))
    ours = catalog.create_table("default.o", COLUMNS, options=OPTIONS)
    ours.append(ROWS)
    store, snapshot = ours.inner.store, ours.inner.latest_snapshot()
    assert snapshot is not None
    build = VectorIndexBuild(store, ours.inner.schema.field_by_name["v"], kind, snapshot)
    results = build.job(PartitionFilter(())).run_here()
    ours.inner.commit(written_messages(results), CommitInfo(user="u"))
    _, by_them = client(tmp_path, table="default.o", search=True)
    assert by_them == found(catalog.table("default.o"))
    assert by_them[0][0] == 7
