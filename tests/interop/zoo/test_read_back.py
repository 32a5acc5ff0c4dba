"""The writer of a table reads it after our statements: a campaign, as Maven and pip bring the writers.

`make campaign NAME=zoo-readers` runs it: PAIMON_SQL_ZOO_READERS is `all`, or the names of writers with spaces between
them. A version that cannot read what is written today must refuse it by the expected error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_core.commit import other_writers
from paimon_core.errors import PaimonError
from paimon_core.options import DELETION_VECTORS
from tests.interop.zoo.continued import Continued
from tests.interop.zoo.fixtures import DATABASE, expected, unpack, writers
from tests.interop.zoo.make import read_tables
from tests.interop.zoo.values import Rows, comparable

_CHOSEN = os.environ.get("PAIMON_SQL_ZOO_READERS", "")
_FIRST, _SECOND, _THIRD, _FOURTH = range(100_001, 100_005)
_STEP = "__after_"  # between the names of a table and a step
STEPS = ("changes", "compaction", "alter")
# errors of versions that cannot read manifests with ZSTD (0.4), or manifest lists with the columns that came later
_REFUSALS = {
    "java-0.4.0": "java.lang.ClassNotFoundException: com.github.luben.zstd.ZstdInputStreamNoFinalizer",
    "java-0.5.0": "java.lang.IndexOutOfBoundsException: Index 7 out of bounds for length 7",
}
_ORC_REFUSAL = "java.lang.IllegalArgumentException: Unknown compression"  # of both, for ORC manifests with ZSTD
# these versions do not know deletion vectors, and show deleted rows until compaction
_WITHOUT_VECTORS = ("java-0.6.0", "java-0.7.0")


@pytest.mark.parametrize("writer", writers())
def test_the_writer_reads_what_we_made_of_its_tables(
    tmp_path: Path, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if _CHOSEN != "all" and writer not in _CHOSEN.split():
        pytest.skip("Maven and pip bring this writer if PAIMON_SQL_ZOO_READERS has its name, or is 'all'")
    monkeypatch.setattr(other_writers, "_LOOK_AFTER", 0)  # nobody else writes now
    warehouse = tmp_path / "warehouse"
    ours, with_vectors = {}, set[str]()
    for name in expected(writer)["tables"]:
        unpack(writer, [name], warehouse / f"{DATABASE}.db")
        continued = Continued(warehouse, name)
        if continued.table.store.options[DELETION_VECTORS]:
            with_vectors.add(f"{name}{_STEP}{STEPS[0]}")  # compaction removes the vectors
        for step, rows in _steps(continued):
            ours[f"{name}{_STEP}{step}"] = comparable(name, rows)
            _copy(warehouse / f"{DATABASE}.db" / name, f"{name}{_STEP}{step}")
    try:
        theirs = read_tables(writer, tmp_path, warehouse)
    except (OSError, subprocess.CalledProcessError) as e:
        pytest.skip(f"the writer is not to be had: {e}")
    unread: dict[str, Rows | str] = {}
    for copy, rows in ours.items():
        name, _, _ = copy.partition(_STEP)
        found = theirs.get(copy, "not listed")
        shows_deleted = writer in _WITHOUT_VECTORS and copy in with_vectors
        if not (_shows_deleted(name, found, rows) if shows_deleted else _is_read(writer, name, found, rows)):
            unread[copy] = found
            print(f"{writer} {copy}: {found}, ours {rows}")
    assert len(ours) > len(expected(writer)["tables"])
    assert not unread


def _is_read(writer: str, name: str, found: Rows | str, ours: Rows) -> bool:
    """Return whether a writer reads our rows, or refuses the manifests as that version must."""
    if writer in _REFUSALS:
        return found == (_ORC_REFUSAL if name == "manifest_orc" else _REFUSALS[writer])
    return not isinstance(found, str) and comparable(name, found) == ours


def _shows_deleted(name: str, found: Rows | str, ours: Rows) -> bool:
    """Return whether a writer shows our rows, and also rows that we deleted."""
    shown = [] if isinstance(found, str) else comparable(name, found)
    return len(shown) > len(ours) and all(row in shown for row in ours)


def _steps(continued: Continued) -> Iterator[tuple[str, Rows]]:
    """Change a table, and give each step with the rows then. A table that we refuse has none of the further steps."""
    steps = (_change, Continued.compact, _alter)
    try:
        for step, take in zip(STEPS, steps, strict=True):
            take(continued)
            yield step, continued.rows()
    except PaimonError as e:
        print(f"refused: {e}")


def _change(continued: Continued) -> None:
    """INSERT, UPDATE, MERGE and DELETE, as far as the table takes them; a row of INSERT, one of UPDATE remain."""
    continued.insert(continued.like(_FIRST))
    if not continued.takes_changes:
        return
    for number in (_SECOND, _THIRD):
        continued.insert(continued.like(number))
    if continued.updated_column() is not None:
        continued.update(_SECOND)
        continued.insert(continued.like(_FOURTH))
        continued.merge(_THIRD, _FOURTH)
    continued.delete(_THIRD)


def _alter(continued: Continued) -> None:
    """ALTER TABLE ADD COLUMN, and an INSERT behind it."""
    continued.add_column("zoo_added")
    continued.insert(continued.like(_FOURTH))


def _copy(table: Path, name: str) -> None:
    shutil.copytree(table, table.with_name(name))
