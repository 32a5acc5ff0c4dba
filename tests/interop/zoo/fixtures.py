"""Made tables: `made/WRITER-VERSION.tar.xz` has the folder of each table, and `expected.json`: what it reads.

`expected.json` is {"tables": {name: {"columns", "latest", "snapshots": {id: rows}, "tags", "branches"}}, "left_out":
{name: why the version cannot make it}}, with values as `values.shown_rows` has them.

`made/java_2.json` has what Java 2.0.0 reads if that differs, because the writer does not know a feature of its table.
Java 0.4 does not know sequence groups, and of rows with an equal `sequence.field` it reads the earlier. Java 0.4 to 0.7
know neither deletion vectors nor that some tables hide rows before compaction. pypaimon before 2.0 merges rows of every
merge engine as `deduplicate` does.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

MADE = Path(__file__).with_name("made")
DATABASE = "zoo"
_EXPECTED = "expected.json"
_JAVA_2 = MADE / "java_2.json"
_MOMENT = 1_700_000_000  # of every packed file, so that only contents differ between two packages


def writers() -> list[str]:
    """The writers that have a package: `java-0.5.0`, for example."""
    return sorted(p.name.removesuffix(".tar.xz") for p in MADE.glob("*.tar.xz"))


def read_by_writer(writer: str) -> dict[str, Any]:
    """The `expected.json` of a package."""
    with tarfile.open(MADE / f"{writer}.tar.xz") as package:
        first = package.next()  # `pack` puts it there: the rest is not unpacked
        assert first is not None and first.name == _EXPECTED
        member = package.extractfile(first)
        assert member is not None
        found: dict[str, Any] = json.load(member)
    return found


@cache
def expected(writer: str) -> dict[str, Any]:
    """What a writer reads of each of its tables, or Java 2.0.0 if that knows better."""
    found = read_by_writer(writer)
    for name, known in json.loads(_JAVA_2.read_text(encoding="utf-8")).get(writer, {}).items():
        table = found["tables"][name]
        found["tables"][name] = {
            **table,
            "latest": known.get("latest", table["latest"]),
            "snapshots": table["snapshots"] | known.get("snapshots", {}),
        }
    return found


def unpack(writer: str, tables: Iterable[str], database: Path) -> None:
    """Put tables of a writer into the folder of a database."""
    wanted = tuple(f"{name}/" for name in tables)
    with tarfile.open(MADE / f"{writer}.tar.xz") as package:
        package.extractall(database, [m for m in package if m.name.startswith(wanted)], filter="data")


def pack(writer: str, database: Path, read: Path) -> None:
    """Make the package of a writer from its database, and from what it read."""
    content = json.loads(read.read_text(encoding="utf-8"))
    with tarfile.open(MADE / f"{writer}.tar.xz", "w:xz", preset=9) as package:
        for path in [read, *(f for name in sorted(content["tables"]) for f in _files(database / name))]:
            info = package.gettarinfo(path, _EXPECTED if path == read else str(path.relative_to(database)))
            info.mtime, info.uid, info.gid, info.uname, info.gname, info.mode = _MOMENT, 0, 0, "", "", 0o644
            with path.open("rb") as file:
                package.addfile(info, file)


def _files(folder: Path) -> list[Path]:
    """The files of a table, without the checksums that Hadoop's local file system leaves."""
    found = [p for p in folder.rglob("*") if p.is_file() and not (p.name.startswith(".") and p.name.endswith(".crc"))]
    return sorted(found, key=lambda p: (p.suffix, p.name.split("-")[0], p))
