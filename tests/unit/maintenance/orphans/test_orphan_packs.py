"""Packs of BLOBs that no version needs: what is deleted, and what stays when it is not known."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CommitConflictError, UnreadableFileError
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.branches import create_branch
from paimon_core.maintenance.orphans import packs
from paimon_core.maintenance.orphans.packs import find_orphan_packs, purge, remove_orphan_packs
from paimon_core.maintenance.orphans.search import Orphans, remove_orphans
from paimon_core.maintenance.tags import create_tag, delete_tags
from paimon_core.store.blob.references import encode_references
from paimon_core.store.tags import read_tag
from paimon_core.table import Table
from tests.support.examples import examples
from tests.support.histories import FOREVER, expire
from tests.support.packed import INFO, files, new_table, on_disk, packs_of, read, write
from tests.support.stored import compact


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with a pack that only an old version needs, and one that the latest version needs."""
    table = new_table(tmp_path)
    write(table, {1: (b"old", None)})
    write(table, {1: (b"new", None)})
    compact(table)
    return table


def expired(table: Table) -> Table:
    """The table with its latest version only."""
    expire(table.store, 1)
    return table


def removed(table: Table) -> set[str]:
    before, found = on_disk(table), find_orphan_packs(table.store, FOREVER)
    assert on_disk(table) == before
    assert remove_orphan_packs(table.store, FOREVER) == found
    assert on_disk(table) == before - set(found.paths)
    return set(found.paths)


def test_packs_go_with_the_versions_that_need_them(table: Table) -> None:
    (old,) = on_disk(table) - packs_of(table)
    size = Path(old).stat().st_size
    assert removed(table) == set()
    expired(table)
    assert find_orphan_packs(table.store, FOREVER) == Orphans((old,), size)
    assert find_orphan_packs(table.store, 1) == Orphans((), 0)  # too young
    assert removed(table) == {old}
    assert read(table) == {1: (b"new", None)}
    write(table, {1: (None, None)}, kind=3)
    compact(table)
    assert removed(expired(table)) and on_disk(table) == set() and read(table) == {}


def test_tags_and_branches_keep_packs(table: Table) -> None:
    (old,) = on_disk(table) - packs_of(table)
    create_tag(table.store, "first", table.snapshot("1"))
    create_branch(table.store, "b", "first")
    expired(table)
    delete_tags(table.store, ["first"])
    assert removed(table) == set()
    assert Path(old).exists()


def test_other_files_stay(table: Table, tmp_path: Path) -> None:
    (old,) = on_disk(table) - packs_of(table)
    folder = Path(old).parent
    uuid = "01234567-89ab-cdef-0123-456789abcdef"
    lost = folder / f"data-{uuid}-0.parquet.blobref"
    kept = [folder / "x.managed.blob", folder / f"data-{uuid}-0.blob", folder / f"data-{uuid}-0.managed.blob.tmp"]
    for path in (lost, *kept):
        path.write_bytes(encode_references([old]))
    linked = folder / f"data-{uuid}-1.managed.blob"
    linked.symlink_to(tmp_path)
    expired(table)
    assert removed(table) == {old}
    assert all(p.exists() for p in (lost, *kept, linked))
    assert set(remove_orphans(table.store, FOREVER).paths) == {str(lost), str(kept[1])}
    assert on_disk(table) == packs_of(table) | {str(kept[0]), str(linked)}
    assert read(table) == {1: (b"new", None)}


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def later(path: Path) -> None:
    path.write_bytes(b"PBLR\x02\x00\x00\x00\x00")


@pytest.mark.parametrize("harm", [Path.unlink, damage, later])
def test_all_packs_stay_if_a_list_of_packs_cannot_be_read(
    table: Table, caplog: pytest.LogCaptureFixture, harm: Callable[[Path], None]
) -> None:
    (path,) = files(expired(table))
    sidecar = Path(f"{path}.blobref")
    good = sidecar.read_bytes()
    harm(sidecar)
    assert removed(table) == set()
    assert "No BLOB of table" in caplog.text and path in caplog.text
    sidecar.write_bytes(good)
    assert removed(table)


def test_files_that_expiry_has_deleted_do_not_matter(table: Table) -> None:
    """Manifests still name the level-0 files, which are gone with their lists of packs."""
    expired(table)
    (path,) = files(table)
    assert [str(p) for p in Path(table.store.root).rglob("*.blobref")] == [f"{path}.blobref"]
    assert removed(table)


def test_files_without_a_list_of_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were written before the table had BLOBs need none; later ones may need any pack."""
    table = new_table(tmp_path)
    write(table, {1: (b"one", None)})
    write(table, {1: (b"two", None)})
    compact(table)
    expired(table)
    with monkeypatch.context() as patch:
        patch.setattr(packs, "REFERENCES", ".nothing")
        assert find_orphan_packs(table.store, FOREVER).paths == ()
        patch.setattr(packs, "_packed_schemas", lambda _: {9})
        assert set(find_orphan_packs(table.store, FOREVER).paths) == on_disk(table)
    assert removed(table)


def test_all_packs_stay_if_a_tag_cannot_be_read(table: Table) -> None:
    create_tag(table.store, "t", table.latest_snapshot())
    Path(table.store.paths.tag("t")).write_bytes(b"{")
    assert removed(expired(table)) == set()


def test_nothing_is_deleted_if_a_manifest_cannot_be_read(table: Table) -> None:
    latest = expired(table).latest_snapshot()
    assert latest is not None
    Path(table.store.paths.manifest(latest.base_manifest_list)).write_bytes(b"junk")
    fresh = Table(type(table.store).of(LocalFileIO(), table.store.root, table.store.schema))
    with pytest.raises(UnreadableFileError):
        remove_orphan_packs(fresh.store, FOREVER)


@pytest.mark.parametrize("when", [0, 1, 2])
def test_what_others_do_meanwhile(table: Table, monkeypatch: pytest.MonkeyPatch, when: int) -> None:
    """A compaction copies descriptors while packs are looked up: the search begins again."""
    expired(table)
    write(table, {2: (b"other", None)})
    real, calls = packs._needed_packs, [0]

    def look(store: Any) -> set[str]:
        if calls[0] == when:
            compact(table)
            expired(table)
        calls[0] += 1
        return real(store)

    monkeypatch.setattr(packs, "_needed_packs", look)
    lost = remove_orphan_packs(table.store, FOREVER).paths
    assert len(lost) == 1 and packs_of(table) == on_disk(table)
    assert read(table) == {1: (b"new", None), 2: (b"other", None)}
    assert calls[0] == (2 if when == 2 else 4)


def test_a_write_between_the_look_ups(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = packs._needed_packs, [0]

    def look(store: Any) -> set[str]:
        calls[0] += 1
        if calls[0] == 2:
            write(table, {2: (b"other", None)})
        return real(store)

    expired(table)
    monkeypatch.setattr(packs, "_needed_packs", look)
    assert len(remove_orphan_packs(table.store, FOREVER).paths) == 1
    assert packs_of(table) == on_disk(table) and calls[0] == 4


def test_a_purge_deletes_packs(table: Table) -> None:
    purge(table.store, FOREVER)
    assert packs_of(table) == on_disk(table) and read(table) == {1: (b"new", None)}
    table.truncate(INFO)
    purge(table.store, FOREVER)
    assert on_disk(table) == set()


def test_a_search_that_never_ends(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(range(99))
    expired(table)
    before = on_disk(table)
    monkeypatch.setattr(packs, "_needed_packs", lambda _: {str(next(answers))})
    with pytest.raises(CommitConflictError, match="during each search"):
        remove_orphan_packs(table.store, FOREVER)
    assert on_disk(table) == before


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.integers(0, 3)),
        st.tuples(st.sampled_from(["compact", "expire", "tag", "untag", "clean"]), st.just(0)),
    ),
    min_size=4,
    max_size=14,
)


@settings(
    max_examples=examples(12),
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_rows_of_all_versions_stay_readable(
    tmp_path_factory: pytest.TempPathFactory, steps: Sequence[tuple[str, int]]
) -> None:
    table = new_table(tmp_path_factory.mktemp("t"), blob__target_file_size="30 b")
    model: dict[int, tuple[bytes | None, bytes | None]] = {}
    tags: dict[str, dict[int, tuple[bytes | None, bytes | None]]] = {}
    for number, (step, k) in enumerate(steps):
        if step == "write":
            model[k] = (os.urandom(12), None if number % 2 else b"w")
            write(table, {k: model[k]})
        elif step == "delete":
            model.pop(k, None)
            write(table, {k: (None, None)}, kind=3)
        elif step == "compact":
            compact(table)
        elif step == "expire" and table.latest_snapshot() is not None:
            expired(table)
        elif step == "tag" and table.latest_snapshot() is not None:
            create_tag(table.store, f"t{number}", table.latest_snapshot())
            tags[f"t{number}"] = dict(model)
        elif step == "untag" and tags:
            name = next(iter(tags))
            delete_tags(table.store, [name])
            del tags[name]
        elif step == "clean":
            remove_orphan_packs(table.store, FOREVER)
            remove_orphans(table.store, FOREVER)
        assert table.latest_snapshot() is None or read(table) == model
        for name, rows in tags.items():
            assert read(table, read_tag(table.store, name).snapshot) == rows
    for name in tags:
        delete_tags(table.store, [name])
    if table.latest_snapshot() is not None:
        compact(table)
        expired(table)
        removed(table)
        assert on_disk(table) == packs_of(table)
