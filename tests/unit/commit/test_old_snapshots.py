"""Snapshots of tables that Paimon 0.4 to 0.7 created: these versions refuse members that they do not know."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from paimon_core.errors import CommitUnknownError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.snapshot import Operation, Snapshot, decode_snapshot, encode_snapshot
from paimon_core.store.snapshots import latest_snapshot
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.tables import data_file, info, message, new_store, of_version

# of Paimon 0.6; its other members are of features that these commits do not use
_KNOWN = {
    *("version", "id", "schemaId", "baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest"),
    *("commitUser", "commitIdentifier", "commitKind", "timeMillis", "logOffsets", "totalRecordCount"),
    *("deltaRecordCount", "changelogRecordCount", "watermark"),
}


class Unanswered(LocalFileIO):
    """A disk that makes a snapshot visible, and then fails to answer."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        made = LocalFileIO.create_exclusive(self, path, data)
        if "/snapshot/" in path:
            raise CommitUnknownError("The disk does not answer.")
        return made


def _store(tmp_path: Path, version: int) -> TableStore:
    return of_version(new_store(tmp_path), version)


def _commit(store: TableStore, number: int) -> Snapshot:
    author = replace(info(), operation=Operation.WRITE)
    made = Table(store).commit([message(store, data_file(store, number, number))], author)
    assert made is not None and made == latest_snapshot(replace(store, cache=type(store.cache)()))
    return made


def _members(store: TableStore, number: int) -> set[str]:
    return set(json.loads(Path(store.paths.snapshot(number)).read_text(encoding="utf-8")))


@pytest.mark.parametrize(("version", "is_old"), [(1, True), (2, False), (3, False)])
def test_the_version_that_created_a_table_knows_every_member_of_its_snapshots(
    tmp_path: Path, version: int, is_old: bool
) -> None:
    store = _store(tmp_path, version)
    for number in (1, 2):
        assert _commit(store, number).has_new_members is not is_old
        assert (_members(store, number) <= _KNOWN) is is_old


def test_a_table_that_a_later_version_has_written_to_goes_on_in_the_form_of_that_version(tmp_path: Path) -> None:
    store = _store(tmp_path, 1)
    _commit(store, 1)
    path = Path(store.paths.snapshot(1))
    later = replace(decode_snapshot(str(path), path.read_bytes()), uuid="of Java 2")
    path.write_bytes(encode_snapshot(later))
    _commit(replace(store, cache=type(store.cache)()), 2)
    assert {"uuid", "writerVersion", "operation"} <= _members(store, 2)


def test_an_old_snapshot_of_unknown_outcome_is_recognized_without_uuid(tmp_path: Path) -> None:
    store = _store(tmp_path, 1)
    made = _commit(replace(store, io=Unanswered()), 1)
    assert made.uuid is None and made.id == 1 and latest_snapshot(store) == made


def test_two_snapshots_without_uuid_are_the_same_only_with_the_same_manifest_list(tmp_path: Path) -> None:
    made = _commit(_store(tmp_path, 1), 1)
    assert made.is_same(replace(made, time_millis=0))
    assert not made.is_same(replace(made, delta_manifest_list="manifest-list-of-another"))
    assert not made.is_same(replace(made, uuid="another"))
