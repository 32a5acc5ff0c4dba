"""Java reads what Python writes without Spark: appends, upserts, updates, deletes, merges and planned writes."""

from __future__ import annotations

from typing import Any

import pytest

from paimon_core.commit.publish import AtomicPublisher, PublishOutcome
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable
from tests.interop.engines import Engines
from tests.interop.test_types import KINDS, ROWS, create, insert
from tests.support.java_oracle import JavaOracle


def opened(java: tuple[JavaOracle, str], engines: Engines, table: str) -> PaimonTable:
    return open_catalog(java[1], time_zone="UTC").table(f"{engines.database}.{table}")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_every_type(engines: Engines, java: tuple[JavaOracle, str], kind: str) -> None:
    engines.run("java", create("source", kind), insert("source", ROWS))
    engines.run("java", create("copy", kind))
    copy = opened(java, engines, "copy")
    write = copy.upsert if copy.primary_key else copy.append
    write(opened(java, engines, "source").scan())
    engines.both("SELECT * FROM copy", engines.rows("java", "SELECT * FROM source"))


@pytest.mark.parametrize(
    "options",
    [
        "'primary-key' = 'id', 'bucket' = '2'",
        "'primary-key' = 'id'",
        "'primary-key' = 'id', 'bucket' = '1', 'changelog-producer' = 'lookup'",
        "'bucket' = '-1'",
        "'deletion-vectors.enabled' = 'true'",
        "'row-tracking.enabled' = 'true'",
    ],
)
def test_changes(engines: Engines, java: tuple[JavaOracle, str], options: str) -> None:
    engines.run("java", f"CREATE TABLE t (id BIGINT NOT NULL, name STRING, n INT) TBLPROPERTIES ({options})")
    table = opened(java, engines, "t")
    write = table.upsert if table.primary_key else table.append
    write(_rows((i, "a", i) for i in range(6)))
    planned = None
    if "'bucket'" in options or not table.primary_key:  # dynamic buckets need one process
        planned = table.plan_write()
        planned.commit([planned.write(_rows([(6, "b", 6)])), planned.write(_rows([(7, "b", 7)]))])
    table.update({"n": "n * 10"}, where="id IN (1, 6)")
    table.delete(where="id = 2")
    table.merge(
        _rows([(3, "c", 1), (4, "c", 2), (9, "c", 3)]),
        on="id",
        when_matched=[("target.id = 4", "delete"), {"name": "source.name", "n": "target.n + source.n"}],
        when_not_matched="insert",
    )
    expected = [[0, "a", 0], [1, "a", 10], [3, "c", 4], [5, "a", 5], [9, "c", 3]]
    if planned is not None:
        expected += [[6, "b", 60], [7, "b", 7]]
    engines.both("SELECT * FROM t ORDER BY id", sorted(expected))
    engines.run("java", "INSERT INTO t VALUES (10, 'java', 1)")
    assert table.scan(where="id = 10").count() == 1


def test_java_reads_and_keeps_snapshots_that_store_their_tries(
    engines: Engines, java: tuple[JavaOracle, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.run("java", "CREATE TABLE t (id BIGINT NOT NULL) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    table, lost, publish = opened(java, engines, "t"), list[str](), AtomicPublisher.publish

    def losing(self: AtomicPublisher, path: str, data: bytes) -> PublishOutcome:
        """Lose the first race for each snapshot."""
        if path in lost:
            return publish(self, path, data)
        lost.append(path)
        return PublishOutcome.LOST_RACE

    with monkeypatch.context() as patched:
        patched.setattr(AtomicPublisher, "publish", losing)
        table.upsert([{"id": 1}])
        table.upsert([{"id": 2}])
        open_catalog(java[1]).call("compact", table=f"{engines.database}.t", compact_strategy="full")
    database = engines.database
    engines.both("SELECT * FROM t ORDER BY id", [[1], [2]])
    engines.both("SELECT * FROM t VERSION AS OF 1", [[1]])
    engines.both("SELECT snapshot_id, commit_kind FROM `t$snapshots`", [[1, "APPEND"], [2, "APPEND"], [3, "COMPACT"]])
    engines.run("java", f"CALL sys.create_tag(table => '{database}.t', tag => 'kept', snapshot => 2)")
    engines.run("java", "INSERT INTO t VALUES (3)")
    engines.run("java", f"CALL sys.expire_snapshots(table => '{database}.t', retain_max => 2, retain_min => 1)")
    engines.run("java", f"CALL sys.rollback(table => '{database}.t', version => 'kept')")
    engines.both("SELECT * FROM t ORDER BY id", [[1], [2]])
    shown = opened(java, engines, "t").pictures.timeline()
    assert [line.endswith("1 retry") for line in repr(shown).splitlines()[3:]] == [True]


def _rows(rows: Any) -> list[dict[str, Any]]:
    return [dict(zip(("id", "name", "n"), row, strict=True)) for row in rows]
