"""`write.merge-schema` in Python: writes that add columns, in the commit of their rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import (
    ColumnNotFoundError,
    CommitConflictError,
    InvalidDataError,
    PaimonError,
    UnsupportedFeatureError,
)
from paimon_core.table import Table
from paimon_sql import open_table
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int32())])
MERGES = {"write.merge-schema": "true"}


def rows(lake: PaimonCatalog) -> list[dict[str, Any]]:
    return sorted(lake.table("shop.t").scan().to_arrow().to_pylist(), key=str)


@pytest.fixture(params=["append", "keyed"])
def table(lake: PaimonCatalog, request: Any) -> PaimonTable:
    """A table with a row, without a key or with one."""
    about = {"append": {}, "keyed": {"primary_key": "k", "options": {"bucket": "1"}}}[request.param]
    made = lake.create_table("shop.t", SCHEMA, **about)
    write(made, [{"k": 1, "v": 1}])
    return made


def write(table: PaimonTable, data: Any, options: dict[str, str] | None = None) -> None:
    (table.upsert if table.primary_key else table.append)(data, options)


def test_columns_are_added_with_the_rows(table: PaimonTable, lake: PaimonCatalog) -> None:
    with pytest.raises(ColumnNotFoundError, match="write.merge-schema"):
        write(table, [{"k": 2, "name": "x"}])
    write(table, [{"k": 2, "name": "x"}], MERGES)
    write(table, [{"k": 3, "name": "y", "tags": ["a"]}], MERGES)  # the table as it was loaded before
    assert rows(lake) == [
        {"k": 1, "v": 1, "name": None, "tags": None},
        {"k": 2, "v": None, "name": "x", "tags": None},
        {"k": 3, "v": None, "name": "y", "tags": ["a"]},
    ]
    assert [s["schema_id"] for s in lake.table("shop.t").inspect("snapshots").to_pylist()] == [0, 1, 2]


def test_the_option_of_the_table(lake: PaimonCatalog) -> None:
    made = lake.create_table("shop.t", SCHEMA, options=MERGES)
    made.append(pa.table({"K": [1], "new": [2.5]}))
    made.overwrite(pa.table({"k": [2], "other": [True]}))
    assert rows(lake) == [{"k": 2, "v": None, "new": None, "other": True}]


def test_types_become_wider_by_an_option_of_their_own(table: PaimonTable, lake: PaimonCatalog) -> None:
    with pytest.raises(InvalidDataError, match="does not fit"):
        write(table, pa.table({"k": [2], "v": [2**40]}), MERGES)
    write(table, pa.table({"k": [2], "v": [2**40]}), MERGES | {"write.merge-schema.type-widening": "true"})
    assert [row["v"] for row in rows(lake)] == [1, 2**40]


def test_columns_that_only_have_nulls_add_nothing(table: PaimonTable, lake: PaimonCatalog) -> None:
    with pytest.raises(ColumnNotFoundError, match="nothing"):
        write(table, [{"k": 2, "nothing": None}], MERGES)
    assert lake.table("shop.t").schema.names == ["k", "v"]


def test_a_type_that_a_table_cannot_have(table: PaimonTable) -> None:
    with pytest.raises(UnsupportedFeatureError, match="'d'"):
        write(table, pa.table({"k": [2], "d": pa.array([1], pa.duration("s"))}), MERGES)


def test_a_write_that_fails_adds_no_column(table: PaimonTable, lake: PaimonCatalog) -> None:
    with pytest.raises(InvalidDataError):
        write(table, pa.table({"k": ["x"], "new": [1]}), MERGES)
    assert lake.table("shop.t").schema.names == ["k", "v"]


def test_another_writer_adds_the_column_meanwhile(
    table: PaimonTable, lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, before = Table.check_not_made, [1]

    def late(*args: Any) -> None:
        check(*args)
        if before:
            before.clear()
            lake.table("shop.t").alter(add={"new": pa.string()})

    monkeypatch.setattr(Table, "check_not_made", late)
    with pytest.raises(PaimonError) as raised:
        write(table, [{"k": 2, "new": 5}], MERGES)
    assert isinstance(raised.value, CommitConflictError), raised.value
    assert rows(lake) == [{"k": 1, "v": 1, "new": None}]


def test_a_table_opened_by_its_path(lake: PaimonCatalog) -> None:
    made = lake.create_table("shop.t", SCHEMA)
    open_table(made.location).append([{"k": 1, "new": "x"}], MERGES)
    assert rows(lake) == [{"k": 1, "v": None, "new": "x"}]


def test_a_write_in_parts_adds_no_column(lake: PaimonCatalog) -> None:
    made = lake.create_table("shop.t", SCHEMA, options=MERGES)
    with pytest.raises(ColumnNotFoundError):
        made.plan_write().write([{"k": 1, "new": "x"}])
