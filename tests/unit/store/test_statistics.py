from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import CommitConflictError, MetadataMissingError
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.snapshot import CommitKind
from paimon_core.spec.statistics import TableStatistics
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store

KNOWN = TableStatistics(snapshot_id=1, schema_id=0, merged_record_count=5, columns={"k": {"colId": 0, "nullCount": 0}})


def files(store: TableStore) -> list[str]:
    return sorted(p.name for p in Path(store.paths.statistics_dir).glob("*"))


def test_statistics_are_a_snapshot_and_stay_until_the_schema_changes(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    table = Table(store)
    first = table.commit([message(store, data_file(store, 1, 5, rows=5))], info())
    assert table.statistics(first) is None
    made = table.commit_statistics(KNOWN, CommitInfo(user="me"))
    assert (made.id, made.commit_kind, made.commit_user, made.operation) == (2, CommitKind.ANALYZE, "me", None)
    assert (made.total_record_count, made.delta_record_count) == (5, 0)
    assert [made.statistics] == files(store)
    later = table.commit([message(store, data_file(store, 6, 7))], info())
    assert later is not None and table.statistics(later) == KNOWN
    other: TableSchema = replace(store.schema, id=1, comment="altered")
    assert create_schema(store.io, store.root, other)
    after = Table(replace(store, schema=other)).commit([message(store, data_file(store, 8, 9))], info())
    assert after is not None and (after.schema_id, after.statistics) == (1, None)


def test_a_commit_that_fails_leaves_no_file(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    Path(store.paths.schema(0)).unlink()
    with pytest.raises(CommitConflictError, match="was dropped"):
        Table(store).commit_statistics(KNOWN, info())
    assert files(store) == []


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    made = Table(store).commit_statistics(KNOWN, info())
    Path(store.paths.statistics(str(made.statistics))).unlink()
    with pytest.raises(MetadataMissingError, match="run ANALYZE TABLE again"):
        Table(new_store(tmp_path / "other")).statistics(made)
