"""Damaged manifests in every format, decoded by columns: the entries as one by one, or an error of ours, and soon."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import UnreadableFileError, UnsupportedFeatureError, UnsupportedVersionError
from paimon_core.manifests.entries import decode_entries, live_rows
from paimon_core.manifests.record_files import decode_columns, encode_avro, encode_columns
from paimon_core.spec.index_manifest import ENTRY_VERSION as INDEX_VERSION
from paimon_core.spec.index_manifest import INDEX_MANIFEST_ENTRY
from paimon_core.spec.manifest import ENTRY_VERSION, LIST_VERSION, MANIFEST_ENTRY, MANIFEST_FILE_META, ManifestEntry
from paimon_core.spec.records import Record
from tests.support.damage import damaged
from tests.support.examples import examples
from tests.support.golden_files import manifest_lists, manifests, metadata_files
from tests.support.manifests import decode_index_manifest, decode_manifest, encode_manifest

PATH = "db.db/t/manifest/fuzzed"
SMALL = sorted((m for m in manifests().values() if 0 < len(m) < 20), key=len)[-20:]
LISTS = list(manifest_lists().values())[:20]


def index_entries(file: Path) -> list[Any]:
    return list(decode_index_manifest(str(file), file.read_bytes()))


def entries_of(data: bytes) -> list[ManifestEntry]:
    columns = decode_entries(PATH, data)
    assert len(columns.partition_codes) == len(columns.names) == len(columns.identities) == len(columns)
    live_rows([columns])
    columns.lists("_VALUE_STATS_COLS"), columns.null_counts(), columns.bounds("_VALUE_STATS"), columns.key_bounds()
    return columns.entries(np.arange(len(columns)))


def outcome(decode: Callable[[], Any]) -> Any:
    """What decodes, or None where it is refused by name."""
    try:
        return decode()
    except (UnreadableFileError, UnsupportedFeatureError) as e:
        assert PATH in str(e)
        return None


@pytest.mark.parametrize("codec", ["null", "deflate", "zstd"])
@settings(deadline=timedelta(seconds=30), max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_manifests_by_columns(codec: str, data: st.DataObject) -> None:
    content = data.draw(damaged(st.sampled_from(SMALL).map(lambda entries: encode_manifest(entries, codec))))
    by_columns, one_by_one = outcome(lambda: entries_of(content)), outcome(lambda: list(decode_manifest(PATH, content)))
    assert by_columns == one_by_one


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("kind", ["manifest", "manifest list", "index manifest"])
@settings(deadline=timedelta(seconds=30), max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_files_of_columns(kind: str, file_format: str, data: st.DataObject) -> None:
    records: dict[str, tuple[Record[Any], int, list[Any]]] = {
        "manifest": (MANIFEST_ENTRY, ENTRY_VERSION, SMALL),
        "manifest list": (MANIFEST_FILE_META, LIST_VERSION, LISTS),
        "index manifest": (
            INDEX_MANIFEST_ENTRY,
            INDEX_VERSION,
            [index_entries(f) for f in metadata_files("*/manifest/index-manifest-*")[:5]],
        ),
    }
    record, version, values = records[kind]
    original = st.sampled_from(values).map(lambda v: encode_columns(record, version, v, file_format, "none"))
    content = data.draw(damaged(original))
    if content.startswith((b"PAR1", b"ORC")):
        outcome(lambda: list(decode_columns(record, version, PATH, content)))


def test_records_of_a_newer_version_are_refused() -> None:
    content = encode_avro(MANIFEST_ENTRY, ENTRY_VERSION + 1, SMALL[0], "null")
    with pytest.raises(UnsupportedVersionError, match=f"{PATH}.*version {ENTRY_VERSION + 1}.*upgrade"):
        entries_of(content)
