"""Each setting of HDFS is handed to the library, used, refused, needless or warned of."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError, UnsupportedFeatureError
from paimon_core.io import hdfs
from paimon_core.io.hdfs import HdfsFileIO
from paimon_core.io.hdfs_settings import cluster_settings, file_settings, hdfs_options, umask
from paimon_core.io.load import load_file_io
from tests.support.fake_hdfs import FakeHdfs

SITE = """<configuration>
<property><name>fs.defaultFS</name><value>hdfs://lake</value></property>
<property><name>dfs.ha.namenodes.lake</name><value>nn1,nn2</value></property>
<property><name>dfs.namenode.rpc-address.lake.nn1</name><value>a:8020</value></property>
<property><name>hadoop.security.key.provider.path</name><value>kms://http@kms:9600/kms</value></property>
<property><name>hadoop.rpc.protection</name><value>privacy</value></property>
<property><name>dfs.replication</name><value>2</value></property>
<property><name>dfs.bytes-per-checksum</name><value>1024</value></property>
<property><name>dfs.namenode.name.dir</name><value>/disk</value></property>
</configuration>"""
KMS = "hadoop.security.key.provider.path"


@pytest.fixture(autouse=True)
def no_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)


def silent(options: dict[str, str]) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return hdfs_options(options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({KMS: "kms://a"}, {KMS: "kms://a"}),
        ({"dfs.encryption.key.provider.uri": "kms://a"}, {KMS: "kms://a"}),
        ({"dfs.encryption.key.provider.uri": "kms://old", KMS: "kms://a"}, {KMS: "kms://a"}),
        ({f"spark.hadoop.{KMS}": "kms://a"}, {KMS: "kms://a"}),
        ({"spark.hadoop.dfs.data.transfer.protection": "privacy"}, {"dfs.data.transfer.protection": "privacy"}),
        ({"hadoop.dfs.ha.namenodes.lake": "a,b"}, {"dfs.ha.namenodes.lake": "a,b"}),
        ({"hadoop.dfs.replication": "2", "dfs.replication": "3"}, {"dfs.replication": "3"}),
        ({"spark.hadoop.dfs.replication": "2", "hadoop.dfs.replication": "3"}, {"dfs.replication": "3"}),
        ({"dfs.block.size": "64m"}, {"dfs.blocksize": "64m"}),
        ({"dfs.client.failover.proxy.provider.lake": "x"}, {"dfs.client.failover.proxy.provider.lake": "x"}),
        ({"dfs.encrypt.data.transfer": "true", "dfs.client.read.shortcircuit": "true"}, {}),
        ({"hadoop.rpc.protection": "authentication", "dfs.checksum.type": "CRC32C"}, {}),
        ({"hadoop.rpc.socket.factory.class.default": "org.apache.hadoop.net.StandardSocketFactory"}, {}),
    ],
)
def test_settings_without_a_word(options: dict[str, str], expected: dict[str, str]) -> None:
    assert silent(options) == expected


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("dfs.nosuch", "1", "dfs.nosuch is unknown for hdfs"),
        ("spark.hadoop.dfs.client.nosuch", "1", "dfs.client.nosuch is unknown for hdfs"),
        ("hadoop.security.nosuch", "1", "hadoop.security.nosuch is unknown for hdfs"),
        (
            "hadoop.rpc.protection",
            "privacy",
            "The name node decides hadoop.rpc.protection, not the catalog's value 'privacy'",
        ),
    ],
)
def test_settings_without_effect_raise_a_warning(key: str, value: str, words: str) -> None:
    with pytest.warns(UserWarning, match=words) as caught:
        assert hdfs_options({key: value}) == {}
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dfs.checksum.type", "CRC32"),
        ("dfs.bytes-per-checksum", "1024"),
        ("hadoop.dfs.bytes-per-checksum", "1024"),
        ("hadoop.security.saslproperties.resolver.class", "org.example.Mine"),
        ("spark.hadoop.hadoop.socks.server", "proxy:1080"),
        ("hadoop.rpc.socket.factory.class.default", "org.apache.hadoop.net.SocksSocketFactory"),
    ],
)
def test_settings_that_change_bytes_or_the_way_are_refused(key: str, value: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="cannot be used"):
        load_file_io("hdfs://nn:8020/wh", {key: value})


def test_site_files_of_the_driver_reach_executors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hdfs-site.xml").write_text(SITE)
    expected = {
        "fs.defaultFS": "hdfs://lake",
        "dfs.ha.namenodes.lake": "nn1,nn2",
        "dfs.namenode.rpc-address.lake.nn1": "a:8020",
        KMS: "kms://http@kms:9600/kms",
        "dfs.replication": "2",
    }
    assert silent({"hadoop-conf-dir": str(tmp_path)}) == {**expected, "hadoop-conf-dir": str(tmp_path)}
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert silent({}) == expected
    assert silent({"dfs.replication": "3"})["dfs.replication"] == "3"
    sent = pickle.loads(pickle.dumps(load_file_io("hdfs://lake/wh", {})))  # noqa: S301  as Spark does
    assert sent == HdfsFileIO("hdfs://lake", expected)


def test_a_folder_that_only_the_driver_has_is_not_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = list[Any]()

    def client(*arguments: Any, **_: Any) -> FakeHdfs:
        given.append(arguments)
        return FakeHdfs()

    monkeypatch.setattr(hdfs, "_native", lambda: SimpleNamespace(Client=client))
    hdfs._client.cache_clear()
    for folder in (f"{tmp_path}/none", str(tmp_path)):
        HdfsFileIO("hdfs://lake", {"hadoop-conf-dir": folder, "dfs.replication": "2"}).exists("hdfs://lake/x")
    hdfs._client.cache_clear()
    assert [folder for _, _, folder in given] == [None, str(tmp_path)]
    assert not any("dfs.replication" in options for _, options, _ in given)


def test_how_new_files_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    made, folders = list[Any](), list[dict[str, int]]()
    node = FakeHdfs()
    monkeypatch.setattr(hdfs, "_native", node.library)
    monkeypatch.setattr(FakeHdfs, "create", lambda _, path, options: made.append(options) or SimpleNamespace(
        write=len, close=lambda: None))  # fmt: skip
    monkeypatch.setattr(FakeHdfs, "mkdirs", lambda _, path, **given: folders.append(given))
    hdfs._client.cache_clear()
    options = {"dfs.replication": "2", "dfs.blocksize": "1m", "fs.permissions.umask-mode": "027"}
    io = load_file_io("hdfs://nn:8020/wh", options)
    io.write_bytes("hdfs://nn:8020/wh/a", b"1")
    io.make_dirs("hdfs://nn:8020/wh/b")
    hdfs._client.cache_clear()
    assert (made[0].replication, made[0].block_size, made[0].permission) == (2, 2**20, 0o640)
    assert folders == [{"create_parent": True, "permission": 0o750}]


def test_values_are_checked() -> None:
    assert file_settings({}) == {} and umask({}) is None
    assert umask({"fs.permissions.umask-mode": "u=rwx,g=rx,o="}) == 0o027
    for key, value in (("dfs.replication", "0"), ("dfs.blocksize", "big"), ("fs.permissions.umask-mode", "999")):
        with pytest.raises(InvalidOptionError, match=key):
            hdfs_options({key: value})


def test_settings_that_another_client_needs_for_the_same_cluster() -> None:
    name_service = {
        "dfs.nameservices": "lake",
        "dfs.ha.namenodes.lake": "a,b",
        "dfs.namenode.rpc-address.lake.a": "one:8020",
        "dfs.data.transfer.protection": "privacy",
        "security.kerberos.login.keytab": "/keys/etl",
    }
    own = {
        "dfs.replication": "1",
        "hadoop-conf-dir": "/etc/hadoop",
        "dfs.client.failover.sleep.base.millis": "1",
        "fs.permissions.umask-mode": "022",
    }
    options = {**name_service, **own, "fs.defaultFS": "hdfs://other"}
    assert cluster_settings("hdfs://lake", options) == name_service
    assert cluster_settings("hdfs://", options) == {**name_service, "fs.defaultFS": "hdfs://other"}
    assert cluster_settings("hdfs://nn:8020", {}) == {}
