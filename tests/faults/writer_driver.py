"""A driver with one streaming query into a table, which kills itself (SIGKILL) before a file operation of its epochs.

    python -m tests.faults.writer_driver WAREHOUSE FOLDER KIND KILL_AT

prints how many file operations there were where it was not killed; 0 kills nothing.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import paimon_sql
from tests.support.killing import CHANGES

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


class Operations:
    """Counts what changes files in this process, and kills it before one of them."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at, self.count = kill_at, 0
        for name in CHANGES:
            setattr(os, name, self._counted(getattr(os, name)))

    def _counted(self, system_call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            if self.count == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return system_call(*arguments, **named)

        return counted


def main(warehouse: str, folder: str, kind: str, kill_at: int) -> None:
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
    spark = paimon_sql.connect(warehouse, **settings)
    spark.sql(f"CREATE TABLE IF NOT EXISTS t ({TABLES[kind]}) TBLPROPERTIES ({OPTIONS[kind]})")
    rows = spark.readStream.schema("k INT, v INT").option("maxFilesPerTrigger", "1").json(f"{folder}/source")
    writer = rows.writeStream.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    operations = Operations(kill_at)
    writer.toTable("t").awaitTermination()
    print(operations.count, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
