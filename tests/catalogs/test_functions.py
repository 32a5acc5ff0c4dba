"""Functions, the same in all kinds of catalogs that keep them; their names are apart from those of tables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from paimon_core.errors import (
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    FunctionExistsError,
    FunctionNotFoundError,
    InvalidNameError,
    InvalidOptionError,
)
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.paths import check_name
from paimon_core.spec.types import INT, STRING, CollectionType, DataField, Kind
from paimon_sql.catalog.base import SupportsFunctions
from paimon_sql.catalog.function import FileDefinition, Function, LambdaDefinition, SqlDefinition
from tests.catalogs.kinds import SCHEMA, Can, Place
from tests.support.hostile_names import HOSTILE_NAMES, some
from tests.support.tables import fields

F, G = Identifier("db", "f"), Identifier("db", "g")
ONE = Function(
    parameters=tuple(fields(x=INT)), results=tuple(fields(f=INT)), definitions={"spark": SqlDefinition("x + 1")}
)
OTHER = Function(parameters=(), results=None, definitions={}, comment="other")
FULL = Function(
    parameters=(
        DataField(id=0, name="x", type=INT, description="it's x", default="1 + 1"),
        DataField(id=1, name="a b", type=CollectionType(Kind.ARRAY, element=STRING)),
    ),
    results=tuple(fields(k=INT, v=STRING)),
    definitions={
        "spark": SqlDefinition("SELECT 'it''s' -- \"🙂\\\n;"),
        "python": LambdaDefinition("return x\n", "PYTHON"),
        "flink": FileDefinition((("JAR", "oss://b/a.jar"),), "JAVA", "com.x.Y", "f"),
    },
    deterministic=False,
    comment="it's\na comment; DROP TABLE paimon_functions --",
    options={"k": "v", "spaced key": "", "%s:name": "$1 ?"},
)


@pytest.fixture
def catalog(place: Place) -> SupportsFunctions:
    catalog = place.catalog()
    if not place.can(Can.FUNCTIONS):
        assert not isinstance(catalog, SupportsFunctions)
        pytest.skip(f"a {place.kind} catalog keeps no functions, as its kind declares")
    catalog.create_database("db")
    assert isinstance(catalog, SupportsFunctions)
    return catalog


def again(place: Place) -> SupportsFunctions:
    """The catalog of another process."""
    catalog = place.catalog()
    assert isinstance(catalog, SupportsFunctions)
    return catalog


def test_functions_are_kept_as_they_are(catalog: SupportsFunctions, place: Place) -> None:
    assert (catalog.list_functions("db"), catalog.function_exists(F)) == ([], False)
    catalog.create_function(F, FULL)
    catalog.create_function(G, ONE)
    assert (again(place).list_functions("db"), again(place).function_exists(F)) == (["f", "g"], True)
    assert (again(place).load_function(F), again(place).load_function(G)) == (FULL, ONE)
    assert catalog.list_tables("db") == [] and place.folders() == set()
    catalog.replace_function(F, OTHER)
    assert again(place).load_function(F) == OTHER
    third = Identifier("db", "h")
    catalog.replace_function(third, ONE, create=True)
    catalog.replace_function(third, ONE, create=True)  # the same once more
    catalog.replace_function(third, OTHER, create=True)
    assert again(place).load_function(third) == OTHER
    catalog.drop_function(F)
    assert again(place).list_functions("db") == ["g", "h"]


def test_what_is_not_there(catalog: SupportsFunctions) -> None:
    for call in (catalog.load_function, catalog.drop_function, lambda f: catalog.replace_function(f, ONE)):
        with pytest.raises(FunctionNotFoundError, match=r"no function db\.f"):
            call(F)
        with pytest.raises(DatabaseNotFoundError, match="no database nope"):
            call(Identifier("nope", "f"))
    for create in (catalog.create_function, lambda f, d: catalog.replace_function(f, d, create=True)):
        with pytest.raises(DatabaseNotFoundError, match="no database nope"):
            create(Identifier("nope", "f"), ONE)
    with pytest.raises(DatabaseNotFoundError):
        catalog.list_functions("nope")
    catalog.drop_function(F, ignore_if_not_exists=True)
    catalog.drop_function(Identifier("nope", "f"), ignore_if_not_exists=True)
    assert not catalog.function_exists(Identifier("nope", "f"))


def test_a_name_is_given_once(catalog: SupportsFunctions, place: Place) -> None:
    catalog.create_function(F, ONE)
    with pytest.raises(FunctionExistsError, match=r"Function db\.f already exists"):
        catalog.create_function(F, OTHER)
    catalog.create_function(F, OTHER, ignore_if_exists=True)
    assert again(place).load_function(F) == ONE
    catalog.create_table(F, SCHEMA)  # a table has another kind of name
    assert (catalog.list_tables("db"), catalog.list_functions("db")) == (["f"], ["f"])
    catalog.drop_table(F)
    assert again(place).load_function(F) == ONE


def test_databases_with_functions(catalog: SupportsFunctions, place: Place) -> None:
    catalog.create_function(F, ONE)
    with pytest.raises(DatabaseNotEmptyError, match="still has 1 functions, f among them"):
        catalog.drop_database("db")
    assert again(place).load_function(F) == ONE
    catalog.drop_database("db", cascade=True)
    assert again(place).list_databases() == ["default"]
    catalog.create_database("db")
    assert again(place).list_functions("db") == []
    catalog.create_function(Identifier("default", "f"), ONE)
    assert again(place).list_functions("default") == ["f"]


def test_names_are_names_or_refused(catalog: SupportsFunctions, place: Place) -> None:
    for name in (replace(F, branch="b"), replace(F, system_table="files")):
        for call in (catalog.load_function, catalog.drop_function, catalog.function_exists):
            with pytest.raises(InvalidNameError, match="is not a valid function name"):
                call(name)
    plain = list[str]()
    for name in some(sorted(set(HOSTILE_NAMES)), place.kind, share=4):
        try:
            check_name("function", name)
        except InvalidNameError:
            for call in (catalog.load_function, catalog.drop_function, lambda n: catalog.create_function(n, ONE)):
                with pytest.raises(InvalidNameError):
                    call(Identifier("db", name))
            with pytest.raises(InvalidNameError):
                catalog.create_function(Identifier(name, "f"), ONE)
        else:
            plain.append(name)
            catalog.create_function(Identifier("db", name), ONE)
    assert len(plain) > 5 and again(place).list_functions("db") == sorted(plain)
    for name in plain:
        assert catalog.load_function(Identifier("db", name)) == ONE
        catalog.drop_function(Identifier("db", name))
    assert again(place).list_functions("db") == []


def test_a_definition_that_is_too_long(catalog: SupportsFunctions, place: Place) -> None:
    long = replace(ONE, definitions={"spark": SqlDefinition(f"'{'ä' * 40_000}'")})
    if place.kind == "mariadb":
        with pytest.raises(InvalidOptionError, match="but the catalog's database stores at most 65535"):
            catalog.create_function(F, long)
        assert not catalog.function_exists(F)
        return
    catalog.create_function(F, long)
    assert again(place).load_function(F) == long


def test_one_of_many_creates(catalog: SupportsFunctions, place: Place) -> None:
    def create(n: int) -> bool:
        try:
            again(place).create_function(F, replace(ONE, comment=str(n)))
        except FunctionExistsError:
            return False
        return True

    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(create, range(16)))
        assert sum(won) == 1 and catalog.load_function(F).comment == str(won.index(True))
        catalog.drop_function(F)


def test_many_replace(catalog: SupportsFunctions, place: Place) -> None:
    """Whoever reads meanwhile has one of the definitions, whole."""

    def replace_it(n: int) -> Function:
        found = again(place)
        found.replace_function(F, replace(FULL, comment=str(n)), create=True)
        return found.load_function(F)

    with ThreadPoolExecutor(8) as pool:
        for seen in pool.map(replace_it, range(16)):
            assert replace(seen, comment=FULL.comment) == FULL
    assert catalog.list_functions("db") == ["f"]
