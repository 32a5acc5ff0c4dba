"""What FsspecFileIO adds: capability by scheme and by trial, lost answers, secrets."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from paimon_core.errors import StorageError, UnsafeStorageError, UnsupportedFeatureError
from paimon_core.io.fsspec import FsspecFileIO, _file_system_class, _millis, url_options

fsspec = pytest.importorskip("fsspec", reason='needs pip install "paimon-sql[fsspec]"')
memory = pytest.importorskip("fsspec.implementations.memory")

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


class ObjectStore(memory.MemoryFileSystem):  # type: ignore[misc, name-defined]
    """An object store kept in memory; `fault` is what its client does with a conditional put."""

    protocol = "s3"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]

    def __init__(self, fault: str = "", said: str = "", **options: Any):
        super().__init__(**options)
        self.fault, self.said = fault, said

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("s3://").strip("/")

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        raise AssertionError("an object store has no folders, and this would create a bucket")

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        if self.fault == "denied":
            raise PermissionError(f"key {self.said} may not write")
        if self.fault == "drops the condition":
            mode = "overwrite"
        refused = mode == "create" and self.exists(path)
        if refused and self.fault == "names no condition":
            error = OSError(22, "At least one of the pre-conditions you specified did not hold")
            error.__cause__ = ClientError("PreconditionFailed")
            raise error
        super().pipe_file(path, value, mode=mode, **options)
        if self.fault == "answer lost" and "/snapshot-" in path and mode == "create":
            super().pipe_file(path, value, mode=mode, **options)


class ClientError(Exception):
    def __init__(self, code: str):
        super().__init__(code)
        self.response = {"Error": {"Code": code}}


@pytest.fixture(autouse=True)
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def class_of(scheme: str) -> Any:
        return ObjectStore if scheme == "s3" else _file_system_class(scheme)

    monkeypatch.setattr("paimon_core.io.fsspec._file_system_class", class_of)
    yield
    ObjectStore.store.clear()


@pytest.fixture
def bucket() -> str:
    return f"s3://bucket/{uuid.uuid4().hex}"


def test_capability_by_scheme() -> None:
    for scheme in ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"):
        assert FsspecFileIO(scheme).atomic_create
    for scheme in ("oss", "hdfs", "webhdfs", "sftp", "smb", "ftp", "file"):
        assert not FsspecFileIO(scheme).atomic_create


@pytest.mark.parametrize("fault", ["", "names no condition"])
def test_conditional_put(bucket: str, fault: str) -> None:
    io = FsspecFileIO("s3", {"fault": fault})
    assert io.create_exclusive(f"{bucket}/snapshot/snapshot-1", b"1") is True
    assert io.create_exclusive(f"{bucket}/snapshot/snapshot-1", b"2") is False
    assert io.read_bytes(f"{bucket}/snapshot/snapshot-1") == b"1"
    assert [entry.name for entry in io.list(f"{bucket}/snapshot")] == ["snapshot-1"], "the trial object is deleted"


def test_a_storage_that_drops_the_condition_is_refused(bucket: str) -> None:
    io = FsspecFileIO("s3", {"fault": "drops the condition"})
    with pytest.raises(UnsafeStorageError, match="snapshot-1.*ignores the condition.*'commit.unsafe-storage' = 'true'"):
        io.create_exclusive(f"{bucket}/snapshot/snapshot-1", b"1")
    assert list(io.list(f"{bucket}/snapshot")) == []


def test_a_lost_answer_is_an_unknown_outcome(bucket: str) -> None:
    io = FsspecFileIO("s3", {"fault": "answer lost"})
    with pytest.raises(StorageError, match="the file has the same bytes"):
        io.create_exclusive(f"{bucket}/snapshot/snapshot-1", b"1")
    assert io.read_bytes(f"{bucket}/snapshot/snapshot-1") == b"1"
    assert io.create_exclusive(f"{bucket}/snapshot/snapshot-1", b"2") is False


def test_folders_of_an_object_store(bucket: str) -> None:
    io = FsspecFileIO("s3")
    io.make_dirs(f"{bucket}/db.db")
    assert io.exists(f"{bucket}/db.db")
    assert io.status(f"{bucket}/db.db").is_dir
    assert list(io.list(f"{bucket}/db.db")) == []
    io.write_bytes(f"{bucket}/db.db/t/schema/schema-0", b"{}")
    io.rename_dir(f"{bucket}/db.db", f"{bucket}/new.db")
    assert [entry.name for entry in io.list(f"{bucket}/new.db")] == ["t"]
    io.delete_dir(f"{bucket}/new.db")
    assert not io.exists(f"{bucket}/new.db")


@pytest.mark.parametrize("given_as", ["an option", "an option of the client"])
def test_no_secret_is_shown(bucket: str, given_as: str) -> None:
    secret = {"secret": "hunter2"} if given_as == "an option" else {"client_kwargs": {"aws_session_token": "hunter2"}}
    io = FsspecFileIO("s3", {"fault": "denied", "said": "hunter2", **secret})
    with pytest.raises(StorageError) as caught:
        io.write_bytes(f"{bucket}/file", b"1")
    shown = f"{io!r} {io} {caught.value} {caught.value.__cause__}"
    assert "hunter2" not in shown
    assert "key *** may not write; grant this user access to it." in str(caught.value)


def test_other_errors_keep_their_cause(bucket: str) -> None:
    io = FsspecFileIO("s3", {"fault": "denied"})
    with pytest.raises(StorageError) as caught:
        io.write_bytes(f"{bucket}/file", b"1")
    assert isinstance(caught.value.__cause__, PermissionError)


def test_options_of_a_location() -> None:
    assert url_options("memory://bucket/wh") == {}
    assert url_options("hdfs://namenode:8020/wh") == {"host": "namenode", "port": 8020}


def test_an_unknown_scheme() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"nosuch://.*Protocol not known.*paimon-sql\[fsspec\]"):
        url_options("nosuch://bucket/wh")


@pytest.mark.parametrize("moment", [NEW_YEAR, NEW_YEAR.replace(tzinfo=None), 1704067200.0, 1704067200000])
def test_times_become_milliseconds(moment: object) -> None:
    assert _millis(moment) == 1704067200000


def test_a_file_without_a_time_is_new() -> None:
    assert abs(_millis(None) - datetime.now(UTC).timestamp() * 1000) < 60_000
