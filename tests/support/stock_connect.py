"""A client of Spark's own Connect server as a process. It reads jobs and writes their results, one a line.

python -m tests.support.stock_connect ADDRESS
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.conformance.test_conformance import cells, run_case


def _run(session: SparkSession, job: dict[str, Any]) -> Any:
    """Run a case of the conformance tests on an empty warehouse, or statements, and return the rows of the last one."""
    try:
        session.conf.set("spark.sql.catalog.paimon.warehouse", job["warehouse"])
        session.sql("USE paimon.default")
        if "case" in job:
            run_case(session, Path(job["files"]), job["case"])
            return []
        found: list[Any] = []
        for statement in job["statements"]:
            found = cells(session.sql(statement).collect())
        return found
    finally:
        session.stop()


def main(address: str) -> None:
    # PySpark's sessions close themselves when they are collected; in a starting thread, PySpark 4.0 then waits for ever
    kept = []
    for line in sys.stdin:
        try:
            kept.append(SparkSession.builder.remote(address).create())
            answer = {"rows": _run(kept[-1], json.loads(line))}
        except Exception:  # every failure is an answer
            answer = {"failure": traceback.format_exc()}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
