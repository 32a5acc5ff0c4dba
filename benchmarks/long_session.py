"""What a session holds after many statements of every kind: threads, handles, references across py4j, memory, files.

Nothing of it may grow with the number of statements.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.long_session import KINDS, NAMES, grown, held, processor_seconds, session_below, set_up, statements

SHOWN = 20  # statements that took most of the processors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=3000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run(Path(folder), asked.statements))


def run(folder: Path, count: int) -> int:
    """The number of things that grew; what is held is printed after each round."""
    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark logs every refused statement
    spark = session_below(folder)
    set_up(spark, folder)
    endless, started = statements(spark, folder), time.perf_counter()
    samples: list[object] = []
    took: Counter[str] = Counter()
    while len(samples) * KINDS < count:
        for name, statement in zip(NAMES, islice(endless, KINDS), strict=True):
            before = processor_seconds(spark)
            statement()
            took[name] += processor_seconds(spark) - before
        samples.append(held(spark, folder))
        print(f"{len(samples) * KINDS} statements, {time.perf_counter() - started:.0f} s: {samples[-1]}", flush=True)
    spark.stop()
    slowest = (f"{seconds / len(samples):.2f} s {name}" for name, seconds in took.most_common(SHOWN))
    print(f"Statements took {took.total():.0f} s of processors, on average:", *slowest, sep="\n  ")
    found = grown(samples)
    print(*(found or ["Nothing grew."]), sep="\n")
    return len(found)


if __name__ == "__main__":
    main()
