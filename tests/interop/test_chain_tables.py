"""Chain tables whose branches both engines write."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines

OPTIONS = (
    "'chain-table.enabled' = 'true', 'primary-key' = 'day,k', 'bucket' = '2', 'sequence.field' = 'n', "
    "'partition.timestamp-pattern' = '$day', 'partition.timestamp-formatter' = 'yyyyMMdd', "
    "'num-sorted-run.compaction-trigger' = '2'"
)
NAMED = "SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'snapshot', 'scan.fallback-delta-branch' = 'delta')"


def test_branches_that_both_write(engines: Engines) -> None:
    first, second = ENGINES
    columns = "k INT, v STRING, n INT, day STRING"
    engines.run(first, f"CREATE TABLE t ({columns}) PARTITIONED BY (day) TBLPROPERTIES ({OPTIONS})")
    for branch in ("snapshot", "delta"):
        engines.run(first, f"CALL sys.create_branch('{engines.database}.t', '{branch}')")
    engines.run(first, *(f"ALTER TABLE `t{name}` {NAMED}" for name in ("", "$branch_snapshot", "$branch_delta")))
    full, delta = "`t$branch_snapshot`", "`t$branch_delta`"
    engines.run(first, f"INSERT OVERWRITE {full} PARTITION (day = '20250810') VALUES (1, 'one', 1), (2, 'two', 1)")
    engines.run(second, f"INSERT INTO {delta} PARTITION (day = '20250811') VALUES (2, 'zwei', 2), (3, 'drei', 2)")
    engines.run(first, f"DELETE FROM {delta} WHERE k = 3", f"INSERT INTO {delta} VALUES (4, 'four', 1, '20250811')")
    second_day = [[1, "one", 1, "20250811"], [2, "zwei", 2, "20250811"], [4, "four", 1, "20250811"]]
    engines.both("SELECT * FROM t", [[1, "one", 1, "20250810"], [2, "two", 1, "20250810"], *second_day])
    fill = f"CALL sys.compact_chain_table(table => '{engines.database}.t', partition => 'day=\"20250811\"'"
    assert [engines.rows(e, fill + ")") for e in (second, first)] == [[[True]], [[False]]]
    engines.both(f"SELECT * FROM {full} WHERE day = '20250811'", second_day)
    engines.run(second, f"INSERT INTO {delta} VALUES (1, 'eins', 3, '20250811')")
    engines.run(first, fill + ", overwrite => true)")
    engines.both("SELECT v FROM t WHERE day = '20250811' AND k = 1", [["eins"]])
    engines.run(first, f"INSERT OVERWRITE {delta} PARTITION (day = '20250811') VALUES (9, 'over', 1)")
    engines.both(f"SELECT day FROM {full}", [["20250810"]] * 2)
    engines.both("SELECT k FROM t WHERE day = '20250811'", [[1], [2], [9]])
    for engine in ENGINES:
        with pytest.raises(Exception, match="Snapshot partition cannot be dropped"):
            engines.run(engine, f"ALTER TABLE {full} DROP PARTITION (day = '20250810')")
