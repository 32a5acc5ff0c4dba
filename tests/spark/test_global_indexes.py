"""Global indexes through Spark: made and dropped by CALL, used by queries and by statements that change rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark


def files_of(spark: Any, query: str) -> str:
    """Files kept and files in all, as EXPLAIN tells."""
    found = re.search(r"files (\d+/\d+)", spark.sql(f"EXPLAIN {query}").first()[0])
    assert found
    return found[1]


def ids(spark: Any, condition: str) -> list[int]:
    return [r[0] for r in spark.sql(f"SELECT id FROM g WHERE {condition} ORDER BY id").collect()]


def indexes(spark: Any) -> list[tuple[Any, ...]]:
    columns = "index_type, index_field_name, partition, row_range_start, row_range_end, row_count"
    found = spark.sql(f"SELECT {columns} FROM g$table_indexes WHERE index_field_name IS NOT NULL ORDER BY ALL")
    return [tuple(r) for r in found.collect()]


def create(spark: Any, column: str, kind: str, more: str = "") -> None:
    """Create an index of a column, named in another case."""
    named = column.upper()
    call = f"CALL sys.create_global_index(table => 'g', index_column => '{named}', index_type => '{kind}'{more})"
    assert spark.sql(call).collect() == [(True,)]


def drop(spark: Any, column: str, kind: str, more: str = "") -> int:
    call = f"CALL sys.drop_global_index(table => 'g', index_column => '{column}', index_type => '{kind}'{more})"
    ((result, count),) = spark.sql(call).collect()
    assert result
    return int(count)


def test_an_index_of_a_column_lives(spark: Any) -> None:
    options = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"
    spark.sql(f"CREATE TABLE g (id INT, name STRING, n INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({options})")
    create(spark, "id", "btree")  # of no rows
    for low, p in ((0, "a"), (20, "b"), (40, "a")):
        rows = f"CAST(id AS INT), concat('n', id * 7 % 60), CAST(id % 3 AS INT), '{p}' FROM range({low}, {low + 20})"
        spark.sql(f"INSERT INTO g SELECT /*+ COALESCE(1) */ {rows}")
    create(spark, "name", "btree")
    create(spark, "n", " Bitmap", ", partitions => 'p=a'")
    assert indexes(spark) == [
        ("bitmap", "n", "{a}", 0, 19, 20),
        ("bitmap", "n", "{a}", 40, 59, 20),
        ("btree", "name", "{a}", 0, 19, 20),
        ("btree", "name", "{a}", 40, 59, 20),
        ("btree", "name", "{b}", 20, 39, 20),
    ]
    # statistics keep all three files: texts from n0 to n9 are in each
    assert files_of(spark, "SELECT * FROM g") == "3/3"
    assert files_of(spark, "SELECT * FROM g WHERE name = 'n28'") == "1/3"
    assert files_of(spark, "SELECT * FROM g WHERE name = 'none'") == "0/3"
    assert ids(spark, "name IN ('n28', 'n35') AND n = 1") == [4]
    # ids of rows are asked for without an index
    assert files_of(spark, "SELECT * FROM g WHERE _ROW_ID BETWEEN 25 AND 39") == "1/3"
    assert files_of(spark, "SELECT * FROM g WHERE _ROW_ID = 5 OR _ROW_ID IN (41, 99)") == "2/3"
    assert files_of(spark, "SELECT * FROM g WHERE _ROW_ID > 59 OR n = 7") == "0/3"
    assert ids(spark, "_ROW_ID IN (0, 41) OR name = 'n28'") == [0, 4, 41]

    # rows that came after the index are found all the same, unless asked for otherwise
    spark.sql("INSERT INTO g VALUES (100, 'n28', 1, 'a')")
    assert ids(spark, "name = 'n28'") == [4, 100]
    spark.sql("ALTER TABLE g SET TBLPROPERTIES ('scalar-index.search-mode' = 'fast')")
    assert ids(spark, "name = 'n28'") == [4]
    spark.sql("DELETE FROM g WHERE name = 'n28' AND id = 100")
    spark.sql("ALTER TABLE g UNSET TBLPROPERTIES ('scalar-index.search-mode')")
    assert ids(spark, "name = 'n28'") == [4]
    create(spark, "name", "btree")
    assert indexes(spark)[4] == ("btree", "name", "{a}", 60, 60, 1)

    # updates: of other columns, of indexed ones
    spark.sql("UPDATE g SET id = 1004 WHERE name = 'n28'")
    assert ids(spark, "name = 'n28'") == [1004]
    with pytest.raises(PySparkException, match=r"globally indexed columns.*name.*DROP_PARTITION_INDEX"):
        spark.sql("UPDATE g SET name = 'new' WHERE id = 1004")
    spark.sql("CALL sys.compact(table => 'g')")
    assert len(indexes(spark)) == 6
    assert ids(spark, "name = 'n28'") == ids(spark, "_ROW_ID = 4") == [1004]
    spark.sql("ALTER TABLE g SET TBLPROPERTIES ('global-index.column-update-action' = 'DROP_PARTITION_INDEX')")
    spark.sql("UPDATE g SET name = 'new' WHERE id = 1004")
    assert [i[:3] for i in indexes(spark)] == [("bitmap", "n", "{a}")] * 2 + [("btree", "name", "{b}")]
    assert ids(spark, "name IN ('new', 'n28')") == [1004]

    create(spark, "name", "btree", ", options => 'btree-index.compression=zstd,sorted-index.records-per-range=15'")
    assert [i[3:] for i in indexes(spark) if i[:3] == ("btree", "name", "{a}")] == [(0, 19, 20), (40, 60, 21)]
    assert drop(spark, "name", "btree", ", dry_run => true") == 3
    assert drop(spark, "name", "btree", ", partitions => 'p=b'") == 1
    assert drop(spark, "n", "btree") == 0
    spark.sql("ALTER TABLE g DROP PARTITION (p = 'a')")
    assert indexes(spark) == []


def test_columns_that_cannot_be_indexed(spark: Any) -> None:
    spark.sql("CREATE TABLE plain (k INT)")
    spark.sql("CREATE TABLE tracked (k INT) TBLPROPERTIES ('row-tracking.enabled' = 'true')")
    options = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
    spark.sql(f"CREATE TABLE evolving (k INT, b BINARY) TBLPROPERTIES ({options})")
    call = "CALL sys.create_global_index(table => '{}', index_column => '{}', index_type => '{}')".format
    for statement, message in (
        (call("plain", "k", "btree"), "row-tracking.enabled=true"),
        (call("tracked", "k", "btree"), "data-evolution.enabled=true"),
        (call("evolving", "x", "btree"), "it has no column 'x'. Its columns are k, b"),
        (call("evolving", "k", "lumina"), "type: lumina.*bitmap, btree, multivalue, ivf-flat.*full-text"),
        (call("evolving", "k,b", "btree"), "does not support multi-column"),
        (call("evolving", "k, k", "btree"), "duplicate"),
        (call("evolving", " ,", "btree"), "at least one column"),
        ("CALL sys.drop_global_index('evolving', 'k', 'btree')", "no snapshot"),
    ):
        with pytest.raises(PySparkException, match=message):
            spark.sql(statement)
    spark.sql("INSERT INTO evolving VALUES (1, X'00')")
    with pytest.raises(PySparkException, match="BYTES.*is not supported"):
        spark.sql(call("evolving", "b", "btree"))
    with pytest.raises(PySparkException, match="use none, zstd or lz4"):
        spark.sql(call("evolving", "k", "btree").replace(")", ", options => 'btree-index.compression=lzo')"))


def test_first_rows_by_a_btree(spark: Any) -> None:
    options = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
    spark.sql(f"CREATE TABLE firsts (k BIGINT, s STRING) TBLPROPERTIES ({options})")
    for low in (0, 300, 600):  # by statistics each file may have any row of the result
        made = f"IF(id = 199, 5000, id + {low}), concat('s', id)"
        spark.sql(f"INSERT INTO firsts SELECT /*+ COALESCE(1) */ {made} FROM range(0, 200)")
    call = "CALL sys.create_global_index(table => 'firsts', index_column => 'k', index_type => 'btree'"
    spark.sql(f"{call}, options => 'btree-index.block-size=64 b,btree-index.compression=none')")
    query = "SELECT k, s FROM firsts ORDER BY k LIMIT 3"
    assert [tuple(row) for row in spark.sql(query).collect()] == [(0, "s0"), (1, "s1"), (2, "s2")]
    (plan,) = spark.sql(f"EXPLAIN {query}").collect()
    assert "files 1/3" in plan[0]
    assert spark.sql("SELECT max(k) FROM (SELECT k FROM firsts ORDER BY k DESC LIMIT 4)").collect() == [(5000,)]
