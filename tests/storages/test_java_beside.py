"""Java's connector and ours on the same tables of a remote storage, both ways (`make campaign NAME=remote`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import paimon_sql
from tests.interop.engines import Engines, SparkEngine
from tests.support.java_oracle import JavaOracle, find_oracles
from tests.support.remote_storage import RemoteStorage

ORACLES, STORAGE, JARS = find_oracles(), RemoteStorage.given(), os.environ.get("PAIMON_SQL_S3A_JARS", "")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(STORAGE is None or ORACLES is None, reason="no storage, or no Java: make campaign NAME=remote"),
]
TABLES = {
    "keyed": "'primary-key' = 'id,p', 'bucket' = '2'",
    "plain": "'bucket' = '-1'",
    "vectors": "'primary-key' = 'id,p', 'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
}


def java_settings(storage: RemoteStorage) -> dict[str, str]:
    """Spark's settings, by which Java's connector reaches the storage through Hadoop's own. It keeps no schemas."""
    fresh = {"spark.sql.catalog.paimon.cache-enabled": "false"}
    if storage.root.startswith("hdfs:"):
        return fresh
    assert ORACLES is not None
    jars = [*ORACLES.glob("paimon-spark-*.jar"), *sorted(Path(JARS.removesuffix("*")).glob("*.jar"))]
    given = storage.options
    settings = {
        "endpoint": given["s3.endpoint"],
        "access.key": given["s3.access-key"],
        "secret.key": given["s3.secret-key"],
        "endpoint.region": given["s3.region"],
        "path.style.access": "true",
    }
    return {
        **fresh,
        "spark.jars": ",".join(map(str, jars)),
        **{f"spark.hadoop.fs.s3a.{k}": v for k, v in settings.items()},
    }


@pytest.fixture(scope="module")
def engines(root_session: Any) -> Iterator[Engines]:
    assert STORAGE is not None and ORACLES is not None
    options = STORAGE.warehouse()
    place = options.pop("warehouse").replace("s3://", "s3a://")
    session = root_session.newSession()
    session.conf.set("spark.sql.catalog.paimon", "paimon_sql.SparkCatalog")
    for key, value in {"warehouse": place, **options}.items():
        session.conf.set(f"spark.sql.catalog.paimon.{key}", value)
    paimon_sql.install(session)
    session.sql("USE paimon.default")
    java = JavaOracle(ORACLES, place, java_settings(STORAGE))
    java.sql("USE paimon.default")
    yield Engines({"ours": SparkEngine(session), "java": java}, "default")
    java.close()


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("first", ["ours", "java"])
def test_tables_of_one_are_changed_by_the_other(engines: Engines, kind: str, first: str) -> None:
    second, table = ("java" if first == "ours" else "ours"), f"{kind}_{first}"
    engines.run(
        first,
        f"CREATE TABLE {table} (id BIGINT NOT NULL, v STRING, p STRING NOT NULL) PARTITIONED BY (p) "
        f"TBLPROPERTIES ({TABLES[kind]})",
        f"INSERT INTO {table} SELECT id, concat('v', id), concat('a b%', id % 2) FROM range(20)",
    )
    engines.both(f"SELECT * FROM {table}")
    engines.run(
        second,
        f"INSERT INTO {table} SELECT id, 'second', 'ü=%' FROM range(18, 22)",
        f"UPDATE {table} SET v = 'changed' WHERE id = 3",
        f"DELETE FROM {table} WHERE id = 4",
    )
    engines.both(f"SELECT * FROM {table}")
    engines.run(
        first,
        f"CALL sys.compact(table => '{table}')",
        f"CALL sys.create_tag(table => '{table}', tag => 'here')",
        f"ALTER TABLE {table} ADD COLUMN more INT",
        f"INSERT INTO {table} VALUES (100, 'last', 'z', 7)",
    )
    rows = engines.both(f"SELECT * FROM {table}")
    assert len(rows) == 24
    engines.both(f"SELECT * FROM {table} VERSION AS OF 'here'")
    engines.both(f"SELECT snapshot_id, commit_kind, total_record_count FROM `{table}$snapshots`")
    engines.run(second, f"CALL sys.expire_snapshots(table => '{table}', retain_max => 1, retain_min => 1)")
    engines.both(f"SELECT id, v, p, more FROM {table}", rows)
    engines.run(second, f"DROP TABLE {table}")
    assert table not in str(engines.rows(first, "SHOW TABLES"))
