"""Processes that create the same file at the same moment, again and again: one winner, and nobody sees half a file.

    python -m tests.stress.creates [--rounds 100000] [--processes 8]

Goes on until enough rounds were contested: another process was trying before the winner had its answer.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import shutil
import tempfile
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import monotonic_ns

import numpy as np
from numpy.typing import NDArray

from paimon_core.io.local import LocalFileIO

TOGETHER = 50  # rounds between two meetings of all processes
SIZE, PATIENCE = 1_000, 120
Tried = NDArray[
    np.int64
]  # a row per round: began, ended, whether it was created, whose file was then there (-1: no one's)


def content(worker: int) -> bytes:
    return b"%d;" % worker * SIZE


def race(worker: int, processes: int, rounds: int, folder: str, gate: Barrier) -> None:
    """Try to create the file of every round; what came of it goes to a file."""
    io, tried = LocalFileIO(), np.zeros((rounds, 4), np.int64)
    whole = {content(other): other for other in range(processes)}
    for first in range(0, rounds, TOGETHER):
        gate.wait(PATIENCE)
        for number in range(first, min(first + TOGETHER, rounds)):
            path = f"{folder}/snapshot-{number}"
            began = monotonic_ns()
            created = io.create_exclusive(path, content(worker))
            tried[number] = began, monotonic_ns(), created, whole.get(io.read_bytes(path), -1)
        if gate.wait(PATIENCE) == 0:  # all have read these
            _check_names(Path(folder), first, min(first + TOGETHER, rounds))
        gate.wait(PATIENCE)
    np.save(f"{folder}/tried-{worker}", tried)


def _check_names(folder: Path, first: int, end: int) -> None:
    """The files of these rounds, and nothing else, are there; they are deleted."""
    assert {path.name for path in folder.iterdir()} == {f"snapshot-{n}" for n in range(first, end)}
    for path in folder.iterdir():
        path.unlink()


@dataclass(frozen=True, slots=True)
class Contest:
    """What became of rounds; those that count as wrong are zero where creating is atomic."""

    rounds: int
    contested: int
    without_winner: int
    several_winners: int
    misread: int  # reads that gave something else than the winner's whole content
    winners: int  # processes that won some round


def contest(folder: str, processes: int, rounds: int) -> Contest:
    """Let processes race for files in an empty folder."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["numpy", "paimon_core.io.local"])
    gate = context.Barrier(processes)
    racers = [
        context.Process(target=race, args=(n, processes, rounds, folder, gate), daemon=True) for n in range(processes)
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [racer.exitcode for racer in racers] == [0] * processes
    tried: Tried = np.stack([np.load(f"{folder}/tried-{n}.npy") for n in range(processes)])
    began, ended, won, read = (tried[:, :, i] for i in range(4))
    winners, number = won.sum(axis=0), np.arange(rounds)
    winner = won.argmax(axis=0)
    others_before = (began < ended[winner, number]).sum(axis=0) - 1
    return Contest(
        rounds=rounds,
        contested=int((others_before > 0).sum()),
        without_winner=int((winners == 0).sum()),
        several_winners=int((winners > 1).sum()),
        misread=int((read != winner).sum()),
        winners=len(set(winner.tolist())),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000, help="contested ones")
    parser.add_argument("--processes", type=int, default=8)
    given = parser.parse_args()
    began, contested, rounds = monotonic_ns(), 0, 0
    while contested < given.rounds:
        folder = tempfile.mkdtemp()
        found = contest(folder, given.processes, min(10_000, given.rounds - contested))
        shutil.rmtree(folder)
        contested, rounds = contested + found.contested, rounds + found.rounds
        wrong = (found.without_winner, found.several_winners, found.misread)
        assert wrong == (0, 0, 0), f"rounds without a winner, with several, reads of something else: {wrong}"
    seconds = (monotonic_ns() - began) / 1e9
    print(
        f"{rounds} rounds of {given.processes} processes in {seconds:.0f} s, {contested} contested: one winner each, "
        f"every read is what it wrote; 95 % bound of rounds with two winners: {-math.log(0.05) / contested:.1e}"
    )


if __name__ == "__main__":
    main()
