"""`tag/tag-NAME`: the JSON of a snapshot under a name, and where its life is limited when it was made and for how long.

    {…the fields of a snapshot…, "tagCreateTime": [y, m, d, hour, minute(, second(, nano))], "tagTimeRetained": seconds}

Source: specification, "Snapshot"; manage-tags page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from paimon_core.errors import CorruptFileError
from paimon_core.spec.json_object import decode_json_object, encode_json_object, member
from paimon_core.spec.snapshot import Snapshot, decode_snapshot, encode_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A named snapshot. `created` is the wall clock of who made it; `retained` how long it is kept, None: for ever."""

    name: str
    snapshot: Snapshot
    created: datetime | None = None
    retained: timedelta | None = None


def encode_tag(tag: Tag) -> bytes:
    """The file's bytes: indented JSON."""
    node: dict[str, Any] = json.loads(encode_snapshot(tag.snapshot))
    if tag.created is not None:
        t = tag.created
        node["tagCreateTime"] = [t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond * 1000]
    if tag.retained is not None:
        node["tagTimeRetained"] = tag.retained.total_seconds()
    return encode_json_object(node)


def decode_tag(path: str, data: bytes, name: str) -> Tag:
    """The tag a file holds. Raises `CorruptFileError`, `UnsupportedVersionError`, both naming `path`."""
    node = decode_json_object(path, data)
    try:
        return Tag(
            name=name,
            snapshot=decode_snapshot(path, data),
            created=_local_date_time(member(node, "tagCreateTime", list | None, None)),
            retained=_duration(member(node, "tagTimeRetained", int | float | None, None)),
        )
    except (TypeError, ValueError, OverflowError) as e:
        raise CorruptFileError(path, f"its times do not decode ({e})") from e


def _local_date_time(parts: list[int] | None) -> datetime | None:
    """A wall clock written as [year, month, day, hour, minute(, second(, nanosecond))]."""
    if parts is None:
        return None
    year, month, day, hour, minute, *rest = parts
    second, nano = [*rest, 0, 0][:2]
    return datetime(year, month, day, hour, minute, second, nano // 1000)


def _duration(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=float(seconds))
