"""Changelogs that one engine wrote and the other reads, and those of both writing one table alternately."""

from __future__ import annotations

import pytest

from tests.interop.engines import ENGINES, Engines

PRODUCERS = {
    "input": "'changelog-producer' = 'input'",
    "lookup": "'changelog-producer' = 'lookup'",
    "lookup_dedup": "'changelog-producer' = 'lookup', 'changelog-producer.row-deduplicate' = 'true'",
    "full": "'changelog-producer' = 'full-compaction', 'full-compaction.delta-commits' = '1'",
}
WRITES = (
    "INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 3)",
    "INSERT INTO {t} VALUES (2, 'B', 2), (3, NULL, 3), (4, 'd', 4)",
    "INSERT INTO {t} VALUES (1, 'aa', 1), (4, 'd', 4), (5, 'e', NULL)",
    "INSERT INTO {t} SELECT id, 'many', id FROM range(3, 30)",
    "INSERT INTO {t} VALUES (29, 'last', 0)",
)


def create(engines: Engines, name: str, options: str) -> None:
    columns = "k INT, v STRING, n BIGINT"
    keyed = "'primary-key' = 'k', 'bucket' = '2'"
    engines.run("ours", f"CREATE TABLE {name} ({columns}) TBLPROPERTIES ({keyed}, {options})")


@pytest.mark.parametrize("producer", PRODUCERS)
def test_each_reads_what_both_wrote(engines: Engines, producer: str) -> None:
    """One table written by ours, one by Java, one by both alternately: the same changes in all."""
    logs = []
    for name, writers in (("a", ("ours",)), ("b", ("java",)), ("c", ENGINES), ("d", ENGINES[::-1])):
        create(engines, name, PRODUCERS[producer])
        for number, statement in enumerate(WRITES):
            engines.run(writers[number % len(writers)], statement.format(t=name))
        last = max(row[0] for row in engines.rows("ours", f"SELECT max(snapshot_id) FROM `{name}$snapshots`"))
        engines.both(f"SELECT * FROM {name}")
        logs.append(engines.both(f"SELECT * FROM paimon_incremental_query('`{name}$audit_log`', '0', '{last}')"))
        engines.both(f"SELECT * FROM paimon_incremental_query('`{name}$binlog`', '0', '{last}')")
        engines.both(f"SELECT snapshot_id, commit_kind, changelog_record_count FROM `{name}$snapshots`")
    assert all(sorted(map(repr, log)) == sorted(map(repr, logs[0])) for log in logs[1:])


def test_automatic_compaction_is_read_by_java(engines: Engines) -> None:
    create(engines, "t", "'num-sorted-run.compaction-trigger' = '3'")
    for statement in WRITES:
        engines.run("ours", statement.format(t="t"))
        engines.both("SELECT * FROM t")
    kinds = engines.both("SELECT commit_kind FROM `t$snapshots`")
    assert ["COMPACT"] in kinds
    engines.run("java", "CALL sys.compact(table => 't')")
    engines.both("SELECT * FROM t")
    engines.both("SELECT * FROM `t$ro`")


def test_sorted_files_are_read_by_java(engines: Engines) -> None:
    engines.run(
        "ours",
        "CREATE TABLE t (a INT, b INT, s STRING) TBLPROPERTIES ('bucket' = '-1')",
        "INSERT INTO t SELECT id % 7, id % 11, id FROM range(100)",
        "INSERT INTO t SELECT id % 5, id % 3, NULL FROM range(100)",
        "CALL sys.compact(table => 't', order_strategy => 'zorder', order_by => 'a,b')",
    )
    assert len(engines.both("SELECT * FROM t")) == 200
    engines.both("SELECT snapshot_id, commit_kind FROM `t$snapshots`")
