"""Tokens and signatures: who asks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, StorageError
from paimon_sql.catalog.rest.auth import signer_of
from paimon_sql.catalog.rest.dlf import DlfKey, Request, decode_key, signed, signed_openapi
from paimon_sql.catalog.rest.settings import RestSettings, read_settings
from tests.support.scripted_server import scripted

NOW = datetime(2023, 12, 3, 12, 12, 12, tzinfo=UTC)
KEY = DlfKey("access-key-id", "access-key-secret", "securityToken")
BODY = b'{"name":"database","options":{"a":"b"}}'
POST = Request("POST", "/v1/paimon/databases", {"k2": "v2", "k1": "v1"}, BODY)
DLF = {"uri": "http://h", "token.provider": "dlf", "dlf.region": "cn-hangzhou"}


def key_json(key_id: str, lives: timedelta | None = None) -> bytes:
    node = {"AccessKeyId": key_id, "AccessKeySecret": "s", "SecurityToken": "t"}
    if lives is not None:
        node["Expiration"] = (datetime.now(UTC) + lives).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps(node).encode()


def signed_by(settings: RestSettings) -> str:
    return signer_of(settings)(POST)["Authorization"]


def test_the_signature_of_javas_test() -> None:
    """Of `DLFAuthSignatureTest`, whose mock request is a database with the options a and b."""
    made = signed(POST, KEY, "cn-hangzhou", NOW)
    assert made["Authorization"].startswith(
        "DLF4-HMAC-SHA256 Credential=access-key-id/20231203/cn-hangzhou/DlfNext/aliyun_v4_request,Signature="
    )
    assert made["Authorization"].endswith("c72caf1d40b55b1905d891ee3e3de48a2f8bebefa7e39e4f277acc93c269c5e3")
    assert (made["x-dlf-date"], made["x-dlf-version"]) == ("20231203T121212Z", "v1")
    assert made["x-dlf-security-token"] == "securityToken"


def test_each_part_of_a_request_counts() -> None:
    parts = [
        POST,
        Request("GET", POST.path, POST.parameters, BODY),
        Request("POST", "/v1/x", POST.parameters, BODY),
        Request("POST", POST.path, {"k1": "v1"}, BODY),
        Request("POST", POST.path, POST.parameters, b"{}"),
        Request("POST", POST.path, POST.parameters, b""),
    ]
    assert len({signed(part, KEY, "r", NOW)["Authorization"] for part in parts}) == len(parts)
    bare = signed(Request("GET", "/v1/x", {}, b""), DlfKey("i", "s"), "r", NOW)
    assert not {"Content-MD5", "Content-Type", "x-dlf-security-token"} & set(bare)


def test_a_signature_of_openapi_is_used_once() -> None:
    made = [signed_openapi(Request("GET", "/v1/a%24b", {"x": "y z"}, b""), KEY, "host", NOW) for _ in range(2)]
    assert made[0]["Authorization"] != made[1]["Authorization"]
    assert made[0]["Authorization"].startswith("acs access-key-id:") and made[0]["Date"].endswith("12:12:12 GMT")
    assert made[0]["x-acs-security-token"] == "securityToken" and "Content-MD5" not in made[0]
    assert signed_openapi(POST, KEY, "host", NOW)["Content-Type"] == "application/json"


def test_a_bearer_token_and_none() -> None:
    assert signed_by(read_settings({"uri": "http://h", "token": "abc"})) == "Bearer abc"
    assert signer_of(read_settings({"uri": "http://h"}))(POST) == {}


def test_a_key_that_is_given() -> None:
    given = {"dlf.access-key-id": "me", "dlf.access-key-secret": "s"}
    assert "Credential=me/" in signed_by(read_settings({**DLF, **given}))
    openapi = read_settings({**DLF, **given, "dlf.signing-algorithm": "openapi"})
    assert signed_by(openapi).startswith("acs me:")


def test_a_key_in_a_file_is_read_again_before_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "key"
    sign = signer_of(read_settings({**DLF, "dlf.token-path": str(file)}))
    file.write_bytes(key_json("one", timedelta(minutes=5)))
    assert "Credential=one/" in sign(POST)["Authorization"]
    file.write_bytes(key_json("two", timedelta(hours=2)))
    assert "Credential=two/" in sign(POST)["Authorization"]
    file.write_bytes(key_json("three"))
    assert "Credential=two/" in sign(POST)["Authorization"]


def test_a_file_that_is_half_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_bytes(key_json("one")[:20])
    monkeypatch.setattr("paimon_sql.catalog.rest.auth.time.sleep", lambda _: file.write_bytes(key_json("one")))
    assert "Credential=one/" in signed_by(read_settings({**DLF, "dlf.token-path": str(file)}))


@pytest.mark.parametrize("content", [b'{"AccessKeySecret": "very-secret"}', b"very-secret", b"[]", None])
def test_a_file_without_a_key(content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_sql.catalog.rest.auth._PAUSE", 0)
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StorageError, match="key of DLF") as caught:
        signed_by(read_settings({**DLF, "dlf.token-path": str(file)}))
    assert "very-secret" not in str(caught.value)


def test_a_key_of_the_machine() -> None:
    def answer(asked: Any) -> Any:
        return 200, {}, b"role a\n" if asked.path == "/" else key_json(asked.path)

    with scripted(answer) as script:
        given = {**DLF, "dlf.token-loader": "ecs", "dlf.token-ecs-metadata-url": f"{script.uri}/"}
        assert "Credential=/role%20a/" in signed_by(read_settings(given))
        assert "Credential=/mine/" in signed_by(read_settings({**given, "dlf.token-ecs-role-name": "mine"}))
    with scripted(lambda asked: (403, {}, b"")) as script, pytest.raises(StorageError, match="403"):
        signed_by(read_settings({**given, "dlf.token-ecs-metadata-url": f"{script.uri}/"}))


def test_keys_that_are_none() -> None:
    for node in ({}, {"AccessKeyId": 1, "AccessKeySecret": "s"}, []):
        with pytest.raises(TypeError):
            decode_key(node)
    with pytest.raises(ValueError, match="time data"):
        decode_key({"AccessKeyId": "i", "AccessKeySecret": "s", "Expiration": "tomorrow"})


def test_secrets_are_not_shown() -> None:
    settings = read_settings({**DLF, "dlf.access-key-id": "me", "dlf.access-key-secret": "hide", "header.X": "hide"})
    assert "hide" not in repr(settings) and "hide" not in repr(DlfKey("i", "hide", "hide"))
    assert "hide" not in repr(read_settings({"uri": "http://h", "token": "hide"}))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "needs the option 'uri'"),
        ({"uri": "ftp://h"}, "http://host:port"),
        ({"uri": "http://"}, "http://host:port"),
        ({"uri": "http://h:port"}, "cannot be"),
        ({"uri": "http://u:p@h"}, "contains a secret"),
        ({"uri": "http://h/?token=x"}, "contains a secret"),
        ({"uri": "http://h/?a=b"}, "http://host:port"),
        ({"uri": "http://h ost"}, "ASCII|cannot be"),
        ({"uri": "http://h", "token.provider": "bear"}, "needs the option 'token'"),
        ({"uri": "http://h", "token": "a b"}, "needs the option 'token'"),
        ({"uri": "http://h", "token.provider": "kerberos"}, "bear or dlf"),
        ({"uri": "http://h", "header.X Y": "1"}, "not a valid HTTP header"),
        ({"uri": "http://h", "header.X": "1\r\nY: 2"}, "not a valid HTTP header"),
        ({"uri": "http://h", "rest.read-timeout": "soon"}, "a duration"),
        ({"uri": "http://h", "token.provider": "dlf"}, "dlf.region"),
        (DLF, "dlf.access-key-id"),
        ({**DLF, "dlf.token-loader": "mine"}, "ecs or local_file"),
        ({**DLF, "dlf.signing-algorithm": "v9"}, "default or openapi"),
    ],
)
def test_options_that_are_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidOptionError, match=why):
        read_settings(options)


def test_what_an_address_says_of_dlf() -> None:
    given = {"token.provider": "dlf", "dlf.access-key-id": "i", "dlf.access-key-secret": "s"}
    vpc = read_settings({**given, "uri": "https://cn-beijing-vpc.dlf.aliyuncs.com"}).dlf
    assert vpc is not None and (vpc.region, vpc.algorithm) == ("cn-beijing", "default")
    public = read_settings({**given, "uri": "https://dlfnext.cn-hangzhou.aliyuncs.com"}).dlf
    assert public is not None and (public.region, public.algorithm) == ("cn-hangzhou", "openapi")
