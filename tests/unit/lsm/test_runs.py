"""Sections hold every key once; runs never overlap."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import UnfamiliarFormError
from paimon_core.lsm.runs import key_order, key_range, sections, written
from paimon_core.spec.binary_row import encode_row
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.types import INT


def file(low: int, high: int, name: str = "f") -> DataFileMeta:
    return DataFileMeta(
        file_name=name,
        file_size=1,
        row_count=1,
        min_key=encode_row([INT], [low]),
        max_key=encode_row([INT], [high]),
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
    )


spans = st.tuples(st.integers(0, 30), st.integers(0, 8)).map(lambda t: (t[0], t[0] + t[1]))


@given(st.lists(spans, max_size=12))
def test_sections_are_disjoint_and_runs_minimal(ranges: list[tuple[int, int]]) -> None:
    files = [file(low, high, str(i)) for i, (low, high) in enumerate(ranges)]
    bounds = dict(zip((f.file_name for f in files), ranges, strict=True))
    result = sections(files, [INT])
    seen = [f.file_name for section in result for run in section for f in run.files]
    assert sorted(seen) == sorted(bounds)
    last = -1
    for section in result:
        inside = [bounds[f.file_name] for run in section for f in run.files]
        assert min(low for low, _ in inside) > last
        last = max(high for _, high in inside)
        for run in section:
            spans_of_run = [bounds[f.file_name] for f in run.files]
            assert all(a[1] < b[0] for a, b in zip(spans_of_run, spans_of_run[1:], strict=False))
        deepest = max(sum(low <= p <= high for low, high in inside) for p in range(40))
        assert len(section) == deepest


@given(st.lists(spans, max_size=12), st.randoms())
def test_sections_do_not_depend_on_the_order_of_files(ranges: list[tuple[int, int]], random: Random) -> None:
    files = [file(low, high, str(i)) for i, (low, high) in enumerate(ranges)]
    assert sections(random.sample(files, len(files)), [INT]) == sections(files, [INT])


@given(st.permutations(range(4)))
def test_runs_are_ordered_by_time_whatever_their_numbers(numbers: list[int]) -> None:
    """Java 0.5 numbers rows by their `sequence.field`, so a later file may have smaller numbers."""
    spans_of = ((0, 9), (1, 3), (0, 9), (0, 5))
    files = [
        replace(
            file(*spans_of[i], str(i)),
            level=1 if i == 0 else 0,
            creation_time=datetime(2024, 1, 1, 12 - i if i == 0 else i, tzinfo=UTC),
            max_sequence_number=number,
        )
        for i, number in enumerate(numbers)
    ]
    ((*runs,),) = sections([files[i] for i in numbers], [INT])
    runs.sort(key=written)
    assert [[f.file_name for f in run.files] for run in runs] == [["0"], ["1"], ["2"], ["3"]]


def test_float_keys_tell_zeros_apart_and_put_nan_last() -> None:
    values = [math.nan, math.inf, 0.0, -0.0, -1.0]
    ordered = sorted(values, key=lambda v: key_order([v]))
    assert [str(v) for v in ordered] == ["-1.0", "-0.0", "0.0", "inf", "nan"]


def test_a_key_range_that_does_not_decode_names_the_file() -> None:
    broken = DataFileMeta(
        file_name="data-1.parquet", file_size=1, row_count=1, min_sequence_number=0, max_sequence_number=0, schema_id=0
    )
    with pytest.raises(UnfamiliarFormError, match=r"data-1\.parquet"):
        key_range(broken, [INT])
