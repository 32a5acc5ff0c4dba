"""A streaming query of Paimon's Java connector, run by its own Python.

    java_stream.py ORACLES WAREHOUSE TABLE CHECKPOINT OPTIONS [noop [RUNS]]

Reads what there is (AvailableNow) and prints {"rows": […], "count": …, "seconds": …}; to `noop` it only counts them.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def follow(
    oracles: str, warehouse: str, table: str, checkpoint: str, options: str, sink: str = "", runs: str = "1"
) -> dict[str, Any]:
    """Of several runs, each with a checkpoint of its own, the fastest."""
    sys.path.insert(0, oracles)
    from java_sql import session  # noqa: PLC0415  beside the connector

    spark = session(warehouse, [])
    if sink:  # classes are loaded, workers run
        spark.range(1000).write.format("noop").mode("overwrite").save()
    found = [_run(spark, table, checkpoint + str(number or ""), options, sink) for number in range(int(runs))]
    return min(found, key=lambda run: run["seconds"])


def _run(spark: Any, table: str, checkpoint: str, options: str, sink: str) -> dict[str, Any]:
    rows: list[Any] = []
    started = time.perf_counter()
    writer = spark.readStream.options(**json.loads(options)).table(table).writeStream
    if sink:
        writer = writer.format(sink)
    else:
        writer = writer.foreachBatch(lambda batch, _: rows.extend(map(list, batch.collect())))
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    seconds = time.perf_counter() - started
    count = sum(p.numInputRows for p in query.recentProgress)
    return {"rows": sorted(rows), "count": count, "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(follow(*sys.argv[1:])))  # noqa: T201  what the parent reads
