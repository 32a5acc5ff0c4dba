"""Tables in Python beside Spark: conditions keep the same rows, and each reads what the other wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from paimon_core.errors import SeveralMatchesError
from paimon_sql import open_catalog
from tests.unit.python.test_where import KEPT, PADDED, ROWS

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


_TERMS = {
    "number": (("n", "a", "t", "f", "d", "e"), ("0", "1", "-7", "2", "1.5", "-2.25", "0.1D", "NULL", "a + 1", "n * 2")),
    "text": (("s", "Text"), ("'a_b'", "'x%'", "'Äß'", "' 7 '", "''", "NULL", "lower(s)", "concat(s, 'x')")),
    "moment": (("day", "ts", "z"), ("DATE '2024-01-02'", "TIMESTAMP '2024-01-01 02:00:00'", "NULL", "ts", "day")),
}

_ELEMENTS = (
    ("tags", "'x'", "'z'", "s"),
    ("few", "300", "100000", "t"),
    ("numbers", "0.0D", "DOUBLE('NaN')", "f"),
    ("days", "DATE '2024-01-02'", "DATE '2024-01-01'", "day"),
)
_OF_ARRAYS = (
    "array_contains({0}, {1})",
    "array_contains({0}, {3})",
    "arrays_overlap({0}, array({1}, {2}))",
    "arrays_overlap(array({2}, NULL), {0})",
)


@st.composite
def _comparisons(draw: st.DrawFn) -> str:
    columns, constants = _TERMS[draw(st.sampled_from(list(_TERMS)))]
    column, one, other = draw(st.sampled_from(columns)), *(draw(st.sampled_from(constants)) for _ in range(2))
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(_OF_ARRAYS)).format(*draw(st.sampled_from(_ELEMENTS)))
    forms = ("{0} {3} {1}", "{0} IN ({1}, {2})", "{0} BETWEEN {1} AND {2}", "{0} IS NULL", "{0} NOT IN ({1})")
    form, operator = draw(st.sampled_from(forms)), draw(st.sampled_from(("=", "<>", "<", "<=", ">", ">=", "<=>")))
    return form.format(column, one, other, operator)


_CONDITIONS = st.recursive(
    _comparisons(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(("AND", "OR")), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"(NOT {text})"),
    ),
    max_leaves=4,
)


def test_generated_conditions_keep_the_rows_that_spark_keeps(spark: Any, tmp_path: Path) -> None:
    """Of a table with a file for each row, so that files are pruned, too; one query asks Spark for all conditions."""
    table = open_catalog(str(tmp_path / "lake"), time_zone="UTC").create_table("default.t", ROWS.schema)
    for i in range(ROWS.num_rows):
        table.append(pa.Table.from_batches([ROWS.slice(i, 1)]))
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    texts: set[str] = set()

    @seed(37)
    @settings(max_examples=150, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_CONDITIONS)
    def collect(text: str) -> None:
        texts.add(text)

    collect()
    chosen = sorted(texts)
    rows = spark.table(f"paimon_path.`{table.location}`").selectExpr("n", *(f"({text})" for text in chosen)).collect()
    wrong = []
    for i, text in enumerate(chosen, 1):
        by_spark = sorted(row[0] for row in rows if row[i])
        scan = table.scan(["n"], where=text)
        here = sorted(scan.to_arrow()["n"].to_pylist())
        if here != by_spark or scan.count() != len(by_spark):
            wrong.append(f"{text}: {here}, Spark {by_spark}")
    assert len(chosen) > 100 and wrong == []


def test_char_and_nan_are_compared_as_in_spark(spark: Any, warehouse: str) -> None:
    spark.sql("CREATE TABLE chars (id INT, n CHAR(4), o CHAR(6), x DOUBLE)")
    spark.sql(
        "INSERT INTO chars VALUES (1, 'ab', 'ab', double('NaN')), (2, 'ab  ', ' ab', 0.5D), "
        "(3, '', 'abcdef', double('-Infinity')), (4, NULL, NULL, NULL), (5, 'b', 'b', 0.0D)"
    )
    table = open_catalog(warehouse).table("default.chars")
    casts = ("CAST(x AS DECIMAL(5, 2)) IS NULL", "CAST(x AS DECIMAL(5, 2)) < 1")
    for text in (*(text for text, _ in PADDED), "n = o", "n < o", "o IN ('ab', 'b')", *casts):
        by_spark = sorted(row[0] for row in spark.sql(f"SELECT id FROM chars WHERE {text}").collect())
        assert (text, sorted(table.scan(["id"], where=text).to_arrow()["id"].to_pylist())) == (text, by_spark)


TWICE: tuple[
    tuple[str, dict[str, Any]], ...
] = (  # clauses in SQL and in Python, for two source rows (5 and 6) of one row
    ("MATCHED THEN UPDATE SET v = s.v", {"when_matched": {"v": "source.v"}}),
    ("MATCHED AND s.v > 5 THEN UPDATE SET v = s.v", {"when_matched": ("source.v > 5", {"v": "source.v"})}),
    ("MATCHED THEN DELETE", {"when_matched": "delete"}),
    ("MATCHED AND s.v > 5 THEN DELETE", {"when_matched": ("source.v > 5", "delete")}),
    ("MATCHED AND s.v > 0 THEN DELETE", {"when_matched": ("source.v > 0", "delete")}),
    (
        "MATCHED AND s.v > 5 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v",
        {"when_matched": [("source.v > 5", "delete"), {"v": "source.v"}]},
    ),
)


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (k) NOT ENFORCED"])
def test_two_source_rows_of_one_row_are_taken_or_refused_as_in_sql(spark: Any, warehouse: str, key: str) -> None:
    source = pa.table({"k": pa.array([1, 1], pa.int32()), "v": pa.array([5, 6], pa.int32())})
    outcomes = []
    for i, (sql, clauses) in enumerate(TWICE):
        found = []
        for name in (f"sql{i}", f"python{i}"):
            spark.sql(f"CREATE TABLE {name} (k INT, v INT{key}) TBLPROPERTIES ('write-only' = 'true')")
            spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
            table = open_catalog(warehouse).table(f"default.{name}")
            try:
                if name.startswith("sql"):
                    rows = "(SELECT 1 AS k, explode(array(5, 6)) AS v)"
                    spark.sql(f"MERGE INTO {name} t USING {rows} s ON t.k = s.k WHEN {sql}")
                else:
                    table.merge(source, on="k", **clauses)
                failed = False
            except (SeveralMatchesError, PySparkException) as e:
                assert "several source rows match" in str(e)
                failed = True
            found.append((failed, table.scan().to_arrow().sort_by("k").to_pylist()))
        assert (sql, found[0]) == (sql, found[1])
        outcomes.append(found[0][0])
    assert outcomes == [True, False, False, False, True, True]


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
