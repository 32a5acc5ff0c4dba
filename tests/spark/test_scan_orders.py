"""Rows that a scan reads in the order of their keys: Spark does not sort them again, and finds the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.spark_versions import since

pytestmark = pytest.mark.spark
BUCKETING = "spark.sql.sources.v2.bucketing.enabled"
WORDS = "array('', 'A', 'a', 'ä', 'aa', 'zz', '\U0001f600')"  # in no language's order
LEFT, RIGHT = "ordered_left", "ordered_right"
QUERIES = {
    "join": "SELECT /*+ MERGE(r) */ l.k, l.n, l.v, r.v FROM {l} l JOIN {r} r ON l.k = r.k AND l.n < r.n",
    "outer": "SELECT /*+ MERGE(r) */ l.k, l.n, r.k, r.v FROM {l} l FULL JOIN {r} r ON l.k = r.k AND l.n < r.v",
    "semi": "SELECT /*+ MERGE(r) */ l.k, l.n FROM {l} l LEFT SEMI JOIN {r} r ON l.k = r.k AND l.n < r.v",
    "window": "SELECT k, n, max(v) OVER (PARTITION BY k) FROM {l}",
    "in the order of the key": "SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY n) FROM {l}",
    "filtered": "SELECT /*+ MERGE(r) */ l.k, l.n, r.v FROM {l} l JOIN {r} r ON l.k = r.k WHERE l.v > 3 AND r.n > 0",
}
SORTED = {  # queries that ask for another order
    "second key": "SELECT /*+ MERGE(r) */ l.k, l.n, r.k FROM {l} l JOIN {r} r ON l.n = r.n",
    "value": "SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST, n) FROM {l}",
}


def make_tables(spark: Any) -> None:
    """Make two tables of two keys, and views of the same rows in Spark's memory."""
    for number, name in enumerate((LEFT, RIGHT)):
        spark.sql(
            f"CREATE TABLE {name} (k STRING, n BIGINT, v INT, PRIMARY KEY (k, n) NOT ENFORCED) "
            "WITH ('bucket' = '3', 'bucket-key' = 'k', 'write-only' = 'true')"
        )
        for part in range(2):
            first = number * 20 + part * 30
            spark.sql(
                f"INSERT INTO {name} SELECT element_at({WORDS}, 1 + CAST(id % 7 AS INT)), (id * 37) % 101 - 50, "
                f"IF(id % 9 = 0, NULL, id % 11) FROM range({first}, {first + 60})"
            )
        rows = spark.table(name)
        spark.createDataFrame(rows.collect(), rows.schema).createOrReplaceTempView(f"of_{name}")


@pytest.fixture
def by_bucket(spark: Any) -> Iterator[Any]:
    """A session that joins by bucket, as sessions of Spark 4.1 and later do."""
    spark.conf.set(BUCKETING, "true")
    yield spark
    spark.conf.unset(BUCKETING)
    for name in (LEFT, RIGHT):
        spark.catalog.dropTempView(f"of_{name}")


def answers(spark: Any, query: str) -> str:
    """Return the plan of a query over the tables. Check that its rows are the rows of plain Spark."""
    of_tables, of_spark = query.format(l=LEFT, r=RIGHT), query.format(l=f"of_{LEFT}", r=f"of_{RIGHT}")
    rows = sorted(map(str, spark.sql(of_tables).collect()))
    assert rows == sorted(map(str, spark.sql(of_spark).collect())) != []
    return spark.sql(f"EXPLAIN {of_tables}").first()[0]


def test_joins_by_bucket_sort_nothing(by_bucket: Any) -> None:
    spark = by_bucket
    make_tables(spark)
    check_queries(spark, "PaimonScan[merge]")
    for name in (LEFT, RIGHT):
        spark.sql(f"CALL sys.compact(table => '{name}', compact_strategy => 'full')")
    check_queries(spark, "PaimonScan[raw]")
    for order in ("k, n", "k DESC, n", "k NULLS LAST, n DESC", "n, k"):
        asked = f"SELECT k, n FROM {{}} ORDER BY {order} LIMIT 20"
        assert spark.sql(asked.format(LEFT)).collect() == spark.sql(asked.format(f"of_{LEFT}")).collect(), order


def check_queries(spark: Any, kind: str) -> None:
    for name, query in QUERIES.items():
        plan = answers(spark, query)
        assert kind in plan and "Exchange" not in plan and "- Sort [" not in plan, (name, plan)
    for name, query in SORTED.items():
        assert "- Sort [" in answers(spark, query), name


def test_floats_are_sorted(by_bucket: Any) -> None:
    """A key of 0.0 and -0.0 is two keys of the table, and one value for Spark."""
    spark = by_bucket
    for name in ("f", "g"):
        spark.sql(
            f"CREATE TABLE {name} (k DOUBLE, n INT, PRIMARY KEY (k, n) NOT ENFORCED) "
            "WITH ('bucket' = '1', 'bucket-key' = 'k')"
        )
        spark.sql(f"INSERT INTO {name} VALUES (0.0D, 1), (-0.0D, 2), (CAST('NaN' AS DOUBLE), 3), (-1.5D, 4)")
    query = "SELECT /*+ MERGE(g) */ f.n, g.n FROM f JOIN g ON f.k = g.k AND f.n = g.n"
    assert "Sort [" in spark.sql(f"EXPLAIN {query}").first()[0]
    assert sorted(map(tuple, spark.sql(query).collect())) == [(1, 1), (2, 2), (3, 3), (4, 4)]


@since(4, 2, "Spark 4.1 has no TABLESAMPLE SYSTEM")
def test_samples_of_files(spark: Any) -> None:
    """SYSTEM takes whole files, and counts from metadata count them only. Spark takes samples of rows."""
    spark.sql("CREATE TABLE s (id BIGINT, part INT) PARTITIONED BY (part)")
    spark.sql("INSERT INTO s SELECT id, CAST(id % 40 AS INT) FROM range(4000)")
    sample = spark.sql("SELECT part, count(*) FROM s TABLESAMPLE SYSTEM (50 PERCENT) GROUP BY part").collect()
    assert 0 < len(sample) < 40 and {row[1] for row in sample} == {100}
    plan = spark.sql("EXPLAIN SELECT * FROM s TABLESAMPLE SYSTEM (50 PERCENT)").first()[0]
    assert "files from 0 to 0.5 by seed" in plan and "Sample" not in plan.replace("sample", "")
    assert spark.sql("SELECT count(*) FROM s TABLESAMPLE SYSTEM (50 PERCENT) WHERE part = 3").first()[0] in (0, 100)
    assert spark.sql("SELECT count(*) % 100 FROM s TABLESAMPLE SYSTEM (50 PERCENT)").first()[0] == 0
    assert spark.sql("SELECT id FROM s TABLESAMPLE SYSTEM (100 PERCENT) ORDER BY id DESC LIMIT 1").first()[0] == 3999
    assert spark.sql("SELECT * FROM s TABLESAMPLE SYSTEM (0 PERCENT)").collect() == []
    rows = "SELECT id FROM s TABLESAMPLE BERNOULLI (20 PERCENT) REPEATABLE (3)"
    assert "Sample " in spark.sql(f"EXPLAIN {rows}").first()[0]
    assert sorted(spark.sql(rows).collect()) == sorted(spark.sql(rows).collect()) != []
