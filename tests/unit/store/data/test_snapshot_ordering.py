"""`sequence.snapshot-ordering`: the commit decides which of two writers is the newer, not the numbers they gave."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.spec.message import CommitMessage
from paimon_core.store.manifests import live_files
from paimon_core.table import Table
from paimon_core.write.writer import open_writer
from tests.support.stored import commit, compact, create_table, read

ORDERED = {"sequence__snapshot_ordering": "true", "write_only": "true"}


def written(table: Table, first: int, rows: dict[int, str]) -> list[CommitMessage]:
    writer = open_writer(table.store, sequence_start=first)
    columns = [pa.array(rows.keys(), pa.int32()), pa.array(rows.values(), pa.string())]
    writer.write(pa.record_batch(columns, names=["k", "v"]))
    return writer.finish()


@pytest.mark.parametrize(
    ("options", "values", "numbers"), [({}, ["x", "a", "b"], [1, 501]), (ORDERED, ["x", "y", "b"], [1, 2])]
)
def test_which_writer_is_the_newer(
    tmp_path: Path, options: dict[str, str], values: list[str], numbers: list[int]
) -> None:
    table = create_table(str(tmp_path), primary_key="k", bucket="1", file__format="avro", **options)
    late, early = written(table, 0, {0: "x", 1: "y"}), written(table, 500, {1: "a", 2: "b"})
    commit(table, early, "first")
    commit(table, late, "second")
    assert [v for _, v in read(table)] == values
    files = live_files(table.store, table.latest_snapshot()).values()
    assert sorted(e.file.max_sequence_number for e in files) == numbers
    compact(table)
    assert [v for _, v in read(table)] == values
    commit(table, written(table, 0, {1: "z"}), "third")
    assert [v for _, v in read(table)] == [values[0], "z" if options else "a", values[2]]
