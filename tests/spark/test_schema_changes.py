"""ALTER TABLE, REPLACE TABLE and their like through Spark: what it asks of the catalog, and what it says to users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

REFUSED = {
    "ALTER TABLE t ADD COLUMN z INT NOT NULL": "'z' cannot be added as NOT NULL",
    "ALTER TABLE t ADD COLUMN z INT DEFAULT 5": "'z' cannot be added with a default value",
    "ALTER TABLE t ADD COLUMN v INT": "`v` already exists",
    "ALTER TABLE t ADD (V TIMESTAMP(3))": "'V' already exists",
    "ALTER TABLE t ADD COLUMN z INT AFTER nope": "No such struct field",
    "ALTER TABLE t ADD COLUMN z INTERVAL DAY": "interval day",
    "ALTER TABLE t DROP COLUMN k": "'k' cannot be dropped: it is in the primary key",
    "ALTER TABLE t DROP COLUMN p": "'p' cannot be dropped: it is in the partition key",
    "ALTER TABLE t RENAME COLUMN p TO q": "'p' cannot be renamed: it is in the partition key",
    "ALTER TABLE t ALTER COLUMN k TYPE BIGINT": "'k' cannot be given another type",
    "ALTER TABLE t ALTER COLUMN k DROP NOT NULL": "'k' cannot be made nullable",
    "ALTER TABLE t ALTER COLUMN v SET DEFAULT rand()": "(?i)default",
    "ALTER TABLE t SET TBLPROPERTIES ('merge-engine' = 'aggregation')": "'merge-engine' cannot be changed",
    "ALTER TABLE t SET TBLPROPERTIES ('primary-key' = 'v')": "'primary-key' cannot be changed",
    "ALTER TABLE t ALTER COLUMN k FIRST": "'k' cannot be moved to the front",
    "ALTER TABLE t UNSET TBLPROPERTIES ('primary-key')": "'primary-key' cannot be removed",
    "ALTER TABLE t SET LOCATION '/elsewhere'": "location of a table cannot be changed",
    "ALTER TABLE nope ADD COLUMN z INT": "nope",
    "ALTER TABLE t PARTITION (p = 1) RENAME TO PARTITION (p = 2)": "cannot be renamed",
    "ALTER TABLE t DROP PARTITION (p = 99)": "p. = 99",
    "ALTER TABLE t DROP PARTITION (p = 1) PURGE": "leave PURGE out",
    "REPLACE TABLE t (k INT) TBLPROPERTIES ('bucket' = 'x')": "Option 'bucket' cannot be 'x'",
    "REPLACE TABLE nope (k INT)": "nope",
    "CREATE TABLE u (a INT) LOCATION '/elsewhere'": "LOCATION",
    "CREATE TABLE u (day DATE DEFAULT current_date())": "default value",
    "CREATE DATABASE sys": "sys",
    "DROP DATABASE sys": "sys",
}


@pytest.fixture
def table(spark: Any) -> Any:
    spark.sql(
        "CREATE TABLE t (k INT, p INT, v STRING COMMENT 'the value') PARTITIONED BY (p) COMMENT 'mine'"
        " TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2')"
    )
    spark.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
    return spark


def rows(spark: Any, query: str) -> list[Any]:
    return sorted(tuple(r) for r in spark.sql(query).collect())


@pytest.fixture(scope="module")
def refusing(root_session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    import paimon_sql  # noqa: PLC0415

    session = root_session.newSession()
    session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    session.conf.set("spark.sql.catalog.paimon.warehouse", str(tmp_path_factory.mktemp("w") / "warehouse"))
    paimon_sql.install(session).sql("USE paimon.default")
    session.sql(
        "CREATE TABLE t (k INT, p INT, v STRING) PARTITIONED BY (p)"
        " TBLPROPERTIES ('primary-key' = 'k,p', 'bucket' = '2')"
    )
    session.sql("INSERT INTO t VALUES (1, 1, 'a')")
    return session


@pytest.mark.parametrize("statement", REFUSED)
def test_refused_statements_say_why(refusing: Any, statement: str) -> None:
    with pytest.raises(PySparkException, match=REFUSED[statement]):
        refusing.sql(statement)
    assert rows(refusing, "SELECT * FROM t") == [(1, 1, "a")]
    assert refusing.sql("SELECT * FROM `t$schemas`").count() == 1


def test_a_table_made_of_its_own_description_is_equal(table: Any) -> None:
    table.sql(
        "ALTER TABLE t ADD COLUMNS (n STRUCT<a: INT, b: ARRAY<STRING>> COMMENT 'it\\'s', c CHAR(3), d DECIMAL(9, 2))"
    )
    table.sql("ALTER TABLE t ALTER COLUMN d SET DEFAULT 1.5")
    statement = table.sql("SHOW CREATE TABLE t").collect()[0][0]
    table.sql("CREATE DATABASE copies")
    table.sql(statement.replace("paimon.default.t", "paimon.copies.t"))
    for show in ("DESCRIBE TABLE {}.t", "SHOW TBLPROPERTIES {}.t", "SELECT key, value FROM {}.`t$options`"):
        assert rows(table, show.format("copies")) == rows(table, show.format("default"))
    primary = "SELECT primary_keys, partition_keys, comment FROM {}.`t$schemas` ORDER BY schema_id DESC LIMIT 1"
    assert rows(table, primary.format("copies")) == rows(table, primary.format("default"))


def test_like_copies_all_but_the_rows(table: Any) -> None:
    table.sql("CREATE TABLE copy LIKE t TBLPROPERTIES ('bucket' = '4')")
    table.sql("CREATE TABLE IF NOT EXISTS copy LIKE t")
    keys = "SELECT primary_keys, partition_keys, comment FROM `{}$schemas`"
    assert rows(table, keys.format("copy")) == rows(table, keys.format("t"))
    assert rows(table, "SELECT key, value FROM `copy$options` WHERE key <> 'owner'") == [("bucket", "4")]
    assert rows(table, "SELECT * FROM copy") == []


def test_a_failed_query_leaves_the_table_as_it_was(table: Any) -> None:
    table.sql("CREATE TABLE plain (a INT)")
    table.sql("INSERT INTO plain VALUES (1)")
    failing = "SELECT CAST(raise_error('broken') AS INT) AS a FROM plain"
    for statement in (f"CREATE OR REPLACE TABLE plain AS {failing}", f"CREATE TABLE fresh AS {failing}"):
        with pytest.raises(PySparkException, match="broken"):
            table.sql(statement)
    assert rows(table, "SELECT * FROM plain") == [(1,)]
    assert rows(table, "SELECT schema_id FROM `plain$schemas`") == [(0,)]
    assert [r.tableName for r in table.sql("SHOW TABLES").collect()] == ["plain", "t"]


def test_a_table_is_replaced_in_one_commit(table: Any) -> None:
    table.sql("CREATE TABLE plain (a INT)")
    table.sql("INSERT INTO plain VALUES (1), (2)")
    table.sql("REPLACE TABLE plain AS SELECT a * 10 AS a, 'x' AS b FROM plain")
    assert rows(table, "SELECT * FROM plain") == [(10, "x"), (20, "x")]
    assert rows(table, "SELECT snapshot_id, schema_id, commit_kind FROM `plain$snapshots`") == [
        (1, 0, "APPEND"),
        (2, 1, "OVERWRITE"),
    ]
    table.sql("REPLACE TABLE plain (c DATE)")
    assert rows(table, "SELECT c FROM plain") == []
    assert rows(table, "SELECT * FROM plain VERSION AS OF 2") == [(10, "x"), (20, "x")]


def test_columns_are_not_replaced_by_others_of_the_same_names(table: Any) -> None:
    with pytest.raises(PySparkException, match=r"REPLACE COLUMNS .* default\.t"):
        table.sql("ALTER TABLE t REPLACE COLUMNS (v STRING, w INT)")


def test_a_branch_has_columns_of_its_own(table: Any) -> None:
    table.sql("CALL sys.create_branch('default.t', 'b')")
    table.sql("ALTER TABLE `t$branch_b` ADD COLUMN extra STRING")
    assert "extra" in table.table("`t$branch_b`").columns
    assert "extra" not in table.table("t").columns


def test_writes_ignore_the_version_that_a_session_reads(table: Any) -> None:
    table.conf.set("spark.paimon.scan.snapshot-id", "1")
    try:
        table.sql("CREATE TABLE made (a INT)")
    finally:
        table.conf.unset("spark.paimon.scan.snapshot-id")
    assert rows(table, "SELECT * FROM made") == []


def test_a_table_is_renamed_by_its_full_name(table: Any) -> None:
    table.sql("ALTER TABLE paimon.default.t RENAME TO paimon.default.u")
    assert len(rows(table, "SELECT * FROM u")) == 2
    with pytest.raises(PySparkException, match="within the same catalog"):
        table.sql("ALTER TABLE u RENAME TO spark_catalog.default.v")


def test_partitions_are_dropped_together_or_not_at_all(table: Any) -> None:
    with pytest.raises(PySparkException, match="PARTITIONS_NOT_FOUND"):
        table.sql("ALTER TABLE t DROP PARTITION (p = 1), PARTITION (p = 9)")
    assert len(rows(table, "SELECT * FROM t")) == 2
    table.sql("ALTER TABLE t DROP PARTITION (p = 1), PARTITION (p = 2)")
    assert rows(table, "SELECT * FROM t") == []
    assert table.sql("SELECT * FROM `t$snapshots`").count() == 2


def test_a_failed_statement_adds_no_columns(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE TABLE t (a INT)")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    merge = "MERGE INTO t USING {} AS s ON t.a = s.a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    wrong = "(SELECT 1 AS a, 1 / (1 - id) AS b FROM range(1, 2))"
    before = {str(p) for p in Path(warehouse).rglob("*")}
    for statement in (f"INSERT INTO t BY NAME FROM {wrong}", merge.format(wrong)):
        with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
            spark.sql(statement)
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        spark.sql(f"SELECT * FROM {wrong}").writeTo("t").append()
    with pytest.raises(PySparkException, match="TOO_MANY_DATA_COLUMNS"):
        spark.sql("INSERT INTO t BY NAME SELECT 1 AS a, 2 AS b, 3 AS B")
    spark.sql("EXPLAIN INSERT INTO t BY NAME SELECT 1 AS a, 2 AS b").collect()
    assert {str(p) for p in Path(warehouse).rglob("*")} == before
    spark.sql("INSERT INTO t BY NAME SELECT 2 AS a, named_struct('x', 1) AS s")
    spark.sql("INSERT INTO t BY NAME SELECT 3 AS a, named_struct('x', NULL, 'y', 2) AS s")
    spark.sql("INSERT INTO t BY NAME SELECT 4 AS a, NULL AS s, 6 AS n")
    spark.sql(merge.format("(SELECT 1 AS a, 5 AS n)"))
    assert rows(spark, "SELECT a, s.x, s.y, n FROM t ORDER BY a") == [
        (1, None, None, 5),
        (2, 1, None, None),
        (3, None, 2, None),
        (4, None, None, 6),
    ]


@pytest.mark.parametrize("keys", ["", ", 'primary-key' = 'a', 'bucket' = '1'"])
def test_the_option_of_a_table_lets_every_write_bring_columns(spark: Any, keys: str) -> None:
    spark.sql(f"CREATE TABLE t (a INT) TBLPROPERTIES ('write.merge-schema' = 'TRUE'{keys})")
    spark.sql("INSERT INTO t BY NAME SELECT 1 AS a, 'x' AS b")
    spark.sql("SELECT 2 AS a, 'y' AS c").writeTo("t").append()
    spark.sql("SELECT 3 AS a, 'z' AS d").write.mode("append").saveAsTable("t")
    assert rows(spark, "SELECT a, b, c, d FROM t ORDER BY a") == [
        (1, "x", None, None),
        (2, None, "y", None),
        (3, None, None, "z"),
    ]
    spark.conf.set("spark.paimon.write.merge-schema", "false")
    with pytest.raises(PySparkException):
        spark.sql("INSERT INTO t BY NAME SELECT 4 AS a, 1 AS more")
    spark.sql("INSERT INTO t WITH ('write.merge-schema' = 'true') BY NAME SELECT 4 AS a, 1 AS more")
    assert rows(spark, "SELECT a, more FROM t WHERE a = 4") == [(4, 1)]


def test_part_of_the_keys_truncates_many_partitions(spark: Any) -> None:
    spark.sql("CREATE TABLE t (a INT, c BIGINT, d VARCHAR(4)) PARTITIONED BY (c, d)")
    spark.sql("INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 1, 'y'), (4, NULL, 'y')")
    spark.sql("TRUNCATE TABLE t PARTITION (d = 'x')")
    spark.sql("TRUNCATE TABLE t PARTITION (c = 2)")
    assert {r.a for r in spark.sql("SELECT a FROM t").collect()} == {3, 4}
    assert [r[0] for r in spark.sql("SHOW PARTITIONS t PARTITION (d = 'y')").collect()] == ["c=1/d=y", "c=null/d=y"]


def test_writes_widen_types_if_the_option_says_so(spark: Any) -> None:
    spark.sql("CREATE TABLE t (a INT, d DECIMAL(5, 2))")
    insert = "INSERT INTO t BY NAME SELECT 5000000000 AS a, CAST(12345.5 AS DECIMAL(9, 2)) AS d, 1 AS new"
    with pytest.raises(PySparkException, match="TOO_MANY_DATA_COLUMNS"):
        spark.sql(insert)
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    with pytest.raises(PySparkException, match="overflow"):
        spark.sql(insert)
    spark.conf.set("spark.paimon.write.merge-schema.type-widening", "true")
    spark.sql(insert)
    assert [str(v) for v in spark.table("t").first()] == ["5000000000", "12345.50", "1"]
    assert [t for _, t in spark.table("t").dtypes] == ["bigint", "decimal(9,2)", "int"]
