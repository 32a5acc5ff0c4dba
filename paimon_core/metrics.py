"""Counters of this process, and their text for Prometheus.

A registry (`Metrics`) is passed to the code that counts. `PROCESS` is the registry of a process: catalogs, storages and
servers get it unless they are given another one. Labels have few values and never names of tables or users, so that the
registry stays small and shows nothing about data.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from paimon_core.dataclass import dataclass

_PREFIX = "paimon_sql_"
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Counter:
    """A number that only rises: its name without the prefix `paimon_sql_`, and what it counts."""

    name: str
    doc: str


COMMITS = Counter("commits_total", "Commits by kind and result: published, conflict, unknown or failed.")
COMMIT_TRIES = Counter("commit_tries_total", "Tries to publish a snapshot.")
COMMIT_RETRIES = Counter("commit_retries_total", "Tries after a lost race or an unknown outcome.")
COMMIT_SECONDS = Counter("commit_seconds_total", "Seconds from the first try of a commit to its end.")
BUCKETS_DUE = Counter("buckets_due_total", "Buckets that were due for compaction after a write.")
BUCKETS_COMPACTED = Counter("buckets_compacted_total", "Buckets with a compaction that was committed.")
CACHE_READS = Counter("metadata_cache_reads_total", "Reads of metadata files by result: hit or miss.")
STORAGE_CALLS = Counter("storage_calls_total", "Calls of remote storages by scheme and operation.")
STORAGE_ERRORS = Counter("storage_errors_total", "Calls of remote storages that failed, by scheme and operation.")
STATEMENTS = Counter("statements_total", "Ended statements by server (session: of this process), kind and state.")
STATEMENT_ERRORS = Counter("statement_errors_total", "Failed statements of this process's sessions by condition.")
REST_REQUESTS = Counter("rest_requests_total", "Requests of the REST catalog by method and status.")


@dataclass(frozen=True, slots=True)
class Sample:
    """The value of a counter with some labels."""

    counter: Counter
    labels: Labels
    value: float


class Metrics:
    """Counters by labels. Safe for threads. A pickled registry becomes the registry of the other process.

    The `parent` of a registry counts everything that the registry counts, too.
    """

    def __init__(self, parent: Metrics | None = None) -> None:
        self._parent = parent
        self._values: dict[tuple[Counter, Labels], float] = {}
        self._lock = threading.Lock()

    def add(self, counter: Counter, amount: float = 1, **labels: str) -> None:
        """Raise a counter."""
        key = counter, tuple(sorted(labels.items()))
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount
        if self._parent is not None:
            self._parent.add(counter, amount, **labels)

    @contextmanager
    def timed(self, counter: Counter) -> Iterator[None]:
        """Raise a counter by the seconds of the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(counter, time.monotonic() - began)

    def samples(self) -> list[Sample]:
        """Return all values, by the counters' names and labels."""
        with self._lock:
            found = [Sample(counter, labels, value) for (counter, labels), value in self._values.items()]
        return sorted(found, key=lambda s: (s.counter.name, s.labels))

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the values of a counter that have some labels, 0 if there are none."""
        wanted = set(labels.items())
        return sum(s.value for s in self.samples() if s.counter.name == name and wanted <= set(s.labels))

    def prometheus_text(self) -> str:
        """Return all values in the text format of Prometheus."""
        lines, before = list[str](), None
        for sample in self.samples():
            name = f"{_PREFIX}{sample.counter.name}"
            if sample.counter is not before:
                lines += [f"# HELP {name} {sample.counter.doc}", f"# TYPE {name} counter"]
            before = sample.counter
            labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in sample.labels)
            lines.append(f"{name}{'{' + labels + '}' if labels else ''} {sample.value:.15g}")
        return "".join(f"{line}\n" for line in lines)

    def as_dict(self) -> Mapping[str, float]:
        """Return all values by the names that they have in the text for Prometheus."""
        lines = (line.rpartition(" ") for line in self.prometheus_text().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in lines}

    def __repr__(self) -> str:
        return self.prometheus_text()

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return process_metrics, ()


PROCESS = Metrics()


def process_metrics() -> Metrics:
    """Return the registry of this process."""
    return PROCESS


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
