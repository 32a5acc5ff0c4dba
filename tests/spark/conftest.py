"""Sessions that several files of tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(params=["filesystem", "jdbc"])
def files_or_database(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Any:
    """A session whose current catalog keeps its names in files, or in a database."""
    if request.param == "jdbc":
        pytest.importorskip("sqlalchemy", reason='needs pip install "paimon-sql[jdbc]"')
        spark.sql(f"CREATE CATALOG meta WITH ('metastore' = 'jdbc', 'warehouse' = '{tmp_path}/meta')")
        spark.sql("USE meta.default")
    return spark
