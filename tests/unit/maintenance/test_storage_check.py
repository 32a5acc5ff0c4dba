"""`CALL sys.check_storage`: healthy storages pass, and each broken promise of a storage is found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import DatabaseNotFoundError, PaimonError, StorageError, UnsafeStorageError
from paimon_core.io.file_io import FileStatus
from paimon_core.io.load import load_file_io
from paimon_core.io.local import LocalFileIO
from paimon_core.maintenance.storage_check import FAILED, OK, ROUNDS, UNSAFE, WRITERS, Finding, check_storage
from paimon_sql.catalog.load import load_catalog
from paimon_sql.procedures import PROCEDURES, ProcedureContext
from tests.support.executors import TextExecutor
from tests.support.object_server import Answer, object_server

STEPS = ["write", "read", "list", "replace", "stream", "commit", "delete"]


class Broken(LocalFileIO):
    """A local disk with one method that a test replaces."""

    def __init__(self, **methods: Callable[..., Any]) -> None:
        vars(self).update(methods)


def by_step(found: list[Finding]) -> dict[str, Finding]:
    return {finding.step: finding for finding in found}


@pytest.mark.parametrize("location", ["{tmp}/with space/and #ü", "memory://bucket/{name}"])
def test_a_healthy_storage(tmp_path: Path, request: pytest.FixtureRequest, location: str) -> None:
    path = location.format(tmp=tmp_path, name=request.node.name)
    io = load_file_io(path, {})
    found = check_storage(io, path)
    assert [(f.step, f.result) for f in found] == [(step, OK) for step in STEPS]
    assert f"{ROUNDS} times {WRITERS} writers" in by_step(found)["commit"].detail
    left = [status for folder in io.list(path) for status in io.list(folder.path)]
    assert left == [], "fsspec keeps an entry for an empty folder"


def test_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "t" / "snapshot").mkdir(parents=True)
    (tmp_path / "t" / "snapshot" / "snapshot-1").write_text("{}")
    check_storage(LocalFileIO(), str(tmp_path / "t"))
    assert [p.name for p in tmp_path.rglob("*")] == ["t", "snapshot", "snapshot-1"]


def overwrites(path: str, data: bytes) -> bool:
    Path(path).write_bytes(data)
    return True


def keeps_the_last(path: str, data: bytes) -> bool:
    with _LOCK:
        first = not Path(path).exists()
        Path(path).write_bytes(data)
        return first


def refuses_all(path: str, data: bytes) -> bool:
    Path(path).touch()
    return False


def refuses(path: str, data: bytes) -> bool:
    raise UnsafeStorageError(f"Cannot create {path} safely: no conditions. Use another storage.")


_LOCK = threading.Lock()


@pytest.mark.parametrize("create", [overwrites, keeps_the_last, refuses_all, refuses], ids=lambda f: f.__name__)
def test_a_storage_without_one_winner_is_unsafe(tmp_path: Path, create: Callable[[str, bytes], bool]) -> None:
    found = by_step(check_storage(Broken(create_exclusive=create), str(tmp_path)))
    assert found["commit"].result == UNSAFE
    assert "Use another storage" in found["commit"].detail
    assert found["delete"].result == OK and not list(tmp_path.iterdir())


def test_a_winner_without_an_answer_proves_nothing_against_a_storage(tmp_path: Path) -> None:
    disk = LocalFileIO()

    def loses_answers(path: str, data: bytes) -> bool:
        won = disk.create_exclusive(path, data)
        if won and path.endswith("race-0"):
            raise StorageError(f"Cannot create {path}: the answer was lost; try again.")
        return won

    found = by_step(check_storage(Broken(create_exclusive=loses_answers), str(tmp_path)))
    assert found["commit"].result == OK and "1 writers got no answer" in found["commit"].detail


@pytest.mark.parametrize("dialect", ["s3", "oss", "gs"])
@pytest.mark.parametrize("honours", [True, False])
def test_an_object_store(dialect: str, honours: bool) -> None:
    with object_server(dialect=dialect, honours=honours) as server:
        location = f"{dialect}://{server.bucket}/lake.db"
        found = by_step(check_storage(load_file_io(location, server.options), location))
        assert not [key for key in server.objects if "race" in key or "small" in key], "nothing is left"
    assert found["commit"].result == (OK if honours else UNSAFE)
    assert {f.result for step, f in found.items() if step != "commit"} == {OK}


def test_a_store_that_refuses_these_keys() -> None:
    with object_server(fault=lambda request: Answer(403, "AccessDenied")) as server:
        location = f"s3://{server.bucket}/lake.db"
        first, *_ = check_storage(load_file_io(location, server.options), location)
    assert (first.step, first.result) == ("write", FAILED)
    assert "hunter2" not in first.detail


def test_a_listing_that_lags_is_found(tmp_path: Path) -> None:
    def nothing(path: str) -> Iterator[FileStatus]:
        return iter(())

    found = by_step(check_storage(Broken(list=nothing), str(tmp_path)))
    assert found["list"].result == FAILED and "lists 0 files for 3" in found["list"].detail
    assert "commit" not in found, "the check ends"
    assert found["delete"].result == OK


def test_a_storage_that_refuses_to_write_is_named(tmp_path: Path) -> None:
    def refused(path: str, data: bytes) -> None:
        raise StorageError(f"Cannot write {path}: access denied; grant this user access to it.")

    first, *_ = check_storage(Broken(write_bytes=refused), str(tmp_path))
    assert (first.step, first.result) == ("write", FAILED) and "grant this user access" in first.detail


def call(warehouse: str, target: str) -> list[tuple[Any, ...]]:
    context = ProcedureContext(load_catalog({"warehouse": warehouse}), "default", TextExecutor(), UTC)
    return list(PROCEDURES["check_storage"].call(context, {"target": target}))


def test_databases_and_paths(tmp_path: Path) -> None:
    load_catalog({"warehouse": str(tmp_path / "wh")}).create_database("shop")
    for target in ("shop", str(tmp_path / "wh"), f"file://{tmp_path}/elsewhere"):
        assert [row[:2] for row in call(str(tmp_path / "wh"), target)] == [(step, OK) for step in STEPS]
    with pytest.raises(DatabaseNotFoundError, match="nope"):
        call(str(tmp_path / "wh"), "nope")
    with pytest.raises(PaimonError):
        call(str(tmp_path / "wh"), "sftp://host/folder")
