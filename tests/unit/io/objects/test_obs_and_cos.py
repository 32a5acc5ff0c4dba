"""OBS and COS by their endpoints for S3: settings of Java's clients, and commits only if a race proves them safe."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from paimon_core.commit.publish import LockedPublisher, PublishOutcome
from paimon_core.errors import InvalidOptionError, UnsafeStorageError, UnsupportedFeatureError
from paimon_core.io.file_io import FileIO
from paimon_core.io.load import load_file_io
from paimon_core.io.objects import store
from paimon_core.io.objects.clients import endpoint_of
from paimon_core.io.objects.settings import settings_of
from paimon_core.io.objects.store import Way
from paimon_core.maintenance.storage_check import check_storage
from tests.support.object_server import Answer, ObjectServer, Request, object_server

pytest.importorskip("obstore", reason="needs pip install 'paimon-sql[s3]'")


@pytest.fixture(params=["obs", "cosn"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["its own header", "S3's condition"])
def server(request: pytest.FixtureRequest, scheme: str) -> Iterator[ObjectServer]:
    store._proof.cache_clear()  # a server may get the address of an earlier one
    with object_server(dialect=scheme if request.param == "its own header" else "s3") as found:
        yield found


def opened(server: ObjectServer, scheme: str) -> tuple[FileIO, str]:
    options = ObjectServer(dialect=scheme, endpoint=server.endpoint).options
    return load_file_io(f"{scheme}://lake/wh", options), f"{scheme}://lake/wh"


def test_the_way_that_a_race_proves_is_used(server: ObjectServer, scheme: str) -> None:
    io, root = opened(server, scheme)
    with ThreadPoolExecutor(16) as pool:
        gate = threading.Barrier(16)

        def create(worker: int) -> bool:
            gate.wait()
            return io.create_exclusive(f"{root}/snapshot-1", b"%d" % worker)

        assert list(pool.map(create, range(16))).count(True) == 1
    way = store._proof(io, "lake").way(lambda: None)
    assert way is (Way.CONDITION if server.dialect == "s3" else Way.HEADER)
    assert [entry.name for entry in io.list(root)] == ["snapshot-1"], "no trial object stays"
    assert not io.create_exclusive(f"{root}/snapshot-1", b"again")
    assert io.replace_tagged(f"{root}/hint", b"1", "tag") and io.read_bytes(f"{root}/hint") == b"1"
    assert {step.step: step.result for step in check_storage(io, root)}["commit"] == "ok"


def test_without_a_condition_only_a_lock_is_safe(server: ObjectServer, scheme: str) -> None:
    server.honours = False
    io, root = opened(server, scheme)
    with pytest.raises(UnsafeStorageError, match=r"JDBC or Hive catalog with 'lock.enabled' = 'true'"):
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    assert {step.step: step.result for step in check_storage(io, root)}["commit"] == "unsafe"

    class Lock:
        def check(self) -> None: ...

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    locked = LockedPublisher(io, Lock())
    assert locked.publish(f"{root}/snapshot-1", b"1") is PublishOutcome.PUBLISHED
    assert locked.publish(f"{root}/snapshot-1", b"2") is PublishOutcome.LOST_RACE
    assert io.read_bytes(f"{root}/snapshot-1") == b"1"


def test_a_condition_that_holds_only_for_one_writer_at_a_time_is_found(server: ObjectServer, scheme: str) -> None:
    """Two puts of one round are done, as on a storage that looks and then writes."""
    seen = dict[str, list[Request]]()

    def fault(request: Request) -> Answer | None:
        if request.method == "PUT" and "conditional-put" in request.key:
            puts = seen.setdefault(request.key, [])
            server.honours = len(puts) < 2 or len(seen) % 2 == 1
            puts.append(request)
        return None

    io, root = opened(server, scheme)
    server.fault = fault
    with pytest.raises(UnsafeStorageError, match="'lock.enabled' = 'true'"):
        io.create_exclusive(f"{root}/snapshot-1", b"1")
    assert f"{root}/snapshot-1".partition("lake/")[2] not in server.objects


@pytest.mark.parametrize(
    ("scheme", "bucket", "options", "endpoint"),
    [
        ("obs", "lake", {"fs.obs.endpoint": "obs.cn-north-4.myhuaweicloud.com"}, "https://obs.cn-north-4.myhuaweicloud.com"),
        ("obs", "lake", {"fs.obs.endpoint": "o", "fs.obs.connection.ssl.enabled": "false"}, "http://o"),
        ("cos", "lake-1250", {"fs.cosn.bucket.region": "ap-beijing"}, "https://cos.ap-beijing.myqcloud.com"),
        ("cos", "lake-1250", {"fs.cosn.bucket.endpoint_suffix": "cos.x.myqcloud.com"}, "https://cos.x.myqcloud.com"),
        ("cos", "lake-1250", {"fs.cosn.bucket.region": "x", "fs.cosn.useHttps": "false"}, "http://cos.x.myqcloud.com"),
    ],
)  # fmt: skip
def test_endpoints(scheme: str, bucket: str, options: dict[str, str], endpoint: str) -> None:
    assert endpoint_of(settings_of(scheme, bucket, options), bucket) == (endpoint, True)


def test_keys_of_java() -> None:
    found = settings_of("cos", "lake-1", {
        "fs.cosn.userinfo.secretId": "id", "fs.cosn.userinfo.secretKey": "s", "fs.cosn.userinfo.sessionToken": "t",
        "fs.cosn.bucket.region": "r", "fs.cosn.maxRetries": "3", "fs.cosn.upload_thread_pool": "9",
        "fs.cosn.credentials.provider": "org.apache.hadoop.fs.auth.SimpleCredentialProvider",
    })  # fmt: skip
    names = ("access_key_id", "secret_access_key", "session_token", "region", "retries")
    assert [found.get(name) for name in names] == ["id", "s", "t", "r", "3"] and "hunter" not in repr(found)
    other = {"fs.obs.bucket.other.endpoint": "no", "fs.obs.bucket.lake.endpoint": "yes", "fs.obs.access.key": "id"}
    assert settings_of("obs", "lake", other).get("endpoint") == "yes"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fs.obs.endpoint": "o", "fs.obs.server-side-encryption-type": "sse-kms"}, "default encryption of the bucket"),
        ({"fs.obs.endpoint": "o", "fs.obs.security.provider": "a.B"}, "set fs.obs.access.key"),
        ({"fs.obs.endpoint": "o", "fs.obs.acl.default": "PublicRead"}, "policy of the bucket"),
        ({"fs.cosn.bucket.region": "r", "fs.cosn.server-side-encryption.algorithm": "SSE-C"}, "default encryption"),
        ({"fs.cosn.bucket.region": "r", "fs.cosn.client-side-encryption.enabled": "true"}, "encryption of the bucket"),
        ({"fs.cosn.bucket.region": "r", "fs.cosn.credentials.provider": "a.B"}, "set fs.cosn.userinfo.secretId"),
        ({"fs.cosn.bucket.region": "r", "fs.cosn.userinfo.appid": "1250"}, "cosn://NAME-APPID/path"),
    ],
)
def test_what_cannot_be_applied_is_refused(options: dict[str, Any], said: str) -> None:
    scheme = "obs" if "fs.obs.endpoint" in options else "cosn"
    with pytest.raises(UnsupportedFeatureError, match=said):
        load_file_io(f"{scheme}://lake/wh", options)


@pytest.mark.parametrize(("scheme", "option"), [("obs", "fs.obs.endpoint"), ("cosn", "fs.cosn.bucket.region")])
def test_without_an_endpoint_nobody_is_asked(scheme: str, option: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"set {option}"):
        load_file_io(f"{scheme}://lake/wh", {})
