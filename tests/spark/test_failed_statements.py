"""A statement that fails leaves a table as it was, and no file that `remove_orphan_files` does not find."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException

from paimon_core.errors import StorageError
from paimon_core.io.local import LocalFileIO

pytestmark = pytest.mark.spark

TABLES = {
    "keyed": "TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2')",
    "append": "TBLPROPERTIES ('target-file-row-num' = '2')",
    "vectors": "TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
}
_BAD = "IF({0} = 39, raise_error('broken'), 'x')"
SOURCE = "(SELECT int(id) AS k, string(id) AS v, int(id % 2) AS p FROM range(0, 40, 1, 2)) s"  # the last row fails
ROWS = f"SELECT k, {_BAD.format('k')}, p FROM {SOURCE}"
FAILING = [
    f"INSERT INTO t {ROWS}",
    f"INSERT INTO t (p, k, v) SELECT p, k, {_BAD.format('k')} FROM {SOURCE}",
    f"INSERT INTO t BY NAME SELECT p, {_BAD.format('k')} AS v, k FROM {SOURCE}",
    f"INSERT WITH SCHEMA EVOLUTION INTO t SELECT k, v, p, {_BAD.format('k')} AS more FROM {SOURCE}",
    f"INSERT OVERWRITE t {ROWS}",
    f"INSERT OVERWRITE t PARTITION (p = 1) SELECT k, {_BAD.format('k')} FROM {SOURCE}",
    f"UPDATE t SET v = {_BAD.format('k')}",
    f"DELETE FROM t WHERE {_BAD.format('k')} = 'x' AND k < 100",
    f"MERGE INTO t USING {SOURCE} ON t.k = s.k AND t.p = s.p WHEN MATCHED THEN UPDATE SET v = {_BAD.format('s.k')}"
    " WHEN NOT MATCHED THEN INSERT *",
    f"MERGE INTO t USING {SOURCE} ON t.k = s.k AND t.p = s.p WHEN MATCHED THEN DELETE"
    f" WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k + 1, {_BAD.format('s.k + 10')}, s.p)",
    f"CREATE TABLE made AS {ROWS.replace('), p', ') AS v, p')}",
    f"CREATE OR REPLACE TABLE t AS {ROWS.replace('), p', ') AS v, p')}",
    f"REPLACE TABLE t PARTITIONED BY (k) AS {ROWS.replace('), p', ') AS v, p')}",
    "COPY INTO t FROM '{csv}' FILE_FORMAT = (TYPE = CSV)",
    "TRUNCATE TABLE t PARTITION (nope = 1)",
    "ALTER TABLE t DROP PARTITION (p = 7)",
    "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS nope",
    "CALL sys.rollback('t', 'nope')",
    "CALL sys.create_tag('t', 'a', 77)",
    "CALL sys.compact(table => 't', partitions => 'nope=1')",
    "ALTER TABLE t ADD COLUMNS (a INT, v INT)",
]

BROKEN_OFF = [
    "TRUNCATE TABLE t",
    "TRUNCATE TABLE t PARTITION (p = 1)",
    "ALTER TABLE t DROP PARTITION (p = 1)",
    "DELETE FROM t",
    "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
    "COPY INTO t FROM '{csv}' FILE_FORMAT = (TYPE = CSV)",
    "CALL sys.compact(table => 't', {compact})",
    "CALL sys.drop_partition('t', 'p=1')",
    "CALL sys.create_tag('t', 'a')",
    "CALL sys.create_branch('t', 'b')",
]


def files(folder: Path) -> set[Path]:
    return {p for p in folder.rglob("*") if p.is_file()}


def state(spark: Any) -> Any:
    rows = sorted(tuple(r) for r in spark.table("t").collect())
    return rows, spark.table("t").columns, spark.sql("SELECT max(snapshot_id), count(*) FROM t$snapshots").collect()


def filled(spark: Any, kind: str) -> None:
    spark.sql(f"CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p) {TABLES[kind]}")
    spark.sql("INSERT INTO t SELECT int(id), 'old', int(id % 2) FROM range(30, 42)")


@pytest.mark.parametrize("kind", TABLES)
def test_a_failure_changes_nothing(spark: Any, warehouse: str, tmp_path: Path, kind: str) -> None:
    filled(spark, kind)
    (tmp_path / "rows.csv").write_text("1,a,1\n2,b,no number\n")
    folder = Path(warehouse, "default.db", "t")
    before, known = state(spark), files(folder)
    for number, statement in enumerate(FAILING):
        mode = "dynamic" if number % 2 else "static"
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
        with pytest.raises(PySparkException) as caught:
            spark.sql(statement.replace("{csv}", str(tmp_path))).collect()
        assert "Py4JException" not in str(caught.value), statement
        assert state(spark) == before, statement
    assert [r.tableName for r in spark.sql("SHOW TABLES").collect()] == ["t"]
    remove_orphans(spark, folder)
    assert files(folder) == known
    assert state(spark) == before


@pytest.mark.parametrize(
    ("kind", "compact"),
    [("keyed", "compact_strategy => 'full'"), ("append", "order_strategy => 'order', order_by => 'v'")],
)
def test_a_storage_that_fails_midway_changes_nothing(
    spark: Any, warehouse: str, tmp_path: Path, kind: str, compact: str
) -> None:
    filled(spark, kind)
    spark.sql("INSERT INTO t SELECT int(id), 'new', int(id % 2) FROM range(36, 48)")
    (tmp_path / "rows.csv").write_text("1,a,1\n2,b,0\n")
    folder = Path(warehouse, "default.db", "t")
    before, known = state(spark), files(folder)
    for statement in BROKEN_OFF:
        with failing_writes(1 if "create" in statement else 3), pytest.raises(PySparkException, match="disk is gone"):
            spark.sql(statement.format(csv=tmp_path, compact=compact)).collect()
        assert state(spark) == before, statement
    assert [spark.table(f"`t${name}`").collect() for name in ("tags", "branches", "statistics")] == [[], [], []]
    remove_orphans(spark, folder)
    assert files(folder) == known


@contextmanager
def failing_writes(number: int) -> Iterator[None]:
    """Writing one of the driver's small files fails, by its number, and so do all behind it."""
    paths: list[str] = []

    def failing(inner: Any) -> Any:
        def write(io: LocalFileIO, path: str, data: bytes) -> Any:
            paths.append(path)
            if len(paths) >= number:
                raise StorageError(f"Cannot write {path}: the disk is gone.")
            return inner(io, path, data)

        return write

    with pytest.MonkeyPatch.context() as patch:
        for name in ("write_bytes", "create_exclusive"):
            patch.setattr(LocalFileIO, name, failing(getattr(LocalFileIO, name)))
        yield


def remove_orphans(spark: Any, folder: Path) -> None:
    for path in files(folder):
        os.utime(path, (0, 0))
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - 100_000))
    spark.sql(f"CALL sys.remove_orphan_files(table => 't', older_than => '{when}')").collect()
