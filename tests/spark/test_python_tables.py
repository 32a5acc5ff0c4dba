"""Tables in Python beside Spark: conditions keep the same rows, and each reads what the other wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql import open_catalog
from tests.unit.python.test_where import KEPT, ROWS

pytestmark = pytest.mark.spark


def test_conditions_keep_the_rows_that_spark_keeps(spark: Any, tmp_path: Path) -> None:
    table = open_catalog(str(tmp_path / "lake"), time_zone="UTC").create_table("default.t", ROWS.schema)
    table.append(pa.Table.from_batches([ROWS]))
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    rows = spark.table(f"paimon_path.`{table.location}`")
    rows.createOrReplaceTempView("given")
    conditions = [text for text, expected in KEPT if expected is not None]
    columns = ", ".join(f"({text}) AS `{i}`" for i, text in enumerate(conditions))
    found = spark.sql(f"SELECT n, {columns} FROM given").collect()
    wrong = []
    for i, text in enumerate(conditions):
        by_spark = sorted(row["n"] for row in found if row[str(i)])
        here = sorted(table.scan(["n"], where=text).to_arrow()["n"].to_pylist())
        if here != by_spark:
            wrong.append(f"{text}: {here}, Spark {by_spark}")
    assert wrong == []


def test_each_reads_what_the_other_wrote(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    table = open_catalog(str(tmp_path / "lake")).create_table("default.t", schema, primary_key="k")
    table.upsert([{"k": 1, "v": "python"}, {"k": 2, "v": "python"}])
    name = f"paimon_path.`{table.location}`"
    spark.sql(f"INSERT INTO {name} VALUES (2, 'spark'), (3, 'spark')")
    table.update({"v": "upper(v)"}, where="k > 2")
    table.delete("k = 1")
    expected = [(2, "spark"), (3, "SPARK")]
    assert [tuple(r) for r in spark.sql(f"SELECT * FROM {name} ORDER BY k").collect()] == expected
    assert [tuple(r.values()) for r in table.scan().to_arrow().sort_by("k").to_pylist()] == expected
