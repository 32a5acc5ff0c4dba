"""The option that makes a table a format table: a folder of files without snapshots. `options` has the others."""

from __future__ import annotations

from collections.abc import Mapping

TYPE, FORMAT_TABLE = "type", "format-table"


def is_format_table(options: Mapping[str, str]) -> bool:
    """Return whether a schema's options declare a format table."""
    return options.get(TYPE, "table").strip().lower() == FORMAT_TABLE
