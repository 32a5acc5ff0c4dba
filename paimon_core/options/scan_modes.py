"""Options that choose the version that a query reads, and the rules for their combinations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from paimon_core.errors import InvalidOptionError
from paimon_core.options.option import TableOptions
from paimon_core.options.reading import SCAN_CREATION_TIME_MILLIS, SCAN_FILE_CREATION_TIME_MILLIS, SCAN_MODE

VERSIONS = ("scan.snapshot-id", "scan.tag-name", "scan.watermark", "scan.version")
MOMENTS = ("scan.timestamp-millis", "scan.timestamp")
CREATION = (SCAN_FILE_CREATION_TIME_MILLIS.key, SCAN_CREATION_TIME_MILLIS.key)
INCREMENTS = ("incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag")
# All options that choose which part of a table to read.
SCAN_OPTIONS = (*VERSIONS, *MOMENTS, *CREATION, SCAN_MODE.key, *INCREMENTS)
# The options with which a mode can be combined. A mode needs at least one of them; a mode that is not listed allows
# none.
_OF_MODE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "from-timestamp": MOMENTS,
        "from-snapshot": VERSIONS,
        "from-snapshot-full": ("scan.snapshot-id",),
        "from-file-creation-time": CREATION[:1],
        "from-creation-timestamp": CREATION[1:],
        "incremental": INCREMENTS,
    }
)


def check_scan_mode(options: TableOptions) -> None:
    """Raise `InvalidOptionError` if `scan.mode` and the other options cannot be combined."""
    mode, values = options[SCAN_MODE], options.values
    if mode == "default":
        return
    wanted = _OF_MODE.get(mode, ())
    others = [n for n in (*VERSIONS, *MOMENTS, *CREATION) if n in values and n not in wanted]
    if others:
        raise InvalidOptionError(
            f"Option 'scan.mode' = {mode!r} cannot be combined with {', '.join(map(repr, others))}. "
            "Leave one of them out."
        )
    if wanted and not any(n in values for n in wanted):
        raise InvalidOptionError(f"Option 'scan.mode' = {mode!r} needs {' or '.join(map(repr, wanted))}, too.")


def check_one_version(options: TableOptions) -> None:
    """Raise `InvalidOptionError` if more than one option chooses the version to read."""
    given = [name for name in (*VERSIONS, *MOMENTS) if name in options.values]
    if len(given) > 1:
        raise InvalidOptionError(f"Only one of the options {', '.join(given)} can choose a version; remove the others.")


def between(option: str, text: str) -> tuple[str, str]:
    """Return the begin and the end that an option names. Raises `InvalidOptionError`."""
    parts = [p.strip() for p in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InvalidOptionError(
            f"Option '{option}' cannot be {text!r}: it must be the begin (exclusive) and the end, with a comma between "
            "them."
        )
    return parts[0], parts[1]
