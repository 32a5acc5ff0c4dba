"""Files of other writers in other folders of their partition are found, and neither missing nor orphans."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import DataFileMissingError
from paimon_core.expressions.predicate import Compare
from paimon_core.iceberg.entries import net_changes
from paimon_core.io.file_io import FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.copying import copy_files
from paimon_core.maintenance.orphans.search import find_orphans, missing_files, remove_orphans
from paimon_core.maintenance.rollback import roll_back
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.scan.execution import Execution, ScanRequest, check_sizes, choose_execution
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import FileKind
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.paths import escape_path_name
from paimon_core.spec.schema import encode_schema
from paimon_core.spec.types import BYTES, INT, STRING, DataType, parse_type
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.external.other_folders import FilePlaces, other_places
from paimon_core.store.manifests import live_files
from paimon_core.store.partitions import PartitionFilter, partition_value
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.faulty_io import FaultyIO
from tests.support.tables import fields, info

DATE, TIMESTAMP = parse_type("DATE"), parse_type("TIMESTAMP(6)")


@dataclass(frozen=True)
class Listing(LocalFileIO):
    """A disk that notes the folders that are listed."""

    listed: list[str] = field(default_factory=list)

    def list(self, path: str) -> Iterator[FileStatus]:
        self.listed.append(path)
        return LocalFileIO.list(self, path)


def table_of(root: Path, columns: dict[str, DataType], **options: str) -> Table:
    keys = [name for name in columns if name not in ("k", "v")]
    schema = new_table_schema(fields(**columns), partition_keys=keys, options=options)
    (root / "schema").mkdir(parents=True, exist_ok=True)
    (root / "schema" / "schema-0").write_bytes(encode_schema(schema))
    return Table(TableStore.of(LocalFileIO(), str(root), schema))


def insert(table: Table, rows: Sequence[dict[str, Any]]) -> None:
    writer = open_writer(table.store, sequence_start=0)
    columns = {f.name: f.type for f in table.schema.fields}
    types = arrow_schema(table.schema.fields)
    writer.write(pa.record_batch({n: pa.array([r.get(n) for r in rows], types.field(n).type) for n in columns}))
    table.commit_or_abort(writer.finish(), info())


def read(table: Table) -> list[int]:
    splits = table.plan(table.latest_snapshot()).splits
    return sorted(k for s in splits for b in read_split(table.store, s, ["k"]) for k in b.column(0).to_pylist())


def moved(root: Path, old: str, new: str) -> None:
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(root / old, root / new)


def test_folders_of_pypaimon(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", {"k": INT, "pt": STRING, "d": DATE})
    rows = [{"k": 1, "pt": "x", "d": date(2024, 1, 1)}, {"k": 2, "pt": "y y", "d": date(1960, 1, 1)}, {"k": 3}]
    insert(table, rows)
    root = tmp_path / "t"
    assert read(table) == [1, 2, 3]
    moved(root, "pt=x/d=19723/bucket-0", "pt=x/d=2024-01-01/bucket-0")
    moved(root, "pt=y y/d=-3653/bucket-0", "pt=y y/d=1960-01-01/bucket-0")
    null = "__DEFAULT_PARTITION__"
    moved(root, f"pt={null}/d={null}/bucket-0", "pt=None/d=None/bucket-0")
    assert read(table) == [1, 2, 3]
    plan = table.plan(table.latest_snapshot())
    assert choose_execution(table.store, plan, ScanRequest(("k",))) is Execution.MERGE
    assert missing_files(table.store) == {}
    assert find_orphans(table.store, 2**62).paths == ()
    insert(table, [{"k": 4, "pt": "x", "d": date(2024, 1, 1)}])  # a file in each folder of one partition
    assert read(table) == [1, 2, 3, 4]
    one = table.plan(table.latest_snapshot(), Compare("pt", "=", "x"))
    assert sum(len(s.files) for s in one.splits) == 2


FOLDERS = (("pt=x/d=19723", "pt=x/d=2024-01-01"), ("pt=NULL/d=NULL", "pt=None/d=None"))
ROWS: list[dict[str, Any]] = [{"k": 1, "pt": "x", "d": date(2024, 1, 1)}, {"k": 2}]


def as_pypaimon(root: Path, **options: str) -> Table:
    """A table of two rows whose files are where pypaimon puts them."""
    table = table_of(root, {"k": INT, "pt": STRING, "d": DATE}, **options)
    insert(table, ROWS)
    for own, other in FOLDERS:
        moved(root, f"{own.replace('NULL', '__DEFAULT_PARTITION__')}/bucket-0", f"{other}/bucket-0")
    return table


def names_of(root: Path) -> set[str]:
    return {str(p.parent.relative_to(root)) for p in root.rglob("data-*.parquet")}


def test_copies_have_the_files_that_are_elsewhere(tmp_path: Path) -> None:
    source = as_pypaimon(tmp_path / "t")
    target = Table(TableStore.of(LocalFileIO(), str(tmp_path / "u"), source.schema))
    snapshot = source.latest_snapshot()
    assert snapshot is not None
    assert create_schema(target.store.io, target.store.root, source.schema)
    messages = copy_files(source.store, snapshot, target.store, PartitionFilter(source.schema.partition_fields))
    target.commit_or_abort(messages, info())
    assert read(target) == [1, 2]
    own = {f"{folder.replace('NULL', '__DEFAULT_PARTITION__')}/bucket-0" for folder, _ in FOLDERS}
    assert names_of(tmp_path / "u") == own


def test_expiry_deletes_files_that_are_elsewhere(tmp_path: Path) -> None:
    table = as_pypaimon(tmp_path / "t", **{"snapshot.clean-empty-directories": "true"})
    assert len(names_of(tmp_path / "t")) == 2
    entries = live_files(table.store, table.latest_snapshot()).values()
    table.commit(
        [
            CommitMessage(partition=e.partition, bucket=e.bucket, total_buckets=-1, deleted_files=(e.file,))
            for e in entries
        ],
        info(),
    )
    expire_snapshots(table.store, Retention(least=1, most=1, older_than=2**62, limit=9), 0)
    assert names_of(tmp_path / "t") == set()
    assert not (tmp_path / "t" / "pt=None").exists() and not (tmp_path / "t" / "pt=x" / "d=2024-01-01").exists()


def test_files_of_a_rollback_are_orphans_wherever_they_are(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = as_pypaimon(root)
    kept = names_of(root)
    insert(table, [{"k": 3, "pt": "z", "d": date(2024, 1, 2)}])
    moved(root, "pt=z/d=19724/bucket-0", "pt=z/d=2024-01-02/bucket-0")
    first = table.snapshot("1")
    assert first is not None
    roll_back(table.store, snapshot_id=first.id)
    assert read(table) == [1, 2]
    remove_orphans(table.store, 2**62)
    assert names_of(root) == kept and read(table) == [1, 2]


def test_readers_of_iceberg_get_the_paths_of_files_that_are_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = as_pypaimon(root, **{"metadata.iceberg.storage": "table-location"})
    places = FilePlaces(table.store)
    added, _ = net_changes(places, live_files(table.store, table.latest_snapshot()).values())
    assert all(Path(path.removeprefix("file:")).exists() for path in added) and len(added) == 2
    gone = [replace(e, kind=FileKind.DELETE) for e in added.values()]
    assert net_changes(places, [*added.values(), *gone]) == ({}, {})


def test_the_files_table_shows_where_files_are(tmp_path: Path) -> None:
    table = as_pypaimon(tmp_path / "t")
    insert(table, ROWS)  # files of the same partitions in the folders of Java
    shown = table.system_table("files", UTC).column("file_path").to_pylist()
    assert all(Path(path).exists() for path in shown)
    assert {str(Path(path).parent.relative_to(tmp_path / "t")) for path in shown} == names_of(tmp_path / "t")
    assert len(set(shown)) == 4


def test_the_files_table_lists_each_folder_above_partitions_once(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", {"k": INT, "pt": STRING, "d": DATE})
    insert(table, [{"k": n, "pt": "x", "d": date(2024, 1, n)} for n in range(1, 10)])
    io = Listing()
    assert len(Table(replace(table.store, io=io)).system_table("files", UTC)) == 9
    assert [f for f in io.listed if "/t/pt=" in f or f.endswith("/t")] == [f"{tmp_path}/t", f"{tmp_path}/t/pt=x"]


def test_only_folders_that_there_are_cost_a_look_for_files(tmp_path: Path) -> None:
    table = as_pypaimon(tmp_path / "t")
    io = FaultyIO(LocalFileIO())
    places = FilePlaces(replace(table.store, io=io))
    assert places.of(f"{tmp_path}/t/pt=y/d=19723/bucket-0/f") == f"{tmp_path}/t/pt=y/d=19723/bucket-0/f"
    before = io.calls
    for n in range(100):
        places.of(f"{tmp_path}/t/pt=y/d=19723/bucket-0/f{n}")
    assert io.calls == before


def test_the_other_rule_of_java(tmp_path: Path) -> None:
    moment = pa.scalar(1_704_164_645_000_000, pa.timestamp("us")).as_py()
    for legacy, own, other in (
        ("true", "t=2024-01-02T03%3A04%3A05", "t=2024-01-02 03%3A04%3A05.000000"),
        ("false", "t=2024-01-02 03%3A04%3A05.000000", "t=2024-01-02T03%3A04%3A05"),
        ("true", "t=2024-01-02T03%3A04%3A05", "t=2024-01-02 03:04:05"),  # as pypaimon spells it
    ):
        root = tmp_path / f"{legacy}{len(other)}"
        table = table_of(root, {"k": INT, "t": TIMESTAMP}, **{"partition.legacy-name": legacy})
        insert(table, [{"k": 1, "t": moment}])
        moved(root, f"{own}/bucket-0", f"{other}/bucket-0")
        assert read(table) == [1]


@pytest.mark.parametrize("value", [b"ab", b"", b"\xff\x00", b"it's = %", b"\"'\\"])
def test_partitions_of_bytes_are_where_pypaimon_puts_them(tmp_path: Path, value: bytes) -> None:
    """pypaimon 2.1 escapes Python's text of the bytes, pypaimon 2.0 does not. Java refuses such tables."""
    schema = new_table_schema(fields(k=INT, p=BYTES), partition_keys=["p"], options={"partition.legacy-name": "false"})
    schema = replace(schema, options={})
    table = Table(TableStore.of(LocalFileIO(), str(tmp_path), schema))
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "schema-0").write_bytes(encode_schema(schema))
    insert(table, [{"k": 1, "p": value}, {"k": 2}])
    own, other = escape_path_name(f"p={value}").replace("p%3D", "p="), f"p={value}"
    assert (tmp_path / own).is_dir() and sorted(read(table)) == [1, 2]
    assert partition_value(table.schema.partition_fields, f"{tmp_path}/{own}/bucket-0", "none", "p") == pa.scalar(value)
    if own != other:
        moved(tmp_path, f"{own}/bucket-0", f"{other}/bucket-0")
    assert sorted(read(table)) == [1, 2]
    assert find_orphans(table.store, 2**62).paths == ()
    plan = table.plan(table.latest_snapshot(), Compare("p", "=", value))
    assert sum(len(s.files) for s in plan.splits) == 1


def test_a_file_that_is_nowhere_is_missing(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"k": INT, "d": DATE})
    insert(table, [{"k": 1, "d": date(2024, 1, 1)}])
    (file,) = tmp_path.rglob("data-*.parquet")
    file.unlink()
    with pytest.raises(DataFileMissingError, match=r"d=19723/bucket-0/data-.* is missing"):
        read(table)
    plan = table.plan(table.latest_snapshot())
    assert choose_execution(table.store, plan, ScanRequest(("k",))) is Execution.RAW
    with pytest.raises(DataFileMissingError, match=r"d=19723/bucket-0/data-.* is missing"):
        check_sizes(table.store, plan.splits)
    assert list(missing_files(table.store)) == [str(file)]


def test_places_outside_of_the_table_are_none(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"k": INT, "p": STRING})
    assert list(other_places(table.store, "/elsewhere/p=x/bucket-0/f")) == []
    assert list(other_places(table.store, f"{tmp_path}/q=x/bucket-0/f")) == []
    assert list(other_places(table.store, f"{tmp_path}/p=..%2F..%2Fx/bucket-0/f")) == []
    none = table_of(tmp_path / "none", {"k": INT, "v": INT})
    assert list(other_places(none.store, f"{tmp_path}/none/bucket-0/f")) == []
