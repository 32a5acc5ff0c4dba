from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_sql
from paimon_core.scan.limits import key_order
from paimon_core.scan.read import read_split
from paimon_core.scan.splits import spread, whole_buckets
from paimon_core.spec.split import SplitKind
from paimon_core.table import Table
from tests.support import stored
from tests.support.tables import data_file, info, message, new_store

WORDS = ("", "A", "a", "ä", "zz", "\U0001f600")
OPTIONS = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "many files": {"target-file-size": "1 kb", "num-levels": "3"},
    "many splits": {"source.split.target-size": "2 kb", "source.split.open-file-cost": "1 b"},
}


def keyed(root: Path, options: dict[str, str], *, compacted: bool) -> Table:
    """Return a table of two buckets with keys of two columns, which was written in several commits."""
    dice, catalog = random.Random(5), paimon_sql.open_catalog(str(root))
    columns = [("a", pa.string()), ("b", pa.int64()), ("v", pa.int64())]
    own = {"bucket": "2", "bucket-key": "a", **options}
    table = catalog.create_table("default.t", pa.schema(columns), primary_key=["a", "b"], options=own)
    for _ in range(4):
        keys = [(dice.choice(WORDS), dice.randrange(-50, 50)) for _ in range(150)]
        table.upsert([{"a": a, "b": b, "v": 1} for a, b in keys])
        if compacted:
            stored.compact(catalog.table("default.t").inner)
    return catalog.table("default.t").inner


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_rows_of_a_split_are_in_the_order_that_is_reported(
    tmp_path: Path, options: dict[str, str], compacted: bool
) -> None:
    table = keyed(tmp_path, options, compacted=compacted)
    splits = list(spread(table.plan(table.latest_snapshot()).splits, 4))
    whole = whole_buckets(table.plan(table.latest_snapshot()).splits, 4)
    for split in (*splits, *whole):
        if split in whole and any(s.needs_merge for s in splits):
            continue
        names = key_order(table.store, [split], ("a", "b", "v"))
        rows = [row for batch in read_split(table.store, split, ["a", "b"]) for row in batch.to_pylist()]
        keys = [(row["a"].encode(), row["b"]) for row in rows]
        assert names == () or (names == ("a", "b") and keys == sorted(keys))
    if "deletion-vectors.enabled" not in options:
        assert key_order(table.store, splits, ("a", "b", "v")) == ("a", "b")


def test_what_has_no_order(tmp_path: Path) -> None:
    table = keyed(tmp_path, {}, compacted=False)
    store, splits = table.store, table.plan(table.latest_snapshot()).splits
    assert key_order(store, splits, ("a", "v")) == ("a",)
    assert key_order(store, splits, ("b", "v")) == ()
    assert key_order(store, [replace(splits[0], kind=SplitKind.POSTPONED)], ("a", "b")) == ()
    assert key_order(store, [replace(splits[0], branch="lent")], ("a", "b")) == ()
    old = tuple(replace(f, schema_id=f.schema_id + 1) for f in splits[0].files)
    assert key_order(store, [replace(splits[0], files=old)], ("a", "b")) == ()
    two = replace(splits[0], needs_merge=False)
    assert len(two.files) > 1 and key_order(store, [two], ("a", "b")) == ()  # files that share keys, one after another


def test_floats_and_nanoseconds_end_the_order(tmp_path: Path) -> None:
    catalog = paimon_sql.open_catalog(str(tmp_path))
    for name, kind in (("f", pa.float64()), ("n", pa.timestamp("ns"))):
        columns = pa.schema([("a", pa.int64()), ("x", kind), ("c", pa.int64())])
        table = catalog.create_table(f"default.{name}", columns, primary_key=["a", "x", "c"], options={"bucket": "1"})
        store = table.inner.store
        assert key_order(store, [], ("a", "x", "c")) == ("a",)


def test_a_large_bucket_is_left_to_several_tasks(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    files = [data_file(store, i, i, level=5, file_size=size * 2**20) for i, size in enumerate((40, 40, 10, 10))]
    Table(store).commit([message(store, *files[:2]), message(store, *files[2:], bucket=1)], info())
    splits = Table(store).plan(Table(store).latest_snapshot()).splits
    assert [len(s.files) for s in whole_buckets(splits, 1)] == [2, 2]
    assert whole_buckets(splits, 4) == list(splits)
