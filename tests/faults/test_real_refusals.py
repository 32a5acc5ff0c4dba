"""The operating system refuses: a disk that fills up, folders that may no longer be written, limits of the process.

Each in a process of its own, through the real `LocalFileIO`: what was acknowledged stays, the error says which path and
what to do, and when the cause is gone work goes on.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import PaimonError
from paimon_core.store.ddl.schema_changes import SetOption
from tests.support.place import Place
from tests.support.sight import clean

PATIENCE, NOBODY = 120, 65534
COLUMNS = {"columns": "k v", "write_only": "true"}
Told = tuple[list[int], str]  # the keys that were acknowledged, and the error that came then

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a disk, or becomes another user: needs root")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def insert_until_refused(root: Path, first: int, most: int, size: int) -> Told:
    """Insert rows of so many random bytes, one by one, until an error comes."""
    done: list[int] = []
    try:
        for k in range(first, first + most):
            Place(root).insert([(k, os.urandom(size).hex())])
            done.append(k)
    except PaimonError as error:
        return done, f"{type(error).__name__}: {error}"
    return done, ""


def in_a_child(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a process of its own; it dies alone."""
    receiver, sender = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        sender.send(function(*arguments))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    sender.close()
    found = receiver.recv() if receiver.poll(PATIENCE) else None
    process.join(PATIENCE)
    assert process.exitcode == 0
    return found


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("cannot mount a tmpfs here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def keys(root: Path) -> list[int]:
    return sorted(row[0] for row in Place(root).rows())


@needs_root
@pytest.mark.parametrize(("file_format", "keyed"), [("parquet", True), ("orc", True), ("avro", False)])
def test_a_disk_that_fills_up(tmp_path: Path, file_format: str, keyed: bool) -> None:
    with small_disk(tmp_path / "disk", "3m") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(1_000_000))
        options = {"keys": "k", "bucket": "1"} if keyed else {}
        Place(disk).create(**COLUMNS, **options, file__format=file_format)
        done, error = in_a_child(insert_until_refused, disk, 0, 200, 100_000)
        assert done and "No space left on device" in error and str(disk) in error and "free space on it" in error
        assert keys(disk) == done
        compacted = in_a_child(call, disk, "compact")
        assert keys(disk) == done, f"compaction said {compacted}"
        ballast.unlink()
        more, _ = insert_until_refused(disk, 1000, 1, 10)
        assert more == [1000] and keys(disk) == [*done, 1000]
        assert clean(disk) == [] and keys(disk) == [*done, 1000]


def call(root: Path, procedure: str, **arguments: Any) -> str:
    try:
        Place(root).call(procedure, **arguments)
    except PaimonError as error:
        return f"{type(error).__name__}: {error}"
    return ""


FOLDERS = ("bucket-0", "manifest", "snapshot", "schema")


@needs_root
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_that_may_no_longer_be_written(tmp_path: Path, folder: str) -> None:
    """Each of the table's folders is taken away from another user, who can go on when it is given back."""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent != Path("/") and parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    place = Place(tmp_path)
    place.create(**COLUMNS)
    place.insert([(0, "x")])
    table = Path(place.table().store.root)
    for path in (tmp_path / "wh").rglob("*"):
        os.chown(path, NOBODY, NOBODY)
    table_folder = table / folder
    table_folder.chmod(0o555)
    statement = alter_as_nobody if folder == "schema" else insert_as_nobody
    error = in_a_child(statement, tmp_path, 1)
    assert "Permission denied" in error and str(table_folder) in error and "grant this user access" in error
    assert keys(tmp_path) == [0]
    table_folder.chmod(0o755)
    assert in_a_child(statement, tmp_path, 1) == ""
    assert keys(tmp_path) == ([0] if folder == "schema" else [0, 1])
    assert clean(tmp_path) == []


def insert_as_nobody(root: Path, key: int) -> str:
    os.setuid(NOBODY)
    return insert_until_refused(root, key, 1, 1)[1]


def alter_as_nobody(root: Path, _: int) -> str:
    os.setuid(NOBODY)
    return alter(root)


def alter(root: Path) -> str:
    place = Place(root)
    try:
        place.catalog.alter_table(place.table().identifier, [SetOption("snapshot.num-retained.min", "2")])
    except PaimonError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_a_limit_of_open_files(tmp_path: Path) -> None:
    """A compaction of many runs with few descriptors: it ends, or says how to raise the limit; rows stay."""
    place = Place(tmp_path)
    place.create(keys="k", bucket="1", **COLUMNS)
    for k in range(12):
        place.insert([(k, "x")])
    outcomes = {in_a_child(limited, tmp_path, spare).partition(":")[0] for spare in (0, 1, 2, 4, 8, 64)}
    assert keys(tmp_path) == list(range(12))
    assert clean(tmp_path) == [] and {"", "StorageRefusedError"} <= outcomes, outcomes


def limited(root: Path, spare: int) -> str:
    free = os.dup(0)  # the lowest number that no file has
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, free + spare))
    said = call(root, "compact")
    assert not said or "ulimit -n" in said, said
    return said


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_files_that_may_not_grow(tmp_path: Path, file_format: str) -> None:
    """The system cuts each write off at a number of bytes: a torn file is never part of a version."""
    place = Place(tmp_path)
    place.create(**COLUMNS, file__format=file_format)
    place.insert([(0, "x")])
    largest = max(p.stat().st_size for p in (tmp_path / "wh").rglob("*") if p.is_file())
    for most in (0, 10, 100, largest // 2, largest, 20_000):
        error = in_a_child(short_files, tmp_path, most)
        assert "File too large" in error and str(tmp_path) in error, error
        assert keys(tmp_path) == [0]
    assert clean(tmp_path) == []
    assert insert_until_refused(tmp_path, 1, 1, 50_000) == ([1], "")


def short_files(root: Path, most: int) -> str:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return insert_until_refused(root, 1, 1, 50_000)[1]
