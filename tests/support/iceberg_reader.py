"""A reader of Iceberg, pyiceberg, on the metadata that a table of Paimon has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable


def open_iceberg(folder: Path) -> StaticTable:
    """The table whose metadata is in a folder, as its hint says."""
    hint = (folder / "version-hint.text").read_text()
    return StaticTable.from_metadata(str(folder / f"v{hint}.metadata.json"))


def iceberg_rows(folder: Path, *columns: str, **scan: Any) -> list[tuple[Any, ...]]:
    """The rows of some columns, sorted by the first ones."""
    found = open_iceberg(folder).scan(**scan).to_arrow()
    values = found.select(list(columns) or found.column_names).to_pylist()
    return sorted((tuple(row.values()) for row in values), key=str)
