"""Views in catalogs of ours: every statement about them, what they mean elsewhere, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING, DataField
from paimon_sql.catalog.base import SupportsViews
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.view import View
from tests.support.spark_versions import spark_minor

pytestmark = pytest.mark.spark


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def refused(spark: Any, statement: str, *conditions: str) -> str:
    """The message of a statement that fails with one of some conditions."""
    with pytest.raises(PySparkException) as caught:
        spark.sql(statement).collect()
    assert any((caught.value.getCondition() or "").startswith(c) for c in conditions), str(caught.value)[:300]
    return str(caught.value)


@pytest.fixture
def session(files_or_database: Any) -> Any:
    """A session whose current catalog has the table `t` of two rows."""
    return with_table(files_or_database)


@pytest.fixture
def one(spark: Any) -> Any:
    """The same in a filesystem catalog alone."""
    return with_table(spark)


def with_table(spark: Any) -> Any:
    spark.sql("CREATE TABLE t (k INT, v STRING, p VARCHAR(5))")
    spark.sql("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y')")
    return spark


def test_creating_and_reading(session: Any) -> None:
    catalog = rows(session, "SELECT current_catalog()")[0][0]
    session.sql("CREATE VIEW v AS SELECT k, v, p FROM t")
    assert rows(session, "SELECT * FROM v ORDER BY k") == [(1, "a", "x"), (2, "b", "y")]
    assert session.table("v").count() == 2 and session.read.table(f"{catalog}.default.v").count() == 2
    session.sql(
        "CREATE VIEW w (a COMMENT 'first', b) COMMENT 'it\\'s w' TBLPROPERTIES ('x' = 'y') AS "
        "SELECT k, upper(v) AS u FROM v WHERE k > 1"
    )
    assert rows(session, "SELECT b, a FROM w") == [("B", 2)]
    assert rows(session, "SELECT w.a FROM w JOIN v ON w.a = v.k WHERE v.v = 'b'") == [(2,)]
    session.sql("INSERT INTO t VALUES (3, 'c', 'z')")
    assert rows(session, "SELECT count(*) FROM w") == [(2,)]
    session.sql("CREATE VIEW IF NOT EXISTS w AS SELECT 1 AS one")
    session.sql("CREATE OR REPLACE VIEW v AS SELECT 7 AS k, 'q' AS v")
    assert rows(session, "SELECT * FROM w") == [(7, "Q")]
    session.sql(f"CREATE VIEW {catalog}.default.`a b` AS WITH c AS (SELECT k FROM t) SELECT * FROM c ORDER BY k DESC")
    assert rows(session, "SELECT * FROM `a b` LIMIT 1") == [(3,)]


def test_what_is_shown(session: Any) -> None:
    catalog = rows(session, "SELECT current_catalog()")[0][0]
    session.sql("CREATE VIEW w (a COMMENT 'first', b) COMMENT 'it\\'s' TBLPROPERTIES ('x' = 'y') AS SELECT k, v FROM t")
    session.sql("CREATE TEMPORARY VIEW temp AS SELECT 1 AS a")
    assert rows(session, "SHOW VIEWS")[0] == ("default", "w", False)
    assert rows(session, "SHOW VIEWS LIKE 'x*'") == []
    assert rows(session, f"SHOW VIEWS IN {catalog}.default LIKE 'w|x'") == [("default", "w", False)]
    listed = [row for row in rows(session, "SHOW TABLE EXTENDED IN default LIKE '*'") if not row[2]]
    assert [row[:3] for row in listed] == [("default", "t", False), ("default", "w", False)]
    assert "Type: VIEW\n" in listed[1][3] and "Type: VIEW" not in listed[0][3]
    assert " |-- a: integer (nullable = true)\n |-- b: string (nullable = true)\n" in listed[1][3]
    assert [row[1] for row in rows(session, f"SHOW TABLE EXTENDED FROM {catalog}.default LIKE 'w'")] == ["w"]
    assert rows(session, "SHOW TABLES IN default") == [("default", "t", False), ("default", "w", False)]
    assert rows(session, "DESCRIBE w") == [("a", "int", "first"), ("b", "string", None)]
    described = {row[0]: row[1] for row in rows(session, "DESCRIBE TABLE EXTENDED w")}
    assert described["View Text"] == "SELECT k, v FROM t" and described["Comment"] == "it's"
    assert described["View Query Output Columns"] == "[k, v]"
    assert (described["Catalog"], described["Database"], described["Type"]) == (catalog, "default", "VIEW")
    (shown,) = rows(session, "SHOW CREATE TABLE w")[0]
    assert rows(session, f"SHOW CREATE VIEW {catalog}.default.w") == [(shown,)]
    assert "a COMMENT 'first'" in shown and "COMMENT 'it\\'s'" in shown and "'x' = 'y'" in shown
    session.sql("DROP VIEW w")
    session.sql(shown)
    assert rows(session, "SELECT a FROM w ORDER BY a") == [(1,), (2,)]
    assert ("x", "y") in rows(session, "SHOW TBLPROPERTIES w")
    assert rows(session, "SHOW COLUMNS IN w") == [("a",), ("b",)]
    assert session.catalog.tableExists("w") and session.catalog.tableExists(f"{catalog}.default.w")
    assert not session.catalog.tableExists("nope")
    found = {t.name: t.tableType for t in session.catalog.listTables(f"{catalog}.default")}
    assert found.keys() == {"t", "w"} and found["t"] == "MANAGED"
    assert found["w"] == ("VIEW" if spark_minor() >= (4, 2) else "MANAGED"), "an older Spark calls all of them so"
    assert [c.name for c in session.catalog.listColumns("w")] == ["a", "b"]


def test_altering(session: Any) -> None:
    session.sql("CREATE VIEW v TBLPROPERTIES ('x' = 'y') AS SELECT k FROM t")
    session.sql("ALTER VIEW v SET TBLPROPERTIES ('z' = '1', 'x' = '2')")
    session.sql("ALTER VIEW v UNSET TBLPROPERTIES IF EXISTS ('x', 'nope')")
    shown = dict(rows(session, "SHOW TBLPROPERTIES v"))
    assert shown.get("z") == "1" and "x" not in shown
    session.sql("ALTER VIEW v AS SELECT v AS c, k FROM t WHERE k > 1")
    assert rows(session, "SELECT * FROM v") == [("b", 2)]
    assert dict(rows(session, "SHOW TBLPROPERTIES v")).get("z") == "1"
    session.sql("ALTER VIEW v RENAME TO w")
    session.sql("CREATE DATABASE other")
    session.sql("ALTER VIEW w RENAME TO other.w")
    assert (rows(session, "SHOW VIEWS IN default"), rows(session, "SHOW VIEWS IN other")) == (
        [],
        [("other", "w", False)],
    )
    assert rows(session, "SELECT c FROM other.w") == [("b",)]
    refused(session, "ALTER VIEW other.w RENAME TO elsewhere.default.w", "PAIMON_UNSUPPORTED_FEATURE")
    session.sql("DROP VIEW other.w")
    assert rows(session, "SHOW VIEWS IN other") == []
    session.sql("DROP VIEW IF EXISTS other.w")


def test_a_name_is_that_of_a_table_or_of_a_view(session: Any) -> None:
    session.sql("CREATE VIEW v AS SELECT k FROM t")
    exists, views_only, tables_only = "TABLE_OR_VIEW_ALREADY_EXISTS", "EXPECT_VIEW_NOT_TABLE", "EXPECT_TABLE_NOT_VIEW"
    refused(session, "CREATE VIEW v AS SELECT 1 AS a", exists)
    refused(session, "CREATE VIEW t AS SELECT 1 AS a", exists)
    refused(session, "CREATE OR REPLACE VIEW t AS SELECT 1 AS a", views_only)
    session.sql("CREATE VIEW IF NOT EXISTS t AS SELECT 1 AS a")
    for statement in ("CREATE TABLE v (a INT)", "CREATE TABLE v AS SELECT 1 AS a", "CREATE OR REPLACE TABLE v (a INT)"):
        refused(session, statement, exists)
    session.sql("CREATE TABLE IF NOT EXISTS v (a INT)")
    refused(session, "ALTER TABLE t RENAME TO v", exists)
    refused(session, "ALTER VIEW v RENAME TO t", exists, "VIEW_ALREADY_EXISTS")
    refused(session, "DROP VIEW t", "WRONG_COMMAND_FOR_OBJECT_TYPE", views_only)
    refused(session, "DROP TABLE v", "WRONG_COMMAND_FOR_OBJECT_TYPE", tables_only)
    refused(session, "ALTER VIEW t AS SELECT 1 AS a", views_only)
    refused(session, "ALTER VIEW t SET TBLPROPERTIES ('a' = 'b')", views_only)
    for statement in (
        "ALTER TABLE v ADD COLUMN x INT",
        "ALTER TABLE v SET TBLPROPERTIES ('a' = 'b')",
        "INSERT INTO v VALUES (1)",
        "INSERT OVERWRITE v VALUES (1)",
        "DELETE FROM v WHERE k = 1",
        "UPDATE v SET k = 1",
        "MERGE INTO v USING t ON v.k = t.k WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE v",
    ):
        refused(session, statement, tables_only)
    refused(session, "SELECT * FROM v VERSION AS OF 1", "UNSUPPORTED_FEATURE.TIME_TRAVEL")
    with pytest.raises(PySparkException, match="is a view"):
        session.table("t").writeTo("v").append()
    assert rows(session, "SELECT * FROM v ORDER BY k") == [(1,), (2,)]


def test_what_is_not_there(session: Any) -> None:
    missing = ("TABLE_OR_VIEW_NOT_FOUND", "VIEW_NOT_FOUND")
    for statement in (
        "DROP VIEW nope",
        "ALTER VIEW nope AS SELECT 1 AS a",
        "ALTER VIEW nope RENAME TO n",
        "DESCRIBE nope",
    ):
        refused(session, statement, *missing)
    refused(session, "ALTER VIEW nope SET TBLPROPERTIES ('a' = 'b')", *missing)
    session.sql("DROP VIEW IF EXISTS nope")
    refused(session, "CREATE VIEW nope.v AS SELECT 1 AS a", "SCHEMA_NOT_FOUND")
    session.sql("CREATE VIEW v AS SELECT k FROM t")
    session.sql("DROP TABLE t")
    refused(session, "SELECT * FROM v", "TABLE_OR_VIEW_NOT_FOUND")
    assert rows(session, "DESCRIBE v") == [("k", "int", None)]
    session.sql("DROP VIEW v")


@pytest.mark.parametrize("name", ["..", "../x", "a/b", " a", "a$b"])
def test_names_that_no_view_can_have(one: Any, warehouse: str, name: str) -> None:
    before = sorted(Path(warehouse).parent.rglob("*"))
    refused(one, f"CREATE VIEW `{name}` AS SELECT 1 AS a", "PAIMON_INVALID_NAME")
    refused(one, f"DROP VIEW `{name}`", "VIEW_NOT_FOUND", "PAIMON_INVALID_NAME")
    one.sql("CREATE VIEW v AS SELECT 1 AS a")
    refused(one, f"ALTER VIEW v RENAME TO `{name}`", "PAIMON_INVALID_NAME")
    one.sql("DROP VIEW v")
    assert [p for p in sorted(Path(warehouse).parent.rglob("*")) if p.name != "$views"] == before


def test_cycles_are_refused(session: Any) -> None:
    session.sql("CREATE VIEW a AS SELECT k FROM t")
    session.sql("CREATE VIEW b AS SELECT k FROM a")
    refused(session, "ALTER VIEW a AS SELECT k FROM b", "RECURSIVE_VIEW")
    refused(session, "CREATE OR REPLACE VIEW a AS SELECT k FROM t WHERE k IN (SELECT k FROM b)", "RECURSIVE_VIEW")
    refused(session, "CREATE OR REPLACE VIEW a AS SELECT * FROM a", "RECURSIVE_VIEW")
    assert rows(session, "SELECT * FROM b ORDER BY k") == [(1,), (2,)]


def test_temporary_things_are_refused(session: Any) -> None:
    session.sql("CREATE TEMPORARY VIEW temp AS SELECT 1 AS a")
    session.udf.register("temp_function", lambda x: x, "int")
    refused(session, "CREATE VIEW v AS SELECT * FROM temp", "INVALID_TEMP_OBJ_REFERENCE")
    refused(session, "CREATE VIEW v AS SELECT temp_function(k) AS a FROM t", "INVALID_TEMP_OBJ_REFERENCE")
    session.sql("CREATE VIEW v AS SELECT k FROM t")
    refused(session, "ALTER VIEW v AS SELECT a AS k FROM temp", "INVALID_TEMP_OBJ_REFERENCE")
    session.sql("CREATE TEMPORARY VIEW t AS SELECT 9 AS k")
    assert rows(session, "SELECT * FROM v ORDER BY k") == [(1,), (2,)], "names mean what they meant to the author"


def test_columns_that_no_view_can_have(one: Any) -> None:
    refused(one, "CREATE VIEW v AS SELECT 1 AS a, 2 AS a", "COLUMN_ALREADY_EXISTS")
    refused(one, "CREATE VIEW v AS SELECT k + 1 FROM t", "CREATE_PERMANENT_VIEW_WITHOUT_ALIAS")
    refused(one, "CREATE VIEW v (a, b) AS SELECT 1 AS x", "CREATE_VIEW_COLUMN_ARITY_MISMATCH")
    refused(one, "CREATE VIEW v (a) AS SELECT 1 AS x, 2 AS y", "CREATE_VIEW_COLUMN_ARITY_MISMATCH")
    assert "Cast the column" in refused(one, "CREATE VIEW v AS SELECT NULL AS a", "PAIMON_UNSUPPORTED_FEATURE")
    refused(one, "CREATE VIEW v WITH SCHEMA EVOLUTION AS SELECT * FROM t", "PAIMON_UNSUPPORTED_FEATURE")
    refused(one, "CREATE VIEW v AS SELECT nope FROM t", "UNRESOLVED_COLUMN")
    assert rows(one, "SHOW VIEWS") == []


def test_where_a_view_was_defined(one: Any, tmp_path: Path) -> None:
    """Its names mean what they meant there, whatever is current where it is used, and whatever its catalog is named."""
    one.sql("CREATE DATABASE shop")
    one.sql("USE shop")
    one.sql("CREATE TABLE t (k INT)")
    one.sql("INSERT INTO t VALUES (7)")
    one.sql("CREATE VIEW v AS SELECT k FROM t")
    one.sql("CREATE VIEW default.far AS SELECT k FROM t")
    one.sql("CREATE VIEW both AS SELECT t.k, d.k AS d FROM t CROSS JOIN default.t AS d")
    one.sql("USE default")
    assert (rows(one, "SELECT * FROM shop.v"), rows(one, "SELECT * FROM far")) == ([(7,)], [(7,)])
    one.sql("USE spark_catalog.default")
    assert rows(one, "SELECT * FROM paimon.shop.both ORDER BY d") == [(7, 1), (7, 2)]
    other = one.newSession()
    other.conf.set("spark.sql.catalog.lake", "paimon_sql.SparkCatalog")
    other.conf.set("spark.sql.catalog.lake.warehouse", one.conf.get("spark.sql.catalog.paimon.warehouse"))
    other.conf.unset("spark.sql.catalog.paimon")
    assert rows(other, "SELECT * FROM lake.default.far") == [(7,)]
    one.sql(f"CREATE CATALOG second WITH ('warehouse' = '{tmp_path}/second')")
    one.sql("USE second.default")
    one.sql("CREATE TABLE t (k INT)")
    one.sql("INSERT INTO t VALUES (9)")
    one.sql("CREATE VIEW paimon.default.of_second AS SELECT k FROM t")
    one.sql("USE paimon.default")
    assert rows(one, "SELECT * FROM of_second") == [(9,)]


def test_settings_are_those_of_the_definition(one: Any) -> None:
    one.sql("SET spark.sql.ansi.enabled = false")
    one.sql("CREATE VIEW v AS SELECT CAST(v AS INT) AS i FROM t")
    one.sql("SET spark.sql.ansi.enabled = true")
    assert rows(one, "SELECT * FROM v") == [(None,), (None,)]


def test_secrets_are_in_no_definition(one: Any, warehouse: str) -> None:
    one.sql(
        "CREATE CATALOG other WITH ('metastore' = 'jdbc', 'warehouse' = '/tmp/none', 'uri' = 'jdbc:sqlite:/tmp/none', "
        "'jdbc.password' = 'hidden-word')"
    )
    one.sql("CREATE VIEW v AS SELECT k FROM t")
    assert "hidden-word" not in Path(warehouse, "default.db", "$views", "v.json").read_text()
    statement = "CREATE VIEW w TBLPROPERTIES ('fs.s3.secret-key' = 'hidden-word') AS SELECT k FROM t"
    assert "hidden-word" not in refused(one, statement, "PAIMON_INVALID_OPTION", "PAIMON")
    assert rows(one, "SHOW VIEWS") == [("default", "v", False)]


def test_versions_inside(one: Any) -> None:
    one.sql("CREATE VIEW old AS SELECT * FROM t VERSION AS OF 1")
    one.sql("CREATE VIEW files AS SELECT record_count FROM t$files")
    one.sql("INSERT INTO t VALUES (3, 'c', 'z')")
    one.sql("ALTER TABLE t ADD COLUMN more INT")
    assert rows(one, "SELECT * FROM old ORDER BY k") == [(1, "a", "x"), (2, "b", "y")]
    assert sum(n for (n,) in rows(one, "SELECT * FROM files")) == 3


def test_tables_change_below(one: Any) -> None:
    one.sql("CREATE VIEW v AS SELECT * FROM t")
    one.sql("ALTER TABLE t ADD COLUMN more INT FIRST")
    assert one.table("v").columns == ["k", "v", "p"]
    one.sql("ALTER TABLE t RENAME COLUMN v TO renamed")
    refused(one, "SELECT * FROM v", "INCOMPATIBLE_VIEW_SCHEMA_CHANGE")


def test_caching_and_explaining(one: Any) -> None:
    one.sql("CREATE VIEW v AS SELECT k FROM t")
    one.sql("CACHE TABLE v")
    assert rows(one, "SELECT count(*) FROM v") == [(2,)]
    one.sql("UNCACHE TABLE v")
    assert "Scan" in rows(one, "EXPLAIN SELECT * FROM v")[0][0]
    one.sql("CREATE TABLE like_v LIKE v")
    assert rows(one, "DESCRIBE like_v") == [("k", "int", None)]
    one.sql("CREATE TABLE copied AS SELECT * FROM v")
    one.sql("INSERT INTO copied SELECT k + 10 FROM v")
    assert rows(one, "SELECT count(*), max(k) FROM copied") == [(4, 12)]
    one.sql("DELETE FROM copied WHERE k IN (SELECT k FROM v)")
    assert rows(one, "SELECT count(*) FROM copied") == [(2,)]
    one.sql("MERGE INTO copied USING v ON copied.k = v.k WHEN NOT MATCHED THEN INSERT *")
    assert rows(one, "SELECT count(*) FROM copied") == [(4,)]


def test_databases_with_views(session: Any) -> None:
    session.sql("CREATE DATABASE d")
    session.sql("CREATE VIEW d.v AS SELECT 1 AS a")
    refused(session, "DROP DATABASE d", "SCHEMA_NOT_EMPTY")
    session.sql("DROP DATABASE d CASCADE")
    assert ("d",) not in rows(session, "SHOW DATABASES")


def test_views_of_other_engines(one: Any) -> None:
    """Flink's in the same catalog: Spark's dialect where it has that, its columns by position; changing one's
    properties keeps the rest."""
    catalog = views_of(one)
    fields = tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate((("a", INT), ("b", STRING))))
    query, flinks = "SELECT k, v FROM t -- comment", "SELECT `k`, `v` FROM `t`"
    foreign = View(fields=fields, query=query, dialects={"flink": flinks}, comment="c", options={"x": "y"})
    catalog.create_view(Identifier("default", "f"), foreign)
    assert rows(one, "SELECT b, a FROM f ORDER BY a") == [("a", 1), ("b", 2)]
    one.sql("ALTER VIEW f SET TBLPROPERTIES ('z' = '1')")
    kept = catalog.load_view(Identifier("default", "f"))
    assert (kept.query, kept.dialects, kept.comment) == (query, {"flink": flinks}, "c")
    assert kept.options["x"] == "y" and kept.options["z"] == "1"
    catalog.replace_view(
        Identifier("default", "f"), View(fields=fields, query=flinks, dialects={"spark": "SELECT 5, 'q';"})
    )
    assert rows(one, "SELECT * FROM f") == [(5, "q")]
    one.sql("ALTER VIEW f AS SELECT k AS a FROM t WHERE k = 1")
    kept = catalog.load_view(Identifier("default", "f"))
    assert (kept.dialects, kept.namespace, kept.catalog) == ({"spark": kept.query}, ("default",), None)
    assert rows(one, "SELECT * FROM f") == [(1,)]


def test_definitions_that_are_damaged(one: Any, warehouse: str) -> None:
    one.sql("CREATE VIEW v AS SELECT k FROM t")
    file = Path(warehouse, "default.db", "$views", "v.json")
    whole = json.loads(file.read_text())
    for damage in (
        {"options": {**whole["options"], "paimon-sql.view.spark.query-columns": "[1]"}},
        {"options": {**whole["options"], "paimon-sql.view.spark.query-columns": '["a", "b"]'}},
        {"options": {**whole["options"], "paimon-sql.view.spark.sql-configs": "["}},
        {"options": {**whole["options"], "paimon-sql.view.spark.schema-mode": "nope"}},
        {"fields": 7},
    ):
        file.write_text(json.dumps(whole | damage))
        assert "v" in refused(one, "SELECT * FROM v", "PAIMON_UNFAMILIAR_FORM")
        assert rows(one, "SHOW VIEWS") == [("default", "v", False)]
    refused(one, "DESCRIBE v", "PAIMON_UNFAMILIAR_FORM")
    file.write_text(json.dumps(whole)[:-1])
    refused(one, "DESCRIBE v", "PAIMON_CORRUPT_FILE")
    one.sql("CREATE OR REPLACE VIEW v AS SELECT v FROM t")
    assert rows(one, "SELECT * FROM v ORDER BY v") == [("a",), ("b",)]
    file.write_text("{")
    one.sql("DROP VIEW v")
    assert rows(one, "SHOW VIEWS") == []


def test_a_cycle_that_somebody_wrote(one: Any) -> None:
    catalog, fields = views_of(one), (DataField(id=0, name="k", type=INT),)
    for name, query in (
        ("a", "SELECT k FROM b"),
        ("b", "WITH c AS (SELECT k FROM default.a) SELECT k FROM c"),
        ("first", "SELECT k FROM a"),
        ("own", "SELECT 1 AS k WHERE 1 IN (SELECT k FROM own)"),
        ("c", "WITH c AS (SELECT 1 AS k) SELECT k FROM c"),
    ):
        catalog.create_view(Identifier("default", name), View(fields=fields, query=query))
    for name in ("a", "b", "first", "own"):
        refused(one, f"SELECT * FROM {name}", "RECURSIVE_VIEW")
    assert rows(one, "SELECT * FROM c") == [(1,)]
    one.sql("CREATE OR REPLACE VIEW b AS SELECT 5 AS k")
    assert rows(one, "SELECT * FROM first") == [(5,)]
    one.sql("DROP VIEW own")


def test_a_catalog_without_views(one: Any, warehouse: str) -> None:
    """Tables by their paths have no names that a view could have."""
    refused(one, f"CREATE VIEW paimon_path.`{warehouse}/default.db/v` AS SELECT 1 AS a", "PAIMON_UNSUPPORTED_FEATURE")
    assert rows(one, f"SELECT count(*) FROM paimon_path.`{warehouse}/default.db/t`") == [(2,)]


def views_of(spark: Any) -> SupportsViews:
    catalog = load_catalog({"warehouse": spark.conf.get("spark.sql.catalog.paimon.warehouse")})
    assert isinstance(catalog, SupportsViews)
    return catalog
