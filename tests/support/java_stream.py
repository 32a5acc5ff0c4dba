"""Streaming queries of Paimon's Java connector, run one after the other by its own Python.

    java_stream.py ORACLES WAREHOUSE

Each line of its input is a query as JSON, which reads the available rows (AvailableNow) and ends:

    {"table": NAME, "checkpoint": FOLDER, "options": {…}}     reads a table: its rows
    {… "folder": FOLDER, "columns": DDL}                      reads Parquet files instead of a table, one in each epoch
    {… "noop": true}                                          counts the rows only
    {… "into": PATH, "mode": "append"}                        writes them to the table there

Prints {"ready": true}, and a line of JSON for each query: {"rows": […], "count": …, "seconds": …, "epochs": [seconds of
each]}, or {"error": …}. `serve` does the same with any session, including ours.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def run(spark: Any, query: dict[str, Any], settle: Callable[[], None]) -> dict[str, Any]:
    rows: list[Any] = []
    started = time.perf_counter()
    writer = _read(spark, query).writeStream.outputMode(query.get("mode", "append"))
    writer = writer.option("checkpointLocation", query["checkpoint"]).trigger(availableNow=True)
    try:
        if "into" in query:
            running = writer.format("paimon").start(query["into"])
        elif query.get("noop"):
            running = writer.format("noop").start()
        else:
            running = writer.foreachBatch(lambda batch, _: rows.extend(map(list, batch.collect()))).start()
        running.awaitTermination()
        settle()
    except Exception as e:  # every failure of a query is an answer
        return {"error": str(e)[:2000]}
    seconds, progress = time.perf_counter() - started, [p for p in running.recentProgress if p.numInputRows]
    epochs = [p.durationMs["triggerExecution"] / 1000 for p in progress]
    return {"rows": sorted(rows), "count": sum(p.numInputRows for p in progress), "seconds": seconds, "epochs": epochs}


def _read(spark: Any, query: dict[str, Any]) -> Any:
    reader = spark.readStream.options(**query.get("options", {}))
    if "folder" in query:
        return reader.schema(query["columns"]).option("maxFilesPerTrigger", 1).parquet(query["folder"])
    return reader.table(query["table"])


def serve(spark: Any, settle: Callable[[], None] = lambda: None) -> None:
    """Answer the queries of the standard input. `settle` waits for the work that a query leaves, as part of
    the query.
    """
    spark.range(1000).write.format("noop").mode("overwrite").save()  # warm up: load classes, start workers
    print(json.dumps({"ready": True}), flush=True)  # what the parent reads
    for line in sys.stdin:
        print(json.dumps(run(spark, json.loads(line), settle)), flush=True)


def main(oracles: str, warehouse: str) -> None:
    sys.path.insert(0, oracles)
    from java_sql import session  # noqa: PLC0415  beside the connector

    serve(session(warehouse, []))


if __name__ == "__main__":
    main(*sys.argv[1:])
