from __future__ import annotations

import pytest

from paimon_core.errors import PaimonError
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, tag_names
from paimon_core.table import Table
from paimon_sql.preprocess.statements import CreateTag, DeleteTags, RenameTag
from paimon_sql.spark.statements.paimon_statements import change_tags
from tests.support import stored

T = ("t",)


@pytest.fixture
def table(warehouse: str) -> Table:
    """Three commits of a row each."""
    table = stored.create_table(warehouse, bucket="-1", write_only="true")
    for k in range(3):
        stored.insert(stored.open_table(warehouse), [(k, "x")])
    return table


def snapshot_of(store: TableStore, tag: str) -> int:
    found = read_tag(store, tag)
    assert found is not None
    return found.snapshot.id


def test_tags_are_created_and_replaced(table: Table) -> None:
    change_tags(table, CreateTag(T, "a", snapshot=1, retained="7 days"))
    change_tags(table, CreateTag(T, "a", if_not_exists=True))
    assert snapshot_of(table.store, "a") == 1
    change_tags(table, CreateTag(T, "a", replaces=True, snapshot=2))
    change_tags(table, CreateTag(T, "b", replaces=True))
    assert (snapshot_of(table.store, "a"), snapshot_of(table.store, "b")) == (2, 3)
    for refused in (CreateTag(T, "a"), CreateTag(T, "c", replaces=True, must_exist=True)):
        with pytest.raises(PaimonError, match=f"'{refused.tag}'"):
            change_tags(table, refused)


def test_tags_are_deleted_all_or_none(table: Table) -> None:
    for name in ("a", "b"):
        change_tags(table, CreateTag(T, name))
    with pytest.raises(PaimonError, match="'c'"):
        change_tags(table, DeleteTags(T, "a,c"))
    assert tag_names(table.store) == ["a", "b"]
    change_tags(table, DeleteTags(T, "a, c", if_exists=True))
    assert tag_names(table.store) == ["b"]
    change_tags(table, RenameTag(T, "b", "c"))
    assert tag_names(table.store) == ["c"]
