"""Sessions that are made from one another share the catalog of equal options, as long as one of them has it."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_sql.catalog.privileges.catalog import PrivilegedCatalog, accounts_of
from paimon_sql.spark.statements.catalog_registry import LoadedCatalogs


def test_sessions_share_the_catalog_of_equal_options(tmp_path: Path) -> None:
    loaded, options = LoadedCatalogs(), {"warehouse": str(tmp_path), "metastore": "jdbc"}
    one, other = loaded.load(options), loaded.load(dict(reversed(options.items())))
    assert one is other
    assert loaded.load({**options, "table-default.bucket": "1"}) is not one
    assert LoadedCatalogs().load(options) is not one
    with pytest.raises(InvalidOptionError):
        loaded.load({})


def test_a_catalog_that_no_session_has_is_let_go(tmp_path: Path) -> None:
    loaded = LoadedCatalogs()
    found = loaded.load({"warehouse": str(tmp_path)})
    assert len(loaded._known) == 1
    del found
    gc.collect()
    assert len(loaded._known) == 0


def test_a_warehouse_that_has_users_now_asks_the_next_session(tmp_path: Path) -> None:
    loaded, options = LoadedCatalogs(), {"warehouse": str(tmp_path)}
    before = loaded.load(options)
    assert not isinstance(before, PrivilegedCatalog)
    accounts_of(before).initialize("of root")
    after = loaded.load(options)
    assert isinstance(after, PrivilegedCatalog)
    assert after.inner is before
