"""Merging equals a dictionary, however the rows are cut into runs and batches."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.lsm.engines.deduplicate import deduplicate
from paimon_core.lsm.merge import MergeSpec, merge_runs

SCHEMA = pa.schema(
    [
        pa.field("_KEY_a", pa.int64(), nullable=False),
        pa.field("_KEY_b", pa.string(), nullable=False),
        pa.field("_SEQUENCE_NUMBER", pa.int64(), nullable=False),
        pa.field("_VALUE_KIND", pa.int8(), nullable=False),
        pa.field("v", pa.int32()),
    ]
)
Row = tuple[int, str, int, int, int | None]
keys = st.tuples(st.integers(0, 4), st.sampled_from(["", "a", "a\0", "ab", "a long text of many words"]))
run_rows = st.dictionaries(keys, st.tuples(st.sampled_from([0, 1, 2, 3]), st.none() | st.integers(0, 3)), max_size=12)


def batches(rows: list[Row], size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), size):
        columns = zip(*rows[start : start + size], strict=True)
        yield pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def spec(**given: Any) -> MergeSpec:
    return MergeSpec(key_names=("_KEY_a", "_KEY_b"), engine=deduplicate, **given)


def merged(runs: list[list[Row]], size: int, rules: MergeSpec) -> list[Row]:
    result = merge_runs([batches(r, size) for r in runs], rules)
    return [tuple(row.values()) for batch in result for row in batch.to_pylist()]  # type: ignore[misc]


@given(st.lists(run_rows, max_size=5), st.integers(1, 5), st.booleans(), st.booleans(), st.booleans())
def test_merge_equals_a_dictionary(
    given_runs: list[dict[Any, Any]], size: int, drop_delete: bool, by_field: bool, newest_first: bool
) -> None:
    runs: list[list[Row]] = []
    number = 0
    for content in given_runs:
        run = []
        for (a, b), (kind, value) in sorted(content.items()):
            run.append((a, b, number, kind, value))
            number += 1
        runs.append(run)
    model: dict[tuple[int, str], Row] = {}
    for row in (r for run in runs for r in run):
        old = model.get(row[:2])
        rank = [-1 if r[4] is None else r[4] for r in (row, old) if r]
        if old is None or not by_field or rank[0] >= rank[1]:
            model[row[:2]] = row
    expected = [model[k] for k in sorted(model) if not drop_delete or model[k][3] in (0, 2)]
    rules = spec(drop_delete=drop_delete, sequence_fields=("v",) if by_field else ())
    assert merged(runs[::-1] if newest_first else runs, size, rules) == expected


def test_among_equal_sequence_numbers_the_later_run_wins() -> None:
    assert merged([[(1, "a", 7, 0, 1)], [(1, "a", 7, 0, 2)]], 10, spec()) == [(1, "a", 7, 0, 2)]


def test_runs_are_closed_where_one_cannot_be_read() -> None:
    """Also while the error, whose traceback has all of them, is still held."""
    closed: list[int] = []

    def run(number: int) -> Iterator[pa.RecordBatch]:
        try:
            if number == 1:
                raise OSError("cannot be read")
            yield from batches([(k, "a", 0, 0, 0) for k in range(4)], 1)
        finally:
            closed.append(number)

    with pytest.raises(OSError, match="cannot be read") as held:
        list(merge_runs([run(0), run(1)], spec()))
    assert held.value is not None and sorted(closed) == [0, 1]
    first = merge_runs([run(0), run(2)], spec())
    assert isinstance(first, Generator)
    next(first)
    first.close()
    assert sorted(closed) == [0, 0, 1, 2]
