"""Views, the same in all kinds of catalogs that keep them; a name is that of a table or of a view."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from paimon_core.errors import (
    AlreadyExistsError,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    InvalidNameError,
    InvalidOptionError,
    NotFoundError,
    StorageRefusedError,
    TableExistsError,
    TableNotFoundError,
    ViewExistsError,
    ViewNotFoundError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, Kind, RowType
from paimon_sql.catalog.base import SupportsViews
from paimon_sql.catalog.view import View
from tests.catalogs.kinds import OTHER_VIEW, SCHEMA, VIEW, Can, Place, is_no_name
from tests.support.hostile_names import HOSTILE_NAMES, some

T, V, W = Identifier("db", "t"), Identifier("db", "v"), Identifier("db", "w")
FULL = View(
    fields=(
        DataField(id=0, name="k", type=INT.with_nullable(False), description="the key"),
        DataField(id=1, name="a b", type=CollectionType(Kind.ARRAY, element=STRING)),
        DataField(id=2, name="r", type=RowType(fields=(DataField(id=3, name="x", type=INT),))),
    ),
    query="SELECT 'it''s' AS k -- \"🙂\\\n;",
    dialects={"spark": "SELECT 1", "flink": "SELECT `1`"},
    comment="it's\na comment; DROP TABLE paimon_views --",
    options={"k": "v", "spaced key": "", "%s:name": "$1 ?"},
    catalog="other",
    namespace=("a", "b.c"),
    settings={"spark.schema-mode": "BINDING"},
)


@pytest.fixture
def catalog(place: Place) -> SupportsViews:
    if not place.can(Can.VIEWS):
        pytest.skip(f"a {place.kind} catalog keeps no views, as its kind declares")
    catalog = place.catalog()
    catalog.create_database("db")
    assert isinstance(catalog, SupportsViews)
    return catalog


def again(place: Place) -> SupportsViews:
    """The catalog of another process."""
    catalog = place.catalog()
    assert isinstance(catalog, SupportsViews)
    return catalog


def test_views_are_kept_as_they_are(catalog: SupportsViews, place: Place) -> None:
    assert (catalog.list_views("db"), catalog.view_exists(V)) == ([], False)
    catalog.create_view(V, FULL)
    catalog.create_view(W, VIEW)
    assert (again(place).list_views("db"), again(place).view_exists(V)) == (["v", "w"], True)
    assert (again(place).load_view(V), again(place).load_view(W)) == (FULL, VIEW)
    assert catalog.list_tables("db") == [] and not catalog.table_exists(V) and place.folders() == set()
    catalog.replace_view(V, OTHER_VIEW)
    assert again(place).load_view(V) == OTHER_VIEW
    catalog.replace_view(Identifier("db", "x"), VIEW, create=True)
    catalog.replace_view(Identifier("db", "x"), OTHER_VIEW, create=True)
    assert again(place).load_view(Identifier("db", "x")) == OTHER_VIEW
    catalog.drop_view(V)
    assert again(place).list_views("db") == ["w", "x"]


def test_what_is_not_there(catalog: SupportsViews) -> None:
    for call in (catalog.load_view, catalog.drop_view, lambda v: catalog.replace_view(v, VIEW)):
        with pytest.raises(ViewNotFoundError, match=r"no view db\.v"):
            call(V)
        with pytest.raises(DatabaseNotFoundError, match="no database nope"):
            call(Identifier("nope", "v"))
    with pytest.raises(ViewNotFoundError, match=r"no view db\.v"):
        catalog.rename_view(V, W)
    for create in (catalog.create_view, lambda v, d: catalog.replace_view(v, d, create=True)):
        with pytest.raises(DatabaseNotFoundError, match="no database nope"):
            create(Identifier("nope", "v"), VIEW)
    with pytest.raises(DatabaseNotFoundError):
        catalog.list_views("nope")
    catalog.drop_view(V, ignore_if_not_exists=True)
    catalog.drop_view(Identifier("nope", "v"), ignore_if_not_exists=True)
    assert not catalog.view_exists(Identifier("nope", "v"))


def test_a_name_is_given_once(catalog: SupportsViews, place: Place) -> None:
    catalog.create_view(V, VIEW)
    catalog.create_table(T, SCHEMA)
    for name in (V, T):
        with pytest.raises(ViewExistsError, match=rf"View {name}"):
            catalog.create_view(name, OTHER_VIEW)
        catalog.create_view(name, OTHER_VIEW, ignore_if_exists=True)
    assert again(place).load_view(V) == VIEW
    for create in (False, True):
        with pytest.raises(ViewExistsError, match=r"View db\.t cannot be created: .*table"):
            catalog.replace_view(T, VIEW, create=create)
    for make in (catalog.create_table, catalog.stage_create):
        with pytest.raises(TableExistsError, match="view"):
            make(V, SCHEMA)
    with pytest.raises(TableExistsError):
        catalog.create_table(V, SCHEMA, ignore_if_exists=True)
    with pytest.raises(TableExistsError, match="view"):
        catalog.rename_table(T, V)
    with pytest.raises(ViewExistsError, match="table"):
        catalog.rename_view(V, T)
    for call in (catalog.load_view, catalog.drop_view):
        with pytest.raises(ViewNotFoundError):
            call(T)
    for drop in (catalog.load_table, catalog.drop_table):
        with pytest.raises(TableNotFoundError):
            drop(V)
    staged = catalog.stage_create(W, SCHEMA)
    catalog.create_view(W, VIEW)
    with pytest.raises(TableExistsError):
        staged.publish()
    assert (catalog.list_tables("db"), catalog.list_views("db"), place.folders()) == (["t"], ["v", "w"], {"db/t"})
    catalog.drop_view(V)
    catalog.create_table(V, SCHEMA)
    assert (again(place).list_tables("db"), again(place).list_views("db")) == (["t", "v"], ["w"])


def test_renaming(catalog: SupportsViews, place: Place) -> None:
    catalog.create_view(V, FULL)
    catalog.create_database("other")
    name = "new name" if place.can(Can.ANY_NAME) else "new_name"
    target = Identifier("other", name)
    catalog.rename_view(V, target)
    assert (again(place).list_views("db"), again(place).list_views("other")) == ([], [name])
    assert again(place).load_view(target) == FULL
    catalog.create_view(V, FULL)
    for taken in (target, V):
        with pytest.raises(ViewExistsError):
            catalog.rename_view(V, taken)
    with pytest.raises(DatabaseNotFoundError):
        catalog.rename_view(V, Identifier("nope", "v"))
    assert catalog.list_views("db") == ["v"] and catalog.list_views("other") == [name]


def test_databases_with_views(catalog: SupportsViews, place: Place) -> None:
    catalog.create_view(V, VIEW)
    with pytest.raises(DatabaseNotEmptyError, match="still has 1 views, v among them"):
        catalog.drop_database("db")
    catalog.create_table(T, SCHEMA)
    with pytest.raises(DatabaseNotEmptyError, match="still has 1 tables and 1 views, t among them"):
        catalog.drop_database("db")
    assert again(place).load_view(V) == VIEW
    catalog.drop_database("db", cascade=True)
    assert again(place).list_databases() == ["default"]
    catalog.create_database("db")
    assert again(place).list_views("db") == []
    catalog.create_view(Identifier("default", "v"), VIEW)
    assert again(place).list_views("default") == ["v"]
    catalog.drop_view(Identifier("default", "v"))
    catalog.drop_database("db")
    assert again(place).list_databases() == ["default"]


def test_views_have_no_branches(catalog: SupportsViews) -> None:
    catalog.create_view(V, VIEW)
    for name in (replace(V, branch="b"), replace(V, system_table="files")):
        for call in (catalog.load_view, catalog.drop_view, catalog.view_exists, lambda n: catalog.create_view(n, VIEW)):
            with pytest.raises(InvalidNameError, match="is not a valid view name"):
                call(name)
        with pytest.raises(InvalidNameError, match="is not a valid view name"):
            catalog.rename_view(V, name)
    assert catalog.list_views("db") == ["v"]


def test_names_are_names_or_refused(catalog: SupportsViews, place: Place) -> None:
    plain = list[str]()
    for name in some(sorted(set(HOSTILE_NAMES)), place.kind, share=4):
        try:
            place.check_name("view", name)
        except InvalidNameError:
            _is_refused(catalog, name)
        else:
            plain.append(name if place.can(Can.ANY_NAME) else name.lower())
            catalog.create_view(Identifier("db", name), VIEW)
    assert len(plain) > 5 * place.can(Can.ANY_NAME) and again(place).list_views("db") == sorted(plain)
    for name in plain:
        assert catalog.load_view(Identifier("db", name)) == VIEW
        catalog.drop_view(Identifier("db", name))
    assert again(place).list_views("db") == []


def _is_refused(catalog: SupportsViews, name: str) -> None:
    """Where a metastore gives fewer names than it may know from others, the latter are only not found."""
    with pytest.raises(InvalidNameError):
        catalog.create_view(Identifier("db", name), VIEW)
    for call in (
        lambda: catalog.create_view(Identifier(name, "v"), VIEW),
        lambda: catalog.load_view(Identifier("db", name)),
        lambda: catalog.drop_view(Identifier("db", name)),
    ):
        with pytest.raises(InvalidNameError if is_no_name(name) else NotFoundError):
            call()


def test_a_definition_that_is_too_long(catalog: SupportsViews, place: Place) -> None:
    long = replace(VIEW, query=f"SELECT '{'ä' * 40_000}'")
    if place.kind == "mariadb":
        with pytest.raises(InvalidOptionError, match="but the catalog's database stores at most 65535"):
            catalog.create_view(V, long)
        assert not catalog.view_exists(V)
        return
    if place.kind == "hive":  # whose database decides: Derby has the least room
        with pytest.raises(StorageRefusedError, match="truncation"):
            catalog.create_view(V, long)
        assert not catalog.view_exists(V)
        long = replace(VIEW, query=f"SELECT '{'ä' * 32_000}'")
    catalog.create_view(V, long)
    assert again(place).load_view(V) == long


def test_one_of_many_creates(catalog: SupportsViews, place: Place) -> None:
    """Creators of a table and of a view of one name."""

    def create(n: int) -> bool:
        found = again(place)
        try:
            if n % 2:
                found.create_view(W, VIEW)
            else:
                found.create_table(W, SCHEMA)
        except AlreadyExistsError:
            return False
        return True

    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(create, range(16))) == 1
        assert len(catalog.list_tables("db") + catalog.list_views("db")) == 1
        catalog.drop_view(W, ignore_if_not_exists=True)
        catalog.drop_table(W, ignore_if_not_exists=True)
