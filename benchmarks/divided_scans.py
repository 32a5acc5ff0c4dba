"""Reads of a table with many compacted buckets and a few buckets with newer rows.

    divided_scans.py [--rows 4000000] [--buckets 50] [--fresh 2] [--rounds 3]

Prints the seconds of each query, the least of some rounds in turns: of this table, of the same table read by workers
alone, and of the same table fully compacted, which is the floor.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from pyspark.sql import SparkSession

import paimon_sql

COLUMNS = "bucket_of INT, id BIGINT, a INT, b DOUBLE, s STRING"
ROWS = (
    "int(id % {buckets}) AS bucket_of, id, int(hash(id, 1)) AS a, rand(1) AS b, md5(string(id)) AS s FROM range({rows})"
)
QUERIES = {
    "all columns": "SELECT * FROM {}",
    "filtered": "SELECT id, s FROM {} WHERE a > 0 AND s LIKE '1%'",
    "grouped by a function": "SELECT substr(s, 1, 2), count(*), max(b) FROM {} GROUP BY 1",
}
ALONE = "spark.paimon.scan.ignore-lost-files"  # with this option, Spark's own reader is not used


def make_tables(spark: SparkSession, rows: int, buckets: int, fresh: int) -> None:
    for name in ("fresh", "compacted"):
        spark.sql(
            f"CREATE TABLE {name} ({COLUMNS}) PARTITIONED BY (bucket_of) "
            "TBLPROPERTIES ('primary-key' = 'bucket_of,id', 'bucket' = '1', 'write-only' = 'true')"
        )
        spark.sql(f"INSERT INTO {name} SELECT {ROWS.format(buckets=buckets, rows=rows)}")
    newer = ROWS.format(buckets=buckets, rows=rows) + f" WHERE id % {buckets} < {fresh} AND id % 10 = 0"
    spark.sql("CALL sys.compact(table => 'fresh', compact_strategy => 'full')")
    for name in ("fresh", "compacted"):
        spark.sql(f"INSERT INTO {name} SELECT {newer}")
    spark.sql("CALL sys.compact(table => 'compacted', compact_strategy => 'full')")


def seconds(spark: SparkSession, query: str) -> float:
    started = time.perf_counter()
    spark.sql(query).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--buckets", type=int, default=50)
    parser.add_argument("--fresh", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as warehouse:
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
        spark = paimon_sql.connect(warehouse, **settings)
        make_tables(spark, args.rows, args.buckets, args.fresh)
        best: dict[tuple[str, str], float] = {}
        for _ in range(args.rounds):
            for name, query in QUERIES.items():
                for way, table in (("divided", "fresh"), ("alone", "fresh"), ("floor", "compacted")):
                    spark.conf.set(ALONE, str(way == "alone").lower())
                    took = seconds(spark, query.format(table))
                    best[name, way] = min(took, best.get((name, way), took))
        for name in QUERIES:
            divided, alone, floor = (best[name, way] for way in ("divided", "alone", "floor"))
            print(
                f"{name:24} {divided:6.2f} s, by workers alone {alone:6.2f} s ({alone / divided:.2f} x), "
                f"compacted {floor:6.2f} s ({floor / divided:.2f} x)"
            )
        spark.stop()


if __name__ == "__main__":
    main()
