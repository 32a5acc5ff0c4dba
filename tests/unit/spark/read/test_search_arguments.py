"""Searches in the option of a read: numbers out of range are refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_core.errors import InvalidOptionError
from paimon_core.io.local import LocalFileIO
from paimon_core.spec.types import FLOAT, Kind, VectorType
from paimon_core.store.ddl.new_schema import new_table_schema
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.preprocess import SEARCH_OPTION
from paimon_sql.spark.read.search_arguments import query_of
from tests.support.tables import fields

HUGE = 10**400  # no float


def hybrid(tmp_path: Path, **route: Any) -> Any:
    options = {"data-evolution.enabled": "true", "row-tracking.enabled": "true"}
    columns = fields(v=VectorType(Kind.ARRAY, element=FLOAT, length=1))
    store = TableStore.of(LocalFileIO(), str(tmp_path), new_table_schema(columns, options=options))
    asked = {"vectors": [{"field": "v", "query_vector": [1.0], **route}], "texts": [], "k": 3, "ranker": "rrf"}
    session: Any = SimpleNamespace(known_as=str.lower)
    return query_of(Table(store), {SEARCH_OPTION: json.dumps(asked)}, session)


def test_weights_and_limits(tmp_path: Path) -> None:
    ((query, weight),) = hybrid(tmp_path, weight=2, limit=5.0).routes
    assert (query.limit, weight) == (5, 2.0)


@pytest.mark.parametrize(
    ("route", "why"),
    [
        ({"weight": HUGE}, "weight inf of a search is invalid"),
        ({"weight": -HUGE}, "weight -inf of a search is invalid"),
        ({"limit": HUGE}, "limit inf of a search in hybrid_search is not a whole number"),
    ],
    ids=["weight", "negative", "limit"],
)
def test_numbers_that_are_no_floats(tmp_path: Path, route: dict[str, int], why: str) -> None:
    with pytest.raises(InvalidOptionError, match=why):
        hybrid(tmp_path, **route)
