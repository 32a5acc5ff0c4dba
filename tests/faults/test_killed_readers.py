"""A driver is killed (SIGKILL) while its query reads a table, and started again: every change is there, and once.

STREAM_KILLS says how many histories, 1 without it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import stored
from tests.support.streamed import write
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("STREAM_KILLS", "1"))
TABLES = ({"primary_key": "k", "bucket": "2", "changelog_producer": "lookup"}, {}, {"primary_key": "k", "bucket": "2"})


def driver(folder: Path, files: int) -> subprocess.Popen[str]:
    arguments = [str(folder / name) for name in ("warehouse", "checkpoint", "sink")]
    command = [sys.executable, "-m", "tests.faults.reader_driver", *arguments, str(files)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)


def kill_after(process: subprocess.Popen[str], folder: Path, batches: int) -> None:
    """Once the sink has some batches, kill the driver and its JVM."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if len([f for f in (folder / "sink" / "_spark_metadata").glob("[0-9]*") if f.name.isdigit()]) >= batches:
            break
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_driver_that_is_killed(tmp_path: Path, seed: int) -> None:
    dice, warehouse = random.Random(seed), str(tmp_path / "warehouse")
    options = TABLES[seed % len(TABLES)]
    stored.create_table(warehouse, **options)
    expected: list[list[object]] = []
    for number in range(6):
        keys = range(number * 3, number * 3 + 5) if "changelog_producer" not in options else range(5)
        write(warehouse, [(k, f"v{number}") for k in keys])
        if "changelog_producer" in options and number:
            expected += [["-U", k, f"v{number - 1}"] for k in keys] + [["+U", k, f"v{number}"] for k in keys]
        else:
            expected += [["+I", k, f"v{number}"] for k in keys]
    kill_after(driver(tmp_path, 1), tmp_path, dice.randint(1, 4))
    done = driver(tmp_path, dice.randint(1, 3))
    out, _ = done.communicate(timeout=PATIENCE)
    assert json.loads(out.splitlines()[-1]) == sorted(expected)
