"""Every merge engine and changelog producer through upserts in Python, by the models of the engines."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_sql import open_catalog
from tests.support.examples import examples
from tests.support.merge_models import INSERT, Row
from tests.unit.write.test_merge_engines import ENGINES

SCHEMA = pa.schema([("k", pa.int32()), ("g", pa.int32()), ("a", pa.int32()), ("b", pa.int32()), ("t", pa.string())])
PRODUCERS = ("none", "input", "lookup", "full-compaction")
_SMALL = st.none() | st.integers(0, 9)
_ROW = st.fixed_dictionaries(
    {"k": st.integers(0, 4), "g": _SMALL, "a": _SMALL, "b": _SMALL, "t": st.none() | st.sampled_from(["", "x", "y"])}
)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=st.lists(st.lists(_ROW, min_size=1, max_size=5), min_size=1, max_size=4), data=st.data())
def test_upserts_are_merged_as_the_model_merges(
    engine: str, commits: list[list[dict[str, Any]]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options, merged = ENGINES[engine]
    producer = data.draw(st.sampled_from(PRODUCERS if engine != "first-row" else ("none", "lookup")))
    bucket = data.draw(st.sampled_from(["1", "2", "-1"]))
    lake = open_catalog(str(tmp_path_factory.mktemp("lake")))
    about = {**options, "bucket": bucket, "changelog-producer": producer}
    table = lake.create_table("default.t", SCHEMA, primary_key="k", options=about)
    rows: dict[int, list[Row]] = defaultdict(list)
    for commit in commits:
        table.upsert(commit)
        for row in commit:
            rows[row["k"]].append((INSERT, {n: v for n, v in row.items() if n != "k"}))
    expected = [{"k": k, **found[1]} for k, found in ((k, merged(rows[k])) for k in sorted(rows)) if found is not None]
    assert table.scan().to_arrow().sort_by("k").to_pylist() == expected
    lake.call("compact", table="default.t", compact_strategy="full")
    assert table.scan().to_arrow().sort_by("k").to_pylist() == expected
    if producer in ("lookup", "full-compaction") and engine != "first-row":
        last = table.changes(0, table.inspect("snapshots")["snapshot_id"].to_pylist()[-1]).to_arrow().to_pylist()
        state: dict[int, dict[str, Any]] = {}
        for change in last:
            kind = change.pop("rowkind")
            if kind in ("+I", "+U"):
                state[change["k"]] = change
        assert [state[k] for k in sorted(state)] == expected
