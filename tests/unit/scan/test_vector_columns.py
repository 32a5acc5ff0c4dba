"""Tables with a VECTOR column: the other columns are read, the column itself is refused by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.commit.draft import CommitInfo
from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare, Predicate
from paimon_core.scan.execution import ScanRequest, choose_execution
from paimon_core.scan.read import read_split
from paimon_core.spec.types import FLOAT, INT, STRING, CollectionType, Kind, VectorType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from paimon_sql.catalog.load import load_catalog
from tests.support.stored import T, open_table
from tests.support.tables import fields

ROWS = {"v": [[0.5, 1.5], None, [2.5, 3.5]], "k": [1, 2, 3], "name": ["a", "b", "c"]}
OPTIONS = {"append": {}, "keyed": {"primary-key": "k", "bucket": "1"}}


@pytest.fixture(params=sorted(OPTIONS))
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table that another engine wrote: its vectors lie in files as arrays do, first among the columns."""
    columns = fields(v=CollectionType(Kind.ARRAY, element=FLOAT), k=INT, name=STRING)
    warehouse = str(tmp_path)
    load_catalog({"warehouse": warehouse}).create_table(T, new_table_schema(columns, options=OPTIONS[request.param]))
    written = open_table(warehouse)
    writer = open_writer(written.store, sequence_start=0)
    types = [pa.list_(pa.float32()), pa.int32(), pa.string()]
    arrays = [pa.array(values, t) for values, t in zip(ROWS.values(), types, strict=True)]
    writer.write(pa.record_batch(arrays, names=list(ROWS)))
    written.commit_or_abort(writer.finish(), CommitInfo(user="another"))
    path = Path(written.store.paths.schema(0))
    node = json.loads(path.read_text())
    node["fields"][0]["type"] = {"type": "VECTOR", "element": "FLOAT", "length": 2}
    path.write_text(json.dumps(node))
    return open_table(warehouse)


def read(table: Table, *columns: str, predicate: Predicate | None = None) -> list[tuple[object, ...]]:
    splits = table.plan(table.latest_snapshot(), predicate).splits
    batches = (b for s in splits for b in read_split(table.store, s, list(columns), predicate))
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def test_other_columns_are_read_filtered_and_counted(table: Table) -> None:
    assert table.schema.fields[0].type == VectorType(Kind.ARRAY, element=FLOAT, length=2)
    assert read(table, "k", "name") == [(1, "a"), (2, "b"), (3, "c")]
    assert read(table, "name", predicate=Compare("name", "=", "b")) == [("b",)]
    assert len(read(table, "k")) == 3
    assert table.system_table("files").num_rows == 1
    assert "VECTOR" in str(table.system_table("schemas").to_pylist()[0]["fields"])


def test_the_column_is_refused_by_its_name(table: Table) -> None:
    message = r"Column 'v' of table default\.t is of type VECTOR<FLOAT, 2>.*Select other columns \(k, name\)"
    with pytest.raises(UnsupportedFeatureError, match=message):
        read(table, "k", "v")
    plan = table.plan(table.latest_snapshot())
    with pytest.raises(UnsupportedFeatureError, match=message):
        choose_execution(table.store, plan, ScanRequest(("k", "v")))
    choose_execution(table.store, plan, ScanRequest(("k", "name")))


def test_rows_are_not_written(table: Table) -> None:
    with pytest.raises(UnsupportedFeatureError, match="cannot be written: column 'v' is of type VECTOR<FLOAT, 2>"):
        table.check_writable()
    assert read(table, "k") == [(1,), (2,), (3,)]
