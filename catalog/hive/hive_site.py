"""Read the properties of `hive-site.xml`, but no entities and no other files that XML may refer to.

A document type is refused, so there are no entities; inclusions are not followed. `${name}` refers to another property
of the file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.parsers import expat

from paimon_core.errors import InvalidOptionError

_FILE = "hive-site.xml"
_MOST_BYTES = 2**24
_VARIABLE = re.compile(r"\$\{([^}$\s]+)\}")
_DEPTH = 20  # the limit of Hadoop


def read_hive_site(folder: str) -> dict[str, str]:
    """Return the properties of `hive-site.xml` in a folder.

    Raises `InvalidOptionError`. The error contains no value of the file.
    """
    path = Path(folder.removeprefix("file://")) / _FILE
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InvalidOptionError(
            f"Option 'hive-conf-dir' = {folder!r}: {path} cannot be read: {error.strerror or error}."
        ) from error
    if len(data) > _MOST_BYTES:
        raise InvalidOptionError(f"{path} is larger than {_MOST_BYTES} bytes: it cannot be a {_FILE}.")
    try:
        found = _properties(data)
    except (expat.ExpatError, ValueError) as error:
        raise InvalidOptionError(f"{path} cannot be read: {error}.") from None
    return {name: _expanded(value, found) for name, value in found.items()}


def _properties(data: bytes) -> dict[str, str]:
    """Parse the properties. Raises `ExpatError`, and `ValueError` for a document type."""
    found: dict[str, str] = {}
    path: list[str] = []
    parts: dict[str, str] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        if path == ["configuration", "property"]:
            parts.clear()

    def text(data: str) -> None:
        if len(path) == 3:
            parts[path[2]] = parts.get(path[2], "") + data

    def end(name: str) -> None:
        if path == ["configuration", "property"] and parts.get("name", "").strip():
            found[parts["name"].strip()] = parts.get("value", "").strip()
        path.pop()

    def refuse(*_: object) -> None:
        raise ValueError("it has a DOCTYPE, which could refer to other files: remove it")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)
    return found


def _expanded(value: str, found: dict[str, str]) -> str:
    """Return a value with its variables replaced. Unknown variables stay."""
    for _ in range(_DEPTH):
        match = next((m for m in _VARIABLE.finditer(value) if _known(m[1], found) is not None), None)
        if match is None or len(value) > _MOST_BYTES:
            break
        value = f"{value[: match.start()]}{_known(match[1], found)}{value[match.end() :]}"
    return value


def _known(name: str, found: dict[str, str]) -> str | None:
    if name.startswith("env."):
        return os.environ.get(name.removeprefix("env."))
    return found.get(name)
