"""Conditions of scans and writes as expressions of `pyarrow.compute`."""

from __future__ import annotations

import pickle
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_core.arrow.table_fields import table_fields
from paimon_core.errors import ColumnNotFoundError, InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from paimon_core.spec.types import DataField, Kind, LengthType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.table import PaimonTable
from tests.unit.python.test_dataset import OTHERS, ROWS, SCHEMA, UNDERSTOOD

NESTED = [
    pc.field("r", "x") == 4,
    pc.and_kleene(pc.field("id") > 2, pc.is_nan(pc.field("share"))),
    pc.utf8_length(pc.field("name")) > 3,
    pc.if_else(pc.field("is"), pc.field("id"), 0) > 3,
    pc.year(pc.field("day")) == 2026,
    pc.field("c") == "a ",
    pc.field("identity") > 3,
]
EXPRESSIONS = [*UNDERSTOOD, *OTHERS, *NESTED]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> PaimonTable:
    """The table of the tests of datasets with a ROW, a CHAR, and a column with a name that begins as another one's."""
    catalog = open_catalog(str(tmp_path_factory.mktemp("lake")), time_zone="UTC")
    more = pa.schema([*SCHEMA, ("r", pa.struct([("x", pa.int32())])), ("identity", pa.int64())])
    padded = DataField(id=100, name="c", type=LengthType(Kind.CHAR, length=2))
    catalog.inner.create_table(catalog.identifier("t"), new_table_schema([*table_fields(more), padded]))
    made = catalog.table("t")
    data = [{**row, "r": {"x": i}, "identity": i, "c": "a"} for i, row in enumerate(ROWS)]
    made.append(data[:5])
    made.append(data[5:])
    return made


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_an_expression_selects_the_rows_that_arrow_selects(table: PaimonTable, number: int) -> None:
    where = EXPRESSIONS[number]
    everything = table.scan().to_arrow()
    found = table.scan(["identity"], where=where)
    assert found.to_arrow()["identity"].to_pylist() == everything.filter(where)["identity"].to_pylist()
    assert found.count() == found.to_arrow().num_rows
    parts = pickle.loads(pickle.dumps(found.plan()))  # noqa: S301  of this test
    assert sum(part.to_arrow().num_rows for part in parts) == found.count()


def test_positions_of_columns(table: PaimonTable) -> None:
    """A column may be named by its position among all columns, whichever columns are read."""
    everything, names = table.scan().to_arrow(), table.schema.names
    number = names.index("identity")
    for where in (
        pc.field(number) > 3,
        (pc.field(number) > 3) & (pc.field("name") > "a"),
        pc.field(number).isin([2, 4]) | pc.field("r", "x").is_null(),
    ):
        expected = everything.filter(where)["id"].to_pylist()
        assert table.scan(["id"], where=where).to_arrow()["id"].to_pylist() == expected
        read = table.scan().to_dataset().to_table(columns=["id"], filter=where)
        assert read["id"].to_pylist() == expected
    with pytest.raises(ColumnNotFoundError):
        table.scan(where=pc.field(1000) > 3)


def test_what_prunes_and_what_is_read(table: PaimonTable) -> None:
    found = table.scan(["id"], where=(pc.field("id") > 6) & (pc.field("name") != "a"))
    assert "pushed filters: id > 6, name" in found.explain()
    assert len(found.plan()) == 1 and sum(s.split.row_count for s in found.plan()) < len(ROWS)
    opaque = table.scan(["id"], where=pc.field("identity") + 1 > 3)
    assert opaque.condition is not None and opaque.condition.columns == {"identity"}  # not "id", too


def test_writes_take_expressions(lake: PaimonCatalog) -> None:
    days = lake.create_table("shop.t", pa.schema([("day", pa.date32()), ("n", pa.int64())]), partitioned_by="day")
    first, second = date(2026, 1, 1), date(2026, 1, 2)
    days.append([{"day": d, "n": n} for d in (first, second) for n in range(4)])
    days.delete(where=pc.field("n") + 1 == 1)
    days.update({"n": "n * 10"}, where=pc.field("n").isin([1, 3]) & (pc.field("day") == first))
    days.overwrite([{"day": second, "n": 7}], where=pc.field("day") == second)
    rows = sorted((r["day"], r["n"]) for r in days.scan().to_arrow().to_pylist())
    assert rows == [(first, 2), (first, 10), (first, 30), (second, 7)]
    with pytest.raises(UnsupportedFeatureError, match="replaces whole partitions"):
        days.overwrite([], where=pc.field("n") + 1 == 3)


def test_what_is_refused(table: PaimonTable) -> None:
    refused = [
        (pc.field("nothing") == 1, ColumnNotFoundError, "the columns are id, "),
        (pc.field("id") + 1, InvalidOptionError, "of type int64, not a condition"),
        (pc.utf8_upper(pc.field("id")) == "A", UnsupportedFeatureError, "no such function"),
        (5, TypeError, "where must be a condition: .* not a value of type int"),
        (lambda row: True, TypeError, "where must be a condition: .* not a value of type function"),
    ]
    for where, error, message in refused:
        with pytest.raises(error, match=message):
            table.scan(where=where)  # type: ignore[arg-type]
    with pytest.raises(InvalidDataError, match="cannot evaluate"):
        table.scan(where=pc.divide(pc.scalar(8), pc.field("identity")) > 1).to_arrow()
