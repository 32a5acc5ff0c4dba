"""Threads of Paimon's own API that commit rows to `default.t` (k INT, v STRING), and one that compacts it, until the
warehouse has a file `stop`.

    ORACLES=FOLDER ORACLE_PYTHON java_commits.py WAREHOUSE THREADS

Prints {"ready": true}, and in the end {"acknowledged": [keys], "failed": how many, "compactions": how many …}.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, os.environ["ORACLES"])
from java_sql import session


def work(spark: Any, catalog: Any, number: int, warehouse: str, acknowledged: list[int], failed: list[str]) -> None:
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    table = catalog.getTable(jvm.org.apache.paimon.catalog.Identifier.create("default", "t"))
    key = 1_000_000_000 + number * 10_000_000
    while not Path(warehouse, "stop").exists():
        key += 1
        builder = jvm.org.apache.paimon.table.sink.BatchWriteBuilderImpl(table)
        write, commit = builder.newWrite(), builder.newCommit()
        try:
            row = gateway.new_array(jvm.java.lang.Object, 2)
            row[0] = key
            write.write(jvm.org.apache.paimon.data.GenericRow.of(row))
            commit.commit(write.prepareCommit())
            acknowledged.append(key)
        except Exception as error:  # what Java could not commit
            failed.append(str(error))
        finally:
            write.close()
            commit.close()


def keep_compacting(spark: Any, warehouse: str, times: dict[str, int]) -> None:
    while not Path(warehouse, "stop").exists():
        try:
            spark.sql("CALL sys.compact(table => 'default.t')").collect()
            times["compactions"] += 1
        except Exception:  # what Java could not commit
            times["failed compactions"] += 1
        time.sleep(1)


def main() -> None:
    warehouse, threads = sys.argv[1], int(sys.argv[2])
    spark, acknowledged, failed = session(warehouse, []), list[int](), list[str]()
    # threads have no active session, where Spark looks for the settings of catalogs
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog("paimon").paimonCatalog()
    given = (warehouse, acknowledged, failed)
    pool = [threading.Thread(target=work, args=(spark, catalog, n, *given)) for n in range(threads)]
    times = {"compactions": 0, "failed compactions": 0}
    pool.append(threading.Thread(target=keep_compacting, args=(spark, warehouse, times)))
    print(json.dumps({"ready": True}), flush=True)
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    print(json.dumps({"acknowledged": acknowledged, "failed": len(failed)} | times), flush=True)


if __name__ == "__main__":
    main()
