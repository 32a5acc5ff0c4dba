"""Data files of a Paimon table as entries of Iceberg's manifests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from paimon_core.errors import UnsupportedFeatureError
from paimon_core.formats.iceberg_types import Node, has_bounds, partition_value, single_value
from paimon_core.formats.registry import format_name
from paimon_core.formats.shared_maps import is_shared
from paimon_core.iceberg.manifests import ADDED, Layout, uri
from paimon_core.lsm.compaction import last_level
from paimon_core.options import TableOptions
from paimon_core.spec.binary_row import decode_row
from paimon_core.spec.manifest import FileKind, ManifestEntry
from paimon_core.spec.paths import data_file_path
from paimon_core.spec.schema import TableSchema
from paimon_core.store.data.column_stats import trusted_stats, value_stats
from paimon_core.store.external.other_folders import FilePlaces
from paimon_core.store.table_store import TableStore

Files = dict[str, ManifestEntry]  # by URI


def is_listed(store: TableStore, entry: ManifestEntry) -> bool:
    """Return whether all rows of a file are rows of the table.

    In keyed tables, this holds only for files of the last level.
    """
    return not store.has_primary_key or (entry.file.level == last_level(store.options) and entry.bucket >= 0)


def place(places: FilePlaces, entry: ManifestEntry) -> str:
    """Return the location of a data file as a URI."""
    return uri(places.of(data_file_path(places.store.bucket_dir(entry.partition, entry.bucket), entry.file)))


def net_changes(places: FilePlaces, entries: Iterable[ManifestEntry]) -> tuple[Files, Files]:
    """Return the listed files that entries add, and the files that they remove, after applying the entries in order."""
    added, removed = Files(), Files()
    for entry in entries:
        if not is_listed(places.store, entry):
            continue
        path = place(places, entry)
        gone, come = (added, removed) if entry.kind is FileKind.DELETE else (removed, added)
        if gone.pop(path, None) is None:  # a file that is removed and added again is unchanged, and the reverse
            come[path] = entry
    return added, removed


def added_entry(
    places: FilePlaces, layout: Layout, schema_of: Callable[[int], TableSchema], snapshot_id: int, entry: ManifestEntry
) -> Node:
    """Return the entry of a new file.

    Raises `UnsupportedFeatureError` for a file of another format than Parquet, and for MAPs with a column per key."""
    file = entry.file
    if format_name(file.file_name) != "parquet":
        raise UnsupportedFeatureError(
            f"Data file {file.file_name} is not a Parquet file: readers of Iceberg find columns by Parquet's field ids."
        )
    then = schema_of(file.schema_id)
    _check_maps(layout.schema, then, file.file_name)
    return {
        "status": ADDED,
        "snapshot_id": snapshot_id,
        "sequence_number": snapshot_id,
        "file_sequence_number": snapshot_id,
        "data_file": {
            "content": 0,
            "file_path": place(places, entry),
            "file_format": "PARQUET",
            "partition": _partition(layout, entry.partition),
            "record_count": file.row_count,
            "file_size_in_bytes": file.file_size,
            **_statistics(layout.schema, then, entry),
        },
    }


def _check_maps(now: TableSchema, then: TableSchema, file: str) -> None:
    options, ids = TableOptions(then.options), {f.id for f in now.fields}
    found = next((f.name for f in then.fields if f.id in ids and is_shared(f, options)), None)
    if found is not None:
        raise UnsupportedFeatureError(
            f"Data file {file} has a column per key of the MAP {found!r}, which readers of Iceberg would misread: "
            "write its rows again, by a full compaction or INSERT OVERWRITE."
        )


def _partition(layout: Layout, partition: bytes) -> dict[str, Any]:
    types = [f.type for f in layout.partition_fields]
    values = decode_row(types, partition)
    return {
        name: partition_value(kind, value)
        for name, kind, value in zip(layout.partition_names, types, values, strict=True)
    }


def _statistics(now: TableSchema, then: TableSchema, entry: ManifestEntry) -> Node:
    """Return NULL counts and bounds by column.

    If the type changed, there are no bounds, because they have the old type.
    """
    found = trusted_stats(then, value_stats(then, entry.file), entry.file)
    types = {f.id: f.type.with_nullable(True) for f in now.fields}
    nulls, lower, upper = list[Node](), list[Node](), list[Node]()
    for name, stats in found.items():
        field = then.field_by_name.get(name)
        if field is None:
            continue
        if stats.null_count is not None:
            nulls.append({"key": field.id, "value": stats.null_count})
        if types.get(field.id) != field.type.with_nullable(True) or not has_bounds(field.type):
            continue
        for bounds, value in ((lower, stats.minimum), (upper, stats.maximum)):
            if value is not None and not (isinstance(value, float) and math.isnan(value)):
                bounds.append({"key": field.id, "value": single_value(field.type, value)})
    return {"null_value_counts": nulls or None, "lower_bounds": lower or None, "upper_bounds": upper or None}
