"""Dry runs say what the real run does afterwards, and change nothing."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_core.store.manifests import data_manifests, live_files
from paimon_sql import open_catalog
from paimon_sql.catalog.view import View
from paimon_sql.procedures.registry import DRY_RUN
from tests.support import stored
from tests.unit.procedures.test_advice import KEYED, OPTIONS, Lake

NAMES = [name for name, _ in DRY_RUN]


def files_below(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def live(lake: Lake) -> set[str]:
    return {e.file.file_name for e in live_files(lake.table.store, lake.table.latest_snapshot()).values()}


def dry(lake: Lake, name: str, root: Path, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of a dry run, which must change nothing."""
    before = files_below(root)
    rows = lake.call(name, table="t", dry_run=True, **arguments)
    assert files_below(root) == before
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


@pytest.mark.parametrize("options", [KEYED, OPTIONS], ids=["keyed", "append"])
@pytest.mark.parametrize("strategy", ["full", "minor"])
def test_compactions(options: dict[str, str], strategy: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**options, "num-sorted-run.compaction-trigger": "3"} if options is KEYED else options)
    for n in range(5):
        lake.insert(*range(n, n + 8))
    planned, before = dry(lake, "compact", tmp_path, compact_strategy=strategy), live(lake)
    lake.call("compact", table="t", compact_strategy=strategy)
    taken = before - live(lake)
    assert sum(row["files"] for row in planned) == len(taken) > 0
    assert sum(row["rows"] for row in planned) == 40
    folder = tmp_path / "default.db" / "t"
    assert sum(row["bytes"] for row in planned) == sum(
        p.stat().st_size for p in folder.rglob("data-*") if p.name in taken
    )
    level = "level 5" if options is KEYED and strategy == "minor" else None
    assert {row["work"] for row in planned} == {"compact"} and len(planned) == (2 if options is KEYED else 1)
    assert level is None or {row["result"] for row in planned} <= {f"level {n}" for n in range(6)}
    assert dry(lake, "compact", tmp_path, compact_strategy=strategy) == []


def test_a_compaction_of_some_buckets(tmp_path: Path) -> None:
    lake = Lake(tmp_path, KEYED)
    for _ in range(2):
        lake.insert(*range(20))
    every = dry(lake, "compact", tmp_path)
    assert [row["bucket"] for row in every] == [0, 1]
    assert dry(lake, "compact", tmp_path, buckets="1") == every[1:]


@pytest.mark.parametrize("options", [KEYED, OPTIONS], ids=["keyed", "append"])
def test_expiry(options: dict[str, str], tmp_path: Path) -> None:
    lake = Lake(tmp_path, options)
    for n in range(4):
        lake.insert(n)
        lake.call("compact", table="t")
    lake.call("create_tag", table="t", tag="kept", snapshot=2)
    folder = tmp_path / "default.db" / "t"
    limits = {"retain_max": 2, "retain_min": 1}
    ((planned),) = dry(lake, "expire_snapshots", folder, **limits)
    before = files_below(folder)
    ((removed,),) = lake.call("expire_snapshots", table="t", **limits)
    after = files_below(folder)
    gone = {name: data for name, data in before.items() if name not in after}
    assert (planned["files"], planned["bytes"]) == (len(gone), sum(map(len, gone.values())))
    assert planned["result"].startswith("removes snapshots 1 to ") and removed > 2
    assert any(name.startswith("bucket-") for name in gone)  # also data files, but none of the tag
    assert len(before) > len(gone) > removed
    ((nothing),) = dry(lake, "expire_snapshots", folder, **limits)
    assert (nothing["files"], nothing["bytes"], nothing["result"]) == (0, 0, "removes no version")


def test_partitions_that_are_removed(tmp_path: Path) -> None:
    options = {**KEYED, "primary-key": "k,v", "partition": "v", "partition.timestamp-formatter": "yyyy-MM-dd"}
    lake = Lake(tmp_path, options)
    for day in ("2020-01-01", "2020-01-02", "2999-01-01"):
        for n in range(2):
            stored.insert(lake.table, [(2 * n, day), (2 * n + 1, day)])
    before, size = live(lake), {p.name: p.stat().st_size for p in tmp_path.rglob("data-*")}
    dropped = dry(lake, "drop_partition", tmp_path, partitions="v=2020-01-01")
    assert [(r["partition"], r["rows"], r["result"]) for r in dropped] == [("v=2020-01-01", 4, "removed")]
    lake.call("drop_partition", table="t", partitions="v=2020-01-01")
    gone, before = before - live(lake), live(lake)
    assert (dropped[0]["files"], dropped[0]["bytes"]) == (len(gone), sum(size[name] for name in gone))
    expired = dry(lake, "expire_partitions", tmp_path, expiration_time="30 d")
    assert [r["partition"] for r in expired] == ["v=2020-01-02"]
    lake.call("expire_partitions", table="t", expiration_time="30 d")
    assert expired[0]["files"] == len(before - live(lake)) > 0
    assert dry(lake, "expire_partitions", tmp_path, expiration_time="30 d") == []


def test_rescales(tmp_path: Path) -> None:
    lake = Lake(tmp_path, KEYED)
    for _ in range(2):
        lake.insert(*range(20))
    before = live(lake)
    ((planned),) = dry(lake, "rescale", tmp_path, bucket_num=3)
    assert (planned["files"], planned["rows"], planned["result"]) == (4, 40, "3 buckets")
    lake.call("rescale", table="t", bucket_num=3)
    assert not before & live(lake)
    assert dry(lake, "rescale", tmp_path, bucket_num=3) == [], "it has this number of buckets"


def test_a_database_that_is_compacted(tmp_path: Path) -> None:
    lake, other = (
        Lake(tmp_path, KEYED),
        Lake(tmp_path, {**OPTIONS, "row-tracking.enabled": "true", "data-evolution.enabled": "true"}, "u"),
    )
    for one in (lake, other):
        one.insert(1)
        one.insert(2)
    before = files_below(tmp_path)
    rows = [dict(zip(NAMES, row, strict=True)) for row in lake.call("compact_database", dry_run=True)]
    assert files_below(tmp_path) == before
    assert {row["work"] for row in rows} == {"compact default.t", "compact default.u"}
    assert sum(row["files"] for row in rows) == 4


def test_changelogs_that_outlive_their_snapshots(tmp_path: Path) -> None:
    options = {**KEYED, "changelog-producer": "input", "changelog.time-retained": "9 d"}
    lake, folder = Lake(tmp_path, options), tmp_path / "default.db" / "t"
    for n in range(4):
        lake.insert(n)
        lake.call("compact", table="t", compact_strategy="full")
    steps: list[tuple[str, dict[str, Any], str]] = [
        ("expire_snapshots", {"retain_max": 2, "retain_min": 1}, "removes snapshots 1 to 6"),
        ("expire_changelogs", {"retain_max": 4, "retain_min": 1}, "removes changelogs 1 to 4"),
        ("expire_changelogs", {"delete_all": True}, "removes changelogs 5 to 6"),
    ]
    for name, arguments, said in steps:
        ((planned),) = dry(lake, name, tmp_path, **arguments)
        before = files_below(folder)
        lake.call(name, table="t", **arguments)
        gone = {path: data for path, data in before.items() if path not in files_below(folder)}
        assert (planned["files"], planned["bytes"]) == (len(gone), sum(map(len, gone.values()))), name
        assert planned["result"] == said


SORTED = {"order_strategy": "order", "order_by": "k"}
EVOLVED = {**OPTIONS, "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
CLUSTERED = {**OPTIONS, "clustering.incremental": "true", "clustering.columns": "k"}


@pytest.mark.parametrize(
    ("options", "arguments", "result"),
    [
        (OPTIONS, SORTED, "sorted"),
        (EVOLVED, {}, "fewer files"),
        (CLUSTERED, {"compact_strategy": "full"}, "sorted, level 5"),
        ({"primary-key": "k", "bucket": "-2"}, {}, "in buckets"),
    ],
    ids=["sorted", "evolved", "clustered", "postponed"],
)
def test_other_compactions(options: dict[str, str], arguments: dict[str, str], result: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, options)
    for n in range(3):
        lake.insert(n, n + 10)
    ((planned),) = dry(lake, "compact", tmp_path, **arguments)
    before = live(lake)
    lake.call("compact", table="t", **arguments)
    assert planned["files"] == len(before - live(lake)) == 3
    assert (planned["rows"], planned["result"]) == (6, result)


def test_manifests_and_file_indexes(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "file-index.bloom-filter.columns": "v"})
    for n in range(3):
        lake.insert(n)
    ((planned),) = dry(lake, "compact_manifest", tmp_path)
    before = lake.table.latest_snapshot()
    old = data_manifests(lake.table.store, before)
    lake.call("compact_manifest", table="t")
    new = data_manifests(lake.table.store, lake.table.latest_snapshot())
    assert planned["files"] == len(set(old) - set(new)) == 3
    assert dry(lake, "compact_manifest", tmp_path) == []
    ((read),) = dry(lake, "rewrite_file_index", tmp_path)
    assert (read["files"], read["rows"], read["result"]) == (3, 3, "read for new indexes")


def test_the_columns_of_a_dry_run_in_python(tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path))
    table = catalog.create_table("default.t", pa.schema([("k", pa.int64())]), primary_key="k", options={"bucket": "1"})
    table.upsert([{"k": 1}])
    found = catalog.call("compact", table="t", dry_run=True)
    assert found.column_names == NAMES and found.to_pylist()[0]["result"] == "level 5"
    assert catalog.call("compact", table="t").column_names == ["result"]


# -- copies: the rows of the dry run are the files that the copy adds and removes -------------------------------------
def partitioned(root: Path, table: str = "t") -> Lake:
    lake = Lake(root, {**OPTIONS, "partition": "v"}, table)
    for values in ([(1, "a"), (2, "b")], [(3, "b")]):
        stored.insert(lake.table, values)
    return lake


def files_of(lake: Lake) -> set[tuple[str, int, int]]:
    """Partition, size and rows of the files of a table."""
    return {
        (f["partition"], f["file_size_in_bytes"], f["record_count"])
        for f in lake.table.system_table("files").to_pylist()
    }


def test_copies(tmp_path: Path) -> None:
    lake = partitioned(tmp_path)

    def plan(**arguments: Any) -> list[dict[str, Any]]:
        before = files_below(tmp_path)
        rows = lake.call("copy", source_table="t", target_table="c", dry_run=True, **arguments)
        assert files_below(tmp_path) == before
        return [dict(zip(NAMES, row, strict=True)) for row in rows]

    new = plan()
    assert [(r["partition"], r["files"], r["rows"], r["result"]) for r in new] == [
        ("v=a", 1, 1, "copied to default.c"),
        ("v=b", 2, 2, "copied to default.c"),
    ]
    lake.call("copy", source_table="t", target_table="c")
    copy = Lake(tmp_path, None, "c")
    assert sum(r["bytes"] for r in new) == sum(size for _, size, _ in files_of(copy))
    stored.insert(copy.table, [(9, "b"), (9, "z")])
    ours, theirs = files_of(lake), live(copy)
    again = plan()
    assert [r for r in again if r["result"].startswith("copied")] == new
    lake.call("copy", source_table="t", target_table="c")
    removed = [r for r in again if r["result"] == "removed from default.c"]
    assert [r["partition"] for r in removed] == ["v=a", "v=b"], "the partition z gets no rows, and stays"
    assert sum(r["files"] for r in removed) == len(theirs - live(copy)) == 4
    assert ours < files_of(copy)


def test_a_copy_of_no_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path, OPTIONS)
    assert lake.call("copy", source_table="t", target_table="c", dry_run=True) == [
        ("copy", None, None, 0, 0, None, "creates default.c without rows")
    ]
    assert lake.catalog.list_tables("default") == ["t"]
    lake.call("copy", source_table="t", target_table="c")
    assert lake.call("copy", source_table="t", target_table="c", dry_run=True) == []
    with pytest.raises(PaimonError, match="cannot be copied into itself"):
        lake.call("copy", source_table="t", target_table="t", dry_run=True)


@pytest.mark.parametrize(
    "target", ["t$branch_b", "t$files", "sys.c", "new.`a/b`", "default.`a/b`", "`a/b`.c", "default.v"]
)
def test_a_dry_run_refuses_the_names_that_a_copy_refuses(target: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, OPTIONS)
    lake.catalog.create_view(Identifier("default", "v"), View(fields=lake.table.schema.fields, query="SELECT 1"))
    said: list[str] = []
    for dry_run in (True, False):
        with pytest.raises(PaimonError) as refused:
            lake.call("copy", source_table="t", target_table=target, dry_run=dry_run)
        said.append(f"{type(refused.value).__name__}: {refused.value}")
    assert said[0] == said[1]


def test_a_dry_run_does_not_make_the_tables_of_another_catalog(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')
    lake, other = Lake(tmp_path / "here", OPTIONS), tmp_path / "there"
    lake.insert(1)
    address = f"jdbc:sqlite:{other}/catalog/names.sqlite"
    arguments: dict[str, Any] = {
        "database": "default",
        "table": "t",
        "target_database": "new",
        "target_table": "c",
        "target_catalog_conf": f"metastore=jdbc,uri={address},warehouse={other}/lake",
    }
    ((row),) = lake.call("clone", dry_run=True, **arguments)
    assert row[-1] == "copied to new.c" and not other.exists()
    (other / "catalog").mkdir(parents=True)
    with sqlite3.connect(other / "catalog" / "names.sqlite") as database:  # of another program
        database.execute("CREATE TABLE theirs (a)")
    before = files_below(other)
    lake.call("clone", dry_run=True, **arguments)
    with sqlite3.connect(other / "catalog" / "names.sqlite") as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    assert files_below(other).keys() == before.keys()
    lake.call("clone", **arguments)
    assert lake.call("clone", dry_run=True, clone_if_exists=False, **arguments)[0][-1] == "skipped: new.c exists"


def test_clones(tmp_path: Path) -> None:
    lake = partitioned(tmp_path)
    Lake(tmp_path, {**OPTIONS, "row-tracking.enabled": "true"}, "u")
    arguments: dict[str, Any] = {"database": "default", "target_database": "mirror"}
    before = files_below(tmp_path)
    rows = [dict(zip(NAMES, row, strict=True)) for row in lake.call("clone", dry_run=True, **arguments)]
    assert [(r["work"], r["partition"], r["files"], r["result"]) for r in rows] == [
        ("clone default.t", "v=a", 1, "copied to mirror.t"),
        ("clone default.t", "v=b", 2, "copied to mirror.t"),
        ("clone default.u", None, 0, "creates mirror.u without rows"),
    ]
    assert files_below(tmp_path) == before and not lake.catalog.database_exists("mirror")
    lake.call("clone", **arguments)
    again = lake.call("clone", dry_run=True, clone_if_exists=False, **arguments)
    assert [row[-1] for row in again] == ["skipped: mirror.t exists", "skipped: mirror.u exists"]
    again = lake.call("clone", dry_run=True, **arguments)
    assert "it has row tracking" in again[-1][-1] and {row[0] for row in again[:-1]} == {"clone default.t"}
    with pytest.raises(PaimonError, match="it has row tracking"):
        lake.call("clone", dry_run=True, table="u", target_table="u", **arguments)


# -- operations on versions: a trial in memory says what the operation then deletes ------------------------------------
@pytest.fixture(scope="module", params=["keyed", "append"])
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with tags, a branch and a consumer. Each compaction replaces some of its files."""
    root = tmp_path_factory.mktemp(request.param)
    lake = Lake(root, KEYED if request.param == "keyed" else OPTIONS)
    for n in range(4):
        lake.insert(n)
        lake.call("compact", table="t", compact_strategy="full")
    lake.call("create_tag", table="t", tag="early", snapshot=2)
    lake.call("create_tag", table="t", tag="late", snapshot=6)
    lake.call("create_branch", table="t", branch="side", tag="early")
    lake.call("reset_consumer", table="t", consumerId="reader", nextSnapshotId=7)
    side = lake.catalog.load_table(Identifier.of("default", "t$branch_side"))
    stored.insert(side, [(7, "side")])
    return root


OPERATIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "expire_snapshots": ("expire_snapshots", {"retain_max": 2, "retain_min": 1}, "removes snapshots"),
    "delete_tag": ("delete_tag", {"tag": "early,late"}, "removes tags early, late"),
    "expire_tags": ("expire_tags", {"older_than": "2999-01-01 00:00:00"}, "removes tags early, late"),
    "replace_tag": ("replace_tag", {"tag": "early"}, "removes no version"),
    "delete_branch": ("delete_branch", {"branch": "side"}, "removes branch side"),
    "rollback": ("rollback", {"version": "6"}, "removes snapshot"),
    "rollback_to_timestamp": ("rollback_to_timestamp", {"timestamp": 2**50}, "removes no version"),
    "fast_forward": ("fast_forward", {"branch": "side"}, "removes snapshots 4 to"),
    "clear_consumers": ("clear_consumers", {}, "removes consumer reader"),
    "reset_consumer": ("reset_consumer", {"consumerId": "reader"}, "removes consumer reader"),
    "purge_files": ("purge_files", {}, "removes snapshots 1 to"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_on_versions(operation: str, history: Path, tmp_path: Path) -> None:
    shutil.copytree(history, tmp_path, dirs_exist_ok=True)
    lake, folder = Lake(tmp_path, None), tmp_path / "default.db" / "t"
    if "tag" in operation or operation == "delete_branch":  # so that only the tags and the branch keep their files
        lake.call("clear_consumers", table="t")
        lake.call("expire_snapshots", table="t", retain_max=1, retain_min=1)
    name, arguments, said = OPERATIONS[operation]
    planned, *parts = dry(lake, name, tmp_path, **arguments)
    before, rows = files_below(folder), live(lake)
    lake.call(name, table="t", **arguments)
    gone = {path: data for path, data in before.items() if path not in files_below(folder)}
    assert (planned["files"], planned["bytes"]) == (len(gone), sum(map(len, gone.values())))
    assert planned["result"].startswith(said), planned
    assert sum(p["files"] for p in parts if p["result"] == "no longer in the table") == len(rows - live(lake))
    assert sum(p["files"] for p in parts if p["result"] == "in the table again") == len(live(lake) - rows)
    again = lake.call("expire_snapshots", table="t", retain_max=99, dry_run=True)
    assert again[0][-1] == "removes no version", "the trial left nothing behind"
