"""What FsspecFileIO adds: capability by scheme, options of a location, secrets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from paimon_core.errors import StorageError, UnsafeStorageError, UnsupportedFeatureError
from paimon_core.io.fsspec import FsspecFileIO, _file_system_class, _millis, url_options
from paimon_core.io.schemes import FSSPEC, SCHEMES

fsspec = pytest.importorskip("fsspec", reason='needs pip install "paimon-sql[fsspec]"')
memory = pytest.importorskip("fsspec.implementations.memory")

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


class Denying(memory.MemoryFileSystem):  # type: ignore[misc, name-defined]
    """A storage that shows a secret in its errors."""

    protocol = "sftp"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]

    def __init__(self, said: str = "", **options: Any):
        super().__init__(**options)
        self.said = said

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        raise PermissionError(f"key {self.said} may not write")


@pytest.fixture(autouse=True)
def denying(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def class_of(scheme: str) -> Any:
        return Denying if scheme == "sftp" else _file_system_class(scheme)

    monkeypatch.setattr("paimon_core.io.fsspec._file_system_class", class_of)
    yield
    Denying.store.clear()


def test_capability_by_scheme() -> None:
    for scheme in ("memory", "sftp", "webhdfs", "smb", "ftp", "file"):
        assert FsspecFileIO(scheme).atomic_create is (scheme == "memory")
    assert {name for name, scheme in SCHEMES.items() if scheme.library == FSSPEC} == {"memory"}


@pytest.mark.parametrize("failure", [PermissionError(13, "denied"), ConnectionError("lost"), OSError("Failure")])
def test_only_an_empty_folder_is_deleted_and_errors_are_raised(
    failure: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    io, folder = FsspecFileIO("sftp"), "sftp://host/wh/db"

    def fail(*_: object) -> None:
        raise failure

    io.make_dirs(f"{folder}/table")
    assert io.delete_empty_dir_below("sftp://host/wh", folder) is False
    assert io.delete_empty_dir_below("sftp://host/wh", f"{folder}/nothing") is False
    with monkeypatch.context() as failing:
        failing.setattr(Denying, "rmdir", fail)
        if str(failure) == "Failure":  # SFTP says no more of a folder with content
            assert io.delete_empty_dir_below("sftp://host/wh", folder) is False
        with pytest.raises(StorageError, match="Cannot delete folder sftp://host/wh/db/table: "):
            io.delete_empty_dir_below("sftp://host/wh", f"{folder}/table")
    assert io.delete_empty_dir_below("sftp://host/wh", f"{folder}/table") is True


def test_smb_is_not_said_to_delete_only_empty_folders() -> None:
    """Its client in fsspec expects paths without the protocol and the host."""
    assert FsspecFileIO("smb").delete_empty_dir_below("smb://host/share", "smb://host/share/db") is None


def test_a_storage_without_atomic_create_is_refused() -> None:
    with pytest.raises(UnsafeStorageError, match="snapshot-1.*no atomic create.*'commit.unsafe-storage' = 'true'"):
        FsspecFileIO("sftp").create_exclusive("sftp://host/snapshot/snapshot-1", b"1")


@pytest.mark.parametrize("given_as", ["an option", "an option of the client"])
def test_no_secret_is_shown(given_as: str) -> None:
    secret = {"secret": "hunter2"} if given_as == "an option" else {"client_kwargs": {"aws_session_token": "hunter2"}}
    io = FsspecFileIO("sftp", {"said": "hunter2", **secret})
    with pytest.raises(StorageError) as caught:
        io.write_bytes("sftp://host/file", b"1")
    shown = f"{io!r} {io} {caught.value} {caught.value.__cause__}"
    assert "hunter2" not in shown
    assert "key *** may not write; grant this user access to it." in str(caught.value)


def test_other_errors_keep_their_cause() -> None:
    io = FsspecFileIO("sftp")
    with pytest.raises(StorageError) as caught:
        io.write_bytes("sftp://host/file", b"1")
    assert isinstance(caught.value.__cause__, PermissionError)


def test_options_of_a_location() -> None:
    assert url_options("memory://bucket/wh") == {}
    assert url_options("webhdfs://namenode:8020/wh") == {"host": "namenode", "port": 8020}


def test_an_unknown_scheme() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"nosuch://.*Protocol not known.*paimon-sql\[fsspec\]"):
        url_options("nosuch://bucket/wh")


@pytest.mark.parametrize("moment", [NEW_YEAR, NEW_YEAR.replace(tzinfo=None), 1704067200.0, 1704067200000])
def test_times_become_milliseconds(moment: object) -> None:
    assert _millis(moment) == 1704067200000


def test_a_file_without_a_time_is_new() -> None:
    assert abs(_millis(None) - datetime.now(UTC).timestamp() * 1000) < 60_000
