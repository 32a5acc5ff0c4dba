from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.commit.publish import AtomicPublisher, PublishOutcome
from paimon_core.errors import (
    BranchNotFoundError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    InvalidNameError,
    InvalidOptionError,
    PaimonError,
    StorageError,
    StorageRefusedError,
    TableExistsError,
    TableNotFoundError,
)
from paimon_core.io.file_io import FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branches import create_branch
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption, SetOption, UpdateComment
from paimon_sql.catalog import replacing
from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.load import load_catalog
from tests.support import stored
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.stored import insert, read
from tests.support.tables import data_file, fields, info, message

SCHEMA = new_table_schema(fields(k=INT, v=STRING), options={"primary-key": "k", "bucket": "2"})
T = Identifier("db", "t")
HOSTILE = ["..", ".", "", " ", "a/b", "../../evil", "a\\b", "a\0b", "a\nb", "x" * 300, " a", "a ", "/etc", "t$"]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = load_catalog({"warehouse": str(tmp_path / "wh"), "table-default.file.compression": "lz4"})
    catalog.create_database("db")
    return catalog


def test_tables_live_in_folders_of_their_name(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(T, SCHEMA)
    assert (tmp_path / "wh" / "db.db" / "t" / "schema" / "schema-0").exists()
    assert catalog.list_databases() == ["db", "default"]
    assert (catalog.list_tables("db"), catalog.list_tables("default")) == (["t"], [])
    table = catalog.load_table(T)
    assert (table.name, table.schema.options["file.compression"]) == ("db.t", "lz4")
    table.commit([message(table.store, data_file(table.store, 1, 1))], info())
    assert catalog.load_table(Identifier.parse("db.t$files")).system_table("files").num_rows == 1


def test_a_table_knows_its_identifier_and_what_publishes_it(catalog: Catalog) -> None:
    catalog.create_table(T, SCHEMA)
    table, published = catalog.load_table(T), list[str]()

    class Noting(AtomicPublisher):
        def publish(self, path: str, data: bytes) -> PublishOutcome:
            published.append(path)
            return super().publish(path, data)

    table = replace(table, publishing=lambda store: Noting(store.io)).with_options({"commit.user-prefix": "x"})
    table.commit([message(table.store, data_file(table.store, 1, 1))], info())
    assert published == [table.store.paths.snapshot(1)]
    assert table.identifier == T
    create_branch(table.store, "b", None)
    branch = catalog.load_table(replace(T, branch="b"))
    assert (branch.identifier, branch.name) == (replace(T, branch="b"), "db.t$branch_b")


def test_default_is_made_on_demand(catalog: Catalog) -> None:
    catalog.create_table(Identifier("default", "t"), SCHEMA)
    assert catalog.list_tables("default") == ["t"]


def test_one_of_many_creates_the_table(catalog: Catalog) -> None:
    def create(n: int) -> bool:
        try:
            catalog.create_table(T, SCHEMA)
        except TableExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(16))) == 1
    catalog.create_table(T, SCHEMA, ignore_if_exists=True)


def test_what_does_not_exist(catalog: Catalog) -> None:
    for call in (catalog.load_table, catalog.drop_table):
        with pytest.raises(TableNotFoundError, match=r"no table db\.t"):
            call(T)
        with pytest.raises(DatabaseNotFoundError, match="no database nope"):
            call(Identifier("nope", "t"))
    catalog.drop_table(T, ignore_if_not_exists=True)
    with pytest.raises(DatabaseNotFoundError):
        catalog.create_table(Identifier("nope", "t"), SCHEMA)
    with pytest.raises(DatabaseNotFoundError):
        catalog.list_tables("nope")
    assert not catalog.table_exists(T) and not catalog.table_exists(Identifier("nope", "t"))
    catalog.create_table(T, SCHEMA)
    with pytest.raises(BranchNotFoundError, match=r"db\.t has no branch 'b'; its branches are main"):
        catalog.load_table(Identifier("db", "t", branch="b"))


def test_databases(catalog: Catalog) -> None:
    with pytest.raises(DatabaseExistsError):
        catalog.create_database("db")
    catalog.create_database("db", {"comment": "dropped"}, ignore_if_exists=True)
    with pytest.raises(InvalidOptionError, match="location"):
        catalog.create_database("other", {"location": "/tmp/x"})
    catalog.create_table(T, SCHEMA)
    with pytest.raises(DatabaseNotEmptyError, match="t among them"):
        catalog.drop_database("db")
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == ["default"]


def test_rename_and_drop(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.create_table(Identifier("db", "u"), SCHEMA)
    with pytest.raises(TableExistsError):
        catalog.rename_table(T, Identifier("db", "u"))
    catalog.rename_table(T, Identifier("default", "new"))
    assert (catalog.list_tables("db"), catalog.list_tables("default")) == (["u"], ["new"])
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (tmp_path / "wh" / "db.db" / "u" / "link").symlink_to(outside)
    catalog.drop_table(Identifier("db", "u"))
    assert (outside / "precious").exists() and not (tmp_path / "wh" / "db.db" / "u").exists()


def test_options_change_as_new_versions(catalog: Catalog) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.alter_table(T, [SetOption("write-only", "true"), UpdateComment("mine")])
    schema = catalog.load_table(T).schema
    assert (schema.id, schema.options["write-only"], schema.comment) == (1, "true", "mine")
    catalog.alter_table(T, [SetOption("write-only", "true")])
    assert catalog.load_table(T).schema.id == 1
    catalog.alter_table(T, [RemoveOption("write-only"), SetOption("bucket", "4")])
    assert catalog.load_table(T).schema.options["bucket"] == "4"
    refused = (
        SetOption("bucket", "0"),
        SetOption("target-file-size", "x"),
        SetOption("primary-key", "v"),
        RemoveOption("primary-key"),
    )
    for change in refused:
        with pytest.raises(InvalidOptionError, match=change.key):
            catalog.alter_table(T, [change])
    assert catalog.load_table(T).schema.id == 2


def test_a_table_made_again_forgets_the_schemas_of_the_one_before(catalog: Catalog) -> None:
    """Files are read by the schema they were written with; the old table's had the same number and path."""
    for columns in (fields(k=INT, v=STRING), fields(v=STRING, k=INT)):
        catalog.create_table(T, new_table_schema(columns))
        insert(catalog.load_table(T), [(1, "a")])
        catalog.alter_table(T, [AddColumn(("extra",), INT)])
        assert read(catalog.load_table(T)) == [(1, "a")]
        catalog.drop_table(T)


def test_a_branch_is_altered_by_itself(catalog: Catalog) -> None:
    catalog.create_table(T, SCHEMA)
    before = catalog.load_table(T)
    create_branch(before.store, "b")
    branch = Identifier(T.database, T.table, "b")
    catalog.alter_table(branch, [AddColumn(("extra",), STRING), SetOption("write-only", "true")])
    altered = catalog.load_table(branch).schema
    assert (altered.id, altered.fields[-1].name, altered.options["write-only"]) == (1, "extra", "true")
    assert catalog.load_table(T).schema == before.schema
    with pytest.raises(BranchNotFoundError, match="no branch 'c'"):
        catalog.alter_table(Identifier(T.database, T.table, "c"), [SetOption("write-only", "true")])
    with pytest.raises(BranchNotFoundError, match="'scan.fallback-branch' cannot be 'c'"):
        catalog.alter_table(T, [SetOption("scan.fallback-branch", "c")])
    with pytest.raises(InvalidNameError):
        catalog.alter_table(Identifier(T.database, T.table, "b", "files"), [SetOption("write-only", "true")])


@pytest.mark.parametrize("mode", list(Fault))
def test_a_table_is_created_whole_or_not_at_all(tmp_path: Path, mode: Fault) -> None:
    for k in range(1, 10):
        warehouse = str(tmp_path / str(k))
        FileSystemCatalog(LocalFileIO(), warehouse).create_database("db")
        broken = FileSystemCatalog(FaultyIO(LocalFileIO(), k, mode), warehouse)
        created = False
        try:
            broken.create_table(T, SCHEMA)
            created = True
        except (PaimonError, SimulatedCrash):
            pass
        fresh = FileSystemCatalog(LocalFileIO(), warehouse)
        exists = fresh.table_exists(T)
        assert exists or not created
        fresh.create_table(T, SCHEMA, ignore_if_exists=True)
        assert fresh.load_table(T).schema == SCHEMA


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_go_nowhere(catalog: Catalog, tmp_path: Path, name: str) -> None:
    catalog.create_table(T, SCHEMA)
    before = sorted(tmp_path.rglob("*"))
    for bad in (Identifier("db", name), Identifier(name, "t")):
        for call in (
            lambda i=bad: catalog.create_table(i, SCHEMA),
            lambda i=bad: catalog.drop_table(i),
            lambda i=bad: catalog.load_table(i),
            lambda i=bad: catalog.rename_table(T, i),
            lambda i=bad: catalog.rename_table(i, Identifier("db", "u")),
        ):
            with pytest.raises(InvalidNameError):
                call()
    for call in (catalog.create_database, catalog.drop_database, catalog.list_tables, catalog.database_properties):
        with pytest.raises(InvalidNameError):
            call(name)
    assert sorted(tmp_path.rglob("*")) == before


def test_identifiers() -> None:
    parse = Identifier.parse
    assert parse("db.t") == Identifier("db", "t")
    assert parse("db.t$files") == Identifier("db", "t", None, "files")
    assert parse("db.t$branch_b") == Identifier("db", "t", "b")
    assert parse("db.t$branch_b$files") == Identifier("db", "t", "b", "files")
    assert parse("db.t$branch_main$files") == Identifier("db", "t", None, "files")
    assert str(parse("db.t$branch_b$files")) == "db.t$branch_b$files" and str(parse("db.t")) == "db.t"
    for bad in ("t", "db.t$", "db.t$files$more", "db.$files", ".t", "db.t$branch_"):
        with pytest.raises(InvalidNameError):
            parse(bad)


def test_loading_a_catalog() -> None:
    with pytest.raises(InvalidOptionError, match="'metastore' cannot be 'magic'; this version supports filesystem"):
        load_catalog({"metastore": "magic", "warehouse": "/tmp/x"})
    with pytest.raises(InvalidOptionError, match="'warehouse'"):
        load_catalog({})
    assert "secret" not in repr(load_catalog({"warehouse": "/tmp/x", "s3.secret-key": "secret"}))


def test_a_table_that_is_dropped_halfway_is_an_empty_one(tmp_path: Path) -> None:
    """Never a damaged one, nor one without a schema, whose snapshots the next table of that name would show."""
    warehouse, calls, seen = str(tmp_path), 0, set[int]()
    while True:
        calls += 1
        stored.create_table(warehouse, primary_key="k", bucket="1")
        stored.insert(stored.open_table(warehouse), [(1, "old")])
        try:
            FileSystemCatalog(FaultyIO(LocalFileIO(), calls, Fault.TORN), warehouse).drop_table(stored.T)
            break
        except StorageError:
            catalog = FileSystemCatalog(LocalFileIO(), warehouse)
            seen.add(len(stored.read(stored.open_table(warehouse))) if catalog.table_exists(stored.T) else -1)
            catalog.drop_table(stored.T, ignore_if_not_exists=True)
            stored.create_table(warehouse, primary_key="k", bucket="1")
            assert stored.read(stored.open_table(warehouse)) == []
            catalog.drop_table(stored.T)
    assert seen == {-1, 0, 1}  # no table and nothing of it, an empty one, a whole one


@pytest.mark.parametrize("mode", list(Fault))
def test_a_table_that_another_takes_the_place_of_is_there_until_then(tmp_path: Path, mode: Fault) -> None:
    """REPLACE TABLE with other partitions: whatever fails, the rows of the old table or of the new one are there."""
    for k in range(1, 20):
        warehouse = str(tmp_path / str(k))
        stored.insert(stored.create_table(warehouse), [(1, "old")])
        io = FaultyIO(LocalFileIO())
        schema = new_table_schema(fields(k=INT, v=STRING), ["v"], {})
        staged = FileSystemCatalog(io, warehouse).stage_replace(stored.T, schema)
        staged.publish()
        stored.insert(staged.table, [(1, "new")])
        io.fail_at, io.mode = io.calls + k, mode
        try:
            staged.finish()
        except PaimonError:
            staged.discard()
        except SimulatedCrash:
            pass
        io.settle()
        catalog = FileSystemCatalog(LocalFileIO(), warehouse)
        assert "t" in catalog.list_tables("default")
        assert stored.read(catalog.load_table(stored.T)) in ([(1, "old")], [(1, "new")]), f"call {k}"
        assert all(catalog.load_table(Identifier("default", n)) for n in catalog.list_tables("default"))


def test_who_looks_for_a_table_while_another_takes_its_place_finds_the_new_one(tmp_path: Path) -> None:
    """Between the two renames, with its process alive, which then deletes the old one as ever."""
    warehouse, catalog = str(tmp_path), FileSystemCatalog(LocalFileIO(), str(tmp_path))
    stored.insert(stored.create_table(warehouse), [(1, "old")])
    found = list[object]()

    class Watched(LocalFileIO):
        def rename_dir(self, source: str, target: str) -> None:
            if "_replacing_" in source:
                found.append(catalog.list_tables("default"))
                found.append(stored.read(catalog.load_table(stored.T)))
            super().rename_dir(source, target)

    schema = new_table_schema(fields(k=INT, v=STRING), ["v"], {})
    staged = FileSystemCatalog(Watched(), warehouse).stage_replace(stored.T, schema)
    staged.publish()
    stored.insert(staged.table, [(1, "new")])
    staged.finish()
    (listed, rows), name = found, stored.T.table
    assert rows == [(1, "new")] and isinstance(listed, list)
    assert listed[0] == name and listed[1].startswith(f"{name}_replaced_") and len(listed) == 2
    assert catalog.list_tables("default") == [name] and stored.read(catalog.load_table(stored.T)) == [(1, "new")]


def test_a_table_is_not_created_where_another_is_being_replaced(tmp_path: Path) -> None:
    catalog = FileSystemCatalog(LocalFileIO(), str(tmp_path))
    table = stored.create_table(str(tmp_path))
    for suffix in ("_replacing_0a1b2c3d", "_replaced_0a1b2c3d"):
        catalog.create_table(Identifier("default", stored.T.table + suffix), table.schema)
    assert not replacing.complete(LocalFileIO(), table.store.root)  # it is there
    catalog.drop_table(stored.T)
    with pytest.raises(TableExistsError):
        catalog.create_table(stored.T, table.schema)
    other = Identifier("default", "other")
    assert not catalog.table_exists(other)


def test_a_folder_beside_which_nobody_may_look(tmp_path: Path) -> None:
    class Closed(LocalFileIO):
        def list(self, path: str) -> Iterator[FileStatus]:
            if path.endswith("default.db"):
                raise StorageRefusedError(f"Cannot list {path}: access is denied.")
            return super().list(path)

    stored.create_table(str(tmp_path))
    catalog = FileSystemCatalog(Closed(), str(tmp_path))
    assert catalog.table_exists(stored.T) and not catalog.table_exists(Identifier("default", "other"))
    with pytest.raises(TableNotFoundError):
        catalog.load_table(Identifier("default", "other"))


def test_properties_of_a_database_are_dropped_by_name(catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """As Java does: with a warning, and the database is there."""
    catalog.create_database("plain", {})
    assert caplog.text == ""
    catalog.create_database("shop", {"team": "x", "comment": "for orders"})
    assert "Database shop is created without comment, team:" in caplog.text and "orders" not in caplog.text
    assert catalog.database_exists("shop") and "comment" not in catalog.database_properties("shop")


def test_upserts_that_other_engines_ignore_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    for name, options in (("default.plain", {}), ("default.upserts", {"upsert-key": "k"})):
        caplog.clear()
        identifier = Identifier(*name.split("."))
        catalog.create_table(identifier, new_table_schema(fields(k=INT, v=INT), options=options))
        said = [r.getMessage() for r in caplog.records if "other engines ignore" in r.getMessage()]
        assert [name in text and "'upsert-key'" in text for text in said] == [True] * len(options)
    caplog.clear()
    catalog.alter_table(Identifier("default", "upserts"), [SetOption("x", "y")])
    assert "upsert-key" not in caplog.text
    catalog.alter_table(Identifier("default", "plain"), [SetOption("upsert-key", "k")])
    assert "default.plain" in caplog.text
