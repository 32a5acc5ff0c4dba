"""Filters by values of MAP keys with a file index, in tables with data evolution."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.expressions.predicate import Compare
from paimon_core.spec.types import INT, STRING, MapType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_sql.catalog.load import load_catalog
from tests.support.evolving import EVOLVES, EvolvingRows
from tests.support.stored import T, open_table
from tests.support.tables import fields

ROWS = EvolvingRows({"id": pa.int32(), "m": pa.map_(pa.string(), pa.int32())})


@pytest.mark.parametrize("value", [0, 2, 7])
def test_rows_are_found_by_the_value_of_a_key(tmp_path: Path, value: int) -> None:
    options = EVOLVES | {"file-index.bloom-filter.columns": "m[a]"}
    columns = fields(id=INT, m=MapType(key=STRING.with_nullable(False), value=INT))
    load_catalog({"warehouse": str(tmp_path)}).create_table(T, new_table_schema(columns, options=options))
    table = open_table(str(tmp_path))
    ROWS.insert(table, [(i, [("a", i % 3)]) for i in range(6)])
    splits = table.plan(table.latest_snapshot(), Compare("m[a]", "=", value)).splits
    assert bool([f for s in splits for f in s.files]) is (value < 3)
