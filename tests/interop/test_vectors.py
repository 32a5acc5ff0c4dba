"""VECTOR columns: what one engine defines, writes, changes and compacts the other reads."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from tests.interop.engines import ENGINES, Engines, other
from tests.support.java_oracle import JavaError

KEYED = "'primary-key' = 'k', 'bucket' = '1', 'write-only' = 'true'"
EVOLVED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
TABLES = {
    "append": "'write-only' = 'true'",
    "avro": "'file.format' = 'avro'",
    "deduplicate": KEYED,
    "partial-update": f"{KEYED}, 'merge-engine' = 'partial-update'",
    "aggregation": f"{KEYED}, 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'last_non_null_value'",
    "deletion vectors": "'primary-key' = 'k', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    "evolved": EVOLVED,
    "vector files": f"{EVOLVED}, 'vector.file.format' = 'parquet'",
    "vector files in Avro": f"{EVOLVED}, 'vector.file.format' = 'avro'",
}
ALL_ELEMENTS = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")


@pytest.mark.parametrize("first", ENGINES)
@pytest.mark.parametrize("kind", TABLES)
def test_rows_of_both(engines: Engines, first: str, kind: str) -> None:
    second = other(first)
    options = f"'vector-field' = 'v', 'field.v.vector-dim' = '3', {TABLES[kind]}"
    columns = "k INT, v ARRAY<FLOAT>, w ARRAY<DOUBLE> COMMENT '__VECTOR_FIELD;2; of texts', name STRING"
    engines.run(first, f"CREATE TABLE t ({columns}) TBLPROPERTIES ({options})")
    engines.both("SELECT fields FROM `t$schemas`")
    values = "(1, array(1f, 2.5f, 0f), array(1d, 2d), 'a'), (2, NULL, array(3d, 4d), 'b')"
    engines.run(first, f"INSERT INTO t SELECT /*+ REPARTITION(1) */ * FROM VALUES {values}")
    more = "(2, array(4f, 5f, 6f), NULL, 'c'), (3, array(7f, 8f, float('NaN')), array(0d, 1e300), NULL)"
    engines.run(second, f"INSERT INTO t SELECT /*+ REPARTITION(1) */ * FROM VALUES {more}")
    rows = engines.both("SELECT * FROM t ORDER BY k, name")
    assert rows[0] == [1, [1.0, 2.5, 0.0], [1.0, 2.0], "a"]
    engines.both("SELECT k, v FROM t WHERE name = 'a'", [[1, [1.0, 2.5, 0.0]]])
    engines.both("SELECT record_count, null_value_counts, min_value_stats FROM `t$files`")
    for engine in (first, second):
        engines.run(engine, f"CALL sys.compact(table => '{engines.database}.t')")
        engines.both("SELECT * FROM t ORDER BY k, name", rows)


@pytest.mark.parametrize("first", ENGINES)
def test_changed_rows_and_schemas(engines: Engines, first: str) -> None:
    second = other(first)
    engines.run(first, f"CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2') TBLPROPERTIES ({KEYED})")
    engines.run(first, "INSERT INTO t VALUES (1, array(1f, 2f)), (2, array(3f, 4f))")
    engines.run(second, "UPDATE t SET v = array(5f, 6f) WHERE k = 2")
    source = "(SELECT 1 AS k, array(9f, 9f) AS v UNION ALL SELECT 3, NULL)"
    engines.run(
        second,
        f"MERGE INTO t USING {source} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    engines.both("SELECT * FROM t ORDER BY k", [[1, [9.0, 9.0]], [2, [5.0, 6.0]], [3, None]])
    engines.run("java", "ALTER TABLE t ADD COLUMN w ARRAY<SMALLINT> COMMENT '__VECTOR_FIELD;1;more'")
    engines.run(second, "INSERT INTO t VALUES (4, array(0f, 1f), array(7S))")
    engines.both("SELECT * FROM t WHERE k > 2 ORDER BY k", [[3, None, None], [4, [0.0, 1.0], [7]]])
    engines.both("SELECT fields, options FROM `t$schemas`")


def test_changed_vectors_in_files_of_their_own(engines: Engines) -> None:
    columns = "k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2'"
    engines.run("java", f"CREATE TABLE t ({columns}) TBLPROPERTIES ({EVOLVED}, 'vector.file.format' = 'avro')")
    engines.run("ours", "INSERT INTO t VALUES (1, array(1f, 2f)), (2, array(3f, 4f)), (3, NULL)")
    source = "(SELECT 2 AS k, array(5f, 6f) AS v)"
    merge = f"MERGE INTO t USING {source} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET t.v = s.v"
    engines.run("ours", merge)
    engines.both("SELECT * FROM t ORDER BY k", [[1, [1.0, 2.0]], [2, [5.0, 6.0]], [3, None]])
    engines.run("java", merge.replace("5f", "7f"))
    engines.both("SELECT * FROM t ORDER BY k", [[1, [1.0, 2.0]], [2, [7.0, 6.0]], [3, None]])
    engines.run("java", "INSERT INTO t VALUES (4, array(8f, 8f))")
    engines.run("ours", f"CALL sys.compact(table => '{engines.database}.t')", merge.replace("2 AS k", "4 AS k"))
    engines.both("SELECT k, v FROM t WHERE k > 2 ORDER BY k", [[3, None], [4, [5.0, 6.0]]])


def test_all_elements(engines: Engines) -> None:
    columns = ", ".join(f"v{i} ARRAY<{e}> COMMENT '__VECTOR_FIELD;2'" for i, e in enumerate(ALL_ELEMENTS))
    engines.run("java", f"CREATE TABLE t ({columns})")
    values = ", ".join(f"array(CAST(1 AS {e}), CAST(0 AS {e}))" for e in ALL_ELEMENTS)
    for engine in ENGINES:
        engines.run(engine, f"INSERT INTO t VALUES ({values})")
    assert len(engines.both("SELECT * FROM t")) == 2


@pytest.mark.parametrize("value", ["array(1f)", "array(1f, 2f, 3f)", "array()", "array(1f, NULL)"])
def test_both_refuse_invalid_vectors(engines: Engines, value: str) -> None:
    engines.run("ours", "CREATE TABLE t (k INT, v ARRAY<FLOAT> COMMENT '__VECTOR_FIELD;2')")
    with pytest.raises(PySparkException, match="Column 'v' of type VECTOR<FLOAT, 2> cannot hold a vector"):
        engines.run("ours", f"INSERT INTO t VALUES (1, {value})")
    with pytest.raises(JavaError):
        engines.run("java", f"INSERT INTO t VALUES (1, {value})")
    engines.both("SELECT * FROM t", [])
