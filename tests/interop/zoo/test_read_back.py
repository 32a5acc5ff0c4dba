"""The writer of a table reads it after our statements: a campaign, as Maven and pip bring the writers.

`make campaign NAME=zoo-readers` runs it: PAIMON_SQL_ZOO_READERS is `all`, or the names of writers with spaces between
them. A version that cannot read what is written today must refuse it by the expected error. If a version does not read
a table for another reason, a second test has Java 2.0.0 write to the same table, and requires the same failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit import other_writers
from paimon_core.errors import PaimonError
from paimon_core.options import DELETION_VECTORS
from tests.interop.zoo.continued import Continued
from tests.interop.zoo.fixtures import DATABASE, expected, unpack, writers
from tests.interop.zoo.make import read_tables
from tests.interop.zoo.values import Rows, comparable, in_order
from tests.support.java_oracle import JavaOracle

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

_FOLDER = "FileNotFoundError("  # of a partition by DATE: pypaimon searches d=2024-01-01, where Java has d=19723
_ORC_TIMES = "ArrowInvalid('Schema at index 1 was different"  # files of two schemas: milliseconds and nanoseconds
_OTHER_ROWS = "rows"  # merged as `deduplicate` does
_BY_DATE = ("app_part", "app_null_part", "pk_part")
_PARTS = {f"{name}{_STEP}{step}": _FOLDER for name in _BY_DATE for step in STEPS}
_BEFORE_2 = {
    **_PARTS,
    f"me_partial_update{_STEP}{STEPS[0]}": _OTHER_ROWS,
    f"me_aggregation{_STEP}{STEPS[0]}": _OTHER_ROWS,
    f"types_orc{_STEP}{STEPS[2]}": _ORC_TIMES,
}
# the failures of writers that fail in the same way on the same table after statements of Java
_UNREAD: dict[str, dict[str, str]] = {
    "pypaimon-1.3.2": _BEFORE_2,
    "pypaimon-1.4.2": _BEFORE_2,
    "pypaimon-2.0.0": _PARTS,
}
_BY_JAVA = {
    "app_part": ("INSERT INTO {} VALUES (100001, 1.5D, DATE'2024-01-01', 'x')",),
    "app_null_part": ("INSERT INTO {} VALUES (100001, 1.5D, DATE'2024-01-01', CAST(NULL AS STRING))",),
    "pk_part": ("INSERT INTO {} VALUES (100001, 'A', DATE'2024-01-01')",),
    "me_partial_update": (
        "INSERT INTO {} VALUES (100001, 1L, CAST(NULL AS STRING))",
        "INSERT INTO {} VALUES (100001, CAST(NULL AS BIGINT), 'm')",
    ),
    "me_aggregation": ("INSERT INTO {} VALUES (100001, 1L, 'a')", "INSERT INTO {} VALUES (100001, 2L, 'b')"),
    "types_orc": ("ALTER TABLE {} ADD COLUMN zoo_added BIGINT", "INSERT INTO {0} SELECT * FROM {0} WHERE id = 1"),
}


@pytest.mark.parametrize("writer", writers())
def test_the_writer_reads_what_we_made_of_its_tables(
    tmp_path: Path, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _skip_unless_chosen(writer)
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
    theirs = _read_tables(writer, tmp_path, warehouse)
    unread: dict[str, Rows | str] = {}
    for copy, rows in ours.items():
        name, _, _ = copy.partition(_STEP)
        found = theirs.get(copy, "not listed")
        shows_deleted = writer in _WITHOUT_VECTORS and copy in with_vectors
        if not (_shows_deleted(name, found, rows) if shows_deleted else _is_read(writer, name, found, rows)):
            unread[copy] = found
            print(f"{writer} {copy}: {found}, ours {rows}")
    assert len(ours) > len(expected(writer)["tables"])
    assert {copy: _failure(found) for copy, found in unread.items()} == _UNREAD.get(writer, {})


@pytest.mark.interop
@pytest.mark.parametrize("writer", _UNREAD)
def test_the_writer_fails_in_the_same_way_on_what_java_made_of_its_tables(
    tmp_path: Path, writer: str, request: pytest.FixtureRequest
) -> None:
    _skip_unless_chosen(writer)
    java: tuple[JavaOracle, str] = request.getfixturevalue("java")  # takes seconds to start
    failures = {copy.partition(_STEP)[0]: failure for copy, failure in _UNREAD[writer].items()}
    oracle, folder = java
    database = f"alike_{writers().index(writer)}"
    unpack(writer, failures, Path(folder) / f"{database}.db")
    for name in failures:
        for statement in _BY_JAVA[name]:
            oracle.sql(statement.format(f"paimon.{database}.{name}"))
    shutil.copytree(Path(folder) / f"{database}.db", tmp_path / "warehouse" / f"{DATABASE}.db")
    theirs = _read_tables(writer, tmp_path, tmp_path / "warehouse")
    assert {name: _failure(theirs[name]) for name in failures} == failures
    for name in (n for n, failure in failures.items() if failure == _OTHER_ROWS):
        rows = in_order(oracle.sql(f"SELECT * FROM paimon.{database}.{name}").rows)
        assert rows == Continued(Path(folder), name, database).rows() != in_order(theirs[name])


def _skip_unless_chosen(writer: str) -> None:
    if _CHOSEN != "all" and writer not in _CHOSEN.split():
        pytest.skip("Maven and pip bring this writer if PAIMON_SQL_ZOO_READERS has its name, or is 'all'")


def _read_tables(writer: str, folder: Path, warehouse: Path) -> dict[str, Any]:
    try:
        return read_tables(writer, folder, warehouse)
    except (OSError, subprocess.CalledProcessError) as e:
        pytest.skip(f"the writer is not to be had: {e}")


def _failure(found: Rows | str) -> str:
    """Return the kind of a failure, as in `_UNREAD`: the beginning of an error, or `rows`."""
    if not isinstance(found, str):
        return _OTHER_ROWS
    return next((known for known in (_FOLDER, _ORC_TIMES) if found.startswith(known)), found)


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
