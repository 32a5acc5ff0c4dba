"""Read, write and merge the manifest lists and manifests of a table, through the store's cache.

    TABLE/manifest/manifest-list-UUID-N   the manifests of a snapshot: a base list and a delta list
    TABLE/manifest/manifest-UUID-N        ADD and DELETE of data files, in order

Source: specification, "Manifest".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paimon_core.errors import InvalidOptionError, NotAllowedError
from paimon_core.io.failure import on_failure
from paimon_core.io.side_by_side import batched_side_by_side, side_by_side
from paimon_core.manifests.entries import EntryColumns, Rows, decode_entries, live_rows
from paimon_core.manifests.record_files import decode_file
from paimon_core.options import (
    MANIFEST_FULL_COMPACTION_SIZE,
    MANIFEST_MERGE_MIN_COUNT,
    MANIFEST_SORT_ENABLED,
    MANIFEST_SORT_FIELD,
    MANIFEST_SORT_SIZE,
    MANIFEST_TARGET_FILE_SIZE,
)
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import (
    BARE_MANIFEST_FILE_META,
    ENTRY_VERSION,
    LIST_VERSION,
    MANIFEST_ENTRY,
    MANIFEST_FILE_META,
    FileIdentifier,
    FileKind,
    ManifestEntry,
    ManifestFileMeta,
    live_entries,
)
from paimon_core.spec.snapshot import Snapshot
from paimon_core.spec.stats import ColumnStats, SimpleStats, bound_order, encode_stats
from paimon_core.store.external.files import check_data_files
from paimon_core.store.named_files import files_of
from paimon_core.store.partitions import PartitionFilter
from paimon_core.store.record_files import MetadataFile, read_named, read_records, record_bytes, write_metadata
from paimon_core.store.table_store import TableStore

_REMEMBERED = 2**18  # bytes of a written file that is decoded again for the cache
_BYTES_PER_ENTRY = 50  # minimum size of an entry in a compressed manifest, used to split long ones


def data_manifests(store: TableStore, snapshot: Snapshot) -> tuple[ManifestFileMeta, ...]:
    """Return the manifests of a version, oldest first: the base list, then the delta list."""
    names = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
    base, delta = side_by_side(store.io, lambda name: read_manifest_list(store, name), names)
    return base + delta


def read_manifest_list(store: TableStore, name: str) -> tuple[ManifestFileMeta, ...]:
    """Return the manifests in a list. Raises `CorruptFileError`, `MetadataMissingError`."""
    path = store.paths.manifest(name)
    return store.cache.get(path, lambda: read_records(store, MANIFEST_FILE_META, LIST_VERSION, path))


def read_columns(store: TableStore, name: str) -> EntryColumns:
    """Return the entries of a manifest as columns.

    Raises `CorruptFileError`, `MetadataMissingError`, `NotAllowedError`.
    """
    path = store.paths.manifest(name)
    with files_of(store):
        return store.cache.get(path, lambda: _decoded_entries(store, path, read_named(store, path)))


def _decoded_entries(store: TableStore, path: str, data: bytes) -> EntryColumns:
    columns = decode_entries(path, data)
    check_data_files(store, path, columns)
    return columns


def remember_lists(store: TableStore, files: Iterable[MetadataFile]) -> None:
    """Put lists that were written into the cache: the session reads them next."""
    for path, data in _small(store, files):
        store.cache.get(path, partial(_decoded_list, path, data))


def remember_manifests(store: TableStore, files: Iterable[MetadataFile]) -> None:
    """Put manifests that were written into the cache: the session reads them next."""
    for path, data in _small(store, files):
        with suppress(NotAllowedError):  # a later read raises the error
            store.cache.get(path, partial(_decoded_entries, store, path, data))


def _small(store: TableStore, files: Iterable[MetadataFile]) -> Iterator[tuple[str, bytes]]:
    """The files that are decoded sooner than a remote storage answers. A local disk answers at once."""
    if store.io.requests_at_once > 1:
        yield from ((store.paths.manifest(f.name), f.data) for f in files if len(f.data) <= _REMEMBERED)


def _decoded_list(path: str, data: bytes) -> tuple[ManifestFileMeta, ...]:
    return tuple(decode_file(MANIFEST_FILE_META, LIST_VERSION, path, data))


def read_manifest(store: TableStore, name: str) -> list[ManifestEntry]:
    """Return the entries of a manifest, in order. Raises `CorruptFileError`, `MetadataMissingError`."""
    columns = read_columns(store, name)
    return columns.entries(np.arange(len(columns)))


def read_entries(store: TableStore, manifests: Iterable[ManifestFileMeta]) -> Iterator[ManifestEntry]:
    """The entries of several manifests, in order."""
    ahead = batched_side_by_side(store.io, lambda m: read_columns(store, m.file_name), manifests)
    return chain.from_iterable(columns.entries(np.arange(len(columns))) for columns in ahead)


def live_files(
    store: TableStore, snapshot: Snapshot | None, partitions: PartitionFilter | None = None
) -> dict[FileIdentifier, ManifestEntry]:
    """Return the live files of a version, or only the live files in `partitions`."""
    if snapshot is None:
        return {}
    manifests = data_manifests(store, snapshot)
    kept = manifests if partitions is None else [m for m in manifests if partitions.may_hold(m)]
    live: dict[FileIdentifier, ManifestEntry] = {}
    for manifest, rows in live_columns(store, kept):
        meant = rows if partitions is None else rows[in_partitions(manifest, partitions)[rows]]
        live.update((e.identifier, e) for e in manifest.entries(meant))
    return live


def live_columns(store: TableStore, manifests: Iterable[ManifestFileMeta]) -> list[tuple[EntryColumns, Rows]]:
    """Return the entries of manifests as columns, each with the rows that are live files."""
    columns = side_by_side(store.io, lambda m: read_columns(store, m.file_name), manifests)
    return list(zip(columns, live_rows(columns), strict=True))


def max_sequence_number(store: TableStore, snapshot: Snapshot | None) -> int:
    """The largest sequence number of the live files of a version, or -1."""
    found = () if snapshot is None else live_columns(store, data_manifests(store, snapshot))
    return max((int(m.max_sequence_numbers[rows].max(initial=-1)) for m, rows in found), default=-1)


def in_partitions(columns: EntryColumns, partitions: PartitionFilter) -> NDArray[np.bool_]:
    """Return for each entry whether `partitions` contains its partition, shape (entries,)."""
    held = np.array([partitions.holds(p) for p in columns.partitions], dtype=np.bool_)
    return held[columns.partition_codes]


def manifest_list_file(store: TableStore, manifests: Sequence[ManifestFileMeta]) -> MetadataFile:
    """Return a list as a file that is not yet written. Manifests keep their sidecars."""
    record = MANIFEST_FILE_META if any(m.extra_files for m in manifests) else BARE_MANIFEST_FILE_META
    return MetadataFile(f"manifest-list-{uuid.uuid4()}-0", record_bytes(store, record, LIST_VERSION, manifests))


def manifest_files(
    store: TableStore, entries: Sequence[ManifestEntry]
) -> tuple[list[ManifestFileMeta], list[MetadataFile]]:
    """Divide entries into manifests of the size `manifest.target-file-size`. Without entries, there is no manifest.

    Return the metadata of the manifests, and their files, which are not yet written."""
    unique, step = uuid.uuid4(), max(1, store.options[MANIFEST_TARGET_FILE_SIZE] // _BYTES_PER_ENTRY)
    parts = [entries[start : start + step] for start in range(0, len(entries), step)]
    files = [
        MetadataFile(f"manifest-{unique}-{i}", record_bytes(store, MANIFEST_ENTRY, ENTRY_VERSION, part))
        for i, part in enumerate(parts)
    ]
    return [_described(store, file, part) for file, part in zip(files, parts, strict=True)], files


def write_manifests(store: TableStore, entries: Sequence[ManifestEntry]) -> list[ManifestFileMeta]:
    """Write entries as manifests, divided like in `manifest_files`. If this fails, no manifest remains."""
    manifests, files = manifest_files(store, entries)
    with on_failure(lambda: delete_manifests(store, [f.name for f in files])):
        side_by_side(store.io, lambda file: write_metadata(store, file), files)
    return manifests


def delete_manifests(store: TableStore, names: Iterable[str]) -> None:
    """Delete manifests and lists that are not in any snapshot. A file that cannot be deleted stays as an orphan."""
    for name in names:
        try:
            store.delete(store.paths.manifest(name))
        except OSError:
            continue


def merge_manifests(store: TableStore, manifests: Sequence[ManifestFileMeta]) -> list[ManifestFileMeta]:
    """Return manifests with the same live files, merged into fewer manifests if there are enough small manifests.

    Once all small manifests and manifests with DELETE reach `manifest.full-compaction-threshold-size`, they are all
    rewritten. Before that, neighbours are merged once they reach `manifest.target-file-size`, and the last small
    manifests are merged if there are at least `manifest.merge-min-count`.
    """
    target = store.options[MANIFEST_TARGET_FILE_SIZE]
    pending = [m for m in manifests if m.num_deleted_files > 0 or m.file_size < target]
    if len(pending) > 1 and sum(m.file_size for m in pending) >= store.options[MANIFEST_FULL_COMPACTION_SIZE]:
        return _merge_fully(store, manifests, pending)
    return _merge_neighbours(store, manifests, target)


def _merge_neighbours(store: TableStore, manifests: Sequence[ManifestFileMeta], target: int) -> list[ManifestFileMeta]:
    groups: list[list[ManifestFileMeta]] = [[]]
    for manifest in manifests:
        groups[-1].append(manifest)
        if sum(m.file_size for m in groups[-1]) >= target:
            groups.append([])
    if len(groups[-1]) < store.options[MANIFEST_MERGE_MIN_COUNT]:
        groups[-1:] = [[m] for m in groups[-1]]
    merged: list[ManifestFileMeta] = []
    for group in groups:
        merged += group if len(group) < 2 else _rewrite(store, live_entries(read_entries(store, group)).values())
    return merged


def _merge_fully(
    store: TableStore, manifests: Sequence[ManifestFileMeta], pending: Sequence[ManifestFileMeta]
) -> list[ManifestFileMeta]:
    """Rewrite the pending manifests, and large manifests with files that were deleted since, so that no DELETE
    remains.
    """
    deleted = {e.identifier for e in read_entries(store, pending) if e.kind is FileKind.DELETE}
    names = {m.file_name for m in pending}
    touched = (
        names
        if not deleted
        else names
        | {
            m.file_name
            for m in manifests
            if m.file_name not in names and any(e.identifier in deleted for e in read_manifest(store, m.file_name))
        }
    )
    entries = live_entries(read_entries(store, [m for m in manifests if m.file_name in touched])).values()
    kept = [m for m in manifests if m.file_name not in touched]
    size = sum(m.file_size for m in manifests if m.file_name in touched)
    added = [e for e in entries if e.kind is FileKind.ADD]
    return kept + _rewrite(store, added if size > store.options[MANIFEST_SORT_SIZE] else _in_order(store, added))


def _in_order(store: TableStore, entries: list[ManifestEntry]) -> list[ManifestEntry]:
    """Sort entries of added files by a partition column, if `manifest-sort.enabled` is set; NULL comes first."""
    keys = store.schema.partition_keys
    if not store.options[MANIFEST_SORT_ENABLED] or not keys:
        return entries
    name = store.options[MANIFEST_SORT_FIELD] or keys[0]
    if name not in keys:
        raise InvalidOptionError(
            f"Option '{MANIFEST_SORT_FIELD.key}' cannot be {name!r}: the partition columns are {', '.join(keys)}."
        )
    types, index = store.schema.types(keys), keys.index(name)
    values = {p: decode_row(types, p)[index] for p in {e.partition for e in entries}}
    empty = [e for e in entries if values[e.partition] is None]
    others = (e for e in entries if values[e.partition] is not None)
    return empty + sorted(others, key=lambda e: bound_order(values[e.partition]))


def _rewrite(store: TableStore, entries: Iterable[ManifestEntry]) -> list[ManifestFileMeta]:
    return write_manifests(store, list(entries))


def _described(store: TableStore, file: MetadataFile, entries: Sequence[ManifestEntry]) -> ManifestFileMeta:
    """Return the manifest list's description of a manifest with some entries."""
    added = sum(e.kind is FileKind.ADD for e in entries)
    row_ids = [(e.file.first_row_id, e.file.row_count) for e in entries if e.file.first_row_id is not None]
    all_have_row_ids = len(row_ids) == len(entries)
    return ManifestFileMeta(
        file_name=file.name,
        file_size=len(file.data),
        num_added_files=added,
        num_deleted_files=len(entries) - added,
        partition_stats=_partition_stats(store, entries),
        schema_id=store.schema.id,
        min_bucket=min(e.bucket for e in entries),
        max_bucket=max(e.bucket for e in entries),
        min_level=min(e.file.level for e in entries),
        max_level=max(e.file.level for e in entries),
        min_row_id=min(first for first, _ in row_ids) if all_have_row_ids else None,
        max_row_id=max(first + count - 1 for first, count in row_ids) if all_have_row_ids else None,
    )


def _partition_stats(store: TableStore, entries: Sequence[ManifestEntry]) -> SimpleStats:
    types = [f.type for f in store.schema.partition_fields]
    rows = [decode_row(types, partition) for partition in {e.partition: None for e in entries}]
    nulls = [_count_nulls(types, entries, i) for i in range(len(types))]
    return encode_stats(types, [_column_stats([r[i] for r in rows], nulls[i]) for i in range(len(types))])


def _count_nulls(types: Sequence[Any], entries: Sequence[ManifestEntry], index: int) -> int:
    return sum(decode_row(types, e.partition)[index] is None for e in entries)


def _column_stats(values: Sequence[Any], nulls: int) -> ColumnStats:
    known = [v for v in values if v is not None]
    return ColumnStats(min(known, key=bound_order, default=None), max(known, key=bound_order, default=None), nulls)
