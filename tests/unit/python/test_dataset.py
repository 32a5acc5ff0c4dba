"""Tables as datasets of pyarrow: the columns and filters of other tools choose what is read."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_sql.python.arrow_filters import condition_in
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.dataset import TableDataset
from paimon_sql.python.table import PaimonTable

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int8()),
        ("day", pa.date32()),
        ("name", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("share", pa.float64()),
        ("at", pa.timestamp("us")),
        ("instant", pa.timestamp("us", "UTC")),
        ("is", pa.bool_()),
    ]
)
NAMES = ["a", 'quo"te', "back\\slash", "line\nbreak", "ä, ]", "", None, "(x == 1) and (y", "Z"]
ROWS = [
    {
        "id": None if i == 7 else i,
        "small": i,
        "day": date(2026, 1, 1 + i),
        "name": NAMES[i],
        "amount": None if i == 3 else Decimal(i) / 2,
        "share": float("nan") if i == 5 else i / 2,
        "at": datetime(2026, 1, 1, i, 0, 0, i),
        "instant": datetime(2026, 1, 1, i, tzinfo=UTC),
        "is": None if i == 2 else i % 2 == 0,
    }
    for i in range(9)
]
id_, name = pc.field("id"), pc.field("name")
UNDERSTOOD = [
    id_ == 4,
    id_ == pa.scalar(4, pa.int64()),
    pc.field("small") == pa.scalar(4, pa.int8()),
    (id_ > 2) & (id_ <= 6) & id_.is_valid(),
    (id_ < 2) | ~(id_ != 8),
    id_.is_null(),
    ~id_.is_null() & (name != "a"),
    id_.isin([1, 4, 100]),
    ~id_.isin([1, 4]),
    name.isin(["a", "ä, ]", "line\nbreak"]),
    *(name == text for text in NAMES if text is not None),
    name >= "a",
    pc.field("day") == date(2026, 1, 3),
    pc.field("day") < pa.scalar(date(2026, 1, 3), pa.date32()),
    pc.field("amount") == pa.scalar(Decimal("2.50"), pa.decimal128(10, 2)),
    pc.field("at") == pa.scalar(datetime(2026, 1, 1, 4, 0, 0, 4), pa.timestamp("us")),
    pc.field("instant") >= pa.scalar(datetime(2026, 1, 1, 4, tzinfo=UTC), pa.timestamp("us", "UTC")),
    pc.field("is") == True,  # noqa: E712  an expression
]
OTHERS = [
    pc.field("share") != 2.0,  # NaN differs in Arrow and in SQL
    pc.starts_with(name, "a"),
    id_ + 1 == 5,
    pc.field("small") == 1000,
    id_ == pa.scalar(None, pa.int64()),
    pc.scalar(True),
    id_.cast(pa.int32()) == 4,
    id_ == pc.field("small"),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> PaimonTable:
    """A table with a file for each row."""
    import paimon_sql  # noqa: PLC0415

    lake = paimon_sql.open_catalog(str(tmp_path_factory.mktemp("lake")), time_zone="UTC")
    made = lake.create_table("t", SCHEMA, options={"write-only": "true", "source.split.target-size": "1 b"})
    for row in ROWS:
        made.append([row])
    return made


def in_order(rows: pa.Table) -> list[str]:
    return sorted(map(str, rows.to_pylist()))  # as texts, in which NaN equals NaN


@pytest.mark.parametrize("filter_", [*UNDERSTOOD, *OTHERS], ids=str)
def test_a_filter_gives_what_arrow_gives(table: PaimonTable, filter_: pc.Expression) -> None:
    expected = in_order(table.scan().to_arrow().filter(filter_))
    assert in_order(table.scan().to_dataset().to_table(filter=filter_)) == expected


@pytest.mark.parametrize("filter_", UNDERSTOOD, ids=str)
def test_a_filter_that_is_understood_selects_the_rows_of_the_scan(table: PaimonTable, filter_: pc.Expression) -> None:
    expected = in_order(table.scan().to_arrow().filter(filter_))
    scan = table.scan().to_dataset().scan_of(filter=filter_)
    assert scan.condition is not None
    assert in_order(scan.to_arrow()) == expected


@pytest.mark.parametrize("filter_", OTHERS, ids=str)
def test_a_filter_that_is_not_understood_is_left_to_arrow(table: PaimonTable, filter_: pc.Expression) -> None:
    fields = {f.name: f for f in table.inner.schema.fields}
    assert condition_in(filter_, fields, SCHEMA) is None


def test_filters_and_columns_choose_the_files_that_are_read(table: PaimonTable) -> None:
    dataset = table.scan().to_dataset()
    assert len(table.scan().plan()) == len(ROWS)
    assert len(dataset.scan_of(["id"], (id_ == 4) & (name > "")).plan()) == 1
    assert dataset.scan_of(["name"]).columns == ("name",)
    assert dataset.to_table(["name"], id_ == 4).to_pylist() == [{"name": "ä, ]"}]
    assert dataset.to_table({"twice": id_ + id_}, id_ == 4).to_pylist() == [{"twice": 8}]


def test_a_dataset_keeps_the_condition_and_the_limit_of_its_scan(table: PaimonTable) -> None:
    dataset = table.scan(["id", "name"], where="id >= 4").to_dataset()
    assert in_order(dataset.to_table(["id"], id_ < 6)) == ["{'id': 4}", "{'id': 5}"]
    assert dataset.count_rows() == 4
    assert dataset.count_rows(id_ == 8) == 1
    assert table.scan(limit=3).to_dataset().count_rows(id_ > 1) <= 3


def test_heads_batches_and_pickles(table: PaimonTable) -> None:
    dataset = table.scan().to_dataset()
    assert dataset.head(2, ["id"]).num_rows == 2
    assert sum(b.num_rows for b in dataset.to_batches(["id"], id_ > 4)) == 3
    copied = pickle.loads(pickle.dumps(dataset))  # noqa: S301  made here
    assert copied.count_rows() == len(ROWS)
    assert dataset.schema == table.schema


def test_every_method_of_datasets_works_or_is_refused(table: PaimonTable) -> None:
    """A method of the base class that is not replaced would end the process."""
    public = {n for n in dir(ds.Dataset) if not n.startswith("__")}
    assert public <= set(vars(TableDataset))
    dataset = table.scan().to_dataset()
    with pytest.raises(UnsupportedFeatureError, match="has no sort_by"):
        dataset.sort_by("id")
    with pytest.raises(UnsupportedFeatureError, match="has no partition_expression"):
        _ = dataset.partition_expression


def test_duckdb_and_polars_push_columns_and_filters_down(table: PaimonTable, lake: PaimonCatalog) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    dataset = table.scan().to_dataset()
    read: list[int] = []
    scan_of = TableDataset.scan_of

    def counted(self: TableDataset, *arguments: Any) -> Any:
        scan = scan_of(self, *arguments)
        read.append(len(scan.plan()))
        return scan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableDataset, "scan_of", counted)
        assert duckdb.sql("SELECT name FROM dataset WHERE id = 4 AND day > DATE '2026-01-02'").fetchall() == [("ä, ]",)]
        lazy = polars.scan_pyarrow_dataset(dataset)
        assert lazy.filter(polars.col("id") == 4).select("name").collect().to_dicts() == [{"name": "ä, ]"}]
        own = table.scan(["id", "name"]).to_polars(lazy=True)
        assert own.filter(polars.col("name") == "ä, ]").select("id").collect().to_dicts() == [{"id": 4}]
    assert read[-3:] == [1, 1, 1]
