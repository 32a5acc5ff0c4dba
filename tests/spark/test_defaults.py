"""Defaults of columns: constants and expressions of constants, each of the same value wherever it is used."""

from __future__ import annotations

import datetime
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

DAY = datetime.date(2026, 1, 31)
MOMENT = datetime.datetime(2026, 1, 31, 10, 0)
# the expression, the column's type, the value
DEFAULTS: list[tuple[str, str, Any]] = [
    ("DATE'2026-01-31'", "DATE", DAY),
    ("'2026-01-31'", "DATE", DAY),
    ("TIMESTAMP_NTZ'2026-01-31 10:00:00'", "TIMESTAMP_NTZ", MOMENT),
    ("TIMESTAMP'2026-01-31 10:00:00'", "TIMESTAMP", MOMENT),
    ("'2026-01-31 10:00:00'", "TIMESTAMP", MOMENT),
    ("1+1", "INT", 2),
    ("CAST('5' AS INT)", "INT", 5),
    ("'300'", "INT", 300),
    ("1 > 0", "BOOLEAN", True),
    ("1.5 * 3", "DECIMAL(10, 2)", Decimal("4.50")),
    ("'x' || 'y'", "STRING", "xy"),
    ("'it\\'s'", "STRING", "it's"),
    ("upper('a')", "VARCHAR(5)", "A"),
    ("X'6162'", "BINARY", b"ab"),
    ("CAST('Infinity' AS DOUBLE)", "DOUBLE", float("inf")),
    ("CAST(NULL AS INT)", "INT", None),
    ("array(1, 2)", "ARRAY<INT>", [1, 2]),
]
NAMES = [f"c{i}" for i in range(len(DEFAULTS))]
VALUES = [value for _, _, value in DEFAULTS]


def stored(spark: Any, number: int) -> list[Any]:
    """Return the values of a row; moments as the session's zone shows them, which may not be the machine's."""
    shown = [
        f"CAST({n} AS TIMESTAMP_NTZ)" if t == "TIMESTAMP" else n for n, (_, t, _) in zip(NAMES, DEFAULTS, strict=True)
    ]
    (row,) = spark.sql(f"SELECT {', '.join(shown)} FROM t WHERE id = {number}").collect()
    return [bytes(v) if isinstance(v, bytearray) else v for v in row]


def test_a_default_has_one_value_wherever_it_is_used(spark: Any) -> None:
    columns = ", ".join(f"{n} {t} DEFAULT {e}" for n, (e, t, _) in zip(NAMES, DEFAULTS, strict=True))
    spark.sql(f"CREATE TABLE t (id INT, {columns}) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    spark.sql("INSERT INTO t (id) VALUES (1)")
    spark.sql(f"INSERT INTO t VALUES (2{', DEFAULT' * len(NAMES)})")
    spark.sql(f"INSERT INTO t VALUES (3{', NULL' * len(NAMES)})")
    spark.sql("MERGE INTO t USING (SELECT 4 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    spark.sql(f"UPDATE t SET {', '.join(f'{n} = DEFAULT' for n in NAMES)} WHERE id = 4")
    for number in (1, 2, 3, 4):
        assert stored(spark, number) == VALUES, number


def test_a_default_that_is_set_later(spark: Any) -> None:
    columns = ", ".join(f"{n} {t}" for n, (_, t, _) in zip(NAMES, DEFAULTS, strict=True))
    spark.sql(f"CREATE TABLE t (id INT, {columns})")
    for name, (expression, _, _) in zip(NAMES, DEFAULTS, strict=True):
        spark.sql(f"ALTER TABLE t ALTER COLUMN {name} SET DEFAULT {expression}")
    spark.sql("INSERT INTO t (id) VALUES (1)")
    assert stored(spark, 1) == VALUES


@pytest.mark.parametrize("expression", ["current_date()", "DATE'2026-01-01' + CAST(rand() AS INT)", "DATE'nope'"])
def test_what_is_no_constant_is_refused(spark: Any, expression: str) -> None:
    with pytest.raises(PySparkException):
        spark.sql(f"CREATE TABLE late (id INT, day DATE DEFAULT {expression})")
    assert not spark.catalog.tableExists("late")


def test_system_tables_by_a_text(spark: Any) -> None:
    spark.sql("CREATE TABLE s (id INT)")
    spark.sql("INSERT INTO s VALUES (1)")
    for name in ("'s$snapshots'", "'default.s$snapshots'", "'paimon.default.' || 's$snapshots'"):
        assert spark.sql(f"SELECT snapshot_id FROM IDENTIFIER({name})").collect()[0][0] == 1


def test_system_tables_by_a_value(spark: Any) -> None:
    spark.sql("CREATE TABLE s (id INT)")
    spark.sql("INSERT INTO s VALUES (1)")
    for name in ("s$snapshots", "default.s$snapshots", "paimon.`default`.`s$snapshots`"):
        assert spark.sql("SELECT snapshot_id FROM IDENTIFIER(:n)", {"n": name}).collect() == [(1,)]
        spark.sql(f"DECLARE OR REPLACE VARIABLE named STRING DEFAULT '{name}'")
        assert spark.sql("SELECT snapshot_id FROM IDENTIFIER(named)").collect() == [(1,)]
    joined = "SELECT s.id FROM IDENTIFIER(?) AS f JOIN IDENTIFIER(?) AS s"
    assert spark.sql(joined, ["s$files", "s"]).collect() == [(1,)]
    assert spark.sql("DESCRIBE IDENTIFIER(:d || :n)", {"d": "s$", "n": "tags"}).first()[0] == "tag_name"
    assert spark.sql("SELECT id FROM IDENTIFIER(:n) VERSION AS OF 1", {"n": "s"}).collect() == [(1,)]
    script = "BEGIN DECLARE x STRING DEFAULT 's$snapshots'; SELECT snapshot_id FROM IDENTIFIER(x); END"
    spark.conf.set("spark.sql.scripting.enabled", "true")  # as it is from 4.1 on
    assert spark.sql(script).collect() == [(1,)]
    spark.sql("INSERT INTO IDENTIFIER(:t) SELECT snapshot_id + 1 FROM IDENTIFIER(:n)", {"t": "s", "n": "s$snapshots"})
    assert spark.sql("TABLE IDENTIFIER(:n)", {"n": "s"}).count() == 2


def test_texts_of_other_writers_are_constants(spark: Any, warehouse: str) -> None:
    """Whoever can write a schema must not run functions in the sessions that read it."""
    spark.sql("CREATE TABLE made (id INT, a ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT, y: STRING>)")
    hostile = "java_method('java.lang.System', 'setProperty', 'paimon.default', 'ran')"
    folder = Path(warehouse, "default.db")
    for name, texts in (("foreign", {"a": "[1, 2]", "m": "{k -> 1}", "s": "{5, it's}"}), ("hostile", {"id": hostile})):
        shutil.copytree(folder / "made", folder / name)
        file = folder / name / "schema" / "schema-0"
        schema = json.loads(file.read_text())
        for field in schema["fields"]:
            field |= {"defaultValue": texts[field["name"]]} if field["name"] in texts else {}
        file.write_text(json.dumps(schema))
    spark.sql("INSERT INTO foreign (id) VALUES (1)")
    assert spark.sql("SELECT a, m, s.x, s.y FROM foreign").first() == ([1, 2], {"k": 1}, 5, "it's")
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        spark.sql("INSERT INTO hostile (a) VALUES (array(2))")
    assert spark._jvm.java.lang.System.getProperty("paimon.default") is None
