"""How often short statements go between Python and the JVM: each crossing takes about 0.1 ms, and Python's lock."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.support.crossings import counted
from tests.support.spark_versions import spark_minor

pytestmark = pytest.mark.spark

COLUMNS = "(id BIGINT, a INT, b DOUBLE, s STRING)"
KEYED = "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'write-only' = 'true')"

# the most calls of a statement that has run before, to the JVM and to Python
MOST = {
    "aggregate": ("SELECT count(*), sum(a), max(s) FROM t", 50, 32),
    "insert": ("INSERT INTO t VALUES (1, 1, 1.0, 'x')", 132, 35),
}


@pytest.mark.parametrize("name", MOST)
def test_short_statements(spark: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)  # spans take more calls
    statement, to_java, to_python = MOST[name]
    spark.sql(f"CREATE TABLE t {COLUMNS} {KEYED}")
    spark.sql("INSERT INTO t VALUES (1, 1, 1.0, 'x'), (2, 1, 1.0, 'y')")
    for _ in range(2):
        spark.sql(statement).collect()
    with counted() as found:
        spark.sql(statement).collect()
    assert found.to_java() <= to_java and found.to_python() <= to_python, found.lines()


# queries of nothing that is in a catalog of ours, and the calls to the JVM that their way through our parser takes
OTHERS = {"SELECT 1": 2, "SELECT sum(id) FROM range(9)": 4, "SELECT count(*) FROM plain": 2}


@pytest.mark.parametrize("statement", OTHERS)
def test_queries_of_other_things(spark: Any, statement: str) -> None:
    """A session that is made later has our parser from its start, as sessions of JVM programs have."""
    later = spark.newSession()
    later.sql("CREATE TEMPORARY VIEW plain AS SELECT id FROM range(3)")
    for _ in range(2):
        later.sql(statement).collect()
    with counted() as found:
        later.sql(statement).collect()
    lines = found.lines().elements()
    ours = [line for line in lines if not line.startswith(("Spark ", "paimon_sql/spark/dataframes/counted_statements"))]
    is_older = "plain" in statement and spark_minor() < (4, 3)  # our parser reads the view's text, too
    texts, most = (2, 8) if is_older else (1, OTHERS[statement])
    parsed = [call.name for call in found.calls if call.name.startswith("PaimonParser.")]
    assert len(parsed) == texts and len(ours) <= most, found.lines()


# statements of each kind: of a second run of each
SHORT = (
    "SELECT count(*), max(s) FROM {t}",
    "SELECT * FROM {t} WHERE id = 2",
    "SELECT count(*) FROM `{t}$snapshots`",
    "INSERT INTO {t} VALUES (1, 1, 1.0, 'x')",
    "UPDATE {t} SET a = a + 1 WHERE id = 1",
    "UPDATE {t} SET a = 3 WHERE id IN (SELECT id FROM VALUES (1), (9) AS v(id))",
    "DELETE FROM {t} WHERE id = 7",
    "DELETE FROM {t} WHERE id IN (SELECT id FROM VALUES (7), (9) AS v(id))",
    "MERGE INTO {t} USING (SELECT 1 AS id, 2 AS a) AS n ON {t}.id = n.id WHEN MATCHED THEN UPDATE SET a = n.a",
    "CALL sys.compact(table => '{t}')",
    "SHOW TABLES",
    "DESCRIBE {t}",
    "ALTER TABLE {t} SET TBLPROPERTIES ('snapshot.num-retained.min' = '5')",
    "SHOW CREATE TABLE {t}",
)


@pytest.mark.parametrize("table", [COLUMNS, f"{COLUMNS} {KEYED}"], ids=["append", "keyed"])
def test_no_exception_of_the_jvm_is_caught_on_the_way(spark: Any, table: str) -> None:
    """PySpark converts each exception that py4j raises, which takes some 100 calls. One ends Java's iterators."""
    spark.sql(f"CREATE TABLE t {table}")
    spark.sql("INSERT INTO t VALUES (1, 1, 1.0, 'x'), (2, 1, 1.0, 'y')")
    for statement in (text.format(t="t") for text in SHORT):
        with counted() as found:
            for _ in range(2):
                spark.sql(statement).collect()
        assert [line for line in found.lines() if "raised.py" in line] == [], statement


def jobs(spark: Any, statement: str) -> int:
    """Run a query, and return the number of its jobs."""
    spark.sparkContext.setJobGroup(statement, statement)
    try:
        spark.sql(statement).collect()
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(statement))
    finally:
        spark.sparkContext._jsc.clearJobGroup()


def test_no_job_lists_the_files_of_a_scan(spark: Any) -> None:
    for name, files in (("few", 2), ("many", 40)):
        spark.sql(f"CREATE TABLE {name} (p INT, k BIGINT) PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {name} SELECT int(id % {files}), id FROM range(200)")
        assert spark.sql(f"SELECT count(*) FROM {name}$files").first()[0] == files
    assert jobs(spark, "SELECT sum(k) FROM many") == jobs(spark, "SELECT sum(k) FROM few")
    found = {row[0] for row in spark.sql("SELECT input_file_name() FROM many").collect()}
    assert len(found) == 40 and all(name.startswith("file:///") for name in found)
