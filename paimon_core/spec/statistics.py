"""`statistics/stat-UUID-0`: the results of ANALYZE TABLE for a snapshot.

    {"snapshotId": N, "schemaId": N, "mergedRecordCount": rows, "mergedRecordSize": bytes, "colStats": {column: {
        "colId": field id, "distinctCount", "min", "max" (texts), "nullCount", "avgLen", "maxLen"}}}

Bounds are texts of `value_texts.bound_text`. Source: analyze page; a file that Java wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from reprlib import repr as shortened
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import CorruptFileError, UnfamiliarFormError
from paimon_core.spec.json_object import as_integer, as_text, decode_json_object, encode_json_object, member

_ADVICE = "run ANALYZE TABLE again"
_COLUMN: Mapping[str, Callable[[str, Any], Any]] = {
    "colId": partial(as_integer, bits=32),
    "distinctCount": as_integer,
    "min": as_text,
    "max": as_text,
    "nullCount": as_integer,
    "avgLen": as_integer,
    "maxLen": as_integer,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatistics:
    """The rows and bytes of a version after merging, and the known statistics of columns, by the keys of the JSON."""

    snapshot_id: int
    schema_id: int
    merged_record_count: int | None = None
    merged_record_size: int | None = None
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)


def encode_statistics(statistics: TableStatistics) -> bytes:
    """Return the file's bytes: indented JSON."""
    node = {
        "snapshotId": statistics.snapshot_id,
        "schemaId": statistics.schema_id,
        "mergedRecordCount": statistics.merged_record_count,
        "mergedRecordSize": statistics.merged_record_size,
        "colStats": statistics.columns,
    }
    return encode_json_object({k: v for k, v in node.items() if v is not None})


def decode_statistics(path: str, data: bytes) -> TableStatistics:
    """Return the statistics in a file. Raises `CorruptFileError`, `UnfamiliarFormError`, naming `path`."""
    try:
        node = decode_json_object(path, data)
        columns = member(node, "colStats", dict | None, None) or {}
        return TableStatistics(
            snapshot_id=as_integer("snapshotId", node.get("snapshotId")) or 0,
            schema_id=as_integer("schemaId", node.get("schemaId")) or 0,
            merged_record_count=as_integer("mergedRecordCount", node.get("mergedRecordCount")),
            merged_record_size=as_integer("mergedRecordSize", node.get("mergedRecordSize")),
            columns={name: _column(f"colStats.{name}", c) for name, c in columns.items() if c is not None},
        )
    except CorruptFileError as e:
        raise e.changed(advice=_ADVICE) from e
    except TypeError as e:
        raise UnfamiliarFormError(path, f"as statistics, {e}", _ADVICE) from e


def _column(key: str, node: Any) -> dict[str, Any]:
    """Return the known members of a column's statistics, without missing members."""
    if not isinstance(node, dict):
        raise TypeError(f"{key!r} is {shortened(node)}, not an object")
    values = {name: read(f"{key}.{name}", node.get(name)) for name, read in _COLUMN.items()}
    return {"colId": 0} | {name: value for name, value in values.items() if value is not None}
