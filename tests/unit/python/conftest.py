"""A catalog in Python that several files of tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog


@pytest.fixture
def lake(tmp_path: Path) -> PaimonCatalog:
    """A filesystem catalog in Python with the database `shop`; moments are in UTC."""
    catalog = open_catalog(warehouse=str(tmp_path / "lake"), time_zone="UTC")
    catalog.create_database("shop")
    return catalog
