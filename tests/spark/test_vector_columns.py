"""VECTOR columns in SQL: definitions, writes in every statement, DESCRIBE, SHOW CREATE TABLE, refused values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog

REFUSED = r"Column 'v' of type VECTOR<FLOAT, 2> cannot hold a vector of 1 elements instead of 2"
KEYED = "'primary-key' = 'k', 'bucket' = '1'"
EVOLVES = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"


def rows(spark: Any, statement: str) -> list[Any]:
    return [tuple(row) for row in spark.sql(statement).collect()]


FILES = f"{EVOLVES}, 'vector.file.format' = 'parquet', 'deletion-vectors.enabled' = 'true'"


@pytest.mark.parametrize("options", [KEYED, EVOLVES, FILES], ids=["keyed", "evolved", "files"])
def test_statements_write_vectors_and_refuse_others(spark: Any, options: str) -> None:
    spark.sql(f"CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2;of texts') TBLPROPERTIES ({options})")
    assert ("v", "array<float>", "of texts") in rows(spark, "DESCRIBE t")
    spark.sql("INSERT INTO t VALUES (1, array(0.5, 1)), (2, NULL)")
    spark.sql("UPDATE t SET v = array(3f, 4f) WHERE k = 2")
    merge = "MERGE INTO t USING (SELECT 1 AS k, array({}) AS v) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
    spark.sql(merge.format("5f, 6f"))
    spark.createDataFrame([(3, [7.0, 8.0])], "k INT, v ARRAY<FLOAT>").writeTo("t").append()
    expected = [(1, [5.0, 6.0]), (2, [3.0, 4.0]), (3, [7.0, 8.0])]
    assert rows(spark, "SELECT * FROM t ORDER BY k") == expected
    assert rows(spark, "SELECT k FROM t WHERE v[0] > 4 ORDER BY k") == [(1,), (3,)]
    for statement in ("INSERT INTO t VALUES (4, array(1f))", "UPDATE t SET v = array(1f)", merge.format("1f")):
        with pytest.raises(PySparkException, match=REFUSED):
            spark.sql(statement)
    with pytest.raises(PySparkException, match=REFUSED):
        spark.createDataFrame([(3, [7.0])], "k INT, v ARRAY<FLOAT>").writeTo("t").append()
    assert rows(spark, "SELECT * FROM t ORDER BY k") == expected


def test_streams_write_vectors_and_refuse_others(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE t (k BIGINT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    for number, made in enumerate(("array(1f, 2f)", "array(1f)")):
        source = tmp_path / f"source-{number}"
        spark.sql(f"SELECT id AS k, {made} AS v FROM range(2)").write.parquet(str(source))
        frame = spark.readStream.schema("k BIGINT, v ARRAY<FLOAT>").parquet(str(source))
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path / f"c-{number}")).trigger(
            availableNow=True
        )
        query = writer.toTable("t")
        if number:
            with pytest.raises(PySparkException, match=REFUSED):
                query.awaitTermination()
        else:
            query.awaitTermination()
    assert rows(spark, "SELECT count(*), min(v[1]) FROM t") == [(2, 2.0)]


def test_definitions_are_shown_and_made_again(spark: Any, warehouse: str) -> None:
    spark.sql(
        "CREATE TABLE t (a ARRAY<FLOAT>, b ARRAY<DOUBLE> COMMENT '__VECTOR_FIELD;3; text', c INT) "
        "TBLPROPERTIES ('vector-field' = 'a', 'field.a.vector-dim' = '2')"
    )
    ((printed,),) = rows(spark, "SHOW CREATE TABLE t")
    spark.sql(printed.replace("default.t ", "default.u "))
    spark.sql("CREATE TABLE w LIKE t")
    catalog = load_catalog({"warehouse": warehouse})
    schemas = [catalog.load_table(Identifier("default", name)).schema for name in "tuw"]
    assert {str([f.json() for f in s.fields]) for s in schemas} == {str([f.json() for f in schemas[0].fields])}
    assert str(schemas[0].fields[1].type) == "VECTOR<DOUBLE, 3>"
    ((fields,),) = rows(spark, "SELECT fields FROM `t$schemas`")
    assert json.loads(fields)[0]["type"] == {"type": "VECTOR", "element": "FLOAT", "length": 2}
    spark.sql("ALTER TABLE t ADD COLUMN d ARRAY<INT> COMMENT '__VECTOR_FIELD;1'")
    spark.sql("ALTER TABLE t RENAME COLUMN a TO e")
    spark.sql("ALTER TABLE t DROP COLUMN b")
    spark.sql("INSERT INTO t VALUES (array(1f, 2f), 7, array(8))")
    assert rows(spark, "SELECT * FROM t") == [([1.0, 2.0], 7, [8])]
    for change in ("e.element TYPE DOUBLE", "e TYPE ARRAY<DOUBLE>"):
        with pytest.raises(PySparkException, match="cannot become|CANNOT_UPDATE_FIELD"):
            spark.sql(f"ALTER TABLE t ALTER COLUMN {change}")


def test_vectors_in_files_of_their_own(spark: Any) -> None:
    columns = "k INT, p STRING, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
    spark.sql(f"CREATE TABLE t ({columns}) PARTITIONED BY (p) TBLPROPERTIES ({FILES})")
    spark.sql("INSERT INTO t SELECT CAST(id AS INT), IF(id < 3, 'a', 'b'), array(id, 0f) FROM range(0, 6)")
    spark.sql("DELETE FROM t WHERE k = 4")
    spark.sql("UPDATE t SET v = NULL WHERE k = 1")
    expected = [(0, [0.0, 0.0]), (1, None), (2, [2.0, 0.0]), (3, [3.0, 0.0]), (5, [5.0, 0.0])]
    for statement in ("SELECT 1", "CALL sys.compact(table => 't')", "INSERT OVERWRITE t SELECT * FROM t WHERE p = 'b'"):
        spark.sql(statement).collect()
        assert rows(spark, "SELECT k, v FROM t ORDER BY k") == expected[3 if "OVERWRITE" in statement else 0 :]
    spark.sql("INSERT INTO t VALUES (1, 'a', NULL), (2, 'a', array(2f, 0f))")
    assert rows(spark, "SELECT k FROM t WHERE v IS NOT NULL AND p = 'a'") == [(2,)]
    assert rows(spark, "SELECT count(*), count(v), max(k) FROM t") == [(4, 3, 5)]
    assert rows(spark, "SELECT k FROM vector_search('t', 'v', array(2.5, 0), 2) ORDER BY k") == [(2,), (3,)]
    changes = "SELECT k, v FROM paimon_incremental_query('t', 0, 1) ORDER BY k"
    assert [r[0] for r in rows(spark, changes)] == [0, 1, 2, 3, 4, 5]
