"""Metadata files of the golden tables, found and decoded."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.spec.manifest import ManifestEntry, ManifestFileMeta
from paimon_core.spec.schema import TableSchema, decode_schema
from tests.support.golden import GOLDEN_DATABASE
from tests.support.manifests import decode_manifest, decode_manifest_list


def metadata_files(pattern: str) -> list[Path]:
    """Return files by their path below a table, without tables with manifests in formats that
    `decode_manifest` lacks.
    """
    others = {"manifest_parquet", "manifest_snappy"}
    return [path for path in sorted(GOLDEN_DATABASE.glob(pattern)) if not others & {*path.parts}]


def table_of(path: Path) -> str:
    return path.relative_to(GOLDEN_DATABASE).parts[0]


def manifest_list_files() -> list[Path]:
    return metadata_files("*/manifest/manifest-list-*")


def manifest_files() -> list[Path]:
    return [p for p in metadata_files("*/manifest/manifest-*") if "list" not in p.name]


@cache
def manifest_lists() -> dict[Path, tuple[ManifestFileMeta, ...]]:
    return {p: tuple(decode_manifest_list(str(p), p.read_bytes())) for p in manifest_list_files()}


@cache
def manifests() -> dict[Path, tuple[ManifestEntry, ...]]:
    return {p: tuple(decode_manifest(str(p), p.read_bytes())) for p in manifest_files()}


@cache
def schemas() -> dict[tuple[str, int], TableSchema]:
    """Schemas by table and id, without tables of unsupported types."""
    found = {}
    for path in metadata_files("*/schema/schema-*"):
        try:
            schema = decode_schema(str(path), path.read_bytes())
        except UnsupportedFeatureError:
            continue
        found[table_of(path), schema.id] = schema
    return found


def entries() -> list[tuple[str, TableSchema, ManifestEntry]]:
    """Every entry of every manifest with its table and the schema its file was written with."""
    return [
        (table_of(path), schemas()[table_of(path), e.file.schema_id], e)
        for path, found in manifests().items()
        for e in found
        if (table_of(path), e.file.schema_id) in schemas()
    ]
