"""What the files of a version are: `$files`, `$file_key_ranges`, `$partitions`, `$buckets`, `$manifests`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import cache, partial
from typing import Any

import pyarrow as pa

from paimon_core.formats.registry import format_name
from paimon_core.options import PARTITION_DEFAULT_NAME
from paimon_core.scan.entry_pruning import value_groups
from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.spec.manifest import FileSource, ManifestEntry
from paimon_core.spec.paths import data_file_path
from paimon_core.store.manifests import data_manifests, live_columns, live_files, read_manifest_list
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.file_texts import FileTexts, column_texts, single_texts, told_by_columns
from paimon_core.system_tables.text import partition_path, row_text

Row = tuple[Any, ...]
STRING, INT, BIGINT, TIME = pa.string(), pa.int32(), pa.int64(), pa.timestamp("ms")

FILES = pa.schema(
    [
        ("partition", STRING),
        pa.field("bucket", INT, False),
        pa.field("file_path", STRING, False),
        pa.field("file_format", STRING, False),
        pa.field("schema_id", BIGINT, False),
        pa.field("level", INT, False),
        pa.field("record_count", BIGINT, False),
        pa.field("file_size_in_bytes", BIGINT, False),
        ("min_key", STRING),
        ("max_key", STRING),
        pa.field("null_value_counts", STRING, False),
        pa.field("min_value_stats", STRING, False),
        pa.field("max_value_stats", STRING, False),
        ("min_sequence_number", BIGINT),
        ("max_sequence_number", BIGINT),
        ("creation_time", TIME),
        ("deleteRowCount", BIGINT),
        ("file_source", STRING),
        ("first_row_id", BIGINT),
        ("write_cols", pa.list_(STRING)),
    ]
)
FILE_KEY_RANGES = pa.schema([*(FILES.field(i) for i in range(10)), ("first_row_id", BIGINT)])
PARTITIONS = pa.schema(
    [
        ("partition", STRING),
        pa.field("record_count", BIGINT, False),
        pa.field("file_size_in_bytes", BIGINT, False),
        pa.field("file_count", BIGINT, False),
        ("last_update_time", TIME),
        ("created_at", TIME),
        ("created_by", STRING),
        ("updated_by", STRING),
        ("options", STRING),
        pa.field("total_buckets", INT, False),
        pa.field("done", pa.bool_(), False),
        ("deleted_record_count", BIGINT),
    ]
)
BUCKETS = pa.schema(
    [
        ("partition", STRING),
        pa.field("bucket", INT, False),
        pa.field("record_count", BIGINT, False),
        pa.field("file_size_in_bytes", BIGINT, False),
        pa.field("file_count", BIGINT, False),
        ("last_update_time", TIME),
    ]
)
MANIFESTS = pa.schema(
    [
        pa.field("file_name", STRING, False),
        pa.field("file_size", BIGINT, False),
        pa.field("num_added_files", BIGINT, False),
        pa.field("num_deleted_files", BIGINT, False),
        pa.field("schema_id", BIGINT, False),
        ("min_partition_stats", STRING),
        ("max_partition_stats", STRING),
        ("min_row_id", BIGINT),
        ("max_row_id", BIGINT),
    ]
)


def files(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    snapshot = snapshot_of_options(store, zone)
    for manifest, live in () if snapshot is None else live_columns(store, data_manifests(store, snapshot)):
        rows, texts = live[manifest.buckets[live] >= 0], dict[int, FileTexts]()
        for group in value_groups(store, manifest, rows):
            told = told_by_columns(manifest, group)
            texts.update(column_texts(store.schema, manifest, replace(group, rows=group.rows[told])))
            rest = group.rows[~told]
            for row, entry in zip(rest.tolist(), manifest.entries(rest), strict=True):
                texts[row] = single_texts(store.schema, group.schema, entry.file)
        place = cache(partial(_place, store))
        for row, entry in zip(rows.tolist(), manifest.entries(rows), strict=True):
            yield _file_row(entry, *place(entry.partition, entry.bucket), texts[row])


def file_key_ranges(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    keys = FILE_KEY_RANGES.names
    places = [FILES.names.index(name) for name in keys]
    for row in files(store, zone):
        yield tuple(row[i] for i in places)


def partitions(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    rows = []
    for partition, entries in _grouped(shown_files(store, zone), lambda e: e.partition).items():
        name = partition_path(store.schema.partition_fields, partition, store.options[PARTITION_DEFAULT_NAME])
        newest = max(entries, key=lambda e: _created(e) or datetime.min)
        counts, totals = _totals(entries), newest.total_buckets
        rows.append((name, *counts, None, None, None, None, totals, False, None))
    yield from sorted(rows, key=lambda r: str(r[0]))


def buckets(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    found = live_files(store, snapshot_of_options(store, zone)).values()  # postponed rows are shown here only
    fields, groups = store.schema.partition_fields, _grouped(found, lambda e: (e.partition, e.bucket))
    rows = ((row_text(fields, partition), bucket, *_totals(es)) for (partition, bucket), es in groups.items())
    yield from sorted(rows, key=lambda r: (r[0], r[1]))


def manifests(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    snapshot = snapshot_of_options(store, zone)
    if snapshot is None:
        return
    changelog = snapshot.changelog_manifest_list
    fields = store.schema.partition_fields
    for m in data_manifests(store, snapshot) + (read_manifest_list(store, changelog) if changelog else ()):
        low, high = (row_text(fields, r) for r in (m.partition_stats.min_values, m.partition_stats.max_values))
        added, deleted = m.num_added_files, m.num_deleted_files
        yield m.file_name, m.file_size, added, deleted, m.schema_id, low, high, m.min_row_id, m.max_row_id


def shown_files(store: TableStore, zone: tzinfo | None) -> list[ManifestEntry]:
    """The data files of the version that options ask for, else of the latest."""
    found = live_files(store, snapshot_of_options(store, zone)).values()
    return [e for e in found if e.bucket >= 0]  # rows in a postponed bucket are not part of the table yet


def _place(store: TableStore, partition: bytes, bucket: int) -> tuple[str, str]:
    """The text of a partition, and the folder of a bucket in it."""
    return row_text(store.schema.partition_fields, partition), store.bucket_dir(partition, bucket)


def _file_row(entry: ManifestEntry, partition: str, bucket_dir: str, texts: FileTexts) -> Row:
    file = entry.file
    return (
        partition,
        entry.bucket,
        data_file_path(bucket_dir, file),
        format_name(file.file_name),
        file.schema_id,
        file.level,
        file.row_count,
        file.file_size,
        *texts,
        file.min_sequence_number,
        file.max_sequence_number,
        _created(entry),
        file.delete_row_count,
        None if file.file_source is None else FileSource(file.file_source).name,
        file.first_row_id,
        None if file.write_cols is None else list(file.write_cols),
    )


def _grouped(entries: Iterable[ManifestEntry], key: Any) -> dict[Any, list[ManifestEntry]]:
    groups: dict[Hashable, list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return groups


def _totals(entries: list[ManifestEntry]) -> tuple[int, int, int, datetime | None]:
    """Rows, bytes, files, and when the newest was made."""
    files = [e.file for e in entries]
    times = [t for t in map(_created, entries) if t is not None]
    return sum(f.row_count for f in files), sum(f.file_size for f in files), len(files), max(times, default=None)


def _created(entry: ManifestEntry) -> datetime | None:
    """The wall clock of the writer."""
    time = entry.file.creation_time
    return None if time is None else time.replace(tzinfo=None)
