from __future__ import annotations

import pytest

from paimon_core.io.file_io import temporary_name
from paimon_core.maintenance.orphans.file_kinds import FolderKind, may_be_orphan

U = "01234567-89ab-cdef-0123-456789abcdef"
REFERENCED = {
    FolderKind.METADATA: [f"snapshot-7.tmp-{U}", f"snapshot-7.tmp-{U.replace('-', '')}"],
    FolderKind.MANIFESTS: [
        f"manifest-{U}-0",
        f"manifest-{U}-0.avro.sidecar",
        f"manifest-list-{U}-12",
        f"index-manifest-{U}-3",
    ],
    FolderKind.INDEXES: [f"index-{U}-0", f"btree-global-index-{U}.index"],
    FolderKind.STATISTICS: [f"stat-{U}-0"],
    FolderKind.DATA: [
        f"data-{U}-0.parquet",
        f"changelog-{U}-1.orc",
        f"my.own-{U}-0.avro",
        f"data-u-{U}-s-0-w-{U}-0.parquet",
        f"data-{U}-0.zstd.parquet",
        f"data-{U}-0.csv.gz",
        f"data-{U}-0.blob",
        f"data-{U}-0.row",
        f"data-{U}-0.vector.orc",
        f"data-{U}-0.vector.zst.parquet",
        f"data-{U}-0.parquet.index",
        f"data-{U}-0.parquet-2.index",
        f"data-{U}-2.index",
        f"data-{U}-0.parquet-{U}.index",
        f"data-{U}-0.parquet.blobref",
        f"data-{U}-0.parquet.1234.position-and-value.v1.lookup",
        f"import-{U}-0.parquet",
        f"copy-{U}.parquet",
        f"data-{U}.arrow",
        f"index-{U}-0",
    ],
}
OTHERS = [
    f"data-{U}-0.managed.blob",
    f"data-{U}-0.lance",
    f"data-{U}-0.parquet.other",
    f"compacted-changelog-{U}$0-39253.cc-parquet",
    f"compacted-changelog-{U}$0-39253-39253-35699.cc-parquet",
    "data-0.parquet",
    "part-00000.snappy.parquet",
    "000000_0",
    "_SUCCESS",
    "LATEST",
    f"manifest-{U}",
    f"{U}-0",
    f"manifest-{U}-0/x",
    f"manifest-{U}-0.sidecar",
    f"manifest-list-{U}-0.avro.sidecar",
    f"snapshot-7.tmp-{U}.x",
    f"snapshot-x.tmp-{U}",
    f"schema-7.tmp-{U}",
    "snapshot-7.tmp",
]


@pytest.mark.parametrize("kind", FolderKind)
def test_only_files_of_kinds_that_versions_reference_may_be_orphans(kind: FolderKind) -> None:
    own = REFERENCED.get(kind, [])
    assert [name for name in own if not may_be_orphan(kind, name)] == []
    assert [name for name in OTHERS if may_be_orphan(kind, name)] == []


@pytest.mark.parametrize("kind", FolderKind)
def test_temporary_files_of_every_kind_may_be_orphans(kind: FolderKind) -> None:
    assert may_be_orphan(kind, temporary_name("snapshot-1"))
    assert may_be_orphan(kind, f".data-{U}-0.managed.blob.{U}.tmp")
    assert not may_be_orphan(kind, ".snapshot-1.tmp")


def test_metadata_is_no_orphan() -> None:
    for name in ("snapshot-1", "schema-0", "tag-a", "LATEST", f"manifest-{U}-0", f"data-{U}-0.parquet"):
        assert not may_be_orphan(FolderKind.METADATA, name)
