"""Which changes the `incremental-*` options ask for, and which files are read for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidOptionError, PaimonError, SnapshotNotFoundError
from paimon_core.lsm.strategy import Strategy
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.snapshot_expiry import Retention, expire_changelogs, expire_snapshots
from paimon_core.options import TableOptions
from paimon_core.scan.changes.increment import Increment, IncrementMode, increment_of_options, is_incremental
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.store.manifests import live_files
from paimon_core.store.snapshots import snapshot_ids
from paimon_core.store.tag_periods import tag_period
from paimon_core.table import Table
from paimon_core.write.compaction.job import compaction_job
from paimon_core.write.deletion import delete_rows
from tests.support import stored
from tests.support.executors import run_job
from tests.support.streamed import rescale, write


def tag(table: Table, name: str, snapshot: int) -> None:
    folder = Path(table.store.root) / "tag"
    folder.mkdir(exist_ok=True)
    content = Path(table.store.paths.snapshot(snapshot)).read_text(encoding="utf-8")
    (folder / f"tag-{name}").write_text(content, encoding="utf-8")


def upsert(warehouse: str, *rows: tuple[int, str]) -> None:
    """As a session does: write, commit, compact what is due."""
    table = stored.open_table(warehouse)
    messages = stored.write(table, rows)
    stored.commit(table, messages, "tester")
    done = run_job(compaction_job(table.store, table.due_compactions(messages), Strategy.WRITE))
    if done:
        table.commit(done, CommitInfo(user="tester"))


def increment(warehouse: str, zone: ZoneInfo | None = None, **options: str) -> Increment:
    spelled = {k.replace("_", "-"): v for k, v in options.items()}
    assert is_incremental(spelled)
    found = increment_of_options(stored.open_table(warehouse).with_options(spelled).store, zone)
    assert found is not None
    return found


def log(warehouse: str, derived: DerivedTable = DerivedTable.AUDIT_LOG, **options: str) -> list[Any]:
    table = stored.open_table(warehouse)
    names = ["rowkind", "k", "v"] if derived.is_log else ["k", "v"]
    plan = table.plan(increment(warehouse, **options))
    batches = [b for s in plan.splits for b in read_derived(table.store, derived, s, names)]
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


@pytest.fixture
def history(warehouse: str) -> str:
    """Snapshots 1, 3, 5 append, 2, 4, 6 compact: 1=a, then 1=b and 2=c, then 1=b and 3=d."""
    stored.create_table(warehouse, primary_key="k", bucket="1", changelog_producer="lookup")
    upsert(warehouse, (1, "a"))
    upsert(warehouse, (1, "b"), (2, "c"))
    upsert(warehouse, (1, "b"), (3, "d"))
    return warehouse


def test_changelogs_of_snapshots(history: str) -> None:
    table = stored.open_table(history)
    kinds = [s.commit_kind for s in (table.snapshot(str(n)) for n in range(1, 7)) if s is not None]
    assert kinds == ["APPEND", "COMPACT"] * 3
    first = table.snapshot("2")
    assert first is not None and first.changelog_record_count == 1
    assert log(history, incremental_between="0,2") == [("+I", 1, "a")]
    assert log(history, incremental_between="2,4") == [("+I", 2, "c"), ("+U", 1, "b"), ("-U", 1, "a")]
    assert log(history, incremental_between="2,4", derived=DerivedTable.ROWS) == [(1, "b"), (2, "c")]
    assert log(history, incremental_between="4,6") == [("+I", 3, "d"), ("+U", 1, "b"), ("-U", 1, "b")]
    assert log(history, incremental_between="4,5") == []


def test_scan_modes(history: str) -> None:
    between = {"incremental_between": "2,6"}
    delta = log(history, **between, incremental_between_scan_mode="delta")
    assert delta == [("+I", 1, "b"), ("+I", 1, "b"), ("+I", 2, "c"), ("+I", 3, "d")]
    diff = log(history, **between, incremental_between_scan_mode="diff")
    assert diff == [("+I", 1, "b"), ("+I", 2, "c"), ("+I", 3, "d")]
    assert len(log(history, **between, incremental_between_scan_mode="changelog")) == 6
    assert log(history, **between) == log(history, **between, incremental_between_scan_mode="auto")
    with pytest.raises(InvalidOptionError, match="auto, delta, changelog, diff"):
        log(history, **between, incremental_between_scan_mode="all")


def test_tags_are_compared(history: str) -> None:
    table = stored.open_table(history)
    tag(table, "one", 2)
    tag(table, "two", 6)
    assert log(history, incremental_between="one,two") == [("+I", 1, "b"), ("+I", 2, "c"), ("+I", 3, "d")]
    assert log(history, incremental_between="one,one") == []
    as_snapshots = log(history, incremental_between="one,two", incremental_between_tag_to_snapshot="true")
    assert as_snapshots == log(history, incremental_between="2,6")
    with pytest.raises(InvalidOptionError, match="cannot end at snapshot 2: it begins at the later snapshot 6"):
        log(history, incremental_between="two,one")


def test_moments(history: str) -> None:
    table = stored.open_table(history)
    times = [s.time_millis for n in range(1, 7) if (s := table.snapshot(str(n))) is not None]
    found = increment(history, incremental_between_timestamp=f"{times[0] - 1},{times[-1]}")
    assert found.start is None and found.end is not None and found.end.id == 6
    assert len(found.snapshots) == 6
    none = increment(history, incremental_between_timestamp="2001-01-01,2001-01-02 12:00:00", zone=ZoneInfo("UTC"))
    assert none.end is None
    for text in ("1", "1,2,3", "then,now"):
        with pytest.raises(InvalidOptionError, match="incremental-between-timestamp"):
            increment(history, incremental_between_timestamp=text)
    with pytest.raises(InvalidOptionError, match="before it begins"):
        increment(history, incremental_between_timestamp="2,1")


def test_automatic_tags(history: str) -> None:
    table = stored.open_table(history)
    for name, snapshot in (("2024-12-01", 2), ("2024-12-02", 4), ("2024-12-04", 6), ("other", 6)):
        tag(table, name, snapshot)
    assert log(history, incremental_to_auto_tag="2024-12-01") == []
    assert log(history, incremental_to_auto_tag="2024-12-02") == [("+I", 1, "b"), ("+I", 2, "c")]
    assert log(history, incremental_to_auto_tag="2024-12-03") == []
    assert log(history, incremental_to_auto_tag="2024-12-04") == [("+I", 3, "d")]
    with pytest.raises(InvalidOptionError, match="'other'.*tag.creation-period"):
        log(history, incremental_to_auto_tag="other")


@pytest.mark.parametrize(
    ("options", "name", "hour"),
    [
        ({}, "2024-12-01", 0),
        ({"tag.period-formatter": "without_dashes"}, "20241201", 0),
        ({"tag.creation-period": "hourly"}, "2024-12-01 07", 7),
        ({"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"}, "2024120107", 7),
        ({"tag.creation-period": "two-hours"}, "2024-12-01 08", 8),
        ({"tag.creation-period-duration": "30 min"}, "202412010730", 7),
        ({}, "2024-12-01 07", 0),
        ({"tag.period-formatter": "without_dashes"}, "20241201 07", 0),
        ({}, "2024-12-1", None),
        ({}, "tag", None),
        ({"tag.creation-period": "hourly"}, "2024-12-01", None),
    ],
)
def test_names_of_automatic_tags(options: Mapping[str, str], name: str, hour: int | None) -> None:
    moment = tag_period(TableOptions(options)).begin(name)
    assert (moment and moment.hour) == hour


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"incremental_between": "0,9"}, SnapshotNotFoundError, "snapshots 1 to 6"),
        ({"incremental_between": "3,2"}, InvalidOptionError, "later snapshot 3"),
        ({"incremental_between": "a,2"}, InvalidOptionError, "two tags .* or two snapshot ids"),
        ({"incremental_between": "1"}, InvalidOptionError, "with a comma"),
        ({"incremental_between": "1,2", "incremental_to_auto_tag": "x"}, InvalidOptionError, "Only one"),
    ],
)
def test_what_cannot_be_read(history: str, options: dict[str, str], error: type[PaimonError], words: str) -> None:
    with pytest.raises(error, match=words):
        increment(history, **options)


def test_append_tables_tell_what_was_appended(warehouse: str) -> None:
    table = stored.create_table(warehouse)
    for value in "abc":
        stored.insert(stored.open_table(warehouse), [(1, value)])
    tag(table, "one", 1)
    stored.compact(stored.open_table(warehouse))
    stored.insert(stored.open_table(warehouse), [(2, "d")])
    tag(table, "two", 5)
    expected = [("+I", 1, "b"), ("+I", 1, "c"), ("+I", 2, "d")]
    assert log(warehouse, incremental_between="one,two") == expected
    assert log(warehouse, incremental_between="1,5") == expected
    assert log(warehouse, incremental_between="1,5", incremental_between_scan_mode="changelog") == []


def test_a_table_without_snapshots_has_no_changes(warehouse: str) -> None:
    stored.create_table(warehouse)
    assert log(warehouse, incremental_between="0,1") == []
    found = increment(warehouse, incremental_between_timestamp="1,2")
    assert (found, found.describe()) == (Increment(mode=IncrementMode.DELTA), "no changes")


def test_a_changelog_without_its_manifest_is_named(history: str) -> None:
    table = stored.open_table(history)
    path = Path(table.store.paths.snapshot(2))
    node = json.loads(path.read_text(encoding="utf-8"))
    node["changelogManifestList"] = "missing"
    path.write_text(json.dumps(node), encoding="utf-8")
    with pytest.raises(PaimonError, match="missing is missing: a snapshot names it"):
        log(history, incremental_between="0,2")


def test_rows_marked_as_deleted_are_in_a_difference(warehouse: str) -> None:
    table = stored.create_table(warehouse, deletion_vectors__enabled="true")
    stored.insert(table, [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    for positions in ([0], [0, 2]):
        table = stored.open_table(warehouse)
        (entry,) = live_files(table.store, table.latest_snapshot()).values()
        marked = {(entry.partition, entry.bucket): {entry.file.file_name: np.array(positions)}}
        table.commit(delete_rows(table.store, table.latest_snapshot(), marked), CommitInfo(user="tester"))
    for name, snapshot in (("one", 1), ("two", 2), ("three", 3)):
        tag(table, name, snapshot)
    assert log(warehouse, incremental_between="one,three") == [("-D", 1, "a"), ("-D", 3, "c")]
    assert log(warehouse, incremental_between="two,three") == [("-D", 3, "c")]
    assert log(warehouse, incremental_between="two,three", derived=DerivedTable.ROWS) == []


@pytest.mark.parametrize("options", [{}, {"deletion_vectors__enabled": "true"}, {"changelog_producer": "lookup"}])
def test_rows_that_move_to_other_buckets_are_no_change(warehouse: str, options: dict[str, str]) -> None:
    stored.create_table(warehouse, primary_key="k", bucket="2", **options)
    rows = [(k, "a") for k in range(20)]
    write(warehouse, rows)
    write(warehouse, rows[:5])  # in one bucket as in the other, several runs
    tag(stored.open_table(warehouse), "one", snapshot_ids(stored.open_table(warehouse).store)[-1])
    rescale(warehouse, 3)
    write(warehouse, [(7, "b"), (30, "b")])
    tag(stored.open_table(warehouse), "two", snapshot_ids(stored.open_table(warehouse).store)[-1])
    assert log(warehouse, incremental_between="one,two") == [("+I", 7, "b"), ("+I", 30, "b")]


def test_rows_that_an_overwrite_gives_other_dynamic_buckets(warehouse: str) -> None:
    stored.create_table(warehouse, primary_key="k", dynamic_bucket__target_row_num="3")
    for k in range(9):
        write(warehouse, [(8 - k, "a")])
    tag(stored.open_table(warehouse), "one", snapshot_ids(stored.open_table(warehouse).store)[-1])
    write(warehouse, [(k, "a") for k in range(8)] + [(10, "b")], overwrites=True)
    tag(stored.open_table(warehouse), "two", snapshot_ids(stored.open_table(warehouse).store)[-1])
    assert log(warehouse, incremental_between="one,two") == [("+I", 10, "b"), ("-D", 8, "a")]


def expire(warehouse: str) -> None:
    """Keep the last snapshot; what the options say of changelogs stays."""
    store = stored.open_table(warehouse).store
    expire_snapshots(store, Retention(least=1, most=1, older_than=2**62, limit=99), 0)
    remove_orphans(stored.open_table(warehouse).store, 2**62)


@pytest.mark.parametrize("producer", ["lookup", "input"])
def test_changelogs_that_outlive_their_snapshots_are_read(warehouse: str, producer: str) -> None:
    kept = {"changelog__num-retained__max": "100", "changelog__num-retained__min": "100"}
    table = stored.create_table(warehouse, primary_key="k", bucket="1", changelog_producer=producer, **kept)
    for rows in ([(1, "a")], [(1, "b"), (2, "c")], [(3, "d")]):
        upsert(warehouse, *rows)
    last = stored.open_table(warehouse).latest_snapshot()
    assert last is not None
    before = log(warehouse, incremental_between=f"0,{last.id}")
    assert len(before) >= 4
    times = [s.time_millis for s in (table.snapshot(str(n)) for n in range(1, last.id + 1)) if s is not None]
    expire(warehouse)
    assert log(warehouse, incremental_between=f"0,{last.id}") == before
    assert log(warehouse, incremental_between_timestamp=f"0,{times[-1]}") == before
    with pytest.raises(SnapshotNotFoundError):
        log(warehouse, incremental_between=f"0,{last.id}", incremental_between_scan_mode="diff")
    store = stored.open_table(warehouse).store
    expire_changelogs(store, Retention(least=1, most=1, older_than=2**62, limit=99))
    remove_orphans(stored.open_table(warehouse).store, 2**62)
    with pytest.raises(SnapshotNotFoundError, match="does not have the changes after snapshot 0"):
        log(warehouse, incremental_between=f"0,{last.id}")


def test_appended_rows_outlive_their_snapshots(warehouse: str) -> None:
    stored.create_table(warehouse, **{"changelog__num-retained__min": "99"})
    for k in range(3):
        stored.insert(stored.open_table(warehouse), [(k, "x")])
    expire(warehouse)
    assert log(warehouse, incremental_between="0,2") == [("+I", 0, "x"), ("+I", 1, "x")]


def test_the_changes_of_the_latest_snapshot(warehouse: str) -> None:
    stored.create_table(warehouse, primary_key="k", bucket="1", write_only="true")
    latest = {"scan.mode": "latest-delta"}
    assert is_incremental(latest)
    assert increment_of_options(stored.open_table(warehouse).with_options(latest).store) == Increment(
        mode=IncrementMode.DELTA
    )
    stored.insert(stored.open_table(warehouse), [(1, "a")])
    stored.insert(stored.open_table(warehouse), [(1, "b"), (2, "c")])
    for expected in ([(1, "b"), (2, "c")], []):
        table = stored.open_table(warehouse)
        plan = table.plan(increment_of_options(table.with_options(latest).store))
        rows = [b for s in plan.splits for b in read_derived(table.store, DerivedTable.ROWS, s, ["k", "v"])]
        assert sorted(tuple(r.values()) for b in rows for r in b.to_pylist()) == expected
        stored.compact(table)
