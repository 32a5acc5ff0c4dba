"""Dry runs say what the real run does afterwards, and change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.store.manifests import live_files
from paimon_sql import open_catalog
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
    assert planned["result"].startswith(f"{removed} of the snapshots 1 to ") and removed > 2
    assert any(name.startswith("bucket-") for name in gone)  # also data files, but none of the tag
    assert len(before) > len(gone) > removed
    ((nothing),) = dry(lake, "expire_snapshots", folder, **limits)
    assert (nothing["files"], nothing["bytes"], nothing["result"]) == (0, 0, "no snapshot expires")


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
    assert sum(row["files"] or 0 for row in rows) == 2
    assert [row["files"] for row in rows if "Leave dry_run out" in row["result"]] == [None]


def test_what_a_dry_run_cannot_show(tmp_path: Path) -> None:
    lake = Lake(tmp_path, {**OPTIONS, "changelog.time-retained": "9 d"})
    lake.insert(1)
    with pytest.raises(UnsupportedFeatureError, match="changelogs outlive"):
        lake.call("expire_snapshots", table="t", dry_run=True)
    with pytest.raises(UnsupportedFeatureError, match="without sorting"):
        lake.call("compact", table="t", order_strategy="order", order_by="k", dry_run=True)


def test_the_columns_of_a_dry_run_in_python(tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path))
    table = catalog.create_table("default.t", pa.schema([("k", pa.int64())]), primary_key="k", options={"bucket": "1"})
    table.upsert([{"k": 1}])
    found = catalog.call("compact", table="t", dry_run=True)
    assert found.column_names == NAMES and found.to_pylist()[0]["result"] == "level 5"
    assert catalog.call("compact", table="t").column_names == ["result"]
