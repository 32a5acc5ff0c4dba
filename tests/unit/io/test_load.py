"""Locations in their one spelling, and the options of a storage."""

from __future__ import annotations

import os
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.io import load
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.load import load_file_io, normalize
from paimon_core.io.local import LocalFileIO


@pytest.mark.parametrize(
    ("uri", "location"),
    [
        ("/wh", "/wh"),
        ("/wh/", "/wh"),
        ("//wh//db/../x", "/wh/x"),
        ("/", "/"),
        ("file:/wh", "/wh"),
        ("file:///wh/", "/wh"),
        ("FILE:///wh", "/wh"),
        ("file://localhost/wh", "/wh"),
        ("/wh/dt=a%20b", "/wh/dt=a%20b"),
        ("file:/wh/dt=a%20b", "/wh/dt=a%20b"),
        ("/wh/a:b", "/wh/a:b"),
        ("s3://bucket/wh//", "s3://bucket/wh"),
        ("S3A://Bucket/Wh", "s3a://Bucket/Wh"),
        ("hdfs:///wh", "hdfs:///wh"),
        ("abfs://container@account.dfs.core.windows.net/wh", "abfs://container@account.dfs.core.windows.net/wh"),
    ],
)
def test_normalize(uri: str, location: str) -> None:
    assert normalize(uri) == location
    assert normalize(location) == location


def test_relative_paths_start_here() -> None:
    assert normalize("wh/db/") == f"{os.getcwd()}/wh/db"


@pytest.mark.parametrize(
    ("uri", "cause"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("file://host/wh", "names the host 'host'"),
        ("file://wh", "not a URI"),
        ("file:wh", "not a URI"),
        ("hdfs:/wh", "not a URI"),
        ("simplecache::s3://bucket/wh", "not a URI"),
        ("s3://", "names no bucket"),
        ("s3:///", "names no bucket"),
    ],
)
def test_locations_that_are_none(uri: str, cause: str) -> None:
    with pytest.raises(InvalidOptionError, match=cause):
        normalize(uri)


@pytest.mark.parametrize("uri", ["s3://id:hunter2@bucket/wh", "s3:/id:hunter2@bucket/wh", "x::s3://id:hunter2@b/wh"])
def test_credentials_in_a_location_are_refused_and_not_shown(uri: str) -> None:
    with pytest.raises(InvalidOptionError, match="user and a password") as caught:
        normalize(uri)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("uri", ["wh", "/wh", "file:/wh", "file:///wh"])
def test_local_storage(uri: str) -> None:
    assert load_file_io(uri, {"s3.secret-key": "unused"}) == LocalFileIO()


def test_memory_storage() -> None:
    pytest.importorskip("fsspec")
    assert load_file_io("memory://wh", {"warehouse": "memory://wh"}) == FsspecFileIO("memory")


def test_an_unknown_storage() -> None:
    with pytest.raises(UnsupportedFeatureError, match="nosuch://"):
        load_file_io("nosuch://bucket/wh", {})


S3_FULL = {
    "key": "id",
    "secret": "hunter2",
    "token": "t",
    "endpoint_url": "https://minio:9000",
    "client_kwargs": {"region_name": "eu-west-1"},
    "config_kwargs": {"s3": {"addressing_style": "path"}},
}


@pytest.mark.parametrize(
    ("scheme", "options", "expected"),
    [
        ("s3", {}, {}),
        ("s3", {"warehouse": "s3://b", "s3.endpoint": "http://minio:9000"}, {"endpoint_url": "http://minio:9000"}),
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
            S3_FULL,
        ),
        (
            "s3a",
            {
                "fs.s3a.endpoint": "minio:9000",
                "fs.s3a.access.key": "id",
                "fs.s3a.secret.key": "hunter2",
                "fs.s3a.session.token": "t",
                "fs.s3a.endpoint.region": "eu-west-1",
                "fs.s3a.path.style.access": "True",
            },
            S3_FULL,
        ),
        (
            "s3",
            {"s3.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": "false"},
            {"endpoint_url": "http://minio:9000"},
        ),
        ("s3", {"fs.s3.accessKeyId": "id", "fs.s3.accessKeySecret": "hunter2"}, {"key": "id", "secret": "hunter2"}),
        ("s3", {"s3.access-key": "less", "fs.s3a.access.key": "more"}, {"key": "more"}),
        ("s3", {"fsspec.anon": "true", "fsspec.profile": "p"}, {"anon": True, "profile": "p"}),
        (
            "oss",
            {"fs.oss.endpoint": "oss-cn", "fs.oss.accessKeyId": "id", "fs.oss.accessKeySecret": "hunter2"},
            {"endpoint": "oss-cn", "key": "id", "secret": "hunter2"},
        ),
        ("gs", {"s3.access-key": "id", "fsspec.project": "p"}, {"project": "p"}),
    ],
)
def test_options(
    monkeypatch: pytest.MonkeyPatch, scheme: str, options: dict[str, str], expected: dict[str, Any]
) -> None:
    monkeypatch.setattr(load, "url_options", lambda location: {})
    io = load_file_io(f"{scheme}://bucket/wh", options)
    assert io == FsspecFileIO(scheme, expected)
    assert "hunter2" not in repr(io)
