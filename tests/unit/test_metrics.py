"""Counters: what counts them, and their text for Prometheus."""

from __future__ import annotations

import http.client
import json
import pickle
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import paimon_sql
from paimon_core import metrics
from paimon_core.commit.commit import commit
from paimon_core.commit.publish import AtomicPublisher, PublishOutcome
from paimon_core.errors import CommitConflictError, CommitUnknownError, StorageError
from paimon_core.io.objects import store as objects
from paimon_core.metrics import COMMITS, PROCESS, STATEMENTS, Counter, Metrics
from paimon_core.store.cache import MetadataCache
from paimon_core.store.table_store import TableStore
from paimon_core.table import Table
from paimon_sql.server.health import start_health
from paimon_sql.server.serve import StatementLog
from paimon_sql.spark.jvm.servers import EndedStatement
from tests.support.tables import data_file, info, message, new_store

COUNTERS = [value for value in vars(metrics).values() if isinstance(value, Counter)]


@pytest.fixture
def counted(tmp_path: Path) -> TableStore:
    """The store of a table with a registry of its own."""
    return replace(new_store(tmp_path, **{"commit.max-retries": "2"}), metrics=Metrics())


class Losing:
    """A publisher that loses the first races."""

    def __init__(self, store: TableStore, lost: int) -> None:
        self.inner, self.lost = AtomicPublisher(store.io), lost

    def publish(self, path: str, data: bytes) -> PublishOutcome:
        self.lost -= 1
        return PublishOutcome.LOST_RACE if self.lost >= 0 else self.inner.publish(path, data)


def test_commits_tries_and_retries(counted: TableStore) -> None:
    commit(counted, [message(counted, data_file(counted, 0, 1))], info(), Losing(counted, 2))
    found = counted.metrics
    assert found.value("commits_total", kind="append", result="published") == found.value("commits_total") == 1
    assert (found.value("commit_tries_total"), found.value("commit_retries_total")) == (3, 2)
    assert found.value("commit_seconds_total") > 0


def test_conflicts_and_failures(counted: TableStore) -> None:
    file = data_file(counted, 0, 1)
    for error, result in (
        (CommitConflictError("x"), "conflict"),
        (CommitUnknownError("x"), "unknown"),
        (StorageError("x"), "failed"),
    ):

        class Failing:
            def publish(self, path: str, data: bytes, error: Exception = error) -> PublishOutcome:
                raise error

        with pytest.raises(type(error)):
            commit(counted, [message(counted, file)], info(), Failing())
        assert counted.metrics.value("commits_total", result=result) == 1
    assert counted.metrics.value("commits_total", result="published") == 0


def test_buckets_that_are_due_and_compacted(tmp_path: Path) -> None:
    store = new_store(tmp_path, **{"primary-key": "k", "bucket": "1", "num-sorted-run.compaction-trigger": "2"})
    table = Table(replace(store, metrics=Metrics()))
    files = [data_file(store, n, n, max_sequence_number=n) for n in range(2)]
    for file in files:
        messages = [message(store, file)]
        table.commit(messages, info())
    assert len(table.due_compactions(messages)) == 1
    after = data_file(store, 0, 1, level=5, file_source=1)
    table.commit([message(store, compact_before=tuple(files), compact_after=(after,))], info())
    found = table.store.metrics
    assert (found.value("buckets_due_total"), found.value("buckets_compacted_total")) == (1, 1)
    assert found.value("commits_total", kind="compact", result="published") == 1


def test_reads_of_cached_files() -> None:
    found = Metrics()
    cache = MetadataCache(metrics=found)
    for path, load, content in (("a", lambda: [1], [1]), ("a", list, [1]), ("b", list, []), ("b", list, [])):
        assert cache.get(path, load) == content
    assert found.value("metadata_cache_reads_total", result="hit") == 2 == found.value("metadata_cache_reads_total") / 2


@pytest.mark.parametrize(("fail", "errors"), [(None, 0), (FileNotFoundError("x"), 0), (PermissionError("x"), 1)])
def test_calls_of_storages(fail: Exception | None, errors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeClient:
        def call(self, act: Callable[[Any], Any]) -> Any:
            if fail is not None:
                raise fail
            return "answer"

    monkeypatch.setattr(objects, "client_of", lambda *_: FakeClient())
    io = objects.ObjectStoreFileIO("s3", {}, Metrics())
    if fail is None:
        assert io._call("read", "s3://bucket/key", lambda *_: None) == "answer"
    else:
        with pytest.raises(OSError):
            io._call("read", "s3://bucket/key", lambda *_: None)
    assert io.metrics.value("storage_calls_total", scheme="s3", operation="read") == 1
    assert io.metrics.value("storage_errors_total") == errors


def test_labels_of_copies_are_no_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def call(self, act: Callable[[Any], Any]) -> Any:
            raise PermissionError("x")

    monkeypatch.setattr(objects, "client_of", lambda *_: Refusing())
    io = objects.ObjectStoreFileIO("s3", {}, Metrics())
    for target in ("s3://bucket/secret.db/one", "s3://bucket/secret.db/two"):
        with pytest.raises(OSError, match="key"):
            io.copy_file("s3://bucket/key", target)
    assert "secret" not in io.metrics.prometheus_text()
    assert io.metrics.value("storage_errors_total", operation="copy") == 2


def test_statements_are_counted_once() -> None:
    found = Metrics()
    log = StatementLog(found)
    ended = [EndedStatement("thrift", "1", "ann", "SELECT 1", 5, s) for s in ("FINISHED",)]
    failed = EndedStatement("connect", "2", "ann", "SELECT x", 5, "FAILED")
    for some in (ended, [*ended, failed], [failed]):
        log.new_lines(some, lambda _: None)
    assert found.value("statements_total", server="thrift", state="finished") == 1
    assert found.value("statements_total", state="failed") == 1 and found.value("statements_total") == 2


def test_statements_have_a_kind_of_few() -> None:
    found = Metrics()
    texts = ["/* a */ SELECT 1", "insert INTO t VALUES (1)", "MERGE INTO t", "hunter2 x", "(SELECT 1)", "", "-- only"]
    ended = [EndedStatement("thrift", str(n), "ann", text, 5, "FAILED") for n, text in enumerate(texts)]
    StatementLog(found).new_lines(ended, lambda _: None)
    kinds = {kind: found.value("statements_total", kind=kind, state="failed") for kind in ("select", "insert", "merge")}
    assert kinds == {"select": 2, "insert": 1, "merge": 1} and found.value("statements_total", kind="other") == 3
    assert "hunter2" not in found.prometheus_text()


def test_the_text_for_prometheus() -> None:
    found = Metrics()
    found.add(COMMITS, kind="append", result="published")
    found.add(COMMITS, 2, kind="append", result="conflict")
    found.add(metrics.COMMIT_SECONDS, 0.5)
    found.add(STATEMENTS, server='a"\\\nb', state="x")
    assert found.prometheus_text().splitlines() == [
        f"# HELP paimon_sql_commit_seconds_total {metrics.COMMIT_SECONDS.doc}",
        "# TYPE paimon_sql_commit_seconds_total counter",
        "paimon_sql_commit_seconds_total 0.5",
        f"# HELP paimon_sql_commits_total {COMMITS.doc}",
        "# TYPE paimon_sql_commits_total counter",
        'paimon_sql_commits_total{kind="append",result="conflict"} 2',
        'paimon_sql_commits_total{kind="append",result="published"} 1',
        f"# HELP paimon_sql_statements_total {STATEMENTS.doc}",
        "# TYPE paimon_sql_statements_total counter",
        'paimon_sql_statements_total{server="a\\"\\\\\\nb",state="x"} 1',
    ]
    assert found.as_dict()['paimon_sql_commits_total{kind="append",result="conflict"}'] == 2
    assert Metrics().prometheus_text() == ""
    assert len({c.name for c in COUNTERS}) == len(COUNTERS) and all(c.name.endswith("_total") for c in COUNTERS)


def test_threads_lose_no_count_and_pickles_join_the_process() -> None:
    found = Metrics()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: found.add(COMMITS, result="x"), range(4000)))
    assert found.value("commits_total") == 4000
    assert pickle.loads(pickle.dumps(found)) is PROCESS is paimon_sql.metrics()  # noqa: S301  ours


def test_the_health_port_has_the_text() -> None:
    found = Metrics()
    found.add(COMMITS, kind="append", result="published")
    server = start_health("127.0.0.1", 0, lambda: {"status": "stopping"}, found)
    try:
        client = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        client.request("GET", "/metrics")
        answer = client.getresponse()
        assert (answer.status, answer.read().decode()) == (200, found.prometheus_text())
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        client.request("GET", "/health")
        answer = client.getresponse()
        assert (answer.status, json.load(answer)) == (503, {"status": "stopping"})
    finally:
        server.shutdown()
        server.server_close()


def test_a_parent_counts_what_its_children_count() -> None:
    whole = Metrics()
    first, second = Metrics(parent=whole), Metrics(parent=whole)
    first.add(COMMITS, kind="append")
    second.add(COMMITS, 2, kind="append")
    assert [m.value("commits_total") for m in (first, second, whole)] == [1, 2, 3]


def test_requests_of_the_rest_catalog() -> None:
    pytest.importorskip("uvicorn", reason='needs pip install "paimon-sql[rest-server]"')
    from paimon_sql.server.rest.app import RestApp  # noqa: PLC0415  an extra
    from paimon_sql.server.rest.run import serving  # noqa: PLC0415  an extra

    found, catalog = Metrics(), paimon_sql.open_catalog("unused").inner
    with serving(RestApp(catalog, read_only=True, metrics=found), "127.0.0.1", 0) as port:
        assert urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/config").status == 200
        for method in ("POST", "PATCH"):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            client.request(method, "/v1/paimon/databases")
            client.getresponse()
    assert found.value("rest_requests_total", method="GET", status="200") == 1
    assert found.value("rest_requests_total", method="POST", status="403") == 1
    assert found.value("rest_requests_total", method="other") == 1
