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
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import paimon_sql
from tests.support.long_session import KINDS, grown, held, set_up, statements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=3000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run(Path(folder), asked.statements))


def run(folder: Path, count: int) -> int:
    """The number of things that grew; what is held is printed after each round."""
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
    set_up(spark, folder)
    endless, started = statements(spark, folder), time.perf_counter()
    samples: list[object] = []
    while len(samples) * KINDS < count:
        for statement in islice(endless, KINDS):
            statement()
        samples.append(held(spark, folder))
        print(f"{len(samples) * KINDS} statements, {time.perf_counter() - started:.0f} s: {samples[-1]}", flush=True)
    spark.stop()
    found = grown(samples)
    print(*(found or ["Nothing grew."]), sep="\n")
    return len(found)


if __name__ == "__main__":
    main()
