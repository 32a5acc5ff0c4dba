"""Explore the model of the commit protocol: `python -m tests.protocol [NAME ...] [--mistakes] [--limit N]`.

Without names all configurations of `configurations.FULL`; names are parts of theirs. With `--mistakes` the mistakes
and limits, and the story of each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from tests.protocol.configurations import FULL, LIMITS, MISTAKES
from tests.protocol.explorer import Explored


def main() -> int:
    """0 where the protocol has no counterexample, and each mistake has one."""
    parser = argparse.ArgumentParser(prog="python -m tests.protocol", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of configurations")
    parser.add_argument("--mistakes", action="store_true", help="explore the mistakes instead")
    parser.add_argument("--limit", type=int, help="how many states of each are visited at most")
    arguments = parser.parse_args()
    if arguments.mistakes:
        found = [_shown(name, m.explore) for name, m in {**MISTAKES, **LIMITS}.items() if _is_meant(name, arguments)]
        return 0 if all(e.counterexample for e in found) else 1
    started = time.process_time()
    visited = [
        _shown(name, lambda c=c: c.explore(arguments.limit)) for name, c in FULL.items() if _is_meant(name, arguments)
    ]
    states, steps = sum(e.states for e in visited), sum(e.steps for e in visited)
    print(f"{states:,} states by {steps:,} steps in {time.process_time() - started:.0f} s of processor time")
    return 1 if any(e.counterexample for e in visited) else 0


def _is_meant(name: str, arguments: argparse.Namespace) -> bool:
    return not arguments.names or any(part in name for part in arguments.names)


def _shown(name: str, explore: Callable[[], Explored]) -> Explored:
    started = time.process_time()
    found = explore()
    took = time.process_time() - started
    extent = "all" if found.is_complete else "the first" if found.counterexample is None else "after"
    print(f"{name}: {extent} {found.states:,} states, {found.steps:,} steps, depth {found.depth}, {took:.1f} s")
    if found.counterexample is not None:
        print(f"{found.counterexample}\n")
    sys.stdout.flush()
    return found


if __name__ == "__main__":
    sys.exit(main())
