"""Files get a second path: which of them a table was given, and how."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimon_core.format_table.migration import adopted_name, identity_of
from paimon_core.io.local import LocalFileIO
from paimon_core.io.transfer import copy_files, take_files


@pytest.mark.parametrize("links", [True, False])
def test_a_second_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    io = LocalFileIO()
    first, second = tmp_path / "first", tmp_path / "table" / "second"
    first.write_text("rows")
    if not links:
        monkeypatch.setattr(LocalFileIO, "link", lambda *_: False)
    take_files(io, io, [(str(first), str(second))], copy_files)
    assert second.read_text() == "rows" and first.samefile(second) == links


def test_what_is_not_linked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("rows")
    (tmp_path / "symbolic").symlink_to("file")
    io = LocalFileIO()
    assert not io.link(str(tmp_path / "symbolic"), str(tmp_path / "other"))
    with pytest.raises(FileNotFoundError):
        io.link(str(tmp_path / "none"), str(tmp_path / "other"))
    assert not io.link(str(tmp_path / "file"), str(tmp_path / "symbolic"))


def test_the_name_of_a_file_says_which_one_it_was(tmp_path: Path) -> None:
    io, path = LocalFileIO(), tmp_path / "file"
    path.write_text("rows")
    one, again = (adopted_name(io, str(path), "orc") for _ in range(2))
    assert one != again and identity_of(one) == identity_of(again) is not None
    os.utime(path, (1, 1))
    assert identity_of(adopted_name(io, str(path), "orc")) != identity_of(one)
    assert identity_of("data-1.orc") is None
