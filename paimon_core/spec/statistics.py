"""`statistics/stat-UUID-0`: what ANALYZE TABLE found out about a snapshot.

    {"snapshotId": N, "schemaId": N, "mergedRecordCount": rows, "mergedRecordSize": bytes, "colStats": {column: {
        "colId": field id, "distinctCount", "min", "max" (texts), "nullCount", "avgLen", "maxLen"}}}

The texts of bounds: dates as epoch days, moments as `2024-01-31 12:00:00.000000`, numbers and booleans as Java
prints them. Source: analyze page; a file that Java wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from paimon_core.errors import CorruptFileError
from paimon_core.spec.json_object import decode_json_object, member
from paimon_core.spec.types import Kind

_EPOCH = date(1970, 1, 1)
_INTEGER = re.compile(r"[+-]?\d{1,19}")
_FLOAT = re.compile(r"[+-]?(\d{1,400}(\.\d{0,400})?([eE][+-]?\d{1,4})?|Infinity|NaN)")
_DECIMAL = re.compile(r"[+-]?\d{1,38}(\.\d{1,38})?([eE][+-]?\d{1,2})?")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))?")
_SPELLINGS: Mapping[Kind, re.Pattern[str]] = {
    Kind.BOOLEAN: re.compile("true|false"),
    Kind.TINYINT: _INTEGER,
    Kind.SMALLINT: _INTEGER,
    Kind.INT: _INTEGER,
    Kind.BIGINT: _INTEGER,
    Kind.FLOAT: _FLOAT,
    Kind.DOUBLE: _FLOAT,
    Kind.DECIMAL: _DECIMAL,
}


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
    return json.dumps({k: v for k, v in node.items() if v is not None}, indent=2, ensure_ascii=False).encode()


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


def bound_text(kind: Kind, sql_text: str) -> str:
    """The file's text of a bound, from the text that SQL has for the value."""
    return str((date.fromisoformat(sql_text) - _EPOCH).days) if kind is Kind.DATE else sql_text


def sql_bound(kind: Kind, text: object) -> str | None:
    """The reverse of `bound_text`, moments with six digits; None for what is no value of that kind."""
    if not isinstance(text, str):
        return None
    if kind is Kind.DATE:
        try:
            return (_EPOCH + timedelta(days=int(text))).isoformat()
        except (ValueError, OverflowError):
            return None
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        moment = _MOMENT.fullmatch(text)
        return None if moment is None else f"{moment[1]}.{(moment[2] or '').ljust(6, '0')[:6]}"
    spelling = _SPELLINGS.get(kind)
    return text if spelling is not None and spelling.fullmatch(text) else None
