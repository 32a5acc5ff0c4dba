"""A table that is damaged, or not supported, is reported beside the others, which are listed and worked on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import PaimonError, StorageError
from paimon_core.io.file_io import FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.system_database import read_catalog_system_table
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.tables import fields
from tests.unit.procedures.test_compaction import Tasks

BAD, OLD = Identifier("default", "bad"), "2020-01-01 00:00:00"
SCHEMA, SNAPSHOT = "schema/schema-0", "snapshot/snapshot-2"


@dataclass(frozen=True, slots=True)
class ClosedFolders(LocalFileIO):
    """A storage that gives nothing of a folder away."""

    closed: str = ""

    def _check(self, path: str) -> None:
        if self.closed and path.startswith(self.closed):
            raise StorageError(f"Cannot read {path}: Permission denied.")

    def list(self, path: str) -> Iterator[FileStatus]:
        self._check(path)
        return LocalFileIO.list(self, path)

    def read_bytes(self, path: str, *more: Any) -> bytes:
        self._check(path)
        return LocalFileIO.read_bytes(self, path, *more)


def changed_schema(folder: Path, **changes: Any) -> None:
    path = folder / SCHEMA
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def spoil(folder: Path, kind: str) -> None:
    match kind:
        case "no JSON":
            (folder / SCHEMA).write_text("{ no json")
        case "unknown type":
            changed_schema(folder, fields=[{"id": 0, "name": "k", "type": "GEOGRAPHY"}])
        case "newer version":
            changed_schema(folder, version=99)
        case "wrong option":
            changed_schema(
                folder, options={"merge-engine": "nope", "primary-key": "k", "bucket": "1"}, primaryKeys=["k"]
            )
        case "damaged snapshot":
            (folder / SNAPSHOT).write_text("{ no json")
        case "missing manifests":
            for path in folder.glob("manifest/manifest-*"):
                path.unlink()


UNLOADABLE = ("no JSON", "unknown type", "newer version", "no permission")
UNPLANNED = ("damaged snapshot", "missing manifests")
KINDS = (*UNLOADABLE, *UNPLANNED, "wrong option")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def catalog(warehouse: str, kind: str) -> FileSystemCatalog:
    """A good table, with an old file that nobody needs and two small files to compact, a bad one, and one more."""
    catalog = FileSystemCatalog(LocalFileIO(), warehouse)
    schema = new_table_schema(fields(k=INT, v=STRING), options={"bucket": "-1", "write-only": "true"})
    for name in ("a_good", "bad", "good"):
        catalog.create_table(Identifier("default", name), schema)
        for k in range(2):
            stored.insert(open_table(warehouse, name), [(k, "x")])
    folder = Path(warehouse, "default.db")
    orphan = folder / "good" / "bucket-0" / "data-00000000-0000-0000-0000-000000000000-0.parquet"
    orphan.write_bytes(b"nobody needs me")
    os.utime(orphan, (time.time() - 10**7,) * 2)
    spoil(folder / "bad", kind)
    closed = str(folder / "bad") if kind == "no permission" else ""
    return FileSystemCatalog(ClosedFolders(closed), warehouse)


def open_table(warehouse: str, name: str) -> Table:
    return FileSystemCatalog(LocalFileIO(), warehouse).load_table(Identifier("default", name))


def call(catalog: FileSystemCatalog, name: str, **arguments: Any) -> tuple[Any, ...]:
    (row,) = PROCEDURES[name].call(ProcedureContext(catalog, "default", Tasks()), arguments)
    return tuple(row)


def test_system_tables_list_it(catalog: FileSystemCatalog, kind: str) -> None:
    assert catalog.list_tables("default") == ["a_good", "bad", "good"]
    found = {r["table_name"]: r for r in read_catalog_system_table(catalog, "tables").to_pylist()}
    assert [(r["record_count"], r["table_type"]) for n, r in found.items() if n != "bad"] == [(2, "table")] * 2
    if kind != "wrong option":
        assert found["bad"]["table_type"].startswith("unreadable: ") and found["bad"]["record_count"] is None
    options = read_catalog_system_table(catalog, "all_table_options").to_pylist()
    assert {o["table_name"] for o in options if o["key"] == "path"} >= {"a_good", "good"}
    assert [o["key"] for o in options if o["table_name"] == "bad"].count("error") == (kind in UNLOADABLE)
    names = read_catalog_system_table(catalog, "partitions").column("partition_name").to_pylist()
    assert [n.startswith("unreadable: ") for n in names] == [True] * (kind in UNLOADABLE)


def test_procedures_do_the_rest(catalog: FileSystemCatalog, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    (result,) = call(catalog, "compact_database")
    assert result == "Compact database finished. Success: 2, Failed: 1"
    assert len(stored.read(open_table(catalog.warehouse, "good"))) == 2
    assert [r.getMessage() for r in caplog.records if r.getMessage().startswith("default.bad could not be compacted: ")]
    assert call(catalog, "remove_orphan_files", table="default.*", older_than=OLD) == (0, 0)
    assert call(catalog, "remove_orphan_files", table="default.*")[0] == 1
    assert call(catalog, "repair", database_or_table="default") == (True,)
    (result,) = call(catalog, "clone", database="default", target_database="copies")
    assert result.startswith("Clone finished. Success: " + ("3" if kind == "wrong option" else "2"))
    assert {"a_good", "good"} <= set(catalog.list_tables("copies"))


def test_it_alone_is_an_error(catalog: FileSystemCatalog, kind: str) -> None:
    """Where the statement names the bad table, or there is no other."""
    others = FileSystemCatalog(LocalFileIO(), catalog.warehouse)
    for name in ("a_good", "good"):
        others.drop_table(Identifier("default", name))
    if kind in (*UNLOADABLE, *UNPLANNED):
        for table in ("bad", "default.*"):
            with pytest.raises((PaimonError, FileNotFoundError)):
                call(catalog, "remove_orphan_files", table=table)


def test_it_is_renamed_and_dropped(catalog: FileSystemCatalog, kind: str) -> None:
    if kind == "no permission":
        catalog = FileSystemCatalog(LocalFileIO(), catalog.warehouse)
    renamed = Identifier("default", "renamed")
    catalog.rename_table(BAD, renamed)
    assert catalog.list_tables("default") == ["a_good", "good", "renamed"]
    catalog.drop_table(renamed)
    assert catalog.list_tables("default") == ["a_good", "good"]
