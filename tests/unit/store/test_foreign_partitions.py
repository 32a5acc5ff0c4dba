"""Partitions and keys as pypaimon 1.3.2 writes them: a wide DECIMAL is read, a TIMESTAMP(6) is an unfamiliar form."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from paimon_core.arrow.types import arrow_schema
from paimon_core.commit.changes import Overwrite
from paimon_core.errors import UnfamiliarFormError, UnsupportedFeatureError
from paimon_core.expressions.predicate import Compare
from paimon_core.lsm.runs import key_range
from paimon_core.spec.binary_row import decode_row, encode_row, row_of_slots
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.types import INT, DataType, parse_type
from paimon_core.store.manifests import live_files
from paimon_core.store.schemas import create_schema
from paimon_core.table import Table
from tests.support.data import make_store
from tests.support.tables import data_file, info

WIDE, FINE = parse_type("DECIMAL(30, 5)"), parse_type("TIMESTAMP(6)")


def of_slot(number: int) -> bytes:
    """A row of one wide value as pypaimon 1.3.2 writes it."""
    return struct.pack(">i", 1) + bytes(8) + struct.pack("<q", number)


def partitioned(root: Path, data_type: DataType, number: int, folder: str, keys: Sequence[str] = ()) -> Table:
    store = make_store(root, {"k": INT, "p": data_type}, keys=keys, partitions=["p"], bucket="1" if keys else "-1")
    assert create_schema(store.io, store.root, store.schema)
    table = Table(store)
    path = Path(store.root) / folder / "bucket-0" / "data-1.parquet"
    path.parent.mkdir(parents=True)
    rows = pa.table([[1], pa.array([None], arrow_schema(store.schema.fields).field(1).type)], names=["k", "p"])
    pq.write_table(rows, path)
    file = data_file(store, 1, 1, file_name=path.name, file_size=path.stat().st_size)
    message = CommitMessage(partition=of_slot(number), bucket=0, total_buckets=1 if keys else -1, new_files=(file,))
    table.commit_or_abort([message], info())
    return table


def test_a_partition_by_a_wide_decimal_is_read(tmp_path: Path) -> None:
    table = partitioned(tmp_path, WIDE, 123_456_789_012_345, "p=1234567890.12345")
    value = Decimal("1234567890.12345")
    assert [len(table.plan(table.latest_snapshot(), Compare("p", "=", v)).splits) for v in (value, value + 1)] == [1, 0]
    (split,) = table.plan(table.latest_snapshot()).splits
    assert split.bucket_dir.endswith("/p=1234567890.12345/bucket-0")
    assert table.system_table("partitions").num_rows == 1


def test_a_partition_by_a_fine_timestamp_names_its_writer(tmp_path: Path) -> None:
    with pytest.raises(UnfamiliarFormError, match=r"\(written by pypaimon 1\.3\).*as it is; with .*, copy the rows"):
        table = partitioned(tmp_path, FINE, 1_700_000_000_123, "p=2023-11-14 22:13:20.123456")
        table.plan(table.latest_snapshot(), Compare("p", "=", (0, 0)))


def test_keys_are_decoded_by_the_same_rules(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"k": INT}, keys=["k"])
    file = data_file(store, 0, 0, min_key=of_slot(-5), max_key=of_slot(700_000))
    assert key_range(file, [WIDE]).high == (Decimal(7),)
    with pytest.raises(UnfamiliarFormError, match=r"written by pypaimon 1\.3"):
        key_range(file, [FINE])


VALUE = Decimal("1234567890.12345")


def message_of(table: Table, value: Decimal | None) -> CommitMessage:
    """A new file of a partition, in the form of all writers but pypaimon 1.3.2."""
    file, total = data_file(table.store, 1, 1), 1 if table.store.has_primary_key else -1
    return CommitMessage(partition=encode_row([WIDE], [value]), bucket=0, total_buckets=total, new_files=(file,))


@pytest.mark.parametrize("value", [VALUE, None])
def test_rows_of_a_key_do_not_come_into_two_forms_of_a_partition(tmp_path: Path, value: Decimal | None) -> None:
    table = partitioned(tmp_path, WIDE, 123_456_789_012_345, f"p={VALUE}", keys=["k", "p"])
    if value is None:
        null = struct.pack(">i", 1) + b"\0\1" + bytes(14)
        table.commit([replace(message_of(table, None), partition=null)], info())
    with pytest.raises(UnsupportedFeatureError, match=r"stored its DECIMAL in a form of its own.*CREATE TABLE"):
        table.commit([message_of(table, value)], info())
    table.commit([message_of(table, VALUE + 1), message_of(table, Decimal(10**20))], info())


def test_rows_without_key_come_beside_the_other_form_but_an_overwrite_must_replace_it(tmp_path: Path) -> None:
    table = partitioned(tmp_path, WIDE, 123_456_789_012_345, f"p={VALUE}")
    table.commit([message_of(table, VALUE)], info())
    with pytest.raises(UnsupportedFeatureError, match=r"cannot be written: pypaimon 1\.3"):
        table.commit([message_of(table, VALUE)], info(), Overwrite(dynamic=True))
    table.commit([message_of(table, VALUE)], info(), Overwrite(predicate=Compare("p", "=", VALUE)))
    assert len(live_files(table.store, table.latest_snapshot())) == 1


# values that could be the length of a part and its offset, and texts there
@example(value=32 << 32, text="")
@example(value=64 << 32, text="")
@example(value=(32 << 32) + 16, text="x" * 20)
@example(value=(40 << 32) + 4, text="x" * 20)
@given(value=st.none() | st.integers(-(2**63), 2**63 - 1), text=st.text(max_size=20))
def test_the_form_of_pypaimon_is_read_as_the_value(value: int | None, text: str) -> None:
    length = len(text.encode())
    if value is not None and 32 <= value >> 32 < 200 and 1 <= value % 2**32 <= 16:  # a part that was cut off, perhaps
        assume(length > 7 and value >> 32 < 32 + length)  # otherwise an error, not another value
    types = [parse_type("DECIMAL(38, 30)"), parse_type("STRING"), INT]
    number = None if value is None else Decimal(value).scaleb(-30)
    assert decode_row(types, row_of_slots(types, [number, text, 7])) == (number, text, 7)
