"""Tables for tests of metadata: small tables with data files that exist only in manifests."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paimon_core.commit.draft import CommitInfo
from paimon_core.io.file_io import FileIO
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.binary_row import EMPTY_ROW, encode_row
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.manifest import DataFileMeta
from paimon_core.spec.message import CommitMessage
from paimon_core.spec.schema import decode_schema, encode_schema
from paimon_core.spec.stats import EMPTY_STATS, ColumnStats, encode_stats
from paimon_core.spec.types import BIGINT, INT, STRING, DataField, DataType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.schemas import create_schema
from paimon_core.store.table_store import TableStore


def fields(**types: DataType) -> list[DataField]:
    return [DataField(id=0, name=name, type=t) for name, t in types.items()]


def new_store(root: Path | str, io: FileIO | None = None, **options: str) -> TableStore:
    """Create an append table of k INT, v STRING, at `root`/db.db/t; with `primary-key` among the options, a table with
    keys.
    """
    spelled = {k.replace("_", "-"): v for k, v in options.items()}
    schema = new_table_schema(fields(k=INT, v=STRING, p=INT, n=BIGINT), options=spelled)
    path = f"{root}/db.db/t"
    assert create_schema(io or LocalFileIO(), path, schema)
    return TableStore.of(io or LocalFileIO(), path, schema, identifier=Identifier("db", "t"))


def of_version(store: TableStore, version: int) -> TableStore:
    """Return the table's store after its schema file is written again in a version of schemas (1: Paimon
    0.4 to 0.7).
    """
    path = Path(store.paths.schema(store.schema.id))
    path.write_bytes(encode_schema(replace(store.schema, version=version)))
    return replace(store, schema=decode_schema(str(path), path.read_bytes()))


def data_file(store: TableStore, low: int, high: int, *, level: int = 0, rows: int = 1, **more: Any) -> DataFileMeta:
    """Metadata of a file of keys `low` to `high` (column k), without the file."""
    bounds = [ColumnStats(low, high, 0)]
    keyed = store.has_primary_key
    given: dict[str, Any] = {
        "file_name": f"data-{uuid.uuid4()}-0.parquet",
        "file_size": 1000,
        "row_count": rows,
        "min_key": encode_row([INT], [low]) if keyed else EMPTY_ROW,
        "max_key": encode_row([INT], [high]) if keyed else EMPTY_ROW,
        "key_stats": encode_stats([INT], bounds) if keyed else EMPTY_STATS,
        "value_stats": encode_stats([INT], bounds),
        "value_stats_cols": ("k",),
        "min_sequence_number": 0,
        "max_sequence_number": rows - 1,
        "schema_id": store.schema.id,
        "level": level,
        "creation_time": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        "delete_row_count": 0,
        "file_source": 0,
    }
    return DataFileMeta(**given | more)


def message(store: TableStore, *new: DataFileMeta, p: int | None = None, bucket: int = 0, **more: Any) -> CommitMessage:
    """Return the message of a writer of one bucket."""
    partition = encode_row([INT], [p]) if store.schema.partition_keys else EMPTY_ROW
    total = int(store.options.values.get("bucket", "-1"))
    return CommitMessage(partition=partition, bucket=bucket, total_buckets=more.pop("of", total), new_files=new, **more)


def info(user: str = "tester", **more: Any) -> CommitInfo:
    return CommitInfo(user=user, operation="WRITE", **more)
