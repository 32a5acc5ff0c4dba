"""Spans of OpenTelemetry around work on tables, in programs that record spans.

A program that records spans has imported OpenTelemetry. This package never imports it: if the module is not in this
process, there are no spans. Attributes are names of tables, kinds and numbers. They never contain rows, keys, paths,
texts of statements or messages of errors.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from paimon_core.lazy import regex

_MODULE, _LIBRARY, _PREFIX = "opentelemetry.trace", "paimon_sql", "paimon."
_PARENT = regex(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
Attribute = str | bool | int | float


class TraceSpan:
    """The span of a block. Without OpenTelemetry it is empty."""

    def __init__(self, inner: Any = None) -> None:
        self._inner = inner

    def set(self, **attributes: Attribute | None) -> None:
        """Add attributes; None adds nothing."""
        if self._inner is not None:
            self._inner.set_attributes(_named(attributes))


_NO_SPAN = TraceSpan()


def are_recorded() -> bool:
    """Return whether this program may record spans."""
    return _api() is not None


@contextmanager
def span(name: str, began: int | None = None, **attributes: Attribute | None) -> Iterator[TraceSpan]:
    """Record the block as the span `paimon.NAME`, a child of the current span. If the block fails, the span has the
    class of the error. `began` is an earlier start in epoch nanoseconds.
    """
    api = _api()
    if api is None:
        yield _NO_SPAN
        return
    with api.get_tracer(_LIBRARY).start_as_current_span(
        _PREFIX + name,
        attributes=_named(attributes),
        start_time=began,
        record_exception=False,  # messages of errors may contain values
        set_status_on_exception=False,
    ) as inner:
        try:
            yield TraceSpan(inner)
        except GeneratorExit:  # the reader of its rows needs no more, as after a LIMIT
            raise
        except BaseException as error:
            kind = type(error).__name__
            inner.set_attribute("error.type", kind)
            inner.set_status(api.Status(api.StatusCode.ERROR, kind))
            raise


class RunningSpan:
    """A span that has begun, and that another thread may end. `parent` is its `traceparent`, for spans below it."""

    def __init__(self, api: Any, inner: Any) -> None:
        self._api, self._inner = api, inner
        self.parent = _traceparent(inner.get_span_context())

    def end(self, error: str | None = None) -> None:
        """End the span. `error` is the kind of its failure."""
        if error is not None:
            self._inner.set_attribute("error.type", error)
            self._inner.set_status(self._api.Status(self._api.StatusCode.ERROR, error))
        self._inner.end()


class RunningSpans:
    """Spans that have begun, by key. Any thread may begin and end them, but a key has only one span at a time. If more
    than `most` spans run, the oldest one is ended and marked as lost.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._spans: dict[str, RunningSpan] = {}

    def begin(self, key: str, begin: Callable[[], RunningSpan | None]) -> None:
        """Begin a span, unless one of this key has begun."""
        lost: list[RunningSpan] = []
        with self._lock:
            begun = None if key in self._spans else begin()
            if begun is not None:
                self._spans[key] = begun
            while len(self._spans) > self._most:
                lost.append(self._spans.pop(next(iter(self._spans))))
        for old in lost:
            old.end("lost")

    def get(self, key: str) -> RunningSpan | None:
        """Return the span of a key."""
        return self._spans.get(key)

    def end(self, key: str, error: str | None = None) -> None:
        """End the span of a key, if one has begun. `error` is the kind of its failure."""
        with self._lock:
            begun = self._spans.pop(key, None)
        if begun is not None:
            begun.end(error)

    def __len__(self) -> int:
        return len(self._spans)


def begin_span(name: str, parent: str | None, **attributes: Attribute | None) -> RunningSpan | None:
    """Begin the span `paimon.NAME` below a `traceparent`, without making it the current one. Return None if no spans
    are recorded.
    """
    api = _api()
    if api is None:
        return None
    with below(parent):
        return RunningSpan(api, api.get_tracer(_LIBRARY).start_span(_PREFIX + name, attributes=_named(attributes)))


def current_parent() -> str | None:
    """Return the current span as the text of W3C's header `traceparent`, for spans of another thread or process."""
    api = _api()
    return None if api is None else _traceparent(api.get_current_span().get_span_context())


def _traceparent(found: Any) -> str | None:
    if not found.is_valid:
        return None
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{int(found.trace_flags):02x}"


def below(parent: str | None) -> AbstractContextManager[object]:
    """Make the span of a `traceparent` the current span during the block. Ignore any other text."""
    api, match = _api(), _PARENT.fullmatch(parent or "")
    if api is None or match is None:
        return nullcontext()
    trace, own, flags = (int(group, 16) for group in match.groups())
    context = api.SpanContext(trace, own, is_remote=True, trace_flags=api.TraceFlags(flags))
    if not context.is_valid:
        return nullcontext()
    used: AbstractContextManager[object] = api.use_span(
        api.NonRecordingSpan(context), record_exception=False, set_status_on_exception=False
    )
    return used


def _api() -> Any:
    """Return OpenTelemetry's module if the program has imported it, else None."""
    module = sys.modules.get(_MODULE)
    return module if hasattr(module, "use_span") else None  # while it is being imported, it lacks functions


def _named(attributes: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {f"{_PREFIX}{key}": value for key, value in attributes.items() if value is not None}
