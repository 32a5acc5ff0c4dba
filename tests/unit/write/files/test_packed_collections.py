"""Arrays and maps of BLOBs in tables with a primary key: each element and value is in a pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_type
from paimon_core.errors import InvalidOptionError, InvalidSchemaError
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.schema import decode_schema, encode_schema
from paimon_core.spec.types import BYTES, DOUBLE, INT, STRING, CollectionType, DataType, Kind, MapType
from paimon_core.store.blob import values
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.ddl.schema_changes import RenameColumn, apply_changes
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.examples import examples
from tests.support.packed import INFO, on_disk, packs_of
from tests.support.stored import compact
from tests.support.tables import fields

BLOB = DataType(Kind.BLOB)
ARRAY, MAP = CollectionType(Kind.ARRAY, element=BYTES), MapType(key=STRING, value=BYTES)
Row = tuple[list[bytes | None] | None, list[tuple[str, bytes | None]] | None]


def new_table(root: Path, *, nullable: bool = True, **options: str) -> Table:
    given = {"bucket": "1", "blob-field": "a,m", "write-only": "true"} | options
    columns = fields(k=INT, a=ARRAY.with_nullable(nullable), m=MAP.with_nullable(nullable))
    schema = new_table_schema(columns, primary_keys=("k",), options=given)
    path = f"{root}/db.db/t"
    assert create_schema(LocalFileIO(), path, schema)
    assert decode_schema("s", encode_schema(schema)) == schema
    return Table(TableStore.of(LocalFileIO(), path, schema))


def write(table: Table, rows: Mapping[int, Row], kind: int = 0) -> None:
    a, m = (pa.array([r[i] for r in rows.values()], arrow_type(t)) for i, t in enumerate((ARRAY, MAP)))
    columns = [pa.array(list(rows), pa.int32()), a, m, pa.array([kind] * len(rows), pa.int8())]
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    batch = pa.record_batch(columns, names=["k", "a", "m", "_VALUE_KIND"])
    writer.write(pa.concat_batches([batch, batch]).slice(len(rows)))
    table.commit_or_abort(writer.finish(), INFO)


def read(table: Table) -> dict[int, Any]:
    splits = table.plan(table.latest_snapshot()).splits
    batches = (b for s in splits for b in read_split(table.store, s, ["k", "a", "m"]))
    return {row["k"]: (row["a"], row["m"]) for batch in batches for row in batch.to_pylist()}


VALUE = st.one_of(st.none(), st.binary(max_size=30))
ROW = st.tuples(
    st.one_of(st.none(), st.lists(VALUE, max_size=4)),
    st.one_of(st.none(), st.dictionaries(st.text("ab", max_size=2), VALUE, max_size=3).map(lambda d: list(d.items()))),
)
ROWS = st.dictionaries(st.integers(0, 9), ROW, min_size=1, max_size=5)


@settings(
    max_examples=examples(15),
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["write", "write", "delete", "compact"]), ROWS), min_size=1, max_size=5),
    file_format=st.sampled_from(["parquet", "orc", "avro"]),
    most_bytes=st.sampled_from([1, 2**20]),
)
def test_rows_change_as_in_a_model(
    tmp_path_factory: pytest.TempPathFactory,
    steps: Sequence[tuple[str, Mapping[int, Row]]],
    file_format: str,
    most_bytes: int,
) -> None:
    table = new_table(tmp_path_factory.mktemp("t"), **{"blob.target-file-size": "50 b", "file.format": file_format})
    model: dict[int, Row] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "MOST_BYTES", most_bytes)
        for step, rows in steps:
            before = on_disk(table)
            if step == "compact":
                compact(table)
            elif step == "delete":
                write(table, rows, kind=3)
                model = {k: row for k, row in model.items() if k not in rows}
            else:
                write(table, rows)
                model |= rows
            assert step == "write" or on_disk(table) == before
            assert packs_of(table) <= on_disk(table)
        compact(table)
        assert read(table) == model


def test_columns_that_cannot_be_null(tmp_path: Path) -> None:
    table = new_table(tmp_path, nullable=False)
    write(table, {1: ([b"a", None], [("x", b"y")]), 2: ([], [])})
    write(table, {1: ([b"a", None], [("x", b"y")])}, kind=3)
    assert read(table) == {2: ([], [])}


def test_definitions() -> None:
    keyed = {"bucket": "1", "primary-key": "k", "blob-field": "a"}
    schema = new_table_schema(fields(k=INT, a=ARRAY), options=keyed)
    assert schema.fields[1].type == CollectionType(Kind.ARRAY, element=BLOB)
    with pytest.raises(InvalidSchemaError, match="Cannot rename BLOB column"):
        apply_changes(schema, [RenameColumn(("a",), "b")], 0)
    with pytest.raises(InvalidOptionError, match="'a' in 'blob-descriptor-field' must be a BLOB field"):
        new_table_schema(fields(k=INT, a=ARRAY), options=keyed | {"blob-field": "", "blob-descriptor-field": "a"})
    with pytest.raises(InvalidSchemaError, match="cannot have keys of this type"):
        new_table_schema(fields(k=INT, a=MapType(key=DOUBLE, value=BYTES)), options=keyed)
    nested = CollectionType(Kind.ARRAY, element=ARRAY)
    with pytest.raises(InvalidSchemaError, match="must be binary"):
        new_table_schema(fields(k=INT, a=nested), options=keyed)
