"""Calls of storages, as counters of this process and as spans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_core.metrics import STORAGE_CALLS, STORAGE_ERRORS, Metrics
from paimon_core.tracing import span


@contextmanager
def counted_call(metrics: Metrics, scheme: str, action: str) -> Iterator[None]:
    """Count the block as a call of a storage, and record its span. `action` is a short name from a small set, without a
    path.
    """
    metrics.add(STORAGE_CALLS, scheme=scheme, operation=action)
    with span("request", scheme=scheme, operation=action):
        try:
            yield
        except FileNotFoundError:  # an answer, not a failure
            raise
        except Exception:
            metrics.add(STORAGE_ERRORS, scheme=scheme, operation=action)
            raise
