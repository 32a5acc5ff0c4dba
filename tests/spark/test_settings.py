"""Settings of Spark's and of ours mean the same in each spelling, and wherever they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException

from paimon_sql.spark.jvm.commands import parsed_by_spark
from paimon_sql.spark.jvm.views import named_relations
from paimon_sql.spark.statements.parser import registry_of
from tests.support.surroundings import jvm_locale

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark: Any) -> Any:
    spark.sql("CREATE TABLE t (k INT, v INT, p INT) PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)")
    return spark


def rows(spark: Any) -> list[Any]:
    return sorted(tuple(r) for r in spark.sql("SELECT * FROM t").collect())


@pytest.mark.parametrize("spelled", ["TRUE", "True", " true "])
def test_ansi_mode_refuses_malformed_values_however_it_is_spelled(table: Any, spelled: str) -> None:
    table.conf.set("spark.sql.ansi.enabled", spelled)
    before = rows(table)
    for statement in (
        "INSERT INTO t SELECT 3, s, 3 FROM VALUES ('no number') AS n(s)",
        "UPDATE t SET v = 'no number' WHERE k = 1",
        "MERGE INTO t USING (SELECT 1 AS k, 'no number' AS s) n ON t.k = n.k WHEN MATCHED THEN UPDATE SET v = n.s",
    ):
        with pytest.raises(PySparkException):
            table.sql(statement)
        assert rows(table) == before, statement


def test_settings_are_values(table: Any) -> None:
    bridge = registry_of(table).bridge
    table.conf.set("spark.sql.sources.partitionOverwriteMode", "Dynamic")
    table.conf.set("spark.sql.caseSensitive", "TRUE")
    table.conf.set("spark.sql.storeAssignmentPolicy", "ansi")
    table.conf.set("spark.sql.sources.v2.bucketing.enabled", "FALSE")
    assert bridge.overwrites_partitions() and bridge.is_case_sensitive()
    assert bridge.setting("spark.sql.storeAssignmentPolicy") == "ANSI"
    assert bridge.setting("spark.sql.sources.v2.bucketing.enabled") is False
    for name in ("spark.sql.sources.partitionOverwriteMode", "spark.sql.caseSensitive"):
        table.conf.unset(name)
    assert not bridge.overwrites_partitions() and not bridge.is_case_sensitive()
    assert bridge.own_setting("spark.paimon.nope") is None
    table.sql("INSERT OVERWRITE t VALUES (3, 3, 3)")
    assert rows(table) == [(3, 3, 3)]


def test_columns_that_differ_in_case_only_are_kept_apart(spark: Any, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.caseSensitive", "TRUE")
    spark.sql("CREATE TABLE t (a INT, s STRUCT<a: INT, A: INT>, p INT, P INT) PARTITIONED BY (p, P)")
    one = "named_struct('a', 1, 'A', 2)"
    spark.sql(f"INSERT INTO t VALUES (1, {one}, 1, 2), (2, {one}, 2, 1), (3, {one}, 3, 3)")
    spark.sql(f"INSERT OVERWRITE t PARTITION (p = 1) SELECT 4, {one}, 2")
    spark.sql("UPDATE t SET s.A = 5 WHERE P = 1")
    spark.sql("UPDATE t SET s = named_struct('A', 6, 'a', 7) WHERE P = 3")
    found = rows(spark)
    assert [(k, tuple(s), p, upper) for k, s, p, upper in found] == [
        (2, (1, 5), 2, 1),
        (3, (7, 6), 3, 3),
        (4, (1, 2), 1, 2),
    ]
    with pytest.raises(PySparkException, match="partitioned by p, P"):
        spark.sql("ALTER TABLE t DROP PARTITION (P = 1)")
    assert rows(spark) == found
    (tmp_path / "rows.csv").write_text("1,x,5\n")
    for name, options in (("copied", "'bucket' = '-1'"), ("upserted", "'upsert-key' = 'k'")):
        spark.sql(f"CREATE TABLE {name} (a INT, A STRING, k INT) TBLPROPERTIES ({options})")
        spark.sql(f"INSERT INTO {name} (A, a, k) VALUES ('y', 2, 5)")
        assert spark.sql(f"SELECT * FROM {name}").collect() == [(2, "y", 5)]
    spark.sql(f"COPY INTO copied (a, A, k) FROM '{tmp_path}' FILE_FORMAT = (TYPE = CSV)")
    assert spark.sql("SELECT * FROM copied WHERE a = 1").collect() == [(1, "x", 5)]


def test_names_of_a_query_are_found_in_a_locale_with_a_dotless_i(spark: Any) -> None:
    jvm = registry_of(spark).jvm
    with jvm_locale(spark, "tr-TR"):
        query = parsed_by_spark(jvm, "WITH FIRST AS (SELECT * FROM t) SELECT id FROM first")
        assert named_relations(jvm, query) == [("t",)]
        spark.sql("CREATE VIEW v AS WITH FIRST AS (SELECT 1 AS ID) SELECT id FROM first")
        assert spark.sql("SELECT ID FROM v").collect() == [(1,)]


@pytest.mark.parametrize("spelled", ["TRUE", "True"])
def test_settings_of_ours_take_any_case(table: Any, spelled: str) -> None:
    table.conf.set("spark.paimon.write.merge-schema", spelled)
    table.sql("INSERT INTO t BY NAME SELECT 3 AS k, 3 AS v, 3 AS p, 'x' AS more")
    assert table.table("t").columns == ["k", "v", "p", "more"]
    table.conf.set("spark.paimon.write.merge-schema", {"TRUE": "FALSE", "True": "False"}[spelled])
    with pytest.raises(AnalysisException):
        table.sql("INSERT INTO t BY NAME SELECT 3 AS k, 3 AS v, 3 AS p, 'x' AS more, 1 AS most")


def test_options_of_one_read_take_any_case_and_none_of_other_formats(table: Any) -> None:
    table.sql("INSERT INTO t VALUES (3, 3, 3)")
    assert table.read.option("SCAN.Snapshot-ID", "1").table("t").count() == 2
    assert table.sql("SELECT * FROM t WITH ('Scan.Snapshot-Id' = '1')").count() == 2
    assert table.sql("SELECT * FROM t$files WITH ('Scan.Snapshot-Id' = '1')").count() == 2
    table.conf.set("spark.paimon.scan.SNAPSHOT-id", "1")
    assert table.table("t").count() == 2
    table.conf.unset("spark.paimon.scan.SNAPSHOT-id")
    for name in ("snapshot-id", "as-of-timestamp", "startingVersion"):
        for read in ("t", "`t$files`"):
            with pytest.raises(PySparkException, match=f"cannot be read with the option '{name}'"):
                table.read.option(name, "1").table(read).collect()
    table.sql("CALL sys.create_branch('t', 'b')")
    table.sql("INSERT INTO t$branch_b VALUES (9, 9, 9)")
    assert table.sql("SELECT * FROM t WITH ('BRANCH' = 'b')").collect() == [(9, 9, 9)]
    table.range(1).selectExpr("8 AS k", "8 AS v", "8 AS p").write.option("Branch", "b").mode("append").saveAsTable("t")
    assert table.read.option("BRANCH", "b").table("t").count() == 2
    assert table.table("t").count() == 3
    with pytest.raises(AnalysisException, match="write 'primary-key'"):
        table.sql("CREATE TABLE u (k INT) TBLPROPERTIES ('PRIMARY-KEY' = 'k')")
