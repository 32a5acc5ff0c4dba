"""Tables whose files count equal rows, as Java 0.4 and 0.5 write them: a row comes as often as all files count it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare
from paimon_core.scan.changes.increment import Increment, IncrementMode
from paimon_core.scan.counted import counted_groups
from paimon_core.scan.derived_tables import DerivedTable, read_derived
from paimon_core.scan.read import read_split
from paimon_core.spec.binary_row import EMPTY_ROW, encode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.split import DataSplit
from paimon_core.spec.stats import EMPTY_STATS, ColumnStats, encode_stats
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    CollectionType,
    DataField,
    DataType,
    Kind,
    parse_type,
)
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.features import check_writable
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from tests.support.data import make_store
from tests.support.examples import examples
from tests.support.tables import data_file, info, message

Row = tuple[Any, ...]
Counts = dict[Row, int]
PLAIN: dict[str, DataType] = {"k": INT, "v": STRING}
NESTED: dict[str, DataType] = {"k": INT, "v": CollectionType(Kind.ARRAY, element=INT)}
OPTIONS = {"write-mode": "change-log", "bucket": "1", "bucket-key": "k"}


def counting_table(root: Path, columns: dict[str, DataType], **more: str) -> Table:
    """A table that Java 0.5 created, apart from the version of its schema: commits of ours make its snapshots."""
    store = make_store(root, columns)
    options = OPTIONS | more
    store = TableStore.of(store.io, store.root, replace(store.schema, options=options))
    assert create_schema(store.io, store.root, store.schema)
    return Table(store)


def counted_file(store: TableStore, counts: Counts, *, known: bool = True) -> DataFileMeta:
    """A file of the distinct rows and their counts, as Java 0.5 writes it; `known`: with statistics."""
    fields = store.schema.fields
    rows = sorted(counts, key=lambda row: tuple((False,) if v is None else (True, v) for v in row))
    columns = {
        f.name: pa.array([row[i] for row in rows], arrow_schema([f]).field(0).type) for i, f in enumerate(fields)
    }
    columns |= {
        "_SEQUENCE_NUMBER": pa.array(range(len(rows)), pa.int64()),
        "_VALUE_KIND": pa.array([0] * len(rows), pa.int8()),
        "_VALUE_COUNT": pa.array([counts[row] for row in rows], pa.int64()),
    }
    types = [f.type for f in fields]
    plain = all(t.kind is not Kind.ARRAY for t in types)
    bounds = ColumnStats(min(counts.values()), max(counts.values()), 0)
    stats = encode_stats([BIGINT], [bounds]) if known else EMPTY_STATS
    return stored(
        store,
        pa.table(columns),
        value_stats=stats,
        min_key=encode_row(types, rows[0]) if plain else encode_row([INT], [0]),
        max_key=encode_row(types, rows[-1]) if plain else encode_row([INT], [0]),
    )


def stored(store: TableStore, rows: pa.Table, **more: Any) -> DataFileMeta:
    folder = Path(store.bucket_dir(EMPTY_ROW, 0))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"data-{uuid.uuid4()}-0.parquet"
    pq.write_table(rows, path)
    size = {"file_name": path.name, "file_size": path.stat().st_size, "value_stats_cols": None}
    return data_file(store, 0, 0, rows=rows.num_rows, **{"value_stats": EMPTY_STATS, **size, **more})


def commit(table: Table, *files: DataFileMeta) -> None:
    table.commit_or_abort([message(table.store, *files)], info())


def rows_of(table: Table, predicate: Any = None, names: Sequence[str] = ("k", "v")) -> Counter[Row]:
    splits = table.plan(table.latest_snapshot(), predicate).splits
    batches = chain.from_iterable(read_split(table.store, s, names, predicate) for s in splits)
    return Counter(key_of(row.values()) for b in batches for row in b.to_pylist())


def rows_of_files(
    store: TableStore, files: Sequence[DataFileMeta], predicate: Any = None, names: Sequence[str] = ("k", "v")
) -> Counter[Row]:
    """The rows of a bucket of these files that match."""
    found = Counter[Row]()
    for group, needs_merge in counted_groups(store.schema, files, 2**30, 0):
        folder = store.bucket_dir(EMPTY_ROW, 0)
        split = DataSplit(partition=EMPTY_ROW, bucket=0, bucket_dir=folder, files=group, needs_merge=needs_merge)
        found.update(key_of(r.values()) for b in read_split(store, split, names, predicate) for r in b.to_pylist())
    return found


def key_of(values: Any) -> Row:
    return tuple(tuple(v) if isinstance(v, list) else v for v in values)


def logged(table: Table, increment: Increment) -> Counter[Row]:
    splits = table.plan(increment).splits
    names = ["rowkind", "k", "v"]
    batches = chain.from_iterable(read_derived(table.store, DerivedTable.AUDIT_LOG, s, names) for s in splits)
    return Counter(key_of(row.values()) for b in batches for row in b.to_pylist())


def expected(files: Sequence[Counts]) -> Counter[Row]:
    total = Counter[Row]()
    for counts in files:
        total.update(counts)
    return +total


values = st.none() | st.sampled_from(["", "a", "b", "ab"])
counts = st.integers(-3, 3)
files = st.lists(
    st.dictionaries(st.tuples(st.none() | st.integers(-2, 2), values), counts, min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files, st.booleans(), st.integers(-2, 2))
def test_a_row_comes_as_often_as_all_files_count_it(
    tmp_path: Path, files: list[Counts], known: bool, number: int
) -> None:
    store = make_store(tmp_path, PLAIN)
    store = replace(store, schema=replace(store.schema, options=OPTIONS))
    live = [counted_file(store, one, known=known) for one in files]
    rows = expected(files)
    assert rows_of_files(store, live) == rows
    matching = Counter({row: n for row, n in rows.items() if row[0] == number})
    assert rows_of_files(store, live, Compare("k", "=", number)) == matching
    assert rows_of_files(store, live, names=("v",)) == sum((Counter({r[1:]: n}) for r, n in rows.items()), Counter())


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (BOOLEAN, [False, True]),
        (parse_type("DECIMAL(5, 2)"), [Decimal("-1.50"), Decimal("2.00")]),
        (parse_type("DECIMAL(30, 2)"), [Decimal("-1.50"), Decimal("2.00")]),
        (parse_type("DATE"), [date(1969, 1, 1), date(2024, 1, 1)]),
        (parse_type("TIMESTAMP(3)"), [datetime(1969, 1, 1), datetime(2024, 1, 1)]),
        (parse_type("BYTES"), [b"", b"\xff"]),
        (DOUBLE, [-1.5, 0.0]),
    ],
    ids=str,
)
def test_columns_of_every_type_are_counted(tmp_path: Path, data_type: DataType, values: list[Any]) -> None:
    store = make_store(tmp_path, {"k": INT, "v": data_type})
    store = replace(store, schema=replace(store.schema, options=OPTIONS))
    rows = [(k, v) for k in (None, 1) for v in (None, *values)]
    files = [counted_file(store, dict.fromkeys(some, n)) for some, n in ((rows, 2), (rows[1:], -1), (rows[:1], 1))]
    assert rows_of_files(store, files) == {row: 3 if row == rows[0] else 1 for row in rows}


@pytest.mark.parametrize("once", [True, False])
def test_only_files_with_other_counts_than_one_leave_the_fast_path(tmp_path: Path, once: bool) -> None:
    """Equal rows of two files are two rows; the count of a file may be known to be 1 by its statistics alone."""
    table = counting_table(tmp_path, PLAIN)
    for _ in range(2):
        commit(table, counted_file(table.store, {(1, "a"): 1, (2, "b"): 1 if once else 2}))
    commit(table, counted_file(table.store, {(7, "z"): 1}))
    splits = table.plan(table.latest_snapshot()).splits
    assert [s.needs_merge for s in splits] == ([False] if once else [False, True])
    assert rows_of(table) == {(1, "a"): 2, (2, "b"): 2 if once else 4, (7, "z"): 1}


def test_nested_rows_are_compared_as_a_whole(tmp_path: Path) -> None:
    table = counting_table(tmp_path, NESTED)
    commit(table, counted_file(table.store, {(1, (1, 2)): 2, (1, (2, 1)): 1}))
    commit(table, counted_file(table.store, {(1, (1, 2)): 1, (1, (2, 1)): -1, (2, None): 1}))
    assert rows_of(table) == {(1, (1, 2)): 3, (2, None): 1}


def test_rows_that_later_versions_appended_count_once_each(tmp_path: Path) -> None:
    """Java 0.6 and later do not go by the option: their files have the columns alone."""
    table = counting_table(tmp_path, PLAIN)
    commit(table, counted_file(table.store, {(1, "a"): 2, (2, "b"): -1}))
    schema = arrow_schema(table.store.schema.fields)
    commit(table, stored(table.store, pa.table([[2, 2, 1], ["b", "b", "a"]], schema=schema)))
    assert rows_of(table) == {(1, "a"): 3, (2, "b"): 1}


def test_rows_of_older_schemas_are_counted_with_those_of_the_newest(tmp_path: Path) -> None:
    """A number that has become a text is in another order."""
    table = counting_table(tmp_path, {"k": INT, "v": INT})
    commit(table, counted_file(table.store, {(1, 9): 2, (1, 10): 1}))
    first = table.store.schema
    now = replace(first, id=1, fields=(first.fields[0], DataField(id=1, name="v", type=STRING)))
    assert create_schema(table.store.io, table.store.root, now)
    later = Table(TableStore.of(table.store.io, table.store.root, now))
    commit(later, counted_file(later.store, {(1, "10"): 1, (1, "9"): -1}))
    assert rows_of(later) == {(1, "9"): 1, (1, "10"): 2}


def test_changes_are_one_by_one_and_versions_are_compared_by_their_counts(tmp_path: Path) -> None:
    table = counting_table(tmp_path, PLAIN)
    versions = []
    for one in ({(1, "a"): 2, (2, "b"): 1}, {(1, "a"): -1, (2, "b"): -1, (3, "c"): 2}):
        commit(table, counted_file(table.store, one))
        versions.append(table.latest_snapshot())
    first, second = versions
    delta = Increment(mode=IncrementMode.DELTA, start=first, end=second, snapshots=(second,))
    changes = {("-D", 1, "a"): 1, ("-D", 2, "b"): 1, ("+I", 3, "c"): 2}
    assert all(s.needs_merge for s in table.plan(delta).splits)
    assert logged(table, delta) == changes
    assert logged(table, Increment(mode=IncrementMode.DIFF, start=first, end=second)) == changes
    back = Increment(mode=IncrementMode.DIFF, start=second, end=first)
    assert logged(table, back) == {("+I", 1, "a"): 1, ("+I", 2, "b"): 1, ("-D", 3, "c"): 2}


def test_equal_floats_of_several_files_are_one_row(tmp_path: Path) -> None:
    nan = float("nan")
    table = counting_table(tmp_path, {"k": INT, "v": DOUBLE})
    for count in (2, -1):
        commit(table, counted_file(table.store, {(1, nan): count, (2, 0.5): count}))
    (batch,) = (b for s in table.plan(table.latest_snapshot()).splits for b in read_split(table.store, s, ["k", "v"]))
    assert batch.column(0).to_pylist() == [1, 2] and pc.is_nan(batch.column(1)).to_pylist() == [True, False]


def test_counts_beyond_all_bounds_end_in_an_error(tmp_path: Path) -> None:
    table = counting_table(tmp_path, PLAIN)
    commit(table, counted_file(table.store, {(1, "a"): -(2**63), (2, "b"): 2**63 - 1}))
    with pytest.raises(UnfamiliarFormError, match="more equal rows than can be read"):
        rows_of(table)


@pytest.mark.parametrize("version", [1, 2])
def test_tables_of_versions_that_count_are_not_written(tmp_path: Path, version: int) -> None:
    """Rows without counts would break Java 0.5, for which each has one; later versions append such rows themselves."""
    schema = replace(new_table_schema([DataField(id=0, name="k", type=INT)]), options=OPTIONS, version=version)
    store = TableStore.of(make_store(tmp_path, PLAIN).io, str(tmp_path / "t"), schema)
    if version == 2:
        check_writable(store)
        return
    with pytest.raises(UnsupportedFeatureError, match=r"cannot be written.*count equal rows.*CREATE TABLE \.\.\. AS"):
        check_writable(store)
    check_writable(replace(store, schema=replace(schema, options=OPTIONS | {"write-mode": "append-only"})))
