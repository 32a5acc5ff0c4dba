"""VECTOR columns in files of their own: written, updated, compacted and read as in a model, beside BLOBs, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CommitConflictError, InvalidDataError, UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.expressions.predicate import IsNotNull, IsNull
from paimon_core.indexes.global_index.grouped_rows import RowIds, encode_row_ids
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.row_ranges import is_part
from paimon_core.spec.types import BYTES, DOUBLE, FLOAT, INT, Kind, VectorType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.evolving import EVOLVES, EvolvingRows, commit, live, read
from tests.support.examples import examples
from tests.support.stored import compact
from tests.support.tables import fields

Row = tuple[int, list[float] | None, list[float] | None, bytes | None]
ROWS = EvolvingRows({"k": pa.int32(), "v": pa.list_(pa.float32()), "w": pa.list_(pa.float64()), "b": pa.binary()})
COLUMNS = tuple(ROWS.types)


def new_table(root: Path, **options: str) -> Table:
    """k INT, the vectors v and w, and the BLOB b."""
    spelled = EVOLVES | {"blob-field": "b", "vector.file.format": "parquet"}
    spelled |= {k.replace("__", ".").replace("_", "-"): o for k, o in options.items()}
    v, w = (VectorType(Kind.ARRAY, element=element, length=2) for element in (FLOAT, DOUBLE))
    path, schema = f"{root}/db.db/t", new_table_schema(fields(k=INT, v=v, w=w, b=BYTES), options=spelled)
    assert create_schema(LocalFileIO(), path, schema)
    return Table(TableStore.of(LocalFileIO(), path, schema))


def by_id(table: Table, *ids: int) -> list[Any]:
    """The vectors of rows."""
    chosen = encode_row_ids(RowIds(ids))
    splits = (replace(s, row_ids=chosen) for s in table.plan(table.latest_snapshot()).splits)
    return [v for s in splits for b in read_split(table.store, s, ["v"]) for v in b.column(0).to_pylist()]


def shape(files: Sequence[DataFileMeta]) -> list[tuple[Any, ...]]:
    endings = [".".join(f.file_name.split(".")[1:]) for f in files]
    return [
        (f.first_row_id, f.row_count, f.write_cols, f.max_sequence_number, e)
        for f, e in zip(files, endings, strict=True)
    ]


NUMBER = st.sampled_from([0.0, 1.5, -2.0])
VECTOR = st.one_of(st.none(), st.tuples(NUMBER, NUMBER).map(list))
VALUE = st.one_of(st.none(), st.binary(max_size=5))


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(),
    vectors=st.sampled_from(["parquet", "orc", "avro"]),
    size=st.sampled_from(["1 b", "1 mb"]),
    most_rows=st.sampled_from(["2", "3", "1000"]),
)
def test_rows_change_as_in_a_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, vectors: str, size: str, most_rows: str
) -> None:
    root = tmp_path_factory.mktemp("wh")
    table = new_table(root, vector__file__format=vectors, vector__target_file_size=size, target_file_row_num=most_rows)
    model: dict[int, Row] = {}
    for step in range(data.draw(st.integers(2, 6))):
        kind = data.draw(st.sampled_from(["insert", "update", "update", "compact"]))
        if kind == "compact":
            compact(table)
        elif kind == "insert" or not model:
            new = [[(step, data.draw(VECTOR), data.draw(VECTOR), data.draw(VALUE)) for _ in range(n)] for n in (2, 3)]
            ROWS.insert(table, *new)
            latest = table.latest_snapshot()
            assert latest is not None and latest.next_row_id is not None
            model |= dict(enumerate((row for part in new for row in part), latest.next_row_id - 5))
        else:
            columns = data.draw(st.sampled_from([("k",), ("v",), ("w",), ("k", "v"), ("v", "w", "b"), COLUMNS]))
            chosen = data.draw(st.sets(st.sampled_from(sorted(model))))
            deleted = data.draw(st.sets(st.sampled_from(sorted(model)), max_size=1)) - chosen
            changed: dict[int, Row] = {
                i: (step, data.draw(VECTOR), data.draw(VECTOR), data.draw(VALUE)) for i in chosen
            }
            commit(table, ROWS.staged(table, changed, columns, deleted))
            for i, row in changed.items():
                both = zip(COLUMNS, row, model[i], strict=True)
                model[i] = tuple(new if c in columns else old for c, new, old in both)  # type: ignore[assignment]
            model = {i: row for i, row in model.items() if i not in deleted}
        assert {r[0]: r[1:] for r in read(table, "_ROW_ID", *COLUMNS)} == model
        assert sorted(read(table, "v"), key=str) == sorted([(r[1],) for r in model.values()], key=str)
        for some, predicate in (
            ([r for r in model.values() if r[1] is None], IsNull("v")),
            ([r for r in model.values() if r[1] is not None], IsNotNull("v")),
        ):
            found = {r[1:] for r in map(_hashable, read(table, "_ROW_ID", *COLUMNS, predicate=predicate))}
            assert {_hashable(r) for r in some} <= found


def _hashable(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in row)


def test_files_and_their_row_ids(tmp_path: Path) -> None:
    table = new_table(tmp_path, target_file_row_num="3", vector__file__format="avro")
    ROWS.insert(
        table, [(1, [1, 1], None, b"1"), (2, None, None, None)], [(3, [3, 3], [0, 0], None), (4, [4, 4], None, b"")]
    )
    assert shape(live(table)) == [
        (0, 3, ("k",), 1, "parquet"),
        (0, 3, ("b",), 1, "blob"),
        (0, 3, ("v", "w"), 1, "vector.avro"),
        (3, 1, ("k",), 1, "parquet"),
        (3, 1, ("b",), 1, "blob"),
        (3, 1, ("v", "w"), 1, "vector.avro"),
    ]
    commit(table, ROWS.staged(table, {0: (0, [9, 9], None, None)}, ("v",), set()))
    assert shape(live(table))[6:] == [(0, 3, ("v",), 2, "vector.avro")]
    assert read(table, "v") == [([9, 9],), (None,), ([3, 3],), ([4, 4],)]
    parts = [f.file_name for f in live(table) if is_part(f)]
    compact(table)
    assert [f.file_name for f in live(table) if is_part(f)] == parts
    assert shape([f for f in live(table) if not is_part(f)]) == [(0, 4, ("k",), 1, "parquet")]
    assert read(table, "k", "v", "w") == [(1, [9, 9], None), (2, None, None), (3, [3, 3], [0, 0]), (4, [4, 4], None)]
    assert by_id(table, 1, 3) == [None, [4, 4]]


def test_files_of_vectors_end_at_their_own_size(tmp_path: Path) -> None:
    table = new_table(tmp_path, vector__target_file_size="1 b")
    ROWS.insert(table, [(1, [1, 1], None, None), (2, [2, 2], None, None)], [(3, None, None, None)])
    parts = [s for s in shape(live(table)) if s[2] == ("v", "w")]
    assert [s[:2] for s in parts] == [(0, 1), (1, 1), (2, 1)]
    assert by_id(table, 1) == [[2, 2]]
    assert by_id(table, 0, 2) == [[1, 1], None]
    assert read(table, "k", "v") == [(1, [1, 1]), (2, [2, 2]), (3, None)]


def test_vectors_of_rows_at_the_same_time(tmp_path: Path) -> None:
    """Updates of other columns both count; the second update of one column is refused."""
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, [1, 1], None, None), (2, [2, 2], None, None)])
    first, second = (ROWS.staged(table, {i: (0, [5, i], None, None)}, ("v",), set()) for i in (0, 1))
    other = ROWS.staged(table, {0: (7, None, None, None)}, ("k",), set())
    commit(table, first)
    commit(table, other)
    with pytest.raises(CommitConflictError, match="the same columns of rows 0 to 1"):
        commit(table, second)
    assert read(table, "k", "v") == [(7, [5, 0]), (2, [2, 2])]


def test_a_compaction_in_between(tmp_path: Path) -> None:
    table = new_table(tmp_path, target_file_row_num="1")
    ROWS.insert(table, [(1, [1, 1], None, None), (2, [2, 2], None, None)])
    late = ROWS.staged(table, {1: (0, [7, 7], None, None)}, ("v",), set())
    compact(table)
    commit(table, late)
    assert read(table, "k", "v") == [(1, [1, 1]), (2, [7, 7])]


def test_invalid_vectors_leave_no_file(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    writer = open_writer(table.store, sequence_start=0)
    with pytest.raises(InvalidDataError, match="cannot hold a vector of 1 elements"):
        writer.write(ROWS.batch([(1, [1, 1], None, None), (2, [1], None, None)]))
    writer.abort()
    assert [p for p in tmp_path.rglob("*") if "bucket" in str(p) and p.is_file()] == []


def test_a_missing_file_of_vectors(tmp_path: Path) -> None:
    """Rows without their vectors are never read as NULL; other columns are read."""
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, [1, 1], None, None), (2, [2, 2], None, None)])
    (split,) = table.plan(table.latest_snapshot()).splits
    whole = [f for f in split.files if not is_part(f)]
    part = next(f for f in split.files if ".vector." in f.file_name)
    cut = replace(split, files=(*whole, replace(part, row_count=1)))
    with pytest.raises(UnfamiliarFormError, match="no file has the vectors of rows 1 to 1"):
        list(read_split(table.store, cut, ["v"]))
    assert [b.column(0).to_pylist() for b in read_split(table.store, cut, ["k"])] == [[1, 2]]


@pytest.mark.parametrize("name", ["vortex", "lance"])
def test_vectors_in_unknown_formats(tmp_path: Path, name: str) -> None:
    """Whatever the option says, a file of another engine is refused by its name, and other columns are read."""
    table = new_table(tmp_path)
    ROWS.insert(table, [(1, [1, 1], None, None)])
    plan = table.plan(table.latest_snapshot())
    (split,) = plan.splits
    renamed = (f.file_name.replace("vector.parquet", f"vector.{name}") for f in split.files)
    files = (replace(f, file_name=n) for f, n in zip(split.files, renamed, strict=True))
    other = replace(split, files=tuple(files))
    assert [b.column(0).to_pylist() for b in read_split(table.store, other, ["k"])] == [[1]]
    with pytest.raises(UnsupportedFeatureError, match=rf"\.vector\.{name}"):
        list(read_split(table.store, other, ["k", "v"]))
    with pytest.raises(UnsupportedFeatureError, match=f"'vector.file.format' cannot be '{name}'"):
        new_table(tmp_path / "other", vector__file__format=name)
