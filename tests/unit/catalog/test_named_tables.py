"""Tables by name, where a catalog keeps names in rows and tables in folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import TableExistsError
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import INT, STRING
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.base import SupportsDatabases
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import insert
from tests.support.tables import fields

pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')

T = Identifier("db", "t")
SCHEMA = new_table_schema(fields(k=INT, v=STRING))


def _catalog(warehouse: Path, key: str) -> SupportsDatabases:
    catalog = load_catalog({"metastore": "jdbc", "warehouse": str(warehouse), "catalog-key": key})
    catalog.create_database("db", ignore_if_exists=True)
    return catalog


def test_if_not_exists_does_not_hide_that_the_folder_is_another_tables(tmp_path: Path) -> None:
    """The catalog has no table of that name afterwards, so the statement has not done what it says."""
    elsewhere, catalog = _catalog(tmp_path, "elsewhere"), _catalog(tmp_path, "here")
    elsewhere.create_table(T, SCHEMA)
    insert(elsewhere.load_table(T), [(1, "a")])
    with pytest.raises(TableExistsError, match=r"CALL sys\.repair\('db\.t'\)"):
        catalog.create_table(T, SCHEMA, ignore_if_exists=True)
    assert not catalog.table_exists(T)


def test_if_not_exists_leaves_the_table_that_is_there(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path, "here")
    catalog.create_table(T, SCHEMA)
    catalog.create_table(T, new_table_schema(fields(other=INT)), ignore_if_exists=True)
    assert [f.name for f in catalog.load_table(T).schema.fields] == ["k", "v"]
