"""How long it takes before anything happens: importing the package, and the command's help.

Prints the median of several fresh processes and the ratio to an empty Python program.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 7
PROGRAMS = {
    "empty program": "pass",
    "import paimon_sql": "import paimon_sql, sys; assert 'pyspark' not in sys.modules",
    "import the core's reader": "import paimon_core.scan.read",
    "import on a worker": "import paimon_sql.spark.workers.worker",
}


def seconds(program: str) -> float:
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    base = seconds(PROGRAMS["empty program"])
    for name, program in PROGRAMS.items():
        took = seconds(program)
        print(f"{name:26s} {took:6.3f} s  {took / base:5.1f}x the empty program")


if __name__ == "__main__":
    main()
