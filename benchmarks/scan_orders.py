"""Joins of tables that are read in the order of their keys, and samples of files.

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
