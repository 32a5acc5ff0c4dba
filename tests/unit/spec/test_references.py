"""The files of tags, consumers and statistics: as Java wrote them, both ways, and damaged."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import CorruptFileError, UnfamiliarFormError
from paimon_core.spec.snapshot import encode_snapshot
from paimon_core.spec.statistics import (
    TableStatistics,
    decode_statistics,
    encode_statistics,
)
from paimon_core.spec.tag import decode_tag, encode_tag
from paimon_core.store.consumers import decode_consumer, encode_consumer
from tests.support.golden import GOLDEN

TABLES = GOLDEN / "warehouse" / "golden.db"


def content(*parts: str) -> bytes:
    (path,) = TABLES.glob("/".join(parts))
    return path.read_bytes()


def test_a_tag_with_a_life_is_written_as_java_does() -> None:
    data = content("tags", "tag", "tag-kept")
    tag = decode_tag("x", data, "kept")
    assert tag.created == datetime(2026, 11, 21, 11, 1, 36, 189960)
    assert tag.retained == timedelta(days=36_500)
    java, ours = json.loads(data), json.loads(encode_tag(tag))
    java["tagCreateTime"][-1] = java["tagCreateTime"][-1] // 1000 * 1000
    assert ours == java


def test_a_tag_without_a_life_is_its_snapshot() -> None:
    data = content("tags", "tag", "tag-first")
    tag = decode_tag("x", data, "first")
    assert (tag.created, tag.retained) == (None, None)
    assert json.loads(encode_tag(tag)) == json.loads(encode_snapshot(tag.snapshot)) == json.loads(data)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tagCreateTime", [2024]),
        ("tagCreateTime", "now"),
        ("tagCreateTime", [2024, 13, 1, 0, 0]),
        ("tagTimeRetained", "x"),
    ],
)
def test_times_of_a_tag_that_java_does_not_read_are_refused(key: str, value: Any) -> None:
    node = json.loads(content("tags", "tag", "tag-kept")) | {key: value}
    with pytest.raises(UnfamiliarFormError, match=f"/t/tag-x .*as a tag, '{key}' is"):
        decode_tag("/t/tag-x", json.dumps(node).encode(), "x")


def test_consumers() -> None:
    assert decode_consumer("x", content("consumers", "consumer", "consumer-c2")) == 3
    assert decode_consumer("x", encode_consumer(7)) == 7
    assert decode_consumer("x", b"{}") == 0  # as in Java: nothing is read yet
    for text in (b'{"nextSnapshot": "x"}', b'{"nextSnapshot": true}', b"[]"):
        with pytest.raises(UnfamiliarFormError, match="/c/consumer-x"):
            decode_consumer("/c/consumer-x", text)
    with pytest.raises(CorruptFileError, match="/c/consumer-x is corrupt"):
        decode_consumer("/c/consumer-x", b"")


def test_statistics_both_ways() -> None:
    for path in sorted(Path(TABLES, "statistics", "statistics").iterdir()):
        known = decode_statistics("x", path.read_bytes())
        assert json.loads(encode_statistics(known)) == json.loads(path.read_bytes())
    empty = TableStatistics(snapshot_id=1, schema_id=0)
    assert decode_statistics("x", encode_statistics(empty)) == empty
    assert replace(empty, merged_record_count=2) != empty


@pytest.mark.parametrize("change", [{"snapshotId": "x"}, {"schemaId": []}, {"colStats": {"a": 1}}, {"colStats": []}])
def test_statistics_of_another_form_are_refused(change: dict[str, Any]) -> None:
    node = {"snapshotId": 1, "schemaId": 0, "colStats": {}} | change
    with pytest.raises(UnfamiliarFormError, match="/s/stat-1 .*as statistics, '.*run ANALYZE TABLE again"):
        decode_statistics("/s/stat-1", json.dumps(node).encode())
    with pytest.raises(CorruptFileError, match="/s/stat-1 is corrupt.*run ANALYZE TABLE again"):
        decode_statistics("/s/stat-1", json.dumps(node).encode()[:-1])
