"""Metadata files as our reader and as Java read them, in one form for a comparison."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from paimon_core.spec.schema import decode_schema, encode_schema
from paimon_core.spec.snapshot import decode_snapshot, encode_snapshot
from paimon_core.spec.statistics import decode_statistics, encode_statistics
from paimon_core.spec.tag import decode_tag, encode_tag
from paimon_core.store.consumers import decode_consumer, encode_consumer

PATH = "/w/db.db/t/file-1"

_READERS: dict[str, Callable[[bytes], bytes]] = {
    "snapshot": lambda data: encode_snapshot(decode_snapshot(PATH, data)),
    "tag": lambda data: encode_tag(decode_tag(PATH, data, "1")),
    "consumer": lambda data: encode_consumer(decode_consumer(PATH, data)),
    "statistics": lambda data: encode_statistics(decode_statistics(PATH, data)),
    "schema": lambda data: encode_schema(decode_schema(PATH, data)),
}


def ours(kind: str, text: str) -> dict[str, Any]:
    """Return a file as our reader reads it and our writer would write it again. Raises the reader's errors."""
    return comparable(kind, json.loads(_READERS[kind](text.encode())))


def comparable(kind: str, node: dict[str, Any]) -> dict[str, Any]:
    """Return a file as one of the engines writes it again, without differences that have no meaning."""
    found = {key: value for key, value in node.items() if value is not None}
    if kind in ("snapshot", "tag"):
        found = {"commitUser": ""} | found
        found["version"] = found["version"] or 1  # both are older than the first version with a number
        if "properties" in found:
            found["properties"] = {k: v for k, v in found["properties"].items() if v is not None}
    if kind == "schema":
        found["version"] = found["version"] or 1
    if kind == "statistics":
        columns = found.get("colStats", {})
        found["colStats"] = {name: column for name, column in columns.items() if column is not None}
    if "tagCreateTime" in found:  # Java leaves out trailing zeros, and keeps nanoseconds
        parts = [*found["tagCreateTime"], 0, 0][:7]
        found["tagCreateTime"] = [*parts[:6], parts[6] // 1000 * 1000]
    return found
