"""A MERGE that changes a row twice is refused, however many buffers of a task are between the two changes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_core.errors import InvalidDataError
from paimon_core.lsm.rows import ROW_DELETE, ROW_INSERT, ROW_UPDATE_AFTER
from paimon_core.row_level.writer import open_changes_writer
from paimon_core.spec.types import INT, STRING
from paimon_core.store.table_store import TableStore
from tests.support.data import make_batch, make_store

Change = tuple[str, int, int]
MODES: dict[str, dict[str, str]] = {
    "fixed": {"bucket": "1"},
    "not spilled": {"bucket": "1", "write_buffer_spillable": "false"},
    "dynamic": {},
    "across partitions": {},
    "postponed": {"bucket": "-2"},
}


def task(folder: Path, mode: str, changes: list[Change], buffer: str = "1 b") -> int:
    """The files of one task that gets a batch per row, and so has a buffer for each."""
    keys = ["k"] if mode == "across partitions" else ["p", "k"]
    columns = {"p": STRING, "k": INT, "v": STRING}
    store: TableStore = make_store(
        folder, columns, keys=keys, partitions=["p"], write_buffer_size=buffer, **MODES[mode]
    )
    writer = open_changes_writer(store, sequence_start=0, once=True)
    for partition, key, kind in changes:
        batch = make_batch(store, [(partition, key, "x")])
        writer.write(batch.append_column("_VALUE_KIND", pa.array([kind], pa.int8())))
    try:
        return sum(len(m.new_files) for m in writer.finish())
    finally:
        writer.abort()


@pytest.mark.parametrize("buffer", ["1 b", "1 mb"])
@pytest.mark.parametrize("mode", MODES)
def test_a_row_is_changed_once_in_a_task(tmp_path: Path, mode: str, buffer: str) -> None:
    several = [("a", n, ROW_UPDATE_AFTER) for n in (5, 1, 9)]
    assert task(tmp_path / "once", mode, [*several, ("a", 2, ROW_INSERT), ("a", 2, ROW_INSERT)], buffer)
    for kind in (ROW_UPDATE_AFTER, ROW_DELETE):
        for key in (1, 5):
            with pytest.raises(InvalidDataError, match="several source rows"):
                task(tmp_path / f"{kind} {key}", mode, [*several, ("a", 7, ROW_INSERT), ("a", key, kind)], buffer)
