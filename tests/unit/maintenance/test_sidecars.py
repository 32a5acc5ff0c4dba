"""Sidecars of manifests, which later writers add: commits keep them, and they go with their manifests."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest

from paimon_core.io.file_io import FileIO
from paimon_core.maintenance.orphans.search import remove_orphans
from paimon_core.spec.manifest import BARE_MANIFEST_FILE_META, LIST_VERSION, MANIFEST_FILE_META, ManifestFileMeta
from paimon_core.store.manifests import manifest_list_file, read_manifest_list
from paimon_core.store.record_files import read_records, record_bytes
from paimon_core.store.snapshots import read_snapshot
from paimon_core.store.table_store import TableStore
from tests.support.histories import FOREVER, History, expire


class Merging(History):
    """A table that merges its manifests in each commit."""

    def fresh(self, io: FileIO | None = None, branch: str = "main") -> TableStore:
        return super().fresh(io, branch).with_options({"manifest.full-compaction-threshold-size": "1 b"})


def with_sidecars(store: TableStore, snapshot_id: int, *more: str) -> list[str]:
    """Give the manifests of a snapshot's changes sidecars, as if another writer had made the snapshot. `more` are
    further extra files.
    """
    name = read_snapshot(store, snapshot_id).delta_manifest_list
    manifests = read_manifest_list(store, name)
    sidecars = [f"{m.file_name}.avro.sidecar" for m in manifests]
    listed = [replace(m, extra_files=(s, *more)) for m, s in zip(manifests, sidecars, strict=True)]
    path = Path(store.paths.manifest(name))
    path.write_bytes(record_bytes(store, MANIFEST_FILE_META, LIST_VERSION, listed))
    for each in (*sidecars, *more):
        Path(store.paths.manifest(each)).write_bytes(b"PMSC")
    return sidecars


def on_disk(store: TableStore) -> set[str]:
    return {f.name for f in store.io.list(store.paths.manifest_dir)}


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path, random.Random(0))
    history.write()
    return history


def test_lists_keep_sidecars_and_are_as_before_without_them(history: History) -> None:
    first = with_sidecars(history.fresh(), 1, "manifest-x.other")
    history.write()
    store = history.fresh()
    made = read_snapshot(store, 2)
    (base,) = read_manifest_list(store, made.base_manifest_list)
    assert base.extra_files == (*first, "manifest-x.other") and base.sidecar == first[0]
    columns = []
    for name in (made.base_manifest_list, made.delta_manifest_list):
        with open(store.paths.manifest(name), "rb") as file:
            columns.append([f["name"] for f in fastavro.reader(file).writer_schema["fields"]])
    assert columns[0] == [*columns[1], "_EXTRA_FILES"] and "_EXTRA_FILES" not in columns[1]


@pytest.mark.parametrize("format_name", ["avro", "parquet", "orc"])
def test_lists_of_every_format(history: History, format_name: str) -> None:
    store = history.fresh().with_options({"manifest.format": format_name})
    (known,) = read_manifest_list(store, read_snapshot(store, 1).delta_manifest_list)
    listed: list[ManifestFileMeta] = [known, replace(known, extra_files=("a", "b"))]
    path = store.paths.manifest("manifest-list-x")
    for manifests in (listed, listed[:1]):
        Path(path).write_bytes(manifest_list_file(store, manifests).data)
        assert list(read_records(store, MANIFEST_FILE_META, LIST_VERSION, path)) == manifests
    bare = record_bytes(store, BARE_MANIFEST_FILE_META, LIST_VERSION, listed[:1])
    assert len(bare) == Path(path).stat().st_size


def test_an_expiry_deletes_sidecars_with_their_manifests_only(tmp_path: Path) -> None:
    history = Merging(tmp_path, random.Random(0))
    history.write()
    store = history.fresh()
    first = with_sidecars(store, 1, "notes", "manifest-y.avro.sidecar")
    history.write()
    history.write()
    second = with_sidecars(history.fresh(), 3)
    expire(history.fresh(), 1)
    left = on_disk(store)
    assert {"notes", "manifest-y.avro.sidecar", *second} <= left
    assert not {*first, first[0].removesuffix(".avro.sidecar")} & left
    history.check()


def test_a_sidecar_stays_with_a_manifest_that_a_newer_list_names_without_it(history: History) -> None:
    store = history.fresh()
    first = with_sidecars(store, 1)
    history.write()
    store = history.fresh()
    path = Path(store.paths.manifest(read_snapshot(store, 2).base_manifest_list))
    listed = read_manifest_list(store, path.name)
    path.write_bytes(record_bytes(store, BARE_MANIFEST_FILE_META, LIST_VERSION, listed))
    expire(history.fresh(), 1)
    assert {*first, first[0].removesuffix(".avro.sidecar")} <= on_disk(store)
    assert remove_orphans(history.fresh(), FOREVER).paths == ()
    assert {*first} <= on_disk(store)
    history.check()
