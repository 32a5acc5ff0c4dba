"""Tags that cannot be read stop neither expiry nor the removal of orphans, and keep their files."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import UnreadableFileError
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.fast_forward import fast_forward
from paimon_core.maintenance.orphans.job import OrphanSearch
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.maintenance.tags import create_tag, delete_tags, expired_tags, taggable_snapshot
from paimon_core.store.branches import open_branch
from paimon_core.store.snapshots import read_snapshot, snapshot_ids
from paimon_core.store.tags import kept_by_tags, kept_snapshot, read_tag, readable_tags, tag_names
from paimon_core.system_tables.versions import tags
from tests.support.histories import FOREVER, History, expire
from tests.support.orphan_tasks import Lost

U = "01234567-89ab-cdef-0123-456789abcdef"
Change = Callable[[bytes], bytes]


def with_members(**members: Any) -> Change:
    return lambda data: json.dumps(json.loads(data) | members).encode()


# those that still say which files they keep, and those that do not
SAYING: dict[str, Change] = {
    "a time in words": with_members(tagCreateTime="yesterday"),
    "a duration in words": with_members(tagTimeRetained="long"),
    "a later kind of commit": with_members(commitKind="REPLACE"),
    "an odd id": with_members(id={}),
    "odd counts": with_members(totalRecordCount=[], watermark=True),
}
SILENT: dict[str, Change] = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "no text": lambda data: b"\x00\xff" * 20,
    "no object": lambda data: b"[]",
    "without a list": with_members(deltaManifestList=None),
    "a later version": with_members(version=9),
    "an index manifest of another form": with_members(indexManifest={"name": "x"}),
}
ALL = SAYING | SILENT


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Snapshot 1, which the tag `kept` keeps, and two later ones that need none of its files."""
    history = History(tmp_path, random.Random(0))
    history.write()
    create_tag(history.fresh(), "kept", read_snapshot(history.fresh(), 1))
    create_tag(history.fresh(), "other", read_snapshot(history.fresh(), 1))
    history.write(kind="overwrite")
    history.write(kind="overwrite")
    return history


def spoil(history: History, change: Change) -> bytes:
    """Change the tag `kept`, and delete the other one, so that nothing else keeps the files; what the tag was."""
    path = Path(history.store.paths.tag("kept"))
    data = path.read_bytes()
    path.write_bytes(change(data))
    Path(history.store.paths.tag("other")).unlink()
    return data


@pytest.mark.parametrize("name", sorted(ALL))
def test_upkeep_goes_on_and_the_files_stay(history: History, name: str) -> None:
    store = history.fresh()
    junk = Path(store.root, "bucket-0", f"data-{U}-0.parquet")
    junk.write_bytes(b"12345")
    data = spoil(history, ALL[name])
    with pytest.raises(UnreadableFileError, match="tag-kept"):
        read_tag(store, "kept")
    expire(history.fresh(), 1)
    assert snapshot_ids(store) == [3]
    searched = Lost(OrphanSearch(history.fresh(), FOREVER))
    assert set(remove_orphans(history.fresh(), FOREVER).paths) == set(searched.files) >= {str(junk)}
    Path(store.paths.tag("kept")).write_bytes(data)  # as from a backup
    history.check()
    assert [t.name for t in readable_tags(history.fresh())] == ["kept"]


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_bad_tag_can_be_deleted_and_its_files_go(history: History, name: str) -> None:
    spoil(history, ALL[name])
    expire(history.fresh(), 1)
    assert delete_tags(history.fresh(), ["kept", "none"]) == ["kept"]
    remove_orphans(history.fresh(), FOREVER)
    history.check()
    history.check_clean()


@pytest.mark.parametrize("name", sorted(ALL))
def test_other_tags_are_read_beside_it(history: History, name: str, caplog: pytest.LogCaptureFixture) -> None:
    path = Path(history.store.paths.tag("kept"))
    path.write_bytes(ALL[name](path.read_bytes()))
    store = history.fresh()
    assert [t.name for t in readable_tags(store)] == ["other"]
    assert "tag-kept" in caplog.text
    assert taggable_snapshot(store, 1).id == 1
    create_tag(store, "third", read_snapshot(store, 2))
    assert expired_tags(store, datetime(2100, 1, 1)) == []
    kept = kept_by_tags(store)
    assert set(kept.snapshots) | set(kept.unknown) == {"kept", "other", "third"}
    assert (kept.unknown == ()) == (name in SAYING)


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_system_table_lists_the_other_tags(history: History, name: str, caplog: pytest.LogCaptureFixture) -> None:
    path = Path(history.store.paths.tag("kept"))
    path.write_bytes(ALL[name](path.read_bytes()))
    assert [row[0] for row in tags(history.fresh(), UTC)] == ["other"]
    assert "Tag 'kept'" in caplog.text and "tag-kept" in caplog.text


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_branch_with_a_bad_tag_becomes_the_table(
    history: History, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = history.fresh()
    create_branch(store, "b", "other")
    bad = Path(open_branch(store, "b").paths.tag("bad"))
    content = ALL[name](Path(store.paths.tag("kept")).read_bytes())
    bad.write_bytes(content)
    fast_forward(store, "b")
    assert snapshot_ids(store) == [1]
    assert tag_names(store) == ["kept", "other"]
    assert bad.read_bytes() == content, "the branch keeps it"
    assert "Tag 'bad'" in caplog.text


def test_what_a_tag_keeps_is_known_by_its_files_alone(history: History) -> None:
    first = read_snapshot(history.fresh(), 1)
    spoil(history, with_members(tagCreateTime=True, commitUser=[], timeMillis="x"))
    kept = kept_snapshot(history.fresh(), "kept")
    assert kept is not None
    assert (kept.id, kept.base_manifest_list, kept.delta_manifest_list) == (
        1,
        first.base_manifest_list,
        first.delta_manifest_list,
    )


def test_with_a_manifest_that_cannot_be_read_either_every_file_stays(history: History) -> None:
    store = history.fresh()
    old, young = (Path(store.root, "bucket-0", f"data-{U}-{n}.parquet") for n in (0, 1))
    data = spoil(history, SILENT["cut off"])
    for path, time in ((old, -1), (young, +1)):
        path.write_bytes(b"12345")
        os.utime(path, (os.stat(store.paths.tag("kept")).st_mtime + time,) * 2)
    Path(store.paths.manifest(f"manifest-{U}-0")).write_bytes(b"junk")
    expire(history.fresh(), 1)
    found = remove_orphans(history.fresh(), FOREVER).paths
    assert found == () and old.exists() and young.exists()  # times of files prove nothing in a copied warehouse
    Path(store.paths.tag("kept")).write_bytes(data)
    history.check()


@pytest.fixture
def long_history(tmp_path: Path) -> History:
    """Four snapshots that each add a file, and two that replace all; tags of the second and the third."""
    history = History(tmp_path, random.Random(0))
    for kind in (*["append"] * 4, "overwrite", "overwrite"):
        history.write(kind=kind)
    for name, number in (("early", 2), ("kept", 3)):
        create_tag(history.fresh(), name, read_snapshot(history.fresh(), number))
    return history


@pytest.mark.parametrize("number", [{}, None, "x", -7])
def test_the_place_of_a_tag_without_a_number_is_not_guessed(long_history: History, number: Any) -> None:
    """Expiry looks at the tags nearest to the snapshots that it removes: a tag of any place may be one of them."""
    expire(long_history.fresh(), 3)
    path = Path(long_history.store.paths.tag("kept"))
    data = path.read_bytes()
    path.write_bytes(with_members(id=number)(data))
    expire(long_history.fresh(), 1)
    path.write_bytes(data)
    assert snapshot_ids(long_history.fresh()) == [6]
    long_history.check()


@pytest.mark.parametrize("number", [{}, None, "x", -7])
def test_a_tag_without_a_number_is_deleted_without_files_of_snapshots(long_history: History, number: Any) -> None:
    path = Path(long_history.store.paths.tag("kept"))
    path.write_bytes(with_members(id=number)(path.read_bytes()))
    assert delete_tags(long_history.fresh(), ["kept"]) == ["kept"]
    assert snapshot_ids(long_history.fresh()) == [1, 2, 3, 4, 5, 6]
    long_history.check()
