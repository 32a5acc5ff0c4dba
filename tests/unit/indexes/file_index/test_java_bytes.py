"""Indexes that Java wrote: read, and made again of the same rows, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from paimon_core.indexes.file_index.container import decode_head, encode_container
from paimon_core.indexes.file_index.options import indexed_columns
from paimon_core.indexes.file_index.registry import BITMAP, decode_index
from paimon_core.options import TableOptions
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.indexes.file_indexes import FileIndex, read_file_index
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import read_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.indexes.file_index import FileIndexBuilder
from tests.support.golden import golden_table

TABLES = ("idx_bitmap", "idx_bsi", "idx_range_bitmap", "idx_mixed_dv_pk")


def files(name: str) -> Iterator[tuple[TableStore, DataFileMeta, FileIndex, pa.Table]]:
    """The data files of a table, with the store as it was then, the index and the rows."""
    table = golden_table(name)
    for entry in live_files(table.store, table.latest_snapshot()).values():
        schema = read_schema(table.store, entry.file.schema_id)
        store = replace(table.store, schema=schema, options=TableOptions(schema.options))
        folder = store.bucket_dir(entry.partition, entry.bucket)
        index = read_file_index(store, folder, entry.file, lambda location: True)
        assert index is not None
        rows = pa.Table.from_batches(list(BucketFiles(store, folder, schema.fields).read([entry.file])))
        yield store, entry.file, index, rows


@pytest.mark.parametrize("name", TABLES)
def test_bodies_are_those_of_java(name: str) -> None:
    for store, file, index, rows in files(name):
        builder = FileIndexBuilder(indexed_columns(store.options, store.schema))
        builder.add(rows)
        ours, theirs = builder.bodies(), {(p.column, p.index_type): body for p, body in index.bodies}
        assert {(c, t) for c, types in ours.items() for t in types} == theirs.keys()
        types = {f.name: f.type for f in store.schema.fields}
        for (column, index_type), body in theirs.items():
            made = ours[column][index_type]
            if index_type != BITMAP:  # whose bitmaps come in the order of a hash table
                assert made == body, (column, index_type)
                continue
            one, other = (decode_index("x", BITMAP, types[column], b, file.row_count) for b in (made, body))
            assert one is not None and other is not None and made is not None and body is not None
            assert len(made) == len(body)
            assert one.is_null() == other.is_null() and one.is_not_null() == other.is_not_null()
        # columns and types of index come in the order of a hash table, too
        nested: dict[str, dict[str, bytes | None]] = {}
        for location, body in index.bodies:
            nested.setdefault(location.column, {})[location.index_type] = body
        container = encode_container(nested)
        assert len(container) == index.size and decode_head("x", container) == index.locations
