"""The choice of a codec for the files of a format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from paimon_core.errors import InvalidOptionError
from paimon_core.options import FILE_COMPRESSION, Option, TableOptions

T = TypeVar("T")

ORC_CODECS = {"none": "uncompressed"} | {c: c for c in ("uncompressed", "zlib", "snappy", "lz4", "zstd")}


def codec(options: TableOptions, known: Mapping[str, T], format_name: str, own: Option[str] | None = None) -> T:
    """Return the value in `known` for the codec that the options name.

    `own` is the format's own option, which overrides `file.compression`.

    Raises `InvalidOptionError`."""
    special = own is not None and options[own].strip()
    option = own if own is not None and special else FILE_COMPRESSION
    return known_codec(option.key, options[option], known, format_name)


def known_codec(option: str, name: str, known: Mapping[str, T], format_name: str) -> T:
    """Return the value in `known` for a codec's name in an option. Raises `InvalidOptionError`."""
    plain = name.strip().lower() or "none"
    if plain not in known:
        raise InvalidOptionError(
            f"Option {option!r} cannot be {name!r} for {format_name}. Use one of {', '.join(known)}."
        )
    return known[plain]
