"""A catalog's options have Spark's settings of storages beside its own."""

from __future__ import annotations

import pytest

from paimon_sql.spark.session_bridge import SessionBridge

SETTINGS = {
    "spark.sql.catalog.lake": "paimon_sql.SparkCatalog",
    "spark.sql.catalog.lake.warehouse": "hdfs://lake/wh",
    "spark.hadoop.fs.s3a.endpoint": "http://minio:9000",
    "spark.hadoop.dfs.replication": "2",
    "spark.hadoop.hadoop.security.key.provider.path": "kms://a",
    "spark.hadoop.mapreduce.job.reduces": "1",
    "spark.hadoop.hive.metastore.uris": "thrift://h",
}


def test_settings_of_storages_reach_the_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    def below(_: SessionBridge, prefix: str) -> dict[str, str]:
        return {key.removeprefix(prefix): value for key, value in SETTINGS.items() if key.startswith(prefix)}

    monkeypatch.setattr(SessionBridge, "own_setting", lambda _, key: SETTINGS.get(key))
    monkeypatch.setattr(SessionBridge, "settings", below)
    assert SessionBridge.__new__(SessionBridge).catalog_options("lake") == {
        "warehouse": "hdfs://lake/wh",
        "spark.hadoop.fs.s3a.endpoint": "http://minio:9000",
        "spark.hadoop.dfs.replication": "2",
        "spark.hadoop.hadoop.security.key.provider.path": "kms://a",
    }
