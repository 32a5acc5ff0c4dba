"""A storage in memory over another one deletes what the storage would delete, and counts it with few requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_core.errors import StorageError
from paimon_core.io.delegating import DelegatingFileIO
from paimon_core.io.file_io import FileIO, FileStatus
from paimon_core.io.local import LocalFileIO
from paimon_core.io.scratch import ScratchFileIO


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file, a link to a file outside, and a link to a folder outside."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    for folder in (outside, root / "bucket-0"):
        folder.mkdir(parents=True)
        (folder / "data").write_bytes(b"12345")
    (root / "bucket-0" / "link").symlink_to(outside / "data")
    (root / "bucket-1").symlink_to(outside)
    return root


def test_nothing_behind_a_link_is_counted(root: Path) -> None:
    paths = [f"{root}/bucket-0/data", f"{root}/bucket-0/link", f"{root}/bucket-1/data"]
    scratch = ScratchFileIO(LocalFileIO())
    errors = scratch.delete_many_below(str(root), paths)
    assert list(errors) == paths[2:] and "is a symbolic link" in str(errors[paths[2]])
    assert scratch.deleted() == (2, 5), "a link is a file of its own, without bytes"
    real = LocalFileIO()
    assert {p: str(e) for p, e in real.delete_many_below(str(root), paths).items()} == {
        p: str(e) for p, e in errors.items()
    }
    assert not any((root / "bucket-0").iterdir()) and (root.parent / "outside" / "data").exists()


def test_a_folder_behind_a_link_stays(root: Path) -> None:
    scratch = ScratchFileIO(LocalFileIO())
    with pytest.raises(StorageError, match="is a symbolic link"):
        scratch.delete_dir_below(str(root), f"{root}/bucket-1/deeper")
    scratch.delete_dir_below(str(root), f"{root}/bucket-1")
    assert scratch.deleted() == (1, 0), "the link"
    assert [f.name for f in scratch.list(str(root))] == ["bucket-0"]
    scratch.delete_dir_below(str(root), f"{root}/bucket-0")
    assert scratch.deleted() == (3, 5)
    assert list(scratch.list(str(root))) == []


def test_a_file_in_memory_is_deleted_as_any_other(root: Path) -> None:
    scratch = ScratchFileIO(LocalFileIO())
    scratch.write_bytes(f"{root}/new/data", b"1")
    scratch.delete_below(str(root), f"{root}/new/data")
    assert scratch.deleted() == (0, 0) and not scratch.exists(f"{root}/new/data")


class Counting(DelegatingFileIO):
    """A storage that counts its requests, and has no local disk behind it."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes, self.lists, self.looks = sizes, 0, 0

    def _io(self) -> FileIO:
        raise AssertionError("no other call is expected")

    @property
    def requests_at_once(self) -> int:
        return 1

    def status(self, path: str) -> FileStatus:
        self.looks += 1
        if path not in self.sizes:
            raise FileNotFoundError(path)
        return FileStatus(path, self.sizes[path], False, 0)

    def list(self, path: str) -> Iterator[FileStatus]:
        self.lists += 1
        return (FileStatus(p, s, False, 0) for p, s in self.sizes.items() if p.rpartition("/")[0] == path)


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Counting:
    monkeypatch.setattr("paimon_core.io.scratch.innermost", lambda io: io)
    folders = (("many", 100), ("few", 3))
    return Counting({f"s3://b/t/{folder}/{n}": n for folder, count in folders for n in range(count)})


def test_files_that_were_listed_cost_no_request(storage: Counting) -> None:
    scratch = ScratchFileIO(storage)
    listed = [f.path for folder in ("many", "few") for f in scratch.list(f"s3://b/t/{folder}")]
    scratch.delete_many_below("s3://b/t", listed)
    assert scratch.deleted() == (103, sum(range(100)) + 3)
    assert (storage.lists, storage.looks) == (2, 0)


def test_folders_with_many_deleted_files_are_listed(storage: Counting) -> None:
    scratch = ScratchFileIO(storage)
    scratch.delete_many_below("s3://b/t", [*storage.sizes, "s3://b/t/many/none", "s3://b/t/few/none"])
    assert scratch.deleted() == (103, sum(range(100)) + 3)
    assert (storage.lists, storage.looks) == (1, 4)
