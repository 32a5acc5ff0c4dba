"""The requirements of a warehouse on an object store, tried on servers (`make campaign NAME=object-stores`)."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from paimon_core.errors import StorageError
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io
from paimon_core.io.objects.store import ObjectStoreFileIO, _proof
from tests.support import storage_servers
from tests.support.storage_servers import Storage

pytestmark = pytest.mark.slow
pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")
SERVERS = {
    "versitygw": (storage_servers.versitygw, "PAIMON_SQL_VERSITYGW"),
    "versitygw as OBS": (storage_servers.versitygw_as("obs"), "PAIMON_SQL_VERSITYGW"),
    "versitygw as COS": (storage_servers.versitygw_as("cosn"), "PAIMON_SQL_VERSITYGW"),
    "azurite": (storage_servers.azurite, "PAIMON_SQL_AZURITE"),
    "model of S3": (storage_servers.model("s3"), ""),
    "model of OSS": (storage_servers.model("oss"), ""),
}
LARGE = int(os.environ.get("PAIMON_SQL_LARGE_FILE", 2**26))  # bytes


@pytest.fixture(scope="module", params=SERVERS)
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    start, variable = SERVERS[request.param]
    if variable and variable not in os.environ:
        pytest.skip(f"no {variable}: make campaign NAME=object-stores")
    _proof.cache_clear()
    with start(tmp_path_factory.mktemp("storage") / "server") as found:
        yield found


@pytest.fixture
def io(storage: Storage) -> FileIO:
    return load_file_io(storage.root, storage.options)


def test_creates_of_one_key_have_one_winner(storage: Storage, io: FileIO) -> None:
    io.create_exclusive(f"{storage.root}/race/first", b"")
    with ThreadPoolExecutor(32) as pool:
        for number in range(5):
            gate, path = threading.Barrier(32), f"{storage.root}/race/{number}"

            def create(worker: int, path: str = path, gate: threading.Barrier = gate) -> bool:
                gate.wait()
                return io.create_exclusive(path, b"%d" % worker)

            won = list(pool.map(create, range(32)))
            assert won.count(True) == 1 and io.read_bytes(path) == b"%d" % won.index(True)


def test_replacements_of_one_tag_have_one_winner(storage: Storage, io: FileIO) -> None:
    """OSS, OBS and COS promise no such condition: there, all of them win."""
    path = f"{storage.root}/tagged/file"
    io.write_bytes(path, b"first")
    _, tag = io.read_tagged(path)
    gate = threading.Barrier(8)

    def replace(worker: int) -> bool:
        gate.wait()
        return io.replace_tagged(path, b"%d" % worker, tag)

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(replace, range(8)))
    if storage.root.startswith(("oss:", "obs:", "cosn:")):
        assert all(won)
        return
    assert won.count(True) == 1 and io.read_bytes(path) == b"%d" % won.index(True)
    io.delete(path)
    assert not io.replace_tagged(path, b"again", tag) and not io.exists(path)


def test_many_keys_are_listed_and_deleted(storage: Storage, io: FileIO) -> None:
    root = f"{storage.root}/many"
    paths = [f"{root}/{number:04}" for number in range(storage.many)]
    gone = storage.many * 3 // 5
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda path: io.write_bytes(path, b"1"), paths))
    assert sorted(entry.path for entry in io.list(root)) == paths
    assert io.delete_many_below(root, [*paths[:gone], f"{root}/none"]) == {}
    assert sorted(entry.path for entry in io.list(root)) == paths[gone:]
    io.delete_dir(root)
    assert not io.exists(root)


@pytest.mark.parametrize("name", ["a b", "50%", "k=v", "x+y", "#1", "ü", "what?", "a&b", "a%20b", "c:d"])
def test_names(storage: Storage, io: FileIO, name: str) -> None:
    folder = f"{storage.root}/names/{name}"
    io.write_bytes(f"{folder}/{name}", b"")
    assert io.read_bytes(f"{folder}/{name}") == b"" and io.status(f"{folder}/{name}").size == 0
    io.replace_file(f"{folder}/{name}", b"1")
    assert [entry.path for entry in io.list(folder)] == [f"{folder}/{name}"]
    assert name in [entry.name for entry in io.list(f"{storage.root}/names")]
    io.copy_file(f"{folder}/{name}", f"{folder}/{name}.2")
    io.rename_dir(folder, f"{folder}.moved")
    assert io.read_bytes(f"{folder}.moved/{name}.2") == b"1" and not io.exists(folder)
    io.delete_dir(f"{folder}.moved")
    assert not io.exists(f"{folder}.moved")


def test_a_large_file_is_streamed(storage: Storage, io: FileIO) -> None:
    path, block = f"{storage.root}/large/file", os.urandom(2**20)
    written, read = hashlib.sha256(), hashlib.sha256()
    with io.open_output(path) as sink:
        for number in range(LARGE // len(block)):
            part = number.to_bytes(8, "big") + block[8:]
            sink.write(part)
            written.update(part)
    assert io.status(path).size == LARGE
    with io.open_input(path, LARGE) as source:
        while part := source.read(2**24):
            read.update(part)
    assert read.digest() == written.digest()
    first, last = io.read_ranges(path, [(0, 8), (LARGE - len(block), 8)])
    assert (int.from_bytes(first, "big"), int.from_bytes(last, "big")) == (0, LARGE // len(block) - 1)
    io.delete(path)


def test_keys_that_may_only_read(storage: Storage, io: FileIO) -> None:
    path = f"{storage.root}/theirs/file"
    io.write_bytes(path, b"1")
    reader = load_file_io(storage.root, storage.reader)
    assert reader.read_bytes(path) == b"1" and [entry.path for entry in reader.list(f"{storage.root}/theirs")] == [path]
    _, tag = reader.read_tagged(path)
    for change in (
        lambda: reader.write_bytes(path, b"2"),
        lambda: reader.replace_tagged(path, b"2", tag),
        lambda: reader.create_exclusive(f"{path}-new", b"2"),
        lambda: reader.delete(path),
    ):
        with pytest.raises(StorageError, match="permission is denied|did not accept") as caught:
            change()
        assert not any(secret in str(caught.value) for secret in storage.reader.values() if "hunter" in secret)
    assert list(reader.delete_many_below(f"{storage.root}/theirs", [path])) == [path]
    assert io.read_bytes(path) == b"1" and not io.exists(f"{path}-new")


def test_presigned_urls(storage: Storage, io: FileIO) -> None:
    """Anyone reads the file at such an address, and nothing else, and for some time only."""
    if not isinstance(io, ObjectStoreFileIO) or "azurite" in os.environ.get("PYTEST_CURRENT_TEST", ""):
        pytest.skip("BLOBs on Azure have no presigned URLs")
    first, second = (f"{storage.root}/signed/{name}" for name in ("first", "second"))
    io.write_bytes(first, b"one")
    io.write_bytes(second, b"two")
    url = io.signed_url(first, 60)
    with urlopen(url) as answer:  # noqa: S310  the server of this test
        assert answer.read() == b"one"
    if storage.root.startswith("s3:") and "model" not in os.environ["PYTEST_CURRENT_TEST"]:  # models check no signature
        brief = io.signed_url(first, 1)
        time.sleep(2.1)
        for other in (
            url.replace("first", "second"),
            url.replace("Expires=60", "Expires=600"),
            url.split("?")[0],
            brief,
        ):
            with pytest.raises(HTTPError, match="403"):
                urlopen(other)  # noqa: S310
