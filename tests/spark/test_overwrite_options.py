"""What an overwrite replaces, as its options or the session's say; options of other formats' writers."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql.functions import expr

pytestmark = pytest.mark.spark

OLD = [(1, 1, 1), (2, 1, 2), (3, 2, 2)]
PARTLY, WHOLLY = [(2, 1, 2), (3, 2, 2), (9, 1, 1)], [(9, 1, 1)]


def fill(spark: Any) -> None:
    spark.sql("TRUNCATE TABLE t")
    spark.sql("INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 2)")


def rows(spark: Any) -> list[Any]:
    return sorted(tuple(r) for r in spark.sql("SELECT * FROM t").collect())


@pytest.fixture(params=["TBLPROPERTIES ('bucket' = '-1')", "TBLPROPERTIES ('primary-key' = 'k,p,q')", "USING parquet"])
def table(request: Any, spark: Any) -> Any:
    kind = request.param
    using, rest = (kind, "") if kind.startswith("USING") else ("", kind)
    spark.sql(f"CREATE TABLE t (k INT, p INT, q INT) {using} PARTITIONED BY (p, q) {rest}")
    return spark


def test_statements_say_what_is_replaced(table: Any) -> None:
    flink = "'dynamic-partition-overwrite' = '{}'"
    for mode, statement, expected in [
        ("static", f"INSERT OVERWRITE t /*+ OPTIONS({flink.format('true')}) */ VALUES (9, 1, 1)", PARTLY),
        ("static", f"INSERT OVERWRITE t WITH ({flink.format('TRUE')}) VALUES (9, 1, 1)", PARTLY),
        ("static", "INSERT OVERWRITE t WITH ('partitionOverwriteMode' = 'Dynamic') VALUES (9, 1, 1)", PARTLY),
        ("static", f"INSERT OVERWRITE t WITH ({flink.format('true')}) PARTITION (p = 1, q) VALUES (9, 1)", PARTLY),
        ("static", f"INSERT OVERWRITE t WITH ({flink.format('false')}) VALUES (9, 1, 1)", WHOLLY),
        ("static", "INSERT OVERWRITE t VALUES (9, 1, 1)", WHOLLY),
        ("dynamic", f"INSERT OVERWRITE t WITH ({flink.format('false')}) VALUES (9, 1, 1)", WHOLLY),
        (
            "dynamic",
            f"INSERT OVERWRITE t WITH ({flink.format('false')}) PARTITION (p = 1, q) VALUES (9, 1)",
            [(3, 2, 2), (9, 1, 1)],
        ),
        ("dynamic", "INSERT OVERWRITE t VALUES (9, 1, 1)", PARTLY),
    ]:
        fill(table)
        table.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
        table.sql(statement)
        assert rows(table) == expected, (mode, statement)


def test_writers_say_what_is_replaced(table: Any) -> None:
    new = table.createDataFrame([(9, 1, 1)], "k INT, p INT, q INT")
    for mode, key, value, expected in [
        ("static", "partitionOverwriteMode", "dynamic", PARTLY),
        ("static", "PARTITIONOVERWRITEMODE", "DYNAMIC", PARTLY),
        ("static", "dynamic-partition-overwrite", "true", PARTLY),
        ("dynamic", "partitionOverwriteMode", "static", WHOLLY),
    ]:
        table.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
        for method in ("saveAsTable", "insertInto"):
            fill(table)
            getattr(new.write.mode("overwrite").option(key, value), method)("t")
            assert rows(table) == expected, (mode, key, value, method)
    fill(table)
    with pytest.raises(PySparkException, match="overwritePartitions"):
        new.writeTo("t").option("partitionOverwriteMode", "static").overwritePartitions()
    assert rows(table) == OLD


def test_settings_say_what_is_replaced(table: Any) -> None:
    new = table.createDataFrame([(9, 1, 1)], "k INT, p INT, q INT")
    table.conf.set("spark.paimon.dynamic-partition-overwrite", "True")
    for write in (
        lambda: table.sql("INSERT OVERWRITE t VALUES (9, 1, 1)"),
        lambda: new.write.mode("overwrite").insertInto("t"),
    ):
        fill(table)
        write()
        assert rows(table) == PARTLY


def test_options_of_other_formats_are_not_passed_over(table: Any) -> None:
    fill(table)
    new = table.createDataFrame([(9, 1, 1)], "k INT, p INT, q INT")
    of_files = "USING parquet" in table.sql("SHOW CREATE TABLE t").first()[0]
    source = "parquet" if of_files else "paimon"
    for key, value in [
        ("replaceWhere", "p = 1"),
        ("overwriteSchema", "true"),
        ("txnAppId", "a"),
        ("mergeSchema", "true"),
    ]:
        for write in (
            lambda w: w.mode("overwrite").insertInto("t"),
            lambda w: w.mode("append").insertInto("t"),
            lambda w: w.mode("append").saveAsTable("t"),
        ):
            with pytest.raises(PySparkException, match=f"'{key}'"):
                write(new.write.format(source).option(key, value))
            assert rows(table) == OLD
    refused = "has no versions" if of_files else "'replaceWhere'"
    with pytest.raises(PySparkException, match=refused):
        new.writeTo("t").using(source).option("replaceWhere", "p = 1").createOrReplace()
    assert rows(table) == OLD


def test_partitions_of_booleans_and_names_in_another_case_are_overwritten(spark: Any) -> None:
    for using in ("", "USING parquet"):
        spark.sql(f"CREATE OR REPLACE TABLE t (k INT, Day STRING, flag BOOLEAN) {using} PARTITIONED BY (Day, flag)")
        spark.sql("INSERT INTO t VALUES (1, 'a', true), (2, 'a', false), (3, 'b', true)")
        spark.sql("INSERT OVERWRITE t PARTITION (DAY = 'a', FLAG = false) VALUES (4)")
        assert rows(spark) == [(1, "a", True), (3, "b", True), (4, "a", False)]
        new = spark.createDataFrame([(5, "a", True)], "k INT, Day STRING, flag BOOLEAN")
        new.writeTo("t").overwrite(expr("DAY = 'a' AND FLAG <=> true"))
        assert rows(spark) == [(3, "b", True), (4, "a", False), (5, "a", True)]
