"""Object tables: Java lists ours, and we list Java's, file by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.engines import Engines
from tests.support.java_oracle import JavaError, JavaOracle

NAMES = ("a.txt", "deep/er/b.bin", "with space", "ü", "100%")


def _put(folder: Path) -> None:
    for n, name in enumerate(NAMES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * n)


def test_java_lists_ours(engines: Engines, java: tuple[JavaOracle, str]) -> None:
    engines.run("ours", "CREATE TABLE o COMMENT 'files' TBLPROPERTIES ('type' = 'object-table')")
    folder = Path(java[1]) / f"{engines.database}.db" / "o"
    _put(folder)
    every = "SELECT * FROM o WHERE path NOT LIKE 'schema/%' ORDER BY path"  # Java lists the definition, too
    assert len(engines.both(every)) == len(NAMES)
    engines.both(f"SELECT name, length FROM ({every}) WHERE length > 2 ORDER BY name", [["100%", 4], ["ü", 3]])
    assert engines.rows("ours", "SELECT count(*) FROM o") == [[len(NAMES)]]
    with pytest.raises(JavaError):
        engines.run("java", "INSERT INTO o VALUES ('a', 'a', 1, 1, 1, 'a')")


def test_definitions_of_java(engines: Engines, java: tuple[JavaOracle, str]) -> None:
    """Java's filesystem catalog makes none; one of its schema files reads as ours."""
    with pytest.raises(JavaError, match="object table"):
        engines.run("java", "CREATE TABLE j TBLPROPERTIES ('type' = 'object-table')")
