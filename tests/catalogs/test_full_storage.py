"""The storage of a warehouse is full from some write of a statement on: the statement says so, what there was is there,
and with room a second try does what the first was to do.

Of the many calls to a Hive metastore every third write is tried, unless PAIMON_SQL_CATALOG_CRASHES=all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from paimon_core.errors import AlreadyExistsError, NotFoundError, StorageError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.schema_changes import AddColumn
from paimon_sql.catalog.base import SupportsFunctions, SupportsViews
from paimon_sql.catalog.function import Function, SqlDefinition
from tests.catalogs.kinds import OTHER_SCHEMA, OTHER_VIEW, SCHEMA, VIEW, Can, Place
from tests.support.faulty_io import Fault, FaultyIO
from tests.support.hive_server import MOVES_FOLDERS
from tests.support.rest_server import RestServer
from tests.support.stored import insert, read
from tests.support.tables import fields

T, U, V, W, F = (Identifier("db", name) for name in "tuvwf")
ROWS = [(1, "a"), (2, "b")]
EVERY = os.environ.get("PAIMON_SQL_CATALOG_CRASHES") == "all"
FUNCTION = Function(parameters=(), results=tuple(fields(f=INT)), definitions={"spark": SqlDefinition("1")})


@dataclass(frozen=True)
class Change:
    """A statement, what its effect shows in, and what undoes it."""

    act: Callable[[Any], Any]
    shows: Callable[[Any], bool]
    undo: Callable[[Any], Any]
    needs: Can | None = None


CHANGES: Mapping[str, Change] = {
    "create a database": Change(
        lambda c: c.create_database("new"),
        lambda c: c.database_exists("new"),
        lambda c: c.drop_database("new"),
    ),
    "create": Change(lambda c: c.create_table(U, SCHEMA), lambda c: c.table_exists(U), lambda c: c.drop_table(U)),
    "alter": Change(
        lambda c: c.alter_table(T, [AddColumn(("w",), INT)]),
        lambda c: len(c.load_table(T).schema.fields) == 3,
        lambda c: anew(c),
    ),
    "replace": Change(
        lambda c: c.stage_replace(T, OTHER_SCHEMA).publish(),
        lambda c: len(c.load_table(T).schema.fields) == 3,
        lambda c: anew(c),
    ),
    "rename": Change(
        lambda c: c.rename_table(T, U),
        lambda c: c.table_exists(U),
        lambda c: c.rename_table(U, T),
    ),
    "insert": Change(
        lambda c: insert(c.load_table(T), [(3, "c")]),
        lambda c: len(read(c.load_table(T))) == 3,
        lambda c: anew(c),
    ),
    "create a view": Change(
        lambda c: c.create_view(W, VIEW), lambda c: c.view_exists(W), lambda c: c.drop_view(W), Can.VIEWS
    ),
    "replace a view": Change(
        lambda c: c.replace_view(V, OTHER_VIEW),
        lambda c: c.load_view(V) == OTHER_VIEW,
        lambda c: c.replace_view(V, VIEW),
        Can.VIEWS,
    ),
    "create a function": Change(
        lambda c: c.create_function(F, FUNCTION),
        lambda c: c.function_exists(F),
        lambda c: c.drop_function(F),
        Can.FUNCTIONS,
    ),
}
# what is no file where a catalog has a database, a metastore or a server that has one
NO_FILES = ("create a database", "create a view", "replace a view", "create a function")


def anew(catalog: Any) -> None:
    catalog.drop_table(T, ignore_if_not_exists=True)
    catalog.create_table(T, SCHEMA)
    insert(catalog.load_table(T), ROWS)


@pytest.fixture(params=["filesystem", "sqlite", "hive", "rest"])
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    return make_place(request.param)


@contextmanager
def full(place: Place, since: int) -> Iterator[tuple[Any, FaultyIO]]:
    """The catalog of a process whose storage is full from a call on; behind a server it is the server's."""
    io = FaultyIO(LocalFileIO(), since, Fault.NO_SPACE)
    if place.kind != "rest":
        with closing(replace(place.catalog(), io=io)) as made:  # type: ignore[type-var]
            yield made, io
        return
    given = {"metastore": "jdbc", "warehouse": str(place.warehouse), "sync-all-properties": "false"}
    with closing(replace(place.open(given), io=io)) as behind, RestServer.over(behind) as server:  # type: ignore[type-var]
        yield place.open(server.options()), io


@contextmanager
def closing(catalog: Any) -> Iterator[Any]:
    """The catalog, whose connections end with the block."""
    yield catalog
    close = getattr(catalog, "close", None)
    if close is not None:
        close()


@pytest.mark.parametrize("name", CHANGES)
def test_a_storage_that_is_full(place: Place, name: str) -> None:
    change, catalog = CHANGES[name], place.catalog()
    if change.needs is not None and not place.can(change.needs):
        assert not isinstance(catalog, SupportsFunctions if change.needs is Can.FUNCTIONS else SupportsViews)
        return
    catalog.create_database("db")
    anew(catalog)
    if place.can(Can.VIEWS):
        catalog.create_view(V, VIEW)  # type: ignore[attr-defined]
    with full(place, 0) as (counting, io):
        change.act(counting)
        moments = io.moments(Fault.NO_SPACE)
    assert change.shows(catalog)
    change.undo(catalog)
    refused = 0
    for since in moments[:: 3 if place.kind == "hive" and not EVERY else 1]:
        with full(place, since) as (made, _):
            try:
                change.act(made)
            except StorageError as error:
                assert "No space left on device" in str(error)
                refused += 1
        if not change.shows(catalog):
            assert sorted(read(catalog.load_table(T))) == ROWS
            with suppress(AlreadyExistsError, NotFoundError):
                change.act(catalog)
        assert change.shows(catalog)
        assert {f"db/{n}" for n in catalog.list_tables("db")} == place.folders()
        change.undo(catalog)
    assert refused or not moments
    none = ("rename",) if place.kind == "hive" and MOVES_FOLDERS else ()
    assert bool(moments) is not (name in (*NO_FILES, *none) and place.kind != "filesystem")
