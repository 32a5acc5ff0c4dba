"""Writes by several processes: parts travel, and one commit makes their rows visible."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_core.commit import commit
from paimon_core.errors import (
    AlreadyCommittedError,
    CommitConflictError,
    CommitUnknownError,
    InvalidDataError,
    PaimonError,
    StorageError,
    UnsupportedFeatureError,
)
from paimon_core.spec.message import CommitMessage
from paimon_core.store.table_store import TableStore
from paimon_sql import open_catalog
from paimon_sql.python.catalog import PaimonCatalog
from paimon_sql.python.planned_write import PlannedWrite, WrittenPart
from paimon_sql.python.table import PaimonTable
from tests.support.examples import examples

SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.int32())])
KINDS: dict[str, dict[str, Any]] = {
    "append": {},
    "buckets": {"options": {"bucket": "2", "bucket-key": "k"}},
    "tracked": {"partitioned_by": "p", "options": {"row-tracking.enabled": "true"}},
    "keyed": {"primary_key": ["k", "p"], "partitioned_by": "p", "options": {"bucket": "2"}},
    "postponed": {"primary_key": "k", "options": {"bucket": "-2"}},
    "lookup": {"primary_key": "k", "options": {"bucket": "1", "changelog-producer": "lookup"}},
}


def rows(table: PaimonTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist())


def as_dicts(values: list[tuple[int, str, int]]) -> list[dict[str, Any]]:
    return [dict(zip("kpv", row, strict=True)) for row in values]


def files_of(table: PaimonTable) -> set[str]:
    return {path.name for path in Path(table.location).rglob("data-*")}


def write_elsewhere(write: bytes, start: int) -> str:
    """Write a part in another process, and return it as JSON."""
    planned: PlannedWrite = pickle.loads(write)  # noqa: S301
    return planned.write(as_dicts([(k, "a", k) for k in range(start, start + 10)])).json


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_parts_of_several_processes_are_one_commit(method: str, lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA, primary_key="k", options={"bucket": "2"})
    write = table.plan_write()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        texts = list(pool.map(write_elsewhere, [pickle.dumps(write)] * 3, (0, 10, 20)))
    assert rows(table) == []
    write.commit(map(write.part, texts))
    assert rows(table) == [(k, "a", k) for k in range(30)]
    assert table.inspect("snapshots")["commit_kind"].to_pylist() == ["APPEND"]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    commits=st.lists(
        st.tuples(st.booleans(), st.dictionaries(st.integers(0, 30), st.integers(0, 9), max_size=12)), max_size=3
    )
)
def test_a_model(kind: str, commits: list[tuple[bool, dict[int, int]]], tmp_path_factory: Any) -> None:
    table = open_catalog(str(tmp_path_factory.mktemp("lake"))).create_table("default.t", SCHEMA, **KINDS[kind])
    model: list[tuple[int, str, int]] = []
    for overwrites, values in commits:
        written = [(k, "ab"[k % 2], v) for k, v in values.items()]
        write = table.plan_write(overwrite=overwrites)
        # a key is in one part
        parts = [write.write(as_dicts(written[i::3])) for i in range(3)]
        assert sum(part.row_count for part in parts) == len(written)
        write.commit(parts)
        base = [] if overwrites else model
        model = list({row[0]: row for row in [*base, *written]}.values()) if table.primary_key else [*base, *written]
    assert rows(table) == sorted(model)


def test_overwrites_of_a_partition(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA, partitioned_by="p")
    table.append(as_dicts([(1, "a", 1), (2, "b", 2), (3, "c", 3)]))
    write = table.plan_write(overwrite=True, partition={"p": "a"})
    write.commit([write.write([{"k": 10, "v": 1}]), write.write([{"k": 11, "v": 1}])])
    assert rows(table) == [(2, "b", 2), (3, "c", 3), (10, "a", 1), (11, "a", 1)]
    write = table.plan_write(overwrite=True, dynamic=True)
    write.commit([write.write(as_dicts([(20, "b", 2)]))])
    assert rows(table) == [(3, "c", 3), (10, "a", 1), (11, "a", 1), (20, "b", 2)]
    write = table.plan_write(overwrite=True, where="p IN ('a', 'c')")
    write.commit([])
    assert rows(table) == [(20, "b", 2)]


@pytest.mark.parametrize("given_options", [{"partition": {"p": "a"}}, {"where": "p = 'a'"}, {"dynamic": True}])
def test_only_overwrites_replace_rows(given_options: dict[str, Any], lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA, partitioned_by="p")
    with pytest.raises(InvalidDataError, match="pass overwrite=True"):
        table.plan_write(**given_options)


def test_dynamic_buckets_need_one_process(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA, primary_key="k")
    with pytest.raises(UnsupportedFeatureError, match="call upsert or overwrite"):
        table.plan_write()
    with pytest.raises(UnsupportedFeatureError, match="dynamic buckets"):
        table.plan_write(overwrite=True)


def test_a_part_is_committed_once(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    write = table.plan_write()
    part = write.write(as_dicts([(1, "a", 1)]))
    with pytest.raises(InvalidDataError, match="given twice"):
        write.commit([part, write.part(part.json)])
    write.commit([part])
    again = pickle.loads(pickle.dumps(write))  # noqa: S301
    again.commit([part])  # as after an answer that was lost
    with pytest.raises(AlreadyCommittedError):
        again.abort([part])
    with pytest.raises(InvalidDataError, match="not of this write"):
        table.plan_write().commit([part])
    table.append(as_dicts([(2, "a", 2)]))
    again.commit([part])
    assert rows(table) == [(1, "a", 1), (2, "a", 2)]


@pytest.mark.parametrize("kind", ["append", "keyed", "postponed"])
def test_two_processes_that_commit_the_same_parts(
    kind: str, lake: PaimonCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process commits between the checks of the first and its publish."""
    table = lake.create_table("shop.t", SCHEMA, **KINDS[kind])
    write = table.plan_write()
    part = write.write(as_dicts([(1, "a", 1)]))
    other, publish, before = pickle.loads(pickle.dumps(write)), commit._publish, [1]  # noqa: S301

    def late(*args: Any) -> Any:
        if before:
            before.clear()
            other.commit([part])
        return publish(*args)

    monkeypatch.setattr(commit, "_publish", late)
    monkeypatch.setattr(TableStore, "writer_slot", lambda _: nullcontext())  # the other is on another machine
    write.commit([part])
    assert not before
    assert rows(table) == [(1, "a", 1)]
    assert table.inspect("snapshots").num_rows == 1


def test_a_write_that_a_rollback_took_back_is_made_again(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    for k in range(3):
        table.append(as_dicts([(k, "a", k)]))
    write = table.plan_write()
    part = write.write(as_dicts([(9, "b", 9)]))
    lake.call("rollback", table="shop.t", version="1")
    table.append(as_dicts([(5, "a", 5)]))
    write.commit([part])  # snapshot 3, a number from before the write began
    write.commit([part])
    for k in range(10, 13):
        table.append(as_dicts([(k, "a", k)]))
    write.commit([part])
    assert [row[0] for row in rows(table)] == [0, 5, 9, 10, 11, 12]


def test_a_commit_after_snapshots_have_expired(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    write = table.plan_write()
    part = write.write(as_dicts([(1, "a", 1)]))
    write.commit([part])
    for k in range(2, 6):
        table.append(as_dicts([(k, "a", k)]))
    lake.call("expire_snapshots", table="shop.t", retain_max=1, retain_min=1)
    with pytest.raises(CommitConflictError, match="unknown whether it was committed before"):
        write.commit([part])
    assert len(rows(table)) == 5


def test_a_commit_that_is_made_once(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    once = {"commit.identifier": "7", "write.stream.commit-user": "nightly"}
    for _ in range(2):
        write = table.plan_write(options=once)
        write.commit([write.write(as_dicts([(1, "a", 1)]))])
    assert rows(table) == [(1, "a", 1)]
    write = table.plan_write(options=once | {"commit.identifier": "8"})
    part = write.write(as_dicts([(2, "a", 2)]))
    write.commit([part])
    write.commit([part])  # as after an answer that was lost
    assert rows(table) == [(1, "a", 1), (2, "a", 2)]


def test_parts_of_another_table_and_texts_that_are_not_parts(lake: PaimonCatalog) -> None:
    first, second = (lake.create_table(f"shop.t{i}", SCHEMA) for i in range(2))
    part = first.plan_write().write(as_dicts([(1, "a", 1)]))
    write = second.plan_write()
    for use in (write.commit, write.abort):
        with pytest.raises(InvalidDataError, match="not of this write to shop.t1"):
            use([part])
    for text in (
        "",
        "{}",
        "[]",
        "null",
        '{"location": 1}',
        json.dumps({"location": "x", "result": "[1]"}),
        "[" * 10**5,
    ):
        with pytest.raises(InvalidDataError, match="not a part of a write"):
            write.part(text)
    assert write.part(part.json) == part


def test_parts_that_nobody_commits(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA)
    table.append(as_dicts([(1, "a", 1)]))
    before = files_of(table)
    write = table.plan_write()
    part = write.write(as_dicts([(2, "b", 2)]))
    assert files_of(table) > before
    write.abort([part])
    assert files_of(table) == before and rows(table) == [(1, "a", 1)]
    with pytest.raises(InvalidDataError):
        write.write([{"k": "x"}])
    assert files_of(table) == before


@pytest.mark.parametrize("kind", ["append", "keyed", "postponed"])
def test_a_part_is_not_committed_after_an_abort(kind: str, lake: PaimonCatalog) -> None:
    """Else no query could read the table, because the files are gone."""
    table = lake.create_table("shop.t", SCHEMA, **KINDS[kind])
    (table.upsert if table.primary_key else table.append)(as_dicts([(1, "a", 1)]))
    write = table.plan_write()
    kept, aborted = (write.write(as_dicts([(k, "b", 2)])) for k in (2, 3))
    write.abort([aborted])
    with pytest.raises(CommitConflictError, match="An abort or a clean-up deleted them. Nothing was committed"):
        write.commit([kept, aborted])
    assert rows(table) == [(1, "a", 1)]
    write.commit([kept])
    assert rows(table) == [(1, "a", 1), (2, "b", 2)]


FORGERIES: dict[str, Callable[[CommitMessage, CommitMessage, str], CommitMessage]] = {
    "a file outside": lambda m, _, other: replace(m, new_files=(replace(m.new_files[0], external_path=other),)),
    "a live file": lambda m, live, _: replace(m, new_files=live.new_files),
    "a deleted file": lambda m, live, _: replace(m, deleted_files=live.new_files),
    "a compacted file": lambda m, live, _: replace(m, compact_before=live.new_files),
    "a compaction": lambda m, live, _: replace(m, compact_after=live.new_files),
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("form", ["value", "text"])
def test_a_forged_part_deletes_nothing(forgery: str, form: str, lake: PaimonCatalog, tmp_path: Path) -> None:
    table, other = lake.create_table("shop.t", SCHEMA), tmp_path / "other.parquet"
    other.write_text("of another table")
    first = table.plan_write()
    live = first.write(as_dicts([(1, "a", 1)]))
    first.commit([live])
    before, write = files_of(table), table.plan_write()
    part = write.write(as_dicts([(2, "b", 2)]))
    forged = replace(part, messages=(FORGERIES[forgery](part.messages[0], live.messages[0], str(other)),))
    for use in (write.abort, write.commit):
        with pytest.raises(InvalidDataError, match="not of this write"):
            use([forged if form == "value" else write.part(forged.json)])
    assert other.exists() and files_of(table) > before and rows(table) == [(1, "a", 1)]


def test_a_part_of_an_earlier_batch_of_the_stream_is_refused(lake: PaimonCatalog) -> None:
    """All batches of a stream have one commit user."""
    table = lake.create_table("shop.t", SCHEMA)
    first, second = (
        table.plan_write(options={"commit.identifier": n, "write.stream.commit-user": "nightly"}) for n in "12"
    )
    part = first.write(as_dicts([(1, "a", 1)]))
    first.commit([part])
    for use in (second.commit, second.abort):
        with pytest.raises(InvalidDataError, match="not of this write"):
            use([part])
    assert rows(table) == [(1, "a", 1)]


def test_a_part_has_no_secrets(tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path / "lake"), **{"s3.secret-key": "hidden"})
    write = catalog.create_table("default.t", SCHEMA).plan_write()
    part = write.write(as_dicts([(1, "a", 1)]))
    assert "hidden" not in part.json + repr(part) + repr(write)
    assert isinstance(pickle.loads(pickle.dumps(part)), WrittenPart)  # noqa: S301


def test_a_replaced_bucket_number_is_found_by_the_commit(lake: PaimonCatalog) -> None:
    table = lake.create_table("shop.t", SCHEMA, primary_key="k", options={"bucket": "2"})
    table.upsert(as_dicts([(1, "a", 1)]))
    write = table.plan_write()
    part = write.write(as_dicts([(k, "b", k) for k in range(20)]))
    lake.call("rescale", table="shop.t", bucket_num=3)
    with pytest.raises(PaimonError) as raised:
        write.commit([part])
    assert not isinstance(raised.value, (CommitUnknownError, StorageError))
    assert isinstance(raised.value, CommitConflictError) or "bucket" in str(raised.value)
    assert rows(lake.table("shop.t")) == [(1, "a", 1)]
