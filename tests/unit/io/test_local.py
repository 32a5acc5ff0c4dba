"""What LocalFileIO does on the disk: order of steps, links, full disks, the words of its errors."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.errors import FolderMissingError, StorageError, UnsafeStorageError
from paimon_core.formats.output import OutputFile
from paimon_core.io.file_io import is_temporary
from paimon_core.io.local import LocalFileIO

IO = LocalFileIO()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the calls that make a file durable or visible, in order."""
    seen: list[str] = []
    fsync, replace, link, mkdir = os.fsync, os.replace, os.link, os.mkdir

    def shown(path: str) -> str:
        return "temporary" if is_temporary(Path(path).name) else Path(path).name

    def record_fsync(descriptor: int) -> None:
        seen.append(f"fsync {shown(os.readlink(f'/proc/self/fd/{descriptor}'))}")
        fsync(descriptor)

    def record_replace(source: str, target: str) -> None:
        seen.append(f"replace {shown(source)} {shown(target)}")
        replace(source, target)

    def record_link(source: str, target: str) -> None:
        seen.append(f"link {shown(source)} {shown(target)}")
        link(source, target)

    def record_mkdir(path: str) -> None:
        seen.append(f"mkdir {shown(path)}")
        mkdir(path)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    monkeypatch.setattr(os, "link", record_link)
    monkeypatch.setattr(os, "mkdir", record_mkdir)
    return seen


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="reads open files from /proc")


@needs_proc
def test_a_created_file_is_on_the_disk_before_it_is_visible(tmp_path: Path, steps: list[str]) -> None:
    assert IO.create_exclusive(f"{tmp_path}/t/snapshot/snapshot-1", b"{}")
    assert steps == [
        "mkdir t",
        f"fsync {tmp_path.name}",
        "mkdir snapshot",
        "fsync t",
        "fsync temporary",
        "link temporary snapshot-1",
        "fsync snapshot",
    ]


@needs_proc
def test_a_written_file_is_on_the_disk_before_it_is_visible(tmp_path: Path, steps: list[str]) -> None:
    IO.write_bytes(f"{tmp_path}/LATEST", b"1")
    assert steps == ["fsync temporary", "replace temporary LATEST", f"fsync {tmp_path.name}"]


@needs_proc
def test_sync_covers_the_file_and_its_folder(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "data").write_bytes(b"1")
    IO.sync(f"{tmp_path}/data")
    assert steps == ["fsync data", f"fsync {tmp_path.name}"]
    with pytest.raises(FileNotFoundError):
        IO.sync(f"{tmp_path}/none")


def fail_with(code: int) -> object:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("step", ["fsync", "link", "replace"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = f"{tmp_path}/file"
    monkeypatch.setattr(os, step, fail_with(errno.ENOSPC))
    write = IO.write_bytes if step == "replace" else IO.create_exclusive
    with pytest.raises(StorageError) as caught:
        write(path, b"data")
    assert str(caught.value) == (
        f"Cannot {'write' if step == 'replace' else 'create'} {path}: No space left on device; "
        "free space on it, then run the statement again."
    )
    assert isinstance(caught.value.__cause__, OSError)
    assert os.listdir(tmp_path) == []


def test_a_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    IO.write_bytes(f"{tmp_path}/LATEST", b"1")
    monkeypatch.setattr(os, "fsync", fail_with(errno.EIO))
    with pytest.raises(StorageError, match=r"LATEST: Input/output error; check that the storage is up"):
        IO.write_bytes(f"{tmp_path}/LATEST", b"2")
    assert IO.read_bytes(f"{tmp_path}/LATEST") == b"1"
    assert os.listdir(tmp_path) == ["LATEST"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_no_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(os, "link", fail_with(code))
    with pytest.raises(
        UnsafeStorageError, match=r"snapshot-1.*no hard links.*Put the.*'commit\.unsafe-storage' = 'true'"
    ):
        IO.create_exclusive(f"{tmp_path}/snapshot-1", b"{}")
    assert os.listdir(tmp_path) == []


def test_a_repeated_link_request_is_not_a_lost_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def link_twice(source: str, target: str) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", link_twice)
    assert IO.create_exclusive(f"{tmp_path}/snapshot-1", b"first") is True
    assert IO.create_exclusive(f"{tmp_path}/snapshot-1", b"first") is False


def test_an_error_after_the_link_is_an_unknown_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, calls = os.fsync, iter(range(2))

    def fail_second(descriptor: int) -> None:
        if next(calls) == 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_second)
    with pytest.raises(StorageError):
        IO.create_exclusive(f"{tmp_path}/snapshot-1", b"{}")
    assert os.listdir(tmp_path) == ["snapshot-1"]


def test_folders_that_cannot_be_synced_are_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refuse_folders(path: str, flags: int, *rest: int) -> int:
        if flags & os.O_DIRECTORY:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return opened(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse_folders)
    assert IO.create_exclusive(f"{tmp_path}/a/file", b"1")


def test_deleting_never_follows_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_bytes(b"1")
    table = tmp_path / "table"
    table.mkdir()
    (table / "link").symlink_to(outside)
    (tmp_path / "alias").symlink_to(outside)
    IO.delete_dir(str(table))
    assert not table.exists()
    IO.delete_dir(f"{tmp_path}/alias")
    assert not (tmp_path / "alias").is_symlink()
    assert (outside / "keep").read_bytes() == b"1"


def test_deleting_below_a_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a" / "b").mkdir(parents=True)
    outside.mkdir()
    for folder in (outside, root / "a" / "b"):
        (folder / "file").write_bytes(b"1")
    (tmp_path / "alias").symlink_to(root)
    (root / "a" / "link").symlink_to(outside)
    (root / "a" / "to-file").symlink_to(outside / "file")
    for delete in (IO.delete_below, IO.delete_dir_below):
        for path in ("a/link/file", "../outside/file", "a/../../outside/file", "a//b/file", "a/./b"):
            with pytest.raises(StorageError, match="Cannot delete .*(is a symbolic link|is not below)"):
                delete(str(root), f"{root}/{path}")
        with pytest.raises(StorageError, match="is not below"):
            delete(str(root), f"{outside}/file")
        delete(str(root), f"{root}/nowhere/file")
    assert not IO.delete_empty_dir_below(str(root), f"{root}/a/link")
    IO.delete_below(str(root), f"{root}/a/to-file")
    IO.delete_dir_below(str(root), f"{root}/a/link")
    assert (outside / "file").exists() and [p.name for p in (root / "a").iterdir()] == ["b"]
    IO.delete_below(f"{tmp_path}/alias", f"{tmp_path}/alias/a/b/file")
    assert IO.delete_empty_dir_below(str(root), f"{root}/a/b")
    IO.delete_dir_below(f"{tmp_path}/alias", f"{tmp_path}/alias/a")
    assert list(root.iterdir()) == []


def test_only_an_empty_folder_is_deleted_and_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert not IO.delete_empty_dir_below(str(tmp_path), f"{tmp_path}/a")
    assert not IO.delete_empty_dir_below(str(tmp_path), f"{tmp_path}/nothing/b")

    def fail(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "rmdir", fail)
    with pytest.raises(StorageError, match="Cannot delete folder .*/a/b: Permission denied"):
        IO.delete_empty_dir_below(str(tmp_path), f"{tmp_path}/a/b")


def test_deleting_many_files_below_a_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (outside, root / "a", root / "b" / "c"):
        folder.mkdir(parents=True)
        (folder / "one").write_bytes(b"1")
        (folder / "two").write_bytes(b"1")
    (root / "a" / "link").symlink_to(outside)
    (root / "a" / "to-file").symlink_to(outside / "one")
    (root / "b" / "full").mkdir()
    deleted = ["a/one", "a/two", "a/to-file", "a/nowhere", "nowhere/one", "b/c/one", "b/c/two"]
    kept = {"a/link/one": "is a symbolic link", "a/link/two": "is a symbolic link", "b/full": "Is a directory"}
    kept |= {"b/../../outside/one": "is not below", "b/..": "is not below", "b/\0": "embedded null"}
    errors = IO.delete_many_below(str(root), [f"{root}/{path}" for path in (*deleted, *kept)])
    assert {path.removeprefix(f"{root}/") for path in errors} == set(kept)
    for path, why in kept.items():
        assert why in str(errors[f"{root}/{path}"]) and f"{root}/{path}" in str(errors[f"{root}/{path}"])
    assert [p.name for p in (root / "a").iterdir()] == ["link"] and list((root / "b" / "c").iterdir()) == []
    assert (outside / "one").exists() and (outside / "two").exists()


def test_links_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert list(IO.list(str(tmp_path))) == []
    assert IO.create_exclusive(f"{tmp_path}/link", b"1") is False
    assert not (tmp_path / "nowhere").exists()


def test_errors_name_path_cause_and_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    with pytest.raises(StorageError) as caught:
        IO.make_dirs(f"{tmp_path}/file/below")
    advice = "remove the file in the place of a folder"
    assert str(caught.value) == f"Cannot create folder {tmp_path}/file/below: File exists; {advice}."
    with pytest.raises(StorageError, match=r"Cannot write .*: File name too long; use a shorter name"):
        IO.write_bytes(f"{tmp_path}/{'x' * 250}", b"1")
    with pytest.raises(StorageError, match="Cannot read .*: Is a directory"):
        IO.read_bytes(str(tmp_path))
    with pytest.raises(StorageError, match="embedded null"):
        IO.read_bytes(f"{tmp_path}/a\x00b")


def test_new_files_are_readable_by_others(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        IO.create_exclusive(f"{tmp_path}/a", b"1")
        IO.write_bytes(f"{tmp_path}/b", b"1")
    finally:
        os.umask(mask)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in "ab"} == {0o644}


@pytest.mark.parametrize(
    ("step", "write"),
    [
        ("replace", lambda path: IO.write_bytes(path, b"x")),
        ("link", lambda path: IO.create_exclusive(path, b"x")),
        ("fsync", lambda path: IO.write_bytes(path, b"x")),
        ("mkdir", lambda path: IO.make_dirs(path)),
    ],
)
def test_a_folder_that_is_gone_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, write: Callable[[str], object]
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    (tmp_path / "t").mkdir()
    monkeypatch.setattr(os, step, gone)
    with pytest.raises(FolderMissingError, match="dropped or renamed meanwhile"):
        write(f"{tmp_path}/t/file")
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError) as missing:  # which readers know
        IO.read_bytes(f"{tmp_path}/t/another")
    assert not isinstance(missing.value, StorageError)


def test_a_data_file_of_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = OutputFile(IO, f"{tmp_path}/bucket-0/file")
    monkeypatch.setattr(LocalFileIO, "make_dirs", lambda self, path: None)  # deleted at once behind it
    with pytest.raises(FolderMissingError):
        output.sink.write(b"x")


def test_a_name_that_is_too_long_is_of_no_file(tmp_path: Path) -> None:
    io, path = LocalFileIO(), str(tmp_path / ("x" * 300))
    assert not io.exists(path)
    for ask in (io.read_bytes, io.status):
        with pytest.raises(FileNotFoundError):
            ask(path)
