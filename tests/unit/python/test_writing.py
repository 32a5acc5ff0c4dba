"""Writes in Python: by a model of plain rows over each kind of table, casts of INSERT, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.errors import ColumnNotFoundError, InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.spec.types import DataField, Kind, LengthType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable
from tests.support.examples import examples

SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.int32())])
ROW_TRACKING = {"row-tracking.enabled": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}
KINDS: dict[str, dict[str, Any]] = {
    "keyed": {"primary_key": "k", "options": {"bucket": "2"}},
    "dynamic": {"primary_key": "k"},
    "postponed": {"primary_key": "k", "options": {"bucket": "-2"}},
    "lookup": {"primary_key": "k", "options": {"bucket": "1", "changelog-producer": "lookup"}},
    "keyed with vectors": {"primary_key": "k", "options": {"bucket": "1", **VECTORS}},
    "across partitions": {"primary_key": "k", "partitioned_by": "p"},
    "append": {},
    "partitioned": {"partitioned_by": "p"},
    "vectors": {"options": VECTORS},
    "tracked": {"options": ROW_TRACKING},
    "evolved": {"options": {**ROW_TRACKING, **VECTORS, "data-evolution.enabled": "true"}},
    "buckets": {"options": {"bucket": "2", "bucket-key": "k"}},
}
Row = tuple[int, str, int | None]


def rows(table: PaimonTable) -> list[Row]:
    return sorted((tuple(r.values()) for r in table.scan().to_arrow().to_pylist()), key=str)  # type: ignore[arg-type]


def as_dicts(given_rows: list[Row]) -> list[dict[str, Any]]:
    return [dict(zip("kpv", row, strict=True)) for row in given_rows]


_ROW = st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.one_of(st.none(), st.integers(0, 9)))
_STEP = st.one_of(
    st.tuples(st.just("write"), st.lists(_ROW, min_size=1, max_size=4)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("update"), st.integers(0, 9)),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(_STEP, min_size=1, max_size=5))
def test_a_model(kind: str, steps: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    catalog = open_catalog(str(tmp_path_factory.mktemp("lake")))
    table = catalog.create_table("default.t", SCHEMA, **KINDS[kind])
    model: list[Row] = []
    for step, argument in steps:
        if step == "write" and table.primary_key:
            table.upsert(as_dicts(argument))
            model = list({row[0]: row for row in [*model, *argument]}.values())
        elif step == "write":
            table.append(as_dicts(argument))
            model += argument
        elif step == "delete":
            table.delete(f"v >= {argument}")
            model = [r for r in model if r[2] is None or r[2] < argument]
        else:
            table.update({"v": "coalesce(v, 0) + 1"}, where=f"v IS NULL OR v < {argument}")
            model = [(k, p, (v or 0) + 1 if v is None or v < argument else v) for k, p, v in model]
        assert rows(table) == sorted(model, key=str), (step, argument)


@pytest.mark.parametrize("kind", ["append", "partitioned", "keyed"])
def test_overwrites(lake: PaimonCatalog, kind: str) -> None:
    table = lake.create_table("shop.t", SCHEMA, **KINDS[kind])
    write = table.upsert if table.primary_key else table.append
    write(as_dicts([(1, "a", 1), (2, "b", 2)]))
    table.overwrite(as_dicts([(3, "a", 3), (4, "b", 4)]))
    assert rows(table) == [(3, "a", 3), (4, "b", 4)]
    if kind != "partitioned":
        with pytest.raises(UnsupportedFeatureError, match="an overwrite replaces whole partitions"):
            table.overwrite([], where="p = 'a'")
        return
    table.overwrite([{"k": 5, "v": 5}], partition={"p": "a"})
    assert rows(table) == [(4, "b", 4), (5, "a", 5)]
    table.overwrite(as_dicts([(6, "b", 6)]), where="p > 'a'")
    table.overwrite(as_dicts([(7, "c", 7)]), dynamic=True)
    assert rows(table) == [(5, "a", 5), (6, "b", 6), (7, "c", 7)]
    with pytest.raises(InvalidDataError, match="partition"):
        table.overwrite(as_dicts([(8, "b", 8)]), partition={"p": "a"})
    with pytest.raises(ColumnNotFoundError, match="no partition column 'v'; it has p"):
        table.overwrite([], partition={"v": 1})
    with pytest.raises(InvalidDataError, match="either"):
        table.overwrite([], partition={"p": "a"}, dynamic=True)
    assert rows(table) == [(5, "a", 5), (6, "b", 6), (7, "c", 7)]
    table.delete("p IN ('a', 'c')")
    assert rows(table) == [(6, "b", 6)]
    assert table.inspect("snapshots")["commit_kind"].to_pylist()[-1] == "OVERWRITE"


def test_rows_of_all_kinds(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    given_rows = pa.table({"v": pa.array([1], pa.int8()), "K": [1]})
    table.append(given_rows)
    table.append(given_rows.to_reader())
    table.append(given_rows.to_batches()[0])
    table.append(pd.DataFrame({"k": [1], "v": [1]}, index=["some index"]))
    table.append([{"k": 1, "V": 1}])
    table.append({"k": 1, "v": 1})
    table.append(table.scan(["k", "v"], limit=1))
    assert rows(table) == [(1, None, 1)] * 7


def test_the_last_row_of_a_key_wins_across_partitions(tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path))
    table = catalog.create_table("default.t", SCHEMA, **KINDS["across partitions"])
    table.upsert(as_dicts([(0, "b", 1), (1, "a", 1), (0, "a", 2), (1, "b", 2)]))
    assert rows(table) == [(0, "a", 2), (1, "b", 2)]


ALL = pa.schema(
    [
        *(pa.field(f"c{i}", t) for i, t in enumerate([pa.int8(), pa.float32(), pa.decimal128(4, 1), pa.string()])),
        pa.field("day", pa.date32()),
        pa.field("ntz", pa.timestamp("ms")),
        pa.field("ltz", pa.timestamp("us", "UTC")),
        pa.field("nested", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])),
    ]
)
NOON = datetime(2026, 1, 1, 12, 0, 0, 123456)


@pytest.mark.parametrize(
    ("column", "value", "stored"),
    [
        ("c0", pa.array([7], pa.int64()), 7),
        ("c0", pa.array([7.9]), 7),
        ("c0", pa.array([Decimal("7.9")]), 7),
        ("c1", pa.array([3], pa.int64()), 3.0),
        ("c2", pa.array([1.25]), Decimal("1.3")),
        ("c2", pa.array([Decimal("1.25")]), Decimal("1.3")),
        ("c2", pa.array([12], pa.uint8()), Decimal("12.0")),
        ("c3", pa.array([12], pa.uint8()), "12"),
        ("c3", pa.array([True]), "true"),
        ("c3", pa.array(["x"]).dictionary_encode(), "x"),
        ("c3", pa.array([date(2026, 1, 1)]), "2026-01-01"),
        ("day", pa.array([NOON]), date(2026, 1, 1)),
        ("ntz", pa.array([NOON]), NOON.replace(microsecond=123000)),
        ("ntz", pa.array([date(2026, 1, 1)]), datetime(2026, 1, 1)),
        ("ltz", pa.array([NOON]), NOON.replace(tzinfo=UTC)),
        ("nested", pa.array([{"a": 1, "b": ["x"]}]), {"a": 1, "b": ["x"]}),
        ("c0", pa.nulls(1), None),
    ],
)
def test_casts_of_insert(lake: PaimonCatalog, column: str, value: pa.Array, stored: Any) -> None:
    table = lake.create_table("shop.t", ALL)
    table.append(pa.table({column: value}))
    assert table.scan([column]).to_arrow()[0].to_pylist() == [stored]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("c0", pa.array([128])),
        ("c0", pa.array([1e9])),
        ("c2", pa.array([1000.0])),
        ("c2", pa.array([Decimal("1000")])),
        ("c0", pa.array(["1"])),
        ("day", pa.array(["2026-01-01"])),
        ("c0", pa.array([date(2026, 1, 1)])),
        ("c0", pa.array([True])),
        ("day", pa.array([1])),
        ("nested", pa.array([1])),
        ("c0", pa.array([[1]])),
    ],
)
def test_values_that_a_column_cannot_hold(lake: PaimonCatalog, column: str, value: pa.Array) -> None:
    table = lake.create_table("shop.t", ALL)
    with pytest.raises(InvalidDataError, match=column):
        table.append(pa.table({column: value}))
    assert table.inspect("snapshots").num_rows == 0
    assert list(Path(table.location).rglob("*.parquet")) == []


NAMES = {"s": pa.struct([("a", pa.int32()), ("b", pa.string())])}
NAMES |= {"l": pa.list_(NAMES["s"]), "m": pa.map_(pa.string(), NAMES["s"])}


@pytest.mark.parametrize("lost", ["A", "x"])
@pytest.mark.parametrize(("column", "nest"), [("s", lambda v: v), ("l", lambda v: [v]), ("m", lambda v: [("k", v)])])
def test_no_nested_value_is_left_out(lake: PaimonCatalog, column: str, nest: Any, lost: str) -> None:
    """Arrow casts a struct by the names of its fields, and leaves out fields that the other type lacks."""
    table = lake.create_table("shop.t", pa.schema(list(NAMES.items())))
    value = {lost: 1, "b": "y"}
    other = pa.struct([(lost, pa.int32()), ("b", pa.string())])
    given = {"s": other, "l": pa.list_(other), "m": pa.map_(pa.string(), other)}[column]
    with pytest.raises(InvalidDataError, match=rf"^The rows have a field {column}.*\.{lost} that the table lacks"):
        table.append(pa.table({column: pa.array([nest(value)], given)}))
    if column != "m":  # Arrow takes keys of maps in dicts
        with pytest.raises(InvalidDataError, match=rf"^The rows have a field {column}.*\.{lost} that the table lacks"):
            table.append([{column: nest({"a": 1})}, {column: nest(value)}])
    assert table.inspect("snapshots").num_rows == 0
    table.append([{column: nest({"b": "y"})}])
    assert table.scan([column]).to_arrow()[0].to_pylist() == [nest({"a": None, "b": "y"})]


def test_lengths_of_texts(lake: PaimonCatalog) -> None:
    fields = [DataField(id=i, name=n, type=LengthType(k, length=3)) for i, (n, k) in enumerate(LENGTHS.items())]
    name = lake.identifier("shop.t")
    lake.inner.create_table(name, new_table_schema(fields))
    table = lake.table("shop.t")
    table.append([{"c": "a", "v": "b    "}])
    assert table.scan().to_arrow().to_pylist() == [{"c": "a  ", "v": "b  "}]
    for row in ({"c": "abcd"}, {"v": "abcd"}):
        with pytest.raises(InvalidDataError, match="more than 3 characters"):
            table.append([row])


LENGTHS = {"c": Kind.CHAR, "v": Kind.VARCHAR}


def test_a_commit_that_is_made_once(lake: PaimonCatalog, caplog: pytest.LogCaptureFixture) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    once = {"commit.identifier": "7", "write.stream.commit-user": "job"}
    for _ in range(2):
        table.append([{"k": 1}], options=once)
    assert table.scan().count() == 1
    with pytest.raises(InvalidOptionError, match=r"commit\.identifier"):
        table.append([{"k": 1}], options={"commit.identifier": "8"})


def test_updates_of_values(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA, primary_key="k", options={"bucket": "1"})
    table.upsert(as_dicts([(1, "a", 1), (2, "b", 2)]))
    table.update({"P": "concat(p, '!')", "v": 5}, where="k = 1")
    table.update({"p": None}, where="k = 2")
    assert rows(table) == [(1, "a!", 5), (2, None, 2)]
    table.update({"p": "NULL", "v": "v + k"})
    assert rows(table) == [(1, None, 6), (2, None, 4)]
    with pytest.raises(UnsupportedFeatureError, match="belongs to the primary key"):
        table.update({"k": "1"})
    with pytest.raises(ColumnNotFoundError, match="no column 'x' to assign"):
        table.update({"x": 1})
    with pytest.raises(InvalidDataError, match="cannot be"):
        table.update({"v": date(2026, 1, 1)})
    with pytest.raises(InvalidDataError, match="does not fit"):
        table.update({"v": "2147483647 + k"})
    with pytest.raises(InvalidDataError, match="at least one column"):
        table.update({})
    assert rows(table) == [(1, None, 6), (2, None, 4)]


def test_what_is_refused(lake: PaimonCatalog) -> None:
    keyed = lake.create_table("shop.k", SCHEMA, primary_key="k", options={"bucket": "1"})
    plain = lake.create_table("shop.p", SCHEMA)
    with pytest.raises(UnsupportedFeatureError, match="has a primary key: call upsert"):
        keyed.append([{"k": 1}])
    with pytest.raises(UnsupportedFeatureError, match="has no primary key: call append"):
        plain.upsert([{"k": 1}])
    with pytest.raises(ColumnNotFoundError, match="has no column 'x'"):
        plain.append([{"x": 1}])
    with pytest.raises(InvalidDataError, match="'k' of table shop.p twice"):
        plain.append(pa.table({"k": [1], "K": [1]}))
    with pytest.raises(InvalidDataError, match="cannot hold NULL"):
        keyed.upsert([{"v": 1}])
    for data in (5, ["x"], [{"k": "text"}]):
        with pytest.raises(InvalidDataError, match="The rows cannot be used"):
            plain.append(data)
    with pytest.raises(UnsupportedFeatureError, match=r"write rows to shop\.k"):
        lake.table("shop.k$audit_log").upsert([{"k": 1}])
    assert (rows(keyed), rows(plain)) == ([], [])


@pytest.mark.parametrize("kind", ["append", "keyed", "evolved"])
def test_vectors(kind: str, tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.float32()))])
    given = KINDS[kind]
    options = {**given.get("options", {}), "vector-field": "v", "field.v.vector-dim": "2"}
    table = open_catalog(str(tmp_path)).create_table("default.t", schema, **given | {"options": options})
    write = table.upsert if table.primary_key else table.append
    write(pa.table({"k": [1, 2], "v": pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2))}))
    write([{"k": 2, "v": [3, 4]}])
    with pytest.raises(InvalidDataError, match=r"Column 'v' of type VECTOR<FLOAT, 2> cannot hold a vector of 3"):
        write([{"k": 3, "v": [1, 2, 3]}])
    with pytest.raises(InvalidDataError, match="a vector with a NULL element"):
        write([{"k": 3, "v": [1, None]}])
    found = table.scan().to_arrow()
    assert found.schema.field("v").type.value_type == pa.float32()
    kept = sorted((r["k"], r["v"]) for r in found.to_pylist() if r["v"] is not None)
    assert kept == [(1, [1.0, 2.0]), (2, [3.0, 4.0])]


def test_bytes_of_blobs(lake: PaimonCatalog) -> None:
    evolved = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-field": "b"}
    table = lake.create_table("shop.blobs", pa.schema([("k", pa.int32()), ("b", pa.binary())]), options=evolved)
    table.append([{"k": 1, "b": b"one"}, {"k": 2, "b": None}])
    table.append(pa.table({"k": pa.array([3], pa.int32()), "b": pa.array([b"\x00" * 5], pa.large_binary())}))
    assert sorted(table.scan().to_arrow().to_pydict()["b"], key=str) == [None, b"\x00" * 5, b"one"]
    paths = table.inspect("files").column("file_path").to_pylist()
    assert sum(path.endswith(".blob") for path in paths) == 2
    with pytest.raises(InvalidDataError, match="does not take STRING"):
        table.append(pa.table({"k": [4], "b": ["text"]}))
