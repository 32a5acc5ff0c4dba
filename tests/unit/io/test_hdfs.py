"""HDFS: commits beside others, answers that get lost, and errors that say what to do. The library is a stand-in."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from paimon_core.errors import InvalidOptionError, StorageError, StorageRefusedError, UnsupportedFeatureError
from paimon_core.io import hdfs
from paimon_core.io.hdfs import HdfsFileIO
from paimon_core.io.hdfs_settings import hdfs_options
from paimon_core.io.load import is_storage_option, load_file_io
from paimon_core.maintenance.success_files import write_success_file
from paimon_core.store.changelogs import list_changelogs, write_changelog
from paimon_core.store.streams import StreamCommit, last_stream_commit, write_stream_commit
from paimon_core.table import Table
from tests.support.fake_hdfs import FakeHdfs, Writer
from tests.support.tables import data_file, info, message, new_store

ROOT = "hdfs://nn:8020"
ACCESS = 'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=eve, access=WRITE\\n\\tat x")'  # noqa: E501
SAFE_MODE = 'RPCError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Cannot create file /a.\\n\\tat x")'
STANDBY = 'RPCError("org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported\\n\\tat x")'
NO_NODES = (
    'RPCError("java.io.IOException", "File /a could only be written to 0 of the 1 minReplication nodes.\\n\\tat x")'
)


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHdfs]:
    node = FakeHdfs()
    monkeypatch.setattr(hdfs, "_native", node.library)
    hdfs._client.cache_clear()
    yield node
    hdfs._client.cache_clear()


@pytest.mark.parametrize("uri", ["hdfs://nn:8020/wh", "hdfs:///wh", "viewfs://cluster/wh"])
def test_locations(uri: str) -> None:
    io = load_file_io(uri, {"dfs.replication": "2", "s3.endpoint": "x", "hadoop.dfs.blocksize": "1m"})
    assert io == HdfsFileIO(uri.removesuffix("/wh"), {"dfs.replication": "2", "dfs.blocksize": "1m"})
    assert io.atomic_create and io._bare(uri) == "/wh"


def test_what_reaches_hdfs_is_of_the_catalog() -> None:
    for key in ("dfs.nameservices", "fs.defaultFS", "hadoop-conf-dir", "hadoop.security.authentication"):
        assert is_storage_option(key) and hdfs_options({key: "x"}), key
    assert not hdfs_options({"warehouse": "hdfs://x/y", "s3.endpoint": "x", "fs.s3a.endpoint": "y"})


def test_without_the_package() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(__import__("sys").modules, "hdfs_native", None)
        hdfs._client.cache_clear()
        with pytest.raises(UnsupportedFeatureError, match=r"hdfs:// needs the package hdfs_native.*paimon-sql\[hdfs\]"):
            load_file_io(f"{ROOT}/wh", {}).exists(f"{ROOT}/wh")


def test_an_answer_to_a_rename_that_is_lost(node: FakeHdfs) -> None:
    io = HdfsFileIO(ROOT)
    node.lost = 1
    with pytest.raises(
        StorageError, match="It is unknown whether this call created hdfs://nn:8020/t/snapshot-1"
    ) as caught:
        io.create_exclusive(f"{ROOT}/t/snapshot-1", b"mine")
    assert not isinstance(caught.value, StorageRefusedError)
    assert io.read_bytes(f"{ROOT}/t/snapshot-1") == b"mine"


def test_a_refused_create_leaves_no_temporary_file(node: FakeHdfs) -> None:
    io = HdfsFileIO(ROOT)
    assert io.create_exclusive(f"{ROOT}/t/snapshot-1", b"a") and not io.create_exclusive(f"{ROOT}/t/snapshot-1", b"b")
    assert [entry.name for entry in io.list(f"{ROOT}/t")] == ["snapshot-1"]


def test_a_replaced_file_is_always_there(node: FakeHdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    io, seen = HdfsFileIO(ROOT), list[bytes]()
    io.replace_file(f"{ROOT}/t/LATEST", b"1")
    rename = FakeHdfs._rename

    def watched(self: FakeHdfs, *arguments: object) -> None:
        seen.append(io.read_bytes(f"{ROOT}/t/LATEST"))
        rename(self, *arguments)  # type: ignore[arg-type]
        seen.append(io.read_bytes(f"{ROOT}/t/LATEST"))

    monkeypatch.setattr(FakeHdfs, "_rename", watched)
    node.lock = _NoLock()  # type: ignore[assignment]  # each call comes from a thread of its own
    io.replace_file(f"{ROOT}/t/LATEST", b"2")
    assert seen == [b"1", b"2"]


class Killed(BaseException):
    """The process ended while it closed a file."""


def test_a_killed_process_leaves_no_half_records(node: FakeHdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others see an empty file until the writer has closed it."""
    store = new_store(ROOT, HdfsFileIO(ROOT))
    snapshot = Table(store).commit([message(store, data_file(store, 1, 1))], info())
    assert snapshot is not None
    success, begun = f"{store.root}/_SUCCESS", StreamCommit(1, made=False, searched=0)

    def record(identifier: int) -> None:
        write_stream_commit(store, "me", replace(begun, identifier=identifier))

    def kill(_: Writer) -> None:
        raise Killed

    record(1)
    for write in (
        partial(record, 2),
        partial(write_changelog, store, snapshot),
        partial(write_success_file, store.io, success),
    ):
        with monkeypatch.context() as killing, pytest.raises(Killed):
            killing.setattr(Writer, "close", kill)
            write()
    assert last_stream_commit(store, "me") == begun
    assert list_changelogs(store) == []
    write_success_file(store.io, success)
    assert b"creationTime" in store.io.read_bytes(success)


class _NoLock:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("failure", "words", "refused"),
    [
        (RuntimeError(ACCESS), "Permission denied: user=eve, access=WRITE; grant this user access", True),
        (RuntimeError(SAFE_MODE), "safe mode, and refuses changes until it leaves this mode", False),
        (RuntimeError(STANDBY), "is a standby: write the location with the name service", False),
        (RuntimeError(NO_NODES), "no data node of the cluster accepts new blocks", False),
        (RuntimeError('InvalidArgument("No NameNode hosts found")'), "set HADOOP_CONF_DIR, or write host:port", False),
        (
            RuntimeError('InvalidArgument("No fs.defaultFS setting found")'),
            "the configuration has no fs.defaultFS",
            False,
        ),
        (
            ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
            "Connection refused; check that the storage",
            False,
        ),
    ],
)
def test_errors_say_what_to_do(node: FakeHdfs, failure: Exception, words: str, refused: bool) -> None:
    io = HdfsFileIO(ROOT)
    io.exists(ROOT)
    node.failure = failure
    for act in (lambda: io.make_dirs(f"{ROOT}/a"), lambda: io.write_bytes(f"{ROOT}/a/b", b""), lambda: io.exists(ROOT)):
        with pytest.raises(StorageError, match=words) as caught:
            act()
        assert isinstance(caught.value, StorageRefusedError) is refused and "\n" not in str(caught.value)


def test_only_an_empty_folder_is_deleted_and_errors_are_raised(node: FakeHdfs) -> None:
    io, folder = HdfsFileIO("hdfs://nn:8020"), "hdfs://nn:8020/wh/db"
    io.write_bytes(f"{folder}/file", b"x")
    assert io.delete_empty_dir_below("hdfs://nn:8020/wh", folder) is False
    assert io.delete_empty_dir_below("hdfs://nn:8020/wh", f"{folder}/nothing") is False
    assert io.delete_empty_dir_below("hdfs://nn:8020/wh", f"{folder}/file") is False
    io.delete(f"{folder}/file")
    denied = 'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=u\\n\\tat x")'
    for failure in (RuntimeError(denied), RuntimeError(SAFE_MODE), TimeoutError("no answer")):
        node.failure = failure
        with pytest.raises(StorageError, match="Cannot delete folder hdfs://nn:8020/wh/db: "):
            io.delete_empty_dir_below("hdfs://nn:8020/wh", folder)
    node.failure = None
    assert io.delete_empty_dir_below("hdfs://nn:8020/wh", folder) is True and not io.exists(folder)


def test_a_name_node_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, asked = threading.Event(), threading.Event()

    class Silent(FakeHdfs):
        def get_file_info(self, path: str) -> object:
            asked.set()
            waits.wait()
            return super().get_file_info(path)

    monkeypatch.setattr(hdfs, "_native", Silent().library)
    monkeypatch.setattr(hdfs, "_FIRST_PATIENCE", 0.05)
    hdfs._client.cache_clear()
    with pytest.raises(
        StorageError, match=r"the name node did not answer within 0\.05 s; check that the storage is up"
    ):
        HdfsFileIO(ROOT).exists(f"{ROOT}/a")
    assert asked.is_set()
    waits.set()
    assert not HdfsFileIO(ROOT).exists(f"{ROOT}/a"), "a client that failed is not kept"
    hdfs._client.cache_clear()


def test_reads_beyond_the_end(node: FakeHdfs) -> None:
    io = HdfsFileIO(ROOT)
    io.write_bytes(f"{ROOT}/f", b"12345")
    with io.open_input(f"{ROOT}/f") as file:
        assert (file.size(), file.read_at(9, 3), file.read()) == (5, b"45", b"12345"[file.tell() :] or b"")
        with pytest.raises(OSError, match="has 5 bytes"):
            file.seek(6)
    with pytest.raises(EOFError, match="2 of 4 bytes from 3"):
        io.read_ranges(f"{ROOT}/f", [(0, 2), (3, 4)])
    assert io.read_ranges(f"{ROOT}/f", [(0, 2), (3, 2)]) == [b"12", b"45"]


def test_a_location_without_a_path() -> None:
    with pytest.raises(InvalidOptionError, match="names no bucket"):
        load_file_io("hdfs://", {})
