"""Files that are cut, flipped, swapped or hostile: reading ends with rows or with an error of ours, in time."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import CorruptFileError, PaimonError
from paimon_core.scan.changes.read import read_changes
from paimon_core.scan.read import read_split
from tests.support.stored import Row, compact, create_table, insert, open_table, read

PATTERNS = {
    "schema": "schema/schema-0",
    "snapshot": "snapshot/snapshot-3",
    "manifest list": "manifest/manifest-list-*",
    "manifest": "manifest/manifest-[!l]*",
    "data": "bucket-*/data-*.parquet",
}
FLIPS, CUTS, PATIENCE = 150, 40, 5.0


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with keys, compacted once, then upserted."""
    folder = tmp_path_factory.mktemp("damaged")
    table = create_table(str(folder), primary_key="k", bucket="1", file__compression="none")
    insert(table, [(k, "old") for k in range(50)])
    compact(table)
    insert(table, [(k, f"new {k}") for k in range(25, 75)])
    return folder


@pytest.fixture
def rows(warehouse: Path) -> list[Row]:
    return read(open_table(str(warehouse)))


def damaged(path: Path) -> Iterator[bytes]:
    """The content of a file, cut and flipped."""
    content, chance = path.read_bytes(), random.Random(path.parent.name)
    for n in range(CUTS):
        yield content[: len(content) * n // CUTS]
    for _ in range(FLIPS):
        flipped = bytearray(content)
        for _ in range(chance.choice((1, 1, 4, 64))):
            flipped[chance.randrange(len(flipped))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        yield bytes(flipped)
    yield content + content
    yield content[::-1]


def scan(warehouse: Path) -> None:
    """Read all rows, without making Python values of them."""
    table = open_table(str(warehouse))
    names = [f.name for f in table.schema.fields]
    for split in table.plan(table.latest_snapshot()).splits:
        for batch in read_split(table.store, split, names):
            batch.validate()


def latest(warehouse: Path, pattern: str) -> Path:
    found = sorted(warehouse.glob(f"default.db/t/{pattern}"), key=lambda p: p.stat().st_mtime_ns)
    return found[-1]


@pytest.mark.parametrize("kind", PATTERNS)
def test_damage(warehouse: Path, rows: list[Row], kind: str) -> None:
    path = latest(warehouse, PATTERNS[kind])
    content = path.read_bytes()
    refused = 0
    try:
        for number, damage in enumerate(damaged(path)):
            path.write_bytes(damage)
            started = time.monotonic()
            try:
                scan(warehouse)
            except PaimonError as error:
                refused += 1
                assert re.search(rf"{warehouse}|default\.t|data-.*\.parquet", str(error)), f"{number}: {error}"
            assert time.monotonic() - started < PATIENCE, number
    finally:
        path.write_bytes(content)
    assert refused > CUTS * 3 // 4
    assert read(open_table(str(warehouse))) == rows


@pytest.mark.parametrize("other", PATTERNS)
@pytest.mark.parametrize("kind", PATTERNS)
def test_a_file_replaced_by_another(warehouse: Path, rows: list[Row], kind: str, other: str) -> None:
    if kind == other:
        return
    path = latest(warehouse, PATTERNS[kind])
    content = path.read_bytes()
    path.write_bytes(latest(warehouse, PATTERNS[other]).read_bytes())
    try:
        with pytest.raises(CorruptFileError, match=path.name):
            read(open_table(str(warehouse)))
    finally:
        path.write_bytes(content)
    assert read(open_table(str(warehouse))) == rows


@pytest.mark.parametrize("missing", ["_SEQUENCE_NUMBER", "_VALUE_KIND"])
def test_a_data_file_of_another_table(warehouse: Path, rows: list[Row], missing: str) -> None:
    """It is whole, and has not what a row of a table with keys has."""
    path = latest(warehouse, PATTERNS["data"])
    content = path.read_bytes()
    pq.write_table(pq.read_table(path).drop_columns([missing]), path)
    try:
        with pytest.raises(CorruptFileError, match=f"{path.name} is corrupt: it has rows without {missing}"):
            read(open_table(str(warehouse)))
    finally:
        path.write_bytes(content)
    assert read(open_table(str(warehouse))) == rows


@pytest.mark.parametrize("kind", [-1, 4, 127])
def test_unknown_row_kinds(warehouse: Path, rows: list[Row], kind: int) -> None:
    path = latest(warehouse, PATTERNS["data"])
    content = path.read_bytes()
    table = pq.read_table(path)
    kinds = pa.array([0] * (table.num_rows - 1) + [kind], pa.int8())
    index = table.schema.get_field_index("_VALUE_KIND")
    pq.write_table(table.set_column(index, table.schema.field(index), kinds), path)
    opened = open_table(str(warehouse))
    split = opened.plan(opened.latest_snapshot()).splits[0]
    try:
        with pytest.raises(CorruptFileError, match=f"{path.name} is corrupt: it has rows of a _VALUE_KIND"):
            list(read_changes(opened.store, split, ["k"], None, retracts=True))
    finally:
        path.write_bytes(content)
    assert read(open_table(str(warehouse))) == rows


def test_hints_are_only_hints(warehouse: Path, rows: list[Row]) -> None:
    for name in ("LATEST", "EARLIEST"):
        hint = warehouse / "default.db/t/snapshot" / name
        content = hint.read_bytes()
        for damage in (b"", b"x", b"-1", b"0", b"1", b"999", b"9" * 400, b"\xff\x00", content + b"\n"):
            hint.write_bytes(damage)
            assert read(open_table(str(warehouse))) == rows, (name, damage)
        hint.unlink()
        assert read(open_table(str(warehouse))) == rows
        hint.write_bytes(content)


def test_files_that_are_not_the_tables_are_ignored(warehouse: Path, rows: list[Row]) -> None:
    root = warehouse / "default.db/t"
    strays = ["snapshot/snapshot-x", "snapshot/snapshot-", "snapshot/.snapshot-9.0.tmp", "snapshot/snapshot-007x"]
    strays += ["schema/schema-x", "schema/.schema-1.tmp", "manifest/nothing", "bucket-0/data-stray.parquet", "stray"]
    for name in strays:
        (root / name).write_bytes(b"stray")
    assert read(open_table(str(warehouse))) == rows
    for name in strays:
        (root / name).unlink()
