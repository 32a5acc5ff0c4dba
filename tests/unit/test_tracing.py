"""Spans of OpenTelemetry, as the SDK's in-memory exporter gets them, and the fields of log records."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from time import sleep
from typing import Any

import pyarrow as pa
import pytest
from opentelemetry.trace import StatusCode

import paimon_sql
from paimon_core import tracing
from paimon_core.commit.commit import commit
from paimon_core.commit.publish import AtomicPublisher
from paimon_core.errors import CommitConflictError, InvalidOptionError
from paimon_core.io.fsspec import FsspecFileIO
from paimon_core.metrics import Metrics
from paimon_core.tracing import RunningSpan, RunningSpans, begin_span, below, current_parent, span
from tests.support.tables import data_file, info, message, new_store
from tests.support.traces import MODULE, Traces, attributes


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Traces:
    found = Traces()
    monkeypatch.setitem(sys.modules, MODULE, found)
    return found


def test_a_commit_names_table_snapshot_and_tries(traces: Traces, tmp_path: Path) -> None:
    store = new_store(tmp_path)
    commit(store, [message(store, data_file(store, 0, 1))], info(), AtomicPublisher(store.io))
    (found,) = traces.named("commit")
    assert attributes(found) == {"table": "db.t", "kind": "APPEND", "operation": "WRITE", "snapshot": 1, "tries": 1}


def test_a_failure_has_its_class_and_not_its_text(traces: Traces) -> None:
    with pytest.raises(InvalidOptionError), span("statement", kind="UPDATE", table=None):
        raise InvalidOptionError("value 'hunter2' of a row")
    (found,) = traces.ended
    assert (found.status.status_code, found.status.description) == (StatusCode.ERROR, "InvalidOptionError")
    assert attributes(found) == {"kind": "UPDATE", "error.type": "InvalidOptionError"}
    assert not found.events


def test_threads_that_begin_one_query_begin_one_span(traces: Traces) -> None:
    running, here = RunningSpans(2), Barrier(8)

    def begin() -> RunningSpan | None:
        sleep(0.01)  # the others look for a span meanwhile
        return begin_span("query", None)

    def plan(_: int) -> None:
        here.wait()
        running.begin("7", begin)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(plan, range(8)))
    assert len(running) == 1
    running.end("7", "failed")
    running.end("7")
    (found,) = traces.ended
    assert attributes(found) == {"error.type": "failed"}


def test_the_oldest_of_too_many_spans_is_lost(traces: Traces) -> None:
    running = RunningSpans(2)
    for key in ("1", "2", "3"):
        running.begin(key, lambda: begin_span("query", None))
    assert [running.get(key) is None for key in ("1", "2", "3")] == [True, False, False]
    (found,) = traces.ended
    assert attributes(found) == {"error.type": "lost"}
    without_spans = RunningSpans(2)
    without_spans.begin("1", lambda: None)
    assert len(without_spans) == 0


def test_rows_of_which_a_reader_takes_some_are_no_failure(traces: Traces) -> None:
    def rows() -> Iterator[int]:
        with span("task", kind="read"):
            yield from range(3)

    some = rows()
    assert isinstance(some, Generator) and next(some) == 0
    some.close()
    (found,) = traces.named("task")
    assert found.status.status_code is StatusCode.UNSET and attributes(found) == {"kind": "read"}


def test_a_parent_of_another_process(traces: Traces) -> None:
    with span("statement"):
        parent = current_parent()
    with below(parent), span("plan"):
        pass
    statement, plan = traces.ended
    assert plan.parent is not None and plan.parent.is_remote and statement.context is not None
    assert (plan.parent.trace_id, plan.parent.span_id) == (statement.context.trace_id, statement.context.span_id)


@pytest.mark.parametrize("text", [None, "", "x", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "00-\x1b[31m"])
def test_other_texts_are_no_parents(text: str | None, traces: Traces) -> None:
    with below(text), span("plan"):
        pass
    assert [s.parent for s in traces.ended] == [None]


def test_requests_of_a_storage(traces: Traces) -> None:
    io = FsspecFileIO("memory", metrics=Metrics())
    io.create_exclusive("memory://secret/snapshot-1", b"1")
    io.rename_dir("memory://secret/snapshot-1", "memory://secret/dt=hunter2")
    with pytest.raises(FileNotFoundError):
        io.read_bytes("memory://secret/snapshot-1")
    io.delete("memory://secret/dt=hunter2")
    recorded = [attributes(s) for s in traces.named("request")]
    assert {"create", "rename", "read", "delete"} <= {a["operation"] for a in recorded}
    assert {a["operation"] for a in recorded if "error.type" in a} == {"read"}
    assert "secret" not in str(recorded) and "hunter2" not in str(recorded)
    assert io.metrics.value("storage_calls_total", scheme="memory") == len(recorded)
    assert io.metrics.value("storage_errors_total") == 0, "a file that is missing is an answer"


def test_statements_without_spark(traces: Traces, tmp_path: Path) -> None:
    catalog = paimon_sql.open_catalog(warehouse=str(tmp_path))
    catalog.create_database("shop")
    table = catalog.create_table(
        "shop.orders",
        pa.schema([("id", pa.int64()), ("name", pa.string())]),
        primary_key=["id"],
        options={"bucket": "1"},
    )
    table.upsert([{"id": 1, "name": "hunter2"}])
    table.upsert([{"id": 2, "name": "Ben"}])
    catalog.call("compact", table="shop.orders")
    assert catalog.sql("SELECT name FROM shop.orders WHERE id = 1")["name"].to_pylist() == ["hunter2"]
    called = {"commit < compaction < statement", "job < compaction < statement"}
    assert {"write", "commit", "plan < statement", *called} <= traces.chains
    kinds = {attributes(s)["kind"] for s in traces.named("statement")}
    assert kinds == {"CALL compact", "SELECT"}
    assert "hunter2" not in str([s.to_json() for s in traces.ended])


def test_nothing_is_imported_for_spans(tmp_path: Path) -> None:
    program = (
        "import sys, paimon_sql, pyarrow as pa\n"
        f"catalog = paimon_sql.open_catalog(warehouse={str(tmp_path)!r})\n"
        "catalog.create_database('d')\n"
        "table = catalog.create_table('d.t', pa.schema([('k', pa.int32())]))\n"
        "table.append([{'k': 1}])\n"
        "assert table.scan().to_arrow().num_rows == 1\n"
        "assert not [m for m in sys.modules if m.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_module_that_is_being_imported_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULE, type(sys)("opentelemetry.trace"))
    with span("plan") as found:
        found.set(files=1)
    assert not tracing.are_recorded() and current_parent() is None


class _Losing:
    """A publisher without luck."""

    def publish(self, path: str, data: bytes) -> Any:
        raise CommitConflictError("x")


@contextmanager
def _logged(name: str) -> Iterator[list[logging.LogRecord]]:
    records, logger = list[logging.LogRecord](), logging.getLogger(name)
    handler, level = logging.Handler(), logger.level
    handler.emit = records.append  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def test_a_commit_is_logged_with_table_and_snapshot(tmp_path: Path) -> None:
    store = replace(new_store(tmp_path), metrics=Metrics())
    with _logged("paimon_core") as records:
        commit(store, [message(store, data_file(store, 0, 1))], info(), AtomicPublisher(store.io))
        with pytest.raises(CommitConflictError):
            commit(store, [message(store, data_file(store, 2, 3))], info(), _Losing())
    fields = [{k: vars(r).get(k) for k in ("table", "snapshot", "kind", "result", "tries")} for r in records]
    assert fields == [
        {"table": "db.t", "snapshot": 1, "kind": "APPEND", "result": "published", "tries": 1},
        {"table": "db.t", "snapshot": None, "kind": "APPEND", "result": "conflict", "tries": 1},
    ]
    assert {r.levelno for r in records} == {logging.INFO}
