"""What every FileIO promises, tried on each of them."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_core.errors import StorageError, UnsafeStorageError
from paimon_core.io import hdfs
from paimon_core.io.file_io import FileIO, is_temporary
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.load import load_file_io
from paimon_core.io.local import LocalFileIO
from paimon_core.io.objects.store import ObjectStoreFileIO
from tests.support import hdfs_server
from tests.support.fake_hdfs import FakeHdfs

fsspec = pytest.importorskip("fsspec", reason='needs pip install "paimon-sql[fsspec]"')
Storage = tuple[FileIO, str]


@pytest.fixture(scope="module")
def s3_bucket() -> Iterator[Storage]:
    """A bucket of an S3 server on the loopback device."""
    server_module = pytest.importorskip("moto.server", reason='needs pip install "moto[server]"')
    pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    options = {"s3.endpoint": endpoint, "s3.access-key": "key", "s3.secret-key": "secret", "s3.region": "eu-west-1"}
    io = load_file_io("s3://bucket/wh", {**options, "s3.path.style.access": "true"})
    assert isinstance(io, ObjectStoreFileIO)
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT")).close()
    yield io, "s3://bucket"
    server.stop()


@pytest.fixture(params=["local", "memory", "file through fsspec", "s3", "hdfs"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """A storage and a folder in it that does not exist yet."""
    if request.param == "s3":
        io, bucket = request.getfixturevalue("s3_bucket")
        yield io, f"{bucket}/{tmp_path.name}/wh"
        return
    if request.param == "hdfs":
        url = request.getfixturevalue("hdfs_url")
        yield load_file_io(url, {}), f"{url}/{tmp_path.name}/wh"
        return
    if request.param == "memory":
        io = FsspecFileIO("memory")
        root = f"memory://{tmp_path.name}-{os.getpid()}/wh"
        yield io, root
        io.delete_dir(root.rpartition("/")[0])
    elif request.param == "local":
        yield LocalFileIO(), f"{tmp_path}/wh"
    else:
        yield FsspecFileIO("file"), f"{tmp_path}/wh"


@pytest.fixture(scope="module")
def hdfs_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HDFS in `make campaign NAME=hdfs`, else a stand-in for its client."""
    with ExitStack() as stack:
        if hdfs_server.JARS is None:
            stack.enter_context(pytest.MonkeyPatch.context()).setattr(hdfs, "_native", FakeHdfs().library)
            yield "hdfs://stand-in:8020"
        else:
            yield stack.enter_context(hdfs_server.hdfs_server(tmp_path_factory.mktemp("hdfs") / "disk"))
        hdfs._client.cache_clear()


def names(io: FileIO, path: str) -> list[str]:
    return sorted(entry.name for entry in io.list(path))


def test_write_creates_parents_and_replaces(storage: Storage) -> None:
    io, root = storage
    io.write_bytes(f"{root}/a/b/file", b"one")
    io.write_bytes(f"{root}/a/b/file", b"")
    assert io.read_bytes(f"{root}/a/b/file") == b""
    io.write_bytes(f"{root}/a/b/file", b"\x00two")
    assert io.read_bytes(f"{root}/a/b/file") == b"\x00two"
    assert names(io, f"{root}/a/b") == ["file"], "nothing else was written"


def test_a_file_is_replaced_whole(storage: Storage) -> None:
    io, root = storage
    for content in (b"one", b"", b"\x00two"):
        io.replace_file(f"{root}/a/file", content)
        assert io.read_bytes(f"{root}/a/file") == content
    assert names(io, f"{root}/a") == ["file"]


def test_a_tag_identifies_the_content_of_a_file(storage: Storage) -> None:
    io, root = storage
    tags = set()
    for content in (b"one", b"two"):
        io.write_bytes(f"{root}/a/file", content)
        (listed,) = io.list(f"{root}/a")
        assert io.read_tagged(f"{root}/a/file") == (content, listed.tag)
        assert io.status(f"{root}/a/file").tag == listed.tag
        tags.add(listed.tag)
    assert len(tags) == 2 or tags == {None}


def test_a_file_is_replaced_if_it_has_its_tag(storage: Storage) -> None:
    io, root = storage
    path = f"{root}/a/file"
    io.write_bytes(path, b"one")
    _, tag = io.read_tagged(path)
    assert io.replace_tagged(path, b"two", tag) and io.read_bytes(path) == b"two"
    if tag is None:  # no condition: it is a replacement as any
        assert io.replace_tagged(path, b"three", None) and io.read_bytes(path) == b"three"
        return
    assert not io.replace_tagged(path, b"three", tag) and io.read_bytes(path) == b"two"
    assert io.replace_tagged(path, b"two", tag), "a repeated request finds its own bytes"
    io.delete(path)
    assert not io.replace_tagged(path, b"three", tag) and not io.exists(path)
    assert names(io, f"{root}/a") == []


def test_create_exclusive_keeps_what_is_there(storage: Storage) -> None:
    io, root = storage
    path = f"{root}/snapshot/snapshot-1"
    if not io.atomic_create:
        with pytest.raises(UnsafeStorageError, match=r"snapshot-1.*or accept the risk.*commit\.unsafe-storage"):
            io.create_exclusive(path, b"first")
        assert not io.exists(path)
        return
    assert io.create_exclusive(path, b"first") is True
    assert io.create_exclusive(path, b"second") is False
    try:
        assert io.create_exclusive(path, b"first") is False
    except StorageError as error:  # a client that repeats requests by itself cannot know
        assert "It is unknown" in str(error)
    assert io.read_bytes(path) == b"first"
    assert names(io, f"{root}/snapshot") == ["snapshot-1"]


def test_create_exclusive_has_one_winner_among_threads(storage: Storage) -> None:
    io, root = storage
    if not io.atomic_create:
        pytest.skip("promises nothing")
    if root.startswith("s3:"):
        pytest.skip("the stand-in for S3 looks first and writes then")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for number in range(25):
                gate = threading.Barrier(8)

                def create(worker: int, path: str = f"{root}/{number}", gate: threading.Barrier = gate) -> bool:
                    gate.wait()
                    return io.create_exclusive(path, b"%d" % worker)

                won = list(pool.map(create, range(8)))
                assert won.count(True) == 1
                assert io.read_bytes(f"{root}/{number}") == b"%d" % won.index(True)
    finally:
        sys.setswitchinterval(interval)


def test_missing_paths(storage: Storage) -> None:
    io, root = storage
    missing = f"{root}/none"
    assert not io.exists(missing)
    assert list(io.list(missing)) == []
    for call in (io.read_bytes, io.status):
        with pytest.raises(FileNotFoundError) as caught:
            call(missing)
        assert caught.value.filename == missing
    with pytest.raises(FileNotFoundError) as caught:
        io.rename_dir(missing, f"{root}/other")
    assert caught.value.filename == missing
    io.delete(missing)
    io.delete_dir(missing)


def test_status_and_list(storage: Storage) -> None:
    io, root = storage
    before = time.time() * 1000 - 2000
    io.write_bytes(f"{root}/file", b"12345")
    io.write_bytes(f"{root}/folder/below", b"1")
    file, folder = io.status(f"{root}/file"), io.status(f"{root}/folder")
    assert (file.path, file.name, file.size, file.is_dir) == (f"{root}/file", "file", 5, False)
    assert before <= file.modified <= time.time() * 1000 + 2000
    assert (folder.name, folder.size, folder.is_dir) == ("folder", 0, True)
    listed = {entry.name: entry for entry in io.list(root)}
    assert sorted(listed) == ["file", "folder"]
    assert (listed["file"].path, listed["file"].size, listed["file"].is_dir) == (f"{root}/file", 5, False)
    assert abs(listed["file"].modified - file.modified) <= 1
    assert (listed["folder"].path, listed["folder"].size, listed["folder"].is_dir) == (f"{root}/folder", 0, True)
    assert list(io.list(f"{root}/file")) == [], "a file has no children"


def test_make_dirs(storage: Storage) -> None:
    io, root = storage
    io.make_dirs(f"{root}/db.db/t")
    io.make_dirs(f"{root}/db.db/t")
    assert io.exists(f"{root}/db.db")
    assert io.status(f"{root}/db.db/t").is_dir
    assert names(io, root) == ["db.db"]
    assert names(io, f"{root}/db.db/t") == []


def test_delete(storage: Storage) -> None:
    io, root = storage
    io.write_bytes(f"{root}/a/file", b"1")
    io.write_bytes(f"{root}/a/deep/er/file", b"1")
    io.write_bytes(f"{root}/ab", b"1")
    io.delete(f"{root}/a/file")
    assert names(io, f"{root}/a") == ["deep"]
    io.delete_dir(f"{root}/a")
    assert not io.exists(f"{root}/a")
    assert names(io, root) == ["ab"]


def test_all_files_of_a_folder_are_found_by_one_request_or_not_at_all(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    io, root = storage
    inside = [f"{root}/a/.hidden", f"{root}/a/b c/=+%/file", f"{root}/a/file"]
    for path in (*inside, f"{root}/a.file", f"{root}/ab/file"):
        io.write_bytes(path, b"1")
    has_folders = not isinstance(io, ObjectStoreFileIO)
    assert [*sorted(io.files_below(f"{root}/a") or [])] == ([] if has_folders else inside)
    assert io.files_below(f"{root}/missing") == (None if has_folders else [])
    monkeypatch.setattr("paimon_core.io.objects.store._MANY", 2)
    assert io.files_below(f"{root}/a") is None
    io.delete(f"{root}/a/file")
    assert (io.files_below(f"{root}/a") is None) == has_folders


@pytest.mark.parametrize("name", ["t*", "t?", "t[12]"])
def test_names_are_not_patterns(storage: Storage, name: str) -> None:
    io, root = storage
    for table in (name, "t1", "t2"):
        io.write_bytes(f"{root}/{table}/data", table.encode())
    io.rename_dir(f"{root}/{name}", f"{root}/x{name}")
    assert io.read_bytes(f"{root}/x{name}/data") == name.encode()
    if io == FsspecFileIO("file"):
        with pytest.raises(StorageError, match="pattern"):
            io.delete_dir(f"{root}/{name}")
        io.delete(f"{root}/x{name}/data")
        return
    io.delete_dir(f"{root}/{name}")
    assert names(io, root) == ["t1", "t2", f"x{name}"]
    io.delete_dir(f"{root}/x{name}")
    assert names(io, root) == ["t1", "t2"]


def test_rename_dir(storage: Storage) -> None:
    io, root = storage
    io.write_bytes(f"{root}/old/a", b"a")
    io.write_bytes(f"{root}/old/deep/b", b"b")
    io.write_bytes(f"{root}/taken/c", b"c")
    with pytest.raises(FileExistsError):
        io.rename_dir(f"{root}/old", f"{root}/taken")
    assert names(io, f"{root}/taken") == ["c"]
    io.rename_dir(f"{root}/old", f"{root}/other.db/new")
    assert not io.exists(f"{root}/old")
    assert io.read_bytes(f"{root}/other.db/new/a") == b"a"
    assert io.read_bytes(f"{root}/other.db/new/deep/b") == b"b"


def test_data_files_are_opened(storage: Storage) -> None:
    io, root = storage
    path = f"{root}/bucket-0/data.parquet"
    io.make_dirs(f"{root}/bucket-0")
    table = pa.table({"a": [1, None, 3]})
    with io.open_output(path) as sink:
        pq.write_table(table, sink)
    io.sync(path)
    size = io.status(path).size
    assert size == len(io.read_bytes(path)) > 0
    for known in (None, size):
        with io.open_input(path, known) as source:
            assert source.size() == size
            assert pq.read_table(source).equals(table)


def test_parts_of_a_file(storage: Storage) -> None:
    io, root = storage
    io.write_bytes(f"{root}/file", bytes(range(100)))
    assert io.read_ranges(f"{root}/file", [(90, 10), (0, 0), (3, 2), (3, 90)]) == [
        bytes(range(90, 100)), b"", b"\x03\x04", bytes(range(3, 93)),
    ]  # fmt: skip
    assert io.read_ranges(f"{root}/file", []) == []
    with pytest.raises(EOFError, match="file"):
        io.read_ranges(f"{root}/file", [(0, 1), (95, 6)])
    with pytest.raises(FileNotFoundError):
        io.read_ranges(f"{root}/none", [(0, 1)])


def test_a_file_is_moved_and_copied(storage: Storage) -> None:
    io, root = storage
    io.write_bytes(f"{root}/a/old", b"new")
    io.write_bytes(f"{root}/b/new", b"replaced")
    io.move_file(f"{root}/a/old", f"{root}/b/new")
    assert io.read_bytes(f"{root}/b/new") == b"new" and not io.exists(f"{root}/a/old")
    io.copy_file(f"{root}/b/new", f"{root}/b/copy")
    assert io.read_bytes(f"{root}/b/new") == io.read_bytes(f"{root}/b/copy") == b"new"
    for call in (io.move_file, io.copy_file):
        with pytest.raises(FileNotFoundError):
            call(f"{root}/none", f"{root}/b/other")


def test_a_file_is_no_folder(storage: Storage) -> None:
    io, root = storage
    if root.startswith("s3:"):
        pytest.skip("keys may continue other keys")
    io.write_bytes(f"{root}/file", b"1")
    with pytest.raises(StorageError, match="file"):
        io.write_bytes(f"{root}/file/below", b"2")
    assert not io.exists(f"{root}/file/below")
    assert io.read_bytes(f"{root}/file") == b"1"


def test_pickles_to_an_equal_one(storage: Storage) -> None:
    io, root = storage
    copy = pickle.loads(pickle.dumps(io))  # noqa: S301
    assert copy == io
    assert hash(copy) == hash(io)
    copy.write_bytes(f"{root}/file", b"1")
    assert io.read_bytes(f"{root}/file") == b"1"


def test_temporary_names_are_recognised() -> None:
    assert is_temporary(".snapshot-1.0123456789abcdef0123456789abcdef.tmp")
    assert is_temporary(".schema-0.01234567-89ab-cdef-0123-456789abcdef.tmp")
    assert not any(map(is_temporary, ["snapshot-1", ".hidden", "data-0.parquet", ".x.tmp", "a.0123.tmp"]))
