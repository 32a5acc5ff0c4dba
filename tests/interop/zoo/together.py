"""Writers at once on one table.

    make campaign NAME=writers-at-once
    python -m tests.interop.zoo.together [--commits 200] [--table append keyed] [--writers ours rust …]

Each writer inserts rows of its own, one by one; beside them our compaction and our expiry run. In the end every row
that a writer acknowledged should be there once. A row of ours that is not ends the command with an error; rows of
others are counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from tests.interop.zoo.make import PYTHON, RUST, environment
from tests.support.java_oracle import JavaError, JavaOracle, find_oracles
from tests.support.tables import fields

_ROOT = Path(__file__).parents[3]
_TABLE = Identifier("zoo", "t")
_KINDS: Mapping[str, dict[str, str]] = {
    "append": {},
    "keyed": {"primary-key": "id", "bucket": "2", "write-only": "true"},
}
OURS = ("ours", "ours too", "without spark")
WRITERS = (*OURS, "rust", "pypaimon", "java")
_FAR = 1_000_000  # between the rows of two writers


def _command(writer: str) -> list[str | Path]:
    python: str | Path = sys.executable
    modules = {"rust": "rust_writer", "pypaimon": "python_writer", "without spark": "python_api_writer"}
    module = modules.get(writer, "our_writer")
    if writer == "rust":
        python = environment("pypaimon-rust", RUST[-1])
    elif writer == "pypaimon":
        python = environment("pypaimon", PYTHON[-1])
    return [python, "-m", f"tests.interop.zoo.{module}"]


def _oracle(warehouse: str) -> JavaOracle | None:
    """Java's connector, ready for statements; None if it is absent."""
    oracles = find_oracles()
    return None if oracles is None else JavaOracle(oracles, warehouse)


def _java(oracle: JavaOracle, first: int, count: int) -> list[int]:
    """The rows that Java's connector acknowledged."""
    made = []
    for number in range(first, first + count):
        try:
            oracle.sql(f"INSERT INTO paimon.{_TABLE} VALUES ({number}, 'java')")
        except JavaError as e:
            print(f"{number}: {e}", file=sys.stderr)
        else:
            made.append(number)
    return made


def run(kind: str, commits: int, writers: list[str], folder: Path) -> dict[str, tuple[int, int, int]]:
    """Of each writer how many rows it acknowledged, how many of these are lost, and how many are there twice."""
    warehouse = str(folder / "warehouse")
    catalog = load_catalog({"warehouse": warehouse})
    catalog.create_database(_TABLE.database)
    catalog.create_table(_TABLE, new_table_schema(fields(id=BIGINT, w=STRING), options=_KINDS[kind]))

    def start(writer: str, first: int, count: int) -> subprocess.Popen[str]:
        command = [*_command(writer), warehouse, str(_TABLE), str(first), str(count)]
        errors = (folder / f"{writer}.log").open("w", encoding="utf-8")
        return subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)

    firsts = {writer: i * _FAR for i, writer in enumerate(writers)}
    oracle = _oracle(warehouse) if "java" in firsts else None  # before the others start, as it takes longest
    processes = {w: start(w, first, commits) for w, first in firsts.items() if w != "java"}
    upkeep = start("upkeep", -1, 0)
    acknowledged = {"java": _java(oracle, firsts["java"], commits)} if oracle is not None else {}
    acknowledged |= {w: [int(n) for n in p.communicate()[0].split()] for w, p in processes.items()}
    upkeep.kill()
    upkeep.communicate()
    if oracle is not None:
        oracle.close()
    there = _numbers(catalog.load_table(_TABLE))
    return {
        w: (len(rows), sum(there[n] == 0 for n in rows), sum(there[n] > 1 for n in rows))
        for w, rows in acknowledged.items()
    }


def _numbers(table: Any) -> Counter[int]:
    splits = table.plan(table.latest_snapshot()).splits
    return Counter(n for s in splits for b in read_split(table.store, s, ["id"]) for n in b.column(0).to_pylist())


def main() -> None:
    """Run each kind of table, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=200, help="of each writer")
    parser.add_argument("--table", nargs="+", choices=list(_KINDS), default=list(_KINDS))
    parser.add_argument("--writers", nargs="+", choices=WRITERS, default=list(WRITERS))
    given = parser.parse_args()
    lost = 0
    for kind in given.table:
        with tempfile.TemporaryDirectory(prefix="together-") as folder:
            for writer, (made, gone, twice) in run(kind, given.commits, given.writers, Path(folder)).items():
                print(f"{kind}: {writer}: {made} acknowledged, {gone} lost, {twice} twice", flush=True)
                lost += gone + twice if writer in OURS else 0
    if lost:
        sys.exit(f"{lost} rows of ours are lost or there twice")


if __name__ == "__main__":
    main()
