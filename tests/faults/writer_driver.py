"""A driver with one streaming query into a table, which is killed (SIGKILL) before a file operation of its epochs.

    python -m tests.faults.writer_driver OPTIONS FOLDER KIND KILL_AT

OPTIONS are the catalog's options, as JSON. It prints the number of file operations if it was not killed; 0
kills nothing. It leads a process group.
"""

from __future__ import annotations

import json
import os
import sys

import paimon_sql
from tests.faults.counted_operations import Operations

TABLES = {
    "append": "k INT, v INT",
    "aggregation": "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
    "dynamic": "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
    "postponed": "k INT NOT NULL, v INT, PRIMARY KEY (k) NOT ENFORCED",
}
_SUMS = "'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum'"
OPTIONS = {
    "append": "'bucket' = '-1'",
    "aggregation": f"'bucket' = '1', 'num-sorted-run.compaction-trigger' = '2', {_SUMS}",
    "dynamic": f"'bucket' = '-1', {_SUMS}",
    "postponed": f"'bucket' = '-2', {_SUMS}",
}


def main(options: dict[str, str], folder: str, kind: str, kill_at: int) -> None:
    checkpoint, counter = f"{folder}/checkpoint", f"{folder}/operations"
    operations = Operations(counter, kill_at, os.getpgrp())
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
    spark = paimon_sql.connect(**options, **settings, **operations.of_workers())
    spark.sql(f"CREATE TABLE IF NOT EXISTS t ({TABLES[kind]}) TBLPROPERTIES ({OPTIONS[kind]})")
    rows = spark.readStream.schema("k INT, v INT").option("maxFilesPerTrigger", "1").json(f"{folder}/source")
    writer = rows.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    operations.of_this_process()
    operations.of_folders(f"{checkpoint}/{name}" for name in ("offsets", "commits"))
    open(counter, "wb").close()
    writer.toTable("t").awaitTermination()
    print(operations.count, flush=True)  # what the parent reads


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4]))
