"""Every operation of a catalog with users: done by who may, refused to others, with nothing changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from paimon_core.commit.changes import Overwrite
from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import (
    AlreadyExistsError,
    DatabaseNotFoundError,
    InvalidOptionError,
    NoPrivilegeError,
    NotAllowedError,
    NotFoundError,
    PaimonError,
    TableNotFoundError,
)
from paimon_core.io.load import load_file_io
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.encodings.blob_descriptor import BlobDescriptor
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.allowed import EXTERNAL_PATHS, Allowed
from paimon_core.store.blob.values import DescribedBlobs
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import AddColumn, SetOption
from paimon_sql.catalog.base import (
    SupportsDatabaseProperties,
    SupportsLocations,
    SupportsRegistration,
    SupportsViews,
)
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.paths import PathCatalog, path_identifier
from paimon_sql.catalog.privileges.accounts import Account, Accounts
from paimon_sql.catalog.privileges.catalog import _KINDS, PrivilegedCatalog
from paimon_sql.catalog.privileges.rules import Privilege
from paimon_sql.catalog.view import View
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support import stored
from tests.support.executors import TextExecutor
from tests.support.faulty_io import Fault, FaultyIO, SimulatedCrash
from tests.support.tables import fields

T, U, X = Identifier("default", "t"), Identifier("default", "u"), Identifier("other", "x")
SCHEMA = new_table_schema(fields(k=INT, v=STRING), options={"primary-key": "k", "bucket": "1"})
VIEW = View(fields=tuple(fields(k=INT)), query="SELECT k FROM t", namespace=("default",))
PASSWORD = "s3cret-of-root"


class World:
    """A warehouse with users; each call opens the catalog anew."""

    def __init__(self, warehouse: str) -> None:
        self.warehouse = warehouse
        stored.insert(stored.create_table(warehouse, primary_key="k", bucket="1"), [(1, "a")])
        open_before = load_catalog({"warehouse": warehouse})
        open_before.create_database("other")
        self.call_with(open_before, "init_file_based_privilege", root_password=PASSWORD)
        assert open_before.list_tables("default") == ["t"]  # catalogs that are open go on

    def open(self, user: str | None = "root", password: str | None = None) -> Any:
        given = {"user": user, "password": password or (PASSWORD if user == "root" else f"pw of {user}")}
        return load_catalog(
            {"warehouse": self.warehouse} | ({} if user is None else {k: str(v) for k, v in given.items()})
        )

    def call_with(self, catalog: Any, name: str, **arguments: Any) -> Any:
        return PROCEDURES[name].call(ProcedureContext(catalog, "default", TextExecutor(), UTC), arguments)

    def call(self, name: str, **arguments: Any) -> Any:
        return self.call_with(self.open(), name, **arguments)

    def user(self, name: str, *grants: tuple[str, ...]) -> Any:
        """The catalog of a new user with some privileges."""
        self.call("create_privileged_user", username=name, password=f"pw of {name}")
        for privilege, *where in grants:
            self.call(
                "grant_privilege_to_user",
                user=name,
                privilege=privilege,
                **dict(zip(("database", "table"), where, strict=False)),
            )
        return self.open(name)


@pytest.fixture
def world(warehouse: str) -> World:
    return World(warehouse)


def write(catalog: Any) -> None:
    stored.insert(catalog.load_table(T), [(2, "b")])


def staged_rows(catalog: Any) -> None:
    made = catalog.stage_create(U, SCHEMA)
    made.table.check_writable()
    made.publish()


def procedure(name: str, **arguments: Any) -> Callable[[Any], Any]:
    return lambda catalog: PROCEDURES[name].call(ProcedureContext(catalog, "default", TextExecutor(), UTC), arguments)


def compact_overwrite(catalog: Any) -> None:
    table = catalog.load_table(T)
    table.commit((), CommitInfo(user="u"), Overwrite())


# what is done, what it needs, and whether what it needs is of a database or of the catalog
OPERATIONS: list[tuple[str, Callable[[Any], Any], list[tuple[str, ...]]]] = [
    ("read", lambda c: stored.read(c.load_table(T)), [("SELECT", "default", "t")]),
    ("read files", lambda c: c.load_table(T).system_table("files"), [("SELECT", "default", "t")]),
    ("read partitions", lambda c: c.load_table(T).partitions(None), [("SELECT", "default")]),
    ("read snapshots", lambda c: c.load_table(T).system_table("snapshots"), [("INSERT", "default", "t")]),
    ("insert", write, [("INSERT", "default", "t")]),
    ("truncate", compact_overwrite, [("INSERT",)]),
    ("create a tag", procedure("create_tag", table="t", tag="x"), [("INSERT", "default", "t")]),
    ("create a branch", procedure("create_branch", table="t", branch="x"), [("INSERT", "default", "t")]),
    ("roll back", procedure("rollback", table="t", version="1"), [("INSERT", "default", "t")]),
    ("compact", procedure("compact", table="t"), [("INSERT", "default", "t")]),
    (
        "try a rollback",
        procedure("rollback", table="t", version="1", dry_run=True),
        [("SELECT", "default", "t")],
    ),
    (
        "try a purge",
        procedure("purge_files", table="t", dry_run=True),
        [("INSERT", "default", "t"), ("SELECT", "default", "t")],
    ),
    (
        "try a compaction",
        procedure("compact", table="t", dry_run=True),
        [("INSERT", "default", "t"), ("SELECT", "default", "t")],
    ),
    (
        "try a copy",
        procedure("copy", source_table="t", target_table="c", dry_run=True),
        [("SELECT", "default", "t"), ("CREATE_TABLE", "default"), ("INSERT", "default")],
    ),
    (
        "try a copy to a new database",
        procedure("copy", source_table="t", target_table="new.c", dry_run=True),
        [("SELECT", "default", "t"), ("CREATE_DATABASE",), ("CREATE_TABLE",), ("INSERT",)],
    ),
    (
        "copy to a new database",
        procedure("copy", source_table="t", target_table="new.c"),
        [("SELECT", "default", "t"), ("CREATE_DATABASE",), ("CREATE_TABLE",), ("INSERT",)],
    ),
    (
        "try a clone without rows",
        procedure(
            *("clone",),
            database="default", table="t", target_database="new", target_table="c",
            meta_only=True,
            dry_run=True,
        ),
        [("SELECT", "default", "t"), ("CREATE_DATABASE",), ("CREATE_TABLE",)],
    ),
    (
        "copy",
        procedure("clone", database="default", table="t", target_database="default", target_table="c"),
        [("SELECT", "default"), ("CREATE_TABLE",), ("INSERT",)],
    ),
    ("create a table", lambda c: c.create_table(U, SCHEMA), [("CREATE_TABLE", "default")]),
    ("check the storage", procedure("check_storage", target="default"), [("CREATE_TABLE", "default")]),
    ("check a path", lambda c: procedure("check_storage", target=c.options["warehouse"])(c), [("ADMIN",)]),
    ("advise", procedure("advise", table="t"), [("SELECT", "default", "t")]),
    ("picture", procedure("picture", table="t"), [("SELECT", "default", "t")]),
    ("create with rows", staged_rows, [("CREATE_TABLE", "default"), ("INSERT", "default")]),
    ("alter", lambda c: c.alter_table(T, [AddColumn(("n",), INT)]), [("ALTER_TABLE", "default", "t")]),
    ("set an option", lambda c: c.alter_table(T, [SetOption("x.y", "z")]), [("ALTER_TABLE",)]),
    ("replace", lambda c: c.stage_replace(T, SCHEMA).publish(), [("ALTER_TABLE", "default"), ("INSERT", "default")]),
    ("rename", lambda c: c.rename_table(T, U), [("ALTER_TABLE", "default", "t")]),
    ("move", lambda c: c.rename_table(T, X), [("ALTER_TABLE", "default", "t"), ("CREATE_TABLE", "other")]),
    ("drop", lambda c: c.drop_table(T), [("DROP_TABLE", "default", "t")]),
    ("create a view", lambda c: c.create_view(U, VIEW), [("CREATE_TABLE", "default")]),
    ("create a database", lambda c: c.create_database("new"), [("CREATE_DATABASE",)]),
    ("drop a database", lambda c: c.drop_database("other"), [("DROP_DATABASE", "other")]),
    ("create a user", procedure("create_privileged_user", username="x", password="y"), [("ADMIN",)]),
]  # fmt: skip

EITHER = {"read snapshots": "SELECT", "try a clone without rows": "INSERT"}  # this privilege will do, too


@pytest.mark.parametrize(("what", "act", "needs"), OPERATIONS, ids=[o[0] for o in OPERATIONS])
def test_an_operation_needs_its_privileges(
    world: World, what: str, act: Callable[[Any], Any], needs: list[tuple[str, ...]]
) -> None:
    others = [(p,) for p in ("SELECT", "INSERT", "ALTER_TABLE", "DROP_TABLE", "CREATE_TABLE", "DROP_DATABASE",
              "CREATE_DATABASE", "ADMIN") if p not in {n[0] for n in needs}]  # fmt: skip
    if what in EITHER:
        others.remove((EITHER[what],))
    before = files(world)
    for missing in range(len(needs)):
        with pytest.raises(NoPrivilegeError, match=f"User u{missing} doesn't have privilege .*{needs[missing][0]}"):
            act(world.user(f"u{missing}", *others, *needs[:missing], *needs[missing + 1 :]))
    if not what.startswith("copy") and what != "create with rows":
        assert files(world) == before
    act(world.user("able", *needs))


def files(world: World) -> set[str]:
    """The files of tables: what writers left that were refused in the end is in no commit."""
    root = Path(world.warehouse)
    found = (p for p in root.rglob("*") if p.is_file() and ".sys" not in str(p) and not p.name.startswith("data-"))
    return {str(p.relative_to(root)) for p in found}


def test_who_is_not_known_sees_nothing(world: World) -> None:
    world.user("ann", ("SELECT",))
    for catalog in (world.open("ann", "wrong"), world.open("bob"), world.open("root", "wrong")):
        for act in (lambda c: c.load_table(T), lambda c: c.list_tables("default"), lambda c: c.list_databases(), write):
            with pytest.raises(NoPrivilegeError, match="not found, or password incorrect") as raised:
                act(catalog)
            assert "wrong" not in str(raised.value) and PASSWORD not in str(raised.value)
    anonymous = world.open(None)
    assert anonymous.load_table(T).schema.fields  # definitions are for all who are known, as in Java
    with pytest.raises(NoPrivilegeError, match="User anonymous doesn't have privilege SELECT"):
        stored.read(anonymous.load_table(T))
    assert PASSWORD not in repr(world.open()) and "sha256" not in repr(world.open())


def test_grants_follow_and_end(world: World) -> None:
    ann = world.user("ann", ("SELECT", "default", "t"), ("ALTER_TABLE", "default"), ("DROP_TABLE", "default"))
    ann.rename_table(T, U)
    assert stored.read(ann.load_table(U)) == [(1, "a")]
    world.open().create_table(T, SCHEMA)
    with pytest.raises(NoPrivilegeError):
        stored.read(ann.load_table(T))  # another table under the old name
    world.open().create_table(Identifier("default", "u2"), SCHEMA)
    world.call("grant_privilege_to_user", user="ann", privilege="SELECT", database="default", table="u2")
    ann.drop_table(U)
    assert ("ann", "default.u2", "SELECT") in world.call("list_privileges")  # of a name that only begins so
    assert not [row for row in world.call("list_privileges") if row[1] == "default.u"]
    assert world.call("revoke_privilege_from_user", user="ann", privilege="SELECT")[1] == (
        "Number of privileges revoked: 1",
    )
    with pytest.raises(NotFoundError, match="does not have privilege SELECT on the catalog"):
        world.call("revoke_privilege_from_user", user="ann", privilege="SELECT")
    world.call("drop_privileged_user", username="ann")
    assert world.call("list_privileges") == []
    with pytest.raises(NoPrivilegeError, match="not found"):
        ann.list_databases()


def test_a_grant_of_the_catalog_is_for_all_to_come(world: World) -> None:
    ann = world.user("ann", ("CREATE_TABLE",), ("INSERT",), ("SELECT", "default"))
    ann.create_table(X, SCHEMA)
    stored.insert(ann.load_table(X), [(1, "x")])
    with pytest.raises(NoPrivilegeError):
        stored.read(ann.load_table(X))
    assert world.call_with(ann, "list_privileges") == [
        ("ann", "", "CREATE_TABLE"), ("ann", "", "INSERT"), ("ann", "default", "SELECT"),
    ]  # fmt: skip
    world.user("bob")
    assert (
        world.call_with(ann, "list_privileges")[0][0] == "ann"
        and world.call_with(world.open("bob"), "list_privileges") == []
    )


@pytest.mark.parametrize(
    ("name", "arguments", "error", "says"),
    [
        ("init_file_based_privilege", {"root_password": "x"}, InvalidOptionError, "users already"),
        ("create_privileged_user", {"username": "root", "password": "x"}, AlreadyExistsError, "root already exists"),
        ("create_privileged_user", {"username": "", "password": "x"}, InvalidOptionError, "needs a name"),
        ("drop_privileged_user", {"username": "root"}, InvalidOptionError, "root cannot be dropped"),
        ("drop_privileged_user", {"username": "anonymous"}, InvalidOptionError, "anonymous cannot be dropped"),
        ("drop_privileged_user", {"username": "nope"}, NotFoundError, "nope does not exist"),
        ("grant_privilege_to_user", {"user": "nope", "privilege": "SELECT"}, NotFoundError, "nope does not exist"),
        ("grant_privilege_to_user", {"user": "root", "privilege": "SELECT"}, InvalidOptionError, "Cannot change"),
        ("grant_privilege_to_user", {"user": "anonymous", "privilege": "X"}, InvalidOptionError, "no privilege 'X'"),
        (
            "grant_privilege_to_user",
            {"user": "anonymous", "privilege": "ADMIN", "database": "default"},
            InvalidOptionError,
            "can't be granted on a database",
        ),
        (
            "grant_privilege_to_user",
            {"user": "anonymous", "privilege": "SELECT", "database": "nope"},
            DatabaseNotFoundError,
            "nope does not exist",
        ),
        (
            "grant_privilege_to_user",
            {"user": "anonymous", "privilege": "SELECT", "database": "default", "table": "nope"},
            TableNotFoundError,
            "default.nope does not exist",
        ),
        (
            "grant_privilege_to_user",
            {"user": "anonymous", "privilege": "SELECT", "table": "t"},
            InvalidOptionError,
            "database must be set",
        ),
    ],
)
def test_what_cannot_be(world: World, name: str, arguments: dict[str, str], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        world.call(name, **arguments)


def test_without_users_there_is_nothing_to_grant(warehouse: str) -> None:
    catalog = load_catalog({"warehouse": warehouse, "user": "ann", "password": "any"})
    context = ProcedureContext(catalog, "default", TextExecutor(), UTC)
    assert not isinstance(catalog, PrivilegedCatalog)
    with pytest.raises(InvalidOptionError, match="has no users"):
        PROCEDURES["create_privileged_user"].call(context, {"username": "a", "password": "b"})


def test_paths_lead_into_no_warehouse_with_users(world: World) -> None:
    paths = PathCatalog(dict)
    for path in (
        f"{world.warehouse}/default.db/t",
        f"{world.warehouse}/user.sys",
        f"file://{world.warehouse}/privilege.sys",
    ):
        with pytest.raises(NoPrivilegeError, match="in a warehouse with users"):
            paths.load_table(path_identifier(path))
    with pytest.raises(TableNotFoundError):
        paths.load_table(path_identifier(f"{world.warehouse}/../elsewhere.db/t"))


def test_links_lead_into_no_warehouse_with_users(world: World, tmp_path: Path) -> None:
    (tmp_path / "table").symlink_to(f"{world.warehouse}/default.db/t")
    (tmp_path / "database").symlink_to(f"{world.warehouse}/default.db")
    (tmp_path / "whole").symlink_to(world.warehouse)
    for path in ("table", "database/t", "whole/default.db/t", "whole/user.sys"):
        with pytest.raises(NoPrivilegeError, match="in a warehouse with users"):
            PathCatalog(dict).load_table(path_identifier(f"{tmp_path}/{path}"))


def test_descriptors_lead_to_no_other_table(world: World, tmp_path: Path) -> None:
    """Of a user's own table: its files, and what the catalog says; not the tables of others, nor that of users."""
    outside, link = tmp_path / "outside" / "f", tmp_path / "outside" / "link"
    outside.parent.mkdir()
    outside.write_bytes(b"bytes")
    secret = next(Path(world.warehouse, "default.db", "t").glob("bucket-0/*"))
    link.symlink_to(secret)
    users = next(p for p in Path(world.warehouse, "user.sys").rglob("*") if p.is_file())
    catalog = world.user("ann", ("CREATE_TABLE", "other"), ("SELECT", "other"), ("INSERT", "other"))
    catalog.create_table(X, SCHEMA)
    own = Path(catalog.load_table(X).store.root, "f")
    own.write_bytes(b"bytes")
    inner = own.with_name("inner")
    inner.symlink_to(secret)

    def read(options: dict[str, str], path: Path) -> bytes:
        opened = load_catalog({"warehouse": world.warehouse, "user": "ann", "password": "pw of ann", **options})
        return DescribedBlobs.of(opened.load_table(X).store).read(BlobDescriptor(str(path)))

    outside_too = {EXTERNAL_PATHS: f"{outside.parent},{world.warehouse}"}
    assert read({}, own) == read(outside_too, own) == read(outside_too, outside) == b"bytes"
    for path in (secret, users, link, inner, outside, Path(f"{own.parent}/../../default.db/t", *secret.parts[-2:])):
        with pytest.raises(NotAllowedError, match="a warehouse with users"):
            read({}, path)
        if path != outside:
            with pytest.raises(NotAllowedError, match="a warehouse with users"):
                read(outside_too, path)


def test_a_link_made_behind_the_check_leads_nowhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = next(Path(world.warehouse, "default.db", "t").glob("bucket-0/*"))
    catalog = world.user("ann", ("CREATE_TABLE", "other"), ("SELECT", "other"), ("INSERT", "other"))
    catalog.create_table(X, SCHEMA)
    store = catalog.load_table(X).store
    own = Path(store.root, "f")
    own.write_bytes(b"bytes")
    checked = Allowed.named_file

    def replaced(allowed: Allowed, path: str, root: str) -> str | None:
        location = checked(allowed, path, root)
        own.unlink()
        own.symlink_to(secret)
        return location

    monkeypatch.setattr(Allowed, "named_file", replaced)
    with pytest.raises(NotAllowedError, match="a symbolic link was put into its path"):
        DescribedBlobs.of(store).read(BlobDescriptor(str(own)))


def test_what_is_stored_is_java_s(world: World) -> None:
    accounts = Accounts(load_file_io(world.warehouse, {}), world.warehouse)
    users, grants = (accounts._table(name) for name in ("user.sys", "privilege.sys"))
    assert (users.schema.primary_keys, dict(users.schema.options)) == (
        ("user",),
        {"bucket": "1", "file.format": "avro"},
    )
    assert grants.schema.primary_keys == ("name", "entity_type", "privilege", "identifier")
    assert [f.name for f in grants.schema.fields] == ["name", "entity_type", "identifier", "privilege"]
    hashes = dict(accounts._rows("user.sys"))
    assert hashes["root"] == hashlib.sha256(PASSWORD.encode()).digest()


def test_an_interrupted_start_is_no_start(warehouse: str) -> None:
    """Users without the table of privileges, which is made last, are none."""
    accounts = Accounts(load_file_io(warehouse, {}), warehouse)
    accounts.initialize("x")
    (Path(warehouse) / "privilege.sys").rename(Path(warehouse) / "gone")
    assert not accounts.enabled() and load_catalog({"warehouse": warehouse}).list_databases() == ["default"]
    with pytest.raises(AlreadyExistsError, match="delete .*user.sys"):
        accounts.initialize("y")


@pytest.mark.parametrize("mode", [Fault.CRASH, Fault.BEFORE, Fault.AFTER])
def test_a_start_that_fails_half_way_leaves_no_half(tmp_path: Path, mode: Fault) -> None:
    """Either there are no users, and it can be done again, or `root` has the password."""
    trial = FaultyIO(LocalFileIO())
    Accounts(trial, str(tmp_path / "trial")).initialize("x")
    for k in trial.moments(mode):
        warehouse = str(tmp_path / f"{k}")
        with suppress(SimulatedCrash, PaimonError, OSError):
            Accounts(FaultyIO(LocalFileIO(), k, mode), warehouse).initialize("x")
        accounts = Accounts(LocalFileIO(), warehouse)
        if not accounts.enabled():
            with suppress(AlreadyExistsError):  # says to delete what was left
                accounts.initialize("x")
            if not accounts.enabled():
                LocalFileIO().delete_dir(f"{warehouse}/user.sys")
                accounts.initialize("x")
        assert accounts.grants(Account.of("root", "x")).user == "root", k
        assert accounts.users() == ["anonymous", "root"] and accounts.privileges() == []


@pytest.mark.parametrize("mode", [Fault.CRASH, Fault.AFTER])
def test_grants_move_whole_or_not_at_all(tmp_path: Path, mode: Fault) -> None:
    def made(folder: str) -> str:
        warehouse = str(tmp_path / folder)
        accounts = Accounts(LocalFileIO(), warehouse)
        accounts.initialize("x")
        accounts.create_user("ann", "y")
        for privilege in (Privilege.SELECT, Privilege.INSERT):
            accounts.grant("ann", "db.t", privilege)
        return warehouse

    trial = FaultyIO(LocalFileIO())
    Accounts(trial, made("trial")).renamed("db.t", "db.u")
    for k in trial.moments(mode):
        warehouse = made(f"{k}")
        with suppress(SimulatedCrash, PaimonError, OSError):
            Accounts(FaultyIO(LocalFileIO(), k, mode), warehouse).renamed("db.t", "db.u")
        found = [(row[2], row[3]) for row in Accounts(LocalFileIO(), warehouse).privileges()]
        assert found in [[(name, "INSERT"), (name, "SELECT")] for name in ("db.t", "db.u")], k


@pytest.mark.parametrize("kind", sorted(_KINDS))
def test_a_catalog_with_users_can_what_it_can_without(kind: str) -> None:
    inner = {
        "filesystem": FileSystemCatalog,
        "jdbc": pytest.importorskip("paimon_sql.catalog.jdbc.catalog").JdbcCatalog,
        "hive": pytest.importorskip("paimon_sql.catalog.hive.catalog").HiveCatalog,
    }[kind]
    for protocol in (SupportsDatabaseProperties, SupportsLocations, SupportsRegistration, SupportsViews):
        methods = [name for name in dir(protocol) if not name.startswith("_") and callable(getattr(protocol, name))]
        if all(hasattr(inner, name) for name in methods):
            assert all(hasattr(_KINDS[kind], name) for name in methods), protocol.__name__
