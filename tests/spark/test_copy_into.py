"""COPY INTO: files into tables, tables and queries into files, and what happens to rows that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.errors.exceptions.base import PySparkException

pytestmark = pytest.mark.spark


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in spark.sql(text).collect()]


@pytest.fixture
def source(spark: Any, tmp_path: Path) -> Path:
    """Two CSV files, one of them with rows that are none of the table `t`."""
    spark.sql("CREATE TABLE t (id INT, name STRING, age INT DEFAULT 7, at DATE)")
    folder = tmp_path / "in put"
    folder.mkdir()
    (folder / "a.csv").write_text("1,Ann,30,2024-01-01\n2,-,,2024-01-02\n")
    (folder / "b.csv").write_text("3,Bob,x,2024-01-01\n4,Cid\n5,Dan,50,2024-01-05\n")
    return folder


def test_a_file_is_loaded_once(spark: Any, source: Path) -> None:
    copy = f"COPY INTO t FROM '{source}' FILE_FORMAT = (TYPE = CSV, NULL_IF = ('-')) PATTERN = 'a.*'"
    assert rows(spark, copy) == [("a.csv", "LOADED", 2, 2, 0, None)]
    assert rows(spark, copy) == [("a.csv", "SKIPPED", 0, 0, 0, None)]
    (day,) = spark.sql("SELECT DATE '2024-01-01'").collect()[0]
    assert rows(spark, "SELECT * FROM t ORDER BY id")[0] == (1, "Ann", 30, day)
    assert rows(spark, "SELECT name, age FROM t WHERE id = 2") == [(None, 7)]  # a NULL becomes the default
    assert rows(spark, f"{copy} FORCE = TRUE") == [("a.csv", "LOADED", 2, 2, 0, None)]
    (source / "a.csv").write_text("9,Eve,90,2024-01-09\n")
    assert rows(spark, copy) == [("a.csv", "LOADED", 1, 1, 0, None)]
    assert rows(spark, "SELECT count(*) FROM t") == [(5,)]


def test_rows_that_do_not_fit(spark: Any, source: Path) -> None:
    copy = f"COPY INTO t FROM '{source}' FILE_FORMAT = (TYPE = CSV)"
    with pytest.raises(
        PySparkException, match=r"default\.t: file .*b\.csv: Column 'age': 'x' is not a valid int.*ON_ERROR"
    ):
        spark.sql(copy)
    assert rows(spark, "SELECT count(*) FROM t") == [(0,)]
    problem = "Column 'age': 'x' is not a valid int"
    skipped = [("a.csv", "LOADED", 2, 2, 0, None), ("b.csv", "LOAD_FAILED", 0, 3, 2, problem)]
    assert rows(spark, f"{copy} ON_ERROR = SKIP_FILE") == skipped
    continued = [("b.csv", "PARTIALLY_LOADED", 1, 3, 2, problem), ("a.csv", "SKIPPED", 0, 0, 0, None)]
    assert rows(spark, f"{copy} ON_ERROR = CONTINUE") == continued
    assert rows(spark, "SELECT id FROM t ORDER BY id") == [(1,), (2,), (5,)]
    assert rows(spark, "SELECT count(*) FROM `t$snapshots`") == [(2,)]


def test_files_and_back(spark: Any, source: Path, tmp_path: Path) -> None:
    spark.sql("INSERT INTO t VALUES (1, 'Ann', 30, DATE '2024-01-01'), (2, NULL, 20, NULL)")
    for kind in ("PARQUET", "JSON"):
        out = tmp_path / kind
        written = rows(
            spark, f"COPY INTO '{out}' FROM (SELECT name, id FROM t WHERE id IN (1, 2)) FILE_FORMAT = (TYPE = {kind})"
        )
        assert written[0][0] == str(out) and written[0][2] == 2
        spark.sql("TRUNCATE TABLE t")
        spark.sql(f"COPY INTO t (ID, Name) FROM '{out}' FILE_FORMAT = (TYPE = {kind}) PATTERN = '^part'")
        assert rows(spark, "SELECT id, name, age, at FROM t ORDER BY id") == [(1, "Ann", 7, None), (2, None, 7, None)]
        with pytest.raises(PySparkException, match=f"{kind} exists already: write OVERWRITE = TRUE"):
            spark.sql(f"COPY INTO '{out}' FROM t FILE_FORMAT = (TYPE = {kind})")
        assert rows(spark, f"COPY INTO '{out}' FROM t FILE_FORMAT = (TYPE = {kind}) OVERWRITE = TRUE")[0][2] == 2


def test_refused_statements(spark: Any, source: Path, tmp_path: Path) -> None:
    for statement, message in {
        f"COPY INTO t (id, nope) FROM '{source}' FILE_FORMAT = (TYPE = CSV)": "default.t has no column 'nope'",
        f"COPY INTO t (id, ID) FROM '{source}' FILE_FORMAT = (TYPE = CSV)": "duplicate column 'id'",
        f"COPY INTO nope FROM '{source}' FILE_FORMAT = (TYPE = CSV)": "nope",
        "COPY INTO t FROM '/no/such/folder' FILE_FORMAT = (TYPE = CSV)": "no file or folder /no/such/folder",
        f"COPY INTO t FROM '{source}' FILE_FORMAT = (TYPE = CSV) PATTERN = '('": "PATTERN cannot be",
        f"COPY INTO '{tmp_path}/x' FROM (DROP TABLE t) FILE_FORMAT = (TYPE = CSV)": "only reads",
        f"COPY INTO '{tmp_path}/x' FROM (INSERT INTO t VALUES (1)) FILE_FORMAT = (TYPE = CSV)": "only reads",
        f"COPY INTO '{tmp_path}/x' FROM () FILE_FORMAT = (TYPE = CSV)": "only reads",
    }.items():
        with pytest.raises(PySparkException, match=message):
            spark.sql(statement)
    with pytest.raises(ParseException, match="needs FILE_FORMAT"):
        spark.sql(f"COPY INTO t FROM '{source}'")
    assert not (tmp_path / "x").exists() and rows(spark, "SELECT count(*) FROM t") == [(0,)]


def test_a_table_whose_path_has_a_dot(spark: Any, tmp_path: Path) -> None:
    table, other = (f"paimon_path.`{tmp_path}/t{end}`" for end in (".x", "/x"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n2\n")
    for name in (table, other):
        spark.sql(f"CREATE TABLE {name} (id INT)")
    spark.sql(f"COPY INTO {table} FROM '{tmp_path}/in' FILE_FORMAT = (TYPE = CSV)")
    assert [r.id for r in spark.sql(f"SELECT * FROM {table} ORDER BY id").collect()] == [1, 2]
    assert spark.table(other).collect() == []
