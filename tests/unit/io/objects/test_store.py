"""Object stores: one winner of each create, names, large files, deletes, errors and processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from paimon_core.errors import StorageError, StorageRefusedError, UnsafeStorageError
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io
from paimon_core.io.objects import clients, store
from tests.support.object_server import Answer, ObjectServer, Request, object_server

pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")


@pytest.fixture(params=["s3", "oss", "gs"])
def server(request: pytest.FixtureRequest) -> Iterator[ObjectServer]:
    store._proof.cache_clear()  # a server may get the address of an earlier one
    with object_server(dialect=request.param) as found:
        yield found


def opened(server: ObjectServer) -> tuple[FileIO, str]:
    root = f"{server.dialect}://lake/wh"
    return load_file_io(root, server.options), root


def test_many_creates_of_one_key_have_one_winner(server: ObjectServer) -> None:
    io, root = opened(server)
    io.create_exclusive(f"{root}/first", b"")
    with ThreadPoolExecutor(32) as pool:
        for number in range(3):
            gate = threading.Barrier(32)

            def create(worker: int, path: str = f"{root}/{number}", gate: threading.Barrier = gate) -> bool:
                gate.wait()
                return io.create_exclusive(path, b"%d" % worker)

            won = list(pool.map(create, range(32)))
            assert won.count(True) == 1
            assert io.read_bytes(f"{root}/{number}") == b"%d" % won.index(True)
    assert sorted(entry.name for entry in io.list(root)) == ["0", "1", "2", "first"], "no trial object stays"


def test_a_storage_that_ignores_the_condition_is_found(server: ObjectServer) -> None:
    server.honours = False
    io, root = opened(server)
    with pytest.raises(UnsafeStorageError, match="snapshot-1.*ignores the condition.*'commit.unsafe-storage' = 'true'"):
        io.create_exclusive(f"{root}/snapshot/snapshot-1", b"1")
    assert list(io.list(f"{root}/snapshot")) == []


def test_a_bucket_is_proved_once_in_a_process(server: ObjectServer) -> None:
    io, root = opened(server)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda n: io.create_exclusive(f"{root}/{n}/snapshot-1", b"1"), range(8)))
    load_file_io(root, server.options).create_exclusive(f"{root}/other/snapshot-1", b"1")
    puts = [request.key for request in server.requests if request.method == "PUT"]
    assert len([key for key in puts if "conditional-put" in key]) == 2, "one object is put twice"
    assert len(puts) == 2 + 9


def test_each_bucket_and_each_set_of_keys_is_proved(server: ObjectServer) -> None:
    io, root = opened(server)
    io.create_exclusive(f"{root}/a", b"1")
    server.honours = False
    more = {"s3.session.token": "t", "fs.oss.securityToken": "t", "fs.gs.proxy.username": "t"}
    others = load_file_io(root, {**server.options, **more})
    with pytest.raises(UnsafeStorageError):
        others.create_exclusive(f"{root}/b", b"1")


def test_a_storage_that_is_corrected_is_proved_again(server: ObjectServer) -> None:
    server.honours = False
    io, root = opened(server)
    with pytest.raises(UnsafeStorageError):
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    server.honours = True
    assert io.create_exclusive(f"{root}/snapshot-1", b"1")


def test_a_create_that_is_postponed_is_tried_until_it_is_done(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 answers 409 while another create of the object is under way, which may fail."""
    waits, here, sleep = list[float](), threading.get_ident(), time.sleep
    monkeypatch.setattr("time.sleep", lambda s: waits.append(s) if threading.get_ident() == here else sleep(s))
    io, root = opened(server)
    io.create_exclusive(f"{root}/first", b"")
    server.fault = postponed(24)  # half of all creates: one of 16 million is postponed so often
    assert io.create_exclusive(f"{root}/snapshot-1", b"1") is True
    assert len(waits) == 24 and max(waits) < 1 and sum(waits) < 30
    assert io.create_exclusive(f"{root}/snapshot-1", b"2") is False


def test_a_create_that_is_always_postponed_is_refused(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer said that nothing was done, so the outcome is known, unless a request was repeated."""
    monkeypatch.setattr(store, "_BUSY", (0.0,) * 4)
    io, root = opened(server)
    io.create_exclusive(f"{root}/first", b"")
    server.fault = postponed(100)
    with pytest.raises(StorageRefusedError, match="snapshot-1: other writers create it"):
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    always, answers = postponed(100), list[int]()

    def first_lost(request: Request) -> Answer | None:
        answers.append(1)
        return Answer(500, "InternalError") if len(answers) == 1 else always(request)

    server.fault = first_lost
    with pytest.raises(StorageError, match="snapshot-2: other writers create it") as caught:
        io.create_exclusive(f"{root}/snapshot-2", b"1")
    assert not isinstance(caught.value, StorageRefusedError)


def test_a_postponed_create_proves_nothing(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a refusal because of the condition shows that the storage respects the condition."""
    monkeypatch.setattr(store, "_BUSY", (0.0,) * 4)
    server.honours = False
    io, root = opened(server)
    puts = list[str]()

    def second(request: Request) -> Answer | None:
        if request.method == "PUT":
            puts.append(request.key)
        return Answer(409, "ConditionalRequestConflict") if request.method == "PUT" and len(puts) == 2 else None

    server.fault = second
    with pytest.raises(UnsafeStorageError):
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    assert len(puts) == 3


def postponed(times: int) -> Callable[[Request], Answer | None]:
    left = [times]

    def conflict(request: Request) -> Answer | None:
        if request.method == "PUT" and "/snapshot-" in request.key and left[0]:
            left[0] -= 1
            return Answer(409, "ConditionalRequestConflict")
        return None

    return conflict


def test_a_lost_answer_is_an_unknown_outcome(server: ObjectServer) -> None:
    io, root = opened(server)
    io.create_exclusive(f"{root}/first", b"")
    lost: list[str] = []

    def lose(request: Request) -> Answer | None:
        if request.method == "PUT" and request.key not in lost:
            lost.append(request.key)
            return Answer(500, "InternalError", done=True)
        return None

    server.fault = lose
    with pytest.raises(StorageError, match="the file has the same bytes"):
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    assert io.read_bytes(f"{root}/snapshot-1") == b"1"


def test_a_refusal_after_a_lost_answer_is_no_refusal(server: ObjectServer) -> None:
    """The first try may have done it: the caller must look before it deletes what the object names."""
    io, root = opened(server)
    io.create_exclusive(f"{root}/first", b"")
    tries: list[str] = []

    def lose(request: Request) -> Answer | None:
        if request.method != "PUT":
            return None
        tries.append(request.key)
        return Answer(500, done=True) if len(tries) == 1 else Answer(403, "AccessDenied")

    server.fault = lose
    with pytest.raises(StorageError, match="permission is denied") as caught:
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    assert not isinstance(caught.value, StorageRefusedError) and len(tries) == 2


def test_a_refused_look_after_a_lost_answer_is_no_refusal(server: ObjectServer) -> None:
    """The create was done, but answered 500; the second request finds the object; the key has expired by then."""
    io, root = opened(server)
    io.create_exclusive(f"{root}/first", b"")
    puts: list[str] = []

    def lose(request: Request) -> Answer | None:
        if request.method == "PUT":
            puts.append(request.key)
            return Answer(500, "InternalError", done=True) if len(puts) == 1 else None
        return Answer(400, "ExpiredToken")

    server.fault = lose
    with pytest.raises(StorageError, match="the credentials have expired") as caught:
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    server.fault = lambda _: None
    assert len(puts) == 2 and io.read_bytes(f"{root}/snapshot-1") == b"1"
    assert not isinstance(caught.value, StorageRefusedError)


def test_a_refused_look_after_a_refused_create_is_a_refusal(server: ObjectServer) -> None:
    io, root = opened(server)
    io.create_exclusive(f"{root}/snapshot-1", b"other")
    server.fault = lambda request: None if request.method == "PUT" else Answer(400, "ExpiredToken")
    with pytest.raises(StorageRefusedError, match="the credentials have expired"):
        io.create_exclusive(f"{root}/snapshot-1", b"1")


def test_a_refusal_after_a_lost_answer_to_the_first_request_of_a_client_is_no_first_try(server: ObjectServer) -> None:
    io, root = opened(server)
    io.create_exclusive(f"{root}/first", b"")
    clients._client.cache_clear()  # as after many other buckets: the proof of the bucket stays
    puts: list[str] = []

    def lose(request: Request) -> Answer | None:
        if request.method == "PUT":
            puts.append(request.key)
            return Answer(500, "InternalError", done=True) if len(puts) == 1 else None
        return Answer(400, "ExpiredToken")

    server.fault = lose
    with pytest.raises(StorageError) as caught:
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    assert len(puts) == 2 and not isinstance(caught.value, StorageRefusedError)


def test_a_refused_look_after_a_lost_answer_to_a_replacement_is_no_refusal(server: ObjectServer) -> None:
    io, root = opened(server)
    io.write_bytes(f"{root}/file", b"old")
    tag = io.read_tagged(f"{root}/file")[1]
    puts: list[str] = []

    def lose(request: Request) -> Answer | None:
        if request.method == "PUT":
            puts.append(request.key)
            return Answer(500, "InternalError", done=True) if len(puts) == 1 else None
        return Answer(400, "ExpiredToken") if request.method == "GET" else None

    server.fault = lose
    if server.dialect == "oss":  # it has no condition for this: the second request replaces the file again
        assert io.replace_tagged(f"{root}/file", b"new", tag)
        return
    with pytest.raises(StorageError) as caught:
        io.replace_tagged(f"{root}/file", b"new", tag)
    server.fault = lambda _: None
    assert io.read_bytes(f"{root}/file") == b"new" and not isinstance(caught.value, StorageRefusedError)


def test_a_delete_with_a_lost_connection_is_sent_again(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    io, root = opened(server)
    lost = list[int]()

    def cut(delete: Callable[..., object], *given: object) -> object:
        if len(lost) < 2:
            lost.append(1)
            raise OSError("HTTP error: error sending request, HttpError { kind: Interrupted }")
        return delete(*given)

    io.write_bytes(f"{root}/file", b"1")
    monkeypatch.setattr(store._obstore(), "delete", partial(cut, store._obstore().delete))
    assert io.delete_many_below(root, [f"{root}/file"]) == {}
    assert server.objects == {} and len(lost) == 2


def test_a_listing_with_a_cut_answer_is_requested_again(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    io, root = opened(server)
    io.write_bytes(f"{root}/folder/file", b"1")
    for name in ("list", "list_with_delimiter"):
        monkeypatch.setattr(store._obstore(), name, _CutTwice(getattr(store._obstore(), name)))
    assert [entry.name for entry in io.list(f"{root}/folder")] == ["file"]
    assert io.exists(f"{root}/folder")
    for act in (partial(io.rename_dir, f"{root}/folder", f"{root}/other"), partial(io.delete_dir, f"{root}/other")):
        store._obstore().list.left = 2
        act()
    assert server.objects == {}


class _CutTwice:
    """A call of the client that fails twice, as if the answer were cut."""

    def __init__(self, call: Callable[..., object]) -> None:
        self._call, self.left = call, 2

    def __call__(self, *given: object, **named: object) -> object:
        if self.left:
            self.left -= 1
            raise OSError("HTTP error: request or response body error, HttpError { kind: Interrupted }")
        return self._call(*given, **named)


def test_a_replacement_has_a_condition_where_the_storage_has_one(server: ObjectServer) -> None:
    io, root = opened(server)
    path, key = f"{root}/file", "wh/file"
    io.write_bytes(path, b"one")
    _, tag = io.read_tagged(path)
    server.objects[key] = b"other"
    has_condition = server.dialect != "oss"
    assert io.replace_tagged(path, b"two", tag) is not has_condition
    assert server.objects[key] == (b"other" if has_condition else b"two")
    _, tag = io.read_tagged(path)
    del server.objects[key]
    assert io.replace_tagged(path, b"two", tag) is not has_condition
    assert (key in server.objects) is not has_condition


def test_a_replacement_with_a_lost_answer_is_recognized(server: ObjectServer) -> None:
    io, root = opened(server)
    io.write_bytes(f"{root}/file", b"one")
    _, tag = io.read_tagged(f"{root}/file")
    lost = [Answer(500, "InternalError", done=True)]
    server.fault = lambda request: lost.pop() if lost and request.method == "PUT" else None
    assert io.replace_tagged(f"{root}/file", b"two", tag)
    assert server.objects["wh/file"] == b"two" and not lost


def test_a_storage_without_the_condition_replaces_the_file(server: ObjectServer) -> None:
    io, root = opened(server)
    io.write_bytes(f"{root}/file", b"one")
    server.fault = lambda request: Answer(501, "NotImplemented") if "if-match" in request.headers else None
    assert io.replace_tagged(f"{root}/file", b"two", io.read_tagged(f"{root}/file")[1])
    assert server.objects["wh/file"] == b"two"


@pytest.mark.parametrize("name", ["a b", "50%", "k=v", "a+b", "a#b", "ü", "a?b", "a&b", "a%20b"])
def test_names(server: ObjectServer, name: str) -> None:
    io, root = opened(server)
    path = f"{root}/{name}/{name}"
    io.write_bytes(path, name.encode())
    assert io.read_bytes(path) == name.encode() and io.exists(path) and io.status(path).size == len(name.encode())
    assert [entry.path for entry in io.list(root)] == [f"{root}/{name}"]
    assert [entry.path for entry in io.list(f"{root}/{name}")] == [path]
    io.rename_dir(f"{root}/{name}", f"{root}/2{name}")
    assert io.read_bytes(f"{root}/2{name}/{name}") == name.encode()
    io.delete_dir(f"{root}/2{name}")
    assert not server.objects


def test_a_large_file_is_streamed_in_parts(server: ObjectServer) -> None:
    io, root = opened(server)
    pieces = [bytes([number]) * 2**20 for number in range(20)]
    with io.open_output(f"{root}/large") as sink:
        for piece in pieces:
            sink.write(piece)
        assert sink.tell() == 20 * 2**20
    assert server.objects["wh/large"] == b"".join(pieces) and not server.uploads
    for size in (None, 20 * 2**20):
        with io.open_input(f"{root}/large", size) as source:
            assert source.size() == 20 * 2**20
            assert source.read_at(9 * 2**20, 2**20) == b"".join(pieces[1:10])
            source.seek(2**20 - 1)
            assert (source.read(2), source.tell()) == (b"\x00\x01", 2**20 + 1)
            assert source.read() == b"".join(pieces)[2**20 + 1 :]


def test_a_small_file_is_read_by_one_request(server: ObjectServer) -> None:
    io, root = opened(server)
    with io.open_output(f"{root}/small") as sink:
        sink.write(b"content")
    io.write_bytes(f"{root}/empty", b"")
    for name, content in (("small", b"content"), ("empty", b"")):
        for size in (None, len(content)):
            server.requests.clear()
            with io.open_input(f"{root}/{name}", size) as source:
                assert (source.size(), source.read()) == (len(content), content)
            assert io.read_bytes(f"{root}/{name}") == content
            assert [r.method for r in server.requests] == ["GET", "GET"]


def test_many_files_are_deleted_by_few_requests(server: ObjectServer) -> None:
    io, root = opened(server)
    server.objects |= {f"wh/t/{number}": b"" for number in range(2500)}
    assert len(list(io.list(f"{root}/t"))) == 2500
    server.requests.clear()
    assert io.delete_many_below(root, [f"{root}/t/{number}" for number in range(2500)]) == {}
    assert not server.objects
    if server.dialect == "s3":
        assert len(server.requests) == 3


def test_files_are_deleted_one_by_one_if_the_storage_refuses_to_delete_many(server: ObjectServer) -> None:
    io, root = opened(server)
    server.objects |= {f"wh/t/{number}": b"" for number in range(1100)}
    paths, of_one_file = [f"{root}/t/{number}" for number in range(1100)], 1000  # bytes

    def refuse_many(request: Request) -> Answer | None:
        return Answer(403, "AccessDenied") if int(request.headers.get("content-length", "0")) > of_one_file else None

    server.fault = lambda request: Answer(403, "AccessDenied")
    assert list(io.delete_many_below(root, paths[:50])) == paths[:50]
    assert len(server.objects) == 1100
    server.fault = refuse_many
    assert io.delete_many_below(root, paths) == {}
    assert not server.objects


def test_a_wrong_bucket_is_an_error_everywhere(server: ObjectServer) -> None:
    path = f"{server.dialect}://other/wh/file"
    io = load_file_io(path, server.options)
    for call in (io.exists, io.status, io.read_bytes, io.list, io.make_dirs, io.open_input, io.delete_dir):
        with pytest.raises(StorageRefusedError, match=r"no bucket with this name.*correct the location"):
            call(path)


def test_a_server_that_is_busy_for_a_moment(server: ObjectServer) -> None:
    io, root = opened(server)
    server.fault = lambda request: Answer(503, "SlowDown") if len(server.requests) % 2 else None
    io.write_bytes(f"{root}/file", b"1")
    assert io.read_bytes(f"{root}/file") == b"1"


def test_a_forked_child_gets_an_error(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    io, root = opened(server)
    io.write_bytes(f"{root}/file", b"1")
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)  # as a child sees itself
    with pytest.raises(Exception, match=r"forked.*spawn or forkserver"):
        io.read_bytes(f"{root}/file")


def test_a_child_of_its_own_reads(server: ObjectServer) -> None:
    io, root = opened(server)
    io.write_bytes(f"{root}/file", b"1")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(io.read_bytes, (f"{root}/file",)) == b"1"


def test_settings_of_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    with object_server(bucket="one") as server:
        wrong = {**server.options, "fs.s3a.endpoint": "http://127.0.0.1:1"}
        io = load_file_io("s3a://one/wh", {**wrong, "fs.s3a.bucket.one.endpoint": server.endpoint})
        io.write_bytes("s3a://one/wh/file", b"1")
        assert server.objects == {"wh/file": b"1"}


@pytest.mark.parametrize(
    ("options", "headers"),
    [
        ({"encryption.algorithm": "AES256"}, {"x-amz-server-side-encryption": "AES256"}),
        (
            {"encryption.algorithm": "SSE-KMS", "encryption.key": "arn:k"},
            {"x-amz-server-side-encryption": "aws:kms", "x-amz-server-side-encryption-aws-kms-key-id": "arn:k"},
        ),
        (
            {"encryption.algorithm": "SSE-C", "encryption.key": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="},
            {"x-amz-server-side-encryption-customer-algorithm": "AES256"},
        ),
        ({"requester.pays.enabled": "true"}, {"x-amz-request-payer": "requester"}),
    ],
)
def test_settings_of_each_request(options: dict[str, str], headers: dict[str, str]) -> None:
    with object_server() as server:
        io = load_file_io("s3://lake/wh", {**server.options, **{f"fs.s3a.{k}": v for k, v in options.items()}})
        io.write_bytes("s3://lake/wh/file", b"1")
        with io.open_output("s3://lake/wh/data") as sink:
            sink.write(b"x" * 9 * 2**20)
        for request in server.requests:
            begins = request.method == "PUT" and not request.query or "uploads" in request.query
            assert not begins or headers.items() <= request.headers.items()
    clients._client.cache_clear()
