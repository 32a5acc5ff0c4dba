"""Tables through data frames: writers of both generations, readers and their options."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import functions as F

from tests.support.spark_versions import said_by

pytestmark = pytest.mark.spark


def content(spark: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


@pytest.fixture
def frame(spark: Any) -> Any:
    """(1, 'a', 1), (2, 'b', 2): k INT, v STRING, p INT."""
    return spark.createDataFrame([(1, "a", 1), (2, "b", 2)], "k INT, v STRING, p INT")


def rows(spark: Any, *values: tuple[Any, ...]) -> Any:
    return spark.createDataFrame(list(values), "k INT, v STRING, p INT")


# -- writeTo --------------------------------------------------------------------------------------------------------


def test_create(spark: Any, frame: Any) -> None:
    frame.writeTo("t").using("paimon").tableProperty("primary-key", "k,p").tableProperty("bucket", "1").partitionedBy(
        F.col("p")
    ).create()
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]
    assert spark.sql("SHOW PARTITIONS t").collect() == [("p=1",), ("p=2",)]
    properties = {row.key: row.value for row in spark.sql("SHOW TBLPROPERTIES t").collect()}
    assert properties == {"bucket": "1", "primary-key": "k,p"}
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        frame.writeTo("t").create()
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]


def test_append(spark: Any, frame: Any) -> None:
    frame.writeTo("paimon.default.t").create()
    rows(spark, (3, "c", 3)).writeTo("t").append()
    frame.select("p", "v", "k").writeTo("t").append()  # columns by name
    assert content(spark, "t") == [(1, "a", 1)] * 2 + [(2, "b", 2)] * 2 + [(3, "c", 3)]


def test_append_upserts_by_key(spark: Any, frame: Any) -> None:
    frame.writeTo("t").tableProperty("primary-key", "k").tableProperty("bucket", "2").create()
    rows(spark, (2, "new", 5), (3, "c", 3)).writeTo("t").append()
    assert content(spark, "t") == [(1, "a", 1), (2, "new", 5), (3, "c", 3)]


def test_the_last_row_of_a_key_wins(spark: Any) -> None:
    rows(spark, *((1, f"v{i:04}", i) for i in range(2000))).coalesce(1).writeTo("t").tableProperty(
        "primary-key", "k"
    ).tableProperty("bucket", "1").create()
    assert content(spark, "t") == [(1, "v1999", 1999)]


def test_overwrite_partitions(spark: Any, frame: Any) -> None:
    frame.writeTo("t").partitionedBy(F.col("p")).create()
    rows(spark, (20, "new", 2), (30, "new", 3)).writeTo("t").overwritePartitions()
    assert content(spark, "t") == [(1, "a", 1), (20, "new", 2), (30, "new", 3)]


def test_overwrite_by_condition(spark: Any, frame: Any) -> None:
    frame.writeTo("t").partitionedBy(F.col("p")).create()
    rows(spark, (10, "new", 1)).writeTo("t").overwrite(F.col("p") == 1)
    assert content(spark, "t") == [(2, "b", 2), (10, "new", 1)]
    rows(spark, (7, "all", 7)).writeTo("t").overwrite(F.lit(True))
    assert content(spark, "t") == [(7, "all", 7)]


def test_overwrite_by_condition_on_rows_is_refused(spark: Any, frame: Any) -> None:
    frame.writeTo("t").partitionedBy(F.col("p")).create()
    with pytest.raises(PySparkException, match=r"Table default\.t: .* filter by partition columns only \(p\)"):
        rows(spark, (10, "new", 1)).writeTo("t").overwrite(F.col("k") == 1)
    with pytest.raises(PySparkException, match="partitions"):
        rows(spark, (10, "new", 2)).writeTo("t").overwrite(F.col("p") == 1)
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]


def test_create_or_replace(spark: Any, frame: Any) -> None:
    frame.writeTo("t").createOrReplace()
    frame.where("k = 1").drop("p").writeTo("t").createOrReplace()
    assert spark.table("t").columns == ["k", "v"]
    assert content(spark, "t") == [(1, "a")]
    frame.writeTo("t").replace()
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        frame.writeTo("nope").replace()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("k INT, v STRING, p INT, x INT", r"too many data columns"),
        ("k INT, v STRING, p DATE", r"INCOMPATIBLE_DATA_FOR_TABLE.*`p`"),
        ("k INT, v STRING, q INT", r"INCOMPATIBLE_DATA_FOR_TABLE.*" + said_by({(4, 0): "`p`", (4, 1): "`q`"})),
    ],
)
def test_rows_that_do_not_fit(spark: Any, frame: Any, columns: str, message: str) -> None:
    frame.writeTo("t").create()
    with pytest.raises(AnalysisException, match=message):
        spark.createDataFrame([], columns).writeTo("t").append()
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]
    spark.createDataFrame([(3, 3)], "k INT, p INT").writeTo("t").append()
    assert content(spark, "t")[2] == (3, None, 3)


def test_values_are_cast_as_insert_casts_them(spark: Any, frame: Any) -> None:
    frame.limit(0).writeTo("t").create()
    texts = spark.createDataFrame([("x", "3", "1")], "v STRING, p STRING, K STRING")
    texts.writeTo("t").append()
    texts.write.mode("append").saveAsTable("t")
    texts.select("K", "v", "p").toDF("a", "b", "c").write.insertInto("t")  # by position
    assert content(spark, "t") == [(1, "x", 3)] * 3
    texts.replace("3", "4").withColumn("x", F.lit(7)).writeTo("t").option("write.merge-schema", "true").append()
    assert content(spark, "t") == [(1, "x", 3, None)] * 3 + [(1, "x", 4, 7)]
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        texts.withColumn("K", F.lit("one")).writeTo("t").append()
    texts.withColumn("x", F.lit(None).cast("int")).write.mode("overwrite").saveAsTable("t")  # by name too
    assert content(spark, "t") == [(1, "x", 3, None)]
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    with pytest.raises(AnalysisException, match="CANNOT_SAFELY_CAST"):
        texts.writeTo("t").append()


def test_nulls_in_keys_are_refused(spark: Any, frame: Any) -> None:
    frame.writeTo("t").tableProperty("primary-key", "k").tableProperty("bucket", "1").create()
    with pytest.raises(PySparkException, match=r"NULL value appeared in non-nullable field:\s+k"):
        rows(spark, (None, "x", 1)).writeTo("t").append()
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]


def test_writing_nothing(spark: Any, frame: Any) -> None:
    frame.limit(0).writeTo("t").create()
    assert content(spark, "t") == []
    frame.limit(0).writeTo("t").append()
    assert spark.sql("SELECT count(*) FROM `t$snapshots`").collect() == [(0,)]


def test_a_table_written_from_itself(spark: Any, frame: Any) -> None:
    frame.writeTo("t").tableProperty("primary-key", "k").tableProperty("bucket", "1").create()
    spark.table("t").withColumn("v", F.upper("v")).writeTo("t").append()
    assert content(spark, "t") == [(1, "A", 1), (2, "B", 2)]
    spark.table("t").where("k = 1").writeTo("t").overwrite(F.lit(True))
    assert content(spark, "t") == [(1, "A", 1)]


# -- write ----------------------------------------------------------------------------------------------------------


def test_save_as_table(spark: Any, frame: Any) -> None:
    frame.write.saveAsTable("t")
    frame.write.mode("append").saveAsTable("t")
    assert content(spark, "t") == [(1, "a", 1)] * 2 + [(2, "b", 2)] * 2
    frame.where("k = 1").write.mode("overwrite").saveAsTable("t")
    assert content(spark, "t") == [(1, "a", 1)]
    frame.write.mode("ignore").saveAsTable("t")
    assert content(spark, "t") == [(1, "a", 1)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        frame.write.mode("errorifexists").saveAsTable("t")
    assert content(spark, "t") == [(1, "a", 1)]


def test_save_as_table_of_other_columns_replaces_the_table_as_spark_does(spark: Any, frame: Any) -> None:
    frame.write.option("primary-key", "k").option("bucket", "1").saveAsTable("t")
    fewer = frame.select("k", "v")
    fewer.write.mode("overwrite").saveAsTable("t")
    assert content(spark, "t") == [(1, "a"), (2, "b")] and spark.table("t").schema["k"].nullable
    frame.withColumnRenamed("p", "q").write.mode("overwrite").saveAsTable("t")
    assert spark.table("t").columns == [*fewer.columns, "q"] and content(spark, "t") == [(1, "a", 1), (2, "b", 2)]
    fewer.write.mode("overwrite").option("write.merge-schema", "true").saveAsTable("t")
    assert content(spark, "t") == [(1, "a", None), (2, "b", None)]


def test_save_as_table_makes_the_table(spark: Any, frame: Any) -> None:
    frame.write.partitionBy("p").mode("append").saveAsTable("paimon.default.t")
    rows(spark, (3, "c", 2)).write.mode("append").saveAsTable("paimon.default.t")
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2), (3, "c", 2)]
    assert spark.sql("SHOW PARTITIONS t").collect() == [("p=1",), ("p=2",)]


def test_save_as_table_keeps_options_and_overwrites_only_rows(spark: Any, frame: Any) -> None:
    given = {"primary-key": "k,p", "bucket": "2", "target-file-size": "256MB", "write.merge-schema": "true"}
    frame.write.options(**given).partitionBy("p").saveAsTable("t")
    frame.write.mode("append").saveAsTable("t")  # the same keys
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]
    rows(spark, (3, "c", 3)).write.mode("overwrite").saveAsTable("t")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    rows(spark, (4, "d", 4)).write.mode("overwrite").saveAsTable("t")
    assert content(spark, "t") == [(3, "c", 3), (4, "d", 4)]
    assert spark.sql("SHOW PARTITIONS t").collect() == [("p=3",), ("p=4",)]
    options = {tuple(r) for r in spark.sql("SELECT * FROM `t$options` WHERE key <> 'owner'").collect()}
    assert options == {("bucket", "2"), ("target-file-size", "256MB")}
    assert spark.sql("SELECT v FROM t VERSION AS OF 1 ORDER BY v").collect() == [("a",), ("b",)]


@pytest.mark.parametrize("options", [{"primary-key": "k"}, {"bucket-key": "v", "bucket": "2"}, {"bucket": "2"}])
def test_options_of_a_write_cannot_be_another_tables(spark: Any, frame: Any, options: dict[str, str]) -> None:
    frame.writeTo("t").createOrReplace()
    with pytest.raises(PySparkException, match=r"Option '.*' cannot (be changed|change)"):
        frame.writeTo("t").options(**options).append()
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]


def test_insert_into(spark: Any, frame: Any) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p)")
    frame.write.insertInto("t")
    frame.select("p", "v", "k").write.insertInto("t")  # columns by position
    assert content(spark, "t") == [(1, "a", 1)] * 2 + [(2, "b", 2)] * 2
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    rows(spark, (9, "z", 2)).write.insertInto("t", overwrite=True)
    assert content(spark, "t") == [(1, "a", 1)] * 2 + [(9, "z", 2)]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "static")
    rows(spark, (9, "z", 9)).write.mode("overwrite").insertInto("t")
    assert content(spark, "t") == [(9, "z", 9)]


def test_options_of_a_write(spark: Any, frame: Any, warehouse: str) -> None:
    frame.writeTo("t").create()
    many = rows(spark, *((i, "x", i) for i in range(20_000))).coalesce(1)
    many.writeTo("t").option("target-file-size", "1 kb").append()
    assert len(list(Path(warehouse).rglob("data-*.parquet"))) > 2
    assert "target-file-size" not in {row.key for row in spark.sql("SHOW TBLPROPERTIES t").collect()}


def test_data_is_copied_between_formats(spark: Any, frame: Any, tmp_path: Path) -> None:
    frame.write.parquet(str(tmp_path / "source"))
    spark.read.parquet(str(tmp_path / "source")).writeTo("t").create()
    spark.table("t").write.json(str(tmp_path / "target"))
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]
    assert spark.read.json(str(tmp_path / "target")).count() == 2
    spark.sql(f"INSERT INTO t SELECT * FROM parquet.`{tmp_path}/source`")
    assert spark.table("t").count() == 4


def test_writes_add_columns_if_the_option_says_so(spark: Any, frame: Any) -> None:
    frame.writeTo("t").create()
    more = frame.where("k = 1").selectExpr("9L AS k", "true AS x", "v")
    with pytest.raises(AnalysisException, match=said_by({(4, 0): "output column `p`", (4, 1): "x"})):
        more.writeTo("t").append()
    more.writeTo("t").option("write.merge-schema", "true").append()
    assert content(spark, "t") == [(1, "a", 1, None), (2, "b", 2, None), (9, "a", None, True)]
    assert dict(spark.table("t").dtypes)["k"] == "int"
    again = more.selectExpr("k", "1 AS y")
    again.write.format("paimon").mode("append").option("write.merge-schema", "true").option(
        "write.merge-schema.type-widening", "true"
    ).saveAsTable("t")
    assert dict(spark.table("t").dtypes) == {"k": "bigint", "v": "string", "p": "int", "x": "boolean", "y": "int"}
    assert spark.conf.get("spark.paimon.write.merge-schema", None) is None
    again.selectExpr("k", "2 AS z").writeTo("t").option("write.merge-schema", "true").overwrite(F.lit(True))
    assert content(spark, "t") == [(9, None, None, None, None, 2)]


def test_writes_that_add_columns_go_to_the_branch_of_the_session(spark: Any, frame: Any) -> None:
    frame.writeTo("t").create()
    spark.sql("CALL sys.create_branch(table => 't', branch => 'b')")
    spark.conf.set("spark.paimon.branch", "b")
    rows(spark, (3, "c", 3)).writeTo("t").option("write.merge-schema", "true").append()
    more = rows(spark, (4, "d", 4)).withColumn("x", F.lit(True))
    more.writeTo("t").option("write.merge-schema", "true").append()
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    spark.sql("INSERT INTO t BY NAME SELECT 5 AS k, 'e' AS v, 5 AS p, 6 AS y")
    spark.conf.unset("spark.paimon.branch")
    assert content(spark, "t") == [(1, "a", 1), (2, "b", 2)]
    written = [tuple(r) for r in spark.sql("SELECT * FROM `t$branch_b` WHERE k > 2 ORDER BY k").collect()]
    assert written == [(3, "c", 3, None, None), (4, "d", 4, True, None), (5, "e", 5, None, 6)]


def test_merge_into(spark: Any, frame: Any) -> None:
    frame.writeTo("t").tableProperty("primary-key", "k").tableProperty("bucket", "1").create()
    source = rows(spark, (2, "new", 20), (3, "c", 30)).withColumn("extra", F.lit(1)).alias("s")
    merge = source.mergeInto("t", F.expr("t.k = s.k")).whenMatched().update({"v": F.col("s.v")})
    merge.whenNotMatched().insert({"k": F.col("s.k"), "v": F.lit("n")}).merge()
    assert content(spark, "t") == [(1, "a", 1), (2, "new", 2), (3, "n", None)]
    merge = source.mergeInto("t", F.expr("t.k = s.k")).whenMatched().updateAll().withSchemaEvolution()
    merge.whenNotMatchedBySource().delete().merge()
    assert content(spark, "t") == [(2, "new", 20, 1), (3, "c", 30, 1)]


# -- reading --------------------------------------------------------------------------------------------------------


def test_reader_options(spark: Any, frame: Any) -> None:
    frame.writeTo("t").create()
    frame.writeTo("t").append()
    read = spark.read.option("scan.snapshot-id", 1)
    assert read.table("t").count() == read.table("paimon.default.t").count() == 2
    assert spark.read.option("scan.snapshot-id", 2).table("t").count() == 4
    assert spark.table("t").count() == 4
    with pytest.raises(PySparkException, match=r"Table default\.t has no snapshot 7: the snapshots 1 to 2 exist"):
        spark.read.option("scan.snapshot-id", 7).table("t").collect()
    spark.sql("CALL sys.create_tag('t', 'one', 1)")
    spark.sql("CALL sys.create_branch('t', 'b', 'one')")
    spark.sql("ALTER TABLE t RENAME COLUMN v TO w")
    assert read.table("t").columns == ["k", "v", "p"]
    rows(spark, (3, "c", 3)).write.option("branch", "b").mode("append").saveAsTable("t")
    assert content(spark, "`t$branch_b`") == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]
    assert spark.read.option("branch", "b").table("t").count() == 3
    assert spark.read.option("branch", "main").table("t").count() == 4


def test_transformations(spark: Any, frame: Any) -> None:
    frame.writeTo("t").tableProperty("primary-key", "k").tableProperty("bucket", "2").create()
    rows(spark, (2, "new", 5), (3, None, 5)).writeTo("t").append()
    table = spark.table("t")
    assert table.groupBy("p").agg(F.count("v"), F.max("k")).orderBy("p").collect() == [(1, 1, 1), (5, 1, 3)]
    assert table.where(F.col("v").isNull()).select("k").collect() == [(3,)]
    assert table.orderBy(F.desc("k")).limit(1).collect() == [(3, None, 5)]
    assert table.join(frame, "k").count() == 2
    assert table.drop("v").distinct().count() == 3
    assert table.select(F.lit(1)).count() == table.count() == 3
    assert {row.k for row in table.toLocalIterator()} == {1, 2, 3}
    assert table.toArrow().num_rows == 3
    assert table.rdd.map(lambda row: row.k).sum() == 6
    assert len(table.sample(1.0, seed=1).collect()) == 3


def test_every_type(spark: Any) -> None:
    columns = (
        "b BOOLEAN, y TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, c DECIMAL(38, 18), t STRING, "
        "ch CHAR(3), vc VARCHAR(5), x BINARY, a DATE, m TIMESTAMP, n TIMESTAMP_NTZ, ar ARRAY<INT>, "
        "mp MAP<STRING, ARRAY<DOUBLE>>, st STRUCT<a: INT, b: STRUCT<c: STRING>>"
    )
    values = (
        "true, 1Y, 2S, 3, 4L, FLOAT(0.5), 0.25D, 1.000000000000000001, 'ö€😀', 'ab', 'abcde', X'00FF', "
        "DATE '1900-01-01', TIMESTAMP '1900-01-01 00:00:00.123456', TIMESTAMP_NTZ '9999-12-31 23:59:59.999999', "
        "array(1, NULL), map('k', array(1.5D)), struct(1, struct('x'))"
    )
    nulls = ", ".join(["NULL"] * 18)
    for name, keys in {"appended": "", "keyed": "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"}.items():
        spark.sql(f"CREATE TABLE {name} (k INT, {columns}) {keys}")
        spark.sql(f"INSERT INTO {name} VALUES (1, {values}), (2, {nulls})")
        spark.sql(f"INSERT INTO {name} VALUES (1, {values})")
        expected = tuple(spark.sql(f"SELECT {values}").collect()[0])
        first, *_, last = sorted(spark.table(name).collect(), key=lambda row: row.k)
        assert tuple(first)[1:] == (*expected[:9], "ab ", *expected[10:])
        assert tuple(last)[1:] == (None,) * 18
    assert first.a == date(1900, 1, 1)


def test_names_of_system_tables_need_no_backquotes(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k INT) WITH ('bucket' = '1', 'bucket-key' = 'k')")
    spark.sql("INSERT INTO t VALUES (1)")
    for name in ("t$snapshots", "paimon.default.t$snapshots", "`t$snapshots`"):
        assert spark.table(name).count() == spark.read.table(name).count() == 1
