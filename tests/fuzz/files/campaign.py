"""The command: mutants by the thousand, findings as they come, and a table of figures in the end.

Several processes share the mutants out in blocks; each has a corpus of its own, as it puts its mutants there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from tests.fuzz.files.corpus import BLOB_KINDS, KINDS, SEARCH_KINDS, make_corpus
from tests.fuzz.files.judge import REFUSED, ROWS, Outcome, judge
from tests.fuzz.files.mutants import Mutants, kind_of

_BLOCK = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=2000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument(
        "--kind",
        choices=(*KINDS, *BLOB_KINDS, *SEARCH_KINDS),
        help="only of this kind of file; --count still counts all kinds",
    )
    parser.add_argument("--blobs", action="store_true", help="files of BLOBs, which have numbers of their own")
    parser.add_argument("--searches", action="store_true", help="indexes that are searched, with their own numbers")
    parser.add_argument("--processes", type=int, default=1, help="how many read at the same time")
    parser.add_argument("--keep", type=Path, help="a folder for the findings: their bytes, and findings.jsonl")


def run(arguments: argparse.Namespace) -> int:
    """Run a campaign; 1 where there are findings."""
    folder = Path(tempfile.mkdtemp(prefix="paimon-fuzz-"))
    started, outcomes = time.monotonic(), list[Outcome]()
    kinds = BLOB_KINDS if arguments.blobs else SEARCH_KINDS if arguments.searches else KINDS
    every = range(arguments.first, arguments.first + arguments.count)
    numbers = [n for n in every if arguments.kind in (None, kind_of(n, kinds))]
    blocks = [numbers[i : i + _BLOCK] for i in range(0, len(numbers), _BLOCK)]
    act, context = (
        partial(_judged, folder, arguments.seed, arguments.keep, kinds),
        multiprocessing.get_context("forkserver"),
    )
    try:
        with context.Pool(min(arguments.processes, len(blocks)), _leave_interrupts) as pool:
            for found in pool.imap(act, blocks):
                outcomes += found
    except KeyboardInterrupt:
        print("interrupted, and goes on behind the last of these")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(figures(outcomes, kinds))
    print(f"{len(outcomes)} mutants of seed {arguments.seed} in {time.monotonic() - started:.0f} s")
    return int(any(o.is_finding for o in outcomes))


def _leave_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends these processes


def _judged(folder: Path, seed: int, keep: Path | None, kinds: Sequence[str], numbers: Sequence[int]) -> list[Outcome]:
    """What becomes of mutants, in a process that judges others, too; findings are reported."""
    mutants, outcomes = _mutants(folder, seed, os.getpid(), tuple(kinds)), list[Outcome]()
    for outcome in judge(mutants, numbers):
        outcomes.append(outcome)
        if outcome.is_finding:
            _report(mutants, outcome, keep)
    return outcomes


@cache
def _mutants(folder: Path, seed: int, process: int, kinds: tuple[str, ...]) -> Mutants:
    """The mutants of a seed, over a corpus that belongs to a process."""
    return Mutants(make_corpus(folder / f"{process}", kinds), seed, kinds)


def figures(outcomes: Sequence[Outcome], kinds: Sequence[str] = KINDS) -> str:
    """A table in Markdown: for each kind what became of its mutants."""
    by_kind: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[kind_of(outcome.number, kinds)].append(outcome)
    lines = ["| kind of file | mutants | refused | read | findings | most memory | most time |", "|" + "---|" * 7]
    for kind, found in [*by_kind.items(), ("all", list(outcomes))]:
        results = Counter(o.result for o in found)
        findings = len(found) - results[ROWS] - results[REFUSED]
        memory, seconds = max((o.memory for o in found), default=0), max((o.seconds for o in found), default=0)
        cells = kind, len(found), results[REFUSED], results[ROWS], findings, f"{memory >> 20} MB", f"{seconds:.2f} s"
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _report(mutants: Mutants, outcome: Outcome, keep: Path | None) -> None:
    mutant = mutants[outcome.number]
    known = {"number": outcome.number, "kind": mutant.case.kind, "file": mutant.case.name, "change": mutant.change}
    line = json.dumps(known | {"result": outcome.result, "said": outcome.said, "seconds": outcome.seconds})
    print(line, flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{outcome.number}").write_bytes(mutant.content)
        with (keep / "findings.jsonl").open("a") as findings:
            findings.write(line + "\n")
