"""Random queries on tables of ours and on a Parquet copy: the answers are equal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

PARTS = 4  # the gate has one of the queries' parts
COLUMNS = (
    "k INT, i INT, f DOUBLE, s STRING, d DATE, ts TIMESTAMP, dec DECIMAL(10, 2), b BOOLEAN,"
    " st STRUCT<x: INT, y: STRING>, ar ARRAY<INT>, m MAP<STRING, INT>, p STRING"
)
VALUES = {
    "i": ("NULL", "-1", "0", "7", "2147483647"),
    "f": ("NULL", "double('NaN')", "-0.0D", "0.0D", "1.5D", "double('-Infinity')"),
    "s": ("NULL", "''", "'a'", "'ab'", "'ü漢'", "'a%_'"),
    "d": ("NULL", "date'1969-12-31'", "date'2024-02-29'", "date'1582-10-15'"),
    "ts": ("NULL", "timestamp'1969-12-31 23:59:59.999999'", "timestamp'2024-03-10 02:30:00'"),
    "dec": ("NULL", "-0.01BD", "0.00BD", "99999999.99BD"),
    "b": ("NULL", "true", "false"),
    "st": ("NULL", "named_struct('x', 1, 'y', 'a')", "named_struct('x', INT(NULL), 'y', '')"),
    "ar": ("NULL", "CAST(array() AS ARRAY<INT>)", "array(1, NULL)", "array(7)"),
    "m": ("NULL", "CAST(map() AS MAP<STRING, INT>)", "map('a', 1)", "map('a', INT(NULL))"),
    "p": ("NULL", "'x'", "'y'", "'ü/=%'"),
}
COMPARED = ("i", "f", "s", "d", "ts", "dec", "p")
NESTED = (
    "st.x = 1",
    "st.y = ''",
    "st IS NULL",
    "get(ar, 0) = 7",
    "size(ar) = 0",
    "m['a'] IS NULL",
    "exists(ar, x -> x > 1)",
)
AGGREGATES = ("count({c})", "min({c})", "max({c})", "count(DISTINCT {c})")


def _condition(rng: random.Random, depth: int = 2) -> str:
    if depth and rng.random() < 0.6:
        parts = [_condition(rng, depth - 1) for _ in range(2)]
        return rng.choice(("({} AND {})", "({} OR {})", "(NOT {} OR {})")).format(*parts)
    column = rng.choice(COMPARED)
    value, other = rng.choice(VALUES[column]), rng.choice(VALUES[column])
    return rng.choice(
        (
            f"{column} {rng.choice(('=', '<>', '<', '<=', '>', '>=', '<=>'))} {value}",
            f"{value} {rng.choice(('=', '<', '<=>'))} {column}",
            f"{column} IN ({value}, {other})",
            f"{column} IS {rng.choice(('', 'NOT '))}NULL",
            f"{column} BETWEEN {value} AND {other}",
            rng.choice(("s LIKE 'a%'", "startswith(p, 'ü')", "k % 3 = 1", "b", "NOT b", *NESTED)),
        )
    )


def _queries(rng: random.Random) -> Iterator[str]:
    """Statements over {t}; each asks many things at once."""
    conditions = [_condition(rng) for _ in range(24)]
    yield " UNION ALL ".join(f"SELECT {n}, k FROM {{t}} WHERE {c}" for n, c in enumerate(conditions))
    chosen = [f.format(c=c) for c in (*COMPARED, "b") for f in AGGREGATES]
    yield f"SELECT {', '.join(chosen)}, count(*) FROM {{t}}"
    yield "SELECT p, count(*), min(i), max(d), count(i), max(p) FROM {t} GROUP BY p"
    yield " UNION ALL ".join(
        f"SELECT {n}, p, count(*), max(i) FROM {{t}} WHERE {c} GROUP BY p"
        for n, c in enumerate(("p <=> NULL", "p IN ('x', 'y')", "NOT p = 'x'", "p > 'x' OR p IS NULL"))
    )
    yield "SELECT a.k, c.k FROM {t} a JOIN {t} c ON a.p = c.p AND a.i <=> c.i WHERE a.k < 20 AND c.s = 'a'"
    yield "SELECT a.k FROM {t} a LEFT ANTI JOIN {t} c ON a.i = c.i AND c.f > 0 WHERE a.p IS NOT NULL"
    orders = [f"{c} {o}, k" for c in COMPARED for o in rng.sample(("ASC", "DESC", "ASC NULLS LAST"), 2)]
    for order in rng.sample(orders, 5):
        yield f"SELECT k FROM {{t}} ORDER BY {order} LIMIT {rng.randint(1, 20)}"
    yield "SELECT k, st, ar, m, f, ts FROM {t}"


def _rows(rng: random.Random, first: int, count: int) -> str:
    rows = (", ".join((str(first + n), *(rng.choice(v) for v in VALUES.values()))) for n in range(count))
    return ", ".join(f"({row})" for row in rows)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("seed", [20, 24])
def test_answers_are_equal(spark: Any, tmp_path: Path, seed: int, part: int) -> None:
    rng = random.Random(seed)
    spark.sql(f"CREATE TABLE appended ({COLUMNS}) PARTITIONED BY (p)")
    spark.sql(
        f"CREATE TABLE keyed ({COLUMNS}) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2', 'write-only' = 'true')"
    )
    spark.sql(f"INSERT INTO keyed VALUES {_rows(rng, 30, 30)}")
    for first in (0, 40):
        rows = _rows(rng, first, 40)
        for table in ("appended", "keyed"):
            spark.sql(f"INSERT INTO {table} VALUES {rows}")
    spark.table("appended").write.parquet(str(tmp_path / "copy"))
    spark.read.parquet(str(tmp_path / "copy")).createOrReplaceTempView("copy")
    for query in islice(_queries(rng), part, None, PARTS):
        expected, *found = (
            sorted(map(str, spark.sql(query.format(t=t)).collect())) for t in ("copy", "appended", "keyed")
        )
        assert found == [expected, expected], query
