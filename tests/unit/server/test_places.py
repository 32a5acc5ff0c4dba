"""The folders that clients of a server with `--read-only` may name by a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.privileges.catalog import accounts_of
from paimon_sql.server.reads.listed import Warehouses, places


@pytest.mark.parametrize("spelling", ["{home}/wh", " {home}/wh ", "~/wh", " ~/wh/"])
def test_a_warehouse_with_users_is_found_in_each_spelling(
    spelling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else clients could read its tables by their paths, if the operator chose the folder above it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    options = {"warehouse": spelling.format(home=tmp_path)}
    accounts_of(load_catalog(options)).initialize("secret")
    settings = {"spark.sql.catalog.lake.warehouse": options["warehouse"], "spark.paimon-sql.read-paths": str(tmp_path)}
    found = places(settings, lambda _: options)
    assert set(found.warehouses) == {f"{tmp_path}/wh"}
    assert Warehouses(found).has_users(f"{tmp_path}/wh")


def test_a_catalog_beside_sparks_tables_has_its_warehouse_without_a_setting(tmp_path: Path) -> None:
    """Else clients could read tables of users in the warehouse of Spark by their paths."""
    options = {"warehouse": str(tmp_path / "wh")}
    accounts_of(load_catalog(options)).initialize("secret")
    settings = {"spark.sql.catalog.spark_catalog": "paimon_sql.SparkGenericCatalog", "spark.sql.warehouse.dir": "/wh"}
    found = places(settings, {"spark_catalog": options}.get)
    assert Warehouses(found).has_users(options["warehouse"])
    assert not places({"spark.sql.catalog.other": "example.Catalog"}, {}.get).warehouses
