"""Small tables of ours, with files that the golden tables lack: every codec, format and index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.commit.draft import CommitInfo
from paimon_core.formats.registry import file_ending, write_format
from paimon_core.indexes.full_text import FULL_TEXT
from paimon_core.indexes.global_index.reader import MULTIVALUE
from paimon_core.io.local import LocalFileIO
from paimon_core.options import TableOptions
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.types import BIGINT, BYTES, INT, STRING, DataField, DataType, parse_type
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.partitions import PartitionFilter
from paimon_core.table import Table
from paimon_core.write.indexes.global_index import IndexBuild
from paimon_core.write.indexes.text_index import TextIndexBuild
from paimon_core.write.indexes.vector_index import VectorIndexBuild
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.executors import run_job
from tests.support.tables import fields

DATABASE = "default"
FLAT: dict[str, DataType] = {
    "k": INT,
    "v": STRING,
    "n": BIGINT,
    "d": parse_type("DOUBLE"),
    "m": parse_type("DECIMAL(20, 4)"),
    "t": parse_type("TIMESTAMP(3)"),
}
NESTED = FLAT | {
    "a": parse_type({"type": "ARRAY", "element": "INT"}),
    "p": parse_type({"type": "MAP", "key": "STRING", "value": "BIGINT"}),
    "r": parse_type({"type": "ROW", "fields": [{"id": 90, "name": "x", "type": "INT"}]}),
}
BLOBS: dict[str, DataType] = {  # columns that an option makes BLOB
    "k": INT,
    "b": BYTES,
    "ab": parse_type({"type": "ARRAY", "element": "BYTES"}),
    "mb": parse_type({"type": "MAP", "key": "STRING", "value": "BYTES"}),
}
SEARCHED: dict[str, DataType] = {
    "k": INT,
    "v": STRING,
    "e": parse_type({"type": "ARRAY", "element": "FLOAT"}),
    "a": parse_type({"type": "ARRAY", "element": "STRING"}),
}
_MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_ROWS = 60


@contextmanager
def repeatable() -> Iterator[None]:
    """Names, markers and times that files get at random are the same in each run."""
    chance = Random(17)
    with (
        mock.patch.object(os, "urandom", chance.randbytes),
        mock.patch("paimon_core.write.buckets.postponed.random", chance),
        mock.patch("paimon_core.clock.datetime", mock.Mock(now=lambda: _MOMENT)),
    ):
        yield


def new_table(warehouse: Path, name: str, columns: dict[str, DataType] = NESTED, **options: str) -> Table:
    """An empty table; `primary_key="k"` gives it keys."""
    spelled = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_table(Identifier(DATABASE, name), new_table_schema(fields(**columns), options=spelled))
    table = catalog.load_table(Identifier(DATABASE, name))
    assert isinstance(table, Table)
    return table


def value(field: DataField, key: int) -> Any:
    """A value of a column in the row of a key; some are NULL."""
    if field.name != "k" and key % 7 == 3:
        return None
    made: dict[str, Any] = {
        "v": f"value {key % 20}",
        "n": key * 1000 - 7,
        "d": key / 3,
        "m": Decimal(key) / 8,
        "t": datetime(2020, 1, 1 + key % 28),
        "a": [key, None, 3],
        "p": [("x", key), ("y", None)],
        "r": {"x": key},
        "b": f"blob {key}".encode(),
        "ab": [f"blob {key}".encode(), None, b""],
        "mb": [("x", f"blob {key}".encode()), ("y", None)],
    }
    return made.get(field.name, key)


def insert(table: Table, keys: Sequence[int]) -> None:
    """A row for each key, in one commit."""
    loose = pa.schema([pa.field(f.name, f.type) for f in arrow_schema(table.schema.fields)])
    columns = [pa.array([value(f, k) for k in keys], a.type) for f, a in zip(table.schema.fields, loose, strict=True)]
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    writer.write(pa.RecordBatch.from_arrays(columns, schema=loose))
    table.commit(writer.finish(), CommitInfo(user="u"))


def filled(warehouse: Path, name: str, columns: dict[str, DataType] = NESTED, **options: str) -> Path:
    """A table of a commit, and of one that changes rows where it has keys; its folder."""
    table = new_table(warehouse, name, columns, **options)
    insert(table, range(_ROWS))
    if table.store.has_primary_key:
        insert(table, range(_ROWS // 2, _ROWS + 10))
    return Path(table.store.root)


def text_table(warehouse: Path, name: str, codec: str) -> Path:
    """A folder with a text file as a table."""
    options = {"type": "format-table", "file.format": "text", "file.compression": codec}
    schema = new_table_schema(fields(v=STRING), options=options)
    catalog = load_catalog({"warehouse": str(warehouse)})
    catalog.create_table(Identifier(DATABASE, name), schema)
    root, options = warehouse / f"{DATABASE}.db" / name, TableOptions(options)
    writer = write_format(options).open_writer(LocalFileIO(), f"{root}/a{file_ending(options)}", schema.fields, options)
    writer.write(pa.table([[f"line {i}" for i in range(_ROWS)]], schema=arrow_schema(schema.fields)))
    writer.close()
    return root


def indexed(warehouse: Path, name: str, kind: str, **options: str) -> Path:
    """A table with global indexes of texts and numbers."""
    more = {"row_tracking__enabled": "true", "data_evolution__enabled": "true"}
    root = filled(warehouse, name, FLAT, **more, **options)
    table = load_catalog({"warehouse": str(warehouse)}).load_table(Identifier(DATABASE, name))
    for column in ("v", "n"):
        base = table.latest_snapshot()
        assert base is not None
        build = IndexBuild(table.store, table.schema.field_by_name[column], kind, base)
        table.commit(run_job(build.job(PartitionFilter(()))), CommitInfo(user="u"))
    return root


def searchable(warehouse: Path, name: str, kind: str) -> Path:
    """A table with an index that is searched: of vectors, texts, or elements."""
    more = {"row_tracking__enabled": "true", "data_evolution__enabled": "true", "ivf-pq__pq__m": "2"}
    table = new_table(warehouse, name, SEARCHED, **more, fields__e__dimension="4")
    numbers = np.random.default_rng(7).standard_normal((_ROWS, 4)).astype(np.float32)
    columns = {
        "k": pa.array(range(_ROWS), pa.int32()),
        "v": pa.array([f"word{k % 7} of row {k}" for k in range(_ROWS)]),
        "e": pa.array(numbers.tolist(), pa.list_(pa.float32())),
        "a": pa.array([[f"a{k % 5}", f"b{k}", None][: k % 4] for k in range(_ROWS)], pa.list_(pa.string())),
    }
    writer = open_writer(table.store, sequence_start=0)
    writer.write(pa.RecordBatch.from_pydict(columns))
    table.commit(writer.finish(), CommitInfo(user="u"))
    base = table.latest_snapshot()
    assert base is not None
    fields = table.schema.field_by_name
    build: TextIndexBuild | IndexBuild | VectorIndexBuild
    if kind == FULL_TEXT:
        build = TextIndexBuild(table.store, fields["v"], base)
    elif kind == MULTIVALUE:
        build = IndexBuild(table.store, fields["a"], kind, base)
    else:
        build = VectorIndexBuild(table.store, fields["e"], kind, base)
    table.commit(run_job(build.job(PartitionFilter(()))), CommitInfo(user="u"))
    return Path(table.store.root)
