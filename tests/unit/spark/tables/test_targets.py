"""How often a statement loads the table that it changes."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import TableNotFoundError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import SetOption
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.spark.tables.catalog import SparkCatalog
from tests.support.counted_requests import TaggingIO
from tests.support.tables import fields

T, OTHER = Identifier("db", "t"), Identifier("db", "other")


@pytest.fixture
def io() -> TaggingIO:
    return TaggingIO()


@pytest.fixture
def catalog(tmp_path: Path, io: TaggingIO) -> Any:
    made = SparkCatalog.__new__(SparkCatalog)
    made.catalog_name = "lake"
    made.session = SimpleNamespace(statements=0, in_zone=lambda table: table)
    made._made = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    made._made.create_database("db")
    for name in (T, OTHER):
        made._made.create_table(name, new_table_schema(fields(k=INT), options={}))
        made._made.load_table(name)
    return made


def alter(catalog: Any) -> None:
    catalog._made.alter_table(T, [SetOption("comment", "altered")])


def test_the_target_of_a_statement_is_loaded_once(catalog: Any, io: TaggingIO) -> None:
    with io.counted() as made:
        ahead = catalog.targets.load_ahead(T)
        assert catalog.targets.load_ahead(T) is catalog._table(T, {}, is_target=True) is ahead
    assert made.count == made.chain == 1


def test_a_table_that_was_loaded_ahead_is_used_once(catalog: Any) -> None:
    catalog.targets.load_ahead(T)
    catalog.targets.load(T)
    alter(catalog)
    assert catalog.targets.load(T).schema.id == 1


def test_a_query_gets_the_present_schema(catalog: Any) -> None:
    catalog.targets.load_ahead(T)
    alter(catalog)
    assert catalog._table(T, {}).schema.id == 1


@pytest.mark.parametrize("what", ["next statement", "later", "forgotten", "another table"])
def test_a_table_that_was_loaded_ahead_does_not_outlive_its_statement(
    catalog: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.targets.load_ahead(T)
    alter(catalog)
    if what == "next statement":
        catalog.session.statements += 1
    elif what == "later":
        now = time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 1)
    elif what == "forgotten":
        catalog.targets.forget()
    else:
        assert catalog.targets.load(OTHER).identifier == OTHER
    assert catalog.targets.load(T).schema.id == 1


def test_a_missing_table_is_not_kept(catalog: Any) -> None:
    missing = Identifier("db", "missing")
    assert catalog.targets.exists(T) and not catalog.targets.exists(missing)
    for _ in range(2):
        with pytest.raises(TableNotFoundError):
            catalog.targets.load_ahead(missing)
