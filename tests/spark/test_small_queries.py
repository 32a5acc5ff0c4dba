"""MERGE, DELETE and UPDATE that depend on few rows of a query read only what may match these rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from paimon_sql.spark.jvm import frames

pytestmark = pytest.mark.spark

KINDS = {"append": "", "keyed": "TBLPROPERTIES ('primary-key' = 'day,id', 'bucket' = '1')"}
UPDATED = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
SOURCE = "(SELECT * FROM VALUES (2, 20, 'new'), (8, 20, 'more'), (2, 20, NULL) AS q(id, day, v) WHERE v IS NOT NULL)"


@pytest.fixture(params=KINDS)
def days(request: Any, spark: Any) -> None:
    """A table of three days, a file and three rows each."""
    columns = "id INT NOT NULL, day INT NOT NULL, v STRING"
    spark.sql(f"CREATE TABLE t ({columns}) PARTITIONED BY (day) {KINDS[request.param]}")
    for day in (10, 20, 30):
        spark.sql(f"INSERT INTO t VALUES (1, {day}, 'a'), (2, {day}, 'b'), (3, {day}, 'c')")


def files(spark: Any, merge: str) -> int:
    """Return how many files of the table a MERGE reads."""
    plan = str(spark.sql(f"EXPLAIN {merge}").collect()[0][0])
    found = re.search(r"files (\d+)/\d+", plan)
    assert found is not None, plan
    return int(found[1])


def rows(spark: Any) -> list[tuple[Any, ...]]:
    return [tuple(r) for r in spark.sql("SELECT day, id, v FROM t ORDER BY day, id").collect()]


@contextmanager
def only_day(warehouse: str, day: int) -> Iterator[None]:
    """Hide the files of other days: a statement that reads them fails."""
    kept = {p: p.read_bytes() for p in Path(warehouse).rglob("t/day=*/**/data-*.parquet") if f"day={day}" not in str(p)}
    assert kept
    for path in kept:
        path.unlink()
    try:
        yield
    finally:
        for path, content in kept.items():
            path.write_bytes(content)


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("t.day = s.day AND t.id = s.id", 1),
        ("s.id = t.id AND s.day - 10 = t.day", 1),
        ("t.id = s.id AND t.day = CAST(s.day AS BIGINT)", 1),
        ("t.id = s.id AND t.day <=> s.day", 1),
        ("t.id = s.id AND (t.day = s.day OR s.v = 'x')", 3),
        ("t.id = s.id AND t.day >= s.day", 3),
    ],
)
def test_files_that_cannot_match_are_not_read(spark: Any, days: None, condition: str, read: int) -> None:
    merge = f"MERGE INTO t USING {SOURCE} s ON {condition} WHEN MATCHED THEN DELETE"
    assert files(spark, merge) == read
    everything = f"{merge} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'z'"
    assert files(spark, everything) == 3


def test_sources_that_are_read_narrow_the_table(spark: Any, warehouse: str, days: None, tmp_path: Path) -> None:
    spark.sql(f"SELECT * FROM {SOURCE}").write.parquet(str(tmp_path / "source"))
    source = f"parquet.`{tmp_path}/source`"
    assert files(spark, f"MERGE INTO t USING {source} s ON t.day = s.day WHEN MATCHED THEN DELETE") == 3
    with only_day(warehouse, 20):
        spark.sql(f"MERGE INTO t USING {source} s ON t.day = s.day AND t.id = s.id {UPDATED}")
    changed = [(20, 1, "a"), (20, 2, "new"), (20, 3, "c"), (20, 8, "more")]
    others = [[(day, i, v) for i, v in ((1, "a"), (2, "b"), (3, "c"))] for day in (10, 30)]
    assert rows(spark) == [*others[0], *changed, *others[1]]


def test_rows_chosen_by_a_query(spark: Any, warehouse: str, days: None) -> None:
    spark.sql("CREATE TABLE chosen (id INT, day INT)")
    spark.sql("INSERT INTO chosen VALUES (1, 20), (2, 20), (9, 20), (NULL, NULL)")
    with only_day(warehouse, 20):
        spark.sql(
            "UPDATE t SET v = 'x' WHERE id IN (SELECT id FROM chosen WHERE id > 1) AND day IN (SELECT day FROM chosen)"
        )
        spark.sql("DELETE FROM t WHERE day IN (SELECT day FROM chosen) AND id IN (SELECT id FROM chosen WHERE id < 2)")
    assert [r for r in rows(spark) if r[0] == 20] == [(20, 2, "x"), (20, 3, "c")]
    before = rows(spark)
    spark.sql("DELETE FROM t WHERE id IN (SELECT id FROM chosen WHERE id > 99)")
    spark.sql("DELETE FROM t WHERE id NOT IN (SELECT id FROM chosen)")  # NULL is among them
    assert rows(spark) == before
    spark.sql("DELETE FROM t WHERE id IN (SELECT id FROM chosen c WHERE c.day = t.day) OR (id, day) IN (SELECT 1, 10)")
    assert rows(spark) == [(10, 2, "b"), (10, 3, "c"), (20, 3, "c"), (30, 1, "a"), (30, 2, "b"), (30, 3, "c")]


def test_a_source_without_rows(spark: Any, days: None) -> None:
    before = rows(spark)
    merge = "MERGE INTO t USING (SELECT 1 AS id, 10 AS day, 'x' AS v WHERE false) s ON t.id = s.id"
    spark.sql(f"{merge} {UPDATED}")
    assert rows(spark) == before
    spark.sql(f"{merge} WHEN NOT MATCHED BY SOURCE THEN DELETE")
    assert rows(spark) == []


def test_names_that_only_the_source_itself_has(spark: Any, days: None, tmp_path: Path) -> None:
    spark.sql(f"SELECT * FROM {SOURCE}").coalesce(1).write.parquet(str(tmp_path / "source"))
    spark.sql(
        f"MERGE INTO t USING parquet.`{tmp_path}/source` s ON t.day = s.day AND t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = substring(s._metadata.file_name, 1, 4)"
    )
    assert (20, 2, "part") in rows(spark)


@pytest.mark.parametrize("most", [0, 1_000])
def test_types_and_nulls_match_as_in_a_join(spark: Any, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """IN and ranges of fetched values find every row that the join finds."""
    monkeypatch.setattr(frames, "_SMALL_VALUES", most)
    columns = {
        "n": ("BIGINT", [1, -(2**63), None]),
        "d": ("DECIMAL(12, 2)", [Decimal("1.10"), Decimal("-3.00"), None]),
        "f": ("DOUBLE", [0.0, float("nan"), None]),
        "s": ("STRING", ["é", "", None]),
        "b": ("BINARY", [b"\x00\xff", b"", None]),
        "day": ("DATE", [date(1, 1, 1), date(2026, 11, 28), None]),
        "at": ("TIMESTAMP", [datetime(1901, 2, 3, 4, 5, 6, 7), datetime(2026, 3, 29, 1, 30), None]),
        "ntz": ("TIMESTAMP_NTZ", [datetime(1901, 2, 3, 4, 5, 6, 7), datetime(2026, 3, 29, 2, 30), None]),
        "flag": ("BOOLEAN", [True, False, None]),
    }
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    values = [(i, *(column[i] for _, column in columns.values()), None) for i in range(3)]
    for name, made in (("whole", values), ("half", values[1:])):
        spark.sql(f"CREATE TABLE {name} (id INT, {schema}, seen INT)")
        spark.createDataFrame(made, spark.table(name).schema).writeTo(name).append()
    for equal in ("=", "<=>"):
        spark.sql("CREATE OR REPLACE TABLE t AS SELECT * FROM whole")
        every = " AND ".join(f"t.{name} {equal} h.{name}" for name in columns)
        spark.sql(f"MERGE INTO t USING half h ON {every} WHEN MATCHED THEN UPDATE SET seen = 1")
        found = [r.seen for r in spark.sql("SELECT seen FROM t ORDER BY id").collect()]
        assert found == [None, 1, 1 if equal == "<=>" else None], equal


def test_a_value_that_cannot_be_computed_is_the_joins_error(spark: Any, days: None) -> None:
    before = rows(spark)
    source = "(SELECT * FROM VALUES ('2', 'new'), ('two', 'x') AS q(id, v))"
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        spark.sql(f"MERGE INTO t USING {source} s ON t.id = CAST(s.id AS INT) WHEN MATCHED THEN UPDATE SET v = s.v")
    assert rows(spark) == before


def test_char_columns_match_as_in_a_join(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark pads constants that are compared with CHAR columns, and no values of a query."""
    spark.sql("CREATE TABLE q (k STRING)")
    spark.sql("INSERT INTO q VALUES ('ab'), ('abc  ')")
    for most in (0, 1_000):
        monkeypatch.setattr(frames, "_SMALL_VALUES", most)
        spark.sql("CREATE OR REPLACE TABLE t (c CHAR(5), v INT)")
        spark.sql("INSERT INTO t VALUES ('ab', 1), ('abc', 1), ('ab\t', 1)")
        spark.sql("MERGE INTO t USING (SELECT 'ab\t  ' AS k) s ON t.c = s.k WHEN MATCHED THEN UPDATE SET v = 5")
        spark.sql("DELETE FROM t WHERE c IN (SELECT k FROM q)")
        assert sorted(map(tuple, spark.table("t").collect())) == [("ab\t  ", 5), ("ab   ", 1)]


def test_columns_that_a_statement_does_not_use_may_fail(spark: Any, days: None) -> None:
    spark.sql("CREATE TABLE q (id INT, day INT, w STRING, v STRING)")
    spark.sql("INSERT INTO q VALUES (2, 20, '1', 'x'), (3, 20, 'one', 'y')")
    source = "(SELECT *, CAST(w AS INT) AS n FROM q)"
    spark.sql(f"MERGE INTO t USING {source} s ON t.id = s.id AND t.day = s.day WHEN MATCHED THEN UPDATE SET v = s.v")
    assert [r for r in rows(spark) if r[0] == 20] == [(20, 1, "a"), (20, 2, "x"), (20, 3, "y")]


def test_the_time_is_the_one_of_the_query(spark: Any, days: None) -> None:
    """A row matches at every moment: if the values were of another moment, a new row would be inserted."""
    moment = "CAST(pmod(unix_micros(current_timestamp()) DIV 7, 2) AS INT)"
    for source in ("(SELECT 0 AS z)", f"(SELECT {moment} - {moment} AS z)"):
        for _ in range(4):
            spark.sql(
                f"MERGE INTO t USING {source} s ON t.day = 10 AND t.id = 1 + s.z + {moment} "
                "WHEN MATCHED THEN UPDATE SET v = v WHEN NOT MATCHED THEN INSERT (id, day, v) VALUES (9, 10, 'new')"
            )
    assert len(rows(spark)) == 9


def test_conditions_that_guard_others(spark: Any) -> None:
    spark.sql("CREATE TABLE t (kind STRING, txt STRING, v INT)")
    spark.sql("INSERT INTO t VALUES ('num', '1', 0), ('str', 'abc', 0)")
    spark.sql("CREATE TABLE q (n INT)")
    spark.sql("INSERT INTO q VALUES (1)")
    guard = "hash(t.kind) = hash('num')"
    spark.sql(f"MERGE INTO t USING q s ON {guard} AND CAST(t.txt AS INT) = s.n WHEN MATCHED THEN UPDATE SET v = 1")
    spark.sql(f"UPDATE t SET v = v + 1 WHERE {guard} AND CAST(txt AS INT) IN (SELECT n FROM q)")
    assert sorted(map(tuple, spark.table("t").collect())) == [("num", "1", 2), ("str", "abc", 0)]


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT id, v FROM t)",
        "(SELECT u.id, u.v FROM `t$branch_main` u JOIN VALUES (1) AS q(k) ON k < 9)",
        "(SELECT id, v FROM seen)",
    ],
)
def test_the_table_itself_is_read_with_the_statement(spark: Any, source: str) -> None:
    """If its rows were fetched before, a commit between would be lost."""
    spark.sql("CREATE TABLE t (id INT, v INT)")
    spark.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    spark.sql("CREATE VIEW seen AS SELECT id, v FROM t")
    fetched = set[str]()
    real = frames._is_apart

    def noted(*given: Any) -> bool:
        found = real(*given)
        fetched.add(str(found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "_is_apart", noted)
        spark.sql(f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v + 1")
        spark.sql("DELETE FROM t WHERE id IN (SELECT id FROM t WHERE v = 3)")
    assert fetched == {"False"}
    assert [tuple(r) for r in spark.sql("SELECT * FROM t").collect()] == [(1, 2)]


@pytest.mark.parametrize(
    "statement",
    [
        "MERGE INTO t USING s ON t.id = s.wrong WHEN MATCHED THEN UPDATE SET v = s.v",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.wrong",
        "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, wrong) VALUES (s.id, 1)",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.wrong = 1 THEN DELETE",
        "UPDATE t SET v = wrong WHERE id IN (SELECT id FROM s)",
        "UPDATE t SET wrong = 1 WHERE id IN (SELECT id FROM s)",
        "DELETE FROM t WHERE id IN (SELECT id FROM s) AND wrong = 1",
    ],
)
def test_a_wrong_name_is_an_error_before_a_query_runs(spark: Any, days: None, statement: str) -> None:
    spark.sql("CREATE TEMPORARY VIEW s AS SELECT id, raise_error('it ran') AS day, 'x' AS v FROM range(3)")
    spark.sparkContext.setJobGroup(statement, statement)
    try:
        with pytest.raises(PySparkException, match="wrong"):
            spark.sql(statement)
        assert spark.sparkContext.statusTracker().getJobIdsForGroup(statement) == []
    finally:
        spark.sparkContext._jsc.clearJobGroup()


def test_texts_that_are_not_utf8(spark: Any) -> None:
    spark.sql("CREATE TABLE t (k STRING, v INT)")
    spark.sql("INSERT INTO t VALUES (CAST(X'FF' AS STRING), 1), ('a', 2), ('\\uFFFD', 3)")
    spark.sql("CREATE TABLE q AS SELECT k FROM t WHERE v < 3")
    for condition in ("k = CAST(X'FF' AS STRING)", "k IN (CAST(X'FF' AS STRING), 'b')"):
        assert [r.v for r in spark.sql(f"SELECT v FROM t WHERE {condition}").collect()] == [1]
    spark.sql("MERGE INTO t USING q ON t.k = q.k WHEN MATCHED THEN UPDATE SET v = v + 10")
    assert sorted(r.v for r in spark.table("t").collect()) == [3, 11, 12]
    spark.sql("DELETE FROM t WHERE k IN (SELECT k FROM q)")
    assert [r.v for r in spark.table("t").collect()] == [3]


def test_expressions_that_only_a_query_evaluates(spark: Any, days: None) -> None:
    source = "(SELECT * FROM VALUES (2, 20, 'x'), (3, NULL, 'y') AS q(id, day, v))"
    for condition in ("t.day = nvl(s.day, 30) AND t.id = s.id", "t.day = s.day + (SELECT 0) AND t.id = s.id"):
        spark.sql(f"MERGE INTO t USING {source} s ON {condition} WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.v)")
    assert [r for r in rows(spark) if len(r[2]) > 1] == [(20, 2, "bxx"), (30, 3, "cy")]


def test_wide_rows_are_not_fetched(spark: Any, days: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics do not know how long texts are."""
    monkeypatch.setattr(frames, "_SMALL_BYTES", 1_000)
    source = "(SELECT CAST(id AS INT) AS id, 20 AS day, repeat('x', 900) AS v FROM range(1, 4))"
    spark.sql(f"MERGE INTO t USING {source} s ON t.id = s.id AND t.day = s.day {UPDATED}")
    assert {len(r[2]) for r in rows(spark) if r[0] == 20} == {900}


def test_chance_is_evaluated_once(spark: Any, days: None) -> None:
    """The rows that narrow the table are those that are joined, also if a second evaluation would give others."""
    for _ in range(5):
        source = "(SELECT CAST(1 + 3 * rand() AS INT) AS id, 10 AS day, uuid() AS v)"
        spark.sql(f"MERGE INTO t USING {source} s ON t.id = s.id AND t.day = s.day {UPDATED}")
    assert [r[:2] for r in rows(spark)] == [(day, i) for day in (10, 20, 30) for i in (1, 2, 3)]
