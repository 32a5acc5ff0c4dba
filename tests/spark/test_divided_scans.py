"""Scans with a part that Spark reads itself, as its files need no merge: queries return the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from paimon_core.scan import execution

pytestmark = pytest.mark.spark

# each reads `t` as it is named here, and returns its rows in an order
QUERIES = (
    "SELECT * FROM t ORDER BY p, k",
    "SELECT v, k FROM t WHERE k % 7 = 3 AND v LIKE 'v%' ORDER BY k, v",
    "SELECT p, count(*), sum(n), min(v) FROM t GROUP BY p ORDER BY p",
    "SELECT k, sum(n) OVER (PARTITION BY k ORDER BY p) AS s FROM t WHERE k < 30 ORDER BY k, s",
    "SELECT count(DISTINCT v), max(s.a) FROM t WHERE n > 5",
    "SELECT * FROM t WHERE k > (SELECT avg(k) FROM t) ORDER BY p, k",
    "SELECT * FROM t WHERE p IN (SELECT p FROM days WHERE name = 'one') ORDER BY k",
    "SELECT days.name, t.k, t.n FROM t JOIN days ON t.p = days.p WHERE days.name <> 'two' ORDER BY 1, 2",
    "SELECT a.k, a.n + b.n FROM t a JOIN t b ON a.k = b.k AND a.p = b.p ORDER BY a.p, a.k",
    "SELECT k FROM t UNION ALL SELECT n FROM t ORDER BY 1",
    "WITH c AS (SELECT k, n FROM t WHERE n % 2 = 0) SELECT c.k, d.n FROM c JOIN c d ON c.k = d.n ORDER BY 1, 2",
    "SELECT s.b, tags[0], m['x'] FROM t WHERE s.a >= 10 ORDER BY p, k",
    "SELECT upper(v), k + n FROM t WHERE rand() < 2 ORDER BY k, p",
    "SELECT count(*) FROM (SELECT k FROM t LIMIT 25)",
    "SELECT count(*) FROM (SELECT DISTINCT monotonically_increasing_id() FROM t)",
)
NESTED = "named_struct('a', int(id), 'b', concat('b', id)), array(concat('t', id)), map('x', id)"


@pytest.fixture(scope="module")
def of_any_size() -> Iterator[None]:
    """Divide small scans, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "_LEAST_DIVIDED", 1)
        yield


@pytest.fixture(params=["fixed buckets", "dynamic buckets", "deletion vectors", "without a key"])
def table(spark: Any, of_any_size: None, request: Any) -> Any:
    """Make a table `t` of compacted partitions with newer rows in one of them, and a table `days` of partitions."""
    options = {
        "fixed buckets": "'primary-key' = 'p,k', 'bucket' = '2', 'bucket-key' = 'k', 'write-only' = 'true'",
        "dynamic buckets": "'primary-key' = 'p,k', 'write-only' = 'true'",
        "deletion vectors": "'primary-key' = 'p,k', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
        "without a key": "'deletion-vectors.enabled' = 'true'",
    }[request.param]
    spark.sql(
        "CREATE TABLE t (p INT, k BIGINT, n BIGINT, v STRING, s STRUCT<a: INT, b: STRING>, tags ARRAY<STRING>, "
        f"m MAP<STRING, BIGINT>) PARTITIONED BY (p) TBLPROPERTIES ({options})"
    )
    spark.sql(f"INSERT INTO t SELECT int(id % 3), id, id % 11, concat('v', id % 5), {NESTED} FROM range(90)")
    if "key" not in request.param:
        spark.sql("CALL sys.compact(table => 't')")
    if request.param == "fixed buckets" or request.param == "dynamic buckets":
        spark.sql(f"INSERT INTO t SELECT 1, id, 100, 'newer', {NESTED} FROM range(40, 50)")
    else:
        spark.sql("DELETE FROM t WHERE p = 1 AND k BETWEEN 40 AND 49")
    spark.sql("CREATE TABLE days (p INT, name STRING)")
    spark.sql("INSERT INTO days VALUES (0, 'zero'), (1, 'one'), (2, 'two')")
    return spark


def plan_of(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.mark.parametrize("part", [0, 1])
def test_queries_return_what_workers_return_alone(table: Any, part: int) -> None:
    assert all(f"PaimonScan[{kind}]" in plan_of(table.sql("SELECT * FROM t")) for kind in ("raw", "merge"))
    found, unions = [], 0
    for query in QUERIES[part::2]:
        frame = table.sql(query)
        plan = plan_of(frame)
        unions += "Union" in plan and "PaimonScan[raw]" in plan
        found.append(frame.collect())
    table.conf.set("spark.paimon.scan.ignore-lost-files", "true")  # only workers read tables with this option
    try:
        for query, rows in zip(QUERIES[part::2], found, strict=True):
            alone = table.sql(query)
            assert "PaimonScan[raw]" not in plan_of(alone), query
            assert rows == alone.collect(), query
    finally:
        table.conf.unset("spark.paimon.scan.ignore-lost-files")
    assert unions >= 4
