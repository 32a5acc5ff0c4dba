"""Locations in their one spelling, and the options of a storage."""

from __future__ import annotations

import os

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.io.load import load_file_io, normalize, same_storage
from paimon_core.io.local import LocalFileIO
from paimon_core.io.objects.store import ObjectStoreFileIO


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


@pytest.mark.parametrize(
    ("scheme", "options", "kept"),
    [
        ("s3", {"s3.secret-key": "hunter2"}, ["s3.secret-key"]),
        ("s3a", {"s3.secret-key": "hunter2", "fs.oss.endpoint": "x", "warehouse": "w"}, ["s3.secret-key"]),
        ("s3n", {"hadoop.fs.s3a.secret.key": "hunter2"}, ["fs.s3a.secret.key"]),
        ("oss", {"fs.oss.accessKeySecret": "hunter2"}, ["fs.oss.accessKeySecret"]),
        ("obs", {"fs.obs.endpoint": "h", "fs.obs.secret.key": "hunter2"}, ["fs.obs.endpoint", "fs.obs.secret.key"]),
        ("cosn", {"hadoop.fs.cosn.bucket.region": "r"}, ["fs.cosn.bucket.region"]),
        ("cos", {"fs.cosn.bucket.region": "r", "s3.region": "x"}, ["fs.cosn.bucket.region"]),
        ("gs", {"fs.gs.storage.root.url": "http://h"}, ["fs.gs.storage.root.url"]),
        ("abfss", {"fs.azure.account.key": "hunter2"}, ["fs.azure.account.key"]),
    ],
)
def test_object_stores(scheme: str, options: dict[str, str], kept: list[str]) -> None:
    pytest.importorskip("obstore")
    io = load_file_io(f"{scheme}://bucket/wh", options)
    assert isinstance(io, ObjectStoreFileIO) and sorted(io.options) == kept and io.atomic_create
    assert "hunter2" not in repr(io)


def test_storages_with_other_settings_differ() -> None:
    keys = {"s3.access-key": "id", "s3.secret-key": "hunter2"}
    one, same, other = (
        ObjectStoreFileIO("s3", {**keys, "s3.endpoint": e}) for e in ("http://a", "http://a", "http://b")
    )
    assert same_storage(one) == same_storage(same) != same_storage(other)
    assert same_storage(LocalFileIO()) == same_storage(LocalFileIO()) and "hunter2" not in same_storage(one)
