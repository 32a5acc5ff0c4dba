"""Reading splits: projection, filters, older schemas, and files that are missing or broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import CorruptFileError, DataFileMissingError, InvalidDataError
from paimon_core.expressions.predicate import And, Compare, Predicate
from paimon_core.lsm.runs import sections
from paimon_core.scan.read import read_split
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataField, DataType, RowType
from paimon_core.store.data.bucket_files import BucketFiles, merge_section, merge_spec
from paimon_core.store.file_fields import file_fields
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.write.writer import open_writer
from tests.support.data import Live, files_of, make_batch, make_store, read_rows
from tests.support.examples import examples
from tests.unit.expressions.test_prune import DOMAINS, evaluate, predicates


def written(store: TableStore, *tasks: list[tuple[Any, ...]]) -> Live:
    messages = []
    for i, rows in enumerate(tasks):
        writer = open_writer(store, sequence_start=1000 * i)
        writer.write(make_batch(store, rows))
        messages += writer.finish()
    return files_of(messages)


def only_path(store: TableStore, live: Live) -> Path:
    ((bucket, (file,)),) = live.items()
    return Path(store.bucket_dir(*bucket)) / file.file_name


def test_projection_and_order_of_columns(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "a": STRING, "b": INT}, keys=["k"], bucket="1")
    live = written(store, [(1, "x", 10), (2, "y", 20)], [(2, "z", 21)])
    assert read_rows(store, live, ["b", "k"]) == [(10, 1), (21, 2)]
    assert read_rows(store, live, ["a"]) == [("x",), ("z",)]


def test_a_filter_on_values_does_not_bring_back_older_rows(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "v": INT}, keys=["k"], bucket="1")
    live = written(store, [(1, 5), (2, 6)], [(1, 7)])
    assert read_rows(store, live, predicate=Compare("v", "=", 5)) == []
    assert read_rows(store, live, predicate=Compare("k", "=", 1)) == [(1, 7)]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    predicates,
    st.lists(st.fixed_dictionaries({n: st.none() | DOMAINS[n] for n in ("int", "float", "str", "bool")}), max_size=8),
)
def test_filters_never_lose_a_match(tmp_path: Path, predicate: Predicate, data: list[dict[str, Any]]) -> None:
    types = {"int": INT, "float": DOUBLE, "str": STRING, "bool": BOOLEAN}
    store = make_store(tmp_path, types)
    rows = [tuple(r[n] for n in types) for r in data]
    live = written(store, rows)
    found = [repr(r) for r in read_rows(store, live, predicate=predicate)]
    for row in data:
        if evaluate(predicate, {**row, "ts": None}):
            assert repr(tuple(row[n] for n in types)) in found


def test_most_rows_that_do_not_match_are_filtered(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a": INT, "b": STRING})
    live = written(store, [(i, str(i)) for i in range(100)])
    both = And((Compare("a", ">=", 98), Compare("b", "!=", "99")))
    assert read_rows(store, live, predicate=both) == [(98, "98")]


def altered(store: TableStore, fields: tuple[DataField, ...]) -> TableStore:
    """The table under a later schema; the one its files were written with is stored."""
    assert create_schema(store.io, store.root, store.schema)
    return replace(store, schema=replace(store.schema, id=1, fields=fields, highest_field_id=3))


def test_older_schema_columns_by_id(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT, "a": INT, "b": STRING}, keys=["k"], bucket="1")
    live = written(store, [(1, 10, "x")])
    fields = (
        DataField(id=0, name="k", type=INT),
        DataField(id=1, name="renamed", type=BIGINT),
        DataField(id=3, name="b", type=INT),
    )
    assert read_rows(altered(store, fields), live) == [(1, 10, None)]


def test_a_type_that_cannot_be_cast_names_column_and_file(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a": STRING})
    live = written(store, [("text",)])
    evolved = altered(store, (DataField(id=0, name="a", type=INT),))
    with pytest.raises(InvalidDataError, match=r"'a'.*\.parquet"):
        read_rows(evolved, live)


def test_a_nested_column_that_was_renamed_is_read(tmp_path: Path) -> None:
    inner = DataField(id=1, name="x", type=INT)
    store = make_store(tmp_path, {"r": RowType(fields=(inner,))})
    live = written(store, [({"x": 1},)])
    fields = (DataField(id=0, name="r", type=RowType(fields=(replace(inner, name="y"),))),)
    assert read_rows(altered(store, fields), live) == [({"y": 1},)]


def test_a_missing_file_names_itself_and_the_table(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a": INT})
    live = written(store, [(1,)])
    path = only_path(store, live)
    path.unlink()
    with pytest.raises(DataFileMissingError, match=path.name) as caught:
        read_rows(store, live)
    assert store.root in str(caught.value)


@pytest.mark.parametrize("keys", [[], ["a"]])
def test_lost_and_damaged_files_are_passed_over_where_asked(tmp_path: Path, keys: list[str]) -> None:
    store = make_store(tmp_path, {"a": INT}, keys=keys, bucket="1", bucket_key="a")
    live = written(store, [(1,)], [(2,)], [(3,)])
    ((bucket, files),) = live.items()
    lost, damaged, _ = (Path(store.bucket_dir(*bucket), f.file_name) for f in files)
    lost.unlink()
    damaged.write_bytes(b"PAR1")
    tolerant = store.with_options({"scan.ignore-lost-files": "true", "scan.ignore-corrupt-files": "true"})
    assert read_rows(tolerant, live) == [(3,)]
    with pytest.raises(CorruptFileError, match=damaged.name):
        read_rows(store.with_options({"scan.ignore-lost-files": "true"}), live)
    reader = BucketFiles(tolerant, store.bucket_dir(*bucket), store.schema.fields)  # as compactions read
    with pytest.raises(DataFileMissingError):
        list(reader.read(files))


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_truncated_file_is_corrupt(tmp_path: Path, keep: int) -> None:
    store = make_store(tmp_path, {"a": INT})
    live = written(store, [(i,) for i in range(1000)])
    path = only_path(store, live)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CorruptFileError, match=path.name):
        read_rows(store, live)


def test_a_damaged_page_is_corrupt(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a": STRING})
    live = written(store, [(f"text {i}",) for i in range(1000)])
    path = only_path(store, live)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptFileError, match=path.name):
        read_rows(store, live)


def test_deletes_are_dropped_even_where_nothing_overlaps(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT}, keys=["k"], bucket="1")
    writer = open_writer(store, sequence_start=0)
    kinds = pa.array([0, 3], pa.int8())
    writer.write(make_batch(store, [(1,), (2,)]).append_column("_VALUE_KIND", kinds))
    ((bucket, files),) = files_of(writer.finish()).items()
    split = DataSplit(partition=bucket[0], bucket=0, bucket_dir=store.bucket_dir(*bucket), files=tuple(files))
    assert [b.to_pydict() for b in read_split(store, split, ["k"])] == [{"k": [1]}]


@pytest.mark.parametrize(("start", "ordered"), [(3, True), (2, False)])
def test_sequence_numbers_are_read_where_metadata_does_not_order_rows(
    tmp_path: Path, start: int, ordered: bool
) -> None:
    store = make_store(tmp_path, {"k": INT, "v": INT}, keys=["k"], bucket="1")
    messages = []
    for sequence, rows in ((0, [(1, 10), (2, 20), (3, 30)]), (start, [(3, 31), (2, 21)])):
        writer = open_writer(store, sequence_start=sequence)
        writer.write(make_batch(store, rows))
        messages += writer.finish()
    (section,) = sections([f for m in messages for f in m.new_files], [INT])
    bucket = BucketFiles(store, store.bucket_dir(messages[0].partition, 0), file_fields(store))
    spec = merge_spec(store, drop_delete=True)
    for values_only in (False, True):
        (batch,) = merge_section(bucket, section, spec, values_only=values_only)
        assert batch.column("v").to_pylist() == [10, 21, 31]
        numbers = batch.to_pydict().get("_SEQUENCE_NUMBER")
        assert numbers == (None if values_only and ordered else [0, start + 1, start])
        assert ("_VALUE_KIND" in batch.schema.names) != values_only


@pytest.mark.parametrize(("looked_up", "rows"), [("true", []), ("false", [1])])
def test_a_delete_above_level_0_replaces_its_row_although_deletes_are_ignored(
    tmp_path: Path, looked_up: str, rows: list[int]
) -> None:
    """A version without `ignore-delete` compacted it. Java reads the row of the lowest level above 0 alone."""
    columns: dict[str, DataType] = {"k": INT, "v": INT}
    plain = make_store(tmp_path, columns, keys=["k"], bucket="1")
    files = []
    for kind, level in ((0, 5), (3, 4)):
        writer = open_writer(plain, sequence_start=level)
        writer.write(make_batch(plain, [(1, 10)]).append_column("_VALUE_KIND", pa.array([kind], pa.int8())))
        ((bucket, (file,)),) = files_of(writer.finish()).items()
        files.append(replace(file, level=level))
    ignoring = {"ignore_delete": "true", "deletion_vectors__enabled": looked_up}
    store = make_store(tmp_path, columns, keys=["k"], bucket="1", **ignoring)
    split = DataSplit(partition=bucket[0], bucket=0, bucket_dir=store.bucket_dir(*bucket), files=tuple(files))
    assert [k for b in read_split(store, split, ["k"]) for k in b.column(0).to_pylist()] == rows
