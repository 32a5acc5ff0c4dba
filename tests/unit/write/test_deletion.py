"""Rows of append tables marked as deleted: what is read is what a plain model says, whatever is compacted between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, CorruptFileError, InvalidDataError, UnsupportedFeatureError
from paimon_core.spec.snapshot import CommitKind
from paimon_core.spec.split import DATA_SPLIT, DataSplit
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.deletion import delete_rows
from tests.support.examples import examples
from tests.support.stored import commit, compact, create_table, insert, open_table, read, write

Deletions = dict[tuple[bytes, int], dict[str, np.ndarray[Any, np.dtype[np.int64]]]]
TABLES: dict[str, dict[str, str]] = {
    "unaware": {},
    "unaware, several files": {"deletion_vector__index_file__target_size": "1 b"},
    "64 bits": {"deletion_vectors__bitmap64": "true"},
    "buckets": {"bucket": "2", "bucket_key": "k"},
    "beside the data": {"index_file_in_data_file_dir": "true"},
}


def dv_table(root: Path, **options: str) -> Table:
    return create_table(str(root), deletion_vectors__enabled="true", **options)


def positions_of(table: Table, keys: set[int]) -> Deletions:
    """Where the live rows with these keys stand."""
    found: Deletions = {}
    for entry in live_files(table.store, table.latest_snapshot()).values():
        path = f"{table.store.bucket_dir(entry.partition, entry.bucket)}/{entry.file.file_name}"
        hits = [i for i, k in enumerate(pq.read_table(path).column("k").to_pylist()) if k in keys]
        if hits:
            found.setdefault((entry.partition, entry.bucket), {})[entry.file.file_name] = np.array(hits)
    return found


def delete(table: Table, keys: set[int], user: str = "deleter") -> Any:
    return commit(table, delete_rows(table.store, table.latest_snapshot(), positions_of(table, keys)), user)


@pytest.mark.parametrize("kind", TABLES)
def test_deleted_rows_are_not_read(tmp_path: Path, kind: str) -> None:
    table = dv_table(tmp_path, **TABLES[kind])
    insert(table, [(k, f"v{k}") for k in range(10)])
    insert(table, [(k, f"v{k}") for k in range(10, 14)])
    made = delete(table, {2, 3, 12})
    assert made.commit_kind is CommitKind.OVERWRITE and made.total_record_count == 14
    delete(table, {3, 9, 13})
    kept = [(k, f"v{k}") for k in range(14) if k not in {2, 3, 9, 12, 13}]
    assert read(table) == kept == read(open_table(str(tmp_path)))
    plan = table.plan(table.latest_snapshot())
    assert plan.row_count == len(kept) and "deletion vectors" in plan.describe()
    for split in plan.splits:
        assert DATA_SPLIT.decode(DATA_SPLIT.encode(split)) == split
    compact(table)
    assert read(table) == kept and not index_entries(table.store, table.latest_snapshot())


steps = st.one_of(
    st.tuples(st.just("insert"), st.integers(1, 30)),
    st.tuples(st.just("delete"), st.sets(st.integers(0, 60), max_size=20)),
    st.tuples(st.just("compact"), st.just(0)),
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(TABLES)), st.lists(steps, max_size=8))
def test_any_history_against_a_model(
    tmp_path_factory: pytest.TempPathFactory, kind: str, history: list[tuple[str, Any]]
) -> None:
    table = dv_table(tmp_path_factory.mktemp("dv"), **TABLES[kind])
    model: set[int] = set()
    for step, given_ in history:
        if step == "insert":
            rows = range(len(model), len(model) + given_)
            fresh = [k for k in rows if k not in model]
            if fresh:
                insert(table, [(k, "v") for k in fresh])
            model |= set(fresh)
        elif step == "delete":
            delete(table, given_)
            model -= given_
        else:
            compact(table)
        assert [k for k, _ in read(table)] == sorted(model)


def test_a_bucket_has_one_file_and_others_end_at_their_size(tmp_path: Path) -> None:
    for kind, count in {"buckets": 1, "unaware": 1, "unaware, several files": 3}.items():
        table = dv_table(tmp_path / kind, **TABLES[kind] | ({"bucket": "1"} if kind == "buckets" else {}))
        for k in range(3):
            insert(table, [(k, "v"), (k + 10, "v")])
        delete(table, {0, 1, 2})
        assert len(index_entries(table.store, table.latest_snapshot())) == count


def test_of_two_deletes_in_the_same_file_one_fails(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    insert(table, [(k, "v") for k in range(4)])
    base = table.latest_snapshot()
    for keys in ({1}, {2}):
        late = delete_rows(table.store, base, positions_of(table, {0}))
        delete(table, keys)
        with pytest.raises(
            CommitConflictError, match=r"another commit deleted rows of data file data-|is no longer there"
        ):
            commit(table, late, "late")
        base = table.latest_snapshot()
    assert [k for k, _ in read(table)] == [0, 3]
    names = {p.name for p in (tmp_path / "default.db/t/index").iterdir()}
    assert len(names) == 2, "the index files of failed commits are deleted"


def test_a_compaction_does_not_bring_deleted_rows_back(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    for k in range(2):
        insert(table, [(k, "v"), (k + 10, "v")])
    stale = open_table(str(tmp_path))
    late = delete_rows(stale.store, stale.latest_snapshot(), positions_of(stale, {0}))
    files = [e.file for e in live_files(table.store, table.latest_snapshot()).values()]
    delete(table, {11})
    with pytest.raises(CommitConflictError, match="another commit deleted rows of data file"):
        rewritten = write(table, [(7, "v")])[0]
        table.commit(
            [_compaction(rewritten, files)],
            CommitInfo(user="compactor"),
        )
    compact(table)
    with pytest.raises(CommitConflictError, match="is no longer live"):
        commit(table, late, "late")
    assert [k for k, _ in read(table)] == [0, 1, 10]


def _compaction(rewritten: Any, files: list[Any]) -> Any:
    return replace(rewritten, new_files=(), compact_before=tuple(files), compact_after=rewritten.new_files)


def test_an_overwrite_takes_the_vectors_with_it(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    insert(table, [(k, "v") for k in range(4)])
    delete(table, {1})
    table.truncate(CommitInfo(user="truncater"))
    assert read(table) == [] and not index_entries(table.store, table.latest_snapshot())


def test_appends_carry_the_vectors_on(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    insert(table, [(k, "v") for k in range(4)])
    before = delete(table, {1})
    after = insert(table, [(9, "v")])
    assert after is not None and after.index_manifest == before.index_manifest is not None
    assert [k for k, _ in read(table)] == [0, 2, 3, 9]


def test_what_is_refused(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    insert(table, [(k, "v") for k in range(4)])
    ((bucket, vectors),) = positions_of(table, {1, 2}).items()
    for wrong in (np.array([2, 1]), np.array([1, 1]), np.array([-1])):
        with pytest.raises(InvalidDataError, match="must ascend"):
            delete_rows(table.store, table.latest_snapshot(), {bucket: dict.fromkeys(vectors, wrong)})
    assert delete_rows(table.store, None, {bucket: dict.fromkeys(vectors, np.array([], dtype=np.int64))}) == []
    for other in (table.with_options({}), create_table(str(tmp_path / "pk"), primary_key="k", bucket="1")):
        plain = other.store.with_options({"deletion-vectors.enabled": "false"})
        with pytest.raises(UnsupportedFeatureError, match=r"deletion-vectors\.enabled"):
            delete_rows(plain, None, {})


def test_damaged_and_missing_index_files_are_named(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    insert(table, [(k, "v") for k in range(4)])
    delete(table, {1})
    (entry,) = index_entries(table.store, table.latest_snapshot())
    path = Path(index_path(table.store, entry.partition, entry.bucket, entry.file))
    data = path.read_bytes()
    for broken in (data[:-1], data[:12] + b"\xff" + data[13:], b""):
        path.write_bytes(broken)
        with pytest.raises(CorruptFileError, match=path.name):
            read(table)
    path.unlink()
    with pytest.raises(LookupError, match=f"{path.name} is missing"):
        read(table)


def test_splits_without_vectors_are_as_before(tmp_path: Path) -> None:
    table = dv_table(tmp_path)
    insert(table, [(1, "v")])
    (split,) = table.plan(table.latest_snapshot()).splits
    assert isinstance(split, DataSplit) and split.deletions == ()
