from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import CorruptFileError, DataFileMissingError
from paimon_core.scan.verify import check_sizes
from tests.support.stored import create_table, insert


def test_files_are_there_and_whole(tmp_path: Path) -> None:
    table = create_table(str(tmp_path))
    insert(table, [(1, "a")])
    splits = table.plan(table.latest_snapshot()).splits
    check_sizes(table.store, splits)
    (file,) = tmp_path.rglob("data-*.parquet")
    content = file.read_bytes()
    for other in (b"", content[:-1], content + b"x"):
        file.write_bytes(other)
        with pytest.raises(CorruptFileError, match=rf"{file.name} .* default\.t has {len(other)} bytes"):
            check_sizes(table.store, splits)
    file.unlink()
    with pytest.raises(DataFileMissingError, match=rf"{file.name} of table default\.t is missing"):
        check_sizes(table.store, splits)
