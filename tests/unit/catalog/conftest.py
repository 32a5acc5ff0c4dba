"""Catalogs that several files of tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.io.local import LocalFileIO
from paimon_sql.catalog.filesystem import FileSystemCatalog


@pytest.fixture
def catalog(tmp_path: Path) -> FileSystemCatalog:
    """A filesystem catalog with the database `db`."""
    catalog = FileSystemCatalog(LocalFileIO(), str(tmp_path))
    catalog.create_database("db")
    return catalog
