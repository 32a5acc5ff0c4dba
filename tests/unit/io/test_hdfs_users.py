"""Delegation tokens and proxy users of HDFS: what is used, and what is refused before the library would ignore it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from paimon_core.errors import InvalidOptionError, StorageError, UnsupportedFeatureError
from paimon_core.io import hdfs, hdfs_users
from paimon_core.io.hdfs import HdfsFileIO
from paimon_core.io.hdfs_users import DelegationToken, authority_for, decode_tokens, read_tokens
from tests.support.fake_hdfs import FakeHdfs

KERBEROS = {"hadoop.security.authentication": "kerberos"}
NOW = 1_800_000_000_000
LATER = NOW + 3_600_000


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_users, "_now", lambda: NOW)


def number(value: int) -> bytes:
    """As Hadoop's `WritableUtils.writeVLong`."""
    if -112 <= value <= 127:
        return struct.pack("b", value)
    size = (value.bit_length() + 7) // 8
    return struct.pack("b", -112 - size) + value.to_bytes(size)


def part(data: bytes) -> bytes:
    return number(len(data)) + data


def identifier(owner: str, expires: int) -> bytes:
    return b"\0" + part(owner.encode()) + part(b"yarn") + part(b"") + number(NOW) + number(expires) + number(7) * 2


def writable(*tokens: tuple[str, str, bytes]) -> bytes:
    """A file as YARN writes it, with a secret key behind the tokens."""
    rows = [b"".join(map(part, (b"alias", i, b"hunter2", k.encode(), s.encode()))) for k, s, i in tokens]
    return b"HDTS\0" + number(len(tokens)) + b"".join(rows) + number(1) + part(b"name") + part(b"hunter3")


def field(place: int, data: bytes) -> bytes:
    size = len(data)
    return bytes([place << 3 | 2]) + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + data


def protobuf(*tokens: tuple[str, str, bytes]) -> bytes:
    """A file as `hdfs dtutil` writes it."""
    made = b""
    for kind, service, name in tokens:
        token = field(1, name) + field(2, b"hunter2") + field(3, kind.encode()) + field(4, service.encode())
        made += field(1, field(1, b"alias") + field(2, token))
    return b"HDTS\1" + field(0, made + field(2, b"hunter3"))[1:]


def hdfs_token(service: str, owner: str = "alice", expires: int = LATER) -> tuple[str, str, bytes]:
    return "HDFS_DELEGATION_TOKEN", service, identifier(owner, expires)


FORMATS: list[Callable[..., bytes]] = [writable, protobuf]


@pytest.mark.parametrize("form", FORMATS)
def test_both_formats_of_files(form: Callable[..., bytes]) -> None:
    data = form(("YARN_AM_RM_TOKEN", "rm:1", b"other"), hdfs_token("nn:8020"), hdfs_token("ha-hdfs:ns", "bob/h@R"))
    assert decode_tokens(data) == [
        DelegationToken("nn:8020", "alice", LATER), DelegationToken("ha-hdfs:ns", "bob/h@R", LATER)
    ]  # fmt: skip
    for size in range(len(data) - len(part(b"name") + part(b"hunter3")) - 3):  # the secret keys are not read
        with pytest.raises((ValueError, IndexError)):
            decode_tokens(data[:size])


@pytest.mark.parametrize(
    "data", [b"", b"HDTS", b"HDTS\2", b"HDTS\0\xff", b"HDTS\0\x88" + b"\xff" * 8, b"HDTS\1" + b"\xff" * 20]
)
def test_other_files_are_refused_by_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(data)
    with pytest.raises(InvalidOptionError, match=r"LOCATION = .*tokens cannot be used: it is not a file of Hadoop's"):
        read_tokens(str(path))
    with pytest.raises(InvalidOptionError, match="missing cannot be used: No such file.*or unset it"):
        read_tokens(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("root", "service", "found"),
    [
        ("hdfs://nn:8020", "nn:8020", "hdfs://nn:8020"),
        ("hdfs://ns", "ha-hdfs:ns", "hdfs://ns"),
        ("hdfs://localhost:8020", "127.0.0.1:8020", "hdfs://127.0.0.1:8020"),
        ("hdfs://localhost:8020", "127.0.0.1:8021", "hdfs://localhost:8020"),
        ("hdfs://", "127.0.0.1:9000", "hdfs://127.0.0.1:9000"),
    ],
)
def test_the_library_gets_the_address_of_the_token(tmp_path: Path, root: str, service: str, found: str) -> None:
    (tmp_path / "tokens").write_bytes(writable(hdfs_token(service)))
    environment = {"HADOOP_TOKEN_FILE_LOCATION": str(tmp_path / "tokens")}
    options = {**KERBEROS, "fs.defaultFS": "hdfs://localhost:9000/"}
    assert authority_for(root, options, environment) == found
    assert authority_for(root, {"fs.defaultFS": "hdfs://localhost:9000/"}, environment) == root
    keytab = {**options, "security.kerberos.login.keytab": "k"}
    assert authority_for(root, keytab, environment) == root, "with a keytab, tokens are not used"


def test_who_acts_for_whom(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_bytes(
        writable(hdfs_token("nn:8020", "alice@REALM"), hdfs_token("old:8020", "bob", NOW))
    )
    tokens, root = {"HADOOP_TOKEN_FILE_LOCATION": str(tmp_path / "tokens")}, "hdfs://nn:8020"
    assert authority_for(root, KERBEROS, {"HADOOP_PROXY_USER": "bob"}) == root
    assert authority_for(root, KERBEROS, {"HADOOP_PROXY_USER": "alice", **tokens}) == root
    with pytest.raises(UnsupportedFeatureError, match=r"HADOOP_PROXY_USER = eve .*token of .* is of alice. Unset one"):
        authority_for(root, KERBEROS, {"HADOOP_PROXY_USER": "eve", **tokens})
    assert authority_for("hdfs://old:8020", KERBEROS, {"HADOOP_PROXY_USER": "eve", **tokens}), "the token has expired"
    with pytest.raises(UnsupportedFeatureError, match="does not require Kerberos.*Set HADOOP_USER_NAME = alice"):
        authority_for(root, {}, {"HADOOP_PROXY_USER": "alice"})
    assert authority_for(root, {}, {"HADOOP_PROXY_USER": "alice", "HADOOP_USER_NAME": "alice"}) == root


def test_errors_name_the_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokens").write_bytes(writable(hdfs_token("nn:1"), hdfs_token("nn:2", expires=NOW)))
    node = FakeHdfs()
    node.failure = RuntimeError('GSSAPIError(…, "No credentials were supplied")')
    monkeypatch.setattr(hdfs, "_native", node.library)
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "tokens"))
    hdfs._client.cache_clear()
    with pytest.raises(StorageError) as caught:
        HdfsFileIO("hdfs://nn:8020", KERBEROS).exists("hdfs://nn:8020/a")
    said = str(caught.value)
    assert "run kinit" in said and "LOCATION are for nn:1, nn:2 (expired)" in said and "hunter" not in said
    monkeypatch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(tmp_path / "missing"))
    with pytest.raises(InvalidOptionError, match="No such file"):
        HdfsFileIO("hdfs://nn:8020", KERBEROS).exists("hdfs://nn:8020/a")
    hdfs._client.cache_clear()


def test_a_user_who_may_not_act_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeHdfs()
    name = "org.apache.hadoop.security.authorize.AuthorizationException"
    node.failure = RuntimeError(f'RPCError("{name}", "User: bob is not allowed to impersonate alice")')
    monkeypatch.setattr(hdfs, "_native", node.library)
    hdfs._client.cache_clear()
    with pytest.raises(StorageError, match=r"bob is not allowed to impersonate alice") as caught:
        HdfsFileIO("hdfs://nn:8020", KERBEROS).exists("hdfs://nn:8020/a")
    assert "hadoop.proxyuser.USER.hosts" in str(caught.value)
    node.failure = RuntimeError("IO error: RPC listener disconnected")  # as a name node answers in fact
    hdfs._client.cache_clear()
    with pytest.raises(StorageError) as ended:
        HdfsFileIO("hdfs://nn:8020", KERBEROS).exists("hdfs://nn:8020/a")
    assert "proxyuser" not in str(ended.value)
    monkeypatch.setenv("HADOOP_PROXY_USER", "alice")
    with pytest.raises(StorageError, match=r"does not let this user act for alice: see hadoop.proxyuser.USER.hosts"):
        HdfsFileIO("hdfs://nn:8020", KERBEROS).exists("hdfs://nn:8020/a")
    hdfs._client.cache_clear()
