"""Tables of Spark's own catalog, and folders that Spark reads, become Paimon tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.procedures import file_tasks
from tests.support.iceberg import evolved_table

pytestmark = pytest.mark.spark


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in spark.sql(query).collect()), key=str)


def test_tables_of_the_session_catalog(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE DATABASE spark_catalog.mig")
    try:
        spark.sql("CREATE TABLE spark_catalog.mig.p (id INT, at TIMESTAMP, d DATE) USING parquet PARTITIONED BY (d)")
        spark.sql("INSERT INTO spark_catalog.mig.p VALUES (1, TIMESTAMP '2024-01-02 03:04:05', DATE '1969-12-31')")
        spark.sql("INSERT INTO spark_catalog.mig.p VALUES (2, NULL, DATE '2024-02-29'), (3, NULL, NULL)")
        spark.sql("CREATE TABLE spark_catalog.mig.c (id INT, v STRING) USING csv OPTIONS (header 'true', sep ';')")
        spark.sql("INSERT INTO spark_catalog.mig.c VALUES (1, 'a;b'), (2, NULL)")
        spark.sql("CREATE VIEW spark_catalog.mig.w AS SELECT 1 AS one")
        query = "SELECT id, cast(at AS STRING), cast(d AS STRING) FROM {}mig.p"
        before = rows(spark, query.format("spark_catalog."))
        root = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
        files = list(root.rglob("mig.db/p/**/*.parquet"))
        answer = rows(spark, "CALL sys.migrate_database(source_type => 'hive', database => 'mig')")
        assert answer == [("migrate database is finished, success cnt: 2 , failed cnt: 1",)]
        assert rows(spark, query.format("")) == before
        assert rows(spark, "SELECT id FROM mig.p WHERE d = DATE '2024-02-29'") == [(2,)]
        assert rows(spark, "SELECT count(*), count(d) FROM mig.p") == [(3, 2)]
        assert rows(spark, "SELECT * FROM mig.c") == [(1, "a;b"), (2, None)]
        assert rows(spark, "SHOW TABLES IN spark_catalog.mig") == [("mig", "w", False)]
        assert files and not any(f.exists() for f in files)
        spark.sql("INSERT INTO mig.p VALUES (4, NULL, DATE '2024-02-29')")
        spark.sql("DELETE FROM mig.p WHERE id = 2")
        spark.sql("CALL sys.compact('mig.p')")
        assert rows(spark, "SELECT id, cast(d AS STRING) FROM mig.p") == [
            (1, "1969-12-31"),
            (3, None),
            (4, "2024-02-29"),
        ]
        folder = tmp_path / "folder"
        spark.sql("SELECT id, id % 2 AS half FROM range(4)").write.partitionBy("half").json(str(folder))
        spark.sql(
            f"CALL sys.migrate_table(source_type => 'json', table => '{folder}', target_table => 'mig.j',"
            " delete_origin => false, options_map => map('x', 'y'))"
        )
        assert rows(spark, "SELECT half, sum(id) FROM mig.j GROUP BY half") == [(0, 2), (1, 4)]
        assert "'x' = 'y'" in spark.sql("SHOW CREATE TABLE mig.j").collect()[0][0]
    finally:
        spark.sql("DROP DATABASE spark_catalog.mig CASCADE")


def test_iceberg_tables_and_copies_by_tasks(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evolved_table(tmp_path / "ice")
    monkeypatch.setattr(file_tasks, "MANY_COPIES", 1)
    monkeypatch.setattr("paimon_sql.procedures.migration.files._MANY", 1)
    arguments = f"table => '{tmp_path / 'ice'}', delete_origin => false"
    spark.sql(f"CALL sys.migrate_table(source_type => 'iceberg', target_table => 'i', {arguments})")
    assert rows(spark, "SELECT id, title FROM i WHERE day = DATE '1970-01-01'") == [(1, "a"), (2, None)]
    assert rows(spark, "SELECT sum(id), count(s.x), count(*) FROM i") == [(15, 1, 5)]
    spark.sql("UPDATE i SET title = 'z' WHERE id = 2")
    spark.sql("DELETE FROM i WHERE id = 3")
    assert rows(spark, "SELECT id, title FROM i WHERE id < 5") == [(1, "a"), (2, "z"), (4, "d")]
    spark.conf.set("spark.sql.catalog.other", "paimon_sql.SparkCatalog")
    spark.conf.set("spark.sql.catalog.other.warehouse", str(tmp_path / "other"))
    spark.sql("CALL sys.copy('i', 'other.db.j', 'day IS NOT NULL AND day < current_date')")
    assert rows(spark, "SELECT id FROM other.db.j") == [(1,), (2,)]
    with pytest.raises(PySparkException, match=r"only conditions on partition columns are supported \(day\)\.") as e:
        spark.sql("CALL sys.copy('i', 'k', 'id = 1')")
    assert "LocalRelation" not in str(e.value) and "__row" not in str(e.value)
    for call, wrong in (
        ("compact('other.db.j')", "in catalog 'other', but the procedure was called in 'paimon'"),
        ("copy('i', 'nowhere.db.k')", "'nowhere' is not a Paimon catalog"),
        ("create_tag('i', NULL)", "needs a value for tag, not NULL"),
        ("migrate_database('hive', 'nowhere')", "has a database 'nowhere'"),
    ):
        with pytest.raises(PySparkException, match=wrong):
            spark.sql(f"CALL sys.{call}")
