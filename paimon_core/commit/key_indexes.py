"""The effects of a change on the indexes of buckets with keys (`pk-btree.index.columns` and its like).

Such an index covers the data files of one level. Once the level changes, the index no longer fits, and the snapshot
must not refer to it. Without an index, readers scan the files; the next compaction by Paimon's Java connector makes a
new index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from paimon_core.spec.index_manifest import IndexManifestEntry
from paimon_core.spec.manifest import FileKind, ManifestEntry


def stale_indexes(before: Iterable[IndexManifestEntry], entries: Iterable[ManifestEntry]) -> list[IndexManifestEntry]:
    """Return DELETE entries for the indexes in `before` of levels that `entries` change.

    An index of an unfamiliar form is deleted with any change of its bucket's levels above 0."""
    indexes = [e for e in before if e.file.global_index is not None and e.file.global_index.source_meta is not None]
    if not indexes:
        return []
    levels: dict[tuple[bytes, int], set[int]] = defaultdict(set)
    for entry in entries:
        if entry.file.level > 0:
            levels[entry.partition, entry.bucket].add(entry.file.level)
    return [
        replace(e, kind=FileKind.DELETE) for e in indexes if _is_of(e, levels.get((e.partition, e.bucket), frozenset()))
    ]


def _is_of(entry: IndexManifestEntry, levels: set[int] | frozenset[int]) -> bool:
    meta = entry.file.global_index
    level = None if meta is None else meta.level
    return bool(levels) if level is None else level in levels
