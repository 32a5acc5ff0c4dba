"""`SparkGenericCatalog` as `spark_catalog`: Paimon tables beside Spark's own tables, views and functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

import paimon_sql
from paimon_sql.spark.statements.parser import registry_of

pytestmark = pytest.mark.spark


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def names(spark: Any, statement: str) -> list[str]:
    return [row[1] for row in rows(spark, statement) if not row[2]]


@pytest.fixture
def generic(root_session: Any, warehouse: str) -> Iterator[Any]:
    """A session with Paimon tables in `spark_catalog`, and two tables in its current database."""
    session = root_session.newSession()
    session.conf.unset("spark.sql.defaultCatalog")  # another test may have connected the root session
    session.conf.set("spark.sql.catalog.spark_catalog", "org.apache.paimon.spark.SparkGenericCatalog")
    session.conf.set("spark.sql.catalog.spark_catalog.warehouse", warehouse)
    paimon_sql.install(session)
    session.conf.set("spark.sql.scripting.enabled", "true")  # as it is from 4.1 on
    session.sql("CREATE DATABASE generic")
    session.sql("USE generic")
    keyed = "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')"
    session.sql(f"CREATE TABLE ours (id INT, v STRING) USING paimon {keyed}")
    session.sql("CREATE TABLE sparks (id INT, v STRING) USING parquet")
    session.sql("INSERT INTO ours VALUES (1, 'a'), (2, 'b')")
    session.sql("INSERT INTO sparks VALUES (1, 'p'), (3, 'q')")
    yield session
    session.sql("DROP DATABASE generic CASCADE")
    # writers of other sessions would take the session's catalog from this one, which is the thread's active session
    session._jvm.SparkSession.setActiveSession(root_session._jsparkSession)


def provider(spark: Any, table: str) -> str:
    return str(next(row[1] for row in rows(spark, f"DESCRIBE EXTENDED {table}") if row[0] == "Provider"))


def test_both_kinds_of_tables_in_one_database(generic: Any) -> None:
    assert rows(generic, "SELECT o.v, s.v FROM generic.ours o JOIN generic.sparks s USING (id)") == [("a", "p")]
    assert names(generic, "SHOW TABLES") == ["ours", "sparks"]
    assert names(generic, "SHOW TABLES IN spark_catalog.generic LIKE 's*'") == ["sparks"]
    assert [t.name for t in generic.catalog.listTables()] == ["ours", "sparks"]
    assert [provider(generic, t) for t in ("ours", "sparks")] == ["paimon", "parquet"]
    generic.sql("ALTER TABLE ours ADD COLUMN w INT")
    generic.sql("ALTER TABLE sparks ADD COLUMN w INT")
    assert generic.table("ours").columns == generic.table("sparks").columns == ["id", "v", "w"]
    generic.sql("ALTER TABLE ours RENAME TO ours2")
    generic.sql("ALTER TABLE sparks RENAME TO sparks2")
    assert rows(generic, "SELECT count(*) FROM ours2 UNION ALL SELECT count(*) FROM sparks2") == [(2,), (2,)]
    generic.sql("DROP TABLE ours2")
    generic.sql("DROP TABLE sparks2")
    assert names(generic, "SHOW TABLES") == []
    generic.sql("DROP TABLE IF EXISTS ours2")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        generic.sql("DROP TABLE ours2")


def test_sparks_tables_and_views_do_not_get_the_name_of_a_paimon_table(generic: Any) -> None:
    generic.sql("CREATE VIEW shown AS SELECT 1 AS id")
    generic.sql("CREATE TEMPORARY VIEW passing AS SELECT 7 AS id")
    for statement in (
        "ALTER TABLE ours RENAME TO sparks",
        "ALTER TABLE sparks RENAME TO ours",
        "ALTER TABLE generic.sparks RENAME TO ours",
        "ALTER TABLE generic.sparks RENAME TO generic.`ours`;",
        "ALTER VIEW shown RENAME TO ours",
        "CREATE EXTERNAL TABLE ours (id INT) USING parquet LOCATION '/nowhere'",
    ):
        with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
            generic.sql(statement)
    assert rows(generic, "SELECT (SELECT max(v) FROM ours), (SELECT max(v) FROM sparks)") == [("b", "q")]
    generic.sql("ALTER VIEW passing RENAME TO ours")
    assert rows(generic, "SELECT * FROM ours") == [(7,)]
    generic.sql("DROP VIEW ours")


def test_no_spelling_hides_a_paimon_table(generic: Any) -> None:
    """Names are taken from what Spark has understood, not from the text."""
    for statement in (
        "CREATE /* view x */ TABLE -- t\n `ours` (id INT) USING parquet",
        "CREATE TABLE IDENTIFIER('generic.' || 'ours') (id INT) USING parquet",
        "CREATE TABLE ours (id INT COMMENT 'not using paimon') USING parquet",
        "CREATE TABLE ours USING parquet AS WITH q AS (SELECT 'using paimon') SELECT /*+ REPARTITION(2) */ * FROM q",
        "CREATE TABLE ours LIKE sparks",
        "CREATE OR REPLACE VIEW ours AS SELECT 'using paimon' AS v",
        "CREATE VIEW IDENTIFIER('ours') AS SELECT 1",
        "CREATE TABLE OURS (id INT) USING parquet",
        "/* x */ ALTER TABLE sparks RENAME TO `ours`",
        "ALTER TABLE sparks RENAME /* rename to partition */ TO ours",
        "EXECUTE IMMEDIATE 'CREATE TABLE ours (id INT) USING parquet'",
        "BEGIN CREATE TABLE ours (id INT) USING parquet; END",
    ):
        with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
            generic.sql(statement)
    generic.sql("CREATE TABLE IF NOT EXISTS ours USING parquet AS SELECT 'create table x using paimon' AS v")
    generic.sql("CREATE TABLE IF NOT EXISTS ours LIKE sparks")
    generic.sql("EXPLAIN CREATE TABLE other (id INT) USING parquet")
    assert names(generic, "SHOW TABLES") == ["ours", "sparks"]
    assert [provider(generic, t) for t in ("ours", "sparks")] == ["paimon", "parquet"]
    generic.sql("DROP TABLE ours")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        generic.table("ours")  # there was no table behind it


def test_texts_that_look_like_new_tables(generic: Any) -> None:
    assert rows(generic, "SELECT 'create table ours', 1 /* alter table sparks rename to ours */") == [
        ("create table ours", 1)
    ]
    generic.sql("CREATE VIEW shown AS SELECT 'alter table x rename to ours, create view ours' AS `create table ours`")
    assert rows(generic, "SELECT * FROM shown") == [("alter table x rename to ours, create view ours",)]
    generic.sql("CREATE TABLE named (id INT COMMENT 'create view ours as') USING parquet")
    assert rows(generic, "SELECT count(*) FROM named") == [(0,)]
    generic.sql(
        "BEGIN CREATE TABLE plain (id INT); CREATE TABLE keyed (id INT, PRIMARY KEY (id) NOT ENFORCED); "
        "CREATE TABLE WITH_OPTIONS (id INT) WITH ('bucket' = '1', 'bucket-key' = 'id'); END"
    )
    assert [provider(generic, t) for t in ("plain", "keyed", "WITH_OPTIONS")] == ["parquet", "paimon", "paimon"]


def test_methods_of_spark_do_not_hide_a_table(generic: Any) -> None:
    """They do not pass through the parser."""
    frame = generic.createDataFrame([(3, "c")], "id INT, v STRING")
    session = generic._jsparkSession
    for run in (
        lambda: generic.catalog.createTable("ours", source="parquet", schema=frame.schema),
        lambda: generic.catalog.createTable("generic.sparks", source="paimon", schema=frame.schema),
        lambda: frame.writeTo("ours").using("parquet").create(),
        lambda: frame.writeTo("sparks").using("paimon").create(),
        lambda: frame.write.format("parquet").saveAsTable("ours"),
        lambda: frame.write.format("paimon").saveAsTable("sparks"),
        lambda: frame._jdf.write().format("parquet").saveAsTable("ours"),
        lambda: frame._jdf.write().format("paimon").saveAsTable("sparks"),
        lambda: frame._jdf.writeTo("ours").using("parquet").create(),
        lambda: session.catalog().createTable("ours", "parquet", frame._jdf.schema(), generic._jvm.java.util.HashMap()),
    ):
        with pytest.raises(Exception, match="ALREADY_EXISTS"):
            run()
    for mode in ("ignore", "append", "overwrite"):
        with suppress(Exception):  # Spark refuses another format, as for tables of its own
            frame._jdf.write().format("parquet").mode(mode).saveAsTable("ours")
    assert rows(generic, "SELECT count(*) FROM sparks WHERE v = 'c'") == [(0,)]
    assert [provider(generic, t) for t in ("ours", "sparks")] == ["paimon", "parquet"]
    generic.sql("DROP TABLE ours")
    assert names(generic, "SHOW TABLES") == ["sparks"]


def test_a_database_that_spark_cannot_drop_keeps_its_paimon_tables(generic: Any, monkeypatch: Any) -> None:
    generic.sql("CREATE DATABASE held")
    generic.sql("CREATE TABLE held.t USING paimon AS SELECT 1 AS id")
    registry = registry_of(generic)
    assert registry is not None
    catalog = registry.catalogs["spark_catalog"]
    asked: list[tuple[Any, ...]] = []

    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return getattr(others, name)

        def dropNamespace(self, *arguments: Any) -> bool:
            asked.append(arguments)
            raise PermissionError("no")

    others = catalog.others
    monkeypatch.setattr(catalog, "others", Refusing())
    with pytest.raises(Exception, match="no"):
        generic.sql("DROP DATABASE held CASCADE")
    assert len(asked) == 1
    monkeypatch.undo()
    assert rows(generic, "SELECT * FROM held.t") == [(1,)]
    generic.sql("DROP DATABASE held CASCADE")
    assert not catalog.catalog.database_exists("held")


def test_rows_change(generic: Any) -> None:
    generic.sql("UPDATE ours SET v = 'c' WHERE id = 1")
    generic.sql("DELETE FROM generic.ours WHERE id = 2")
    generic.sql(
        "MERGE INTO spark_catalog.generic.ours USING sparks s ON ours.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(generic, "SELECT * FROM ours ORDER BY id") == [(1, "p"), (3, "q")]
    assert rows(generic, "SELECT * FROM ours VERSION AS OF 1 ORDER BY id") == [(1, "a"), (2, "b")]
    assert rows(generic, "SELECT count(*) FROM ours$snapshots") == [(4,)]
    assert rows(generic, "CALL sys.compact(table => 'generic.ours')") == [(True,)]
    with pytest.raises(PySparkException, match="UPDATE TABLE"):
        generic.sql("UPDATE sparks SET v = 'c'")
    generic.sql("INSERT OVERWRITE ours SELECT * FROM sparks")
    generic.sql("INSERT OVERWRITE sparks SELECT * FROM ours WHERE id = 1")
    assert rows(generic, "SELECT (SELECT count(*) FROM ours), (SELECT count(*) FROM sparks)") == [(2, 1)]
    generic.sql("TRUNCATE TABLE ours")
    generic.sql("TRUNCATE TABLE sparks")
    assert rows(generic, "SELECT * FROM ours UNION ALL SELECT * FROM sparks") == []


def test_new_tables_are_of_the_provider_that_is_named(generic: Any) -> None:
    generic.sql("CREATE TABLE plain (id INT)")  # as in Java: Spark's default
    generic.sql("CREATE TABLE copied AS SELECT * FROM ours")
    generic.sql("CREATE TABLE ours2 USING paimon AS SELECT * FROM sparks")
    generic.sql("CREATE TABLE flink (id INT, b BYTES, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')")
    generic.sql("CREATE TABLE keyed (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    generic.sql("CREATE TABLE flink2 WITH ('bucket' = '1', 'primary-key' = 'id') AS SELECT * FROM ours")
    generic.sql("CREATE TABLE IF NOT EXISTS flink (id INT) WITH ('bucket' = '7')")
    generic.sql("CREATE TABLE like_ours LIKE ours")
    generic.sql("CREATE TABLE like_sparks LIKE sparks")
    generic.sql("REPLACE TABLE ours2 USING paimon AS SELECT 1 AS k")
    found = {t: provider(generic, t) for t in names(generic, "SHOW TABLES")}
    paimons = {"ours", "ours2", "flink", "flink2", "keyed", "like_ours"}
    assert found == {t: "paimon" if t in paimons else "parquet" for t in found}
    assert len(found) == 10
    assert rows(generic, "SELECT * FROM ours2") == [(1,)]
    for statement in (
        "CREATE TABLE ours (id INT) USING paimon",
        "CREATE TABLE sparks (id INT) USING paimon",
        "CREATE OR REPLACE TABLE sparks USING paimon AS SELECT 1 AS id",
        "CREATE TABLE sparks (id INT) USING parquet",
        "CREATE TABLE ours (id INT) USING parquet",
        "CREATE VIEW ours AS SELECT 1",
    ):
        with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
            generic.sql(statement)
    generic.sql("CREATE TABLE IF NOT EXISTS ours (z INT) USING parquet")
    generic.sql("CREATE VIEW IF NOT EXISTS ours AS SELECT 1")
    assert generic.table("ours").columns == ["id", "v"]
    generic.conf.set("spark.sql.sources.default", "paimon")
    generic.sql("CREATE TABLE by_default (id INT)")
    assert provider(generic, "by_default") == "paimon"


def test_views_and_functions_are_sparks(generic: Any) -> None:
    generic.sql("CREATE VIEW joined AS SELECT o.id FROM ours o JOIN sparks s USING (id)")
    generic.sql("CREATE TEMPORARY VIEW passing AS SELECT max(id) AS id FROM ours")
    generic.sql("CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2")
    assert rows(generic, "SELECT twice(id) FROM joined UNION ALL SELECT id FROM passing") == [(2,), (2,)]
    assert [r[1] for r in rows(generic, "SHOW VIEWS") if not r[2]] == ["joined"]
    assert ("spark_catalog.generic.twice",) in rows(generic, "SHOW USER FUNCTIONS")
    generic.sql("INSERT INTO ours VALUES (3, 'c')")
    assert rows(generic, "SELECT * FROM joined ORDER BY id") == [(1,), (3,)]
    generic.sql("ALTER VIEW joined AS SELECT 7 AS id")
    assert rows(generic, "SELECT * FROM joined") == [(7,)]
    generic.sql("DROP VIEW joined")
    generic.sql("DROP FUNCTION twice")
    assert generic.catalog.tableExists("ours") and not generic.catalog.tableExists("joined")


def test_frames(generic: Any, tmp_path: Path) -> None:
    more = generic.createDataFrame([(3, "c")], "id INT, v STRING")
    more.writeTo("ours").append()
    more.write.mode("append").saveAsTable("generic.ours")
    more.write.insertInto("ours")
    more.write.mode("append").saveAsTable("sparks")
    more.write.insertInto("sparks")
    more.write.format("paimon").saveAsTable("new")
    more.write.saveAsTable("new_of_spark")
    more.writeTo("new2").using("paimon").create()
    assert [provider(generic, t) for t in ("new", "new_of_spark", "new2")] == ["paimon", "parquet", "paimon"]
    assert (generic.table("ours").count(), generic.table("sparks").count()) == (3, 4)
    assert generic.read.option("scan.snapshot-id", "1").table("ours").count() == 2
    stream = generic.readStream.table("ours").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    stream.trigger(availableNow=True).toTable("new2").awaitTermination()
    assert generic.table("new2").count() == 4
    other = generic.newSession()
    assert rows(other, "SELECT count(*) FROM generic.ours") == [(3,)]


def test_databases(generic: Any, warehouse: str) -> None:
    assert "generic" in [row[0] for row in rows(generic, "SHOW DATABASES")]
    generic.sql("CREATE DATABASE generic2")
    generic.sql("CREATE TABLE generic2.t (id INT) USING paimon")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        generic.sql("DROP DATABASE generic2")
    assert names(generic, "SHOW TABLES IN generic2") == ["t"]
    generic.sql("DROP DATABASE generic2 CASCADE")
    assert not (Path(warehouse) / "generic2.db").exists()
    assert "generic2" not in [row[0] for row in rows(generic, "SHOW DATABASES")]
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        generic.sql("CREATE TABLE nowhere.t (id INT) USING paimon")


def test_the_default_database_keeps_its_tables(generic: Any) -> None:
    """Spark refuses to drop it: then its Paimon tables stay, too."""
    generic.sql("CREATE TABLE default.kept (id INT) USING paimon")
    for name in ("default", "DEFAULT"):
        with pytest.raises(PySparkException, match="(?i)default"):
            generic.sql(f"DROP DATABASE {name} CASCADE")
    assert rows(generic, "SELECT count(*) FROM default.kept") == [(0,)]
    generic.sql("DROP TABLE default.kept")


def test_a_paimon_table_does_not_hide_another_table(generic: Any) -> None:
    for name in ("sparks", "generic.sparks"):
        with pytest.raises(PySparkException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
            generic.sql(f"ALTER TABLE ours RENAME TO {name}")
    assert [provider(generic, t) for t in ("ours", "sparks")] == ["paimon", "parquet"]


def test_a_program_that_starts_later_has_the_databases(root_session: Any, generic: Any, warehouse: str) -> None:
    generic.sql("CREATE DATABASE later")
    generic.sql("CREATE TABLE later.t USING paimon AS SELECT 1 AS id")
    generic._jsparkSession.sessionState().catalog().dropDatabase("later", False, False)  # as if Spark had just started
    assert "later" not in [row[0] for row in rows(generic, "SHOW DATABASES")]
    other = generic.newSession()
    other.sql("USE later")
    assert rows(other, "SELECT * FROM t") == [(1,)]
    other.sql("DROP DATABASE later CASCADE")


def test_connect_makes_it(generic: Any, warehouse: str) -> None:
    settings = generic.conf.getAll
    assert paimon_sql.configured_catalogs(generic) == ["spark_catalog"], settings
    assert generic.catalog.currentCatalog() == "spark_catalog"
