from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.stats import (
    EMPTY_STATS,
    SIMPLE_STATS,
    UNKNOWN,
    ColumnStats,
    SimpleStats,
    decode_stats,
    encode_stats,
)
from paimon_core.spec.types import BIGINT, INT, STRING, CollectionType, DecimalType, Kind, TimeType
from tests.support.golden_files import entries, manifest_lists, schemas, table_of

TYPES = (INT, STRING, DecimalType(precision=38), CollectionType(Kind.ARRAY))
COLUMNS = (
    ColumnStats(-1, 5, 0),
    ColumnStats("a", "a text longer than a slot", 2),
    ColumnStats(Decimal(-(10**37)), None, None),
    ColumnStats(None, None, 7),
)
SYSTEM_COLUMNS = {"_SEQUENCE_NUMBER", "_VALUE_KIND", "_ROW_ID"}


def test_both_ways() -> None:
    stats = encode_stats(TYPES, COLUMNS)
    assert decode_stats(TYPES, stats) == COLUMNS
    assert stats.min_values == encode_row(TYPES, [-1, "a", Decimal(-(10**37)), None])
    assert stats.max_values == encode_row(TYPES, [5, "a text longer than a slot", None, None])
    assert stats.null_counts == (0, 2, None, 7)
    assert SIMPLE_STATS.from_avro(SIMPLE_STATS.to_avro(stats)) == stats
    assert SIMPLE_STATS.from_json(SIMPLE_STATS.to_json(stats)) == stats
    assert encode_stats((), ()) == EMPTY_STATS
    assert decode_stats((), EMPTY_STATS) == ()


@pytest.mark.parametrize("counts", [None, (), (0, 2)])
def test_counts_of_old_writers_may_be_missing(counts: tuple[int, ...] | None) -> None:
    stats = replace(encode_stats(TYPES, COLUMNS), null_counts=counts)
    given = [*(counts or ()), None, None, None, None]
    assert [c.null_count for c in decode_stats(TYPES, stats)] == given[:4]
    assert [c.maximum for c in decode_stats(TYPES, stats)] == [c.maximum for c in COLUMNS]
    assert SIMPLE_STATS.from_json(SIMPLE_STATS.to_json(stats)) == stats


def test_statistics_of_other_columns_are_unknown() -> None:
    assert decode_stats((INT,), encode_stats(TYPES, COLUMNS)) == (ColumnStats(None, None, 0),)
    for row in (b"", b"\0\0\0\1", b"\0\0\0\1" + bytes(15)):
        assert decode_stats((INT,), SimpleStats(min_values=row, max_values=row, null_counts=())) == (UNKNOWN,)
    assert ColumnStats() == UNKNOWN


def test_a_bound_that_does_not_decode_is_unknown_and_others_are_not() -> None:
    """pypaimon 1.3.2 puts 8 bytes of TIMESTAMP(6) and of wide DECIMALs into the slot."""
    as_written = (INT, BIGINT, BIGINT, STRING)
    row = encode_row(as_written, [7, 1_700_000_000_123, 123_456_789_012_345, "a text longer than a slot"])
    types = (INT, TimeType(Kind.TIMESTAMP, True, 6), DecimalType(precision=30, scale=5), STRING)
    found = decode_stats(types, SimpleStats(min_values=row, max_values=row, null_counts=(0, 1, 2, 3)))
    assert [(c.minimum, c.null_count) for c in found] == [
        (7, 0),
        (None, 1),
        (None, 2),
        ("a text longer than a slot", 3),
    ]
    assert [c.maximum for c in found] == [c.minimum for c in found]


def test_golden_statistics_of_files_both_ways() -> None:
    checked = 0
    for table, schema, e in entries():
        columns = e.file.value_stats_cols if e.file.value_stats_cols is not None else e.file.write_cols
        names = tuple(f.name for f in schema.fields) if columns is None else columns
        if SYSTEM_COLUMNS & set(names):
            continue
        types = schema.types(names)
        assert encode_stats(types, decode_stats(types, e.file.value_stats)) == e.file.value_stats, table
        if schema.primary_keys and "clustering.columns" not in schema.options:
            types = schema.types(schema.trimmed_primary_keys)
            assert encode_stats(types, decode_stats(types, e.file.key_stats)) == e.file.key_stats, table
        checked += 1
    assert checked > 300


def test_golden_statistics_of_partitions_both_ways() -> None:
    checked = 0
    for path, metas in manifest_lists().items():
        for meta in metas:
            schema = schemas().get((table_of(path), meta.schema_id))
            if schema is not None:
                types = schema.types(schema.partition_keys)
                assert encode_stats(types, decode_stats(types, meta.partition_stats)) == meta.partition_stats, path
                checked += len(types)
    assert checked > 50
