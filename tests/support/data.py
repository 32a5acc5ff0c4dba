"""Tables with rows on a local disk: schemas in one line, rows in and out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_core.arrow.types import arrow_schema
from paimon_core.expressions.predicate import Predicate
from paimon_core.io.local import LocalFileIO
from paimon_core.scan.read import read_split
from paimon_core.spec.manifest import BucketKey, DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.schema import TableSchema, highest_field_id
from paimon_core.spec.split import DataSplit
from paimon_core.spec.types import DataField, DataType
from paimon_core.store.table_store import TableStore

Live = dict[BucketKey, list[DataFileMeta]]


def make_store(
    root: Path,
    columns: Mapping[str, DataType],
    *,
    keys: Sequence[str] = (),
    partitions: Sequence[str] = (),
    **options: str,
) -> TableStore:
    """Create a table of the columns. Options are written with underscores for dashes and double underscores
    for dots.
    """
    fields = tuple(DataField(id=i, name=n, type=t) for i, (n, t) in enumerate(columns.items()))
    schema = TableSchema(
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=tuple(partitions),
        primary_keys=tuple(keys),
        options={k.replace("__", ".").replace("_", "-"): v for k, v in options.items()},
    )
    return TableStore.of(LocalFileIO(), str(root / "t"), schema)


def make_batch(store: TableStore, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    """Rows of the table as a batch."""
    schema = arrow_schema(store.schema.fields)
    loose = pa.schema([pa.field(f.name, f.type) for f in schema])
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in schema]
    return pa.record_batch([pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema=loose)


def files_of(messages: Iterable[CommitMessage], live: Live | None = None) -> Live:
    """Return the files that are live after the messages, per bucket."""
    result: Live = {k: list(v) for k, v in (live or {}).items()}
    for message in messages:
        files = result.setdefault((message.partition, message.bucket), [])
        compacted = {(f.file_name, f.level) for f in message.compact_before}
        kept = [f for f in files if (f.file_name, f.level) not in compacted]
        files[:] = [*kept, *message.new_files, *message.compact_after]
    return result


def read_rows(
    store: TableStore,
    live: Mapping[BucketKey, Sequence[DataFileMeta]],
    columns: Sequence[str] | None = None,
    predicate: Predicate | None = None,
) -> list[tuple[Any, ...]]:
    """Return the rows of all buckets, merged if the table has a primary key."""
    rows: list[tuple[Any, ...]] = []
    for (partition, bucket), files in live.items():
        split = DataSplit(
            partition=partition,
            bucket=bucket,
            bucket_dir=store.bucket_dir(partition, bucket),
            files=tuple(files),
            needs_merge=store.has_primary_key,
        )
        names = columns or [f.name for f in store.schema.fields]
        for batch in read_split(store, split, names, predicate):
            assert isinstance(batch, pa.RecordBatch)
            assert batch.schema.equals(arrow_schema(store.schema.select(tuple(names))), check_metadata=True)
            rows += [tuple(r.values()) for r in batch.to_pylist()]
    return rows
