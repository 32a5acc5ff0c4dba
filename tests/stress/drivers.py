"""Two Spark drivers, each with a JVM of its own, change the same tables; one after the other is killed and comes back.

    python -m tests.stress.drivers [--seconds 300] [--kill-every 60]

Each driver changes rows of its own range of keys by INSERT, UPDATE, DELETE and MERGE INTO, and compacts and expires
what both wrote. After every statement it compares its rows with those that a dict has; a killed driver finds the
statement that it was killed in done, or not begun. In the end other eyes, which need no Spark, look at all rows.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.load import load_catalog
from tests.stress.journal import Journal
from tests.support.quick_jvm import QUICK_JVM

DRIVERS, RANGE = 2, 1_000_000
TABLES = {
    "keyed": "CREATE TABLE keyed (k INT NOT NULL, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')",
    "plain": "CREATE TABLE plain (k INT, v INT) TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
}
Rows = dict[int, int]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, the table it is on, and what it makes of the rows of its driver."""

    table: str
    sql: str
    change: Callable[[Rows], Rows]


def statement(driver: int, number: int) -> Statement:
    """The `number`-th statement of a driver, always the same one."""
    dice = random.Random(f"{driver}/{number}")
    table, low, rest = dice.choice(list(TABLES)), (driver + 1) * RANGE, dice.randrange(5)
    mine = f"k >= {low} AND k < {low + RANGE}"
    first = low + 4 * number
    again = range(max(low, first - 20), first + 2)
    kinds: list[Statement] = [
        Statement(
            table,
            f"INSERT INTO {table} SELECT CAST(id AS INT), {number} FROM range({first}, {first + 4})",
            lambda rows: rows | dict.fromkeys(range(first, first + 4), number),
        ),
        Statement(
            table,
            f"UPDATE {table} SET v = v + 1 WHERE {mine} AND k % 5 = {rest}",
            lambda rows: {k: v + (k % 5 == rest) for k, v in rows.items()},
        ),
        Statement(
            table,
            f"DELETE FROM {table} WHERE {mine} AND k % 11 = {rest}",
            lambda rows: {k: v for k, v in rows.items() if k % 11 != rest},
        ),
        Statement(
            table,
            f"MERGE INTO {table} t USING (SELECT CAST(id AS INT) AS k FROM range({again.start}, {again.stop})) s "
            f"ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v + 100 "
            f"WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, {number})",
            lambda rows: rows | {k: rows[k] + 100 if k in rows else number for k in again},
        ),
        Statement(table, f"CALL sys.compact(table => '{table}')", lambda rows: rows),
        Statement(table, f"CALL sys.expire_snapshots(table => '{table}', retain_max => 5)", lambda rows: rows),
    ]
    return dice.choices(kinds, [6, 3, 1, 3, 1, 1])[0]


def drive(folder: Path, driver: int) -> None:
    """Run statement after statement until the folder has a file `end`."""
    spark, journal = _session(folder), Journal(folder / f"driver-{driver}.journal")
    for number in itertools.count(_recover(spark, journal, driver)):
        if (folder / "end").exists():
            return
        what, rows = statement(driver, number), _expected(journal, driver)
        journal.add("tried", number)
        try:
            spark.sql(what.sql).collect()
        except Exception as error:  # a conflict with the other driver: it must have changed nothing
            journal.add("error", type(error).__name__, str(error).replace("\n", " ")[:200])
        else:
            rows[what.table] = what.change(rows[what.table])
            journal.add("done", number)
        found = _rows(spark, driver)
        assert found == rows, f"after {what.sql}: {_difference(found, rows)}"


def _recover(spark: Any, journal: Journal, driver: int) -> int:
    """See what became of the statement that this driver was killed in; the number of the next one."""
    tried, done = journal.numbers("tried"), journal.numbers("done")
    rows, found, last = _expected(journal, driver), _rows(spark, driver), max(tried, default=-1)
    if last >= 0 and last not in done and found != rows:
        what = statement(driver, last)
        rows[what.table] = what.change(rows[what.table])
        journal.add("done", last, "when killed")
    assert found == rows, f"after a kill: {_difference(found, rows)}"
    return last + 1


def _expected(journal: Journal, driver: int) -> dict[str, Rows]:
    """The rows of a driver after the statements that were done."""
    rows: dict[str, Rows] = {table: {} for table in TABLES}
    for number in sorted(journal.numbers("done")):
        what = statement(driver, number)
        rows[what.table] = what.change(rows[what.table])
    return rows


def _rows(spark: Any, driver: int) -> dict[str, Rows]:
    low, found = (driver + 1) * RANGE, dict[str, Rows]()
    for table in TABLES:
        rows = _read(spark, f"SELECT k, v FROM {table} WHERE k >= {low} AND k < {low + RANGE}")
        found[table] = {row.k: row.v for row in rows}
        assert len(rows) == len(found[table]), f"keys come twice in {table}"
    return found


def _read(spark: Any, query: str) -> Any:
    """The rows of a query; once more where the other driver let the snapshot expire that it read."""
    for _ in range(9):
        with suppress(Exception):
            return spark.sql(query).collect()
    return spark.sql(query).collect()


def _difference(found: dict[str, Rows], expected: dict[str, Rows]) -> list[object]:
    """Some of the rows in which they differ."""
    both = ((t, k, found[t].get(k), expected[t].get(k)) for t in TABLES for k in found[t].keys() | expected[t].keys())
    return [difference for difference in both if difference[2] != difference[3]][:5]


def _session(folder: Path) -> Any:
    from paimon_sql import connect  # noqa: PLC0415  the parent needs no Spark

    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/spark",
    }
    spark = connect(f"{folder}/warehouse", **settings)
    for table, ddl in TABLES.items():
        spark.sql(ddl.replace(f"TABLE {table}", f"TABLE IF NOT EXISTS {table}"))
    return spark


class Driver:
    """A driver's process, and its JVM and workers, which end with it."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-m", "tests.stress.drivers", "--drive", str(self._folder), str(self._number)]
        with open(self._folder / f"driver-{self._number}.log", "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def check(self) -> None:
        assert self._process.poll() in (None, 0), (self._folder / f"driver-{self._number}.log").read_text()[-4000:]

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # all of them have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        self.kill()
        self._start()

    def end(self) -> None:
        self._process.wait(300)
        self.check()


def check_rows(folder: Path) -> Counter[str]:
    """Compare all rows of both tables with what the drivers did; how many statements of each kind were done."""
    catalog, kinds = load_catalog({"warehouse": f"{folder}/warehouse"}), Counter[str]()
    journals = {driver: Journal(folder / f"driver-{driver}.journal") for driver in range(DRIVERS)}
    for name in TABLES:
        found = sorted(_stored(catalog.load_table(Identifier("default", name))))
        expected = sorted(row for d, journal in journals.items() for row in _expected(journal, d)[name].items())
        assert found == expected, f"{name}: {sorted(set(found) ^ set(expected))[:5]}"
    for driver, journal in journals.items():
        kinds.update(statement(driver, n).sql.split()[0] for n in journal.numbers("done"))
        kinds.update("failed" for _ in journal.lines("error"))
        kinds.update("done when killed" for line in journal.lines("done") if line[1:])
    return kinds


def _stored(table: Any) -> list[tuple[int, int]]:
    splits = table.plan(table.latest_snapshot()).splits
    batches = [b for split in splits for b in read_split(table.store, split, ["k", "v"])]
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def run(folder: Path, seconds: float, kill_every: float) -> None:
    drivers = [Driver(folder, number) for number in range(DRIVERS)]
    began, kills = time.monotonic(), 0
    try:
        while time.monotonic() - began < seconds:
            time.sleep(min(1, seconds))
            for driver in drivers:
                driver.check()
            if time.monotonic() - began > kill_every * (kills + 1):
                drivers[kills % DRIVERS].restart()
                kills += 1
        (folder / "end").touch()
        for driver in drivers:
            driver.end()
        kinds = check_rows(folder)
    finally:
        for driver in drivers:
            driver.kill()
    print(f"{DRIVERS} drivers, {seconds:.0f} s, {kills} kills: {dict(kinds)}; every row is as it should be")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--kill-every", type=float, default=60)
    parser.add_argument("--drive", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(Path(given.drive[0]), int(given.drive[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), given.seconds, given.kill_every)


if __name__ == "__main__":
    main()
