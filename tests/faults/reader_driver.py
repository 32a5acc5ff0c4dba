"""A Spark driver that follows a table until it is killed, or has read all: WAREHOUSE CHECKPOINT SINK FILES_PER_BATCH.

Its sink are Parquet files, which Spark writes exactly once; in the end it prints their rows as JSON.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import paimon_sql
from tests.support.quick_jvm import QUICK_JVM


def follow(warehouse: str, checkpoint: str, sink: str, files: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", QUICK_JVM).config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    spark = builder.config("spark.sql.catalog.paimon.warehouse", warehouse).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    paimon_sql.install(spark)
    options = {"read.stream.maxFilesPerTrigger": files, "scan.snapshot-id": "1", "consumer-id": "driver"}
    options["read.changelog"] = "true"
    changes = spark.readStream.options(**options).table("paimon.default.t")
    query = changes.writeStream.format("parquet").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    query.start(sink).awaitTermination()
    print(json.dumps(sorted(map(list, spark.read.parquet(sink).collect()))))  # what the parent reads


if __name__ == "__main__":
    follow(*sys.argv[1:])
