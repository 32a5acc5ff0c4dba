"""Rows behind the largest sequence number, which tables of Paimon before 0.8 have as a value of `sequence.field`."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.spec.types import BIGINT, INT, STRING
from paimon_core.write.writer import open_writer
from tests.support.data import files_of, make_batch, make_store, read_rows

LARGEST = 2**63 - 1


@pytest.mark.parametrize("start", [LARGEST - 1, LARGEST, LARGEST + 1])
def test_rows_are_written_and_the_later_one_is_newer(tmp_path: Path, start: int) -> None:
    store = make_store(tmp_path, {"k": INT, "s": BIGINT, "v": STRING}, keys=["k"], bucket="1", sequence__field="s")
    messages = []
    for text in ("older", "newer"):
        writer = open_writer(store, sequence_start=start)
        for key in range(3):
            writer.write(make_batch(store, [(key, LARGEST, text)]))
        messages += writer.finish()
    assert all(f.max_sequence_number == LARGEST for m in messages for f in m.new_files)
    assert read_rows(store, files_of(messages), ["k", "v"]) == [(key, "newer") for key in range(3)]
