"""Every operation and every error, the same in all kinds of catalogs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import (
    BranchNotFoundError,
    CommitConflictError,
    DatabaseExistsError,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    InvalidNameError,
    InvalidOptionError,
    NotFoundError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from paimon_core.maintenance.branches import create_branch
from paimon_core.materialized_table import STATUS, SUSPENDED, Definition
from paimon_core.object_table import ObjectTable
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, RemoveOption, SetOption, UpdateComment
from paimon_sql.catalog.base import SupportsDatabaseProperties, SupportsDatabases, SupportsRegistration, SupportsViews
from tests.catalogs.kinds import OTHER_SCHEMA, SCHEMA, Can, Place, is_no_name
from tests.support.hostile_names import HOSTILE_NAMES, some
from tests.support.stored import insert, read
from tests.support.tables import data_file, fields, info, message

T, U = Identifier("db", "t"), Identifier("db", "u")


@pytest.fixture
def catalog(place: Place) -> SupportsDatabases:
    catalog = place.catalog(table_default__file__compression="lz4")
    catalog.create_database("db")
    return catalog


def test_what_it_can_is_what_is_declared(place: Place) -> None:
    catalog = place.catalog()
    assert isinstance(catalog, SupportsDatabaseProperties) is place.can(Can.DATABASE_PROPERTIES)
    assert isinstance(catalog, SupportsRegistration) is place.can(Can.REGISTRATION)
    assert isinstance(catalog, SupportsViews) is place.can(Can.VIEWS)


def test_databases(place: Place) -> None:
    catalog = place.catalog()
    assert catalog.list_databases() == ["default"]
    assert (catalog.database_exists("default"), catalog.database_exists("db")) == (True, False)
    catalog.create_database("db")
    assert place.catalog().list_databases() == ["db", "default"]
    assert catalog.database_properties("db")["location"] == str(place.warehouse / "db.db")
    assert catalog.list_tables("db") == []
    with pytest.raises(DatabaseExistsError, match="db already exists"):
        catalog.create_database("db")
    catalog.create_database("db", ignore_if_exists=True)
    catalog.drop_database("db")
    assert not place.catalog().database_exists("db")
    assert "db/" not in place.folders()
    for call in (catalog.drop_database, catalog.list_tables, catalog.database_properties):
        with pytest.raises(DatabaseNotFoundError, match="no database db"):
            call("db")


def test_names_of_databases_are_exact(place: Place) -> None:
    catalog = place.catalog()
    if not place.can(Can.ANY_NAME):
        for name in ("ärger", "数据", "a.b", "a b", "a'b", "%", "a-b"):
            with pytest.raises(InvalidNameError, match="letters, digits and underscores"):
                catalog.create_database(name)
        catalog.create_database("Db")
        assert catalog.database_exists("dB") and place.catalog().list_databases() == ["db", "default"]
        catalog.create_table(Identifier("DB", "T"), SCHEMA)
        assert catalog.list_tables("db") == ["t"] and catalog.table_exists(Identifier("dB", "T"))
        return
    for name in ("Db", "dB", "ärger", "数据", "🙂", "a.b", "a b", "a'b", 'a"b', "%", "_"):
        catalog.create_database(name)
    assert not catalog.database_exists("db") and not catalog.database_exists("arger")
    assert set(catalog.list_databases()) >= {"Db", "dB", "ärger", "数据", "🙂", "a.b", "a b", "a'b", 'a"b', "%", "_"}
    catalog.create_table(Identifier("Db", "T"), SCHEMA)
    catalog.create_table(Identifier("Db", "t"), SCHEMA)
    assert (catalog.list_tables("Db"), catalog.list_tables("dB"), catalog.list_tables("_")) == (["T", "t"], [], [])
    assert not catalog.table_exists(Identifier("dB", "t"))
    catalog.drop_database("Db", cascade=True)
    assert catalog.database_exists("dB")


def test_the_system_database_is_no_database(place: Place) -> None:
    catalog = place.catalog()
    with pytest.raises(InvalidNameError, match="procedures"):
        catalog.create_database("sys")
    with pytest.raises(InvalidNameError, match="procedures"):
        catalog.drop_database("sys")


def test_a_database_with_tables_is_dropped_by_cascade(catalog: SupportsDatabases, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.create_table(U, SCHEMA)
    with pytest.raises(DatabaseNotEmptyError, match="still has 2 tables, t among them"):
        catalog.drop_database("db")
    assert place.catalog().list_tables("db") == ["t", "u"]
    catalog.drop_database("db", cascade=True)
    assert place.catalog().list_databases() == ["default"]
    assert place.folders() == set()


def test_properties_of_databases(place: Place) -> None:
    catalog = place.catalog()
    given = {"comment": 'it\'s "mine"; DROP TABLE paimon_tables --', "k.ä": "ö\n\\0%s:name", "empty": ""}
    if not place.can(Can.LOCATIONS):
        with pytest.raises(InvalidOptionError, match="location"):
            catalog.create_database("db", {"location": "/tmp/elsewhere"})
        assert not catalog.database_exists("db")
    catalog.create_database("db", given)
    found = place.catalog().database_properties("db")
    owner = {"owner": found["owner"]} if place.kind == "hive" and "owner" in found else {}  # as later versions say
    found = {k: v for k, v in found.items() if k not in owner}
    assert found == {"location": str(place.warehouse / "db.db")} | (given if place.can(Can.DATABASE_PROPERTIES) else {})
    if not isinstance(catalog, SupportsDatabaseProperties):
        return
    catalog.alter_database("db", {"comment": "new", "more": "1"}, ["k.ä", "unknown"])
    changed = place.catalog().database_properties("db")
    assert changed == {"location": found["location"], "comment": "new", "empty": "", "more": "1"} | owner
    catalog.alter_database("db", {}, ["location", "exists", "more"])
    assert place.catalog().database_properties("db")["location"] == found["location"]
    with pytest.raises(InvalidOptionError, match="location"):
        catalog.alter_database("db", {"location": "/tmp/elsewhere"})
    own, most = ("paimon_location", 4000) if place.kind == "hive" else ("exists", 1000)
    with pytest.raises(InvalidOptionError, match=f"'{own}'"):
        catalog.alter_database("db", {own: "false"})
    with pytest.raises(InvalidOptionError, match=f"has {most + 1} characters"):
        catalog.alter_database("db", {"long": "x" * (most + 1), "other": "1"})
    with pytest.raises(DatabaseNotFoundError):
        catalog.alter_database("nope", {"a": "b"})
    assert "other" not in place.catalog().database_properties("db")
    with pytest.raises(InvalidOptionError, match=f"has {most + 1} characters"):
        catalog.create_database("long", {"comment": "x" * (most + 1)})
    assert not catalog.database_exists("long")


def test_tables(catalog: SupportsDatabases, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.create_table(Identifier("default", "in_default"), SCHEMA)
    assert (place.warehouse / "db.db" / "t" / "schema" / "schema-0").exists()
    assert (place.catalog().list_tables("db"), catalog.list_tables("default")) == (["t"], ["in_default"])
    table = place.catalog().load_table(T)
    assert (table.name, table.identifier, table.schema.options["file.compression"]) == ("db.t", T, "lz4")
    table.commit([message(table.store, data_file(table.store, 1, 1))], info())
    assert catalog.load_table(Identifier.parse("db.t$files")).system_table("files").num_rows == 1
    assert catalog.table_exists(T) and not catalog.table_exists(U)
    catalog.drop_table(T)
    assert not catalog.table_exists(T) and place.folders() == {"default/in_default"}


def test_rows_are_written_and_read(catalog: SupportsDatabases) -> None:
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), [(1, "a"), (2, "b")])
    assert sorted(read(catalog.load_table(T))) == [(1, "a"), (2, "b")]


def test_what_exists(catalog: SupportsDatabases) -> None:
    catalog.create_table(T, SCHEMA)
    for create in (catalog.create_table, catalog.stage_create):
        with pytest.raises(TableExistsError, match=r"Table db\.t already exists"):
            create(T, OTHER_SCHEMA)
    catalog.create_table(T, OTHER_SCHEMA, ignore_if_exists=True)
    assert [f.name for f in catalog.load_table(T).schema.fields] == ["k", "v"]


def test_what_does_not_exist(catalog: SupportsDatabases) -> None:
    for call in (catalog.load_table, catalog.drop_table):
        with pytest.raises(TableNotFoundError, match=r"no table db\.t"):
            call(T)
        with pytest.raises(DatabaseNotFoundError, match="no database nope"):
            call(Identifier("nope", "t"))
    for change in (catalog.alter_table, catalog.stage_alter):
        with pytest.raises(TableNotFoundError, match=r"no table db\.t"):
            change(T, [SetOption("a", "b")])
    catalog.drop_table(T, ignore_if_not_exists=True)
    for create in (catalog.create_table, catalog.stage_create):
        with pytest.raises(DatabaseNotFoundError):
            create(Identifier("nope", "t"), SCHEMA)
    with pytest.raises(DatabaseNotFoundError):
        catalog.list_tables("nope")
    assert not catalog.table_exists(T) and not catalog.table_exists(Identifier("nope", "t"))


def test_branches_and_system_tables_are_no_tables_of_their_own(catalog: SupportsDatabases) -> None:
    catalog.create_table(T, SCHEMA)
    with pytest.raises(BranchNotFoundError, match=r"db\.t has no branch 'b'; its branches are main"):
        catalog.load_table(replace(T, branch="b"))
    table = catalog.load_table(T)
    create_branch(table.store, "b", None)
    branch = replace(T, branch="b")
    assert catalog.load_table(branch).name == "db.t$branch_b" and catalog.table_exists(branch)
    assert not catalog.table_exists(replace(T, branch="c"))
    catalog.alter_table(branch, [SetOption("num-sorted-run.compaction-trigger", "7")])
    assert "num-sorted-run.compaction-trigger" in catalog.load_table(branch).schema.options
    assert "num-sorted-run.compaction-trigger" not in catalog.load_table(T).schema.options
    for name in (branch, replace(T, system_table="files")):
        with pytest.raises(InvalidNameError, match="not a table of its own"):
            catalog.create_table(name, SCHEMA)
        with pytest.raises(InvalidNameError, match="not a table of its own"):
            catalog.drop_table(name)
        with pytest.raises(InvalidNameError, match="not a table of its own"):
            catalog.rename_table(T, name)
        with pytest.raises(InvalidNameError, match="not a table of its own"):
            catalog.rename_table(name, U)


def test_altering(catalog: SupportsDatabases, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    catalog.alter_table(T, [AddColumn(("w",), INT), SetOption("snapshot.num-retained.min", "3"), UpdateComment("hi")])
    changed = place.catalog().load_table(T).schema
    assert ([f.name for f in changed.fields], changed.comment) == (["k", "v", "w"], "hi")
    assert changed.options["snapshot.num-retained.min"] == "3"
    catalog.alter_table(T, [RemoveOption("snapshot.num-retained.min")])
    assert "snapshot.num-retained.min" not in place.catalog().load_table(T).schema.options
    staged = catalog.stage_alter(T, [AddColumn(("x",), INT)])
    catalog.alter_table(T, [AddColumn(("y",), INT)])
    with pytest.raises(CommitConflictError, match="altered meanwhile"):
        staged.publish()


def test_long_values(catalog: SupportsDatabases, place: Place) -> None:
    """What the metastore has no room for is refused before anything is there."""
    value = "x" * 1001
    long = new_table_schema(fields(k=INT, v=STRING), options={"ours.long": value})
    if place.can(Can.LONG_VALUES):
        catalog.create_table(T, long)
        assert place.catalog().load_table(T).schema.options["ours.long"] == value
        return
    with pytest.raises(
        InvalidOptionError, match=r"'ours\.long' of table db\.t has 1001 characters.*sync-all-properties"
    ):
        catalog.create_table(T, long)
    assert place.folders() == set() and catalog.list_tables("db") == []
    catalog.create_table(T, SCHEMA)
    for change in (catalog.alter_table, catalog.stage_alter):
        with pytest.raises(InvalidOptionError, match="1001 characters"):
            change(T, [SetOption("ours.long", value)])
    with pytest.raises(InvalidOptionError, match="1001 characters"):
        catalog.stage_replace(T, long)
    with pytest.raises(InvalidOptionError, match="longer than 255"):
        catalog.alter_table(T, [SetOption("k" * 256, "v")])
    assert catalog.load_table(T).schema.options == place.catalog().load_table(T).schema.options
    other = place.catalog(sync_all_properties="false")
    other.alter_table(T, [SetOption("ours.long", value)])
    assert place.catalog().load_table(T).schema.options["ours.long"] == value


def test_renaming(catalog: SupportsDatabases, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), [(1, "a")])
    catalog.create_database("other")
    name = "new name" if place.can(Can.ANY_NAME) else "new_name"
    target = Identifier("other", name)
    catalog.rename_table(T, target)
    assert (catalog.list_tables("db"), place.catalog().list_tables("other")) == ([], [name])
    assert place.folders() == {f"other/{name}"}
    assert read(place.catalog().load_table(target)) == [(1, "a")]
    with pytest.raises(TableNotFoundError, match=r"no table db\.t"):
        catalog.rename_table(T, U)
    catalog.create_table(T, SCHEMA)
    for taken in (target, T):
        with pytest.raises(TableExistsError):
            catalog.rename_table(T, taken)
    with pytest.raises(DatabaseNotFoundError):
        catalog.rename_table(T, Identifier("nope", "t"))
    with pytest.raises(DatabaseNotFoundError):
        catalog.rename_table(Identifier("nope", "t"), U)
    assert place.folders() == {f"other/{name}", "db/t"}
    catalog.rename_table(T, U)
    catalog.rename_table(U, T)
    assert catalog.list_tables("db") == ["t"]


def test_a_folder_in_the_way_is_left_alone(catalog: SupportsDatabases, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    (place.warehouse / "db.db" / "u").mkdir()
    (place.warehouse / "db.db" / "u" / "mine").write_text("mine")
    with pytest.raises(TableExistsError):
        catalog.rename_table(T, U)
    assert (place.warehouse / "db.db" / "u" / "mine").read_text() == "mine"
    assert place.catalog().load_table(T).name == "db.t"


def test_staged_tables(catalog: SupportsDatabases, place: Place) -> None:
    staged = catalog.stage_create(T, SCHEMA)
    assert not place.catalog().table_exists(T)
    staged.publish()
    assert place.catalog().table_exists(T)
    late = catalog.stage_replace(T, OTHER_SCHEMA)
    catalog.stage_replace(T, OTHER_SCHEMA).publish()
    with pytest.raises(CommitConflictError, match="altered meanwhile"):
        late.publish()
    assert [f.name for f in place.catalog().load_table(T).schema.fields] == ["k", "v", "w"]
    with pytest.raises(TableNotFoundError):
        catalog.stage_replace(U, SCHEMA)
    lost = catalog.stage_create(U, SCHEMA)
    catalog.create_table(U, OTHER_SCHEMA)
    with pytest.raises(TableExistsError):
        lost.publish()


def test_replacing_by_another_partitioning(catalog: SupportsDatabases, place: Place) -> None:
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), [(1, "a")])
    parted = new_table_schema(fields(k=INT, v=STRING), partition_keys=("v",))
    staged = catalog.stage_replace(T, parted)
    assert staged.is_separate
    staged.publish()
    insert(staged.table, [(2, "b")])
    staged.finish()
    assert read(place.catalog().load_table(T)) == [(2, "b")]
    assert place.folders() == {"db/t"} and catalog.list_tables("db") == ["t"]
    again = catalog.stage_replace(T, SCHEMA)
    again.publish()
    again.discard()
    assert place.folders() == {"db/t"} and read(place.catalog().load_table(T)) == [(2, "b")]


def test_names_are_names_or_refused(catalog: SupportsDatabases, place: Place, tmp_path: Path) -> None:
    """SQL, paths, quotes, escapes: whatever the gate lets through is a name and nothing else."""
    before, plain = {p.name for p in tmp_path.iterdir()} - {"wh"}, list[str]()
    every = sorted(set(HOSTILE_NAMES))
    for name in every if place.kind == "filesystem" else some(every, place.kind, share=4):
        try:
            place.check_name("table", name)
        except InvalidNameError:
            _is_refused(catalog, name, is_no_name=place.can(Can.ANY_NAME) or is_no_name(name))
        else:
            plain.append(name)
    assert place.folders() == set() and len(plain) > 10 * place.can(Can.ANY_NAME)
    plain = plain if place.can(Can.ANY_NAME) else sorted({name.lower() for name in plain})
    for name in plain:
        catalog.create_table(Identifier("db", name), SCHEMA)
    assert place.catalog().list_tables("db") == sorted(plain)
    assert place.folders() == {f"db/{name}" for name in plain}
    for name in plain:
        catalog.drop_table(Identifier("db", name))
    assert (place.folders(), {p.name for p in tmp_path.iterdir()} - {"wh"}) == (set(), before)
    assert catalog.list_databases() == ["db", "default"]


def _is_refused(catalog: SupportsDatabases, name: str, *, is_no_name: bool) -> None:
    """Where a metastore gives fewer names than it may know from others, the latter are only not found."""
    for call in (lambda: catalog.create_database(name), lambda: catalog.create_table(Identifier("db", name), SCHEMA)):
        with pytest.raises(InvalidNameError):
            call()
    for call in (
        lambda: catalog.create_table(Identifier(name, "t"), SCHEMA),
        lambda: catalog.load_table(Identifier("db", name)),
        lambda: catalog.drop_table(Identifier(name, "t")),
        lambda: catalog.drop_database(name),
    ):
        with pytest.raises(InvalidNameError if is_no_name else NotFoundError):
            call()


@pytest.mark.parametrize(
    "name", ["it's", '"quoted"', "a;DROP TABLE paimon_tables;--", "%s:name", "$1 ? :x", "🙂'\u0000"[:2]]
)
def test_sql_in_names_comments_and_options(catalog: SupportsDatabases, place: Place, name: str) -> None:
    name = name.replace("$", "S")
    called = name if place.can(Can.ANY_NAME) else "named"
    table, other = Identifier(called, called), Identifier("db", f"{called}2")
    catalog.create_database(called, {"note": name} if place.can(Can.DATABASE_PROPERTIES) else {})
    made = new_table_schema(fields(k=INT, v=STRING), options={"ours.note": name, "k" + name: "v"}, comment=name)
    catalog.create_table(table, made)
    assert catalog.list_tables(called) == [called] and called in catalog.list_databases()
    assert place.catalog().load_table(table).schema.options["ours.note"] == name
    catalog.alter_table(table, [SetOption("ours.note", name * 2)])
    catalog.rename_table(table, other)
    assert place.catalog().load_table(other).schema.comment == name
    catalog.drop_table(other)
    catalog.drop_database(called)
    assert place.catalog().list_databases() == ["db", "default"]


def test_object_tables(catalog: SupportsDatabases, place: Place, tmp_path: Path) -> None:
    (tmp_path / "files" / "deep").mkdir(parents=True)
    (tmp_path / "files" / "deep" / "a").write_bytes(b"xyz")
    elsewhere = new_table_schema((), options={"type": "object-table", "path": f"{tmp_path}/files"}, comment="ours")
    catalog.create_table(T, new_table_schema((), options={"type": "object-table"}))
    catalog.create_table(U, elsewhere)
    own, other = (place.catalog().load_table(i) for i in (T, U))
    assert ObjectTable.of(own.store, place.options).read().num_rows == 0
    own.store.io.write_bytes(f"{own.store.root}/b", b"")
    for table, paths in ((own, ["b"]), (other, ["deep/a"])):
        found = ObjectTable.of(table.store, place.options).read().column("path").to_pylist()
        assert [p for p in found if not p.startswith("schema/")] == paths  # of Hive's, whose folder the path is
    assert (other.schema.comment, [f.name for f in other.schema.fields][:2]) == ("ours", ["path", "name"])
    with pytest.raises(UnsupportedFeatureError, match="an object table"):
        catalog.alter_table(U, [AddColumn(("n",), INT)])
    catalog.alter_table(U, [SetOption("ours.note", "x")])
    assert place.catalog().load_table(U).schema.options["ours.note"] == "x"
    for identifier in (T, U):
        catalog.drop_table(identifier)
    assert catalog.list_tables("db") == [] and (tmp_path / "files" / "deep" / "a").exists()


def test_materialized_tables(catalog: SupportsDatabases, place: Place) -> None:
    """Their definitions are options, which the metastore has where it keeps those."""
    made = Definition("SELECT k, 'it\\'s' AS v FROM \"u\"", ("30", "MINUTE"), catalog="paimon", database="db")
    schema = new_table_schema(SCHEMA.fields, options=made.options(), comment="of u")
    staged = catalog.stage_create(T, schema)
    if not staged.is_separate:
        staged.publish()
    insert(staged.table, [(1, "a")])
    staged.finish()
    catalog.alter_table(T, [SetOption(STATUS, SUSPENDED)])
    found = place.catalog().load_table(T)
    assert Definition.of("t", found.schema.options) == replace(made, asked_mode="AUTOMATIC")
    assert (found.schema.options[STATUS], found.schema.comment, read(found)) == (SUSPENDED, "of u", [(1, "a")])
    catalog.rename_table(T, U)
    with pytest.raises(InvalidOptionError, match="without a query"):
        catalog.create_table(T, new_table_schema(SCHEMA.fields, options={"type": "materialized-table"}))
    assert (catalog.list_tables("db"), place.folders()) == (["u"], {"db/u"})
    again = catalog.load_table(U).schema
    assert Definition.of("u", again.options).query == made.query
    catalog.drop_table(U)
    assert catalog.list_tables("db") == []
