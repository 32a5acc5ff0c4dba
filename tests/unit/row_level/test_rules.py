"""Who may be changed, and how: decided without reading a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.row_level.rules import (
    check_changeable,
    check_deletable,
    delete_rules,
    deletes_whole_partitions,
    merge_rules,
    row_position_columns,
    update_rules,
)
from paimon_core.store.table_store import TableStore
from tests.support.stored import create_table

EVOLVED = {"row_tracking__enabled": "true", "data_evolution__enabled": "true"}
VECTORS = {"deletion_vectors__enabled": "true"}
KEYED = {"primary_key": "k", "bucket": "1"}


def store(root: Path, **options: str) -> TableStore:
    return create_table(str(root), **options).store


def test_how_rows_are_changed(tmp_path: Path) -> None:
    append = store(tmp_path / "append")
    assert update_rules(append, None, ["v"]).patched == ("v",) and not update_rules(append, None, ["v"]).moves_rows
    assert delete_rules(append, None).moves_rows and not delete_rules(append, None).by_key
    assert merge_rules(append, None, ["v"], once=True).once
    vectors = store(tmp_path / "vectors", **VECTORS)
    assert update_rules(vectors, None, ["v"]).patched is None
    evolved = update_rules(store(tmp_path / "evolved", **EVOLVED), None, ["v"])
    assert evolved.updates is not None and evolved.updates.columns == ("v",) and not evolved.moves_rows
    for engine in ("deduplicate", "aggregation", "partial-update", "first-row"):
        keyed = store(tmp_path / engine, merge_engine=engine, **KEYED)
        assert delete_rules(keyed, None).by_key is (engine != "deduplicate")


def test_what_says_which_row_is_meant(tmp_path: Path) -> None:
    append, tracked, keyed = (
        store(tmp_path / str(i), **options) for i, options in enumerate(({}, {"row_tracking__enabled": "true"}, KEYED))
    )
    assert row_position_columns(append) == ("__paimon_file_path", "__paimon_row_index")
    assert row_position_columns(tracked) == (*row_position_columns(append), "_ROW_ID")
    assert row_position_columns(keyed) == ()


def test_what_is_refused(tmp_path: Path) -> None:
    keyed, evolved = store(tmp_path / "keyed", **KEYED), store(tmp_path / "evolved", partition="v", **EVOLVED)
    with pytest.raises(UnsupportedFeatureError, match="'k' belongs to the primary key"):
        update_rules(keyed, None, ["v", "k"])
    with pytest.raises(UnsupportedFeatureError, match="Update to partition columns"):
        update_rules(evolved, None, ["v"])
    with pytest.raises(UnsupportedFeatureError, match="DeletionVector enabled"):
        check_deletable(evolved, lambda: False)
    check_changeable(keyed, replacing="UPDATE")
    for engine in ("aggregation", "first-row"):
        merged = store(tmp_path / engine, merge_engine=engine, **KEYED)
        check_changeable(merged, replacing=None)
        with pytest.raises(UnsupportedFeatureError, match=f"MERGE INTO of table .* merge engine {engine}"):
            check_changeable(merged, replacing="MERGE INTO")
    check_deletable(merged, lambda: False)
    with pytest.raises(UnsupportedFeatureError, match="before they are compacted"):
        check_deletable(merged, lambda: True)
    fallback = keyed.with_options({"scan.fallback-branch": "b"})
    with pytest.raises(UnsupportedFeatureError, match="reads partitions from a branch"):
        check_changeable(fallback, replacing=None)


def test_rows_are_read_where_their_deletes_are_a_changelog(tmp_path: Path) -> None:
    keyed = store(tmp_path, **KEYED)
    assert deletes_whole_partitions(keyed)
    assert not deletes_whole_partitions(keyed.with_options({"delete.force-produce-changelog": "true"}))
