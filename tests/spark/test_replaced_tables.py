"""DataFrames that were made of a table which was dropped, and created again by the same name."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

NEW = {
    "keyed": "k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1'",
    "swapped": "v INT, k STRING",
    "equal": "k INT, v STRING",
}


@pytest.mark.parametrize("kind", NEW)
def test_rows_are_not_read_by_the_columns_and_keys_of_the_old_table(spark: Any, kind: str) -> None:
    spark.sql("CREATE TABLE t (k INT, v STRING)")
    spark.sql("INSERT INTO t VALUES (1, 'old')")
    used, unused = spark.table("t"), spark.table("t")
    assert used.count() == 1
    spark.sql("DROP TABLE t")
    spark.sql(f"CREATE TABLE t ({NEW[kind]})")
    spark.sql("INSERT INTO t VALUES (1, '2')")
    spark.sql("INSERT INTO t VALUES (1, '3')")
    for held in (used.where("k = 1"), unused):
        with pytest.raises(PySparkException, match="dropped and created again since it was opened"):
            held.collect()
    assert spark.table("t").count() == (1 if kind == "keyed" else 2)
