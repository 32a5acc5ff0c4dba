"""Java reads a table after each kind of upkeep of ours: the same rows, snapshots and tags."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from paimon_sql.procedures import PROCEDURES
from tests.interop.engines import Engines
from tests.support.iceberg import evolved_table
from tests.support.java_oracle import JavaOracle, find_oracles

KEYED = "k INT, v STRING, dt STRING"
# what is done with which table, and what both then see
STEPS = {
    "rollback": (  # before Java has seen the snapshot whose number is given again
        "INSERT INTO t VALUES (1, 'gone', '2024-01-01')",
        "CALL sys.rollback(table => 't', version => '3')",
        "INSERT INTO t VALUES (7, 'kept', '2024-01-02')",
        "SELECT * FROM t",
    ),
    "tags": (
        "CALL sys.create_tag(table => 't', tag => 'one', snapshot => 1)",
        "CALL sys.create_tag(table => 't', tag => 'two', time_retained => '5 d')",
        "CALL sys.rename_tag(table => 't', tag => 'two', target_tag => 'three')",
        "CALL sys.replace_tag(table => 't', tag => 'one', snapshot => 2)",
        "SELECT * FROM t VERSION AS OF 'one'",
    ),
    "branches": (
        "CALL sys.create_branch(table => 't', branch => 'b', tag => 'three')",
        "INSERT INTO `t$branch_b` VALUES (9, 'branch', '2024-01-09')",
        "CALL sys.fast_forward(table => 't', branch => 'b')",
        "INSERT INTO `t$branch_b` VALUES (10, 'audited', '2024-01-09')",
        "CALL sys.publish(table => 't', branch => 'b')",
        "CALL sys.delete_branch(table => 't', branch => 'b')",
        "SELECT * FROM t",
    ),
    "expiry": (
        "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)",
        "CALL sys.remove_orphan_files(table => 't', older_than => '2024-01-01 00:00:00')",
        "SELECT t.*, snapshot_id FROM t, `t$snapshots` WHERE snapshot_id > 0",
    ),
    "changelogs": (
        "INSERT INTO c VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO c VALUES (1, 'A'), (3, 'c')",
        "CALL sys.expire_snapshots(table => 'c', retain_max => 1, retain_min => 1)",
        "CALL sys.expire_changelogs(table => 'c', retain_max => 1, retain_min => 1)",
        "SELECT * FROM c",
    ),
    "partitions": (
        "CALL sys.drop_partition(table => 't', partitions => 'dt=2024-01-02')",
        "CALL sys.mark_partition_done(table => 't', partitions => 'dt=2024-01-01')",
        "CALL sys.expire_partitions(table => 't', expiration_time => '99999 d', timestamp_formatter => 'yyyy-MM-dd')",
        "SELECT dt, count(*) FROM t GROUP BY dt",
    ),
    "copies": (
        "CALL sys.compact_manifest(table => 't')",
        "CALL sys.copy(source_table => 't', target_table => 'u')",
        "SELECT u.*, commit_kind FROM u, `u$snapshots`",
    ),
    "migration": (
        "CREATE TABLE m (id INT, d DECIMAL(9, 2), p INT, dt DATE) USING parquet PARTITIONED BY (p, dt)",
        "INSERT INTO m VALUES (1, 1.50, 7, DATE '1969-12-30'), (2, NULL, NULL, DATE '2024-02-29'), (3, 3, 7, NULL)",
        "CALL sys.migrate_table(source_type => 'hive', table => 'm')",
        "INSERT INTO m VALUES (4, 4, 7, NULL)",
        "SELECT * FROM m WHERE p = 7 OR p IS NULL",
    ),
    "iceberg": (
        "CALL sys.migrate_table(source_type => 'iceberg', table => '{tmp}/ice', target_table => 'i')",
        "INSERT INTO i VALUES (6, 'f', DATE '1970-01-01', NULL)",
        "SELECT * FROM i WHERE day IS NULL OR day = DATE '1970-01-01'",
    ),
    "clone": (
        "CALL sys.clone(database => '{database}', table => 't', target_database => '{database}', target_table => 'w')",
        "CALL sys.copy(source_table => 't', target_table => 'x', where => \"dt >= '2024-01-02'\")",
        "SELECT w.* FROM w UNION ALL SELECT * FROM x",
    ),
    "going back": (
        "CALL sys.create_tag_from_timestamp(table => 't', tag => 'first')",
        "CALL sys.trigger_tag_automatic_creation(table => 't')",
        "CALL sys.create_branch(table => 't', branch => 'x', tag => 'first')",
        "CALL sys.rename_branch(table => 't', from_branch => 'x', to_branch => 'y')",
        "CALL sys.reset_consumer(table => 't', consumerId => 'c', nextSnapshotId => 7)",
        "CALL sys.clear_consumers(table => 't')",
        "CALL sys.rollback_to_timestamp(table => 't', timestamp => 9999999999999)",
        "CALL sys.repair(database_or_table => 't')",
        "CALL sys.delete_tag(table => 't', tag => 'first')",
        "CALL sys.expire_tags(table => 't', older_than => '2999-01-01 00:00:00')",
        "SELECT * FROM t UNION ALL SELECT * FROM `t$branch_y`",
    ),
    "files": (
        "CALL sys.compact(table => 't')",
        "CALL sys.compact_database(including_tables => '{database}.t')",
        "CALL sys.remove_unexisting_files(table => 't')",
        "CALL sys.rewrite_file_index(table => 't')",
        "CALL sys.rescale(table => 'c', bucket_num => 2)",
        "SELECT t.*, bucket FROM t, `c$files`",
    ),
    "merged branches": (
        "CREATE TABLE a (k INT)",
        "INSERT INTO a VALUES (1)",
        "CALL sys.create_tag(table => 'a', tag => 'one')",
        "CALL sys.create_branch(table => 'a', branch => 'b', tag => 'one')",
        "INSERT INTO `a$branch_b` VALUES (2)",
        "CALL sys.merge_branch(table => 'a', source_branch => 'b')",
        "SELECT * FROM a",
    ),
    "databases": (
        "CREATE TABLE f (k INT) USING parquet",
        "INSERT INTO f VALUES (1), (2)",
        "CALL sys.migrate_database(source_type => 'hive', database => '{database}')",
        "SELECT k, commit_kind FROM f, `f$snapshots`",
    ),
    "purge": (
        "CALL sys.purge_files(table => 't')",
        "INSERT INTO t VALUES (1, 'anew', '2024-01-01')",
        "SELECT * FROM t",
    ),
}


_NOTHING = "Java's filesystem catalog keeps none; `test_rest_catalog.py` has it"
_USERS = "they change the tables of users and grants, which `test_privileges.py` has each side read after the other"
WITHOUT = {
    "advise": "it changes no table; Java's connector has no such procedure",
    "picture": "it changes no table; Java's connector has no such procedure",
    "alter_function": _NOTHING,
    "alter_view_dialect": _NOTHING,
    "check_storage": "it changes no table; Java's connector has no such procedure",
    "create_function": _NOTHING,
    "create_privileged_user": _USERS,
    "drop_function": _NOTHING,
    "drop_privileged_user": _USERS,
    "grant_privilege_to_user": _USERS,
    "init_file_based_privilege": _USERS,
    "list_privileges": _USERS,
    "refresh_object_table": "Java has it up to version 1.2; `test_object_tables.py` compares what both list",
    "revoke_privilege_from_user": _USERS,
}
ELSEWHERE = {
    "test_global_indexes.py": {"create_global_index", "drop_global_index"},
    "test_chain_tables.py": {"compact_chain_table"},
    "test_blobs.py": {"remove_orphan_blobs"},
    "test_row_tracking.py": {"materialize_deletion_vectors", "reassign_row_id"},
    "test_upkeep.py": {"repair_earliest_snapshot", "rollback_to_watermark"},
}


def test_java_reads_after_every_procedure() -> None:
    """Every procedure of ours that Java's connector has, too; skipped ones have a reason."""
    called = {m for statements in STEPS.values() for m in re.findall(r"sys\.(\w+)", "".join(statements))}
    for file, names in ELSEWHERE.items():
        text = Path(__file__).with_name(file).read_text(encoding="utf-8")
        called |= {n for n in names if f"CALL sys.{n}(" in text}
    oracles = find_oracles()
    if oracles is None:
        pytest.skip("shared/oracles, which has a list of Java's procedures, is missing")
    with (oracles.parent / "reference" / "procedures.csv").open(encoding="utf-8", newline="") as file:
        java = {row["procedure"] for row in csv.DictReader(file)}
    assert len(java) > 30 and java <= set(PROCEDURES)
    assert called | set(WITHOUT) == set(PROCEDURES) and not called & set(WITHOUT)


def test_going_back_by_watermarks_and_over_gaps(engines: Engines, java: tuple[JavaOracle, str]) -> None:
    """Watermarks come from streams, gaps from accidents: the test makes both by hand."""
    engines.run("ours", "CREATE TABLE t (k INT)", *(f"INSERT INTO t VALUES ({k})" for k in range(5)))
    folder = Path(java[1], f"{engines.database}.db", "t", "snapshot")
    for number in range(1, 6):
        path = folder / f"snapshot-{number}"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"watermark": number * 10}), "utf-8")
    assert engines.rows("ours", "CALL sys.rollback_to_watermark(table => 't', watermark => 45)") == [[5, 4]]
    engines.both("SELECT * FROM t", [[0], [1], [2], [3]])
    (folder / "snapshot-2").unlink()
    assert engines.rows("ours", "CALL sys.repair_earliest_snapshot(table => 't', snapshot_id => 3)") == [[1, 3]]
    engines.both("SELECT snapshot_id, watermark FROM `t$snapshots`", [[3, 30], [4, 40]])
    engines.both("SELECT * FROM t VERSION AS OF 3", [[0], [1], [2]])
    expiry = "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1)"
    engines.run("java", "INSERT INTO t VALUES (9)", expiry)
    engines.both("SELECT * FROM t", [[0], [1], [2], [3], [9]])


@pytest.mark.slow
def test_java_reads_after_upkeep(engines: Engines, tmp_path: Path) -> None:
    evolved_table(tmp_path / "ice")
    keyed = "'primary-key' = 'k,dt', 'bucket' = '1'"
    engines.run(
        "ours",
        f"CREATE TABLE t ({KEYED}) PARTITIONED BY (dt) TBLPROPERTIES ({keyed}, 'write-only' = 'true')",
        "CREATE TABLE c (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1',"
        " 'changelog-producer' = 'input', 'changelog.num-retained.min' = '50', 'write-only' = 'true')",
        "INSERT INTO t VALUES (1, 'a', '2024-01-01'), (2, 'b', '2024-01-02')",
        "INSERT INTO t VALUES (1, 'A', '2024-01-01'), (3, 'c', '2024-01-02')",
        "INSERT INTO t VALUES (4, 'd', '2024-01-01')",
    )
    seen = {}
    for name, (*statements, query) in STEPS.items():
        engines.run("ours", *(s.format(tmp=tmp_path, database=engines.database) for s in statements))
        seen[name] = engines.both(query)
    assert all(seen.values()), seen
    assert len(seen["branches"]) == 6 and len(seen["migration"]) == 4 and len(seen["iceberg"]) == 6
    engines.run("java", "INSERT INTO t VALUES (2, 'java', '2024-01-01')", "CALL sys.expire_snapshots(table => 't')")
    engines.both("SELECT * FROM t", [[1, "anew", "2024-01-01"], [2, "java", "2024-01-01"]])
