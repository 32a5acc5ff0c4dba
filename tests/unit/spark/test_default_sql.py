"""Defaults as schemas keep them, as SQL of the type of their column."""

from __future__ import annotations

import pytest

from paimon_core.spec.types import BYTES, DATE, DOUBLE, INT, STRING, CollectionType, DataField, DataType, Kind, TimeType
from paimon_sql.spark.types import default_sql


@pytest.mark.parametrize(
    ("kept", "data_type", "sql"),
    [
        (None, INT, "NULL"),
        ("null", STRING, "NULL"),
        ("3", INT, "3"),
        ("'3'", INT, "3"),
        ("new", STRING, "'new'"),
        ("'new'", STRING, "'new'"),
        ("'it's'", STRING, "'it\\'s'"),
        ("2026-01-31", DATE, "DATE '2026-01-31'"),
        ("'2026-01-31'", DATE, "DATE '2026-01-31'"),
        ("'2026-01-31 10:00:00'", TimeType(Kind.TIMESTAMP), "TIMESTAMP_NTZ '2026-01-31 10:00:00'"),
        ("'2026-01-31 10:00:00'", TimeType(Kind.TIMESTAMP_LTZ), "TIMESTAMP '2026-01-31 10:00:00'"),
        ("'ä'", BYTES, "X'c3a4'"),
        ("1e3", DOUBLE, "1e3"),
        ("'Infinity'", DOUBLE, "CAST('Infinity' AS DOUBLE)"),
        ("ARRAY(1, 2)", CollectionType(kind=Kind.ARRAY, element=INT), "ARRAY(1, 2)"),
    ],
)
def test_default_sql(kept: str | None, data_type: DataType, sql: str) -> None:
    assert default_sql(DataField(id=0, name="a", type=data_type, default=kept)) == sql
