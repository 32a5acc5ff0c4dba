"""`PaimonCatalog.call` reaches every procedure, without Spark; what needs Spark says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import PaimonError
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.procedures import PROCEDURES
from paimon_sql.python.catalog import PaimonCatalog
from tests.support.iceberg import evolved_table

TRACKED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
DAYS = {"partition.timestamp-pattern": "$day", "partition.timestamp-formatter": "yyyyMMdd"}
CHAIN = {"scan.fallback-snapshot-branch": "full", "scan.fallback-delta-branch": "delta"}
PARAMETERS = '[{"id": 0, "name": "x", "type": "INT"}]'
OBJECTS = {"type": "object-table"}
INT, STRING = pa.int32(), pa.string()

Do = Callable[[PaimonCatalog], object]


def create(name: str, columns: dict[str, pa.DataType], **about: Any) -> Do:
    return lambda lake: lake.create_table(f"shop.{name}", pa.schema(list(columns.items())), **about)


def write(name: str, *rows: dict[str, Any]) -> Do:
    def do(lake: PaimonCatalog) -> None:
        table = lake.table(f"shop.{name}")
        (table.upsert if table.primary_key else table.append)(list(rows))

    return do


def alter(name: str) -> Do:
    return lambda lake: lake.table(f"shop.{name}").alter(options=CHAIN)


class Call:
    """A call of a procedure, and what its error says if there must be one."""

    def __init__(self, procedure: str, fails: str = "", **arguments: Any) -> None:
        self.procedure, self.fails, self.arguments = procedure, fails, arguments

    def __call__(self, lake: PaimonCatalog) -> None:
        if not self.fails:
            assert isinstance(lake.call(self.procedure, **self.arguments), pa.Table)
            return
        with pytest.raises(PaimonError, match=self.fails):
            lake.call(self.procedure, **self.arguments)


def steps(folder: Path) -> list[Do]:
    """Writes, and calls of all procedures."""
    k, a, e, m, users = "shop.k", "shop.a", "shop.e", "shop.m", "shop.users"
    changelog = {"bucket": "2", "tag.automatic-creation": "process-time", "changelog-producer": "input"}
    chained = {"chain-table.enabled": "true", "bucket": "1", "sequence.field": "at", **DAYS}
    no_users = "has no users"
    return [
        create("k", {"id": INT, "v": STRING}, primary_key="id", options={**changelog, "write-only": "true"}),
        write("k", {"id": 1, "v": "a"}, {"id": 2, "v": "b"}),
        write("k", {"id": 2, "v": "c"}, {"id": 3, "v": "d"}),
        Call("advise", table=k),
        Call("picture", table=k),
        Call("create_tag", table=k, tag="one", snapshot=1),
        Call("create_tag_from_timestamp", table=k, tag="any", timestamp=1),
        Call("rename_tag", table=k, tag="any", target_tag="other"),
        Call("replace_tag", table=k, tag="other", snapshot=1, time_retained="1 d"),
        Call("delete_tag", table=k, tag="other"),
        Call("expire_tags", table=k, older_than="2020-01-01 00:00:00"),
        Call("trigger_tag_automatic_creation", table=k),
        Call("create_branch", table=k, branch="b", tag="one"),
        Call("rename_branch", table=k, from_branch="b", to_branch="c"),
        Call("fast_forward", table=k, branch="c"),
        Call("publish", table=k, branch="c"),
        Call("delete_branch", table=k, branch="c"),
        write("k", {"id": 4, "v": "e"}),
        Call("compact", table=k, compact_strategy="full"),
        Call("compact_database", including_databases="shop", including_tables="shop.k"),
        Call("compact_manifest", table=k),
        Call("rescale", table=k, bucket_num=1),
        Call("reset_consumer", table=k, consumerId="me", nextSnapshotId=1),
        Call("clear_consumers", table=k),
        Call("purge_files", table=k, dry_run=True),
        Call("rollback", table=k, version="3"),
        Call("rollback_to_timestamp", table=k, timestamp=9999999999999),
        Call("rollback_to_watermark", "watermark", table=k, watermark=9),
        Call("expire_snapshots", table=k, retain_max=1, retain_min=1),
        Call("expire_changelogs", table=k, retain_max=1, retain_min=1, delete_all=True),
        Call("copy", source_table=k, target_table="shop.copied"),
        Call("clone", database="shop", table="k", target_database="shop", target_table="cloned"),
        create(
            "a",
            {"id": INT, "v": STRING, "day": STRING},
            partitioned_by="day",
            options={"file-index.bloom-filter.columns": "id", "write-only": "true"},
        ),
        write("a", {"id": 1, "v": "x", "day": "20200101"}, {"id": 2, "v": "y", "day": "20990101"}),
        write("a", {"id": 3, "v": "z", "day": "20200101"}),
        Call("compact", "needs Spark", table=a, order_strategy="zorder", order_by="id,v"),
        Call("rewrite_file_index", table=a),
        Call("remove_orphan_files", table=a, mode="distributed", parallelism=2),
        Call("remove_orphan_blobs", table=a, mode="local"),
        Call("remove_unexisting_files", table=a, dry_run=True),
        Call("mark_partition_done", table=a, partitions="day=20990101"),
        Call("expire_partitions", table=a, expiration_time="30 d", timestamp_formatter="yyyyMMdd"),
        Call("drop_partition", table=a, partitions="day=20990101"),
        Call("repair", database_or_table=a),
        create("e", {"id": INT, "v": STRING}, options=TRACKED),
        write("e", {"id": 1, "v": "x"}, {"id": 2, "v": "y"}),
        Call("create_global_index", table=e, index_column="id", index_type="btree"),
        Call("drop_global_index", table=e, index_column="id", index_type="btree"),
        create("d", {"id": INT, "v": STRING}, options={**TRACKED, "deletion-vectors.enabled": "true"}),
        write("d", {"id": 1, "v": "x"}, {"id": 2, "v": "y"}),
        lambda lake: lake.table("shop.d").delete("id = 1"),
        Call("materialize_deletion_vectors", table="shop.d"),
        create("r", {"id": INT, "day": STRING}, partitioned_by="day", options=TRACKED),
        write("r", {"id": 1, "day": "1"}),
        write("r", {"id": 2, "day": "2"}),
        write("r", {"id": 3, "day": "1"}),
        Call("reassign_row_id", table="shop.r"),
        create(
            "users",
            {"id": INT, "name": STRING, "at": INT, "day": STRING},
            primary_key=["day", "id"],
            partitioned_by="day",
            options=chained,
        ),
        Call("create_branch", table=users, branch="full"),
        Call("create_branch", table=users, branch="delta"),
        *(alter(name) for name in ("users", "users$branch_full", "users$branch_delta")),
        write("users$branch_full", {"id": 1, "name": "Ada", "at": 1, "day": "20250810"}),
        write("users$branch_delta", {"id": 2, "name": "Bo", "at": 2, "day": "20250811"}),
        Call("compact_chain_table", table=users, partition='day="20250811"'),
        create("m", {"id": INT}),
        write("m", {"id": 0}),
        Call("create_branch", table=m, branch="b"),
        write("m$branch_b", {"id": 1}),
        Call("merge_branch", table=m, source_branch="b"),
        Call("repair_earliest_snapshot", "9", table=m, snapshot_id=9),
        Call("migrate_table", "needs Spark", source_type="parquet", table=str(folder / "files"), target_table="shop.x"),
        Call("migrate_table", source_type="iceberg", table=str(folder / "iceberg"), target_table="shop.ice"),
        Call("migrate_database", "needs Spark", source_type="hive", database="shop"),
        Call("create_function", function="shop.f", inputParams=PARAMETERS, returnParams=PARAMETERS),
        Call("alter_function", function="shop.f", change='{"action": "updateComment", "comment": "c"}'),
        Call("drop_function", function="shop.f"),
        Call("alter_view_dialect", "no view|does not exist", view="shop.v", action="drop"),
        Call("create_privileged_user", no_users, username="a", password="b"),
        Call("drop_privileged_user", no_users, username="a"),
        Call("grant_privilege_to_user", no_users, user="a", privilege="SELECT"),
        Call("revoke_privilege_from_user", no_users, user="a", privilege="SELECT"),
        Call("list_privileges", no_users),
        lambda lake: lake.inner.create_table(Identifier("shop", "o"), new_table_schema([], options=OBJECTS)),
        Call("refresh_object_table", table="shop.o"),
        Call("check_storage", target="shop"),
        Call("init_file_based_privilege", root_password="x"),
    ]


def test_every_procedure(lake: PaimonCatalog, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    pq.write_table(pa.table({"id": [0, 1, 2]}), tmp_path / "files" / "part.parquet")
    evolved_table(tmp_path / "iceberg")
    called = set()
    for step in steps(tmp_path):
        step(lake)
        called |= {step.procedure} if isinstance(step, Call) else set()
    assert called == set(PROCEDURES)
    counts = {"k": 3, "copied": 3, "cloned": 3, "a": 0, "d": 1, "m": 2, "users$branch_full": 3}
    assert {name: lake.table(f"shop.{name}").scan().count() for name in counts} == counts
