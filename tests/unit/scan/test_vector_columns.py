"""Tables with VECTOR columns: their rows, and tables with vectors in files of an unknown format."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import InvalidDataError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare, Predicate
from paimon_core.scan.execution import ScanRequest, choose_execution
from paimon_core.scan.read import read_split
from paimon_core.spec.types import FLOAT, INT, STRING, Kind, VectorType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import T, compact, open_table
from tests.support.tables import fields

KEYED = {"primary-key": "k", "bucket": "1"}
OPTIONS = {
    "append": {},
    "deduplicate": KEYED,
    "first-row": {**KEYED, "merge-engine": "first-row"},
    "partial-update": {**KEYED, "merge-engine": "partial-update"},
    "last value": {**KEYED, "merge-engine": "aggregation", "fields.default-aggregate-function": "last_value"},
    "first value": {
        **KEYED,
        "merge-engine": "aggregation",
        "fields.default-aggregate-function": "first_non_null_value",
    },
    "lookup": {**KEYED, "changelog-producer": "lookup"},
    "evolved": {"row-tracking.enabled": "true", "data-evolution.enabled": "true"},
}


def create(warehouse: str, kind: str, **options: str) -> Table:
    columns = fields(v=VectorType(Kind.ARRAY, element=FLOAT, length=2), k=INT, name=STRING)
    given = OPTIONS[kind] | {k.replace("__", "."): v for k, v in options.items()}
    load_catalog({"warehouse": warehouse}).create_table(T, new_table_schema(columns, options=given))
    return open_table(warehouse)


def write(table: Table, k: list[int], v: list[object]) -> None:
    writer = open_writer(table.store, sequence_start=table.max_sequence_number() + 1)
    arrays = [pa.array(v, pa.list_(pa.float32())), pa.array(k, pa.int32()), pa.array(["x"] * len(k))]
    try:
        writer.write(pa.record_batch(arrays, names=["v", "k", "name"]))
        table.commit_or_abort(writer.finish(), CommitInfo(user="writer"))
    except InvalidDataError:
        writer.abort()
        raise


def read(table: Table, *columns: str, predicate: Predicate | None = None) -> list[tuple[object, ...]]:
    splits = table.plan(table.latest_snapshot(), predicate).splits
    batches = (b for s in splits for b in read_split(table.store, s, list(columns), predicate))
    return sorted((tuple(row.values()) for batch in batches for row in batch.to_pylist()), key=str)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro", "json"])
@pytest.mark.parametrize("kind", OPTIONS)
def test_rows_are_written_merged_and_compacted(tmp_path: Path, kind: str, file_format: str) -> None:
    table = create(str(tmp_path), kind, file__format=file_format)
    rows: dict[int, list[object]] = {1: [0.5, 1.5], 2: None, 3: [2.5, 3.5]}  # type: ignore[dict-item]
    write(table, [1, 2], [rows[1], [8.0, 9.0]])
    write(open_table(str(tmp_path)), [2, 3], [None, rows[3]])
    table = open_table(str(tmp_path))
    expected = {
        "append": [(1, rows[1]), (2, [8.0, 9.0]), (2, None), (3, rows[3])],
        "evolved": [(1, rows[1]), (2, [8.0, 9.0]), (2, None), (3, rows[3])],
        "deduplicate": [(1, rows[1]), (2, None), (3, rows[3])],
        "lookup": [(1, rows[1]), (2, None), (3, rows[3])],
        "last value": [(1, rows[1]), (2, None), (3, rows[3])],
    }.get(kind, [(1, rows[1]), (2, [8.0, 9.0]), (3, rows[3])])
    if kind == "first-row":  # its rows are seen once they are compacted
        compact(table)
        table = open_table(str(tmp_path))
    for _ in range(2):
        assert sorted(read(table, "k", "v"), key=str) == sorted(expected, key=str)
        assert (3, rows[3]) in read(table, "k", "v", predicate=Compare("k", "=", 3))
        compact(table)
        table = open_table(str(tmp_path))


@pytest.mark.parametrize("kind", ["append", "deduplicate"])
@pytest.mark.parametrize("value", [[1.0], [], [1.0, 2.0, 3.0], [1.0, None]], ids=str)
def test_invalid_vectors_are_refused(tmp_path: Path, kind: str, value: list[float]) -> None:
    table = create(str(tmp_path), kind)
    with pytest.raises(InvalidDataError, match=r"Column 'v' of type VECTOR<FLOAT, 2> cannot hold a vector (of|with)"):
        write(table, [1, 2], [[1.0, 2.0], value])
    assert table.latest_snapshot() is None


def test_a_table_of_vectors_alone_is_counted(tmp_path: Path) -> None:
    columns = fields(v=VectorType(Kind.ARRAY, element=FLOAT, length=1))
    load_catalog({"warehouse": str(tmp_path)}).create_table(T, new_table_schema(columns))
    table = open_table(str(tmp_path))
    writer = open_writer(table.store, sequence_start=0)
    writer.write(pa.record_batch([pa.array([[1.0], None], pa.list_(pa.float32()))], names=["v"]))
    table.commit_or_abort(writer.finish(), CommitInfo(user="writer"))
    table = open_table(str(tmp_path))
    assert read(table, "v") == [(None,), ([1.0],)]
    assert len(read(table, "__paimon_row_index")) == 2


@pytest.fixture
def foreign(tmp_path: Path) -> Table:
    """A table that another engine wrote with vectors in Vortex files."""
    write(create(str(tmp_path), "evolved"), [1, 2], [[0.5, 1.5], None])
    path = Path(open_table(str(tmp_path)).store.paths.schema(0))
    node = json.loads(path.read_text())
    node["options"]["vector.file.format"] = "vortex"
    path.write_text(json.dumps(node))
    return open_table(str(tmp_path))


def test_other_columns_beside_vectors_of_unknown_formats_are_read(foreign: Table) -> None:
    assert foreign.schema.fields[0].type == VectorType(Kind.ARRAY, element=FLOAT, length=2)
    assert read(foreign, "k", "name") == [(1, "x"), (2, "x")]
    assert (2,) in read(foreign, "k", predicate=Compare("k", "=", 2))
    message = r"Column 'v' of table default\.t cannot be read: 'vector.file.format' = 'vortex'.*columns \(k, name\)"
    with pytest.raises(UnsupportedFeatureError, match=message):
        read(foreign, "k", "v")
    plan = foreign.plan(foreign.latest_snapshot())
    with pytest.raises(UnsupportedFeatureError, match=message):
        choose_execution(foreign.store, plan, ScanRequest(("k", "v")))
    choose_execution(foreign.store, plan, ScanRequest(("k", "name")))
    with pytest.raises(UnsupportedFeatureError, match="cannot be written: 'vector.file.format' = 'vortex'"):
        foreign.check_writable()
