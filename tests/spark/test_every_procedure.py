"""Every procedure runs with the packages of `pip install paimon-sql`, without pandas; part of the campaign `wheel`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.procedures import PROCEDURES
from tests.support.iceberg import evolved_table

pytestmark = pytest.mark.spark

TRACKED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
DAYS = "'partition.timestamp-pattern' = '$day', 'partition.timestamp-formatter' = 'yyyyMMdd'"
CHAIN = "'scan.fallback-snapshot-branch' = 'full', 'scan.fallback-delta-branch' = 'delta'"

PARAMETERS = '[{"id": 0, "name": "x", "type": "INT"}]'

# what a step runs, and what an error must say where it is one
STEPS: list[str | tuple[str, str]] = [
    "CREATE TABLE k (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'tag.automatic-creation' ="
    " 'process-time', 'changelog-producer' = 'input')",
    "INSERT INTO k VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO k VALUES (2, 'c'), (3, 'd')",
    "CALL sys.advise(table => 'k')",
    "CALL sys.picture(table => 'k')",
    "CALL sys.create_tag(table => 'k', tag => 'one', snapshot => 1)",
    "CALL sys.create_tag_from_timestamp(table => 'k', tag => 'any', timestamp => 1)",
    "CALL sys.rename_tag(table => 'k', tag => 'any', target_tag => 'other')",
    "CALL sys.replace_tag(table => 'k', tag => 'other', snapshot => 1, time_retained => '1 d')",
    "CALL sys.delete_tag(table => 'k', tag => 'other')",
    "CALL sys.expire_tags(table => 'k', older_than => '2020-01-01 00:00:00')",
    "CALL sys.trigger_tag_automatic_creation(table => 'k')",
    "CALL sys.create_branch(table => 'k', branch => 'b', tag => 'one')",
    "CALL sys.rename_branch(table => 'k', from_branch => 'b', to_branch => 'c')",
    "CALL sys.fast_forward(table => 'k', branch => 'c')",
    "CALL sys.publish(table => 'k', branch => 'c')",
    "CALL sys.delete_branch(table => 'k', branch => 'c')",
    "INSERT INTO k VALUES (4, 'e')",
    "CALL sys.compact(table => 'k', compact_strategy => 'full', dry_run => true)",
    "CALL sys.compact(table => 'k', compact_strategy => 'full')",
    "CALL sys.compact_database(including_databases => 'default', including_tables => 'default.k')",
    "CALL sys.compact_manifest(table => 'k')",
    "CALL sys.rescale(table => 'k', bucket_num => 1)",
    "CALL sys.reset_consumer(table => 'k', consumerId => 'me', nextSnapshotId => 1)",
    "CALL sys.clear_consumers(table => 'k')",
    "CALL sys.rollback(table => 'k', version => '3', dry_run => true)",
    "CALL sys.purge_files(table => 'k', dry_run => true)",
    "CALL sys.rollback(table => 'k', version => '3')",
    "CALL sys.rollback_to_timestamp(table => 'k', timestamp => 9999999999999)",
    ("CALL sys.rollback_to_watermark(table => 'k', watermark => 9)", "watermark"),
    "CALL sys.expire_snapshots(table => 'k', retain_max => 1, retain_min => 1, dry_run => true)",
    "CALL sys.expire_snapshots(table => 'k', retain_max => 1, retain_min => 1)",
    "CALL sys.expire_changelogs(table => 'k', retain_max => 1, retain_min => 1, delete_all => true)",
    "CALL sys.copy(source_table => 'k', target_table => 'copied')",
    "CALL sys.clone(database => 'default', table => 'k', target_database => 'default', target_table => 'cloned')",
    "CREATE TABLE a (id INT, `v.w` STRING, day STRING) PARTITIONED BY (day)"
    " TBLPROPERTIES ('file-index.bloom-filter.columns' = 'id')",
    "INSERT INTO a VALUES (1, 'x', '20200101'), (2, 'y', '20990101')",
    "INSERT INTO a VALUES (3, 'z', '20200101')",
    "CALL sys.compact(table => 'a', order_strategy => 'zorder', order_by => 'id,v.w')",
    "CALL sys.compact(table => 'a', order_strategy => 'order', order_by => 'v.w', where => \"day = '20990101'\")",
    "CALL sys.rewrite_file_index(table => 'a')",
    "CALL sys.remove_orphan_files(table => 'a', mode => 'local')",
    "CALL sys.remove_orphan_files(table => 'a', mode => 'distributed', parallelism => 2)",
    "CALL sys.remove_orphan_blobs(table => 'a', mode => 'local')",
    "CALL sys.remove_unexisting_files(table => 'a', dry_run => true)",
    "CALL sys.mark_partition_done(table => 'a', partitions => 'day=20990101')",
    "CALL sys.expire_partitions(table => 'a', expiration_time => '30 d', timestamp_formatter => 'yyyyMMdd')",
    "CALL sys.drop_partition(table => 'a', partitions => 'day=20990101')",
    "CALL sys.repair(database_or_table => 'default.a')",
    "CALL sys.purge_files(table => 'a')",
    f"CREATE TABLE e (id INT, v STRING) TBLPROPERTIES ({TRACKED})",
    "INSERT INTO e VALUES (1, 'x'), (2, 'y')",
    "CALL sys.create_global_index(table => 'e', index_column => 'id', index_type => 'btree')",
    "CALL sys.drop_global_index(table => 'e', index_column => 'id', index_type => 'btree')",
    "CREATE TABLE d (id INT, v STRING) TBLPROPERTIES ('deletion-vectors.enabled' = 'true', " + TRACKED + ")",
    "INSERT INTO d VALUES (1, 'x'), (2, 'y')",
    "DELETE FROM d WHERE id = 1",
    "CALL sys.materialize_deletion_vectors(table => 'd')",
    f"CREATE TABLE r (id INT, day STRING) PARTITIONED BY (day) TBLPROPERTIES ({TRACKED})",
    *(f"INSERT INTO r VALUES ({id}, '{day}')" for id, day in ((1, "a"), (2, "b"), (3, "a"))),
    "CALL sys.reassign_row_id(table => 'r')",
    "CREATE TABLE users (id INT, name STRING, at INT, day STRING, PRIMARY KEY (day, id) NOT ENFORCED)"
    f" PARTITIONED BY (day) WITH ('chain-table.enabled' = 'true', 'bucket' = '1', 'sequence.field' = 'at', {DAYS})",
    "CALL sys.create_branch('users', 'full')",
    "CALL sys.create_branch('users', 'delta')",
    *(f"ALTER TABLE {name} SET ({CHAIN})" for name in ("users", "users$branch_full", "users$branch_delta")),
    "INSERT OVERWRITE users$branch_full PARTITION (day = '20250810') VALUES (1, 'Ada', 1)",
    "INSERT INTO users$branch_delta PARTITION (day = '20250811') VALUES (2, 'Bo', 2)",
    "CALL sys.compact_chain_table(table => 'users', partition => 'day=\"20250811\"')",
    "CREATE TABLE m (id INT)",
    "INSERT INTO m VALUES (0)",
    "CALL sys.create_branch('m', 'b')",
    "INSERT INTO `m$branch_b` VALUES (1)",
    "CALL sys.merge_branch(table => 'm', source_branch => 'b')",
    ("CALL sys.repair_earliest_snapshot(table => 'm', snapshot_id => 9)", "9"),
    "CALL sys.migrate_table(source_type => 'parquet', table => '{folder}', target_table => 'default.moved')",
    "CALL sys.migrate_table(source_type => 'iceberg', table => '{iceberg}', target_table => 'default.ice')",
    "CALL sys.migrate_database(source_type => 'hive', database => 'of_files')",
    f"CALL sys.create_function('f', '{PARAMETERS}', '{PARAMETERS}')",
    """CALL sys.alter_function('f', '{"action": "updateComment", "comment": "c"}')""",
    "CALL sys.drop_function('f')",
    "CREATE VIEW v AS SELECT 1 AS one",
    "CALL sys.alter_view_dialect('v', 'drop')",
    "CALL sys.init_file_based_privilege('x')",
    *(
        (f"CALL sys.{call}", "has no users")
        for call in (
            "create_privileged_user('a', 'b')",
            "drop_privileged_user('a')",
            "grant_privilege_to_user('a', 'SELECT')",
            "revoke_privilege_from_user('a', 'SELECT')",
            "list_privileges()",
        )
    ),
    "CREATE TABLE o TBLPROPERTIES ('type' = 'object-table')",
    "CALL sys.refresh_object_table('o')",
    "CALL sys.check_storage('default')",
]


class _NoPandas:
    """An importer for which there is no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.fixture
def without_pandas(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        for name in [m for m in sys.modules if m.partition(".")[0] == "pandas"]:
            patch.delitem(sys.modules, name)
        patch.setattr(sys, "meta_path", [_NoPandas(), *sys.meta_path])
        yield


@pytest.mark.usefixtures("without_pandas")
def test_every_procedure(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(ImportError):
        __import__("pandas")
    folder = tmp_path / "files"
    spark.range(3).write.parquet(str(folder))
    iceberg = tmp_path / "iceberg"
    evolved_table(iceberg)
    spark.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.of_files")
    spark.sql("CREATE DATABASE of_files")
    spark.sql("CREATE TABLE spark_catalog.of_files.p USING parquet AS SELECT id FROM range(3)")
    try:
        _run_steps(spark, {"{folder}": str(folder), "{iceberg}": str(iceberg)})
    finally:
        spark.sql("DROP DATABASE spark_catalog.of_files CASCADE")
    counts = {"k": 3, "copied": 3, "cloned": 3, "m": 2, "moved": 3, "of_files.p": 3, "a": 0}
    assert {name: spark.table(name).count() for name in counts} == counts


def _run_steps(spark: Any, paths: dict[str, str]) -> None:
    called = set()
    for step in STEPS:
        statement, expected = (step, None) if isinstance(step, str) else step
        for name, path in paths.items():
            statement = statement.replace(name, path)
        called |= {statement.partition("sys.")[2].partition("(")[0]}
        if expected is None:
            spark.sql(statement).collect()
        else:
            with pytest.raises(PySparkException, match=expected):
                spark.sql(statement).collect()
    assert called - {""} == set(PROCEDURES)
