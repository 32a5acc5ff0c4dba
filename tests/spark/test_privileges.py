"""Users of a warehouse through SQL: who may do what, and what is said to who may not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark
WRONG = "not-the-password"


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


@pytest.fixture
def users(spark: Any, warehouse: str) -> Callable[..., None]:
    """A warehouse with users, of which `ann` may read `default.t`; opens it as a catalog of the user's name."""
    spark.sql("CREATE TABLE t (k INT, v STRING, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k,p')")
    spark.sql("INSERT INTO t VALUES (1, 'a', 'x')")
    spark.sql("CREATE TABLE other (k INT)")
    spark.sql("INSERT INTO other VALUES (0)")
    spark.sql("CREATE TABLE files TBLPROPERTIES ('type' = 'object-table')")
    spark.sql("CREATE TABLE lines (k INT) USING csv")
    spark.sql("CREATE VIEW all_of_t AS SELECT * FROM t")
    assert rows(spark, "CALL sys.init_file_based_privilege('of root')") == [
        ("Privilege system is successfully enabled. Please drop and re-create the catalog.",)
    ]

    def open_as(user: str, password: str) -> None:
        spark.sql(
            f"CREATE CATALOG {user} WITH ('warehouse' = '{warehouse}', 'user' = '{user}', 'password' = '{password}')"
        )

    open_as("root", "of root")
    spark.sql("USE root.default")
    assert rows(spark, "CALL root.sys.create_privileged_user('ann', 'of ann')") == [
        ("User ann is created without any privileges.",)
    ]
    assert rows(spark, "CALL root.sys.grant_privilege_to_user('ann', 'SELECT', 'default', 't')") == [
        ("User ann is granted with privilege SELECT on table default.t.",)
    ]
    open_as("ann", "of ann")
    spark.sql("USE ann.default")
    return open_as


def test_a_reader_reads(spark: Any, users: Callable[..., None]) -> None:
    assert rows(spark, "SELECT * FROM t") == [(1, "a", "x")]
    assert rows(spark, "SELECT count(*) FROM t VERSION AS OF 1") == [(1,)]
    assert rows(spark, "SELECT * FROM all_of_t") == [(1, "a", "x")]
    assert rows(spark, "SELECT record_count FROM t$files") == [(1,)]
    assert rows(spark, "SHOW PARTITIONS t") == [("p=x",)]
    assert {r[1] for r in rows(spark, "SHOW TABLES")} >= {"t", "other"}
    assert rows(spark, "CALL sys.list_privileges()") == [("ann", "default.t", "SELECT")]
    assert "password" not in str(rows(spark, "SHOW CREATE TABLE t"))
    options = dict(rows(spark, "SELECT * FROM sys.catalog_options"))
    assert options["user"] == "ann" and options["password"] == "******"


@pytest.mark.parametrize(
    ("statement", "privilege", "what"),
    [
        ("SELECT * FROM other", "SELECT", "table default.other"),
        ("SELECT count(*) FROM other", "SELECT", "table default.other"),
        ("SELECT t.k FROM t JOIN root.default.t AS u ON t.k = u.k JOIN other ON true", "SELECT", "table default.other"),
        ("SELECT * FROM other$snapshots", "SELECT or INSERT", "table default.other"),
        ("SELECT * FROM other$files", "SELECT", "table default.other"),
        ("SELECT * FROM other$audit_log", "SELECT", "table default.other"),
        ("SELECT * FROM other VERSION AS OF 1", "SELECT", "table default.other"),
        ("SELECT * FROM files", "SELECT", "table default.files"),
        ("SELECT * FROM lines", "SELECT", "table default.lines"),
        ("INSERT INTO lines VALUES (1)", "INSERT", "table default.lines"),
        ("INSERT INTO t VALUES (2, 'b', 'x')", "INSERT", "table default.t"),
        ("INSERT OVERWRITE t VALUES (2, 'b', 'x')", "INSERT", "table default.t"),
        ("DELETE FROM t", "INSERT", "table default.t"),
        ("UPDATE t SET v = 'z'", "INSERT", "table default.t"),
        ("MERGE INTO t USING t AS s ON t.k = s.k WHEN MATCHED THEN DELETE", "INSERT", "table default.t"),
        ("TRUNCATE TABLE t", "INSERT", "table default.t"),
        ("ALTER TABLE t DROP PARTITION (p = 'x')", "INSERT", "table default.t"),
        ("ANALYZE TABLE t COMPUTE STATISTICS", "INSERT", "table default.t"),
        ("CALL sys.compact(table => 't')", "INSERT", "table default.t"),
        ("CALL sys.create_tag(table => 't', tag => 'x')", "INSERT", "table default.t"),
        ("CALL sys.rollback(table => 't', version => '1')", "INSERT", "table default.t"),
        ("CALL sys.reset_consumer(table => 't', consumerId => 'c', nextSnapshotId => 1)", "INSERT", "table default.t"),
        ("CALL sys.remove_orphan_files(table => 'other')", "SELECT or INSERT", "table default.other"),
        ("CALL sys.create_privileged_user('eve', 'x')", "ADMIN", "the catalog"),
        ("CALL sys.grant_privilege_to_user('ann', 'ADMIN')", "ADMIN", "the catalog"),
        ("ALTER TABLE t ADD COLUMN n INT", "ALTER_TABLE", "table default.t"),
        ("ALTER TABLE t SET TBLPROPERTIES ('x' = 'y')", "ALTER_TABLE", "table default.t"),
        ("ALTER TABLE t RENAME TO u", "ALTER_TABLE", "table default.t"),
        ("DROP TABLE t", "DROP_TABLE", "table default.t"),
        ("DROP VIEW all_of_t", "DROP_TABLE", "table default.all_of_t"),
        ("CREATE TABLE u (k INT)", "CREATE_TABLE", "database default"),
        ("CREATE TABLE u AS SELECT 1 AS k", "CREATE_TABLE", "database default"),
        ("CREATE TABLE u LIKE t", "CREATE_TABLE", "database default"),
        ("CREATE OR REPLACE TABLE t (k INT)", "ALTER_TABLE", "table default.t"),
        ("CREATE VIEW u AS SELECT * FROM t", "CREATE_TABLE", "database default"),
        ("CREATE OR REPLACE VIEW all_of_t AS SELECT 1 AS k", "ALTER_TABLE", "table default.all_of_t"),
        ("CREATE DATABASE d", "CREATE_DATABASE", "the catalog"),
        ("DROP DATABASE default CASCADE", "DROP_DATABASE", "database default"),
    ],
)
def test_what_a_reader_may_not(
    spark: Any, users: Callable[..., None], warehouse: str, statement: str, privilege: str, what: str
) -> None:
    before = sorted(str(p) for p in Path(warehouse).rglob("snapshot-*"))
    with pytest.raises(PySparkException) as raised:
        spark.sql(statement).collect()
    said = str(raised.value)
    assert f"User ann doesn't have privilege {privilege} on {what}" in said and "of ann" not in said
    assert raised.value.getSqlState() == "42501"
    assert before == sorted(str(p) for p in Path(warehouse).rglob("snapshot-*"))


def test_dataframes_streams_and_paths(spark: Any, users: Callable[..., None], warehouse: str) -> None:
    frame = spark.createDataFrame([(5, "e", "x")], "k INT, v STRING, p STRING")
    for act in (
        lambda: frame.writeTo("ann.default.t").append(),
        lambda: frame.write.mode("append").saveAsTable("ann.default.t"),
        lambda: spark.readStream.table("ann.default.other").writeStream.format("memory").queryName("q").start()
        .processAllAvailable(),
        lambda: spark.read.format("paimon").load(f"{warehouse}/default.db/t").collect(),
        lambda: spark.read.format("paimon").load(f"{warehouse}/user.sys").collect(),
        lambda: spark.read.table("ann.default.other").collect(),
    ):  # fmt: skip
        with pytest.raises(Exception, match=r"User ann doesn't have privilege|warehouse with users"):
            act()
    assert rows(spark, "SELECT count(*) FROM t") == [(1,)]


def test_who_is_not_known(spark: Any, users: Callable[..., None], warehouse: str) -> None:
    users("eve", WRONG)
    for statement in ("SELECT * FROM eve.default.t", "SHOW TABLES IN eve.default", "DROP TABLE eve.default.t"):
        with pytest.raises(PySparkException, match="User eve not found, or password incorrect") as raised:
            spark.sql(statement).collect()
        assert WRONG not in str(raised.value)
    spark.sql(f"CREATE CATALOG nobody WITH ('warehouse' = '{warehouse}')")
    with pytest.raises(PySparkException, match="User anonymous doesn't have privilege SELECT"):
        spark.sql("SELECT * FROM nobody.default.t").collect()


def test_grants_take_effect_at_once(spark: Any, users: Callable[..., None]) -> None:
    spark.sql("CALL root.sys.grant_privilege_to_user('ann', 'INSERT', 'default')").collect()
    spark.sql("INSERT INTO t VALUES (2, 'b', 'x')")
    spark.sql("DELETE FROM t WHERE k = 1")
    spark.sql("INSERT INTO other VALUES (1)")
    with pytest.raises(PySparkException, match="SELECT on table default.other"):
        spark.sql("DELETE FROM other WHERE k = 1")
    spark.sql("ALTER TABLE root.default.t RENAME TO root.default.u")
    assert rows(spark, "SELECT * FROM u") == [(2, "b", "x")]
    assert rows(spark, "CALL root.sys.revoke_privilege_from_user('ann', 'SELECT')") == [
        ("User ann is revoked with privilege SELECT on the catalog.",),
        ("Number of privileges revoked: 1",),
    ]
    with pytest.raises(PySparkException, match="SELECT on table default.u"):
        spark.sql("SELECT * FROM u").collect()
