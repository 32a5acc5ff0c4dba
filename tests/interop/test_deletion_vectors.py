"""Rows that one engine marks as deleted or replaced are deleted for the other, whoever marked rows before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow.parquet as pq
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.spec.identifier import Identifier
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.deletion import delete_rows
from paimon_sql.catalog.load import load_catalog
from tests.interop.engines import Engines

TABLES: Mapping[str, str] = {
    "unaware": "",
    "of_64_bits": ", 'deletion-vectors.bitmap64' = 'true'",
    "beside_the_data": ", 'index-file-in-data-file-dir' = 'true'",
    "buckets": ", 'bucket' = '2', 'bucket-key' = 'k'",
    "small_files": ", 'deletion-vector.index-file.target-size' = '1 b'",
}


def delete_by_positions(table: Table, keys: set[int]) -> None:
    found: dict[tuple[bytes, int], dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]] = {}
    for entry in live_files(table.store, table.latest_snapshot()).values():
        path = f"{table.store.bucket_dir(entry.partition, entry.bucket)}/{entry.file.file_name}"
        hits = [i for i, k in enumerate(pq.read_table(path).column("k").to_pylist()) if k in keys]
        if hits:
            found.setdefault((entry.partition, entry.bucket), {})[entry.file.file_name] = np.array(hits)
    messages = delete_rows(table.store, table.latest_snapshot(), found)
    assert table.commit(messages, CommitInfo(user=table.new_commit_user())) is not None


@pytest.mark.parametrize("kind", TABLES)
def test_deletes_by_both_engines(engines: Engines, java: tuple[object, str], kind: str) -> None:
    options = f"'deletion-vectors.enabled' = 'true'{TABLES[kind]}"
    engines.run("ours", f"CREATE TABLE t (k INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({options})")
    catalog = load_catalog({"warehouse": java[1]})
    left = {(k, f"p{k % 2}") for k in range(3000)}
    for engine, low, high in (("ours", 0, 2000), ("java", 2000, 3000)):
        engines.run(engine, f"INSERT INTO t SELECT id, concat('p', id % 2) FROM range({low}, {high})")
    for step, condition in enumerate((lambda k: k % 3 == 0, lambda k: k % 5 == 0, lambda k: 100 < k < 900)):
        if step == 1:
            engines.run("java", "DELETE FROM t WHERE k % 5 = 0")
        else:
            table = catalog.load_table(Identifier(engines.database, "t"))
            delete_by_positions(table, {k for k in range(3000) if condition(k)})
        left = {row for row in left if not condition(row[0])}
        engines.both("SELECT count(*), sum(k) FROM t", [[len(left), sum(k for k, _ in left)]])
        engines.both("SELECT * FROM t", [list(row) for row in left])
        engines.both("SELECT partition, bucket, index_type, row_count, dv_ranges FROM `t$table_indexes`")
    for engine in ("ours", "java"):
        engines.run(engine, "INSERT INTO t VALUES (5000, 'p0')")
        engines.run(engine, f"CALL sys.compact(table => '{engines.database}.t')")
        left |= {(5000, "p0")}
    engines.both("SELECT count(DISTINCT k), sum(DISTINCT k) FROM t", [[len(left), sum(k for k, _ in left)]])


KEYED: Mapping[str, str] = {
    "deduplicate": ", 'deletion-vectors.bitmap64' = 'true'",
    "sequence": ", 'sequence.field' = 'v'",
    "sums": ", 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum', 'changelog-producer' = 'lookup'",
}


@pytest.mark.parametrize("kind", KEYED)
def test_merge_on_write_by_both_engines(engines: Engines, kind: str) -> None:
    options = f"'primary-key' = 'k', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'{KEYED[kind]}"
    engines.run("java", f"CREATE TABLE t (k INT, v INT) TBLPROPERTIES ({options})")
    rows: dict[int, int] = {}
    for step, engine in enumerate(("ours", "java", "ours", "java")):
        low, high = 700 * step, 700 * step + 2000
        new = {k: (k * 7 + step * 13) % 100 for k in range(low, high)}
        engines.run(engine, f"INSERT INTO t SELECT id, (id * 7 + {step * 13}) % 100 FROM range({low}, {high})")
        merge = {"deduplicate": lambda a, b: b, "sequence": max, "sums": lambda a, b: a + b}[kind]
        rows |= {k: merge(rows[k], v) if k in rows else v for k, v in new.items()}
        if step in (1, 2):
            other = "java" if engine == "ours" else "ours"
            if kind != "sums":
                engines.run(other, f"DELETE FROM t WHERE k % 10 = {step}")
                rows = {k: v for k, v in rows.items() if k % 10 != step}
            engines.run(other, f"CALL sys.compact(table => '{engines.database}.t')")
        engines.both("SELECT count(*), sum(k), sum(v) FROM t", [[len(rows), sum(rows), sum(rows.values())]])
        engines.both("SELECT partition, bucket, index_type, row_count, dv_ranges FROM `t$table_indexes`")
    engines.both("SELECT * FROM t", [list(row) for row in rows.items()])
