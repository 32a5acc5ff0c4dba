"""Tables by their paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import InvalidNameError, TableExistsError, TableNotFoundError, UnsupportedFeatureError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.types import INT
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.base import with_databases
from paimon_sql.catalog.paths import PathCatalog, path_identifier
from paimon_sql.catalog.system_database import read_catalog_system_table
from tests.support.tables import fields


@pytest.fixture
def catalog() -> PathCatalog:
    return PathCatalog(dict)


@pytest.fixture
def schema() -> TableSchema:
    return new_table_schema(fields(k=INT))


@pytest.mark.parametrize(
    ("location", "folder", "name"),
    [
        ("/a/b.db/t", "/a/b.db", "t"),
        ("/t", "", "t"),
        ("file:///a/t/", "/a", "t"),
        ("s3://bucket/a.db/t$branch_b$files", "s3://bucket/a.db", "t$branch_b$files"),
        ("/a/../c/t$snapshots", "/c", "t$snapshots"),
    ],
)
def test_names(location: str, folder: str, name: str) -> None:
    identifier = path_identifier(location)
    assert identifier.database == folder
    assert str(identifier) == f"{folder}/{name}"
    assert str(identifier.base) == f"{folder}/{name.partition('$')[0]}"


@pytest.mark.parametrize("location", ["", "t", "default/t", "/", "/a/t$", "/a/t$x$y"])
def test_names_that_are_no_paths(location: str) -> None:
    with pytest.raises(InvalidNameError):
        path_identifier(location)


def test_tables_come_and_go(catalog: PathCatalog, schema: TableSchema, tmp_path: Path) -> None:
    name = path_identifier(f"{tmp_path}/new/folder/t")
    assert not catalog.table_exists(name)
    with pytest.raises(TableNotFoundError, match=f"There is no table at {name}"):
        catalog.load_table(name)
    catalog.create_table(name, schema)
    with pytest.raises(TableExistsError, match=f"Table {name} already exists"):
        catalog.create_table(name, schema)
    table = catalog.load_table(name)
    assert table.store.root == table.name == str(name)
    assert table.identifier == name == catalog.identifier(table.name)
    catalog.alter_table(name, [])
    catalog.drop_table(name)
    assert not catalog.table_exists(name)


def test_there_are_no_databases(catalog: PathCatalog) -> None:
    with pytest.raises(UnsupportedFeatureError, match="have no databases"):
        with_databases(catalog)
    assert read_catalog_system_table(catalog, "tables").num_rows == 0
