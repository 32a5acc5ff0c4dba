"""System tables about versions: `$branches`, `$consumers`, `$statistics`; and `$running`, `$aggregation_fields`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from paimon_core.maintenance.running import running_work
from paimon_core.scan.time_travel import snapshot_of_options
from paimon_core.store.branches import branch_times
from paimon_core.store.consumers import list_consumers
from paimon_core.store.statistics import read_statistics
from paimon_core.store.table_store import TableStore
from paimon_core.system_tables.text import in_hash_order, local_time

Row = tuple[Any, ...]
STRING, BIGINT, TIME = pa.string(), pa.int64(), pa.timestamp("ms")

BRANCHES = pa.schema([pa.field("branch_name", STRING, False), pa.field("create_time", TIME, False)])
CONSUMERS = pa.schema([pa.field("consumer_id", STRING, False), pa.field("next_snapshot_id", BIGINT, False)])
STATISTICS = pa.schema(
    [
        pa.field("snapshot_id", BIGINT, False),
        pa.field("schema_id", BIGINT, False),
        ("mergedRecordCount", BIGINT),
        ("mergedRecordSize", BIGINT),
        ("colstat", STRING),
    ]
)
RUNNING = pa.schema(
    [
        pa.field("work", STRING, False),
        pa.field("started_at", TIME, False),
        pa.field("host", STRING, False),
        pa.field("process", BIGINT, False),
        pa.field("seen_at", TIME, False),
        ("job", STRING),
        ("done", BIGINT),
        ("total", BIGINT),
        ("unit", STRING),
        ("per_second", pa.float64()),
        ("seconds_left", BIGINT),
    ]
)
AGGREGATION_FIELDS = pa.schema(
    [
        pa.field("field_name", STRING, False),
        pa.field("field_type", STRING, False),
        ("function", STRING),
        ("function_options", STRING),
        ("comment", STRING),
    ]
)


def branches(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    for name, created in branch_times(store).items():
        yield name, local_time(created, zone)


def consumers(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    yield from list_consumers(store).items()


def running(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    for work in running_work(store):
        began, seen = local_time(work.began, zone), local_time(work.seen, zone)
        yield work.work, began, work.host, work.process, seen, *work.progress


def statistics(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    s = read_statistics(store, snapshot_of_options(store, zone))
    if s is not None:
        columns = json.dumps(s.columns, indent=2, separators=(",", " : "), ensure_ascii=False) if s.columns else "{ }"
        yield s.snapshot_id, s.schema_id, s.merged_record_count, s.merged_record_size, columns


def aggregation_fields(store: TableStore, zone: tzinfo | None) -> Iterator[Row]:
    options = [(k.split("."), k, v) for k, v in in_hash_order(store.schema.options).items() if k.startswith("fields.")]
    for field in store.schema.fields:
        own = [(k, v) for parts, k, v in options if len(parts) > 2 and parts[1] == field.name]
        functions, keys = (", ".join(t) for t in ([v for _, v in own], [k for k, _ in own]))
        kind = field.type.sql() + ("" if field.type.nullable else " NOT NULL")
        yield field.name, kind, f"[{functions}]", f"[{keys}]", field.description
