"""Row ids and versions that one engine gives and the other keeps, in files of rows and in files of single columns."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines, other

TRACKED = "SELECT *, _ROW_ID, _SEQUENCE_NUMBER FROM t"
FILES = "SELECT first_row_id, record_count, write_cols, min_sequence_number, max_sequence_number FROM `t$files`"


@pytest.mark.parametrize("first", ENGINES)
def test_ids_and_versions(engines: Engines, first: str) -> None:
    second = other(first)
    engines.run(first, "CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('row-tracking.enabled' = 'true')")
    engines.run(
        first,
        "INSERT INTO t SELECT /*+ REPARTITION(1) */ * FROM VALUES (1, 'a'), (2, 'b') ORDER BY 1",
        "INSERT INTO t VALUES (3, 'c')",
    )
    engines.run(second, "UPDATE t SET v = 'u' WHERE _ROW_ID = 0")
    engines.both(TRACKED, [[1, "u", 0, 3], [2, "b", 1, 1], [3, "c", 2, 2]])
    merge = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
    for engine in (first, second):
        source = f"(SELECT 2 AS k, '{engine}' AS v UNION ALL SELECT {4 + ENGINES.index(engine)}, 'new')"
        engines.run(engine, f"MERGE INTO t USING {source} s ON t.k = s.k {merge}")
    engines.run(first, "DELETE FROM t WHERE k = 3")
    engines.both("SELECT k, v, _ROW_ID FROM t WHERE k < 4", [[1, "u", 0], [2, second, 1]])
    before = sorted(engines.both(TRACKED))
    engines.run(second, f"CALL sys.compact(table => '{engines.database}.t', options => 'compaction.min.file-num=2')")
    assert sorted(engines.both(TRACKED)) == before
    engines.both("SELECT * FROM `t$row_tracking` WHERE _SEQUENCE_NUMBER < 4")
    engines.both(FILES)
    engines.both("SELECT snapshot_id, commit_kind, next_row_id FROM `t$snapshots`")


@pytest.mark.parametrize("first", ENGINES)
def test_columns_of_their_own(engines: Engines, first: str) -> None:
    second = other(first)
    options = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
    engines.run(first, f"CREATE TABLE t (k INT, v STRING, n INT) TBLPROPERTIES ({options})")
    values = "VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)"
    engines.run(first, f"INSERT INTO t SELECT /*+ REPARTITION(1) */ * FROM {values} ORDER BY 1")
    engines.run(second, "UPDATE t SET v = upper(v) WHERE k < 3")
    engines.both(FILES, [[0, 3, None, 1, 1], [0, 3, ["v"], 2, 2]])
    engines.run(first, "UPDATE t SET n = n + 1 WHERE k > 1")
    engines.run(second, "DELETE FROM t WHERE k = 2")
    engines.both(TRACKED, [[1, "A", 10, 0, 3], [3, "c", 31, 2, 3]])
    source = "(SELECT 3 AS k, 'm' AS v UNION ALL SELECT 4, 'new')"
    actions = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, n) VALUES (s.k, s.v, 0)"
    engines.run(first, f"MERGE INTO t USING {source} s ON t.k = s.k {actions}")
    engines.run(first, "DELETE FROM t WHERE k = 1")
    engines.both("SELECT k, v, n, _ROW_ID FROM t", [[3, "m", 31, 2], [4, "new", 0, 3]])
    engines.run(second, f"CALL sys.compact(table => '{engines.database}.t', options => 'compaction.min.file-num=2')")
    engines.both("SELECT k, v, n, _ROW_ID FROM t", [[3, "m", 31, 2], [4, "new", 0, 3]])
    engines.both(FILES)
    engines.run(second, "UPDATE t SET n = 5 WHERE k = 4")
    engines.both("SELECT v FROM t WHERE n = 5", [["new"]])
    engines.run(first, "DELETE FROM t WHERE k = 3")
    engines.run("ours", "CALL sys.materialize_deletion_vectors(table => 't')")
    engines.both("SELECT k, v, n, _ROW_ID FROM t", [[4, "new", 5, 4]])
    engines.run(second, "UPDATE t SET n = 6 WHERE _ROW_ID = 4", "INSERT INTO t VALUES (5, 'e', 7)")
    engines.both("SELECT k, v, n, _ROW_ID FROM t", [[4, "new", 6, 4], [5, "e", 7, 5]])


@pytest.mark.parametrize("first", ENGINES)
def test_gaps_in_row_ids(engines: Engines, first: str) -> None:
    """Java 2.0 has no `reassign_row_id`, but reads what it leaves, and goes on writing."""
    second, table = other(first), f"{engines.database}.t"
    options = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
    engines.run(first, f"CREATE TABLE t (k INT, v STRING, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({options})")
    for k, p in enumerate("ababa"):
        engines.run((first, second)[k % 2], f"INSERT INTO t VALUES ({k}, 'v', '{p}')")
    engines.run(second, f"CALL sys.create_global_index('{table}', 'k', 'btree')", "UPDATE t SET v = 'new' WHERE k = 2")
    engines.run("ours", "CALL sys.reassign_row_id(table => 't')")
    after = [[0, "v", 5], [1, "v", 8], [2, "new", 6], [3, "v", 9], [4, "v", 7]]
    engines.both("SELECT k, v, _ROW_ID FROM t", after)
    engines.both("SELECT v, _ROW_ID FROM t WHERE k = 2", [["new", 6]])
    engines.both("SELECT k FROM t WHERE _ROW_ID = 8", [[1]])
    engines.run(second, "UPDATE t SET v = 'u' WHERE _ROW_ID = 7", "DELETE FROM t WHERE k = 0")
    engines.run("java", f"CALL sys.compact(table => '{table}', options => 'compaction.min.file-num=2')")
    engines.run(first, "INSERT INTO t VALUES (5, 'last', 'b')")
    engines.both("SELECT k, v, _ROW_ID FROM t", [[1, "v", 8], [2, "new", 6], [3, "v", 9], [4, "u", 7], [5, "last", 10]])
    engines.both("SELECT snapshot_id, commit_kind, next_row_id FROM `t$snapshots`")
