"""Metadata in the forms of paimon-cpp, as its source of January 2026 writes them.

Without the option `manifest.format` its manifests, their lists and index manifests are ORC, from ORC's C++ writer: in
several stripes, without field ids. Its JSON is in lines, with `null` for a list of changelogs if there is none, without
`uuid`, `writerVersion` and `operation`. Files without statistics name no columns of statistics either.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.expressions.predicate import Compare
from paimon_core.manifests.record_files import decode_file, encode_columns
from paimon_core.scan.read import read_split
from paimon_core.spec.index_manifest import ENTRY_VERSION as INDEX_VERSION
from paimon_core.spec.index_manifest import INDEX_MANIFEST_ENTRY
from paimon_core.spec.manifest import (
    ENTRY_VERSION,
    LIST_VERSION,
    MANIFEST_ENTRY,
    MANIFEST_FILE_META,
    DataFileMeta,
    ManifestEntry,
)
from paimon_core.spec.records import Record
from paimon_core.spec.stats import EMPTY_STATS, ColumnStats, encode_stats
from paimon_core.spec.types import INT
from tests.support.manifests import decode_manifest, decode_manifest_list
from tests.support.stored import compact, create_table, insert, open_table, read
from tests.unit.manifests.test_spellings import INDEXES, LISTS, MANIFESTS, SLOW

_OF_COMMITS = ("uuid", "writerVersion", "operation")  # members of snapshots that paimon-cpp does not write
_CODECS = ("uncompressed", "zlib", "snappy", "lz4", "zstd")
_KNOWN = [
    (MANIFEST_ENTRY, ENTRY_VERSION, MANIFESTS),
    (MANIFEST_FILE_META, LIST_VERSION, LISTS),
    (INDEX_MANIFEST_ENTRY, INDEX_VERSION, INDEXES),
]


@pytest.mark.parametrize(("record", "version", "values"), _KNOWN, ids=["manifests", "lists", "index manifests"])
@SLOW
@given(st.data())
def test_orc_of_any_setting_is_decoded(record: Record[Any], version: int, values: Any, data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(values))
    content = data.draw(_orc_files(record, version, chosen))
    assert tuple(decode_file(record, version, "manifest-1", content)) == tuple(chosen)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("statistics", [False, True])
def test_a_table_is_read_and_goes_on(tmp_path: Path, keyed: bool, statistics: bool) -> None:
    keys = {"primary_key": "k", "bucket": "1"} if keyed else {}
    table = create_table(str(tmp_path), **keys)
    insert(table, [(1, "a"), (2, "b")])
    insert(table, [(2, "B"), (3, "c")])
    rows = read(open_table(str(tmp_path)))
    _respell(tmp_path / "default.db" / "t", statistics=statistics)

    table = open_table(str(tmp_path))
    assert read(table) == rows
    for number in range(5):
        splits = table.plan(table.latest_snapshot(), Compare("k", "=", number)).splits
        found = [b for s in splits for b in read_split(table.store, s, ["k", "v"], Compare("k", "=", number))]
        matching = [tuple(r.values()) for b in found for r in b.filter(pc.field("k") == number).to_pylist()]
        assert sorted(matching) == [row for row in rows if row[0] == number]
    insert(table, [(4, "d")])
    compact(open_table(str(tmp_path)))
    assert read(open_table(str(tmp_path))) == sorted([*rows, (4, "d")])


@st.composite
def _orc_files(draw: st.DrawFn, record: Record[Any], version: int, values: Sequence[Any]) -> bytes:
    """An ORC file with drawn settings, whose columns have the units of paimon-cpp, or of ORC itself."""
    sizes = draw(st.lists(st.integers(1, 5), max_size=4))
    return _orc(
        record,
        version,
        values,
        sizes,
        unit=draw(st.sampled_from(("ms", "ns"))),
        compression=draw(st.sampled_from(_CODECS)),
        row_index_stride=draw(st.sampled_from((100, 10_000))),
        dictionary_key_size_threshold=draw(st.sampled_from((0.0, 0.8, 1.0))),
        file_version=draw(st.sampled_from(("0.11", "0.12"))),
    )


def _orc(
    record: Record[Any], version: int, values: Sequence[Any], sizes: Sequence[int] = (), unit: str = "ms", **given: Any
) -> bytes:
    """Rows as one batch after the other, of columns that have names and no more."""
    rows = pq.read_table(pa.BufferReader(encode_columns(record, version, values, "parquet", "none")))
    rows = rows.cast(pa.schema([_bare(f, unit) for f in rows.schema])).combine_chunks()
    sink, start = pa.BufferOutputStream(), 0
    with po.ORCWriter(sink, **given) as writer:
        for size in (*sizes, max(len(rows), 1)):
            writer.write(rows.slice(start, size))
            start += size
    return bytes(sink.getvalue())


def _bare(field: pa.Field, unit: str) -> pa.Field:
    """A column without field ids, at any depth."""
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_bare(f, unit) for f in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_bare(kind.value_field, unit))
    elif pa.types.is_timestamp(kind):
        kind = pa.timestamp(unit)
    return pa.field(field.name, kind, field.nullable)


def _respell(folder: Path, *, statistics: bool) -> None:
    """Write all metadata of a table anew, in the forms of paimon-cpp."""
    for path in folder.glob("schema/schema-*"):
        path.write_text(json.dumps(json.loads(path.read_bytes()), indent=4), encoding="utf-8")
    for path in folder.glob("snapshot/snapshot-*"):
        node = {k: v for k, v in json.loads(path.read_bytes()).items() if k not in _OF_COMMITS}
        node |= {"changelogManifestList": None, "logOffsets": {}, "changelogRecordCount": 0}
        path.write_text(json.dumps(node, indent=4), encoding="utf-8")
    for path in folder.glob("manifest/manifest-*"):
        data = path.read_bytes()
        if path.name.startswith("manifest-list-"):
            lists = list(decode_manifest_list(str(path), data))
            path.write_bytes(_orc(MANIFEST_FILE_META, LIST_VERSION, lists, compression="zstd"))
        else:
            entries = [e if statistics else _without_statistics(e) for e in decode_manifest(str(path), data)]
            path.write_bytes(_orc(MANIFEST_ENTRY, ENTRY_VERSION, entries, compression="zstd"))


def _without_statistics(entry: ManifestEntry) -> ManifestEntry:
    """A file of `metadata.stats-mode` = none: unknown bounds of keys, and no statistics of any column."""
    file: DataFileMeta = entry.file
    keys = encode_stats([INT], [ColumnStats(None, None, None)]) if file.key_stats != EMPTY_STATS else EMPTY_STATS
    return replace(entry, file=replace(file, key_stats=keys, value_stats=EMPTY_STATS, value_stats_cols=None))
