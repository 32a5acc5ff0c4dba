from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, SnapshotNotFoundError
from paimon_core.maintenance.snapshot_expiry import Retention, expire_snapshots
from paimon_core.store.schemas import latest_schema
from paimon_core.store.snapshots import (
    earliest_snapshot,
    latest_snapshot,
    list_snapshots,
    read_snapshot,
    write_hints,
)
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import read_tag, readable_tags
from paimon_core.table import Table
from tests.support.damage import damaged
from tests.support.examples import examples
from tests.support.golden import golden_table
from tests.support.tables import data_file, info, message, new_store


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    store = new_store(tmp_path)
    for k in range(3):
        Table(store).commit([message(store, data_file(store, k, k))], info())
    return store


def hint(store: TableStore, text: str) -> None:
    Path(store.paths.latest_hint).write_text(text)


@pytest.mark.parametrize("text", ["3", "2", "1", "7", "0", "-1", "nonsense", "", "99999999999999999999999"])
def test_the_latest_is_found_whatever_the_hint_says(store: TableStore, text: str) -> None:
    hint(store, text)
    found = latest_snapshot(store)
    assert found is not None and found.id == 3


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=30) | damaged(st.just(b"3")))
def test_hints_of_any_bytes_are_no_error(store: TableStore, data: bytes) -> None:
    Path(store.paths.latest_hint).write_bytes(data)
    Path(store.paths.earliest_hint).write_bytes(data if data.strip() not in (b"2", b"3") else b"")
    latest, earliest = latest_snapshot(store), earliest_snapshot(store)
    assert latest is not None and earliest is not None
    assert (earliest.id, latest.id) == (1, 3)


def test_without_hints_the_folder_is_listed(store: TableStore) -> None:
    Path(store.paths.latest_hint).unlink()
    Path(store.paths.earliest_hint).unlink()
    latest, earliest = latest_snapshot(store), earliest_snapshot(store)
    assert latest is not None and earliest is not None
    assert (earliest.id, latest.id) == (1, 3)


def test_a_new_table_has_none(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert (latest_snapshot(store), earliest_snapshot(store), list_snapshots(store)) == (None, None, [])


def test_a_missing_snapshot_says_which_exist(store: TableStore) -> None:
    with pytest.raises(SnapshotNotFoundError, match=r"db\.t has no snapshot 9: the snapshots 1 to 3 exist"):
        read_snapshot(store, 9)


def test_a_snapshot_under_another_number_is_refused(store: TableStore) -> None:
    Path(store.paths.snapshot(4)).write_bytes(Path(store.paths.snapshot(3)).read_bytes())
    with pytest.raises(CorruptFileError, match="contains snapshot 3"):
        read_snapshot(store, 4)


def test_hints_that_cannot_be_written_are_no_error(store: TableStore) -> None:
    Path(store.paths.latest_hint).unlink()
    Path(store.paths.latest_hint).mkdir()
    write_hints(store, 3)
    found = latest_snapshot(store)
    assert found is not None and found.id == 3


def test_golden_tags() -> None:
    store = golden_table("tags").store
    assert [(t.name, t.snapshot.id) for t in readable_tags(store)] == [
        ("3", 2),
        ("first", 1),
        ("kept", 2),
        ("last-one", 3),
    ]
    kept = read_tag(store, "kept")
    assert kept is not None and kept.retained is not None and kept.created is not None
    assert (kept.retained.days, kept.created.year) == (36500, 2026)
    assert read_tag(store, "../snapshot/snapshot-3") is None


def test_files_with_other_spellings_of_numbers_are_not_versions(store: TableStore) -> None:
    """No engine writes such names, so they are left where they are."""
    odd = [f"snapshot/snapshot-{n}" for n in ("007", "03", "9223372036854775808")] + [
        "schema/schema-00",
        "schema/schema-07",
    ]
    for name in odd:
        (Path(store.root) / name).write_bytes(b"not ours")
    Path(store.paths.latest_hint).unlink()
    assert [s.id for s in list_snapshots(store)] == [1, 2, 3]
    Table(store).commit([message(store, data_file(store, 4, 4))], info())
    expire_snapshots(store, Retention(least=1, most=1, older_than=2**62, limit=10), 0)
    assert [s.id for s in list_snapshots(store)] == [4]
    assert latest_schema(store.io, store.root) == store.schema
    assert all((Path(store.root) / name).exists() for name in odd)
