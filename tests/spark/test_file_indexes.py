"""File indexes through Spark: files left out by scans of both kinds, partitions chosen, options refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_core.seen_filters import FILTERS

pytestmark = pytest.mark.spark


def files_of(spark: Any, query: str) -> str:
    """Files kept and files in all, as EXPLAIN tells."""
    text = spark.sql(f"EXPLAIN {query}").first()[0]
    found = re.search(r"files (\d+/\d+)", text)
    assert found, text
    return found[1]


def test_files_are_skipped(spark: Any) -> None:
    options = "'file-index.bloom-filter.columns' = 's,m[a]', 'file-index.bitmap.columns' = 'n', 'bucket' = '1', "
    options += "'bucket-key' = 'k', 'file-index.bloom-filter.s.items' = '100'"
    columns = "k INT, s STRING, n INT, m MAP<STRING, INT>, p STRING"
    spark.sql(f"CREATE TABLE t ({columns}) PARTITIONED BY (p) TBLPROPERTIES ({options}, 'write-only' = 'true')")
    for low in (0, 1, 2):
        values = ", ".join(f"({k}, 's{k}', {k % 6}, map('a', {k}), 'p{k % 2}')" for k in range(low, 60, 3))
        spark.sql(f"INSERT INTO t VALUES {values}")
    assert files_of(spark, "SELECT * FROM t") == "6/6"
    assert files_of(spark, "SELECT * FROM t WHERE s = 's30'") == "1/6"
    assert files_of(spark, "SELECT * FROM t WHERE n = 4 OR s IN ('s2', 'none')") == "2/6"
    assert files_of(spark, "SELECT * FROM t WHERE s = 'none' AND p = 'p1'") == "0/6"
    assert files_of(spark, "SELECT k FROM t WHERE m['a'] = 30 OR element_at(m, 'a') = -1") == "1/6"
    assert files_of(spark, "SELECT k FROM t WHERE m['a'] = 30 AND n = 0 OR m['a'] IN (2, 5)") == "3/6"
    assert files_of(spark, "SELECT k FROM t WHERE m['b'] = 30 OR m['a'] > 30") == "6/6"
    query = "SELECT k, m['a'] FROM t WHERE m['a'] = 30 OR (n = 5 AND m['a'] = 11)"
    assert sorted(tuple(r) for r in spark.sql(query).collect()) == [(11, 11), (30, 30)]
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('file-index.range-bitmap.columns' = 'k')")
    assert spark.sql("CALL sys.rewrite_file_index('t', 'p = \"p1\"')").collect() == [(1, 3)]
    assert spark.sql("SELECT DISTINCT partition FROM t$file_indexes WHERE index_type = 'range-bitmap'").collect() == [
        ("{p1}",)
    ]
    assert files_of(spark, "SELECT * FROM t WHERE k = 31 AND p = 'p1'") == "1/6"
    assert spark.sql("SELECT count(*), sum(k) FROM t WHERE k BETWEEN 10 AND 20").first() == (11, 165)
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('file-index.read.enabled' = 'false')")
    assert files_of(spark, "SELECT * FROM t WHERE s = 's30'") == "6/6"
    with pytest.raises(PySparkException, match="no such column"):
        spark.sql("ALTER TABLE t SET TBLPROPERTIES ('file-index.bsi.columns' = 'missing')")
    with pytest.raises(PySparkException, match="such index"):
        spark.sql("ALTER TABLE t UNSET TBLPROPERTIES ('file-index.bloom-filter.columns')")


def test_explained_filters_are_no_scans(spark: Any) -> None:
    spark.sql("CREATE TABLE seen (id INT, v STRING)")
    spark.sql("INSERT INTO seen VALUES (1, 'a'), (2, 'b')")
    root = spark.sql("SELECT value FROM sys.all_table_options WHERE table_name = 'seen' AND key = 'path'").first()[0]
    query = "SELECT * FROM seen WHERE v = 'a'"
    for mode in ("", "EXTENDED", "FORMATTED", "CODEGEN", "COST"):
        spark.sql(f"EXPLAIN {mode} {query}").collect()
    spark.sql(query).explain(True)
    assert FILTERS.of_table(root) == ()
    explained = spark.sql(query)
    explained.explain()
    assert explained.count() == 1  # another plan
    (seen,) = FILTERS.of_table(root)
    assert (seen.column, seen.scans) == ("v", 1)
