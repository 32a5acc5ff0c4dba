from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_type
from paimon_core.spec.binary_row import encode_body
from paimon_core.spec.hashing.murmur import bucket_of, murmur3_row, murmur3_words
from paimon_core.spec.types import DataField, parse_type
from paimon_core.write.buckets.bucketing import BucketFunction
from tests.support.golden import GOLDEN_DATABASE, golden_table
from tests.support.golden_files import schemas


def fixed_buckets() -> dict[str, int]:
    """Tables with buckets of the default function, and how many."""
    found = {table: s.options for (table, _), s in sorted(schemas().items())}
    default = {t: o for t, o in found.items() if "bucket-function.type" not in o}
    return {t: int(o["bucket"]) for t, o in default.items() if int(o.get("bucket", "-1")) > 1}


@pytest.mark.parametrize("table", fixed_buckets())
def test_golden_rows_lie_in_their_buckets(table: str) -> None:
    buckets, rows = fixed_buckets()[table], 0
    schema = schemas()[table, 0]
    types = schema.types(schema.bucket_keys)
    for path in (GOLDEN_DATABASE / table).rglob("bucket-*/*.parquet"):
        if path.name.startswith("changelog-"):
            continue
        keys = pq.ParquetFile(path).read(columns=list(schema.bucket_keys)).to_pylist()
        hashes = np.array([murmur3_row(encode_body(types, list(k.values()))) for k in keys], dtype=np.int32)
        assert set(bucket_of(hashes, buckets).tolist()) == {int(path.parent.name.removeprefix("bucket-"))}, path
        rows += len(keys)
    assert rows > 1


@pytest.mark.parametrize("table", ["bucket_mod", "bucket_hive"])
def test_golden_rows_lie_in_the_buckets_of_other_functions(table: str) -> None:
    function, rows = BucketFunction.of(golden_table(table).store), 0
    for path in (GOLDEN_DATABASE / table).rglob("bucket-*/*.parquet"):
        for batch in pq.ParquetFile(path).iter_batches():
            assert set(function(batch).tolist()) == {int(path.parent.name.removeprefix("bucket-"))}, path
            rows += batch.num_rows
    assert rows > 1


def test_several_tables_have_buckets() -> None:
    assert {"pk_int", "pk_bigint", "pk_date", "pk_boolean", "pk_bucket_key", "bucket_append_key", "part_pk"} <= set(
        fixed_buckets()
    )


def scalar(data: bytes, seed: int = 42) -> int:
    """MurmurHash3 x86 32 of whole words, one integer at a time."""
    h = seed
    for (k,) in np.frombuffer(data, "<u4").reshape(-1, 1).tolist():
        k = k * 0xCC9E2D51 & 0xFFFFFFFF
        k = (k << 15 | k >> 17) & 0xFFFFFFFF
        h ^= k * 0x1B873593 & 0xFFFFFFFF
        h = (h << 13 | h >> 19) & 0xFFFFFFFF
        h = (h * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return h - 2**32 if h >= 2**31 else h


@given(st.binary(max_size=64).map(lambda b: b[: len(b) // 4 * 4]))
def test_one_row(data: bytes) -> None:
    assert murmur3_row(data) == scalar(data)


LAST_MILLI, LAST_MICRO = "1969-12-31 23:59:59.999", "1969-12-31 23:59:59.999999"
MILLI, MICRO = "2024-02-29 12:34:56.789", "2024-02-29 12:34:56.789012"
# of 10007 buckets, the numbers that Java's connector gave
BUCKETS: list[tuple[str, list[Any], list[int]]] = [
    ("CHAR(5)", ["a    ", "abcde", "äöü  ", "     "], [5032, 8631, 1465, 7411]),
    ("VARCHAR(10)", ["a", "seven77", "eight888", "äöüäöüäöü"], [1412, 8696, 401, 7036]),
    ("TIMESTAMP(0)", ["1970-01-01 00:00:01", "1600-01-01", "2024-02-29 12:34:56"], [8658, 1057, 9903]),
    ("TIMESTAMP(3)", [LAST_MILLI, "9999-12-31 23:59:59.999", MILLI], [4068, 6856, 5226]),
    ("TIMESTAMP(9)", [LAST_MICRO, "1678-01-01 00:00:00.5", MICRO], [9105, 1283, 555]),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", [LAST_MILLI, MILLI], [4068, 5226]),
    ("TIMESTAMP(9) WITH LOCAL TIME ZONE", [LAST_MICRO, MICRO], [9105, 555]),
]


@pytest.mark.parametrize(("sql_type", "values", "expected"), BUCKETS)
def test_buckets_of_texts_and_times(sql_type: str, values: list[Any], expected: list[int]) -> None:
    data_type = parse_type(sql_type)
    keys = values if "CHAR" in sql_type else [datetime.fromisoformat(v) for v in values]
    rows = pa.record_batch([pa.array(keys, arrow_type(data_type))], names=["k"])
    assert BucketFunction((DataField(id=0, name="k", type=data_type),), 10007)(rows).tolist() == expected


@given(st.lists(st.binary(max_size=40).map(lambda b: b[: len(b) // 4 * 4]), min_size=1, max_size=8))
def test_rows_of_different_length(rows: list[bytes]) -> None:
    width = max(map(len, rows))
    words = np.stack([np.frombuffer(r.ljust(width, b"\xff"), dtype="<u4") for r in rows])
    lengths = np.array([len(r) // 4 for r in rows], dtype=np.int64)
    assert murmur3_words(words, lengths).tolist() == [scalar(r) for r in rows]


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=8), st.integers(1, 2**31 - 1))
def test_buckets_of_negative_hashes(hashes: list[int], buckets: int) -> None:
    found = bucket_of(np.array(hashes, dtype=np.int32), buckets).tolist()
    assert found == [abs(h) % buckets for h in hashes]
    assert all(0 <= b < buckets for b in found)


def test_an_empty_row_and_no_rows() -> None:
    assert murmur3_row(b"") == scalar(b"")
    assert murmur3_words(np.zeros((0, 4), dtype=np.uint32)).shape == (0,)
