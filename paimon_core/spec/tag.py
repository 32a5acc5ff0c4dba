"""`tag/tag-NAME`: the JSON of a snapshot under a name, and, for a tag that expires, its creation time and lifetime.

    {…the fields of a snapshot…, "tagCreateTime": [y, m, d, hour, minute(, second(, nano))], "tagTimeRetained": seconds}

Java also reads the time as a text (2024-05-01T12:00:00.123), and the duration as a text (PT36H). Source: specification,
"Snapshot"; manage-tags page; experiments with Java for each spelling.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from reprlib import repr as shortened
from typing import Any

from paimon_core.dataclass import dataclass
from paimon_core.errors import UnfamiliarFormError
from paimon_core.spec.json_object import as_integer, decode_json_object, encode_json_object
from paimon_core.spec.snapshot import Snapshot, encode_snapshot, snapshot_of, writer_of

# The members that name files, and the version, because a later version may name files differently.
_OF_FILES = ("version", "baseManifestList", "deltaManifestList", "changelogManifestList", "indexManifest", "statistics")
_LOCAL_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?Z?", re.ASCII)
_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?=.)(?:(?P<days>[+-]?\d{1,12})D)?(?:T(?=.)(?:(?P<hours>[+-]?\d{1,15})H)?"
    r"(?:(?P<minutes>[+-]?\d{1,15})M)?(?:(?P<seconds>[+-]?\d{1,15})(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A named snapshot. `created` is the wall clock of its creator; `retained` is its lifetime, None if it does not
    expire.
    """

    name: str
    snapshot: Snapshot
    created: datetime | None = None
    retained: timedelta | None = None


def encode_tag(tag: Tag) -> bytes:
    """Return the file's bytes: indented JSON."""
    node: dict[str, Any] = json.loads(encode_snapshot(tag.snapshot))
    if tag.created is not None:
        t = tag.created
        node["tagCreateTime"] = [t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond * 1000]
    if tag.retained is not None:
        node["tagTimeRetained"] = tag.retained.total_seconds()
    return encode_json_object(node)


def decode_tag(path: str, data: bytes, name: str) -> Tag:
    """Return the tag in a file.

    Raises `CorruptFileError`, `UnsupportedVersionError`, `UnfamiliarFormError`, all naming `path`.
    """
    node = decode_json_object(path, data)
    snapshot = snapshot_of(path, node)
    try:
        created = _time("tagCreateTime", node.get("tagCreateTime"))
        retained = _retained("tagTimeRetained", node.get("tagTimeRetained"))
    except TypeError as e:
        raise UnfamiliarFormError(path, f"as a tag, {e}", writer=writer_of(node)) from e
    return Tag(name=name, snapshot=snapshot, created=created, retained=retained)


def decode_kept_snapshot(path: str, data: bytes) -> Snapshot:
    """Return the snapshot with the files that a tag keeps, from only the tag's members about files.

    Other members may have any form. Raises `CorruptFileError`, `UnsupportedVersionError`, `UnfamiliarFormError` if
    these members do not show the files for certain.
    """
    node = decode_json_object(path, data)
    return snapshot_of(path, {"id": 0} | {key: node[key] for key in _OF_FILES if key in node} | _whole_id(node))


def _whole_id(node: dict[str, Any]) -> dict[str, int]:
    try:
        return {"id": as_integer("id", node.get("id")) or 0}
    except TypeError:
        return {}


def _time(key: str, value: Any) -> datetime | None:
    """Return the wall clock that Jackson reads from a value. Raises `TypeError` naming `key`."""
    try:
        if isinstance(value, str):
            return _time_of_text(value.strip()) if value.strip() else None
        if isinstance(value, list):
            return _time_of_parts(value) if value else None
    except (ValueError, OverflowError) as e:
        raise TypeError(f"{key!r} is {shortened(value)}, not a time ({e})") from e
    if value is not None:
        raise TypeError(f"{key!r} is {shortened(value)}, not a time")
    return None


def _time_of_parts(parts: list[Any]) -> datetime:
    """Return the wall clock of [year, month, day, hour, minute(, second(, nanosecond))]."""
    if not 5 <= len(parts) <= 7 or not all(type(part) is int for part in parts):
        raise ValueError("five to seven integers are expected")
    year, month, day, hour, minute, *rest = parts
    second, nano = [*rest, 0, 0][:2]
    return datetime(year, month, day, hour, minute, second, nano // 1000)


def _time_of_text(text: str) -> datetime:
    """Return a wall clock from ISO 8601. Like Jackson, ignore a Z at its end."""
    match = _LOCAL_TIME.fullmatch(text)
    if match is None:
        raise ValueError("YYYY-MM-DDTHH:MM:SS is expected")
    second, fraction = match[6] or "0", (match[7] or "").ljust(9, "0")
    year, month, day, hour, minute = map(int, match.groups()[:5])
    return datetime(year, month, day, hour, minute, int(second), int(fraction) // 1000)


def _retained(key: str, value: Any) -> timedelta | None:
    """Return the duration that Jackson reads from a value: seconds, or ISO 8601. Raises `TypeError` naming `key`."""
    try:
        if isinstance(value, str):
            return _duration_of_text(value.strip()) if value.strip() else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return timedelta(seconds=float(value))
    except (ValueError, OverflowError) as e:
        raise TypeError(f"{key!r} is {shortened(value)}, not a duration ({e})") from e
    if value is not None:
        raise TypeError(f"{key!r} is {shortened(value)}, not a duration")
    return None


def _duration_of_text(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("a duration like P1DT12H is expected")
    days, hours, minutes, seconds = (int(match[g] or 0) for g in ("days", "hours", "minutes", "seconds"))
    micros = int((match["fraction"] or "").ljust(9, "0")) // 1000
    micros = -micros if (match["seconds"] or "").startswith("-") else micros
    found = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)
    return -found if match["sign"] == "-" else found
