"""Users of a warehouse and their privileges, in every kind of catalog that has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest

from paimon_core.errors import NoPrivilegeError, UnsupportedFeatureError
from paimon_core.spec.identifier import Identifier
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_sql.catalog.base import SupportsFunctions
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.catalogs.kinds import CAN, KINDS, OTHER_VIEW, SCHEMA, VIEW, Can, Place
from tests.support.executors import TextExecutor
from tests.support.stored import insert, read

T, U, V = (Identifier("db", name) for name in "tuv")
MOVED = Identifier("other", "moved")
ROWS = [(1, "a")]
ROOT = "password of root"


def call(catalog: Any, name: str, **arguments: Any) -> Any:
    return PROCEDURES[name].call(ProcedureContext(catalog, "default", TextExecutor(), UTC), arguments)


def grant(root: Any, privilege: str, *where: str, user: str = "ann") -> None:
    on = dict(zip(("database", "table"), where, strict=False))
    call(root, "grant_privilege_to_user", user=user, privilege=privilege, **on)


WITH, WITHOUT = ([k for k in KINDS if (Can.USERS in CAN[k]) is has] for has in (True, False))


@pytest.fixture(params=WITH)
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    """A catalog of each kind that can have users."""
    return make_place(request.param)


@pytest.fixture
def root(place: Place) -> Any:
    """The catalog as its root opens it: a table and a view, a user `ann` without privileges."""
    before: Any = place.catalog()
    for name in ("db", "other"):
        before.create_database(name)
    before.create_table(T, SCHEMA)
    insert(before.load_table(T), ROWS)
    if place.can(Can.VIEWS):
        before.create_view(V, VIEW)
    call(before, "init_file_based_privilege", root_password=ROOT)
    catalog = place.catalog(user="root", password=ROOT)
    call(catalog, "create_privileged_user", username="ann", password="of ann")
    return catalog


def changes(place: Place) -> dict[str, tuple[Callable[[Any], Any], str]]:
    """What a user may not do without a grant, and what it says then."""
    found: dict[str, tuple[Callable[[Any], Any], str]] = {
        "read": (lambda c: read(c.load_table(T)), "SELECT on table db.t"),
        "write": (lambda c: insert(c.load_table(T), [(2, "b")]), "INSERT on table db.t"),
        "tag": (lambda c: call(c, "create_tag", table="db.t", tag="x"), "INSERT on table db.t"),
        "create": (lambda c: c.create_table(U, SCHEMA), "CREATE_TABLE on database db"),
        "alter": (lambda c: c.alter_table(T, [SetOption("a", "b")]), "ALTER_TABLE on table db.t"),
        "rename": (lambda c: c.rename_table(T, U), "ALTER_TABLE on table db.t"),
        "drop": (lambda c: c.drop_table(T), "DROP_TABLE on table db.t"),
        "create a database": (lambda c: c.create_database("new"), "CREATE_DATABASE on the catalog"),
        "drop a database": (lambda c: c.drop_database("db", cascade=True), "DROP_DATABASE on database db"),
        "administer": (lambda c: call(c, "create_privileged_user", username="x", password="y"), "ADMIN on the catalog"),
    }
    if place.can(Can.VIEWS):
        found["create a view"] = (lambda c: c.create_view(U, VIEW), "CREATE_TABLE on database db")
        found["alter a view"] = (lambda c: c.replace_view(V, OTHER_VIEW), "ALTER_TABLE on table db.v")
        found["drop a view"] = (lambda c: c.drop_view(V), "DROP_TABLE on table db.v")
    if place.can(Can.DATABASE_PROPERTIES):
        alter: Callable[[Any], Any] = lambda c: c.alter_database("db", {"a": "b"})  # noqa: E731
        found["alter a database"] = (alter, "ALTER_DATABASE on database db")
    if place.can(Can.REGISTRATION):
        found["register"] = (lambda c: c.register_table(T), "CREATE_TABLE on database db")
    return found


def test_who_was_granted_nothing_changes_nothing(place: Place, root: Any) -> None:
    folders = place.folders()
    for given in ({"user": "ann", "password": "of ann"}, {}):
        catalog = place.catalog(**given)
        for what, (act, says) in changes(place).items():
            with pytest.raises(NoPrivilegeError, match=f"User {given.get('user', 'anonymous')} doesn't have .*{says}"):
                act(catalog)
                pytest.fail(f"{what} is allowed")
    with pytest.raises(NoPrivilegeError, match="ann"):
        place.catalog(user="ann", password="wrong").list_tables("db")
    assert place.folders() == folders and read(root.load_table(T)) == ROWS
    assert root.list_databases() == ["db", "default", "other"] and root.list_tables("db") == ["t"]


def test_grants_go_with_the_table(place: Place, root: Any) -> None:
    hers: Any = place.catalog(user="ann", password="of ann")
    for privilege in ("SELECT", "INSERT"):
        grant(root, privilege, "db", "t")
    insert(hers.load_table(T), [(2, "b")])
    root.rename_table(T, MOVED)
    assert read(hers.load_table(MOVED)) == [*ROWS, (2, "b")]
    root.create_table(T, SCHEMA)
    with pytest.raises(NoPrivilegeError, match="SELECT on table db.t"):
        read(hers.load_table(T))
    root.drop_table(MOVED)
    root.create_table(MOVED, SCHEMA)
    with pytest.raises(NoPrivilegeError, match="SELECT on table other.moved"):
        read(hers.load_table(MOVED))


def test_grants_on_a_database_and_the_catalog(place: Place, root: Any) -> None:
    hers: Any = place.catalog(user="ann", password="of ann")
    for privilege in ("CREATE_TABLE", "INSERT", "SELECT"):
        grant(root, privilege, "other")
    hers.create_table(MOVED, SCHEMA)
    insert(hers.load_table(MOVED), ROWS)
    assert read(hers.load_table(MOVED)) == ROWS
    if place.can(Can.VIEWS):
        hers.create_view(Identifier("other", "w"), VIEW)
    with pytest.raises(NoPrivilegeError, match="SELECT on table db.t"):
        read(hers.load_table(T))
    root.drop_database("other", cascade=True)
    assert call(root, "list_privileges") == []
    grant(root, "SELECT")
    assert read(hers.load_table(T)) == ROWS
    call(root, "revoke_privilege_from_user", user="ann", privilege="SELECT")
    with pytest.raises(NoPrivilegeError, match="SELECT on table db.t"):
        read(hers.load_table(T))


def test_there_are_no_functions_where_there_are_users(root: Any) -> None:
    """Java has no privilege for them."""
    assert not isinstance(root, SupportsFunctions)
    with pytest.raises(UnsupportedFeatureError, match="'db.f' cannot be used: its catalog does not support functions"):
        call(root, "create_function", function="db.f", inputParams="[]", returnParams="[]")


@pytest.mark.parametrize("kind", WITHOUT)
def test_catalogs_that_cannot_have_users_say_so(kind: str, make_place: Callable[[str], Place]) -> None:
    place = make_place(kind)
    with pytest.raises(UnsupportedFeatureError, match="cannot have users in the files of its warehouse.*'jdbc'"):
        call(place.catalog(), "init_file_based_privilege", root_password=ROOT)
    assert not (place.warehouse / "privilege.sys").exists()
