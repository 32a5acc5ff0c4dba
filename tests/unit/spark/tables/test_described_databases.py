"""How often a statement asks a catalog for the properties of a database."""

from __future__ import annotations

import time
from inspect import unwrap
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import DatabaseNotFoundError, StorageError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.filesystem import FileSystemCatalog
from paimon_sql.spark.tables.catalog import SparkCatalog
from tests.support.counted_requests import CountingIO
from tests.support.tables import fields


class CountedStatements:
    """The part of a session that counts statements."""

    statements = 0

    def count_statement(self) -> None:
        self.statements += 1


class RemoteFolders(CountingIO):
    """A remote storage with folders, as HDFS."""

    def files_below(self, path: str) -> None:
        return None


@pytest.fixture
def io() -> CountingIO:
    return RemoteFolders()


@pytest.fixture
def catalog(tmp_path: Path, io: CountingIO) -> Any:
    made = SparkCatalog.__new__(SparkCatalog)
    made.catalog_name, made.session = "lake", CountedStatements()
    made._made = FileSystemCatalog(io=io, warehouse=str(tmp_path))
    made._made.create_database("db")
    return made


def drop(catalog: Any) -> None:
    """Drop the database as Spark does, without a JVM that would get the errors."""
    unwrap(SparkCatalog.dropNamespace)(catalog, ["db"], False)


def test_the_rules_of_one_statement_ask_the_storage_once(catalog: Any, io: CountingIO) -> None:
    with io.counted() as made:
        found = [catalog._properties_of("db") for _ in range(7)]
    assert made.count == 1 and found == [found[0]] * 7 and found[0]["location"].endswith("db.db")


def test_the_next_statement_asks_again(catalog: Any) -> None:
    catalog._properties_of("db")
    catalog._made.drop_database("db")
    catalog.session.count_statement()
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


def test_a_database_that_the_session_drops_is_gone_at_once(catalog: Any) -> None:
    """The next call may have the same number: a script and a DataFrame are not parsed statement by statement."""
    catalog._properties_of("db")
    drop(catalog)
    with pytest.raises(DatabaseNotFoundError):
        catalog._properties_of("db")


def test_a_database_that_the_session_drops_is_gone_for_another_catalog_of_the_warehouse(
    catalog: Any, tmp_path: Path
) -> None:
    other = SparkCatalog.__new__(SparkCatalog)
    other.catalog_name, other.session = "other", catalog.session
    other._made = FileSystemCatalog(io=RemoteFolders(), warehouse=str(tmp_path))
    other._properties_of("db")
    drop(catalog)
    with pytest.raises(DatabaseNotFoundError):
        other._properties_of("db")


def test_a_drop_that_fails_halfway_makes_the_next_call_ask_again(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: FileSystemCatalog, name: str, cascade: bool = False) -> None:
        original(self, name, cascade)
        raise StorageError("The answer was lost.")

    original = FileSystemCatalog.drop_database
    catalog._properties_of("db")
    monkeypatch.setattr(FileSystemCatalog, "drop_database", fail)
    with pytest.raises(StorageError):
        drop(catalog)
    with pytest.raises(DatabaseNotFoundError):
        catalog._properties_of("db")


def test_a_look_that_another_thread_began_before_the_drop_is_not_kept(
    catalog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(self: FileSystemCatalog, name: str) -> dict[str, str]:
        found = look(self, name)
        monkeypatch.setattr(FileSystemCatalog, "database_properties", look)
        drop(catalog)
        return found

    look = FileSystemCatalog.database_properties
    monkeypatch.setattr(FileSystemCatalog, "database_properties", slow)
    catalog._properties_of("db")
    with pytest.raises(DatabaseNotFoundError):
        catalog._properties_of("db")


def test_a_table_is_not_created_in_a_database_that_another_client_dropped(catalog: Any, tmp_path: Path) -> None:
    catalog._properties_of("db")
    FileSystemCatalog(io=RemoteFolders(), warehouse=str(tmp_path)).drop_database("db")
    catalog._properties_of("db")  # within the second: Spark's analyzer does not see the drop yet
    schema = new_table_schema(fields(k=INT), options={})
    for ignore in (False, True):
        with pytest.raises(DatabaseNotFoundError):
            catalog._made.create_table(Identifier("db", "t"), schema, ignore_if_exists=ignore)
    with pytest.raises(DatabaseNotFoundError):
        catalog._made.stage_create(Identifier("db", "t"), schema)
    assert list(tmp_path.iterdir()) == []
