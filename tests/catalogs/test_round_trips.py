"""How often a catalog asks its database, metastore or server: once to open a table, and no more for many than for few.
`benchmarks/catalog_listing.py` measures 10,000 tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from paimon_core.spec.identifier import Identifier
from paimon_sql.catalog.base import SupportsDatabases
from tests.catalogs.kinds import SCHEMA, VIEW, Place

T, V = Identifier("db", "t0"), Identifier("db", "v")


@contextmanager
def round_trips(place: Place, catalog: Any) -> Iterator[list[object]]:
    """What is asked while the block runs."""
    asked: list[object] = []
    if place.kind in ("hive", "rest"):
        owner = catalog._metastore if place.kind == "hive" else catalog.client
        inner = owner._call

        def call(*arguments: Any, **more: Any) -> Any:
            asked.append(arguments[:2])
            return inner(*arguments, **more)

        owner._call = call
        yield asked
        owner._call = inner
        return
    from sqlalchemy import event  # noqa: PLC0415  an extra

    def note(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        asked.append(statement)

    event.listen(catalog._database._engine, "before_cursor_execute", note)
    yield asked
    event.remove(catalog._database._engine, "before_cursor_execute", note)


@pytest.fixture(params=["sqlite", "hive", "rest"])
def place(request: pytest.FixtureRequest, make_place: Callable[[str], Place]) -> Place:
    return make_place(request.param)


@pytest.fixture
def catalog(place: Place) -> SupportsDatabases:
    made = place.catalog()
    made.create_database("db")
    made.create_table(T, SCHEMA)
    return made


def test_opening_is_one_round_trip(place: Place, catalog: Any) -> None:
    catalog.create_view(V, VIEW)
    for opens in (lambda: catalog.load_table(T), lambda: catalog.table_exists(T), lambda: catalog.load_view(V)):
        with round_trips(place, catalog) as asked:
            opens()
        assert len(asked) == 1, asked


def test_listing_asks_no_more_for_many_tables(place: Place, catalog: Any) -> None:
    most = 2 if place.kind == "hive" else 1  # those of Paimon's, and whether there are others
    for count in (1, 12):
        for n in range(1, count):
            catalog.create_table(Identifier("db", f"t{n}"), SCHEMA)
        with round_trips(place, catalog) as asked:
            assert len(catalog.list_tables("db")) == count
        assert len(asked) == most, asked
    with round_trips(place, catalog) as asked:
        assert len(catalog.list_databases()) == 2
    assert len(asked) == 1, asked
