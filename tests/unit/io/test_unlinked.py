"""Links that are put into a path between its check and its opening."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimon_core.errors import NotAllowedError
from paimon_core.io.load import without_links
from paimon_core.io.unlinked import UnlinkedFileIO


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    real = Path(without_links(str(tmp_path)))
    for name in ("mine", "others"):
        real.joinpath(name, "below").mkdir(parents=True)
        real.joinpath(name, "below", "f").write_bytes(name.encode())
    return real


def test_a_file_is_read(folder: Path) -> None:
    with UnlinkedFileIO().open_input(f"{folder}/mine/below/f") as file:
        assert (file.size(), file.read_at(2, 1), file.read_at(4, 0)) == (4, b"in", b"mine")


@pytest.mark.parametrize("part", ["mine", "mine/below", "mine/below/f"])
def test_a_link_in_a_path_is_not_followed(folder: Path, part: str) -> None:
    (folder / part).rename(folder / "moved")
    (folder / part).symlink_to(folder / part.replace("mine", "others"))
    with pytest.raises(NotAllowedError, match="a symbolic link was put into its path"):
        UnlinkedFileIO().open_input(f"{folder}/mine/below/f")


def test_other_kinds_of_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name in ("pipe", "mine"):
        with pytest.raises(NotAllowedError, match="not a regular file"):
            UnlinkedFileIO().open_input(f"{folder}/{name}")
    with pytest.raises(FileNotFoundError):
        UnlinkedFileIO().open_input(f"{folder}/none/f")


def test_no_descriptor_stays_open(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        UnlinkedFileIO().open_input(f"{folder}/mine/below/f").close()
        with pytest.raises(NotAllowedError):
            UnlinkedFileIO().open_input(f"{folder}/mine")
    assert len(os.listdir("/proc/self/fd")) == before
