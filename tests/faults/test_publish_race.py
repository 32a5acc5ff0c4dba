"""Eight processes create the same file at the same moment, again and again: one winner, and nobody sees half a file."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

from paimon_core.io.local import LocalFileIO

PROCESSES, ROUNDS, SIZE, PATIENCE = 8, 200, 20_000, 60


def content(worker: int) -> bytes:
    return b"%d;" % worker * SIZE


def race(worker: int, folder: str, gate: Barrier, results: multiprocessing.SimpleQueue[object]) -> None:
    """Report the rounds this worker won, and the winner it read in every round (-1 where the file was not whole)."""
    io, won, seen = LocalFileIO(), list[int](), list[int]()
    whole = {content(other): other for other in range(PROCESSES)}
    for number in range(ROUNDS):
        gate.wait(PATIENCE)
        if io.create_exclusive(f"{folder}/snapshot-{number}", content(worker)):
            won.append(number)
        seen.append(whole.get(io.read_bytes(f"{folder}/snapshot-{number}"), -1))
    results.put((worker, won, seen))


def test_every_round_has_exactly_one_winner(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    gate, results = spawn.Barrier(PROCESSES), spawn.SimpleQueue()
    racers = [spawn.Process(target=race, args=(n, str(tmp_path), gate, results), daemon=True) for n in range(PROCESSES)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(PATIENCE)
    assert [racer.exitcode for racer in racers] == [0] * PROCESSES

    reports = [results.get() for _ in racers]
    winners = {number: [worker for worker, won, _ in reports if number in won] for number in range(ROUNDS)}
    assert {number: found for number, found in winners.items() if len(found) != 1} == {}
    for worker, _, seen in reports:
        assert seen == [winners[number][0] for number in range(ROUNDS)], f"worker {worker} read what no winner wrote"
    assert {path.name for path in tmp_path.iterdir()} == {f"snapshot-{number}" for number in range(ROUNDS)}
    assert len({found[0] for found in winners.values()}) > 1, "no contest: one process won every round"
