"""JSON objects from files and between processes: their members are of the types that are expected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from reprlib import repr as shortened
from typing import Any

from paimon_core.errors import CorruptFileError, InvalidDataError


def decode_json_object(path: str, data: bytes) -> dict[str, Any]:
    """The JSON object in a metadata file. Raises `CorruptFileError`."""
    try:
        node = json.loads(data.decode())
        if b"\\u" in data:
            json.dumps(node, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except (ValueError, RecursionError) as e:
        raise CorruptFileError(path, f"it is no JSON ({e})") from e
    if not isinstance(node, dict):
        raise CorruptFileError(path, f"a JSON object is expected, not {type(node).__name__}")
    return node


def encode_json_object(node: Mapping[str, Any]) -> bytes:
    """A metadata file. Raises `InvalidDataError` for a text that none can hold, and that no reader would take back."""
    try:
        return json.dumps(node, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError as e:
        found = e.object[max(e.start - 20, 0) : e.end + 20]
        raise InvalidDataError(
            f"{found!r} cannot be written to metadata: {e.object[e.start : e.end]!r} is half of a character."
        ) from e


def member(node: Any, key: str, kind: Any, *default: Any) -> Any:
    """The value of a key, of a type or of one of several. Raises `TypeError`, also where there is neither the key nor
    a default."""
    if not isinstance(node, dict) or (key not in node and not default):
        raise TypeError(f"there is no {key!r}")
    value = node.get(key, *default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{key!r} is {shortened(value)}")
    return value
