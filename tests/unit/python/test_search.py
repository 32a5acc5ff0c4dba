"""Search for the nearest vectors in Python: over versions, deletions, merges and conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_core.arrow.nearest import metric_of
from paimon_core.errors import ColumnNotFoundError, DataFileMissingError, InvalidOptionError
from paimon_sql import open_catalog
from paimon_sql.python.table import PaimonTable

SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.list_(pa.float32()))])
DELETES = {"deletion-vectors.enabled": "true"}
VECTORS = {"vector-field": "v", "field.v.vector-dim": "2"}
KINDS: dict[str, dict[str, Any]] = {
    "append": {"options": {**VECTORS, **DELETES}},
    "keyed": {"primary_key": "k", "options": {**VECTORS, "bucket": "2"}},
    "partitioned": {"partitioned_by": "p", "options": VECTORS},
    "evolved": {"options": {**VECTORS, "row-tracking.enabled": "true", "data-evolution.enabled": "true", **DELETES}},
    "arrays": {},
}
SCORE = "__paimon_search_score"


@pytest.fixture(params=KINDS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> PaimonTable:
    """Vectors (k, 0) for k from 0 to 9, and a NULL."""
    table = open_catalog(str(tmp_path)).create_table("default.t", SCHEMA, **KINDS[request.param])
    write = table.upsert if table.primary_key else table.append
    for numbers in (range(5), range(5, 10)):
        write([{"k": k, "p": "ab"[k % 2], "v": [k, 0]} for k in numbers])
    write([{"k": 99, "p": "a", "v": None}])
    return table


def found(rows: pa.Table) -> list[Any]:
    return [row["k"] for row in rows.to_pylist()]


def test_the_nearest_rows_come_first(table: PaimonTable) -> None:
    rows = table.search("v", [6.75, 0], k=3)
    assert rows.schema.names == ["k", "p", "v", SCORE]
    assert found(rows) == [7, 6, 8]
    assert rows.column(SCORE).to_pylist() == pytest.approx([1 / (1 + d * d) for d in (0.25, 0.75, 1.25)])
    assert found(table.search("v", np.array([6.75, 0]), k=100)) == [7, 6, 8, 5, 9, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_find_the_first_of_equal_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Each thread searches the files that it reads. A file that is missing ends the search."""
    small = {"source.split.target-size": "1b", "source.split.open-file-cost": "1b"}
    table = open_catalog(str(tmp_path)).create_table("default.t", SCHEMA, options=VECTORS | small)
    for k in range(8):
        table.append([{"k": 10 * k + i, "v": [i, 0]} for i in range(3)])
    assert len(table.scan().plan()) == 8
    monkeypatch.setattr("pyarrow.cpu_count", lambda: threads)
    assert found(table.search("v", [0, 0], k=5)) == [0, 10, 20, 30, 40]
    assert found(table.search("v", [1, 0], k=10)) == [1, 11, 21, 31, 41, 51, 61, 71, 0, 2]
    list(Path(table.location).rglob("*.parquet"))[4].unlink()
    with pytest.raises(DataFileMissingError):
        table.search("v", [0, 0], k=5)


def test_conditions_come_before_the_search(table: PaimonTable) -> None:
    assert found(table.search("v", [6.75, 0], k=2, where="p = 'b' AND k <> 7", columns=["k"])) == [5, 9]
    assert found(table.search("v", [0, 0], k=2, where="k > 100")) == []


def test_columns_are_those_asked_for(table: PaimonTable) -> None:
    assert table.search("v", [0, 0], k=1, columns=["p", "k"]).to_pylist() == [{"p": "a", "k": 0, SCORE: 1.0}]


def test_metrics(table: PaimonTable) -> None:
    assert found(table.search("v", [1, 0], k=2, metric="inner_product")) == [9, 8]
    assert table.search("v", [1, 1], k=9, metric="cosine").column(SCORE).to_pylist() == pytest.approx([0.5**0.5] * 9)


def test_deleted_and_changed_rows_are_not_found(table: PaimonTable) -> None:
    before = table.scan(version=2)
    table.delete("k IN (7, 8)")
    assert found(table.search("v", [6.75, 0], k=3)) == [6, 5, 9]
    if table.primary_key:
        table.upsert([{"k": 6, "p": "a", "v": [100, 0]}])
        assert found(table.search("v", [6.75, 0], k=3)) == [5, 9, 4]
    assert found(before.nearest("v", [6.75, 0], 3)) == [7, 6, 8]


def test_what_cannot_be_searched(table: PaimonTable) -> None:
    with pytest.raises(ColumnNotFoundError, match="no column 'nope' to search in"):
        table.search("nope", [1, 2])
    with pytest.raises(InvalidOptionError, match="'k' of type BIGINT has no vectors"):
        table.search("k", [1, 2])
    with pytest.raises(InvalidOptionError, match="limit 3 cannot be searched"):
        table.scan(limit=3).nearest("v", [1, 2])


@pytest.mark.parametrize(
    ("options", "metric"),
    [
        ([{}], "l2"),
        ([{"fields.v.distance.metric": "cosine", "metric": "l2"}], "cosine"),
        ([{"fields.v.metric": "cosine", "distance.metric": "l2"}], "cosine"),
        ([{"metric": "inner_product"}, {"fields.v.metric": "cosine"}], "inner_product"),
        ([{}, {"fields.v.pk-vector.distance.metric": "Inner-Product"}], "inner_product"),
        ([{"ivf.distance.metric": "cosine", "x.metric": "l2"}], "l2"),
        ([{"ivf.distance.metric": "manhattan"}], "l2"),
    ],
    ids=str,
)
def test_options_name_the_metric(options: list[dict[str, str]], metric: str) -> None:
    assert metric_of("v", *options) == metric
