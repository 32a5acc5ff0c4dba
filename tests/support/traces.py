"""Spans of OpenTelemetry in tests: the SDK's in-memory exporter, beside the process's own provider."""

from __future__ import annotations

from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

MODULE = "opentelemetry.trace"


class Traces:
    """A module `opentelemetry.trace` whose tracers record into one exporter. The process's own provider stays."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self._provider = TracerProvider()
        self._provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def get_tracer(self, name: str) -> Any:
        return self._provider.get_tracer(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(trace, name)

    @property
    def ended(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [s for s in self.ended if s.name == f"paimon.{name}"]

    @property
    def chains(self) -> set[str]:
        """The names of all spans, each with the names of its parents."""
        by_id = {s.context.span_id: s for s in self.ended if s.context is not None}
        chains = set()
        for found in self.ended:
            chain, at = list[str](), found
            while at is not None:
                chain.append(at.name.removeprefix("paimon."))
                at = by_id.get(at.parent.span_id) if at.parent is not None else None
            chains.add(" < ".join(chain))
        return chains


def attributes(found: ReadableSpan) -> dict[str, Any]:
    return {key.removeprefix("paimon."): value for key, value in (found.attributes or {}).items()}
