"""Tables by their paths: `format("paimon")` of readers and writers, and the catalog `paimon_path`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.errors.exceptions.base import PySparkException

pytestmark = pytest.mark.spark


@pytest.fixture
def frame(spark: Any) -> Any:
    return spark.createDataFrame([(1, "a", 1), (2, "b", 2)], "k INT, v STRING, p INT")


def content(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_tables_outside_of_a_catalog(spark: Any, frame: Any, tmp_path: Path) -> None:
    """Made, written and read with another catalog current."""
    spark.sql("USE spark_catalog")
    path = str(tmp_path / "free" / "t")
    save = frame.write.format("paimon").option("primary-key", "k,p").option("bucket", "1").partitionBy("p")
    save.save(path)
    read = spark.read.format("paimon")
    assert content(read.load(path)) == content(read.option("path", path).load()) == [(1, "a", 1), (2, "b", 2)]
    with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
        save.save(path)
    save.mode("ignore").save(path)
    other = spark.createDataFrame([("5", "z", "2")], "p STRING, v STRING, k STRING")
    other.write.save(f"file://{path}", format="paimon", mode="append")  # by name, cast
    assert content(spark.read.load(path, format="paimon")) == [(1, "a", 1), (2, "b", 2), (2, "z", 5)]
    frame.where("k = 1").withColumn("x", frame.k).write.format("paimon").mode("append").option(
        "write.merge-schema", "true"
    ).option("path", path).save()
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    frame.where("k = 2").write.format("paimon").mode("overwrite").save(path)
    rows = [(1, "a", 1, 1), (2, "b", 2, None), (2, "z", 5, None)]
    assert content(spark.read.format("paimon").load(path)) == rows
    assert content(spark.read.format("paimon").option("scan.snapshot-id", 1).load(path)) == [(1, "a", 1), (2, "b", 2)]
    assert spark.read.format("paimon").load(path + "$snapshots").count() == 4
    changelog = spark.read.format("paimon").option("read.changelog", "true").load(path)
    assert changelog.columns[0] == "rowkind"
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    frame.write.format("paimon").mode("overwrite").save(path)
    for catalog in ("paimon_path", "paimon"):
        assert content(spark.table(f"{catalog}.`{path}`")) == [(1, "a", 1, None), (2, "b", 2, None)]
        assert content(spark.sql(f"SELECT * FROM {catalog}.`{path}`")) == [(1, "a", 1, None), (2, "b", 2, None)]


def test_changes_instead_of_rows(spark: Any, frame: Any, warehouse: str) -> None:
    frame.writeTo("t").create()
    path = f"{warehouse}/default.db/t"
    by_name, by_path = (
        (lambda r, more="": r.table(f"`t{more}`")),
        (lambda r, more="": r.format("paimon").load(path + more)),
    )
    for read in (by_name, by_path):
        log = read(spark.read.option("READ.CHANGELOG", " True"))
        assert content(log) == [("+I", 1, "a", 1), ("+I", 2, "b", 2)]
        assert read(spark.read.option("read.changelog", "false")).columns == frame.columns
        with pytest.raises(PySparkException, match="'read.changelog' cannot be 'maybe': it must be true or false"):
            read(spark.read.option("read.changelog", "maybe"))
        with pytest.raises(PySparkException, match="cannot read system table"):
            read(spark.read.option("read.changelog", "true"), "$files")


def test_statements_on_paths(spark: Any, tmp_path: Path) -> None:
    name = f"paimon_path.`{tmp_path}/free/t`"
    spark.sql(f"CREATE TABLE {name} (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    spark.sql(f"INSERT INTO {name} VALUES ('1', 'a'), ('2', 'b'), ('3', 'c')")
    spark.sql(f"DELETE FROM {name} WHERE k = 1")
    spark.sql(f"UPDATE {name} SET v = 'z' WHERE k = 2")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN x INT")
    spark.sql(f"MERGE INTO {name} t USING (SELECT 3 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET x = 9")
    spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS")
    assert content(spark.table(name)) == [(2, "z", None), (3, "c", 9)]
    assert spark.sql(f"SELECT count(*) FROM {name} VERSION AS OF 1").collect() == [(3,)]
    with pytest.raises(PySparkException, match="free/t cannot be renamed: move its folder"):
        spark.sql(f"ALTER TABLE {name} RENAME TO u")
    with pytest.raises(PySparkException, match="have no databases"):
        spark.sql("CREATE DATABASE paimon_path.db")
    assert spark.sql("SHOW NAMESPACES IN paimon_path").collect() == []
    spark.sql(f"DROP TABLE {name}")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.read.format("paimon").load(f"{tmp_path}/free/t")


def test_tables_of_a_catalog_by_path(spark: Any, frame: Any, warehouse: str) -> None:
    frame.writeTo("t").create()
    path = f"{warehouse}/default.db/t"
    frame.write.format("paimon").mode("append").save(path)
    read = spark.read.format("paimon")
    assert read.load(path).count() == read.table("t").count() == 4
    assert read.option("catalog", "paimon").load("/elsewhere/default.db/t").count() == 4
    assert read.option("database", "default").option("table", "t").load().count() == 4
    with pytest.raises(IllegalArgumentException, match="not 2 paths"):
        spark.read.format("paimon").load([path, path])
    with pytest.raises(PySparkException, match="schema not supported"):
        spark.read.format("paimon").schema("k INT").load(path)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table("paimon_path.t")
