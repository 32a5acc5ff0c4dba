"""The files that a clean-up may delete: files of the kinds that versions reference by name in their metadata, and
temporary files of dead writers. Every other file stays, whatever its origin. A manifest's sidecar, which writers in
Rust and Java 2.1 create, is needed as long as its manifest. Rust writers leave `snapshot-N.tmp-UUID` if they die while
they publish a snapshot.

Files of one kind are referenced outside of metadata: `*.managed.blob`, packs of the BLOBs of keyed tables, which the
rows themselves name. `packs.py` finds those that no row needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from paimon_core.formats.registry import COMPRESSED_ENDINGS, FORMATS
from paimon_core.io.file_io import is_temporary
from paimon_core.spec.manifest import SIDECAR
from paimon_core.spec.paths import UUID

_CODECS = (*COMPRESSED_ENDINGS, "gzip", "lzo", "zstd", "brotli", "br", "none", "uncompressed")
_FORMATS = (*FORMATS, "blob", "row", "vector", "arrow")  # arrow: column values that an UPDATE is about to apply
_ENDING = rf"(?:\.(?:{'|'.join((*_CODECS, *_FORMATS))}))+"
_INDEX = rf"index-{UUID}-\d+"
_FILE_INDEX = rf"(?:-\d+|-{UUID})?\.index"
_LOOKUP = r"\.\d+(?:\.[\w-]+){2}\.lookup"


class FolderKind(StrEnum):
    """The contents of a folder of a table."""

    METADATA = "metadata"  # schemas, snapshots, tags, consumers, streams …: only their temporary files are deleted
    MANIFESTS = "manifests"
    INDEXES = "indexes"
    STATISTICS = "statistics"
    DATA = "data"


_REFERENCED: Mapping[FolderKind, re.Pattern[str]] = MappingProxyType(
    {
        FolderKind.METADATA: re.compile(rf"snapshot-\d+\.tmp-(?:{UUID}|[0-9a-f]{{32}})"),
        FolderKind.MANIFESTS: re.compile(
            rf"(?:manifest|manifest-list|index-manifest)-{UUID}-\d+|manifest-{UUID}-\d+{re.escape(SIDECAR)}"
        ),
        FolderKind.INDEXES: re.compile(rf"{_INDEX}|.+-global-index-{UUID}\.index"),
        FolderKind.STATISTICS: re.compile(rf"stat-{UUID}-\d+"),
        FolderKind.DATA: re.compile(
            rf".*{UUID}[^.$]*{_ENDING}(?:{_FILE_INDEX}|\.blobref|{_LOOKUP})?|.*{UUID}-\d+\.index|{_INDEX}", re.DOTALL
        ),
    }
)


def names_kept_with(name: str) -> tuple[str, ...]:
    """Return the names of the files that are needed together with a file: the file itself, and a manifest's sidecar."""
    return (name, name + SIDECAR) if name.startswith("manifest-") else (name,)


def may_be_orphan(kind: FolderKind, name: str) -> bool:
    """Return whether a file in a folder is of a kind that is an orphan if it is not in any version."""
    return _REFERENCED[kind].fullmatch(name) is not None or is_temporary(name)
