"""Runs statements on tables of Delta, Iceberg and ours in one session, and prints the rows or the error of each."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import paimon_sql

EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def main(folder: str, jars: str, order: str, file: str) -> None:
    settings = {
        "spark.ui.enabled": "false",
        "spark.jars": jars,
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",  # tasks of VACUUM, 10,000 otherwise
        "spark.sql.extensions": ",".join(EXTENSIONS[name] for name in order.split("-")),
        "spark.sql.warehouse.dir": f"{folder}/delta",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{folder}/iceberg",
    }
    spark = paimon_sql.connect(warehouse=f"{folder}/paimon", **settings)
    for statement in json.loads(Path(file).read_text()):
        try:
            frame = spark.sql(statement)
            found = [[str(value) for value in row] for row in frame.collect()] if frame.columns else []
        except Exception as error:
            found = [["error", str(error)[:500]]]
        print(json.dumps([statement, found]), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
