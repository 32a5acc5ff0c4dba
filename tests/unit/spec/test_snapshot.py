from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, UnfamiliarFormError, UnsupportedVersionError
from paimon_core.spec.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    CommitKind,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
)
from tests.support.golden_files import metadata_files, table_of

PATH = "db.db/t/snapshot/snapshot-5"
REQUIRED: dict[str, Any] = {
    "id": 5,
    "schemaId": 2,
    "baseManifestList": "manifest-list-b",
    "deltaManifestList": "manifest-list-d",
    "commitUser": "somebody",
    "commitIdentifier": BATCH_COMMIT_IDENTIFIER,
    "commitKind": "COMPACT",
    "timeMillis": 1_700_000_000_000,
}
OPTIONAL: dict[str, Any] = {
    "version": 3,
    "uuid": "u",
    "baseManifestListSize": 10,
    "deltaManifestListSize": 11,
    "changelogManifestList": "manifest-list-c",
    "changelogManifestListSize": 12,
    "indexManifest": "index-manifest-i",
    "writerVersion": "1.2",
    "totalRecordCount": 20,
    "deltaRecordCount": -3,
    "changelogRecordCount": 4,
    "watermark": -(2**63),
    "statistics": "stat-s",
    "properties": {"a": "b"},
    "nextRowId": 30,
    "operation": "WRITE",
}


def decode(node: Any) -> Snapshot:
    return decode_snapshot(PATH, json.dumps(node).encode())


def test_every_member_both_ways() -> None:
    snapshot = decode(REQUIRED | OPTIONAL)
    assert snapshot == Snapshot(
        id=5,
        schema_id=2,
        base_manifest_list="manifest-list-b",
        delta_manifest_list="manifest-list-d",
        commit_user="somebody",
        commit_identifier=2**63 - 1,
        commit_kind=CommitKind.COMPACT,
        time_millis=1_700_000_000_000,
        total_record_count=20,
        delta_record_count=-3,
        version=3,
        uuid="u",
        base_manifest_list_size=10,
        delta_manifest_list_size=11,
        changelog_manifest_list="manifest-list-c",
        changelog_manifest_list_size=12,
        index_manifest="index-manifest-i",
        writer_version="1.2",
        changelog_record_count=4,
        watermark=-(2**63),
        statistics="stat-s",
        properties={"a": "b"},
        next_row_id=30,
        operation="WRITE",
    )
    assert json.loads(encode_snapshot(snapshot)) == REQUIRED | OPTIONAL


@given(st.sets(st.sampled_from(sorted(OPTIONAL))))
def test_what_is_missing_stays_missing(missing: set[str]) -> None:
    node = REQUIRED | {k: v for k, v in OPTIONAL.items() if k not in missing}
    defaults = {"version": 1, "totalRecordCount": 0, "deltaRecordCount": 0}
    assert json.loads(encode_snapshot(decode(node))) == defaults | node
    assert decode(node | dict.fromkeys(missing)) == decode(node)


@pytest.mark.parametrize("path", metadata_files("*/snapshot/snapshot-*"), ids=lambda p: f"{table_of(p)}/{p.name}")
def test_golden_snapshots_both_ways(path: Path) -> None:
    data = path.read_bytes()
    snapshot = decode_snapshot(str(path), data)
    assert json.loads(encode_snapshot(snapshot)) == json.loads(data)
    assert path.name == f"snapshot-{snapshot.id}"


def test_members_keep_the_order_of_the_file() -> None:
    path = metadata_files("part_special/snapshot/snapshot-1")[0]
    data = path.read_bytes()
    assert list(json.loads(encode_snapshot(decode_snapshot(str(path), data)))) == list(json.loads(data))


@pytest.mark.parametrize("version", [None, 1, 2])
def test_old_versions_lack_record_counts(version: int | None) -> None:
    snapshot = decode(REQUIRED | {"version": version})
    assert snapshot.version == (version or 1)
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (0, 0)
    assert (snapshot.uuid, snapshot.watermark, snapshot.properties) == (None, None, None)


def test_members_of_later_versions_are_passed_over() -> None:
    assert decode(REQUIRED | {"somethingNew": [1]}) == decode(REQUIRED)


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersionError, match=f"{PATH}.*version 4.*up to 3.*; upgrade paimon-sql"):
        decode(REQUIRED | {"version": 4})


@pytest.mark.parametrize("key", sorted(REQUIRED))
def test_a_missing_member_is_named_or_has_a_default(key: str) -> None:
    defaults = {"schemaId": 0, "commitUser": "", "commitIdentifier": 0, "commitKind": None, "timeMillis": 0}
    for node in ({k: v for k, v in REQUIRED.items() if k != key}, REQUIRED | {key: None}):
        if key in defaults:
            assert json.loads(encode_snapshot(decode(node))).get(key) == defaults[key]
        else:
            with pytest.raises(UnfamiliarFormError, match=f"{PATH} .*as a snapshot, it has no '{key}'"):
                decode(node)


@pytest.mark.parametrize("key", sorted(REQUIRED | OPTIONAL))
def test_members_that_are_arrays_are_refused(key: str) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} .*as a snapshot, '{key}' is") as refused:
        decode(REQUIRED | {"writerVersion": "2.1.0"} | {key: [5]})
    if key not in ("commitUser", "writerVersion"):
        assert "(written by writerVersion '2.1.0', commit user 'somebody')" in str(refused.value)


def test_an_unknown_kind_is_refused() -> None:
    assert [decode(REQUIRED | {"commitKind": k.value}).commit_kind for k in CommitKind] == list(CommitKind)
    with pytest.raises(UnfamiliarFormError, match="'commitKind' is 'append', not one of APPEND, COMPACT"):
        decode(REQUIRED | {"commitKind": "append"})


@pytest.mark.parametrize("node", [None, 1, "x", [REQUIRED]])
def test_a_snapshot_is_an_object(node: Any) -> None:
    with pytest.raises(UnfamiliarFormError, match=f"{PATH} .*a JSON object is expected"):
        decode(node)


@pytest.mark.parametrize("data", [b"", b'{"id": 5', b"\x00", b"\xc3\x28", b"{" * 10, b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match=f"{PATH} is corrupt"):
        decode_snapshot(PATH, data)


def test_half_a_file_is_corrupt() -> None:
    data = encode_snapshot(decode(REQUIRED | OPTIONAL))
    for size in range(len(data)):
        with pytest.raises(CorruptFileError, match=PATH):
            decode_snapshot(PATH, data[:size])


def test_errors_stay_short() -> None:
    with pytest.raises(UnfamiliarFormError) as caught:
        decode(REQUIRED | {"id": "x" * 10**6})
    assert len(str(caught.value)) < 500
