"""Writers and upkeep on one table, killed again and again: what was acknowledged is there, once and whole.

    python -m tests.stress [--commits 20000] [--processes 8] [--kill-every 1.0] [--table append keyed …]

Commits are acknowledged ones, as many on each kind of table, by whichever writers. Beside the writers run two readers,
and a process each that compacts, expires snapshots, makes and deletes tags, makes and deletes branches, and cleans
orphans. One of all these is killed (SIGKILL) every so many seconds, if there was a commit meanwhile, and starts again:
a server, which has imported everything, forks the next one within 10 ms. What is wrong ends the command with an error.

`python -m tests.storages s3 python -m tests.stress …` has the tables on S3, see `tests/storages/__main__.py`. There,
the turn of a killed process ends after twenty seconds.

Tables are kept in memory where there is room: what a process wrote survives its death there as on a disk, and a commit
takes less time. What a disk keeps that loses its power is tested by `tests/faults/test_power_cut.py`.
"""

from __future__ import annotations

import argparse
import math
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.simulation.planted_bugs import BUGS
from tests.stress.processes import Killed, kill_and_check
from tests.stress.rows import KINDS
from tests.stress.run import Run
from tests.support.remote_storage import RemoteStorage

_MEMORY, _ROOM = Path("/dev/shm"), 2**31  # bytes that a run may take


def place() -> Path | None:
    """A folder in memory that has room for a run, None where there is none."""
    return _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM else None


def shown(table: str, killed: Killed) -> str:
    f, seconds = killed.figures, killed.seconds
    return (
        f"{table}: {f.acknowledged} commits acknowledged in {seconds:.0f} s ({f.acknowledged / seconds:.1f}/s), "
        f"{f.snapshots} snapshots, {killed.kills} kills; 0 lost, 0 twice, 0 half; {f.unknown} were killed before an "
        f"answer, of which {f.unknown_there} are there, {f.failed} failed; {killed.reads} whole reads; orphans: "
        f"{f.cleaned} cleaned meanwhile, {f.orphans} in the end, {f.orphan_data_files} of both with rows; "
        f"seconds of processors: {', '.join(f'{role} {s:.0f}' for role, s in killed.processors.items())}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kill-every", type=float, default=1.0)
    parser.add_argument("--table", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--orphan-age", type=float, default=120.0, help="seconds")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between acts of upkeep, and between reads")
    parser.add_argument("--folder", type=Path, default=place(), help="where tables are made (default: in memory)")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="of each table, if it has not got its commits before"
    )
    parser.add_argument(
        "--plant", choices=[b.name for b in BUGS], default="", help="a mistake that the run has to find"
    )
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the processes are ended, too

    remote = RemoteStorage.given()
    each = math.ceil(given.commits / len(given.table))
    total = kills = 0
    for table in given.table:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            run = Run(
                folder=Path(folder),
                table=table,
                writers=given.processes,
                commits=each,
                orphan_age=given.orphan_age,
                pause=given.pause,
                planted=given.plant,
                remote={} if remote is None else remote.warehouse(),
            )
            killed = kill_and_check(run, given.kill_every, given.seconds)
        print(shown(table, killed), flush=True)
        total, kills = total + killed.figures.acknowledged, kills + killed.kills
    bound = -math.log(0.05) / total
    print(
        f"{total} commits acknowledged, {kills} kills, 0 lost: with 95 % confidence less than {bound:.1e} of them are"
    )


if __name__ == "__main__":
    main()
