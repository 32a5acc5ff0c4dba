"""Metadata in any legal Avro spelling: both decoders give the same values."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.formats.avro.field_offsets import UnusualError
from paimon_core.formats.avro.records import write_records
from paimon_core.manifests.entries import EntryColumns
from paimon_core.manifests.record_files import decode_file
from paimon_core.manifests.vectorized import find_entries
from paimon_core.spec.index_manifest import ENTRY_VERSION as INDEX_VERSION
from paimon_core.spec.index_manifest import INDEX_MANIFEST_ENTRY
from paimon_core.spec.manifest import ENTRY_VERSION, LIST_VERSION, MANIFEST_ENTRY, MANIFEST_FILE_META
from paimon_core.spec.records import Record
from tests.support.examples import examples
from tests.support.golden_files import manifest_lists, manifests, metadata_files
from tests.support.manifests import decode_index_manifest
from tests.support.spellings import spelled

PATH = "db.db/t/manifest/manifest-1"
MANIFESTS = sorted((m for m in manifests().values() if 0 < len(m) < 20), key=len)[-40:]
LISTS = [m for m in manifest_lists().values() if m][:40]
INDEXES = [
    tuple(decode_index_manifest(str(f), f.read_bytes())) for f in metadata_files("*/manifest/index-manifest-*")[:40]
]
LATER_COLUMNS = ("_FILE_SOURCE", "_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS")
NO_LATER = {name.lower()[1:]: None for name in LATER_COLUMNS}
LONGS = {"type": "array", "items": "long"}
SLOW = settings(deadline=timedelta(seconds=30), max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])


def by_columns(data: bytes) -> Any:
    try:
        found = find_entries(PATH, data)
    except UnusualError:
        return None
    columns = EntryColumns(found, len(found))
    return tuple(columns.entries(np.arange(len(columns))))


@pytest.mark.parametrize("steady", [True, False])
@SLOW
@given(st.data())
def test_manifests(steady: bool, data: st.DataObject) -> None:
    """A steady spelling has the columns that entries begin with first, and no column of several types."""
    entries = data.draw(st.sampled_from(MANIFESTS))
    content = data.draw(spelled(MANIFEST_ENTRY, ENTRY_VERSION, entries, steady=steady))
    assert tuple(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, PATH, content)) == entries
    assert by_columns(content) in ((entries,) if steady else (entries, None))


@pytest.mark.parametrize(
    ("record", "version", "values"),
    [(MANIFEST_FILE_META, LIST_VERSION, LISTS), (INDEX_MANIFEST_ENTRY, INDEX_VERSION, INDEXES)],
    ids=["lists", "index manifests"],
)
@SLOW
@given(st.data())
def test_other_metadata(record: Record[Any], version: int, values: Any, data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(values))
    content = data.draw(spelled(record, version, chosen, steady=False))
    assert tuple(decode_file(record, version, PATH, content)) == tuple(chosen)


def optional(avro: Any, *names: str) -> None:
    """Let columns of a record be NULL."""
    for column in avro["fields"]:
        if column["name"] in names:
            column |= {"type": ["null", column["type"]], "default": None}


@pytest.mark.parametrize("writer", ["pypaimon-rust 0.4", "Java 0.8"])
@pytest.mark.parametrize("codec", ["zstandard", "snappy"])
def test_unions_of_other_writers_are_decoded_by_columns(writer: str, codec: str) -> None:
    """Every plan of their tables would take the slow way else."""
    schema = MANIFEST_ENTRY.avro()
    schema["fields"] = [{"name": "_VERSION", "type": "int"}, *schema["fields"]]
    file = schema["fields"][-1]["type"]
    optional(file, "_KEY_STATS", "_VALUE_STATS")
    if writer == "Java 0.8":
        optional(schema, "_FILE")
        file["fields"] = [f for f in file["fields"] if f["name"] not in LATER_COLUMNS]
    else:
        file["fields"].append({"name": "_WRITE_COLS_SEQUENCES", "type": ["null", LONGS], "default": None})
    for entries in MANIFESTS:
        known = [replace(e, file=replace(e.file, **NO_LATER)) if writer == "Java 0.8" else e for e in entries]
        rows = [{"_VERSION": 2, **MANIFEST_ENTRY.to_avro(e)} for e in known]
        data = write_records(["null", schema], rows, codec)
        assert by_columns(data) == tuple(decode_file(MANIFEST_ENTRY, ENTRY_VERSION, PATH, data)) == tuple(known)
