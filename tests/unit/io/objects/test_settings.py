"""Each setting of a catalog for object stores is used, refused, needless or warned of."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.io.hadoop import with_hadoop
from paimon_core.io.load import load_file_io
from paimon_core.io.objects import clients
from paimon_core.io.objects.names import NEEDLESS, REFUSED, USED
from paimon_core.io.objects.settings import credentials, encryption, settings_of
from paimon_core.io.schemes import KEY_STORES, PREFIXES

FULL = {
    "endpoint": "minio:9000",
    "access_key_id": "id",
    "secret_access_key": "hunter2",
    "session_token": "t",
    "region": "eu-west-1",
    "path_style": "true",
}


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("s3", {}, {}),
        ("s3", {"warehouse": "s3://b", "s3.endpoint": "http://minio:9000"}, {"endpoint": "http://minio:9000"}),
        (
            "s3",
            {
                "s3.endpoint": "minio:9000",
                "s3.access-key": "id",
                "s3.secret-key": "hunter2",
                "s3.session.token": "t",
                "s3.region": "eu-west-1",
                "s3.path.style.access": "true",
            },
            FULL,
        ),
        (
            "s3",
            {
                "fs.s3a.endpoint": "minio:9000",
                "fs.s3a.access.key": "id",
                "fs.s3a.secret.key": "hunter2",
                "fs.s3a.session.token": "t",
                "fs.s3a.endpoint.region": "eu-west-1",
                "fs.s3a.path.style.access": "true",
            },
            FULL,
        ),
        ("s3", {"s3.access-key": "less", "fs.s3a.access.key": "more"}, {"access_key_id": "more"}),
        ("s3", {"fs.s3a.access.key": "less", "fs.s3a.bucket.b.access.key": "more"}, {"access_key_id": "more"}),
        ("s3", {"fs.s3a.access.key": "own", "fs.s3a.bucket.c.access.key": "others"}, {"access_key_id": "own"}),
        ("s3", {"fsspec.anon": "true", "fsspec.key": "id"}, {"anonymous": "true", "access_key_id": "id"}),
        ("s3", {"fs.s3a.threads.max": "9", "fs.s3a.impl": "x", "fs.s3a.fast.upload": "true"}, {}),
        (
            "oss",
            {"fs.oss.endpoint": "oss-cn", "fs.oss.accessKeyId": "id", "fs.oss.accessKeySecret": "hunter2"},
            {"endpoint": "oss-cn", "access_key_id": "id", "secret_access_key": "hunter2"},
        ),
        ("gcs", {"s3.access-key": "id", "fs.gs.storage.root.url": "http://h"}, {"endpoint": "http://h"}),
        (
            "azure",
            {
                "fs.azure.account.key.acc.dfs.core.windows.net": "k",
                "fs.azure.account.key.other.dfs.core.windows.net": "n",
            },
            {"account_key": "k"},
        ),
    ],
)
def test_settings_that_are_used(kind: str, options: dict[str, str], expected: dict[str, str]) -> None:
    bucket = "c@acc.dfs.core.windows.net" if kind == "azure" else "b"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = settings_of(kind, bucket, options)
    assert dict(found.values) == expected
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        ("s3", "fs.s3a.encryption.algorithm", "CSE-KMS"),
        ("s3", "fs.s3a.server-side-encryption-algorithm", "CSE-CUSTOM"),
        ("s3", "fs.s3a.encryption.context", "a=b"),
        ("s3", "fs.s3a.acl.default", "PublicRead"),
        ("s3", "fs.s3a.create.storage.class", "glacier"),
        ("s3", "fs.s3a.bucket.b.assumed.role.policy", "{}"),
        ("s3", "fs.s3a.aws.credentials.provider", "org.example.Mine"),
        ("s3", "fsspec.config_kwargs", "{}"),
        ("s3", "fs.s3a.security.credential.provider.path", "jceks://hdfs/keys"),
        ("s3", "fs.s3a.delegation.token.binding", "org.example.Mine"),
        ("s3", "fs.s3a.delegation.tokens.enabled", "true"),
        ("s3", "fs.s3a.signing-algorithm", "S3SignerType"),
        ("s3", "fs.s3a.http.signer.class", "org.example.Mine"),
        ("s3", "fs.s3a.endpoint.fips", "true"),
        ("s3", "fs.s3a.bucket.b.accesspoint.arn", "arn:aws:s3:x"),
        ("s3", "s3.sse.type", "kms"),
        ("s3", "s3.ssl.truststore.path", "/ca.jks"),
        ("s3", "s3.ssl.verify", "false"),
        ("s3", "fs.s3a.client.encryption.key", "k"),
        ("oss", "fs.oss.server-side-encryption", "AES256"),
        ("oss", "fs.oss.server-side-encryption-algorithm", "KMS"),
        ("oss", "fs.oss.acl.default", "public-read"),
        ("oss", "fs.oss.assumed.role.arn", "acs:r"),
        ("gcs", "fs.gs.auth.type", "USER_CREDENTIALS"),
        ("gcs", "fs.gs.requester.pays.mode", "AUTO"),
        ("gcs", "fs.gs.storage.service.path", "storage/v2/"),
        ("gcs", "fs.gs.storage.http.headers.x-goog-encryption-key", "k"),
        ("azure", "fs.azure.client-provided-encryption-key", "k"),
        ("azure", "fs.azure.account.auth.type", "Custom"),
        ("azure", "fs.azure.account.keyprovider", "org.example.ShellDecryptionKeyProvider"),
        ("azure", "fs.azure.always.use.https", "false"),
        ("azure", "fs.azure.appendblob.directories", "/logs"),
        ("azure", "fs.azure.secure.mode", "true"),
        ("azure", "fs.azure.account.oauth2.refresh.token", "t"),
        ("oss", "fs.oss.credentials.provider", "org.example.Mine"),
        ("gcs", "fs.gs.encryption.key", "k"),
        ("azure", "fs.azure.account.oauth.provider.type", "org.example.MsiTokenProvider"),
    ],
)
def test_settings_that_change_bytes_or_keys_are_refused(kind: str, option: str, value: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"cannot be (used|encrypted)") as caught:
        settings_of(kind, "b", {option: value})
    assert option in str(caught.value) or value in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("s3", "fs.s3a.nosuch.thing"),
        ("s3", "fs.s3a.client.nosuch"),
        ("s3", "fs.s3a.ssl.nosuch"),
        ("s3", "fs.s3a.write.nosuch"),
        ("s3", "fs.gs.list.max.items.per.call"),
        ("oss", "fs.oss.http.nosuch"),
        ("gcs", "fs.gs.read.nosuch"),
        ("azure", "fs.azure.identity.nosuch"),
        ("azure", "fs.azure.fast.upload"),
    ],
)
def test_unknown_settings_raise_a_warning(kind: str, key: str) -> None:
    if key.startswith(PREFIXES[kind]):
        with pytest.warns(UserWarning, match=f"{key} is unknown for {kind}"):
            assert not settings_of(kind, "b", {key: "1"}).values
    else:
        assert not settings_of(kind, "b", {key: "1"}).values


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        *((kind, f"{PREFIXES[kind][0]}{name}", "1") for kind in NEEDLESS for name in sorted(NEEDLESS[kind])),
        ("s3", "fs.s3a.delegation.tokens.enabled", "false"),
        ("s3", "fs.s3a.security.credential.provider.path", ""),
        ("s3", "fs.s3a.signing-algorithm", "AWSS3V4SignerType"),
        ("gcs", "fs.gs.requester.pays.mode", "DISABLED"),
        ("azure", "fs.azure.account.auth.type", "SharedKey"),
        ("azure", "fs.azure.always.use.https", "true"),
    ],
)
def test_settings_that_need_nothing(kind: str, key: str, value: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not settings_of(kind, "b", {key: value}).values


def test_each_name_has_one_meaning() -> None:
    for kind in PREFIXES:
        lists = [set(USED[kind]), set(REFUSED[kind]), set(NEEDLESS[kind])]
        assert sum(map(len, lists)) == len(set.union(*lists)), kind


@pytest.mark.parametrize("prefix", ["", "spark.hadoop."])
@pytest.mark.parametrize("scheme", ["s3", "oss", "gs", "abfs"])
def test_key_stores_of_java_are_refused(scheme: str, prefix: str) -> None:
    pytest.importorskip("obstore")
    given = {f"{prefix}{KEY_STORES}": "jceks://file/keys"}
    with pytest.raises(UnsupportedFeatureError, match="key stores of Java are not read"):
        load_file_io(f"{scheme}://b/wh", given)
    assert load_file_io(f"{scheme}://b/wh", {**given, KEY_STORES: ""})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("fs.s3a.attempts.maximum", "x"),
        ("fs.s3a.attempts.maximum", "3s"),
        ("fs.s3a.proxy.port", "80s"),
        ("fs.s3a.connection.timeout", "-1"),
        ("fs.s3a.connection.timeout", "30 s"),
        ("fs.s3a.connection.establish.timeout", "1w"),
    ],
)
def test_numbers_are_checked(option: str, value: str) -> None:
    with pytest.raises(InvalidOptionError, match="not a number"):
        settings_of("s3", "b", {option: value})


def test_a_key_for_sse_c_is_checked() -> None:
    with pytest.raises(InvalidOptionError, match="256 bits"):
        settings_of("s3", "b", {"fs.s3a.encryption.algorithm": "SSE-C", "fs.s3a.encryption.key": "c2hvcnQ="})
    found = settings_of("s3", "b", {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.key": "arn:k"})
    assert encryption(found) == {"server_side_encryption": "aws:kms", "sse_kms_key_id": "arn:k"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ""),
        ({"access.key": "id"}, "keys"),
        ({"aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}, "anonymous"),
        ({"aws.credentials.provider": "a.SimpleAWSCredentialsProvider, b.IAMInstanceCredentialsProvider"}, ""),
        ({"aws.credentials.provider": "a.SimpleAWSCredentialsProvider", "access.key": "id"}, "keys"),
        ({"aws.credentials.provider": "a.auth.AssumedRoleCredentialProvider", "assumed.role.arn": "arn:r"}, "role"),
        ({"aws.credentials.provider": "com.amazonaws.auth.profile.ProfileCredentialsProvider"}, "profile"),
        ({"aws.credentials.provider": "com.amazonaws.auth.WebIdentityTokenCredentialsProvider"}, ""),
    ],
)
def test_providers_of_credentials(options: dict[str, str], expected: str) -> None:
    assert credentials(settings_of("s3", "b", {f"fs.s3a.{k}": v for k, v in options.items()})) == expected


@pytest.mark.parametrize(
    ("options", "endpoint", "is_named"),
    [
        ({}, None, True),
        ({"path.style.access": "true"}, None, False),
        ({"endpoint": "minio:9000"}, "https://minio:9000", False),
        ({"endpoint": "minio:9000", "connection.ssl.enabled": "false"}, "http://minio:9000", False),
        ({"endpoint": "http://minio:9000/", "path.style.access": "false"}, "http://b.minio:9000", True),
        ({"endpoint": "http://127.0.0.1:9000", "path.style.access": "false"}, "http://127.0.0.1:9000", False),
        ({"endpoint": "s3.eu-west-1.amazonaws.com"}, "https://b.s3.eu-west-1.amazonaws.com", True),
    ],
)
def test_endpoints(options: dict[str, str], endpoint: str | None, is_named: bool) -> None:
    found = settings_of("s3", "b", {f"fs.s3a.{k}": v for k, v in options.items()})
    expected: dict[str, Any] = {"virtual_hosted_style_request": is_named}
    assert clients._endpoint(found, "b") == (expected if endpoint is None else {"endpoint": endpoint, **expected})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("200s", "200000ms"),
        (" 30S ", "30000ms"),
        ("9000", "9000ms"),
        ("500us", "1ms"),
        ("10m", "600000ms"),
        ("1d", "86400000ms"),
        ("0", "1h"),
        ("", "30s"),
    ],
)
def test_times_are_read_as_hadoop_reads_them(given: str, expected: str) -> None:
    pytest.importorskip("obstore")
    options = {"fs.s3a.connection.timeout": given, "s3.access-key": "a", "s3.secret-key": "b", "s3.region": "r"}
    assert clients._client_options(settings_of("s3", "b", options), clients._READ)["read_timeout"] == expected
    assert load_file_io("s3://b/wh", options)


def test_a_proxy_and_timeouts() -> None:
    given = {"proxy.host": "p", "proxy.port": "3128", "proxy.username": "u", "proxy.password": "hunter2"}
    found = settings_of("s3", "b", {f"fs.s3a.{k}": v for k, v in {**given, "connection.timeout": "9000"}.items()})
    made = clients._client_options(found, clients._READ)
    assert (made["proxy_url"], made["read_timeout"]) == ("http://u:hunter2@p:3128", "9000ms")
    found = settings_of("s3", "b", {"fs.s3a.proxy.host": "p", "fs.s3a.proxy.ssl.enabled": "true"})
    assert clients._client_options(found, clients._READ)["proxy_url"] == "https://p:8080"
    found = settings_of("gcs", "b", {"fs.gs.proxy.address": "p:3128"})
    assert clients._client_options(found, clients._READ)["proxy_url"] == "http://p:3128"


def test_settings_of_hadoop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>fs.s3a.endpoint</name><value>http://${host}:9000</value></property>"
        "<property><name>host</name><value>${env.PAIMON_HOST}</value></property>"
        "<property><name>fs.s3a.access.key</name><value>of the file</value></property>"
        "<property><name>io.file.buffer.size</name><value>1</value></property></configuration>"
    )
    monkeypatch.setenv("PAIMON_HOST", "minio")
    options = {
        "hadoop-conf-dir": str(tmp_path),
        "spark.hadoop.fs.s3a.access.key": "of Spark",
        "spark.hadoop.fs.s3a.region": "of Spark",
        "hadoop.fs.s3a.region": "of the catalog",
    }
    found = {k: v for k, v in with_hadoop(options).items() if k not in options}
    assert found == {
        "fs.s3a.endpoint": "http://minio:9000",
        "fs.s3a.access.key": "of Spark",
        "fs.s3a.region": "of the catalog",
    }
    assert with_hadoop({**options, "fs.s3a.region": "own"})["fs.s3a.region"] == "own"
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert with_hadoop({})["fs.s3a.access.key"] == "of the file"
    (tmp_path / "core-site.xml").write_text("<configuration>")
    with pytest.raises(InvalidOptionError, match="core-site.xml cannot be read"):
        with_hadoop({"hadoop-conf-dir": str(tmp_path), "x": "y"})
