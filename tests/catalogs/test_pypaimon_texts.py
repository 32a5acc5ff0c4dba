"""Full-text indexes of pypaimon and ours, both ways: `make campaign NAME=pypaimon`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql import open_catalog

PYPAIMON = os.environ.get("PAIMON_SQL_PYPAIMON")
pytestmark = pytest.mark.skipif(PYPAIMON is None, reason="no PAIMON_SQL_PYPAIMON: make campaign NAME=pypaimon")

# makes a table with an index if it gets rows, and prints what it finds by each query, as JSON
_CLIENT = """
import json, sys
import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.globalindex.create_global_index import create_global_index

given = json.loads(sys.argv[1])
catalog, name = CatalogFactory.create({"warehouse": given["warehouse"]}), given["table"]
if given["rows"]:
    schema = pa.schema([("k", pa.int32()), ("body", pa.string())])
    catalog.create_database("default", True)
    catalog.create_table(name, Schema.from_pyarrow_schema(schema, options=given["options"]), False)
    builder = catalog.get_table(name).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_pylist(given["rows"], schema=schema))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
    create_global_index(catalog.get_table(name), "body", index_type="full-text")
answers = []
for query in given["queries"]:
    search = catalog.get_table(name).new_full_text_search_builder()
    result = search.with_limit(5).with_query("body", query).execute_local()
    score = result.score_getter()
    answers.append(sorted(([i, score(i)] for i in result.results()), key=lambda p: (-p[1], p[0])))
print(json.dumps(answers))
"""
TEXTS = ["a lake format", None, "Lakes, seas and lakes", "the sea", "format of formats", "boats on a lake at night"]
ROWS = [{"k": k, "body": text} for k, text in enumerate(TEXTS)]
QUERIES = [
    json.dumps(query)
    for query in (
        {"match": {"query": "lake"}},
        {"match": {"query": "lake format", "operator": "And"}},
        {"match": {"query": "formet", "fuzziness": 1}},
        {"match_phrase": {"query": "lake format"}},
        {"boolean": {"must": [{"match": {"query": "lake"}}], "must_not": [{"match": {"query": "boats"}}]}},
        {"match": {"query": "nothing"}},
    )
]
OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


def by_them(root: Path, table: str, rows: list[Any]) -> list[Any]:
    assert PYPAIMON is not None
    task = {"warehouse": str(root), "table": table, "options": OPTIONS, "rows": rows, "queries": QUERIES}
    done = subprocess.run([PYPAIMON, "-c", _CLIENT, json.dumps(task)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answer: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def by_us(root: Path, table: str) -> list[Any]:
    ours = open_catalog(str(root)).table(table)
    found = [ours.search_text("body", q, 5, columns=["_ROW_ID"]).to_pylist() for q in QUERIES]
    return [[[r["_ROW_ID"], pytest.approx(r["__paimon_search_score"], rel=1e-5)] for r in rows] for rows in found]


def test_rows_and_scores_are_the_same(tmp_path: Path) -> None:
    theirs = by_them(tmp_path, "default.p", ROWS)
    assert theirs == by_us(tmp_path, "default.p")
    assert [len(rows) for rows in theirs] == [3, 1, 2, 1, 2, 0]
    catalog = open_catalog(str(tmp_path))
    columns = pa.schema([("k", pa.int32()), ("body", pa.string())])
    catalog.create_table("default.o", columns, options=OPTIONS).append(ROWS)
    catalog.call("create_global_index", table="default.o", index_column="body", index_type="full-text")
    assert by_them(tmp_path, "default.o", []) == by_us(tmp_path, "default.o")
    assert by_us(tmp_path, "default.o") == theirs
