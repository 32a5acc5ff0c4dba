"""NULL in a column, or in a part of a value, that is NOT NULL: each way to write gives Spark's own error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import functions as F

from paimon_sql.spark.statements import parser

pytestmark = pytest.mark.spark

CONDITION, STATE = "NOT_NULL_ASSERT_VIOLATION", "42000"
COLUMNS = "k INT NOT NULL, v STRING NOT NULL, s STRUCT<f: INT NOT NULL, g: INT>"
TABLES = {
    "plain": "",
    "keyed": "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')",
    "evolving": "TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true')",
}
PART = "named_struct('f', nullif(new.k, 2), 'g', 1)"
# Spark checks an INSERT, whatever the table is; our writers check the others
STATEMENTS = (
    "INSERT INTO {t} VALUES (9, NULL, NULL)",
    "INSERT INTO {t} SELECT k, v, NULL FROM new",
    f"INSERT INTO {{t}} SELECT k, 'x', {PART} FROM new",
    "INSERT INTO {t} BY NAME SELECT k, v FROM new",
    "INSERT OVERWRITE {t} SELECT k, v, NULL FROM new",
    "UPDATE {t} SET v = NULL WHERE k = 1",
    "UPDATE {t} SET v = nullif(v, 'old') WHERE k = 1",
    "UPDATE {t} SET s.f = NULL WHERE k = 1",
    "MERGE INTO {t} USING new ON {t}.k = new.k WHEN MATCHED THEN UPDATE SET v = NULL",
    "MERGE INTO {t} USING new ON {t}.k = new.k + 10 WHEN NOT MATCHED THEN INSERT (k, v) VALUES (new.k, new.v)",
    f"MERGE INTO {{t}} USING new ON {{t}}.k = new.k - 1 WHEN MATCHED THEN UPDATE SET s = {PART}",
)


def of_frames(spark: Any, table: str) -> dict[str, Callable[[], Any]]:
    """The ways of a DataFrame to write, by their names."""
    frame = spark.sql("SELECT k, v, CAST(NULL AS STRUCT<f: INT, g: INT>) AS s FROM new")
    merged = spark.table("new").mergeInto(table, F.expr(f"{table}.k = new.k"))
    return {
        "append": frame.writeTo(table).append,
        "overwrite": lambda: frame.writeTo(table).overwrite(F.lit(True)),
        "insertInto": lambda: frame.write.insertInto(table),
        "saveAsTable": lambda: frame.write.mode("append").saveAsTable(table),
        "mergeInto": merged.whenMatched().update({"v": F.lit(None)}).merge,
    }


@pytest.mark.parametrize("table", TABLES)
def test_each_way_to_write_gives_one_error(spark: Any, table: str) -> None:
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}) {TABLES[table]}")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'old', NULL)")
    spark.sql("CREATE OR REPLACE TEMP VIEW new AS SELECT * FROM VALUES (1, 'a'), (2, NULL) AS new(k, v)")
    chosen = [text for text in STATEMENTS if table == "plain" or not text.startswith("INSERT")]
    ways = {text: lambda text=text: spark.sql(text.format(t=table)) for text in chosen}
    frames = of_frames(spark, table)
    wrong = {}
    for name, write in (ways | (frames if table == "plain" else {"mergeInto": frames["mergeInto"]})).items():
        try:
            write()
            wrong[name] = "it is accepted"
        except PySparkException as e:
            found = isinstance(e, SparkRuntimeException), e.getCondition(), e.getSqlState(), [*e.getMessageParameters()]
            if found != (True, CONDITION, STATE, ["walkedTypePath"]):
                wrong[name] = f"{found} {e}"
    assert wrong == {}
    assert [tuple(row) for row in spark.table(table).collect()] == [(1, "old", None)]


def test_a_stream_gives_the_same_error(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE t (k INT NOT NULL, s STRUCT<f: INT NOT NULL>)")
    given = str(tmp_path / "given")
    for part in ("named_struct('f', 1)", "named_struct('f', CAST(NULL AS INT))"):
        spark.sql(f"SELECT 1 AS k, {part} AS s").write.mode("append").parquet(given)
        rows = spark.readStream.schema("k INT, s STRUCT<f: INT>").parquet(given)
        started = rows.writeStream.option("checkpointLocation", str(tmp_path / "kept")).trigger(availableNow=True)
        query = started.toTable("t")
        if "NULL" in part:
            with pytest.raises(PySparkException, match=CONDITION):
                query.awaitTermination(300)
        else:
            assert query.awaitTermination(300)
    assert [row.asDict(True) for row in spark.table("t").collect()] == [{"k": 1, "s": {"f": 1}}]


def test_a_session_that_failed_to_describe_a_table_tries_again(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule that shows NOT NULL columns is added to a session before its first DESCRIBE."""

    def failing(*given: Any) -> None:
        raise RuntimeError("not now")

    other = spark.newSession()
    other.sql("SELECT 1").collect()
    monkeypatch.setattr(parser, "install_described_columns", failing)
    with pytest.raises(Exception, match="not now"):
        other.sql("DESCRIBE EXTENDED t")
    monkeypatch.undo()
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        other.sql("DESCRIBE EXTENDED nosuch").collect()
    assert "DescribedColumns" in other._jsparkSession.sessionState().planner().strategies().toString()
