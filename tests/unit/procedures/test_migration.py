"""Files of other tables as append tables: taken as they are or rewritten, with nothing lost where it fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import (
    CommitConflictError,
    InvalidOptionError,
    InvalidSchemaError,
    PaimonError,
    StorageError,
    TableNotFoundError,
)
from paimon_core.expressions.predicate import IsNull, Predicate
from paimon_core.format_table.table import FormatTable
from paimon_core.format_table.write import FormatTableWriter
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.running import Announcement
from paimon_core.scan.read import read_split
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ForeignTable, ProcedureContext, file_tasks
from tests.support.tables import fields
from tests.unit.procedures.test_compaction import Tasks

Call = Callable[..., Any]
ROWS = [(1, "a", 7), (2, None, 7), (3, "c", None)]


class Foreign(Tasks):
    """Knows tables of another catalog, by name."""

    def __init__(self, tables: Mapping[str, ForeignTable]) -> None:
        super().__init__()
        self.tables, self.dropped = dict(tables), list[str]()

    def foreign_table(self, database: str, name: str) -> ForeignTable | None:
        return self.tables.get(name)

    def foreign_tables(self, database: str) -> list[str]:
        return sorted(self.tables)

    def drop_foreign_table(self, database: str, name: str) -> None:
        self.dropped.append(name)

    def folder_of_files(self, file_format: str, location: str, options: Mapping[str, str]) -> ForeignTable:
        return self.tables[location.rpartition("/")[2]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that another program wrote: partitions of p, which the files do not hold."""
    root = tmp_path / "files"
    for p, name in ((7, "7"), (None, "__HIVE_DEFAULT_PARTITION__")):
        rows = [r for r in ROWS if r[2] == p]
        content = pa.table({"k": pa.array([r[0] for r in rows], pa.int32()), "v": [r[1] for r in rows]})
        (root / f"p={name}").mkdir(parents=True)
        pq.write_table(content, root / f"p={name}" / "part-0.snappy.parquet")
    (root / "_SUCCESS").touch()
    return root


@pytest.fixture
def executor(folder: Path) -> Foreign:
    return Foreign(
        {
            "files": ForeignTable(
                format="parquet", location=str(folder), fields=fields(k=INT, v=STRING, p=INT), partition_keys=("p",)
            )
        }
    )


@pytest.fixture
def call(warehouse: str, executor: Foreign, tmp_path: Path) -> Call:
    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", executor)

    def run(name: str, **arguments: Any) -> Any:
        found = dry_run(warehouse, executor, name, tmp_path, **arguments)
        result = PROCEDURES[name].call(context, arguments)[0][0]
        assert isinstance(found, list), found  # a dry run of a call that succeeds
        return result

    return run


def dry_run(
    warehouse: str, executor: Foreign, name: str, root: Path, **arguments: Any
) -> list[tuple[Any, ...]] | PaimonError:
    """The rows of a dry run, or its error. It changes no file."""
    catalog, own = load_catalog({"warehouse": warehouse}), Foreign(executor.tables)
    before = {p: p.read_bytes() for folder in (root, Path(warehouse)) for p in folder.rglob("*") if p.is_file()}
    try:
        found = list(PROCEDURES[name].call(ProcedureContext(catalog, "default", own), {**arguments, "dry_run": True}))
    except PaimonError as error:
        return error
    finally:
        after = {p: p.read_bytes() for folder in (root, Path(warehouse)) for p in folder.rglob("*") if p.is_file()}
        assert after == before and own.dropped == []
    return found


def table(warehouse: str, name: str) -> Table:
    return load_catalog({"warehouse": warehouse}).load_table(Identifier("default", name))


def read(of: Table, predicate: Predicate | None = None, *columns: str) -> list[tuple[Any, ...]]:
    names = columns or tuple(f.name for f in of.schema.fields)
    splits = of.plan(of.latest_snapshot(), predicate).splits
    batches = [b for s in splits for b in read_split(of.store, s, names, predicate)]
    return sorted((tuple(r.values()) for b in batches for r in b.to_pylist()), key=str)


def test_files_are_moved_and_have_their_partitions(warehouse: str, folder: Path, executor: Foreign, call: Call) -> None:
    assert call("migrate_table", source_type="hive", table="files", options="x=y", options_map={"z": "1"}) is True
    made = table(warehouse, "files")
    assert read(made) == ROWS
    assert read(made, IsNull("p"), "p") == [(None,)]
    assert read(made, None, "p", "k") == [(7, 1), (7, 2), (None, 3)]
    names = [e.file.file_name for e in live_files(made.store, made.latest_snapshot()).values()]
    assert len(names) == 2 and all(n.startswith("import-") and n.endswith(".parquet") for n in names)
    assert {"x": "y", "z": "1", "file.format": "parquet"}.items() <= made.schema.options.items()
    assert executor.dropped == ["files"] and not list(folder.rglob("*.parquet"))


def test_files_are_copied_where_the_old_table_stays(
    warehouse: str, folder: Path, executor: Foreign, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = list[Announcement]()
    monkeypatch.setattr(Announcement, "begin", lambda self, _: running.append(self))
    arguments = {"source_type": "parquet", "table": str(folder), "target_table": "default.t", "delete_origin": False}
    assert call("migrate_table", **arguments) is True
    monkeypatch.setattr(file_tasks, "MANY_COPIES", 1)
    monkeypatch.setattr("paimon_sql.procedures.migration.files._MANY", 1)
    assert call("migrate_table", **arguments) is True  # adds to what is there, in tasks
    assert [d.split()[0] for d in executor.descriptions] == ["plan", "copy"]
    assert [one._work for one in running if one._ended.is_set()] == ["migrate_table"] * 2
    assert sorted(read(table(warehouse, "t"))) == sorted(ROWS * 2, key=lambda r: r[0])
    assert executor.dropped == [] and len(list(folder.rglob("*.parquet"))) == 2
    with pytest.raises(InvalidOptionError, match="target_table"):
        call("migrate_table", source_type="parquet", table=str(folder))


def test_dry_runs_of_files_that_are_taken_over(
    warehouse: str, folder: Path, executor: Foreign, call: Call, tmp_path: Path
) -> None:
    plan = partial(dry_run, warehouse, executor, "migrate_table", tmp_path, source_type="parquet", table=str(folder))
    sizes = [next((folder / f"p={p}").iterdir()).stat().st_size for p in ("7", "__HIVE_DEFAULT_PARTITION__")]
    moved, copied = plan(target_table="t"), plan(target_table="t", delete_origin=False)
    for found, said in ((moved, "moved"), (copied, "copied")):
        assert found == [
            (f"migrate {folder}", "p=7", None, 1, sizes[0], 2, said),
            (f"migrate {folder}", "p=__DEFAULT_PARTITION__", None, 1, sizes[1], 1, said),
        ]
    call("migrate_table", source_type="parquet", table=str(folder), target_table="t", delete_origin=False)
    assert plan(target_table="t", delete_origin=False) == copied, "copies are added again"
    assert isinstance(plan(), InvalidOptionError)
    executor.tables["bad"] = ForeignTable(format="parquet", location=str(folder), fields=fields(k=STRING, k2=INT))
    rows = dry_run(warehouse, executor, "migrate_database", tmp_path, source_type="hive", database="default")
    assert [(r[0], r[1], r[-1]) for r in rows if r[0].endswith("files")] == [
        ("migrate default.files", "p=7", "moved"),
        ("migrate default.files", "p=__DEFAULT_PARTITION__", "moved"),
    ]


def test_dry_runs_of_files_that_are_rewritten(
    warehouse: str, tmp_path: Path, executor: Foreign, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "text"
    root.mkdir()
    for name in "ab":
        (root / f"{name}.csv").write_text("1,a\n")
    executor.tables["text"] = ForeignTable(format="csv", location=str(root), fields=fields(k=INT, v=STRING))
    arguments = {"source_type": "csv", "table": str(root), "target_table": "default.t"}
    plan = partial(dry_run, warehouse, executor, "migrate_table", tmp_path, **arguments)
    expected = [(f"migrate {root}", "", None, 2, 8, None, "rewritten")]
    assert plan() == expected
    call("migrate_table", **arguments)
    assert plan() == [], "these files are migrated"
    assert plan(delete_origin=False) == expected


def test_files_that_cannot_be_committed_stay_where_they_are(
    warehouse: str, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise CommitConflictError("somebody else")

    with monkeypatch.context() as patched:
        patched.setattr(Table, "commit", refuse)
        with pytest.raises(CommitConflictError):
            call("migrate_table", source_type="hive", table="files")
    assert len(list(folder.rglob("*.parquet"))) == 2 and not list(Path(warehouse).rglob("import-*"))
    call("migrate_table", source_type="hive", table="files")
    assert read(table(warehouse, "files")) == ROWS


def test_files_that_could_not_be_deleted_are_not_added_again(
    warehouse: str, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two is deleted, then the storage refuses; a third one has come when it is run again."""
    deleted: list[str] = []

    def delete(io: LocalFileIO, path: str) -> None:
        if "/files/" in path and deleted:
            raise StorageError("the storage refuses")
        deleted.append(path)
        Path(path).unlink()

    arguments = {"source_type": "parquet", "table": str(folder), "target_table": "default.t"}
    with monkeypatch.context() as patched:
        patched.setattr(LocalFileIO, "delete", delete)
        patched.setattr("paimon_sql.procedures.migration.runs.for_each", lambda _, pairs, act: list(map(act, pairs)))
        with pytest.raises(StorageError, match="refuses"):
            call("migrate_table", **arguments)
    assert read(table(warehouse, "t")) == ROWS and len(list(folder.rglob("*.parquet"))) == 1
    path = folder / "p=7" / "part-0.snappy.parquet"  # a name that was there before
    more = pa.table({"k": pa.array([4], pa.int32()), "v": ["d"]})
    path.unlink(missing_ok=True)
    pq.write_table(more, path)
    (folder / "p=7" / "part-1.parquet").write_bytes(path.read_bytes())
    call("migrate_table", **arguments)
    assert [r[0] for r in read(table(warehouse, "t"))] == [1, 2, 3, 4, 4] and not list(folder.rglob("*.parquet"))


def test_rewritten_rows_are_added_once(warehouse: str, tmp_path: Path, executor: Foreign, call: Call) -> None:
    root = tmp_path / "text"
    root.mkdir()
    (root / "a.csv").write_text("1,a\n")
    executor.tables["text"] = ForeignTable(format="csv", location=str(root), fields=fields(k=INT, v=STRING))
    arguments = {"source_type": "csv", "table": str(root), "target_table": "default.t"}
    call("migrate_table", **arguments)
    call("migrate_table", **arguments)
    assert read(table(warehouse, "t")) == [(1, "a")]
    (root / "a.csv").write_text("2,b\n")
    os.utime(root / "a.csv", (1, 1))
    call("migrate_table", **arguments)
    assert read(table(warehouse, "t")) == [(1, "a"), (2, "b")]


def test_rows_of_files_that_came_while_a_migration_had_stopped(
    warehouse: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, name = load_catalog({"warehouse": warehouse}), Identifier("default", "old")
    options = {"type": "format-table", "file.format": "csv"}
    catalog.create_table(name, new_table_schema(fields(k=INT, v=STRING), options=options))

    def add(k: int) -> None:
        writer = FormatTableWriter(table(warehouse, "old").store)
        writer.write(pa.RecordBatch.from_pydict({"k": pa.array([k], pa.int32()), "v": ["a"]}))
        FormatTable.of(table(warehouse, "old").store).commit(writer.finish())

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    add(1)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(type(catalog), "rename_table", dies)
        call("migrate_table", source_type="hive", table="old")
    add(2)
    call("migrate_table", source_type="hive", table="old")
    assert catalog.list_tables("default") == ["old"] and read(table(warehouse, "old")) == [(1, "a"), (2, "a")]


def test_a_format_table_becomes_a_table_of_its_name(warehouse: str, call: Call) -> None:
    catalog, name = load_catalog({"warehouse": warehouse}), Identifier("default", "c")
    for file_format in ("csv", "orc"):
        options = {"type": "format-table", "file.format": file_format}
        catalog.create_table(name, new_table_schema(fields(k=INT, v=STRING, p=BIGINT), ["p"], options))
        files = FormatTable.of(catalog.load_table(name).store)
        writer = FormatTableWriter(files.store)
        columns = zip(*ROWS, strict=True)
        writer.write(pa.RecordBatch.from_arrays([pa.array(c) for c in columns], names=["k", "v", "p"]))
        files.commit(writer.finish())
        assert call("migrate_table", source_type="hive", table="c") is True
        made = table(warehouse, "c")
        assert read(made) == ROWS and made.latest_snapshot() is not None
        assert catalog.list_tables("default") == ["c"]
        with pytest.raises(InvalidOptionError, match="Paimon table already"):
            call("migrate_table", source_type="hive", table="c")
        catalog.drop_table(name)


def test_a_migration_that_died_behind_its_commit_is_ended_by_the_next_one(
    warehouse: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are in the new table; running it again adds none of them."""
    catalog, name = load_catalog({"warehouse": warehouse}), Identifier("default", "old")
    options = {"type": "format-table", "file.format": "csv"}
    catalog.create_table(name, new_table_schema(fields(k=INT, v=STRING), options=options))
    writer = FormatTableWriter(table(warehouse, "old").store)
    writer.write(pa.RecordBatch.from_pydict({"k": pa.array([1], pa.int32()), "v": ["a"]}))
    FormatTable.of(table(warehouse, "old").store).commit(writer.finish())

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(type(catalog), "drop_table", dies)
        call("migrate_table", source_type="hive", table="old")
    assert read(table(warehouse, "old")) == [(1, "a")] and catalog.list_tables("default") == ["old", "old_migrated_"]
    call("migrate_table", source_type="hive", table="old")
    assert catalog.list_tables("default") == ["old"] and read(table(warehouse, "old")) == [(1, "a")]


def test_a_database_is_migrated(warehouse: str, executor: Foreign, call: Call, folder: Path) -> None:
    executor.tables["bad"] = ForeignTable(format="parquet", location=str(folder), fields=fields(k=STRING, k2=INT))
    (folder / "p=7" / "broken.parquet").write_bytes(b"PAR1")
    result = call("migrate_database", source_type="spark", database="default")
    assert result == "migrate database is finished, success cnt: 0 , failed cnt: 2"
    assert load_catalog({"warehouse": warehouse}).list_tables("default") == []
    assert len(list(folder.rglob("*.parquet"))) == 3  # where they were
    (folder / "p=7" / "broken.parquet").unlink()
    del executor.tables["bad"]
    result = call("migrate_database", source_type="hive", database="default", options="file.format=orc")
    assert result == "migrate database is finished, success cnt: 1 , failed cnt: 0"
    assert read(table(warehouse, "files")) == ROWS


def test_files_with_ids_of_another_table_are_rewritten(
    warehouse: str, tmp_path: Path, executor: Foreign, call: Call
) -> None:
    root = tmp_path / "iceberg"
    root.mkdir()
    ids = [pa.field("k", pa.int32(), metadata={"PARQUET:field_id": "2"})]
    ids.append(pa.field("v", pa.string(), metadata={"PARQUET:field_id": "1"}))
    pq.write_table(pa.table([[1], ["a"]], schema=pa.schema(ids)), root / "f.parquet")
    executor.tables["iceberg"] = ForeignTable(format="parquet", location=str(root), fields=fields(k=INT, v=STRING))
    call("migrate_table", source_type="hive", table="iceberg", delete_origin=False)
    assert read(table(warehouse, "iceberg")) == [(1, "a")] and executor.counts == [1]


def test_orc_files_are_taken(warehouse: str, tmp_path: Path, executor: Foreign, call: Call) -> None:
    root = tmp_path / "orc"
    root.mkdir()
    po.write_table(pa.table({"v": ["a", "b"], "k": pa.array([1, 2], pa.int32())}), root / "000000_0")
    executor.tables["orc"] = ForeignTable(format="orc", location=str(root), fields=fields(k=INT, v=STRING))
    call("migrate_table", source_type="hive", table="orc")
    assert read(table(warehouse, "orc")) == [(1, "a"), (2, "b")] and executor.counts == []


def test_what_cannot_be_migrated(warehouse: str, folder: Path, call: Call) -> None:
    load_catalog({"warehouse": warehouse}).create_table(Identifier("default", "t"), new_table_schema(fields(k=INT)))
    wrong: list[tuple[dict[str, str], type[PaimonError]]] = [
        ({"source_type": "iceberg", "table": "files"}, InvalidOptionError),
        ({"source_type": "hive", "table": "nope"}, TableNotFoundError),
        ({"source_type": "hive", "table": "files", "options": "primary-key=k"}, InvalidOptionError),
        ({"source_type": "hive", "table": "files", "target_table": "t"}, InvalidSchemaError),
    ]
    for arguments, error in wrong:
        with pytest.raises(error):
            call("migrate_table", **arguments)
    assert len(list(folder.rglob("*.parquet"))) == 2
    assert load_catalog({"warehouse": warehouse}).list_tables("default") == ["t"]
