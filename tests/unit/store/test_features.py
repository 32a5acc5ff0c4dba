from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.store.features import check_readable, check_writable
from paimon_core.store.manifests import data_manifests
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from tests.support.golden import golden_table
from tests.support.tables import new_store

BOTH = {
    "data-evolution.enabled": "true",
    "blob-view-field": "v",
    "manifest.format": "csv",
}
WRITES = {
    "row-tracking.enabled": "true",
    "file.format": "lance",
    "pk-btree.index.columns": "v",
}


def keyed(tmp_path: Path, **options: str) -> TableStore:
    return new_store(tmp_path, primary_key="k", bucket="1").with_options(options)


@pytest.mark.parametrize("option", BOTH)
def test_features_that_would_be_misread_are_refused(tmp_path: Path, option: str) -> None:
    store = keyed(tmp_path, **{option: BOTH[option]})
    for check in (check_readable, check_writable):
        with pytest.raises(UnsupportedFeatureError, match=rf"db\.t .*{option}.*{BOTH[option]}.*works?"):
            check(store)


@pytest.mark.parametrize("option", WRITES)
def test_features_that_only_writers_must_keep_up(tmp_path: Path, option: str) -> None:
    store = keyed(tmp_path, **{option: WRITES[option]})
    check_readable(store)
    with pytest.raises(UnsupportedFeatureError, match=option):
        check_writable(store)


def test_append_tables_ignore_options_of_keys(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options({"changelog-producer": "lookup", "ignore-delete": "true"})
    check_readable(store)
    check_writable(store)


def test_a_store_travels_without_its_cache() -> None:
    store = golden_table("part_pk").store
    snapshot = latest_snapshot(store)
    assert snapshot is not None and data_manifests(store, snapshot) and len(store.cache) > 0
    there = pickle.loads(pickle.dumps(store))  # noqa: S301
    assert there == store and len(there.cache) == 0
    assert there != replace(store, root="elsewhere")
