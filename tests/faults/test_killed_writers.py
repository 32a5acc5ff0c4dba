"""Drivers of streaming queries that are killed at file operations of an epoch: each row is in the table once.

The operations are those of the driver, of its tasks, of the compaction behind an epoch, and of the checkpoint.
`PAIMON_SQL_STREAM_KILLS=1` kills at every operation, `=11` at every eleventh, in every kind of table, as `make
stream-kills` does. `make campaign NAME=remote` does it to tables on S3.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from tests.faults.writer_driver import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EVERY = int(os.environ.get("PAIMON_SQL_STREAM_KILLS", "0"))
KINDS = list(TABLES) if EVERY else ["aggregation"]
POINTS = range(1, 61, EVERY) if EVERY else (6, 25)  # an epoch and its compaction are 20 to 30 operations
ROWS = 3
ROOT = Path(__file__).parents[2]


@dataclass
class Driver:
    folder: Path
    kind: str
    options: dict[str, str]  # of the catalog
    fed: int = 0

    def feed(self) -> None:
        """One more epoch: keys 0 to 2, each of the value 1."""
        source = self.folder / "source"
        source.mkdir(exist_ok=True)
        self.fed += 1
        text = "\n".join(json.dumps({"k": k, "v": 1}) for k in range(ROWS))
        hidden = source / f"_{self.fed}"
        hidden.write_text(text)
        hidden.rename(source / f"{self.fed:05}.json")

    def run(self, kill_at: int) -> int | None:
        """How many file operations there were, None where it was killed."""
        arguments = [json.dumps(self.options), str(self.folder), self.kind, str(kill_at)]
        command = [sys.executable, "-m", "tests.faults.writer_driver", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, start_new_session=True, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
        return int(done.stdout.split()[-1]) if done.returncode == 0 else None

    def check(self) -> None:
        """Every epoch once, and nothing else."""
        rows = sorted(rows_of(load_catalog(self.options).load_table(Identifier("default", "t")), ["k", "v"]))
        if self.kind == "append":
            assert rows == sorted((k, 1) for k in range(ROWS) for _ in range(self.fed))
        else:
            assert rows == [(k, self.fed) for k in range(ROWS)]


def rows_of(table: Table, columns: list[str]) -> list[tuple[int, ...]]:
    """The rows of the latest version."""
    splits = table.plan(table.latest_snapshot()).splits
    batches = [batch for split in splits for batch in read_split(table.store, split, columns)]
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_there_once(catalog_options: dict[str, str], tmp_path: Path, kind: str) -> None:
    driver = Driver(tmp_path, kind, catalog_options)
    driver.feed()
    killed = 0
    for point in POINTS:  # what one leaves behind, the next one makes up for before it is killed itself
        driver.feed()
        killed += driver.run(point) is None
    print(f"{kind}: {killed} drivers were killed")  # shown by -rP
    assert killed, "no driver was killed"
    driver.feed()
    assert driver.run(0) is not None
    driver.check()
