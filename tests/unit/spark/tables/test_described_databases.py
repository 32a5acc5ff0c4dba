"""How often a statement asks a catalog for the properties of a database."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import DatabaseNotFoundError
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.spark.tables.catalog import SparkCatalog
from tests.support.counted_requests import CountingIO


@pytest.fixture
def io() -> CountingIO:
    return CountingIO()


@pytest.fixture
def catalog(tmp_path: Path, io: CountingIO) -> Any:
    made = SparkCatalog.__new__(SparkCatalog)
    made.catalog_name, made.session = "lake", SimpleNamespace(statements=0)
    made._made = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    made._made.create_database("db")
    return made


def test_the_rules_of_one_statement_ask_the_storage_once(catalog: Any, io: CountingIO) -> None:
    with io.counted() as made:
        found = [catalog._properties_of("db") for _ in range(7)]
    assert made.count == 1 and found == [found[0]] * 7 and found[0]["location"].endswith("db.db")


def test_the_next_statement_asks_again(catalog: Any) -> None:
    catalog._properties_of("db")
    catalog._made.drop_database("db")
    catalog.session.statements += 1
    with pytest.raises(DatabaseNotFoundError):
        catalog._properties_of("db")


def test_calls_that_no_statement_separates_ask_again_after_a_second(
    catalog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog._properties_of("db")
    catalog._made.drop_database("db")
    later = time.monotonic() + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(DatabaseNotFoundError):
        catalog._properties_of("db")
