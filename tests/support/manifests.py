"""Manifest lists, manifests and index manifests as bytes of Avro, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from paimon_core.manifests.record_files import decode_file, encode_avro
from paimon_core.spec import index_manifest, manifest
from paimon_core.spec.index_manifest import INDEX_MANIFEST_ENTRY, IndexManifestEntry
from paimon_core.spec.manifest import (
    BARE_MANIFEST_FILE_META,
    MANIFEST_ENTRY,
    MANIFEST_FILE_META,
    ManifestEntry,
    ManifestFileMeta,
)


def encode_manifest(entries: Iterable[ManifestEntry], codec: str = "zstd") -> bytes:
    """A manifest's bytes."""
    return encode_avro(MANIFEST_ENTRY, manifest.ENTRY_VERSION, entries, codec)


def decode_manifest(path: str, data: bytes) -> Iterator[ManifestEntry]:
    """The entries of a manifest, in order. Raises `CorruptFileError` naming `path`."""
    return decode_file(MANIFEST_ENTRY, manifest.ENTRY_VERSION, path, data)


def encode_manifest_list(manifests: Iterable[ManifestFileMeta], codec: str = "zstd") -> bytes:
    """A manifest list's bytes."""
    return encode_avro(BARE_MANIFEST_FILE_META, manifest.LIST_VERSION, manifests, codec)


def decode_manifest_list(path: str, data: bytes) -> Iterator[ManifestFileMeta]:
    """The manifests a list names, in order. Raises `CorruptFileError` naming `path`."""
    return decode_file(MANIFEST_FILE_META, manifest.LIST_VERSION, path, data)


def encode_index_manifest(entries: Iterable[IndexManifestEntry], codec: str = "zstd") -> bytes:
    """An index manifest's bytes."""
    return encode_avro(INDEX_MANIFEST_ENTRY, index_manifest.ENTRY_VERSION, entries, codec)


def decode_index_manifest(path: str, data: bytes) -> Iterator[IndexManifestEntry]:
    """The entries of an index manifest, in order. Raises `CorruptFileError` naming `path`."""
    return decode_file(INDEX_MANIFEST_ENTRY, index_manifest.ENTRY_VERSION, path, data)
