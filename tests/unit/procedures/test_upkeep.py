"""Procedures of upkeep, called as `CALL` does, without Spark."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import (
    InvalidNameError,
    InvalidOptionError,
    InvalidSchemaError,
    PaimonError,
    StorageError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.io import local
from paimon_core.io.file_io import FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.branches import open_branch
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, SetOption, UpdateColumnType
from paimon_core.store.manifests import data_manifests
from paimon_core.store.snapshots import snapshot_ids
from paimon_core.store.tags import read_tag
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext, file_tasks
from tests.support import stored
from tests.support.tables import fields
from tests.unit.procedures.test_compaction import Tasks

Call = Callable[..., Any]


@pytest.fixture
def table(warehouse: str) -> Table:
    """Three commits of a row each, whose upkeep is done by procedures."""
    table = stored.create_table(warehouse, bucket="-1", write_only="true")
    for k in range(3):
        stored.insert(stored.open_table(warehouse), [(k, "x")])
    return table


@pytest.fixture
def call(warehouse: str, tmp_path: Path) -> Call:
    other = load_catalog({"warehouse": str(tmp_path / "other")})
    context = ProcedureContext(
        load_catalog({"warehouse": warehouse}), "default", Tasks(), UTC, other_catalog={"other": other}.get
    )

    def run(name: str, **arguments: Any) -> Any:
        rows = PROCEDURES[name].call(context, arguments)
        assert all(len(row) == len(PROCEDURES[name].columns) for row in rows)
        return rows if len(rows) != 1 else rows[0] if len(rows[0]) > 1 else rows[0][0]

    return run


def test_tags_by_time(table: Table, call: Call) -> None:
    times = [s["commit_time"] for s in table.system_table("snapshots", UTC).to_pylist()]
    millis = int(times[1].replace(tzinfo=UTC).timestamp() * 1000)
    name, snapshot, time, watermark = call("create_tag_from_timestamp", table="t", tag="a", timestamp=millis)
    assert (name, watermark) == ("a", "null") and time >= millis
    tag = read_tag(table.store, "a")
    assert tag is not None and tag.snapshot.id == snapshot
    with pytest.raises(PaimonError, match="no snapshot at or after"):
        call("create_tag_from_timestamp", table="t", tag="b", timestamp=2**50)
    assert call("expire_tags", table="t") == "No expired tags."
    assert call("expire_tags", table="t", older_than="2999-01-01") == "a"


def test_going_back(table: Table, call: Call) -> None:
    for arguments in ({}, {"version": "1", "snapshot": 1}, {"tag": "a", "snapshot": 1}, {"version": ""}):
        with pytest.raises(InvalidOptionError, match="exactly one"):
            call("rollback", table="t", **arguments)
    assert call("rollback_to_timestamp", table="t", timestamp=2**50) == (3, 3)
    assert call("rollback", table="t", version="2") == (3, 2)
    assert call("repair", database_or_table="default") is True
    assert stored.read(table) == [(0, "x"), (1, "x")]


def test_a_history_with_a_gap_begins_behind_it(table: Table, call: Call) -> None:
    for k in (3, 4):
        stored.insert(stored.open_table(table.store.root.rpartition("/default.db")[0]), [(k, "x")])
    with pytest.raises(InvalidOptionError, match="2 of table default.t does not follow a gap.*expire_snapshots"):
        call("repair_earliest_snapshot", table="t", snapshot_id=2)
    Path(table.store.paths.snapshot(2)).unlink()
    with pytest.raises(PaimonError, match="the later snapshot 2 is missing. Take 3"):
        call("repair_earliest_snapshot", table="t", snapshot_id=1)
    with pytest.raises(PaimonError, match="no snapshot 9"):
        call("repair_earliest_snapshot", table="t", snapshot_id=9)
    assert snapshot_ids(table.store) == [1, 3, 4, 5]
    assert call("repair_earliest_snapshot", table="t", snapshot_id=3) == (1, 3)
    Path(table.store.paths.snapshot(3)).write_bytes(b"{")
    assert call("repair_earliest_snapshot", table="t", snapshot_id=4) == (3, 4)
    assert snapshot_ids(table.store) == [4, 5]
    assert len(stored.read(table)) == 5


def test_expiry(table: Table, call: Call) -> None:
    assert call("expire_snapshots", table="t") == 0
    assert call("expire_snapshots", table="t", options="snapshot.num-retained.min=1, snapshot.num-retained.max=2") == 1
    assert call("expire_snapshots", table="t", retain_min=1, older_than="2999-01-01 00:00:00", max_deletes=5) == 1
    assert call("expire_changelogs", table="t", delete_all=True) == 0
    with pytest.raises(InvalidOptionError, match="older_than cannot be 'soon'"):
        call("expire_snapshots", table="t", older_than="soon")
    assert stored.read(table) == [(0, "x"), (1, "x"), (2, "x")]


def test_files(table: Table, call: Call) -> None:
    lost = Path(table.store.root, "bucket-0", f"data-{uuid.uuid4()}-0.parquet")
    lost.write_text("123")
    assert call("remove_orphan_files", table="t") == (0, 0)
    with pytest.raises(InvalidOptionError, match="older_than"):
        call("remove_orphan_files", table="t", older_than=f"{datetime.now(UTC).year + 1}-01-01")
    with pytest.raises(InvalidOptionError, match="mode"):
        call("remove_orphan_files", table="t", mode="sideways")
    with pytest.raises(TableNotFoundError):
        call("remove_orphan_files", table="default.nope")
    assert call("remove_orphan_files", table="default.*", dry_run=True) == (0, 0)
    assert call("remove_unexisting_files", table="t") == []
    first = next(p for p in sorted(Path(table.store.root, "bucket-0").glob("data-*")) if p != lost)
    first.unlink()
    assert call("remove_unexisting_files", table="t", dry_run=True) == str(first)
    assert snapshot_ids(table.store) == [1, 2, 3]
    assert call("remove_unexisting_files", table="t") == str(first)
    assert len(stored.read(table)) == 2
    assert call("purge_files", table="t") == "Success"
    assert not lost.exists() and stored.read(table) == []
    assert list(Path(table.store.root, "bucket-0").iterdir()) == []


def test_many_files_are_found_and_deleted_by_tasks(
    table: Table, call: Call, monkeypatch: pytest.MonkeyPatch, warehouse: str
) -> None:
    lost = Path(table.store.root, "bucket-0", f"data-{uuid.uuid4()}-0.parquet")
    lost.write_text("123")
    os.utime(lost, (1, 1))
    assert call("remove_orphan_files", table="t", mode="Distributed", dry_run=True, parallelism=2) == (1, 3)
    assert lost.exists()
    monkeypatch.setattr(file_tasks, "MANY_DELETIONS", 3)
    assert call("remove_orphan_files", table="t") == (1, 3)
    assert not lost.exists() and len(stored.read(table)) == 3
    tasks = Tasks()
    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", tasks, UTC)
    call("compact", table="t")
    PROCEDURES["expire_snapshots"].call(context, {"table": "t", "retain_max": 1, "retain_min": 1})
    assert tasks.descriptions == ["delete 9 files of default.t"]
    assert len(stored.read(stored.open_table(warehouse))) == 3
    with pytest.raises(InvalidOptionError, match="mode cannot be 'nearby'"):
        call("remove_orphan_files", table="t", mode="nearby")


DAYS = 3 * 86_400


@pytest.mark.parametrize("mode", file_tasks.MODES)
@pytest.mark.parametrize("wrong", ["host ahead", "storage behind"])
def test_age_is_by_the_clock_of_the_storage(
    table: Table, call: Call, monkeypatch: pytest.MonkeyPatch, wrong: str, mode: str
) -> None:
    """Files of a write at work are young, whatever this host's clock says."""
    young = Path(table.store.root, "bucket-0", f"data-{uuid.uuid4()}-0.parquet")
    young.touch()
    before = set(Path(table.store.root).rglob("*"))
    now, ns, status = time.time, time.time_ns, local._status
    with monkeypatch.context() as patch:
        if wrong == "host ahead":
            patch.setattr(time, "time", lambda: now() + DAYS)
            patch.setattr(time, "time_ns", lambda: ns() + DAYS * 10**9)
        else:

            def behind(*arguments: Any, **named: Any) -> FileStatus:
                found = status(*arguments, **named)
                return replace(found, modified=found.modified - DAYS * 1000)

            patch.setattr(local, "_status", behind)
        assert call("remove_orphan_files", table="t", mode=mode) == (0, 0)
        day_before = datetime.fromtimestamp(time.time() - DAYS / 3, UTC).strftime("%Y-%m-%d %H:%M:%S")
        with pytest.raises(InvalidOptionError, match=r"clock of the storage of table default\.t, .* is in the future"):
            call("remove_orphan_files", table="t", mode=mode, older_than=day_before)
    assert set(Path(table.store.root).rglob("*")) == before
    os.utime(young, (1, 1))
    assert call("remove_orphan_files", table="t", mode=mode) == (1, 0)


def test_who_may_only_read_may_look_for_orphans(table: Table, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise StorageError("read only")

    lost = Path(table.store.root, "bucket-0", f"data-{uuid.uuid4()}-0.parquet")
    lost.touch()
    os.utime(lost, (1, 1))
    monkeypatch.setattr(LocalFileIO, "write_bytes", refuse)
    assert call("remove_orphan_files", table="t", dry_run=True) == (1, 0)
    with pytest.raises(StorageError, match="read only"):
        call("remove_orphan_files", table="t")
    assert lost.exists()


DRY: dict[str, dict[str, Any]] = {
    "remove_orphan_files": {"mode": "local"},
    "remove_orphan_blobs": {},
    "remove_unexisting_files": {},
    "drop_global_index": {"index_column": "k", "index_type": "btree"},
}
IN_PARTS = {  # with the columns of `DRY_RUN`; see test_dry_runs.py
    *("compact", "compact_database", "compact_manifest", "compact_chain_table", "rescale", "rewrite_file_index"),
    *("materialize_deletion_vectors", "reassign_row_id"),
    *("clear_consumers", "reset_consumer", "delete_branch", "delete_tag", "replace_tag", "fast_forward", "purge_files"),
    *("drop_partition", "expire_changelogs", "expire_partitions", "expire_snapshots", "expire_tags"),
    *("copy", "clone", "migrate_table", "migrate_database"),
    *("rollback", "rollback_to_timestamp", "rollback_to_watermark", "repair_earliest_snapshot"),
}


def test_dry_runs_tell_what_then_happens(table: Table, call: Call, warehouse: str) -> None:
    assert DRY.keys() | IN_PARTS == {n for n, p in PROCEDURES.items() if any(a.name == "dry_run" for a in p.parameters)}
    root = Path(table.store.root)

    def there() -> dict[Path, int]:
        return {p: p.stat().st_size for p in root.rglob("*") if p.is_file()}

    for mode in ("local", "distributed"):
        for number in range(3):
            path = root / "bucket-0" / f"data-{uuid.uuid4()}-{number}.parquet"
            path.write_text("x" * number)
            os.utime(path, (1, 1))
        before = there()
        result = call("remove_orphan_files", table="t", mode=mode, dry_run=True)
        assert there() == before and result == (3, 3)
        assert call("remove_orphan_files", table="t", mode=mode) == result
        deleted = before.keys() - there().keys()
        assert (len(deleted), sum(before[p] for p in deleted)) == result
    sorted((root / "bucket-0").glob("data-*"))[0].unlink()
    for name, arguments in DRY.items():
        before = there()
        result = call(name, table="t", dry_run=True, **arguments)
        assert there() == before, name
        assert call(name, table="t", **arguments) == result, name
    assert call("remove_unexisting_files", table="t") == []
    assert len(stored.read(stored.open_table(warehouse))) == 2


def test_manifests(table: Table, call: Call) -> None:
    before = table.latest_snapshot()
    assert before is not None and len(data_manifests(table.store, before)) == 3
    call("compact_manifest", table="t")
    after = table.latest_snapshot()
    assert after is not None and after.commit_kind == "COMPACT" and len(data_manifests(table.store, after)) == 1
    assert stored.read(table) == [(0, "x"), (1, "x"), (2, "x")]
    call("compact_manifest", table="t")
    assert table.latest_snapshot() == after


def test_consumers(table: Table, call: Call) -> None:
    call("reset_consumer", table="t", consumerId="a", nextSnapshotId=2)
    call("reset_consumer", table="t", consumerId="b", nextSnapshotId=3)
    with pytest.raises(PaimonError, match="no snapshot 9"):
        call("reset_consumer", table="t", consumerId="a", nextSnapshotId=9)
    with pytest.raises(PaimonError, match="'x'; its consumers: a, b"):
        call("reset_consumer", table="t", consumerId="x")
    with pytest.raises(InvalidOptionError, match="includingConsumers"):
        call("clear_consumers", table="t", includingConsumers="(")
    assert call("expire_snapshots", table="t", retain_max=1, retain_min=1) == 1
    call("clear_consumers", table="t", excludingConsumers="b.*")
    assert table.system_table("consumers").to_pylist() == [{"consumer_id": "b", "next_snapshot_id": 3}]


def test_branches(table: Table, call: Call) -> None:
    call("create_tag", table="t", tag="a", snapshot=1)
    call("create_branch", table="t", branch="b", tag="a")
    call("create_branch", table="t", branch="b", ignoreIfExists="true")
    call("create_branch", table="t$branch_b", branch="d", tag="a")
    assert stored.read(Table(open_branch(table.store, "d"))) == [(0, "x")]
    with pytest.raises(InvalidNameError, match="is a branch"):
        call("rename_branch", table="t$branch_b", from_branch="b", to_branch="c")
    with pytest.raises(PaimonError, match="'c'"):
        call("delete_branch", table="t", branch="b,c")
    with pytest.raises(InvalidOptionError, match="itself"):
        call("merge_branch", table="t", source_branch="b", target_branch="b")
    assert call("merge_branch", table="t", source_branch="b") is True
    call("rename_branch", table="t", from_branch="b", to_branch="c")
    call("fast_forward", table="t", branch="c")
    assert stored.read(table) == [(0, "x")]
    call("delete_branch", table="t", branch="c")
    assert stored.read(table) == [(0, "x")]


def test_whole_databases_and_partitions(warehouse: str, call: Call) -> None:
    catalog = load_catalog({"warehouse": warehouse})
    catalog.create_table(Identifier("default", "p"), new_table_schema(fields(dt=STRING, k=INT), ["dt"]))
    assert call("compact_database", including_tables="default.*") == "Compact database finished. Success: 1, Failed: 0"
    assert call("mark_partition_done", table="p", partitions="dt=2024-01-01") is True
    assert catalog.load_table(Identifier("default", "p")).store.io.exists(
        f"{warehouse}/default.db/p/dt=2024-01-01/_SUCCESS"
    )
    assert call("expire_partitions", table="p", expiration_time="1 d") == "No expired partitions."
    catalog.create_table(
        Identifier("default", "files"), new_table_schema(fields(k=INT), options={"type": "format-table"})
    )
    assert call("compact_database", including_tables="default.*") == "Compact database finished. Success: 1, Failed: 0"
    assert call("remove_orphan_files", table="default.*") == (0, 0)
    with pytest.raises(UnsupportedFeatureError, match="folder of files"):
        call("compact_manifest", table="files")
    assert call("drop_partition", table="p", partitions="dt=2024-01-01;dt=x") is True
    for bad in ("", "x=1", "dt="):
        with pytest.raises(InvalidOptionError, match="partitions"):
            call("mark_partition_done", table="p", partitions=bad)
    assert call("trigger_tag_automatic_creation", table="p") is True
    catalog.create_table(Identifier("default", "whole"), new_table_schema(fields(k=INT)))
    with pytest.raises(InvalidOptionError, match="default.whole is not partitioned"):
        call("mark_partition_done", table="whole", partitions="dt=x")


def test_a_copy_is_a_table_of_its_own(warehouse: str, call: Call) -> None:
    made = stored.create_table(warehouse, primary_key="k", bucket="2", write_only="true")
    stored.insert(made, [(1, "a"), (2, "b")])
    stored.insert(stored.open_table(warehouse), [(2, "B"), (3, "c")])
    catalog = load_catalog({"warehouse": warehouse})
    catalog.alter_table(Identifier("default", "t"), [SetOption("x", "y")])
    assert call("copy", source_table="t", target_table="u") is True
    catalog.drop_table(Identifier("default", "t"))
    copied = catalog.load_table(Identifier("default", "u"))
    assert stored.read(copied) == [(1, "a"), (2, "B"), (3, "c")]
    assert (copied.schema.id, copied.schema.options["x"]) == (1, "y")
    with pytest.raises(InvalidOptionError, match="into itself"):
        call("copy", source_table="u", target_table="u")
    with pytest.raises(InvalidOptionError, match="where filters partitions"):
        call("copy", source_table="u", target_table="w", where="k > 1")
    assert not catalog.table_exists(Identifier("default", "w"))


def test_a_copy_may_go_to_another_catalog(
    table: Table, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_tasks, "MANY_COPIES", 2)  # in tasks
    call("copy", source_table="t", target_table="other.db.u")
    copied = load_catalog({"warehouse": str(tmp_path / "other")}).load_table(Identifier("db", "u"))
    assert stored.read(copied) == stored.read(table)
    call("copy", source_table="other.db.u", target_table="paimon.default.back")
    for name in ("nowhere.db.t", "other.db.u"):
        with pytest.raises(InvalidNameError, match=name.split(".")[0]):
            call("compact", table=name)
    with pytest.raises(InvalidNameError, match="not a Paimon catalog of this session"):
        call("copy", source_table="t", target_table="nowhere.db.t")


def test_clones(table: Table, call: Call, warehouse: str, tmp_path: Path) -> None:
    conf = f"warehouse={tmp_path / 'third'}"
    source, target = (load_catalog({"warehouse": w}) for w in (warehouse, str(tmp_path / "third")))
    source.create_database("db")
    source.create_table(Identifier("db", "p"), PARTITIONED)
    stored.insert(source.load_table(Identifier("db", "p")), [(1, "a"), (2, "b")])
    source.create_table(
        Identifier("default", "files"), new_table_schema(fields(k=INT), options={"type": "format-table"})
    )
    done = call("clone", target_catalog_conf=conf, excluded_tables="db.p")
    assert done == "Clone finished. Success: 1, Skipped: 0"
    assert stored.read(target.load_table(Identifier("default", "t"))) == stored.read(table)
    one = {"database": "db", "table": "p", "target_database": "new", "target_table": "q", "target_catalog_conf": conf}
    call("clone", **one, meta_only=True, prefer_file_format="ORC", target_table_conf="bucket=7,comment=c")
    made = target.load_table(Identifier("new", "q"))
    assert made.latest_snapshot() is None and made.schema.options.keys() >= {"file.format", "comment"}
    assert made.schema.options.get("bucket") == PARTITIONED.options.get("bucket")
    target.drop_table(Identifier("new", "q"))
    call("clone", **one, where="v > 'a'")
    assert call("clone", **one, clone_if_exists=False) == "Clone finished. Success: 0, Skipped: 1"
    assert stored.read(target.load_table(Identifier("new", "q"))) == [(2, "b")]
    assert call("clone", database="db", target_database="new", included_tables="db.p").startswith("Clone finished")
    assert stored.read(source.load_table(Identifier("new", "p"))) == [(1, "a"), (2, "b")]
    for wrong, message in (
        ({"table": "t"}, "whole catalog"),
        ({"database": "db"}, "target_database"),
        ({"database": "db", "target_database": "x", "table": "p"}, "go together"),
        (one | {"included_tables": "db.p"}, "included_tables"),
        ({"database": "db", "target_database": "x", "included_tables": "db.nope"}, "'db.nope'.*there are db.p"),
        (one | {"clone_from": "hive"}, "migrate_table"),
        (one | {"prefer_file_format": "csv"}, "prefer_file_format"),
        (one | {"parallelism": 0}, "parallelism"),
        # the files of the source would mean something else
        *(
            (one | {"target_table": "z", "target_table_conf": conf, **more}, "cannot be changed")
            for conf in ("bucket-key=v", "merge-engine=first-row", "primary-key=k", "type=format-table")
            for more in ({}, {"meta_only": True}, {"dry_run": True})
        ),
    ):
        with pytest.raises(PaimonError, match=message):
            call("clone", **wrong)
    assert not target.table_exists(Identifier("new", "z"))


PARTITIONED = new_table_schema(fields(k=INT, v=STRING), ("v",))


def test_a_copy_replaces_the_partitions_that_get_rows(warehouse: str, call: Call) -> None:
    catalog = load_catalog({"warehouse": warehouse})
    other, ids = new_table_schema(fields(key=INT, v=STRING), ("v",)), {n: Identifier("default", n) for n in "tuw"}
    for name, schema in {"t": PARTITIONED, "u": PARTITIONED, "w": other}.items():
        catalog.create_table(ids[name], schema)
    stored.insert(catalog.load_table(ids["t"]), [(1, "a"), (2, "b")])
    stored.insert(catalog.load_table(ids["u"]), [(8, "b"), (9, "c")])
    catalog.alter_table(ids["t"], [UpdateColumnType(("k",), BIGINT)])
    catalog.alter_table(ids["u"], [UpdateColumnType(("k",), BIGINT), AddColumn(("extra",), INT)])
    call("copy", source_table="t", target_table="part", where="v > 'a'")
    assert stored.read(catalog.load_table(Identifier("default", "part"))) == [(2, "b")]
    for _ in range(2):  # files of a copy have names of their own
        assert call("copy", source_table="t", target_table="u") is True
        copied = catalog.load_table(ids["u"])
        assert stored.read(copied) == [(1, "a"), (2, "b"), (9, "c")]
    assert [f.name for f in copied.schema.fields] == ["k", "v", "extra"]
    names = [f["file_path"] for f in copied.system_table("files").to_pylist()]
    assert len(set(names)) == 3
    call("expire_snapshots", table="u", retain_max=1, retain_min=1)
    assert len(stored.read(copied)) == 3
    with pytest.raises(InvalidSchemaError, match="column 'k' differ"):
        call("copy", source_table="t", target_table="w")
    assert catalog.load_table(ids["w"]).latest_snapshot() is None
