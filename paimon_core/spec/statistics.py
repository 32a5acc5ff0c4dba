"""`statistics/stat-UUID-0`: what ANALYZE TABLE found out about a snapshot.

    {"snapshotId": N, "schemaId": N, "mergedRecordCount": rows, "mergedRecordSize": bytes, "colStats": {column: {
        "colId": field id, "distinctCount", "min", "max" (texts), "nullCount", "avgLen", "maxLen"}}}

The texts of bounds are those of `value_texts.bound_text`. Source: analyze page; a file that Java wrote.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from paimon_core.errors import CorruptFileError
from paimon_core.spec.json_object import decode_json_object, encode_json_object, member


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatistics:
    """Rows and bytes of a version after merging, and per column what is known, by the keys of the file."""

    snapshot_id: int
    schema_id: int
    merged_record_count: int | None = None
    merged_record_size: int | None = None
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)


def encode_statistics(statistics: TableStatistics) -> bytes:
    """The file's bytes: indented JSON."""
    node = {
        "snapshotId": statistics.snapshot_id,
        "schemaId": statistics.schema_id,
        "mergedRecordCount": statistics.merged_record_count,
        "mergedRecordSize": statistics.merged_record_size,
        "colStats": statistics.columns,
    }
    return encode_json_object({k: v for k, v in node.items() if v is not None})


def decode_statistics(path: str, data: bytes) -> TableStatistics:
    """The statistics a file holds. Raises `CorruptFileError` naming `path`."""
    node = decode_json_object(path, data)
    try:
        columns = member(node, "colStats", dict | None, None) or {}
        if not all(isinstance(c, dict) for c in columns.values()):
            raise TypeError("'colStats' has a column that is no object")
        return TableStatistics(
            snapshot_id=member(node, "snapshotId", int),
            schema_id=member(node, "schemaId", int),
            merged_record_count=member(node, "mergedRecordCount", int | None, None),
            merged_record_size=member(node, "mergedRecordSize", int | None, None),
            columns=columns,
        )
    except TypeError as e:
        raise CorruptFileError(path, f"it is no statistics: {e}", "run ANALYZE TABLE again") from e
