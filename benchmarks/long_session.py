"""What a session holds after many statements of every kind: threads, handles, references across py4j, memory, files.

Nothing of it may grow with the number of statements.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import paimon_sql
from tests.support.long_session import SETUP, held, statements  # type: ignore[import-not-found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=2000)
    parser.add_argument("--every", type=int, default=500, help="statements between two looks")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for line in run(Path(folder), asked.statements, asked.every):
            print(line, flush=True)


def run(folder: Path, count: int, every: int) -> Iterator[str]:
    temporary = folder / "temporary"
    temporary.mkdir()
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(temporary),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={temporary}",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF",
    }
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark logs every refused statement
    spark = paimon_sql.connect(str(folder / "warehouse"), **settings)
    for text in SETUP:
        spark.sql(text)
    endless, done, started = statements(spark), 0, time.perf_counter()
    yield f"{done:5} statements: {held(spark, temporary)}"
    while done < count:
        for statement in islice(endless, every):
            statement()
        done += every
        yield f"{done:5} statements, {time.perf_counter() - started:4.0f} s: {held(spark, temporary)}"
    spark.stop()


if __name__ == "__main__":
    main()
