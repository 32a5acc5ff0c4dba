"""System tables of a table's versions: `$snapshots`, `$schemas`, `$options`, `$tags`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from paimon_core.secrets import redacted
from paimon_core.store.schemas import list_schemas
from paimon_core.store.snapshots import list_snapshots
from paimon_core.store.table_store import TableStore
from paimon_core.store.tags import readable_tags
from paimon_core.system_tables.text import duration_text, in_hash_order, local_time
from paimon_core.time_zones import wall_clock_elsewhere

Row = tuple[Any, ...]
STRING, BIGINT, TIME = pa.string(), pa.int64(), pa.timestamp("ms")

SNAPSHOTS = pa.schema(
    [
        pa.field("snapshot_id", BIGINT, False),
        pa.field("schema_id", BIGINT, False),
        pa.field("commit_user", STRING, False),
        pa.field("commit_identifier", BIGINT, False),
        pa.field("commit_kind", STRING, False),
        pa.field("commit_time", TIME, False),
        pa.field("base_manifest_list", STRING, False),
        pa.field("delta_manifest_list", STRING, False),
        ("changelog_manifest_list", STRING),
        ("total_record_count", BIGINT),
        ("delta_record_count", BIGINT),
        ("changelog_record_count", BIGINT),
        ("watermark", BIGINT),
        ("next_row_id", BIGINT),
        ("operation", STRING),
    ]
)
SCHEMAS = pa.schema(
    [
        pa.field("schema_id", BIGINT, False),
        pa.field("fields", STRING, False),
        pa.field("partition_keys", STRING, False),
        pa.field("primary_keys", STRING, False),
        pa.field("options", STRING, False),
        ("comment", STRING),
        pa.field("update_time", TIME, False),
    ]
)
OPTIONS = pa.schema([pa.field("key", STRING, False), pa.field("value", STRING, False)])
TAGS = pa.schema(
    [
        pa.field("tag_name", STRING, False),
        pa.field("snapshot_id", BIGINT, False),
        pa.field("schema_id", BIGINT, False),
        pa.field("commit_time", TIME, False),
        ("record_count", BIGINT),
        ("create_time", pa.timestamp("us")),
        ("time_retained", STRING),
    ]
)


def snapshots(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    for s in list_snapshots(store):
        yield (
            s.id,
            s.schema_id,
            s.commit_user,
            s.commit_identifier,
            s.commit_kind or "",
            local_time(s.time_millis, zone),
            s.base_manifest_list,
            s.delta_manifest_list,
            s.changelog_manifest_list,
            s.total_record_count,
            s.delta_record_count,
            s.changelog_record_count,
            s.watermark,
            s.next_row_id,
            s.operation,
        )


def schemas(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    for s in list_schemas(store):
        parts = (
            [f.json() for f in s.fields],
            list(s.partition_keys),
            list(s.primary_keys),
            in_hash_order(redacted(s.options)),
        )
        yield (s.id, *map(_flat_json, parts), s.comment, local_time(s.time_millis, zone))


def options(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    yield from redacted(store.schema.options).items()


def tags(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    for tag in readable_tags(store):
        s = tag.snapshot
        made = None if tag.created is None else wall_clock_elsewhere(tag.created, zone)
        times = local_time(s.time_millis, zone), s.total_record_count, made, duration_text(tag.retained)
        yield (tag.name, s.id, s.schema_id, *times)


def _flat_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
