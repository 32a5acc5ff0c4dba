"""Chunks of large remote files: few rounds of requests, bounded memory, and no bytes that a footer invents."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import StorageError
from paimon_core.formats.file_format import ReadRequest
from paimon_core.formats.parquet import chunks_ahead
from paimon_core.formats.parquet.chunks_ahead import ChunksAhead
from paimon_core.formats.parquet.data_files import ParquetFormat
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import BIGINT, STRING
from tests.support.tables import fields

FIELDS = fields(a=BIGINT, b=STRING, c=BIGINT)
GROUPS, ROWS = 24, 500


class Remote(DelegatingFileIO):
    """A local disk that behaves like an object store. `rounds` are the parts of each call."""

    def __init__(self) -> None:
        self.rounds: list[list[tuple[int, int]]] = []
        self.failing: OSError | None = None

    def _io(self) -> FileIO:
        return LocalFileIO()

    @property
    def is_near(self) -> bool:
        return False

    @property
    def requests_at_once(self) -> int:
        return 16

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self.rounds.append(list(ranges))
        if self.failing is not None and len(ranges) > 1:
            raise self.failing
        return super().read_ranges(path, ranges)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, pa.Table]]:
    monkeypatch.setattr(chunks_ahead, "END", 2**16)
    monkeypatch.setattr(chunks_ahead, "WHOLE", 3000)
    monkeypatch.setattr(chunks_ahead, "_GAP", 0)
    dice = np.random.default_rng(0)
    rows = pa.table(
        {
            "a": dice.integers(0, 2**60, GROUPS * ROWS),
            "b": [f"value {n % 7}" for n in range(GROUPS * ROWS)],
            "c": dice.integers(0, 2**60, GROUPS * ROWS),
        }
    )
    path = str(tmp_path / "file.parquet")
    pq.write_table(rows, path, row_group_size=ROWS)
    yield path, rows


def read(io: FileIO, path: str, *names: str) -> pa.Table:
    wanted = tuple(f for f in FIELDS if f.name in names)
    return pa.Table.from_batches(ParquetFormat().read(io, ReadRequest(path, wanted, by_name=True)))


def test_columns_of_many_groups_are_requested_side_by_side(file: tuple[str, pa.Table]) -> None:
    path, rows = file
    io = Remote()
    assert read(io, path, "a", "b").equals(rows.select(["a", "b"]))
    assert len(io.rounds) == 1, "one round for all chunks: the file was opened with its end, which has the footer"
    assert read(Remote(), path, "a", "b", "c").equals(rows)
    assert read(Remote(), path, "b").equals(rows.select(["b"]))


def test_memory_is_bounded_and_the_next_window_is_requested_meanwhile(
    file: tuple[str, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = file
    monkeypatch.setattr(chunks_ahead, "_WINDOW", 20_000)
    io = Remote()
    found = ParquetFormat().read(io, ReadRequest(path, FIELDS, by_name=True))
    batches = [next(found)]
    for _ in range(1000):
        if len(io.rounds) == 2:
            break
        threading.Event().wait(0.01)
    assert len(io.rounds) == 2, "this window, and the next one: no third window"
    batches += found
    assert pa.Table.from_batches(batches).equals(rows)
    sizes = [sum(length for _, length in part) for part in io.rounds]
    assert len(sizes) > 5 and max(sizes) <= 20_000


def test_an_error_of_the_storage_is_raised(file: tuple[str, pa.Table]) -> None:
    io = Remote()
    io.failing = StorageError("Cannot read x: the server does not answer.")
    with pytest.raises(StorageError, match="does not answer"):
        read(io, file[0], "a")


def test_chunks_outside_of_the_file_are_not_requested() -> None:
    def chunk(start: int, length: int) -> Any:
        return SimpleNamespace(data_page_offset=start, has_dictionary_page=False, total_compressed_size=length)

    chunks = [chunk(-5, 10), chunk(0, 2**60), chunk(990, 20), chunk(5, -1), chunk(10, 20), chunk(2**62, 2**62)]
    group = SimpleNamespace(column=chunks.__getitem__)
    schema = SimpleNamespace(column=lambda i: SimpleNamespace(path=f"c{i}"))
    footer = SimpleNamespace(num_columns=len(chunks), schema=schema, row_group=lambda number: group)
    asked = list[Any]()

    def fetch(path: str, ranges: Any) -> list[bytes]:
        asked.extend(ranges)
        return [bytes(length) for _, length in ranges]

    io: Any = SimpleNamespace(read_ranges=fetch)
    file: Any = footer
    assert list(ChunksAhead(io, "x", 1000).windows(file, [0, 1], [f"c{i}" for i in range(6)])) == [[0, 1]]
    assert asked == [(10, 20)]
