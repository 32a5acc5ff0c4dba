"""ORC files of Java have the last second before 1970 one second later, and CHAR values without spaces at the end:
partition columns have the values of their folders, and filters find the rows.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from paimon_core.arrow.types import arrow_schema
from paimon_core.expressions.predicate import Compare, In, IsNull, Predicate
from paimon_core.scan.read import read_split
from paimon_core.spec.binary_row import EMPTY_ROW, encode_body, encode_row
from paimon_core.spec.hashing.murmur import bucket_of, murmur3_row
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.types import INT, parse_type
from paimon_core.store.schemas import create_schema
from paimon_core.table import Table
from tests.support.data import make_store
from tests.support.tables import data_file, info

LATER = 1000  # milliseconds
COLUMNS = ["k", "t"]


def holding(table: Table, name: str, times: list[int | None], partition: bytes = EMPTY_ROW, bucket: int = 0) -> None:
    """Commit a file with these milliseconds as its times, whatever its partition and its bucket."""
    store = table.store
    path = Path(store.bucket_dir(partition, bucket)) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = arrow_schema(store.schema.fields)
    column = pa.array(times, pa.timestamp("ms", schema.field(1).type.tz)).cast(schema.field(1).type)
    rows = pa.table([pa.array(range(len(times)), pa.int32()), column], names=COLUMNS)
    po.write_table(rows, path) if name.endswith("orc") else pq.write_table(rows, path)
    file = data_file(store, 1, 2, rows=len(times), file_name=name, file_size=path.stat().st_size)
    total = int(store.options.values["bucket"])
    message = CommitMessage(partition=partition, bucket=bucket, total_buckets=total, new_files=(file,))
    table.commit_or_abort([message], info())


def created(root: Path, data_type: str, partitions: list[str], **options: str) -> Table:
    store = make_store(root, {"k": INT, "t": parse_type(data_type)}, partitions=partitions, **options)
    assert create_schema(store.io, store.root, store.schema)
    return Table(store)


def times_of(table: Table, predicate: Predicate | None = None) -> list[int | None]:
    """The times, in milliseconds, in the files that a filter does not leave out."""
    splits = table.plan(table.latest_snapshot(), predicate).splits
    batches = [b for s in splits for b in read_split(table.store, s, COLUMNS, predicate)]
    assert all(b.schema.names == COLUMNS for b in batches)
    return [v for b in batches for v in b.column(1).cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()]


@pytest.mark.parametrize("data_type", ["TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"])
@pytest.mark.parametrize("ending", ["orc", "parquet"])
@pytest.mark.parametrize(
    ("partition", "stored"), [(-1, 999), (-999, 1), (-1000, -1000), (-1001, -1001), (5, 5), (0, 0)]
)
def test_a_partition_column_has_the_time_of_its_folder(
    tmp_path: Path, data_type: str, ending: str, partition: int, stored: int
) -> None:
    if ending == "parquet" and stored > 0 > partition:
        pytest.skip("only ORC files have later times")
    table = created(tmp_path, data_type, ["t"], bucket="-1")
    folder = encode_row([parse_type(data_type)], [(partition, 0)])
    holding(table, f"data-1.{ending}", [stored, stored], folder)
    assert times_of(table) == [partition] * 2
    assert times_of(table, Compare("t", "=", (partition, 0))) == [partition] * 2
    assert times_of(table, Compare("t", "=", (partition + 7, 0))) == []


def test_a_partition_of_null_stays_null(tmp_path: Path) -> None:
    table = created(tmp_path, "TIMESTAMP(3)", ["t"], bucket="-1")
    holding(table, "data-1.orc", [None], encode_row([parse_type("TIMESTAMP(3)")], [None]))
    assert times_of(table) == [None]


@pytest.mark.parametrize("millis", [-1, -500, -999])
def test_a_filter_finds_the_later_time_in_the_bucket_of_the_earlier(tmp_path: Path, millis: int) -> None:
    kind = parse_type("TIMESTAMP(3)")
    table = created(tmp_path, "TIMESTAMP(3)", [], bucket="7", bucket_key="t")
    found, other = (int(bucket_of(murmur3_row(encode_body([kind], [(n, 0)])), 7)) for n in (millis, millis + LATER))
    assert found != other
    holding(table, "data-1.orc", [millis + LATER], bucket=found)
    for predicate in (Compare("t", "=", (millis + LATER, 0)), In("t", [(5000, 0), (millis + LATER, 0)])):
        assert times_of(table, predicate) == [millis + LATER]
    assert times_of(table, Compare("t", "=", (millis + 5 * LATER, 0))) == []


@pytest.mark.parametrize(
    ("folder", "stored"), [("z    ", "z    "), ("z    ", "z"), ("z", "z"), ("  z", "  z"), (None, None)]
)
def test_a_partition_by_char_has_the_spaces_of_its_folder(
    tmp_path: Path, folder: str | None, stored: str | None
) -> None:
    table = created(tmp_path, "CHAR(5)", ["t"], bucket="-1")
    partition = encode_row([parse_type("CHAR(5)")], [folder])
    path = Path(table.store.bucket_dir(partition, 0)) / "data-1.orc"
    path.parent.mkdir(parents=True)
    po.write_table(pa.table({"k": pa.array([1], pa.int32()), "t": pa.array([stored], pa.string())}), path)
    file = data_file(table.store, 1, 1, file_name=path.name, file_size=path.stat().st_size)
    table.commit_or_abort([CommitMessage(partition=partition, bucket=0, total_buckets=-1, new_files=(file,))], info())
    for predicate in (None, IsNull("t") if folder is None else Compare("t", "=", folder)):
        (split,) = table.plan(table.latest_snapshot(), predicate).splits
        assert [b.column(1).to_pylist() for b in read_split(table.store, split, COLUMNS, predicate)] == [[folder]]
