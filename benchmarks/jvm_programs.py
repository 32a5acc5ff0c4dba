"""Stock `spark-sql` with the jar for JVM programs: what the first statement and later ones take longer.

Programs with and without the jar run in turns, with the same settings. The first statement is `spark-sql -e "SELECT 1"`
from its start to its end. Times of later statements are those that `spark-sql` prints. The bars on an idle machine: the
first statement takes at most 4 s longer, later ones take no longer.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.jvm_programs import Ended, Programs, programs_with_jar

T = TypeVar("T")
FIRST = "SELECT 1"
LATER = ("SELECT 1", "SELECT sum(id) FROM range(1000)", "SELECT count(*) FROM plain")
REPEATED, WARM = 30, 10  # each of the later statements, and how many of these do not count
_SET_UP = "CREATE TEMPORARY VIEW plain AS SELECT id FROM range(10);\n"
_TOOK = re.compile(r"Time taken: ([\d.]+) seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        programs = programs_with_jar(Path(folder) / "programs", {"spark.driver.extraJavaOptions": "-Xshare:auto"})
        (programs.folder / "later.sql").write_text(_SET_UP + "".join(f"{s};\n" * REPEATED for s in LATER))
        given = " ".join(programs.run("paimon-sql spark-options -w lake").out.split())
        kinds = {"stock": "", "with the jar": given}
        firsts = in_turns(rounds, {k: partial(first, programs, o) for k, o in kinds.items()})
        show(f'spark-sql -e "{FIRST}"', firsts)
        laters = in_turns(max(rounds // 2, 1), {k: partial(later, programs, o) for k, o in kinds.items()})
        for statement in LATER:
            show(statement, {k: [seconds for run in runs for seconds in run[statement]] for k, runs in laters.items()})


def in_turns(rounds: int, programs: dict[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Return what each program returned in each round, after a round that does not count."""
    found: dict[str, list[T]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, program in programs.items():
            result = program()
            if number:
                found[name].append(result)
    return found


def first(programs: Programs, options: str) -> float:
    """Return the seconds of a program with one statement."""
    started = time.perf_counter()
    checked(programs.run(f'spark-sql {options} -e "{FIRST}"'))
    return time.perf_counter() - started


def later(programs: Programs, options: str) -> dict[str, list[float]]:
    """Return the seconds of later statements, in a program that has done `WARM` of each kind."""
    ended = checked(programs.run(f"spark-sql {options} -f later.sql"))
    times = [float(seconds) for seconds in _TOOK.findall(ended.err)][1:]
    assert len(times) == len(LATER) * REPEATED, ended.err[-2000:]
    return {s: times[i * REPEATED + WARM : (i + 1) * REPEATED] for i, s in enumerate(LATER)}


def checked(ended: Ended) -> Ended:
    assert ended.status == 0, ended.err[-2000:]
    return ended


def show(name: str, seconds: dict[str, list[float]]) -> None:
    stock, ours = (statistics.median(times) for times in seconds.values())
    print(f"{name:34s} stock {stock:7.3f} s  with the jar {ours:7.3f} s  {ours - stock:+7.3f} s  x{ours / stock:.2f}")


if __name__ == "__main__":
    main()
