"""Hadoop's connector for S3 gets the settings of a catalog, or is not used."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.io.objects.hadoop_reader import CONNECTOR, HadoopReader, hadoop_reader
from paimon_core.io.objects.store import ObjectStoreFileIO
from paimon_core.io.read_only import ReadOnlyFileIO

KEYS = {"s3.access-key": "id", "s3.secret-key": "hunter2"}
ROOT = "s3://lake/wh/db.db/t"


def reader(options: dict[str, str], root: str = ROOT, scheme: str = "s3") -> HadoopReader | None:
    return hadoop_reader(ObjectStoreFileIO(scheme, options), root)


def settings(options: dict[str, str], root: str = ROOT) -> dict[str, str]:
    """The settings of the bucket, without prefix and without those that are empty."""
    found = reader(options, root)
    assert found is not None
    prefix = f"fs.s3a.bucket.{found.bucket}."
    own = {name.removeprefix(prefix): value for name, value in found.settings.items() if name.startswith(prefix)}
    assert found.settings.keys() == {*(prefix + name for name in own), f"fs.{found.scheme}.impl"}
    assert found.settings[f"fs.{found.scheme}.impl"] == CONNECTOR
    return {name: value for name, value in own.items() if value}


def test_keys_and_endpoints() -> None:
    given = {**KEYS, "s3.endpoint": "minio.example.org:9000", "s3.connection.ssl.enabled": "false"}
    assert settings(given) == {
        "endpoint": "http://minio.example.org:9000",
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "access.key": "id",
        "secret.key": "hunter2",
        "requester.pays.enabled": "false",
    }
    amazon = settings({**KEYS, "s3.region": "eu-west-1"})
    assert "endpoint" not in amazon and amazon["endpoint.region"] == "eu-west-1"
    assert amazon["path.style.access"] == "false" and amazon["connection.ssl.enabled"] == "true"
    assert settings({"fs.s3a.bucket.lake.access.key": "b", **KEYS})["access.key"] == "b"


def test_other_settings() -> None:
    key = base64.b64encode(bytes(32)).decode()
    more = {
        "fs.s3a.encryption.algorithm": "SSE-C",
        "fs.s3a.encryption.key": key,
        "fs.s3a.proxy.host": "proxy",
        "fs.s3a.proxy.port": "81",
        "fs.s3a.requester.pays.enabled": "true",
    }
    found = settings({**KEYS, **more})
    assert (found["encryption.algorithm"], found["encryption.key"]) == ("SSE-C", key)
    assert (found["proxy.host"], found["proxy.port"], found["requester.pays.enabled"]) == ("proxy", "81", "true")
    plain = reader({**KEYS, "fs.s3a.encryption.algorithm": "AES256"})
    assert plain is not None and plain.settings["fs.s3a.bucket.lake.encryption.algorithm"] == ""
    anonymous = settings(
        {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}
    )
    assert anonymous["aws.credentials.provider"] == "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"


@pytest.mark.parametrize("name", ["endpoint", "endpoint.region", "accesspoint.arn", "proxy.host", "encryption.key"])
def test_a_session_does_not_send_requests_with_these_keys_elsewhere(name: str) -> None:
    """Settings that the catalog lacks are set, too: else `SET fs.s3a.endpoint` of a session would count."""
    found = reader(KEYS)
    assert found is not None
    assert found.settings[f"fs.s3a.bucket.lake.{name}"] == ("us-east-1" if name == "endpoint.region" else "")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"s3.profile": "work"},
        {**KEYS, "s3.session.token": "token"},
        {
            "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider",
            "fs.s3a.assumed.role.arn": "arn:aws:iam::1:role/r",
        },
    ],
)
def test_keys_that_are_found_elsewhere_or_expire_are_not_handed_over(options: dict[str, str]) -> None:
    assert reader(options) is None


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN", "AWS_SKIP_SIGNATURE"])
def test_an_environment_that_only_our_client_reads(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert reader(KEYS) is not None
    monkeypatch.setenv(name, "x")
    assert reader(KEYS) is None


@pytest.mark.parametrize(
    ("io", "root"),
    [
        (LocalFileIO(), "/wh/db.db/t"),
        (ObjectStoreFileIO("gs", {}), "gs://lake/wh"),
        (ObjectStoreFileIO("oss", {"fs.oss.accessKeyId": "id", "fs.oss.accessKeySecret": "s"}), "oss://lake/wh"),
        (ReadOnlyFileIO(ObjectStoreFileIO("s3", KEYS), "no"), ROOT),
        (ObjectStoreFileIO("s3", KEYS), "s3://under_score/wh"),
    ],
)
def test_storages_that_are_not_handed_over(io: FileIO, root: str) -> None:
    assert hadoop_reader(io, root) is None


def test_each_set_of_settings_has_a_scheme_of_its_own() -> None:
    """Hadoop has one file system for a scheme and a bucket: with a common scheme, the first keys would be used."""

    def scheme(**more: str) -> str:
        found = reader({**KEYS, **{name.replace("_", "."): value for name, value in more.items()}})
        assert found is not None
        return found.scheme

    schemes = [
        scheme(),
        scheme(s3_endpoint="http://a"),
        scheme(s3_endpoint="http://b"),
        scheme(**{"s3.secret-key": "x"}),
    ]
    assert len(set(schemes)) == len(schemes) and scheme() == schemes[0]
    assert not any("hunter2" in s for s in schemes)


def test_paths() -> None:
    found: Any = reader(KEYS)
    assert found.path("s3a://lake/wh/p=a%2Fb/f.parquet") == f"{found.scheme}://lake/wh/p=a%2Fb/f.parquet"
    for other in ("s3://lake2/wh/f", "gs://lake/wh/f", "/lake/wh/f", "s3://lake"):
        assert not found.opens(other)
    assert found.opens("s3a://lake/wh/p=a%2Fb/f.parquet")
    assert "hunter2" not in repr(found)
