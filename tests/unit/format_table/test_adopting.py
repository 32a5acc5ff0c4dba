"""Files that a migration moves are where they were after a failure, also one whose move was done and said to fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.errors import StorageError
from paimon_core.format_table import migration
from paimon_core.io.local import LocalFileIO
from paimon_core.io.transfer import move_file


@pytest.mark.parametrize("was_done", [True, False])
def test_a_move_without_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_done: bool) -> None:
    io, there = LocalFileIO(), tmp_path / "there"
    there.mkdir()
    pairs = [(str(there / name), str(tmp_path / "table" / name)) for name in "abc"]
    for path, _ in pairs:
        Path(path).write_text(path)

    def move(source: LocalFileIO, target: LocalFileIO, path: str, target_path: str) -> None:
        lost = path == pairs[1][0]
        if was_done or not lost:
            move_file(source, target, path, target_path)
        if lost:
            raise StorageError("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(migration, "move_file", move)
        with pytest.raises(StorageError, match="no answer"):
            migration.adopt(io, io, pairs, move=True)
    assert {p.name: p.read_text() for p in there.iterdir()} == {Path(path).name: path for path, _ in pairs}
