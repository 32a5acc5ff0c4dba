"""Columns of manifests exclude files that statistics exclude one by one, and no other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paimon_core.arrow.binary_row_fields import RowField
from paimon_core.expressions.predicate import And, Compare, In, Predicate
from paimon_core.expressions.prune import rank
from paimon_core.manifests import entries as entries_module
from paimon_core.manifests.entries import decode_entries
from paimon_core.scan.pruning.entries import prune_entries, ranges
from paimon_core.scan.pruning.files import FileFilter, keys_asked_for
from paimon_core.spec.binary_row import EMPTY_ROW, decode_hints, encode_row
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.stats import EMPTY_STATS, ColumnStats, encode_stats
from paimon_core.spec.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    DataType,
    DecimalType,
    Kind,
    TimeType,
    parse_type,
)
from paimon_core.store.table_store import TableStore
from tests.support.data import make_store
from tests.support.examples import examples
from tests.support.manifests import encode_manifest
from tests.support.tables import data_file


@pytest.fixture(scope="module", autouse=True, params=[0, 2**30], ids=["by-columns", "one-by-one"])
def most_decoded_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small manifests are decoded one by one, others by columns: both give the same."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(entries_module, "_FEW", request.param)
        yield


MILLIS, MICROS = TimeType(Kind.TIMESTAMP, precision=3), TimeType(Kind.TIMESTAMP, precision=6)
COLUMNS: dict[str, DataType] = {
    "i": INT,
    "n": BIGINT,
    "s": STRING,
    "m": MILLIS,
    "u": MICROS,
    "d": DOUBLE,
    "f": FLOAT,
    "b": BOOLEAN,
    "y": BYTES,
    "c": DecimalType(precision=10, scale=2),
    "w": DecimalType(precision=38, scale=30),
}
small = st.integers(-3, 6)
moments = st.tuples(st.integers(0, 6), st.sampled_from([0, 5000]))
floats = st.sampled_from([0.0, -0.0, 1.5, -2.0, float("inf"), float("nan")])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": small,
    "n": small | st.sampled_from([2**63 - 1, -(2**63)]),
    "s": st.sampled_from(["", "a", "ab", "b", "long enough", "long enough to lie outside", "é", "日本"]),
    "m": moments.map(lambda m: (m[0], 0)),
    "u": moments,
    "d": floats,
    "f": floats,
    "b": st.booleans(),
    "y": st.binary(max_size=9),
    "c": st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)),
    "w": st.sampled_from([f"{10**7}.{10**29}", "-1", "0", "1", f"-{10**7}.{1:030d}"]).map(Decimal),
}
# what columns do not hold, but queries ask for
ASKED: dict[str, st.SearchStrategy[Any]] = {
    "d": st.sampled_from([0.1, float("inf"), 1e300]),
    "f": st.sampled_from([0.1, float("inf"), 1e300]),
    "c": st.sampled_from(["0.001", "-0.001", "1e60", "-1e60", "1e-60", "NaN"]).map(Decimal),
    "w": st.sampled_from(["0.1", "1e60", "-1e60"]).map(Decimal),
}


@st.composite
def bounds(draw: st.DrawFn, name: str) -> ColumnStats:
    ends = draw(st.none() | st.tuples(VALUES[name], VALUES[name]))
    low, high = sorted(ends, key=rank) if ends else (None, None)
    return ColumnStats(low, high, draw(st.sampled_from([None, 0, 1])))


@st.composite
def entries(draw: st.DrawFn, store: TableStore) -> ManifestEntry:
    names = draw(st.none() | st.lists(st.sampled_from(list(COLUMNS)), unique=True).map(tuple))
    covered = tuple(COLUMNS) if names is None else names
    stats = encode_stats([COLUMNS[n] for n in covered], [draw(bounds(n)) for n in covered])
    shown = draw(st.sampled_from([stats, EMPTY_STATS])) if names is None else stats
    ending = draw(st.sampled_from(["parquet", "orc"]))
    name = f"{draw(st.integers(0))}.{ending}"
    file = data_file(store, 0, 0, value_stats_cols=names, rows=2, value_stats=shown, file_name=name)
    return ManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, total_buckets=-1, file=file)


@st.composite
def parts(draw: st.DrawFn) -> Predicate:
    name = draw(st.sampled_from(list(COLUMNS)))
    asked = VALUES[name] | ASKED.get(name, st.nothing())
    if draw(st.booleans()):
        return In(name, tuple(draw(st.lists(asked, min_size=1, max_size=3))))
    return Compare(name, draw(st.sampled_from(["=", "<", "<=", ">", ">=", "<=>", "!="])), draw(asked))


@settings(max_examples=examples(60))
@given(st.data())
def test_columns_exclude_what_statistics_exclude(data: st.DataObject) -> None:
    store = make_store(Path(tempfile.gettempdir()), COLUMNS)
    made = data.draw(st.lists(entries(store), max_size=6))
    predicate = And(tuple(data.draw(st.lists(parts(), min_size=1, max_size=3))))
    columns = decode_entries("f", encode_manifest(made))
    kept = set(prune_entries(store, ranges(predicate, store.schema), columns, np.arange(len(made))).tolist())
    files = FileFilter(store, predicate)
    assert kept >= {i for i, entry in enumerate(made) if files.may_match(entry)}


@settings(max_examples=examples(200))
@given(st.data())
def test_bounds_exclude_the_same_by_columns_and_one_by_one(data: st.DataObject) -> None:
    """Where a predicate is a range, and no NULL count decides."""
    store = make_store(Path(tempfile.gettempdir()), COLUMNS)
    name = data.draw(st.sampled_from([n for n in COLUMNS if n != "u"]))  # columns compare milliseconds only
    values = st.integers(-3, 6).map(lambda millis: (millis, 0)) if name == "m" else VALUES[name]
    value = data.draw(values | ASKED.get(name, st.nothing()))
    predicate = Compare(name, data.draw(st.sampled_from(["=", "<=", ">="])), value)
    ends = st.tuples(values, values)
    made = []
    for number in range(4):
        low, high = sorted(data.draw(ends), key=rank)
        stats = encode_stats([COLUMNS[name]], [ColumnStats(low, high, None)])
        file_name = f"{number}.orc.parquet" if number == 3 else f"{number}.{('parquet', 'orc', 'avro')[number]}"
        file = data_file(store, 0, 0, value_stats_cols=(name,), rows=2, value_stats=stats, file_name=file_name)
        made.append(ManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, total_buckets=-1, file=file))
    columns = decode_entries("f", encode_manifest(made))
    kept = prune_entries(store, ranges(predicate, store.schema), columns, np.arange(len(made))).tolist()
    if ranges(predicate, store.schema):
        files = FileFilter(store, predicate)
        assert kept == [i for i, entry in enumerate(made) if files.may_match(entry)]


@settings(max_examples=examples(200))
@given(st.lists(st.text("\t a", max_size=4).map(lambda text: text.rstrip(" ")), min_size=1, max_size=4))
def test_statistics_with_filled_chars_keep_files_with_the_values(values: list[str]) -> None:
    """Java's ORC statistics of CHAR are of values that are filled with spaces; rows have none at the end."""
    char = parse_type("CHAR(5)")
    store = make_store(Path(tempfile.gettempdir()), {"k": char})
    filled = [value.ljust(5) for value in values]
    stats = encode_stats([char], [ColumnStats(min(filled), max(filled), 0)])
    file = data_file(store, 0, 0, value_stats_cols=("k",), rows=2, value_stats=stats, file_name="1.orc")
    entry = ManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, total_buckets=-1, file=file)
    columns = decode_entries("f", encode_manifest([entry]))
    for value, operator in product(values, ("=", "<=", ">=")):
        predicate = Compare("k", operator, value)  # type: ignore[arg-type]
        assert prune_entries(store, ranges(predicate, store.schema), columns, np.arange(1)).tolist() == [0]
        assert FileFilter(store, predicate).may_match(entry)


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (Compare("i", "=", 5), [1]),
        (Compare("i", "<", 1), [0]),
        (Compare("i", ">=", 10), [2]),
        (In("i", (0, 9)), [0, 1]),
        (Compare("s", "=", "long enough to lie outside 1"), [1]),
        (Compare("s", "<=", "a"), [0]),
        (Compare("u", ">", (12, 5)), [2]),
        (Compare("m", "=", (3, 0)), [0]),
        (Compare("n", "=", 2**63 - 1), [2]),
        (Compare("f", "=", 0.1), [0]),
        (Compare("f", "<", 0.0), [0]),
        (Compare("f", ">=", float("nan")), [1, 2]),
        (Compare("f", "=", 7.5), [1]),
        (Compare("b", "=", True), [0, 1]),
        (Compare("y", "=", b"y"), [2]),
        (Compare("c", "<", Decimal("0.001")), [0]),
        (Compare("c", ">", Decimal("0.0301")), [1, 2]),
        (Compare("w", "=", Decimal("-5e-30")), [0]),
        (In("w", (Decimal("1e-30"), Decimal("4e-30"))), [1]),
    ],
)
def test_what_is_kept(predicate: Predicate, kept: list[int]) -> None:
    store = make_store(Path(tempfile.gettempdir()), COLUMNS)
    made = []
    for number, (low, high) in enumerate(((0, 3), (5, 9), (10, 2**31 - 1))):
        texts = [("a", "b"), ("long enough to lie outside", "long enough to lie outside 2"), ("x", "z")][number]
        known = {
            "i": (low, high),
            "n": (low, 2**63 - 1 if number == 2 else high),
            "s": texts,
            "m": ((low, 0), (high, 0)),
            "u": ((low, 1), (high, 1)),
            "d": (0.5, 1.5),
            "f": (-0.0, 0.1) if number == 0 else (float(low), float("nan")),
            "b": (number == 0, number < 2),
            "y": tuple(map(str.encode, texts)),
            "c": (Decimal(low).scaleb(-2), Decimal(high).scaleb(-2)),
            "w": (Decimal(low - 5).scaleb(-30), Decimal(high - 5).scaleb(-30)),
        }
        stats = encode_stats(list(COLUMNS.values()), [ColumnStats(*known[name], 0) for name in COLUMNS])
        file = data_file(store, 0, 0, value_stats_cols=None, value_stats=stats)
        made.append(ManifestEntry(kind=FileKind.ADD, partition=EMPTY_ROW, bucket=0, total_buckets=-1, file=file))
    columns = decode_entries("f", encode_manifest(made))
    assert prune_entries(store, ranges(predicate, store.schema), columns, np.arange(3)).tolist() == kept


@settings(max_examples=examples(200))
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2**10).map(lambda n: n << 32 | 4), min_size=3))
@example([1_700_000_000_123, 123_456_789_012_345, 5])
def test_slots_of_another_layout_exclude_no_more_by_columns_than_one_by_one(slots: list[int]) -> None:
    """pypaimon 1.3.2 writes TIMESTAMP(6) and wide DECIMALs so; the more columns, the more slots look like offsets."""
    kinds = [(MICROS, DecimalType(precision=38, scale=30), BYTES)[i % 3] for i in range(len(slots))]
    as_written = pa.array([encode_row([BIGINT] * len(slots), slots)], pa.binary())
    for i, (kind, value) in enumerate(zip(kinds, decode_hints(kinds, as_written[0].as_py()), strict=True)):
        field = RowField(as_written, len(slots), i)
        if isinstance(kind, DecimalType):
            found = field.decimals(kind)[0].as_py()
        elif kind is BYTES:
            found = field.texts()[0].as_py()
        else:
            (millis,), (valid,) = field.numbers(kind)
            found = (millis, *field.nanos(kind)) if valid else None
        assert found in (None, value)


def test_how_many_keys_are_asked_for() -> None:
    store = make_store(Path(tempfile.gettempdir()), {"p": INT, "k": INT, "v": INT}, keys=["p", "k"], partitions=["p"])
    one = And((Compare("p", "=", 1), Compare("k", "=", 2), Compare("v", ">", 3)))
    assert keys_asked_for(store.schema, one) == 1
    assert keys_asked_for(store.schema, And((In("p", (1, 2)), In("k", (1, 2, None))))) == 4
    for vague in (Compare("k", "=", 2), And((Compare("p", "=", 1), Compare("k", ">", 2))), None):
        assert keys_asked_for(store.schema, vague) is None
