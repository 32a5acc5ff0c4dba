"""System tables of a version's files: `$files`, `$file_key_ranges`, `$partitions`, `$buckets`, `$manifests`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime, tzinfo
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_core.arrow.columns import int64_array
from paimon_core.formats.registry import format_name
from paimon_core.manifests.entries import EntryColumns, Rows
from paimon_core.options import DELETION_VECTORS, PARTITION_DEFAULT_NAME
from paimon_core.scan.fallback import partition_files
from paimon_core.scan.plan import are_read
from paimon_core.scan.pruning.entries import value_groups
from paimon_core.scan.time_travel import is_time_travel, snapshot_of_options, store_at
from paimon_core.spec.manifest import FileSource, ManifestEntry
from paimon_core.spec.paths import resolved_path
from paimon_core.spec.snapshot import Snapshot
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.indexes.index_files import deletion_files
from paimon_core.store.manifests import data_manifests, live_columns, live_files, read_manifest_list
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.file_texts import file_texts
from paimon_core.system_tables.text import partition_path, row_text
from paimon_core.time_zones import wall_clock_elsewhere, wall_clocks_elsewhere

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


def files(store: TableStore, zone: tzinfo | None) -> pa.Table:
    snapshot, parts = snapshot_of_options(store, zone), [FILES.empty_table()]
    store = store_at(store, snapshot) if is_time_travel(store) else store
    places = FilePlaces(store, of_many=True)
    for manifest, live in () if snapshot is None else live_columns(store, data_manifests(store, snapshot)):
        rows = live[are_read(store, manifest.buckets[live])]
        if len(rows):
            parts.append(pa.Table.from_arrays(_file_columns(places, manifest, rows, zone), schema=FILES))
    return pa.concat_tables(parts)


def file_key_ranges(store: TableStore, zone: tzinfo | None) -> pa.Table:
    return files(store, zone).select(FILE_KEY_RANGES.names)


def partitions(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    snapshot = snapshot_of_options(store, zone)
    rows, deleted = [], _deleted_rows(store, snapshot)
    shown = (e for e in partition_files(store, snapshot) if e.bucket >= 0)  # like `shown_files`
    for partition, entries in _grouped(shown, lambda e: e.partition).items():
        name = partition_path(store.schema.partition_fields, partition, store.options[PARTITION_DEFAULT_NAME], zone)
        newest = max(entries, key=lambda e: _created(e) or datetime.min)
        counts, totals = _totals(entries, zone), newest.total_buckets
        rows.append((name, *counts, None, None, None, None, totals, False, deleted.get(partition, 0)))
    yield from sorted(rows, key=lambda r: str(r[0]))


def buckets(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    found = live_files(store, snapshot_of_options(store, zone)).values()  # only this table shows postponed rows
    fields, groups = store.schema.partition_fields, _grouped(found, lambda e: (e.partition, e.bucket))
    rows = (
        (row_text(fields, partition, zone), bucket, *_totals(es, zone)) for (partition, bucket), es in groups.items()
    )
    yield from sorted(rows, key=lambda r: (r[0], r[1]))


def manifests(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    snapshot = snapshot_of_options(store, zone)
    if snapshot is None:
        return
    changelog = snapshot.changelog_manifest_list
    fields = store.schema.partition_fields
    for m in data_manifests(store, snapshot) + (read_manifest_list(store, changelog) if changelog else ()):
        low, high = (row_text(fields, r, zone) for r in (m.partition_stats.min_values, m.partition_stats.max_values))
        added, deleted = m.num_added_files, m.num_deleted_files
        yield m.file_name, m.file_size, added, deleted, m.schema_id, low, high, m.min_row_id, m.max_row_id


def shown_files(store: TableStore, zone: tzinfo | None) -> list[ManifestEntry]:
    """Return the data files of the version that options select, or of the latest version."""
    found = live_files(store, snapshot_of_options(store, zone)).values()
    return [e for e in found if e.bucket >= 0]  # rows in a postponed bucket are not part of the table yet


def _file_columns(places: FilePlaces, manifest: EntryColumns, rows: Rows, zone: tzinfo | None) -> list[pa.Array]:
    """Return the columns of `FILES` for rows of a manifest."""
    store = places.store
    taken, texts = int64_array(rows), file_texts(store.schema, manifest, value_groups(store, manifest, rows), zone)

    def number(name: str, kind: pa.DataType = BIGINT) -> pa.Array:
        return manifest.file_numbers(name).take(taken).cast(kind)

    files, bucket_dir = manifest.locations(rows), cache(store.bucket_dir)
    paths = [outside or places.of(resolved_path(bucket_dir(p, b), name, None)) for p, b, name, outside, _ in files]
    partitions = [row_text(store.schema.partition_fields, p, zone) for p in manifest.partitions]
    sources, (codes, lists) = number("_FILE_SOURCE").dictionary_encode(), manifest.lists("_WRITE_COLS")
    names = pa.array(
        [None if code is None else FileSource(code).name for code in sources.dictionary.to_pylist()], STRING
    )
    return [
        pa.array(partitions, STRING).take(int64_array(manifest.partition_codes[rows])),
        int64_array(manifest.buckets[rows]).cast(INT),
        pa.array(paths, STRING),
        pa.array([format_name(file[2]) for file in files], STRING),
        number("_SCHEMA_ID"),
        number("_LEVEL", INT),
        number("_ROW_COUNT"),
        number("_FILE_SIZE"),
        *texts,
        number("_MIN_SEQUENCE_NUMBER"),
        number("_MAX_SEQUENCE_NUMBER"),
        _elsewhere(number("_CREATION_TIME"), zone),
        number("_DELETE_ROW_COUNT"),
        names.take(sources.indices),
        number("_FIRST_ROW_ID"),
        pa.array([*lists, None], pa.list_(STRING)).take(int64_array(codes[rows] % (len(lists) + 1))),
    ]


def _grouped(entries: Iterable[ManifestEntry], key: Any) -> dict[Any, list[ManifestEntry]]:
    groups: dict[Hashable, list[ManifestEntry]] = defaultdict(list)
    for entry in entries:
        groups[key(entry)].append(entry)
    return groups


def _deleted_rows(store: TableStore, snapshot: Snapshot | None) -> dict[bytes, int | None]:
    """Return the number of rows marked by deletion vectors, by partition, or None if an index file does not have the
    number.
    """
    found = dict[bytes, int | None]()
    if store.options[DELETION_VECTORS]:
        for (partition, _), vectors in deletion_files(store, snapshot).items():
            for deletion in vectors.values():
                more, known = deletion.vector.cardinality, found.get(partition, 0)
                found[partition] = None if more is None or known is None else known + more
    return found


def _totals(entries: list[ManifestEntry], zone: tzinfo | None) -> tuple[int, int, int, datetime | None]:
    """Return the numbers of rows, bytes and files, and the time of the newest file."""
    files = [e.file for e in entries]
    last = max((t for t in map(_created, entries) if t is not None), default=None)
    shown = None if last is None else wall_clock_elsewhere(last, zone)
    return sum(f.row_count for f in files), sum(f.file_size for f in files), len(files), shown


def _elsewhere(creation_times: pa.Array, zone: tzinfo | None) -> pa.Array:
    """Convert wall-clock times of this process's zone to wall-clock times of `zone`."""
    walls = wall_clocks_elsewhere(pc.fill_null(creation_times, 0).to_numpy(), zone)
    return pc.if_else(creation_times.is_valid(), pa.array(walls, BIGINT), None).cast(TIME)


def _created(entry: ManifestEntry) -> datetime | None:
    """Return the wall clock of the writer when it created the file."""
    time = entry.file.creation_time
    return None if time is None else time.replace(tzinfo=None)
