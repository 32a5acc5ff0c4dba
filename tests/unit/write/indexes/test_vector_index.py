"""Indexes of vectors in tables: made of some rows, searched, kept in line with what is written meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.arrow.nearest import VectorQuery
from paimon_core.errors import (
    CommitConflictError,
    CorruptFileError,
    DataFileMissingError,
    InvalidDataError,
    InvalidOptionError,
    UnsupportedFeatureError,
)
from paimon_core.indexes.global_index.grouped_rows import RowIds, encode_row_ids
from paimon_core.indexes.vector_index.layout import VECTOR_INDEXES
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.scan.derived_tables import DerivedTable
from paimon_core.scan.vector_search import indexed_search, search_file
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.row_ranges import row_ranges
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.indexes.vector_index import VectorIndexBuild
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable
from tests.support.evolving import INFO, commit
from tests.support.executors import run_job
from tests.support.stored import compact
from tests.unit.write.files.test_vector_files import ROWS, Row, new_table

ALL = PartitionFilter(())


def made(table: Table, kind: str = "ivf-flat", column: str = "v", **options: str) -> list[CommitMessage]:
    """The messages of an index of all rows that have none."""
    base = table.latest_snapshot()
    assert base is not None
    store = table.store.with_options({k.replace("__", ".").replace("_", "-"): v for k, v in options.items()})
    build = VectorIndexBuild(store, table.schema.field_by_name[column], kind, base)
    build.check()
    return run_job(build.job(ALL))


def index(table: Table, kind: str = "ivf-flat", column: str = "v", **options: str) -> None:
    table.commit(made(table, kind, column, **options), INFO)


def entries(table: Table) -> list[IndexManifestEntry]:
    return [e for e in index_entries(table.store, table.latest_snapshot()) if e.file.global_index is not None]


def spans(table: Table) -> list[tuple[int, int]]:
    metas = [e.file.global_index for e in entries(table)]
    return sorted((m.row_range_start, m.row_range_end) for m in metas if m is not None)


def found(root: Path, vector: list[float], k: int, where: str | None = None, **given: Any) -> list[int]:
    """The column k of the nearest rows, from a new reader."""
    rows = open_catalog(str(root)).table("db.t").search("v", vector, k, columns=["k"], where=where, **given)
    return [r["k"] for r in rows.to_pylist()]


def with_options(root: Path, **options: str) -> PaimonTable:
    table = open_catalog(str(root)).table("db.t")
    return replace(table, inner=table.inner.with_options(options))


def rows(*numbers: int) -> list[Row]:
    return [(n, [float(n), 0.0], None, None) for n in numbers]


def break_data(table: Table) -> None:
    """Delete the files of vectors: only an index still finds rows by vectors."""
    for path in Path(table.store.root).rglob("*.vector.*"):
        path.unlink()


@pytest.mark.parametrize("kind", VECTOR_INDEXES)
def test_an_index_finds_rows_without_their_vectors(tmp_path: Path, kind: str) -> None:
    if kind != "ivf-flat":
        pytest.importorskip("paimon_vindex")
    table = new_table(tmp_path)
    ROWS.insert(table, rows(*range(40)), [(99, None, None, None)])
    index(table, kind, **{"ivf-pq__pq.m": "2"}, **{"fields__v__nlist": "2"} if kind != "diskann" else {})
    (entry,) = entries(table)
    assert entry.file.file_name.startswith(f"vector-{kind}-global-index-")
    assert (spans(table), entry.file.row_count) == ([(0, 40)], 41)
    break_data(table)
    near = found(tmp_path, [7.25, 0.0], 4)
    assert len(near) == 4 and (near == [7, 8, 6, 9] or kind != "ivf-flat") and 7 in near
    scored = open_catalog(str(tmp_path)).table("db.t").search("v", [7.0, 0.0], 1, columns=["_ROW_ID", "k"])
    (row,) = scored.to_pylist()
    assert row["_ROW_ID"] == row["k"] and row["__paimon_search_score"] > 0.3
    assert set(found(tmp_path, [7.25, 0.0], 3, "k > 20 AND k < 30")) <= set(range(21, 30))
    with pytest.raises(DataFileMissingError):  # a search that compares vectors
        found(tmp_path, [7.0, 0.0], 2, options={"ivf.refine_factor": "3"})


def test_rows_without_an_index_are_compared(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, rows(1, 2, 3))
    index(table)
    ROWS.insert(table, rows(4, 5, 6))
    assert found(tmp_path, [4.25, 0.0], 4) == [4, 5, 3, 6]
    fast = with_options(tmp_path, **{"vector-index.search-mode": "fast"})
    assert fast.search("v", [4.25, 0.0], 4, columns=["k"]).column("k").to_pylist() == [3, 2, 1]
    index(table)
    assert spans(table) == [(0, 2), (3, 5)]
    break_data(table)
    assert found(tmp_path, [4.25, 0.0], 4) == [4, 5, 3, 6]
    assert made(table) == []


def test_deleted_rows_and_compaction(tmp_path: Path) -> None:
    table = new_table(tmp_path, target_file_row_num="2", global_index__row_count_per_shard="3")
    ROWS.insert(table, rows(*range(8)))
    index(table)
    assert spans(table) == [(0, 1), (2, 4), (5, 7)] or len(spans(table)) == 3
    commit(table, ROWS.staged(table, {}, (), {3, 4}))
    assert found(tmp_path, [3.25, 0.0], 3) == [2, 5, 1]
    compact(table)
    assert found(tmp_path, [3.25, 0.0], 3) == [2, 5, 1]
    assert found(tmp_path, [3.25, 0.0], 20) == [2, 5, 1, 6, 0, 7]


def test_chosen_rows_of_several_splits(tmp_path: Path) -> None:
    """Each split has its own chosen rows; a split without any is searched whole."""
    table = new_table(tmp_path, target_file_row_num="2")
    ROWS.insert(table, rows(*range(6)))
    index(table)
    query = VectorQuery.of(table.schema.field_by_name["v"], [0.0, 0.0], 9, {}, {})
    (probe,) = indexed_search(table.store, table.plan(table.latest_snapshot(), None, DerivedTable.ROWS), query).probes
    (split,) = probe.splits
    parts = [replace(split, files=of.all_files) for of in row_ranges(split.files)]
    chosen = (encode_row_ids(RowIds([1])), encode_row_ids(RowIds([2])), b"")
    splits = tuple(replace(part, row_ids=ids) for part, ids in zip(parts, chosen, strict=True))
    found = search_file(table.store, query, lambda *_: iter(()), False, replace(probe, splits=splits))
    assert np.frombuffer(found.ids, np.int64).tolist() == [1, 2, 4, 5]


def test_updates_of_vectors(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, rows(1, 2, 3))
    index(table)
    change = ROWS.staged(table, {0: (1, [50.0, 0.0], None, None)}, ("v",), set())
    with pytest.raises(UnsupportedFeatureError, match=r"globally indexed columns.*\(v\)"):
        commit(table, change)
    drop = table.with_options({"global-index.column-update-action": "drop_partition_index"})
    commit(drop, ROWS.staged(drop, {0: (1, [50.0, 0.0], None, None)}, ("v",), set()))
    assert entries(table) == []
    assert found(tmp_path, [49.0, 0.0], 1) == [1]
    late = made(table)
    commit(drop, ROWS.staged(drop, {0: (1, [60.0, 0.0], None, None)}, ("v",), set()))
    with pytest.raises(CommitConflictError, match="another commit updated rows 0 to 2 while their index was made"):
        table.commit(late, INFO)
    assert found(tmp_path, [49.0, 0.0], 1) == [1]


def test_metrics_of_indexes_and_searches(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, [1.0, 0.0], None, None), (2, [5.0, 5.0], None, None), (3, [0.0, 9.0], None, None)])
    index(table, fields__v__metric="inner_product")
    assert found(tmp_path, [1.0, 0.1], 3) == [2, 1, 3]  # the index decides
    assert found(tmp_path, [1.0, 0.1], 3, metric="l2") == [1, 2, 3]  # the search does
    assert found(tmp_path, [1.0, 0.1], 3, options={"metric": "cosine"}) == [1, 2, 3]
    field, plan = table.schema.field_by_name["v"], table.plan(table.latest_snapshot())
    for given, described in (({}, "1 files of the index ivf-flat, 0 splits without"), ({"metric": "l2"}, "no index")):
        query = VectorQuery.of(field, [1.0, 0.1], 3, given, {})
        assert indexed_search(table.store, plan, query).describe() == described
    break_data(table)
    assert found(tmp_path, [1.0, 0.1], 3) == [2, 1, 3]
    with pytest.raises(DataFileMissingError):
        found(tmp_path, [1.0, 0.1], 3, metric="l2")


def test_expiry_and_orphans_keep_what_versions_need(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, rows(1, 2, 3))
    index(table)
    files = {index_path(table.store, e.partition, e.bucket, e.file) for e in entries(table)}
    drop = [
        CommitMessage(partition=e.partition, bucket=e.bucket, total_buckets=-1, deleted_index_files=(e.file,))
        for e in entries(table)
    ]
    assert remove_orphans(table.store, 2**60).paths == ()
    assert all(Path(f).exists() for f in files)
    table.commit(drop, INFO)
    assert found(tmp_path, [2.0, 0.0], 1) == [2]
    assert all(Path(f).exists() for f in files)
    expire_snapshots(table.store, Retention(least=1, most=1, older_than=2**60, limit=10), 2**60)
    assert not any(Path(f).exists() for f in files)


def test_what_cannot_be_indexed(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, [1.0, float("inf")], None, None)])
    with pytest.raises(UnsupportedFeatureError, match=r"'k'.*its type is INT, and vectors are of"):
        made(table, column="k")
    with pytest.raises(UnsupportedFeatureError, match=r"'w'.*its type is VECTOR<DOUBLE, 2>"):
        made(table, column="w")
    with pytest.raises(InvalidDataError, match="a vector has an element that is NULL, NaN or infinite"):
        made(table)
    for options, said in (
        ({"fields__v__metric": "far"}, "'ivf-flat.metric' cannot be|'fields.v.metric' cannot be 'far'"),
        ({"ivf_flat.nlist": "0"}, "'nlist' cannot be '0'"),
        ({"ivf_flat.train.sample_ratio": "2"}, "'train.sample-ratio' must be"),
    ):
        with pytest.raises(InvalidOptionError, match=said):
            made(table, **options)


def test_arrays_need_the_length_of_their_vectors(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int32()), ("v", pa.list_(pa.float32()))])
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    catalog = open_catalog(str(tmp_path))
    catalog.create_database("db")
    opened = catalog.create_table("db.t", schema, options=options)
    opened.append([{"k": 1, "v": [1.0, 0.0]}, {"k": 2, "v": [2.0, 0.0]}])
    table = opened.inner
    with pytest.raises(InvalidOptionError, match="'ivf-flat.dimension' to it"):
        made(table)
    with pytest.raises(InvalidDataError, match="a vector of 2 elements, not 3"):
        made(table, fields__v__dimension="3")
    index(table, fields__v__dimension="2")
    assert found(tmp_path, [2.0, 0.0], 1) == [2]


def test_damaged_and_missing_index_files(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    ROWS.insert(table, rows(1, 2, 3))
    index(table)
    (entry,) = entries(table)
    path = Path(index_path(table.store, entry.partition, entry.bucket, entry.file))
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(CorruptFileError, match=r"global-index.enabled"):
        found(tmp_path, [2.0, 0.0], 3)
    path.unlink()
    with pytest.raises(DataFileMissingError, match="Global index file"):
        found(tmp_path, [2.0, 0.0], 3)
    off = with_options(tmp_path, **{"global-index.enabled": "false"})
    assert off.search("v", [2.0, 0.0], 1, columns=["k"]).column("k").to_pylist() == [2]


def test_recall_with_few_lists(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table, values = new_table(tmp_path), random.standard_normal((600, 2), dtype=np.float32)
    ROWS.insert(table, [(n, values[n].tolist(), None, None) for n in range(len(values))])
    index(table, fields__v__nlist="8")
    hits = 0
    for query in values[::60] + np.float32(0.01):
        truth = np.argsort(((values - query) ** 2).sum(axis=1))[:5].tolist()
        assert found(tmp_path, query.tolist(), 5, options={"ivf.nprobe": "8"}) == truth
        hits += len(set(found(tmp_path, query.tolist(), 5, options={"ivf.nprobe": "1"})) & set(truth))
    assert hits >= 35  # of 50
