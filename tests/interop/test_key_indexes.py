"""Indexes of keyed tables: both make them, use them, and leave none of files that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.engines import Engines

OPTIONS = (
    "'primary-key' = 'k', 'bucket' = '1', 'deletion-vectors.enabled' = 'true', 'pk-btree.index.columns' = 'v', "
    "'pk-bitmap.index.columns' = 'n', 'num-sorted-run.compaction-trigger' = '2'"
)
COLUMNS = "k INT, v STRING, n INT"


def payloads(engines: Engines) -> list[Any]:
    query = "SELECT index_type FROM `t$table_indexes` WHERE index_type IN ('btree', 'bitmap') ORDER BY index_type"
    return [kind for (kind,) in engines.rows("ours", query)]


def check(engines: Engines, rows: list[list[Any]]) -> None:
    engines.both("SELECT * FROM t ORDER BY k", rows)
    for column, value in (("v", "'B'"), ("v", "'b'"), ("n", "20"), ("n", "2"), ("k", "2")):
        engines.both(f"SELECT * FROM t WHERE {column} = {value} ORDER BY k")


@pytest.mark.parametrize("creator", ["ours", "java"])
def test_both_write_and_compact(engines: Engines, creator: str) -> None:
    compact = f"CALL sys.compact(table => '{engines.database}.t')"
    engines.run(creator, f"CREATE TABLE t ({COLUMNS}) TBLPROPERTIES ({OPTIONS})")
    engines.run("java", "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)", "INSERT INTO t VALUES (3, 'c', 3)", compact)
    assert payloads(engines) == ["bitmap", "btree"]
    engines.run("ours", "INSERT INTO t VALUES (2, 'B', 20), (4, 'b', 2)")
    rows = [[1, "a", 1], [2, "B", 20], [3, "c", 3], [4, "b", 2]]
    check(engines, rows)
    engines.run("ours", compact)
    assert payloads(engines) == ["bitmap", "btree"]
    check(engines, rows)
    engines.run("java", "INSERT INTO t VALUES (5, 'e', 5)", compact)
    assert payloads(engines) == ["bitmap", "btree"]
    engines.run("ours", "UPDATE t SET v = 'B' WHERE k = 5", "DELETE FROM t WHERE k = 1")
    check(engines, [*rows[1:], [5, "B", 5]])
    engines.run("ours", "INSERT OVERWRITE t VALUES (9, 'B', 2)")
    assert payloads(engines) == []
    check(engines, [[9, "B", 2]])
