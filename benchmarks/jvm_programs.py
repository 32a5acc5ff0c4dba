"""Stock `spark-sql` with the jar for JVM programs: what the first statement and later ones take longer.

Programs with and without the jar run in turns, with the same settings. The first statement is `spark-sql -e "SELECT 1"`
from its start to its end. For later statements, two programs run side by side and get each statement by turns. The
times are those that `spark-sql` prints. The bars on an idle machine: the first statement takes at most 4 s longer,
later ones take no longer.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.jvm_programs import Programs, programs_with_jar

FIRST = "SELECT 1"
LATER = ("SELECT 1", "SELECT sum(id) FROM range(1000)", "SELECT count(*) FROM plain")
WARM = 10  # so many of each of the later statements do not count
_SET_UP = "CREATE TEMPORARY VIEW plain AS SELECT id FROM range(10)"
_TOOK = re.compile(r"Time taken: ([\d.]+) seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often a program runs one statement")
    parser.add_argument("--statements", type=int, default=40, help="how often a program runs each later statement")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = programs_with_jar(Path(folder) / "programs", {"spark.driver.extraJavaOptions": "-Xshare:auto"})
        options = " ".join(programs.run("paimon-sql spark-options -w lake").out.split())
        commands = {"stock": "spark-sql", "with the jar": f"spark-sql {options}"}
        show(f'spark-sql -e "{FIRST}"', firsts(programs, commands, given.rounds))
        for statement, seconds in laters(programs, commands, given.statements).items():
            show(statement, seconds)


def firsts(programs: Programs, commands: Mapping[str, str], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of programs with one statement, by turns, after a round that does not count."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            started = time.perf_counter()
            ended = programs.run(f'{command} -e "{FIRST}"')
            assert ended.status == 0, ended.err[-2000:]
            if number:
                found[name].append(time.perf_counter() - started)
    return found


def laters(programs: Programs, commands: Mapping[str, str], count: int) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of each later statement in two running programs, by turns, after `WARM` that do not count."""
    found: dict[str, dict[str, list[float]]] = {s: {name: [] for name in commands} for s in LATER}
    with ExitStack() as both:
        shells = {name: both.enter_context(programs.talking(command)) for name, command in commands.items()}
        for shell in shells.values():
            asked(shell, _SET_UP)
        for number in range(WARM + count):
            turns = list(shells.items())[:: 1 if number % 2 else -1]
            for statement in LATER:
                for name, shell in turns:
                    seconds = asked(shell, statement)
                    if number >= WARM:
                        found[statement][name].append(seconds)
    return found


def asked(shell: subprocess.Popen[str], statement: str) -> float:
    """Run a statement in a running `spark-sql`, and return the seconds that it prints."""
    assert shell.stdin is not None and shell.stderr is not None
    shell.stdin.write(f"{statement};\n")
    shell.stdin.flush()
    lines = []
    for line in shell.stderr:
        if took := _TOOK.search(line):
            return float(took[1])
        lines.append(line)
    raise AssertionError(f"spark-sql has ended:\n{''.join(lines[-20:])}")


def show(name: str, seconds: Mapping[str, list[float]]) -> None:
    stock, ours = (statistics.median(times) for times in seconds.values())
    print(f"{name:34s} stock {stock:7.3f} s  with the jar {ours:7.3f} s  {ours - stock:+7.3f} s  x{ours / stock:.2f}")


if __name__ == "__main__":
    main()
