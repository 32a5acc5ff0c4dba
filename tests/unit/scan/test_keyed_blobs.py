"""BLOBs of tables with a primary key, as Java writes them: data files have descriptors of values in packs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import DataFileMissingError, InvalidDataError, NotAllowedError
from paimon_core.formats.blob import BlobFile, BlobFileWriter
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.types import BYTES, INT
from paimon_core.store.allowed import Allowed
from paimon_core.store.blob import values
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import T, open_table
from tests.support.tables import fields

Rows = list[tuple[int, bytes | None]]


def pack(folder: Path, name: str, *values: bytes) -> list[bytes]:
    """A pack, and the descriptors of its values."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = BlobFileWriter(LocalFileIO(), str(folder / name))
    writer.write(pa.array(values, pa.binary()))
    writer.close()
    file = BlobFile.open(LocalFileIO(), str(folder / name))
    parts = zip(*(part.tolist() for part in file.spans), strict=True)
    return [BlobDescriptor(str(folder / name), start, length).encode() for start, length in parts]


def keyed_table(warehouse: Path, *commits: Rows, **options: str) -> Table:
    """A table whose BLOB column holds these bytes, a commit each."""
    given = {"primary-key": "k", "bucket": "1", "write-only": "true", **options}
    load_catalog({"warehouse": str(warehouse)}).create_table(
        T, new_table_schema(fields(k=INT, pic=BYTES), options=given)
    )
    for rows in commits:
        table = open_table(str(warehouse))
        writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
        k, pic = zip(*rows, strict=True)
        writer.write(pa.record_batch([pa.array(k, pa.int32()), pa.array(pic, pa.binary())], names=["k", "pic"]))
        table.commit(writer.finish(), CommitInfo(user="java"))
    schema = warehouse / "default.db" / "t" / "schema" / "schema-0"
    node = json.loads(schema.read_text())
    node["fields"][1]["type"] = "BLOB"
    node["options"]["blob-field"] = "pic"
    schema.write_text(json.dumps(node))
    return open_table(str(warehouse))


def read(table: Table, derived: DerivedTable = DerivedTable.ROWS) -> list[Any]:
    splits = table.plan(table.latest_snapshot(), derived=derived).splits
    batches = (b for s in splits for b in read_derived(table.store, derived, s, ["k", "pic"]))
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def bucket(warehouse: Path) -> Path:
    return warehouse / "default.db" / "t" / "bucket-0"


@pytest.mark.parametrize("most_bytes", [1, 10, 2**20])
def test_values_come_from_the_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int) -> None:
    monkeypatch.setattr(values, "MOST_BYTES", most_bytes)
    first = pack(bucket(tmp_path), "data-1-0.managed.blob", b"one", b"", b"three", b"x" * 9000)
    second = pack(bucket(tmp_path), "data-2-0.managed.blob", b"newer")
    old = [(1, first[0]), (2, None), (3, first[1]), (4, first[2]), (5, first[3]), (6, first[2]), (7, None)]
    table = keyed_table(tmp_path, old, [(1, second[0]), (7, first[0])])
    rows = [(1, b"newer"), (2, None), (3, b""), (4, b"three"), (5, b"x" * 9000), (6, b"three"), (7, b"one")]
    assert read(table) == rows
    assert read(table, DerivedTable.AUDIT_LOG) == rows
    assert read(table, DerivedTable.BINLOG) == [([k], [v]) for k, v in rows]
    described = Table(table.store.with_options({"blob-as-descriptor": "true"}))
    assert [v for _, v in read(described)][:2] == [second[0], None]


def test_descriptors_name_packs_only(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"not of this table")
    table = keyed_table(tmp_path, [(1, BlobDescriptor(str(secret)).encode())])
    with pytest.raises(InvalidDataError, match=r"secret.*managed\.blob"):
        read(table)


def test_packs_lie_where_the_table_has_files(tmp_path: Path) -> None:
    outside = pack(tmp_path / "elsewhere" / "bucket-0", "data-1-0.managed.blob", b"of another table")
    up = BlobDescriptor(f"{bucket(tmp_path)}/../../../elsewhere/bucket-0/data-1-0.managed.blob", 4, 2).encode()
    for number, descriptor in enumerate((outside[0], up)):
        table = keyed_table(tmp_path / str(number), [(1, descriptor)])
        with pytest.raises(NotAllowedError, match=r"elsewhere.*allowed-external-paths"):
            read(table)
    table = keyed_table(tmp_path / "allowed", [(1, outside[0])])
    allowed = Allowed((str(tmp_path / "elsewhere"),))
    assert read(Table(replace(table.store, allowed=allowed))) == [(1, b"of another table")]


def damaged(good: bytes, path: str) -> dict[str, bytes]:
    """Descriptors that are wrong, by what is said of them."""
    return {
        "is missing: it was deleted": BlobDescriptor(f"{path[:-14]}9.managed.blob", 4, 3).encode(),
        "which has": BlobDescriptor(path, 4, 2**62).encode(),
        "bytes from -4": BlobDescriptor(path, -4, 3).encode(),
        "which has ": BlobDescriptor(path, 2**63 - 1, -1).encode(),
        "bytes from 4": BlobDescriptor(path, 4, -2).encode(),
        "too short": good[:12],
        "ends within": good[:-1],
        "after its last part": good + bytes(16),
    }


@pytest.mark.parametrize("says", damaged(b"", ""))
def test_damaged_descriptors_are_refused(tmp_path: Path, says: str) -> None:
    (good,) = pack(bucket(tmp_path), "data-1-0.managed.blob", b"one")
    wrong = damaged(good, str(bucket(tmp_path) / "data-1-0.managed.blob"))[says]
    table = keyed_table(tmp_path, [(1, good), (2, wrong)])
    with pytest.raises((InvalidDataError, DataFileMissingError), match=says):
        read(table)
