"""Search for texts in Python: by an index and without one, over versions, deletions and conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_core.errors import ColumnNotFoundError, InvalidOptionError, UnsupportedFeatureError
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string()), ("body", pa.string())])
LAKE = {"match": {"query": "lake"}}
SCORE = "__paimon_search_score"


@pytest.fixture(params=["index", "part", "none"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> PaimonTable:
    """Texts, all of them in an index, a part, or none."""
    catalog = open_catalog(str(tmp_path))
    table = catalog.create_table("default.t", SCHEMA, partitioned_by="p", options=EVOLVED)
    texts = ["lake lake lake", "a lake of rows", "the sea", None, "lakes and ponds"]
    rows = [{"k": k, "p": "ab"[k % 2], "body": text} for k, text in enumerate(texts)]
    later = [{"k": 10, "p": "a", "body": "another lake"}]
    table.append(rows)
    if request.param == "index":
        table.append(later)
    if request.param != "none":
        catalog.call("create_global_index", table="default.t", index_column="body", index_type="full-text")
    if request.param != "index":
        table.append(later)
    return table


def found(rows: pa.Table) -> list[Any]:
    return [row["k"] for row in rows.to_pylist()]


def test_the_best_rows_come_first(table: PaimonTable) -> None:
    rows = table.search_text("body", LAKE, k=3)
    assert rows.schema.names == ["k", "p", "body", SCORE]
    assert found(rows)[0] == 0 and len(set(found(rows))) == 3
    scores = rows.column(SCORE).to_pylist()
    assert scores == sorted(scores, reverse=True) and scores[-1] > 0
    assert set(found(table.search_text("body", LAKE))) == {0, 1, 4, 10}
    assert table.search_text("body", '{"match_phrase": {"query": "lakes and ponds"}}', columns=["k"]).to_pylist() == [
        {"k": 4, SCORE: pytest.approx(table.search_text("body", LAKE, where="k = 4").column(SCORE)[0].as_py(), rel=9)}
    ]


def test_conditions_come_before_the_search(table: PaimonTable) -> None:
    assert found(table.search_text("body", LAKE, k=1, where="k > 1", columns=["k"])) in ([4], [10])
    assert set(found(table.search_text("body", LAKE, where="p = 'a' AND k <> 0"))) == {4, 10}
    assert found(table.search_text("body", LAKE, where="k > 100")) == []
    rows = table.search_text("body", LAKE, columns=["_ROW_ID", "k"], where="k = 1")
    assert rows.schema.names == ["_ROW_ID", "k", SCORE] and found(rows) == [1]


def test_deleted_rows_are_not_found(table: PaimonTable) -> None:
    before = table.scan(["k"])
    table.delete("k IN (0, 10)")
    assert set(found(table.search_text("body", LAKE))) == {1, 4}
    assert set(found(before.matching("body", LAKE))) == {0, 1, 4, 10}


def test_what_cannot_be_searched(table: PaimonTable, tmp_path: Path) -> None:
    with pytest.raises(ColumnNotFoundError, match="no column 'nope' to search in"):
        table.search_text("nope", LAKE)
    with pytest.raises(InvalidOptionError, match="'k' of type BIGINT has no texts"):
        table.search_text("k", LAKE)
    with pytest.raises(InvalidOptionError, match="limit 3 cannot be searched"):
        table.scan(limit=3).matching("body", LAKE)
    for query in ("lake", {"match": {"query": {1, 2}}}, {"nope": {}}):
        with pytest.raises(InvalidOptionError, match=r"search for texts|query"):
            table.search_text("body", query)
    with pytest.raises(UnsupportedFeatureError, match="cannot be searched for texts in this scan"):
        table.changes(0).matching("body", LAKE)
    plain = open_catalog(str(tmp_path)).create_table("default.plain", SCHEMA)
    with pytest.raises(UnsupportedFeatureError, match="must have 'data-evolution.enabled'"):
        plain.search_text("body", LAKE)
