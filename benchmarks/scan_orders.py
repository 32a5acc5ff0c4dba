"""Joins of tables that are read in the order of their keys, the first rows in an order, LIMIT, and samples of files.

    scan_orders.py [--rows 4000000] [--buckets 8] [--rounds 3]

Prints the seconds of each query, the least of some rounds in turns, with what the scan offers and without it.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from pyspark.sql import SparkSession

import paimon_sql

BY_BUCKET = "spark.sql.sources.v2.bucketing.enabled"
JOIN = "SELECT /*+ MERGE(r) */ l.id, l.s, r.s FROM {0} l JOIN {1} r ON l.id = r.id"
# a query, and another query with the same answer: Spark sorts for it, or reads all rows
QUERIES = {
    "join by bucket": (JOIN.format("a", "b"), JOIN.format("sorted_a", "sorted_b")),
    "first by key": ("SELECT * FROM merged ORDER BY id LIMIT 10", "SELECT * FROM merged ORDER BY abs(id) LIMIT 10"),
    "first by partition": (
        "SELECT * FROM merged ORDER BY part DESC LIMIT 10",
        "SELECT * FROM merged ORDER BY abs(part) DESC LIMIT 10",
    ),
    "first by statistics": (
        "SELECT * FROM plain ORDER BY part DESC LIMIT 10",
        "SELECT * FROM plain ORDER BY abs(part) DESC LIMIT 10",
    ),
    "first by btree": ("SELECT * FROM indexed ORDER BY v LIMIT 10", "SELECT * FROM indexed ORDER BY abs(v) LIMIT 10"),
    "LIMIT": (
        "SELECT max(v) FROM (SELECT v FROM merged LIMIT 1000)",
        "SELECT max(v) FROM (SELECT v FROM merged WHERE id >= 0 LIMIT 1000)",
    ),
    "sample of files": (
        "SELECT avg(v) FROM plain TABLESAMPLE SYSTEM (10 PERCENT)",
        "SELECT avg(v) FROM plain TABLESAMPLE (10 PERCENT)",
    ),
}


def make_tables(spark: SparkSession, rows: int, buckets: int) -> None:
    """Make tables with the key `id`, and tables with a column before it: these are not in the order of `id`."""
    columns = "g INT, id BIGINT, s STRING, v DOUBLE"
    made = f"SELECT int(0) AS g, id, md5(string(id)), rand(1) FROM range({rows})"
    for name in ("a", "b", "sorted_a", "sorted_b"):
        key = "g,id" if name.startswith("sorted") else "id"
        spark.sql(
            f"CREATE TABLE {name} ({columns}) TBLPROPERTIES ('primary-key' = '{key}', 'bucket' = '{buckets}', "
            "'bucket-key' = 'id', 'write-only' = 'true')"
        )
        spark.sql(f"INSERT INTO {name} {made}")
        spark.sql(f"CALL sys.compact(table => '{name}', compact_strategy => 'full')")
    spark.sql(
        f"CREATE TABLE merged ({columns}, part INT) PARTITIONED BY (part) TBLPROPERTIES ('primary-key' = 'id,part', "
        "'bucket' = '1', 'write-only' = 'true')"
    )
    for _ in range(2):
        spark.sql(f"INSERT INTO merged SELECT *, int(id % 4) FROM ({made})")
    evolving = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
    spark.sql(f"CREATE TABLE indexed (g INT, id BIGINT, s STRING, v BIGINT) TBLPROPERTIES ({evolving})")
    each = rows // 10
    for part in range(10):  # each file has a great value, so that statistics do not decide
        value = f"id + {part * each} + IF(id = 9, {rows}, 0)"
        spark.sql(f"INSERT INTO indexed SELECT /*+ COALESCE(1) */ 0, id, md5(string(id)), {value} FROM range({each})")
    spark.sql("CALL sys.create_global_index(table => 'indexed', index_column => 'v', index_type => 'btree')")
    spark.sql(f"CREATE TABLE plain ({columns}, part INT) PARTITIONED BY (part)")
    spark.sql(f"INSERT INTO plain SELECT *, int(id % 50) FROM ({made})")


def seconds(spark: SparkSession, query: str) -> float:
    started = time.perf_counter()
    spark.sql(query).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--buckets", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as warehouse:
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
        spark = paimon_sql.connect(warehouse, **settings)
        spark.conf.set(BY_BUCKET, "true")
        make_tables(spark, args.rows, args.buckets)
        best: dict[tuple[str, int], float] = {}
        for _ in range(args.rounds):
            for name, ways in QUERIES.items():
                for way, query in enumerate(ways):
                    took = seconds(spark, query)
                    best[name, way] = min(took, best.get((name, way), took))
        for name in QUERIES:
            given, without = best[name, 0], best[name, 1]
            print(f"{name:18} {given:6.2f} s, without {without:6.2f} s ({without / given:.2f} x)")
        spark.stop()


if __name__ == "__main__":
    main()
