"""Global indexes of tables: made of some rows, used by plans, kept in line with what is written meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import (
    CommitConflictError,
    CorruptFileError,
    DataFileMissingError,
    InvalidOptionError,
    UnsupportedFeatureError,
)
from paimon_core.expressions.predicate import And, Compare, In, IsNull, Predicate
from paimon_core.indexes.global_index.btree import FOOTER_SIZE, decode_footer
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.types import BIGINT
from paimon_core.store.ddl.schema_changes import UpdateColumnType
from paimon_core.store.indexes.index_files import index_entries, index_path
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.indexes.global_index import IndexBuild
from paimon_sql.catalog.load import load_catalog
from tests.support.examples import examples
from tests.support.executors import run_job
from tests.support.stored import T, compact, insert, open_table
from tests.unit.row_level.test_column_updates import change, commit, new_table, rows, staged

ALL = PartitionFilter(())


def made(table: Table, column: str = "v", kind: str = "btree", snapshot: Snapshot | None = None) -> list[CommitMessage]:
    """The messages of an index of all rows that have none."""
    base = snapshot or table.latest_snapshot()
    assert base is not None
    build = IndexBuild(table.store, table.schema.field_by_name[column], kind, base)
    build.check()
    return run_job(build.job(ALL))


def index(table: Table, column: str = "v", kind: str = "btree") -> None:
    table.commit(made(table, column, kind), CommitInfo(user="u"))


def entries(table: Table) -> list[IndexManifestEntry]:
    return [e for e in index_entries(table.store, table.latest_snapshot()) if e.file.global_index is not None]


def spans(table: Table) -> list[tuple[int, int, int]]:
    found = [(e.file.global_index, e.file.row_count) for e in entries(table)]
    return sorted((m.row_range_start, m.row_range_end, count) for m, count in found if m is not None)


def ids(table: Table, predicate: Predicate) -> list[int]:
    """The ids of the rows that match, as a scan gives them, the columns asked for being of several kinds."""
    first, second = (rows(table, columns, predicate) for columns in (["_ROW_ID", "k", "v"], ["k", "v"]))
    assert sorted(r[1:] for r in first) == sorted(second)
    return sorted(r[0] for r in first)


def kept(table: Table, predicate: Predicate) -> int:
    return table.plan(table.latest_snapshot(), predicate).files_kept


def test_an_option_gives_btrees_a_bloom_filter(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}", btree_index__bloom_filter__enabled="true")
    insert(table, [(i, f"v{i * 3:03}") for i in range(60)])
    index(table)
    (entry,) = entries(table)
    data = Path(index_path(table.store, entry.partition, entry.bucket, entry.file)).read_bytes()
    assert decode_footer("f", data[-FOOTER_SIZE:]).filtered_keys == 60
    wanted = [Compare("v", "=", f"v{n:03}") for n in (0, 30, 31, 177)]
    assert [ids(table, of) for of in wanted] == [[0], [10], [], [59]]
    assert [kept(table, of) for of in wanted] == [1, 1, 0, 1]


def test_a_plan_leaves_out_files_and_rows(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}")
    for low in (0, 100, 200):
        insert(table, [(low + i, f"v{(low + i) * 7 % 300}") for i in range(100)])
    index(table)
    index(table, "k", "bitmap")
    assert spans(table) == [(0, 299, 300)] * 2
    one = Compare("v", "=", "v77")
    assert (ids(table, one), kept(table, one)) == ([11], 1)
    few = And((Compare("k", ">", 97), Compare("k", "<=", 101)))
    assert (ids(table, few), kept(table, few)) == ([98, 99, 100, 101], 2)
    assert kept(table, In("v", ("none", None))) == 0
    assert kept(table, IsNull("v")) == 0
    # rows of several files side by side, and deleted ones
    change(table.with_options({"global-index.column-update-action": "ignore"}), "k", {98: 1098}, frozenset([11, 99]))
    assert ids(table, one) == []
    assert ids(table, Compare("v", "=", f"v{98 * 7 % 300}")) == [98]
    (split,) = table.plan(table.latest_snapshot(), one).splits
    assert split.needs_merge and split.row_ids
    off = table.with_options({"global-index.enabled": "false"})
    assert [s.row_ids for s in off.plan(off.latest_snapshot(), one).splits] == [b""]


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_scans_find_the_same_with_and_without(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    table = new_table(f"file:{tmp_path_factory.mktemp('w')}")
    kinds = st.sampled_from(["insert", "index v", "index k", "update k", "delete", "compact"])
    total = 0
    for step in ["insert", "index v", *data.draw(st.lists(kinds, max_size=6))]:
        if step == "insert":
            count = data.draw(st.integers(1, 8))
            insert(table, [(total + i, f"v{data.draw(st.integers(0, 5))}") for i in range(count)])
            total += count
        elif step.startswith("index"):
            index(table, step[-1], data.draw(st.sampled_from(["btree", "bitmap"])))
        elif step == "compact":
            compact(table)
        else:
            there = [r[0] for r in rows(table, ["_ROW_ID"])]
            chosen = data.draw(st.lists(st.sampled_from(there), max_size=3, unique=True)) if there else []
            option = {"global-index.column-update-action": "drop_partition_index"}
            deleted = frozenset(chosen) if step == "delete" else frozenset[int]()
            if chosen:
                change(table.with_options(option), "k", {} if deleted else dict.fromkeys(chosen, 50), deleted)
    off = table.with_options({"global-index.enabled": "false"})
    for predicate in (Compare("v", "=", "v1"), Compare("v", "!=", "v1"), Compare("k", ">", 4), Compare("k", "=", 50)):
        assert ids(table, predicate) == ids(off, predicate)
        both = And((predicate, Compare("v", "<", "v3")))
        assert ids(table, both) == ids(off, both)


def test_rows_without_an_index(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}")
    insert(table, [(1, "a"), (2, "b")])
    index(table)
    insert(table, [(3, "a")])
    wanted = Compare("v", "=", "a")
    assert ids(table, wanted) == [0, 2]
    for option, value, expected in (
        ("scalar-index.search-mode", "fast", [0]),
        ("global-index.search-mode", "FAST", [0]),
        ("global-index.search-mode", "detail", [0, 2]),
    ):
        assert ids(table.with_options({option: value}), wanted) == expected
    both = {"scalar-index.search-mode": "full", "global-index.search-mode": "fast"}
    assert ids(table.with_options(both), wanted) == [0, 2]
    # with fast a row is found by an index of either type
    table.commit(made(table, "v", "bitmap"), CommitInfo(user="u"))
    assert ids(table.with_options({"scalar-index.search-mode": "fast"}), wanted) == [0, 2]
    index(table)
    assert spans(table) == [(0, 1, 2), (0, 2, 3), (2, 2, 1)]


def test_updates_of_the_column(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}")
    insert(table, [(1, "a"), (2, "b")])
    index(table)
    index(table, "k", "bitmap")
    with pytest.raises(UnsupportedFeatureError, match=r"globally indexed columns.*\(v\).*DROP_PARTITION_INDEX"):
        change(table, "v", {0: "z"})
    assert ids(table, Compare("v", "=", "a")) == [0]
    ignoring = table.with_options({"global-index.column-update-action": "IGNORE"})
    change(ignoring, "v", {0: "z"})
    assert ids(table, Compare("v", "=", "z")) == []  # as asked for
    dropping = table.with_options({"global-index.column-update-action": "DROP_PARTITION_INDEX"})
    change(dropping, "v", {1: "y"})
    assert [e.file.index_type for e in entries(table)] == ["bitmap"]
    assert ids(table, Compare("v", "=", "z")) == [0]
    compact(table)
    assert [e.file.index_type for e in entries(table)] == ["bitmap"]
    assert ids(table, Compare("k", "=", 2)) == [1]


def test_what_others_commit_meanwhile(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}")
    insert(table, [(1, "a"), (2, "b")])
    before = table.latest_snapshot()
    change(table, "v", {0: "z"})
    with pytest.raises(CommitConflictError, match="another commit updated rows 0 to 1"):
        table.commit(made(table, snapshot=before), CommitInfo(user="u"))
    table.commit(made(table, "k", snapshot=before), CommitInfo(user="u"))  # another column
    again = made(table)
    index(table)
    with pytest.raises(CommitConflictError, match="second btree index of column 1: btree-global-index-"):
        table.commit(again, CommitInfo(user="u"))
    late = made(table, kind="bitmap")
    table.truncate(CommitInfo(user="u"))
    assert entries(table) == []
    with pytest.raises(CommitConflictError, match="rows 0 to 1 of index file bitmap-.* no longer exist"):
        table.commit(late, CommitInfo(user="u"))
    table.abort(late)
    insert(table, [(3, "c")])
    update = staged(table, table.latest_snapshot(), "v", {2: "d"})
    index(table)
    with pytest.raises(UnsupportedFeatureError, match="globally indexed"):
        commit(table, update)


def test_files_that_are_damaged_or_gone(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}")
    insert(table, [(1, "a"), (2, "b")])
    index(table)
    (entry,) = entries(table)
    path = Path(index_path(table.store, entry.partition, entry.bucket, entry.file))
    assert path.parent.name == "index"
    content = path.read_bytes()
    path.write_bytes(content[:2] + b"x" + content[3:])
    wanted = Compare("v", "=", "a")
    with pytest.raises(CorruptFileError, match="a block of .* has the checksum"):
        ids(table, wanted)
    path.write_bytes(content[:-1])
    with pytest.raises(CorruptFileError, match="btree-global-index"):
        ids(table, wanted)
    path.unlink()
    with pytest.raises(DataFileMissingError, match="global-index.enabled"):
        ids(table, wanted)
    assert ids(table.with_options({"global-index.enabled": "false"}), wanted) == [0]
    assert ids(table, Compare("k", "=", 1)) == [0]


def test_places_and_sizes_of_files(tmp_path: Path) -> None:
    warehouse, elsewhere = f"file:{tmp_path}/w", f"file:{tmp_path}/elsewhere"
    table = new_table(warehouse, index_file_in_data_file_dir="true")
    insert(table, [(i, str(i)) for i in range(100)])
    pieces: dict[str, Any] = {"btree-index.records-per-range": "30", "global-index.external-path": elsewhere}
    index(table.with_options(pieces))
    assert spans(table) == [(0, 32, 33), (33, 65, 33), (66, 99, 34)]
    assert {e.file.external_path for e in entries(table)} == {f"{elsewhere}/{e.file.file_name}" for e in entries(table)}
    assert len(list((tmp_path / "elsewhere").iterdir())) == 3
    assert ids(table, Compare("v", "=", "70")) == [70]
    index(table.with_options({"sorted-index.records-per-range": "1", "sorted-index.build.max-parallelism": "2"}), "k")
    assert spans(table)[0] == (0, 32, 33) and spans(table)[1] == (0, 49, 50)
    assert {Path(index_path(table.store, b"", 0, e.file)).parent.name for e in entries(table)[3:]} == {"index"}
    for option in ({"global-index.external-path": "/no/scheme"}, {"sorted-index.records-per-range": "0"}):
        with pytest.raises(InvalidOptionError):
            made(table.with_options(option), kind="bitmap")


def test_a_column_of_another_type_is_not_looked_up(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}")
    insert(table, [(1, "a"), (2, "b")])
    index(table, "k")
    load_catalog({"warehouse": f"file:{tmp_path}"}).alter_table(T, [UpdateColumnType(("k",), BIGINT)])
    altered = open_table(f"file:{tmp_path}")
    assert ids(altered, Compare("k", "=", 2)) == [1]
    insert(altered, [(3, "c")])
    index(altered)
    assert kept(altered, In("k", (1, 3))) == 2
    assert kept(altered, Compare("v", "=", "bb")) == 0


def test_index_files_go_with_their_last_version(tmp_path: Path) -> None:
    table = new_table(f"file:{tmp_path}")
    insert(table, [(1, "a"), (2, "b")])
    index(table)
    (entry,) = entries(table)
    path = Path(index_path(table.store, entry.partition, entry.bucket, entry.file))
    assert remove_orphans(table.store, 2**60).paths == ()
    stale = CommitMessage(partition=entry.partition, bucket=0, total_buckets=-1, deleted_index_files=(entry.file,))
    table.commit([stale], CommitInfo(user="u"))
    assert entries(table) == [] and path.exists()
    insert(table, [(3, "c")])
    expire_snapshots(table.store, Retention(least=1, most=1, older_than=2**60, limit=10), 2**60)
    assert not path.exists()
    lost = made(table)
    (orphan,) = remove_orphans(table.store, 2**60).paths
    assert orphan.endswith(lost[0].new_index_files[0].file_name)
