"""The command: `python -m tests.simulation run --seeds 1000`, `replay SEED`."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import time
from collections import Counter
from functools import partial

from tests.simulation.found import file_of, to_text
from tests.simulation.generate import history_of
from tests.simulation.planted_bugs import BUGS
from tests.simulation.run import Outcome, run
from tests.simulation.settings import SETTINGS
from tests.simulation.shrink import shrunk
from tests.simulation.story import story
from tests.simulation.themes import THEMES


def main(arguments: list[str] | None = None) -> int:
    """Returns the number of histories that failed, 100 at most."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    commands = parser.add_subparsers(required=True)
    many = commands.add_parser("run", help="run the histories of many seeds")
    many.add_argument("--seeds", type=int, default=1000, help="how many")
    many.add_argument("--first", type=int, default=0, help="the first of them")
    many.add_argument("--table", choices=SETTINGS, help="only this kind of table")
    many.add_argument("--theme", choices=THEMES, help="only histories of this theme")
    many.add_argument("--processes", type=int, default=2)
    many.set_defaults(act=_run)
    one = commands.add_parser("replay", help="run one history, shrink it if it fails, and tell its story")
    one.add_argument("seed", type=int)
    one.add_argument("--table", choices=SETTINGS)
    one.add_argument("--theme", choices=THEMES)
    one.set_defaults(act=_replay)
    bugs = commands.add_parser("bugs", help="plant mistakes into the product, and count the histories until each shows")
    bugs.add_argument("--seeds", type=int, default=10_000, help="how many histories at most")
    bugs.add_argument("--first", type=int, default=0, help="the first of them")
    bugs.add_argument("--table", choices=SETTINGS, help="only this kind of table")
    bugs.add_argument("--theme", choices=THEMES, help="only histories of this theme")
    bugs.add_argument("--keep", action="store_true", help="keep the shrunk histories in tests/simulation/found")
    bugs.add_argument("--only", choices=[b.name for b in BUGS])
    bugs.add_argument("--processes", type=int, default=2)
    bugs.set_defaults(act=_bugs)
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    return min(100, given.act(given))


def failing(table: str | None, theme: str | None, seed: int) -> tuple[int, int, list[str], Counter[str]]:
    """A seed, how many calls its history had, its problems, and the results of its steps."""
    outcome = run(history_of(seed, table, theme))
    return seed, len(outcome.trace), outcome.problems, Counter(r.split(":")[0] for r in outcome.results.values())


def _run(given: argparse.Namespace) -> int:
    began, calls, failed, results = time.monotonic(), 0, 0, Counter[str]()
    seeds, each = range(given.first, given.first + given.seeds), partial(failing, given.table, given.theme)
    with multiprocessing.Pool(given.processes) as pool:
        for seed, made, problems, counts in pool.imap_unordered(each, seeds, chunksize=8):
            calls, failed, results = calls + made, failed + bool(problems), results + counts
            for problem in problems[:2]:
                print(f"seed {seed}: {problem}", flush=True)
    took = time.monotonic() - began
    print(f"{given.seeds} histories, {sum(results.values())} steps, {calls} calls of the storage in {took:.0f} s")
    print(", ".join(f"{count} {result}" for result, count in results.most_common()))
    print(f"{failed} failed" + (": replay one by its seed" if failed else ""))
    return failed


def first_seed(seeds: range, table: str | None, theme: str | None, keep: bool, number: int) -> tuple[int | None, str]:
    """The first seed whose history shows a planted mistake, None for none of them; and what it shows."""
    bug = BUGS[number]
    for seed in seeds:
        history = history_of(seed, table, theme)
        if problems := run(history, bug.plant).problems:
            if keep:
                smallest = shrunk(history, lambda h: bool(run(h, bug.plant).problems))
                file_of(bug.name).write_text(to_text(smallest))
            return seed, problems[0]
    return None, ""


def _bugs(given: argparse.Namespace) -> int:
    numbers = [n for n, bug in enumerate(BUGS) if given.only in (None, bug.name)]
    missed = 0
    with multiprocessing.Pool(given.processes) as pool:
        seeds = range(given.first, given.first + given.seeds)
        answers = pool.imap(partial(first_seed, seeds, given.table, given.theme, given.keep), numbers)
        for bug, (seed, problem) in zip((BUGS[n] for n in numbers), answers, strict=True):
            missed += seed is None
            found = "not found" if seed is None else f"seed {seed}: {problem}"
            print(f"{bug.name} ({bug.story}): {found}", flush=True)
    print(f"{len(numbers) - missed} of {len(numbers)} found within {given.seeds} histories")
    return missed


def _replay(given: argparse.Namespace) -> int:
    history = history_of(given.seed, given.table, given.theme)
    outcome: Outcome = run(history)
    if outcome.problems:
        outcome = run(shrunk(history, lambda h: bool(run(h).problems)))
    print(story(outcome))
    return bool(outcome.problems)


if __name__ == "__main__":
    sys.exit(main())
