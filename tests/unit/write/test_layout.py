from __future__ import annotations

from pathlib import Path

import pytest

from paimon_core.spec.types import INT
from paimon_core.write.layout import range_columns
from tests.support.data import make_store

BY = {"clustering__columns": "b"}


@pytest.mark.parametrize(
    ("options", "sorts"),
    [
        ({}, False),
        (BY, True),
        ({"sink__clustering__by_columns": "b"}, True),
        (BY | {"clustering__incremental": "true"}, False),
        (BY | {"clustering__incremental": "true", "clustering__incremental__optimize_write": "true"}, True),
    ],
)
def test_writes_are_sorted_by_clustering_columns(tmp_path: Path, options: dict[str, str], sorts: bool) -> None:
    assert range_columns(make_store(tmp_path, {"a": INT, "b": INT}, **options)) == (("b",) if sorts else ())
