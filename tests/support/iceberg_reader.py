"""pyiceberg, a reader of Iceberg, on the Iceberg metadata of a Paimon table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable


def open_iceberg(folder: Path) -> StaticTable:
    """Return the table with its metadata in a folder, found by the hint."""
    hint = (folder / "version-hint.text").read_text()
    return StaticTable.from_metadata(str(folder / f"v{hint}.metadata.json"))


def iceberg_rows(folder: Path, *columns: str, **scan: Any) -> list[tuple[Any, ...]]:
    """The rows of some columns, sorted by the first ones."""
    found = open_iceberg(folder).scan(**scan).to_arrow()
    values = found.select(list(columns) or found.column_names).to_pylist()
    return sorted((tuple(row.values()) for row in values), key=str)
