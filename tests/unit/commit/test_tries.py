"""Retries and conflicts: what a snapshot and the process know of them, and where the pictures show them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.commit.commit import commit
from paimon_core.commit.publish import PublishOutcome
from paimon_core.errors import CommitConflictError
from paimon_core.inspect.timeline import timeline
from paimon_core.seen_conflicts import CONFLICTS, SeenConflicts
from paimon_core.spec.snapshot import CommitKind, decode_snapshot, encode_snapshot
from paimon_core.store.snapshots import latest_snapshot, list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.pictures.kinds import draw
from paimon_sql.pictures.picture import PictureKind
from paimon_sql.python.catalog import open_table
from tests.support.tables import data_file, info, message, new_store, of_version
from tests.unit.commit.test_commit import FAST, Scripted

TRIES = "paimon-sql.tries"


def committed(store: TableStore, *script: str, **more: object) -> dict[str, str] | None:
    """Commit a file; the publish calls go as `script` says. Return the properties of the snapshot."""
    made = commit(store, [message(store, data_file(store, 1, 1))], info(**more), Scripted(store, list(script)))
    assert made is not None
    return made.properties


def test_a_snapshot_stores_the_tries_of_its_commit_if_there_were_several(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options(FAST)
    assert committed(store) is None, "ordinary commits have the bytes that they had"
    assert committed(store, "lost") == {TRIES: "2"}
    assert committed(store, "unknown before", "lost", properties={"a": "b"}) == {"a": "b", TRIES: "3"}
    assert committed(store, "unknown after") is None, "the first try was published"
    assert [c.retries for c in timeline(store).commits] == [0, 1, 2, 0]


def test_compactions_and_written_rows_have_tries_of_their_own(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options(FAST)
    old, new, merged = (data_file(store, n, n) for n in range(3))
    Table(store).commit([message(store, old)], info())
    both = message(store, new, compact_before=(old,), compact_after=(merged,))
    commit(store, [both], info(), Scripted(store, ["publish", "lost"]))
    assert [(s.commit_kind, s.retries) for s in list_snapshots(store)[1:]] == [
        (CommitKind.APPEND, 0),
        (CommitKind.COMPACT, 1),
    ]


def test_a_table_for_old_versions_gets_no_new_member(tmp_path: Path) -> None:
    store = of_version(new_store(tmp_path).with_options(FAST), 1)
    assert committed(store, "lost") is None
    assert [c.retries for c in timeline(store).commits] == [None]


@pytest.mark.parametrize("value", ["x", "", "0", "-1", "٣", "9" * 10, "1.5"])
def test_a_number_of_tries_that_is_none_is_unknown(tmp_path: Path, value: str) -> None:
    store = new_store(tmp_path).with_options(FAST)
    committed(store, "lost")
    path = Path(store.paths.snapshot(1))
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"properties": {TRIES: value}}))
    fresh = replace(store, cache=type(store.cache)())
    assert [c.retries for c in timeline(fresh).commits] == [None]


def test_the_retries_of_other_engines_are_unknown(tmp_path: Path) -> None:
    store = new_store(tmp_path).with_options(FAST)
    committed(store, "lost")
    made = latest_snapshot(store)
    assert made is not None and made.retries == 1
    java = replace(made, writer_version="2.0.0", properties=None)
    assert decode_snapshot("s", encode_snapshot(java)).retries is None
    from_tag = replace(made, writer_version=None)
    assert decode_snapshot("s", encode_snapshot(from_tag)).retries == 1, "Java keeps the properties of our snapshots"


def test_a_conflict_is_shown_at_the_version_that_caused_it(tmp_path: Path) -> None:
    seen = SeenConflicts()
    store = replace(new_store(tmp_path), conflicts=seen)
    old, merged = data_file(store, 1, 1), data_file(store, 1, 1)
    Table(store).commit([message(store, old)], info())
    rewrite = message(store, compact_before=(old,), compact_after=(merged,))
    Table(store).commit([rewrite], info())
    for _ in range(2):
        with pytest.raises(CommitConflictError, match="no longer live"):
            Table(store).commit([replace(rewrite, compact_after=(data_file(store, 1, 1),))], info())
    assert [c.conflicts for c in timeline(store).commits] == [0, 2]
    assert [c.conflicts for c in timeline(replace(store, conflicts=SeenConflicts())).commits] == [0, 0]
    assert pickle.loads(pickle.dumps(store)).conflicts is CONFLICTS  # noqa: S301  our own bytes


def test_giving_up_after_lost_races_is_a_conflict_with_the_newest_version(tmp_path: Path) -> None:
    store = replace(new_store(tmp_path).with_options({**FAST, "commit.max-retries": "1"}), conflicts=SeenConflicts())
    committed(store)
    with pytest.raises(CommitConflictError, match="2 commits in a row lost the race"):
        committed(store, "lost", "lost")
    assert [(c.retries, c.conflicts) for c in timeline(store).commits] == [(0, 1)]


def test_counts_of_conflicts_are_bounded() -> None:
    seen = SeenConflicts()
    for n in range(1001):
        seen.add("t", f"v{n % 1000}")
    assert len(seen.of_table("t")) == 1000 and seen.of_table("t")["v0"] == 2
    seen.add("t", "new")
    assert "v1" not in seen.of_table("t") and seen.of_table("t")["v0"] == 2, "the newest stay"
    for n in range(999):
        seen.add(f"t{n}", "v")
    assert seen.of_table("t") and seen.of_table("t0")
    seen.add("one more", "v")
    assert not seen.of_table("t") and seen.of_table("t0") and not seen.of_table("unknown")


class Racing:
    """A publisher that loses the first race of each commit."""

    def __init__(self, store: TableStore) -> None:
        self.inner, self.paths = Scripted(store, []), set[str]()

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        if path not in self.paths:
            self.paths.add(path)
            return PublishOutcome.LOST_RACE
        return self.inner.publish(path, data)


def told(tmp_path: Path) -> TableStore:
    store = new_store(tmp_path).with_options(FAST)
    Table(store).commit([message(store, data_file(store, 1, 1))], info())
    commit(store, [message(store, data_file(store, 2, 2))], info(), Racing(store))
    CONFLICTS.add(store.root, list_snapshots(store)[0].identity)
    return store


def values(rows: Sequence[Sequence[object]], columns: Sequence[str], *names: str) -> list[tuple[object, ...]]:
    return [tuple(row[columns.index(name)] for name in names) for row in rows]


def test_every_form_of_the_timeline_shows_them(tmp_path: Path) -> None:
    store = told(tmp_path)
    picture = draw(store, PictureKind.TIMELINE)
    assert values(picture.rows, picture.columns, "snapshot", "retries", "conflicts") == [(1, 0, 1), (2, 1, "")]
    assert "1 commit tried again; 1 commit of this process failed by a conflict" in picture.text(120)
    first, second = picture.text(120).splitlines()[-2:]
    assert first.endswith("1 retry") and second.endswith("1 conflict")
    assert all(f"{words}</text>" in picture.svg() for words in ("1 retry", "1 conflict"))
    assert "1 retry</title>" in picture.svg()
    shown = open_table(store.root).pictures.timeline()
    assert "1 retry" in repr(shown) and "<th" in shown._repr_html_() and "retries" in shown._repr_html_()
