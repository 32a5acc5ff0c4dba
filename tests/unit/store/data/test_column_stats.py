"""Statistics of files: what is believed depends on the format that they come from."""

from __future__ import annotations

import math
from typing import Any

import pytest

from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import ColumnStats, encode_stats
from paimon_core.spec.types import DOUBLE, INT, DataField, DataType, Kind, TimeType
from paimon_core.store.data.column_stats import trusted_stats, value_stats

MOMENT = TimeType(Kind.TIMESTAMP, True, 6)


def stats_of(file_name: str, data_type: DataType, low: Any, high: Any) -> ColumnStats:
    schema = TableSchema(fields=(DataField(id=0, name="c", type=data_type),), highest_field_id=0)
    file = DataFileMeta(
        file_name=file_name,
        file_size=1,
        row_count=10,
        min_sequence_number=0,
        max_sequence_number=9,
        schema_id=0,
        value_stats=encode_stats([data_type], [ColumnStats(low, high, 2)]),
    )
    return trusted_stats(schema, value_stats(schema, file), file)["c"]


@pytest.mark.parametrize(
    ("data_type", "given", "believed"),
    [
        (DOUBLE, (1.0, 2.0), (1.0, None)),
        (DOUBLE, (math.nan, math.nan), (None, None)),
        (MOMENT, ((-1, 0), (5, 1000)), (None, (5, 1000))),
        (MOMENT, ((-5, 0), (-1, 0)), (None, None)),
        (INT, (1, 2), (1, 2)),
    ],
)
def test_bounds_of_orc_files_are_believed_where_they_can_be(data_type: DataType, given: Any, believed: Any) -> None:
    found = stats_of("data-1.orc", data_type, *given)
    assert (found.minimum, found.maximum, found.null_count) == (*believed, 2)
    parquet = stats_of("data-1.parquet", data_type, *given)
    assert repr((parquet.minimum, parquet.maximum)) == repr(given)
