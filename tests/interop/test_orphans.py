"""Clean-ups of ours leave every file that Java writes, whatever features its tables use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.interop.engines import Engines
from tests.support.java_oracle import JavaOracle


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A table that Java makes: columns, options, what is done with it, and names of files that it then has."""

    columns: str = "k INT, v STRING"
    options: str
    partitions: str = ""
    then: tuple[str, ...] = (
        "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO {t} VALUES (2, 'B'), (3, 'c')",
    )
    query: str = "SELECT * FROM {t}"
    files: tuple[str, ...]


EVOLVES = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
FEATURES = {
    "keyed": Feature(
        columns="k INT, v STRING, day STRING",
        partitions="PARTITIONED BY (day)",
        options="'primary-key' = 'k,day', 'bucket' = '2', 'changelog-producer' = 'input', 'data-file.prefix' = 'd-', "
        "'changelog-file.prefix' = 'c-', 'changelog-file.format' = 'avro', 'partition.end-input-to-done' = 'true', "
        "'tag.create-success-file' = 'true', 'tag.automatic-creation' = 'batch', 'file.format' = 'orc', "
        "'file-index.bloom-filter.columns' = 'v', 'file.suffix.include.compression' = 'true'",
        then=(
            "INSERT INTO {t} VALUES (1, 'a', '2024-01-01'), (2, 'b', '2024-01-02')",
            "INSERT INTO {t} VALUES (1, 'A', '2024-01-01'), (3, 'c', '2024-01-02')",
            "CALL sys.create_tag(table => '{d}.{t}', tag => 'one', snapshot => 1)",
            "CALL sys.create_branch(table => '{d}.{t}', branch => 'b', tag => 'one')",
            "INSERT INTO `{t}$branch_b` VALUES (9, 'branch', '2024-01-09')",
            "CALL sys.reset_consumer(table => '{d}.{t}', consumerId => 'nightly', nextSnapshotId => 2)",
            "ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS k",
        ),
        query="SELECT * FROM {t} UNION ALL SELECT * FROM {t} VERSION AS OF 'one' UNION ALL "
        "SELECT * FROM `{t}$branch_b`",
        files=(
            "day=*/bucket-*/d-*.orc",
            "day=*/bucket-*/c-*.avro",
            "day=*/_SUCCESS",
            "statistics/stat-*",
            "tag/tag-one",
            "tag/tag-success-file/*",
            "consumer/consumer-nightly",
            "branch/branch-b/snapshot/snapshot-2",
        ),
    ),
    "changelogs": Feature(
        options="'primary-key' = 'k', 'bucket' = '1', 'changelog-producer' = 'lookup', 'deletion-vectors.enabled' = "
        "'true', 'changelog.num-retained.min' = '50', 'changelog.num-retained.max' = '50', "
        "'snapshot.num-retained.min' = '1', 'snapshot.num-retained.max' = '1', "
        "'lookup.remote-file.enabled' = 'true', "
        "'lookup.remote-file.level-threshold' = '0', 'file-index.bsi.columns' = 'k', "
        "'file-index.in-manifest-threshold' = '1 B', 'index-file-in-data-file-dir' = 'true'",
        then=(
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
            "INSERT INTO {t} VALUES (2, 'B'), (3, 'c')",
            "INSERT INTO {t} VALUES (1, 'A')",
        ),
        query="SELECT * FROM {t} UNION ALL SELECT level, file_path FROM `{t}$files`",
        files=(
            "changelog/changelog-1",
            "bucket-0/changelog-*",
            "bucket-0/*.index",
            "bucket-0/index-*",
            "bucket-0/*.lookup",
        ),
    ),
    "hash_index": Feature(
        options="'primary-key' = 'k', 'bucket' = '-1'",
        then=("INSERT INTO {t} VALUES (1, 'a'), (2, 'b')", "INSERT OVERWRITE {t} VALUES (2, 'B'), (3, 'c')"),
        files=("index/index-*",),
    ),
    "postponed": Feature(
        options="'primary-key' = 'k', 'bucket' = '-2', 'postpone.batch-write-fixed-bucket' = 'false'",
        query="SELECT count(*) FROM {t}",
        files=("bucket-postpone/data-*-u-*",),
    ),
    "texts": Feature(
        options="'file.format' = 'csv', 'file.compression' = 'gzip', 'data-file.path-directory' = 'data'",
        files=("data/bucket-0/data-*.csv.gz",),
    ),
    "vectors": Feature(
        columns="k INT, v STRING, m MAP<STRING, INT>",
        options="'deletion-vectors.enabled' = 'true', 'file-index.bitmap.columns' = 'k', "
        "'file-index.in-manifest-threshold' = '1 B'",
        then=(
            "INSERT INTO {t} SELECT id, 'x', map('a', id) FROM range(9)",
            "CALL sys.rewrite_file_index(table => '{d}.{t}')",
            "DELETE FROM {t} WHERE k = 3",
            "UPDATE {t} SET v = 'y' WHERE k = 4",
        ),
        files=("bucket-0/*-1.index", "index/index-*"),
    ),
    "blobs": Feature(
        columns="k INT, v STRING, pic BINARY",
        options=f"{EVOLVES}, 'blob-field' = 'pic'",
        then=(
            "INSERT INTO {t} VALUES (1, 'a', X'01'), (2, 'b', NULL)",
            "MERGE INTO {t} USING (SELECT 1 AS i) s ON {t}.k = s.i WHEN MATCHED THEN UPDATE SET v = 'z'",
        ),
        files=("bucket-0/*.blob",),
    ),
    "vector_files": Feature(
        columns="k INT, e ARRAY<FLOAT>",
        options=f"{EVOLVES}, 'vector-field' = 'e', 'field.e.vector-dim' = '2', 'vector.file.format' = 'avro'",
        then=("INSERT INTO {t} VALUES (1, array(float(1), float(2))), (2, NULL)",),
        files=("bucket-0/*.vector.avro",),
    ),
    "sidecars": Feature(
        options=f"{EVOLVES}, 'data-evolution.row-sidecar.enabled' = 'true'",
        files=("bucket-0/*.row",),
    ),
    "global_indexes": Feature(
        options=EVOLVES,
        then=(
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
            "CALL sys.create_global_index(table => '{d}.{t}', index_column => 'k', index_type => 'btree')",
            "CALL sys.create_global_index(table => '{d}.{t}', index_column => 'v', index_type => 'bitmap')",
        ),
        query="SELECT * FROM {t} WHERE k = 2 OR v = 'a'",
        files=("index/btree-global-index-*", "index/bitmap-global-index-*"),
    ),
    "managed_blobs": Feature(
        columns="k INT, v STRING, pic BINARY",
        options="'primary-key' = 'k', 'bucket' = '1', 'blob-field' = 'pic'",
        then=(
            "INSERT INTO {t} VALUES (1, 'a', X'01'), (2, 'b', X'02')",
            "INSERT INTO {t} VALUES (2, 'B', X'0202'), (3, 'c', NULL)",
        ),
        files=("bucket-0/*.managed.blob", "bucket-0/*.blobref"),
    ),
    "key_indexes": Feature(
        options="'primary-key' = 'k', 'bucket' = '1', 'deletion-vectors.enabled' = 'true', "
        "'pk-btree.index.columns' = 'v', 'num-sorted-run.compaction-trigger' = '2'",
        then=(
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
            "INSERT INTO {t} VALUES (2, 'B'), (3, 'c')",
            "CALL sys.compact(table => '{d}.{t}')",
        ),
        query="SELECT * FROM {t} WHERE v = 'B'",
        files=("index/index-*",),
    ),
    "external": Feature(
        options=f"{EVOLVES}, 'data-file.external-paths' = 'file://{{tmp}}/e', "
        "'data-file.external-paths.strategy' = 'round-robin', 'global-index.external-path' = 'file://{tmp}/g'",
        then=(
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
            "CALL sys.create_global_index(table => '{d}.{t}', index_column => 'k', index_type => 'btree')",
        ),
        query="SELECT * FROM {t} WHERE k = 2",
        files=("{tmp}/e/bucket-0/data-*", "{tmp}/g/*"),
    ),
    "chained": Feature(
        columns="k INT, v STRING, n INT, day STRING",
        partitions="PARTITIONED BY (day)",
        options="'chain-table.enabled' = 'true', 'primary-key' = 'day,k', 'bucket' = '2', 'sequence.field' = 'n', "
        "'partition.timestamp-pattern' = '$day', 'partition.timestamp-formatter' = 'yyyyMMdd'",
        then=(
            "CALL sys.create_branch('{d}.{t}', 'full')",
            "CALL sys.create_branch('{d}.{t}', 'delta')",
            *(
                f"ALTER TABLE `{{t}}{branch}` SET TBLPROPERTIES "
                "('scan.fallback-snapshot-branch' = 'full', 'scan.fallback-delta-branch' = 'delta')"
                for branch in ("", "$branch_full", "$branch_delta")
            ),
            "INSERT OVERWRITE `{t}$branch_full` PARTITION (day = '20250810') VALUES (1, 'one', 1), (2, 'two', 1)",
            "INSERT INTO `{t}$branch_delta` PARTITION (day = '20250811') VALUES (2, 'zwei', 2)",
        ),
        files=("branch/branch-full/snapshot/snapshot-1", "day=20250811/bucket-*/data-*"),
    ),
    "iceberg": Feature(
        options="'primary-key' = 'k', 'bucket' = '1', 'metadata.iceberg.storage' = 'table-location'",
        files=("metadata/v*.metadata.json",),
    ),
}


REFUSED = {"vector_files"}


def written(*folders: Path) -> dict[Path, int]:
    """All files below folders, and their sizes."""
    return {p: p.stat().st_size for folder in folders for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_no_file_of_java_is_deleted(engines: Engines, java: tuple[JavaOracle, str], tmp_path: Path) -> None:
    database = Path(java[1], f"{engines.database}.db")

    def filled(text: str) -> str:
        return text.format(t=name, d=engines.database, tmp=tmp_path)

    rows: dict[str, list[Any]] = {}
    for name, feature in FEATURES.items():
        create = f"CREATE TABLE {{t}} ({feature.columns}) {feature.partitions} TBLPROPERTIES ({feature.options})"
        engines.run("java", *map(filled, (create, *feature.then)))
        for pattern in map(filled, feature.files):
            assert any(Path("/").glob(f"{database / name / pattern}"[1:])), (name, pattern)
        rows[name] = engines.rows("java", filled(feature.query))
        assert rows[name], name
    before = written(database, tmp_path)
    for path in before:
        os.utime(path, (1, 1))
    for name in FEATURES:
        call = filled("CALL sys.remove_orphan_files(table => '{d}.{t}')")
        if name in REFUSED:
            with pytest.raises(Exception, match="not supported"):
                engines.run("ours", call)
        else:
            assert engines.rows("ours", call) == [[0, 0]], name
    for name in ("changelogs", "managed_blobs"):
        distributed = filled("CALL sys.remove_orphan_files(table => '{d}.{t}', mode => 'distributed')")
        assert engines.rows("ours", distributed) == [[0, 0]], name
    assert written(database, tmp_path) == before
    for name, feature in FEATURES.items():
        assert engines.rows("java", filled(feature.query)) == rows[name], name
