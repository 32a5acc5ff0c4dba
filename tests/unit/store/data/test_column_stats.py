"""Statistics of files: what is believed depends on the format that they come from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.schema import TableSchema
from paimon_core.spec.stats import ColumnStats, encode_stats
from paimon_core.spec.types import BIGINT, DOUBLE, INT, STRING, DataField, DataType, Kind, TimeType
from paimon_core.store.data.bucket_files import BucketFiles
from paimon_core.store.data.column_stats import is_sorted_by_others, trusted_stats, value_stats
from paimon_core.store.data.counted_rows import check_counts
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.registry import SYSTEM_TABLES
from paimon_core.table import Table
from tests.support.data import make_store
from tests.support.tables import data_file, info, message

MOMENT, MILLIS = TimeType(Kind.TIMESTAMP, True, 6), TimeType(Kind.TIMESTAMP, True, 3)


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
        (MOMENT, ((1, 0), (5, 0)), ((1, 0), (5, 999_999))),  # as Paimon 0.4 cuts them
        (MILLIS, ((1, 0), (5, 0)), ((1, 0), (5, 0))),
        (INT, (1, 2), (1, 2)),
    ],
)
def test_bounds_of_orc_files_are_believed_where_they_can_be(data_type: DataType, given: Any, believed: Any) -> None:
    found = stats_of("data-1.orc", data_type, *given)
    assert (found.minimum, found.maximum, found.null_count) == (*believed, 2)
    parquet = stats_of("data-1.parquet", data_type, *given)
    assert repr((parquet.minimum, parquet.maximum)) == repr(given)


def test_files_that_count_equal_rows_have_no_statistics_of_columns(tmp_path: Path) -> None:
    """Tables of Paimon 0.4 with `write-mode` = change-log and no key: values are one count, rows are the keys."""
    options = {"write-mode": "change-log", "bucket": "1", "bucket-key": "k"}
    for columns in ({"k": BIGINT, "v": STRING}, {"k": BIGINT}):
        store = make_store(tmp_path / str(len(columns)), columns).with_options(options)
        store = replace(store, schema=replace(store.schema, options=options))
        assert create_schema(store.io, store.root, store.schema)
        counted = encode_stats([BIGINT], [ColumnStats(1, 1, 0)])
        key = encode_row([BIGINT, STRING][: len(columns)], [77, "x"][: len(columns)])
        file = data_file(store, 0, 0, value_stats=counted, value_stats_cols=None, min_key=key, max_key=key)
        assert value_stats(store.schema, file) == {}
        table = Table(store)
        table.commit_or_abort([message(store, file)], info())
        for predicate in (Compare("k", "=", 77), Compare("k", ">", 5)):
            assert [s.files for s in table.plan(table.latest_snapshot(), predicate).splits] == [(file,)]
        (row,) = system_table_rows(store)
        assert "k=null" in row


@pytest.mark.parametrize("counts", [(1, 2), (-1, 1), (0, 1), (-1, -1), (1, 1), (None, None)])
def test_positions_in_files_that_count_a_row_other_than_once_are_refused(
    tmp_path: Path, counts: tuple[int | None, ...]
) -> None:
    """A row of number -1 removes an equal row of another file: it was shown."""
    options = {"write-mode": "change-log", "bucket": "1", "bucket-key": "k"}
    store = make_store(tmp_path, {"k": BIGINT}).with_options(options)
    store = replace(store, schema=replace(store.schema, options=options))
    key, counted = encode_row([BIGINT], [77]), encode_stats([BIGINT], [ColumnStats(*counts, 0)])
    theirs = data_file(store, 0, 0, value_stats=counted, value_stats_cols=None, min_key=key, max_key=key)
    ours = data_file(store, 0, 0, value_stats=encode_stats([BIGINT], [ColumnStats(5, 9, 0)]), value_stats_cols=None)
    check_counts(store, ours)
    check_counts(replace(store, schema=replace(store.schema, options={})), theirs)
    if counts == (1, 1):
        check_counts(store, theirs)
        return
    assert create_schema(store.io, store.root, store.schema)
    table = Table(store)
    table.commit_or_abort([message(store, theirs)], info())
    assert table.plan(table.latest_snapshot()).row_count is None
    with pytest.raises(UnsupportedFeatureError, match=r"counts equal rows.*'write-mode' = 'change-log'"):
        list(BucketFiles(store, str(tmp_path), store.schema.fields).read([theirs]))


def system_table_rows(store: TableStore) -> list[str]:
    """The statistics that `$files` shows."""
    found = SYSTEM_TABLES["files"].rows(store, None)
    assert isinstance(found, pa.Table)
    return [str(r) for r in found.to_pylist()]


@pytest.mark.parametrize(("spelled", "others"), [("TRUE", True), ("True", True), (" true ", True), ("false", False)])
def test_an_option_of_another_engine_is_read_in_any_case(spelled: str, others: bool) -> None:
    """Files that are sorted by other columns have no bounds of their keys: rows would be left out of queries."""
    field = DataField(id=0, name="k", type=INT.with_nullable(False))
    options = {"pk-clustering-override": spelled}
    schema = TableSchema(fields=(field,), highest_field_id=0, primary_keys=("k",), options=options)
    assert is_sorted_by_others(schema) is others
