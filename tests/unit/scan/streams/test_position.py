"""Offsets as JSON, and how many splits a batch takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_core.errors import InvalidDataError, InvalidOptionError
from paimon_core.options import TableOptions
from paimon_core.scan.streams.options import ReadLimits, read_limits
from paimon_core.scan.streams.packing import Admitted, admit, keeps_order, packed, waits
from paimon_core.scan.streams.position import Position, parse_position
from paimon_core.spec.split import DataSplit, SplitKind
from tests.support.tables import data_file, new_store

NAMES = st.none() | st.text(max_size=5)


@given(st.integers(0, 2**63), st.integers(-1, 50), st.booleans(), st.none() | st.integers(51, 99), NAMES, NAMES)
def test_json_and_back(snapshot: int, index: int, scan: bool, total: int | None, table: str, uuid: str) -> None:
    position = Position(snapshot, index, scan, total, table, uuid)
    assert parse_position(position.json()) == position


def test_offsets_of_java() -> None:
    position = parse_position('{"snapshotId":5,"index":2,"scanSnapshot":false}')
    assert position.is_of_java and not position.is_complete and position.next_snapshot == 5
    whole = parse_position('{"snapshotId":5,"index":2,"scanSnapshot":false,"totalSplits":3}')
    assert whole.is_complete and whole.next_snapshot == 6


@pytest.mark.parametrize(
    "text",
    [
        *("", "7", "null", "[]", "{}", '{"snapshotId":1}', "[" * 100_000),
        '{"snapshotId":"1","index":0,"scanSnapshot":true}',
        '{"snapshotId":1,"index":true,"scanSnapshot":true}',
        '{"snapshotId":1,"index":0,"scanSnapshot":1}',
        '{"snapshotId":1,"index":-2,"scanSnapshot":true}',
        '{"snapshotId":1,"index":3,"scanSnapshot":true,"totalSplits":3}',
        '{"snapshotId":1,"index":0,"scanSnapshot":true,"table":7}',
    ],
)
def test_what_is_no_offset(text: str) -> None:
    with pytest.raises(InvalidDataError, match="not an offset of a Paimon table"):
        parse_position(text)


@pytest.fixture
def split(tmp_path) -> DataSplit:
    """A split of 10 rows and 1000 bytes in one file."""
    file = data_file(new_store(tmp_path), 0, 9, rows=10)
    return DataSplit(partition=b"", bucket=0, bucket_dir="", files=(file,))


@pytest.mark.parametrize(
    ("limits", "taken"),
    [
        (ReadLimits(), 5),
        (ReadLimits(files=2), 2),
        (ReadLimits(rows=35), 3),
        (ReadLimits(rows=1), 1),
        (ReadLimits(size=1000), 1),
        (ReadLimits(files=4, rows=20), 2),
    ],
)
def test_admission(split: DataSplit, limits: ReadLimits, taken: int) -> None:
    count, admitted = admit(Admitted(), [split] * 5, limits)
    assert (count, admitted.files, admitted.rows) == (taken, taken, 10 * taken)


def test_a_batch_has_splits_of_one_kind(split: DataSplit) -> None:
    change = replace(split, kind=SplitKind.CHANGES)
    assert admit(Admitted(), [split, change, change], ReadLimits())[0] == 1


def test_waiting_for_rows() -> None:
    limits = ReadLimits(least_rows=10, delay=1000)
    assert waits(Admitted(rows=9), limits, 1000)
    assert not waits(Admitted(rows=10), limits, 1000)
    assert not waits(Admitted(rows=9), limits, 1001)


def test_limits_of_options() -> None:
    options = {"read.stream.maxfilespertrigger": "3", "read.stream.minRowsPerTrigger": "5"}
    with pytest.raises(InvalidOptionError, match="go together"):
        read_limits(TableOptions(options))
    options["read.stream.maxTriggerDelayMs"] = "2 s"
    assert read_limits(TableOptions(options)) == ReadLimits(files=3, least_rows=5, delay=2000)


def test_an_engine_reads_files_of_a_bucket_in_any_order_where_no_key_is_in_two(tmp_path) -> None:
    store = new_store(tmp_path, primary_key="k", bucket="1")
    spans = {"apart": ((0, 4), (5, 9)), "overlapping": ((0, 5), (5, 9))}
    for name, keys in spans.items():
        files = [data_file(store, *span) for span in keys]
        single = [DataSplit(partition=b"", bucket=0, bucket_dir="", files=(f,), kind=SplitKind.CHANGES) for f in files]
        (joined,) = packed(store, single)
        assert joined.files == tuple(files)
        assert keeps_order(store, [joined]) == (name == "apart")
